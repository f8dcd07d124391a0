//! The folder of journals and locks.
//!
//! A save writes a new file, fsyncs it, renames it over the old one and fsyncs the folder: after any crash there is the old
//! journal or the new one, never half of either. Everything that touches knobs or journals holds the folder's lock; a
//! running owner also holds a lock per disk, and one of its journal. Locks are `flock`s, which the kernel drops when their process dies.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::journal::Journal;
use super::owner::Owner;
use super::{TuneError, knob_file};
use volproof_base::file_lock::locked_until;

/// How long another process may hold the folder's lock, which it needs for milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// A journal has the name `run-PID-START-RUN.json`. The name shows the process also where the content cannot be read.
const FRONT: &str = "run-";
const END: &str = ".json";

/// The journals in a folder, sorted by name.
pub(super) fn journals(folder: &Path) -> Vec<PathBuf> {
    knob_file::list(folder).into_iter().filter(|path| numbers(path).is_some()).collect()
}

/// The words between the two ends of a journal's name.
fn numbers(journal: &Path) -> Option<&str> {
    journal.file_name()?.to_str()?.strip_prefix(FRONT)?.strip_suffix(END)
}

/// Whether the process in a journal's name still runs. Such a process puts its settings back itself; its journal may be unreadable here
/// because its version is newer.
pub(super) fn maker_lives(journal: &Path) -> bool {
    living_maker(journal).is_some()
}

/// The process in a journal's name, where it still runs.
pub(super) fn living_maker(journal: &Path) -> Option<u32> {
    let mut words = numbers(journal)?.split('-');
    let (pid, start) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Owner { pid, start, ..Owner::me() }.alive().then_some(pid)
}

/// The folder of journals and locks.
#[derive(Clone, Debug)]
pub(super) struct Store {
    dir: PathBuf,
    /// Its user, who is the one that runs the program.
    user: u32,
}

/// A disk that this process has taken.
#[derive(Debug)]
pub(super) struct HeldDisk {
    _locked: File,
    path: PathBuf,
}

impl Drop for HeldDisk {
    /// Removes the file while it is still locked.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Store {
    /// Makes the folder, or refuses one that somebody else could write. Everybody may look into it, to see whose settings
    /// are in force.
    ///
    /// # Errors
    /// The folder cannot be made, or is not safe.
    pub fn create(dir: &Path) -> Result<Store, TuneError> {
        let failed = |why| TuneError::NoJournal { path: dir.to_path_buf(), why };
        if let Some(store) = Store::open(dir)? {
            return Ok(store);
        }
        DirBuilder::new().recursive(true).mode(0o755).create(dir).map_err(failed)?;
        Store::open(dir)?.ok_or_else(|| failed(io::ErrorKind::PermissionDenied.into()))
    }

    /// The folder, if it exists and is ours: another user's journals are not ours to restore.
    ///
    /// # Errors
    /// The folder cannot be looked at, or is not safe.
    pub fn open(dir: &Path) -> Result<Option<Store>, TuneError> {
        let me = rustix::process::geteuid().as_raw();
        let facts = match fs::symlink_metadata(dir) {
            Ok(facts) => facts,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(TuneError::NoJournal { path: dir.to_path_buf(), why }),
        };
        let mode = facts.mode() & 0o7777;
        if !facts.is_dir() {
            let why = io::Error::other("it is no folder; remove it");
            return Err(TuneError::NoJournal { path: dir.to_path_buf(), why });
        }
        if me != 0 && facts.uid() != me {
            return Ok(None);
        }
        if facts.uid() != me || mode & 0o022 != 0 {
            return Err(TuneError::Unsafe { path: dir.to_path_buf(), uid: facts.uid(), mode });
        }
        Ok(Some(Store { dir: dir.to_path_buf(), user: me }))
    }

    /// Waits for the lock under which knobs and journals change. It is held for milliseconds; a process that hangs with it
    /// stops nobody for longer than [`PATIENCE`].
    ///
    /// # Errors
    /// The lock cannot be opened, or does not come free.
    pub fn lock(&self) -> Result<File, TuneError> {
        let (file, path) = self.lock_file("lock")?;
        let why = match locked_until(&file, Instant::now() + PATIENCE) {
            Ok(true) => return Ok(file),
            Ok(false) => {
                io::Error::other("another volproof has held it for 10 s, and may hang (`fuser` names it)")
            }
            Err(why) => why.into(),
        };
        Err(TuneError::NoJournal { path, why })
    }

    /// Takes a disk for as long as the value lives. A dead holder's lock is gone with it.
    ///
    /// # Errors
    /// Another run holds the disk, or its lock cannot be opened.
    pub fn hold(&self, disk: &str) -> Result<HeldDisk, TuneError> {
        loop {
            let (mut file, path) = self.lock_file(&format!("disk-{disk}.lock"))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let mut text = String::new();
                    let read = (&mut file).take(32).read_to_string(&mut text);
                    let pid = read.ok().and_then(|_| text.trim().parse().ok());
                    return Err(TuneError::Busy { disk: disk.to_string(), pid });
                }
                Err(TryLockError::Error(why)) => return Err(TuneError::NoJournal { path, why }),
            }
            let failed = |why| TuneError::NoJournal { path: path.clone(), why };
            // Its last holder may have removed it since it was opened: a lock on it keeps nobody away.
            if !knob_file::is_at(&file, &path).map_err(failed)? {
                continue;
            }
            // The number is for the message above only; the lock counts.
            let emptied = file.set_len(0).and_then(|()| file.rewind());
            emptied.and_then(|()| writeln!(file, "{}", Owner::me().pid)).map_err(failed)?;
            return Ok(HeldDisk { _locked: file, path });
        }
    }

    /// Whether the values of a journal are still in use. Call under [`Store::lock`].
    pub fn in_use(&self, path: &Path, journal: &Journal) -> bool {
        let runs =
            || journal.owner.alive() || matches!(self.hold_all(path, &[]), Err(TuneError::Busy { .. }));
        journal.owner.this_boot() && (journal.kept || runs())
    }

    /// Takes a journal and its disks for as long as the values live.
    ///
    /// # Errors
    /// Its run goes on, or another run holds one of the disks.
    pub fn hold_all(&self, journal: &Path, disks: &[String]) -> Result<Vec<HeldDisk>, TuneError> {
        let run = numbers(journal).map(|numbers| format!("{FRONT}{numbers}"));
        let mut names: Vec<&str> = disks.iter().chain(&run).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(|name| self.hold(name)).collect()
    }

    fn lock_file(&self, name: &str) -> Result<(File, PathBuf), TuneError> {
        let path = self.dir.join(name);
        match knob_file::lock(&path, self.user) {
            Ok(file) => Ok((file, path)),
            Err(why) => Err(TuneError::NoJournal { path, why }),
        }
    }

    /// A file for a new run of this process.
    pub fn file(&self, owner: &Owner) -> PathBuf {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        self.dir.join(format!("{FRONT}{}-{}-{run}{END}", owner.pid, owner.start))
    }

    /// Makes the journal what is on disk.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn save(&self, path: &Path, journal: &Journal) -> Result<(), TuneError> {
        let bytes = serde_json::to_vec_pretty(journal).map_err(io::Error::from);
        let saved = bytes.and_then(|bytes| knob_file::replace(path, &bytes));
        saved.map_err(|why| TuneError::NoJournal { path: path.to_path_buf(), why })
    }

    /// Forgets a journal whose values are all back.
    ///
    /// # Errors
    /// The journal cannot be removed.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        knob_file::remove(path)
    }

    /// One journal.
    ///
    /// # Errors
    /// The file cannot be read, or is no journal.
    pub fn load(&self, path: &Path) -> Result<Journal, String> {
        Journal::parse(&self.bytes(path).map_err(|e| e.to_string())?)
    }

    /// What is in the file of a journal.
    ///
    /// # Errors
    /// The file cannot be read, or is not safe.
    pub fn bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        knob_file::load(path, self.user)
    }

    /// All journals, the latest first, so that what was changed last is undone first; those that cannot be read come before
    /// them. Unfinished saves of dead runs are swept away: the journal that they would have replaced is still there. Call
    /// under [`Store::lock`].
    pub fn all(&self) -> Vec<(PathBuf, Result<Journal, String>)> {
        for path in knob_file::list(&self.dir).iter().filter(|p| p.extension().is_some_and(|e| e == "new")) {
            // Every save happens under the lock that our caller holds, so nobody is writing this one.
            let _ = knob_file::remove(path);
        }
        for file in knob_file::list(&self.dir) {
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if let Some(run) = name.strip_prefix("disk-").and_then(|name| name.strip_suffix(".lock"))
                && run.starts_with(FRONT)
            {
                // Dropped at once, the lock of a dead run removes its file.
                let _ = self.hold(run);
            }
        }
        let journals = journals(&self.dir).into_iter();
        let mut all: Vec<_> = journals.map(|path| (path.clone(), self.load(&path))).collect();
        all.sort_by_key(|(_, journal)| std::cmp::Reverse(journal.as_ref().map_or(u64::MAX, |j| j.sequence)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn the_name_tells_of_a_run_that_goes_on() {
        let me = Owner::me();
        let named = |pid, start| {
            Store { dir: "/run/volproof".into(), user: 0 }.file(&Owner { pid, start, ..Owner::me() })
        };
        assert!(maker_lives(&named(me.pid, me.start)));
        assert!(!maker_lives(&named(me.pid, me.start + 1)));
        assert!(!maker_lives(&named(1, 1)));
        assert!(!maker_lives(Path::new("/run/volproof/run-x.json")));
    }

    #[test]
    fn a_disk_has_one_holder_and_its_lock_goes_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(&dir.path().join("journals")).unwrap();
        let (inside, taken) = (AtomicU32::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while taken.load(Ordering::SeqCst) < 2000 {
                        let Ok(held) = store.hold("vdb") else { continue };
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two hold the disk");
                        taken.fetch_add(1, Ordering::SeqCst);
                        assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
                        drop(held);
                    }
                });
            }
        });
        let left: Vec<_> = fs::read_dir(&store.dir).unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

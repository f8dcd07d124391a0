//! The write-ahead journal: one JSON file per run, on disk before a knob is touched.
//!
//! A save writes a new file, fsyncs it, renames it over the old one and fsyncs the folder: after any crash there is the old
//! journal or the new one, never half of either. Everything that touches knobs or journals holds the folder's lock; a
//! running owner also holds a lock per disk. Locks are `flock`s, which the kernel drops when their process dies.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::owner::Owner;
use super::{TuneError, knob};

/// How long another process may hold the folder's lock, which it needs for milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// Raised when an older program could misread the file.
const VERSION: u32 = 1;

/// What one run has changed, or is about to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    /// The form of this file.
    pub version: u32,
    /// The run.
    pub owner: Owner,
    /// Whether the values stay until `restore` is asked for, although the owner ends.
    pub kept: bool,
    /// Disks that the run holds.
    pub disks: Vec<String>,
    /// In the order in which they are written and put back.
    pub entries: Vec<Entry>,
}

/// One knob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Name of its row.
    pub knob: String,
    /// Its file, from `/`.
    pub path: String,
    /// The disk, and its sequence number, which another disk of the same name does not have (`diskseq`, Linux 5.15).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub disk: Option<(String, Option<String>)>,
    /// The value to go back to.
    pub before: String,
    /// The value to write; none if the knob is only here because another one disturbs it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wanted: Option<String>,
    /// How far it got.
    pub state: State,
    /// What it read once it was written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<String>,
}

/// How far a knob got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Untouched.
    Planned,
    /// The kernel may have reset it when another knob was written.
    Disturbed,
    /// Being written, or the owner died on the way.
    Writing,
    /// Written and read back.
    Written,
}

impl Journal {
    pub(super) fn new(disks: &[String], entries: Vec<Entry>) -> Journal {
        Journal { version: VERSION, owner: Owner::me(), kept: false, disks: disks.to_vec(), entries }
    }

    /// Whether its values are still in use.
    pub fn in_use(&self) -> bool {
        self.owner.this_boot() && (self.kept || self.owner.alive())
    }

    /// Reads a journal, refusing whatever it could not have written itself.
    fn parse(text: &str) -> Result<Journal, String> {
        let journal: Journal = serde_json::from_str(text).map_err(|e| match text.trim() {
            "" => "it is empty".to_string(),
            _ => format!("it is cut off or damaged ({e})"),
        })?;
        if journal.version != VERSION {
            return Err(format!("it has form {}, this program knows form {VERSION}", journal.version));
        }
        match journal.entries.iter().find(|e| !knob::is_knob(&e.path)) {
            Some(entry) => Err(format!("it names {}, which is no knob", entry.path)),
            None => Ok(journal),
        }
    }
}

/// The folder of journals and locks.
#[derive(Clone, Debug)]
pub(super) struct Store {
    dir: PathBuf,
}

impl Store {
    /// Makes the folder, or refuses one that somebody else could write.
    pub fn create(dir: &Path) -> Result<Store, TuneError> {
        let failed = |why| TuneError::NoJournal { path: dir.to_path_buf(), why };
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed)?;
        Store::open(dir)?.ok_or_else(|| failed(io::ErrorKind::PermissionDenied.into()))
    }

    /// The folder, if it exists and we may look into it: another user's journals are not ours to restore.
    pub fn open(dir: &Path) -> Result<Option<Store>, TuneError> {
        let me = rustix::process::geteuid().as_raw();
        let facts = match fs::symlink_metadata(dir) {
            Ok(facts) => facts,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(TuneError::NoJournal { path: dir.to_path_buf(), why }),
        };
        let mode = facts.mode() & 0o7777;
        if me != 0 && facts.uid() != me {
            return Ok(None);
        }
        if !facts.is_dir() || facts.uid() != me || mode & 0o022 != 0 {
            return Err(TuneError::Unsafe { path: dir.to_path_buf(), uid: facts.uid(), mode });
        }
        Ok(Some(Store { dir: dir.to_path_buf() }))
    }

    /// Waits for the lock under which knobs and journals change. Held for milliseconds; a process that hangs with it stops nobody for ever.
    pub fn lock(&self) -> Result<File, TuneError> {
        let (file, path) = self.lock_file("lock")?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if began.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => {
                    let why = io::Error::other(
                        "another volproof has held it for 10 s, and may hang (`fuser` names it)",
                    );
                    return Err(TuneError::NoJournal { path, why });
                }
                Err(TryLockError::Error(why)) => return Err(TuneError::NoJournal { path, why }),
            }
        }
    }

    /// Takes a disk for as long as the file lives. A dead holder's lock is gone with it.
    pub fn hold(&self, disk: &str) -> Result<File, TuneError> {
        let (mut file, path) = self.lock_file(&format!("disk-{disk}.lock"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
                return Err(TuneError::Busy { disk: disk.to_string(), pid });
            }
            Err(TryLockError::Error(why)) => return Err(TuneError::NoJournal { path, why }),
        }
        // The number is for the message above only; the lock counts.
        let note = |file: &mut File| -> io::Result<()> {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        note(&mut file).map_err(|why| TuneError::NoJournal { path, why })?;
        Ok(file)
    }

    fn lock_file(&self, name: &str) -> Result<(File, PathBuf), TuneError> {
        let path = self.dir.join(name);
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        match file {
            Ok(file) => Ok((file, path)),
            Err(why) => Err(TuneError::NoJournal { path, why }),
        }
    }

    /// A file for a new run of this process.
    pub fn file(&self, owner: &Owner) -> PathBuf {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        self.dir.join(format!("run-{}-{}-{run}.json", owner.pid, owner.start))
    }

    /// Makes the journal what is on disk.
    pub fn save(&self, path: &Path, journal: &Journal) -> Result<(), TuneError> {
        let failed = |why| TuneError::NoJournal { path: path.to_path_buf(), why };
        let fresh = path.with_extension("new");
        let write = || -> io::Result<()> {
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
            file.write_all(&serde_json::to_vec_pretty(journal)?)?;
            file.sync_all()?;
            fs::rename(&fresh, path)?;
            File::open(&self.dir)?.sync_all()
        };
        write().map_err(failed)
    }

    /// Forgets a journal whose values are all back.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(e),
            Ok(()) => File::open(&self.dir)?.sync_all(),
        }
    }

    /// One journal.
    pub fn load(&self, path: &Path) -> Result<Journal, String> {
        Journal::parse(&fs::read_to_string(path).map_err(|e| e.to_string())?)
    }

    /// All journals, in the order of their names. Unfinished saves of dead runs are swept away: the journal that they
    /// would have replaced is still there. Call under [`Store::lock`].
    pub fn all(&self) -> Vec<(PathBuf, Result<Journal, String>)> {
        let Ok(entries) = fs::read_dir(&self.dir) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        paths.sort();
        let mut all = Vec::new();
        for path in paths {
            match path.extension().and_then(|e| e.to_str()) {
                Some("json") => all.push((path.clone(), self.load(&path))),
                // Every save happens under the lock that our caller holds, so nobody is writing this one.
                Some("new") => drop(fs::remove_file(&path)),
                _ => {}
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn journal() -> Journal {
        let entry = Entry {
            knob: "rq_affinity".into(),
            path: "/sys/block/vdb/queue/rq_affinity".into(),
            disk: Some(("vdb".into(), Some("7".into()))),
            before: "1".into(),
            wanted: Some("2".into()),
            state: State::Writing,
            after: None,
        };
        Journal::new(&["vdb".into()], vec![entry])
    }

    #[test]
    fn a_foreign_path_or_form_is_refused() {
        let mut evil = journal();
        evil.entries[0].path = "/etc/passwd".into();
        let text = serde_json::to_string(&evil).unwrap();
        assert_eq!(Journal::parse(&text).unwrap_err(), "it names /etc/passwd, which is no knob");
        let newer = Journal { version: 2, ..journal() };
        let text = serde_json::to_string(&newer).unwrap();
        assert_eq!(Journal::parse(&text).unwrap_err(), "it has form 2, this program knows form 1");
        assert_eq!(Journal::parse("\n").unwrap_err(), "it is empty");
    }

    proptest! {
        /// Cut anywhere, a journal is refused, never half believed.
        #[test]
        fn a_cut_journal_is_refused(cut in 0usize..400) {
            let text = serde_json::to_string(&journal()).unwrap();
            let cut = cut.min(text.len() - 1);
            prop_assert!(Journal::parse(&text[..cut]).is_err());
            prop_assert_eq!(Journal::parse(&text).unwrap(), journal());
        }

        #[test]
        fn any_bytes_are_read_or_refused(text in "\\PC{0,200}") {
            prop_assert!(Journal::parse(&text).is_err());
        }
    }
}

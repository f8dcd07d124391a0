//! The file of a watch on disk: it goes on where an earlier watch of the same volume ended, and grows by a frame a minute.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use rustix::fs::{CWD, OFlags, fcntl_setfl};

use super::chain;
use super::command_outputs::spares_inputs;
use volproof_base::file_lock::locked_until;
use volproof_base::regular_file::open_regular;
use volproof_device::output::{MisplacedOutput, OutputFile, has_name};
use volproof_watch::{MAGIC, WatchFrame, WatchHistory, WatchSpan};

/// The most bytes that wait for room on the disk: minutes of a month.
const MOST_WAITING: usize = 16 << 20;

/// An open file, which no other watch writes meanwhile.
#[derive(Debug)]
pub struct WatchFile {
    path: PathBuf,
    file: File,
    /// Its bytes up to the end of the last whole frame.
    whole_bytes: u64,
    /// Frames that it has not taken yet.
    waiting: Vec<u8>,
    /// Why it took none the last time.
    trouble: Option<String>,
}

impl WatchFile {
    /// Opens the file, cuts a torn end, and gives what it holds; nothing where it is new.
    ///
    /// # Errors
    /// The path cannot be written, holds something else or another volume, or another watch writes there.
    pub fn open(path: &Path, key: &str) -> anyhow::Result<(WatchFile, Option<WatchHistory>)> {
        // Devices, settings of the kernel and streams are refused as for every output.
        let output = OutputFile::open("--file", path)?;
        spares_inputs(&output)?;
        if output.is_stream() {
            bail!(
                "{} is no file: a watch goes on with what is in its file; name one with --file",
                path.display()
            );
        }
        let file = opened(path)?;
        let mut watch =
            WatchFile { path: path.to_path_buf(), file, whole_bytes: 0, waiting: Vec::new(), trouble: None };
        let bytes = watch.bytes()?;
        if MAGIC.starts_with(&bytes) {
            watch.whole_bytes = bytes.len() as u64;
            watch.waiting = MAGIC[bytes.len()..].to_vec();
            watch.put()?;
            return Ok((watch, None));
        }
        let history = WatchHistory::read(&bytes)
            .with_context(|| format!("{}: name another file with --file", path.display()))?;
        if history.header.key != key {
            bail!(
                "{} is the watch of {}, and this volume is {key}: name another file with --file",
                path.display(),
                history.header.key
            );
        }
        if history.torn_bytes > WatchFrame::LONGEST_BYTES {
            bail!(
                "another program has written {} bytes behind the last minute of {}: name another file with --file",
                history.torn_bytes,
                path.display()
            );
        }
        watch.whole_bytes = history.whole_bytes as u64;
        let cut = watch.file.set_len(watch.whole_bytes);
        cut.with_context(|| format!("cannot cut the torn end of {}", path.display()))?;
        Ok((watch, Some(history)))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds frames, and waits until the disk has them. Those that the file does not take are written with the next ones. Gives what the user has
    /// to know of that.
    pub fn add(&mut self, frames: &[WatchFrame]) -> Option<String> {
        self.waiting.extend(frames.iter().flat_map(WatchFrame::encode));
        let moved = self.follow().and_then(|moved| self.put().map(|()| moved));
        match moved {
            Ok(moved) => {
                let again = |_| format!("{} is written again, and nothing is lost", self.path.display());
                let trouble = self.trouble.take();
                moved.or(trouble.map(again))
            }
            Err(e) => {
                let why = chain(&e);
                let is_told = self.trouble.as_ref() == Some(&why);
                let told = format!("{why}; what is new waits in memory, and each minute tries again");
                self.trouble = Some(why);
                (!is_told).then_some(told)
            }
        }
    }

    /// No more may wait for room.
    pub fn is_overdue(&self) -> bool {
        self.waiting.len() > MOST_WAITING
    }

    /// Writes what waits. Part of a frame is cut again.
    fn put(&mut self) -> anyhow::Result<()> {
        let written = self.file.write_all(&self.waiting).and_then(|()| self.file.sync_data());
        if written.is_err() && self.file.metadata().is_ok_and(|about| about.len() > self.whole_bytes) {
            let _ = self.file.set_len(self.whole_bytes);
        }
        written.with_context(|| format!("cannot write {}", self.path.display()))?;
        self.whole_bytes += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Sees to it that the file has a name: a new name of it is followed, and where it was removed, all that it held goes into a new file.
    /// Gives what the user has to know of that.
    fn follow(&mut self) -> anyhow::Result<Option<String>> {
        if is_at(&self.file, &self.path) {
            return Ok(None);
        }
        let earlier = self.path.display().to_string();
        let now = std::fs::read_link(format!("/proc/self/fd/{}", self.file.as_raw_fd())).unwrap_or_default();
        if is_at(&self.file, &now) {
            self.path = now;
            return Ok(Some(format!("{earlier} was renamed: the watch goes on in {}", self.path.display())));
        }
        let bytes = self.bytes()?;
        let (stem, extension) = (self.path.file_stem(), self.path.extension());
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let extension = extension.unwrap_or_default().to_string_lossy();
        let mut output = OutputFile::fresh("--file", folder, stem.unwrap_or_default(), &extension)?;
        output.save(&|out| out.write_all(&bytes)).with_context(|| format!("cannot write {earlier} anew"))?;
        self.file = opened(output.path())?;
        self.path = output.path().to_path_buf();
        Ok(Some(format!("{earlier} was removed: a new file has all that it held, {}", self.path.display())))
    }

    /// The bytes of the file, whatever its name is by now.
    fn bytes(&self) -> anyhow::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut file = &self.file;
        let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes));
        read.with_context(|| format!("cannot read {}", self.path.display()))?;
        Ok(bytes)
    }

    /// The bytes of the file with those that wait.
    fn all_bytes(&self) -> anyhow::Result<Vec<u8>> {
        Ok([self.bytes()?, self.waiting.clone()].concat())
    }

    /// What the watch has found so far.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn history(&self) -> anyhow::Result<WatchHistory> {
        Ok(WatchHistory::read(&self.all_bytes()?)?)
    }

    /// Saves the watch in a second place where its file did not take all of it; says where.
    pub fn rescue(&self) -> Option<MisplacedOutput> {
        let why = self.trouble.as_ref()?;
        let bytes = self.all_bytes().unwrap_or_else(|_| [MAGIC, &self.waiting].concat());
        Some(MisplacedOutput::save(&self.path, why, &|out| out.write_all(&bytes)))
    }

    /// Makes hours of old minutes: the file is replaced at once or not at all.
    ///
    /// # Errors
    /// The new file cannot be written, and the old one stays.
    pub fn shorten(&mut self, now_unix_ms: i64) -> anyhow::Result<()> {
        if !self.waiting.is_empty() {
            return Ok(());
        }
        let history = self.history()?;
        // A clock that is ahead makes no minute old.
        let newest = history.spans.iter().map(|span| span.start_unix_ms).max().unwrap_or(now_unix_ms);
        let Some(bytes) = history.with_hours(now_unix_ms.min(newest)) else { return Ok(()) };
        let output = OutputFile::itself("--file", &self.path)?;
        self.file = output
            .replace_held(&self.file, &|out| out.write_all(&bytes))
            .with_context(|| format!("cannot replace {}", self.path.display()))?;
        self.whole_bytes = bytes.len() as u64;
        fcntl_setfl(&self.file, OFlags::APPEND).context("cannot go on behind its end")?;
        Ok(())
    }
}

/// The file, locked, for bytes behind its end. A link in its place is not followed.
fn opened(path: &Path) -> anyhow::Result<File> {
    let file = open_regular(path, OpenOptions::new().read(true).append(true).create(true))
        .with_context(|| format!("cannot open {}: name another file with --file", path.display()))?;
    if !locked_until(&file, Instant::now()).map_err(io::Error::from)? || !is_at(&file, path) {
        bail!("another watch writes {}: end it, or name another file with --file", path.display());
    }
    Ok(file)
}

/// Whether a path leads to an open file, and no link does.
fn is_at(file: &File, path: &Path) -> bool {
    has_name(file, CWD, path.as_os_str())
}

/// The sum of what a file holds.
pub fn total_of(history: Option<&WatchHistory>) -> WatchSpan {
    let mut total = WatchSpan::default();
    history.iter().flat_map(|history| &history.spans).for_each(|span| total.merge(span));
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_watch::WatchHeader;

    const MINUTE_MS: i64 = 60_000;
    const DAY_MINUTES: i64 = 24 * 60;

    fn header() -> WatchFrame {
        WatchFrame::Header(Box::new(WatchHeader { key: "disk".into(), ..WatchHeader::default() }))
    }

    fn minute(n: i64) -> WatchSpan {
        let mut span = WatchSpan::default();
        span.start_unix_ms = n * MINUTE_MS;
        span
    }

    /// So many minutes behind the first ones.
    fn minutes(first: i64, count: i64) -> Vec<WatchFrame> {
        (first..first + count).map(|n| WatchFrame::Span(Box::new(minute(n)))).collect()
    }

    fn begun(path: &Path) -> WatchFile {
        let (mut file, history) = WatchFile::open(path, "disk").unwrap();
        assert!(history.is_none() && file.add(&[header()]).is_none());
        file
    }

    fn spans_in(path: &Path) -> usize {
        WatchHistory::read(&std::fs::read(path).unwrap()).unwrap().spans.len()
    }

    #[test]
    fn old_minutes_become_hours_and_the_watch_goes_on_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk.watch");
        let mut file = begun(&path);
        let all = 40 * DAY_MINUTES;
        assert_eq!(file.add(&minutes(0, all)), None);
        file.shorten(all * MINUTE_MS).unwrap();
        let left = spans_in(&path);
        assert!(left < all as usize, "{left}");
        assert!(WatchFile::open(&path, "disk").unwrap_err().to_string().contains("another watch writes"));
        assert_eq!(file.add(&minutes(all, 1)), None);
        assert_eq!(spans_in(&path), left + 1);
        assert_eq!(file.history().unwrap().spans.len(), left + 1);
    }

    #[test]
    fn a_clock_that_is_ahead_makes_no_minute_old() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk.watch");
        let mut file = begun(&path);
        file.add(&minutes(0, DAY_MINUTES));
        file.shorten(i64::MAX / 2).unwrap();
        assert_eq!(spans_in(&path), DAY_MINUTES as usize);
    }

    /// Whatever becomes of the name, the watch has all of its minutes in one file, and nobody else's file changes.
    #[test]
    fn a_watch_goes_on_where_its_file_was_renamed_or_removed() {
        let theirs = b"notes";
        for (is_removed, is_taken) in [(false, false), (false, true), (true, false), (true, true)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("disk.watch");
            let mut file = begun(&path);
            file.add(&minutes(0, 2));
            if is_removed {
                std::fs::remove_file(&path).unwrap();
            } else {
                std::fs::rename(&path, folder.path().join("moved")).unwrap();
            }
            if is_taken {
                std::fs::write(&path, theirs).unwrap();
            }
            let told = file.add(&minutes(2, 1)).expect("a remark for the user");
            assert!(told.contains(&file.path().display().to_string()), "{told}");
            assert_eq!(spans_in(file.path()), 3, "{is_removed} {is_taken}");
            assert_eq!(file.add(&minutes(3, 1)), None);
            assert_eq!((spans_in(file.path()), file.history().unwrap().spans.len()), (4, 4));
            assert!(!is_taken || std::fs::read(&path).unwrap() == theirs);
        }
    }

    #[test]
    fn what_the_file_does_not_take_waits_and_is_rescued() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk.watch");
        let mut file = begun(&path);
        // A file that is open for reading alone stands for a full disk.
        let whole = std::mem::replace(&mut file.file, File::open(&path).unwrap());
        assert!(file.add(&minutes(0, 1)).is_some(), "told once");
        assert_eq!(file.add(&minutes(1, 1)), None);
        assert_eq!(file.history().unwrap().spans.len(), 2);
        let rescued = file.rescue().unwrap();
        assert_eq!(spans_in(rescued.second().unwrap()), 2);
        rescued.discard();
        file.file = whole;
        assert!(file.add(&[]).is_some() && file.rescue().is_none());
        assert_eq!(spans_in(&path), 2);
    }

    #[test]
    fn only_a_torn_minute_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        for (theirs, is_cut) in [(WatchFrame::LONGEST_BYTES, true), (WatchFrame::LONGEST_BYTES + 1, false)] {
            let path = folder.path().join("disk.watch");
            let file = begun(&path);
            let whole = file.whole_bytes as usize;
            drop(file);
            let mut end = OpenOptions::new().append(true).open(&path).unwrap();
            end.write_all(&vec![0xff; theirs]).unwrap();
            assert_eq!(WatchFile::open(&path, "disk").is_ok(), is_cut);
            let left = std::fs::metadata(&path).unwrap().len() as usize;
            assert_eq!(left, if is_cut { whole } else { whole + theirs });
            std::fs::remove_file(&path).unwrap();
        }
    }
}

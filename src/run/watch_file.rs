//! The file of a watch on disk: it goes on where an earlier watch of the same volume ended, and grows by a frame a minute.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};

use volproof_base::file_lock::locked_until;
use volproof_device::output::OutputFile;
use volproof_watch::{MAGIC, WatchFrame, WatchHistory, WatchSpan};

/// An open file, which no other watch writes meanwhile.
#[derive(Debug)]
pub struct WatchFile {
    path: PathBuf,
    file: File,
}

impl WatchFile {
    /// Opens the file, cuts a torn end, and gives what it holds; nothing where it is new.
    ///
    /// # Errors
    /// The path cannot be written, holds something else or another volume, or another watch writes there.
    pub fn open(path: &Path, key: &str) -> anyhow::Result<(WatchFile, Option<WatchHistory>)> {
        // Devices, settings of the kernel and streams are refused as for every output.
        if OutputFile::open("--file", path)?.is_stream() {
            bail!(
                "{} is no file: a watch goes on with what is in its file; name one with --file",
                path.display()
            );
        }
        let mut file = WatchFile { path: path.to_path_buf(), file: opened(path)? };
        let mut bytes = Vec::new();
        let read = file.file.read_to_end(&mut bytes);
        read.with_context(|| format!("cannot read {}", path.display()))?;
        if MAGIC.starts_with(&bytes) {
            file.put(&MAGIC[bytes.len()..])?;
            return Ok((file, None));
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
        file.file
            .set_len(history.whole_bytes as u64)
            .with_context(|| format!("cannot cut the torn end of {}", path.display()))?;
        Ok((file, Some(history)))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds frames, and waits until the disk has them.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn add(&mut self, frames: &[WatchFrame]) -> anyhow::Result<()> {
        let bytes: Vec<u8> = frames.iter().flat_map(WatchFrame::encode).collect();
        self.put(&bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let written = self.file.write_all(bytes).and_then(|()| self.file.sync_data());
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// What it holds now.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn history(&self) -> anyhow::Result<WatchHistory> {
        let bytes =
            std::fs::read(&self.path).with_context(|| format!("cannot read {}", self.path.display()))?;
        Ok(WatchHistory::read(&bytes)?)
    }

    /// Makes hours of old minutes: the file is replaced at once or not at all.
    ///
    /// # Errors
    /// The new file cannot be written, and the old one stays.
    pub fn shorten(&mut self, now_unix_ms: i64) -> anyhow::Result<()> {
        let Some(bytes) = self.history()?.with_hours(now_unix_ms) else { return Ok(()) };
        let mut output = OutputFile::open("--file", &self.path)?;
        output
            .save(&|out| out.write_all(&bytes))
            .with_context(|| format!("cannot replace {}", self.path.display()))?;
        self.file = opened(&self.path)?;
        Ok(())
    }
}

/// The file, locked, for bytes behind its end. A link in its place is not followed.
fn opened(path: &Path) -> anyhow::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    let about = file.metadata().with_context(|| format!("cannot open {}", path.display()))?;
    if !about.is_file() {
        bail!("{} is no file: name one with --file", path.display());
    }
    if !locked_until(&file, Instant::now()).map_err(io::Error::from)? {
        bail!("another watch writes {}: end it, or name another file with --file", path.display());
    }
    Ok(file)
}

/// The sum of what a file holds.
pub fn total_of(history: Option<&WatchHistory>) -> WatchSpan {
    let mut total = WatchSpan::default();
    history.iter().flat_map(|history| &history.spans).for_each(|span| total.merge(span));
    total
}

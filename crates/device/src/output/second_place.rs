//! What becomes of a content that its own place does not take: it goes to the temporary folder, and the message says where it is.

use std::ffi::{OsStr, OsString};
use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::OutputFile;
use super::content::{Content, fill};
use super::late::{told_if_late, until_killed};
use super::output_names::{LONGEST_NAME, last_bytes};
use super::part_name::random;

/// An output that is not in its own place: as text, the message that says why, and where it is instead.
#[derive(Debug)]
pub struct MisplacedOutput {
    asked: String,
    why: String,
    second: Option<PathBuf>,
}

impl MisplacedOutput {
    /// Saves the content in a new file of the temporary folder, or where that is full, in memory (`/dev/shm`), readable by its owner alone. The
    /// file has the end of the name that was asked for.
    pub fn save(asked: &Path, why: impl Display, content: Content<'_>) -> MisplacedOutput {
        let name = asked.file_name().filter(|name| *name != "-").unwrap_or(OsStr::new("output"));
        let mut unsaved = OsString::from(format!("volproof-saved-{:08x}-", random() as u32));
        unsaved.push(last_bytes(name, LONGEST_NAME - unsaved.len()));
        let tried = [std::env::temp_dir(), PathBuf::from("/dev/shm")];
        let second = tried.into_iter().find_map(|folder| {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let path = folder.join(&unsaved);
            let saved = told_if_late(&path, |held| {
                let file = File::from(rustix::fs::open(&path, flags, Mode::from_raw_mode(0o600)).ok()?);
                let written = fill(&file, content, &mut until_killed(held));
                if written.is_err() {
                    let _ = std::fs::remove_file(&path);
                }
                written.ok()
            });
            saved.map(|()| path)
        });
        let asked = if asked == Path::new("-") { "standard output".into() } else { asked.to_string_lossy() };
        MisplacedOutput { asked: asked.into_owned(), why: why.to_string(), second }
    }

    /// Saves a later content of the same output, in the same second place where that takes it.
    pub fn save_again(self, asked: &Path, why: impl Display, content: Content<'_>) -> MisplacedOutput {
        if let Some(second) = &self.second
            && OutputFile::open("", second).is_ok_and(|mut file| file.save(content).is_ok())
        {
            return MisplacedOutput { why: why.to_string(), ..self };
        }
        MisplacedOutput::save(asked, why, content)
    }

    /// Where it is; `None` when no second place took it.
    pub fn second(&self) -> Option<&Path> {
        self.second.as_deref()
    }

    /// Removes it, once its own place has taken a later content.
    pub fn discard(self) {
        let _ = self.second.map(std::fs::remove_file);
    }
}

impl Display for MisplacedOutput {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} could not be saved: {}; ", self.asked, self.why)?;
        match &self.second {
            Some(second) => write!(f, "it is in {} instead", second.display()),
            None => write!(f, "nor could it be saved in the temporary folder"),
        }
    }
}

//! A target as it was found, before anything is opened or made.

use std::path::PathBuf;

use volproof_base::unit::Bytes;
use volproof_device::device::Facts;
use volproof_fio::plan::JobDataFile;

/// A target as it was found: nothing is opened or made yet.
#[derive(Debug)]
pub struct Surveyed {
    /// As the user named it.
    pub named: PathBuf,
    /// The facts about it; for a file that is missing, its folder, or the nearest folder above it that exists.
    pub facts: Facts,
    /// The path from that folder to the missing file, its own name included.
    pub below: PathBuf,
    /// Bytes the plan can use.
    pub size: Bytes,
    /// Bytes to write before the run: the whole of a new file, or the missing end of one that is too short.
    pub make: Option<Bytes>,
    /// It is a file under the rule of [`JobDataFile`].
    pub job_file: Option<JobDataFile>,
    /// Why the size is what it is.
    pub why: String,
}

impl Surveyed {
    /// Where the file or device is, all links followed.
    pub(super) fn path(&self) -> PathBuf {
        match (&self.facts, self.job_file, self.named.file_name()) {
            (Facts::Folder(place), Some(_), Some(_)) => place.path.join(&self.below),
            (facts, ..) => facts.path().to_path_buf(),
        }
    }

    /// A folder in which no file is made, since all steps on it are simulated.
    pub fn is_only_simulated(&self) -> bool {
        matches!(self.facts, Facts::Folder(_)) && self.job_file.is_none() && self.make.is_none()
    }

    /// A file that a job makes longer, or removes at its end.
    pub(super) fn is_changed_for_a_job(&self) -> bool {
        match (&self.facts, self.job_file) {
            (Facts::File(file), Some(asked)) => asked.unlink || file.size_bytes < self.size,
            _ => false,
        }
    }

    /// Whether two names are of one file, which is one target.
    pub(super) fn same_file(&self, other: &Surveyed) -> bool {
        match (&self.facts, &other.facts) {
            (Facts::File(a), Facts::File(b)) => (a.place.number, a.inode) == (b.place.number, b.inode),
            _ => false,
        }
    }

    /// One line for people.
    pub fn describe(&self) -> String {
        match self.make {
            Some(_) if self.job_file.is_none() => {
                format!("a new file in {}: {}", self.named.display(), self.why)
            }
            None if self.is_only_simulated() => {
                format!("{}: nothing is written there, since the device is simulated", self.named.display())
            }
            _ => format!("{} ({})", self.named.display(), self.size),
        }
    }
}

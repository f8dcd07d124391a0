//! Which files a job drives: fio's names for them, and what has to be laid out.
//!
//! - Files are named by `filename`, or made up from `filename_format`, one set for each clone; `directory` goes in front.
//! - A file that is shorter than what the job needs is laid out to that size; a device is used as far as it goes.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::Obstacles;
use fio_formats::job::Job;
use fio_formats::jobfile::stripped;
use volproof_base::unit::Bytes;

/// The kind of file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// Nothing.
    Missing,
    /// A regular file of that size.
    File(Bytes),
    /// A block device of that size.
    Block(Bytes),
    /// A folder.
    Folder,
    /// A character device, a pipe or a socket.
    Other,
}

impl PathKind {
    /// The size of a file or device, in bytes; 0 of anything else.
    pub(super) fn size(&self) -> u64 {
        match self {
            PathKind::File(size) | PathKind::Block(size) => size.0,
            _ => 0,
        }
    }
}

/// A file that a job names rather than a user: made when it is missing, made longer when it is too short, overwritten without
/// being asked, and left where it is. fio's rule; targets that a user names keep to ours.
///
/// Data that the plan reads is really written first. A file that the plan only writes is allocated, so that the file has its length
/// at once; where there is no room for all of it, it grows with what is written. Folders on the way to it are made too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobDataFile {
    /// The least length; 0 for whatever the file has.
    pub size: Bytes,
    /// The file goes away at the end (`unlink`), even if it was there before.
    pub unlink: bool,
}

/// Files that one job, or one clone of it, has to have laid out: what fio says of that in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Name of the job.
    pub job: String,
    /// How many.
    pub files: u32,
    /// Their size together.
    pub bytes: Bytes,
}

impl Layout {
    /// The line as fio prints it, without its end.
    pub fn line(&self) -> String {
        let (s, total) = if self.files > 1 { ("s", "total ") } else { ("", "") };
        let mib = self.bytes.0 >> 20;
        format!("{}: Laying out IO file{s} ({} file{s} / {total}{mib}MiB)", self.job, self.files)
    }
}

/// All files of a command, as they will be when the jobs before have been set up.
pub(super) struct Files<'a> {
    look: &'a dyn Fn(&Path) -> PathKind,
    named: Vec<PathBuf>,
    known: HashSet<PathBuf>,
    laid: BTreeMap<PathBuf, JobDataFile>,
    layouts: Vec<Layout>,
}

impl<'a> Files<'a> {
    pub(super) fn new(look: &'a dyn Fn(&Path) -> PathKind) -> Files<'a> {
        Files { look, named: Vec::new(), known: HashSet::new(), laid: BTreeMap::new(), layouts: Vec::new() }
    }

    /// The targets of the plan: everything that was named, once.
    pub(super) fn targets(&self) -> Vec<PathBuf> {
        self.named.clone()
    }

    /// Files and layouts.
    pub(super) fn finish(self) -> (Vec<(PathBuf, JobDataFile)>, Vec<Layout>) {
        (self.laid.into_iter().collect(), self.layouts)
    }

    /// The file at a path, as it is now or will be when the jobs before have laid out theirs.
    pub(super) fn found(&self, path: &Path) -> PathKind {
        match ((self.look)(path), self.laid.get(path)) {
            (PathKind::Missing, Some(laid)) => PathKind::File(laid.size),
            (PathKind::File(had), Some(laid)) => PathKind::File(had.max(laid.size)),
            (found, _) => found,
        }
    }

    /// The files of one clone.
    pub(super) fn names(
        &mut self,
        job: &Job,
        number: u32,
        obstacles: &mut Obstacles<'_>,
    ) -> Option<Vec<PathBuf>> {
        let paths = files_of_clone(job, number, self.look);
        let mut own = HashSet::new();
        if let Some(path) = paths.iter().find(|path| !own.insert(*path)) {
            obstacles.fio_only(format!("filename={}", path.display()), "the file is named twice");
            return None;
        }
        if paths.iter().any(|path| path == Path::new("-")) {
            obstacles.fio_only("filename=-", "volproof drives no pipes");
            return None;
        }
        for path in &paths {
            if self.known.insert(path.clone()) {
                self.named.push(path.clone());
            }
        }
        Some(paths)
    }

    /// Notes what is too short. True when a file is missing that may not be made.
    pub(super) fn lay_out(&mut self, job: &Job, names: &[PathBuf], found: &[PathKind], needed: u64) -> bool {
        let mut missing = false;
        let mut layout = Layout { job: job.name.clone(), files: 0, bytes: Bytes(0) };
        for (path, found) in names.iter().zip(found) {
            let had = match found {
                PathKind::Block(_) => continue,
                PathKind::File(size) => size.0,
                _ => 0,
            };
            let laid = self.laid.entry(path.clone()).or_default();
            laid.unlink |= job.flag("unlink");
            if needed > had {
                missing |= *found == PathKind::Missing;
                laid.size = laid.size.max(Bytes(needed));
                layout.files += 1;
                layout.bytes.0 += needed;
            }
        }
        if layout.files > 0 {
            self.layouts.push(layout);
        }
        missing && !job.flag("allow_file_create")
    }
}

/// Every file and device that a job names or makes up a name for, whatever its clones do with it.
pub fn targets(job: &Job, look: &dyn Fn(&Path) -> PathKind) -> Vec<PathBuf> {
    // Clones share named files, unless each goes to another folder.
    let shared = job.text("filename").is_some() && job.text("directory").is_none();
    let clones = if shared { 1 } else { job.int("numjobs").unwrap_or(1) };
    let mut all: Vec<PathBuf> =
        (0..clones.max(1) as u32).flat_map(|number| files_of_clone(job, number, look)).collect();
    all.sort();
    all.dedup();
    all
}

/// Whether the name of a job is that of its file: of anything but a regular file, and of a link to one (fio asks `lstat`).
fn is_target(name: &Path, look: &dyn Fn(&Path) -> PathKind) -> bool {
    match look(name) {
        PathKind::Block(_) | PathKind::Other => true,
        PathKind::File(_) => name.is_symlink(),
        PathKind::Folder | PathKind::Missing => false,
    }
}

/// fio's `filename_format`.
const FORMAT: &str = "$jobname.$jobnum.$filenum";

/// The files of one clone of a job, which has that number; its first one is 0.
pub fn files_of_clone(job: &Job, number: u32, look: &dyn Fn(&Path) -> PathKind) -> Vec<PathBuf> {
    let folders = job.text("directory").map(|d| split(&d)).unwrap_or_default();
    let folder = match folders.len() as u32 {
        0 => None,
        n => Some(&folders[(number % n) as usize]),
    };
    let count = job.int("nrfiles").unwrap_or(1).max(1) as u32;
    let names = match job.text("filename") {
        Some(names) => split(stripped(&names)),
        None if count == 1 && is_target(Path::new(&job.name), look) => vec![job.name.clone()],
        None => (0..count).map(|file| made_up(job, number, file)).collect(),
    };
    let paths = names.into_iter().map(|name| match folder {
        // As fio has it, a path from the root lies in the folder too.
        Some(folder) if name != "-" => PathBuf::from(format!("{folder}/{name}")),
        _ => PathBuf::from(name),
    });
    paths.collect()
}

/// The name of a file that the job does not name itself.
fn made_up(job: &Job, number: u32, file: u32) -> String {
    let format = job.text("filename_format").filter(|f| !f.is_empty());
    let format = format.unwrap_or_else(|| FORMAT.into());
    format
        .replace("$jobname", &job.name)
        .replace("$jobnum", &number.to_string())
        .replace("$filenum", &file.to_string())
        .replace("$clientuid", "localhost")
}

/// Parts between colons; a colon behind a backslash belongs to its part.
pub fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' if characters.peek() == Some(&':') => {
                characters.next();
                parts.last_mut().expect("never empty").push(':');
            }
            ':' => parts.push(String::new()),
            c => parts.last_mut().expect("never empty").push(c),
        }
    }
    parts.retain(|p| !p.is_empty());
    parts
}

//! Whether two paths are one file: by device and inode, also through overlays, or for a file that is not there yet, by its folder and name.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::destination::{LINKS, OutputPlace};
use super::{OutputError, OutputFile};
use crate::device::{DevNumber, FileId, held_file};

/// The file that a path leads to.
#[derive(Clone, Debug, Default)]
pub struct FileIdentity {
    file: Option<FileId>,
    /// The folder and the name in it.
    name: Option<(FileId, OsString)>,
}

impl FileIdentity {
    /// Of a path, all links followed. `-` is standard input.
    pub fn from_path(path: &Path) -> FileIdentity {
        if path == Path::new("-") {
            return FileIdentity::of_open(io::stdin());
        }
        let file = std::fs::metadata(path).ok().as_ref().and_then(distinct);
        let file = file.map(|file| held_file(path, file));
        let mut path = path.to_path_buf();
        for _ in 0..LINKS {
            let Ok(link) = std::fs::read_link(&path) else { break };
            path.set_file_name("");
            path.push(link);
        }
        let folder = path.parent().filter(|p| *p != Path::new("")).unwrap_or(Path::new("."));
        let folder = std::fs::metadata(folder).ok().map(|about| inode(&about));
        FileIdentity { file, name: folder.zip(path.file_name().map(OsString::from)) }
    }

    fn of_open(descriptor: impl AsFd) -> FileIdentity {
        let about = descriptor.as_fd().try_clone_to_owned().and_then(|fd| File::from(fd).metadata());
        FileIdentity { file: about.ok().as_ref().and_then(distinct), name: None }
    }

    fn of_output(output: &OutputFile) -> FileIdentity {
        let (folder, name) = match &output.place {
            OutputPlace::Stream(_) if output.path == Path::new("-") => {
                let nowhere = FileId { filesystem: DevNumber::from_raw(0), inode: 0 };
                return FileIdentity {
                    name: Some((nowhere, "-".into())),
                    ..FileIdentity::of_open(io::stdout())
                };
            }
            OutputPlace::Stream(file) => return FileIdentity::of_open(file),
            // Nobody else has a name that is chosen when it is needed.
            OutputPlace::Fresh { .. } => return FileIdentity::default(),
            OutputPlace::Named { folder, name } => (folder, name),
        };
        let inode = |about: rustix::fs::Stat| FileId {
            filesystem: DevNumber::from_raw(about.st_dev),
            inode: about.st_ino,
        };
        let there = rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).ok().map(inode);
        FileIdentity {
            file: there.map(|file| held_file(&output.path, file)),
            name: rustix::fs::fstat(folder).ok().map(inode).map(|folder| (folder, name.clone())),
        }
    }

    /// Whether both lead to one file.
    pub fn is(&self, other: &FileIdentity) -> bool {
        let same_file = self.file.is_some() && self.file == other.file;
        same_file || (self.name.is_some() && self.name == other.name)
    }
}

fn inode(about: &Metadata) -> FileId {
    FileId { filesystem: DevNumber::from_raw(about.dev()), inode: about.ino() }
}

/// Whether an open file is what standard output leads to.
pub fn is_stdout(file: &File) -> bool {
    let own = FileIdentity::of_open(file);
    own.file.is_some() && own.file == FileIdentity::of_open(io::stdout()).file
}

/// Whether an open file is what standard output or standard error leads to.
pub fn is_standard(file: &File) -> bool {
    let own = FileIdentity::of_open(file).file;
    is_stdout(file) || (own.is_some() && own == FileIdentity::of_open(io::stderr()).file)
}

/// Nothing for devices that forget: any number of outputs may go to /dev/null.
fn distinct(about: &Metadata) -> Option<FileId> {
    let forgets = about.file_type().is_char_device() && rustix::fs::major(about.rdev()) == 1;
    (!forgets).then(|| inode(about))
}

/// The regular file behind a descriptor, if it is one.
fn regular(descriptor: impl AsFd) -> Option<FileIdentity> {
    let file = File::from(descriptor.as_fd().try_clone_to_owned().ok()?);
    let about = file.metadata().ok().filter(Metadata::is_file)?;
    Some(FileIdentity { file: Some(inode(&about)), name: None })
}

/// Refuses outputs that are the same file as another output, as one of `others` (inputs and targets, with the words to name them by),
/// or as a file that the shell has redirected standard output or error to.
///
/// # Errors
/// [`OutputError::Same`] for the first such output.
pub fn apart(outputs: &[&OutputFile], others: &[(String, FileIdentity)]) -> Result<(), OutputError> {
    let redirected = [("standard output", regular(io::stdout())), ("standard error", regular(io::stderr()))];
    let mut taken: Vec<(String, FileIdentity)> = others.to_vec();
    for output in outputs {
        let own = FileIdentity::of_output(output);
        let streams = redirected.iter().filter(|_| !output.is_stream());
        let streams = streams.filter_map(|(name, identity)| Some((*name, identity.as_ref()?)));
        let named = taken.iter().map(|(name, identity)| (name.as_str(), identity));
        if let Some((other, _)) = named.chain(streams).find(|(_, identity)| identity.is(&own)) {
            let (option, path) = (output.option.clone(), output.path.clone());
            if let Some(other) = other.strip_suffix(" -").filter(|_| path == Path::new("-")) {
                return Err(OutputError::StdoutTaken { option, other: other.into() });
            }
            return Err(OutputError::Same { option, path, other: other.to_string() });
        }
        let shown =
            if output.path == Path::new("-") { "-".into() } else { output.path.display().to_string() };
        taken.push((format!("{} {shown}", output.option), own));
    }
    outputs.iter().try_for_each(|output| output.replaces_its_kind())
}

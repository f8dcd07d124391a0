//! Whether outputs are apart from each other, from inputs and targets, and from the standard streams.

use std::io;
use std::path::Path;

use super::destination::OutputPlace;
use super::identity::{FileIdentity, regular};
use super::{OutputError, OutputFile};
use crate::device::{DevNumber, FileId, held_file};

/// Refuses outputs that are the same file as another output, as one of `others` (inputs and targets, with the words to name them by),
/// or as a file that the shell has redirected standard output or error to; and those that replace a file which is no output of their kind.
///
/// # Errors
/// [`OutputError::Same`] or [`OutputError::Foreign`] for the first such output.
pub fn apart(outputs: &[&OutputFile], others: &[(String, FileIdentity)]) -> Result<(), OutputError> {
    differ(outputs, others)?;
    outputs.iter().try_for_each(|output| output.replaces_its_kind())
}

/// The same, whatever the files hold that are replaced.
///
/// # Errors
/// [`OutputError::Same`] for the first such output.
pub fn differ(outputs: &[&OutputFile], others: &[(String, FileIdentity)]) -> Result<(), OutputError> {
    let redirected = [("standard output", regular(io::stdout())), ("standard error", regular(io::stderr()))];
    let mut taken: Vec<(String, FileIdentity)> = others.to_vec();
    for output in outputs {
        let own = identity_of(output);
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
    Ok(())
}

/// The file that an output is.
fn identity_of(output: &OutputFile) -> FileIdentity {
    let (folder, name) = match &output.place {
        OutputPlace::Stream(_) if output.path == Path::new("-") => {
            let nowhere = FileId { filesystem: DevNumber::from_raw(0), inode: 0 };
            return FileIdentity { name: Some((nowhere, "-".into())), ..FileIdentity::of_open(io::stdout()) };
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

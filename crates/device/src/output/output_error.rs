//! Why a path cannot take an output.

use std::path::PathBuf;

/// Why a path cannot take an output.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A block device, or a character device with data behind it.
    #[error("{} is a device, and the output would overwrite it; name a file with {option}", path.display())]
    Device {
        /// The option that names the output.
        option: String,
        /// The device.
        path: PathBuf,
    },
    /// A file of /proc, /sys or their like.
    #[error("{} is a setting of the kernel, and the output would overwrite it; name a file with {option}", path.display())]
    Setting {
        /// The option that names the output.
        option: String,
        /// The file.
        path: PathBuf,
    },
    /// The path cannot be written.
    #[error("{} cannot be written: {why}; name another path with {option}", path.display())]
    Unwritable {
        /// The option that names the output.
        option: String,
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A file with something else is there.
    #[error("{} is there and is no {kind}: name another file with {option}, or replace it with --force", path.display())]
    Foreign {
        /// The option that names the output.
        option: String,
        /// The file.
        path: PathBuf,
        /// The kind of the output.
        kind: &'static str,
    },
    /// Standard output takes one text.
    #[error("{other} goes to standard output already; name a file with {option}")]
    StdoutTaken {
        /// The option that names the output.
        option: String,
        /// The option of the other output.
        other: String,
    },
    /// Writing it would destroy something else that the command uses.
    #[error("{} is the same file as {other}; name another file with {option}", path.display())]
    Same {
        /// The option that names the output.
        option: String,
        /// The file.
        path: PathBuf,
        /// The other use of the file.
        other: String,
    },
}

impl OutputError {
    /// The reason alone, for a message that names the output itself.
    pub fn reason(self) -> String {
        match self {
            OutputError::Unwritable { why, .. } => why,
            other => other.to_string(),
        }
    }
}

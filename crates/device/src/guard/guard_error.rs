//! Why there is no clearance.

use std::io;
use std::path::PathBuf;

use super::finding::{Code, GuardSeverity};
use super::target_check::Check;
use crate::device::DeviceError;
use volproof_base::shell_word::shell_path;

/// Why there is no clearance.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The rules refuse the target; exit code 3.
    #[error("{}", refusal(.0))]
    Refused(Box<Check>),
    /// There is no target, or none that can be tested; exit code 2.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The system refused what the rules allow.
    #[error("cannot {what} {}: {source}{advice}", path.display())]
    Io {
        /// The operation that failed, as a verb.
        what: &'static str,
        /// The path of the operation.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
        /// The way out, with its own punctuation.
        advice: &'static str,
    },
}

impl GuardError {
    /// The first thing that speaks against the target, in one line.
    pub fn in_one_line(&self) -> String {
        match self {
            GuardError::Refused(check) => {
                match check.findings.iter().find(|f| f.severity > GuardSeverity::Note) {
                    Some(f) => format!("{} ({})", f.what, f.evidence),
                    None => self.to_string(),
                }
            }
            other => other.to_string(),
        }
    }

    /// Whether the system lets nobody open the target as it is. Otherwise the user's options are at fault.
    pub fn is_by_the_system(&self) -> bool {
        use io::ErrorKind::{InvalidInput, PermissionDenied, ReadOnlyFilesystem};
        match self {
            GuardError::Io { what: "make", source, .. } => {
                [PermissionDenied, ReadOnlyFilesystem].contains(&source.kind())
            }
            // An invalid argument is due to an option: direct I/O on a filesystem that has none.
            GuardError::Io { source, .. } => source.kind() != InvalidInput,
            _ => false,
        }
    }
}

/// The refusal in two lines per finding, for places that have no table. That a disk carries the running system decides alone.
pub(super) fn refusal(check: &Check) -> String {
    let mut text = format!("refused to write to {}:", check.target.display());
    let against: Vec<_> = check.findings.iter().filter(|f| f.severity > GuardSeverity::Note).collect();
    let system = against.iter().position(|f| f.code == Code::SystemDisk);
    let told = system.map_or(&against[..], |at| &against[at..=at]);
    for f in told {
        text.push_str(&format!("\n  {}: {} ({})\n    {}", f.code.name(), f.what, f.evidence, f.advice));
    }
    let more = against.len() - told.len();
    if more > 0 {
        let others = if more == 1 { "1 more finding speaks" } else { &format!("{more} more findings speak") };
        text.push_str(&format!("\n  {others} against it: volproof check {}", shell_path(&check.target)));
    }
    if let Some(words) = check.how_to_consent() {
        text.push_str(&format!("\n{words}"));
    }
    text
}

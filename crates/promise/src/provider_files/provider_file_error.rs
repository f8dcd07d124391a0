//! Why a file of a provider's JSON cannot be used, each reason with what to do.
//!
//! A message shows names of the file's things and keys of the table, and nothing else of the file.

use crate::catalogue::PromiseError;
use volproof_base::misspelling::question;

/// So many names are listed in a message.
const MOST_NAMES: usize = 5;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProviderFileError {
    /// The text is no JSON.
    #[error("{origin} is no JSON ({message}): save the output of the command as it is, with --output json")]
    NoJson {
        /// The file.
        origin: String,
        /// Where it is wrong.
        message: serde_json::Error,
    },
    /// No command prints this.
    #[error(
        "{origin} is not the output of a command that {option} takes: {commands}. Save the whole output, without --query"
    )]
    Unknown {
        /// The file.
        origin: String,
        /// The option.
        option: &'static str,
        /// The commands whose output it takes.
        commands: String,
    },
    /// The output of a command that tells something else.
    #[error(
        "{origin} is the output of {command}: give it to {its_option}. {option} takes that of {commands}"
    )]
    OtherCommand {
        /// The file.
        origin: String,
        /// The command.
        command: &'static str,
        /// The option that takes its output.
        its_option: &'static str,
        /// The option that was given.
        option: &'static str,
        /// The commands whose output that takes.
        commands: String,
    },
    /// The output holds nothing.
    #[error(
        "{origin} is the output of {command}, and holds nothing: give the command a name, and the region"
    )]
    Empty {
        /// The file.
        origin: String,
        /// The command.
        command: &'static str,
    },
    /// The output holds several things, and it was not said which is meant.
    #[error("{origin} holds {count} {what}s ({}): say which is meant, such as {origin}:{}", listed(names), names[0])]
    Several {
        /// The file.
        origin: String,
        /// The kind of thing.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// Their names.
        names: Vec<String>,
    },
    /// The output holds nothing of this name.
    #[error("{origin} holds no {what} '{given}':{} It holds {}", question(near), listed(names))]
    Absent {
        /// The file.
        origin: String,
        /// The kind of thing.
        what: &'static str,
        /// As it was given.
        given: String,
        /// The nearest names.
        near: Vec<String>,
        /// All names.
        names: Vec<String>,
    },
    /// Keys that are needed are missing.
    #[error(
        "{origin} lacks {keys} of {name}: save the whole output of {command}, without --query. Where that lacks it too, the provider tells no such figure"
    )]
    Missing {
        /// The file.
        origin: String,
        /// The thing.
        name: String,
        /// The keys.
        keys: String,
        /// The command.
        command: &'static str,
    },
    /// The catalogue does not know the type.
    #[error("{origin}: {error}")]
    Type {
        /// The file.
        origin: String,
        /// The reason.
        error: Box<PromiseError>,
    },
}

/// The first names, and how many more there are.
fn listed(names: &[String]) -> String {
    let mut text = names.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > MOST_NAMES {
        text += &format!(" and {} more", names.len() - MOST_NAMES);
    }
    text
}

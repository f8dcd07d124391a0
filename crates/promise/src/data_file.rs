//! A data file of a user: the catalogue of volumes, or the needs of applications. Both are read, and refused, in one way.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use volproof_base::quoting::{line_and_column, quoted};

/// Why a data file of a user cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataFileError {
    /// The file cannot be read.
    #[error("cannot read {what} {path}: {source}")]
    Unreadable {
        /// The kind of file, in words.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The file is not in the form.
    #[error("{origin} is {form}:\n{message}")]
    Malformed {
        /// The file.
        origin: String,
        /// The form that it does not have, in words.
        form: &'static str,
        /// Line, column and what is wrong there.
        message: String,
    },
    /// An entry contradicts itself or the others.
    #[error("{}", quoted(.origin, format!("{origin}: {}", faults.join("\n"))))]
    Faulty {
        /// The file.
        origin: String,
        /// One line for each fault.
        faults: Vec<String>,
    },
}

/// Reads the text of a file of version 1. `form` says what a text is that cannot be read.
///
/// # Errors
/// The text is no TOML of this form, or of a later version.
pub(crate) fn parse<T: DeserializeOwned>(
    text: &str,
    origin: &str,
    form: &'static str,
    version: impl Fn(&T) -> Option<u32>,
) -> Result<T, DataFileError> {
    let message = match toml::from_str::<T>(text) {
        Ok(read) => match version(&read) {
            None | Some(1) => return Ok(read),
            Some(n) => format!("it has version {n}: this program reads version 1"),
        },
        Err(e) => {
            let (line, column) = line_and_column(text, e.span().map_or(0, |span| span.start));
            quoted(format_args!("line {line}, column {column}"), e.to_string())
        }
    };
    Err(DataFileError::Malformed { origin: origin.to_string(), form, message })
}

/// The text of a user's file.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn text_of(path: &Path, what: &'static str) -> Result<String, DataFileError> {
    volproof_base::input::read_text(path).map_err(|source| DataFileError::Unreadable {
        what,
        path: path.into(),
        source,
    })
}

/// What was read of a user's file, where it has no fault.
///
/// # Errors
/// It has faults.
pub(crate) fn without_faults<T>(read: T, origin: String, faults: Vec<String>) -> Result<T, DataFileError> {
    if faults.is_empty() { Ok(read) } else { Err(DataFileError::Faulty { origin, faults }) }
}

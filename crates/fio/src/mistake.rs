//! Mistakes in a command line or a job file: where each is, and what may have been meant.

use std::fmt;
use std::path::PathBuf;

use volproof_base::quoting::quoted;

/// Where an option was given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The argument of that number on the command line, from 1.
    Argument(usize),
    /// A line of a job file, from 1; `-` is standard input.
    Line {
        /// The file.
        file: PathBuf,
        /// The line.
        line: usize,
    },
    /// Nowhere in particular.
    Whole,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Argument(n) => write!(f, "argument {n}"),
            Origin::Line { file, line } => write!(f, "{}:{line}", file.display()),
            Origin::Whole => f.write_str("command line"),
        }
    }
}

/// One mistake. The first one ends the reading of a command line; a job file is read to the end of its section.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", self.text())]
pub struct Mistake {
    /// The place where the mistake was made.
    pub origin: Origin,
    /// The place in the line, from 1, in characters.
    pub column: Option<usize>,
    /// The kind of mistake.
    pub what: What,
}

/// The kinds of mistakes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// No option has this name.
    Unknown {
        /// As given.
        name: String,
        /// A name that is near.
        nearest: Option<String>,
    },
    /// An option of an engine, with another engine.
    OtherEngine {
        /// The option.
        name: String,
        /// The engine of the job at this place.
        engine: String,
        /// Engines that have it.
        engines: Vec<String>,
    },
    /// The value does not fit the option.
    Value {
        /// The option.
        option: String,
        /// Why.
        why: String,
    },
    /// A file that cannot be read.
    Unreadable {
        /// Its name.
        file: String,
        /// Why.
        why: String,
    },
    /// Anything else about the text.
    Form(String),
    /// There is no job to run.
    NoJobs,
}

impl Mistake {
    /// fio ends with this status when it cannot read what it is given.
    pub const EXIT: u8 = 1;

    pub(super) fn at(origin: &Origin, what: What) -> Mistake {
        Mistake { origin: origin.clone(), column: None, what }
    }

    pub(super) fn value(origin: &Origin, option: &str, why: String) -> Mistake {
        Mistake::at(origin, What::Value { option: option.to_string(), why })
    }

    pub(super) fn form(origin: &Origin, text: impl Into<String>) -> Mistake {
        Mistake::at(origin, What::Form(text.into()))
    }

    fn text(&self) -> String {
        let place = match (&self.origin, self.column) {
            (Origin::Whole, _) => String::new(),
            (origin, Some(column)) => format!("{origin}:{column}: "),
            (origin, None) => format!("{origin}: "),
        };
        let told = format!("{place}{}", self.what);
        match &self.origin {
            Origin::Line { .. } => quoted(place.trim_end_matches([':', ' ']), told),
            _ => told,
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Unknown { name, nearest: Some(nearest) } => {
                write!(f, "fio has no option '{name}': did you mean '{nearest}'?")
            }
            What::Unknown { name, nearest: None } => {
                write!(f, "fio has no option '{name}': see --cmdhelp=all for those it has")
            }
            What::OtherEngine { name, engine, engines } => {
                write!(f, "'{name}' is an option of ioengine {}, not of {engine}", engines.join(", "))
            }
            What::Value { option, why } => write!(f, "{option}: {why}"),
            What::Unreadable { file, why } => write!(f, "{file}: cannot be read: {why}"),
            What::Form(text) => f.write_str(text),
            What::NoJobs => f.write_str(
                "no job: name a job file, as in `volproof fio job.fio`, or start a job with --name=NAME",
            ),
        }
    }
}

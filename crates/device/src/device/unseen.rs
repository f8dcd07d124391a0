//! A part of the machine that this process cannot see, and how it can be seen.

use std::fmt::{self, Display, Formatter};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that could not be looked at: the target may be in use there. In JSON it is one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Unseen {
    /// What is not seen, as a clause.
    pub what: String,
    /// The way to see it, as an order without its full stop.
    pub advice: String,
}

impl Unseen {
    pub(super) fn new(what: impl Into<String>, advice: impl Into<String>) -> Unseen {
        Unseen { what: what.into(), advice: advice.into() }
    }

    /// What root sees outside of containers.
    pub(super) fn by_root(what: impl Into<String>) -> Unseen {
        Unseen::new(what, "look as root, outside containers")
    }
}

impl Display for Unseen {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Unseen { what, advice } = self;
        if advice.is_empty() { f.write_str(what) } else { write!(f, "{what}: {advice}") }
    }
}

impl From<Unseen> for String {
    fn from(unseen: Unseen) -> String {
        unseen.to_string()
    }
}

impl From<String> for Unseen {
    /// Of a stored result, whose text is not taken apart again.
    fn from(what: String) -> Unseen {
        Unseen { what, advice: String::new() }
    }
}

/// A path as text without control characters: for people alone.
pub(in crate::device) fn readable(path: &Path) -> String {
    path.to_string_lossy().replace(char::is_control, "\u{fffd}")
}

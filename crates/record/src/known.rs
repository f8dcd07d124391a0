//! A fact of a result, and how it is known: said by the tool that measured, inferred by the reader, or not known at all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fact of a result. In JSON a fact that was said is its value, one that was inferred `{"assumed": value, "why": reason}`, and one that is
/// not known `null`, or absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Known_{T}")]
pub enum Known<T> {
    /// The result does not say it, but says something that it follows from, or that makes it likely.
    Assumed {
        /// The value.
        assumed: T,
        /// The reason for the assumption.
        why: String,
    },
    /// The result says it.
    Said(T),
    /// Nothing in the result tells it.
    #[default]
    Unknown,
}

impl<T> Known<T> {
    /// An inferred value and what it rests on.
    pub fn assumed(value: T, why: impl Into<String>) -> Known<T> {
        Known::Assumed { assumed: value, why: why.into() }
    }

    /// An inferred value and what it rests on, where there is one.
    pub fn assumed_from(value: Option<T>, why: &str) -> Known<T> {
        value.map_or(Known::Unknown, |value| Known::assumed(value, why))
    }

    /// Another fact that follows from the value, known in the same way.
    pub fn map<U>(self, follows: impl FnOnce(T) -> U) -> Known<U> {
        match self {
            Known::Said(value) => Known::Said(follows(value)),
            Known::Assumed { assumed, why } => Known::assumed(follows(assumed), why),
            Known::Unknown => Known::Unknown,
        }
    }

    /// The value, said or assumed.
    pub fn as_ref(&self) -> Option<&T> {
        match self {
            Known::Said(value) | Known::Assumed { assumed: value, .. } => Some(value),
            Known::Unknown => None,
        }
    }

    /// The value if the result says it.
    pub fn said(&self) -> Option<&T> {
        if let Known::Said(value) = self { Some(value) } else { None }
    }

    /// A value of any kind is there.
    pub fn is_known(&self) -> bool {
        !self.is_unknown()
    }

    /// Nothing tells it.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Known::Unknown)
    }

    /// It is taken to be so, for a reason.
    pub fn is_assumed(&self) -> bool {
        matches!(self, Known::Assumed { .. })
    }

    /// This fact, or another source's where this one is not known.
    pub fn or(self, other: impl FnOnce() -> Known<T>) -> Known<T> {
        if self.is_known() { self } else { other() }
    }
}

impl<T: Copy> Known<T> {
    /// The value, said or assumed.
    pub fn get(&self) -> Option<T> {
        self.as_ref().copied()
    }
}

impl<T> From<T> for Known<T> {
    fn from(value: T) -> Known<T> {
        Known::Said(value)
    }
}

impl<T> From<Option<T>> for Known<T> {
    fn from(value: Option<T>) -> Known<T> {
        value.map_or(Known::Unknown, Known::Said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_kinds_have_three_forms() {
        for (known, json) in [
            (Known::Said(32), "32"),
            (Known::assumed(4, "four rows"), r#"{"assumed":4,"why":"four rows"}"#),
            (Known::Unknown, "null"),
        ] {
            assert_eq!(serde_json::to_string(&known).unwrap(), json);
            assert_eq!(serde_json::from_str::<Known<u32>>(json).unwrap(), known);
        }
        assert_eq!(Known::<u32>::Unknown.or(|| 7.into()).get(), Some(7));
        assert_eq!(Known::assumed(1, "").said(), None);
    }
}

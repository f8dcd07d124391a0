//! When a step begins.

use std::fmt;
use std::str::FromStr;

use super::workload::WordError;

/// When a step begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// When all earlier steps have ended.
    #[default]
    AfterAll,
    /// Together with the step before it.
    WithPrevious,
    /// When the earlier step of that name has ended; others may still run.
    After(String),
}

impl Start {
    /// Whether this is the default, which a Record leaves out.
    pub fn is_after_all(&self) -> bool {
        *self == Start::AfterAll
    }
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Start::AfterAll => f.pad("after-all"),
            Start::WithPrevious => f.pad("with-previous"),
            Start::After(step) => f.pad(&format!("after:{step}")),
        }
    }
}

impl FromStr for Start {
    type Err = WordError;
    fn from_str(text: &str) -> Result<Start, WordError> {
        match (text, text.strip_prefix("after:")) {
            ("after-all", _) => Ok(Start::AfterAll),
            ("with-previous", _) => Ok(Start::WithPrevious),
            (_, Some(step)) if !step.is_empty() => Ok(Start::After(step.into())),
            _ => Err(WordError(format!(
                "start: '{text}' is not known: use after-all, with-previous or after:STEP"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_read_back() {
        for text in ["after-all", "with-previous", "after:warm up: b"] {
            assert_eq!(text.parse::<Start>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn mistakes_say_what_there_is() {
        assert!("after:".parse::<Start>().unwrap_err().to_string().contains("after:STEP"));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".{0,24}") {
            let _ = text.parse::<Start>();
        }
    }
}

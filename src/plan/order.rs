//! Steps among each other: when one begins, and what ends when it does.

use std::fmt;
use std::str::FromStr;

use super::workload::{WordError, serde_as_text};

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
    /// One step after another, which is left unsaid.
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

serde_as_text!(Start);

/// Which other steps end with a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Those of its group, whether they run or are still to come.
    Group,
    /// Those that run. What waits goes on waiting, and begins when it is due.
    Running,
    /// All, whether they run or are still to come.
    All,
}

/// What ends as soon as one job of a step does: the step's other jobs, and other steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Which other steps.
    pub reach: Reach,
    /// Only when the job ended with an error.
    pub on_error: bool,
}

impl Ends {
    const ON_ERROR: &str = "-on-error";
    const NAMES: [(Reach, &str); 3] =
        [(Reach::Group, "group"), (Reach::Running, "running"), (Reach::All, "all")];
}

impl fmt::Display for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Ends::NAMES.iter().find(|(r, _)| *r == self.reach).expect("every reach has a name").1;
        f.pad(&format!("{name}{}", if self.on_error { Ends::ON_ERROR } else { "" }))
    }
}

impl FromStr for Ends {
    type Err = WordError;
    fn from_str(text: &str) -> Result<Ends, WordError> {
        let (name, on_error) = text.strip_suffix(Ends::ON_ERROR).map_or((text, false), |name| (name, true));
        let reach = Ends::NAMES.iter().find(|(_, n)| *n == name).map(|(r, _)| *r);
        reach.map(|reach| Ends { reach, on_error }).ok_or_else(|| {
            WordError(format!(
                "ends: '{text}' is not known: use group, running or all, or one of them with -on-error behind it"
            ))
        })
    }
}

serde_as_text!(Ends);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_read_back() {
        for text in ["after-all", "with-previous", "after:warm up: b"] {
            assert_eq!(text.parse::<Start>().unwrap().to_string(), text);
        }
        for text in ["group", "running", "all", "group-on-error", "running-on-error", "all-on-error"] {
            let ends: Ends = text.parse().unwrap();
            assert_eq!((ends.to_string().as_str(), ends.on_error), (text, text.ends_with("error")));
        }
    }

    #[test]
    fn mistakes_say_what_there_is() {
        assert!("after:".parse::<Start>().unwrap_err().to_string().contains("after:STEP"));
        for text in ["", "-on-error", "others", "all-on-errors"] {
            let e = text.parse::<Ends>().unwrap_err().to_string();
            assert!(e.contains("use group, running or all"), "{e}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".{0,24}") {
            let _ = text.parse::<Start>();
            let _ = text.parse::<Ends>();
        }
    }
}

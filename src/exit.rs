//! Exit codes: the contract with scripts and pipelines. A test holds `docs/exit-codes.md` to the same table.
//!
//! `volproof fio` keeps fio's own codes, to which it adds [`Exit::Refused`] and [`Exit::NotRestored`].

use std::process::ExitCode;

use crate::record::Outcome;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// PASS, or done where nothing is judged.
    Done = 0,
    /// FAIL, or the run failed.
    Failed = 1,
    /// Wrong input: nothing was begun.
    WrongInput = 2,
    /// Refused for safety: nothing was begun.
    Refused = 3,
    /// A setting of the kernel could not be put back.
    NotRestored = 4,
    /// The measurement does not decide the promise.
    Inconclusive = 5,
    /// The measurement says nothing of the promise.
    Invalid = 6,
    /// Ended by a signal; the results until then are kept.
    Interrupted = 130,
}

/// Every exit code with its meaning and with the next step, as the help and the page show it.
pub const TABLE: [(Exit, &str, &str); 8] = [
    (Exit::Done, "PASS, or done where nothing is judged", "nothing"),
    (Exit::Failed, "FAIL, or the run failed", "read the verdict and what it says to check first"),
    (Exit::WrongInput, "wrong input; nothing was begun", "correct what the message names"),
    (
        Exit::Refused,
        "refused, because data or another program could be harmed; nothing was begun",
        "read the findings; `volproof check TARGET` prints them with the way out",
    ),
    (
        Exit::NotRestored,
        "a kernel setting could not be put back",
        "run `volproof restore` as root, and what it prints",
    ),
    (
        Exit::Inconclusive,
        "INCONCLUSIVE: the promise is not decided",
        "do what the verdict names (a command, a longer run, a cause to look for), or use --until-conclusive",
    ),
    (
        Exit::Invalid,
        "INVALID: the run cannot judge the promise",
        "remove the cause that the verdict names, and run again",
    ),
    (Exit::Interrupted, "interrupted; results until then are kept", "run again for the missing steps"),
];

impl Exit {
    /// The exit code of an outcome.
    pub fn of_outcome(outcome: Outcome) -> Exit {
        match outcome {
            Outcome::Pass => Exit::Done,
            Outcome::Fail => Exit::Failed,
            Outcome::Invalid => Exit::Invalid,
            Outcome::Inconclusive => Exit::Inconclusive,
        }
    }

    /// The gravest of several exit codes. What failed outweighs what was interrupted, and that what is not shown or not decided.
    pub fn gravest(all: impl IntoIterator<Item = Exit>) -> Exit {
        let by_weight = [Exit::Inconclusive, Exit::Invalid, Exit::Interrupted, Exit::Failed];
        let weight = |exit: &Exit| by_weight.iter().position(|e| e == exit);
        all.into_iter().max_by_key(weight).unwrap_or(Exit::Done)
    }

    /// The number that the program returns.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// The table as lines of `--help`.
pub fn help() -> String {
    let line = |(exit, meaning, _): &(Exit, &str, &str)| format!("  {:<4}{meaning}\n", exit.code());
    let table: String = TABLE.iter().map(line).collect();
    format!("Exit codes:\n{}", table.trim_end())
}

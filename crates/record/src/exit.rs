//! Exit codes: the contract with scripts and pipelines. A test holds `docs/exit-codes.md` to the same table.
//!
//! `volproof fio` keeps fio's own codes, to which it adds [`Exit::Refused`] and [`Exit::NotRestored`]: see [`Exit::as_fio`].

use std::process::ExitCode;

use crate::Outcome;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// PASS, or done where nothing is judged.
    Done = 0,
    /// FAIL, and nothing else.
    Fail = 1,
    /// Wrong input: nothing was begun.
    WrongInput = 2,
    /// Refused for safety: nothing was begun.
    Refused = 3,
    /// A setting of the kernel could not be put back.
    NotRestored = 4,
    /// The measurement does not decide the promise.
    Inconclusive = 5,
    /// The measurement says nothing of the volume, whether or not a promise is named.
    Invalid = 6,
    /// The run could not go on, or a result could not be saved.
    RunFailed = 7,
    /// Ended by a signal; the results until then are kept.
    Interrupted = 130,
}

/// Every exit code with its meaning and with the next step, as the help and the page show it.
pub const TABLE: [(Exit, &str, &str); 9] = [
    (Exit::Done, "PASS, or done where nothing is judged", "nothing"),
    (Exit::Fail, "FAIL", "read the verdict and what it says to check first"),
    (Exit::WrongInput, "wrong input; nothing was begun", "correct what the message names"),
    (
        Exit::Refused,
        "refused, to keep data and other programs from harm; nothing, or no further step, was begun",
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
        "INVALID or NOT VALID: the figures show nothing of the volume",
        "remove the cause that the answer names, and run again",
    ),
    (
        Exit::RunFailed,
        "the run failed, or a result could not be saved",
        "read the message: it names the device or the file; finished steps are in the Record",
    ),
    (
        Exit::Interrupted,
        "interrupted; results until then are kept",
        "`volproof run --resume RECORD` measures the missing steps",
    ),
];

impl Exit {
    /// The exit code of an outcome.
    pub fn of_outcome(outcome: Outcome) -> Exit {
        match outcome {
            Outcome::Pass => Exit::Done,
            Outcome::Fail => Exit::Fail,
            Outcome::Invalid => Exit::Invalid,
            Outcome::Inconclusive => Exit::Inconclusive,
        }
    }

    /// The gravest of several exit codes. FAIL is a fact about a volume and outweighs a run that failed; that outweighs an interrupted one,
    /// and that what is not shown or not decided.
    pub fn gravest(all: impl IntoIterator<Item = Exit>) -> Exit {
        let by_weight = [Exit::Inconclusive, Exit::Invalid, Exit::Interrupted, Exit::RunFailed, Exit::Fail];
        all.into_iter().max_by_key(|exit| by_weight.iter().position(|e| e == exit)).unwrap_or(Exit::Done)
    }

    /// The exit code of `volproof fio`. fio ends with 1 for everything that cannot be read, run or written, and judges nothing.
    pub fn as_fio(self) -> Exit {
        match self {
            Exit::WrongInput | Exit::RunFailed => Exit::Fail,
            Exit::Inconclusive | Exit::Invalid => Exit::Done,
            other => other,
        }
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
    let lines = TABLE.map(|(exit, meaning, _)| format!("  {:<4}{meaning}", exit.code()));
    format!("Exit codes:\n{}", lines.join("\n"))
}

//! A command that did not succeed: its message and its exit code.

use std::process::ExitCode;

use crate::ui;
use volproof_device::device::DeviceError;
use volproof_device::guard::GuardError;
use volproof_host::tune::TuneError;
use volproof_record::exit::Exit;

/// A command that did not succeed: its message and exit code.
#[derive(Clone, Debug)]
pub struct Failure {
    pub(super) code: u8,
    pub(super) message: String,
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }

    /// Says on standard error what went wrong.
    pub fn tell(&self) {
        if !self.message.is_empty() {
            ui::tell(&self.to_string());
        }
    }

    pub(super) fn new(exit: Exit, message: impl std::fmt::Display) -> Failure {
        Failure { code: exit.code(), message: message.to_string() }
    }

    pub(super) fn input(message: impl std::fmt::Display) -> Failure {
        Failure::new(Exit::WrongInput, message)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.message.trim_end())
    }
}

impl From<anyhow::Error> for Failure {
    /// Errors of the run itself, as opposed to its input.
    fn from(e: anyhow::Error) -> Failure {
        Failure::new(Exit::RunFailed, chain(&e))
    }
}

impl From<GuardError> for Failure {
    fn from(e: GuardError) -> Failure {
        match e {
            GuardError::Device(e) => e.into(),
            GuardError::Refused(_) => Failure::new(Exit::Refused, e),
            GuardError::Io { .. } if e.is_by_the_system() => Failure::new(Exit::Refused, e),
            GuardError::Io { .. } => Failure::input(e),
        }
    }
}

impl From<TuneError> for Failure {
    fn from(e: TuneError) -> Failure {
        Failure::new(exit_of(&e), e)
    }
}

impl From<DeviceError> for Failure {
    fn from(e: DeviceError) -> Failure {
        Failure::new(if e.is_refusal() { Exit::Refused } else { Exit::WrongInput }, e)
    }
}

/// An error with its causes, without those that the message contains already.
pub(super) fn chain(e: &anyhow::Error) -> String {
    e.chain().skip(1).map(ToString::to_string).fold(e.to_string(), |text, cause| {
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}

/// Why a command about targets has no answer. A device that another run holds is refused like one in use, and so is a target that cannot be
/// looked at.
pub(super) fn unanswered(e: &anyhow::Error) -> Failure {
    let refused = e.downcast_ref().is_some_and(DeviceError::is_refusal);
    let exit = if refused { Exit::Refused } else { Exit::WrongInput };
    Failure::new(e.downcast_ref().map_or(exit, exit_of), chain(e))
}

/// The exit code where nothing was tuned.
pub fn exit_of(e: &TuneError) -> Exit {
    match e {
        TuneError::Busy { .. } => Exit::Refused,
        TuneError::NoJournal { .. } | TuneError::Unsafe { .. } => Exit::WrongInput,
        TuneError::NotBack(_) => Exit::NotRestored,
    }
}

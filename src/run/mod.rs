//! The pipeline and the front ends that call it; the only module that knows the order of steps.
//!
//! Everything that can be wrong with the input is found before the first side effect; every side effect comes after the Clearance; the
//! Record is written after every step. Nothing here measures or judges. Each subcommand has a file in `commands`; the work that all
//! measuring commands share is in [`pipeline`].

mod commands;
mod end_signals;
mod fit_steps;
mod fleet_course;
mod fleet_gather;
mod fleet_run;
mod fleet_start;
mod fleet_work;
mod leftover;
mod measurement;
#[cfg(feature = "mpi")]
mod mpi_exchange;
mod open_targets;
pub mod pipeline;
mod plans;
mod preconditioning;
mod results;
mod resume;
mod room;
mod sheet;
mod stage;
mod targets;
mod test_file_size;
#[cfg(test)]
mod tests;
mod tuning;

use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

pub use commands::{fio, main};

use crate::ui;
use volproof_device::device::{DeviceError, Root};
use volproof_device::guard::{self, GuardError};
use volproof_device::output::{self, Content, FileIdentity, MisplacedOutput, OutputFile, OutputKind, screen};
use volproof_host::tune::TuneError;
use volproof_record::Record;
use volproof_record::exit::Exit;

/// A command that did not succeed: its message and exit code.
#[derive(Clone, Debug)]
pub struct Failure {
    code: u8,
    message: String,
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

    fn new(exit: Exit, message: impl std::fmt::Display) -> Failure {
        Failure { code: exit.code(), message: message.to_string() }
    }

    fn input(message: impl std::fmt::Display) -> Failure {
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
        Failure::new(tuning::exit_of(&e), e)
    }
}

impl From<DeviceError> for Failure {
    fn from(e: DeviceError) -> Failure {
        Failure::new(if e.is_refusal() { Exit::Refused } else { Exit::WrongInput }, e)
    }
}

/// An error with its causes, without those that the message contains already.
fn chain(e: &anyhow::Error) -> String {
    e.chain().skip(1).map(ToString::to_string).fold(e.to_string(), |text, cause| {
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}

/// Why a command about targets has no answer. A device that another run holds is refused like one in use, and so is a target that cannot be
/// looked at.
fn unanswered(e: &anyhow::Error) -> Failure {
    let refused = e.downcast_ref().is_some_and(DeviceError::is_refusal);
    let exit = if refused { Exit::Refused } else { Exit::WrongInput };
    Failure::new(e.downcast_ref().map_or(exit, tuning::exit_of), chain(e))
}

/// Prints an answer that carries its exit code.
fn print_with_code(answer: anyhow::Result<(String, Exit)>) -> Result<Exit, Failure> {
    let (text, exit) = answer.map_err(|e| unanswered(&e))?;
    code_after_outputs([print(&text)], exit)
}

/// The exit code of an answer that went to several outputs. An output that failed turns 0 into 7, and leaves any other code.
fn code_after_outputs(
    places: impl IntoIterator<Item = Result<Exit, Failure>>,
    exit: Exit,
) -> Result<Exit, Failure> {
    let lost: Vec<String> = places.into_iter().filter_map(|p| Some(p.err()?.message)).collect();
    match (lost.is_empty(), exit) {
        (true, exit) => Ok(exit),
        (false, Exit::Done) => Err(Failure::new(Exit::RunFailed, lost.join("\n"))),
        (false, exit) => {
            lost.iter().for_each(|message| ui::tell(message));
            Ok(exit)
        }
    }
}

/// Writes results to standard output.
fn print(text: &str) -> Result<Exit, Failure> {
    screen::print(text).map(|()| Exit::Done).map_err(unprinted)
}

/// Writes a text for people to standard output.
fn show_text(text: &str) -> Result<Exit, Failure> {
    screen::show(text).map(|()| Exit::Done).map_err(unprinted)
}

fn unprinted(e: std::io::Error) -> Failure {
    Failure::new(Exit::RunFailed, format!("standard output: {e}"))
}

/// Opens an output. The guard checks a file that exists, whether it is replaced or written in place: a result must not overwrite a disk
/// image in use or a swap file either. Standard output is not checked, since the shell has emptied its file already. A file that holds something
/// other than such an output is replaced with `force` alone.
fn output(option: &str, path: &Path, kind: OutputKind, force: bool) -> Result<OutputFile, Failure> {
    let output = OutputFile::open(option, path)?;
    let output = if force { output } else { output.of_kind(kind) };
    if !output.is_stdout() && path.is_file() {
        guard::check_overwrite(&Root::system(), path, true)?;
    }
    Ok(output)
}

/// An input that no output may be.
fn input_of(path: &Path) -> (String, FileIdentity) {
    (format!("the input {}", path.display()), FileIdentity::from_path(path))
}

/// The output of a command that reads one file. The output must not overwrite that file.
fn beside_input(
    option: &str,
    path: &Path,
    kind: OutputKind,
    force: bool,
    input: &Path,
) -> Result<OutputFile, Failure> {
    let output = output(option, path, kind, force)?;
    output::apart(&[&output], &[input_of(input)])?;
    Ok(output)
}

/// Saves the whole text of an output that can be made again; in the temporary folder where its own place does not take it. A reader that
/// has gone away, as `head` does, is no error.
fn save_output(output: &mut OutputFile, content: Content<'_>) -> Result<Exit, Failure> {
    let e = match output.save(content) {
        Ok(()) => return Ok(Exit::Done),
        Err(e) if output.is_stream() && e.kind() == ErrorKind::BrokenPipe => return Ok(Exit::Done),
        Err(e) => e,
    };
    Err(Failure::new(Exit::RunFailed, MisplacedOutput::save(output.path(), e, content)))
}

/// Says that a file holds more reports than the one in this Record.
pub fn tell_of_others(path: &Path, record: &Record) {
    let told = record.report.as_ref().and_then(|report| report.told_beside());
    if let Some(told) = told {
        ui::tell(&format!("{}: {told}", path.display()));
    }
}

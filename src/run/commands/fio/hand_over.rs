//! A command that needs the real fio: handed over whole, or refused by the options that need it.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use super::handed_jobs::HandedJobs;
use super::handed_report::HandedReport;
use super::{Failure, messages};
use crate::run::end_signals;
use fio_formats::command::Command;
use volproof_device::output::screen;
use volproof_fio::installed;
use volproof_fio::plan::Obstacle;

/// What the installed fio gets.
pub struct HandedCommand {
    arguments: Vec<OsString>,
    /// Files that it inherits.
    files: Vec<File>,
}

/// Runs the installed fio with these arguments and returns its exit code. Signals go to fio, which ends its jobs in order. A hang-up
/// becomes SIGTERM: at a hang-up fio itself would end and leave its jobs running. On a terminal fio shows its status line.
///
/// # Errors
/// When fio is not installed, or cannot be started.
pub fn to_installed(handed: HandedCommand, needs: &[Obstacle]) -> Result<u8, Failure> {
    let fio = program(needs)?;
    messages::say(&format!("{} runs this: {}", fio.display(), names(needs)));
    let mut signals = Signals::new(end_signals::all().chain([SIGCHLD]))
        .map_err(|e| Failure::from(anyhow::Error::from(e).context("installing signal handlers")))
        .map_err(super::as_fio)?;
    let lost = |what: &str, e: std::io::Error| Failure {
        code: 1,
        message: format!("{} could not be {what}: {e}", fio.display()),
    };
    let mut command = installed::command(&fio);
    command.args(&handed.arguments);
    let mut child = command.spawn().map_err(|e| lost("started", e))?;
    drop(handed.files);
    let mut hung_up = false;
    loop {
        // fio may have ended before the first signal is waited for.
        if let Some(status) = child.try_wait().map_err(|e| lost("waited for", e))? {
            let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
            return Ok(if hung_up { super::HUNG_UP } else { code as u8 });
        }
        for signal in signals.wait() {
            let told = match signal {
                SIGCHLD => continue,
                SIGHUP => Signal::TERM,
                SIGTERM => Signal::TERM,
                SIGUSR1 => Signal::USR1,
                _ => Signal::INT,
            };
            hung_up |= signal == SIGHUP;
            // fio is not waited for yet, so that its number is still its own.
            let _ = kill_process(Pid::from_child(&child), told);
        }
    }
}

/// fio's command line: its flags as they were given, the jobs with the descriptors of their files, and the report as a descriptor too. fio
/// inherits them.
///
/// # Errors
/// There is no room for them.
pub fn command_line(
    arguments: &[String],
    command: &Command,
    jobs: &HandedJobs<'_>,
    report: Option<&HandedReport>,
) -> Result<HandedCommand, Failure> {
    let (words, files) = jobs
        .arguments()
        .map_err(|e| Failure { code: 1, message: format!("files cannot be handed to fio: {e}") })?;
    let given = command.flag_arguments.iter().flat_map(|words| &arguments[words.clone()]);
    let mut arguments: Vec<OsString> = given.map(OsString::from).collect();
    arguments.extend(report.map(|report| report.option().into()));
    arguments.extend(words.into_iter().map(OsString::from));
    Ok(HandedCommand { arguments, files })
}

/// Texts of the jobs with characters that a terminal obeys: fio prints them as they are, in its reports and messages.
pub fn unprintable(command: &Command) -> Vec<Obstacle> {
    let why = "it holds a control character, which fio prints as it is: name it without";
    let mut found = Vec::new();
    for job in &command.jobs {
        let texts = job.options().map(|given| (given.option.name, given.text.as_deref().unwrap_or_default()));
        let named = [("name", job.name.as_str())].into_iter().chain(texts);
        let obeyed = named.filter(|(_, text)| screen::visible(text) != *text);
        found.extend(obeyed.map(|(option, text)| Obstacle {
            job: job.name.clone(),
            option: format!("{option}={text}"),
            fio_can: false,
            why: why.into(),
        }));
    }
    found
}

/// The installed fio.
///
/// # Errors
/// When fio is not installed: the message names the options that need it.
pub fn program(needs: &[Obstacle]) -> Result<PathBuf, Failure> {
    installed::find(&std::env::var_os("PATH").unwrap_or_default())
        .ok_or_else(|| refusal("fio is not installed, and only fio itself can do this", needs))
}

/// Why a command is not run at all, an option a line.
pub fn refusal(why: &str, needs: &[Obstacle]) -> Failure {
    let lines: String = needs.iter().map(|o| format!("\n  {} ({}): {}", o.option, o.job, o.why)).collect();
    Failure { code: 1, message: format!("{why}:{lines}") }
}

/// The options, each once.
fn names(needs: &[Obstacle]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for need in needs {
        if !names.contains(&need.option.as_str()) {
            names.push(&need.option);
        }
    }
    let more = names.len().saturating_sub(8);
    names.truncate(8);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_named_once() {
        let need = |job: &str, option: &str| Obstacle {
            job: job.into(),
            option: option.into(),
            fio_can: true,
            why: "it is so".into(),
        };
        let needs = [need("a", "verify=md5"), need("b", "verify=md5"), need("b", "flow=2")];
        assert_eq!(names(&needs), "verify=md5, flow=2");
        let text = refusal("fio is not installed", &needs[..1]).message;
        assert_eq!(text, "fio is not installed:\n  verify=md5 (a): it is so");
        let many: Vec<_> = (0..10).map(|n| need("a", &format!("o{n}"))).collect();
        assert!(names(&many).ends_with("o7 and 2 more"));
    }
}

//! A command that needs the real fio: handed over whole, or refused by the options that need it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use super::{Failure, messages};
use crate::fio::installed;
use crate::fio::plan::Obstacle;

/// Becomes the installed fio with these arguments; returns only when that fails.
pub fn to_installed(arguments: &[OsString], needs: &[Obstacle]) -> Failure {
    let fio = match program(needs) {
        Ok(fio) => fio,
        Err(failure) => return failure,
    };
    messages::say(&format!("{} runs this: {}", fio.display(), names(needs)));
    let e = Command::new(&fio).args(arguments).exec();
    Failure { code: 1, message: format!("{} could not be started: {e}", fio.display()) }
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

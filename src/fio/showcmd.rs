//! `--showcmd`: jobs as the command line that asks for the same.
//!
//! fio repeats all global options when a file gives more of them below a job, behind that job's `--name`, where they belong to it; here
//! they come behind `--name=global`.

use super::command::Command;
use super::job::{Given, Job};
use super::option::Kind;

/// One line for each set of jobs that share their global options: those of the command line and the first file, and of each further file.
pub fn line(command: &Command) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut known: &[Given] = &[];
    for job in &command.jobs {
        let more = match job.globals.get(..known.len()) {
            Some(same) if !lines.is_empty() && alike(same, known) => &job.globals[known.len()..],
            _ => {
                lines.push("fio".to_string());
                &job.globals[..]
            }
        };
        let line = lines.last_mut().expect("the first job began a line");
        let first = line == "fio";
        if !first && !more.is_empty() {
            line.push_str(" --name=global");
        }
        more.iter()
            .filter(|g| g.option.name != "name" && !is_bare_log(g))
            .for_each(|given| word(line, given));
        own(line, job, first);
        known = &job.globals;
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn alike(a: &[Given], b: &[Given]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.origin == b.origin && a.line() == b.line())
}

/// The first job of a line waits for nothing: the jobs of the file before stand in another line.
fn own(line: &mut String, job: &Job, first: bool) {
    line.push_str(&format!(" --name={}", quoted(&job.name)));
    for given in job.globals.iter().filter(|g| is_bare_log(g)).chain(&job.own) {
        match given.option.name {
            "name" => {}
            log if is_bare_log(given) => line.push_str(&format!(" --{log}={}", quoted(&job.name))),
            _ => word(line, given),
        }
    }
    if job.stonewall && !first && !job.flag("stonewall") {
        line.push_str(" --stonewall");
    }
}

/// A log that takes the name of its job; on a command line it has to be written out.
fn is_bare_log(given: &Given) -> bool {
    given.option.kind == Kind::LogName && given.text.is_none()
}

fn word(line: &mut String, given: &Given) {
    line.push_str(" --");
    line.push_str(given.option.name);
    if let Some(text) = &given.text {
        line.push('=');
        line.push_str(&quoted(text));
    }
}

/// For a shell: bare, in double quotes, or in single ones where those would not do.
fn quoted(text: &str) -> String {
    let bare = |c: char| c.is_alphanumeric() || "-_./:,=%+@^".contains(c);
    if !text.is_empty() && text.chars().all(bare) {
        text.to_string()
    } else if !text.contains(['"', '\\', '$', '`', '!']) {
        format!("\"{text}\"")
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

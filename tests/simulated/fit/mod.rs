//! The needs of applications: the loads as they were published, and the verdicts on them.

mod inputs;
mod loads;
mod places;
mod postgres;
mod verdicts;

use std::path::Path;
use std::process::Command;

/// Exit code, standard output and standard error of volproof in a folder.
fn volproof(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let out =
        Command::new(env!("CARGO_BIN_EXE_volproof")).args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (out.status.code(), text(out.stdout), text(out.stderr))
}

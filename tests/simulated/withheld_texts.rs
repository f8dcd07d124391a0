//! A user who may run volproof under sudo reads with it no text of a file that he cannot read: not of a password file, nor of settings that hold
//! a password, in whatever form they are written. Every command and every option that reads a file is tried, as the parser declares them.

use std::any::TypeId;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Arg, CommandFactory};
use volproof::cli::Cli;

const SECRET: &str = "s3cr3t";

/// Files of others. Each is malformed for volproof in another way.
const TEXTS: [&str; 9] = [
    "root:$6$s3cr3t$abc:19000:0:99999:7:::\ns3cr3t:*:19000:0:99999:7:::\n",
    "[client]\npassword = s3cr3t\n",
    "password = 's3cr3t'\n",
    "[[step]]\nrw = 's3cr3t'\n",
    "[s3cr3t\nbs=s3cr3t\n",
    "schema_version = 1\n[[volume]]\nprovider = 's3cr3t'\ns3cr3t = 1\n",
    "{\"version\": 3, \"plan\": \"s3cr3t\", \"s3cr3t\": [",
    "apiVersion: v1\nkind: s3cr3t\n\ts3cr3t: [\n",
    "a,s3cr3t\n1,\"s3cr3t\n",
];

/// Options that write a file: they look whether it is theirs, and tell nothing of it.
const WRITE: [&str; 7] = ["json", "csv", "html", "junit", "openmetrics", "markdown", "output"];

/// What a command needs beside the file.
fn needed(command: &str) -> &'static [&'static str] {
    match command {
        "convert" => &["--to", "plan"],
        "slo" => &["--p99", "1ms", "/nowhere/target"],
        "suite" => &["quick", "/nowhere/target"],
        "million" => &["randread", "/nowhere/target", "libaio", "1"],
        "promise" => &["aws:gp3", "--size", "100GiB"],
        "run" | "sweep" | "cold" | "fit" | "plan" | "fleet" => &["/nowhere/target"],
        _ => &[],
    }
}

/// The words that make a command read `file` as the value of this argument; none where it names a target.
fn words(argument: &Arg, file: &Path) -> Option<Vec<String>> {
    let names = argument.get_value_names().unwrap_or_default();
    let is_path = argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    if !is_path || names.iter().any(|name| name == "TARGET") || WRITE.contains(&argument.get_id().as_str()) {
        return None;
    }
    let file = file.display().to_string();
    Some(argument.get_long().map(|long| format!("--{long}")).into_iter().chain([file]).collect())
}

/// Both outputs of a command, as sudo starts it for a user to whom no file here belongs.
fn told(folder: &Path, words: &[String]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_volproof"));
    command.args(words).current_dir(folder).env("HOME", folder).env("SUDO_UID", "4294967294");
    let out = command.output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

#[test]
fn no_error_repeats_the_text_of_a_file_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let (mut read, mut leaks) = (0, Vec::new());
    let mut lines = vec![vec!["fio".to_string(), file.display().to_string()]];
    for command in Cli::command().get_subcommands() {
        let needed = needed(command.get_name()).iter().map(ToString::to_string);
        let before: Vec<String> = std::iter::once(command.get_name().to_string()).chain(needed).collect();
        let given = command.get_arguments().filter_map(|argument| words(argument, &file));
        lines.extend(given.map(|words| [before.clone(), words].concat()));
    }
    for text in TEXTS {
        for words in &lines {
            std::fs::write(&file, text).unwrap();
            let told = told(folder.path(), words);
            read += usize::from(told.contains("The text is not shown"));
            if told.contains(SECRET) {
                leaks.push(format!("{words:?} of {text:?}:\n{told}"));
            }
        }
    }
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
    assert!(read > 40, "{} commands, and {read} times a text was withheld", lines.len());
}

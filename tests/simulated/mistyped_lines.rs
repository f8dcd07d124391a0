//! A hundred command lines as people mistype and misunderstand them: each is taken, or refused before anything happens with the word that
//! is wrong and a command that parses.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use clap::{CommandFactory, Parser};
use volproof::cli::Cli;
use volproof::course::suite_options::as_suite;

use crate::work_folder::WorkFolder;

/// What stands in the place of a word for a line that is taken.
const TAKEN: &str = "taken";

/// The lines, each with the word that is wrong in it.
fn mistyped() -> Vec<(String, String)> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mistyped.txt"));
    let page = page.unwrap();
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(" # ").unwrap()).map(|(a, b)| (a.into(), b.into())).collect()
}

/// A folder with what people have at hand: a Record, a report and a job of fio, a file on the volume, a Terraform plan in words.
fn folder() -> WorkFolder {
    let folder = WorkFolder::new();
    folder.run("run.json", "1ms", 2, 1);
    let report = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fio/3.33-cached.json");
    fs::copy(report, folder.path().join("fio.json")).unwrap();
    fs::write(folder.path().join("job.fio"), "[a]\nrw=randread\nsize=1m\n").unwrap();
    fs::write(folder.path().join("f.dat"), vec![0; 1 << 20]).unwrap();
    fs::write(folder.path().join("main.tf"), "resource \"aws_ebs_volume\" \"a\" {}\n").unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    folder
}

fn run(folder: &Path, words: &[String]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_volproof"))
        .args(words)
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap()
}

/// The commands in backquotes; a line that was broken to the width of the screen is one again.
fn offered(message: &str) -> Vec<String> {
    let whole = message.replace("\n  ", " ");
    let quoted =
        whole.split('`').skip(1).step_by(2).map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    quoted.filter(|part| part.starts_with("volproof")).collect()
}

/// Whether a message names an option that a command has, and not the one that was typed alone.
fn names_option(message: &str, typed: &str) -> bool {
    let cli = Cli::command();
    let longs: Vec<&str> =
        cli.get_subcommands().flat_map(|c| c.get_arguments()).filter_map(|a| a.get_long()).collect();
    let words = message.split(|sign: char| sign.is_whitespace() || "`,;:()=".contains(sign));
    let mut options = words.filter_map(|word| word.strip_prefix("--"));
    options.any(|name| longs.contains(&name) && typed != format!("--{name}"))
}

fn parses(line: &str) -> bool {
    let words = shlex::split(line).unwrap_or_default().into_iter().map(Into::into).collect();
    Cli::try_parse_from(as_suite(words)).err().is_none_or(|mistake| !mistake.use_stderr())
}

#[test]
fn a_mistyped_line_is_taken_or_refused_with_its_word_and_a_command_that_parses() {
    let folder = folder();
    let lines = mistyped();
    assert_eq!(lines.len(), 100);
    let mut wrong = Vec::new();
    for (line, word) in &lines {
        let ran = run(folder.path(), &shlex::split(line).unwrap());
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        let code = ran.status.code().unwrap_or(-1);
        let commands = offered(&said);
        let answered = if word == TAKEN {
            code == 0
        } else {
            // `fio` ends as fio does.
            let is_refused = [2, 3].contains(&code) || code == 1 && line.starts_with("fio");
            let offers = commands.iter().any(|command| !command.ends_with("--help"));
            is_refused
                && said.contains(word.as_str())
                && (offers || names_option(&said, word))
                && commands.iter().all(|command| parses(command))
        };
        if !answered {
            wrong.push(format!("$ volproof {line}   ({code}, {word})\n{said}"));
        }
    }
    assert!(wrong.len() <= 5, "{} of 100 are answered badly:\n{}", wrong.len(), wrong.join("\n"));
}

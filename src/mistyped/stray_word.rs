//! A word that parses as a target and is none: a unit behind a blank, a size, a volume type, a preset, a file of ours.
//!
//! A target that is there is taken as what it is, but for files that hold a result or a job.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::CommandFactory;

use super::known_words::{is_application, is_suite, is_volume_type};
use super::mended_line::{advice, begins_with_dash, mistake_in, plain_words, preset_like};
use super::our_commands::example_with;
use super::typed_file::{holds_job, holds_result};
use crate::cli::{Cli, CliCommand};
use volproof_base::unit::{Bytes, Nanos};
use volproof_report::layout::wrap;

/// What a word means instead of a target, and the line that says so.
struct OtherReading {
    why: String,
    words: Vec<String>,
}

/// The message for a target that is none, with the line that was meant; none where every target may be one.
pub fn stray_word(command: &CliCommand, arguments: &[OsString]) -> Option<String> {
    let words = plain_words(arguments)?;
    for target in targets(command) {
        let Some(typed) = target.to_str() else { continue };
        let Some(place) = (2..words.len()).find(|place| arguments[*place].to_str() == Some(typed)) else {
            continue;
        };
        let named = match command {
            CliCommand::Suite(args) if is_suite(typed) && !is_suite(&args.name) => {
                swapped_suite(&args.name, place, &words)
            }
            _ => None,
        };
        let read = if named.is_some() {
            named
        } else if target.exists() {
            as_file(target, &words)
        } else {
            as_word(typed, place, &words)
        };
        let Some(reading) = read else { continue };
        let mut text = wrap("volproof: ", &format!("'{typed}' is no target: {}", reading.why));
        let cli = Cli::command();
        let meant = advice(reading.words, &cli);
        let example = cli.find_subcommand(&words[1]).and_then(|command| example_with(command, &[]));
        text += &match example {
            Some(line) if meant.is_empty() => format!("  such as `{line}`\n"),
            _ => meant,
        };
        return Some(text);
    }
    None
}

/// The targets of a command that measures.
fn targets(command: &CliCommand) -> &[PathBuf] {
    match command {
        CliCommand::Run(args) => &args.what.targets,
        CliCommand::Plan(args) => &args.run.what.targets,
        CliCommand::Sweep(args) => &args.targets,
        CliCommand::Slo(args) => &args.targets,
        CliCommand::Suite(args) => &args.targets,
        CliCommand::Cold(args) => &args.targets,
        CliCommand::Fit(args) => &args.targets,
        CliCommand::Watch(args) => std::slice::from_ref(&args.target),
        _ => &[],
    }
}

/// A suite behind its target: the name comes first.
fn swapped_suite(first: &str, place: usize, words: &[String]) -> Option<OtherReading> {
    let name_place = (2..place).find(|place| words[*place] == first)?;
    let mut line = words.to_vec();
    line.swap(name_place, place);
    Some(OtherReading { why: "the name of the suite stands before the target".into(), words: line })
}

/// A file of ours, or of fio, that a run would use as the volume.
fn as_file(path: &Path, words: &[String]) -> Option<OtherReading> {
    let (why, command) = if holds_result(path) {
        ("it holds a result, which a run could overwrite", "show")
    } else if holds_job(path) {
        ("it is a job file of fio", "fio")
    } else {
        return None;
    };
    let words = vec![words[0].clone(), command.to_string(), path.to_str()?.to_string()];
    Some(OtherReading { why: why.into(), words })
}

/// A word that no file has as its name.
fn as_word(typed: &str, place: usize, words: &[String]) -> Option<OtherReading> {
    let before = words[place - 1].as_str();
    let with = |from: usize, own: &[&str]| {
        let mut line = words.to_vec();
        line.splice(from..=place, own.iter().map(|word| word.to_string()));
        line
    };
    let has =
        |option: &str| words.iter().any(|word| word == option || word.starts_with(&format!("{option}=")));
    if begins_with_dash(typed) {
        let why = "it begins with a dash of typesetting, where options have two hyphens";
        return Some(OtherReading { why: why.into(), words: words.to_vec() });
    }
    if is_unit_of(before, typed) {
        let why = "a unit follows its number without a blank";
        return Some(OtherReading {
            why: why.into(),
            words: with(place - 1, &[&format!("{before}{typed}")]),
        });
    }
    if ["0", "1", "true", "false"].contains(&typed) && before.starts_with("--") {
        let line = with(place - 1, &[&format!("{before}={typed}")]);
        let why = format!("a switch takes its value behind an equals sign, such as {before}={typed}");
        return mistake_in(&line).is_none().then_some(OtherReading { why, words: line });
    }
    let joined = format!("{before}:{typed}");
    if place > 2 && words[place - 2] == "--promise" && is_volume_type(&joined) {
        let why = "a type stands behind its provider and a colon";
        return Some(OtherReading { why: why.into(), words: with(place - 1, &[&joined]) });
    }
    let (why, option, value) = if typed.parse::<Bytes>().is_ok() && has("--promise") {
        ("the capacity of the volume stands behind --volume-size", "--volume-size", typed)
    } else if is_volume_type(typed) {
        ("a volume type stands behind --promise", "--promise", typed)
    } else if let Some(preset) = preset_like(typed) {
        ("a preset stands behind --preset", "--preset", preset)
    } else if is_application(typed) {
        let option = if words[1] == "fit" { "--for" } else { "--fit" };
        ("an application stands behind its option", option, typed)
    } else if is_suite(typed) {
        ("a suite stands behind --suite", "--suite", typed)
    } else {
        return None;
    };
    let line = with(place, &[option, value]);
    (!has(option)).then(|| OtherReading { why: why.into(), words: line })
}

/// Whether a word is the unit of the number before it.
fn is_unit_of(before: &str, word: &str) -> bool {
    let number = before.rsplit('=').next().unwrap_or(before);
    let joined = format!("{number}{word}");
    let is_number = number.ends_with(|sign: char| sign.is_ascii_digit());
    let is_unit = word.starts_with(char::is_alphabetic);
    is_number && is_unit && (joined.parse::<Bytes>().is_ok() || joined.parse::<Nanos>().is_ok())
}

//! A mistake in the command line, told with the option or command that its user meant.
//!
//! clap suggests whatever name looks alike. The tables here hold the names of other tools and everyday words for our options and
//! commands, and the likeness that is asked of a suggestion is high. The messages say in the words of `--help` what an option does.

mod known_words;
mod mended_line;
mod our_commands;
mod stray_word;
mod typed_file;

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, Command, CommandFactory};

pub use our_commands::shown_commands;
pub use stray_word::stray_word;
pub use typed_file::holds_result;

use crate::cli::Cli;
use fio_formats::option;
use volproof_base::misspelling::nearest;
use volproof_base::shell_word::shell;
use volproof_base::unit::grouped;
use volproof_plan::keys;
use volproof_report::layout::wrap;

use known_words::{COMMANDS, INSTEAD, OPTIONS};
use mended_line::{advice, command_for, mistake_in, plain_words, preset_like};
use our_commands::{argument, example_with, measures, words_of};

/// The message for a command line that was not understood.
pub fn message(mistake: &clap::Error, arguments: &[OsString]) -> String {
    let mut cli = Cli::command();
    cli.build();
    let named = |word: &OsString| word.to_str().and_then(|w| cli.find_subcommand(w));
    let command = arguments.iter().skip(1).find_map(named);
    let first = |kind| words_of(mistake, kind).into_iter().next();
    let told = match (mistake.kind(), command) {
        (ErrorKind::UnknownArgument, _) => {
            first(ContextKind::InvalidArg).and_then(|typed| unknown_option(&typed, command, &cli))
        }
        (ErrorKind::InvalidSubcommand, _) => {
            first(ContextKind::InvalidSubcommand).map(|typed| unknown_command(&typed, &cli))
        }
        (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand, None) => {
            Some(without_command(&cli))
        }
        (ErrorKind::MissingRequiredArgument, Some(command)) => Some(missing(mistake, command, arguments)),
        (ErrorKind::TooManyValues, Some(command)) => {
            first(ContextKind::InvalidValue).map(|typed| one_too_many(&typed, command))
        }
        (ErrorKind::ArgumentConflict, Some(command)) => conflict(mistake, command),
        (ErrorKind::InvalidValue | ErrorKind::ValueValidation, Some(command)) => {
            wrong_value(mistake, command)
        }
        _ => None,
    };
    let told = told.unwrap_or_else(|| {
        let rendered = mistake.render().to_string();
        let text = rendered.strip_prefix("error: ").unwrap_or(&rendered).trim_end();
        match command {
            Some(command) if !text.contains('\n') => wrap("volproof: ", text) + &all_options(command),
            _ => format!("volproof: {text}\n"),
        }
    });
    told + &plain_words(arguments).map(|words| advice(words, &cli)).unwrap_or_default()
}

/// An option or argument as clap writes it, `--bs <SIZE>`, in our form: `--bs SIZE`.
fn plain(usage: &str) -> String {
    usage.replace(['<', '>', '[', ']'], "")
}

/// The last line of every message about the options of a command.
fn all_options(command: &Command) -> String {
    wrap("  ", &format!("`volproof {} --help` lists all options", command.get_name()))
}

/// Arguments that the command needs, each with its meaning, and an example.
fn missing(mistake: &clap::Error, command: &Command, arguments: &[OsString]) -> String {
    let needed = words_of(mistake, ContextKind::InvalidArg);
    let args: Vec<&Arg> = needed.iter().filter_map(|usage| argument(command, usage)).collect();
    let names = needed.iter().map(|usage| match argument(command, usage) {
        Some(arg) => called(arg),
        // One of a group.
        None => format!("one of {}", plain(usage).replace('|', ", ")),
    });
    let names = names.collect::<Vec<_>>().join(" and ");
    let always = args.len() < needed.len() || args.iter().any(|arg| arg.is_required_set());
    let needing = plain_words(arguments).and_then(|words| needing_option(&words));
    let who = match needing {
        _ if always => command.get_name().to_string(),
        Some(option) => option,
        None => "one of the options".into(),
    };
    let mut text = wrap("volproof: ", &format!("{who} needs {names}"));
    text.extend(args.iter().map(|arg| wrap("  ", &meaning(arg))));
    if let Some(line) = example_with(command, &args) {
        text += &wrap("  ", &format!("such as `{line}`"));
    }
    text + &all_options(command)
}

/// The option without which the line would parse: it is the one that needs another.
fn needing_option(words: &[String]) -> Option<String> {
    let options = (1..words.len()).filter(|place| words[*place].starts_with("--"));
    for place in options {
        let is_alone =
            words[place].contains('=') || words.get(place + 1).is_none_or(|next| next.starts_with('-'));
        let mut rest = words.to_vec();
        rest.drain(place..=place + usize::from(!is_alone));
        if mistake_in(&rest).is_none() {
            return words[place].split('=').next().map(str::to_string);
        }
    }
    None
}

/// Options that cannot stand together, or one that stands twice.
fn conflict(mistake: &clap::Error, command: &Command) -> Option<String> {
    let (new, prior) = (words_of(mistake, ContextKind::InvalidArg), words_of(mistake, ContextKind::PriorArg));
    let all: Vec<String> = new.iter().chain(&prior).map(|usage| plain(usage)).collect();
    let told = match all.as_slice() {
        [] => return None,
        [one] => format!("{one} cannot be used with the other options"),
        [one, other] if one == other => format!("{one} stands twice: give it once"),
        [one, others @ ..] => format!("{one} cannot be used with {}", others.join(" and ")),
    };
    Some(wrap("volproof: ", &told) + &all_options(command))
}

/// An option without its value, or with one that it does not take.
fn wrong_value(mistake: &clap::Error, command: &Command) -> Option<String> {
    let last = |kind| words_of(mistake, kind).pop();
    let usage = last(ContextKind::InvalidArg)?;
    let typed = last(ContextKind::InvalidValue).unwrap_or_default();
    let arg = argument(command, &usage);
    let name = arg.and_then(Arg::get_long).map_or_else(|| plain(&usage), |long| format!("--{long}"));
    // It shares the declarations of another command, and refuses this one.
    if arg.is_some_and(Arg::is_hide_set) {
        let told = format!("{} has no use for {name}: leave it out", command.get_name());
        return Some(wrap("volproof: ", &told) + &all_options(command));
    }
    let known = words_of(mistake, ContextKind::ValidValue).join(", ");
    let told = mistake.source().map(ToString::to_string).or(last(ContextKind::Custom));
    let told = match told.map(|why| outside(&why).unwrap_or(why)) {
        _ if typed.is_empty() => format!("{name} has no value"),
        Some(why) => format!("{name} {typed}: {why}"),
        None if known.is_empty() => format!("{name} {typed}: it takes no such value"),
        None if !known.contains(',') => format!("{name} {typed}: the only value that it takes is {known}"),
        None => format!("{name} {typed}: it is none of {known}"),
    };
    let mut text = wrap("volproof: ", &told);
    let example = arg.filter(|_| typed.is_empty()).and_then(|arg| example_with(command, &[arg]));
    if let Some(line) = example {
        text += &wrap("  ", &format!("such as `{line}`"));
    }
    if let Some(near) = last(ContextKind::SuggestedValue) {
        text += &wrap("  ", &format!("did you mean {near}?"));
    } else if let Some(arg) = arg {
        text += &wrap("  ", &meaning(arg));
    }
    Some(text + &all_options(command))
}

/// clap's words for a number outside a range, `0 is not in 1..=1000`, in ours.
fn outside(told: &str) -> Option<String> {
    let (_, range) = told.split_once(" is not in ")?;
    let (low, high) = range.split_once("..=")?;
    Some(match high.parse::<u64>() {
        Ok(high) if high < u64::from(u32::MAX) => format!("it is outside {low} to {}", grouped(high)),
        _ => format!("it is below {low}"),
    })
}

/// An argument above those that the command takes.
fn one_too_many(typed: &str, command: &Command) -> String {
    let told = format!("'{typed}' is one argument too many for volproof {}", command.get_name());
    let takes: Vec<String> =
        command.get_positionals().map(|arg| plain(arg.to_string().trim_end_matches("..."))).collect();
    let advice = match takes.as_slice() {
        [] => "it takes options alone".into(),
        [one] => format!("it takes one {one}: run it once for each"),
        several => format!("it takes {} and no more", several.join(" ")),
    };
    wrap("volproof: ", &told) + &wrap("  ", &advice) + &all_options(command)
}

/// An option that the command does not have, or an argument that it does not take.
fn unknown_option(typed: &str, command: Option<&Command>, cli: &Command) -> Option<String> {
    let name = typed.split('=').next().unwrap_or(typed);
    let bare = name.strip_prefix("--").or_else(|| name.strip_prefix('-'));
    let Some(bare) = bare.filter(|bare| !bare.is_empty()) else {
        return Some(one_too_many(typed, command?));
    };
    let Some(command) = command else {
        return Some(
            wrap("volproof: ", &format!("{name} stands before the command: write it behind"))
                + &wrap(
                    "  ",
                    "such as in `volproof run TARGET --rw randread`; `volproof --help` lists all commands",
                ),
        );
    };
    let mut text = wrap("volproof: ", &format!("{} has no option {name}", command.get_name()));
    if bare.starts_with(|c: char| c.is_ascii_digit()) {
        text += &wrap("  ", "a number below 0 has no meaning here");
    }
    for tip in tips(bare, command, cli) {
        text += &wrap("  ", &tip);
    }
    Some(text + &all_options(command))
}

/// The option that a user may have meant, where a command has none of this name.
fn tips(name: &str, command: &Command, cli: &Command) -> Vec<String> {
    let shown = || command.get_arguments().filter(|arg| !arg.is_hide_set());
    let find = |long: &str| shown().find(|arg| arg.get_long() == Some(long));
    let row = OPTIONS.iter().find(|(typed, _)| typed.contains(&name));
    let meant: Vec<&Arg> = row.iter().flat_map(|(_, ours)| ours.iter().filter_map(|o| find(o))).collect();
    if !meant.is_empty() {
        return meant.into_iter().map(described).collect();
    }
    let measures = measures(command);
    if let Some((_, _, why)) = INSTEAD.iter().find(|(typed, ..)| measures && typed.contains(&name)) {
        return vec![(*why).to_string()];
    }
    if let Some(preset) = preset_like(name).filter(|_| find("preset").is_some()) {
        return vec![format!("did you mean --preset {preset}?")];
    }
    if let Some(key) = keys().find(|key| measures && key.name() == name.replace('_', "-")) {
        return vec![format!("{} is a key of plan files, and no option: docs/plan.md", key.name())];
    }
    if measures && option::find_any(name).is_some() {
        return vec![format!(
            "{name} is an option of fio: `volproof fio` runs fio's command lines and job files"
        )];
    }
    if let Some(arg) = nearest(name, shown().filter_map(|arg| Some((arg.get_long()?, arg)))) {
        return vec![described(arg)];
    }
    let has = |other: &&Command| {
        other.get_arguments().any(|arg| arg.get_long() == Some(name) && !arg.is_hide_set())
    };
    let others: Vec<&str> = shown_commands(cli).filter(has).map(Command::get_name).collect();
    match others[..] {
        [] => vec![],
        _ => vec![format!("it is an option of volproof {}", others.join(", "))],
    }
}

/// An option as a suggestion: `did you mean --bs SIZE? Block size`.
fn described(arg: &Arg) -> String {
    format!("did you mean {}? {}", called(arg), about(arg))
}

/// An option or argument and what it means: `--bs SIZE: Block size`.
fn meaning(arg: &Arg) -> String {
    format!("{}: {}", called(arg), about(arg))
}

fn about(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

/// An option with the value that it needs, or the name of an argument.
fn called(arg: &Arg) -> String {
    let value = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let needed = arg.get_num_args().is_none_or(|range| range.min_values() > 0);
    match (arg.get_long(), value.filter(|_| needed || arg.is_positional())) {
        (Some(long), Some(value)) => format!("--{long} {value}"),
        (Some(long), None) => format!("--{long}"),
        (None, value) => value.unwrap_or_default(),
    }
}

/// What to type first.
fn without_command(cli: &Command) -> String {
    let about = cli.get_about().map(ToString::to_string).unwrap_or_default();
    let firsts = [
        ("volproof run .", "the standard tests, on a file made in this folder"),
        ("volproof check DEVICE", "what a run would overwrite, or why it may not"),
        ("volproof show FILE", "a report of fio, dd, sysbench and others, in plain words"),
    ];
    let mut text = wrap("volproof: ", "name a command") + &wrap("  ", &about);
    text.extend(firsts.map(|(line, about)| format!("  {line:23}{about}\n")));
    text + "  `volproof --help` lists all commands\n"
}

fn unknown_command(typed: &str, cli: &Command) -> String {
    let mut text = wrap("volproof: ", &format!("there is no command '{typed}'"));
    let row = COMMANDS.iter().find(|(words, ..)| words.contains(&typed));
    let names = shown_commands(cli).map(|command| (command.get_name(), command.get_name()));
    if let Some((_, line, about)) = row {
        text += &wrap("  ", &format!("did you mean `volproof {line}`? {about}"));
    } else if Path::new(typed).exists() {
        let command = command_for(Path::new(typed));
        text += &wrap("  ", &format!("did you mean `volproof {command} {}`?", shell(typed)));
    } else if let Some(near) = nearest(typed, names) {
        text += &wrap("  ", &format!("did you mean `volproof {near}`?"));
    }
    text + &wrap("  ", "`volproof --help` lists all commands")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn told(line: &str) -> String {
        let words: Vec<OsString> =
            std::iter::once("volproof").chain(line.split(' ')).map(OsString::from).collect();
        message(&Cli::try_parse_from(&words).unwrap_err(), &words)
    }

    #[test]
    fn a_mistake_leads_to_what_its_user_meant() {
        let lines = [
            "diff a b",
            "veridct r.json",
            "/tmp",
            "frobnicate",
            "--rw read .",
            "run . --duration 60",
            "run . --output r.json",
            "run . --filename=f.dat",
            "run . --group_reporting",
            "run . --queue-depth 4",
            "run . --threads 4",
            "run . --verbose",
            "run . --yes",
            "run . --quick",
            "run . --runtme 60",
            "run . --ioscheduler x",
            "run . --need-iops 1000",
            "run . --zzz",
            "run . --rw randred",
            "run . --size 50%",
            "run . --runtime 60x",
            "run . --json a --json b",
            "run . --iodepth -1",
            "run . --iodepth",
            "run . --rw",
            "run . --bs 4K,8K",
            "run . --quiet --details",
            "run . --rw randread --at 2020 --tune off --iops=3000",
            "run . --rw randread --cross-check=0",
            "run . --overwrite=all",
            "run . --tune maybe",
            "completions bsh",
            "convert x --to foo",
            "slo .",
            "slo . x --p99 1ms",
            "plan . --json",
            "run . --bs -4k",
            "run -5",
            "completions /bin/bash",
            "million",
            "/dev/null",
            "sweep . --duration 5m",
            "show --output x r.json",
            "verdict r.json --size 100GiB",
            "show",
            "verdict r.json --json -",
            "verdict r.json --json new.json",
            "verdict r.json --json Cargo.toml",
            "verdict r.json Cargo.toml",
            "presets r.json",
        ];
        let all: String = lines.iter().map(|line| format!("$ volproof {line}\n{}\n", told(line))).collect();
        insta::assert_snapshot!(all);
    }

    #[test]
    fn every_name_in_the_tables_is_ours() {
        let cli = Cli::command();
        let options: Vec<&str> =
            cli.get_subcommands().flat_map(Command::get_arguments).filter_map(Arg::get_long).collect();
        for (_, ours) in OPTIONS {
            assert!(ours.iter().all(|name| options.contains(name)), "{ours:?}");
        }
        for (_, line, _) in COMMANDS.iter().filter(|(_, line, _)| !line.starts_with("--")) {
            let name = line.split(' ').next().unwrap();
            assert!(cli.find_subcommand(name).is_some(), "{line}");
        }
    }
}

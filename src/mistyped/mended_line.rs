//! The command line that a user most likely meant: his own words, mended one after another until they parse.
//!
//! Consent to overwrite is never put into a line: the user types it.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, Command, Parser};

use super::known_words::{
    COMMANDS, CONSENT, INSTEAD, Instead, OPTIONS, VALUES, is_application, is_suite, is_volume_type,
};
use super::our_commands::{argument, measures, shown_commands, words_of};
use super::typed_file::holds_result;
use crate::cli::Cli;
use fio_formats::option;
use volproof_base::misspelling::nearest;
use volproof_base::shell_word::shell;
use volproof_base::unit::{Bytes, Nanos};
use volproof_course::suite_options::as_suite;
use volproof_plan::PRESETS;

/// A line with more mistakes is not mended.
const MOST_MENDS: usize = 16;

/// What to type, in a line of a message; empty where the words do not tell what was meant.
pub(super) fn advice(words: Vec<String>, cli: &Command) -> String {
    match MendedLine::of_words(words, cli) {
        Some(MendedLine { line, lacks_option: false }) => format!("  type `{line}`\n"),
        Some(MendedLine { line, .. }) => format!("  without it: `{line}`\n"),
        None => String::new(),
    }
}

/// A line that parses.
struct MendedLine {
    /// The line, for a shell.
    line: String,
    /// An option was left out that nothing of ours stands for.
    lacks_option: bool,
}

impl MendedLine {
    fn of_words(mut words: Vec<String>, cli: &Command) -> Option<MendedLine> {
        let mut lacks_option = false;
        for _ in 0..MOST_MENDS {
            let Some(mistake) = mistake_in(&words) else {
                let shown: Vec<String> = words.iter().map(|word| shell(word).to_string()).collect();
                return Some(MendedLine { line: shown.join(" "), lacks_option });
            };
            words = mended(words, &mistake, cli, &mut lacks_option)?;
        }
        None
    }
}

/// The words of the program with the dashes and quotes of a keyboard in place of those of typesetting; none where one is not UTF-8.
pub(super) fn plain_words(arguments: &[OsString]) -> Option<Vec<String>> {
    let behind = arguments.iter().skip(1).map(|word| word.to_str().map(plain_signs));
    std::iter::once(Some("volproof".to_string())).chain(behind).collect()
}

/// Whether a word begins with a dash that no keyboard has: a text program put it in the place of hyphens.
pub(super) fn begins_with_dash(word: &str) -> bool {
    word.starts_with(is_dash)
}

fn is_dash(sign: char) -> bool {
    matches!(sign, '\u{2010}'..='\u{2015}' | '\u{2212}')
}

fn plain_signs(word: &str) -> String {
    let word = word.trim_matches(['\u{201c}', '\u{201d}', '\u{2018}', '\u{2019}', '\u{201e}']);
    let name = word.trim_start_matches(|sign| is_dash(sign) || sign == '-');
    if begins_with_dash(word) { format!("--{name}") } else { word.to_string() }
}

/// The mistake in a line; none where it parses.
pub(super) fn mistake_in(words: &[String]) -> Option<clap::Error> {
    let arguments = words.iter().map(OsString::from).collect();
    Cli::try_parse_from(as_suite(arguments)).err().filter(clap::Error::use_stderr)
}

/// The line without its first mistake.
fn mended(
    words: Vec<String>,
    mistake: &clap::Error,
    cli: &Command,
    lacks_option: &mut bool,
) -> Option<Vec<String>> {
    match mistake.kind() {
        ErrorKind::UnknownArgument => {
            let typed = words_of(mistake, ContextKind::InvalidArg).pop()?;
            with_known_option(words, &typed, cli, lacks_option)
        }
        ErrorKind::InvalidSubcommand => {
            let typed = words_of(mistake, ContextKind::InvalidSubcommand).pop()?;
            with_known_command(words, &typed, cli)
        }
        ErrorKind::TooManyValues => {
            let typed = words_of(mistake, ContextKind::InvalidValue).pop()?;
            without_surplus(words, &typed, cli)
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => with_taken_value(&words, mistake, cli),
        _ => None,
    }
}

/// The name of an option, without dashes and value.
fn name_of(word: &str) -> &str {
    word.split('=').next().unwrap_or(word).trim_start_matches('-')
}

/// The place of the command among the words.
fn place_of_command(words: &[String], cli: &Command) -> Option<usize> {
    (1..words.len()).find(|place| cli.find_subcommand(&words[*place]).is_some())
}

fn with_known_option(
    mut words: Vec<String>,
    typed: &str,
    cli: &Command,
    lacks_option: &mut bool,
) -> Option<Vec<String>> {
    // clap names of `-rw=randread` the first letter.
    let is_typed =
        |word: &String| name_of(word) == name_of(typed) || typed.len() == 2 && word.starts_with(typed);
    if !typed.starts_with('-') {
        return without_surplus(words, typed, cli);
    }
    let place = (1..words.len()).find(|place| words[*place].starts_with('-') && is_typed(&words[*place]))?;
    let word = words[place].clone();
    let name = name_of(&word);
    if !word.starts_with("--") && name.chars().nth(1).is_some() {
        words[place] = format!("-{word}");
        return Some(words);
    }
    let Some(command_place) = place_of_command(&words, cli) else {
        words.insert(1, "run".into());
        return Some(words);
    };
    if place < command_place {
        let command = words.remove(command_place);
        words.insert(1, command);
        return Some(words);
    }
    let command = cli.find_subcommand(&words[command_place])?;
    let (value, length) = value_behind(&words, place);
    let meant: Vec<String> = match meant_by(name, command) {
        Meant::Option(ours) if name == "rwmixwrite" => {
            let share: u32 = value?.parse().ok()?;
            vec![format!("--{ours}={}", 100_u32.checked_sub(share)?)]
        }
        Meant::Option(ours) if word.contains('=') => vec![format!("--{ours}={}", value?)],
        Meant::Option(ours) => {
            words[place] = format!("--{ours}");
            return Some(words);
        }
        Meant::Preset(preset) => {
            words.splice(place..=place, ["--preset".to_string(), preset.to_string()]);
            return Some(words);
        }
        Meant::Target => value.into_iter().collect(),
        Meant::Plan => {
            words[command_place] = "plan".into();
            Vec::new()
        }
        Meant::Nothing => Vec::new(),
        Meant::Unknown => {
            *lacks_option = true;
            Vec::new()
        }
    };
    words.splice(place..place + length, meant);
    Some(words)
}

/// The line with a word that is one too many behind the option that it belongs to, or left out.
fn without_surplus(mut words: Vec<String>, typed: &str, cli: &Command) -> Option<Vec<String>> {
    let place = (2..words.len()).rfind(|place| words[*place] == typed)?;
    let command = words[place_of_command(&words, cli)?].clone();
    let joined = format!("{}:{typed}", words[place - 1]);
    let option = match command.as_str() {
        "slo" if typed.parse::<Nanos>().is_ok() => Some("--p99"),
        "promise" if is_volume_type(&joined) => {
            words.splice(place - 1..=place, [joined]);
            return Some(words);
        }
        "promise" if typed.parse::<Bytes>().is_ok() => Some("--size"),
        "convert" => Some("--to"),
        _ => None,
    };
    let own = option.map(|option| [option.to_string(), typed.to_string()]);
    words.splice(place..=place, own.into_iter().flatten());
    Some(words)
}

/// The value of an option and the number of words that both are. A path behind an option that is left out is a target.
fn value_behind(words: &[String], place: usize) -> (Option<String>, usize) {
    if let Some((_, value)) = words[place].split_once('=') {
        return (Some(value.to_string()), 1);
    }
    match words.get(place + 1) {
        Some(next)
            if !next.starts_with('-') && (names_target(&words[place]) || !Path::new(next).exists()) =>
        {
            (Some(next.clone()), 2)
        }
        _ => (None, 1),
    }
}

fn names_target(word: &str) -> bool {
    INSTEAD.iter().any(|(names, instead, _)| *instead == Instead::Target && names.contains(&name_of(word)))
}

/// What stands for an option that a command does not have.
enum Meant<'c> {
    Option(&'c str),
    Preset(&'static str),
    Target,
    Plan,
    /// It changes nothing here.
    Nothing,
    /// Nothing of ours stands for it.
    Unknown,
}

fn meant_by<'c>(name: &str, command: &'c Command) -> Meant<'c> {
    let shown = || command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(Arg::get_long);
    if let Some((_, ours)) = OPTIONS.iter().find(|(typed, _)| typed.contains(&name)) {
        let ours = ours.iter().filter(|ours| !CONSENT.contains(ours));
        let has = ours.filter_map(|ours| shown().find(|long| long == ours)).next();
        if let Some(ours) = has {
            return Meant::Option(ours);
        }
    }
    if name == "rwmixwrite"
        && let Some(ours) = shown().find(|long| *long == "rwmix")
    {
        return Meant::Option(ours);
    }
    let instead = INSTEAD.iter().find(|(typed, ..)| typed.contains(&name));
    if let Some((_, instead, _)) = instead.filter(|_| measures(command)) {
        return match instead {
            Instead::Target => Meant::Target,
            Instead::Plan => Meant::Plan,
            Instead::Nothing => Meant::Nothing,
        };
    }
    if let Some(preset) = preset_like(name).filter(|_| shown().any(|long| long == "preset")) {
        return Meant::Preset(preset);
    }
    let is_of_fio = measures(command) && option::find_any(name).is_some();
    match nearest(name, shown().map(|long| (long, long))).filter(|_| !is_of_fio) {
        Some(ours) if !CONSENT.contains(&ours) => Meant::Option(ours),
        _ => Meant::Unknown,
    }
}

/// The preset of a name, however its words are joined: `readonly`, `read_only`.
pub(super) fn preset_like(name: &str) -> Option<&'static str> {
    let letters = |name: &str| name.to_lowercase().replace(['-', '_'], "");
    let preset = PRESETS.iter().find(|preset| letters(preset.name) == letters(name))?;
    Some(preset.name)
}

fn with_known_command(mut words: Vec<String>, typed: &str, cli: &Command) -> Option<Vec<String>> {
    let place = (1..words.len()).find(|place| words[*place] == typed)?;
    let in_place = |words: &mut Vec<String>, own: &[&str]| {
        words.splice(place..=place, own.iter().map(|word| word.to_string()));
    };
    let behind = |words: &mut Vec<String>, command: &str, option: &str, value: &str| {
        in_place(words, &[command]);
        words.extend([option.to_string(), value.to_string()]);
    };
    let names = || shown_commands(cli).map(|command| (command.get_name(), command.get_name()));
    let lower = typed.to_lowercase();
    if let Some((_, line, _)) = COMMANDS.iter().find(|(typed, ..)| typed.contains(&lower.as_str())) {
        // The words in capitals stand for what the user has typed behind.
        let own: Vec<&str> = line.split(' ').filter(|word| word.contains(char::is_lowercase)).collect();
        in_place(&mut words, &own);
    } else if let Some(preset) = preset_like(typed) {
        behind(&mut words, "run", "--preset", preset);
    } else if is_suite(typed) {
        in_place(&mut words, &["suite", typed]);
    } else if is_application(typed) {
        behind(&mut words, "fit", "--for", typed);
    } else if Path::new(typed).exists() {
        in_place(&mut words, &[command_for(Path::new(typed)), typed]);
    } else if is_volume_type(typed) {
        in_place(&mut words, &["promise", typed]);
    } else {
        let near = nearest(typed, names())?;
        in_place(&mut words, &[near]);
    }
    Some(words)
}

/// The command that is most likely meant for a path alone.
pub(super) fn command_for(path: &Path) -> &'static str {
    if path.is_dir() {
        return "run";
    }
    if holds_result(path) { "show" } else { "check" }
}

/// The line with another value in the place of one that an option does not take.
fn with_taken_value(words: &[String], mistake: &clap::Error, cli: &Command) -> Option<Vec<String>> {
    let last = |kind| words_of(mistake, kind).pop();
    let (usage, typed) = (last(ContextKind::InvalidArg)?, last(ContextKind::InvalidValue)?);
    let place = (1..words.len())
        .find(|place| words[*place] == typed || words[*place].ends_with(&format!("={typed}")))?;
    let front = words[place].strip_suffix(typed.as_str())?;
    let command = cli.find_subcommand(&words[place_of_command(words, cli)?]);
    let near = command.and_then(|command| argument(command, &usage)).and_then(|arg| {
        nearest(&typed, arg.get_possible_values().iter().map(|v| (v.get_name(), v.get_name().to_string())))
    });
    let known = VALUES.iter().find(|(word, _)| *word == typed).map(|(_, ours)| ours.to_string());
    // Nobody trims by a slip of the hand; a share is no number of bytes.
    let is_harmless = |value: &String| typed.contains("trim") || !value.contains("trim");
    let is_share =
        |value: &String| typed.ends_with('%') && usage.contains("SIZE") && typed.starts_with(value.as_str());
    let near = last(ContextKind::SuggestedValue).into_iter().chain(near).filter(is_harmless);
    let likely = known.into_iter().chain(near).chain(other_forms(&typed)).filter(|value| !is_share(value));
    if let Some(line) = with_pair(words, place) {
        return Some(line);
    }
    for value in likely.filter(|value| !value.is_empty() && *value != typed) {
        let mut line = words.to_vec();
        line[place] = format!("{front}{value}");
        let refused = mistake_in(&line).is_some_and(|still| {
            words_of(&still, ContextKind::InvalidArg).contains(&usage)
                && words_of(&still, ContextKind::InvalidValue).contains(&value)
        });
        if !refused {
            return Some(line);
        }
    }
    None
}

/// The line with a key and its value joined, where a blank divides them: `--simulate latency 1ms`.
fn with_pair(words: &[String], place: usize) -> Option<Vec<String>> {
    let next = words.get(place + 1).filter(|next| !next.starts_with('-'))?;
    let mut line = words.to_vec();
    line.splice(place..=place + 1, [format!("{}={next}", words[place])]);
    mistake_in(&line).is_none().then_some(line)
}

/// A value as others write it, in the forms of ours.
fn other_forms(typed: &str) -> Vec<String> {
    let rate = ["IOPS", "iops", "/s", "%"].iter().find_map(|unit| typed.strip_suffix(unit));
    let switch = match typed.to_lowercase().as_str() {
        "yes" | "true" | "1" => Some("on"),
        "no" | "false" | "0" => Some("off"),
        _ => None,
    };
    let first = typed.split_once(',').map(|(first, _)| first.to_string());
    let range = typed.split_once('-').map(|(low, high)| format!("{low}..{high}"));
    let forms = [
        first,
        range,
        rate.map(|number| number.trim_end().to_string()),
        switch.map(str::to_string),
        Some(typed.to_lowercase().replace('_', "-")),
        typed.parse::<f64>().is_ok().then(|| format!("{typed}ms")),
    ];
    forms.into_iter().flatten().collect()
}

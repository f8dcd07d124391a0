//! A mistake in the command line, told with the option or command that its user meant.
//!
//! clap suggests whatever name looks alike. The tables here hold the names of other tools and everyday words for our options and
//! commands, and the likeness that is asked of a suggestion is high. The messages say in the words of `--help` what an option does.

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory};

use crate::cli::Cli;
use fio_formats::option;
use volproof_base::misspelling::nearest;
use volproof_base::shell_word::shell;
use volproof_base::unit::grouped;
use volproof_plan::Preset;
use volproof_report::layout::wrap;

/// Names that no option has, and the options that are meant by them; of those a command has.
const OPTIONS: [(&[&str], &[&str]); 15] = [
    (&["duration", "time", "timeout", "t"], &["runtime", "budget"]),
    (&["block-size", "block", "bsize", "b"], &["bs"]),
    (&["queue-depth", "queuedepth", "depth", "qd", "io-depth", "q"], &["iodepth"]),
    (&["threads", "workers", "num-jobs", "jobs", "j"], &["numjobs"]),
    (&["pattern", "workload", "mode", "test"], &["rw", "preset"]),
    (&["output", "out", "o", "output-format", "format"], &["json", "csv", "html", "output"]),
    (&["record", "save", "report"], &["json", "html"]),
    (&["verbose", "v", "all", "evidence"], &["details"]),
    (&["silent", "brief", "short"], &["quiet"]),
    (&["type", "volume-type", "volume", "kind", "spec"], &["promise"]),
    (&["capacity", "size"], &["volume-size", "size"]),
    (&["rate", "rate-limit", "throttle"], &["rate-iops", "rate-bw"]),
    (&["yes", "y", "f"], &["overwrite", "destroy"]),
    (&["p90", "p95", "p999", "percentile", "latency"], &["p50", "p99", "p99.9", "mean"]),
    (&["json"], &["output"]),
];

/// Names that no option has, and what to do without one.
const INSTEAD: [(&[&str], &str); 5] = [
    (
        &["filename", "file", "device", "dev", "directory", "dir", "target", "path"],
        "name the file, folder or device as TARGET, without an option",
    ),
    (&["name"], "leave it out, or run the whole fio command with `volproof fio`"),
    (&["group_reporting", "group-reporting"], "leave it out: all jobs of a step are reported together"),
    (&["thread"], "leave it out: every job is a thread"),
    (&["dry-run", "n"], "`volproof plan` prints what a run would do, and does nothing"),
];

/// Names that no command has, with the command line that is meant.
const COMMANDS: [(&[&str], &str, &str); 11] = [
    (&["compare", "diff"], "show A B", "two results, one below the other"),
    (&["analyze", "analyse", "interpret", "why"], "show FILE", "what a result shows, in plain words"),
    (&["bench", "benchmark", "test", "measure", "start"], "run TARGET", "the standard tests"),
    (&["export"], "convert FILE --to FORM", "a result in another form"),
    (&["html", "page"], "report RECORD", "a page with charts"),
    (&["print", "cat", "view", "result"], "show RECORD", "a stored result"),
    (&["list", "types", "volumes", "catalog", "catalogue"], "promise --list", "all volume types"),
    (&["judge"], "verdict RECORD --promise TYPE", "a stored result held against a promise"),
    (&["undo", "reset"], "restore", "puts kernel settings back"),
    (&["devices", "disks", "lsblk", "info"], "check DEVICE", "what a run would overwrite"),
    (&["limit", "saturate", "search"], "slo TARGET --p99 1ms", "the highest load within a limit"),
];

/// The message for a command line that was not understood.
pub fn message(mistake: &clap::Error, arguments: &[OsString]) -> String {
    let mut cli = Cli::command();
    cli.build();
    let named = |word: &OsString| word.to_str().and_then(|w| cli.find_subcommand(w));
    let command = arguments.iter().skip(1).find_map(named);
    let first = |kind| words(mistake, kind).into_iter().next();
    let told = match (mistake.kind(), command) {
        (ErrorKind::UnknownArgument, _) => {
            first(ContextKind::InvalidArg).and_then(|typed| unknown_option(&typed, command, &cli, arguments))
        }
        (ErrorKind::InvalidSubcommand, _) => {
            first(ContextKind::InvalidSubcommand).map(|typed| unknown_command(&typed, &cli))
        }
        (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand, None) => {
            Some(without_command(&cli))
        }
        (ErrorKind::MissingRequiredArgument, Some(command)) => Some(missing(mistake, command, arguments)),
        (ErrorKind::TooManyValues, Some(command)) => {
            first(ContextKind::InvalidValue).map(|typed| one_too_many(&typed, command, arguments))
        }
        (ErrorKind::ArgumentConflict, Some(command)) => conflict(mistake, command),
        (ErrorKind::InvalidValue | ErrorKind::ValueValidation, Some(command)) => {
            wrong_value(mistake, command)
        }
        _ => None,
    };
    told.unwrap_or_else(|| {
        let rendered = mistake.render().to_string();
        let text = rendered.strip_prefix("error: ").unwrap_or(&rendered).trim_end();
        match command {
            Some(command) if !text.contains('\n') => wrap("volproof: ", text) + &all_options(command),
            _ => format!("volproof: {text}\n"),
        }
    })
}

/// What clap says of a mistake under a word of its own.
fn words(mistake: &clap::Error, kind: ContextKind) -> Vec<String> {
    match mistake.get(kind) {
        Some(ContextValue::String(word)) => vec![word.clone()],
        Some(ContextValue::Strings(words)) => words.clone(),
        _ => vec![],
    }
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
    let needed = words(mistake, ContextKind::InvalidArg);
    let of = |usage: &String| command.get_arguments().find(|arg| arg.to_string() == *usage);
    let name = |usage: &String| match of(usage) {
        Some(arg) => called(arg),
        // One of a group.
        None => format!("one of {}", plain(usage).replace('|', ", ")),
    };
    let all: Vec<String> = needed.iter().map(name).collect();
    // What another option asks for is not what the command asks for.
    let always = needed.iter().any(|usage| of(usage).is_none_or(Arg::is_required_set));
    let askers = if always { vec![] } else { askers(&needed, command, arguments) };
    let who = match askers.as_slice() {
        _ if always => command.get_name().to_string(),
        [] => "one of the options".into(),
        [one] => one.clone(),
        [others @ .., last] => format!("each of {} and {last}", others.join(", ")),
    };
    let mut text = wrap("volproof: ", &format!("{who} needs {}", all.join(" and ")));
    let args: Vec<&Arg> = needed.iter().filter_map(of).collect();
    text.extend(args.iter().map(|arg| wrap("  ", &meaning(arg))));
    let shows = |line: &String| {
        let mut longs = args.iter().filter_map(|arg| arg.get_long());
        longs.all(|long| line.contains(&format!("--{long} ")))
    };
    text.extend(example(command).filter(shows).map(|line| wrap("  ", &format!("such as `{line}`"))));
    text + &all_options(command)
}

/// The options of a command line that need what is missing: each of them needs it where it stands alone.
fn askers(needed: &[String], command: &Command, arguments: &[OsString]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (place, word) in arguments.iter().enumerate() {
        let Some(typed) = word.to_str().and_then(|word| word.strip_prefix("--")) else { continue };
        let (name, value) = typed.split_once('=').map_or((typed, None), |(name, value)| (name, Some(value)));
        let Some(arg) = command.get_arguments().find(|arg| is_called(arg, name)) else { continue };
        let apart = value.is_none() && arg.get_num_args().is_some_and(|range| range.min_values() > 0);
        let mut alone = vec![OsString::from("volproof"), command.get_name().into(), word.clone()];
        alone.extend(arguments.get(place + 1).filter(|_| apart).cloned());
        let asks = Cli::command().try_get_matches_from(alone).err().is_some_and(|mistake| {
            let missed = words(&mistake, ContextKind::InvalidArg);
            mistake.kind() == ErrorKind::MissingRequiredArgument
                && needed.iter().all(|usage| missed.contains(usage))
        });
        let name = format!("--{name}");
        if asks && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The first example of a command's help, without the words behind it.
fn example(command: &Command) -> Option<String> {
    let help = command.get_after_help()?.to_string();
    let line = help.lines().map(str::trim).find(|line| line.starts_with("volproof "))?;
    Some(line.split("  ").next()?.to_string()).filter(|line| !line.ends_with('\\'))
}

/// Options that cannot stand together, or one that stands twice.
fn conflict(mistake: &clap::Error, command: &Command) -> Option<String> {
    let (new, prior) = (words(mistake, ContextKind::InvalidArg), words(mistake, ContextKind::PriorArg));
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
    let of = |kind| words(mistake, kind);
    let usage = of(ContextKind::InvalidArg).pop()?;
    let typed = of(ContextKind::InvalidValue).pop().unwrap_or_default();
    let arg = command.get_arguments().find(|arg| arg.to_string() == usage);
    let name = arg.and_then(Arg::get_long).map_or_else(|| plain(&usage), |long| format!("--{long}"));
    let known = of(ContextKind::ValidValue).join(", ");
    // It shares the declarations of another command, and refuses this one.
    if arg.is_some_and(Arg::is_hide_set) {
        let told = format!("{} has no use for {name}: leave it out", command.get_name());
        return Some(wrap("volproof: ", &told) + &all_options(command));
    }
    let mut text = if typed.is_empty() {
        wrap("volproof: ", &format!("{name} has no value"))
    } else {
        let told = mistake.source().map(ToString::to_string).or(of(ContextKind::Custom).pop());
        let why = match told {
            Some(why) => why,
            None if known.is_empty() => "it takes no such value".into(),
            None => format!("it is none of {known}"),
        };
        // A plan file tells the key by its name, and a list the entry that is wrong.
        let twice = [name.trim_start_matches('-'), &typed].into_iter();
        let rest = twice.filter_map(|key| why.strip_prefix(key)?.strip_prefix(": ")).next();
        let why = rest.unwrap_or(&why);
        let why = &outside(why).unwrap_or_else(|| why.to_string());
        wrap("volproof: ", &format!("{name} {typed}: {why}"))
    };
    // A user gives a program such as `$SHELL`, and means its name.
    let of_path = Path::new(&typed).file_name().and_then(|name| name.to_str()).map(str::to_string);
    let of_path = of_path.filter(|name| *name != typed && of(ContextKind::ValidValue).contains(name));
    if let Some(near) = of_path.or(of(ContextKind::SuggestedValue).pop()) {
        text += &wrap("  ", &format!("did you mean {near}?"));
    } else if let Some(arg) = arg {
        text += &wrap("  ", &meaning(arg));
    }
    Some(text + &all_options(command))
}

/// clap's words for a number outside a range, `0 is not in 1..=1000`, in ours.
fn outside(told: &str) -> Option<String> {
    let (_, range) = told.split_once(" is not in ")?;
    let (low, high) = range.split_once("..")?;
    let high = high.trim_start_matches('=');
    Some(match high.parse::<u64>() {
        Ok(high) if high < u64::from(u32::MAX) => {
            format!("it is outside {} to {}", grouped(low.parse().ok()?), grouped(high))
        }
        _ => format!("it is below {low}"),
    })
}

/// An argument above those that the command takes. A file that is there is never named as one to write to.
fn one_too_many(typed: &str, command: &Command, arguments: &[OsString]) -> String {
    let told = format!("'{typed}' is one argument too many for volproof {}", command.get_name());
    let json = |arg: &Arg| arg.get_long() == Some("json") && !arg.get_action().takes_values();
    let behind_json = arguments.windows(2).any(|two| two[0] == "--json" && two[1] == typed);
    let advice = if behind_json && command.get_arguments().any(json) && !Path::new(typed).exists() {
        format!("--json prints on standard output: write `--json > {typed}` for a file")
    } else {
        let takes: Vec<String> =
            command.get_positionals().map(|arg| plain(arg.to_string().trim_end_matches("..."))).collect();
        match takes.as_slice() {
            [] => "it takes options alone".into(),
            [one] => format!("it takes one {one}: run it once for each"),
            several => format!("it takes {} and no more", several.join(" ")),
        }
    };
    wrap("volproof: ", &told) + &wrap("  ", &advice) + &all_options(command)
}

/// An option that the command does not have, or an argument that it does not take.
fn unknown_option(
    typed: &str,
    command: Option<&Command>,
    cli: &Command,
    arguments: &[OsString],
) -> Option<String> {
    let name = typed.split('=').next().unwrap_or(typed);
    let Some(bare) = name.strip_prefix("--").or_else(|| name.strip_prefix('-')) else {
        return Some(one_too_many(typed, command?, arguments));
    };
    if typed == "-" {
        return Some(wrap(
            "volproof: ",
            "no file name is taken here, so - cannot stand for standard input or output: leave it out; an option without a FILE, such as \
             --json of verdict, prints on standard output",
        ));
    }
    if let Some(told) = command.and_then(|command| below_zero(name, command, arguments)) {
        return Some(told);
    }
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
    for tip in tips(bare, command, cli) {
        text += &wrap("  ", &tip);
    }
    Some(text + &all_options(command))
}

/// A number below 0 as the value of an option. clap names only its first digit, as an option.
fn below_zero(name: &str, command: &Command, arguments: &[OsString]) -> Option<String> {
    name.strip_prefix('-').filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit()))?;
    let of_two = |two: &[OsString]| {
        let typed = two[1].to_str().filter(|typed| typed.starts_with(name))?;
        let option = two[0].to_str().filter(|option| option.starts_with("--"))?;
        Some(format!("{option} {typed}"))
    };
    let typed = arguments.windows(2).find_map(of_two)?;
    let option = typed.split(' ').next().and_then(|option| option.strip_prefix("--"));
    let arg = command.get_arguments().find(|arg| is_called(arg, option.unwrap_or_default()));
    let told = wrap("volproof: ", &format!("{typed}: a number below 0 has no meaning here"));
    Some(told + &arg.map_or_else(String::new, |arg| wrap("  ", &meaning(arg))) + &all_options(command))
}

/// Whether an option has this name, or has it as another one.
fn is_called(arg: &Arg, name: &str) -> bool {
    arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
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
    let measures = find("bs").is_some();
    if let Some((_, instead)) = INSTEAD.iter().find(|(typed, _)| measures && typed.contains(&name)) {
        return vec![(*instead).to_string()];
    }
    if Preset::find(name).is_some() && find("preset").is_some() {
        return vec![format!("did you mean --preset {name}?")];
    }
    if measures && option::find_any(name).is_some() {
        return vec![format!(
            "{name} is an option of fio: `volproof fio` runs fio's command lines and job files"
        )];
    }
    let names = |arg: &Arg| {
        let aliases = arg.get_visible_aliases().unwrap_or_default();
        aliases.into_iter().chain(arg.get_long()).map(str::to_string).collect::<Vec<_>>()
    };
    if let Some(arg) =
        nearest(name, shown().flat_map(|arg| names(arg).into_iter().map(move |known| (known, arg))))
    {
        return vec![described(arg)];
    }
    let has = |other: &&Command| {
        other.get_arguments().any(|arg| arg.get_long() == Some(name) && !arg.is_hide_set())
    };
    let others: Vec<&str> = cli.get_subcommands().filter(has).map(Command::get_name).collect();
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
    let names = cli.get_subcommands().map(|command| (command.get_name(), command.get_name()));
    if let Some((_, line, about)) = row {
        text += &wrap("  ", &format!("did you mean `volproof {line}`? {about}"));
    } else if Path::new(typed).exists() {
        // What holds data is read.
        let (way, about) = match Path::new(typed).is_dir() {
            true => ("", "the standard tests on a new file in it"),
            false => (" --preset read-only", "tests that read it"),
        };
        text += &wrap("  ", &format!("did you mean `volproof run {}{way}`? {about}", shell(typed)));
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
            "compare a b",
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
            "explain r.json --size 100GiB",
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
        for (_, line, _) in COMMANDS {
            let name = line.split(' ').next().unwrap();
            assert!(cli.find_subcommand(name).is_some(), "{line}");
        }
    }
}

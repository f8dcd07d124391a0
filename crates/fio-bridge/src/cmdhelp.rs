//! `--cmdhelp`, `--enghelp`, `--help` and `--version`: fio's options in our words, and how far volproof honours each.

use std::fmt::Write;

use fio_formats::argv::{FLAGS, Takes};
use fio_formats::command::InfoRequest;
use fio_formats::option::{self, FioOption, ValueKind};
use fio_formats::table;

use super::support::{self, Support};

/// The version of fio whose language this is; tools look for it at the front of `--version` and in reports.
pub const SPOKEN: &str = "fio-3.33";

/// The name of the program that measured, in reports of fio's forms.
pub const MEASURED_BY: &str = concat!("volproof ", env!("CARGO_PKG_VERSION"));
/// The same for a device that was only simulated.
pub const SIMULATED_BY: &str =
    concat!("volproof ", env!("CARGO_PKG_VERSION"), ", SIMULATED: nothing was measured of any volume");

/// An answer, and whether what was asked for exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelpAnswer {
    /// Text for standard output, ending with a line feed.
    pub text: String,
    /// fio's exit status: 0, or 1 for an engine or an engine's option that does not exist.
    pub status: u8,
}

/// Answers what was asked for instead of a run.
pub fn answer(request: &InfoRequest) -> HelpAnswer {
    let (text, status) = match request {
        InfoRequest::Version => (format!("{}\n", version()), 0),
        InfoRequest::Help => (usage(), 0),
        InfoRequest::CmdHelp(None) => (list(""), 0),
        InfoRequest::CmdHelp(Some(name)) if name == "all" => (list(""), 0),
        InfoRequest::CmdHelp(Some(name)) => (of_option(name), 0),
        InfoRequest::EngHelp(None) => {
            let names = table::engines().iter().filter(|e| e.name != "external");
            (
                format!(
                    "Available IO engines:\n{}",
                    names.map(|e| format!("\t{}\n", e.name)).collect::<String>()
                ),
                0,
            )
        }
        InfoRequest::EngHelp(Some(name)) => {
            let (engine, name) = name.split_once(',').map_or((name.as_str(), None), |(e, n)| (e, Some(n)));
            of_engine(engine, name)
        }
    };
    HelpAnswer { text, status }
}

/// The text of `--version`: the version of fio that volproof follows, and volproof's own.
fn version() -> String {
    format!("{SPOKEN} (volproof {})", env!("CARGO_PKG_VERSION"))
}

/// The text of `--help`.
fn usage() -> String {
    let mut text = format!("{}\nvolproof fio [options] [job options] <job file(s)>\n", version());
    for flag in FLAGS {
        let name = match flag.takes {
            Takes::Nothing => format!("--{}", flag.name),
            Takes::Maybe => format!("--{}[=…]", flag.name),
            Takes::Value => format!("--{}=…", flag.name),
        };
        let _ = writeln!(text, "  {name:<22} {}{}", flag.help, mark(support::of_flag(flag.name)));
    }
    text
}

/// The word of a support, in parentheses, unless volproof honours it.
fn mark(support: Support) -> String {
    if support == Support::Native { String::new() } else { format!(" ({})", support.word()) }
}

/// The options of an engine, or those of every job, one a line.
fn list(engine: &str) -> String {
    let listed = table::all().filter(|o| o.engines.is_empty() == engine.is_empty() && o.is_of(engine));
    listed.map(|o| format!("{:<24}: {}{}\n", o.name, o.help, mark(support::of_option(o)))).collect()
}

/// One option, or the nearest one.
fn of_option(name: &str) -> String {
    if let Some(option) = option::find_any(name) {
        return describe(option);
    }
    match option::nearest_to(name).and_then(option::find_any) {
        Some(near) => format!("No option '{name}'; the nearest is\n{}", describe(near)),
        None => format!("No option '{name}'\n"),
    }
}

fn describe(option: &FioOption) -> String {
    let support = support::of_option(option);
    let mut text = format!("{:>20}: {}\n", option.name, option.help);
    if let Some(alias) = option.alias {
        let _ = writeln!(text, "{:>20}: {alias}", "alias");
    }
    let _ = writeln!(text, "{:>20}: {}", "default", option.default.unwrap_or("no default"));
    let why = support.reason().map_or(String::new(), |why| format!(": {why}"));
    let _ = writeln!(text, "{:>20}: {}{why}", "volproof", support.word());
    for (n, word) in option.words.iter().enumerate() {
        let key = if n == 0 { "valid values" } else { "" };
        let of_word = match option.kind {
            ValueKind::Engine => support::of_engine(word.name),
            _ if support == Support::Native => support::of_word(option, word.name),
            _ => support,
        };
        let _ = writeln!(text, "{key:>20}: {:<10} {}{}", word.name, word.help, mark(of_word));
    }
    text
}

fn of_engine(engine: &str, name: Option<&str>) -> (String, u8) {
    if table::engine(engine).is_none() {
        return (format!("There is no IO engine '{engine}'\n"), 1);
    }
    let options = list(engine);
    let Some(name) = name.filter(|_| !options.is_empty()) else {
        let none = format!("IO engine {engine} has no options\n");
        return if options.is_empty() { (none, name.is_some().into()) } else { (options, 0) };
    };
    match table::all().find(|o| o.engines.contains(&engine) && o.is_called(name)) {
        Some(option) => (describe(option), 0),
        None => (format!("IO engine {engine} has no option '{name}'\n"), 1),
    }
}

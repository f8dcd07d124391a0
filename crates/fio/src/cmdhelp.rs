//! `--cmdhelp`, `--enghelp`, `--help` and `--version` in fio's layout, from the table.
//!
//! Descriptions are our own, and each option says how far volproof honours it.

use std::fmt::Write;
use volproof_base::misspelling::nearest;

use super::argv::{FLAGS, Takes};
use super::command::InfoRequest;
use super::option::{self, FioOption, Support, ValueKind};
use super::table::{self, ENGINES};

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
        InfoRequest::CmdHelp(name) => (options(name.as_deref().unwrap_or("all")), 0),
        InfoRequest::EngHelp(None) => (engines(), 0),
        InfoRequest::EngHelp(Some(name)) => match name.split_once(',') {
            Some((engine, name)) => of_engine(engine, Some(name)),
            None => of_engine(name, None),
        },
    };
    HelpAnswer { text, status }
}

/// The text of `--version`: the version of fio that volproof follows, and volproof's own.
pub fn version() -> String {
    format!("{SPOKEN} (volproof {})", env!("CARGO_PKG_VERSION"))
}

/// The text of `--help`, which fio also prints when there is nothing to run.
pub fn usage() -> String {
    let mut text = format!("{}\nvolproof fio [options] [job options] <job file(s)>\n", version());
    for flag in FLAGS {
        let name = match flag.takes {
            Takes::Nothing => format!("--{}", flag.name),
            Takes::Maybe => format!("--{}[=…]", flag.name),
            Takes::Value => format!("--{}=…", flag.name),
        };
        let mark = match flag.support {
            Support::Native => String::new(),
            support => format!(" ({})", support.word()),
        };
        writeln!(text, "  {name:<22} {}{mark}", flag.help).expect("a String takes all");
    }
    text
}

/// One option, the nearest one, or the list of all.
fn options(name: &str) -> String {
    if name == "all" {
        let mut text = String::new();
        for option in table::all().filter(|o| o.engines.is_empty() && !o.hidden && o.parent.is_none()) {
            tree(&mut text, option, 0);
        }
        return text;
    }
    let listed = || {
        table::all()
            .filter(|o| o.engines.is_empty() && !matches!(o.kind, ValueKind::Deprecated | ValueKind::Gone))
    };
    if let Some(option) = listed().find(|o| o.is_called(name)) {
        return describe(option);
    }
    let engines = table::all().find(|o| o.is_called(name) && !o.engines.is_empty()).map(|o| o.engines);
    if let Some(engines) = engines {
        return format!("'{name}' is an option of engines: see --enghelp={},{name}\n", engines[0]);
    }
    match nearest(name, listed().map(|o| (o.name, o.name))).and_then(|near| option::find(near, "")) {
        Some(near) => format!("No option '{name}'; the nearest is\n{}", describe(near)),
        None => format!("No option '{name}'\n"),
    }
}

fn tree(text: &mut String, option: &FioOption, depth: usize) {
    let name = format!("{:width$}{}", "", option.name, width = depth * 2);
    let help = plain(option);
    writeln!(text, "{name:<24}: {help}").expect("a String takes all");
    let below = table::all().filter(|o| !o.hidden && o.parent == Some(option.name));
    below.for_each(|o| tree(text, o, depth + 1));
}

/// The description, with the word of its support unless volproof honours it.
fn plain(option: &FioOption) -> String {
    match option.support {
        Support::Native => option.help.to_string(),
        support => format!("{} ({})", option.help, support.word()),
    }
}

/// The type as fio words it; for sizes fio 3.33 prints `(null)`.
fn type_of(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Text
        | ValueKind::LogName
        | ValueKind::Cpus
        | ValueKind::Choice(_)
        | ValueKind::Engine
        | ValueKind::Long { .. }
        | ValueKind::Between => "string (opt=bla)",
        ValueKind::Words(_) => "string with possible k/m/g postfix (opt=4k)",
        ValueKind::Int { .. } | ValueKind::IntTime => "integer value (opt=100)",
        ValueKind::Size => "size, percentage or zones (opt=10g)",
        ValueKind::Time { .. } | ValueKind::Delay => "string with time postfix (opt=10s)",
        ValueKind::Bool => "boolean value (opt=1)",
        ValueKind::Flag => "empty or boolean value ([0|1])",
        ValueKind::Ranges => "one to three ranges (opt=1k-4k[,4k-8k[,1k-8k]])",
        ValueKind::Floats { .. } => "list of floating point values separated by ':' (opt=5.9:7.8)",
        ValueKind::Deprecated | ValueKind::Gone => "deprecated",
    }
}

fn range_of(kind: ValueKind) -> Option<String> {
    match kind {
        ValueKind::Bool => Some("min=0, max=1".to_string()),
        ValueKind::Int { min: 0, max: i64::MAX, .. } => None,
        ValueKind::Int { min, max: i64::MAX, .. } => Some(format!("min={min}")),
        ValueKind::Int { min, max, .. } => Some(format!("min={min}, max={max}")),
        ValueKind::Ranges | ValueKind::Between => Some("min=1".to_string()),
        ValueKind::Floats { range: Some((min, max)), .. } => Some(format!("min={min:.6}, max={max:.6}")),
        _ => None,
    }
}

fn describe(option: &FioOption) -> String {
    let mut text = String::new();
    let mut line = |key: &str, value: &str| {
        writeln!(text, "{key:>20}: {value}").expect("a String takes all");
    };
    line(option.name, option.help);
    if let Some(alias) = option.alias {
        line("alias", alias);
    }
    line("type", type_of(option.kind));
    line("default", option.default.unwrap_or("no default"));
    if let Some(range) = range_of(option.kind) {
        line("range", &range);
    }
    match option.support.reason() {
        Some(why) => line("volproof", &format!("{}: {why}", option.support.word())),
        None => line("volproof", option.support.word()),
    }
    let listed = ENGINES.iter().filter(|e| e.listed && option.kind == ValueKind::Engine);
    let engines = listed.map(|e| (e.name, e.help, e.support));
    let values = engines.chain(option.choices().iter().map(|c| (c.name, c.help, c.support)));
    for (n, (name, help, support)) in values.enumerate() {
        let mark = if support == Support::Native { String::new() } else { format!(" ({})", support.word()) };
        line(if n == 0 { "valid values" } else { "" }, &format!("{name:<10} {help}{mark}"));
    }
    text.push('\n');
    text
}

fn engines() -> String {
    let names = ENGINES.iter().filter(|e| e.name != "external").map(|e| format!("\t{}\n", e.name));
    format!("Available IO engines:\n{}", names.collect::<String>())
}

fn of_engine(engine: &str, name: Option<&str>) -> (String, u8) {
    if table::engine(engine).is_none() {
        return (format!("There is no IO engine '{engine}'\n"), 1);
    }
    let rows: Vec<_> = table::all().filter(|o| o.engines.contains(&engine)).collect();
    match name {
        name if rows.is_empty() => (format!("IO engine {engine} has no options\n"), name.is_some().into()),
        None => {
            let line = |o: &&FioOption| format!("{:<24}: {}\n", o.name, plain(o));
            (rows.iter().map(line).collect(), 0)
        }
        Some(name) => match rows.iter().find(|o| o.is_called(name)) {
            Some(option) => (describe(option), 0),
            None => (format!("IO engine {engine} has no option '{name}'\n"), 1),
        },
    }
}

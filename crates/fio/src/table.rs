//! The one table of fio's options, `options.txt`: one option a line, in sections of one subject or of the engines that have them.

use std::sync::LazyLock;

use super::option::{FioOption, OptionWord, TimeUnit, ValueKind};

static OPTIONS: LazyLock<Vec<FioOption>> = LazyLock::new(|| options(include_str!("options.txt")));

/// Every option: those of every job, then those of engines.
pub fn all() -> impl Iterator<Item = &'static FioOption> {
    OPTIONS.iter()
}

/// fio's engines.
pub fn engines() -> &'static [OptionWord] {
    all().find(|option| option.kind == ValueKind::Engine).map_or(&[], |option| &option.words)
}

/// The engine of that name.
pub fn engine(name: &str) -> Option<&'static OptionWord> {
    engines().iter().find(|engine| engine.name == name)
}

fn options(text: &'static str) -> Vec<FioOption> {
    let mut options: Vec<FioOption> = Vec::new();
    let (mut group, mut engines) = ("", Vec::new());
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(title) = line.strip_prefix('[') {
            let title = title.trim_end_matches(']');
            let (of_all, names) = title.split_once(": ").unwrap_or((title, ""));
            (group, engines) = (of_all, names.split_whitespace().collect());
        } else if let Some(word) = line.strip_prefix("    ") {
            let (name, help) = word.split_once(' ').expect("a word has a description");
            let option = options.last_mut().expect("words stand below an option");
            option.words.push(OptionWord { name, help: help.trim() });
        } else {
            let [names, kind, default, help] = line.split(" | ").collect::<Vec<_>>()[..] else {
                panic!("'{line}' is not name | kind | default | description");
            };
            let (name, alias) =
                names.split_once('/').map_or((names, None), |(name, alias)| (name, Some(alias)));
            options.push(FioOption {
                name,
                alias,
                kind: kind_of(kind),
                default: Some(default).filter(|default| *default != "-"),
                group,
                engines: engines.clone(),
                help,
                words: Vec::new(),
            });
        }
    }
    options
}

fn kind_of(text: &str) -> ValueKind {
    let words: Vec<&str> = text.split(' ').collect();
    match words[..] {
        ["text"] => ValueKind::Text,
        ["log"] => ValueKind::LogName,
        ["cpus"] => ValueKind::Cpus,
        ["choice"] => ValueKind::Choice,
        ["words"] => ValueKind::Words,
        ["engine"] => ValueKind::Engine,
        ["int", min, max] => ValueKind::Int { min: limit(min), max: limit(max), each: false },
        ["each", min, max] => ValueKind::Int { min: limit(min), max: limit(max), each: true },
        ["long"] => ValueKind::Long { min: 0 },
        ["size"] => ValueKind::Size,
        ["seconds"] => ValueKind::Time { bare: TimeUnit::Seconds },
        ["micros"] => ValueKind::Time { bare: TimeUnit::Micros },
        ["whole-micros"] => ValueKind::IntTime,
        ["bool"] => ValueKind::Bool,
        ["flag"] => ValueKind::Flag,
        ["ranges"] => ValueKind::Ranges,
        ["between"] => ValueKind::Between,
        ["delay"] => ValueKind::Delay,
        ["floats", most] => ValueKind::Floats { range: None, most: limit(most) as usize },
        ["floats", most, min, max] => {
            let range = Some((limit(min) as f64, limit(max) as f64));
            ValueKind::Floats { range, most: limit(most) as usize }
        }
        ["deprecated"] => ValueKind::Deprecated,
        ["gone"] => ValueKind::Gone,
        _ => panic!("'{text}' is no kind of value"),
    }
}

fn limit(text: &str) -> i64 {
    match text {
        "u32" => u32::MAX.into(),
        "max" => i64::MAX,
        number => number.parse().expect("a limit is a number, u32 or max"),
    }
}

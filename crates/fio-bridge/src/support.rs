//! What volproof honours of fio's options, words and flags: the table `support.txt`, and what it says of a job and of a command.

use std::collections::HashMap;
use std::sync::LazyLock;

use fio_formats::command::Command;
use fio_formats::job::{Given, Job, default_of};
use fio_formats::mistake::{Mistake, What};
use fio_formats::option::{FioOption, ValueKind};
use fio_formats::option_value::OptionValue;
use fio_formats::table;

/// How far volproof honours an option, a word or a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// As fio does.
    Native,
    /// Taken, and of no effect on what is measured: why.
    Noted(&'static str),
    /// The job has to run on fio itself: why.
    FioOnly(&'static str),
    /// Never: why.
    Refused(&'static str),
}

impl Support {
    /// The word of the table: `native`, `noted`, `fio-only`, `refused`.
    pub fn word(self) -> &'static str {
        match self {
            Support::Native => "native",
            Support::Noted(_) => "noted",
            Support::FioOnly(_) => "fio-only",
            Support::Refused(_) => "refused",
        }
    }

    /// The reason that stands beside the word, if it has one.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Support::Native => None,
            Support::Noted(why) | Support::FioOnly(why) | Support::Refused(why) => Some(why),
        }
    }
}

static TABLE: LazyLock<HashMap<&'static str, Support>> = LazyLock::new(|| read(include_str!("support.txt")));

fn read(text: &'static str) -> HashMap<&'static str, Support> {
    let mut all = HashMap::new();
    let mut support = Support::Native;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(title) = line.strip_prefix('[') {
            let title = title.trim_end_matches(']');
            let (word, why) = title.split_once(": ").unwrap_or((title, ""));
            support = match word {
                "native" => Support::Native,
                "noted" => Support::Noted(why),
                "fio-only" => Support::FioOnly(why),
                "refused" => Support::Refused(why),
                _ => panic!("'{word}' is no support"),
            };
        } else {
            all.extend(line.split_whitespace().map(|name| (name, support)));
        }
    }
    all
}

fn of_key(key: &str) -> Support {
    TABLE.get(key).copied().unwrap_or(Support::FioOnly("volproof does not know it"))
}

/// The name of an option in the table.
pub fn key(option: &FioOption) -> String {
    match option.engines.first() {
        Some(engine) => format!("{engine}:{}", option.name),
        None => option.name.to_string(),
    }
}

/// The support of an option.
pub fn of_option(option: &FioOption) -> Support {
    of_key(&key(option))
}

/// The support of a word of an option that is native itself.
pub fn of_word(option: &FioOption, word: &str) -> Support {
    of_key(&format!("{}={word}", option.name))
}

/// The support of an engine.
pub fn of_engine(name: &str) -> Support {
    match table::engine(name) {
        Some(_) => of_key(&format!("ioengine={name}")),
        None => Support::Refused("it is no engine of fio 3.33 as packaged: call fio itself"),
    }
}

/// The support of a flag.
pub fn of_flag(name: &str) -> Support {
    of_key(&format!("--{name}"))
}

/// Flags and values of a command that volproof does not honour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLimits {
    /// Those that only fio itself honours, each with the reason.
    pub needs_fio: Vec<(String, &'static str)>,
    /// Those that change nothing here.
    pub noted: Vec<String>,
}

/// What volproof does not honour of a command, its jobs apart.
///
/// # Errors
/// A flag that is refused.
pub fn of_command(command: &Command) -> Result<CommandLimits, Mistake> {
    let mut limits = CommandLimits::default();
    for flag in &command.other_flags {
        match of_flag(flag.name) {
            Support::Native => {}
            Support::Noted(_) => limits.noted.push(flag.word.clone()),
            Support::FioOnly(why) => limits.needs_fio.push((flag.word.clone(), why)),
            Support::Refused(why) => {
                let what = What::Value { option: flag.name.into(), why: why.into() };
                return Err(Mistake { origin: flag.origin.clone(), column: None, what });
            }
        }
    }
    Ok(limits)
}

/// An option that keeps a job from volproof's own engine, or changes nothing there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Its name.
    pub option: &'static str,
    /// The option as given.
    pub text: String,
    /// `FioOnly`, `Refused` or `Noted`, with the reason.
    pub support: Support,
}

/// Every given option, or word of one, that volproof's own engine does not honour as fio does; the last one given of each. One that
/// is given as fio's default asks for nothing and is not among them.
pub fn limits(job: &Job) -> Vec<Limit> {
    let engine = job.engine();
    let mut limits = Vec::new();
    let support = of_engine(engine);
    if support != Support::Native {
        limits.push(Limit { option: "ioengine", text: format!("ioengine={engine}"), support });
    }
    let all: Vec<_> = job.options().filter(|g| g.option.is_of(engine)).collect();
    for (place, given) in all.iter().enumerate() {
        let again = all[place + 1..].iter().any(|later| later.option.name == given.option.name);
        if again || default_of(given.option).is_some_and(|value| value == given.value) {
            continue;
        }
        let support = of_given(given);
        if support != Support::Native {
            limits.push(Limit { option: given.option.name, text: given.line(), support });
        }
    }
    limits
}

/// Options without a default that ask for something where their value is 0. fio's exitall is on as soon as it is named.
const ZERO_COUNTS: [&str; 5] = ["sqthread_poll_cpu", "uid", "gid", "exitall", "prio"];

/// Off, or 0 of something that is not there by default: it asks for nothing.
fn is_idle(given: &Given) -> bool {
    let zero = match &given.value {
        OptionValue::Flag(on) => !on,
        OptionValue::Ints(numbers) => numbers.iter().all(|n| n.is_none_or(|n| n == 0)),
        OptionValue::Time(time) => time.0 == 0,
        _ => false,
    };
    zero && given.option.default.is_none() && !ZERO_COUNTS.contains(&given.option.name)
}

/// The support of one given option: its own, or that of its word.
fn of_given(given: &Given) -> Support {
    if given.option.kind == ValueKind::Engine {
        return Support::Native;
    }
    let support = of_option(given.option);
    if support != Support::Native {
        return if is_idle(given) { Support::Native } else { support };
    }
    match &given.value {
        OptionValue::Ranges(_) if given.option.kind == ValueKind::Delay => {
            Support::FioOnly("a delay is one time, not drawn from a range")
        }
        OptionValue::Choice(word, _) => of_word(given.option, word),
        _ => Support::Native,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fio_formats::argv::FLAGS;

    use super::*;

    /// Options, words, engines and flags of fio, and no others.
    #[test]
    fn the_table_has_what_fio_has() {
        let mut wanted: BTreeSet<String> = FLAGS.iter().map(|flag| format!("--{}", flag.name)).collect();
        wanted.insert("--output-format=terse".into());
        for option in table::all() {
            wanted.insert(key(option));
            if of_option(option) == Support::Native {
                wanted.extend(option.words.iter().map(|word| format!("{}={}", option.name, word.name)));
            }
        }
        assert_eq!(TABLE.keys().map(|key| key.to_string()).collect::<BTreeSet<_>>(), wanted);
        for support in TABLE.values() {
            assert!(support.reason().is_none_or(|why| why.len() > 10), "{support:?}");
        }
    }
}

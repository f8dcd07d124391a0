//! The options that a user gave, on the command line and in a plan file alike: they are laid over a step.

use std::sync::LazyLock;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Command};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::key::{Key, KeyPlace};
use super::presets::PRESETS;
use super::step_json::each_key;
use super::word::{Word, from_text};
use super::{EngineKind, EngineWord, Step, WordError};
use volproof_base::sample::Direction;
use volproof_base::unit::byte_rate;

/// All keys that a user can give, in the order of `docs/plan.md`.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
        let own = Step::KEYS.iter().filter(|key| key.place != KeyPlace::Record);
        own.map(as_typed).chain([BUFFERED]).collect()
    });
    KEYS.iter()
}

/// The key as a user's word is read, where that is another word than the one in a Record.
fn as_typed(key: &Key) -> Key {
    match key.field {
        "engine" => who_does_the_io(*key),
        "rate_bw" => Key { read: read_byte_rate, ..*key },
        _ => *key,
    }
}

/// A rate may have its unit a second, such as `10MiB/s`.
fn read_byte_rate(step: &mut Step, value: &Value) -> Result<(), WordError> {
    let rate = value.as_str().map(byte_rate).transpose().map_err(|e| WordError(e.to_string()))?;
    step.rate_bw = match rate {
        Some(rate) => Some(rate),
        None => Word::read(value)?,
    };
    Ok(())
}

/// The keys of the command line but those of these fields.
fn typed_keys(but: &[&str]) -> impl Iterator<Item = &'static Key> {
    keys().filter(move |key| key.place == KeyPlace::Both && !but.contains(&key.field))
}

/// A user's word for the engine, such as `fio:libaio`, sets two fields of the step.
fn who_does_the_io(engine: Key) -> Key {
    Key {
        values: EngineWord::values,
        read: |step, value| {
            let word: EngineWord = from_text(value)?;
            (step.engine, step.fio) = (word.engine, word.fio);
            Ok(())
        },
        show: |step| EngineWord { engine: step.engine, fio: step.fio }.show(),
        ..engine
    }
}

/// The opposite of `direct`, as fio has it.
const BUFFERED: Key = Key {
    field: "buffered",
    heading: "Engine",
    place: KeyPlace::Both,
    about: "Go through the page cache: the opposite of direct",
    example: "true",
    aliases: &[],
    value: bool::VALUE,
    values: bool::values,
    read: |step, value| {
        step.direct = !bool::read(value)?;
        Ok(())
    },
    show: |step| (!step.direct).show(),
};

impl Step {
    /// The step as options of a command line: those that differ from their defaults, and `always`, by field. Plan files can say more.
    pub fn options(&self, always: &[&str]) -> Vec<String> {
        let default = Step::default();
        // A simulated device brings its engine along, and --buffered says the opposite of direct.
        let implied: &[&str] = if self.simulate.is_some() { &["direct", "engine"] } else { &["direct"] };
        let mut words = Vec::new();
        for key in typed_keys(implied) {
            let (own, usual) = ((key.show)(self), (key.show)(&default));
            let Some(value) = own.filter(|v| always.contains(&key.field) || Some(v) != usual.as_ref()) else {
                continue;
            };
            words.push(format!("--{}", key.name()));
            match value {
                Value::Bool(_) if key.is_switch() => {}
                Value::Object(_) => words.extend(self.simulate.as_ref().map(ToString::to_string)),
                Value::String(text) => words.push(text.replace(' ', "")),
                other => words.push(other.to_string()),
            }
        }
        words
    }
}

/// The key that a user means by a name.
fn find(name: &str) -> Option<&'static Key> {
    keys().find(|key| key.is_called(name))
}

/// What an option needs in a step, without which it changes nothing.
struct Need {
    field: &'static str,
    is_met: fn(&Step) -> bool,
    /// In words of the command line.
    what: &'static str,
}

const NEEDS: [Need; 6] = [
    Need {
        field: "rwmix",
        is_met: |step| step.rw.directions().len() > 1,
        what: "a pattern that mixes reads and writes: use --rw randrw or --rw rw",
    },
    Need {
        field: "arrival",
        is_met: |step| step.arrivals_per_second().is_some(),
        what: "a rate: add --rate-iops or --rate-bw",
    },
    Need { field: "distribution", is_met: is_random, what: RANDOM },
    Need { field: "norandommap", is_met: is_random, what: RANDOM },
    Need { field: "fsync", is_met: writes, what: WRITES },
    Need { field: "compressible", is_met: writes, what: WRITES },
];
const RANDOM: &str = "random I/O: use --rw randread, randwrite or randrw";
const WRITES: &str = "writes: use --rw write, randwrite, rw or randrw";

/// Whether an option of this field, such as one of a Record, changes nothing in a step.
pub fn is_idle(field: &str, step: &Step) -> bool {
    NEEDS.iter().any(|need| need.field == field && !(need.is_met)(step))
}

fn is_random(step: &Step) -> bool {
    step.rw.is_random()
}

fn writes(step: &Step) -> bool {
    step.rw.directions().contains(&Direction::Write)
}

/// Options that were given; all others keep the value beneath.
#[derive(Clone, Debug, Default)]
pub struct StepOptions {
    given: Vec<(&'static Key, Value)>,
}

impl StepOptions {
    /// Whether the option of that field was given.
    pub fn has(&self, field: &str) -> bool {
        self.given.iter().any(|(key, _)| key.field == field)
    }

    /// The first option that was given and is none of these fields, as a user types it.
    pub fn other_than(&self, fields: &[&str]) -> Option<String> {
        let given = self.given.iter().map(|(key, _)| key);
        given.filter(|key| !fields.contains(&key.field)).map(|key| format!("--{}", key.name())).next()
    }

    /// Lays these options over a step.
    pub fn apply(&self, step: &mut Step) {
        for (key, value) in &self.given {
            // Each value was checked when it was read.
            (key.read)(step, value).expect("a checked value");
        }
        if self.has("simulate") && !self.has("engine") {
            (step.engine, step.fio) = (EngineKind::Null, false);
        }
    }

    /// The message about two options where the later one overrides the earlier one; `dashes` stand before their names.
    fn contradiction(&self, dashes: &str) -> Option<String> {
        self.given.iter().enumerate().find_map(|(i, (key, value))| {
            let mut step = Step::default();
            (key.read)(&mut step, value).expect("a checked value");
            let said = (key.show)(&step);
            let (other, _) = self.given[i + 1..].iter().find(|(other, value)| {
                (other.read)(&mut step, value).expect("a checked value");
                (key.show)(&step) != said
            })?;
            let (name, other) = (key.name(), other.name());
            if name == other {
                return Some(format!("{dashes}{name} is given twice, with different values: give it once"));
            }
            Some(format!("{dashes}{name} and {dashes}{other} contradict each other: give one of them"))
        })
    }

    /// The first of these options that changes nothing in any of these steps: its name, and the message with the way out. `dashes` stand before
    /// names. A value that is the default one asks for nothing. Where the target is `filled` before, data that compress fill it.
    pub fn without_effect(
        &self,
        steps: &[Step],
        dashes: &str,
        filled: bool,
    ) -> Option<(&'static str, String)> {
        let default = Step::default();
        let mut asked = Vec::new();
        for (key, value) in &self.given {
            let mut step = Step::default();
            (key.read)(&mut step, value).expect("a checked value");
            if dashes == "--" || (key.show)(&step) != (key.show)(&default) {
                asked.push(key.field);
            }
        }
        let unmet = NEEDS.iter().filter(|need| !steps.iter().any(need.is_met));
        let need = unmet
            .filter(|need| asked.contains(&need.field))
            .find(|need| !(filled && need.field == "compressible"))?;
        let what = need.what.replace("--", dashes);
        Some((
            need.field,
            format!("{dashes}{} has no effect here, it needs {what}; or leave it out", need.field),
        ))
    }

    fn put(&mut self, key: &'static Key, value: Value) -> Result<(), WordError> {
        key.check(&value)?;
        self.given.push((key, value));
        Ok(())
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.field)
    }
}

impl<'de> Deserialize<'de> for StepOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StepOptions, D::Error> {
        let mut options = StepOptions::default();
        each_key(deserializer, find, |key, value| options.put(key, value))?;
        options.contradiction("").map_or(Ok(options), |text| Err(D::Error::custom(text)))
    }
}

impl StepOptions {
    /// Adds the arguments of all options but those whose fields are named: a subcommand that declares those itself.
    pub fn arguments_but(command: Command, fields: &[&str]) -> Command {
        typed_keys(fields).fold(command, |command, key| command.arg(argument(key, key.default_text())))
    }

    /// Reads the arguments of [`StepOptions::arguments_but`].
    pub fn of_matches_but(matches: &ArgMatches, fields: &[&str]) -> StepOptions {
        let typed = typed_keys(fields);
        let given = typed.filter_map(|key| Some((key, matches.get_one::<Value>(key.field)?.clone())));
        StepOptions { given: given.collect() }
    }
}

impl clap::Args for StepOptions {
    /// Without `--rw` the steps are those of a preset or a plan file, which have values of their own.
    fn augment_args(command: Command) -> Command {
        let usual = PRESETS[0].plan();
        typed_keys(&[]).fold(command, |command, key| {
            let default = key.default_text().map(|of_option| {
                if usual.steps.iter().all(|step| key.text(step).as_ref() == Some(&of_option)) {
                    of_option
                } else if key.field == "rw" {
                    format!("the steps of --preset {}", usual.name)
                } else {
                    format!("{of_option} with --rw, else that of each step")
                }
            });
            command.arg(argument(key, default))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        StepOptions::augment_args(command)
    }
}

impl clap::FromArgMatches for StepOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<StepOptions, clap::Error> {
        let mut options = StepOptions::default();
        options.update_from_arg_matches(matches)?;
        Ok(options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.given.extend(StepOptions::of_matches_but(matches, &[]).given);
        match self.contradiction("--") {
            Some(text) => Err(clap::Error::raw(ErrorKind::ArgumentConflict, format!("{text}\n"))),
            None => Ok(()),
        }
    }
}

/// The argument of a key, with the words for its default in the text of `--help`.
fn argument(key: &'static Key, default: Option<String>) -> Arg {
    let about = key.about.lines().next().unwrap_or_default().trim();
    let help = match default {
        Some(default) if !key.is_switch() => format!("{about} [default: {default}]"),
        Some(default) if default == "true" => format!("{about} [default: {default}]"),
        _ => about.to_string(),
    };
    let mut arg = Arg::new(key.field)
        .long(key.name())
        .visible_aliases(key.aliases.iter().copied())
        .aliases(key.aliases.iter().map(|alias| alias.replace('-', "_")))
        .help(help)
        .help_heading(key.heading)
        .hide_possible_values(true)
        .value_parser(ValueOf(key));
    if key.name() != key.field {
        arg = arg.alias(key.field);
    }
    // A switch stands alone, or with `=true` or `=false`.
    if key.is_switch() {
        arg.value_name("BOOL").num_args(0..=1).require_equals(true).default_missing_value("true")
    } else {
        arg.value_name(key.value)
    }
}

/// A value that an argument does not take: clap's message, and beside it the parts from which a message of ours is made.
pub fn wrong_value(command: &Command, arg: Option<&Arg>, text: &str, why: &str) -> clap::Error {
    let name = arg.map(ToString::to_string).unwrap_or_default();
    let message = format!("invalid value '{text}' for '{name}': {why}\n");
    let mut mistake = clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command);
    let parts = [
        (ContextKind::InvalidArg, name.as_str()),
        (ContextKind::InvalidValue, text),
        (ContextKind::Custom, why),
    ];
    for (kind, part) in parts {
        mistake.insert(kind, ContextValue::String(part.to_string()));
    }
    mistake
}

/// Reads the value of a key from the command line.
#[derive(Clone)]
struct ValueOf(&'static Key);

impl TypedValueParser for ValueOf {
    type Value = Value;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Value, clap::Error> {
        let refuse = |why: &str| wrong_value(command, arg, &value.to_string_lossy(), why);
        let text = value.to_str().ok_or_else(|| refuse("it is not UTF-8"))?;
        let value = Value::from(text);
        self.0.check(&value).map_err(|e| refuse(&e.to_string()))?;
        Ok(value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = (self.0.values)();
        (!values.is_empty()).then(|| Box::new(values.into_iter().map(PossibleValue::new)) as Box<_>)
    }
}

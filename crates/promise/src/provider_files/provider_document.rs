//! A document of JSON as the output of a known command: its things, and their fields by path.

use serde_json::Value;

use super::known_command::{COMMANDS, KnownCommand};
use super::named_file::NamedFile;
use super::provider_file_error::ProviderFileError;
use volproof_base::misspelling::nearest_few;

/// The longest name that is shown.
const LONGEST_NAME: usize = 80;

/// One thing of an output: a volume or an instance type.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProvidedThing<'a> {
    pub command: &'static KnownCommand,
    pub value: &'a Value,
}

/// The command whose output a document is.
pub fn command_of(document: &Value) -> Option<&'static KnownCommand> {
    COMMANDS.iter().find(|command| is_of(document, command))
}

/// The document in the text of a file.
pub(super) fn parse(text: &str, file: &NamedFile) -> Result<Value, ProviderFileError> {
    // Windows writes a mark in front of a redirected output.
    let text = text.trim_start_matches('\u{feff}');
    serde_json::from_str(text).map_err(|message| ProviderFileError::NoJson { origin: file.origin(), message })
}

/// The things of a document that the file's names choose, where it is the output of a command that the option takes.
pub(super) fn chosen<'a>(
    document: &'a Value,
    file: &NamedFile,
    option: &'static str,
) -> Result<Vec<ProvidedThing<'a>>, ProviderFileError> {
    let origin = file.origin();
    let commands = || KnownCommand::taken_by(option);
    let Some(command) = command_of(document) else {
        return Err(ProviderFileError::Unknown { origin, option, commands: commands() });
    };
    if command.option() != option {
        let (its_option, commands, command) = (command.option(), commands(), command.command);
        return Err(ProviderFileError::OtherCommand { origin, command, its_option, option, commands });
    }
    let things = things(document, command);
    if things.is_empty() {
        return Err(ProviderFileError::Empty { origin, command: command.command });
    }
    if file.names.is_empty() {
        return Ok(things);
    }
    file.names.iter().map(|name| named(&things, name, file)).collect()
}

/// The thing of this name.
fn named<'a>(
    things: &[ProvidedThing<'a>],
    name: &str,
    file: &NamedFile,
) -> Result<ProvidedThing<'a>, ProviderFileError> {
    if let Some(thing) = things.iter().find(|thing| thing.name().eq_ignore_ascii_case(name)) {
        return Ok(*thing);
    }
    let names: Vec<String> = things.iter().map(ProvidedThing::name).collect();
    Err(ProviderFileError::Absent {
        origin: file.origin(),
        what: things[0].kind_of_thing(),
        given: shown(name),
        near: nearest_few(name, names.iter().map(|n| (n, n.clone())), 3),
        names,
    })
}

/// Whether a document is the output of a command: it has its things, or the place for them.
fn is_of(document: &Value, command: &'static KnownCommand) -> bool {
    let has_place = !command.list.is_empty() && field(document, command.list).is_some_and(Value::is_array);
    has_place || !things(document, command).is_empty()
}

fn things<'a>(document: &'a Value, command: &'static KnownCommand) -> Vec<ProvidedThing<'a>> {
    let place = if command.list.is_empty() { Some(document) } else { field(document, command.list) };
    let values = match place {
        Some(Value::Array(values)) => values.as_slice(),
        Some(one) if command.list.is_empty() => std::slice::from_ref(one),
        _ => &[],
    };
    let things = values.iter().map(|value| ProvidedThing { command, value });
    things.filter(ProvidedThing::has_marks).collect()
}

impl<'a> ProvidedThing<'a> {
    fn has_marks(&self) -> bool {
        self.command.marks.iter().all(|mark| match mark.split_once('=') {
            Some((path, text)) => field(self.value, path).is_some_and(|value| value == text),
            None => field(self.value, mark).is_some(),
        })
    }

    /// The name, fit for a message.
    pub fn name(&self) -> String {
        self.text(self.command.name).map_or_else(|| "a thing without a name".into(), |name| shown(&name))
    }

    /// The word for what it is.
    pub fn kind_of_thing(&self) -> &'static str {
        if self.command.option() == "--instance" { "instance type" } else { "volume" }
    }

    /// A text that is not empty; of a path or address its last part.
    pub fn text(&self, path: &str) -> Option<String> {
        let last = field(self.value, path)?.as_str()?.rsplit('/').next()?.trim();
        Some(last.to_string()).filter(|text| !text.is_empty())
    }

    /// A number above 0, written as such or as a text.
    pub fn number(&self, path: &str) -> Option<f64> {
        let number = match field(self.value, path)? {
            Value::String(text) => text.trim().parse().ok()?,
            value => value.as_f64()?,
        };
        Some(number).filter(|n: &f64| n.is_finite() && *n > 0.0)
    }

    /// The error that names keys which are missing.
    pub fn missing(&self, keys: &[&str], file: &NamedFile) -> ProviderFileError {
        ProviderFileError::Missing {
            origin: file.origin(),
            name: self.name(),
            keys: keys.join(" and "),
            command: self.command.command,
        }
    }
}

/// The value at a path; `None` for null.
fn field<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let mut at = value;
    for key in path.split('/') {
        at = match at {
            Value::Object(map) => map.iter().find(|(name, _)| name.eq_ignore_ascii_case(key))?.1,
            // Azure lists capabilities as pairs of a name and a value.
            Value::Array(pairs) => {
                pairs.iter().find(|pair| pair.get("name").is_some_and(|n| n == key))?.get("value")?
            }
            _ => return None,
        };
    }
    Some(at).filter(|value| !value.is_null())
}

/// A name of a foreign file, fit for a terminal.
fn shown(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '?' };
    name.chars().take(LONGEST_NAME).map(plain).collect()
}

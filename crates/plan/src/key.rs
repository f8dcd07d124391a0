//! Keys: every option of a step, declared once. The declarations are in `step.rs`; this file is the machinery below them.
//!
//! `declare!` turns a list of options into the struct [`Step`], its defaults, and the table [`Step::KEYS`]. The command line, plan
//! files, the Record's form of a step, its JSON schema and `docs/plan.md` are made from that table, so that a name, a default and a
//! text mean the same everywhere. A value travels as JSON until [`Word::read`] gives it its type.

use std::path::PathBuf;
use volproof_base::misspelling::nearest;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::given_options::keys;
use super::{
    Arrival, BlockSizes, CpuList, Distribution, EngineKind, EngineWord, Fadvise, FileState, Follows, Pattern,
    Start, Step, SyncWrites, WordError, removed,
};
use volproof_base::unit::{Bytes, Nanos, iops};

/// Where a key can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// On the command line and in plan files. A Record always holds it.
    Both,
    /// In plan files alone, so that `--help` stays short. A Record holds it where it differs from the default.
    File,
    /// In Records alone: another key sets it.
    Record,
}

/// One option of a step.
#[derive(Clone, Copy)]
pub struct Key {
    /// Name in Records: `rate_iops`. [`Key::name`] is the name that a user types.
    pub field: &'static str,
    /// Options under one heading belong together.
    pub heading: &'static str,
    /// Where it can be given.
    pub place: KeyPlace,
    /// Its meaning: the first line is the text of `--help`.
    pub about: &'static str,
    /// A value as it stands in a plan file; empty for keys of Records alone.
    pub example: &'static str,
    /// Other names, those of fio.
    pub aliases: &'static [&'static str],
    /// Stands for the value in `--help`; empty for a switch.
    pub value: &'static str,
    /// All values where there are few, for shell completion.
    pub values: fn() -> Vec<&'static str>,
    pub(super) read: fn(&mut Step, &Value) -> Result<(), WordError>,
    pub(super) show: fn(&Step) -> Option<Value>,
}

impl Key {
    /// The name that a user types: `rate-iops`.
    pub fn name(&self) -> String {
        self.field.replace('_', "-")
    }

    /// The text of the default, where there is one.
    pub fn default_text(&self) -> Option<String> {
        self.text(&Step::default())
    }

    /// The value of a step as text; absent where the step has none.
    pub fn text(&self, step: &Step) -> Option<String> {
        (self.show)(step).map(|value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        })
    }

    /// A switch: on or off.
    pub fn is_switch(&self) -> bool {
        self.value.is_empty()
    }

    /// Whether a name is one of this key's names, in either spelling.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let name = name.replace('-', "_");
        self.field == name || self.aliases.iter().any(|alias| alias.replace('-', "_") == name)
    }

    /// Reads a value without keeping it.
    ///
    /// # Errors
    /// The value is not one of this key.
    pub(super) fn check(&self, value: &Value) -> Result<(), WordError> {
        (self.read)(&mut Step::default(), value)
    }

    /// Whether a Record of this step holds the key.
    fn is_kept(&self, value: &Value, default: &Step) -> bool {
        self.place == KeyPlace::Both || (self.show)(default).as_ref() != Some(value)
    }
}

/// A value of an option: how it is read from JSON or text, and shown.
pub trait Word: Sized {
    /// Stands for the value in `--help`; empty for a switch.
    const VALUE: &'static str;

    /// All values where there are few.
    fn values() -> Vec<&'static str> {
        Vec::new()
    }

    /// Reads the value; text is read whatever the type, as a command line gives it.
    ///
    /// # Errors
    /// The value is not of the type; the text names the value.
    fn read(value: &Value) -> Result<Self, WordError>;

    /// The value as a Record holds it; `None` where there is nothing to hold.
    fn show(&self) -> Option<Value>;

    /// The JSON schema of [`Word::show`].
    fn schema(generator: &mut SchemaGenerator) -> Schema;
}

impl<T: Word> Word for Option<T> {
    const VALUE: &'static str = T::VALUE;

    fn values() -> Vec<&'static str> {
        T::values()
    }

    fn read(value: &Value) -> Result<Self, WordError> {
        if value.is_null() { Ok(None) } else { T::read(value).map(Some) }
    }

    fn show(&self) -> Option<Value> {
        self.as_ref().and_then(T::show)
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        T::schema(generator)
    }
}

impl Word for bool {
    const VALUE: &'static str = "";

    fn read(value: &Value) -> Result<bool, WordError> {
        match value.to_string().trim_matches('"') {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            other => Err(WordError(format!("'{other}' is neither true nor false"))),
        }
    }

    fn show(&self) -> Option<Value> {
        Some((*self).into())
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        bool::json_schema(generator)
    }
}

/// [`Word`] for numbers, which a command line gives as text. One that need not be whole is a rate of I/Os.
macro_rules! number_words {
    ($($type:ty, $what:literal, $parse:expr;)*) => {$(
        impl Word for $type {
            const VALUE: &'static str = "N";

            fn read(value: &Value) -> Result<$type, WordError> {
                let text = value.to_string();
                let text = text.trim_matches('"');
                ($parse)(text).ok_or_else(|| WordError(format!("'{text}' is not {}", $what)))
            }

            fn show(&self) -> Option<Value> {
                serde_json::to_value(self).ok()
            }

            fn schema(generator: &mut SchemaGenerator) -> Schema {
                <$type>::json_schema(generator)
            }
        }
    )*};
}

number_words! {
    u32, "a whole number up to 4,294,967,295", |text: &str| text.parse().ok();
    u64, "a whole number", |text: &str| text.parse().ok();
    f64, "a number such as 2500 or 20k", iops;
}

/// Reads a value that has a text form; a bare number is text too.
pub(super) fn from_text<T: std::str::FromStr<Err: std::fmt::Display>>(value: &Value) -> Result<T, WordError> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        other => return Err(WordError(format!("{other} is not text"))),
    };
    text.parse().map_err(|e: T::Err| WordError(e.to_string()))
}

/// [`Word`] for types with a text form that reads back.
macro_rules! text_words {
    ($($type:ty, $value:literal, $show:expr, $values:expr;)*) => {$(
        impl Word for $type {
            const VALUE: &'static str = $value;

            fn values() -> Vec<&'static str> {
                $values
            }

            fn read(value: &Value) -> Result<$type, WordError> {
                from_text(value)
            }

            fn show(&self) -> Option<Value> {
                Some($show(self).into())
            }

            fn schema(generator: &mut SchemaGenerator) -> Schema {
                String::json_schema(generator)
            }
        }
    )*};
}

text_words! {
    Bytes, "SIZE", |b: &Bytes| b.exact(), vec![];
    Nanos, "TIME", |t: &Nanos| t.exact(), vec![];
    BlockSizes, "SIZE", ToString::to_string, vec![];
    CpuList, "LIST", ToString::to_string, vec![];
    Distribution, "DIST", ToString::to_string, vec!["uniform", "zipf:", "zoned:"];
    EngineWord, "ENGINE", ToString::to_string, vec!["io_uring", "libaio", "psync", "null", "fio", "fio:libaio"];
    Pattern, "PATTERN", ToString::to_string, Pattern::names();
    Start, "WHEN", ToString::to_string, vec![];
    SyncWrites, "KIND", ToString::to_string, vec!["dsync", "sync"];
}

/// A rare option lies in a box, so that each of a million steps does not carry its room.
impl<W: Word> Word for Box<W> {
    const VALUE: &'static str = W::VALUE;

    fn values() -> Vec<&'static str> {
        W::values()
    }

    fn read(value: &Value) -> Result<Box<W>, WordError> {
        W::read(value).map(Box::new)
    }

    fn show(&self) -> Option<Value> {
        W::show(self)
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        W::schema(generator)
    }
}

/// [`Word`] for types whose form serde knows, such as tables in a plan file.
macro_rules! table_words {
    ($($type:ty, $value:literal, $values:expr;)*) => {$(
        impl Word for $type {
            const VALUE: &'static str = $value;

            fn values() -> Vec<&'static str> {
                $values
            }

            fn read(value: &Value) -> Result<$type, WordError> {
                <$type>::deserialize(value).map_err(|e| WordError(e.to_string()))
            }

            fn show(&self) -> Option<Value> {
                serde_json::to_value(self).ok()
            }

            fn schema(generator: &mut SchemaGenerator) -> Schema {
                generator.subschema_for::<$type>()
            }
        }
    )*};
}

table_words! {
    Arrival, "KIND", vec!["fixed", "poisson"];
    EngineKind, "ENGINE", vec![];
    Fadvise, "ORDER", vec!["random", "sequential"];
    Follows, "STEP", vec![];
    FileState, "STATE", vec!["filled", "reserved", "growing"];
    String, "NAME", vec![];
    Vec<PathBuf>, "LIST", vec![];
}

/// Declares the options of a step: a heading, and under it `PLACE NAME: TYPE = DEFAULT, "EXAMPLE"` with a doc comment, and
/// `also "NAME"` for each other name.
macro_rules! declare {
    ($($heading:literal {$(
        $(#[doc = $doc:literal])+
        $place:ident $field:ident: $type:ty = $default:expr, $example:literal $(, also $alias:literal)*;
    )*})*) => {
        /// One measured load. The table of its options is [`Step::KEYS`], and `docs/plan.md` describes them.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Step {$($(
            $(#[doc = $doc])+
            pub $field: $type,
        )*)*}

        impl Default for Step {
            /// 4 KiB random reads at depth 1 for 30 s: the load changes nothing.
            fn default() -> Step {
                Step {$($($field: $default,)*)*}
            }
        }

        impl Step {
            /// All options, in the order of the page.
            pub const KEYS: &[Key] = &[$($(Key {
                field: stringify!($field),
                heading: $heading,
                place: KeyPlace::$place,
                about: concat!($($doc, "\n"),+),
                example: $example,
                aliases: &[$($alias),*],
                value: <$type as Word>::VALUE,
                values: <$type as Word>::values,
                read: |step, value| {
                    step.$field = Word::read(value)?;
                    Ok(())
                },
                show: |step| Word::show(&step.$field),
            },)*)*];

            /// The JSON schema of each option, in the order of [`Step::KEYS`]. No row of that table: the program itself makes no schema,
            /// and need not carry what makes one.
            pub(super) fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<schemars::Schema> {
                vec![$($(<$type as Word>::schema(generator),)*)*]
            }
        }
    };
}
pub(super) use declare;

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let default = Step::default();
        let mut map = serializer.serialize_map(None)?;
        for key in Step::KEYS {
            if let Some(value) = (key.show)(self).filter(|value| key.is_kept(value, &default)) {
                map.serialize_entry(key.field, &value)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Step, D::Error> {
        let mut step = Step::default();
        let put = |key: &'static Key, value: Value| (key.read)(&mut step, &value);
        each_key(deserializer, |name| Step::KEYS.iter().find(|key| key.field == name), put)?;
        Ok(step)
    }
}

impl JsonSchema for Step {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Step".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        for (key, mut schema) in Step::KEYS.iter().zip(Step::schemas(generator)) {
            let about: Vec<&str> = key.about.lines().map(str::trim).collect();
            schema.insert("description".into(), about.join(" ").trim().into());
            properties.insert(key.field.into(), schema.to_value());
        }
        schemars::json_schema!({
            "description": "One measured load.",
            "type": "object",
            "properties": properties,
            "additionalProperties": false
        })
    }
}

/// Reads a table of keys: `find` says what a name means, `put` takes each value. An error stands at the line and column of its value,
/// where the format has lines.
///
/// # Errors
/// An unknown name, with the nearest one; a value that its key does not take.
pub(super) fn each_key<'de, D: Deserializer<'de>>(
    deserializer: D,
    find: impl Fn(&str) -> Option<&'static Key>,
    put: impl FnMut(&'static Key, Value) -> Result<(), WordError>,
) -> Result<(), D::Error> {
    struct Keys<F, P>(F, P);
    struct Name<'a, F>(&'a F);
    struct GivenValue<'a, P>(&'static Key, &'a mut P);

    impl<'de, F: Fn(&str) -> Option<&'static Key>> DeserializeSeed<'de> for Name<'_, F> {
        type Value = &'static Key;
        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static Key, D::Error> {
            let name = String::deserialize(deserializer)?;
            (self.0)(&name).ok_or_else(|| D::Error::custom(unknown(&name)))
        }
    }
    impl<'de, P: FnMut(&'static Key, Value) -> Result<(), WordError>> DeserializeSeed<'de> for GivenValue<'_, P> {
        type Value = ();
        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
            let value = Value::deserialize(deserializer)?;
            self.1(self.0, value).map_err(|e| D::Error::custom(format!("{}: {e}", self.0.name())))
        }
    }
    impl<'de, F, P> Visitor<'de> for Keys<F, P>
    where
        F: Fn(&str) -> Option<&'static Key>,
        P: FnMut(&'static Key, Value) -> Result<(), WordError>,
    {
        type Value = ();
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the options of a step")
        }
        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key_seed(Name(&self.0))? {
                map.next_value_seed(GivenValue(key, &mut self.1))?;
            }
            Ok(())
        }
    }
    deserializer.deserialize_map(Keys(find, put))
}

/// The message about an unknown key: the way out for a removed key, otherwise the nearest name.
fn unknown(name: &str) -> String {
    if let Some(instead) = removed::instead(name) {
        return format!("'{name}' is no key of a step any more: {instead}");
    }
    let names =
        keys().flat_map(|key| [key.name()].into_iter().chain(key.aliases.iter().map(|a| a.to_string())));
    match nearest(name, names.map(|known| (known.clone(), known))) {
        Some(near) => {
            format!("unknown key `{name}`: did you mean `{near}`? docs/plan.md lists all keys")
        }
        None => format!("unknown key `{name}`: docs/plan.md lists all keys"),
    }
}

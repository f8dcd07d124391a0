//! Keys: every option of a step, declared once. The declarations are in `step.rs`; this file is the machinery below them.
//!
//! `declare!` turns a list of options into the struct [`Step`], its defaults, and the table [`Step::KEYS`]. The command line, plan
//! files, the Record's form of a step, its JSON schema and `docs/plan.md` are made from that table, so that a name, a default and a
//! text mean the same everywhere. A value travels as JSON until `Word::read` (`word.rs`) gives it its type.

use serde_json::Value;

use super::{Step, WordError};

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
    pub(super) fn is_kept(&self, value: &Value, default: &Step) -> bool {
        self.place == KeyPlace::Both || (self.show)(default).as_ref() != Some(value)
    }
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

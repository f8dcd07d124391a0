//! The value of an option: how it is read from JSON or text, and shown.

use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Arrival, BlockSizes, CpuList, Distribution, EngineKind, EngineWord, Fadvise, FileState, Follows, Pattern,
    Start, SyncWrites, WordError,
};
use volproof_base::unit::{Bytes, Nanos, iops};

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

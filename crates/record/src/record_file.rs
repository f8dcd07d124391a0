//! A Record as JSON: reading it in every version, writing it, and its schema.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::figure_range::{FigureScan, NoFigure, scan};
use super::long_samples::LONGEST;
use super::{Record, SCHEMA, SCHEMA_VERSION, earlier, version1};
use volproof_device::output::screen::VisibleWriter;

/// The most values of a Record. What a run wrote has at most half of them: see [`MOST_TEXT`](super::long_samples::MOST_TEXT).
const MOST_VALUES: usize = 32_000_000;

/// The most values of a Record in an earlier form. Such a Record is held in memory as values while it is converted; each takes some 70
/// bytes.
const MOST_EARLIER: usize = 4 << 20;

/// Why a stored Record could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file is JSON, but no Record.
    #[error("{} is not a volproof Record: its \"schema\" is not \"{SCHEMA}\"", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A Record of a later version.
    #[error("{} has schema_version {found}, this volproof reads up to {SCHEMA_VERSION}: use a newer one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The schema version of the Record.
        found: u64,
    },
    /// A Record that uses an option which volproof has given back to fio.
    #[error("{}: this volproof no longer knows {field}: read it with volproof {written_by}, which wrote it", path.display())]
    Removed {
        /// The file.
        path: PathBuf,
        /// The field, and where it stands.
        field: String,
        /// The version that wrote it.
        written_by: String,
    },
    /// A number that no measurement has.
    #[error("{}: {key} is {value:e}, which no measurement can give: the file was changed or damaged", path.display())]
    NoFigure {
        /// The file.
        path: PathBuf,
        /// The key of the number.
        key: String,
        /// The number.
        value: f64,
    },
    /// More values than a Record may have: reading them would take too much memory.
    #[error("{}: more than {} million values, the most that a Record may have: the file was changed or damaged", path.display(), MOST_VALUES / 1_000_000)]
    TooMany {
        /// The file.
        path: PathBuf,
    },
    /// Samples of a longer time than a run can have.
    #[error("{}: samples of more than {LONGEST}, the longest that a step can be", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// The file does not have the form of a Record.
    #[error("{} {}", path.display(), wrong_form(source))]
    Form {
        /// The file.
        path: PathBuf,
        /// With line and column.
        source: serde_json::Error,
    },
}

fn wrong_form(source: &serde_json::Error) -> String {
    if source.is_eof() {
        let (column, line) = (source.column(), source.line());
        return format!(
            "is a part of a volproof Record, which ends at column {column} of line {line}: copy the whole file again"
        );
    }
    format!("does not have the form of a volproof Record: {source}; the file was changed or damaged")
}

/// The JSON Schema of a Record as this version writes it: `docs/record.schema.json`.
pub fn json_schema() -> serde_json::Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<Record>().to_value();
    schema["$id"] = format!("urn:volproof:record:{SCHEMA_VERSION}").into();
    schema["title"] = "volproof Record".into();
    schema["properties"]["schema"]["const"] = SCHEMA.into();
    schema["properties"]["schema_version"]["const"] = SCHEMA_VERSION.into();
    without_links(&mut schema);
    schema
}

/// Takes the brackets of rustdoc's links out of all descriptions.
fn without_links(schema: &mut serde_json::Value) {
    match schema {
        serde_json::Value::Object(fields) => {
            if let Some(serde_json::Value::String(text)) = fields.get_mut("description") {
                *text = text.replace("[`", "`").replace("`]", "`");
            }
            fields.values_mut().for_each(without_links);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(without_links),
        _ => {}
    }
}

/// A Record from JSON values that were converted from an earlier form. The values are printed and read again as text: a second reader of
/// all types would make the program 5 % larger.
fn of_value(value: &serde_json::Value) -> serde_json::Result<Record> {
    serde_json::from_str(&value.to_string())
}

/// The fields that say which reader a text needs.
#[derive(Deserialize)]
struct RecordHead {
    schema: Option<serde_json::Value>,
    schema_version: Option<u64>,
    volproof_version: Option<String>,
}

impl Record {
    /// Reads a stored Record.
    ///
    /// # Errors
    /// The file cannot be read, is no Record, or is one of a later version.
    pub fn load(path: &Path) -> Result<Record, RecordError> {
        let path = path.to_path_buf();
        let bytes = volproof_base::input::read(&path)
            .map_err(|source| RecordError::Read { path: path.clone(), source })?;
        let Ok(text) = String::from_utf8(bytes) else { return Err(RecordError::Foreign { path }) };
        Record::parse(&text, path)
    }

    /// Reads a Record from its text; `path` is for messages.
    ///
    /// # Errors
    /// The text is no Record, or is one of a later version.
    pub fn parse(text: &str, path: PathBuf) -> Result<Record, RecordError> {
        let mut record = Record::parse_stored(text, path.clone())?;
        if record.align_samples() { Ok(record) } else { Err(RecordError::TooLong { path }) }
    }

    /// The same with the samples of an earlier version as they are stored.
    fn parse_stored(text: &str, path: PathBuf) -> Result<Record, RecordError> {
        let head: RecordHead =
            serde_json::from_str(text).map_err(|source| RecordError::Form { path: path.clone(), source })?;
        if head.schema.as_ref().and_then(|s| s.as_str()) != Some(SCHEMA) {
            return Err(RecordError::Foreign { path });
        }
        let found = head.schema_version.unwrap_or(0);
        if found > u64::from(SCHEMA_VERSION) {
            return Err(RecordError::Newer { path, found });
        }
        let FigureScan { values, no_figure } = scan(text);
        if let Some(NoFigure { key, value }) = no_figure {
            return Err(RecordError::NoFigure { path, key, value });
        }
        if values > MOST_VALUES {
            return Err(RecordError::TooMany { path });
        }
        let perhaps_earlier = values <= MOST_EARLIER;
        if found <= 1
            && perhaps_earlier
            && let Some(value) = version1::of_report(text)
        {
            return of_value(&value).map_err(|source| RecordError::Form { path, source });
        }
        let source = match serde_json::from_str(text) {
            Ok(record) => return Ok(record),
            Err(source) if !perhaps_earlier => return Err(RecordError::Form { path, source }),
            Err(source) => source,
        };
        match earlier::without_removed(text) {
            Ok(None) => Err(RecordError::Form { path, source }),
            Ok(Some(rest)) => of_value(&rest).map_err(|source| RecordError::Form { path, source }),
            Err(field) => {
                let written_by = head.volproof_version.unwrap_or_default();
                Err(RecordError::Removed { path, field, written_by })
            }
        }
    }

    /// The Record as a file has it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.write(&mut text).expect("memory takes what is written");
        text
    }

    /// Writes the Record as one line of JSON, with escapes for the characters that a terminal would obey.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        // Each piece is whole characters, so that the buffer is too: it spares a look at each number by itself.
        let mut text = BufWriter::with_capacity(1 << 16, VisibleWriter(out));
        serde_json::to_writer(&mut text, self)?;
        text.flush()?;
        drop(text);
        out.write_all(b"\n")
    }
}

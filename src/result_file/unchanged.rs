//! Whether a file holds a result in JSON as volproof wrote it, and nothing that somebody added.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};

use serde::de::{Deserialize, IgnoredAny};

use crate::fio::output::{More, Output};
use crate::fio::{json_read, json_write};
use crate::input::LONGEST_RESULT;
use crate::output::{OutputKind, SameText};
use crate::record::Record;

/// Whether an output of this kind may be replaced: a file of another kind or form is not looked at here. An empty file holds nothing.
///
/// # Errors
/// The file cannot be read.
pub fn is_unchanged(kind: OutputKind, file: &mut File) -> io::Result<bool> {
    let is_all_of = match kind {
        OutputKind::Record => Record::is_all_of,
        OutputKind::ConvertedReport => is_all_of_a_report,
        _ => return Ok(true),
    };
    file.rewind()?;
    let length = file.metadata()?.len();
    if length > LONGEST_RESULT.0 {
        // Too much to be kept: it must be one value.
        let mut reader = serde_json::Deserializer::from_reader(BufReader::new(file));
        return Ok(IgnoredAny::deserialize(&mut reader).and_then(|_| reader.end()).is_ok());
    }
    let mut text = Vec::new();
    file.take(length).read_to_end(&mut text)?;
    Ok(text.is_empty() || std::str::from_utf8(&text).is_ok_and(is_all_of))
}

/// The same of a Record in fio's JSON. Text and terse lines are not read here.
fn is_all_of_a_report(text: &str) -> bool {
    if !text.trim_start().starts_with('{') {
        return true;
    }
    let one_value = serde_json::from_str::<IgnoredAny>(text).is_ok();
    // Another version may have other keys.
    if !one_value || !text.contains(concat!("-volproof-", env!("CARGO_PKG_VERSION"), "\"")) {
        return one_value;
    }
    let is = |output: &Output, plus| {
        let mut same = SameText::of(text);
        json_write::write_to(output, plus, &mut same).is_ok() && same.is_all()
    };
    let Ok(reports) = json_read::read(text.as_bytes()) else { return false };
    let [output] = &reports[..] else { return false };
    let rows_add = output.jobs.iter().any(|job| {
        let stats = job.directions.0.iter().flatten().map(|stats| &stats.more);
        !job.more.is_empty() || stats.chain(job.mixed.iter().map(|mixed| &mixed.more)).any(adds)
    });
    !adds(&output.more) && !rows_add && [false, true].into_iter().any(|plus| is(output, plus))
}

/// What volproof itself writes is in none of these.
fn adds(more: &More) -> bool {
    !more.is_empty()
}

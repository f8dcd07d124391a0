//! The one table of fio's options: parsing, `--cmdhelp`, the conversion to a Plan and `docs/fio-compat.md` all read it.

mod course;
mod data_options;
mod engines;
mod files;
mod job_options;
mod process_options;
mod report_options;

use super::option::{FioOption, Support, TimeUnit, ValueKind};

pub use engines::ENGINES;

/// An engine of fio.
#[derive(Debug)]
pub struct Engine {
    /// Its name.
    pub name: &'static str,
    /// Its effect, in our words.
    pub help: &'static str,
    /// Whether volproof's own engines stand for it.
    pub support: Support,
    /// `--cmdhelp=ioengine` lists it.
    pub listed: bool,
}

/// Options of every job, then those of engines.
const PARTS: [&[FioOption]; 7] = [
    job_options::ROWS,
    files::ROWS,
    course::ROWS,
    data_options::ROWS,
    process_options::ROWS,
    report_options::ROWS,
    engines::ROWS,
];

/// Every row.
pub fn all() -> impl Iterator<Item = &'static FioOption> {
    PARTS.into_iter().flatten()
}

/// The engine of that name.
pub fn engine(name: &str) -> Option<&'static Engine> {
    ENGINES.iter().find(|e| e.name == name)
}

/// Why an option that has data checked goes to the installed fio.
const UNCHECKED: &str = "volproof does not check data yet";
/// The greatest value of a 32-bit option.
const U32: i64 = u32::MAX as i64;
/// A number of 64 bits.
const LONG: ValueKind = ValueKind::Long { min: 0 };
/// A time whose bare number is in seconds.
const SECONDS: ValueKind = ValueKind::Time { bare: TimeUnit::Seconds };
/// A time whose bare number is in microseconds.
const MICROS: ValueKind = ValueKind::Time { bare: TimeUnit::Micros };

/// A whole number.
const fn int(min: i64, max: i64) -> ValueKind {
    ValueKind::Int { min, max, each: false }
}

/// Whole numbers for reads, writes and trims.
const fn each(min: i64, max: i64) -> ValueKind {
    ValueKind::Int { min, max, each: true }
}

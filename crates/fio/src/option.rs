//! One option of fio: its names, how its text is read, its default.
//!
//! Names, types, ranges and defaults are facts of fio 3.33 (`fio --cmdhelp=all`, `fio --enghelp`); descriptions are our own. The rows
//! are in [`table`]; this module finds them. It reads no values: that is [`option_value`](super::option_value).

use volproof_base::misspelling::nearest;

use super::table;

/// One option of fio.
#[derive(Debug)]
pub struct FioOption {
    /// The name that fio reports.
    pub name: &'static str,
    /// The other name it takes, if any.
    pub alias: Option<&'static str>,
    /// How the text is read.
    pub kind: ValueKind,
    /// The text that stands when nothing is given.
    pub default: Option<&'static str>,
    /// The subject of the option.
    pub group: &'static str,
    /// Engines that have it; empty for the options of every job.
    pub engines: Vec<&'static str>,
    /// Its effect, in our words.
    pub help: &'static str,
    /// The words it takes; of `ioengine` the engines.
    pub words: Vec<OptionWord>,
}

/// How the text of an option is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueKind {
    /// Text that may not be empty.
    Text,
    /// Text; in a job file the name alone will do, and is empty text: the job's own name.
    LogName,
    /// CPUs, as in `0-3,8`.
    Cpus,
    /// One of these words, perhaps with more behind a colon.
    Choice,
    /// Some of these words, separated by commas.
    Words,
    /// The name of an engine.
    Engine,
    /// A whole number, with an optional unit of bytes; a second and third value are for writes and trims where `each` says so.
    Int {
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
        /// Up to three values: reads, writes, trims.
        each: bool,
    },
    /// A number of bytes, or of something, of 64 bits.
    Long {
        /// Least value.
        min: i64,
    },
    /// Bytes, a percentage (`20%`) or zones (`3z`).
    Size,
    /// A time, shown by fio as a time.
    Time {
        /// Unit of a bare number.
        bare: TimeUnit,
    },
    /// A time, shown by fio as a whole number; a bare number is in microseconds.
    IntTime,
    /// `0` or `1`, always given.
    Bool,
    /// Present, or `0` or `1`.
    Flag,
    /// One to three ranges of bytes.
    Ranges,
    /// A number of bytes, or a range from which each file has its own.
    Between,
    /// A time in seconds, or a range from which each job has its own.
    Delay,
    /// Numbers separated by colons.
    Floats {
        /// Least and greatest value; none where fio has none.
        range: Option<(f64, f64)>,
        /// Greatest count.
        most: usize,
    },
    /// fio warns and goes on without it.
    Deprecated,
    /// fio says that it is deprecated, and fails.
    Gone,
}

/// Unit of a time that has none written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Microseconds.
    Micros,
}

/// One word of an option that takes words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptionWord {
    /// The word.
    pub name: &'static str,
    /// Its meaning, in our words.
    pub help: &'static str,
}

impl FioOption {
    /// Its values are numbers, which some builds of fio also work out from an expression in brackets.
    pub(super) fn is_number(&self) -> bool {
        use ValueKind::{Between, Delay, Int, IntTime, Long, Ranges, Size, Time};
        matches!(
            self.kind,
            Int { .. } | Long { .. } | Size | Time { .. } | IntTime | Ranges | Between | Delay
        )
    }

    /// The option is called so.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.alias == Some(name)
    }

    /// A job with this engine has the option.
    pub fn is_of(&self, engine: &str) -> bool {
        self.engines.is_empty() || self.engines.contains(&engine)
    }

    /// It may stand on the command line without a value.
    pub fn value_is_optional(&self) -> bool {
        self.kind == ValueKind::Flag
    }
}

/// The option of that name, among those of every job and those of `engine`.
pub fn find(name: &str, engine: &str) -> Option<&'static FioOption> {
    table::all().find(|o| o.is_called(name) && o.is_of(engine))
}

/// The option of that name whatever the engine; the first one when engines differ.
pub fn find_any(name: &str) -> Option<&'static FioOption> {
    table::all().find(|o| o.is_called(name))
}

/// The option whose name is nearest, for messages about unknown ones.
pub fn nearest_to(typed: &str) -> Option<&'static str> {
    nearest(typed, table::all().flat_map(|o| [Some(o.name), o.alias]).flatten().map(|name| (name, name)))
}

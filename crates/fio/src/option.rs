//! One option of fio: its names, how its text is read, its default, and how far volproof honours it.
//!
//! Names, types, ranges and defaults are facts of fio 3.33 (`fio --cmdhelp=all`, `fio --enghelp`); descriptions are our own. The rows
//! are in [`table`]; this module finds them. It reads no values: that is [`option_value`](super::option_value).

use std::fmt;
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
    pub group: Group,
    /// The option below which `--cmdhelp` lists it.
    pub parent: Option<&'static str>,
    /// Engines that have it; empty for the options of every job.
    pub engines: &'static [&'static str],
    /// `--cmdhelp=all` does not list it.
    pub hidden: bool,
    /// Its effect, in our words.
    pub help: &'static str,
    /// Whether volproof honours it.
    pub support: Support,
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
    Choice(&'static [OptionWord]),
    /// Some of these words, separated by commas.
    Words(&'static [OptionWord]),
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
    /// Whether volproof honours it.
    pub support: Support,
}

/// How far volproof honours an option or a word.
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

/// Subjects of options, in the order of `docs/fio-compat.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Names and the files or devices of a job.
    Job,
    /// Which I/Os: direction, sizes, order.
    Workload,
    /// Engine and queue.
    Queue,
    /// Where on the target and how much.
    Extent,
    /// Files: layout, creation, removal.
    Files,
    /// Flushes and the page cache.
    Sync,
    /// How long, how often, in which order.
    Course,
    /// Pace: rates, pauses, latency goals.
    Pace,
    /// Data of writes.
    Buffers,
    /// Verification and trimming.
    Verify,
    /// Traces.
    Replay,
    /// Zoned devices.
    Zones,
    /// CPU, memory, priority, rights.
    Process,
    /// Logs.
    Logs,
    /// Contents of reports.
    Report,
    /// Options of engines.
    Engines,
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Group::Job => "Job and target",
            Group::Workload => "Which I/Os",
            Group::Queue => "Engine and queue",
            Group::Extent => "Where and how much",
            Group::Files => "Files",
            Group::Sync => "Flushes and the page cache",
            Group::Course => "Course of the run",
            Group::Pace => "Pace",
            Group::Buffers => "Data of writes",
            Group::Verify => "Verification and trim",
            Group::Replay => "Traces",
            Group::Zones => "Zoned devices",
            Group::Process => "CPU, memory, priority, rights",
            Group::Logs => "Logs",
            Group::Report => "What is reported",
            Group::Engines => "Options of engines",
        })
    }
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

impl OptionWord {
    /// A word that volproof honours.
    pub(super) const fn native(name: &'static str, help: &'static str) -> OptionWord {
        OptionWord { name, help, support: Support::Native }
    }

    /// A word that changes nothing that is measured.
    pub(super) const fn noted(name: &'static str, help: &'static str, why: &'static str) -> OptionWord {
        OptionWord { name, help, support: Support::Noted(why) }
    }

    /// A word that needs fio itself.
    pub(super) const fn fio_only(name: &'static str, help: &'static str, why: &'static str) -> OptionWord {
        OptionWord { name, help, support: Support::FioOnly(why) }
    }
}

impl FioOption {
    /// A row of the table: native unless it says otherwise.
    pub(super) const fn new(
        group: Group,
        name: &'static str,
        kind: ValueKind,
        help: &'static str,
    ) -> FioOption {
        FioOption {
            name,
            alias: None,
            kind,
            default: None,
            group,
            parent: None,
            engines: &[],
            hidden: false,
            help,
            support: Support::Native,
        }
    }

    /// Its values are numbers, which fio can also work out from an expression in brackets.
    pub(super) fn is_number(&self) -> bool {
        use ValueKind::{Between, Delay, Int, IntTime, Long, Ranges, Size, Time};
        matches!(
            self.kind,
            Int { .. } | Long { .. } | Size | Time { .. } | IntTime | Ranges | Between | Delay
        )
    }

    pub(super) const fn alias(mut self, alias: &'static str) -> FioOption {
        self.alias = Some(alias);
        self
    }

    pub(super) const fn default(mut self, text: &'static str) -> FioOption {
        self.default = Some(text);
        self
    }

    pub(super) const fn under(mut self, parent: &'static str) -> FioOption {
        self.parent = Some(parent);
        self
    }

    pub(super) const fn of(mut self, engines: &'static [&'static str]) -> FioOption {
        self.engines = engines;
        self
    }

    pub(super) const fn hidden(mut self) -> FioOption {
        self.hidden = true;
        self
    }

    pub(super) const fn noted(mut self, why: &'static str) -> FioOption {
        self.support = Support::Noted(why);
        self
    }

    pub(super) const fn fio_only(mut self, why: &'static str) -> FioOption {
        self.support = Support::FioOnly(why);
        self
    }

    pub(super) const fn refused(mut self, why: &'static str) -> FioOption {
        self.support = Support::Refused(why);
        self
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

    /// The words it takes.
    pub fn choices(&self) -> &'static [OptionWord] {
        match self.kind {
            ValueKind::Choice(words) | ValueKind::Words(words) => words,
            _ => &[],
        }
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

//! Words of a workload that a user chooses, each with its text form.
//!
//! Names are fio's where fio has one. Everything here is data; `engine` gives it its meaning.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_base::cpu_range::cpu_range;
use volproof_base::sample::Direction;
use volproof_base::unit::text;

/// Why a workload word could not be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct WordError(pub String);

/// The kind and order of I/Os (`--rw`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Sequential, reads and writes mixed.
    ReadWrite,
    /// Random, reads and writes mixed.
    RandRw,
    /// Sequential discards.
    Trim,
    /// Random discards.
    RandTrim,
}

impl Pattern {
    const NAMES: [(Pattern, &'static str); 8] = [
        (Pattern::Read, "read"),
        (Pattern::Write, "write"),
        (Pattern::RandRead, "randread"),
        (Pattern::RandWrite, "randwrite"),
        (Pattern::ReadWrite, "rw"),
        (Pattern::RandRw, "randrw"),
        (Pattern::Trim, "trim"),
        (Pattern::RandTrim, "randtrim"),
    ];

    /// The words for all patterns.
    pub fn names() -> Vec<&'static str> {
        Pattern::NAMES.iter().map(|(_, name)| *name).collect()
    }

    /// Offsets are drawn rather than consecutive.
    pub fn is_random(self) -> bool {
        matches!(self, Pattern::RandRead | Pattern::RandWrite | Pattern::RandRw | Pattern::RandTrim)
    }

    /// Something on the target is changed.
    pub fn changes_data(self) -> bool {
        !matches!(self, Pattern::Read | Pattern::RandRead)
    }

    /// The directions that occur.
    pub fn directions(self) -> &'static [Direction] {
        match self {
            Pattern::Read | Pattern::RandRead => &[Direction::Read],
            Pattern::Write | Pattern::RandWrite => &[Direction::Write],
            Pattern::ReadWrite | Pattern::RandRw => &[Direction::Read, Direction::Write],
            Pattern::Trim | Pattern::RandTrim => &[Direction::Trim],
        }
    }
}

impl text::Exact for Pattern {
    fn exact_text(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Pattern::NAMES.iter().find(|(p, _)| p == self).expect("every pattern has a name").1)
    }
}

impl FromStr for Pattern {
    type Err = WordError;
    fn from_str(text: &str) -> Result<Pattern, WordError> {
        Pattern::NAMES
            .iter()
            .find(|(_, n)| *n == text || (text == "readwrite" && *n == "rw"))
            .map(|(p, _)| *p)
            .ok_or_else(|| {
                WordError(format!("'{text}' is not a pattern: use one of {}", Pattern::names().join(", ")))
            })
    }
}

/// How requests reach the kernel (`--engine`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum EngineKind {
    /// Rings shared with the kernel; the default.
    IoUring,
    /// The older asynchronous interface.
    Libaio,
    /// One blocking system call after another; depth 1.
    Psync,
    /// No device: requests complete at once, which shows the engine's own cost.
    Null,
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            EngineKind::IoUring => "io_uring",
            EngineKind::Libaio => "libaio",
            EngineKind::Psync => "psync",
            EngineKind::Null => "null",
        })
    }
}

/// Who does the I/O, and how, as a user says it (`--engine`): `libaio`, or `fio:libaio` for the installed fio; `fio` alone takes its io_uring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineWord {
    /// How requests reach the kernel.
    pub engine: EngineKind,
    /// The installed fio does it.
    pub fio: bool,
}

impl fmt::Display for EngineWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{}", if self.fio { "fio:" } else { "" }, self.engine))
    }
}

impl FromStr for EngineWord {
    type Err = WordError;
    fn from_str(text: &str) -> Result<EngineWord, WordError> {
        let (fio, name) = match text.strip_prefix("fio") {
            Some("") => (true, "io_uring"),
            Some(rest) => (true, rest.strip_prefix(':').unwrap_or(text)),
            None => (false, text),
        };
        let engine = <EngineKind as clap::ValueEnum>::from_str(name, false).map_err(|_| {
            WordError(format!(
                "'{text}' is not an engine: use io_uring, libaio, psync, null, fio or fio:libaio"
            ))
        })?;
        Ok(EngineWord { engine, fio })
    }
}

/// Spacing of arrivals under a rate (`--arrival`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Arrival {
    /// Equal gaps.
    #[default]
    Fixed,
    /// Exponential gaps, as from many independent clients.
    Poisson,
}

/// The durability that each write waits for (`--sync`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncWrites {
    /// The data, and what is needed to read it again (`RWF_DSYNC`).
    Dsync,
    /// Also the times of the file (`RWF_SYNC`).
    Sync,
}

impl fmt::Display for SyncWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SyncWrites::Dsync => "dsync",
            SyncWrites::Sync => "sync",
        })
    }
}

impl FromStr for SyncWrites {
    type Err = WordError;
    fn from_str(text: &str) -> Result<SyncWrites, WordError> {
        match text {
            "dsync" => Ok(SyncWrites::Dsync),
            "sync" => Ok(SyncWrites::Sync),
            "fsync" | "fdatasync" => Err(WordError(format!(
                "'{text}' is a call of its own after a write: use fsync=1, which is an fdatasync unless datasync=false"
            ))),
            _ => Err(WordError(format!("'{text}' is no durability of a write: use dsync or sync"))),
        }
    }
}

/// The file that a step writes in a folder (`file-state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileState {
    /// The test file: all of its blocks were written before.
    #[default]
    Filled,
    /// A file of the step's own, with room that was never written: a first write also has to say that the block now holds data.
    Reserved,
    /// A file of the step's own, empty at first: each write lengthens it.
    Growing,
}

/// Advice to the kernel on the order of cached I/O (`posix_fadvise`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fadvise {
    /// No read-ahead.
    Random,
    /// A longer read-ahead.
    Sequential,
}

impl Fadvise {
    /// The advice that fits a pattern.
    pub fn for_pattern(rw: Pattern) -> Fadvise {
        if rw.is_random() { Fadvise::Random } else { Fadvise::Sequential }
    }
}

/// CPUs to pin workers to, as `0-3,8` (`--cpus`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(pub Vec<u32>);

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        let mut rest = self.0.as_slice();
        while let Some(first) = rest.first() {
            let run = rest.iter().zip(*first..).take_while(|(a, b)| *a == b).count();
            parts.push(if run > 1 { format!("{first}-{}", rest[run - 1]) } else { first.to_string() });
            rest = &rest[run..];
        }
        f.pad(&parts.join(","))
    }
}

impl FromStr for CpuList {
    type Err = WordError;
    fn from_str(text: &str) -> Result<CpuList, WordError> {
        let bad = |part: &str| WordError(format!("cpus: '{part}' is not a CPU or a range: write 0-3,8"));
        let mut cpus = Vec::new();
        for part in text.split(',') {
            cpus.extend(cpu_range(part).ok_or_else(|| bad(part))?);
        }
        Ok(CpuList(cpus))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_read_back() {
        for (pattern, name) in Pattern::NAMES {
            assert_eq!(name.parse::<Pattern>().unwrap(), pattern);
        }
        assert_eq!("0-3,8,10-11".parse::<CpuList>().unwrap().to_string(), "0-3,8,10-11");
    }

    #[test]
    fn mistakes_are_named() {
        assert!("random".parse::<Pattern>().unwrap_err().to_string().contains("randread"));
        assert!("3-1".parse::<CpuList>().is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".{0,24}") {
            let _ = text.parse::<CpuList>();
            let _ = text.parse::<Pattern>();
        }
    }
}

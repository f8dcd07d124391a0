//! Words of a workload that a user chooses, each with its text form.
//!
//! Names are fio's where fio has one. Everything here is data; `engine` gives it its meaning.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sample::Direction;
use crate::unit::{Bytes, text};

/// Why a workload word could not be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct WordError(pub String);

/// The gap between sequential I/Os: the next one begins this many bytes after the end of the one before, or before that end when negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stride(pub i64);

impl Stride {
    /// Every I/O begins where the one before has ended.
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Stride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        f.pad(&format!("{sign}{}", Bytes(self.0.unsigned_abs()).exact()))
    }
}

impl FromStr for Stride {
    type Err = WordError;
    fn from_str(text: &str) -> Result<Stride, WordError> {
        let (back, size) = text.strip_prefix('-').map_or((false, text), |size| (true, size));
        let size: Bytes = size.parse().map_err(|e| WordError(format!("stride: {e}")))?;
        let bytes = i64::try_from(size.0)
            .map_err(|_| WordError(format!("stride: {} is above 8 EiB", size.exact())))?;
        Ok(Stride(if back { -bytes } else { bytes }))
    }
}

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

/// Block sizes with their shares in percent (`--bs 4k` or `--bs 4k/70:64k/30`). Shares add up to 100.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSizes(Vec<(Bytes, u32)>);

impl BlockSizes {
    /// All I/Os have one size.
    pub fn one(size: Bytes) -> BlockSizes {
        BlockSizes(vec![(size, 100)])
    }

    /// Size and share in percent, as given.
    pub fn shares(&self) -> &[(Bytes, u32)] {
        &self.0
    }

    /// The largest size: what a buffer must hold.
    pub fn largest(&self) -> Bytes {
        self.0.iter().map(|s| s.0).max().expect("never empty")
    }

    /// The only size, when there is one.
    pub fn single(&self) -> Option<Bytes> {
        (self.0.len() == 1).then(|| self.0[0].0)
    }

    /// Mean size of an I/O.
    pub fn mean(&self) -> f64 {
        self.0.iter().map(|(b, p)| b.0 as f64 * f64::from(*p) / 100.0).sum()
    }
}

impl fmt::Display for BlockSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.single() {
            Some(size) => f.pad(&size.exact()),
            None => {
                let parts: Vec<_> = self.0.iter().map(|(b, p)| format!("{}/{p}", b.exact())).collect();
                f.pad(&parts.join(":"))
            }
        }
    }
}

impl FromStr for BlockSizes {
    type Err = WordError;
    fn from_str(text: &str) -> Result<BlockSizes, WordError> {
        let mut shares = Vec::new();
        for part in text.split(':') {
            let (size, share) = match part.split_once('/') {
                Some((size, share)) => {
                    let share = share.trim_end_matches('%');
                    let share: u32 = share
                        .parse()
                        .map_err(|_| WordError(format!("bs: share '{share}' is not a whole percentage")))?;
                    (size, share)
                }
                None if text.contains(':') => {
                    return Err(WordError(format!(
                        "bs: '{part}' has no share: write a split as 4k/70:64k/30"
                    )));
                }
                None => (part, 100),
            };
            let size: Bytes = size.parse().map_err(|e| WordError(format!("bs: {e}")))?;
            if size.0 == 0 || size.0 > 1 << 30 {
                return Err(WordError(format!("bs: {} is outside 1 byte to 1 GiB", size.exact())));
            }
            if share == 0 {
                return Err(WordError(format!("bs: {} has no share: leave it out", size.exact())));
            }
            shares.push((size, share));
        }
        let total: u32 = shares.iter().fold(0, |t: u32, s| t.saturating_add(s.1));
        if total != 100 {
            return Err(WordError(format!("bs: the shares add up to {total} %, not 100 %")));
        }
        Ok(BlockSizes(shares))
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
    pub fn of(rw: Pattern) -> Fadvise {
        if rw.is_random() { Fadvise::Random } else { Fadvise::Sequential }
    }
}

/// Which blocks random I/O prefers (`--distribution`).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Distribution {
    /// Every block equally.
    #[default]
    Uniform,
    /// Popularity falls with rank as `rank^-theta`; theta above 0, not 1.
    Zipf(f64),
    /// Pareto with power `h` in (0, 1).
    Pareto(f64),
    /// Bell curve around the middle; deviation in percent of the range.
    Normal(f64),
    /// Parts of the range, one after another, each with its share of the accesses and its share of the range in percent; both
    /// add up to 100. Within a part every block equally.
    Zoned(Vec<(u32, u32)>),
}

impl Distribution {
    /// `50/5:30/15:20/80`: half of the accesses go to the first 5 % of the range, and so on.
    fn zones(text: &str) -> Result<Distribution, WordError> {
        let bad = |part: &str| {
            WordError(format!(
                "'{part}' is not a share of accesses and one of the range: write zoned:50/5:30/15:20/80"
            ))
        };
        let mut zones: Vec<(u32, u32)> = Vec::new();
        for part in text.split(':') {
            let (accesses, range) = part.split_once('/').ok_or_else(|| bad(part))?;
            zones.push((accesses.parse().map_err(|_| bad(part))?, range.parse().map_err(|_| bad(part))?));
        }
        if zones.iter().any(|z| z.1 == 0) {
            return Err(WordError("a zone has no share of the range: leave it out".into()));
        }
        let sum = |pick: fn(&(u32, u32)) -> u32| zones.iter().map(pick).fold(0u32, u32::saturating_add);
        for (what, total) in [("accesses", sum(|z| z.0)), ("the range", sum(|z| z.1))] {
            if total != 100 {
                return Err(WordError(format!("the zones' shares of {what} add up to {total} %, not 100 %")));
            }
        }
        Ok(Distribution::Zoned(zones))
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Uniform => f.pad("uniform"),
            Distribution::Zipf(v) => f.pad(&format!("zipf:{v}")),
            Distribution::Pareto(v) => f.pad(&format!("pareto:{v}")),
            Distribution::Normal(v) => f.pad(&format!("normal:{v}")),
            Distribution::Zoned(zones) => {
                let parts: Vec<_> = zones.iter().map(|(a, r)| format!("{a}/{r}")).collect();
                f.pad(&format!("zoned:{}", parts.join(":")))
            }
        }
    }
}

impl FromStr for Distribution {
    type Err = WordError;
    fn from_str(text: &str) -> Result<Distribution, WordError> {
        let (name, value) = text.split_once(':').map_or((text, None), |(n, v)| (n, Some(v)));
        if name == "zoned" {
            return Distribution::zones(value.unwrap_or_default());
        }
        let value = value
            .map(|v| v.parse::<f64>().map_err(|_| WordError(format!("'{v}' is not a number"))))
            .transpose()?;
        let in_range = |ok: bool, v: f64, d: Distribution, range: &str| {
            if ok { Ok(d) } else { Err(WordError(format!("{name}:{v} is outside {range}"))) }
        };
        match (name, value) {
            ("uniform" | "random", None) => Ok(Distribution::Uniform),
            ("zipf", v) => {
                let v = v.unwrap_or(1.1);
                in_range(v > 0.0 && v < 10.0 && v != 1.0, v, Distribution::Zipf(v), "0 to 10 without 1")
            }
            ("pareto", v) => {
                let v = v.unwrap_or(0.2);
                in_range(v > 0.0 && v < 1.0, v, Distribution::Pareto(v), "0 to 1")
            }
            ("normal", Some(v)) => {
                in_range(v > 0.0 && v <= 100.0, v, Distribution::Normal(v), "0 to 100 percent")
            }
            ("normal", None) => Err(WordError("normal needs its deviation, as in normal:10".into())),
            _ => Err(WordError(format!(
                "'{text}' is not a distribution: use uniform, zipf:1.1, pareto:0.2, normal:10 or zoned:50/5:50/95"
            ))),
        }
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
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let low: u32 = low.trim().parse().map_err(|_| bad(part))?;
            let high: u32 = high.trim().parse().map_err(|_| bad(part))?;
            if low > high || high >= 8192 {
                return Err(bad(part));
            }
            cpus.extend(low..=high);
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
        for text in ["4KiB", "4KiB/70:64KiB/30"] {
            assert_eq!(text.parse::<BlockSizes>().unwrap().to_string(), text);
        }
        assert_eq!("4k/70:64k/30".parse::<BlockSizes>().unwrap().largest(), Bytes::kib(64));
        for text in ["uniform", "zipf:1.2", "pareto:0.2", "normal:10", "zoned:50/5:30/15:20/80"] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
        for (pattern, name) in Pattern::NAMES {
            assert_eq!(name.parse::<Pattern>().unwrap(), pattern);
        }
        assert_eq!("0-3,8,10-11".parse::<CpuList>().unwrap().to_string(), "0-3,8,10-11");
    }

    #[test]
    fn mistakes_are_named() {
        for (text, what) in [
            ("4k/70:64k/20", "add up to 90 %"),
            ("4k:64k", "has no share"),
            ("0", "outside 1 byte"),
            ("2G", "outside 1 byte"),
            ("4k/x", "not a whole percentage"),
        ] {
            let e = text.parse::<BlockSizes>().unwrap_err().to_string();
            assert!(e.contains(what), "{text}: {e}");
        }
        assert!("zipf:1".parse::<Distribution>().is_err());
        assert!("normal".parse::<Distribution>().unwrap_err().to_string().contains("normal:10"));
        assert!("random".parse::<Pattern>().unwrap_err().to_string().contains("randread"));
        assert!("3-1".parse::<CpuList>().is_err());
        for (text, what) in [
            ("zoned:50/5:30/15", "accesses add up to 80 %"),
            ("zoned:50/5:50/15", "range add up to 20 %"),
            ("zoned:50/0:50/100", "no share of the range"),
            ("zoned:50:50", "write zoned:50/5:30/15:20/80"),
            ("zoned", "write zoned:50/5:30/15:20/80"),
        ] {
            let e = text.parse::<Distribution>().unwrap_err().to_string();
            assert!(e.contains(what), "{text}: {e}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".{0,24}") {
            let _ = text.parse::<BlockSizes>();
            let _ = text.parse::<Distribution>();
            let _ = text.parse::<CpuList>();
            let _ = text.parse::<Pattern>();
        }
    }
}

//! The name of a suite. What its tests are is in `course`.

use std::fmt;
use std::str::FromStr;

use super::WordError;
use volproof_base::unit::text;

/// The beginning of the name of a provider's procedure.
const PROVIDER: &str = "provider:";

/// A suite by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuiteName {
    /// Published observations about elastic volumes.
    EssdContract,
    /// The first touch of blocks alone: `volproof cold`.
    Cold,
    /// A test in SNIA's steady state.
    Snia(SniaTest),
    /// The documented procedure of this provider.
    Provider(String),
    /// A suite of an earlier version, which Records still name.
    Withdrawn(&'static str),
}

/// The tests of SNIA's specification, and JEDEC's load in its steady state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SniaTest {
    /// IOPS.
    Iops,
    /// Throughput.
    Throughput,
    /// Latency.
    Latency,
    /// Write saturation.
    WriteSaturation,
    /// JESD219, the enterprise load.
    Enterprise,
}

impl SuiteName {
    /// Every suite but those of the providers.
    pub const FIXED: [SuiteName; 7] = [
        SuiteName::EssdContract,
        SuiteName::Cold,
        SuiteName::Snia(SniaTest::Iops),
        SuiteName::Snia(SniaTest::Throughput),
        SuiteName::Snia(SniaTest::Latency),
        SuiteName::Snia(SniaTest::WriteSaturation),
        SuiteName::Snia(SniaTest::Enterprise),
    ];
    /// Sweeps over jobs and depths, and SNIA's tests of flash that a purge made new.
    const WITHDRAWN: [&str; 5] = ["saturation", "saturation-writes", "snia-hir", "snia-xsr", "snia-dirth"];
}

impl fmt::Display for SuiteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SuiteName::EssdContract => "essd-contract",
            SuiteName::Cold => "cold",
            SuiteName::Snia(SniaTest::Iops) => "snia-iops",
            SuiteName::Snia(SniaTest::Throughput) => "snia-tp",
            SuiteName::Snia(SniaTest::Latency) => "snia-lat",
            SuiteName::Snia(SniaTest::WriteSaturation) => "snia-wsat",
            SuiteName::Snia(SniaTest::Enterprise) => "jesd219",
            SuiteName::Provider(provider) => return write!(f, "{PROVIDER}{provider}"),
            SuiteName::Withdrawn(name) => name,
        })
    }
}

impl FromStr for SuiteName {
    type Err = WordError;

    fn from_str(word: &str) -> Result<SuiteName, WordError> {
        if let Some(provider) = word.strip_prefix(PROVIDER) {
            return Ok(SuiteName::Provider(provider.into()));
        }
        let withdrawn = SuiteName::WITHDRAWN.into_iter().map(SuiteName::Withdrawn);
        let mut known = SuiteName::FIXED.into_iter().chain(withdrawn);
        let found = known.find(|name| name.to_string() == word);
        found.ok_or_else(|| WordError(format!("there is no suite '{word}'")))
    }
}

impl text::Exact for SuiteName {
    fn exact_text(&self) -> String {
        self.to_string()
    }
}

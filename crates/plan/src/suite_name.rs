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
    /// The most reads with the least jobs and depth.
    Saturation,
    /// The same of writes.
    SaturationWrites,
    /// A test in SNIA's steady state.
    Snia(SniaTest),
    /// The documented procedure of this provider.
    Provider(String),
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
    /// Host idle recovery.
    IdleRecovery,
    /// Cross stimulus recovery.
    CrossStimulus,
    /// Demand intensity and response time histogram.
    Demand,
    /// JESD219, the enterprise load.
    Enterprise,
}

impl SuiteName {
    /// Every suite but those of the providers.
    pub const FIXED: [SuiteName; 12] = [
        SuiteName::EssdContract,
        SuiteName::Cold,
        SuiteName::Saturation,
        SuiteName::SaturationWrites,
        SuiteName::Snia(SniaTest::Iops),
        SuiteName::Snia(SniaTest::Throughput),
        SuiteName::Snia(SniaTest::Latency),
        SuiteName::Snia(SniaTest::WriteSaturation),
        SuiteName::Snia(SniaTest::IdleRecovery),
        SuiteName::Snia(SniaTest::CrossStimulus),
        SuiteName::Snia(SniaTest::Demand),
        SuiteName::Snia(SniaTest::Enterprise),
    ];
}

impl fmt::Display for SuiteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SuiteName::EssdContract => "essd-contract",
            SuiteName::Cold => "cold",
            SuiteName::Saturation => "saturation",
            SuiteName::SaturationWrites => "saturation-writes",
            SuiteName::Snia(SniaTest::Iops) => "snia-iops",
            SuiteName::Snia(SniaTest::Throughput) => "snia-tp",
            SuiteName::Snia(SniaTest::Latency) => "snia-lat",
            SuiteName::Snia(SniaTest::WriteSaturation) => "snia-wsat",
            SuiteName::Snia(SniaTest::IdleRecovery) => "snia-hir",
            SuiteName::Snia(SniaTest::CrossStimulus) => "snia-xsr",
            SuiteName::Snia(SniaTest::Demand) => "snia-dirth",
            SuiteName::Snia(SniaTest::Enterprise) => "jesd219",
            SuiteName::Provider(provider) => return write!(f, "{PROVIDER}{provider}"),
        })
    }
}

impl FromStr for SuiteName {
    type Err = WordError;

    fn from_str(word: &str) -> Result<SuiteName, WordError> {
        match word.strip_prefix(PROVIDER) {
            Some(provider) => Ok(SuiteName::Provider(provider.into())),
            None => SuiteName::FIXED
                .into_iter()
                .find(|name| name.to_string() == word)
                .ok_or_else(|| WordError(format!("there is no suite '{word}'"))),
        }
    }
}

impl text::Exact for SuiteName {
    fn exact_text(&self) -> String {
        self.to_string()
    }
}

//! Headroom: how many I/Os a second the machine itself can send and reap for a load, found before it with requests that do nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_base::unit::{counted, grouped, significant};

/// The most I/Os a second that the load threads of a step can send and reap. Measured with the step's own block size, pattern, depth and
/// data. Block layer, driver and device are not included, so that in the step the machine can do less.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Headroom {
    /// I/Os a second of all load threads together, each on a CPU of its own as far as there are CPUs.
    pub ios_per_second: f64,
    /// Load threads.
    pub threads: u32,
    /// CPUs that they may use.
    pub cpus: u32,
}

/// Above this share of the headroom the machine may be the limit.
const NEAR_THE_HEADROOM: f64 = 0.8;

impl Headroom {
    /// The share of the headroom that a rate takes; none where it is too small for the machine to be the limit.
    pub fn nearly_used(&self, iops: f64) -> Option<f64> {
        Some(iops / self.ios_per_second).filter(|share| *share > NEAR_THE_HEADROOM)
    }

    /// The rate, with as many digits as it has.
    pub fn rate(&self) -> String {
        match self.ios_per_second {
            r if r >= 1e6 => format!("{} million", significant(r / 1e6)),
            r if r >= 1e5 => grouped((r / 1e3).round() as u64 * 1000),
            r => grouped(r.round() as u64),
        }
    }

    /// The figure, in words.
    pub fn words(&self) -> String {
        format!(
            "this machine can drive {} IOPS at most ({} on {}, with io_uring requests that do nothing; a real device takes more CPU time)",
            self.rate(),
            counted(self.threads.into(), "load thread"),
            counted(self.cpus.into(), "CPU"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_may_be_the_limit_above_four_fifths() {
        let headroom = Headroom { ios_per_second: 2_345_678.0, threads: 4, cpus: 1 };
        assert_eq!(headroom.nearly_used(1_876_000.0), None);
        assert!(headroom.nearly_used(1_900_000.0).is_some_and(|share| share > 0.8));
        assert_eq!(
            headroom.words(),
            "this machine can drive 2.35 million IOPS at most (4 load threads on 1 CPU, with io_uring requests that do nothing; a real \
             device takes more CPU time)"
        );
        assert!(Headroom { ios_per_second: 456_789.0, ..headroom }.words().contains("drive 457,000 IOPS"));
    }
}

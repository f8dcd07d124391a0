//! Presets: plans with a name.
//!
//! The four standard tests are those that Alibaba Cloud's "Test disk performance" page gives as fio lines: 4 KiB random write and
//! random read at depth 128, 1 MiB write and read at depth 64, all with direct I/O and one job. The two latency
//! steps measure what one request alone takes, which depth 128 cannot show.

use super::{BlockSizes, Pattern, Plan, Step};
use volproof_base::unit::{Bytes, Nanos};

/// A plan with a name.
pub struct Preset {
    /// The name for `--preset`.
    pub name: &'static str,
    /// One line for `presets`.
    pub about: &'static str,
    /// Measured time and ramp of every step.
    time: (Nanos, Nanos),
    steps: &'static [(&'static str, Pattern, Bytes, u32)],
}

const STANDARD: &[(&str, Pattern, Bytes, u32)] = &[
    ("randwrite-iops", Pattern::RandWrite, Bytes::kib(4), 128),
    ("randread-iops", Pattern::RandRead, Bytes::kib(4), 128),
    ("write-throughput", Pattern::Write, Bytes::mib(1), 64),
    ("read-throughput", Pattern::Read, Bytes::mib(1), 64),
    ("randwrite-latency", Pattern::RandWrite, Bytes::kib(4), 1),
    ("randread-latency", Pattern::RandRead, Bytes::kib(4), 1),
];

const READ_ONLY: &[(&str, Pattern, Bytes, u32)] = &[STANDARD[1], STANDARD[3], STANDARD[5]];

/// All presets; the first is the default.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "standard",
        about: "the four standard tests and 4 KiB latency at depth 1, a minute each",
        time: (Nanos::seconds(60), Nanos::seconds(5)),
        steps: STANDARD,
    },
    Preset {
        name: "quick",
        about: "the same in about a minute, on a file of up to 4 GiB: a first look, too short to quote",
        time: (Nanos::seconds(8), Nanos::seconds(1)),
        steps: STANDARD,
    },
    Preset {
        name: "thorough",
        about: "the same at 5 minutes each: long enough for intervals that can be quoted",
        time: (Nanos::seconds(300), Nanos::seconds(10)),
        steps: STANDARD,
    },
    Preset {
        name: "read-only",
        about: "the three reading tests of standard: changes nothing on the target",
        time: (Nanos::seconds(60), Nanos::seconds(5)),
        steps: READ_ONLY,
    },
];

impl Preset {
    /// The preset of that name.
    pub fn find(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|p| p.name == name)
    }

    /// The plan, without targets.
    pub fn plan(&self) -> Plan {
        let steps = self.steps.iter().map(|&(name, rw, bs, iodepth)| Step {
            name: name.into(),
            rw,
            bs: BlockSizes::one(bs),
            iodepth,
            runtime: self.time.0,
            ramp: self.time.1,
            ..Step::default()
        });
        Plan::new(self.name, steps.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_sound() {
        for preset in PRESETS {
            assert_eq!(preset.plan().problem(), None, "{}", preset.name);
        }
        assert!(!Preset::find("read-only").unwrap().plan().changes_data());
        assert!(Preset::find("quick").unwrap().plan().duration() <= Nanos::seconds(60));
        assert!(Preset::find("nonesuch").is_none());
    }
}

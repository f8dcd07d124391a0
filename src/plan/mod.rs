//! Plan: everything a run will do, complete and serialisable.
//!
//! No later stage reads arguments, environment or configuration; running a stored Plan again is the reproduction. A plan
//! comes from a preset, a TOML file or ad-hoc options, each of which gives [`StepOptions`] that lie over [`Step::default`].
//! This module does no I/O on targets: whether a plan fits a device is decided where the device is known.

mod file;
mod options;
mod presets;
mod workload;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use file::parse as parse_file;
pub use options::StepOptions;
pub use presets::{PRESETS, Preset};
pub use workload::{Arrival, BlockSizes, CpuList, Distribution, EngineKind, Pattern, WordError};

use crate::unit::{Bytes, Nanos, text};

/// What a run does, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name of the preset or plan file, or `ad-hoc`.
    pub name: String,
    /// Folders, files and block devices, driven together.
    pub targets: Vec<PathBuf>,
    /// Size of the test file made in a folder; chosen from free space and memory when absent.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub file_size: Option<Bytes>,
    /// The test file stays after the run.
    #[serde(default)]
    pub keep: bool,
    /// Existing files that are named may be overwritten.
    #[serde(default)]
    pub overwrite: bool,
    /// I/O errors are counted and the run goes on.
    #[serde(default)]
    pub continue_on_error: bool,
    /// Where all random numbers start.
    pub seed: u64,
    /// The steps, one after another.
    pub steps: Vec<Step>,
}

/// One measured load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Name in tables and files.
    pub name: String,
    /// Which I/Os in which order.
    pub rw: Pattern,
    /// Share of reads in a mixed pattern, in percent.
    pub rwmix: u32,
    /// Block sizes.
    pub bs: BlockSizes,
    /// Requests kept in flight by each job.
    pub iodepth: u32,
    /// Jobs for each target, each with its own thread.
    pub numjobs: u32,
    /// Part of the target that is used, from `offset`; all of it when absent.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub size: Option<Bytes>,
    /// Where that part starts.
    #[serde(with = "text")]
    #[schemars(with = "String")]
    pub offset: Bytes,
    /// A job ends after so many bytes; only the runtime ends it when absent.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub io_size: Option<Bytes>,
    /// Length of the measured window.
    #[serde(with = "text")]
    #[schemars(with = "String")]
    pub runtime: Nanos,
    /// Load before the window, not counted.
    #[serde(with = "text")]
    #[schemars(with = "String")]
    pub ramp: Nanos,
    /// How requests reach the kernel.
    pub engine: EngineKind,
    /// The page cache is bypassed.
    pub direct: bool,
    /// A flush after so many writes; 0 for none.
    pub fsync: u32,
    /// Arrivals a second on a schedule (open loop), over all jobs of a target; as fast as the depth allows when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_iops: Option<f64>,
    /// The same as bytes a second.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub rate_bw: Option<Bytes>,
    /// Spacing of arrivals.
    pub arrival: Arrival,
    /// Which blocks random I/O prefers.
    pub distribution: Distribution,
    /// Random offsets are independent draws: some blocks twice, some never.
    pub norandommap: bool,
    /// Share of each written block that compresses away, in percent.
    pub compressible: u32,
    /// CPUs for the jobs, one each in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuList>,
    /// io_uring polls the device for completions instead of taking interrupts.
    pub iopoll: bool,
    /// A kernel thread submits for io_uring.
    pub sqpoll: bool,
    /// A device played in virtual time instead of the targets: for tests of everything behind the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulate: Option<Simulated>,
}

/// A device that exists only in virtual time (engine `null`): what is measured is known beforehand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulated {
    /// Time from service start to completion.
    #[serde(with = "text")]
    #[schemars(with = "String")]
    pub latency: Nanos,
    /// Every latency is drawn evenly from `latency` to `latency` + `jitter`.
    #[serde(default, with = "text")]
    #[schemars(with = "String")]
    pub jitter: Nanos,
    /// A token bucket lets so many I/Os a second through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_cap: Option<f64>,
    /// The bucket is refilled once in this time; 100 ms when absent.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub cap_period: Option<Nanos>,
    /// A token bucket lets so many bytes a second through.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub bytes_cap: Option<Bytes>,
    /// While credits last, so many I/Os a second pass instead of `iops_cap`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_iops: Option<f64>,
    /// Credits at the start, and the most that a pause earns back: I/Os beyond `iops_cap`.
    #[serde(default)]
    pub burst_ios: u64,
    /// Nothing completes from here ...
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub stall_at: Option<Nanos>,
    /// ... for so long.
    #[serde(default, with = "text")]
    #[schemars(with = "String")]
    pub stall_for: Nanos,
    /// Every so many I/Os fail with EIO; 0 for none.
    #[serde(default)]
    pub error_every: u64,
}

impl Default for Step {
    /// 4 KiB random reads at depth 1 for 30 s: it changes nothing.
    fn default() -> Step {
        Step {
            name: "step".into(),
            rw: Pattern::RandRead,
            rwmix: 50,
            bs: BlockSizes::one(Bytes::kib(4)),
            iodepth: 1,
            numjobs: 1,
            size: None,
            offset: Bytes(0),
            io_size: None,
            runtime: Nanos::seconds(30),
            ramp: Nanos(0),
            engine: EngineKind::IoUring,
            direct: true,
            fsync: 0,
            rate_iops: None,
            rate_bw: None,
            arrival: Arrival::Fixed,
            distribution: Distribution::Uniform,
            norandommap: false,
            compressible: 0,
            cpus: None,
            iopoll: false,
            sqpoll: false,
            simulate: None,
        }
    }
}

impl Step {
    /// Arrivals a second over all jobs of a target, when there is a schedule.
    pub fn arrivals_per_second(&self) -> Option<f64> {
        self.rate_iops.or_else(|| self.rate_bw.map(|b| b.0 as f64 / self.bs.mean()))
    }

    /// Requests in flight on one target when all jobs are busy.
    pub fn depth_per_target(&self) -> u64 {
        u64::from(self.iodepth) * u64::from(self.numjobs)
    }

    /// What is wrong with this step whatever the target is; the text says what to do instead.
    pub fn problem(&self) -> Option<String> {
        let trim = matches!(self.rw, Pattern::Trim | Pattern::RandTrim);
        let p = |text: String| Some(format!("step '{}': {text}", self.name));
        if self.iodepth == 0 {
            p("iodepth 0 sends nothing: use 1 or more".into())
        } else if self.iodepth > 65_536 {
            p(format!("iodepth {} is above 65536: use more jobs instead", self.iodepth))
        } else if self.numjobs == 0 || self.numjobs > 4096 {
            p(format!("numjobs {} is outside 1 to 4096", self.numjobs))
        } else if self.rwmix > 100 {
            p(format!("rwmix {} is above 100 %", self.rwmix))
        } else if self.compressible > 100 {
            p(format!("compressible {} is above 100 %", self.compressible))
        } else if self.runtime.0 == 0 && self.io_size.is_none() {
            p("runtime 0 measures nothing: give a runtime or an io-size".into())
        } else if self.runtime.0 > Nanos::seconds(366 * 86_400).0 || self.ramp.0 > Nanos::seconds(86_400).0 {
            p("runtime is limited to a year, ramp to a day".into())
        } else if self.rate_iops.is_some() && self.rate_bw.is_some() {
            p("rate-iops and rate-bw exclude each other: give one".into())
        } else if self.arrivals_per_second().is_some_and(|r| !(r.is_finite() && (1e-3..=1e8).contains(&r))) {
            p("the rate is outside 0.001 to 100,000,000 arrivals a second".into())
        } else if self.engine == EngineKind::Psync && self.iodepth > 1 {
            p(format!(
                "psync keeps one request in flight, iodepth {} cannot be reached: use numjobs={} or another engine",
                self.iodepth, self.iodepth
            ))
        } else if trim && self.engine != EngineKind::Psync && self.engine != EngineKind::Null {
            p("discards are blocking calls here: use engine psync with iodepth 1 and as many jobs as needed"
                .into())
        } else if (self.iopoll || self.sqpoll) && self.engine != EngineKind::IoUring {
            p(format!("iopoll and sqpoll belong to io_uring, the engine is {}", self.engine))
        } else if self.iopoll && !self.direct {
            p("iopoll needs direct I/O".into())
        } else if self.iopoll && self.fsync > 0 {
            p("iopoll carries only reads and writes: leave fsync out".into())
        } else if self.simulate.is_some() && self.engine != EngineKind::Null {
            p("a simulated device needs engine null".into())
        } else if self.simulate.as_ref().is_some_and(|s| s.latency.0 == 0) {
            p("a simulated device needs a latency above 0: virtual time would stand still".into())
        } else if self.simulate.as_ref().is_some_and(|s| s.iops_cap.is_some_and(|c| c.is_nan() || c < 1.0)) {
            p("a simulated iops-cap below 1 lets nothing through".into())
        } else if self.simulate.as_ref().is_some_and(|s| s.bytes_cap == Some(Bytes(0))) {
            p("a simulated bytes-cap of 0 lets nothing through".into())
        } else if self.simulate.as_ref().is_some_and(|s| s.burst_iops.is_some() && s.iops_cap.is_none()) {
            p("a simulated burst needs the iops-cap that holds after it".into())
        } else if let Some(bs) =
            self.bs.shares().iter().map(|s| s.0).find(|b| self.size.is_some_and(|s| s < *b))
        {
            p(format!("size {} is smaller than one block of {bs}", self.size.unwrap_or_default()))
        } else {
            None
        }
    }
}

impl Plan {
    /// What is wrong with this plan whatever the targets are.
    pub fn problem(&self) -> Option<String> {
        if self.steps.is_empty() {
            return Some(format!("plan '{}' has no step: add one under [[step]]", self.name));
        }
        let mut names = std::collections::BTreeSet::new();
        for step in &self.steps {
            if !names.insert(&step.name) {
                return Some(format!("plan '{}' has two steps named '{}': rename one", self.name, step.name));
            }
        }
        self.steps.iter().find_map(Step::problem)
    }

    /// Some step changes data on the targets.
    pub fn changes_data(&self) -> bool {
        self.steps.iter().any(|s| s.rw.changes_data() && s.engine != EngineKind::Null)
    }

    /// The plan needs no target at all: every step runs on the null engine.
    pub fn needs_no_target(&self) -> bool {
        self.steps.iter().all(|s| s.engine == EngineKind::Null)
    }

    /// Time of all steps together, without preparation.
    pub fn duration(&self) -> Nanos {
        Nanos(self.steps.iter().map(|s| s.ramp.0 + s.runtime.0).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_reads_back_from_its_json() {
        let plan = Plan {
            name: "t".into(),
            targets: vec!["/dev/vdb".into()],
            file_size: Some(Bytes::gib(1)),
            keep: false,
            overwrite: false,
            continue_on_error: false,
            seed: 7,
            steps: vec![Step {
                rate_bw: Some(Bytes::mib(10)),
                distribution: Distribution::Zipf(1.2),
                cpus: Some("0-1".parse().unwrap()),
                ..Step::default()
            }],
        };
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
        assert_eq!(plan.steps[0].arrivals_per_second(), Some(2560.0));
    }

    #[test]
    fn problems_say_what_to_do() {
        let bad = |f: fn(&mut Step)| {
            let mut s = Step::default();
            f(&mut s);
            s.problem().expect("a problem")
        };
        assert!(bad(|s| s.iodepth = 0).contains("use 1 or more"));
        assert!(
            bad(|s| {
                s.engine = EngineKind::Psync;
                s.iodepth = 8
            })
            .contains("numjobs=8")
        );
        assert!(bad(|s| s.rw = Pattern::RandTrim).contains("psync"));
        assert!(bad(|s| s.size = Some(Bytes(512))).contains("smaller than one block"));
        assert!(bad(|s| s.rate_iops = Some(f64::NAN)).contains("rate"));
        assert_eq!(Step::default().problem(), None);
    }
}

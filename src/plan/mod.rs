//! Plan: everything a run will do, complete and serialisable.
//!
//! No later stage reads arguments, environment or configuration; running a stored Plan again is the reproduction. A plan
//! comes from a preset, a TOML file or ad-hoc options, each of which gives [`StepOptions`] that lie over [`Step::default`].
//! This module does no I/O on targets: whether a plan fits a device is decided where the device is known.

mod data;
mod file;
mod numa;
mod options;
mod order;
mod presets;
mod priority;
mod problem;
pub mod removed;
mod stages;
mod workload;
mod zones;

use std::ops::Not;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use data::{BufferPattern, Dedupe, DedupeMode};
pub use file::parse as parse_file;
pub use numa::{MemoryPolicy, NodeList};
pub use options::StepOptions;
pub use order::Start;
pub use presets::{PRESETS, Preset};
pub use priority::{Priority, PriorityShare};
pub use workload::{
    Arrival, BlockSizes, CpuList, Distribution, EngineKind, EngineWord, Fadvise, Pattern, Stride, Think,
    WordError,
};
pub use zones::Zones;

use crate::sample::Direction;
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
    /// Targets of this step alone, all of them among the plan's; empty for all of the plan's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<PathBuf>,
    /// Each job drives all targets in turn, one I/O each, and there are `numjobs` jobs in all instead of for each target.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub round_robin: bool,
    /// When it begins.
    #[serde(default, skip_serializing_if = "Start::is_after_all")]
    pub start: Start,
    /// How long after that.
    #[serde(default, with = "text", skip_serializing_if = "Nanos::is_zero")]
    #[schemars(with = "String")]
    pub delay: Nanos,
    /// Which I/Os in which order.
    pub rw: Pattern,
    /// Share of reads in a mixed pattern, in percent.
    pub rwmix: u32,
    /// Block sizes.
    pub bs: BlockSizes,
    /// Block sizes of writes, when they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bs_write: Option<BlockSizes>,
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
    /// The used part of each job begins so much after that of the job before; with 0 all jobs use the same part. When absent,
    /// random jobs share the part and sequential jobs get equal parts of it, one after another.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub offset_increment: Option<Bytes>,
    /// Sequential I/O passes over so many bytes after each I/O, or goes back so far when negative; behind either end of its part it
    /// goes on at the other.
    #[serde(default, skip_serializing_if = "Stride::is_zero")]
    pub stride: Stride,
    /// I/O stays in one zone after another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<Zones>,
    /// Random offsets are multiples of this, counted from the start of the part; of the size of each I/O when absent.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub align: Option<Bytes>,
    /// A job ends after so many bytes; only the runtime ends it when absent.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub io_size: Option<Bytes>,
    /// A job ends after so many I/Os, flushes not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ios: Option<u64>,
    /// Pauses between I/Os.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Think>,
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
    /// The installed fio does the I/O, with its engine of that name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fio: bool,
    /// The page cache is bypassed.
    pub direct: bool,
    /// A flush after so many writes; 0 for none.
    pub fsync: u32,
    /// Flushes are `fdatasync`, which leaves out times of the file; else `fsync`.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub datasync: bool,
    /// One more flush, an `fsync`, when a job that writes has ended.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub end_fsync: bool,
    /// Cached pages of the targets are dropped before the step, and by each buffered job again whenever it has gone over its part.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub invalidate: bool,
    /// What the kernel is told of the order of buffered I/O; nothing when absent, and it finds out by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fadvise: Option<Fadvise>,
    /// Arrivals a second on a schedule (open loop), over all jobs of a target; as fast as the depth allows when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_iops: Option<f64>,
    /// The same as bytes a second.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub rate_bw: Option<Bytes>,
    /// Bytes a second that each job has to reach in each direction, judged once in every `rate_cycle` after the first two seconds of
    /// the window; a job that does not ends the step, which has failed.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub rate_min: Option<Bytes>,
    /// The same as I/Os a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_iops_min: Option<f64>,
    /// Time over which a minimum is judged, in steps of 100 ms; 1 s when absent.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub rate_cycle: Option<Nanos>,
    /// Spacing of arrivals.
    pub arrival: Arrival,
    /// Which blocks random I/O prefers.
    pub distribution: Distribution,
    /// Random offsets are independent draws: some blocks twice, some never.
    pub norandommap: bool,
    /// Share of each written block that compresses away, in percent.
    pub compressible: u32,
    /// Each piece of so many bytes compresses by that share, and every write gets random data of its own; 4 KiB when absent.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub compress_chunk: Option<Bytes>,
    /// Every write gets random data of its own; else buffers are filled once, and sectors of a write differ by a number in them.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub refill: bool,
    /// Every sector of a write differs from all before; when false, buffers that are filled once are written again and again.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub scramble: bool,
    /// What is written where data compresses, instead of zeros; all that is written when `compressible` is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_pattern: Option<BufferPattern>,
    /// Some writes carry data that was written before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedupe: Option<Dedupe>,
    /// CPUs for the jobs, one each in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuList>,
    /// Each job may run on all of `cpus` instead of one each.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub cpus_shared: bool,
    /// Each job may run on all CPUs of these NUMA nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_cpu_nodes: Option<NodeList>,
    /// NUMA nodes that the memory of the jobs comes from, buffers above all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_mem_policy: Option<MemoryPolicy>,
    /// I/O priority of the jobs; that of the program when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prio: Option<Priority>,
    /// Shares of the requests that have priorities of their own (io_uring and libaio); the others have that of their job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cmdprio: Vec<PriorityShare>,
    /// io_uring polls the device for completions instead of taking interrupts.
    pub iopoll: bool,
    /// A kernel thread submits for io_uring.
    pub sqpoll: bool,
    /// Every I/O is kept for logs. They are written beside the Record, never into it.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub trace: bool,
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

fn yes() -> bool {
    true
}

impl Default for Step {
    /// 4 KiB random reads at depth 1 for 30 s: it changes nothing.
    fn default() -> Step {
        Step {
            name: "step".into(),
            targets: Vec::new(),
            round_robin: false,
            start: Start::AfterAll,
            delay: Nanos(0),
            rw: Pattern::RandRead,
            rwmix: 50,
            bs: BlockSizes::one(Bytes::kib(4)),
            bs_write: None,
            iodepth: 1,
            numjobs: 1,
            size: None,
            offset: Bytes(0),
            offset_increment: None,
            stride: Stride(0),
            zones: None,
            align: None,
            io_size: None,
            ios: None,
            think: None,
            runtime: Nanos::seconds(30),
            ramp: Nanos(0),
            engine: EngineKind::IoUring,
            fio: false,
            direct: true,
            fsync: 0,
            datasync: true,
            end_fsync: false,
            invalidate: false,
            fadvise: None,
            rate_iops: None,
            rate_bw: None,
            rate_min: None,
            rate_iops_min: None,
            rate_cycle: None,
            arrival: Arrival::Fixed,
            distribution: Distribution::Uniform,
            norandommap: false,
            compressible: 0,
            compress_chunk: None,
            refill: false,
            scramble: true,
            buffer_pattern: None,
            dedupe: None,
            cpus: None,
            cpus_shared: false,
            numa_cpu_nodes: None,
            numa_mem_policy: None,
            prio: None,
            cmdprio: Vec::new(),
            iopoll: false,
            sqpoll: false,
            trace: false,
            simulate: None,
        }
    }
}

impl Step {
    /// Arrivals a second over all jobs of a target, when there is a schedule.
    pub fn arrivals_per_second(&self) -> Option<f64> {
        self.rate_iops.or_else(|| self.rate_bw.map(|b| b.0 as f64 / self.mean_block()))
    }

    /// An amount of I/O ends each job, if the time does not do so before.
    pub fn ends_by_amount(&self) -> bool {
        self.io_size.is_some() || self.ios.is_some()
    }

    /// Block sizes of a direction.
    pub fn sizes(&self, direction: Direction) -> &BlockSizes {
        match &self.bs_write {
            Some(sizes) if direction == Direction::Write => sizes,
            _ => &self.bs,
        }
    }

    /// Block sizes of the directions that occur.
    fn all_sizes(&self) -> impl Iterator<Item = &BlockSizes> {
        self.rw.directions().iter().map(|d| self.sizes(*d))
    }

    /// The size of every I/O, when all have one.
    pub fn single_block(&self) -> Option<Bytes> {
        let first = self.all_sizes().next()?.single()?;
        self.all_sizes().all(|sizes| sizes.single() == Some(first)).then_some(first)
    }

    /// The largest I/O: what a buffer must hold.
    pub fn largest_block(&self) -> Bytes {
        self.all_sizes().map(BlockSizes::largest).max().unwrap_or_else(|| self.bs.largest())
    }

    /// Mean size of an I/O.
    fn mean_block(&self) -> f64 {
        match self.rw.directions() {
            [first, second] => {
                let share = f64::from(self.rwmix) / 100.0;
                self.sizes(*first).mean() * share + self.sizes(*second).mean() * (1.0 - share)
            }
            directions => self.sizes(directions[0]).mean(),
        }
    }

    /// Block sizes for people.
    pub fn blocks(&self) -> String {
        let sizes: Vec<_> = self.all_sizes().collect();
        match sizes.as_slice() {
            [reads, writes] if reads != writes => format!("{reads} (writes {writes})"),
            _ => sizes[0].to_string(),
        }
    }

    /// Workers of the whole step on so many targets.
    pub fn workers(&self, targets: usize) -> u32 {
        if self.round_robin { self.numjobs } else { self.numjobs * targets as u32 }
    }

    /// Which series of samples a worker belongs to: there is one for each target, or one in all with `round_robin`.
    pub fn series_of(&self, worker: u32) -> usize {
        if self.round_robin { 0 } else { (worker / self.numjobs) as usize }
    }

    /// Requests in flight on one target, or on all together with `round_robin`, when all jobs are busy.
    pub fn depth_per_target(&self) -> u64 {
        u64::from(self.iodepth) * u64::from(self.numjobs)
    }
}

impl Plan {
    /// Some step changes data on the targets.
    pub fn changes_data(&self) -> bool {
        self.steps.iter().any(|s| s.rw.changes_data() && s.engine != EngineKind::Null)
    }

    /// The plan needs no target at all: every step runs on the null engine.
    pub fn needs_no_target(&self) -> bool {
        self.steps.iter().all(|s| s.engine == EngineKind::Null)
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
}

//! The options of a workload as a user gives them, on the command line and in a plan file alike: all optional, laid over
//! a step. One struct feeds clap, TOML and the presets, so that a name means the same everywhere.

use std::path::PathBuf;

use serde::Deserialize;

use super::order::Start;
use super::workload::{
    Arrival, BlockSizes, CpuList, Distribution, EngineWord, Fadvise, Pattern, Stride, Think,
};
use super::{BufferPattern, Dedupe, MemoryPolicy, NodeList, Priority, PriorityShare, Simulated, Step, Zones};
use crate::unit::{Bytes, Nanos, text};

/// Options of one step; what is absent keeps the value beneath.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, clap::Args)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
#[command(
    next_help_heading = "Workload (with --rw and no plan: one ad-hoc step; else it changes every step)"
)]
pub struct StepOptions {
    /// Name of the step
    #[arg(skip)]
    pub name: Option<String>,
    /// read, write, randread, randwrite, rw, randrw, trim, randtrim
    #[arg(long, value_name = "PATTERN")]
    pub rw: Option<Pattern>,
    /// Share of reads in a mixed pattern, percent [default: 50]
    #[arg(long, value_name = "PCT", visible_alias = "rwmixread")]
    #[serde(alias = "rwmixread")]
    pub rwmix: Option<u32>,
    /// Block size, or a split such as 4k/70:64k/30 [default: 4k]
    #[arg(long, value_name = "SIZE")]
    pub bs: Option<BlockSizes>,
    /// Requests kept in flight by each job [default: 1]
    #[arg(long, value_name = "N")]
    pub iodepth: Option<u32>,
    /// Jobs for each target, each a thread [default: 1]
    #[arg(long, value_name = "N")]
    pub numjobs: Option<u32>,
    /// Use only this much of the target
    #[arg(long, value_name = "SIZE")]
    #[serde(with = "text::option")]
    pub size: Option<Bytes>,
    /// Start of the used part
    #[arg(long, value_name = "SIZE")]
    #[serde(with = "text::option")]
    pub offset: Option<Bytes>,
    /// End a job after so many bytes instead of after the runtime alone
    #[arg(long, value_name = "SIZE")]
    #[serde(with = "text::option")]
    pub io_size: Option<Bytes>,
    /// Share of each written block that compresses away, percent [default: 0]
    #[arg(long, value_name = "PCT")]
    pub compressible: Option<u32>,
    /// uniform, zipf:THETA, pareto:H or normal:DEVIATION [default: uniform]
    #[arg(long, value_name = "DIST", visible_alias = "random_distribution")]
    pub distribution: Option<Distribution>,
    /// Draw random offsets independently, instead of each block once per pass
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    pub norandommap: Option<bool>,
    /// Flush after so many writes
    #[arg(long, value_name = "N")]
    pub fsync: Option<u32>,

    /// Measured time, such as 30s or 5m [default: 30s]
    #[arg(long, value_name = "TIME", help_heading = "Time and rate")]
    #[serde(with = "text::option")]
    pub runtime: Option<Nanos>,
    /// Load before the measurement, not counted
    #[arg(long, value_name = "TIME", visible_alias = "ramp_time", help_heading = "Time and rate")]
    #[serde(with = "text::option")]
    pub ramp: Option<Nanos>,
    /// Send so many I/Os a second to each target, on a schedule that never waits (open loop)
    #[arg(long, value_name = "N", help_heading = "Time and rate")]
    pub rate_iops: Option<f64>,
    /// The same as bytes a second
    #[arg(long, value_name = "SIZE", help_heading = "Time and rate")]
    #[serde(with = "text::option")]
    pub rate_bw: Option<Bytes>,
    /// Spacing of the schedule: fixed or poisson [default: fixed]
    #[arg(long, value_name = "KIND", help_heading = "Time and rate", hide_possible_values = true)]
    pub arrival: Option<Arrival>,

    /// io_uring, libaio, psync or null; fio for the installed fio's io_uring, fio:libaio and so on [default: io_uring]
    #[arg(
        long,
        value_name = "ENGINE",
        visible_alias = "ioengine",
        help_heading = "Engine",
        hide_possible_values = true
    )]
    pub engine: Option<EngineWord>,
    /// Go through the page cache (direct I/O otherwise)
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true, help_heading = "Engine")]
    pub buffered: Option<bool>,
    /// Pin the jobs to these CPUs in turn, such as 0-3,8
    #[arg(long, value_name = "LIST", help_heading = "Engine")]
    pub cpus: Option<CpuList>,
    /// Poll the device for completions (io_uring, needs poll queues)
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true, help_heading = "Engine")]
    pub iopoll: Option<bool>,
    /// Let a kernel thread submit (io_uring; costs a whole CPU)
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true, help_heading = "Engine")]
    pub sqpoll: Option<bool>,
    // Known to plan files only, so that --help stays short; `plan::Step` says what they mean.
    /// Targets of this step alone
    #[arg(skip)]
    pub targets: Option<Vec<PathBuf>>,
    /// Each job drives all targets in turn
    #[arg(skip)]
    pub round_robin: Option<bool>,
    /// after-all, with-previous or after:STEP
    #[arg(skip)]
    pub start: Option<Start>,
    /// How long after that
    #[arg(skip)]
    #[serde(with = "text::option")]
    pub delay: Option<Nanos>,
    /// Block sizes of writes
    #[arg(skip)]
    pub bs_write: Option<BlockSizes>,
    /// Distance between the parts of one job and the next
    #[arg(skip)]
    #[serde(with = "text::option")]
    pub offset_increment: Option<Bytes>,
    /// Bytes passed over after each sequential I/O
    #[arg(skip)]
    pub stride: Option<Stride>,
    /// I/O stays in one zone after another
    #[arg(skip)]
    pub zones: Option<Zones>,
    /// Piece of data that compresses
    #[arg(skip)]
    #[serde(with = "text::option")]
    pub compress_chunk: Option<Bytes>,
    /// Every write gets random data of its own
    #[arg(skip)]
    pub refill: Option<bool>,
    /// No data is written twice
    #[arg(skip)]
    pub scramble: Option<bool>,
    /// Bytes that are written over and over
    #[arg(skip)]
    pub buffer_pattern: Option<BufferPattern>,
    /// Writes of data that was written before
    #[arg(skip)]
    pub dedupe: Option<Dedupe>,
    /// Alignment of random offsets
    #[arg(skip)]
    #[serde(with = "text::option")]
    pub align: Option<Bytes>,
    /// I/Os of a job
    #[arg(skip)]
    pub ios: Option<u64>,
    /// Pauses between I/Os
    #[arg(skip)]
    pub think: Option<Think>,
    /// Bytes a second below which a job has failed
    #[arg(skip)]
    #[serde(with = "text::option")]
    pub rate_min: Option<Bytes>,
    /// I/Os a second below which a job has failed
    #[arg(skip)]
    pub rate_iops_min: Option<f64>,
    /// Time over which that is judged
    #[arg(skip)]
    #[serde(with = "text::option")]
    pub rate_cycle: Option<Nanos>,
    /// Flushes are fdatasync
    #[arg(skip)]
    pub datasync: Option<bool>,
    /// A flush at the end
    #[arg(skip)]
    pub end_fsync: Option<bool>,
    /// Cached pages are dropped before the step
    #[arg(skip)]
    pub invalidate: Option<bool>,
    /// What the kernel is told of the order of I/O
    #[arg(skip)]
    pub fadvise: Option<Fadvise>,
    /// Each job may use all of `cpus`
    #[arg(skip)]
    pub cpus_shared: Option<bool>,
    /// NUMA nodes on whose CPUs the jobs run
    #[arg(skip)]
    pub numa_cpu_nodes: Option<NodeList>,
    /// NUMA nodes that their memory comes from
    #[arg(skip)]
    pub numa_mem_policy: Option<MemoryPolicy>,
    /// I/O priority of the jobs
    #[arg(skip)]
    pub prio: Option<Priority>,
    /// Shares of the requests with priorities of their own
    #[arg(skip)]
    pub cmdprio: Option<Vec<PriorityShare>>,
    /// Every I/O is kept
    #[arg(skip)]
    pub trace: Option<bool>,
    /// A device played in virtual time
    #[arg(skip)]
    pub simulate: Option<Simulated>,
}

impl StepOptions {
    /// No workload option was given.
    pub fn is_empty(&self) -> bool {
        *self == StepOptions::default()
    }

    /// Lays these options over a step.
    pub fn apply(&self, step: &mut Step) {
        fn set<T: Clone>(to: &mut T, from: &Option<T>) {
            if let Some(v) = from {
                to.clone_from(v);
            }
        }
        fn some<T: Clone>(to: &mut Option<T>, from: &Option<T>) {
            if from.is_some() {
                to.clone_from(from);
            }
        }
        set(&mut step.name, &self.name);
        set(&mut step.rw, &self.rw);
        set(&mut step.rwmix, &self.rwmix);
        set(&mut step.bs, &self.bs);
        set(&mut step.iodepth, &self.iodepth);
        set(&mut step.numjobs, &self.numjobs);
        some(&mut step.size, &self.size);
        set(&mut step.offset, &self.offset);
        some(&mut step.io_size, &self.io_size);
        set(&mut step.compressible, &self.compressible);
        set(&mut step.distribution, &self.distribution);
        set(&mut step.norandommap, &self.norandommap);
        set(&mut step.fsync, &self.fsync);
        set(&mut step.runtime, &self.runtime);
        set(&mut step.ramp, &self.ramp);
        some(&mut step.rate_iops, &self.rate_iops);
        some(&mut step.rate_bw, &self.rate_bw);
        set(&mut step.arrival, &self.arrival);
        if let Some(word) = self.engine {
            (step.engine, step.fio) = (word.engine, word.fio);
        }
        if let Some(buffered) = self.buffered {
            step.direct = !buffered;
        }
        some(&mut step.cpus, &self.cpus);
        set(&mut step.iopoll, &self.iopoll);
        set(&mut step.sqpoll, &self.sqpoll);
        set(&mut step.targets, &self.targets);
        set(&mut step.round_robin, &self.round_robin);
        set(&mut step.start, &self.start);
        set(&mut step.delay, &self.delay);
        some(&mut step.bs_write, &self.bs_write);
        some(&mut step.offset_increment, &self.offset_increment);
        set(&mut step.stride, &self.stride);
        some(&mut step.zones, &self.zones);
        some(&mut step.compress_chunk, &self.compress_chunk);
        set(&mut step.refill, &self.refill);
        set(&mut step.scramble, &self.scramble);
        some(&mut step.buffer_pattern, &self.buffer_pattern);
        some(&mut step.dedupe, &self.dedupe);
        some(&mut step.align, &self.align);
        some(&mut step.ios, &self.ios);
        some(&mut step.think, &self.think);
        some(&mut step.rate_min, &self.rate_min);
        some(&mut step.rate_iops_min, &self.rate_iops_min);
        some(&mut step.rate_cycle, &self.rate_cycle);
        set(&mut step.datasync, &self.datasync);
        set(&mut step.end_fsync, &self.end_fsync);
        set(&mut step.invalidate, &self.invalidate);
        some(&mut step.fadvise, &self.fadvise);
        set(&mut step.cpus_shared, &self.cpus_shared);
        some(&mut step.numa_cpu_nodes, &self.numa_cpu_nodes);
        some(&mut step.numa_mem_policy, &self.numa_mem_policy);
        some(&mut step.prio, &self.prio);
        set(&mut step.cmdprio, &self.cmdprio);
        set(&mut step.trace, &self.trace);
        some(&mut step.simulate, &self.simulate);
    }
}

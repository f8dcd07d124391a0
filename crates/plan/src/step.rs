//! The options of a step: the one place that declares them. `key` says what follows from it.
//!
//! To add an option: declare it here; say in `fio/` which words of fio mean it; give it its meaning in `engine`; make `docs/plan.md`
//! anew (`UPDATE_PLAN=1 cargo test --test simulated plan_page`).

use std::path::PathBuf;

use super::key::{Key, KeyPlace, declare};
use super::word::Word;
use super::{
    Arrival, BlockSizes, CpuList, Distribution, EngineKind, Fadvise, FileState, Follows, Pattern, Simulated,
    Start, SyncWrites,
};
use volproof_base::unit::{Bytes, Nanos, total};

declare! {
    "Workload" {
        /// Name of the step in tables and files
        File name: String = "step".into(), "'log'";
        /// read, write, randread, randwrite, rw, randrw, trim, randtrim
        ///
        /// On the command line, with neither a preset nor a plan file, this option makes a plan of one step. All other options of a step
        /// then apply to that step; with a preset or a plan file they apply to each of its steps.
        Both rw: Pattern = Pattern::RandRead, "'randrw'", also "readwrite";
        /// Share of reads in a mixed pattern, percent
        Both rwmix: u32 = 50, "70", also "rwmixread";
        /// Block size, or a split such as 4k/70:64k/30
        Both bs: BlockSizes = BlockSizes::one(Bytes::kib(4)), "'16k'", also "blocksize";
        /// Requests kept in flight by each job
        Both iodepth: u32 = 1, "32";
        /// Jobs for each target, each a thread
        Both numjobs: u32 = 1, "4";
        /// Distribution of random offsets: uniform, zipf:THETA, or zoned: with ACCESSES/RANGE for each zone
        ///
        /// Shares of zones are percentages: zoned:50/5:50/95 sends half of the accesses to the first 5 % of the range.
        Both distribution: Distribution = Distribution::Uniform, "'zipf:1.1'", also "random-distribution";
        /// Draw random offsets independently, instead of each block once per pass
        Both norandommap: bool = false, "true";
        /// Random offsets are multiples of this size, counted from the start of the part; of the size of each I/O by default
        File align: Option<Bytes> = None, "'4k'";
        /// Flush after so many writes; 0 for none
        Both fsync: u32 = 0, "1";
        /// Flush with fdatasync, which leaves out times of the file; with fsync when false
        File datasync: bool = true, "false";
        /// Each write returns when it is durable: dsync, or sync, which also waits for times of the file (RWF_DSYNC, RWF_SYNC)
        Both sync: Option<SyncWrites> = None, "'dsync'";
        /// One more flush, an fsync, when a job that writes has ended
        File end_fsync: bool = false, "true";
    }
    "Targets and parts" {
        /// Targets of this step alone; all targets of the plan by default
        File targets: Vec<PathBuf> = Vec::new(), "['/dev/vdb']";
        /// The file that a step writes in a folder: filled (the test file), or one of its own of `size` bytes, reserved or growing
        ///
        /// A reserved file has room that was never written; each write lengthens a growing file. At its end the file begins anew.
        File file_state: FileState = FileState::Filled, "'growing'";
        /// Use only this much of the target
        Both size: Option<Bytes> = None, "'64g'";
        /// Start of the used part
        Both offset: Bytes = Bytes(0), "'1g'";
        /// Distance from the part of one job to the part of the next; with 0 all jobs use the same part
        ///
        /// By default random jobs share the part, and sequential jobs get equal parts of it, one after another.
        File offset_increment: Option<Bytes> = None, "'10g'";
        /// Sequential I/O leaves a gap of this size after each I/O
        ///
        /// At the end of its part the I/O goes on at the start.
        File stride: Bytes = Bytes(0), "'8k'";
    }
    "Order" {
        /// When the step begins: after-all, with-previous or after:STEP
        File start: Start = Start::AfterAll, "'with-previous'";
        /// Pause before the step, counted from the moment that start names
        File delay: Nanos = Nanos(0), "'5s'";
        /// The step of the plan that this one follows, and what for: the run added it
        Record follows: Option<Box<Follows>> = None, "";
    }
    "Time and rate" {
        /// Measured time, such as 30s or 5m; a number alone is seconds
        Both runtime: Nanos = Nanos::seconds(30), "'5m'";
        /// Last for the whole runtime, as each step without io-size does anyway; refused beside io-size
        Both time_based: bool = false, "true";
        /// Load before the measurement, not counted
        Both ramp: Nanos = Nanos(0), "'10s'", also "ramp-time";
        /// End each job after this many bytes, unless the runtime ends it first
        Both io_size: Option<Bytes> = None, "'100g'";
        /// Send so many I/Os a second to each target, on a schedule that never waits (open loop)
        Both rate_iops: Option<f64> = None, "2500.0";
        /// Send so many bytes a second to each target, on a schedule that never waits (open loop)
        Both rate_bw: Option<Bytes> = None, "'100m'";
        /// Spacing of the I/Os under a rate: fixed or poisson
        Both arrival: Arrival = Arrival::Fixed, "'poisson'";
    }
    "Data" {
        /// Share of each written 4 KiB that is zeros and compresses away, percent
        Both compressible: u32 = 0, "50";
    }
    "Engine" {
        /// io_uring, libaio, psync or null; fio for the installed fio's io_uring, fio:libaio and so on
        Both engine: EngineKind = EngineKind::IoUring, "'libaio'", also "ioengine";
        /// The installed fio does the I/O
        Record fio: bool = false, "";
        /// Bypass the page cache
        Both direct: bool = true, "false";
        /// Drop cached pages of the targets before the step, and for a buffered job again after each pass over its part
        File invalidate: bool = false, "true";
        /// Tell the kernel the order of buffered I/O: random or sequential
        File fadvise: Option<Fadvise> = None, "'random'";
        /// Poll the device for completions (io_uring, needs poll queues)
        Both iopoll: bool = false, "true";
        /// Let a kernel thread submit (io_uring; costs a whole CPU)
        Both sqpoll: bool = false, "true";
        /// Pin the jobs to these CPUs in turn, such as 0-3,8
        Both cpus: Option<CpuList> = None, "'0-3,8'";
        /// Each job may run on all of cpus, instead of one CPU each
        File cpus_shared: bool = false, "true";
        /// Try volproof without a volume: a device in virtual time, such as latency=200us,iops-cap=20000
        Both simulate: Option<Box<Simulated>> = None, "{ latency = '200us' }";
    }
}

impl Step {
    /// Bytes a second of the volume that forecasts speak of, since nobody knows the volume's own rate yet: the reader scales them.
    pub const FORECAST_RATE: Bytes = Bytes(100 << 20);
    /// Time of a write that waits until it is durable, in forecasts.
    pub const FORECAST_FLUSH: Nanos = Nanos::millis(1);

    /// Arrivals a second over all jobs of a target, when there is a schedule.
    pub fn arrivals_per_second(&self) -> Option<f64> {
        self.rate_iops.or_else(|| self.rate_bw.map(|b| b.0 as f64 / self.bs.mean()))
    }

    /// Whether an amount of I/O ends each job, unless the runtime ends it before.
    pub fn ends_by_amount(&self) -> bool {
        self.io_size.is_some()
    }

    /// Writes wait until they are durable, each or so many together.
    pub fn waits_for_durability(&self) -> bool {
        self.rw.changes_data() && (self.fsync > 0 || self.sync.is_some())
    }

    /// Bytes a second that a forecast says the step moves: its own rate, else what [`Step::FORECAST_FLUSH`] and [`Step::FORECAST_RATE`] allow.
    pub fn forecast_rate(&self) -> f64 {
        let most = Step::FORECAST_RATE.0 as f64;
        if let Some(rate) = self.arrivals_per_second() {
            return rate * self.bs.mean();
        }
        if !self.waits_for_durability() {
            return most;
        }
        let waiting = self.depth_per_target() as f64 * f64::from(self.fsync.max(1)) * self.bs.mean();
        most.min(waiting / Step::FORECAST_FLUSH.as_seconds())
    }

    /// The size of every I/O, when all have one.
    pub fn single_block(&self) -> Option<Bytes> {
        self.bs.single()
    }

    /// The largest I/O: what a buffer must hold.
    pub fn largest_block(&self) -> Bytes {
        self.bs.largest()
    }

    /// Block sizes for people.
    pub fn blocks(&self) -> String {
        self.bs.single().map_or(self.bs.to_string(), Bytes::exact_spaced)
    }

    /// All written data is zeros.
    pub fn writes_zeros(&self) -> bool {
        self.rw.changes_data() && self.compressible == 100
    }

    /// Workers of the whole step on this many targets.
    pub fn workers(&self, targets: usize) -> u32 {
        self.numjobs * targets as u32
    }

    /// The number of the target that a worker drives.
    pub fn target_of(&self, worker: u32) -> usize {
        (worker / self.numjobs) as usize
    }

    /// The time that it takes as planned: its delay, its ramp and its measured time.
    pub fn whole_time(&self) -> Nanos {
        Nanos(total([self.delay.0, self.ramp.0, self.runtime.0]))
    }

    /// Requests in flight on one target when all jobs are busy.
    pub fn depth_per_target(&self) -> u64 {
        u64::from(self.iodepth) * u64::from(self.numjobs)
    }
}

/// The largest depth of a job.
pub const MOST_DEPTH: u32 = 65_536;

/// The most jobs of a step.
pub const MOST_JOBS: u32 = 4096;

//! Under which conditions a step was measured, by volproof or another tool: the one form in which doubts, diagnosis and verdict ask for a load.
//!
//! The conditions of volproof's own steps follow from the plan; a reader of another tool's report says what the report says.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Known, Spacing};
use volproof_base::sample::Direction;
use volproof_base::unit::{Bytes, Nanos};
use volproof_plan::{BlockSizes, EngineKind, Pattern, Step};

/// The load of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Conditions {
    /// The pattern as the tool names it: fio's `randread`, `trimwrite`.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub rw: Known<String>,
    /// The smallest and the largest block.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub block: Known<(Bytes, Bytes)>,
    /// The engine, or system call, as the tool names it.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub engine: Known<String>,
    /// The engine finishes an I/O before it begins the next, so a queue depth has no effect on it.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub blocking: Known<bool>,
    /// The engine drives no device.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub null_engine: Known<bool>,
    /// Load threads poll for completions and never sleep, so that their CPU time says nothing about the cost of an I/O.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub polling: Known<bool>,
    /// The depth that was given to each job.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub iodepth: Known<u32>,
    /// Jobs, over all targets and hosts.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub jobs: Known<u32>,
    /// The operating system, where it is known: `Windows`.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub system: Known<String>,
    /// The page cache was bypassed.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub direct: Known<bool>,
    /// Files or devices.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub targets: Known<Vec<PathBuf>>,
    /// Each job has files of its own.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub own_files: Known<bool>,
    /// Jobs begin at offsets of their own.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub own_offsets: Known<bool>,
    /// Bytes of the target that one job uses; 0 for the whole target.
    #[serde(rename = "size_bytes", skip_serializing_if = "Known::is_unknown")]
    pub size: Known<Bytes>,
    /// The run goes on until its time is over.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub time_based: Known<bool>,
    /// How long the run was to take at most; 0 for no limit.
    #[serde(rename = "runtime_ns", skip_serializing_if = "Known::is_unknown")]
    pub runtime: Known<Nanos>,
    /// Time at the start that is left out of the figures.
    #[serde(rename = "ramp_ns", skip_serializing_if = "Known::is_unknown")]
    pub ramp: Known<Nanos>,
    /// The settings that held the load back on purpose.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub pace: Known<Pace>,
    /// Share of reads in a mix, percent.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub reads_percent: Known<u32>,
    /// How random offsets are spread, as the tool names it: `zipf:1.1`; unknown where it names nothing.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub distribution: Known<String>,
    /// Where the I/Os lie, where options make that differ from blocks side by side; unknown where none does.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub spacing: Known<Spacing>,
    /// The run waited for the jobs before it.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub stonewall: Known<bool>,
    /// Only zeros were written.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub zeros: Known<bool>,
    /// Share of the data written that is one pattern over and over, in percent.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub pattern_percent: Known<u32>,
    /// Options of a report that make the load another one in ways that are not looked into, as they were given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub odd_options: Vec<String>,
    /// A flush after so many writes; 0 for none. 1 also where each write waits by itself until it is durable.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub fsync: Known<u32>,
}

/// A load that is held back on purpose; all absent for one that is not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pace {
    /// I/Os a second that were asked for, over all jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_per_second: Option<f64>,
    /// The option that sets the rate, as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_option: Option<String>,
    /// The option that makes the load pause between I/Os, as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_option: Option<String>,
}

/// Disks whose names are followed by the number of a partition.
const LETTERED: [&str; 4] = ["/dev/sd", "/dev/vd", "/dev/xvd", "/dev/hd"];

impl Conditions {
    /// The disks and folders that the targets lie on, as far as their paths tell.
    pub fn places(&self) -> HashSet<&Path> {
        // A folder is a target where each job has files of its own in it.
        let folders = self.own_files.get() == Some(true);
        let targets = self.targets.as_ref().map_or(&[][..], |t| t.as_slice());
        targets
            .iter()
            .map(|path| match disk_of(path) {
                Some(disk) => Path::new(disk),
                None if folders => path,
                None => path.parent().unwrap_or(path),
            })
            .collect()
    }

    /// The one disk that the load went to, where the paths tell it: a file may lie on any disk, and so may a device of the device mapper.
    pub fn disk(&self) -> Option<&Path> {
        let mut places = self.places().into_iter();
        let disk = places.next().filter(|_| places.next().is_none())?;
        let path = disk.to_str()?;
        LETTERED.into_iter().chain(["/dev/nvme"]).any(|kind| path.starts_with(kind)).then_some(disk)
    }

    /// The share by which rate times latency may exceed the requests in flight, since requests that began in the ramp are among the latencies
    /// with their whole time. 0 where nothing was left out.
    pub fn begun_before(&self, longest: Option<Nanos>, window: Option<Nanos>) -> f64 {
        match (longest, window.filter(|w| w.0 > 0)) {
            (Some(longest), Some(window)) if self.ramp.get() != Some(Nanos(0)) => {
                longest.0 as f64 / window.0 as f64
            }
            _ => 0.0,
        }
    }

    /// The conditions of a step of volproof that drives so many targets.
    pub fn of_step(step: &Step, targets: usize) -> Conditions {
        let null = step.engine == EngineKind::Null;
        let blocks = step.bs.shares().iter().map(|share| (share.0, share.0));
        Conditions {
            rw: step.rw.to_string().into(),
            block: blocks.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).into(),
            engine: step.engine.to_string().into(),
            blocking: (step.engine == EngineKind::Psync).into(),
            null_engine: (null && step.simulate.is_none()).into(),
            polling: (step.iopoll || step.sqpoll).into(),
            iodepth: step.iodepth.into(),
            jobs: (step.numjobs.saturating_mul(targets.max(1) as u32)).into(),
            system: Known::Unknown,
            direct: step.direct.into(),
            targets: step.targets.clone().into(),
            own_files: Known::Unknown,
            own_offsets: Known::Unknown,
            size: step.size.unwrap_or_default().into(),
            time_based: (!step.ends_by_amount()).into(),
            runtime: step.runtime.into(),
            ramp: step.ramp.into(),
            pace: Pace { offered_per_second: step.arrivals_per_second(), ..Pace::default() }.into(),
            reads_percent: step.rwmix.into(),
            distribution: step.distribution.to_string().into(),
            spacing: Spacing::of_step(step).into(),
            stonewall: Known::Unknown,
            zeros: step.writes_zeros().into(),
            pattern_percent: Some(step.compressible)
                .filter(|share| *share > 0 && step.rw.changes_data())
                .into(),
            odd_options: Vec::new(),
            fsync: if step.sync.is_some() && step.rw.changes_data() { 1 } else { step.fsync }.into(),
        }
    }

    /// The step was measured on Windows, where commands of Linux are no help.
    pub fn on_windows(&self) -> bool {
        self.system.as_ref().is_some_and(|system| system == "Windows")
    }

    /// Each job does one I/O after the other, whatever its depth.
    pub fn one_at_a_time(&self) -> bool {
        self.blocking.get() == Some(true)
    }

    /// The null engine: nothing was driven.
    pub fn is_null(&self) -> bool {
        self.null_engine.get() == Some(true)
    }

    /// Requests that each job was to keep in flight.
    fn depth_of_job(&self) -> Option<u32> {
        if self.one_at_a_time() { Some(1) } else { Some(self.iodepth.get()?.max(1)) }
    }

    /// Requests that were to be in flight, over all jobs.
    pub fn in_flight(&self) -> Option<u64> {
        Some(u64::from(self.depth_of_job()?) * u64::from(self.jobs.get()?))
    }

    /// The one block size.
    pub fn single_block(&self) -> Option<Bytes> {
        self.block.get().filter(|(low, high)| low == high).map(|(low, _)| low)
    }

    /// The pattern in volproof's words, where it has one.
    pub fn pattern(&self) -> Option<Pattern> {
        self.rw.as_ref()?.split(':').next()?.parse().ok()
    }

    /// Nothing but reads was asked for.
    pub fn only_reads(&self) -> bool {
        self.pattern().is_some_and(|p| !p.changes_data())
    }

    /// The load is of writes alone, and each waits until it is durable.
    pub fn each_write_waits(&self) -> bool {
        self.fsync.get() == Some(1) && self.pattern().is_some_and(|p| p.directions() == [Direction::Write])
    }

    /// Memory may have answered in place of the volume: the load went through the page cache, which holds reads and takes writes, unless it is of
    /// writes alone that each wait for their flush.
    pub fn memory_answers(&self) -> bool {
        self.direct.get() == Some(false) && !self.is_null() && !self.each_write_waits()
    }

    /// The distribution by which the random I/Os preferred some blocks.
    pub fn preferred_blocks(&self) -> Option<&str> {
        let random = self.pattern().is_some_and(Pattern::is_random);
        // fio calls the uniform one `random`.
        let name = self.distribution.as_ref()?.as_str();
        (random && !matches!(name, "uniform" | "random")).then_some(name)
    }

    /// Jobs that went over the same bytes one after the other, where there are several.
    pub fn jobs_over_one_range(&self) -> Option<u32> {
        let jobs = self.jobs.get().filter(|n| *n > 1)?;
        let sequential = self.rw.as_ref().is_some_and(|rw| !rw.contains("rand"));
        // Where the options are unknown, the files of the jobs are unknown too.
        let one_range = self.own_files.get() == Some(false) && self.own_offsets.get() == Some(false);
        (sequential && one_range).then_some(jobs)
    }

    /// I/Os a second that were asked for.
    pub fn offered(&self) -> Option<f64> {
        self.pace.as_ref()?.offered_per_second
    }

    /// The load as a step of volproof, as far as it is known; the rest is volproof's default.
    pub fn step(&self) -> Step {
        let base = Step::default();
        Step {
            rw: self.pattern().unwrap_or(base.rw),
            bs: self.single_block().map_or(base.bs, BlockSizes::one),
            iodepth: self.depth_of_job().unwrap_or(1),
            numjobs: self.jobs.get().unwrap_or(1).max(1),
            rwmix: self.reads_percent.get().unwrap_or(base.rwmix),
            rate_iops: self.offered(),
            fsync: self.fsync.get().unwrap_or(0),
            ..Step::default()
        }
    }

    /// Facts that the result does not say, by name; with the reason where the fact is assumed.
    pub fn gaps(&self) -> Vec<(&'static str, Option<&str>)> {
        fn gap<'a, T>(name: &'static str, known: &'a Known<T>) -> Option<(&'static str, Option<&'a str>)> {
            match known {
                Known::Said(_) => None,
                Known::Assumed { why, .. } => Some((name, Some(why))),
                Known::Unknown => Some((name, None)),
            }
        }
        let all = [
            gap("pattern", &self.rw),
            gap("block size", &self.block),
            gap("engine", &self.engine),
            gap("depth", &self.iodepth),
            gap("jobs", &self.jobs),
            gap("direct", &self.direct),
        ];
        all.into_iter().flatten().collect()
    }
}

/// The disk that the path of a device names, without the number of a partition.
fn disk_of(path: &Path) -> Option<&str> {
    let path = path.to_str().filter(|path| path.starts_with("/dev/"))?;
    let whole = path.trim_end_matches(|c: char| c.is_ascii_digit());
    match whole.strip_suffix('p') {
        // nvme0n1p2 is a partition, and nvme0n1 is none.
        Some(disk) if disk.ends_with(|c: char| c.is_ascii_digit()) && whole.len() < path.len() => Some(disk),
        _ if LETTERED.iter().any(|kind| path.starts_with(kind)) => Some(whole),
        _ => Some(path),
    }
}

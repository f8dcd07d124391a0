//! Under which conditions a row of fio was measured: from its options where the report has them, else from its header.

use serde::Serialize;

use crate::fio::job::{Given, Job as Asked};
use crate::fio::mistake::Origin;
use crate::fio::number::{self, Size};
use crate::fio::option;
use crate::fio::output::{AskedRate, Job, Output, Stats};
use crate::plan::{BlockSizes, Pattern, Step};
use crate::sample::Direction;
use crate::unit::{Bytes, Nanos, grouped};

/// Engines that finish an I/O before they begin the next, so that `iodepth` means nothing (fio's HOWTO, "I/O engine").
const ONE_AT_A_TIME: [&str; 8] = ["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "cpuio"];

/// What was asked for. What the report does not tell is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Conditions {
    /// fio's word: `randread`.
    pub rw: Option<String>,
    /// Smallest and largest block.
    pub block: Option<(Bytes, Bytes)>,
    /// Engine.
    pub engine: Option<String>,
    /// `iodepth` as given.
    pub iodepth: Option<u32>,
    /// Jobs.
    pub jobs: u32,
    /// The page cache was bypassed.
    pub direct: Option<bool>,
    /// File or device.
    pub target: Option<String>,
    /// Range of one job.
    pub size: Option<Bytes>,
    /// The run ends by time alone. fio does not list flags that were given without a value.
    pub time_based: Option<bool>,
    /// How long it was to take.
    pub runtime: Option<Nanos>,
    /// Time at the start that is left out of the figures.
    pub ramp: Option<Nanos>,
    /// I/Os a second that were asked for, over all jobs.
    pub rate_iops: Option<f64>,
    /// The option that sets the rate, as it was given.
    pub pace: Option<String>,
    /// The option that makes the load pause, as it was given.
    pub pauses: Option<String>,
    /// Share of reads in a mix, percent.
    pub reads_percent: Option<u32>,
    /// It waited for the jobs before it.
    pub stonewall: Option<bool>,
    /// Every buffer was the same, or zero.
    pub compressible: bool,
    /// Flush after so many writes.
    pub fsync: u32,
    /// The report holds the options.
    pub options_known: bool,
}

impl Conditions {
    /// Of a row.
    pub fn of(output: &Output, job: &Job) -> Conditions {
        let options_known = !job.options.is_empty() || !output.global_options.is_empty();
        let mut c = if options_known { asked(output, job) } else { Conditions::default() };
        c.options_known = options_known;
        c.jobs = job.members.max(1);
        if let Some(header) = &job.header {
            c.rw.get_or_insert_with(|| header.rw.clone());
            c.engine.get_or_insert_with(|| header.engine.clone());
            c.iodepth.get_or_insert(header.depth);
            let moved = job.moved().map(|(d, _)| header.block[(d as usize).min(2)]);
            let range = moved.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or(header.block[0]);
            c.block.get_or_insert(range);
        }
        let several = ["bssplit", "bsrange", "blocksize_range"];
        if c.block.is_none() && job.option(output, &several).is_none() {
            c.block = of_amounts(job).map(|b| (b, b));
        }
        if c.reads_percent.is_none()
            && let (Some(reads), Some(writes)) = (
                job.directions[Direction::Read].as_ref().and_then(|s| s.ios).filter(|n| *n > 0),
                job.directions[Direction::Write].as_ref().and_then(|s| s.ios).filter(|n| *n > 0),
            )
        {
            // Of a mix, what was done is what was asked for, within a percent.
            c.reads_percent = Some((100.0 * reads as f64 / (reads as f64 + writes as f64)).round() as u32);
        }
        let alone = output.jobs.iter().all(|j| j.name == job.name && j.group == job.group);
        if let Some(rate) = output.asked_rate.filter(|_| c.rate_iops.is_none() && alone) {
            (c.rate_iops, c.pace) = match (rate, c.single_block()) {
                (AskedRate::Iops(n), _) => (Some(n), Some("rate_iops".into())),
                (AskedRate::Bytes(n), Some(block)) => (Some(n / block.0 as f64), Some("rate".into())),
                _ => (None, None),
            };
        }
        // Without a latency target fio prints the job's own depth there.
        c.iodepth = c.iodepth.or(job.target.map(|t| t.depth).filter(|d| *d > 0));
        c
    }

    /// Jobs one after the other, whatever the depth.
    pub fn one_at_a_time(&self) -> bool {
        self.engine.as_deref().is_some_and(|e| ONE_AT_A_TIME.contains(&e))
    }

    /// The null engine: nothing was driven.
    pub fn is_null(&self) -> bool {
        self.engine.as_deref() == Some("null")
    }

    /// Requests that were to be in flight.
    pub fn in_flight(&self) -> Option<u64> {
        let depth = if self.one_at_a_time() { 1 } else { self.iodepth? };
        Some(u64::from(depth.max(1)) * u64::from(self.jobs))
    }

    /// The one block size.
    pub fn single_block(&self) -> Option<Bytes> {
        self.block.filter(|(low, high)| low == high).map(|(low, _)| low)
    }

    /// The pattern in our words.
    pub fn pattern(&self) -> Option<Pattern> {
        self.rw.as_deref()?.split(':').next()?.parse().ok()
    }

    /// It only reads.
    pub fn only_reads(&self) -> bool {
        self.rw
            .as_deref()
            .is_some_and(|rw| rw.starts_with("read") && !rw.contains("write") || rw.starts_with("randread"))
    }

    /// The workload as a step of ours: pattern, block, depth, threads.
    pub fn step(&self) -> Step {
        let base = Step::default();
        Step {
            rw: self.pattern().unwrap_or(base.rw),
            bs: self.single_block().map_or(base.bs, BlockSizes::one),
            iodepth: if self.one_at_a_time() { 1 } else { self.iodepth.unwrap_or(1).max(1) },
            numjobs: self.jobs,
            rwmix: self.reads_percent.unwrap_or(base.rwmix),
            rate_iops: self.rate_iops,
            ..Step::default()
        }
    }

    /// Block and pattern for people: `4 KiB random reads`.
    pub fn words(&self) -> String {
        let rw = self.rw.as_deref().unwrap_or("I/O");
        let what = match rw.split(':').next().unwrap_or(rw) {
            "read" => "sequential reads",
            "write" => "sequential writes",
            "trim" => "sequential discards",
            "randread" => "random reads",
            "randwrite" => "random writes",
            "randtrim" => "random discards",
            "rw" | "readwrite" => "sequential reads and writes",
            "randrw" => "random reads and writes",
            "trimwrite" => "discards, each followed by a write",
            other => other,
        };
        let mix = self.reads_percent.filter(|_| rw.ends_with("rw") || rw == "readwrite");
        let mix = mix.map(|p| format!(" ({p} % reads)")).unwrap_or_default();
        match self.block {
            Some((low, high)) if low == high => format!("{low} {what}{mix}"),
            Some((low, high)) => format!("{what}{mix} of {low} to {high}"),
            None => format!("{what}{mix}"),
        }
    }

    /// Depth, threads, engine, cache and target for people.
    pub fn drive(&self) -> String {
        let flight = self.in_flight().map(|n| format!("{} in flight", grouped(n)));
        let jobs = format!("{} job{}", self.jobs, if self.jobs == 1 { "" } else { "s" });
        let how: Vec<String> = [
            self.engine.clone(),
            self.iodepth.map(|d| format!("iodepth {d}")),
            Some(jobs),
            self.direct
                .filter(|_| !self.is_null())
                .map(|d| if d { "direct" } else { "through the page cache" }.to_string()),
        ]
        .into_iter()
        .flatten()
        .collect();
        let on = self.target.as_ref().map(|t| format!(", on {t}")).unwrap_or_default();
        format!("{}({}){on}", flight.map(|f| f + " ").unwrap_or_default(), how.join(", "))
    }
}

/// The options as values, those of the row over the globals.
fn asked(output: &Output, job: &Job) -> Conditions {
    let given = |(name, text): &(String, String)| {
        let option = option::find_any(name)?;
        let text = Some(text.as_str()).filter(|t| !t.is_empty());
        let (value, _) = number::read(option, text, kb_base(output, job)).ok()?;
        Some(Given { option, text: text.map(str::to_string), value, origin: Origin::Whole })
    };
    let asked = Asked {
        name: job.name.clone(),
        globals: output.global_options.iter().filter_map(given).collect(),
        own: job.options.iter().filter_map(given).collect(),
        stonewall: false,
        group: job.group,
        origin: Origin::Whole,
    };
    let there = |name: &str| asked.given(name).is_some();
    let rw = asked.choice("rw").map(|word| match asked.suffix("rw") {
        Some(suffix) => format!("{word}:{suffix}"),
        None => word.to_string(),
    });
    let split = there("bssplit") || there("bsrange");
    let blocks = asked.ints("bs").map(|n| n.and_then(|n| u64::try_from(n).ok()).map(Bytes));
    let of_moved = job.moved().filter_map(|(d, _)| blocks[(d as usize).min(2)]);
    let block = of_moved.fold(None, |range: Option<(Bytes, Bytes)>, b| {
        Some(range.map_or((b, b), |(low, high)| (low.min(b), high.max(b))))
    });
    let positive = |n: Option<i64>| n.and_then(|n| u32::try_from(n).ok());
    let rate_of = |name: &str| -> f64 {
        let rates = asked.ints(name);
        let of_moved = job.moved().filter_map(|(d, _)| rates[(d as usize).min(2)].filter(|n| *n > 0));
        of_moved.map(|n| n as f64).sum()
    };
    let block = block.filter(|_| !split);
    let one_block = block.filter(|(low, high)| low == high).map(|(low, _)| low.0 as f64);
    let by_bytes = one_block.map_or(0.0, |block| rate_of("rate") / block);
    // The tighter of two holds.
    let rate = [rate_of("rate_iops"), by_bytes].into_iter().filter(|r| *r > 0.0).min_by(f64::total_cmp);
    let line = |name: &str| asked.given(name).map(Given::line);
    let fsync = ["fsync", "fdatasync"].iter().filter_map(|name| positive(asked.int(name))).max();
    Conditions {
        rw,
        block,
        engine: Some(asked.engine().to_string()),
        iodepth: positive(asked.int("iodepth")),
        jobs: 1,
        direct: Some(asked.direct()),
        target: asked.text("filename").or_else(|| asked.text("directory")),
        size: asked.size("size").and_then(|s| match s {
            Size::Bytes(b) if b > 0 => Some(Bytes(b)),
            _ => None,
        }),
        time_based: there("time_based").then(|| asked.flag("time_based")),
        runtime: asked.time("runtime").filter(|t| t.0 > 0),
        ramp: asked.time("ramp_time"),
        rate_iops: rate.map(|r| r * f64::from(job.members.max(1))),
        pace: rate.and_then(|r| line(if r == by_bytes { "rate" } else { "rate_iops" })),
        pauses: asked.time("thinktime").filter(|t| t.0 > 0).and(line("thinktime")),
        reads_percent: Some(asked.reads()),
        stonewall: there("stonewall").then_some(true),
        compressible: asked.flag("zero_buffers"),
        fsync: fsync.unwrap_or(0),
        options_known: true,
    }
}

fn kb_base(output: &Output, job: &Job) -> u64 {
    if job.option(output, &["kb_base"]) == Some("1000") { 1000 } else { 1024 }
}

/// The block size from amounts, where all directions agree on a whole sector within what printing rounds.
fn of_amounts(job: &Job) -> Option<Bytes> {
    let of = |s: &Stats| {
        let ios = s.ios.filter(|n| *n > 0)?;
        let mean = s.bytes.0 as f64 / ios as f64;
        let power = 2f64.powf(mean.log2().round());
        let sector = (mean / 512.0).round() * 512.0;
        let near = |b: &f64| *b >= 512.0 && (mean / b - 1.0).abs() < 0.006;
        [power, sector].into_iter().find(near).map(|b| Bytes(b as u64))
    };
    let mut sizes =
        Direction::ALL.iter().filter_map(|d| job.directions[*d].as_ref()).chain(&job.mixed).map(of);
    let first = sizes.next()??;
    sizes.all(|s| s == Some(first)).then_some(first)
}

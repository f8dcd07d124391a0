//! The test that would be right, in fio's words and in volproof's; on Windows in DiskSpd's.

use serde::Serialize;

use crate::diagnose::{DEEP_QUEUE, Summary};
use crate::plan::Pattern;
use crate::record::{Conditions, Diagnosis};
use crate::stats::little::depth_needed;
use crate::unit::Bytes;

/// In flight where the test kept one or two: enough for the cap of most volumes at 1 ms.
const USUAL_DEPTH: u64 = 32;
/// Engines of fio that keep several requests in flight; those of other tools are none of fio's.
const SIDE_BY_SIDE: [&str; 3] = ["io_uring", "libaio", "posixaio"];
/// More is no depth that an engine takes.
const DEEPEST: u32 = 4096;

/// The purpose of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Shows {
    /// The rate.
    #[serde(rename = "the rate")]
    Rate,
    /// The latency by itself.
    #[serde(rename = "the latency of the volume")]
    Latency,
    /// Writes with their flushes.
    #[serde(rename = "writes that are durable")]
    Durable,
}

impl Shows {
    /// The purpose in words.
    pub fn words(self) -> &'static str {
        match self {
            Shows::Rate => "the rate",
            Shows::Latency => "the latency of the volume",
            Shows::Durable => "writes that are durable",
        }
    }

    /// Name of fio's job.
    fn job(self) -> &'static str {
        match self {
            Shows::Rate => "rate",
            Shows::Latency => "latency",
            Shows::Durable => "durable",
        }
    }
}

/// A better test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Better {
    /// Its purpose.
    pub shows: Shows,
    /// fio's command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fio: Option<String>,
    /// volproof's command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volproof: Option<String>,
    /// DiskSpd's, for a volume on Windows, where volproof does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diskspd: Option<String>,
}

impl Better {
    /// The command in each of its languages.
    pub fn commands(&self) -> impl Iterator<Item = &String> {
        [&self.fio, &self.volproof, &self.diskspd].into_iter().flatten()
    }

    /// The one command that is told where there is room for one.
    pub fn command(&self) -> Option<&String> {
        self.volproof.as_ref().or(self.diskspd.as_ref())
    }
}

/// The tests that would be right: one for the rate, and one for the latency where this one shows only its queue.
pub fn better(c: &Conditions, s: &Summary, found: &Diagnosis, promise: &[String]) -> Vec<Better> {
    let Some(pattern) = c.pattern().filter(|_| !c.is_null()) else { return Vec::new() };
    let target = c.targets.as_ref().and_then(|t| t.first());
    let target = target.map_or("TARGET".into(), |t| t.display().to_string());
    // Direct I/O is of whole sectors.
    let block = c.single_block().filter(|b| b.0 > 0 && b.0.is_multiple_of(512)).unwrap_or(Bytes::kib(4));
    let engine = match c.engine.as_ref() {
        Some(e) if !c.one_at_a_time() && SIDE_BY_SIDE.contains(&e.as_str()) => e.clone(),
        _ => "io_uring".into(),
    };
    let depth = rate_depth(c, s, found);
    let fsync = c.fsync.get().unwrap_or(0);
    let flush = fsync.max(1);
    let jobs = c.jobs.get().unwrap_or(1);
    let reads = c.reads_percent.get().filter(|_| pattern.directions().len() > 1);
    let command = |shows: Shows, depth: u32, jobs: u32| {
        if c.on_windows() {
            let diskspd = diskspd(pattern, reads, block, (depth, jobs), &target);
            return Better { shows, fio: None, volproof: None, diskspd: Some(diskspd) };
        }
        let (what, durable) = (shows.job(), shows == Shows::Durable);
        let mut fio: Vec<String> =
            ["fio".into(), format!("--name={what}"), format!("--filename={target}")].into();
        fio.extend([
            format!("--rw={}", c.rw.as_ref().map_or("randread", String::as_str)),
            format!("--bs={}", block.exact().trim_end_matches("iB").to_lowercase()),
        ]);
        if let Some(p) = reads {
            fio.push(format!("--rwmixread={p}"));
        }
        fio.extend([format!("--ioengine={engine}"), format!("--iodepth={depth}"), "--direct=1".into()]);
        if jobs > 1 {
            fio.extend([format!("--numjobs={jobs}"), "--group_reporting".into()]);
        }
        if durable {
            fio.push(format!("--fsync={flush}"));
        }
        fio.extend(["--time_based", "--runtime=300", "--ramp_time=10", "--randrepeat=0"].map(String::from));
        let mut ours: Vec<String> = ["volproof".into(), "run".into(), target.clone()].into();
        ours.extend([format!("--rw {pattern}"), format!("--bs {}", block.exact())]);
        if let Some(p) = reads {
            ours.push(format!("--rwmix {p}"));
        }
        ours.push(format!("--iodepth {depth}"));
        if jobs > 1 {
            ours.push(format!("--numjobs {jobs}"));
        }
        if durable {
            ours.push(format!("--fsync {flush}"));
        }
        ours.push("--runtime 300s --ramp 10s".into());
        ours.extend(promise.iter().cloned());
        Better { shows, fio: Some(fio.join(" ")), volproof: Some(ours.join(" ")), diskspd: None }
    };
    let deep = c.in_flight().is_some_and(|n| n > DEEP_QUEUE) && s.mean_ns.is_some();
    let mut all = Vec::new();
    let only_latency = c.in_flight() == Some(1) && s.offered.is_none();
    all.push(command(Shows::Rate, depth, jobs));
    if deep || only_latency {
        all.push(command(Shows::Latency, 1, 1));
    }
    if (s.flushes.is_some() || fsync > 0) && pattern.changes_data() {
        all.push(command(Shows::Durable, 1, 1));
    }
    all
}

/// DiskSpd's command, with `-Sh`: neither the software's nor the disk's cache, so that each write is durable. Depth and threads in a pair.
fn diskspd(
    pattern: Pattern,
    reads: Option<u32>,
    block: Bytes,
    (depth, jobs): (u32, u32),
    target: &str,
) -> String {
    let writes = match reads {
        Some(reads) => 100 - reads.min(100),
        None if pattern.changes_data() => 100,
        None => 0,
    };
    let access = if pattern.is_random() { "-r" } else { "-s" };
    let quoted = if target.contains(' ') { format!("\"{target}\"") } else { target.to_string() };
    format!(
        "diskspd -b{} {access} -w{writes} -o{depth} -t{jobs} -Sh -L -W10 -d300 {quoted}",
        block.exact().trim_end_matches("iB")
    )
}

/// The depth of each job at which a rate can show: what was asked for, and where that was one or two in flight or cannot reach the
/// promise by Little's law, more.
fn rate_depth(c: &Conditions, s: &Summary, found: &Diagnosis) -> u32 {
    let asked = c.iodepth.get().unwrap_or(1).max(1);
    let jobs = u64::from(c.jobs.get().unwrap_or(1).max(1));
    let usual = if c.in_flight().is_some_and(|n| n > 2) && !c.one_at_a_time() { 1 } else { USUAL_DEPTH };
    // As long as the volume takes by itself, where a throttle holds it.
    let own = s.own_latency(found.find("throttle").is_some());
    let needed = own.zip(s.promised).map_or(1, |(own, p)| depth_needed(p.iops, own));
    let needed = if c.in_flight().is_some_and(|n| n < needed) { needed.next_power_of_two() } else { 1 };
    let each = usual.max(needed).div_ceil(jobs);
    asked.max(u32::try_from(each).unwrap_or(u32::MAX).min(DEEPEST))
}

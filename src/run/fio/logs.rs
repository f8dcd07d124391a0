//! fio's log files of a job: which ones were asked for, what they are called, and every I/O in them.
//!
//! fio numbers the files by job and clone through the whole command (`NAME_bw.3.log`); a log without a name has that of its job.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::{devices, say};
use crate::engine::{Trace, Traced};
use crate::fio::command::Command;
use crate::fio::job::Job;
use crate::fio::logs::{self, Entry, Kind, Style};
use crate::run::Failure;
use crate::unit::Nanos;

/// Options that ask for logs, and the kinds that each asks for.
const ASKED: [(&str, &[Kind]); 3] = [
    ("write_bw_log", &[Kind::Bandwidth]),
    ("write_iops_log", &[Kind::Iops]),
    ("write_lat_log", &[Kind::Submission, Kind::Completion, Kind::Total]),
];

/// Logs of all jobs together, by fio.
pub const TOGETHER: [&str; 3] = ["agg-read_bw.log", "agg-write_bw.log", "agg-trim_bw.log"];

/// Every log that a command may write, by whoever runs it.
pub fn names(command: &Command) -> Vec<PathBuf> {
    let mut names: Vec<String> = Vec::new();
    if command.bandwidth_log {
        names.extend(TOGETHER.map(String::from));
    }
    let mut thread = 1;
    for job in &command.jobs {
        let clones = job.int("numjobs").unwrap_or(1).max(1) as u32;
        let words = ASKED.iter().map(|(option, kinds)| (*option, kinds.iter().map(|k| k.word()).collect()));
        for (option, words) in words.chain([("write_hist_log", vec!["clat_hist"])]) {
            let Some(prefix) = prefix(job, option) else { continue };
            for word in words {
                let numbers: Vec<Option<u32>> = match job.flag("per_job_logs") {
                    true => (thread..thread + clones).map(Some).collect(),
                    false => vec![None],
                };
                for number in numbers {
                    let name = logs::file_name(&prefix, word, number);
                    // Kept compressed, it has another name.
                    names.extend([format!("{name}.fz"), name]);
                }
            }
        }
        thread += clones;
    }
    names.into_iter().map(PathBuf::from).collect()
}

/// Writes the logs of the clones in a step; `thread` is the number of the first of them.
///
/// # Errors
/// A log cannot be written.
pub fn write(job: &Job, thread: u32, traces: &[Trace]) -> Result<(), Failure> {
    let milliseconds = |name| Nanos::millis(job.int(name).unwrap_or(0).max(0) as u64);
    let style = Style {
        average: milliseconds("log_avg_msec"),
        largest: job.flag("log_max_value"),
        offsets: job.flag("log_offset"),
        priorities: job.flag("log_prio"),
    };
    for trace in traces {
        let number = job.flag("per_job_logs").then_some(thread + trace.worker);
        let entries: Vec<Entry> = trace.ios.iter().map(|io| entry(trace, io)).collect();
        let window = entries.last().map_or(Nanos(0), |last| last.at);
        for (option, kinds) in ASKED {
            let Some(prefix) = prefix(job, option) else { continue };
            for kind in kinds.iter().filter(|kind| !disabled(job, **kind)) {
                let name = logs::file_name(&prefix, kind.word(), number);
                file(&name, number.is_none(), |out| logs::write(out, *kind, style, &entries, window))?;
            }
        }
        if let Some(prefix) = prefix(job, "write_hist_log") {
            let name = logs::file_name(&prefix, "clat_hist", number);
            let every = milliseconds("log_hist_msec");
            let coarseness = job.int("log_hist_coarseness").unwrap_or(0).clamp(0, 6) as u32;
            file(&name, number.is_none(), |out| {
                logs::write_histograms(out, every, coarseness, &entries, window)
            })?;
        }
        if trace.left_out > 0 {
            say::say(&format!("{}: {} I/Os had no room in the logs", job.name, trace.left_out));
        }
    }
    Ok(())
}

/// The front of a log's name, when it was asked for.
fn prefix(job: &Job, option: &str) -> Option<String> {
    job.given(option)?;
    Some(job.text(option).filter(|name| !name.is_empty()).unwrap_or_else(|| job.name.clone()))
}

fn disabled(job: &Job, kind: Kind) -> bool {
    match kind {
        Kind::Submission => job.flag("disable_slat"),
        Kind::Completion => job.flag("disable_clat"),
        Kind::Total => job.flag("disable_lat"),
        Kind::Bandwidth | Kind::Iops => false,
    }
}

fn entry(trace: &Trace, io: &Traced) -> Entry {
    Entry {
        at: io.at,
        latency: io.latency,
        direction: io.direction,
        length: io.length,
        offset: io.offset,
        priority: trace.priorities.get(usize::from(io.priority)).map_or(0, |prio| prio.number()),
    }
}

/// A file of its own, or the shared one that clones add to.
fn file(
    name: &str,
    shared: bool,
    write: impl FnOnce(&mut BufWriter<std::fs::File>) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let written = devices::create(Path::new(name), shared).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    });
    written.with_context(|| format!("writing the log {name}")).map_err(Failure::from)
}

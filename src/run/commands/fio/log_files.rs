//! fio's log files of a job: which ones were asked for, what they are called, and every I/O in them.
//!
//! fio numbers the files by job and clone through the whole command (`NAME_bw.3.log`); a log without a name has that of its job.

use std::path::{Path, PathBuf};

use super::messages;
use crate::engine::{Trace, TracedIo};
use crate::fio::command::Command;
use crate::fio::job::Job;
use crate::fio::logs::{self, JobLog, LogEntry, LogKind, LogStyle};
use crate::output::{Content, MisplacedOutput, OutputFile};
use crate::unit::Nanos;

/// Options that ask for logs, and the kinds that each asks for.
const ASKED: [(&str, &[LogKind]); 3] = [
    ("write_bw_log", &[LogKind::Bandwidth]),
    ("write_iops_log", &[LogKind::Iops]),
    ("write_lat_log", &[LogKind::Submission, LogKind::Completion, LogKind::Total]),
];

/// Logs of `--bandwidth-log`, which fio writes.
const TOGETHER: [&str; 3] = ["agg-read_bw.log", "agg-write_bw.log", "agg-trim_bw.log"];

/// Every log that a command may write, whether volproof or the installed fio runs it.
pub fn names(command: &Command) -> Vec<PathBuf> {
    let mut names: Vec<String> = Vec::new();
    if command.needs_fio.iter().any(|(flag, _)| flag == "--bandwidth-log") {
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
                    // Kept compressed, it has another name as well.
                    let packed = job.flag("log_store_compressed").then(|| format!("{name}.fz"));
                    names.extend([name].into_iter().chain(packed));
                }
            }
        }
        thread += clones;
    }
    names.into_iter().map(PathBuf::from).collect()
}

/// A log that was opened and checked before the run, and the name that the jobs give it.
pub struct OpenLog {
    /// The name that the jobs give it.
    pub named: PathBuf,
    /// Where it goes.
    pub file: OutputFile,
}

/// Writes the logs of the clones in a step; `thread` is the number of the first of them. False when one could not be written where it
/// belongs, which is said.
pub fn write(logs: &mut [OpenLog], job: &Job, thread: u32, traces: &[Trace]) -> bool {
    let mut whole = true;
    let milliseconds = |name| Nanos::millis(job.int(name).unwrap_or(0).max(0) as u64);
    let style = LogStyle {
        average: milliseconds("log_avg_msec"),
        largest: job.flag("log_max_value"),
        offsets: job.flag("log_offset"),
    };
    for trace in traces {
        let number = job.flag("per_job_logs").then_some(thread + trace.worker);
        let entries: Vec<LogEntry> = trace.ios.iter().map(entry).collect();
        let window = entries.last().map_or(Nanos(0), |last| last.at);
        for (option, kinds) in ASKED {
            let Some(prefix) = prefix(job, option) else { continue };
            for kind in kinds.iter().filter(|kind| !disabled(job, **kind)) {
                let name = logs::file_name(&prefix, kind.word(), number);
                whole &= file(logs, &name, number.is_none(), &|mut out| {
                    JobLog { kind: *kind, style, ios: &entries, window }.write(&mut out)
                });
            }
        }
        if trace.left_out > 0 {
            messages::say(&format!("{}: {} I/Os had no room in the logs", job.name, trace.left_out));
        }
    }
    whole
}

/// The front of a log's name, when it was asked for.
fn prefix(job: &Job, option: &str) -> Option<String> {
    job.given(option)?;
    Some(job.text(option).filter(|name| !name.is_empty()).unwrap_or_else(|| job.name.clone()))
}

fn disabled(job: &Job, kind: LogKind) -> bool {
    match kind {
        LogKind::Submission => job.flag("disable_slat"),
        LogKind::Completion => job.flag("disable_clat"),
        LogKind::Total => job.flag("disable_lat"),
        LogKind::Bandwidth | LogKind::Iops => false,
    }
}

fn entry(io: &TracedIo) -> LogEntry {
    LogEntry { at: io.at, latency: io.latency, direction: io.direction, length: io.length, offset: io.offset }
}

/// Writes a file of its own, or at the end of the one that clones share. What somebody else wrote under the name since the run began stays, and
/// the log is beside it. A log that cannot be written goes to the temporary folder.
fn file(logs: &mut [OpenLog], name: &str, shared: bool, content: Content<'_>) -> bool {
    let log =
        logs.iter_mut().find(|log| log.named == Path::new(name)).expect("every log is opened before the run");
    let told = log.file.other_name();
    let written = if shared { log.file.append(content) } else { log.file.save(content) };
    let moved = log.file.other_name();
    if let Some(now) = moved.as_ref().filter(|_| moved != told) {
        messages::say(now);
    }
    if let Err(e) = &written {
        messages::say(&MisplacedOutput::save(Path::new(name), e, content).to_string());
    }
    moved.is_none() && written.is_ok()
}

//! Two snapshots of /proc/diskstats in one text, each below its time (`date +%s; cat /proc/diskstats`): what each disk completed between them.
//!
//! Source: Documentation/admin-guide/iostats.rst of the kernel. Sectors are of 512 bytes, times in milliseconds.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::disk_activity::DiskActivity;
use super::{ForeignReport, ForeignReports, LineReader, printed};
use volproof_base::unit::Nanos;
use volproof_record::{ReportForm, ReportProgram};

/// Fields that are read, behind the name: four of reads, four of writes, in flight, busy, and the time of all requests.
const FIELDS: usize = 11;

/// Seconds since 1970 of this century.
const EPOCHS: std::ops::Range<u64> = 946_684_800..4_102_444_800;

/// The counters of all disks at one moment.
type Snapshot = BTreeMap<String, [u64; FIELDS]>;

/// Reads snapshots of /proc/diskstats.
#[derive(Default)]
pub struct DiskstatsReader {
    time: Option<Timestamp>,
    snapshots: Vec<(Option<Timestamp>, Snapshot)>,
}

impl LineReader for DiskstatsReader {
    fn line(&mut self, line: &str, _: &mut ForeignReports) {
        // Seconds since 1970 alone on a line: a moment in words would be taken for the prefix of a log.
        if let Some(at) = printed::whole(line).filter(|seconds| EPOCHS.contains(seconds)) {
            self.time = Timestamp::from_second(at as i64).ok();
        }
        let Some((name, fields)) = counters(line) else { return };
        let is_next = self.snapshots.last().is_none_or(|(_, disks)| disks.contains_key(&name));
        if is_next && self.snapshots.len() < crate::foreign_reports::MOST_REPORTS {
            self.snapshots.push((self.time.take(), Snapshot::new()));
        }
        if let Some((_, disks)) = self.snapshots.last_mut() {
            disks.insert(name, fields);
        }
    }

    fn end(&mut self, found: &mut ForeignReports) {
        let snapshots = std::mem::take(&mut self.snapshots);
        let (Some((began, first)), Some((ended, last))) = (snapshots.first(), snapshots.last()) else {
            return;
        };
        let mut report = ForeignReport::new(ReportProgram::Diskstats, "/proc/diskstats", ReportForm::Text);
        let length = began.zip(*ended).map(|(from, to)| to.as_nanosecond() - from.as_nanosecond());
        let length = length.and_then(|ns| u64::try_from(ns).ok()).filter(|ns| *ns > 0).map(Nanos);
        report.written = ended.map(|at| at.to_string());
        if snapshots.len() < 2 {
            report.partial = Some("one snapshot counts since the machine started: put two into one file, each below its time (date +%s)".into());
        } else if let Some(length) = length {
            for (disk, fields) in last {
                let since = first.get(disk).and_then(|before| since(before, fields));
                since.into_iter().for_each(|since| counts_of(&since, length).report(disk, &mut report));
            }
        } else {
            report.partial =
                Some("the time between the two snapshots is missing: write date +%s above each".into());
        }
        found.add(report);
    }
}

/// A line of /proc/diskstats: numbers of the device, its name, and its counters.
fn counters(line: &str) -> Option<(String, [u64; FIELDS])> {
    let mut words = line.split_ascii_whitespace();
    printed::whole(words.next()?)?;
    printed::whole(words.next()?)?;
    let name = words.next()?.to_string();
    let mut fields = [0; FIELDS];
    for field in &mut fields {
        *field = printed::whole(words.next()?)?;
    }
    let is_name = name.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    (is_name && words.all(|word| printed::whole(word).is_some())).then_some((name, fields))
}

/// What was counted since; none where a counter fell.
fn since(before: &[u64; FIELDS], after: &[u64; FIELDS]) -> Option<[u64; FIELDS]> {
    let mut all = [0; FIELDS];
    for (i, field) in all.iter_mut().enumerate() {
        // Requests in flight are no counter.
        *field = if i == 8 { after[i] } else { after[i].checked_sub(before[i])? };
    }
    Some(all)
}

fn counts_of(fields: &[u64; FIELDS], length: Nanos) -> DiskActivity {
    let rates = |at: usize, scale: f64| [at, at + 4].map(|i| fields[i] as f64 * scale / length.as_seconds());
    let latency = |at: usize| (fields[at] > 0).then(|| fields[at + 3] as f64 / fields[at] as f64 * 1e6);
    let share = |ms: u64| ms as f64 / (length.as_seconds() * 1e3);
    DiskActivity {
        iops: rates(0, 1.0),
        merges_per_second: rates(1, 1.0),
        bytes_per_second: rates(2, 512.0),
        latency_ns: [latency(0), latency(4)],
        queue: share(fields[10]),
        busy: share(fields[9]).min(1.0),
        length,
        length_is_assumed: false,
    }
}

//! The demand in a file, of whatever kind: a Record, a report of another tool, a log of `iostat -x`, the file of a watch, metrics that a
//! provider counted.
//!
//! [`demand_of_files`] is the one place that knows the kinds. A new kind gets a reader there, which makes a [`DemandPart`] of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::evidence_files;
use crate::result_file;
use volproof_base::input;
use volproof_base::sample::{Direction, Series, Stream};
use volproof_base::unit::{Nanos, moment, significant};
use volproof_evidence::{self as evidence, EvidenceError, Meaning, MetricSeries};
use volproof_promise::catalogue::Promise;
use volproof_readers::{DiskActivity, DiskSeries, disk_series};
use volproof_record::{Record, StepRecord};
use volproof_size::{Demand, DemandMoment, DemandPart};
use volproof_watch::{WatchHistory, WatchSpan};

/// A demand below this share of what was offered was held back.
const KEPT_SCHEDULE: f64 = 0.99;
/// The sample of a watch.
const SLOT_SECONDS: f64 = 0.1;
/// Means over more than this hide bursts.
const HIDES_BURSTS: f64 = 1.0;

/// The minutes of a watch lie by no more than this further apart than they last.
const UNEVEN: f64 = 1.01;
/// A shorter time without data is that between two readings.
const LEAST_TOLD: f64 = 1.0;

/// What is asked of the files.
#[derive(Clone, Copy, Debug, Default)]
pub struct DemandChoice<'a> {
    /// The disk of a log, or the volume of metrics, where a file has several.
    pub disk: Option<&'a str>,
    /// The interval of `iostat`, which does not print it.
    pub interval: Option<Nanos>,
}

/// The demand of files, and the promise that a Record among them was held against.
#[derive(Debug, Default)]
pub struct FoundDemand {
    /// The sum over all files.
    pub demand: Demand,
    /// The promise of the volume.
    pub promise: Option<Promise>,
}

/// Reads the files.
#[derive(Default)]
struct Gathered {
    parts: Vec<DemandPart>,
    lower_bounds: Vec<String>,
    promise: Option<Promise>,
    metrics: Vec<MetricSeries>,
    /// Files that are watches.
    watches: usize,
    /// The time between the minutes of watches in which nothing was watched.
    unwatched_seconds: f64,
    /// The end of the parts.
    end: f64,
}

/// The demand of files of any known kind.
///
/// # Errors
/// A file cannot be read, is of no known kind, has several disks and none is named, or lacks what is needed.
pub fn demand_of_files(paths: &[PathBuf], choice: DemandChoice) -> anyhow::Result<FoundDemand> {
    let mut gathered = Gathered::default();
    for path in paths {
        gathered.file(path, choice)?;
    }
    gathered.of_metrics(choice)?;
    let Gathered { parts, mut lower_bounds, promise, watches, unwatched_seconds, .. } = gathered;
    lower_bounds.dedup();
    let sample_seconds = (watches == paths.len()).then_some(SLOT_SECONDS);
    let mut demand = Demand { lower_bounds, sample_seconds, ..Demand::of_parts(&parts) };
    let Some(summary) = demand.summary() else {
        bail!("the files tell of no I/O: nothing is asked of a volume")
    };
    demand.unknown_seconds += unwatched_seconds;
    if demand.unknown_seconds >= LEAST_TOLD {
        let length = Nanos((demand.unknown_seconds * 1e9) as u64).clock();
        demand.lower_bounds.push(format!(
            "of {length} in between nothing is known: it is left out, and no credits are earned in it"
        ));
    }
    if summary.moment_seconds > HIDES_BURSTS {
        let length = significant(summary.moment_seconds);
        demand.lower_bounds.push(format!("means over {length} s hide what is shorter"));
    }
    Ok(FoundDemand { demand, promise })
}

impl Gathered {
    /// One file: its content tells its kind.
    fn file(&mut self, path: &Path, choice: DemandChoice) -> anyhow::Result<()> {
        let bytes =
            input::read(path).with_context(|| format!("cannot read {}", input::named(path).display()))?;
        if WatchHistory::is_one(&bytes) {
            let history = WatchHistory::read(&bytes).with_context(|| path.display().to_string())?;
            self.watch(&history);
            return Ok(());
        }
        if let Some(record) = result_file::stored(&bytes, input::named(path))? {
            self.record(&record)?;
            return Ok(());
        }
        let text = evidence_files::text_of_bytes(path, bytes.clone());
        match evidence::read(std::slice::from_ref(&text)) {
            Ok(found) if !found.series.is_empty() => {
                self.metrics.extend(found.series);
                return Ok(());
            }
            Ok(_) | Err(EvidenceError::OnePage { .. }) => {
                bail!(
                    "{}: counters of a moment have no course in time: give metrics by the minute",
                    text.origin
                )
            }
            Err(EvidenceError::Unknown { .. } | EvidenceError::NoJson { .. } | EvidenceError::Cut { .. }) => {
            }
            Err(other) => return Err(other.into()),
        }
        let disks = disk_series(&bytes);
        if disks.is_empty() {
            return self.record(&result_file::only(&bytes, input::named(path))?);
        }
        self.disk(&text.origin, &disks, choice)
    }

    /// Adds the parts of a file behind those of the files before.
    fn add(&mut self, mut parts: Vec<DemandPart>) {
        let first = parts.iter().map(|part| part.start).fold(f64::INFINITY, f64::min);
        parts.iter_mut().for_each(|part| part.start += self.end - first);
        self.end = parts.iter().map(DemandPart::end).fold(self.end, f64::max);
        self.parts.extend(parts);
    }

    /// A Record, or a report as one.
    fn record(&mut self, record: &Record) -> anyhow::Result<()> {
        if record.fleet.is_some() {
            bail!("a fleet is no demand of one volume: give the Record of one of its machines");
        }
        if let Some(judged) =
            record.judged_promise.as_ref().filter(|judged| judged.promise.volumes.len() == 1)
        {
            self.promise = Some(judged.promise.clone());
        }
        let starts: Option<Vec<f64>> = record.steps.iter().map(started).collect();
        let (mut parts, mut end): (Vec<DemandPart>, f64) = (Vec::new(), 0.0);
        for (i, step) in record.steps.iter().enumerate() {
            let start = starts.as_ref().map_or(end, |starts| starts[i]);
            // Between its steps a run asks for nothing.
            if i > 0 && start > end {
                parts.push(DemandPart { start: end, moments: vec![DemandMoment::idle(start - end)] });
            }
            let moments = moments_of(step);
            end = end.max(start + moments.iter().map(|m| m.seconds).sum::<f64>());
            parts.push(DemandPart { start, moments });
            self.lower_bounds.extend(held_back(step));
        }
        self.add(parts);
        Ok(())
    }

    /// The disk of a log.
    fn disk(&mut self, origin: &str, disks: &[DiskSeries], choice: DemandChoice) -> anyhow::Result<()> {
        let is_used =
            |d: &&DiskSeries| d.tables.iter().any(|t| t.activity.iops[0] + t.activity.iops[1] > 0.0);
        let used: Vec<&DiskSeries> = disks.iter().filter(is_used).collect();
        let names: Vec<&str> = disks.iter().map(|d| d.disk.as_str()).collect();
        let found = match choice.disk {
            Some(name) => disks.iter().find(|d| d.disk == name.trim_start_matches("/dev/")),
            None if used.len() == 1 => Some(used[0]),
            None => None,
        };
        let Some(found) = found else {
            bail!("{origin} tells of several disks: name one with --disk: {}", names.join(", "))
        };
        if found.tables.is_empty() {
            bail!(
                "{origin} has one table, which counts since the machine started: let iostat -x 1 run for longer"
            );
        }
        let mut parts = vec![DemandPart::default()];
        for table in &found.tables {
            if !table.unknown_before.is_zero() {
                let start = parts[parts.len() - 1].end() + table.unknown_before.as_seconds();
                parts.push(DemandPart { start, moments: Vec::new() });
            }
            let last = parts.len() - 1;
            parts[last].moments.push(moment_of_table(&table.activity, choice.interval));
        }
        self.add(parts);
        if found.tables[0].activity.length_is_assumed && choice.interval.is_none() {
            self.lower_bounds.push(
                "iostat printed no times: an interval of 1 s is assumed, --interval says another".into(),
            );
        }
        Ok(())
    }

    /// The minutes and hours of a watch.
    fn watch(&mut self, history: &WatchHistory) {
        self.watches += 1;
        self.unwatched_seconds += unwatched_seconds(&history.spans);
        let moments = history.spans.iter().flat_map(moments_of_span).collect();
        self.add(vec![DemandPart { start: 0.0, moments }]);
        let throttled = history.spans.iter().map(throttled).fold(0, u64::saturating_add);
        if throttled > 0 {
            let length = Nanos(throttled).length();
            self.lower_bounds
                .push(format!("the volume was throttled for {length}, by the provider's counters"));
        }
    }

    /// Metrics of all files together: some providers print each into a file of its own.
    fn of_metrics(&mut self, choice: DemandChoice) -> anyhow::Result<()> {
        let mut volumes: Vec<&str> = self.metrics.iter().filter_map(|s| s.volume.as_deref()).collect();
        volumes.sort_unstable();
        volumes.dedup();
        let asked = choice.disk.or(volumes.first().copied().filter(|_| volumes.len() == 1));
        if volumes.len() > 1 && choice.disk.is_none() {
            bail!("the metrics are of several volumes: name one with --disk: {}", volumes.join(", "));
        }
        if let Some(name) = choice.disk.filter(|name| !volumes.is_empty() && !volumes.contains(name)) {
            bail!("the metrics have no volume {name}: they are of {}", volumes.join(", "));
        }
        let is_meant = |s: &&MetricSeries| s.volume.is_none() || s.volume.as_deref() == asked;
        let series: Vec<&MetricSeries> = self.metrics.iter().filter(is_meant).collect();
        if series.is_empty() {
            return Ok(());
        }
        let (parts, exceeded) = parts_of_metrics(&series)?;
        self.add(parts);
        if exceeded > 0.0 {
            let length = Nanos((exceeded * 1e9) as u64).clock();
            self.lower_bounds
                .push(format!("the provider's checks say that a limit was exceeded in periods of {length}"));
        }
        Ok(())
    }
}

/// The time between the spans of a watch that none of them covers.
fn unwatched_seconds(spans: &[WatchSpan]) -> f64 {
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return 0.0 };
    let known: f64 = spans.iter().map(|s| s.covered_ns.as_seconds() + s.absent_ns.as_seconds()).sum();
    let last_length = last.covered_ns.as_seconds() + last.absent_ns.as_seconds();
    let between = last.start_unix_ms.saturating_sub(first.start_unix_ms) as f64 / 1000.0 + last_length;
    // Two readings are a moment apart.
    if between > known * UNEVEN { between - known } else { 0.0 }
}

/// The time for which the provider counted a limit as exceeded, in nanoseconds.
fn throttled(span: &WatchSpan) -> u64 {
    span.throttled.map_or(0, |times| times.volume_ns.0.max(times.instance_ns.0))
}

/// The moments of a minute of a watch. Its tenths of a second are known by their demand and not by their order: those that asked for most come
/// first. An hour is a row of minutes that are alike.
fn moments_of_span(span: &WatchSpan) -> Vec<DemandMoment> {
    let minutes = span.covered_ns.0.div_ceil(60_000_000_000).clamp(1, 60);
    let [reads, writes, ..] = span.counts;
    let read_ios = reads.ios as f64 / (reads.ios + writes.ios).max(1) as f64;
    let read_bytes = reads.bytes as f64 / (reads.bytes + writes.bytes).max(1) as f64;
    let part = |n: u64| n as f64 / minutes as f64;
    let mut buckets = span.demand.clone();
    buckets.sort_by(|a, b| b.iops().total_cmp(&a.iops()));
    let mut minute: Vec<DemandMoment> = Vec::with_capacity(buckets.len() + 1);
    for bucket in &buckets {
        let (ios, bytes) = (part(bucket.ios), part(bucket.bytes));
        minute.push(DemandMoment {
            seconds: part(bucket.slots) * SLOT_SECONDS,
            ios: [ios * read_ios, ios * (1.0 - read_ios)],
            bytes: [bytes * read_bytes, bytes * (1.0 - read_bytes)],
        });
    }
    let told: f64 = minute.iter().map(|m| m.seconds).sum();
    let length = (span.covered_ns.as_seconds() + span.absent_ns.as_seconds()) / minutes as f64;
    minute.push(DemandMoment::idle((length - told).max(0.0)));
    minute.iter().copied().cycle().take(minute.len() * minutes as usize).collect()
}

/// When the load of a step began, in seconds since 1970.
fn started(step: &StepRecord) -> Option<f64> {
    let at = moment(step.started.said()?)?;
    Some(at.as_nanosecond() as f64 / 1e9 + step.set_up_ns.as_seconds())
}

/// A table of `iostat`.
fn moment_of_table(table: &DiskActivity, interval: Option<Nanos>) -> DemandMoment {
    let seconds = interval.filter(|_| table.length_is_assumed).unwrap_or(table.length).as_seconds();
    DemandMoment {
        seconds,
        ios: table.iops.map(|n| n * seconds),
        bytes: table.bytes_per_second.map(|n| n * seconds),
    }
}

/// The moments of a step: its samples, or of a report its means.
fn moments_of(step: &StepRecord) -> Vec<DemandMoment> {
    if step.reported.is_none() {
        return moments_of_series(step.targets.iter().map(|target| &target.series));
    }
    let seconds = step.window_ns.as_seconds();
    let rate = |d: &Option<volproof_record::DirectionSummary>| {
        d.as_ref().map_or((0.0, 0.0), |d| (d.iops * seconds, d.bytes_per_second * seconds))
    };
    let (reads, writes) = (rate(&step.read), rate(&step.write));
    vec![DemandMoment { seconds, ios: [reads.0, writes.0], bytes: [reads.1, writes.1] }]
}

/// The samples of all targets together: all series of a step have one grid.
fn moments_of_series<'a>(all: impl Iterator<Item = &'a Series>) -> Vec<DemandMoment> {
    let mut moments: Vec<DemandMoment> = Vec::new();
    for series in all {
        let (length, window) = (series.interval_ns.as_seconds(), series.window_ns.as_seconds());
        for (d, direction) in [Direction::Read, Direction::Write].into_iter().enumerate() {
            let Some(Stream { track, .. }) = series.stream(direction) else { continue };
            for (i, (ios, bytes)) in track.ios.iter().zip(&track.bytes).enumerate() {
                let seconds = length.min(window - i as f64 * length);
                if moments.len() <= i {
                    moments.push(DemandMoment::idle(seconds.max(1e-3)));
                }
                moments[i].ios[d] += *ios as f64;
                moments[i].bytes[d] += *bytes as f64;
            }
        }
    }
    moments
}

/// Why more may have been asked for in a step than its samples show.
fn held_back(step: &StepRecord) -> Vec<String> {
    let mut reasons = Vec::new();
    let exceeded =
        step.provider.iter().map(|p| p.volume_exceeded.longest().max(p.instance_exceeded.longest()));
    if let Some(longest) = exceeded.max().filter(|time| time.0 > 0) {
        reasons.push(format!(
            "{} was throttled for {}, by the provider's counters",
            step.name,
            longest.length()
        ));
    }
    match &step.open_loop {
        Some(open) if open.achieved_per_second >= KEPT_SCHEDULE * open.offered_per_second => {}
        Some(open) => reasons.push(format!(
            "{} offered {} I/Os a second, and {} were done",
            step.name,
            significant(open.offered_per_second),
            significant(open.achieved_per_second)
        )),
        None => reasons
            .push(format!("{} asks for as much as it gets: what it got is what the volume gave", step.name)),
    }
    reasons
}

/// The metric tells what was asked for.
fn is_demand(meaning: Meaning) -> bool {
    matches!(
        meaning,
        Meaning::Reads
            | Meaning::Writes
            | Meaning::Ios
            | Meaning::ReadBytes
            | Meaning::WrittenBytes
            | Meaning::Bytes
    )
}

/// Metrics as a demand, and the seconds of periods in which the provider says that a limit was exceeded.
fn parts_of_metrics(series: &[&MetricSeries]) -> anyhow::Result<(Vec<DemandPart>, f64)> {
    let has = |wanted: Meaning| series.iter().any(|s| s.meaning == wanted);
    for (ios, bytes, name) in [
        (Meaning::Reads, Meaning::ReadBytes, "reads"),
        (Meaning::Writes, Meaning::WrittenBytes, "writes"),
        (Meaning::Ios, Meaning::Bytes, "I/Os"),
    ] {
        if has(ios) != has(bytes) {
            bail!("the metrics tell only one of {name} and their bytes: ask for both");
        }
    }
    let is_apart = has(Meaning::Reads) || has(Meaning::Writes);
    if !is_apart && !has(Meaning::Ios) {
        bail!("the metrics tell neither reads and writes nor their bytes: ask for these");
    }
    // By beginning and end.
    let mut periods: BTreeMap<(i64, i64), DemandMoment> = BTreeMap::new();
    let mut exceeded: BTreeMap<i64, f64> = BTreeMap::new();
    for one in series {
        for (from, to, figure) in &one.points {
            let seconds = (to - from) as f64 / 1e9;
            if one.meaning.is_limit() {
                if *figure > 0.0 {
                    exceeded.insert(*from, seconds);
                }
                continue;
            }
            if !is_demand(one.meaning) {
                continue;
            }
            let moment = periods.entry((*from, *to)).or_insert_with(|| DemandMoment::idle(seconds));
            match one.meaning {
                Meaning::Reads => moment.ios[0] = figure * seconds,
                Meaning::Writes => moment.ios[1] = figure * seconds,
                Meaning::ReadBytes => moment.bytes[0] = figure * seconds,
                Meaning::WrittenBytes => moment.bytes[1] = figure * seconds,
                // Where a file does not tell them apart, all are taken as reads.
                Meaning::Ios if !is_apart => moment.ios[0] = figure * seconds,
                Meaning::Bytes if !is_apart => moment.bytes[0] = figure * seconds,
                _ => {}
            }
        }
    }
    periods.retain(|_, moment| moment.seconds > 0.0);
    let first = periods.keys().next().map_or(0, |(from, _)| *from);
    let part = |((from, _), moment): ((i64, i64), DemandMoment)| DemandPart {
        start: (from - first) as f64 / 1e9,
        moments: vec![moment],
    };
    Ok((periods.into_iter().map(part).collect(), exceeded.values().sum()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use proptest::prelude::*;
    use volproof_watch::{ClockReading, MAGIC, StatCounters, WatchFrame, Watcher};

    /// The file of a watch of so many tenths of a second, with the reads of each.
    fn watched(tenths: u64, reads: impl Fn(u64) -> u64) -> Vec<u8> {
        let at =
            |tenth: u64| ClockReading { elapsed: Nanos::millis(tenth * 100), unix_ms: tenth as i64 * 100 };
        let mut watcher = Watcher::begin(at(0), None, std::iter::empty());
        let mut fields = [0; 17];
        for tenth in 0..=tenths {
            watcher.sample(at(tenth), StatCounters::from_fields(fields));
            fields[0] += reads(tenth);
            fields[2] += reads(tenth) * 32;
            fields[3] += reads(tenth);
        }
        watcher.finish(at(tenths));
        let mut file = MAGIC.to_vec();
        file.extend(WatchFrame::Header(Box::default()).encode());
        watcher.take_frames().iter().for_each(|frame| file.extend(frame.encode()));
        file
    }

    /// The demand of a file with this text.
    fn demand_of(text: &str, name: &str) -> Demand {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        demand_of_files(&[path], DemandChoice::default()).unwrap().demand
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn minutes_without_data_are_not_known_and_not_idle(has in prop::collection::vec(0..3u8, 2..80)) {
            // 0: no row, 1: a row of zeros, 2: a row of a busy minute; the ends are busy, and two rows tell the period.
            let mut kinds = has;
            let last = kinds.len() - 1;
            (kinds[0], kinds[1], kinds[last]) = (2, 2, 2);
            let mut text = String::from("time,VolumeReadOps,VolumeWriteOps,VolumeReadBytes,VolumeWriteBytes\n");
            for (minute, kind) in kinds.iter().enumerate().filter(|(_, kind)| **kind > 0) {
                let ios = if *kind == 2 { 6000 } else { 0 };
                let (hour, minute) = (minute / 60, minute % 60);
                text += &format!("2026-11-01T{hour:02}:{minute:02}:00Z,{ios},0,{},0\n", ios * 4096);
            }
            let demand = demand_of(&text, "m.csv");
            let count = |wanted: u8| kinds.iter().filter(|kind| **kind == wanted).count() as f64;
            let summary = demand.summary().unwrap();
            prop_assert!((summary.unknown_seconds - 60.0 * count(0)).abs() < 1e-3, "{summary:?}");
            prop_assert!((summary.seconds - 60.0 * (count(1) + count(2))).abs() < 1e-3, "{summary:?}");
            prop_assert!((summary.iops_most - 100.0).abs() < 1e-6, "{summary:?}");
            prop_assert_eq!(summary.lower_bounds.iter().any(|why| why.contains("nothing is known")), count(0) > 0.0);
        }

        #[test]
        fn a_pause_of_iostat_is_not_known_and_moves_no_table(
            interval in 1i64..30, before in 3usize..40, after in 3usize..40, pause in 100i64..100_000, restarted in any::<bool>()
        ) {
            let head = "Linux 6.1.0 (host) \t11/20/26 \t_x86_64_\t(2 CPU)\n";
            let mut text = String::from(head);
            for table in 0..=before + after {
                let late = if table > before { pause } else { 0 };
                let at = Timestamp::from_second(1_795_168_800 + table as i64 * interval + late).unwrap();
                if restarted && table == before + 1 {
                    text += head;
                }
                let iops = if table == 0 { 1.0 } else { 500.0 };
                text += &format!("\n{at}\nDevice r/s w/s rkB/s wkB/s %util\nsda {iops} 0.00 2000.00 0.00 10.00\n");
            }
            let summary = demand_of(&text, "i.log").summary().unwrap();
            let tables = before + after - usize::from(restarted);
            prop_assert!((summary.seconds - (tables as i64 * interval) as f64).abs() < 1e-3, "{summary:?}");
            prop_assert!((summary.moment_seconds - interval as f64).abs() < 1e-6, "{summary:?}");
            prop_assert!((summary.unknown_seconds - (pause + i64::from(restarted) * interval) as f64).abs() < 1e-3, "{summary:?}");
        }
    }

    #[test]
    fn a_watch_is_a_demand_of_tenths_of_a_second() {
        // 100 a second for ten minutes; 2,000 a second for two seconds of the third minute.
        let reads = |tenth: u64| if (1500..1520).contains(&tenth) { 200 } else { 10 };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("v.watch");
        std::fs::write(&path, watched(6000, reads)).unwrap();
        let found = demand_of_files(&[path], DemandChoice::default()).unwrap();
        let summary = found.demand.summary().unwrap();
        assert_eq!(summary.ios, 10.0 * 5980.0 + 200.0 * 20.0);
        assert!((summary.seconds - 600.0).abs() < 0.2, "{summary:?}");
        assert!((summary.iops_most - 2000.0).abs() < 1.0, "{summary:?}");
        assert_eq!((summary.moment_seconds, summary.read_share, summary.block_bytes), (0.1, 1.0, 16384.0));
        assert!(found.demand.lower_bounds.is_empty(), "{:?}", found.demand.lower_bounds);
    }
}

//! A timespan of DiskSpd, and what it comes to as a step.

use std::collections::BTreeMap;

use super::{ForeignReport, printed};
use volproof_base::unit::{Bytes, Nanos};
use volproof_record::{
    Conditions, Known, Pace, ReportForm, ReportProgram, ReportedFigures, ReportedLatency, ReportedStep,
};

/// A timespan: the load that was asked for, and its results.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DiskspdSpan {
    pub duration: Option<u64>,
    pub warm_up: Option<u64>,
    pub targets: Vec<DiskspdTarget>,
    /// Its threads belong to no target (`-F`): how many I/Os were in flight is not told.
    pub has_pool: bool,
    /// Each I/O writes random data of its own (`-Zr`).
    pub random_writes: bool,
    pub test_time: Option<f64>,
    pub threads: Option<u64>,
    /// All I/Os, reads, writes.
    pub totals: [Option<DiskspdTotals>; 3],
    /// Latencies of reads, writes, all, milliseconds by percent; 0 is the shortest, 100 the longest.
    pub percentiles: [BTreeMap<String, f64>; 3],
    /// Size of the smallest target.
    pub size: Option<Bytes>,
    /// Share of its time for which the busiest CPU had work, 0 to 1.
    pub busiest_cpu: Option<f64>,
}

/// A target with its load.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DiskspdTarget {
    pub path: String,
    /// The software cache is bypassed.
    pub direct: Option<bool>,
    pub write_percent: Option<u64>,
    pub block: Option<Bytes>,
    /// Percent of accesses that are random.
    pub random: Option<u64>,
    pub outstanding: Option<u64>,
    /// Where its I/Os end (`-f`).
    pub end: Option<Bytes>,
    pub threads: Option<u64>,
    /// Its threads do not all go over the same bytes: each begins elsewhere (`-T`), or takes the blocks between those of others (`-si`).
    pub shares_out: bool,
    /// Data of its own is written; else the bytes 0 to 255 over and over.
    pub own_data: bool,
    /// What held its load back, as an option.
    pub pause: Option<String>,
}

/// The row of totals of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DiskspdTotals {
    pub bytes: u64,
    pub ios: u64,
    pub iops: Option<f64>,
    /// Milliseconds.
    pub mean: Option<f64>,
    /// Milliseconds.
    pub deviation: Option<f64>,
}

/// The report of its timespans.
pub(super) fn report(spans: Vec<DiskspdSpan>) -> ForeignReport {
    let mut report = ForeignReport::new(ReportProgram::Diskspd, "DiskSpd", ReportForm::Text);
    for (i, span) in spans.into_iter().enumerate() {
        let n = i + 1;
        let writes = span.shared(|t| t.write_percent);
        let [_, no_reads, no_writes] = span.totals.map(|total| total.is_none());
        if span.totals[0].is_none_or(|t| t.ios == 0) {
            report.partial.get_or_insert_with(|| format!("it breaks off before the totals of timespan {n}"));
            continue;
        }
        if (no_reads && writes.is_none_or(|w| w < 100)) || (no_writes && writes.is_none_or(|w| w > 0)) {
            report
                .partial
                .get_or_insert_with(|| format!("it breaks off before reads and writes of timespan {n}"));
        }
        report.add(span.step(n));
    }
    report
}

impl DiskspdSpan {
    /// A setting that all targets share.
    fn shared<T: PartialEq>(&self, setting: impl Fn(&DiskspdTarget) -> Option<T>) -> Option<T> {
        let mut all = self.targets.iter().map(setting);
        let first = all.next()??;
        all.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }

    /// Takes the usage of a CPU, in percent: the busiest counts.
    pub fn cpu(&mut self, usage: &str) {
        let share = printed::number(usage.trim().trim_end_matches('%')).map(|percent| percent / 100.0);
        self.busiest_cpu = share.into_iter().chain(self.busiest_cpu).reduce(f64::max);
    }

    /// Takes the size of a target: the smallest counts.
    pub fn target_size(&mut self, size: Option<Bytes>) {
        self.size = size.filter(|b| b.0 > 0).into_iter().chain(self.size).min();
    }

    fn step(&self, n: usize) -> ReportedStep {
        let (all, read, write) = (self.figures(0, 2), self.figures(1, 0), self.figures(2, 1));
        let mut step = ReportedStep {
            name: format!("timespan {n}"),
            rows: 1,
            conditions: self.conditions(),
            busiest_cpu: self.busiest_cpu,
            ..ReportedStep::default()
        };
        match (read, write, self.shared(|t| t.write_percent)) {
            // All of one direction, whose own table may be cut off.
            (None, None, Some(0)) => step.read = all,
            (None, None, Some(100)) => step.write = all,
            (None, None, _) => step.mixed = all,
            (read, write, _) => (step.read, step.write) = (read, write),
        }
        step
    }

    /// The figures of a table with the percentiles in a column.
    fn figures(&self, table: usize, column: usize) -> Option<ReportedFigures> {
        let t = self.totals[table].filter(|t| t.ios > 0)?;
        let seconds = self.test_time.filter(|s| *s > 0.0);
        let percentiles = self.percentiles[column].iter();
        let mut percentiles: BTreeMap<String, Nanos> =
            percentiles.map(|(p, ms)| (p.clone(), Nanos((ms * 1e6).round() as u64))).collect();
        let (min, max) = (percentiles.remove("0"), percentiles.remove("100"));
        Some(ReportedFigures {
            bytes: Bytes(t.bytes),
            ios: t.ios.into(),
            iops: match t.iops {
                // I/Os over a time of two decimals are coarser than the printed rate, but for slow volumes.
                Some(x) if x >= 100.0 => x.into(),
                printed => seconds.map(|s| t.ios as f64 / s).or(printed).into(),
            },
            bytes_per_second: seconds.map(|s| t.bytes as f64 / s).into(),
            runtime: seconds.map(|s| Nanos((s * 1e9) as u64)).into(),
            total: t.mean.map(|mean| ReportedLatency {
                samples: t.ios.into(),
                min: min.unwrap_or_default(),
                mean: (mean * 1e6).round(),
                deviation: (t.deviation.unwrap_or(0.0) * 1e6).round(),
                max: max.unwrap_or_default(),
                percentiles,
            }),
            ..ReportedFigures::default()
        })
    }

    fn conditions(&self) -> Conditions {
        let writes = self.shared(|t| t.write_percent);
        let rw = writes.zip(self.shared(|t| t.random)).and_then(|load| printed::pattern(load.0, load.1));
        let threads: Option<u64> =
            self.targets.iter().map(|t| t.threads).sum::<Option<u64>>().filter(|n| *n > 0);
        let jobs = threads.or(self.threads).filter(|_| !self.has_pool);
        let paths: Vec<_> = self.targets.iter().map(|t| t.path.clone().into()).collect();
        let own_data = self.random_writes || self.targets.iter().all(|t| t.own_data);
        let pause = self.targets.iter().find_map(|t| t.pause.clone());
        Conditions {
            rw: rw.map(str::to_string).into(),
            block: self.shared(|t| t.block).map(|b| (b, b)).into(),
            engine: "DiskSpd".to_string().into(),
            iodepth: self.shared(|t| t.outstanding).filter(|_| !self.has_pool).map(|n| n as u32).into(),
            jobs: jobs.map(|n| n as u32).into(),
            system: Known::assumed("Windows".into(), "DiskSpd runs there"),
            direct: self.shared(|t| t.direct).into(),
            own_files: (paths.len() == 1).then_some(false).into(),
            targets: Some(paths).filter(|paths| !paths.is_empty()).into(),
            own_offsets: self.shared(|t| Some(t.shares_out)).into(),
            size: self.size.into_iter().chain(self.targets.iter().filter_map(|t| t.end)).min().into(),
            time_based: true.into(),
            runtime: self.duration.map(printed::seconds).into(),
            ramp: self.warm_up.map(printed::seconds).into(),
            pace: if self.targets.is_empty() {
                Known::Unknown
            } else {
                Pace { pause_option: pause, ..Pace::default() }.into()
            },
            reads_percent: writes.filter(|w| (1..100).contains(w)).map(|w| 100 - w as u32).into(),
            pattern_percent: if own_data || writes.is_none_or(|writes| writes == 0) {
                Known::Unknown
            } else {
                Known::assumed(100, "DiskSpd writes the bytes 0 to 255 over and over, unless -Z gives others")
            },
            ..Conditions::default()
        }
    }
}

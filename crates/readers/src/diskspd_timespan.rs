//! A timespan of DiskSpd, and what it comes to as a step: one for its text and its XML.

use std::collections::BTreeMap;

use super::{ForeignReport, set};
use volproof_base::unit::{Bytes, Nanos, grouped};
use volproof_record::{
    Conditions, Known, Pace, ReportForm, ReportProgram, ReportedFigures, ReportedLatency, ReportedStep,
    Spacing,
};

/// A timespan: the load that was asked for, and its results.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DiskspdSpan {
    pub duration: Option<u64>,
    pub warm_up: Option<u64>,
    pub targets: Vec<DiskspdTarget>,
    /// Threads of the timespan (`-F`). Each of them drives every target.
    pub pool: Option<u32>,
    /// I/Os that each of these threads keeps in flight over all targets (`-O`).
    pub pool_outstanding: Option<u32>,
    pub test_time: Option<f64>,
    pub threads: Option<u32>,
    /// All I/Os, reads, writes.
    pub totals: [Option<DiskspdTotals>; 3],
    /// Sums over the rows of threads: I/Os of all, reads, writes.
    pub rows: [u64; 3],
    /// Latencies of reads, writes, all, milliseconds by percent; 0 is the shortest, 100 the longest.
    pub percentiles: [BTreeMap<String, f64>; 3],
    /// Size of the smallest target, as its rows tell it.
    pub size: Option<Bytes>,
    pub interrupted: bool,
    /// Each I/O writes random data of its own (`-Zr`).
    pub random_writes: bool,
    /// Share of its time for which the busiest CPU had work, 0 to 1.
    pub busiest_cpu: Option<f64>,
}

/// A target with its load.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DiskspdTarget {
    pub path: String,
    /// The software cache is bypassed.
    pub direct: Option<bool>,
    pub write_percent: Option<u32>,
    pub block: Option<Bytes>,
    /// Percent of accesses that are random.
    pub random: Option<u32>,
    pub outstanding: Option<u32>,
    /// Distance of sequential I/Os from start to start, or the alignment of random ones.
    pub apart: Option<Bytes>,
    /// Where its I/Os begin (`-B`), and where they end (`-f`).
    pub base: Option<Bytes>,
    pub end: Option<Bytes>,
    /// Some parts of the target get more I/Os than others (`-rd`).
    pub uneven: bool,
    pub threads: Option<u32>,
    /// Its threads do not all go over the same bytes: each begins elsewhere (`-T`), or takes the blocks between those of others (`-si`).
    pub shares_out: bool,
    pub zeros: Option<bool>,
    /// Random data, or that of a file, is written; else the bytes 0 to 255 over and over.
    pub own_data: bool,
    /// `very low` or `low`; absent for the usual one.
    pub priority: Option<String>,
    /// Milliseconds between bursts.
    pub think: Option<u64>,
    /// A limit of each thread: I/Os a second, or bytes a millisecond.
    pub limit_iops: Option<u64>,
    pub limit_bytes: Option<u64>,
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

/// The report of its timespans, in either form.
pub(super) fn report(
    spans: Vec<DiskspdSpan>,
    tool: String,
    written: Option<String>,
    form: ReportForm,
) -> ForeignReport {
    let mut report = ForeignReport::new(ReportProgram::Diskspd, tool, form);
    report.written = written;
    for (i, span) in spans.into_iter().enumerate() {
        let n = i + 1;
        if span.interrupted {
            report.notes.push(format!("timespan {n} was interrupted before it measured anything"));
            continue;
        }
        let asked = |reads: bool| span.write_share().is_none_or(|w| if reads { w < 100 } else { w > 0 });
        let missing = (asked(true) && span.totals[1].is_none()) || (asked(false) && span.totals[2].is_none());
        if span.totals[0].is_none_or(|t| t.ios == 0) {
            report.partial.get_or_insert_with(|| format!("it breaks off before the totals of timespan {n}"));
            continue;
        }
        if missing {
            report
                .partial
                .get_or_insert_with(|| format!("it breaks off before reads and writes of timespan {n}"));
        }
        let (sum, total) = (span.rows[0], span.totals[0].map_or(0, |t| t.ios));
        if sum > 0 && sum != total {
            report.notes.push(format!(
                "the threads of timespan {n} come to {} I/Os, its total is {}: rows are missing or were changed",
                grouped(sum),
                grouped(total)
            ));
        }
        report.add(span.step(n));
    }
    report
}

impl DiskspdSpan {
    fn write_share(&self) -> Option<u32> {
        self.shared(|t| t.write_percent)
    }

    /// A setting that all targets share.
    fn shared<T: PartialEq>(&self, of: impl Fn(&DiskspdTarget) -> Option<T>) -> Option<T> {
        let mut all = self.targets.iter().map(of);
        let first = all.next()??;
        all.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }

    fn step(&self, n: usize) -> ReportedStep {
        let mut step = ReportedStep {
            name: format!("timespan {n}"),
            rows: self.threads.unwrap_or(1),
            conditions: self.conditions(),
            busiest_cpu: self.busiest_cpu,
            ..ReportedStep::default()
        };
        let figures = |table: usize, kind: usize| {
            self.totals[table].filter(|t| t.ios > 0).map(|t| self.figures(&t, &self.percentiles[kind]))
        };
        let (all, read, write) = (figures(0, 2), figures(1, 0), figures(2, 1));
        match (read, write, self.write_share()) {
            // All of one direction, whose own table may be cut off.
            (None, None, Some(0)) => step.read = all,
            (None, None, Some(100)) => step.write = all,
            (None, None, _) => step.mixed = all,
            (read, write, _) => {
                for (reads, figures) in [(true, read), (false, write)] {
                    if let Some(figures) = figures {
                        set(&mut step, reads, figures);
                    }
                }
            }
        }
        step
    }

    fn figures(&self, t: &DiskspdTotals, percentiles: &BTreeMap<String, f64>) -> ReportedFigures {
        let ns = |ms: f64| (ms * 1e6).round();
        let seconds = self.test_time.filter(|s| *s > 0.0);
        let edge = |name: &str| Nanos(percentiles.get(name).map_or(0.0, |ms| ns(*ms)) as u64);
        ReportedFigures {
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
                min: edge("0"),
                mean: ns(mean),
                deviation: t.deviation.map_or(0.0, ns),
                max: edge("100"),
                percentiles: percentiles
                    .iter()
                    .filter(|(p, _)| !matches!(p.as_str(), "0" | "100"))
                    .map(|(p, ms)| (p.clone(), Nanos(ns(*ms) as u64)))
                    .collect(),
            }),
            ..ReportedFigures::default()
        }
    }

    fn conditions(&self) -> Conditions {
        let writes = self.write_share();
        let rw = writes.zip(self.shared(|t| t.random)).and_then(|load| match load {
            (0, 100) => Some("randread"),
            (0, 0) => Some("read"),
            (100, 100) => Some("randwrite"),
            (100, 0) => Some("write"),
            (_, 100) => Some("randrw"),
            (_, 0) => Some("rw"),
            _ => None,
        });
        let by_target: Option<u32> =
            self.targets.iter().map(|t| t.threads).try_fold(0u32, |sum, n| sum.checked_add(n?));
        // Each thread of a pool drives every target, with so many I/Os for each of them or for all.
        let pool = self.pool.map(|threads| match self.pool_outstanding {
            Some(_) => threads,
            None => threads.saturating_mul(self.targets.len().max(1) as u32),
        });
        let jobs = pool.or(by_target.filter(|n| *n > 0)).or(self.threads);
        let seconds = |s: u64| Nanos(s.saturating_mul(1_000_000_000));
        Conditions {
            rw: rw.map(str::to_string).into(),
            block: self.shared(|t| t.block).map(|b| (b, b)).into(),
            engine: "DiskSpd".to_string().into(),
            iodepth: self.pool.and(self.pool_outstanding).or_else(|| self.shared(|t| t.outstanding)).into(),
            jobs: jobs.into(),
            system: Known::assumed("Windows".into(), "DiskSpd runs there"),
            direct: self.shared(|t| t.direct).into(),
            targets: Some(self.targets.iter().map(|t| t.path.clone().into()).collect::<Vec<_>>())
                .filter(|t| !t.is_empty())
                .into(),
            own_files: self.shares_targets().then_some(false).into(),
            own_offsets: (!self.targets.is_empty()).then(|| self.targets.iter().all(|t| t.shares_out)).into(),
            size: self.range().into(),
            distribution: self.targets.iter().any(|t| t.uneven).then(|| "-rd".to_string()).into(),
            spacing: self.spacing().into(),
            time_based: true.into(),
            runtime: self.duration.map(seconds).into(),
            ramp: self.warm_up.map(seconds).into(),
            pace: match &self.targets[..] {
                [] => Known::Unknown,
                // The limit is that of a thread on a target.
                _ => {
                    self.pace(self.pool.map(|n| n.saturating_mul(self.targets.len() as u32)).or(jobs)).into()
                }
            },
            reads_percent: writes.filter(|w| (1..100).contains(w)).map(|w| 100 - w).into(),
            zeros: self.shared(|t| t.zeros).into(),
            pattern_percent: self.pattern_percent(),
            low_priority: self
                .targets
                .iter()
                .find_map(|t| t.priority.clone())
                .map(|p| format!("IO priority {p}"))
                .into(),
            ..Conditions::default()
        }
    }

    /// Several threads drive a target, or there is only one.
    fn shares_targets(&self) -> bool {
        let several = self.pool.is_some_and(|n| n > 1) || self.targets.iter().any(|t| t.threads > Some(1));
        self.targets.len() == 1 || several
    }

    /// The share of the data written that is one pattern, in percent.
    fn pattern_percent(&self) -> Known<u32> {
        let own = self.random_writes || self.targets.iter().all(|t| t.own_data);
        match own || self.write_share().is_none_or(|writes| writes == 0) {
            true => Known::Unknown,
            false => {
                Known::assumed(100, "DiskSpd writes the bytes 0 to 255 over and over, unless -Z gives others")
            }
        }
    }

    /// Bytes of the smallest part that is used of a target.
    fn range(&self) -> Option<Bytes> {
        let end = self.size.into_iter().chain(self.targets.iter().filter_map(|t| t.end)).min()?;
        let base = self.targets.iter().filter_map(|t| t.base).max().unwrap_or_default();
        Some(Bytes(end.0.saturating_sub(base.0)))
    }

    /// Where the I/Os lie, if all targets share that.
    fn spacing(&self) -> Option<Spacing> {
        let (block, random) = (self.shared(|t| t.block)?, self.shared(|t| t.random)?);
        let apart = self.targets.iter().map(|t| t.apart.unwrap_or(block)).max()?;
        let option = if random > 0 { "-r" } else { "-s" };
        let of_apart = (apart != block).then(|| format!("{option}{}", apart.0));
        let spacing = Spacing {
            options: of_apart.into_iter().collect(),
            used_share: Some(Spacing::share(block.0 as f64, apart.0 as f64)),
            ..Spacing::default()
        };
        spacing.reduced(Some(block))
    }

    /// The settings that held the load back on purpose.
    fn pace(&self, jobs: Option<u32>) -> Pace {
        let block = self.shared(|t| t.block).map(|b| b.0 as f64).filter(|b| *b > 0.0);
        let jobs = jobs.map(f64::from);
        let by_bytes = self.shared(|t| t.limit_bytes);
        let (offered, option) = match (self.shared(|t| t.limit_iops), by_bytes, jobs) {
            (Some(n), _, Some(jobs)) => (Some(n as f64 * jobs), Some(format!("-g{n}i"))),
            (None, Some(n), Some(jobs)) => {
                (block.map(|b| n as f64 * 1000.0 * jobs / b), Some(format!("-g{n}")))
            }
            _ => (None, None),
        };
        let think = self.targets.iter().filter_map(|t| t.think).max().filter(|ms| *ms > 0);
        Pace {
            offered_per_second: offered,
            rate_option: option,
            pause_option: think.map(|ms| format!("-i{ms}")),
            ..Pace::default()
        }
    }
}

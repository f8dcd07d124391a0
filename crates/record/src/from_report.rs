//! A Record of the report of another tool: the summaries of its steps follow from what the report says ([`ReportedStep`]), and nothing else
//! is made up. A report has no samples over time, no plan of volproof and no facts about the machine.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    DirectionSummary, ErrorRecord, Known, LatencySummary, Record, Report, ReportedFigures, ReportedLatency,
    ReportedStep, ReportedSync, State, StepRecord, StepTarget,
};
use volproof_base::sample::{Direction, Series};
use volproof_base::stats::percentile::{STANDARD, printable};
use volproof_base::unit::{Bytes, Nanos};
use volproof_plan::{EngineKind, Plan};

impl Record {
    /// A Record of a report, without its steps.
    pub fn of_report(report: Report, started: Known<String>) -> Record {
        let state = match &report.partial {
            Some(why) => State::Failed(format!("the report is not whole: {why}")),
            None => State::Complete,
        };
        Record { state, report: Some(report), ..Record::of_plan(Plan::none(), started) }
    }
}

impl StepRecord {
    /// A step of a report, under the name that it has there. `engine`: volproof's engine for the same system calls.
    pub fn of_report(reported: ReportedStep, engine: Option<EngineKind>) -> StepRecord {
        let c = &reported.conditions;
        let [read, write, trim] = [Direction::Read, Direction::Write, Direction::Trim]
            .map(|d| reported.direction(d).and_then(|f| summary(f, c.single_block())));
        let window = reported.window().unwrap_or_default();
        let sync = reported.timed_flushes().and_then(|s| flushes(s, window));
        let data = [&read, &write, &trim];
        let moved: Vec<&DirectionSummary> = data.into_iter().flatten().collect();
        // Reads and writes that the report does not tell apart.
        let mixed = reported.mixed.as_ref().filter(|_| moved.is_empty());
        let together = mixed.and_then(|f| summary(f, c.single_block()));
        // Little's law: the requests in flight that rates and latencies come to.
        let in_flight =
            moved.iter().copied().chain(&together).map(|s| s.iops * s.service_latency_ns.mean / 1e9).sum();
        let targets = c.targets.as_ref().cloned().unwrap_or_default();
        let target = StepTarget {
            path: targets.first().cloned().unwrap_or_default(),
            beside: targets.iter().skip(1).cloned().collect(),
            read: read.clone(),
            write: write.clone(),
            trim: trim.clone(),
            sync: sync.clone(),
            in_flight_mean: in_flight,
            series: Series { window_ns: window, ..Series::default() },
        };
        StepRecord {
            total: DirectionSummary::sum(&moved).or(together),
            name: reported.name.clone(),
            engine: engine.into(),
            window_ns: window,
            in_flight_mean: in_flight,
            in_flight_asked: c.in_flight().map(|n| n as f64).into(),
            errors: ErrorRecord {
                count: reported.failure.as_ref().map_or(0, |f| f.ios.unwrap_or(1)),
                first: Vec::new(),
            },
            // Without names of files there is no target to name.
            targets: if targets.is_empty() { Vec::new() } else { vec![target] },
            read,
            write,
            trim,
            sync,
            reported: Some(Box::new(reported)),
            ..StepRecord::default()
        }
    }
}

/// Flushes, where they are counted.
fn flushes(told: &ReportedSync, window: Nanos) -> Option<DirectionSummary> {
    let n = told.count.get()?;
    Some(DirectionSummary {
        ios: n,
        bytes: Bytes(0),
        iops: n as f64 / window.as_seconds().max(1e-9),
        bytes_per_second: 0.0,
        rate: None,
        service_latency_ns: latency_summary(&told.latency, n),
        response_latency_ns: None,
    })
}

/// The figures of a direction as a summary, where they suffice for one.
fn summary(f: &ReportedFigures, block: Option<Bytes>) -> Option<DirectionSummary> {
    let count = block.filter(|b| b.0 > 0 && f.ios.is_unknown() && f.bytes.0 > 0).map(|b| f.bytes.0 / b.0);
    // Text before 3.x and terse lines do not count I/Os.
    let ios =
        f.ios.get().unwrap_or(count.filter(|_| f.iops.said().is_none()).unwrap_or(f.count().round() as u64));
    let (iops, bytes_per_second) = (f.iops.get()?, f.bytes_per_second.get()?);
    if ios == 0 {
        return None;
    }
    let mut latency = f.latency().map(|(_, l)| l.clone()).unwrap_or_default();
    // The total is what volproof measures; where it has no percentiles, those of the completion stand for it.
    if latency.percentiles.is_empty()
        && let Some((_, other)) = f.percentiles()
    {
        latency.percentiles = other.percentiles.clone();
    }
    Some(DirectionSummary {
        ios,
        bytes: f.bytes,
        iops,
        bytes_per_second,
        rate: None,
        service_latency_ns: latency_summary(&latency, ios),
        response_latency_ns: None,
    })
}

fn latency_summary(l: &ReportedLatency, ios: u64) -> LatencySummary {
    let samples = if l.max.0 > 0 { l.samples.get().unwrap_or(ios) } else { 0 };
    let shares = l.shares();
    let mut percentiles = BTreeMap::new();
    for (name, share) in STANDARD.into_iter().filter(|(_, share)| printable(samples as f64, *share)) {
        let near = shares.iter().find(|(p, _)| (p - share).abs() < 1e-9);
        percentiles.extend(near.map(|(_, value)| (name.to_string(), *value)));
    }
    LatencySummary {
        samples,
        min: l.min,
        mean: l.mean,
        deviation: l.deviation,
        max: l.max,
        // Whether seconds agree on them is not known: there are none that could differ.
        unsettled: Vec::new(),
        percentiles,
        censored: 0,
    }
}

/// Names of steps. Each name is there once.
#[derive(Default)]
pub struct StepNames {
    taken: HashSet<String>,
    /// How often a name was asked for.
    asked: HashMap<String, usize>,
}

impl StepNames {
    /// A name that no step has yet.
    pub fn unused(&mut self, name: &str, host: Option<&str>) -> String {
        let name = if name.is_empty() { "job" } else { name };
        let first = host.map_or(name.to_string(), |h| format!("{name} on {h}"));
        let n = self.asked.entry(first.clone()).or_default();
        loop {
            let found = if *n == 0 { first.clone() } else { format!("{first}-{n}") };
            *n += 1;
            if self.taken.insert(found.clone()) {
                return found;
            }
        }
    }
}

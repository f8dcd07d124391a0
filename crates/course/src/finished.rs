//! A finished step as a course sees it: its load, its rate with the interval, its latencies, and what spoils it.

use std::collections::HashMap;

use super::suite_family::{SuiteFamily, family};
use volproof_base::doubt::DoubtCode;
use volproof_base::hist::{Histogram, StoredHistogram};
use volproof_base::sample::{Direction, Stream};
use volproof_base::stats::percentile::{pooled, printable};
use volproof_base::stats::rate::Estimate;
use volproof_base::stats::spread::quantile;
use volproof_base::unit::{Nanos, total};
use volproof_judge as judge;
use volproof_judge::facts::dead_share;
use volproof_plan::{Question, Step};
use volproof_record::{Claim, DeadTime, FleetStep, LatencySummary, Record, StepRecord};

/// A step whose window is shorter than this share of what was planned was cut off.
const WHOLE_WINDOW: f64 = 0.98;

/// A finished step.
#[derive(Clone, Debug)]
pub struct FinishedStep {
    /// The step of the plan.
    pub step: Step,
    /// I/Os a second, all directions and targets together.
    pub iops: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// Standard error of the rate; absent where the step is too short for one.
    pub error: Option<f64>,
    /// I/Os of each 100 ms.
    pub bins: Vec<u64>,
    /// Requests in flight, averaged over time.
    pub in_flight: f64,
    /// Latencies of each second by direction: response times under a rate, else service latencies.
    pub latencies: Vec<(Direction, Vec<StoredHistogram>)>,
    /// The figures that the Record tells of these latencies. They also know what was still unfinished at the end of the step.
    pub told: Vec<(Direction, LatencySummary)>,
    /// Whether the volume completed the offered rate; true without a rate.
    pub sustained: bool,
    /// Service latencies of all I/Os.
    pub service: Histogram,
    /// Codes of the doubts why the step does not show what the volume can do.
    pub spoilt_by: Vec<String>,
    /// Its dead time, seconds in which requests waited and nothing completed; absent where it had none.
    pub dead_time: Option<DeadTime>,
    /// The verdict on its rate or latency, or why there is none; absent where its course holds no step against a promise.
    pub claim: Option<Result<Claim, String>>,
}

/// Whether a step ran for its time, or moved its amount: nothing cut it off.
pub fn is_whole(planned: &Step, done: &StepRecord) -> bool {
    let ran_for_its_time = done.window_ns.0 as f64 >= WHOLE_WINDOW * planned.runtime.0 as f64;
    let Some(amount) = planned.io_size else { return ran_for_its_time };
    let moved = done.directions().filter(|(d, _)| *d != Direction::Sync).map(|(_, s)| s.bytes.0);
    let jobs = u64::from(planned.numjobs) * done.targets.len().max(1) as u64;
    let timed_out = planned.runtime.0 > 0 && ran_for_its_time;
    timed_out || total(moved) as f64 >= WHOLE_WINDOW * amount.0 as f64 * jobs as f64
}

impl FinishedStep {
    /// A step of a test that did `iops` with these service latencies, and that nothing spoilt.
    #[cfg(test)]
    pub fn played(step: &Step, iops: f64, service: Histogram) -> FinishedStep {
        FinishedStep {
            step: step.clone(),
            iops,
            bytes_per_second: iops * step.largest_block().0 as f64,
            error: None,
            bins: Vec::new(),
            in_flight: f64::from(step.iodepth),
            latencies: Vec::new(),
            told: Vec::new(),
            sustained: true,
            service,
            spoilt_by: Vec::new(),
            dead_time: None,
            claim: None,
        }
    }

    /// A step of a Record; none for one that was cut off, or that its plan does not have.
    pub fn from_record(record: &Record, done: &StepRecord) -> Option<FinishedStep> {
        let mut step = record.plan_step(&done.name)?.clone();
        if let (Some(fleet), Some(Question::Slo(_))) = (&record.fleet, &record.plan.question) {
            // A search offers rates to all machines together. Rounding undoes what dividing by their number lost.
            let ranks = f64::from(fleet.ranks);
            step.rate_iops = step.rate_iops.map(|rate| (rate * ranks * 1e6).round() / 1e6);
        }
        // A machine that begins late shortens the time in which all measured, and cuts nothing off.
        let planned = step.runtime.0 as f64;
        let together = record.fleet.is_some() && done.window_ns.0 as f64 >= FleetStep::LEAST_WINDOW * planned;
        if !together && !is_whole(&step, done) {
            return None;
        }
        let window = done.window_ns.as_seconds().max(1e-9);
        let mut bins = vec![0u64; (window * 10.0 + 1e-6) as usize];
        let mut service = Histogram::new();
        let mut bytes = 0.0;
        let mut latencies = Vec::new();
        let moving = Direction::ALL.into_iter().filter(|d| *d != Direction::Sync);
        for (d, series, stream) in moving
            .flat_map(|d| done.targets.iter().filter_map(move |t| Some((d, &t.series, t.series.stream(d)?))))
        {
            latencies.push((d, response_times(done, d, stream)));
            let ios = series.on_grid(&stream.track.ios);
            bins.iter_mut().zip(&*ios).for_each(|(b, n)| *b = b.saturating_add(*n));
            service.merge(&pooled(&stream.service));
            bytes += stream.track.total().bytes.0 as f64;
        }
        let dead_share = dead_share(done);
        let dead_time = (dead_share > 0.0).then(|| DeadTime { finding: "stall".into(), share: dead_share });
        let doubts = record.doubts.iter().filter(|d| d.step.as_ref() == Some(&done.name));
        // Percentiles that lack responses show no limit that holds.
        let spoiling = doubts.filter(|d| d.spoils(&done.name) || d.code == DoubtCode::LateResponses);
        let mut spoilt_by: Vec<String> = spoiling.map(|d| d.code.to_string()).collect();
        spoilt_by.sort();
        spoilt_by.dedup();
        let claim = match &record.plan.question {
            Some(Question::Suite(suite)) if family(&suite.name) == SuiteFamily::Procedure => {
                judge::claim_of_step(record, done)
            }
            _ => None,
        };
        Some(FinishedStep {
            claim,
            iops: done.iops(),
            bytes_per_second: bytes / window,
            error: Estimate::from_bins(&bins).and_then(|e| e.interval).map(|i| i.standard_error_per_second),
            bins,
            in_flight: done.in_flight_mean,
            latencies,
            told: done.directions().map(|(d, summary)| (d, summary.latency().clone())).collect(),
            sustained: done.open_loop.as_ref().is_none_or(|o| o.sustained),
            service,
            spoilt_by,
            dead_time,
            step,
        })
    }

    /// Median of the latencies, of the direction in which it is longest.
    pub fn median(&self) -> Option<Nanos> {
        self.latencies.iter().filter_map(|(_, seconds)| pooled(seconds).quantile(0.5)).max()
    }

    /// Half the 95 % interval of the rate; 0 where the step is too short for one.
    pub fn half_interval(&self) -> f64 {
        self.error.map_or(0.0, |e| e * quantile(0.975))
    }

    /// The same as a share of the rate.
    pub fn half_share(&self) -> f64 {
        self.half_interval() / self.iops.max(1e-9)
    }

    /// Mean service latency in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        self.service.mean().unwrap_or(0.0)
    }
}

/// The latencies of a direction by second. Under a rate a response counts from its arrival; those that came after the window, or never, belong to
/// its last second.
fn response_times(done: &StepRecord, d: Direction, stream: &Stream) -> Vec<StoredHistogram> {
    let Some(open) = &done.open_loop else { return stream.service.clone() };
    let mut seconds = stream.response.clone();
    if let Some(last) = seconds.last_mut() {
        open.late.of_direction(d).for_each(|late| last.merge(late));
    }
    seconds
}

/// The longest of some dead times.
pub fn longest(all: impl Iterator<Item = DeadTime>) -> Option<DeadTime> {
    all.max_by(|a, b| a.share.total_cmp(&b.share))
}

/// The whole steps of a Record that were not cut off.
pub fn of_record(record: &Record) -> Vec<FinishedStep> {
    record.steps.iter().filter_map(|step| FinishedStep::from_record(record, step)).collect()
}

/// A percentile of pooled latencies, where enough of them lie above it.
pub fn percentile(all: &Histogram, share: f64) -> Option<Nanos> {
    all.quantile(share).filter(|_| printable(all.count() as f64, share))
}

/// Finished steps by name.
pub(super) struct Finished<'a>(HashMap<&'a str, &'a FinishedStep>);

impl<'a> Finished<'a> {
    pub(super) fn new(finished: &'a [FinishedStep]) -> Finished<'a> {
        Finished(finished.iter().map(|f| (f.step.name.as_str(), f)).collect())
    }

    /// A step by its whole name.
    pub(super) fn get(&self, name: &str) -> Option<&'a FinishedStep> {
        self.0.get(name).copied()
    }

    /// A step of a phase without rounds.
    pub(super) fn step_of_phase(&self, phase: &str, step: &str) -> Option<&'a FinishedStep> {
        self.get(&format!("{phase}-{step}"))
    }
}

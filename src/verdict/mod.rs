//! The verdict: did the volume deliver what it is promised? PASS, FAIL, INCONCLUSIVE or INVALID, for IOPS, throughput and
//! latency.
//!
//! Works on a Record alone, fresh or stored. A promise is that of the lesser of volumes and instance, at the block size of
//! the step: there either the IOPS or the bytes bind, and only what binds is judged. The whole window is judged; see [`window`]. A step that could
//! not have reached the promise, or that a blocker spoilt, is INVALID whatever it measured: its figures are about the test.
//! The one exception: what can only slow a run down does not undo a PASS. Method page, §4.3; statistics in [`crate::stats`].

pub mod better;
mod claim;
mod reach;
mod reported;
mod window;

use serde::Serialize;

pub use claim::{Rates, figure};
pub use window::{Cut, Delivered};

use crate::diagnose::Diagnosis;
use crate::record::{Claimed, Record};
use crate::stats::burst::Burst;
use crate::stats::event::Event;

/// The four values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Outcome {
    /// The promise was kept.
    Pass,
    /// It was not decided; more time is needed.
    Inconclusive,
    /// The run says nothing about the volume.
    Invalid,
    /// The promise was not kept.
    Fail,
}

impl Outcome {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Pass => "PASS",
            Outcome::Inconclusive => "INCONCLUSIVE",
            Outcome::Invalid => "INVALID",
            Outcome::Fail => "FAIL",
        }
    }

    /// A FAIL is told before anything else, a PASS only when nothing else is to be told.
    fn weight(self) -> u8 {
        match self {
            Outcome::Pass => 0,
            Outcome::Inconclusive => 1,
            Outcome::Invalid => 2,
            Outcome::Fail => 3,
        }
    }
}

/// What a promise is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Throughput,
    /// Mean latency in nanoseconds.
    Latency,
}

impl Metric {
    /// All, in the order in which they are told.
    pub const ALL: [Metric; 3] = [Metric::Iops, Metric::Throughput, Metric::Latency];

    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Iops => "IOPS",
            Metric::Throughput => "throughput",
            Metric::Latency => "latency",
        }
    }
}

/// A promise held against a step. Figures are I/Os per second, bytes per second or nanoseconds, by the metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// Name of the step.
    pub step: String,
    /// What was promised.
    pub metric: Metric,
    /// The answer.
    pub outcome: Outcome,
    /// The promise.
    pub promised: f64,
    /// The limit that decides: the promise with its tolerance.
    pub limit: f64,
    /// Which limit binds: `volume IOPS`, `instance throughput`, ...
    pub binding: String,
    /// What is held against the promise: the rate of the whole window, or of the baseline after a burst.
    pub measured: f64,
    /// Over the whole window, burst and all.
    pub whole_window: f64,
    /// Measured over promised.
    pub ratio: f64,
    /// Bounds of what was measured, each at 95 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<(f64, f64)>,
    /// What came on top at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Burst>,
    /// Stalls and brown-outs in the window.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lapses: Vec<Event>,
    /// Share of the seconds that delivered 90 % of the promise; only for a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered: Option<Delivered>,
    /// A warm-up at the start. It is part of what was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// How much longer the step should be; only when inconclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_seconds: Option<u64>,
    /// The code of the blocker; only when invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocker: Option<String>,
    /// Why, in a sentence.
    pub reason: String,
    /// The command that can decide it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Something promised that no step tested.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Untested {
    /// What.
    pub metric: Metric,
    /// Why not.
    pub reason: String,
    /// The command that tests it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// All claims of a Record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The gravest outcome; absent when nothing was judged.
    pub outcome: Option<Outcome>,
    /// The volumes and the instance, in words.
    pub against: String,
    /// Share by which a figure may be missed.
    pub tolerance: f64,
    /// What was judged.
    pub claims: Vec<Claim>,
    /// What was not.
    pub untested: Vec<Untested>,
    /// What the reader must know of the promise.
    pub notes: Vec<String>,
}

impl Verdict {
    /// Judges a Record against a promise; `found` are the diagnoses of its steps.
    pub fn of(record: &Record, claimed: &Claimed, found: &[Diagnosis]) -> Verdict {
        let mut claims = Vec::new();
        for step in &record.steps {
            let conditions = record.conditions(step);
            let Some(diagnosis) = found.iter().find(|d| d.step == step.name) else { continue };
            let judge = claim::Judge { record, claimed, conditions: &conditions, step, diagnosis };
            claims.extend(judge.rate());
            claims.extend(judge.latency());
        }
        // A step with one request in flight shows latency; where another one tests the rate, it is no test of it.
        let deep = |c: &Claim| {
            let step = record.steps.iter().find(|s| s.name == c.step);
            step.and_then(|s| record.depth_per_target(s)).is_some_and(|depth| depth > 1)
        };
        let tested: Vec<Metric> = claims.iter().filter(|c| deep(c)).map(|c| c.metric).collect();
        claims.retain(|c| c.metric == Metric::Latency || deep(c) || !tested.contains(&c.metric));
        let untested = Metric::ALL
            .into_iter()
            .filter(|m| claims.iter().all(|c| c.metric != *m))
            .filter_map(|m| match record.report {
                Some(_) => reported::untested(record, claimed, found, m),
                None => reach::untested(record, claimed, m),
            })
            .collect();
        let mut notes = claimed.notes.clone();
        if !claimed.promise.unit_certain() && claims.iter().any(|c| c.metric == Metric::Throughput) {
            notes.push("the provider's unit is in doubt (MB or MiB): only less than both is a FAIL, only more than both a PASS".into());
        }
        Verdict {
            outcome: claims.iter().map(|c| c.outcome).max_by_key(|o| o.weight()),
            against: against(claimed),
            tolerance: claimed.tolerance,
            claims,
            untested,
            notes,
        }
    }

    /// The promise was broken.
    pub fn failed(&self) -> bool {
        self.outcome == Some(Outcome::Fail)
    }

    /// How much longer a step should be to be decided; absent when more time does not help.
    pub fn more_seconds(&self, step: &str) -> Option<u64> {
        self.claims.iter().filter(|c| c.step == step).filter_map(|c| c.more_seconds).max()
    }
}

fn against(claimed: &Claimed) -> String {
    let mut groups: Vec<(String, usize)> = Vec::new();
    for v in &claimed.promise.volumes {
        let text = format!("{}, {} GiB", v.id, crate::unit::significant(v.gib));
        match groups.iter_mut().find(|(t, _)| *t == text) {
            Some((_, n)) => *n += 1,
            None => groups.push((text, 1)),
        }
    }
    let volumes: Vec<String> =
        groups.into_iter().map(|(t, n)| if n > 1 { format!("{n} x {t}") } else { t }).collect();
    match &claimed.promise.instance {
        Some(i) => format!("{} on {}", volumes.join(" + "), i.name),
        None => volumes.join(" + "),
    }
}

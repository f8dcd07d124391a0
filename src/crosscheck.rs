//! `run --cross-check`: every step by volproof and by the installed fio in turn, and whether the two agree.
//!
//! The unit of comparison is a pair of runs back to back, because a shared machine drifts by more than two tools differ; the order within a pair
//! is reversed every time. What is compared is each tool's own account: rate, p50 and p99 of total latency, CPU time of its load threads.

use crate::plan::{Plan, Step};
use crate::record::{CrossCheck, CrossMetric, Record, StepRecord};
use crate::stats::compare::Comparison;
use crate::unit::Nanos;

/// Differences up to this share do not matter: no volume is sold by a finer measure.
pub const MARGIN: f64 = 0.05;
/// Longest window of one run when none is asked for: a dozen of them make one comparison.
const WINDOW: Nanos = Nanos::seconds(10);

/// The plan in which each step stands `2 * pairs` times, by both tools in turn. `runtime` is whether the length of a run was asked for.
pub fn alternating(plan: &Plan, pairs: u32, runtime: bool) -> Plan {
    let mut steps = Vec::new();
    for step in &plan.steps {
        for pair in 0..pairs {
            for fio in [pair % 2 == 1, pair % 2 == 0] {
                let mut one = Step { fio, ..step.clone() };
                one.name = format!("{} {} {}", step.name, if fio { "fio" } else { "volproof" }, pair + 1);
                if !runtime && !one.ends_by_amount() {
                    one.runtime = one.runtime.min(WINDOW);
                }
                steps.push(one);
            }
        }
    }
    Plan { steps, ..plan.clone() }
}

/// What the runs of an [`alternating`] plan say, step by step of the plan it was made from; runs that are missing leave their pair out.
pub fn compare(record: &Record, original: &Plan, pairs: u32) -> Vec<CrossCheck> {
    let find = |planned: &Step| record.steps.iter().find(|s| s.name == planned.name);
    let mut planned = record.plan.steps.chunks(2 * pairs.max(1) as usize);
    let mut found = Vec::new();
    for step in &original.steps {
        let Some(runs) = planned.next() else { break };
        let mut both: Vec<(&StepRecord, &StepRecord)> = Vec::new();
        for pair in runs.chunks_exact(2) {
            let (ours, theirs) = if pair[0].fio { (&pair[1], &pair[0]) } else { (&pair[0], &pair[1]) };
            both.extend(find(ours).zip(find(theirs)));
        }
        let version = both.first().and_then(|b| b.1.fio.as_ref()).map(|f| f.version.clone());
        found.push(CrossCheck {
            step: step.name.clone(),
            fio_version: version.unwrap_or_default(),
            pairs: both.len() as u64,
            margin: MARGIN,
            metrics: METRICS.iter().filter_map(|m| metric(m, &both)).collect(),
        });
    }
    found
}

/// One figure that both tools report; nanoseconds where less is better.
struct Metric {
    name: &'static str,
    less_is_better: bool,
    value: fn(&StepRecord) -> Option<f64>,
}

const METRICS: [Metric; 4] = [
    Metric { name: "IOPS", less_is_better: false, value: |s| Some(s.iops()) },
    Metric { name: "p50 latency", less_is_better: true, value: |s| percentile(s, "50") },
    Metric { name: "p99 latency", less_is_better: true, value: |s| percentile(s, "99") },
    Metric {
        name: "CPU per I/O",
        less_is_better: true,
        value: |s| Some(s.cpu.user_ns_per_io + s.cpu.system_ns_per_io),
    },
];

fn percentile(step: &StepRecord, name: &str) -> Option<f64> {
    let (_, summary) = step.directions().next()?;
    summary.service_latency_ns.percentiles.get(name).map(|ns| ns.0 as f64)
}

fn metric(metric: &Metric, runs: &[(&StepRecord, &StepRecord)]) -> Option<CrossMetric> {
    let values: Vec<(f64, f64)> = runs
        .iter()
        .filter_map(|(a, b)| (metric.value)(a).zip((metric.value)(b)))
        .filter(|v| v.0 > 0.0 && v.1 > 0.0)
        .collect();
    let turned = |v: &(f64, f64)| if metric.less_is_better { (1.0 / v.0, 1.0 / v.1) } else { *v };
    let pairs: Vec<_> = values.iter().map(turned).collect();
    Some(CrossMetric {
        name: metric.name.into(),
        less_is_better: metric.less_is_better,
        volproof: median(values.iter().map(|v| v.0).collect())?,
        fio: median(values.iter().map(|v| v.1).collect())?,
        comparison: Comparison::of(&pairs, MARGIN),
    })
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (n > 0).then(|| (values[(n - 1) / 2] + values[n / 2]) / 2.0)
}

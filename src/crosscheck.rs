//! `run --cross-check`: every step by volproof and by the installed fio in turn, and whether the two agree.
//!
//! The unit of comparison is a pair of runs back to back, because a shared machine drifts by more than two tools differ; the order within a pair
//! is reversed every time. What is compared is each tool's own account: rate, p50 and p99 of total latency, CPU time of its load threads.

use volproof_base::stats::compare::Comparison;
use volproof_base::unit::Nanos;
use volproof_plan::{Plan, Start, Step};
use volproof_record::{CrossCheck, CrossMetric, Record, StepRecord};

/// Differences up to this share do not matter: no volume is sold by a finer measure.
const MARGIN: f64 = 0.05;
/// Longest window of one run when none is asked for: a dozen of them make one comparison.
const WINDOW: Nanos = Nanos::seconds(10);

/// The plan in which each stage stands `2 * pairs` times, by both tools in turn: what runs together runs by one tool. `runtime` is whether
/// the length of a run was asked for.
pub fn alternating(plan: &Plan, pairs: u32, runtime: bool) -> Plan {
    let mut steps = Vec::new();
    for stage in plan.steps.chunk_by(|_, next| !next.start.is_after_all()) {
        for pair in 1..=pairs {
            for fio in [pair % 2 == 0, pair % 2 == 1] {
                steps.extend(stage.iter().map(|step| one(step, fio, pair, runtime)));
            }
        }
    }
    Plan { steps, ..plan.clone() }
}

fn one(step: &Step, fio: bool, pair: u32, runtime: bool) -> Step {
    let mut one = Step { fio, name: named(&step.name, fio, pair), ..step.clone() };
    if let Start::After(other) = &step.start {
        one.start = Start::After(named(other, fio, pair));
    }
    if !runtime && !one.ends_by_amount() {
        one.runtime = one.runtime.min(WINDOW);
    }
    one
}

/// Whether a plan is an [`alternating`] one.
pub fn is_alternating(plan: &Plan) -> bool {
    let first_by_fio = " fio 1";
    plan.steps.iter().any(|step| step.fio && step.name.ends_with(first_by_fio))
}

/// Name of a run of a step.
fn named(step: &str, fio: bool, pair: u32) -> String {
    format!("{step} {} {pair}", if fio { "fio" } else { "volproof" })
}

/// The comparison of an [`alternating`] plan, one entry for each step of the plan it was made from; a pair with a missing run is left out.
pub fn compare(record: &Record, original: &Plan, pairs: u32) -> Vec<CrossCheck> {
    let find = |name: String| record.steps.iter().find(|s| s.name == name);
    let check = |step: &Step| {
        let run = |fio, pair| find(named(&step.name, fio, pair));
        let both: Vec<_> = (1..=pairs).filter_map(|pair| run(false, pair).zip(run(true, pair))).collect();
        let version = both.first().and_then(|b| b.1.fio.as_ref()).map(|f| f.version.clone());
        CrossCheck {
            step: step.name.clone(),
            fio_version: version.unwrap_or_default(),
            pairs: both.len() as u64,
            margin: MARGIN,
            metrics: METRICS.iter().filter_map(|m| metric(m, &both)).collect(),
        }
    };
    original.steps.iter().map(check).collect()
}

/// One figure that both tools report; nanoseconds where less is better.
struct ComparedMetric {
    name: &'static str,
    less_is_better: bool,
    value: fn(&StepRecord) -> Option<f64>,
}

const METRICS: [ComparedMetric; 4] = [
    ComparedMetric { name: "IOPS", less_is_better: false, value: |s| Some(s.iops()) },
    ComparedMetric { name: "p50 latency", less_is_better: true, value: |s| percentile(s, "50") },
    ComparedMetric { name: "p99 latency", less_is_better: true, value: |s| percentile(s, "99") },
    ComparedMetric {
        name: "CPU per I/O",
        less_is_better: true,
        value: |s| Some(s.cpu.user_ns_per_io + s.cpu.system_ns_per_io),
    },
];

fn percentile(step: &StepRecord, name: &str) -> Option<f64> {
    let (_, summary) = step.directions().next()?;
    summary.service_latency_ns.percentiles.get(name).map(|ns| ns.0 as f64)
}

fn metric(metric: &ComparedMetric, runs: &[(&StepRecord, &StepRecord)]) -> Option<CrossMetric> {
    let values: Vec<(f64, f64)> = runs
        .iter()
        .filter_map(|(a, b)| (metric.value)(a).zip((metric.value)(b)))
        .filter(|v| v.0 > 0.0 && v.1 > 0.0)
        .collect();
    let turned = |v: &(f64, f64)| if metric.less_is_better { (1.0 / v.0, 1.0 / v.1) } else { *v };
    let pairs: Vec<_> = values.iter().map(turned).collect();
    // Geometric means, so that the ratio of the two columns is the ratio that was compared.
    let mean = |of: fn(&(f64, f64)) -> f64| {
        (!values.is_empty())
            .then(|| (values.iter().map(|v| of(v).ln()).sum::<f64>() / values.len() as f64).exp())
    };
    Some(CrossMetric {
        name: metric.name.into(),
        less_is_better: metric.less_is_better,
        volproof: mean(|v| v.0)?,
        fio: mean(|v| v.1)?,
        comparison: Comparison::from_pairs(&pairs, MARGIN),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_plan::Preset;

    #[test]
    fn what_runs_together_is_run_by_one_tool() {
        let step = |name: &str, start| Step { name: name.into(), start, ..Step::default() };
        let steps = vec![
            step("w", Start::AfterAll),
            step("r", Start::WithPrevious),
            step("x", Start::After("w".into())),
        ];
        let plan = Plan { steps, ..Preset::find("quick").unwrap().plan() };
        let both = alternating(&plan, 2, false);
        assert_eq!(both.problem(), None);
        let said: Vec<String> = both.steps.iter().map(|s| format!("{} {}", s.name, s.start)).collect();
        insta::assert_snapshot!(said.join("\n"), @r"
        w volproof 1 after-all
        r volproof 1 with-previous
        x volproof 1 after:w volproof 1
        w fio 1 after-all
        r fio 1 with-previous
        x fio 1 after:w fio 1
        w fio 2 after-all
        r fio 2 with-previous
        x fio 2 after:w fio 2
        w volproof 2 after-all
        r volproof 2 with-previous
        x volproof 2 after:w volproof 2
        ");
        assert!(both.steps.iter().all(|s| s.runtime <= WINDOW));
    }
}

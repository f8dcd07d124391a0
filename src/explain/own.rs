//! A Record of ours in the same words.

use std::path::Path;

use super::{Explained, Form, RunExplained, RunFigures, workings};
use crate::diagnose::{Diagnosis, Summary};
use crate::judge::{self, ClaimArgs};
use crate::plan::Step;
use crate::record::{Record, State, StepRecord};
use crate::unit::{Bytes, Nanos, grouped, significant};

/// Explains a Record.
///
/// # Errors
/// When the promise cannot be told.
pub fn explained(file: &Path, mut record: Record, claim: &ClaimArgs) -> anyhow::Result<Explained> {
    let sizes: Vec<Option<Bytes>> = record
        .targets
        .iter()
        .map(|t| t.facts.device().filter(|d| d.partition.is_none()).map(|d| d.size_bytes))
        .collect();
    if let Some(claimed) = judge::claimed(claim, None, &sizes)? {
        record.claimed = Some(claimed);
    }
    let (found, verdict) = judge::judged(&record);
    let runs = record.steps.iter().zip(found).filter_map(|(step, diagnosis)| {
        let plan = record.plan_step(&step.name)?;
        Some(run(&record, plan, step, diagnosis))
    });
    let runs: Vec<RunExplained> = runs.collect();
    Ok(Explained {
        file: file.to_path_buf(),
        form: Form::Record,
        tool: format!("volproof {}", record.volproof_version),
        written: Some(record.started.clone()),
        partial: match &record.state {
            State::Complete => None,
            State::Running => Some("it was cut off: later steps are missing".into()),
            State::Interrupted => Some("it was interrupted".into()),
            State::Failed(why) => Some(format!("it failed: {why}")),
        },
        notes: Vec::new(),
        doubts: record.warnings.iter().filter(|w| w.step.is_none()).cloned().collect(),
        promise: record.claimed.as_ref().map(workings).unwrap_or_default(),
        cross_checks: record.cross_checks,
        runs,
        verdict,
    })
}

fn run(record: &Record, plan: &Step, step: &StepRecord, diagnosis: Diagnosis) -> RunExplained {
    let promise = record.claimed.as_ref().map(|c| &c.promise);
    let s = Summary::of_step(plan, step, &record.targets, promise);
    let mut result = Vec::new();
    let mut latency = Vec::new();
    for (d, summary) in step.directions() {
        result.push(super::text::line(
            d.name(),
            summary.iops,
            summary.bytes_per_second,
            summary.ios,
            step.window_ns,
        ));
        let l = &summary.service_latency_ns;
        let at = |name: &str| l.percentiles.get(name).map(|v| (name.to_string(), *v));
        let told: Vec<(String, Nanos)> = ["50", "95", "99", "99.9"].iter().filter_map(|n| at(n)).collect();
        latency.push(super::text::latency_line(d.name(), l.mean, &told, l.max));
    }
    let law = s.mean_ns.zip(s.iops).map(|(mean, x)| mean / 1e9 * x);
    let holds = law.map(|n| {
        let allowed = 0.02 + s.mean_ns.unwrap_or(0.0) / step.window_ns.0.max(1) as f64;
        (n / step.in_flight_mean - 1.0).abs() <= allowed
    });
    let targets: Vec<String> = record.targets.iter().map(|t| t.path.display().to_string()).collect();
    let figures = super::figures(&s);
    RunExplained {
        name: step.name.clone(),
        host: None,
        tested: format!(
            "{} {}, {} in flight ({}, {} job{} each{}), on {}",
            plan.bs,
            plan.rw,
            grouped(step.in_flight_asked as u64),
            step.engine,
            plan.numjobs,
            if plan.numjobs == 1 { "" } else { "s" },
            if plan.direct { "" } else { ", through the page cache" },
            targets.join(", ")
        ),
        result,
        latency,
        little: law.zip(s.mean_ns).zip(s.iops).map(|((n, mean), x)| {
            format!(
                "{}/s x {} = {} in flight, and {} were counted: the law {}",
                grouped(x.round() as u64),
                Nanos(mean as u64),
                significant(n),
                significant(step.in_flight_mean),
                if holds == Some(true) { "holds" } else { "does not hold: something is counted wrong" }
            )
        }),
        little_holds: holds,
        diagnosis,
        caps: Vec::new(),
        doubts: record.warnings.iter().filter(|w| w.step.as_ref() == Some(&step.name)).cloned().collect(),
        better: Vec::new(),
        figures: RunFigures { in_flight: Some(step.in_flight_mean), ..figures },
        conditions: None,
    }
}

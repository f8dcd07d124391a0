//! A report of another tool held against a promise, or against what applications need: `kept`, `missed` or `close`.
//!
//! A report cannot be measured again, so that there is no verdict. The word follows from two things alone: the interval of the figure and the
//! limit. What else may lie behind the figure stands beside it, as facts (`unshown`), with the command that decides
//! (`deciding_command`).

mod compared_needs;
mod compared_step;
mod deciding_command;
mod printed_figure;
mod unshown;

use std::collections::HashMap;

pub use deciding_command::for_rate;

use crate as judge;
use crate::{PromisedRates, fits_latency, latency_promised};
use compared_step::{ComparedStep, FigureInterval};
use volproof_record::{
    Compared, ComparedWord, Diagnosis, JudgedPromise, Metric, Record, ReportComparison, StepFigures, company,
    load_without_promise, promise_direction as direction,
};

/// The comparison of a report whose findings were made; none for a run of volproof, and where nothing is promised or needed.
pub fn of_record(record: &Record) -> Option<ReportComparison> {
    record.report.as_ref()?;
    let found = record.diagnoses()?;
    let promise = record.judged_promise.as_ref();
    let asked = record.asked.as_ref().filter(|asked| asked.has_needs());
    if promise.is_none() && asked.is_none() {
        return None;
    }
    let of_step: HashMap<&str, &Diagnosis> = found.iter().map(|d| (d.step.as_str(), d)).collect();
    let together = company(record);
    let (mut rows, mut not_compared) = (Vec::new(), Vec::new());
    for step in &record.steps {
        let (Some(reported), Some(diagnosis)) = (&step.reported, of_step.get(step.name.as_str())) else {
            continue;
        };
        let (conditions, summary) = (record.conditions(step), StepFigures::of_step(record, step));
        let compared = ComparedStep {
            record,
            step,
            reported,
            conditions: &conditions,
            summary: &summary,
            diagnosis,
            beside: together.get(step.name.as_str()).copied(),
        };
        let before = rows.len();
        if let Some(promise) = promise {
            rows.extend(compared.rate(promise));
            rows.extend(compared.latency(promise));
            if rows.len() == before {
                let reason = judge::why_without_rate(promise, &conditions, step);
                not_compared.push(format!("{}: {reason}", step.name));
            }
        }
        rows.extend(asked.iter().flat_map(|asked| compared.needs(asked)));
    }
    let missing = |metric: Metric| rows.iter().all(|row| row.need.is_some() || row.metric != metric);
    if let Some(latency) = promise.and_then(latency_promised).filter(|_| missing(Metric::Latency)) {
        not_compared.push(format!("{latency} are promised for one request at a time, and no run shows that"));
    }
    if record.steps.is_empty() {
        not_compared.push("the report has no run".into());
    }
    not_compared.extend(asked.iter().flat_map(|asked| compared_needs::unanswered(asked, &rows)));
    Some(ReportComparison {
        against: judge::against_all(record),
        tolerance: promise.map_or(0.0, |promise| promise.tolerance),
        rows,
        not_compared,
        notes: notes(record),
    })
}

/// Notes of the promise and of the applications.
fn notes(record: &Record) -> Vec<String> {
    let mut notes = record.judged_promise.iter().flat_map(|p| p.notes.clone()).collect::<Vec<_>>();
    if record.judged_promise.as_ref().is_some_and(|promise| !promise.promise.unit_certain()) {
        notes.push("the provider's unit is in doubt (MB or MiB): kept means kept by both readings".into());
    }
    notes.extend(record.asked.iter().flat_map(|asked| &asked.applications).flat_map(|a| a.notes.clone()));
    notes
}

impl ComparedStep<'_> {
    /// The rate against the limit that binds at the block size of the step.
    fn rate(&self, promise: &JudgedPromise) -> Option<Compared> {
        let pattern = self.conditions.pattern()?;
        let block = self.conditions.single_block()?;
        if load_without_promise(&promise.promise, block, pattern).is_some() {
            return None;
        }
        let rates = PromisedRates::at_block(promise, block, direction(pattern)?)?;
        let metric = rates.metric();
        let figure = self.rate_of(metric, None)?;
        let (least, most) = judge::promised_readings(promise, &rates);
        let limit = |promised: f64| promised * (1.0 - promise.tolerance);
        let mut not_shown = self.unshown_of_rate(figure.value < limit(most), rates.least.iops);
        not_shown.extend(unshown::promise_of_time(promise));
        Some(Compared {
            promised: least,
            other_reading: Some(most).filter(|most| *most > least),
            limit: limit(least),
            binding: rates.least.binding.words().into(),
            word: ComparedWord::of_interval((figure.low, figure.high), limit(least), limit(most), false),
            command: deciding_command::for_rate(self.conditions, &promise.options),
            ..self.row(metric, figure, least, not_shown)
        })
    }

    /// The mean latency, where one is promised for the load of the step.
    fn latency(&self, promise: &JudgedPromise) -> Option<Compared> {
        let promised = latency_promised(promise)?.0 as f64;
        if !fits_latency(promise, self.conditions, self.record.depth_per_target(self.step)) {
            return None;
        }
        let figure = self.mean_latency()?;
        let limit = promised * (1.0 + promise.tolerance);
        Some(Compared {
            limit,
            binding: "volume latency".into(),
            word: ComparedWord::of_interval((figure.low, figure.high), limit, limit, true),
            command: Some(deciding_command::for_latency(self.conditions, promise)),
            ..self.row(Metric::Latency, figure, promised, self.unshown())
        })
    }

    /// A row whose word and limit are still to be told.
    fn row(&self, metric: Metric, figure: FigureInterval, promised: f64, not_shown: Vec<String>) -> Compared {
        Compared {
            step: self.step.name.clone(),
            metric,
            need: None,
            promised,
            other_reading: None,
            limit: promised,
            binding: String::new(),
            reported: figure.value,
            low: figure.low,
            high: figure.high,
            interval: figure.basis,
            ratio: figure.value / promised,
            word: ComparedWord::Close,
            doubts: self.voiding_doubts(),
            not_shown,
            command: None,
        }
    }

    /// The doubts and findings that void the figures of the step.
    fn voiding_doubts(&self) -> Vec<String> {
        let doubts = self.record.doubts.iter().filter(|doubt| doubt.voids(&self.step.name));
        let findings = self.diagnosis.findings.iter().filter(|finding| finding.blocks);
        let mut told: Vec<String> = doubts.map(|doubt| doubt.message.clone()).collect();
        told.extend(findings.map(|finding| finding.headline.clone()));
        told.dedup();
        told
    }
}

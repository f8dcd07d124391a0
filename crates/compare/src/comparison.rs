//! Two groups of runs, step by step and figure by figure.

use serde::Serialize;
use volproof_base::stats::CONFIDENCE;
use volproof_base::stats::change_of_runs::{ChangeOfRuns, RunFigure, holm};
use volproof_record::{Record, StepRecord};

use crate::change_gate::{GateAnswer, GateWord};
use crate::compared_figure::ComparedFigure;
use crate::load;
use crate::surroundings::{self, Difference};

/// Why nothing can be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    /// No step has the same name in all runs.
    #[error("no step is in all of the results: the first has {before}, another {after}")]
    NoCommonStep {
        /// Steps of the first run.
        before: String,
        /// Steps of a run that lacks them.
        after: String,
    },
    /// The steps of one name had other loads.
    #[error("the loads differ, so that their figures cannot be compared: {}", .0.join("; "))]
    OtherLoads(Vec<String>),
}

/// One figure of a step before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepChange {
    /// The step.
    pub step: String,
    /// The direction, of a step with several: `read`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// The figure.
    pub figure: ComparedFigure,
    /// The figure before: the geometric mean of all runs.
    pub before: f64,
    /// The figure after.
    pub after: f64,
    /// The change; absent where single runs have no interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<ChangeOfRuns>,
    /// Chance of such a change between equals, all figures together (Holm).
    pub adjusted_p: f64,
    /// Why a run of the step shows nothing of the volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub void: Option<String>,
    /// The answer of the gate, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateWord>,
}

impl StepChange {
    /// The row in words: `randrw read p99`.
    pub fn title(&self) -> String {
        format!("{} {}", self.row(), self.figure.name())
    }

    /// Step and direction.
    pub fn row(&self) -> String {
        self.direction
            .as_ref()
            .map_or_else(|| self.step.clone(), |direction| format!("{} {direction}", self.step))
    }

    /// The change is no chance.
    pub fn is_certain(&self) -> bool {
        self.void.is_none() && self.adjusted_p < 1.0 - CONFIDENCE
    }

    /// The figure is certainly worse.
    pub fn is_worse(&self) -> bool {
        self.is_certain() && (self.after > self.before) == self.figure.less_is_better()
    }

    /// The figure is certainly better.
    pub fn is_better(&self) -> bool {
        self.is_certain() && !self.is_worse()
    }
}

/// All figures of two groups of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunComparison {
    /// Runs before and after.
    pub runs: [usize; 2],
    /// A row for each figure.
    pub rows: Vec<StepChange>,
    /// What else differs.
    pub differs: Vec<Difference>,
    /// Steps that are not compared, each with the reason.
    pub not_compared: Vec<String>,
    /// The answer of the gate, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateAnswer>,
}

/// How the runs were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunDesign {
    /// Two groups, each with its own spread. A step must have had the same load in all runs.
    Groups,
    /// Pairs, one run of each group back to back. The loads may differ: they are what is compared.
    Pairs,
}

impl RunDesign {
    fn change(self, before: &[RunFigure], after: &[RunFigure]) -> Option<ChangeOfRuns> {
        if self == RunDesign::Groups {
            return ChangeOfRuns::between(before, after);
        }
        let pairs: Vec<(f64, f64)> = before.iter().zip(after).map(|(a, b)| (a.value, b.value)).collect();
        ChangeOfRuns::of_pairs(&pairs)
    }
}

/// Compares two groups of runs. `allowed` is the share by which a figure may become worse.
///
/// # Errors
/// No step is common to all runs, or none had the same load.
pub fn compare(
    before: &[&Record],
    after: &[&Record],
    design: RunDesign,
    allowed: Option<f64>,
) -> Result<RunComparison, NotComparable> {
    let all: Vec<&Record> = before.iter().chain(after).copied().collect();
    let (mut rows, mut not_compared, mut other_loads) = (Vec::new(), Vec::new(), Vec::new());
    for name in step_names(&all) {
        let runs: Vec<(&Record, &StepRecord)> =
            all.iter().filter_map(|record| Some((*record, step_of(record, name)?))).collect();
        if runs.len() < all.len() {
            not_compared.push(format!("{name}: {} of {} results have it", runs.len(), all.len()));
            continue;
        }
        let differences = if design == RunDesign::Pairs { Vec::new() } else { load_differences(&runs) };
        if !differences.is_empty() {
            other_loads.push(format!("{name}: {}", differences.join(", ")));
            continue;
        }
        rows.extend(step_rows(&runs, before.len(), design));
    }
    if rows.is_empty() {
        return Err(nothing_in_common(&all, other_loads));
    }
    not_compared.extend(other_loads.into_iter().map(|differences| format!("{differences}: another load")));
    let chances: Vec<f64> =
        rows.iter().map(|row: &StepChange| row.change.map_or(1.0, |change| change.p_value)).collect();
    for (row, chance) in rows.iter_mut().zip(holm(&chances)) {
        row.adjusted_p = chance;
    }
    let gate = allowed.map(|allowed| GateAnswer::for_rows(allowed, &mut rows));
    let differs = surroundings::differences(before, after);
    Ok(RunComparison { runs: [before.len(), after.len()], rows, differs, not_compared, gate })
}

/// The names of all steps, in the order of the results.
fn step_names<'a>(all: &[&'a Record]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for step in all.iter().flat_map(|record| record.tests()) {
        if !names.contains(&step.name.as_str()) {
            names.push(&step.name);
        }
    }
    names
}

fn step_of<'a>(record: &'a Record, name: &str) -> Option<&'a StepRecord> {
    record.tests().find(|step| step.name == name && step.moved())
}

fn load_differences(runs: &[(&Record, &StepRecord)]) -> Vec<String> {
    let conditions: Vec<_> = runs.iter().map(|(record, step)| record.conditions(step)).collect();
    let found = conditions.iter().skip(1).map(|other| load::differences(&conditions[0], other));
    found.into_iter().find(|differences| !differences.is_empty()).unwrap_or_default()
}

fn nothing_in_common(all: &[&Record], other_loads: Vec<String>) -> NotComparable {
    if !other_loads.is_empty() {
        return NotComparable::OtherLoads(other_loads);
    }
    let steps = |record: &Record| {
        let names: Vec<&str> = record.tests().map(|step| step.name.as_str()).collect();
        if names.is_empty() { "none".into() } else { names.join(", ") }
    };
    let first = steps(all[0]);
    let other = all.iter().map(|record| steps(record)).find(|names| *names != first);
    NotComparable::NoCommonStep { after: other.unwrap_or_else(|| first.clone()), before: first }
}

/// The rows of a step: each direction's rate and latencies.
fn step_rows(runs: &[(&Record, &StepRecord)], before: usize, design: RunDesign) -> Vec<StepChange> {
    let first = runs[0].1;
    let several = first.directions().count() > 1;
    let void = runs.iter().find_map(|(record, step)| void(record, step));
    let one_each = runs.len() == 2 && design == RunDesign::Groups;
    let mut rows = Vec::new();
    for (direction, summary) in first.directions() {
        for figure in ComparedFigure::of_direction(summary) {
            let mut all = Vec::new();
            for (_, step) in runs {
                let Some(value) = figure.of_run(step, direction) else { break };
                // The spread between several runs counts, and not that within one.
                let interval = if one_each { figure.interval(step, direction, value) } else { None };
                all.push(RunFigure { value, interval });
            }
            if all.len() < runs.len() {
                continue;
            }
            let (a, b) = all.split_at(before);
            rows.push(StepChange {
                step: first.name.clone(),
                direction: several.then(|| direction.name().to_string()),
                figure,
                before: geometric_mean(a),
                after: geometric_mean(b),
                change: design.change(a, b),
                adjusted_p: 1.0,
                void: void.clone(),
                gate: None,
            });
        }
    }
    rows
}

/// The doubt that voids the figures of a step.
pub fn void(record: &Record, step: &StepRecord) -> Option<String> {
    let doubt = record.doubts.iter().find(|doubt| doubt.voids(&step.name))?;
    Some(doubt.code.to_string())
}

fn geometric_mean(figures: &[RunFigure]) -> f64 {
    (figures.iter().map(|f| f.value.ln()).sum::<f64>() / figures.len() as f64).exp()
}

//! Two groups of runs, step by step and figure by figure.

use serde::Serialize;
use volproof_base::stats::CONFIDENCE;
use volproof_base::stats::change_of_runs::{ChangeOfRuns, RunFigure, holm};
use volproof_base::unit::counted;
use volproof_record::{Record, StepRecord};

use crate::change_gate::{GateAnswer, GateWord};
use crate::compared_figure::ComparedFigure;
use crate::load;
use crate::surroundings::{self, Difference};

/// Why nothing can be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    /// Each step of the results before is missing in a result, had another load there, or did nothing before.
    #[error("no step of the results before can be compared: {}", .0.join("; "))]
    NoStep(Vec<String>),
    /// The results before have no step.
    #[error("the results before have no step")]
    Nothing,
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

    /// Nothing completes any more: no interval is needed to see that.
    pub fn is_dead(&self) -> bool {
        self.after == 0.0 && self.before > 0.0
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
    /// What cannot be compared, each with the reason: steps of the results before, and runs that did not end well.
    pub not_comparable: Vec<String>,
    /// Steps that the results before do not have.
    pub not_before: Vec<String>,
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

/// Compares two groups of runs. `allowed` is the share by which a figure may become worse. The answer is about all steps of the runs before.
///
/// # Errors
/// No step of the runs before can be compared.
pub fn compare(
    before: &[&Record],
    after: &[&Record],
    design: RunDesign,
    allowed: Option<f64>,
) -> Result<RunComparison, NotComparable> {
    let all: Vec<&Record> = before.iter().chain(after).copied().collect();
    let (mut rows, mut not_comparable) = (Vec::new(), Vec::new());
    let names = step_names(before);
    if names.is_empty() {
        return Err(NotComparable::Nothing);
    }
    for name in &names {
        let runs: Vec<(&Record, &StepRecord)> =
            all.iter().filter_map(|record| Some((*record, step_of(record, name)?))).collect();
        match why_not_comparable(&runs, before.len(), all.len(), design) {
            Some(why) => not_comparable.push(format!("{name}: {why}")),
            None => rows.extend(step_rows(&runs, before.len(), design)),
        }
    }
    if rows.is_empty() {
        return Err(NotComparable::NoStep(not_comparable));
    }
    not_comparable.extend(cut_short("before", before));
    not_comparable.extend(cut_short("after", after));
    let mut not_before = step_names(after);
    not_before.retain(|name| !names.contains(name));
    let chances: Vec<f64> = rows.iter().map(chance_between_equals).collect();
    for (row, chance) in rows.iter_mut().zip(holm(&chances)) {
        row.adjusted_p = chance;
    }
    let gate = allowed.map(|allowed| GateAnswer::for_rows(allowed, not_comparable.is_empty(), &mut rows));
    Ok(RunComparison {
        runs: [before.len(), after.len()],
        rows,
        differs: surroundings::differences(before, after),
        not_comparable,
        not_before: not_before.into_iter().map(String::from).collect(),
        gate,
    })
}

/// Why a step of the runs before cannot be compared; none where it can.
fn why_not_comparable(
    runs: &[(&Record, &StepRecord)],
    before: usize,
    all: usize,
    design: RunDesign,
) -> Option<String> {
    if runs.len() < all {
        return Some(format!("{} of {all} results have it", runs.len()));
    }
    let differences = if design == RunDesign::Pairs { Vec::new() } else { load_differences(runs) };
    if !differences.is_empty() {
        return Some(differences.join(", "));
    }
    let idle = runs[..before].iter().filter(|(_, step)| !step.moved()).count();
    (idle > 0).then(|| format!("it completed nothing in {idle} of {before} results before"))
}

/// How runs of a group ended that did not run to their end.
fn cut_short(group: &str, runs: &[&Record]) -> Option<String> {
    let ends: Vec<String> = runs.iter().filter_map(|run| run.state.end()).collect();
    let first = ends.first()?;
    Some(format!("{} of {} results {group} did not run to the end: {first}", ends.len(), runs.len()))
}

fn chance_between_equals(row: &StepChange) -> f64 {
    if row.is_dead() {
        return 0.0;
    }
    row.change.map_or(1.0, |change| change.p_value)
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
    record.tests().find(|step| step.name == name)
}

fn load_differences(runs: &[(&Record, &StepRecord)]) -> Vec<String> {
    let conditions: Vec<_> = runs.iter().map(|(record, step)| record.conditions(step)).collect();
    let found = conditions.iter().skip(1).map(|other| load::differences(&conditions[0], other));
    found.into_iter().find(|differences| !differences.is_empty()).unwrap_or_default()
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
                let interval = if one_each { figure.interval(step, direction) } else { None };
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
                change: design.change(a, b).map(|change| change.of_buckets(figure.half_bucket())),
                adjusted_p: 1.0,
                void: void.clone(),
                gate: None,
            });
        }
    }
    rows
}

/// Why the figures of a step are void: I/Os that failed, or a doubt.
pub fn void(record: &Record, step: &StepRecord) -> Option<String> {
    if step.errors.count > 0 {
        return Some(format!("{} failed", counted(step.errors.count, "I/O")));
    }
    let doubt = record.doubts.iter().find(|doubt| doubt.voids(&step.name))?;
    Some(doubt.code.to_string())
}

fn geometric_mean(figures: &[RunFigure]) -> f64 {
    (figures.iter().map(|f| f.value.ln()).sum::<f64>() / figures.len() as f64).exp()
}

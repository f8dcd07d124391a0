//! What the history keeps of a Record: its figures, its surroundings, its answer. Rates are a second; latencies are nanoseconds.

use serde::{Deserialize, Serialize};
use volproof_base::unit::Bytes;
use volproof_compare::{ComparedFigure, RunSurroundings, load_words, surroundings_of, void, volume_key};
use volproof_record::{Known, Outcome, Record, StepRecord, TargetRecord};

/// A device in virtual time has no identity: all of them are one volume, so that a history can be tried without any.
const SIMULATED: &str = "simulated volume";

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunLine {
    /// When it began, RFC 3339; empty where a report does not tell.
    pub started: String,
    /// What tells its volumes from all others; absent where nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// Bytes of all its volumes.
    pub size_bytes: Bytes,
    /// Name of the plan.
    pub plan: String,
    /// The load of each step, in words. Empty where the steps follow from the figures: a search is the same under any load it tries.
    pub load: String,
    /// The one answer to all that it was held against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The word in front of the answer of a run that is not whole: `INTERRUPTED`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub end: String,
    /// The figures of its steps.
    pub figures: Vec<StoredFigure>,
    /// Machine, kernel, settings.
    pub surroundings: RunSurroundings,
}

/// A figure of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredFigure {
    /// The step.
    pub step: String,
    /// The direction, of a step with several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// Which figure.
    pub figure: ComparedFigure,
    /// The figure.
    pub value: f64,
    /// Half its 95 % interval as a share of it, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// The doubt that voids it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<String>,
}

impl RunLine {
    /// The line of a Record.
    pub fn of_record(record: &Record) -> RunLine {
        let record = &*record.in_lines();
        let mut figures = Vec::new();
        for step in record.steps.iter().filter(|step| is_of_the_plan(record, step)) {
            figures.extend(figures_of(record, step));
        }
        RunLine {
            started: record.started.as_ref().cloned().unwrap_or_default(),
            volume: if record.is_simulated() { Some(SIMULATED.into()) } else { volume_key(record) },
            size_bytes: Bytes(record.targets.iter().map(|target| volume_size(target).0).sum()),
            plan: record.title().to_string(),
            load: load(record),
            outcome: record.outcome,
            end: end(record),
            figures,
            surroundings: surroundings_of(record),
        }
    }
}

impl RunLine {
    /// All its steps ran, and no figure is void.
    pub fn is_sound(&self) -> bool {
        self.end.is_empty() && self.figures.iter().all(|figure| figure.void.is_none())
    }

    /// It is the other run: no volume is driven by two runs that begin in the same second under the same load.
    pub fn is_run(&self, other: &RunLine) -> bool {
        let identity =
            |run: &RunLine| (run.started.clone(), run.volume.clone(), run.plan.clone(), run.load.clone());
        identity(self) == identity(other)
    }
}

/// How the run ended, in a word; empty for one that measured each step.
fn end(record: &Record) -> String {
    if record.report.is_none() && record.dead_step().is_some() {
        return "FAILED".into();
    }
    record.state.word().into()
}

/// The size of the volume, which holds the file under test.
fn volume_size(target: &TargetRecord) -> Bytes {
    target.facts.device().map_or(target.size_bytes, |device| device.size_bytes)
}

/// A step that follows from the figures of others is not in every run of the plan.
fn is_of_the_plan(record: &Record, step: &StepRecord) -> bool {
    let follows = record.plan_step(&step.name).is_some_and(|plan| plan.follows.is_some());
    step.moved() && !follows
}

/// Rate and p99 of each direction of a step.
fn figures_of(record: &Record, step: &StepRecord) -> Vec<StoredFigure> {
    let is_mix = step.directions().count() > 1;
    let void = void(record, step);
    let mut out = Vec::new();
    for (direction, summary) in step.directions() {
        let [rate, _, p99] = ComparedFigure::of_direction(summary);
        for figure in [rate, p99] {
            let Some(value) = figure.of_run(step, direction).filter(|value| *value > 0.0) else { continue };
            let ends = if figure == rate { figure.interval(step, direction) } else { None };
            out.push(StoredFigure {
                step: step.name.clone(),
                direction: is_mix.then(|| direction.name().to_string()),
                figure,
                value,
                error: ends.map(|(low, high)| (high - low) / 2.0 / value),
                void: void.clone(),
            });
        }
    }
    out
}

/// The loads of all steps that a plan has from its start.
fn load(record: &Record) -> String {
    if record.plan.question.is_some() {
        return String::new();
    }
    let mut loads = Vec::new();
    for plan in record.plan.steps.iter().filter(|plan| plan.follows.is_none()) {
        // A step that did not run has no conditions of its own: those of the plan are the same.
        let step = StepRecord { name: plan.name.clone(), engine: Known::Unknown, ..StepRecord::default() };
        loads.push(format!("{}: {}", plan.name, load_words(&record.conditions(&step))));
    }
    if loads.is_empty() {
        let reported = record.steps.iter();
        loads.extend(reported.map(|step| format!("{}: {}", step.name, load_words(&record.conditions(step)))));
    }
    loads.join("; ")
}

//! The Record itself: everything a run planned, found and measured.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cause::CauseTable;
use super::compared::ReportComparison;
use super::conditions::Conditions;
use super::course_answer::CourseAnswer;
use super::diagnosis::{Diagnosis, Finding};
use super::fleet_record::{Fleet, FleetRank};
use super::known::Known;
use super::lookup::LookupCell;
use super::report_source::Report;
use super::saved_as::SavedAs;
use super::step_record::StepRecord;
use super::steps_together::Together;
use super::verdict::{Outcome, Verdict};
use super::{CrossCheck, JudgedPromise, TargetRecord};
use volproof_base::doubt::Doubt;
use volproof_host::environment::Environment;
use volproof_host::tune::ab::Effect;
use volproof_host::tune::{Applied, Restoration};
use volproof_plan::{Plan, Step};
use volproof_promise::fit::AskedFits;

/// The value of `schema`.
pub const SCHEMA: &str = "volproof.record";

/// The value of `schema_version`; a change that older readers would misread raises it.
pub const SCHEMA_VERSION: u32 = 2;

/// Everything a run planned, found and measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The version of volproof that wrote it.
    pub volproof_version: String,
    /// Start of the run, RFC 3339: UTC, or without `Z` by the clock of a machine whose zone a report does not tell.
    #[serde(default, skip_serializing_if = "Known::is_unknown")]
    pub started: Known<String>,
    /// How the run ended.
    pub state: State,
    /// The one answer to all that the Record is held against: a promise, the needs of applications, the limit of a search, the checks of a
    /// suite. `null` where nothing is judged, and where the run failed, was interrupted or is not valid. It is made anew whenever a file is read.
    #[serde(default)]
    pub outcome: Option<Outcome>,
    /// Start times of the interrupted runs whose finished steps this Record keeps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed_after: Vec<String>,
    /// The report that the Record was made of; absent where volproof measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
    /// The place of the run in a fleet; absent where one machine ran by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<FleetRank>,
    /// The machines of a fleet: the steps here are the sums over them. Absent in the Record of one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Box<Fleet>>,
    /// The plan: running it again is the reproduction. Absent where another tool measured: see the conditions of each step.
    #[serde(default = "Plan::none", skip_serializing_if = "Plan::is_none")]
    pub plan: Plan,
    /// The machine; absent where another tool measured.
    #[serde(default, skip_serializing_if = "Environment::is_unknown")]
    pub environment: Environment,
    /// The files and devices under test.
    pub targets: Vec<TargetRecord>,
    /// The kernel's knobs: what was set, what it did, and what became of it. Absent when nothing was touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<TuningRecord>,
    /// The measured steps, one entry for each that was begun.
    pub steps: Vec<StepRecord>,
    /// Stages of several steps, which may have run together. A step alone is not named here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<Together>,
    /// Doubts about the run and its figures: notes, warnings and blockers. Records call them `warnings`.
    #[serde(rename = "warnings")]
    pub doubts: Vec<Doubt>,
    /// Figures of each step by volproof and by fio in turn (`--cross-check`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cross_checks: Vec<CrossCheck>,
    /// The answer to the question of the plan, from the steps that have finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<CourseAnswer>,
    /// The promise to the targets, where one was named. Records call it `claimed`.
    #[serde(rename = "claimed", default, skip_serializing_if = "Option::is_none")]
    pub judged_promise: Option<JudgedPromise>,
    /// The applications whose needs the run is held against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<AskedFits>,
    /// The report of another tool beside the promise or the needs; absent for what volproof measured, which has a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<ReportComparison>,
    /// Whether the promise was kept, and the needs are met; absent where none was named, and for the report of another tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The limits of each step, in the order of steps, the weightiest finding of each first; absent in Records of before they were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<Finding>>,
    /// What held the volume back: the experiments of the run, for the gravest of its promises; absent where none was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causes: Option<CauseTable>,
    /// Index of steps and targets by name; no part of the content.
    #[serde(skip)]
    pub lookup: LookupCell,
    /// Its file; no part of the content.
    #[serde(skip)]
    pub saved_as: SavedAs,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Steps are missing: the run is under way, or the program was killed.
    Running,
    /// All steps ran.
    Complete,
    /// The user ended it.
    Interrupted,
    /// It could not go on; the text says why.
    Failed(String),
}

impl State {
    /// Why the run is not whole, in words; none where all steps ran.
    pub fn cut_short(&self) -> Option<&str> {
        match self {
            State::Complete => None,
            State::Failed(why) => Some(why),
            State::Interrupted => Some("what was measured until then"),
            State::Running => Some("later steps are missing"),
        }
    }

    /// How the run ended, for a reader who has not seen the word in front of the answer; none where all steps ran.
    pub fn end(&self) -> Option<String> {
        Some(format!("{}: {}", self.word().to_lowercase(), self.cut_short()?))
    }

    /// The word in front of the answer; empty where all steps ran.
    pub fn word(&self) -> &'static str {
        match self {
            State::Complete => "",
            State::Failed(_) => "FAILED",
            State::Interrupted => "INTERRUPTED",
            State::Running => "CUT OFF",
        }
    }
}

/// Knobs of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TuningRecord {
    /// Each knob that differed from what was wanted.
    pub applied: Vec<Applied>,
    /// The effect of each knob on the rate, where it was measured (`--tune ab`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// Disks whose knobs are left alone: those below files under test, since only `--tune on` sets them, and all where no journal can be kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untouched: Vec<String>,
    /// Why no journal can be kept, where the knobs are left alone for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_journal: Option<String>,
    /// How putting them back went; absent while the run goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<Restoration>,
}

impl Record {
    /// A Record of this plan, in which nothing is measured yet.
    pub fn of_plan(plan: Plan, started: Known<String>) -> Record {
        Record {
            schema: SCHEMA.into(),
            schema_version: SCHEMA_VERSION,
            volproof_version: env!("CARGO_PKG_VERSION").into(),
            started,
            state: State::Running,
            outcome: None,
            resumed_after: Vec::new(),
            report: None,
            rank: None,
            plan,
            environment: Environment::default(),
            targets: Vec::new(),
            tuning: None,
            steps: Vec::new(),
            together: Vec::new(),
            doubts: Vec::new(),
            cross_checks: Vec::new(),
            answer: None,
            judged_promise: None,
            asked: None,
            compared: None,
            verdict: None,
            findings: None,
            causes: None,
            fleet: None,
            lookup: Default::default(),
            saved_as: Default::default(),
        }
    }

    /// The targets by paths that are the same in every run of these volumes, as JUnit, metrics and tickets name them.
    pub fn lasting_targets(&self) -> String {
        let paths: Vec<String> =
            self.targets.iter().map(|t| t.lasting_path().display().to_string()).collect();
        paths.join(", ")
    }

    /// What stands in place of the advice of a doubt or finding, where the load of the step is that of an application, which stays as it is.
    pub fn advice(&self, step: &str, code: &str, advice: &str) -> Option<&'static str> {
        self.asked.as_ref()?.advice(step, code, advice)
    }

    /// Under which conditions a step was measured: as the plan has it, or as the report says.
    pub fn conditions(&self, step: &StepRecord) -> Conditions {
        match (&step.reported, self.plan_step(&step.name)) {
            (Some(reported), _) => reported.conditions.clone(),
            (None, Some(plan)) => {
                let load = match step.engine.get() {
                    // The engine that ran may not be the one asked for.
                    Some(engine) => &Step { engine, ..plan.clone() },
                    None => plan,
                };
                let targets = step.targets.len();
                match self.fleet.as_deref() {
                    None => Conditions::of_step(load, targets),
                    Some(fleet) if fleet.volumes.is_shared() => {
                        Conditions::of_step(&fleet.load_on_shared(load), targets)
                    }
                    Some(fleet) => {
                        Conditions::of_step(load, fleet.machines.len() * self.plan.targets_of(plan).len())
                    }
                }
            }
            (None, None) => Conditions::default(),
        }
    }

    /// Whether a step is an experiment on a cause: its figures are held against no promise.
    pub fn is_experiment(&self, step: &StepRecord) -> bool {
        let follows = self.plan_step(&step.name).and_then(|plan| plan.follows.as_ref());
        follows.is_some_and(|follows| !follows.purpose.tests_promise())
    }

    /// The measured steps that are no experiments on a cause.
    pub fn tests(&self) -> impl Iterator<Item = &StepRecord> {
        self.steps.iter().filter(|step| !self.is_experiment(step))
    }

    /// Whether a doubt makes the figures of a step void.
    pub fn is_void(&self, step: &StepRecord) -> bool {
        self.doubts.iter().any(|doubt| doubt.voids(&step.name))
    }

    /// The planned load of a measured step.
    pub fn plan_step_of(&self, step: &StepRecord) -> Option<&volproof_plan::Step> {
        self.plan_step(&step.name)
    }

    /// Whether the run is a test of a volume. A comparison of tools is none, nor is a course: most of its points are chosen to stay below
    /// the limit.
    pub fn tests_a_volume(&self) -> bool {
        self.cross_checks.is_empty() && self.plan.question.is_none()
    }

    /// Title of the run: the name of its plan, or the tool that measured.
    pub fn title(&self) -> &str {
        self.report.as_ref().map_or(&self.plan.name, |r| &r.tool)
    }

    /// Requests that a step was to keep in flight on each target.
    pub fn depth_per_target(&self, step: &StepRecord) -> Option<u64> {
        match &step.reported {
            Some(reported) => reported.conditions.in_flight(),
            None => self.plan_step(&step.name).map(|plan| match self.fleet.as_deref() {
                Some(fleet) if fleet.volumes.is_shared() => fleet.load_on_shared(plan).depth_per_target(),
                _ => plan.depth_per_target(),
            }),
        }
    }

    /// A device that exists in virtual time alone was played in some step, as the plan or a report says.
    pub fn is_simulated(&self) -> bool {
        self.plan.steps.iter().any(|s| s.simulate.is_some())
            || self.steps.iter().filter_map(|s| s.reported.as_ref()).any(|reported| reported.simulated)
    }

    /// The first measured step of a run in which no I/O completed.
    pub fn dead_step(&self) -> Option<&StepRecord> {
        self.tests().find(|step| !step.moved() && step.errors.count == 0)
    }

    /// No I/O of any step completed.
    pub fn measured_nothing(&self) -> bool {
        self.steps.iter().all(|step| step.directions().next().is_none())
    }

    /// The step of that name in the plan.
    pub fn plan_step(&self, name: &str) -> Option<&Step> {
        let place = self.lookup().planned(name);
        let found = place.and_then(|place| self.plan.steps.get(place)).filter(|s| s.name == name);
        // Steps may have been renamed since the lookup was made.
        found.or_else(|| self.plan.steps.iter().find(|s| s.name == name))
    }

    /// The findings that the Record holds, step by step; absent where no rules of this version made any.
    pub fn diagnoses(&self) -> Option<Vec<Diagnosis>> {
        let held = self.findings.as_ref().filter(|_| self.volproof_version == env!("CARGO_PKG_VERSION"))?;
        let mut of: HashMap<&str, Vec<Finding>> = HashMap::new();
        for finding in held {
            of.entry(&finding.step).or_default().push(finding.clone());
        }
        let mut all = Vec::new();
        for step in &self.steps {
            let findings = of.remove(step.name.as_str()).unwrap_or_default();
            all.push(Diagnosis { step: step.name.clone(), findings });
        }
        Some(all)
    }
}

//! Record: the only result of a run. Every output renders one, now or years later.
//!
//! JSON with `schema: "volproof.record"`; units are in the key names; `docs/record.schema.json` describes it. Raw samples
//! ([`Series`](volproof_base::sample::Series)) are kept beside the summaries, so that any statistic can be computed again.

pub mod exit;

mod accounting;
mod cause;
mod compared;
mod conditions;
pub mod contradictions_of_reports;
mod course_answer;
mod diagnosis;
mod direction_summary;
mod earlier;
mod figure_range;
mod figures_of_report;
mod fleet_record;
mod from_report;
mod headroom;
mod in_lines;
mod intervention;
mod known;
pub mod long_samples;
mod lookup;
mod misfits_of_samples;
mod part_of_step;
mod promised;
mod provider_figures;
mod record_file;
mod remark;
mod report_source;
mod reported;
mod runs_at_one_time;
mod saved_as;
mod slo_answer;
mod spacing;
mod step_figures;
mod step_record;
mod steps_together;
mod suite_answer;
mod verdict;
mod version1;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_base::doubt::Doubt;
use volproof_base::stats::compare::Comparison;
use volproof_base::unit::{Bytes, Nanos};
use volproof_device::device::Facts;
use volproof_host::environment::Environment;
use volproof_host::tune::ab::Effect;
use volproof_host::tune::{Applied, Restoration};
use volproof_plan::{Plan, Question, Step};
use volproof_promise::catalogue::Promise;
use volproof_promise::fit::AskedFits;

pub use accounting::Accounting;
pub use cause::{
    Cause, CauseEvidence, CauseFinding, CauseRow, CauseTable, CauseTrial, NotTried, SettingEffect, SoldAs,
};
pub use compared::{Compared, ComparedWord, IntervalBasis, ReportComparison};
pub use conditions::{Conditions, DrainedQueue, Pace};
pub use course_answer::{
    AxisBest, CapFit, CapResidual, CourseAnswer, DeadTime, DepthAnswer, DepthKnee, SweepAnswer, SweepPoint,
    UnmeasuredPoint,
};
pub use diagnosis::{Confidence, Diagnosis, Finding};
pub use direction_summary::{DirectionSummary, LateResponses, LatencySummary, UNKNOWN};
pub use figures_of_report::ended_by_size;
pub use fleet_record::{
    ClockBasis, Fleet, FleetMachine, FleetRank, FleetStep, FleetVolumes, MachineShare, RankClock,
    machine_label,
};
pub use from_report::StepNames;
pub use headroom::Headroom;
pub use intervention::{AbortedStep, Intervention};
pub use known::Known;
pub use lookup::{Company, LookupCell};
pub use promised::{load_without_promise, promise_direction};
pub use provider_figures::{
    LimitRates, PageStanding, ProvenLimit, ProviderCounts, ProviderFigures, ProviderLatency,
};
pub use record_file::{RecordError, json_schema};
pub use remark::{Remark, form, remarks};
pub use report_source::{Report, ReportProgram};
pub use reported::{
    Band, RateSpread, ReportedDevice, ReportedFailure, ReportedFigures, ReportedHost, ReportedLatency,
    ReportedRequests, ReportedStep, ReportedSync,
};
pub use runs_at_one_time::{Neighbour, TimedRun, company};
pub use saved_as::SavedAs;
pub use slo_answer::{SloAnswer, SloDepth, SloTrial, TrialOutcome, UnsureShare};
pub use spacing::Spacing;
pub use step_figures::{
    CpuFigures, DeviceCounts, DirectionCounts, DiskFigures, LatencyFigures, LoadFigures, PaceFigures,
    QUEUE_SETS_LATENCY, RateFigures, StepFigures, bins, most_parts,
};
pub use step_record::{CpuRecord, ErrorRecord, IoError, OpenLoopRecord, StepRecord, StepTarget};
pub use steps_together::Together;
pub use suite_answer::{SuiteAnswer, SuiteCheck, SuitePoint, SuiteRounds};
pub use verdict::{BasisCode, Claim, ClaimStep, Delivered, JudgedNeed, Metric, Outcome, Untested, Verdict};
pub use volproof_base::report_form::{PrintedRanges, ReportForm};

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
    /// Steps that the user aborted: they have no result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aborted: Vec<AbortedStep>,
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

/// One step by two tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrossCheck {
    /// Name of the step in the plan that was asked for.
    pub step: String,
    /// The version of the other tool, as it prints it.
    pub fio_version: String,
    /// Pairs of runs, back to back.
    pub pairs: u64,
    /// Differences up to this share do not matter: the tools agree.
    pub margin: f64,
    /// Figures that both report.
    pub metrics: Vec<CrossMetric>,
}

/// A figure of two tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrossMetric {
    /// Name of the figure, which is in nanoseconds where less is better.
    pub name: String,
    /// A smaller figure is the better one; the comparison is of its reciprocal then.
    pub less_is_better: bool,
    /// Geometric mean over volproof's runs.
    pub volproof: f64,
    /// Geometric mean over fio's runs.
    pub fio: f64,
    /// Volproof over fio, pair by pair; absent for fewer than two pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
}

/// The installed fio did the I/O of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FioRun {
    /// The version, as fio prints it.
    pub version: String,
    /// How it was called; the job file came through its standard input.
    pub command: Vec<String>,
    /// The job file.
    pub job_file: String,
}

/// The promise that the run is held against. Complete: it needs no catalogue, so that a stored Record is judged as it was then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgedPromise {
    /// How it was asked for, as options of `run`.
    pub options: Vec<String>,
    /// Share by which a figure may be missed, 0 to 1.
    pub tolerance: f64,
    /// The promise to all targets together.
    pub promise: Promise,
    /// Notes that the reader needs beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Share of the seconds that must deliver, 0 to 1, where the user names one; else the provider's promise counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_share: Option<f64>,
    /// The burst of the type is judged, and not its baseline.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub judge_burst: bool,
    /// A simulated device is judged as if it were a volume.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub judge_simulated: bool,
}

/// The option that has a simulated device judged as if it were a volume.
pub const JUDGE_SIMULATED: &str = "--judge-simulated";

impl JudgedPromise {
    /// Has a simulated device judged as if it were a volume, now and by the commands that follow from this promise.
    pub fn judge_as_volume(&mut self) {
        self.judge_simulated = true;
        self.set_option(JUDGE_SIMULATED, None);
    }

    /// Lets figures miss the promise by this share, now and by the commands that follow from this promise.
    pub fn tolerate(&mut self, share: f64) {
        self.tolerance = share;
        // The percentage as it was typed: 7, and not 7.000000000000001.
        let percent = (share * 1e11).round() / 1e9;
        self.set_option("--tolerance", Some(percent.to_string()));
    }

    /// Asks that this share of the seconds delivers, now and by the commands that follow from this promise.
    pub fn ask_for_share(&mut self, share: f64) {
        self.min_share = Some(share);
        let percent = (share * 1e11).round() / 1e9;
        self.set_option("--min-share", Some(format!("{percent}%")));
    }

    fn set_option(&mut self, name: &str, value: Option<String>) {
        if let Some(at) = self.options.iter().position(|option| option == name) {
            let end = (at + 1 + usize::from(value.is_some())).min(self.options.len());
            self.options.drain(at..end);
        }
        self.options.extend([name.to_string()].into_iter().chain(value));
    }
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

/// One target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetRecord {
    /// As the user named it.
    pub named: PathBuf,
    /// The file or device that was driven.
    pub path: PathBuf,
    /// Bytes that were available to the plan.
    pub size_bytes: Bytes,
    /// volproof made the file and filled it: how long that took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filled_in_ns: Option<Nanos>,
    /// Facts about it, as they were before the run.
    pub facts: Facts,
}

/// The beginning of the names of test files that a run makes and removes. The rest of such a name differs from run to run.
pub const TEST_FILE: &str = "volproof-test-";
/// The same for test files that stay.
pub const KEPT_FILE: &str = "volproof-kept-";

impl TargetRecord {
    /// Whether it is the test file that the run made in a folder.
    pub fn is_test_file(&self) -> bool {
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        self.path != self.named && (name.starts_with(TEST_FILE) || name.starts_with(KEPT_FILE))
    }

    /// The path that is the same in every run of one volume: the folder in which the run made its test file, else the file or device itself.
    fn lasting_path(&self) -> &Path {
        self.path.parent().filter(|_| self.is_test_file()).unwrap_or(&self.path)
    }
}

impl Record {
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

    /// The user who ran or judged it asked to judge a simulated device as a volume.
    pub fn judges_simulated(&self) -> bool {
        let by_question = self.plan.question.as_ref().is_some_and(|question| match question {
            Question::Sweep(_) => false,
            Question::Slo(search) => search.judge_simulated,
            // The answer of a suite is headed SIMULATED.
            Question::Suite(_) => true,
        });
        by_question
            || self.judged_promise.as_ref().is_some_and(|promise| promise.judge_simulated)
            || self.asked.as_ref().is_some_and(|fits| fits.judge_simulated)
    }

    /// Nothing in it was measured of a volume, and nobody asked to judge it as one: no figure decides anything.
    pub fn is_void_as_simulated(&self) -> bool {
        self.is_simulated() && !self.judges_simulated()
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
}

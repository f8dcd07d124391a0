//! Record: the only result of a run. Every output renders one, now or years later.
//!
//! JSON with `schema: "volproof.record"`; units are in the key names; `docs/record.schema.json` describes it. Raw samples
//! ([`Series`]) are kept beside the summaries, so that any statistic can be computed again.

mod accounting;
mod conditions;
mod earlier;
mod judgement;
mod known;
mod lookup;
mod reported;
mod summary;
mod together;
mod version1;

use std::io::Write;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::device::Facts;
use crate::environment::Environment;
use crate::observe::Evidence;
use crate::plan::{EngineKind, Plan, Step};
use crate::sample::{Depth, Direction, Series};
use crate::spec::promise::Promise;
use crate::stats::compare::Comparison;
use crate::topo::Placement;
use crate::tune::ab::Effect;
use crate::tune::{Applied, Restoration};
use crate::unit::{Bytes, Nanos};
use crate::warn::Warning;

pub use accounting::Accounting;
pub use conditions::{Conditions, Pace};
pub use judgement::{
    Certainty, Claim, Delivered, Diagnosis, Finding, Metric, NOTHING, Outcome, Untested, Verdict, WarmUpCut,
};
pub use known::Known;
pub use lookup::{Company, LookupCell};
pub use reported::{
    Band, RateSpread, Report, ReportForm, ReportedDevice, ReportedFailure, ReportedFigures, ReportedHost,
    ReportedLatency, ReportedRequests, ReportedStep, ReportedSync,
};
use summary::is_zero;
pub use summary::{DirectionSummary, LatencySummary, Tail};
pub use together::Together;

/// What `schema` says.
pub const SCHEMA: &str = "volproof.record";
/// What `schema_version` says; a change that older readers would misread raises it.
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
    /// Start of the run, RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Known::is_unknown")]
    pub started: Known<String>,
    /// How the run ended.
    pub state: State,
    /// The report that the Record was made of; absent where volproof measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
    /// What was to be done: running it again is the reproduction. Absent where another tool measured: see the conditions of each step.
    #[serde(default = "Plan::none", skip_serializing_if = "Plan::is_none")]
    pub plan: Plan,
    /// The machine; absent where another tool measured.
    #[serde(default, skip_serializing_if = "Environment::is_unknown")]
    pub environment: Environment,
    /// What was tested.
    pub targets: Vec<TargetRecord>,
    /// The kernel's knobs: what was set, what it did, and what became of it. Absent when nothing was touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<TuningRecord>,
    /// What was measured, one entry per step that was begun.
    pub steps: Vec<StepRecord>,
    /// Steps that made up one stage, so that they may have run together; a step alone is not named here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<Together>,
    /// Doubts.
    pub warnings: Vec<Warning>,
    /// What each step gave by volproof and by fio in turn (`--cross-check`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cross_checks: Vec<CrossCheck>,
    /// What the targets are promised, when it was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<Claimed>,
    /// Whether the promise was kept; absent where none was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What limited each step, in the order of steps, the weightiest finding of each first; absent in Records of before they were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<Finding>>,
    /// Where the steps and targets of a name are; no part of the content.
    #[serde(skip)]
    pub lookup: LookupCell,
}

/// One step by two tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrossCheck {
    /// Name of the step in the plan that was asked for.
    pub step: String,
    /// What the other tool says of itself.
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
    /// What it is; nanoseconds where less is better.
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
    /// What it says of itself.
    pub version: String,
    /// How it was called; the job file came through its standard input.
    pub command: Vec<String>,
    /// The job file.
    pub job_file: String,
}

/// The promise that the run is held against. Complete: it needs no catalogue, so that a stored Record is judged as it was then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claimed {
    /// How it was asked for, as options of `run`.
    pub options: Vec<String>,
    /// Share by which a figure may be missed, 0 to 1.
    pub tolerance: f64,
    /// What is promised to all targets together.
    pub promise: Promise,
    /// What the reader must know beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The burst of the type is judged, and not its baseline.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub judge_burst: bool,
    /// A simulated device is judged as if it were a volume.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub judge_simulated: bool,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// More steps are to come: the program was cut off if this is all there is.
    Running,
    /// All steps ran.
    Complete,
    /// The user ended it.
    Interrupted,
    /// It could not go on; the text says why.
    Failed(String),
}

/// Knobs of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TuningRecord {
    /// Each knob that differed from what was wanted.
    pub applied: Vec<Applied>,
    /// What each of them does to the rate, where that was measured (`--tune ab`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// Disks below files under test: their knobs are left alone, since only `--tune on` sets those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untouched: Vec<String>,
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

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepRecord {
    /// Its name in the plan.
    pub name: String,
    /// The engine that ran, which may not be the one asked for; not known for engines that volproof has not.
    #[serde(default, skip_serializing_if = "Known::is_unknown")]
    pub engine: Known<EngineKind>,
    /// What was agreed with the kernel.
    pub engine_features: Vec<String>,
    /// What the report of another tool says, which the summaries here are made from; absent where volproof measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<Box<ReportedStep>>,
    /// The installed fio did the I/O: how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fio: Option<FioRun>,
    /// Start, RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Known::is_unknown")]
    pub started: Known<String>,
    /// In a stage of several steps: from the first I/O of the stage to the first of this step. The window comes after the ramp.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub started_after_ns: Nanos,
    /// From the start of the load threads to the first I/O.
    pub set_up_ns: Nanos,
    /// Length of the measured window.
    pub window_ns: Nanos,
    /// The windows of all load threads added up: less than their number times the window where an amount of I/O ends each by itself. 0 in
    /// Records of before this was kept.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub workers_window_ns: Nanos,
    /// Reads on all targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<DirectionSummary>,
    /// Writes on all targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<DirectionSummary>,
    /// Discards on all targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<DirectionSummary>,
    /// Flushes on all targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<DirectionSummary>,
    /// Time-averaged requests in flight, measured, over all targets; of a report, its rate times its mean latency.
    pub in_flight_mean: f64,
    /// Requests that were to be in flight, over all targets.
    #[serde(default, skip_serializing_if = "Known::is_unknown")]
    pub in_flight_asked: Known<f64>,
    /// How full the queue was and in what batches it was served, over all workers; absent in Records of before this was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<Depth>,
    /// I/Os for which there was no room among those kept for logs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trace_left_out_ios: u64,
    /// CPU time of the load threads and their helpers.
    pub cpu: CpuRecord,
    /// CPUs the workers were pinned to, in order of workers; empty when unpinned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned_cpus: Vec<u32>,
    /// Why they were placed there; absent for files and with `--cpus`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Failed I/Os.
    pub errors: ErrorRecord,
    /// I/Os that completed after the window and belong to no rate, and the longest of them.
    pub drained_ios: u64,
    /// The longest of those.
    pub drained_max_ns: Nanos,
    /// Flushes after the load (`end_fsync`), which are not among those of `sync`; their time is of the window where an amount of I/O ended
    /// the load.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub end_flushes: u64,
    /// The longest of them.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub end_flush_max_ns: Nanos,
    /// Requests that never completed.
    pub lost_ios: u64,
    /// Load threads that never came back from the kernel.
    pub stuck_workers: u32,
    /// The engine's account of its clock and of what its latencies leave out; absent for imports, for steps that the installed fio ran, and
    /// in Records of before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounting: Option<Accounting>,
    /// The schedule and how it was kept; only under a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoopRecord>,
    /// Each target by itself, with its samples.
    pub targets: Vec<StepTarget>,
    /// What the kernel counted beside us; empty for a step of a stage of several, see [`Together`].
    pub evidence: Evidence,
}

/// A step on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepTarget {
    /// The file or device.
    pub path: PathBuf,
    /// More targets that the same jobs drove in turn with it (`round_robin`): all figures here are of all of them together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<PathBuf>,
    /// Reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<DirectionSummary>,
    /// Writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<DirectionSummary>,
    /// Discards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<DirectionSummary>,
    /// Flushes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<DirectionSummary>,
    /// Time-averaged requests in flight.
    pub in_flight_mean: f64,
    /// All samples.
    pub series: Series,
}

/// CPU time per I/O and of the load as a whole, within the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuRecord {
    /// User time of the load threads per I/O.
    pub user_ns_per_io: f64,
    /// System time of the load threads per I/O, io-wq helpers included.
    pub system_ns_per_io: f64,
    /// User time.
    pub user_ns: Nanos,
    /// System time, without helpers.
    pub system_ns: Nanos,
    /// System time of io-wq helper threads in the window.
    pub io_wq_ns: Nanos,
    /// Context switches of the load threads.
    pub context_switches: u64,
    /// Page faults of the load threads that waited for a device.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub page_faults_major: u64,
    /// Page faults of the load threads that did not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub page_faults_minor: u64,
    /// Share of the window during which the busiest load thread was on a CPU, 0 to 1.
    pub busiest_worker: f64,
}

/// Failed I/Os of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorRecord {
    /// All of them.
    pub count: u64,
    /// The first ones.
    pub first: Vec<IoError>,
}

/// One failed I/O.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IoError {
    /// The file or device.
    pub path: PathBuf,
    /// What it did.
    pub direction: Direction,
    /// Where.
    pub offset_bytes: Bytes,
    /// How much was asked for.
    pub length_bytes: Bytes,
    /// The error number's name and text, or how many bytes were moved.
    pub error: String,
}

/// An open loop: what was offered and how well the schedule was kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenLoopRecord {
    /// Arrivals a second that the schedule asked for, over all targets.
    pub offered_per_second: f64,
    /// Arrivals of the window.
    pub arrivals: u64,
    /// Completions a second within the window.
    pub achieved_per_second: f64,
    /// Arrivals of the window that had not completed when it ended, per second of window: above 0, a backlog grew.
    pub backlog_per_second: f64,
    /// Arrivals that never completed.
    pub censored: u64,
    /// The generator's own delay, p99: later than intended although a slot was free.
    pub lag_p99_ns: Nanos,
    /// Its maximum.
    pub lag_max_ns: Nanos,
    /// The rate was sustained: completions within 1 % of the offer.
    pub sustained: bool,
}

impl StepRecord {
    /// The summary of a direction over all targets.
    pub fn direction(&self, d: Direction) -> Option<&DirectionSummary> {
        match d {
            Direction::Read => self.read.as_ref(),
            Direction::Write => self.write.as_ref(),
            Direction::Trim => self.trim.as_ref(),
            Direction::Sync => self.sync.as_ref(),
        }
    }

    /// All directions that moved something, in order.
    pub fn directions(&self) -> impl Iterator<Item = (Direction, &DirectionSummary)> {
        Direction::ALL.into_iter().filter_map(|d| Some((d, self.direction(d)?)))
    }

    /// I/Os a second of all directions but flushes.
    pub fn iops(&self) -> f64 {
        self.directions().filter(|(d, _)| *d != Direction::Sync).map(|(_, s)| s.iops).sum()
    }
}

impl StepTarget {
    /// The summary of a direction.
    pub fn direction(&self, d: Direction) -> Option<&DirectionSummary> {
        match d {
            Direction::Read => self.read.as_ref(),
            Direction::Write => self.write.as_ref(),
            Direction::Trim => self.trim.as_ref(),
            Direction::Sync => self.sync.as_ref(),
        }
    }
}

/// Why a stored Record could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is JSON, but no Record.
    #[error("{} is not a volproof Record: its \"schema\" is not \"{SCHEMA}\"", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A Record of a later version.
    #[error("{} has schema_version {found}, this volproof reads up to {SCHEMA_VERSION}: use a newer one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// A Record that uses what volproof has given back to fio.
    #[error("{}: this volproof no longer knows {field}: read it with volproof {written_by}, which wrote it", path.display())]
    Removed {
        /// The file.
        path: PathBuf,
        /// The field, and where it stands.
        field: String,
        /// The version that wrote it.
        written_by: String,
    },
    /// It does not have the form of a Record.
    #[error("{}: {source}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// With line and column.
        source: serde_json::Error,
    },
}

/// The JSON Schema of a Record as this version writes it: `docs/record.schema.json`.
pub fn json_schema() -> serde_json::Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<Record>().to_value();
    schema["$id"] = format!("urn:volproof:record:{SCHEMA_VERSION}").into();
    schema["title"] = "volproof Record".into();
    schema["properties"]["schema"]["const"] = SCHEMA.into();
    schema["properties"]["schema_version"]["const"] = SCHEMA_VERSION.into();
    without_links(&mut schema);
    schema
}

/// Takes the brackets of rustdoc's links out of all descriptions.
fn without_links(schema: &mut serde_json::Value) {
    match schema {
        serde_json::Value::Object(fields) => {
            if let Some(serde_json::Value::String(text)) = fields.get_mut("description") {
                *text = text.replace("[`", "`").replace("`]", "`");
            }
            fields.values_mut().for_each(without_links);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(without_links),
        _ => {}
    }
}

impl Record {
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
                Conditions::of_step(load, if plan.round_robin { 1 } else { step.targets.len() })
            }
            (None, None) => Conditions::default(),
        }
    }

    /// What the run is called: its plan, or the tool that measured.
    pub fn title(&self) -> &str {
        self.report.as_ref().map_or(&self.plan.name, |r| &r.tool)
    }

    /// Requests that a step was to keep in flight on each target.
    pub fn depth_per_target(&self, step: &StepRecord) -> Option<u64> {
        match &step.reported {
            Some(reported) => reported.conditions.in_flight(),
            None => self.plan_step(&step.name).map(Step::depth_per_target),
        }
    }

    /// A device that exists in virtual time alone was played in some step.
    pub fn is_simulated(&self) -> bool {
        self.plan.steps.iter().any(|s| s.simulate.is_some())
    }

    /// The step of that name in the plan.
    pub fn plan_step(&self, name: &str) -> Option<&Step> {
        let place = self.lookup().planned(name);
        let found = place.and_then(|place| self.plan.steps.get(place)).filter(|s| s.name == name);
        // Steps may have been renamed since the lookup was made.
        found.or_else(|| self.plan.steps.iter().find(|s| s.name == name))
    }

    /// Reads a stored Record.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn load(path: &Path) -> Result<Record, RecordError> {
        let path = path.to_path_buf();
        let bytes =
            crate::input::read(&path).map_err(|source| RecordError::Read { path: path.clone(), source })?;
        let Ok(text) = String::from_utf8(bytes) else { return Err(RecordError::Foreign { path }) };
        Record::parse(&text, path)
    }

    /// Reads a Record from its text; `path` is for messages.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn parse(text: &str, path: PathBuf) -> Result<Record, RecordError> {
        #[derive(Deserialize)]
        struct Head {
            schema: Option<serde_json::Value>,
            schema_version: Option<u64>,
            volproof_version: Option<String>,
        }
        let head: Head =
            serde_json::from_str(text).map_err(|source| RecordError::Form { path: path.clone(), source })?;
        if head.schema.as_ref().and_then(|s| s.as_str()) != Some(SCHEMA) {
            return Err(RecordError::Foreign { path });
        }
        let found = head.schema_version.unwrap_or(0);
        if found > u64::from(SCHEMA_VERSION) {
            return Err(RecordError::Newer { path, found });
        }
        if found <= 1
            && let Some(value) = version1::of_report(text)
        {
            return serde_json::from_value(value).map_err(|source| RecordError::Form { path, source });
        }
        let source = match serde_json::from_str(text) {
            Ok(record) => return Ok(record),
            Err(source) => source,
        };
        match earlier::without_removed(text) {
            Ok(None) => Err(RecordError::Form { path, source }),
            Ok(Some(rest)) => {
                serde_json::from_value(rest).map_err(|source| RecordError::Form { path, source })
            }
            Err(field) => {
                let written_by = head.volproof_version.unwrap_or_default();
                Err(RecordError::Removed { path, field, written_by })
            }
        }
    }

    /// Writes the Record as one line of JSON.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, mut out: &mut dyn Write) -> std::io::Result<()> {
        serde_json::to_writer(&mut out, self)?;
        out.write_all(b"\n")
    }
}

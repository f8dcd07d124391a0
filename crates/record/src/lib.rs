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
mod cross_check;
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
mod judged_promise;
mod known;
pub mod long_samples;
mod lookup;
mod misfits_of_samples;
mod promised;
mod provider_figures;
mod record;
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
mod steps_by_name;
mod steps_together;
mod suite_answer;
mod target_record;
mod verdict;
mod version1;

pub use accounting::Accounting;
pub use cause::{
    Cause, CauseEvidence, CauseFinding, CauseRow, CauseTable, CauseTrial, NotTried, SettingEffect, SoldAs,
};
pub use compared::{Compared, ComparedWord, IntervalBasis, ReportComparison};
pub use conditions::{Conditions, Pace};
pub use course_answer::{
    AxisBest, CapFit, CapResidual, CourseAnswer, DeadTime, DepthAnswer, DepthKnee, SweepAnswer, SweepPoint,
    UnmeasuredPoint,
};
pub use cross_check::{CrossCheck, CrossMetric};
pub use diagnosis::{Confidence, Diagnosis, Finding};
pub use direction_summary::{DirectionSummary, LateResponses, LatencySummary, UNKNOWN, add_column};
pub use figures_of_report::ended_by_size;
pub use fleet_record::{
    ClockBasis, Fleet, FleetMachine, FleetRank, FleetStep, FleetVolumes, MachineShare, RankClock,
    machine_label,
};
pub use from_report::StepNames;
pub use headroom::Headroom;
pub use intervention::Intervention;
pub use judged_promise::JudgedPromise;
pub use known::Known;
pub use lookup::LookupCell;
pub use promised::{load_without_promise, promise_direction};
pub use provider_figures::{
    LimitRates, PageStanding, ProvenLimit, ProviderCounts, ProviderFigures, ProviderLatency,
};
pub use record::{Record, SCHEMA, SCHEMA_VERSION, State, TuningRecord};
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
    QUEUE_SETS_LATENCY, RateFigures, StepFigures, bins, bins_of, most_parts,
};
pub use step_record::{CpuRecord, ErrorRecord, FioRun, IoError, OpenLoopRecord, StepRecord, StepTarget};
pub use steps_together::{Company, Together};
pub use suite_answer::{SuiteAnswer, SuiteCheck, SuitePoint, SuiteRounds};
pub use target_record::{KEPT_FILE, TEST_FILE, TargetRecord};
pub use verdict::{BasisCode, Claim, ClaimStep, Delivered, JudgedNeed, Metric, Outcome, Untested, Verdict};
pub use volproof_base::report_form::{PrintedRanges, ReportForm};

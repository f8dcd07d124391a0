//! Arguments of `run`: the plan, the steps that follow from it, and the place in a fleet.

use std::path::PathBuf;

use super::compare_args::GateArgs;
use super::consent::ConsentArgs;
use super::output_args::OutputArgs;
use super::target_args::{TestFileArgs, TuneMode};
use crate::promise_options::PromiseOptions;
use volproof_base::unit::Nanos;
use volproof_course::suites;
use volproof_fleet::RankOf;
use volproof_plan::{CausesWanted, FollowUp, StepOptions};
use volproof_promise::fit::Disturbance;
use volproof_promise::suggested::{Suggested, applications, presets};

/// The plan of a run and its targets.
#[derive(clap::Args, Debug)]
pub struct PlanArgs {
    /// Folders (a test file is made there), files, block devices; driven together; none with --simulate
    #[arg(value_name = "TARGET")]
    pub targets: Vec<PathBuf>,

    /// Named plan: standard, quick, thorough, read-only [default: standard]
    #[arg(long, value_name = "NAME", conflicts_with = "plan", help_heading = "Plan",
          value_parser = Suggested(presets), hide_possible_values = true)]
    pub preset: Option<String>,
    /// Plan file (TOML)
    #[arg(long, value_name = "FILE", help_heading = "Plan")]
    pub plan: Option<PathBuf>,
    /// A standard suite, with the options of `volproof suite NAME`; `volproof plan --list` lists them
    #[arg(long, value_name = "NAME", help_heading = "Plan", value_parser = Suggested(suites::names),
          hide_possible_values = true)]
    pub suite: Option<String>,
    /// Run the loads of these applications (behind those of --preset, --plan or --rw), and judge their needs
    #[arg(long, value_name = "APP[:GRADE][:KEY=N],...", help_heading = "Plan",
          value_parser = Suggested(applications), hide_possible_values = true)]
    pub fit: Option<String>,
    /// Read so much a second beside each load of --fit, as a backup or a compaction does
    #[arg(long, value_name = "SIZE/s", help_heading = "Plan", requires = "fit")]
    pub beside: Option<Disturbance>,
    /// Count I/O errors and go on
    #[arg(long, help_heading = "Plan")]
    pub continue_on_error: bool,

    /// The workload
    #[command(flatten)]
    pub step: StepOptions,

    /// The files that may be overwritten
    #[command(flatten)]
    pub consent: ConsentArgs,
    /// The test file
    #[command(flatten)]
    pub file: TestFileArgs,
}

/// A run and where its results go.
#[derive(clap::Args, Debug)]
pub struct RunArgs {
    /// The plan and its targets
    #[command(flatten)]
    pub what: PlanArgs,
    /// Finish the interrupted run of this Record, with its plan, targets and promise; finished steps are kept
    #[arg(long, value_name = "RECORD", help_heading = "Plan", conflicts_with_all = ["cross_check", "start_at"])]
    pub resume: Option<PathBuf>,

    /// Set the kernel's knobs for the devices, and put them back; ab also measures what each knob does
    /// [default: on for block devices when root]
    #[arg(long, value_name = "on|off|ab", help_heading = "Tuning", hide_possible_values = true)]
    pub tune: Option<TuneMode>,

    /// Trace about one request in 32 through the kernel's block layer, and tell where its time goes; needs root and tracefs
    #[arg(long, help_heading = "Output")]
    pub anatomy: bool,

    /// The promise
    #[command(flatten)]
    pub promise: PromiseOptions,
    /// Run every step by volproof and by the installed fio in turn, and say whether they agree [default PAIRS: 6]
    #[arg(long, value_name = "PAIRS", num_args = 0..=1, default_missing_value = "6", conflicts_with = "until_conclusive",
          value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Plan")]
    pub cross_check: Option<u32>,
    /// Compare with this Record, or with the runs of this volume and load in this folder since their last step (docs/history.md)
    #[arg(long, value_name = "FILE|FOLDER", help_heading = "Verdict", conflicts_with_all = ["cross_check", "start_at"])]
    pub baseline: Option<PathBuf>,
    /// The gate of --baseline
    #[command(flatten)]
    pub gate: GateArgs,
    /// The steps that follow from what was measured
    #[command(flatten)]
    pub follow_up: FollowUpArgs,

    /// The place in a fleet
    #[command(flatten)]
    pub fleet: FleetArgs,

    /// Where results go
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The steps that a run adds after those of its plan.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct FollowUpArgs {
    /// End with the last step of the plan: a missed promise is not tried under more load, and no cause is looked for
    #[arg(long, conflicts_with_all = ["why", "budget", "until_conclusive"], help_heading = "Verdict")]
    pub no_follow_up: bool,
    /// Look for what holds the volume back, also where it keeps its promise
    #[arg(long, help_heading = "Verdict")]
    pub why: bool,
    /// All added steps together take at most this time
    #[arg(long, value_name = "TIME", help_heading = "Verdict")]
    pub budget: Option<Nanos>,
    /// Measure a step once more for as long as its verdict needs, up to MAX [default MAX: 30m]
    #[arg(long, value_name = "MAX", num_args = 0..=1, default_missing_value = "30m", help_heading = "Verdict")]
    pub until_conclusive: Option<Nanos>,
}

impl FollowUpArgs {
    /// How a run goes on that is held against a promise.
    pub fn follow_up(&self) -> Option<FollowUp> {
        let causes = if self.why { CausesWanted::Always } else { CausesWanted::AfterFail };
        (!self.no_follow_up).then_some(FollowUp {
            causes,
            budget: self.budget,
            longest: self.until_conclusive,
        })
    }

    /// The option about steps which only a promise brings about.
    pub fn needs_promise(&self) -> Option<&'static str> {
        if self.no_follow_up {
            return Some("--no-follow-up");
        }
        if self.why {
            return Some("--why");
        }
        let until_conclusive = self.until_conclusive.map(|_| "--until-conclusive");
        self.budget.map(|_| "--budget").or(until_conclusive)
    }
}

/// The time of `--start-at`. All machines of a fleet have to read it alike, so it needs its distance from UTC.
pub(super) fn start_time(text: &str) -> Result<jiff::Timestamp, String> {
    let zoned = "write it in UTC, such as 2026-11-21T22:00:00Z, or with its distance from UTC, such as 2026-11-21T23:00:00+01:00";
    text.parse().map_err(|_| match text.parse::<jiff::civil::DateTime>() {
        Ok(_) => format!("the time has no zone: {zoned}"),
        Err(_) => format!("it is no time: {zoned}"),
    })
}

/// The place of a run among machines that run the same plan at the same time.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct FleetArgs {
    /// Send the first I/O at this time, as 2026-11-21T22:00:00Z, on every machine of a fleet; `volproof merge` adds up their Records
    #[arg(long, value_name = "TIME", help_heading = "Fleet", value_parser = start_time,
          conflicts_with_all = ["cross_check", "until_conclusive"])]
    pub start_at: Option<jiff::Timestamp>,
    /// This machine is number I of N, from 0
    #[arg(long, value_name = "I/N", help_heading = "Fleet", requires = "start_at")]
    pub rank: Option<RankOf>,
    /// Whose volumes they are
    #[command(flatten)]
    pub sharing: SharingArgs,
    /// The clock is wrong by no more than this, whatever the kernel says of it; for clocks that PTP keeps
    #[arg(long, value_name = "TIME", help_heading = "Fleet", requires = "start_at")]
    pub clock_error: Option<Nanos>,
}

/// Whose volumes the machines of a fleet drive.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct SharingArgs {
    /// The target is one volume that is attached to all machines: each drives a part of it
    #[arg(long, help_heading = "Fleet")]
    pub shared: bool,
    /// The same, but each machine drives the whole of it
    #[arg(long, help_heading = "Fleet")]
    pub overlap: bool,
}

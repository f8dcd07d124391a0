//! The command line: declarations of every subcommand, no behaviour.

mod command_groups;
mod compare_args;
mod consent;
mod course_args;
mod examples;
mod fit_args;
mod fleet_args;
mod history_args;
mod million_args;
mod named_inputs;
mod output_args;
mod run_args;
mod size_args;
mod stored_args;
mod target_args;
mod watch_args;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub use compare_args::{CompareArgs, GateArgs};
pub use consent::{ConsentArgs, OverwriteMode};
pub use course_args::{ColdArgs, CourseArgs, SloArgs, SuiteArgs, SweepArgs};
pub use fit_args::{FitArgs, FitsArgs};
pub use fleet_args::{FleetMemberArgs, FleetRunArgs};
pub use history_args::HistoryArgs;
pub use million_args::MillionArgs;
pub use named_inputs::NamedInput;
pub use output_args::{OutputArgs, SheetArgs};
pub use run_args::{FleetArgs, FollowUpArgs, PlanArgs, RunArgs, SharingArgs};
pub use size_args::SizeArgs;
pub use stored_args::{ExplainArgs, MergeArgs, ReportArgs, ShowArgs, VerdictCommand};
pub use target_args::{TargetUseArgs, TestFileArgs, TuneMode};
pub use watch_args::WatchArgs;

use crate::check::CheckArgs;
use crate::convert::ConvertArgs;
use crate::device_tuning::{RestoreArgs, TopoArgs, TuneArgs};
use crate::promise::PromiseArgs;
use volproof_lint::LintArgs;
use volproof_record::exit;

/// Does this volume deliver what was paid for, and if not, what holds it back?
#[derive(Parser, Debug)]
#[command(
    name = "volproof",
    version,
    max_term_width = 80,
    after_help = format!("{}\n\n{}", examples::VOLPROOF, exit::help())
)]
pub struct Cli {
    /// The subcommand
    #[command(subcommand)]
    pub command: CliCommand,
    /// What the arguments name for the subcommand to read or to measure
    #[arg(skip)]
    pub inputs: Vec<NamedInput>,
}

impl Cli {
    /// Reads the arguments of the program. The help has the commands in groups.
    ///
    /// # Errors
    /// A mistake; the help or the version, where they are asked for.
    pub fn of_program(arguments: &[OsString]) -> Result<Cli, clap::Error> {
        let mut command = command_groups::grouped(Cli::command());
        let matches = command.try_get_matches_from_mut(arguments)?;
        let cli = Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command))?;
        Ok(Cli { inputs: named_inputs::named_inputs(&command, &matches), ..cli })
    }
}

/// Subcommands.
#[derive(Subcommand, Debug)]
pub enum CliCommand {
    /// Test folders, files and block devices
    #[command(after_help = examples::RUN)]
    Run(Box<RunArgs>),
    /// The million-IOPS procedure of test100w.sh
    ///
    /// Queues to CPUs, kernel settings, 30 s of load, all put back.
    #[command(after_help = examples::MILLION)]
    Million(Box<MillionArgs>),
    /// Rate and latency by depth, block size, mix and jobs
    ///
    /// It finds the limits, the knee, and the depth that is enough.
    #[command(after_help = examples::SWEEP)]
    Sweep(Box<SweepArgs>),
    /// The highest load whose response time stays within a limit
    ///
    /// It also finds the depth that gives this load.
    #[command(after_help = examples::SLO, override_usage = "volproof slo [OPTIONS] <--p50|--p99|--p99.9|--mean> <TIME> [TARGET]")]
    Slo(Box<SloArgs>),
    /// A published test: SNIA's, a provider's, elastic volumes
    ///
    /// SNIA's tests, the contract of elastic volumes, or a provider's own procedure.
    #[command(after_help = examples::SUITE)]
    Suite(Box<SuiteArgs>),
    /// Is the volume still being loaded from a snapshot?
    ///
    /// It reads a thousand blocks, and reads them again.
    #[command(after_help = examples::COLD)]
    Cold(Box<ColdArgs>),
    /// Is the volume good enough for etcd, PostgreSQL, Kafka, ...?
    ///
    /// It runs the loads that applications publish, and holds the figures against their published needs.
    #[command(after_help = examples::FIT)]
    Fit(Box<FitArgs>),
    /// The old name of `fit --list`
    #[command(hide = true, after_help = examples::FITS)]
    Fits(FitsArgs),
    /// What `run` with the same options would do
    ///
    /// It writes nothing.
    // It shares the declarations of `run`, and has no result to write.
    #[command(after_help = examples::PLAN, mut_args(|a| { let output = a.get_help_heading() == Some("Output"); if output { a.hide(true) } else { a } }))]
    Plan(Box<PlanCommand>),
    /// What a run would overwrite, or why it may not
    ///
    /// Say what a run would overwrite, or why it may not
    #[command(after_help = examples::CHECK)]
    Check(CheckArgs),
    /// Print a Record, or what a report of fio, dd, iostat, ... shows
    ///
    /// A Record as its run printed it; a report of another tool in plain words.
    #[command(after_help = examples::SHOW)]
    Show(ShowArgs),
    /// A Record or a report as a page with charts: one HTML file
    ///
    /// The page needs no network.
    #[command(after_help = examples::REPORT)]
    Report(ReportArgs),
    /// The same run on many machines at once, under mpirun or srun
    ///
    /// It adds up their Records (docs/fleet.md).
    #[command(after_help = examples::FLEET)]
    Fleet(Box<FleetRunArgs>),
    /// Add up the Records of machines that ran at the same time
    ///
    /// They ran one plan with `run --start-at`.
    #[command(after_help = examples::MERGE)]
    Merge(Box<MergeArgs>),
    /// Judge a Record against another promise or other needs
    ///
    /// PASS (exit code 0), FAIL (1), INCONCLUSIVE (5) or INVALID (6). A report of another tool is compared, and has no verdict.
    #[command(after_help = examples::VERDICT)]
    Verdict(Box<VerdictCommand>),
    /// What became better or worse between two groups of results
    ///
    /// Before and after a change, or this volume and that one.
    #[command(after_help = examples::COMPARE)]
    Compare(Box<CompareArgs>),
    /// Follow a volume under its own users' load, for days
    ///
    /// Demand, throttled time, degraded spells, and the account of its promise. It makes no load and writes nothing to the volume.
    #[command(after_help = examples::WATCH, mut_args(|a| {
        let is_of_a_load = ["with", "promise_burst", "tolerance"].contains(&a.get_id().as_str());
        if is_of_a_load { a.hide(true) } else { a }
    }))]
    Watch(Box<WatchArgs>),
    /// The runs of each volume by time, and where its level changed
    ///
    /// A folder of Records is the store.
    #[command(after_help = examples::HISTORY)]
    History(Box<HistoryArgs>),
    /// Records, reports, plans and job files in another form
    #[command(after_help = examples::CONVERT)]
    Convert(ConvertArgs),
    /// The old name of `show --details`
    #[command(hide = true, after_help = examples::EXPLAIN)]
    Explain(ExplainArgs),
    /// Run fio's command lines and job files as fio does
    ///
    /// `volproof fio --help` lists what it takes.
    #[command(disable_help_flag = true)]
    Fio {
        /// Everything that fio takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FIO-ARGUMENTS")]
        arguments: Vec<OsString>,
    },
    /// The old name of `plan --list`
    #[command(hide = true, after_help = examples::PRESETS)]
    Presets,
    /// What a volume type promises, and what promises enough
    #[command(after_help = examples::PROMISE)]
    Promise(Box<PromiseArgs>),
    /// What volumes in Terraform plans and Kubernetes YAML promise
    ///
    /// It also says what is paid for and cannot be had.
    #[command(after_help = examples::LINT)]
    Lint(Box<LintArgs>),
    /// What volume would be enough for a demand
    ///
    /// It replays the demand through the limits and credits of each type.
    #[command(after_help = examples::SIZE)]
    Size(Box<SizeArgs>),
    /// CPUs and hardware queues, and where workers would go
    #[command(after_help = examples::TOPO)]
    Topo(TopoArgs),
    /// Set the kernel as a run does, and put it back on Ctrl-C
    #[command(after_help = examples::TUNE)]
    Tune(TuneArgs),
    /// Put back what killed runs and `tune --keep` left
    #[command(after_help = examples::RESTORE)]
    Restore(RestoreArgs),
    /// Print a completion script for a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
}

/// What `plan` prints.
#[derive(clap::Args, Debug)]
pub struct PlanCommand {
    /// List the presets and the suites
    #[arg(long, exclusive = true)]
    pub list: bool,
    /// The run
    #[command(flatten)]
    pub run: RunArgs,
}

//! The command line: declarations of every subcommand, no behaviour.

mod compare_args;
mod course_args;
mod examples;
mod fit_args;
mod fleet_args;
mod stored_args;

pub use compare_args::{CompareArgs, GateArgs};
pub use course_args::{ColdArgs, CourseArgs, SloArgs, SuiteArgs, SweepArgs};
pub use fit_args::{FitArgs, FitsArgs};
pub use fleet_args::{FleetCourse, FleetCourseArgs, FleetMemberArgs, FleetRunArgs};
pub use stored_args::{MergeArgs, ReportArgs, ShowArgs, VerdictCommand};

use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Parser, Subcommand};

use crate::check::CheckArgs;
use crate::convert::ConvertArgs;
use crate::device_tuning::{RestoreArgs, TopoArgs, TuneArgs};
use crate::explain::ExplainArgs;
use crate::promise::PromiseArgs;
use crate::promise_options::PromiseOptions;
use volproof_base::unit::{Bytes, Nanos};
use volproof_course::suites;
use volproof_fleet::RankOf;
use volproof_lint::LintArgs;
use volproof_plan::{CausesWanted, FollowUp, PreconditionChoice, Simulated, StepOptions};
use volproof_promise::fit::Disturbance;
use volproof_promise::suggested::{Suggested, applications, presets};
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
}

/// Subcommands.
#[derive(Subcommand, Debug)]
pub enum CliCommand {
    /// Test folders, files and block devices
    #[command(after_help = examples::RUN)]
    Run(Box<RunArgs>),
    /// The million-IOPS procedure of test100w.sh: queues to CPUs, knobs, 30 s of load, all put back
    #[command(after_help = examples::MILLION)]
    Million(Box<MillionArgs>),
    /// The rate and the latency by depth, block size, mix and jobs: limits, knee, the depth that is enough
    #[command(after_help = examples::SWEEP)]
    Sweep(Box<SweepArgs>),
    /// The highest load whose response time stays within a limit, and the depth that gives it
    #[command(after_help = examples::SLO, override_usage = "volproof slo [OPTIONS] <--p50|--p99|--p99.9|--mean> <TIME> [TARGET]")]
    Slo(Box<SloArgs>),
    /// A standard suite: SNIA's tests, the contract of elastic volumes, or a provider's own procedure
    #[command(after_help = examples::SUITE)]
    Suite(Box<SuiteArgs>),
    /// Say whether a volume is still being loaded from a snapshot: reads a thousand blocks and reads them again
    #[command(after_help = examples::COLD)]
    Cold(Box<ColdArgs>),
    /// Run the loads that applications publish, and say for which of them the volume is good enough
    #[command(after_help = examples::FIT)]
    Fit(Box<FitArgs>),
    /// The old name of `fit --list`
    #[command(hide = true, after_help = examples::FITS)]
    Fits(FitsArgs),
    /// Print what `run` with the same options would do, and write nothing
    // It shares the declarations of `run`, and has no result to write.
    #[command(after_help = examples::PLAN, mut_args(|a| { let output = a.get_help_heading() == Some("Output"); if output { a.hide(true) } else { a } }))]
    Plan(Box<PlanCommand>),
    /// Say what a run would overwrite, or why it may not
    #[command(after_help = examples::CHECK)]
    Check(CheckArgs),
    /// Print a stored Record as its run did, or say in plain words what a report of another tool (fio, dd, sysbench, ...) shows
    #[command(after_help = examples::SHOW)]
    Show(ShowArgs),
    /// Write a Record or a report of another tool as a page with charts, one HTML file that needs no network
    #[command(after_help = examples::REPORT)]
    Report(ReportArgs),
    /// Run on many machines at the same time, under mpirun or srun, and add up their Records (docs/fleet.md)
    #[command(after_help = examples::FLEET)]
    Fleet(Box<FleetRunArgs>),
    /// Add up the Records of machines that ran one plan at the same time (`run --start-at`)
    #[command(after_help = examples::MERGE)]
    Merge(Box<MergeArgs>),
    /// Judge a Record or a report of another tool against a promise: PASS (exit code 0), FAIL (1), INCONCLUSIVE (5) or INVALID (6)
    #[command(after_help = examples::VERDICT)]
    Verdict(Box<VerdictCommand>),
    /// What became better or worse between two groups of results: before and after a change, this volume and that one
    #[command(after_help = examples::COMPARE)]
    Compare(Box<CompareArgs>),
    /// Turn Records, reports of other tools, plans and job files into each other's forms
    #[command(after_help = examples::CONVERT)]
    Convert(ConvertArgs),
    /// The old name of `show`, and of `verdict` for several files
    #[command(hide = true, after_help = examples::EXPLAIN)]
    Explain(Box<ExplainArgs>),
    /// Run fio's command lines and job files, and report as fio does (`volproof fio --help`)
    #[command(disable_help_flag = true)]
    Fio {
        /// Everything that fio takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FIO-ARGUMENTS")]
        arguments: Vec<std::ffi::OsString>,
    },
    /// The old name of `plan --list`
    #[command(hide = true, after_help = examples::PRESETS)]
    Presets,
    /// The promise of a volume type, and the volumes that promise what is needed
    #[command(after_help = examples::PROMISE)]
    Promise(Box<PromiseArgs>),
    /// Say what the volumes in Terraform plans and Kubernetes YAML promise, and what is paid for and cannot be had
    #[command(after_help = examples::LINT)]
    Lint(Box<LintArgs>),
    /// CPUs and hardware queues of devices, and where workers would be placed
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

/// The test file that is made in a folder.
#[derive(clap::Args, Debug, Default)]
pub struct TestFileArgs {
    /// Size of a test file made in a folder [default: from free space and memory]
    #[arg(long, value_name = "SIZE", help_heading = "Test file")]
    pub file_size: Option<Bytes>,
    /// Seed of the random numbers, those of the data and those of the offsets
    #[arg(long, value_name = "N", help_heading = "Test file")]
    pub seed: Option<u64>,
    /// Leave the test file in its folder
    #[arg(long, help_heading = "Test file")]
    pub keep: bool,
    /// Write the targets before anything is measured: auto (by their class), none, fill, snia or regions [default: none]
    #[arg(long, value_name = "METHOD", help_heading = "Preparation")]
    pub precondition: Option<PreconditionChoice>,
}

/// The files and devices that a command that measures may overwrite.
#[derive(clap::Args, Debug, Default)]
pub struct ConsentArgs {
    /// Existing files that are named may be overwritten; with `=shared` also those that others have open, or that have other names
    #[arg(long, value_name = "shared", num_args = 0..=1, require_equals = true, default_missing_value = "alone",
          hide_possible_values = true, help_heading = "Safety")]
    pub overwrite: Option<OverwriteMode>,
    /// Destroy the data on the block device with this serial (`volproof check DEVICE` prints it)
    #[arg(long, value_name = "SERIAL", help_heading = "Safety")]
    pub destroy: Vec<String>,
}

impl ConsentArgs {
    /// Whether files that others use may be overwritten too.
    pub fn shared(&self) -> bool {
        self.overwrite == Some(OverwriteMode::Shared)
    }
}

/// Which existing files a run may overwrite.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverwriteMode {
    /// A file that nobody else uses.
    #[value(hide = true)]
    Alone,
    /// Also a file that others have open, or that has other names.
    Shared,
}

/// Whether a run sets the kernel's knobs.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TuneMode {
    /// Set those that differ, put them back at the end.
    On,
    /// Touch nothing.
    Off,
    /// As on, and measure the effect of each by alternating short runs.
    Ab,
}

/// How a command that measures uses its targets.
#[derive(clap::Args, Debug, Default)]
pub struct TargetUseArgs {
    /// The files that may be overwritten
    #[command(flatten)]
    pub consent: ConsentArgs,
    /// The test file
    #[command(flatten)]
    pub file: TestFileArgs,
    /// Set the kernel's knobs for the devices, and put them back [default: on for block devices when root]
    #[arg(long, value_name = "on|off", hide_possible_values = true, help_heading = "Tuning")]
    pub tune: Option<TuneMode>,
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
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub cross_check: Option<u32>,
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
fn start_time(text: &str) -> Result<jiff::Timestamp, String> {
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

/// Where results go.
#[derive(clap::Args, Clone, Debug)]
pub struct OutputArgs {
    /// Write the Record, which is JSON, to this file; - for standard output [default: a new volproof-TIME.json]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Folder of Records that --json does not name [default: this folder]
    #[arg(
        long,
        value_name = "DIR",
        value_parser = OsStringValueParser::new().map(PathBuf::from),
        env = "VOLPROOF_RECORDS",
        hide_env_values = true,
        help_heading = "Output"
    )]
    pub records: Option<PathBuf>,
    /// Write a table of comma-separated values here; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub csv: Option<PathBuf>,
    /// Write a page with charts here; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Print progress as lines instead of the live screen, which a run in a terminal has
    #[arg(long, help_heading = "Output")]
    pub no_live: bool,
    /// For pipelines, monitoring and tickets
    #[command(flatten)]
    pub sheets: SheetArgs,
    /// Print one line: the verdict, or the figures where nothing is promised
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
    /// Print everything: how each step was driven, evidence, notes
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    pub details: bool,
}

impl OutputArgs {
    /// The first option that names a file for results.
    pub fn named(&self) -> Option<&'static str> {
        self.files().map(|(option, _)| option).next()
    }

    /// Whether the answer goes to a file that was named, and not to the screen alone.
    pub fn keeps_answer(&self) -> bool {
        self.files().any(|(_, path)| path != Path::new("-"))
    }

    /// The options that name a file for results, with the file.
    fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let OutputArgs { json, csv, html, sheets, .. } = self;
        let SheetArgs { junit, openmetrics, markdown, .. } = sheets;
        let files = [
            (json, "--json"),
            (csv, "--csv"),
            (html, "--html"),
            (junit, "--junit"),
            (openmetrics, "--openmetrics"),
            (markdown, "--markdown"),
        ];
        files.into_iter().filter_map(|(file, option)| Some((option, file.as_deref()?)))
    }

    /// The folder of Records that no option names. A variable without a value is as one that is not there.
    pub fn records_folder(&self) -> &Path {
        self.records.as_deref().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }
}

/// Forms of a result for other programs and for tickets.
#[derive(clap::Args, Clone, Debug)]
pub struct SheetArgs {
    /// Write JUnit XML here, each promise as a test case; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    /// Write metrics for the textfile collector of Prometheus here; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub openmetrics: Option<PathBuf>,
    /// Write a table for a ticket here, as Markdown; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub markdown: Option<PathBuf>,
    /// Replace files that hold something else than an earlier result of the same kind
    #[arg(long, help_heading = "Output")]
    pub force: bool,
}

/// The words of test100w.sh, and where results go.
#[derive(clap::Args, Debug)]
pub struct MillionArgs {
    /// The device, and behind it [JOBS DEPTH BS RW [SIZE] [ENGINE [DIRECT]]], or as the script has them:
    /// JOBS DEPTH BS RW [SIZE] DEVICE [ENGINE [DIRECT]]
    // The brackets are those of a usage line, which `--help` prints.
    #[allow(rustdoc::broken_intra_doc_links)]
    #[arg(value_name = "DEVICE", required = true, num_args = 1..)]
    pub words: Vec<String>,
    /// Measured time [default: 30s]
    #[arg(long, value_name = "TIME")]
    pub runtime: Option<Nanos>,
    /// Try it without a device: one in virtual time, such as latency=200us,iops-cap=20000
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub simulate: Option<Simulated>,
    /// Print the plan, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Set the kernel's knobs for the device, and put them back [default: on for block devices when root]
    #[arg(long, value_name = "on|off", hide_possible_values = true)]
    pub tune: Option<TuneMode>,
    /// The files that may be overwritten
    #[command(flatten)]
    pub consent: ConsentArgs,
    /// The promise
    #[command(flatten)]
    pub promise: PromiseOptions,
    /// Where results go
    #[command(flatten)]
    pub output: OutputArgs,
}

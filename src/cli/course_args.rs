//! Arguments of the commands whose steps follow from finished ones: `sweep`, `slo`, `suite`, `cold`.

use std::path::PathBuf;

use super::{OutputArgs, TargetUseArgs, TuneMode};
use crate::promise_options::PromiseOptions;
use volproof_base::unit::Nanos;
use volproof_course::slo_options::SloOptions;
use volproof_course::suite_options::{SharedOptions, TouchOptions};
use volproof_course::suites;
use volproof_course::sweep_options::SweepOptions;
use volproof_promise::suggested::Suggested;

/// A sweep and where its results go.
#[derive(clap::Args, Debug)]
pub struct SweepArgs {
    /// Folders (a test file is made there), files, block devices; driven together; none with --simulate
    #[arg(value_name = "TARGET")]
    pub targets: Vec<PathBuf>,
    /// Ranges and options of the load
    #[command(flatten)]
    pub load: SweepOptions,
    /// Number of runs of each point, in random order [default: 3]
    #[arg(long, value_name = "N", help_heading = "Course")]
    pub repeats: Option<u32>,
    /// How it is done
    #[command(flatten)]
    pub how: CourseArgs,
}

/// A search for the highest load, and where its results go.
#[derive(clap::Args, Debug)]
pub struct SloArgs {
    /// One folder (a test file is made there), file or block device; none with --simulate
    #[arg(value_name = "TARGET", num_args = 0..=1)]
    pub targets: Vec<PathBuf>,
    /// The limit and the load
    #[command(flatten)]
    pub search: SloOptions,
    /// How it is done
    #[command(flatten)]
    pub how: CourseArgs,
}

/// A suite and where its results go.
#[derive(clap::Args, Debug)]
// It prepares its targets itself, and refuses the option with that reason.
#[command(mut_arg("precondition", |arg| arg.hide(true)))]
pub struct SuiteArgs {
    /// The suite; `volproof plan --list` lists them
    #[arg(value_name = "SUITE", hide_possible_values = true, value_parser = Suggested(suites::names))]
    pub name: String,
    /// Folders (a test file is made there), files, block devices; driven together; none with --simulate
    #[arg(value_name = "TARGET")]
    pub targets: Vec<PathBuf>,
    /// Options of the load
    #[command(flatten)]
    pub load: SharedOptions,
    /// A Record of essd-contract on a local disk, to compare latencies with (check C1)
    #[arg(long, value_name = "RECORD", help_heading = "Course")]
    pub reference: Option<PathBuf>,
    /// How it is done
    #[command(flatten)]
    pub how: CourseArgs,
}

/// A look at the first touch of a volume, and where its results go.
#[derive(clap::Args, Debug)]
pub struct ColdArgs {
    /// Files, block devices; read together, and nothing is written; none with --simulate
    #[arg(value_name = "TARGET")]
    pub targets: Vec<PathBuf>,
    /// Options of the load
    #[command(flatten)]
    pub load: TouchOptions,
    /// Print the plan, and do nothing
    #[arg(long, help_heading = "Course")]
    pub dry_run: bool,
    /// Set the kernel's knobs for the devices, and put them back [default: on for block devices when root]
    #[arg(long, value_name = "on|off", hide_possible_values = true, help_heading = "Tuning")]
    pub tune: Option<TuneMode>,
    /// Where results go
    #[command(flatten)]
    pub output: OutputArgs,
}

impl ColdArgs {
    /// The same as a course: nothing is written, shortened or judged against a promise.
    pub fn how(&self) -> CourseArgs {
        CourseArgs {
            budget: None,
            resume: None,
            dry_run: self.dry_run,
            using: TargetUseArgs { tune: self.tune, ..TargetUseArgs::default() },
            promise: PromiseOptions::default(),
            output: self.output.clone(),
        }
    }
}

/// Options that every course has.
#[derive(clap::Args, Debug)]
pub struct CourseArgs {
    /// End within this time; the answer says what was left out
    #[arg(long, value_name = "TIME", help_heading = "Course")]
    pub budget: Option<Nanos>,
    /// Go on with an interrupted Record of the same plan, target and machine
    #[arg(long, value_name = "RECORD", help_heading = "Course")]
    pub resume: Option<PathBuf>,
    /// Print the plan with its likely and its longest time, and do nothing
    #[arg(long, help_heading = "Course")]
    pub dry_run: bool,
    /// How the targets are used
    #[command(flatten)]
    pub using: TargetUseArgs,
    /// The promise
    #[command(flatten)]
    pub promise: PromiseOptions,
    /// Where results go
    #[command(flatten)]
    pub output: OutputArgs,
}

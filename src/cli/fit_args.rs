//! Arguments of `fit` and `fits`.

use std::path::PathBuf;

use super::{OutputArgs, TargetUseArgs};
use volproof_base::unit::Nanos;
use volproof_plan::Simulated;
use volproof_promise::fit::Disturbance;
use volproof_promise::suggested::{Suggested, applications};

/// The applications that a volume is tested for, and where the results go.
#[derive(clap::Args, Debug)]
pub struct FitArgs {
    /// A folder on the volume (test files are made there); for loads on raw devices a block device
    #[arg(value_name = "TARGET")]
    pub targets: Vec<PathBuf>,
    /// Applications, each with its grade and its parameters
    #[arg(long = "for", value_name = "APP[:GRADE][:KEY=N],...", value_parser = Suggested(applications),
          hide_possible_values = true, help_heading = "Applications")]
    pub applications: Option<String>,
    /// A need of your own: a figure of one of the loads and its limit, such as wal-flush.p99<=5ms or pages-8k.read.iops>=20000
    #[arg(
        long = "need",
        value_name = "LOAD.FIGURE<=LIMIT",
        requires = "applications",
        help_heading = "Applications"
    )]
    pub needs: Vec<String>,
    /// List the applications, or show one with its load, needs and sources
    #[arg(long, value_name = "APP", num_args = 0..=1, value_parser = Suggested(applications),
          hide_possible_values = true, conflicts_with_all = ["applications", "targets"], help_heading = "Applications")]
    pub list: Option<Option<String>>,
    /// Read so much a second beside each load, as a backup or a compaction does
    #[arg(long, value_name = "SIZE/s", help_heading = "Applications")]
    pub beside: Option<Disturbance>,
    /// Time of each step [default: that of the application]
    #[arg(long, value_name = "TIME", help_heading = "Applications")]
    pub runtime: Option<Nanos>,
    /// A file whose applications replace or add to those that are shipped
    #[arg(long, value_name = "FILE", help_heading = "Applications")]
    pub catalog: Option<PathBuf>,
    /// Try it without a volume: a device in virtual time, such as latency=200us,iops-cap=20000
    #[arg(long, value_name = "KEY=VALUE,...", help_heading = "Applications")]
    pub simulate: Option<Simulated>,
    /// Of the version before, without effect
    #[arg(long, hide = true)]
    pub judge_simulated: bool,
    /// Print the plan, and do nothing
    #[arg(long, help_heading = "Applications")]
    pub dry_run: bool,
    /// How the targets are used
    #[command(flatten)]
    pub using: TargetUseArgs,
    /// Where results go
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Which application to show: the arguments of the old command `fits`.
#[derive(clap::Args, Debug)]
pub struct FitsArgs {
    /// The application [default: a line for each]
    #[arg(value_name = "APP", value_parser = Suggested(applications), hide_possible_values = true)]
    pub application: Option<String>,
    /// A file whose applications replace or add to those that are shipped
    #[arg(long, value_name = "FILE")]
    pub catalog: Option<PathBuf>,
}

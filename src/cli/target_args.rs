//! How a command that measures uses its targets.

use super::consent::ConsentArgs;
use volproof_base::unit::Bytes;
use volproof_plan::PreconditionChoice;

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

//! Arguments of `fleet`: a plan on all machines at the same time.

use super::{OutputArgs, PlanArgs, SharingArgs, TuneMode};
use crate::promise_options::PromiseOptions;
use volproof_base::unit::Nanos;

/// A run on all machines that a launcher of MPI started it on, and where its results go.
#[derive(clap::Args, Debug)]
pub struct FleetRunArgs {
    /// The plan and its targets
    #[command(flatten)]
    pub what: PlanArgs,
    /// Set the kernel's knobs for the devices, and put them back; ab also measures what each knob does
    /// [default: on for block devices when root]
    #[arg(long, value_name = "on|off|ab", help_heading = "Tuning", hide_possible_values = true)]
    pub tune: Option<TuneMode>,
    /// The promise
    #[command(flatten)]
    pub promise: PromiseOptions,
    /// The machines
    #[command(flatten)]
    pub member: FleetMemberArgs,
    /// Where the results of the fleet go; each machine also keeps its own Record in the folder of --records
    #[command(flatten)]
    pub output: OutputArgs,
}

/// How a machine takes part in a fleet.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct FleetMemberArgs {
    /// Whose volumes they are
    #[command(flatten)]
    pub sharing: SharingArgs,
    /// A machine that has not answered for this long is lost, and the run ends on all of them
    #[arg(long, value_name = "TIME", help_heading = "Fleet", default_value = "15s")]
    pub answer_within: Nanos,
}

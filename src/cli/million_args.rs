//! Arguments of `million`: the words of test100w.sh.

use super::consent::ConsentArgs;
use super::output_args::OutputArgs;
use super::target_args::TuneMode;
use crate::promise_options::PromiseOptions;
use volproof_base::unit::Nanos;
use volproof_plan::Simulated;

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

//! Arguments of the commands over stored Records: `verdict`, `merge`, `show`, `explain`, `report`.

use std::path::PathBuf;

use super::SheetArgs;
use crate::promise_options::PromiseOptions;
use crate::stored_verdict::VerdictArgs;

/// `verdict`, and where its results go.
#[derive(clap::Args, Debug)]
pub struct VerdictCommand {
    /// The Record and the promise
    #[command(flatten)]
    pub judge: VerdictArgs,
    /// For pipelines, monitoring and tickets
    #[command(flatten)]
    pub sheets: SheetArgs,
}

/// Which Records, and where the result goes.
#[derive(clap::Args, Debug)]
pub struct MergeArgs {
    /// The Records of all machines, in any order
    #[arg(value_name = "RECORD", required = true, num_args = 1..)]
    pub records: Vec<PathBuf>,
    /// The promise, instead of the one in the Records
    #[command(flatten)]
    pub promise: PromiseOptions,
    /// Write the Record of the fleet here; - for standard output [default: a new volproof-fleet-TIME.json]
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// For pipelines, monitoring and tickets
    #[command(flatten)]
    pub sheets: SheetArgs,
    /// Print one line: the verdict, or the figures where nothing is promised
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
    /// Print everything: each machine, evidence, notes
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    pub details: bool,
}

/// Which Record to print, and how.
#[derive(clap::Args, Debug)]
pub struct ShowArgs {
    /// Records that `run` saved, or reports of other tools; - for standard input
    #[arg(value_name = "RECORD", required = true)]
    pub records: Vec<PathBuf>,
    /// What the provider counted, held beside the steps of one Record by its time: see `volproof verdict --help`
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "csv")]
    pub evidence: Vec<PathBuf>,
    /// Print comma-separated values instead
    #[arg(long)]
    pub csv: bool,
    /// Print everything: how each step was driven, evidence, notes
    #[arg(long, conflicts_with = "csv")]
    pub details: bool,
    /// Print one line: the verdict, or the figures where nothing is promised
    #[arg(long, short, conflicts_with_all = ["csv", "details"])]
    pub quiet: bool,
    /// For pipelines, monitoring and tickets
    #[command(flatten)]
    pub sheets: SheetArgs,
}

/// The result, and what the version before took beside it.
#[derive(clap::Args, Debug)]
pub struct ExplainArgs {
    /// A Record, or the report of another tool
    #[arg(value_name = "RESULT", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<PathBuf>,
}

/// Which Record becomes a page, and where.
#[derive(clap::Args, Debug)]
pub struct ReportArgs {
    /// A Record that `run` saved, or a report of another tool; - for standard input
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
    /// Where the page goes; - for standard output [default: the Record's name with .html, in this folder]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What the provider counted, held beside the steps by its time: see `volproof verdict --help`
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub evidence: Vec<PathBuf>,
    /// Replace a file that holds something else
    #[arg(long, requires = "output")]
    pub force: bool,
}

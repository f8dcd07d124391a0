//! Arguments of `compare`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::promise_options::parse_tolerance;

/// Which results are compared, and where the answer goes.
#[derive(clap::Args, Debug)]
pub struct CompareArgs {
    /// Results before the change: Records, reports of other tools, or a folder of Records; with two and no `--`, one before and one after
    #[arg(value_name = "RESULT")]
    pub results: Vec<PathBuf>,
    /// Results after the change; with --run, the options of A, another `--`, and those of B
    #[arg(last = true, value_name = "AFTER")]
    pub after: Vec<OsString>,
    /// Run N alternating pairs here, of `volproof run` with the options of A and with those of B
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000), conflicts_with = "results")]
    pub run: Option<u32>,
    /// The results before are those of the same volume and load in the history since its last step (docs/history.md)
    #[arg(long, conflicts_with = "run")]
    pub history: bool,
    /// Folder for the Records of --run [default: a new volproof-compare-TIME in this folder]
    #[arg(long, value_name = "FOLDER", requires = "run")]
    pub records: Option<PathBuf>,
    /// The gate
    #[command(flatten)]
    pub gate: GateArgs,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Print annotations of a GitHub workflow behind the text
    #[arg(long, help_heading = "Output", conflicts_with = "json")]
    pub github: bool,
    /// Write a page with the curves laid over each other here
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Write JUnit XML here, each figure as a test case
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    /// Write a table for a ticket here, as Markdown
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub markdown: Option<PathBuf>,
    /// Replace files that hold something else than an earlier result of the same kind
    #[arg(long, help_heading = "Output")]
    pub force: bool,
}

/// How much worse a figure may become.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct GateArgs {
    /// Exit with 1 where a figure is worse by more than this, 5 where that is not decided, 6 where a run is void
    #[arg(long, value_name = "PCT", value_parser = parse_tolerance, help_heading = "Verdict")]
    pub gate: Option<f64>,
}

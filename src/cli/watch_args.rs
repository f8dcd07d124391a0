//! Arguments of `watch`.

use std::path::PathBuf;

use crate::promise_options::PromiseOptions;
use volproof_base::unit::Nanos;

/// What is watched, against what, and where the answer goes.
#[derive(clap::Args, Debug)]
pub struct WatchArgs {
    /// A block device, or a file or folder on it; of a partition, the whole disk is watched
    #[arg(value_name = "TARGET")]
    pub target: PathBuf,
    /// The promise
    #[command(flatten)]
    pub promise: PromiseOptions,
    /// End after this time [default: Ctrl-C ends the watch]
    #[arg(long = "for", value_name = "TIME")]
    pub length: Option<Nanos>,
    /// The file of the watch, which a later watch of the same volume goes on with [default: a file named after the volume in this folder]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub file: Option<PathBuf>,
    /// Write metrics for the textfile collector of Prometheus here, every 15 s
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub openmetrics: Option<PathBuf>,
    /// Print a line each minute instead of the screen, which a watch in a terminal has
    #[arg(long, help_heading = "Output")]
    pub no_live: bool,
    /// Replace a file of --openmetrics that holds something else
    #[arg(long, help_heading = "Output")]
    pub force: bool,
}

impl WatchArgs {
    /// The first option of the promise that a watch cannot honour: it loads nothing, and judges one volume against its baseline.
    pub fn unheeded(&self) -> Option<&'static str> {
        let promise = &self.promise;
        let given = [
            (!promise.with.is_empty(), "--with"),
            (promise.promise_burst, "--promise-burst"),
            (promise.tolerance.is_some(), "--tolerance"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }
}

//! Arguments of `history`.

use std::path::PathBuf;

/// Which folder, and where its history goes.
#[derive(clap::Args, Debug)]
pub struct HistoryArgs {
    /// Folder of Records [default: where finished runs are kept, /var/lib/volproof of root, else ~/.local/share/volproof]
    #[arg(value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// Only volumes whose id contains this
    #[arg(long, value_name = "ID")]
    pub volume: Option<String>,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Write a page with the curve of each volume here
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Write a table of comma-separated values here; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub csv: Option<PathBuf>,
    /// Write the same as SQL here, for `sqlite3 FILE.db`; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub sql: Option<PathBuf>,
    /// Replace files that hold something else than an earlier result of the same kind
    #[arg(long, help_heading = "Output")]
    pub force: bool,
}

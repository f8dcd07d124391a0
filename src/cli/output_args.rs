//! Where results go.

use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};

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

    /// Whether the answer goes to a file, and not to the screen alone. Without a name a Record gets one.
    pub fn keeps_answer(&self) -> bool {
        self.json.is_none() || self.files().any(|(_, path)| path != Path::new("-"))
    }

    /// Whether a result goes to standard output, where nothing else is printed then.
    pub fn takes_stdout(&self) -> bool {
        self.files().any(|(_, path)| path == Path::new("-"))
    }

    /// The options that name a file for results, with the file.
    pub(super) fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
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
    /// Print annotations of a GitHub workflow behind the text
    #[arg(long, help_heading = "Output")]
    pub github: bool,
    /// Replace files that hold something else than an earlier result of the same kind
    #[arg(long, help_heading = "Output")]
    pub force: bool,
}

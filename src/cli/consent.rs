//! Consent: the files and devices that a command that measures may overwrite.

/// The files and devices that a command that measures may overwrite.
#[derive(clap::Args, Debug, Default)]
pub struct ConsentArgs {
    /// Existing files that are named may be overwritten; with `=shared` also those that others have open, or that have other names
    #[arg(long, value_name = "shared", num_args = 0..=1, require_equals = true, default_missing_value = "alone",
          hide_possible_values = true, help_heading = "Safety")]
    pub overwrite: Option<OverwriteMode>,
    /// Destroy the data on the block device with this serial (`volproof check DEVICE` prints it)
    #[arg(long, value_name = "SERIAL", help_heading = "Safety")]
    pub destroy: Vec<String>,
}

impl ConsentArgs {
    /// Whether files that others use may be overwritten too.
    pub fn shared(&self) -> bool {
        self.overwrite == Some(OverwriteMode::Shared)
    }
}

/// Which existing files a run may overwrite.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverwriteMode {
    /// A file that nobody else uses.
    #[value(hide = true)]
    Alone,
    /// Also a file that others have open, or that has other names.
    Shared,
}

//! A run of fio's jobs while it goes on: lines of progress for a person, and the Record, which is saved after every step.

use std::io::IsTerminal;
use std::time::Duration;

use fio_formats::command::{Command, Eta, Format};

use crate::run::front::Front;
use crate::run::results::SavePace;
use crate::run::sheet::Sheet;
use crate::ui::Ui;
use volproof_record::Record;

/// Progress, and the file of the Record.
pub struct FioProgress {
    ui: Ui,
    /// What has ended outlives us, however we end.
    saved: Option<Sheet>,
    pace: SavePace,
}

impl FioProgress {
    /// For these jobs. Progress is shown where fio would show its status line.
    pub fn new(command: &Command, saved: Option<Sheet>) -> FioProgress {
        let is_read = std::io::stdout().is_terminal();
        let shown = match command.eta.when {
            Eta::Never => false,
            Eta::Always => true,
            Eta::Auto => is_read && command.output.is_none() && command.formats.contains(&Format::Normal),
        };
        let ui = if shown { Ui::plain() } else { Ui::silent() };
        FioProgress { ui, saved, pace: SavePace::default() }
    }

    /// The file of the Record, once the run has ended.
    pub fn finish(self) -> Option<Sheet> {
        self.saved
    }
}

impl Front for FioProgress {
    fn ui(&mut self) -> &mut Ui {
        &mut self.ui
    }

    fn measured(&mut self, record: &Record) {
        if let Some(sheet) = self.saved.as_mut().filter(|sheet| !sheet.file().is_stream()) {
            // An error of this save is reported at the end, when the Record is saved again.
            self.pace.spaced(|| sheet.save(record));
        }
    }

    fn stage_begins(&mut self, record: &Record, length: Duration) {
        if let Some(sheet) = self.saved.as_mut().filter(|sheet| !sheet.file().is_stream()) {
            self.pace.before(length, || sheet.save(record));
        }
    }
}

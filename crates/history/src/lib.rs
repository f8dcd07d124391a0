//! Runs over weeks and months: the figures of each volume under each load, where a level changed, and what else changed there.
//!
//! Works on Records, or on the lines of an index that were made of them: `stored_run` is such a line, `folder_index` the index of a folder,
//! `volume_history` the runs of one volume under one load, `level_change` its change points. It may use Records and `compare` (which figures, what
//! differs); the statistics are in [`volproof_base::stats::change`]. Nothing here opens a file, measures, judges or prints.

mod folder_index;
mod level_change;
mod stored_run;
#[cfg(test)]
mod tests;
mod volume_history;

pub use folder_index::{FileVersion, FolderIndex, IndexLine, IndexedFile};
pub use level_change::LevelShift;
pub use stored_run::{RunLine, StoredFigure};
pub use volume_history::{DamagedFile, FigureSeries, HistoryRun, RunHistory, SeriesPoint, VolumeHistory};

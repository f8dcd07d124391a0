//! The results that new ones are held against: a Record, or what a folder of Records says of the same volume and load since its last step.

use std::path::{Path, PathBuf};

use super::Failure;
use crate::history_folder;
use crate::result_file;
use crate::ui;
use volproof_history::{HistoryRun, IndexLine, RunHistory, RunLine};
use volproof_record::Record;
use volproof_record::exit::Exit;

/// The last runs of a level that are read.
const MOST_RUNS: usize = 30;

/// What new results are held against. A file is read at once, since a run may write where it lies.
pub enum Baseline {
    /// A Record.
    Record(Box<Record>),
    /// A folder, which has results for each volume.
    Folder(PathBuf),
}

impl Baseline {
    /// What a path leads to.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn load(path: &Path) -> Result<Baseline, Failure> {
        if path.is_dir() {
            return Ok(Baseline::Folder(path.into()));
        }
        Ok(Baseline::Record(Box::new(result_file::load_only(path).map_err(Failure::input)?)))
    }

    /// The results before, for those after.
    ///
    /// # Errors
    /// A folder that cannot be read, or has no earlier run of the same volume and load.
    pub fn records(self, after: &[&Record]) -> Result<Vec<Record>, Failure> {
        match self {
            Baseline::Record(record) => Ok(vec![*record]),
            Baseline::Folder(folder) => since_last_step(&folder, after),
        }
    }
}

/// The Records of a folder since the last step of their level.
fn since_last_step(folder: &Path, after: &[&Record]) -> Result<Vec<Record>, Failure> {
    let after: Vec<RunLine> = after.iter().map(|record| RunLine::of_record(record)).collect();
    let Some(run) = after.first() else { return Ok(Vec::new()) };
    let mut files = history_folder::files(folder)
        .map_err(|e| Failure::input(format!("cannot read the history in {}: {e}", folder.display())))?;
    // What is judged is no part of what it is held against.
    files.retain(|file| !is_any_of(&file.line, &after));
    let history = RunHistory::of_files(&files);
    let sound: Vec<&HistoryRun> = match history.of_same(run) {
        Some(volume) => volume.last_segment().iter().filter(|run| run.line.is_sound()).collect(),
        None => Vec::new(),
    };
    let (Some(first), Some(name)) = (sound.first(), &run.volume) else {
        return Err(Failure::new(Exit::Invalid, none_before(folder, run)));
    };
    let day = first.line.started.get(..10).unwrap_or_default();
    ui::tell(&format!("baseline: {} of {name} since {day}, in {}", sound.len(), folder.display()));
    let last = &sound[sound.len().saturating_sub(MOST_RUNS)..];
    last.iter().map(|run| result_file::load_only(&folder.join(&run.file)).map_err(Failure::input)).collect()
}

fn is_any_of(line: &IndexLine, runs: &[RunLine]) -> bool {
    let IndexLine::Run(known) = line else { return false };
    runs.iter().any(|run| run.is_run(known))
}

fn none_before(folder: &Path, run: &RunLine) -> String {
    let folder = folder.display();
    match &run.volume {
        None => {
            format!("the result does not tell its volume, so {folder} has no baseline for it: name a Record")
        }
        Some(volume) => format!(
            "{folder} has no earlier run of {volume} under the load of plan {}: nothing to compare with yet",
            run.plan
        ),
    }
}

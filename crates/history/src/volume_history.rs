//! The runs of one volume under one load, in the order of time, and the series of each of their figures.

use std::collections::BTreeMap;

use serde::Serialize;
use volproof_base::stats::moments::{mean, variance};
use volproof_base::unit::Bytes;
use volproof_compare::ComparedFigure;

use crate::folder_index::{IndexLine, IndexedFile};
use crate::level_change::{LevelShift, level_changes};
use crate::stored_run::RunLine;

/// All that a folder holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunHistory {
    /// Each volume under each load.
    pub volumes: Vec<VolumeHistory>,
    /// Files that begin as Records do and cannot be read.
    pub damaged: Vec<DamagedFile>,
}

/// A file that cannot be read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DamagedFile {
    /// Its name in the folder.
    pub file: String,
    /// What is wrong with it.
    pub why: String,
}

/// The runs of one volume under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VolumeHistory {
    /// What tells the volume from all others; absent where the runs do not tell: they may be of several volumes, and no change is looked for.
    pub volume: Option<String>,
    /// Its size in the last run.
    pub size_bytes: Bytes,
    /// Name of the plan.
    pub plan: String,
    /// The load of its steps.
    pub load: String,
    /// The runs, by time.
    pub runs: Vec<HistoryRun>,
    /// A series for each figure of a step, the main one first.
    pub series: Vec<FigureSeries>,
}

/// A run and its file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryRun {
    /// The name of its file in the folder.
    pub file: String,
    /// The run.
    #[serde(flatten)]
    pub line: RunLine,
}

/// One figure of a step over all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureSeries {
    /// The step.
    pub step: String,
    /// The direction, of a step with several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// Which figure.
    pub figure: ComparedFigure,
    /// Its values, without void ones.
    pub points: Vec<SeriesPoint>,
    /// Where its level changes.
    pub changes: Vec<LevelShift>,
    /// Mean of all values; absent where the runs may be of several volumes.
    pub mean: Option<f64>,
    /// Standard deviation between the runs since the last change, as a share of their mean; absent for fewer than three.
    pub spread: Option<f64>,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SeriesPoint {
    /// The place of its run.
    pub run: usize,
    /// The figure.
    pub value: f64,
}

impl FigureSeries {
    /// In words: `randrw read p99`.
    pub fn title(&self) -> String {
        let direction = self.direction.iter().map(|direction| format!("{direction} "));
        format!("{} {}{}", self.step, direction.collect::<String>(), self.figure.name())
    }
}

impl FigureSeries {
    /// The level at a run: the mean between the changes around it. None where the figure has no value.
    pub fn level_at(&self, run: usize) -> Option<f64> {
        match self.changes.iter().rfind(|change| change.run <= run) {
            Some(change) => Some(change.after),
            None => self.changes.first().map(|change| change.before).or(self.mean),
        }
    }
}

impl RunHistory {
    /// The history of what an index holds.
    pub fn of_files(files: &[IndexedFile]) -> RunHistory {
        let mut groups: BTreeMap<(Option<&str>, &str, &str), Vec<HistoryRun>> = BTreeMap::new();
        let mut damaged = Vec::new();
        for IndexedFile { stamp, line } in files {
            match line {
                IndexLine::Other => {}
                IndexLine::Damaged(why) => {
                    damaged.push(DamagedFile { file: stamp.file.clone(), why: why.clone() });
                }
                // A run that measured nothing has no row.
                IndexLine::Run(run) if run.figures.is_empty() => {}
                IndexLine::Run(run) => {
                    let key = (run.volume.as_deref(), run.plan.as_str(), run.load.as_str());
                    let row = HistoryRun { file: stamp.file.clone(), line: *run.clone() };
                    groups.entry(key).or_default().push(row);
                }
            }
        }
        RunHistory { volumes: groups.into_values().map(VolumeHistory::of_runs).collect(), damaged }
    }

    /// The history of the same volume under the same load as a run.
    pub fn of_same(&self, run: &RunLine) -> Option<&VolumeHistory> {
        let is_same = |v: &&VolumeHistory| {
            v.volume.is_some() && v.volume == run.volume && v.plan == run.plan && v.load == run.load
        };
        self.volumes.iter().find(is_same)
    }
}

impl VolumeHistory {
    /// The history of runs of one volume and one load.
    fn of_runs(mut runs: Vec<HistoryRun>) -> VolumeHistory {
        runs.sort_by(|a, b| (&a.line.started, &a.file).cmp(&(&b.line.started, &b.file)));
        // A Record may lie in the folder twice: as its user named it, and as the history did.
        runs.dedup_by(|a, b| a.line == b.line);
        let last = &runs[runs.len() - 1].line;
        let (volume, size_bytes) = (last.volume.clone(), last.size_bytes);
        let (plan, load) = (last.plan.clone(), last.load.clone());
        let mut series = series_of(&runs);
        if volume.is_some() {
            series.iter_mut().for_each(|one| look_for_changes(one, &runs));
        }
        VolumeHistory { volume, size_bytes, plan, load, runs, series }
    }

    /// The runs since the last change of any figure: what the volume is now.
    pub fn last_segment(&self) -> &[HistoryRun] {
        let changes = self.series.iter().flat_map(|series| &series.changes);
        let from = changes.map(|change| change.run).max().unwrap_or(0);
        &self.runs[from..]
    }
}

/// The values of each figure, in the order of the steps.
fn series_of(runs: &[HistoryRun]) -> Vec<FigureSeries> {
    let mut all: Vec<FigureSeries> = Vec::new();
    let mut places: BTreeMap<(&str, Option<&str>, &str), usize> = BTreeMap::new();
    for (run, row) in runs.iter().enumerate() {
        for stored in row.line.figures.iter().filter(|stored| stored.void.is_none()) {
            let key = (stored.step.as_str(), stored.direction.as_deref(), stored.figure.name());
            let place = *places.entry(key).or_insert(all.len());
            if place == all.len() {
                all.push(FigureSeries {
                    step: stored.step.clone(),
                    direction: stored.direction.clone(),
                    figure: stored.figure,
                    points: Vec::new(),
                    changes: Vec::new(),
                    mean: None,
                    spread: None,
                });
            }
            all[place].points.push(SeriesPoint { run, value: stored.value });
        }
    }
    all
}

fn look_for_changes(series: &mut FigureSeries, runs: &[HistoryRun]) {
    let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
    series.mean = Some(mean(&values));
    series.changes = level_changes(series.figure, &series.points, runs);
    let from = series.changes.last().map_or(0, |change| change.run);
    let since: Vec<f64> = series.points.iter().filter(|p| p.run >= from).map(|p| p.value).collect();
    if since.len() >= 3 {
        series.spread = Some(variance(&since).sqrt() / mean(&since));
    }
}

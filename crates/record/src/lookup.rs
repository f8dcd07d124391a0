//! An index of a Record, as data: its steps and targets by name, and which steps ran at the same time. `steps_by_name` makes it.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

/// The index of a Record, made when it is first needed. The index is no part of the Record's content, so that any two are equal.
#[derive(Default)]
pub struct LookupCell(pub(super) RwLock<Option<Arc<Lookup>>>);

impl Clone for LookupCell {
    fn clone(&self) -> LookupCell {
        LookupCell::default()
    }
}

impl PartialEq for LookupCell {
    fn eq(&self, _: &LookupCell) -> bool {
        true
    }
}

impl std::fmt::Debug for LookupCell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LookupCell")
    }
}

/// Numbers of plan steps, steps, stages and targets; without stages no steps are looked up.
pub(super) type Size = [usize; 4];

pub(super) struct Lookup {
    pub(super) size: Size,
    pub(super) planned: HashMap<String, usize>,
    pub(super) targets: HashMap<PathBuf, usize>,
    /// By step: its stage and its place in it.
    pub(super) staged: HashMap<String, (usize, usize)>,
    pub(super) stages: Vec<Vec<StepLoad>>,
}

impl Lookup {
    pub(super) fn stage(&self, step: &str) -> Option<usize> {
        self.staged.get(step).map(|place| place.0)
    }

    pub(super) fn planned(&self, step: &str) -> Option<usize> {
        self.planned.get(step).copied()
    }

    pub(super) fn target(&self, path: &Path) -> Option<usize> {
        self.targets.get(path).copied()
    }
}

/// When a step of a stage ran, and on which disks.
pub(super) struct StepLoad {
    /// Position of the step among the steps of the Record.
    pub(super) step: usize,
    /// When ramp and window ran, in nanoseconds after the first I/O of the stage.
    pub(super) time: Range<u64>,
    pub(super) disks: Vec<u32>,
}

//! When jobs begin: what waits for what, and for how long.
//!
//! fio (`run_threads` in backend.c) goes through the jobs in order. `stonewall` stops there until nothing runs, and `startdelay` counts from the
//! start of the whole run.

use std::collections::{BTreeSet, HashMap};

use super::Obstacles;
use fio_formats::job::Job;
use fio_formats::option_value::OptionValue;
use volproof_base::unit::Nanos;
use volproof_plan::Start;

/// The jobs so far.
#[derive(Default)]
pub(super) struct JobOrder {
    names: BTreeSet<String>,
    /// The last number that was added to a name.
    numbers: HashMap<String, usize>,
    jobs: usize,
    /// There are jobs before this stage.
    is_later_stage: bool,
    /// Some job of this stage may begin at once.
    begins: bool,
}

impl JobOrder {
    /// A job comes next: what of its order cannot be had?
    pub(super) fn job(&mut self, job: &Job, obstacles: &mut Obstacles<'_>) {
        let delayed = delay(job).0 > 0;
        if job.stonewall && self.jobs > 0 {
            if !self.begins {
                obstacles
                    .fio_only("stonewall", "all jobs before it are delayed, and fio does not wait for those");
            }
            (self.is_later_stage, self.begins) = (true, false);
        }
        if let Some(OptionValue::Ranges(_)) = job.value("startdelay") {
            obstacles.fio_only("startdelay", "volproof waits for a time that is known");
        }
        if delayed && self.is_later_stage {
            obstacles.fio_only("startdelay", "behind stonewall, fio counts it from the start of the run");
        }
        self.begins |= !delayed;
        self.jobs += 1;
    }

    /// A name for the next step of that job: no two steps have the same.
    pub(super) fn name(&mut self, job: &Job) -> String {
        let mut name = job.name.clone();
        while !self.names.insert(name.clone()) {
            let number = self.numbers.entry(job.name.clone()).or_default();
            *number += 1;
            name = format!("{}-{number}", job.name);
        }
        name
    }

    /// When the first step of that job begins, or another one.
    pub(super) fn start(&self, job: &Job, first: bool) -> Start {
        if first && (job.stonewall || self.jobs == 1) { Start::AfterAll } else { Start::WithPrevious }
    }
}

/// fio's `startdelay`.
pub(super) fn delay(job: &Job) -> Nanos {
    match job.value("startdelay") {
        Some(OptionValue::Time(time)) => time,
        _ => Nanos(0),
    }
}

//! When jobs begin: what waits for what, and for how long.
//!
//! fio (`run_threads` in backend.c) goes through the jobs in order. `stonewall` stops there until nothing runs, `wait_for` passes over the job
//! until the other one has ended, and `startdelay` counts from the start of the whole run.

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
    jobs: Vec<Earlier>,
    /// Places of the jobs of a name among them.
    places: HashMap<String, Vec<usize>>,
    /// Jobs before this stage.
    before: usize,
    /// Some job of this stage may begin at once.
    begins: bool,
}

struct Earlier {
    /// Its step, where it has only one.
    step: Option<String>,
}

impl JobOrder {
    /// A job comes next: what of its order cannot be had?
    pub(super) fn job(&mut self, job: &Job, merged: bool, obstacles: &mut Obstacles<'_>) {
        let wait_for = job.text("wait_for");
        let delayed = delay(job).0 > 0;
        if job.stonewall && !self.jobs.is_empty() {
            if !self.begins {
                obstacles
                    .fio_only("stonewall", "all jobs before it are delayed, and fio does not wait for those");
            }
            (self.before, self.begins) = (self.jobs.len(), false);
        }
        if let Some(OptionValue::Ranges(_)) = job.value("startdelay") {
            obstacles.fio_only("startdelay", "volproof waits for a time that is known");
        }
        if delayed && (self.before > 0 || wait_for.is_some()) {
            obstacles.fio_only(
                "startdelay",
                "behind stonewall or wait_for, fio counts it from the start of the run",
            );
        }
        if let Some(name) = &wait_for {
            let option = format!("wait_for={name}");
            match self.places.get(name).map(Vec::as_slice).unwrap_or_default() {
                [one] if self.jobs[*one].step.is_some() => {}
                [_] => obstacles
                    .fio_only(option, "its clones are reported one by one, and volproof waits for one step"),
                [] => obstacles.refused(option, "no job before it has that name"),
                _ => obstacles.refused(option, "several jobs have that name"),
            }
        }
        self.begins |= !delayed && wait_for.is_none();
        self.places.entry(job.name.clone()).or_default().push(self.jobs.len());
        self.jobs.push(Earlier { step: merged.then(String::new) });
    }

    /// A name for the next step of that job: no two steps have the same.
    pub(super) fn name(&mut self, job: &Job) -> String {
        let mut name = job.name.clone();
        while !self.names.insert(name.clone()) {
            let number = self.numbers.entry(job.name.clone()).or_default();
            *number += 1;
            name = format!("{}-{number}", job.name);
        }
        if let Some(Earlier { step: Some(step) }) = self.jobs.last_mut() {
            step.clone_from(&name);
        }
        name
    }

    /// When the first step of that job begins, or another one.
    pub(super) fn start(&self, job: &Job, first: bool) -> Start {
        let waited = job.text("wait_for").and_then(|name| self.places.get(&name)?.first());
        match waited.map(|place| &self.jobs[*place]) {
            Some(Earlier { step: Some(step) }) => Start::After(step.clone()),
            _ if first && (job.stonewall || self.jobs.len() == 1) => Start::AfterAll,
            _ => Start::WithPrevious,
        }
    }
}

/// fio's `startdelay`.
pub(super) fn delay(job: &Job) -> Nanos {
    match job.value("startdelay") {
        Some(OptionValue::Time(time)) => time,
        _ => Nanos(0),
    }
}

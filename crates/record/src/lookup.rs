//! An index of a Record: its steps and targets by name, and which steps ran at the same time. The index is made once, since every output
//! asks for every step.
//!
//! Any code may change a Record. So an entry is checked before it is used, and the whole index is made anew when the number of steps,
//! stages or targets has changed.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use super::{Record, StepRecord, TargetRecord};

/// Steps that ran while another one did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Company<'a> {
    /// The names of the first two steps.
    pub first: Vec<&'a str>,
    /// The number of all such steps, the first two included.
    pub count: usize,
}

/// The index of a Record, made when it is first needed. The index is no part of the Record's content, so that any two are equal.
#[derive(Default)]
pub struct LookupCell(RwLock<Option<Arc<Lookup>>>);

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
type Size = [usize; 4];

pub(super) struct Lookup {
    size: Size,
    planned: HashMap<String, usize>,
    targets: HashMap<PathBuf, usize>,
    /// By step: its stage and its place in it.
    staged: HashMap<String, (usize, usize)>,
    stages: Vec<Vec<StepLoad>>,
}

/// When a step of a stage ran, and on which disks.
struct StepLoad {
    /// Position of the step among the steps of the Record.
    step: usize,
    /// When ramp and window ran, in nanoseconds after the first I/O of the stage.
    time: Range<u64>,
    disks: Vec<u32>,
}

fn meet(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}

impl Lookup {
    fn of_record(record: &Record) -> Lookup {
        fn places<T: std::hash::Hash + Eq>(keys: impl Iterator<Item = T>) -> HashMap<T, usize> {
            let mut places = HashMap::new();
            for (i, key) in keys.enumerate() {
                places.entry(key).or_insert(i);
            }
            places
        }
        let mut lookup = Lookup {
            size: size(record),
            planned: places(record.plan.steps.iter().map(|s| s.name.clone())),
            targets: places(record.targets.iter().map(|t| t.path.clone())),
            staged: HashMap::new(),
            stages: Vec::new(),
        };
        if record.together.is_empty() {
            return lookup;
        }
        let mut numbers = HashMap::new();
        let disks: Vec<Vec<u32>> = record.targets.iter().map(|t| disks(t, &mut numbers)).collect();
        let steps = places(record.steps.iter().map(|s| s.name.as_str()));
        for (stage, together) in record.together.iter().enumerate() {
            let mut loads = Vec::new();
            let mut members: Vec<usize> =
                together.steps.iter().filter_map(|n| steps.get(n.as_str()).copied()).collect();
            members.sort_unstable();
            members.dedup();
            for step in members {
                let done = &record.steps[step];
                let ramp = lookup.planned.get(&done.name).map_or(0, |at| record.plan.steps[*at].ramp.0);
                let begun = done.started_after_ns.0;
                let time = begun..begun.saturating_add(ramp).saturating_add(done.window_ns.0);
                let on = driven(done).filter_map(|path| lookup.targets.get(path));
                let mut disks: Vec<u32> = on.flat_map(|target| &disks[*target]).copied().collect();
                disks.sort_unstable();
                disks.dedup();
                // The first stage that names a step is its stage.
                lookup.staged.entry(done.name.clone()).or_insert((stage, loads.len()));
                loads.push(StepLoad { step, time, disks });
            }
            lookup.stages.push(loads);
        }
        lookup
    }

    pub(super) fn stage(&self, step: &str) -> Option<usize> {
        self.staged.get(step).map(|place| place.0)
    }

    pub(super) fn planned(&self, step: &str) -> Option<usize> {
        self.planned.get(step).copied()
    }

    pub(super) fn target(&self, path: &Path) -> Option<usize> {
        self.targets.get(path).copied()
    }

    /// See [`Record::beside`] and [`Record::sharing`].
    pub(super) fn company<'a>(&self, record: &'a Record, step: &StepRecord, disks: bool) -> Company<'a> {
        let Some((stage, place)) = self.staged.get(&step.name) else { return Company::default() };
        let loads = &self.stages[*stage];
        let Some(mine) = loads.get(*place) else { return Company::default() };
        let mut company = Company::default();
        for load in loads {
            let shares = !disks || load.disks.iter().any(|disk| mine.disks.contains(disk));
            if load.step == mine.step || !meet(&load.time, &mine.time) || !shares {
                continue;
            }
            company.count += 1;
            if company.count <= 2 {
                company.first.extend(record.steps.get(load.step).map(|s| s.name.as_str()));
            }
        }
        company
    }
}

/// The targets of a step.
pub(super) fn driven(step: &StepRecord) -> impl Iterator<Item = &PathBuf> {
    step.targets.iter().flat_map(|t| std::iter::once(&t.path).chain(&t.beside))
}

fn size(record: &Record) -> Size {
    let steps = if record.together.is_empty() { 0 } else { record.steps.len() };
    [record.plan.steps.len(), steps, record.together.len(), record.targets.len()]
}

/// The disks that a target lies on, as numbers; its filesystem, where they are not known.
fn disks(target: &TargetRecord, numbers: &mut HashMap<String, u32>) -> Vec<u32> {
    let devices = target.facts.devices();
    let disks = devices
        .into_iter()
        .flat_map(|d| d.lies_on.iter().chain([&d.disk]))
        .map(|n| format!("disk {}", n.name));
    let mut names: Vec<String> = disks.collect();
    if names.is_empty() {
        names.extend(target.facts.place().map(|p| format!("filesystem {:?}", p.number)));
    }
    let mut found = Vec::new();
    for name in names {
        let next = numbers.len() as u32;
        found.push(*numbers.entry(name).or_insert(next));
    }
    found
}

impl Record {
    /// Whether a doubt makes the figures of a step void.
    pub fn is_void(&self, step: &StepRecord) -> bool {
        self.doubts.iter().any(|doubt| doubt.voids(&step.name))
    }

    /// The planned load of a measured step.
    pub fn plan_step_of(&self, step: &StepRecord) -> Option<&volproof_plan::Step> {
        self.plan_step(&step.name)
    }

    /// Whether the run is a test of a volume. A comparison of tools is none, nor is a course: most of its points are chosen to stay below
    /// the limit.
    pub fn tests_a_volume(&self) -> bool {
        self.cross_checks.is_empty() && self.plan.question.is_none()
    }

    pub(super) fn lookup(&self) -> Arc<Lookup> {
        let size = size(self);
        let found = self.lookup.0.read().ok().and_then(|cell| cell.clone());
        if let Some(found) = found.filter(|found| found.size == size) {
            return found;
        }
        let made = Arc::new(Lookup::of_record(self));
        if let Ok(mut cell) = self.lookup.0.write() {
            *cell = Some(made.clone());
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    use crate::Together;

    /// A Record of steps that began and ended at these times, all of one stage.
    fn stage(times: &[(u64, u64)]) -> Record {
        let text = include_str!("../../../fuzz/records/simulated.json");
        let mut record = Record::parse(text, PathBuf::new()).unwrap();
        let step = record.steps[0].clone();
        let named = |i: usize| format!("s{i}");
        record.plan.steps.clear();
        record.steps = times
            .iter()
            .enumerate()
            .map(|(i, (start, length))| StepRecord {
                name: named(i),
                started_after_ns: volproof_base::unit::Nanos(*start),
                window_ns: volproof_base::unit::Nanos(*length),
                ..step.clone()
            })
            .collect();
        let evidence = step.evidence;
        record.together = vec![Together { steps: (0..times.len()).map(named).collect(), evidence }];
        record
    }

    proptest! {
        #[test]
        fn company_is_that_of_every_pair(times in proptest::collection::vec((0u64..40, 0u64..12), 1..30)) {
            let record = stage(&times);
            for (i, step) in record.steps.iter().enumerate() {
                let range = |n: usize| times[n].0..times[n].0 + times[n].1;
                let met = |n: &usize| *n != i && meet(&range(*n), &range(i));
                let met: Vec<usize> = (0..times.len()).filter(met).collect();
                let company = record.beside(step);
                prop_assert_eq!(company.count, met.len(), "{}", i);
                let first: Vec<String> = met.iter().take(2).map(|n| format!("s{n}")).collect();
                prop_assert_eq!(company.first, first);
            }
        }
    }

    #[test]
    fn a_record_that_grew_is_looked_up_anew() {
        let mut record = stage(&[(0, 9)]);
        let mut second = record.steps[0].clone();
        assert_eq!(record.beside(&second), Company::default());
        second.name = "second".into();
        record.together[0].steps.push("second".into());
        record.steps.push(second);
        assert_eq!(record.beside(&record.steps[0]), Company { first: vec!["second"], count: 1 });
    }
}

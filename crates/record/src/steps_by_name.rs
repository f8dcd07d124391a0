//! The steps and targets of a Record by name, and which steps ran at the same time. The index is made once, since every output
//! asks for every step.
//!
//! Any code may change a Record. So an entry is checked before it is used, and the whole index is made anew when the number of steps,
//! stages or targets has changed.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::lookup::{Lookup, Size, StepLoad};
use super::steps_together::{Company, Together};
use super::{Record, StepRecord, TargetRecord};
use volproof_host::observe::KernelCounters;

impl Record {
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

    /// The targets that a step drove, in the order of the Record.
    pub fn targets_of(&self, step: &StepRecord) -> Vec<&TargetRecord> {
        let lookup = self.lookup();
        let mut places: Vec<usize> = driven(step).filter_map(|path| lookup.target(path)).collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|place| &self.targets[place]).collect()
    }

    /// The stage of several steps that a step was part of.
    pub fn stage_of(&self, step: &StepRecord) -> Option<&Together> {
        self.lookup().stage(&step.name).and_then(|stage| self.together.get(stage))
    }

    /// Counters of the kernel while a step ran: its own evidence, or that of its stage.
    pub fn evidence<'a>(&'a self, step: &'a StepRecord) -> &'a KernelCounters {
        self.stage_of(step).map_or(&step.evidence, |stage| &stage.evidence)
    }

    /// The other steps that ran during this step, or during a part of it.
    pub fn beside(&self, step: &StepRecord) -> Company<'_> {
        self.lookup().company(self, step, false)
    }

    /// The other steps that ran during this step and used one of its disks (its filesystem, where the disks are not known). The rate of
    /// this step is then not that of the disk.
    pub fn sharing(&self, step: &StepRecord) -> Company<'_> {
        self.lookup().company(self, step, true)
    }
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

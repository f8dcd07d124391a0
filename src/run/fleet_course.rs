//! The steps of a course that all machines measure together: after each step rank 0 adds up what the machines measured, and says which one
//! follows.
//!
//! The sum of a step is a Record of a fleet with this step alone. The course sees the sums as it sees the steps of one machine.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::fleet_run::FleetMember;
use super::{Failure, chain, fleet_start};
use volproof_course as course;
use volproof_fleet::FleetMerge;
use volproof_fleet::message::FleetMessage;
use volproof_plan::{Plan, Step};
use volproof_record::{Record, State};

impl FleetMember<'_> {
    /// The next step of the course for all machines; none at its end.
    ///
    /// # Errors
    /// When the run has to end, or the machines do not fit together.
    pub fn next_of_course(&self, record: &Record) -> Result<Option<Step>, Failure> {
        let last = with_last_step(record);
        // A Record without steps has no plan in its file, and says nothing: then rank 0 knows the first step by itself.
        let begins = last.steps.is_empty();
        if self.rank != 0 {
            if !begins {
                self.link.send(0, FleetMessage::Record(last.to_bytes()));
            }
            loop {
                if let (_, FleetMessage::Next(step)) = self.next()? {
                    return Ok(step.map(|step| *step));
                }
            }
        }
        let sum = if begins { before_the_first_step(last) } else { self.sum_of_last_step(last)? };
        let next = self.add_to_course(sum);
        for rank in self.others() {
            self.link.send(rank, FleetMessage::Next(next.clone().map(Box::new)));
        }
        Ok(next)
    }

    /// The last step of all machines as one; `last` is that of rank 0.
    fn sum_of_last_step(&self, last: Record) -> Result<Record, Failure> {
        let mut merge = FleetMerge::default();
        let unfit = |e: anyhow::Error| Failure::input(chain(&e));
        merge.add(last).map_err(|e| unfit(e.into()))?;
        let mut missing: BTreeSet<u32> = self.others().collect();
        while !missing.is_empty() {
            let (rank, message) = self.next()?;
            let FleetMessage::Record(text) = message else { continue };
            let label = self.link.label(rank);
            let text = String::from_utf8_lossy(&text);
            let theirs = Record::parse(&text, PathBuf::from(&label)).map_err(|e| unfit(e.into()))?;
            merge.add(theirs).map_err(|e| unfit(anyhow::Error::from(e).context(label)))?;
            missing.remove(&rank);
        }
        merge.finish().map_err(|e| unfit(e.into()))
    }

    /// The step that follows once all machines have measured what is in `sum`.
    fn add_to_course(&self, sum: Record) -> Option<Step> {
        let mut all = sum;
        if let Some(before) = self.course_so_far.take() {
            all.plan = before.plan;
            all.steps.splice(0..0, before.steps);
            all.doubts.splice(0..0, before.doubts);
            all.findings.get_or_insert_default().splice(0..0, before.findings.into_iter().flatten());
        }
        let next = course::next(&all);
        if let Some(step) = &next {
            all.plan.steps.push(fleet_start::rate_of_rank(&all.plan, step.clone(), self.ranks));
        }
        self.course_so_far.replace(Some(all));
        next
    }
}

/// What a course knows before its first step.
fn before_the_first_step(record: Record) -> Record {
    let plan = Plan { steps: Vec::new(), precondition: None, ..record.plan.clone() };
    Record { plan, rank: None, ..record }
}

/// The Record of this machine with the last step of the course alone.
fn with_last_step(record: &Record) -> Record {
    let measured = record.steps.iter().filter(|s| !record.plan.is_precondition(&s.name));
    let steps: Vec<_> = measured.last().cloned().into_iter().collect();
    let of_last = |step: &Option<String>| step.is_some() && *step == steps.last().map(|s| s.name.clone());
    Record {
        doubts: record.doubts.iter().filter(|d| of_last(&d.step)).cloned().collect(),
        findings: record.findings.as_ref().map(|all| {
            all.iter().filter(|f| steps.last().is_some_and(|s| s.name == f.step)).cloned().collect()
        }),
        steps,
        // It goes on; what the fleet has of it is whole.
        state: State::Complete,
        ..record.clone()
    }
}

//! Which steps of a stage may begin, which share a flow, and which end with which.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Stage, State, Stops};
use crate::engine::{Ended, Tokens};
use crate::plan::{Reach, Start, Step};
use crate::record::NotRun;

impl Stage<'_> {
    /// The step waits for nothing: those like it begin at one instant.
    pub(super) fn at_once(&self, i: usize) -> bool {
        let step = self.prepared[i].step;
        step.delay.0 == 0 && self.waits_for(step).is_none()
    }

    /// The step of this stage that has to end first.
    fn waits_for(&self, step: &Step) -> Option<usize> {
        match &step.start {
            Start::AfterAll | Start::WithPrevious => None,
            // One of an earlier stage is over.
            Start::After(name) => self.prepared.iter().position(|p| p.step.name == *name),
        }
    }

    /// What a waiting step waits for has come.
    pub(super) fn due(&self, i: usize) -> bool {
        if !self.waits(i) {
            return false;
        }
        let step = self.prepared[i].step;
        let base = match self.waits_for(step).map(|other| &self.states[other]) {
            None => self.begun,
            Some(State::Ended(at)) => *at,
            Some(_) => return false,
        };
        base.elapsed() >= Duration::from(step.delay)
    }

    /// The flows of the stage: the tokens that steps of one number share.
    pub(super) fn flows(&self) -> BTreeMap<u32, Arc<Tokens>> {
        self.prepared.iter().filter_map(|p| Some((p.step.flow?.id, Arc::default()))).collect()
    }

    /// Ends what is to end with a step of which so many jobs have ended, once.
    pub(super) fn end_others(&mut self, i: usize, ended: Ended, stops: &Stops) {
        let step = self.prepared[i].step;
        let Some(ends) = step.ends.filter(|ends| !self.has_ended[i] && ended.fulfil(*ends)) else { return };
        self.has_ended[i] = true;
        let reached = |other: &Step| match ends.reach {
            Reach::Group => other.group == step.group,
            Reach::Running => false,
            Reach::All => true,
        };
        for j in (0..self.states.len()).filter(|j| *j != i) {
            let other = self.prepared[j].step;
            // What waits for a step that never runs never runs either.
            let waits_in_vain =
                self.waits_for(other).is_some_and(|first| matches!(self.states[first], State::Never));
            match self.states[j] {
                State::Running { .. } if ends.reach == Reach::Running || reached(other) => {
                    stops.each[j].store(true, Ordering::Relaxed);
                    self.ended_by[j].get_or_insert_with(|| step.name.clone());
                }
                State::Waiting if reached(other) || waits_in_vain => {
                    self.states[j] = State::Never;
                    self.not_run.push(NotRun { step: other.name.clone(), ended_by: step.name.clone() });
                }
                _ => {}
            }
        }
        for later in self.setting.plan.steps[self.stage.end..].iter().filter(|s| reached(s)) {
            if !self.not_run.iter().chain(self.setting.not_run).any(|n| n.step == later.name) {
                self.not_run.push(NotRun { step: later.name.clone(), ended_by: step.name.clone() });
            }
        }
    }
}

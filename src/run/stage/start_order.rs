//! Which steps of a stage may begin.

use std::time::Duration;

use super::{Stage, StepState};
use volproof_plan::{Start, Step};

impl Stage<'_> {
    /// Whether the step waits for nothing. All such steps begin at one instant.
    pub(super) fn at_once(&self, i: usize) -> bool {
        let step = self.prepared[i].step;
        step.delay.0 == 0 && self.waits_for(step).is_none()
    }

    /// The step of this stage that has to end first.
    fn waits_for(&self, step: &Step) -> Option<usize> {
        match &step.start {
            Start::AfterAll | Start::WithPrevious => None,
            // A step of an earlier stage has ended.
            Start::After(name) => self.prepared.iter().position(|p| p.step.name == *name),
        }
    }

    /// Whether the event that a step waits for has come.
    pub(super) fn due(&self, i: usize) -> bool {
        if !self.waits(i) {
            return false;
        }
        let step = self.prepared[i].step;
        let base = match self.waits_for(step).map(|other| &self.states[other]) {
            None => self.begun,
            Some(StepState::Ended(at)) => *at,
            Some(_) => return false,
        };
        // A simulated step that runs alone has its pause in virtual time.
        let simulated = step.simulate.is_some() && self.states.len() == 1;
        simulated || base.elapsed() >= Duration::from(step.delay)
    }
}

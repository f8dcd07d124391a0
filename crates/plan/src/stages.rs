//! Which steps run together: a stage is the steps from one that waits for all earlier ones up to the next such step.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;

use super::{Plan, Start, Step};
use volproof_base::unit::{Nanos, total};

impl Plan {
    /// The steps by stages, in order. All steps of a stage have ended before the next one begins.
    pub fn stages(&self) -> Vec<Range<usize>> {
        let mut stages: Vec<Range<usize>> = Vec::new();
        for (i, step) in self.steps.iter().enumerate() {
            match stages.last_mut() {
                Some(last) if !step.start.is_after_all() => last.end = i + 1,
                _ => stages.push(i..i + 1),
            }
        }
        stages
    }

    /// How long a stage takes as planned. The time of a step that only its amount of I/O ends is not known and counts as 0.
    pub fn stage_length(&self, stage: Range<usize>) -> Nanos {
        let steps = &self.steps[stage];
        // A long plan asks for the time of all later stages, before each of them.
        if let [step] = steps {
            return Nanos(total([step.delay.0, step.ramp.0, step.runtime.0]));
        }
        let mut over: HashMap<&str, u64> = HashMap::new();
        for step in steps {
            let base = match &step.start {
                Start::After(name) => over.get(name.as_str()),
                Start::AfterAll | Start::WithPrevious => None,
            };
            let end = total([*base.unwrap_or(&0), step.delay.0, step.ramp.0, step.runtime.0]);
            over.insert(&step.name, end);
        }
        Nanos(over.into_values().max().unwrap_or(0))
    }

    /// Time of all steps together, without preparation.
    pub fn duration(&self) -> Nanos {
        Nanos(total(self.stages().into_iter().map(|s| self.stage_length(s).0)))
    }

    /// The targets that a step drives, as they were named.
    pub fn targets_of<'a>(&'a self, step: &'a Step) -> &'a [PathBuf] {
        if step.targets.is_empty() { &self.targets } else { &step.targets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(starts: &[&str]) -> Plan {
        let step = |(i, start): (usize, &&str)| Step {
            name: ["a", "b", "c", "d"][i].into(),
            start: start.parse().unwrap(),
            runtime: Nanos::seconds(10),
            ramp: Nanos::seconds(1),
            delay: Nanos::seconds(i as u64),
            ..Step::default()
        };
        Plan {
            name: "p".into(),
            targets: vec!["x".into()],
            file_size: None,
            keep: false,
            overwrite: false,
            continue_on_error: false,
            seed: 0,
            steps: starts.iter().enumerate().map(step).collect(),
            question: None,
            precondition: None,
            follow_up: None,
        }
    }

    #[test]
    fn steps_that_run_together_are_one_stage() {
        let stages = |starts: &[&str]| plan(starts).stages();
        assert_eq!(stages(&["after-all", "after-all"]), [0..1, 1..2]);
        assert_eq!(stages(&["after-all", "with-previous", "after-all", "after:a"]), [0..2, 2..4]);
        assert_eq!(
            stages(&["with-previous", "after:a"]),
            vec![0..2; 1],
            "a plan that is wrong still has its steps"
        );
    }

    #[test]
    fn a_stage_takes_as_long_as_its_last_step() {
        let seconds = |starts: &[&str]| plan(starts).duration().as_seconds();
        assert_eq!(seconds(&["after-all", "after-all"]), 11.0 + 12.0);
        assert_eq!(seconds(&["after-all", "with-previous"]), 12.0);
        assert_eq!(seconds(&["after-all", "with-previous", "after:a"]), 11.0 + 13.0);
        assert_eq!(seconds(&["after-all", "with-previous", "after-all", "after:a"]), 12.0 + 14.0);
    }

    #[test]
    fn a_step_has_its_own_targets_or_those_of_the_plan() {
        let mut plan = plan(&["after-all", "after-all"]);
        plan.steps[1].targets = vec!["y".into()];
        assert_eq!(plan.targets_of(&plan.steps[0]), [PathBuf::from("x")]);
        assert_eq!(plan.targets_of(&plan.steps[1]), [PathBuf::from("y")]);
    }
}

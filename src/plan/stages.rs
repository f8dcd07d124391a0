//! Which steps run together: a stage is the steps from one that waits for all earlier ones up to the next such step.

use std::ops::Range;
use std::path::PathBuf;

use super::{Ends, Plan, Reach, Start, Step};
use crate::unit::Nanos;

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

    /// How long a stage takes as planned; what only the amount of I/O ends is not known and counts as nothing.
    pub fn stage_length(&self, stage: Range<usize>) -> Nanos {
        let steps = &self.steps[stage];
        let mut over: Vec<Option<u64>> = vec![None; steps.len()];
        let begins = |step: &Step, over: &[Option<u64>]| {
            let base = match &step.start {
                Start::After(name) => {
                    steps.iter().position(|s| s.name == *name).map_or(Some(0), |i| over[i])?
                }
                Start::AfterAll | Start::WithPrevious => 0,
            };
            Some(base + step.delay.0)
        };
        let planned = |i: usize, over: &[Option<u64>]| {
            let length = steps[i].ramp.0 + steps[i].runtime.0;
            over[i].is_none().then(|| begins(&steps[i], over)).flatten().map(|begin| (begin + length, i))
        };
        while let Some((now, first)) = (0..steps.len()).filter_map(|i| planned(i, &over)).min() {
            let mut ending = vec![first];
            while let Some(i) = ending.pop() {
                over[i] = Some(now);
                let Some(ends) = steps[i].ends.filter(|e| !e.on_error && steps[i].runtime.0 > 0) else {
                    continue;
                };
                for j in 0..steps.len() {
                    let runs = begins(&steps[j], &over).is_some_and(|begin| begin <= now);
                    let reached = match ends.reach {
                        Reach::Group => steps[j].group == steps[i].group,
                        Reach::Running => runs,
                        Reach::All => true,
                    };
                    if over[j].is_none() && reached {
                        over[j] = Some(now);
                        // What was ended ends others in turn; what never ran does not.
                        ending.extend(runs.then_some(j));
                    }
                }
            }
        }
        Nanos(over.into_iter().flatten().max().unwrap_or(0))
    }

    /// Time of all steps together, without preparation.
    pub fn duration(&self) -> Nanos {
        let last = |stage: &Range<usize>| {
            let all = |ends: Ends| ends.reach == Reach::All && !ends.on_error;
            self.steps[stage.clone()].iter().any(|s| s.ends.is_some_and(all))
        };
        let stages = self.stages();
        let run = stages.iter().position(last).map_or(stages.len(), |at| at + 1);
        Nanos(stages.into_iter().take(run).map(|s| self.stage_length(s).0).sum())
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
    fn a_stage_ends_with_the_step_that_ends_the_others() {
        let seconds = |starts: &[&str], ends: &[(usize, &str)]| {
            let mut plan = plan(starts);
            for (i, word) in ends {
                plan.steps[*i].ends = Some(word.parse().unwrap());
            }
            // From 0 to 11, 1 to 12, 2 to 13 and 3 to 14 s where they run together.
            plan.steps.iter_mut().skip(3).for_each(|s| s.group = 1);
            plan.duration().as_seconds()
        };
        let four = &["after-all", "with-previous", "with-previous", "with-previous"];
        assert_eq!(seconds(four, &[(0, "all")]), 11.0);
        assert_eq!(seconds(four, &[(0, "running")]), 11.0);
        assert_eq!(seconds(four, &[(0, "group")]), 14.0, "the last one is of another group");
        assert_eq!(seconds(four, &[(0, "all-on-error")]), 14.0, "an error is not planned");
        assert_eq!(seconds(four, &[(0, "group"), (1, "all")]), 11.0, "what was ended ends others");
        let late = &["after-all", "with-previous", "after:b"];
        assert_eq!(seconds(late, &[(0, "running")]), 11.0 + 13.0, "what waited for its end begins");
        assert_eq!(seconds(late, &[(0, "all")]), 11.0);
        let stages = &["after-all", "after-all"];
        assert_eq!(seconds(stages, &[(0, "all")]), 11.0, "nothing comes after it");
        assert_eq!(seconds(stages, &[(0, "running")]), 23.0);
    }

    #[test]
    fn a_step_has_its_own_targets_or_those_of_the_plan() {
        let mut plan = plan(&["after-all", "after-all"]);
        plan.steps[1].targets = vec!["y".into()];
        assert_eq!(plan.targets_of(&plan.steps[0]), [PathBuf::from("x")]);
        assert_eq!(plan.targets_of(&plan.steps[1]), [PathBuf::from("y")]);
    }
}

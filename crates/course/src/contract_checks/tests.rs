//! Volumes with planted faults: each check finds its own, and passes without it.

use super::*;
use crate::Course;
use crate::essd_contract::suite;
use crate::suites::SuiteRange;
use volproof_base::hist::Histogram;
use volproof_plan::{ReferenceLatency, Step};
use volproof_record::{CourseAnswer, DeadTime};

const PART: Bytes = Bytes::gib(64);

/// A volume: its rate by step and second, and its latency by step and I/O.
struct Played {
    iops: fn(&Step, f64) -> f64,
    latency: fn(&Step, u64) -> Nanos,
}

fn cap(step: &Step, _: f64) -> f64 {
    (50_000f64).min(350e6 / step.single_block().unwrap().0 as f64)
}

fn latency(step: &Step, _: u64) -> Nanos {
    Nanos(200_000 + step.single_block().unwrap().0 * 2)
}

/// A volume that keeps the contract.
const SOUND: Played = Played { iops: cap, latency };

impl Played {
    fn step(&self, step: &Step) -> FinishedStep {
        let block = step.single_block().unwrap().0;
        let mut bins = Vec::new();
        let amount = step.io_size.map(|a| a.0 / block);
        let mut done = 0u64;
        let over = |bins: &Vec<u64>, done: u64| match amount {
            Some(amount) => done >= amount,
            None => bins.len() as u64 >= step.runtime.0 / 100_000_000,
        };
        while !over(&bins, done) {
            // A ripple of 1 %, without which every difference would be significant.
            let ripple = 1.0 + 0.01 * ((bins.len() % 7) as f64 - 3.0) / 3.0;
            let n = ((self.iops)(step, (done * block) as f64) * ripple / 10.0) as u64;
            bins.push(n);
            done += n;
        }
        let seconds = bins.len() as f64 / 10.0;
        let mut service = Histogram::new();
        (0..1000).for_each(|i| service.record((self.latency)(step, i).0));
        let iops = done as f64 / seconds;
        FinishedStep { error: Some(0.0005 * iops), bins, ..FinishedStep::played(step, iops, service) }
    }

    /// The checks of a volume, by code.
    fn checks(&self, suite: &Suite) -> Vec<SuiteCheck> {
        let mut finished = Vec::new();
        while let Some(step) = suite.next(&finished) {
            finished.push(self.step(&step));
        }
        assert_eq!(finished.len(), 217);
        let Some(CourseAnswer::Suite(answer)) = suite.answer(&finished, None) else { panic!("no answer") };
        answer.checks
    }

    #[track_caller]
    fn finds(&self, code: &str, outcome: Outcome, says: &str) {
        let checks = self.checks(&volume());
        for check in &checks {
            if check.code == code {
                assert!(check.outcome == outcome && check.observed.contains(says), "{check:?}");
            } else if check.code != "C1" {
                assert_eq!(check.outcome, Outcome::Pass, "{check:?}");
            }
        }
    }
}

fn range(whole: bool) -> SuiteRange {
    SuiteRange { part: PART, whole, smallest: Bytes(512), seed: 1 }
}

fn volume() -> Suite {
    suite(&Step { runtime: Nanos::seconds(15), ..Step::default() }, &range(true))
}

#[test]
fn a_volume_that_keeps_the_contract_passes() {
    SOUND.finds("C1", Outcome::Inconclusive, "--reference");
    // A local disk of 80 us and 2 GB/s: the gap closes with size; with depth, the local disk loses its advantage.
    let local = |step: &Step| {
        let queue = 1.0 + 0.4 * f64::from(step.iodepth).log2();
        (80_000.0 + step.single_block().unwrap().0 as f64 * 1.5) * queue
    };
    let mut with = volume();
    let named = |s: &Step| ReferenceLatency { step: format!("latency-{}", s.name), mean_ns: local(s) };
    with.reference =
        with.phases.iter().find(|p| p.name == "latency").unwrap().steps.iter().map(named).collect();
    let check = &SOUND.checks(&with)[0];
    assert!(check.outcome == Outcome::Pass && check.observed.contains("2.42 times"), "{check:?}");
    // And the other way round.
    with.reference.iter_mut().filter(|r| r.step.contains("256KiB")).for_each(|r| r.mean_ns /= 20.0);
    let check = &SOUND.checks(&with)[0];
    assert!(check.outcome == Outcome::Fail && check.observed.contains("64 KiB at"), "{check:?}");
}

#[test]
fn a_fall_under_overwriting_is_found_where_it_is() {
    fn falls<const HUNDREDTHS: u64>(step: &Step, written: f64) -> f64 {
        let late = step.name.starts_with("overwrite") && written >= PART.0 as f64 * HUNDREDTHS as f64 / 100.0;
        cap(step, 0.0) * if late { 0.37 } else { 1.0 }
    }
    Played { iops: falls::<90>, ..SOUND }.finds("C2", Outcome::Fail, "after 0.89");
    Played { iops: falls::<265>, ..SOUND }.finds("C2", Outcome::Pass, "after 2.6");
    let part = suite(&Step { runtime: Nanos::seconds(15), ..Step::default() }, &range(false));
    let check = &SOUND.checks(&part)[1];
    assert_eq!(check.outcome, Outcome::Inconclusive, "a part of the volume shows no clean-up: {check:?}");
}

#[test]
fn slow_random_writes_and_unequal_mixes_fail() {
    let random =
        |step: &Step, _: f64| cap(step, 0.0) * if step.name == "patterns-randwrite" { 0.7 } else { 1.0 };
    Played { iops: random, ..SOUND }.finds("C3", Outcome::Fail, "0.70 times one stream");
    let mixes = |step: &Step, _: f64| {
        cap(step, 0.0) * if step.name.starts_with("mix-") { 0.5 + f64::from(step.rwmix) / 200.0 } else { 1.0 }
    };
    Played { iops: mixes, ..SOUND }.finds("C4", Outcome::Fail, "from 0 to 100 % reads");
}

#[test]
fn a_budget_of_another_shape_fails() {
    let slope = |step: &Step, _: f64| match step.name.starts_with("blocks-") {
        true => 2e6 / (step.single_block().unwrap().0 as f64).powf(0.6),
        false => cap(step, 0.0),
    };
    Played { iops: slope, ..SOUND }.finds("C5", Outcome::Fail, "all sizes within");
}

#[test]
fn credits_and_cold_blocks_are_found() {
    let burst = |step: &Step, bytes: f64| match step.name.as_str() {
        "credits-load" if bytes < 4096.0 * 3000.0 * 300.0 => 3000.0,
        "credits-load" => 300.0,
        _ => cap(step, 0.0),
    };
    Played { iops: burst, ..SOUND }.finds("C6", Outcome::Inconclusive, "3,000 IOPS for 5 min");
    // Nobody saw how long the lower level lasts.
    let late = |step: &Step, bytes: f64| match step.name.as_str() {
        "credits-load" if bytes >= 4096.0 * 3000.0 * 1170.0 => 300.0,
        "credits-load" => 3000.0,
        _ => cap(step, 0.0),
    };
    Played { iops: late, ..SOUND }.finds("C6", Outcome::Inconclusive, "a dip, or credits that ended");
    // The rate falls to 40 % of its start in 20 min, and never stands still.
    let drifts = |step: &Step, bytes: f64| match step.name.as_str() {
        "credits-load" => 3000.0 - bytes / 4096.0 / 1300.0,
        _ => cap(step, 0.0),
    };
    Played { iops: drifts, ..SOUND }.finds("C6", Outcome::Inconclusive, "in the first fifth of the time");
    let cold = |step: &Step, _| match step.name.starts_with("touch-first") {
        true => Nanos::millis(20),
        false => latency(step, 0),
    };
    Played { latency: cold, ..SOUND }.finds("C7", Outcome::Fail, "20.0 ms at the first read");
}

#[test]
fn a_budget_is_called_promised_only_where_a_promise_is_given() {
    let c5 = &SOUND.checks(&volume())[4];
    assert!(c5.code == "C5" && !c5.tests.contains("promised"), "{c5:?}");
}

#[test]
fn a_volume_that_stops_for_a_time_has_no_steady_rate() {
    let suite = volume();
    let found = |finding: &str| {
        let mut finished: Vec<FinishedStep> = suite.possible().iter().map(|s| SOUND.step(s)).collect();
        for f in finished.iter_mut().filter(|f| f.step.name == "credits-load") {
            f.dead_time = Some(DeadTime { finding: finding.into(), share: 0.025 });
        }
        let Some(CourseAnswer::Suite(answer)) = suite.answer(&finished, None) else { panic!("no answer") };
        let c6 = answer.checks.into_iter().find(|check| check.code == "C6").unwrap();
        (c6.outcome, c6.observed.contains("2.50 % of it lost (stall)"))
    };
    assert_eq!(found("stall"), (Outcome::Inconclusive, true));
}

#[test]
fn a_step_that_shows_something_else_decides_nothing() {
    let suite = volume();
    let mut finished: Vec<FinishedStep> = suite.possible().iter().map(|s| SOUND.step(s)).collect();
    for f in finished.iter_mut().filter(|f| f.step.name.starts_with("mix-")) {
        f.spoilt_by = vec!["generator-limited".into()];
    }
    let Some(CourseAnswer::Suite(answer)) = suite.answer(&finished, None) else { panic!("no answer") };
    assert_eq!(answer.checks[3].outcome, Outcome::Inconclusive);
    assert!(answer.checks[3].observed.contains("generator-limited"), "{:?}", answer.checks[3]);
    assert_eq!(answer.outcome, Some(Outcome::Inconclusive));
    finished.truncate(410);
    let Some(CourseAnswer::Suite(part)) = suite.answer(&finished, None) else { panic!("no answer") };
    assert!(part.checks[4].observed.contains("not all of its steps"), "{:?}", part.checks[4]);
}

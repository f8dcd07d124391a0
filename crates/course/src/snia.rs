//! The tests of SNIA's Solid State Storage Performance Test Specification 2.0.2 (2020-10-01), and the load of JESD219.
//!
//! Preconditioning comes first, then rounds until the tracked figure is steady: over five rounds its range is at most 20 % of its mean,
//! and its fitted line rises or falls by at most 10 %. After 25 rounds a test ends without a steady state.

use super::precondition_steps::sequential_pass;
use super::steady::{DRIFT_PCT, MAX_ROUNDS, RANGE_PCT, ROUNDS};
use volproof_base::unit::{Bytes, Nanos, counted, significant};
use volproof_plan::{BlockSizes, Pattern, Phase, SniaTest, Step, Suite, SuiteName, Tracked, TrackedFigure};
use volproof_record::{Outcome, SuiteCheck, SuiteRounds};

/// The specification.
const PTS: &str = "SNIA SSS PTS 2.0.2 (2020-10-01)";
/// JEDEC's enterprise load, as fio's examples have it.
const JESD219: &str = "JESD219 enterprise workload, as in fio's examples/jesd219.fio";
const MINUTE: Nanos = Nanos::seconds(60);
/// Length of a round whose first minute is tracked: one point in 30.
const LONG_ROUND: Nanos = Nanos::seconds(30 * 60);
const KIB_SIZES: [u64; 7] = [1024, 128, 64, 32, 16, 8, 4];
const SECTOR: Bytes = Bytes(512);
/// One line about a test.
pub(super) fn about(test: SniaTest) -> &'static str {
    match test {
        SniaTest::Iops => "IOPS at 7 mixes and 8 block sizes in the steady state",
        SniaTest::Throughput => "sequential throughput at 1 MiB and 128 KiB in the steady state",
        SniaTest::Latency => "latency of one request at 3 block sizes and 3 mixes in the steady state",
        SniaTest::WriteSaturation => {
            "4 KiB random writes until they are steady: how the rate falls as the disk fills"
        }
        SniaTest::Enterprise => "the enterprise mix of block sizes and hot ranges in the steady state",
    }
}

fn load(base: &Step, name: impl Into<String>, rw: Pattern, block: Bytes) -> Step {
    Step { name: name.into(), rw, bs: BlockSizes::one(block), ..base.clone() }
}

/// Random I/O with a share of reads.
fn mixed(base: &Step, block: Bytes, reads: u32) -> Step {
    let rw = match reads {
        100 => Pattern::RandRead,
        0 => Pattern::RandWrite,
        _ => Pattern::RandRw,
    };
    Step { rwmix: reads, ..load(base, format!("{}-{reads}r", block.exact()), rw, block) }
}

fn until_steady(name: &str, steps: Vec<Step>, step: &str, figure: TrackedFigure) -> Phase {
    let tracked = Tracked { step: step.into(), figure, most: MAX_ROUNDS as u32 };
    Phase { name: name.into(), steps, until_steady: Some(tracked) }
}

/// Preconditioning that does not depend on the load: two sequential passes of 128 KiB.
fn two_passes(base: &Step, part: Bytes, name: &str) -> Phase {
    let passes = ["pass1", "pass2"].map(|pass| sequential_pass(base, pass, Bytes::kib(128), part));
    Phase::once(name, passes.to_vec())
}

/// A test over a range of `part` bytes whose smallest block is `smallest`. Steps have the length of `base`; `given` says
/// that the user chose it.
pub(super) fn suite(test: SniaTest, base: &Step, part: Bytes, smallest: Bytes, given: bool) -> Suite {
    let mut notes = vec![
        "no purge: a cloud has no secure erase; discard the whole volume first (blkdiscard), or take a new one".to_string(),
        "the write cache of the volume stays as it is, and the medium is shared: a steady state may be out of reach".into(),
    ];
    if smallest > SECTOR && [SniaTest::Iops, SniaTest::Latency].contains(&test) {
        notes.push(format!("no blocks of 512 B: direct I/O needs {smallest} here"));
    }
    if given {
        notes.push(format!(
            "steps run for {}: a shorter time than that of the specification is no result of it",
            base.runtime.exact()
        ));
    }
    let phases = phases(test, base, part, smallest, given);
    let source = if test == SniaTest::Enterprise { JESD219 } else { PTS };
    Suite::new(SuiteName::Snia(test), source.into(), phases, notes)
}

/// Random I/O of each mix at each block size that the target allows.
fn grid(one: &Step, mixes: &[u32], kib: &[u64], smallest: Bytes) -> Vec<Step> {
    let mut steps = Vec::new();
    for mix in mixes {
        let sizes = kib.iter().map(|k| Bytes::kib(*k)).chain([SECTOR]);
        steps.extend(sizes.filter(|size| *size >= smallest).map(|size| mixed(one, size, *mix)));
    }
    steps
}

/// The phases of a test.
fn phases(test: SniaTest, base: &Step, part: Bytes, smallest: Bytes, given: bool) -> Vec<Phase> {
    let minute = if given { base.clone() } else { Step { runtime: MINUTE, ramp: Nanos(0), ..base.clone() } };
    let one = |depth: u32| Step { iodepth: depth, numjobs: 1, ..minute.clone() };
    let passes = two_passes(base, part, "precondition");
    match test {
        SniaTest::Iops => {
            let steps = grid(&one(32), &[100, 95, 65, 50, 35, 5, 0], &KIB_SIZES, smallest);
            vec![passes, until_steady("iops", steps, "4KiB-0r", TrackedFigure::Iops)]
        }
        SniaTest::Latency => {
            let steps = grid(&one(1), &[100, 65, 0], &[8, 4], smallest);
            vec![passes, until_steady("latency", steps, "4KiB-0r", TrackedFigure::MeanLatency)]
        }
        SniaTest::Throughput => {
            [1024, 128].into_iter().flat_map(|k| throughput(&one(32), part, Bytes::kib(k))).collect()
        }
        SniaTest::WriteSaturation => {
            let round = Step { runtime: if given { base.runtime } else { LONG_ROUND }, ..one(32) };
            let step = load(&round, "4KiB-0r", Pattern::RandWrite, Bytes::kib(4));
            vec![until_steady("writes", vec![step], "4KiB-0r", TrackedFigure::FirstMinute)]
        }
        SniaTest::Enterprise => {
            let bs = "512/4:1024/1:1536/1:2048/1:2560/1:3072/1:3584/1:4k/67:8k/10:16k/7:32k/3:64k/3";
            let step = Step {
                name: "mix".into(),
                rw: Pattern::RandRw,
                rwmix: 40,
                bs: bs.parse().expect("a split of ours"),
                distribution: "zoned:50/5:30/15:20/80".parse().expect("a distribution of ours"),
                norandommap: true,
                ..one(256)
            };
            vec![passes, until_steady("enterprise", vec![step], "mix", TrackedFigure::Iops)]
        }
    }
}

/// Sequential writes and reads of a block size, preconditioned with it.
fn throughput(one: &Step, part: Bytes, block: Bytes) -> [Phase; 2] {
    let write = load(one, "write", Pattern::Write, block);
    let read = load(one, "read", Pattern::Read, block);
    let name = block.exact();
    [
        two_passes(one, part, &format!("precondition-{name}")),
        until_steady(
            &format!("throughput-{name}"),
            vec![write, read],
            "write",
            TrackedFigure::BytesPerSecond,
        ),
    ]
}

/// The steady state of a phase as a check; `over` says that no further round comes.
pub(super) fn steady_check(rounds: &SuiteRounds, over: bool, source: &str) -> SuiteCheck {
    let n = rounds.values.len();
    let window = rounds.range_pct.zip(rounds.drift_pct).map_or(String::new(), |(range, drift)| {
        format!(": range {} %, slope {} %", significant(range), significant(drift.abs()))
    });
    let (outcome, observed) = match rounds.reached {
        Some(round) => {
            (Outcome::Pass, format!("steady in rounds {} to {round}{window}", round as usize + 1 - ROUNDS))
        }
        None if over => (Outcome::Inconclusive, format!("STEADY STATE NOT ACHIEVED in {n} rounds{window}")),
        None => (Outcome::Inconclusive, format!("{}, not steady yet{window}", counted(n as u64, "round"))),
    };
    SuiteCheck {
        code: rounds.phase.clone(),
        subject: format!("steady state of {} ({})", rounds.step, rounds.figure.words()),
        outcome,
        observed,
        tests: format!(
            "over {ROUNDS} rounds the range is at most {RANGE_PCT} % of the mean and the fitted line changes by at most {DRIFT_PCT} %"
        ),
        source: source.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Course, FinishedStep};
    use volproof_base::hist::Histogram;
    use volproof_plan::Question;
    use volproof_record::{CourseAnswer, SuiteAnswer};

    /// A disk whose rate in a round follows from the step and from the number of the round.
    fn played(step: &Step, rate: f64) -> FinishedStep {
        let mut service = Histogram::new();
        (0..1000).for_each(|_| service.record((1e9 / rate) as u64 * u64::from(step.iodepth * step.numjobs)));
        FinishedStep {
            error: Some(rate / 1000.0),
            bins: vec![(rate / 10.0) as u64; 100],
            in_flight: 1.0,
            ..FinishedStep::played(step, rate, service)
        }
    }

    fn play(test: SniaTest, rate: impl Fn(&Step, u32) -> f64) -> (Vec<FinishedStep>, SuiteAnswer) {
        let base = Step { runtime: Nanos::seconds(10), ..Step::default() };
        let suite = suite(test, &base, Bytes::gib(16), SECTOR, true);
        let forecast = suite.forecast();
        let mut finished = Vec::new();
        while let Some(step) = suite.next(&finished) {
            assert_eq!(step.problem(), None);
            let round = step.name.rsplit_once("-round").map_or(1, |(_, n)| n.parse().unwrap());
            finished.push(played(&step, rate(&step, round)));
            assert!(finished.len() <= forecast.worst_steps, "more steps than {forecast:?}");
        }
        let Some(CourseAnswer::Suite(answer)) = suite.answer(&finished, None) else { panic!("no answer") };
        let json = serde_json::to_string(&Question::Suite(suite.clone())).unwrap();
        assert_eq!(serde_json::from_str::<Question>(&json).unwrap(), Question::Suite(suite));
        (finished, answer)
    }

    #[test]
    fn a_disk_that_settles_is_steady_in_the_first_window_that_keeps_the_rule() {
        // 40,000 falling to 10,000: by hand, rounds 5 to 9 are the first within 20 % and 10 %.
        let falling = |_: &Step, round: u32| 10_000.0 * (1.0 + 3.0 * 0.5f64.powi(round as i32 - 1));
        let truth = (ROUNDS as u32..=25).find(|last| {
            let w: Vec<f64> = (last - 4..=*last).map(|r| falling(&Step::default(), r)).collect();
            let m = w.iter().sum::<f64>() / 5.0;
            let slope = (2.0 * (w[4] - w[0]) + w[3] - w[1]) / 10.0;
            w[0] - w[4] <= 0.2 * m && (4.0 * slope).abs() <= 0.1 * m
        });
        for (test, steps) in [(SniaTest::Iops, 56), (SniaTest::Latency, 9), (SniaTest::Enterprise, 1)] {
            let (finished, answer) = play(test, falling);
            assert_eq!(answer.rounds[0].reached, truth, "{test:?}: {:?}", answer.rounds);
            assert_eq!(finished.len(), 2 + steps * truth.unwrap() as usize);
            assert_eq!(answer.outcome, Some(Outcome::Pass));
            assert!(answer.points.iter().skip(2).all(|p| p.point.runs == 5), "{:?}", answer.points.last());
        }
    }

    #[test]
    fn a_disk_that_never_settles_is_said_not_to() {
        let swings = |_: &Step, round: u32| if round.is_multiple_of(2) { 10_000.0 } else { 13_000.0 };
        let (finished, answer) = play(SniaTest::WriteSaturation, swings);
        assert_eq!((finished.len(), answer.outcome), (25, Some(Outcome::Inconclusive)));
        assert!(
            answer.checks[0].observed.contains("STEADY STATE NOT ACHIEVED in 25 rounds"),
            "{:?}",
            answer.checks
        );
        assert!(answer.sentence.contains("writes is not decided"), "{}", answer.sentence);
        // A drift within the range of 20 % is no steady state either.
        let drifts = |_: &Step, round: u32| 10_000.0 * (1.0 - 0.03 * f64::from(round));
        assert_eq!(play(SniaTest::WriteSaturation, drifts).1.rounds[0].reached, None);
    }

    #[test]
    fn throughput_is_preconditioned_for_each_block_size() {
        let (finished, answer) = play(SniaTest::Throughput, |_, _| 500.0);
        let names: Vec<&str> = finished.iter().map(|f| f.step.name.as_str()).collect();
        assert_eq!(
            names[..3],
            ["precondition-1MiB-pass1", "precondition-1MiB-pass2", "throughput-1MiB-write-round1"]
        );
        assert_eq!((names.len(), names[12]), (24, "precondition-128KiB-pass1"));
        assert_eq!(answer.checks.len(), 2);
        let pass = &finished[0].step;
        assert_eq!((pass.io_size, pass.rw), (Some(Bytes::gib(16)), Pattern::Write));
    }

    #[test]
    fn sectors_that_the_device_has_not_are_left_out_and_said() {
        let base = Step::default();
        let suite = suite(SniaTest::Iops, &base, Bytes::gib(1), Bytes::kib(4), false);
        assert_eq!(suite.phases[1].steps.len(), 49);
        assert!(suite.notes.iter().any(|n| n.contains("no blocks of 512 B")), "{:?}", suite.notes);
        assert_eq!(suite.phases[1].steps[0].runtime, MINUTE);
    }
}

//! The tests of SNIA's Solid State Storage Performance Test Specification 2.0.2 (2020-10-01), and the load of JESD219.
//!
//! Preconditioning comes first, then rounds until the tracked figure is steady: over five rounds its range is at most 20 % of its mean,
//! and its fitted line rises or falls by at most 10 %. After 25 rounds a test ends without a steady state.

use super::course_of::CourseOf;
use super::essd_contract::fill;
use super::steady::{DRIFT_PCT, MAX_ROUNDS, RANGE_PCT, ROUNDS};
use super::suite_course::Finished;
use volproof_base::stats::moments::mean;
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
/// Pauses between the bursts of the idle-recovery test, seconds, and the bursts of each.
const PAUSES: [u64; 5] = [5, 10, 15, 25, 50];
const BURSTS: u32 = 360;
/// Thread counts and depths of the demand test.
const DEMAND: [u32; 7] = [32, 16, 8, 6, 4, 2, 1];
/// The most mean latency of the point with the most IOPS.
const DEMAND_LATENCY: Nanos = Nanos::millis(5);
/// The deepest point of the demand test.
const DEEPEST: &str = "tc32-qd32";

/// One line about a test.
pub(super) fn about(test: SniaTest) -> &'static str {
    match test {
        SniaTest::Iops => "IOPS at 7 mixes and 8 block sizes in the steady state",
        SniaTest::Throughput => "sequential throughput at 1 MiB and 128 KiB in the steady state",
        SniaTest::Latency => "latency of one request at 3 block sizes and 3 mixes in the steady state",
        SniaTest::WriteSaturation => {
            "4 KiB random writes until they are steady: how the rate falls as the disk fills"
        }
        SniaTest::IdleRecovery => {
            "bursts of writes with pauses of 5 to 50 s: how far pauses restore the rate"
        }
        SniaTest::CrossStimulus => {
            "sequential, random, sequential writes of hours: how long each change takes"
        }
        SniaTest::Demand => "latency against demand over 49 pairs of threads and depths, and its histograms",
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
    let block = Bytes::kib(128);
    let pass = |name: &str| {
        let whole = Bytes((part.0 / block.0).max(1) * block.0);
        Step { name: name.into(), bs: BlockSizes::one(block), io_size: Some(whole), ..fill(base, part) }
    };
    Phase::once(name, vec![pass("pass1"), pass("pass2")])
}

/// A test over a range of `part` bytes whose smallest block is `smallest`. Steps have the length of `base`; `given` says
/// that the user chose it.
pub(super) fn suite(test: SniaTest, base: &Step, part: Bytes, smallest: Bytes, given: bool) -> Suite {
    let phases = phases(test, base, part, smallest, given);
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
    let source = if test == SniaTest::Enterprise { JESD219 } else { PTS };
    Suite {
        name: SuiteName::Snia(test),
        source: source.into(),
        phases,
        reference: Vec::new(),
        notes,
        left_out: Vec::new(),
        was_judged_simulated: false,
    }
}

/// The phases of a test.
fn phases(test: SniaTest, base: &Step, part: Bytes, smallest: Bytes, given: bool) -> Vec<Phase> {
    let minute = &if given { base.clone() } else { Step { runtime: MINUTE, ramp: Nanos(0), ..base.clone() } };
    let long = if given { base.runtime } else { LONG_ROUND };
    let one = |depth: u32| Step { iodepth: depth, numjobs: 1, ..minute.clone() };
    let sizes = |kib: &[u64]| -> Vec<Bytes> {
        kib.iter().map(|k| Bytes::kib(*k)).chain([SECTOR]).filter(|size| *size >= smallest).collect()
    };
    let writes = |depth: u32, jobs: u32| {
        let step = Step { runtime: long, numjobs: jobs, ..one(depth) };
        let step = load(&step, "4KiB-0r", Pattern::RandWrite, Bytes::kib(4));
        until_steady("writes", vec![step], "4KiB-0r", TrackedFigure::FirstMinute)
    };
    let wipc = || two_passes(base, part, "precondition");
    match test {
        SniaTest::Iops => {
            let mixes = [100, 95, 65, 50, 35, 5, 0];
            let of_mix = |mix| sizes(&KIB_SIZES).into_iter().map(move |size| (mix, size));
            let steps = mixes.into_iter().flat_map(of_mix).map(|(mix, size)| mixed(&one(32), size, mix));
            vec![wipc(), until_steady("iops", steps.collect(), "4KiB-0r", TrackedFigure::Iops)]
        }
        SniaTest::Throughput => [1024, 128]
            .into_iter()
            .flat_map(|kib| {
                let block = Bytes::kib(kib);
                let steps = vec![
                    load(&one(32), "write", Pattern::Write, block),
                    load(&one(32), "read", Pattern::Read, block),
                ];
                let phase = format!("throughput-{}", block.exact());
                [
                    two_passes(base, part, &format!("precondition-{}", block.exact())),
                    until_steady(&phase, steps, "write", TrackedFigure::BytesPerSecond),
                ]
            })
            .collect(),
        SniaTest::Latency => {
            let of_mix = |mix| sizes(&[8, 4]).into_iter().map(move |size| (mix, size));
            let steps =
                [100, 65, 0].into_iter().flat_map(of_mix).map(|(mix, size)| mixed(&one(1), size, mix));
            vec![wipc(), until_steady("latency", steps.collect(), "4KiB-0r", TrackedFigure::MeanLatency)]
        }
        SniaTest::WriteSaturation => vec![writes(32, 1)],
        SniaTest::IdleRecovery => {
            let recovery = PAUSES.into_iter().flat_map(|pause| pauses_between_bursts(&one(32), long, pause));
            std::iter::once(writes(32, 1)).chain(recovery).collect()
        }
        SniaTest::CrossStimulus => {
            let hours = |n: u64| if given { base.runtime } else { Nanos::seconds(n * 3600) };
            let step = |name: &str, rw, kib, n| {
                load(&Step { runtime: hours(n), ..one(32) }, name, rw, Bytes::kib(kib))
            };
            vec![Phase::once(
                "writes",
                vec![
                    step("sequential1", Pattern::Write, 1024, 8),
                    step("random", Pattern::RandWrite, 8, 6),
                    step("sequential2", Pattern::Write, 1024, 8),
                ],
            )]
        }
        SniaTest::Demand => {
            let first = Step {
                runtime: if given { base.runtime } else { Nanos::seconds(300) },
                numjobs: 32,
                ..load(&one(32), "pre", Pattern::RandWrite, Bytes::kib(4))
            };
            let pair = |tc: u32, qd: u32| Step {
                numjobs: tc,
                ..load(&one(qd), format!("tc{tc}-qd{qd}"), Pattern::RandWrite, Bytes::kib(4))
            };
            let pairs = DEMAND.into_iter().flat_map(|tc| DEMAND.map(|qd| pair(tc, qd)));
            let steps = std::iter::once(first).chain(pairs).collect();
            vec![writes(32, 32), until_steady("demand", steps, DEEPEST, TrackedFigure::Iops)]
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
            vec![wipc(), until_steady("enterprise", vec![step], "mix", TrackedFigure::Iops)]
        }
    }
}

/// Bursts of writes with a pause before each, and how fast the volume writes after them.
fn pauses_between_bursts(one: &Step, long: Nanos, pause: u64) -> [Phase; 2] {
    let burst = |i: u32| Step {
        name: format!("burst{i}"),
        delay: Nanos::seconds(pause),
        runtime: Nanos::seconds(5),
        ..load(one, "", Pattern::RandWrite, Bytes::kib(4))
    };
    let step = Step { runtime: long, ..one.clone() };
    let baseline = load(&step, "writes", Pattern::RandWrite, Bytes::kib(4));
    [
        Phase::once(&format!("pause{pause}s"), (1..=BURSTS).map(burst).collect()),
        Phase::once(&format!("after{pause}s"), vec![baseline]),
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

/// The histograms of the demand test: its points with the most, the middle and the least IOPS, each for ten minutes after an hour.
pub(super) fn follow_up(suite: &Suite, finished: &Finished<'_>) -> Option<Phase> {
    let demand = suite
        .phases
        .iter()
        .find(|p| suite.name == SuiteName::Snia(SniaTest::Demand) && p.name == "demand")?;
    let last = CourseOf(demand).tracked(finished).len() as u32;
    let points =
        demand.steps[1..].iter().filter_map(|s| Some((s, finished.get(&demand.step_name(s, last))?)));
    let points: Vec<_> = points.collect();
    let (least, least_iops) =
        points.iter().find(|(s, _)| s.numjobs == 1 && s.iodepth == 1).map(|(s, f)| (*s, f.iops))?;
    let quick = points.iter().filter(|(_, f)| f.mean_ns() < DEMAND_LATENCY.0 as f64);
    let (most, most_iops) = quick.max_by(|a, b| a.1.iops.total_cmp(&b.1.iops)).map(|(s, f)| (*s, f.iops))?;
    let middle = (most_iops + least_iops) / 2.0;
    let distance = |f: f64| (f - middle).abs();
    let (mid, _) = points.iter().min_by(|a, b| distance(a.1.iops).total_cmp(&distance(b.1.iops)))?;
    Some(histograms(&demand.steps[0], [("most", most), ("middle", *mid), ("least", least)]))
}

fn histograms(deepest: &Step, points: [(&str, &Step); 3]) -> Phase {
    // Of the times of the specification, 60 and 10 min beside the 5 min of the first step of a round.
    let times = |n: u64, of: u64| Nanos(deepest.runtime.0 / 5 * n / of.max(1));
    let steps = points.into_iter().flat_map(|(name, step)| {
        [
            Step { name: format!("pre-{name}"), runtime: times(60, 1), ..deepest.clone() },
            Step { name: name.into(), runtime: times(10, 1), ..step.clone() },
        ]
    });
    Phase::once("histogram", steps.collect())
}

/// A phase that follows from finished steps, in its longest form.
pub(super) fn longest_follow_up(suite: &Suite) -> Option<Phase> {
    let demand = suite
        .phases
        .iter()
        .find(|p| suite.name == SuiteName::Snia(SniaTest::Demand) && p.name == "demand")?;
    let deepest = &demand.steps[0];
    Some(histograms(
        deepest,
        [("most", &demand.steps[1]), ("middle", &demand.steps[1]), ("least", &demand.steps[1])],
    ))
}

/// The results of the tests without rounds, in words.
pub(super) fn shown(suite: &Suite, finished: &Finished<'_>) -> Vec<String> {
    match suite.name {
        SuiteName::Snia(SniaTest::IdleRecovery) => recovery(finished),
        SuiteName::Snia(SniaTest::CrossStimulus) => changes(finished),
        _ => Vec::new(),
    }
}

fn recovery(finished: &Finished<'_>) -> Vec<String> {
    let of = |pause: u64| {
        let bursts =
            (1..=BURSTS).filter_map(|i| finished.of(&format!("pause{pause}s"), &format!("burst{i}")));
        let rates: Vec<f64> = bursts.map(|f| f.iops).collect();
        let base = finished.of(&format!("after{pause}s"), "writes")?.iops;
        (!rates.is_empty() && base > 0.0).then(|| {
            format!(
                "after pauses of {pause} s: {} IOPS, {} times the rate without pauses",
                significant(mean(&rates)),
                significant(mean(&rates) / base)
            )
        })
    };
    PAUSES.into_iter().filter_map(of).collect()
}

/// How long the rate takes to come within a tenth of the mean of the last quarter of a step.
fn changes(finished: &Finished<'_>) -> Vec<String> {
    let of = |name: &str| {
        let f = finished.of("writes", name)?;
        let unit = (f.bins.len() / 480).clamp(10, 600);
        let rates: Vec<f64> =
            f.bins.chunks_exact(unit).map(|c| c.iter().sum::<u64>() as f64 * 10.0 / unit as f64).collect();
        let level = mean(rates.get(rates.len() - rates.len().div_ceil(4)..)?);
        let away = rates.iter().rposition(|r| (r / level - 1.0).abs() > 0.1).map_or(0, |i| i + 1);
        let taken = Nanos::seconds((away * unit / 10) as u64);
        Some(format!(
            "{name}: {} IOPS at its end, within 10 % of that from {} on",
            significant(level),
            taken.clock()
        ))
    };
    ["sequential1", "random", "sequential2"].into_iter().filter_map(of).collect()
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
    fn idle_recovery_and_changes_are_told() {
        let recovers = |s: &Step, _: u32| if s.name.starts_with("pause50s") { 9_000.0 } else { 6_000.0 };
        let (finished, answer) = play(SniaTest::IdleRecovery, recovers);
        assert_eq!(finished.len(), 5 + 5 * 361);
        assert!(
            answer.notes.iter().any(|n| n.contains("pauses of 50 s: 9,000 IOPS, 1.50 times")),
            "{:?}",
            answer.notes
        );
        let (_, answer) = play(SniaTest::CrossStimulus, |_, _| 6_000.0);
        assert!(answer.notes.iter().any(|n| n.contains("random: 6,000 IOPS")) && answer.checks.is_empty());
    }

    #[test]
    fn the_demand_test_picks_its_histograms_from_the_points() {
        // A disk of 20,000 IOPS and 100 us.
        let disk = |s: &Step, _: u32| 20_000f64.min(f64::from(s.iodepth * s.numjobs) / 100e-6);
        let (finished, answer) = play(SniaTest::Demand, disk);
        assert_eq!(finished.len(), 5 + 5 * 50 + 6);
        let chosen =
            |name: &str| &finished.iter().find(|f| f.step.name == format!("histogram-{name}")).unwrap().step;
        assert_eq!((chosen("least").iodepth, chosen("least").numjobs), (1, 1));
        let most = chosen("most");
        assert!(
            f64::from(most.iodepth * most.numjobs) / 20_000.0 < 0.005,
            "{} x {}",
            most.numjobs,
            most.iodepth
        );
        assert_eq!(answer.checks.len(), 2);
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

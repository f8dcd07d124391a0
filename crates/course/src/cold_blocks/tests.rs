//! Volumes in virtual time: healthy ones, whatever disturbs them, and ones that are still being loaded.

use super::*;
use crate::{Course, suites};
use volproof_engine::SimulatedVolume;
use volproof_plan::{EngineKind, Simulated, Suite, SuiteName};
use volproof_record::CourseAnswer;

/// Time between two groups of blocks.
const BETWEEN: Nanos = Nanos::millis(3);

/// Plays `cold` on a simulated volume. Its blocks are read one after the other.
fn played(device: &str, seed: u64) -> (Outcome, String) {
    let device: Simulated = device.parse().unwrap();
    let mut volume = SimulatedVolume::new(&device, seed);
    let mut now = Nanos(0);
    let base = Step { engine: EngineKind::Null, simulate: Some(Box::new(device)), ..Step::default() };
    let range = suites::SuiteRange { part: Bytes::gib(64), whole: true, smallest: Bytes(512), seed };
    let suite = suites::suite(&SuiteName::Cold, &base, false, &range).unwrap();
    let mut finished = Vec::new();
    for phase in &suite.phases {
        if !is_within(phase, looks_needed(&Finished::new(&finished))) {
            break;
        }
        finished
            .extend((0..phase.steps.len()).map(|i| played_step(&phase.step(i, 1), &mut volume, &mut now)));
    }
    outcome(&Finished::new(&finished))
}

fn played_step(step: &Step, volume: &mut SimulatedVolume, now: &mut Nanos) -> FinishedStep {
    let mut service = Histogram::new();
    now.0 += BETWEEN.0;
    for block in 0..step.io_size.unwrap().0 / BLOCK.0 {
        let offset = Bytes(step.offset.0 + block * (BLOCK.0 + step.stride.0));
        let end = volume.read(*now, offset, BLOCK);
        service.record(end.0 - now.0);
        *now = end;
    }
    FinishedStep::played(step, 1000.0, service)
}

/// Disturbances that a healthy volume has, each with its own figures.
fn disturbed(i: u64) -> String {
    let latency = 50 + 70 * (i % 13);
    let device = match i % 10 {
        0 => format!("jitter={}us", latency * (i % 7)),
        1 => format!("jitter=100us,noise=0.3,noise-memory=0.{}", i % 9),
        2 => format!("dip-at={}ms,dip-for=20ms,dip-to=0.1,dip-every=300ms,jitter=50us", i % 17),
        3 => format!("stall-at={}ms,stall-for={}ms,stall-every=30ms", i % 11, 1 + i % 20),
        4 => format!("slow-share=0.{:02},slow-latency=20ms", 1 + i % 60),
        5 => format!("slow-share=0.0{},slow-latency=300ms,jitter=200us", 1 + i % 9),
        6 => format!("iops-cap={},cap-period={}ms", 100 + 31 * i, 1 + i % 100),
        7 => format!("iops-cap=300,burst-iops=3000,burst-ios={},jitter=90us", 20 * i),
        8 => format!("rise-from=0.1,rise-for={}ms,jitter=300us", 1 + 40 * (i % 40)),
        _ => format!("slow-share=0.2,slow-latency=2ms,jitter=1ms,iops-cap={}", 200 + 10 * i),
    };
    format!("latency={latency}us,{device}")
}

#[test]
fn no_healthy_volume_is_called_cold() {
    let mut open = Vec::new();
    for i in 0..200 {
        let (outcome, says) = played(&disturbed(i), i);
        assert_ne!(outcome, Outcome::Fail, "{}: {says}", disturbed(i));
        open.extend((outcome != Outcome::Pass).then(|| format!("{}: {says}", disturbed(i))));
    }
    assert!(open.len() <= 2, "{open:#?}");
}

#[test]
fn blocks_that_take_two_milliseconds_more_at_their_first_read_are_always_found() {
    for i in 0..200 {
        let latency = 200 + 40 * (i % 21);
        let slow = match i % 4 {
            0 => String::new(),
            1 => format!(",jitter={latency}us"),
            2 => format!(",slow-share=0.{:02},slow-latency=20ms", 1 + i % 40),
            _ => format!(",slow-share=0.{:02},slow-latency=5ms,jitter=300us,noise=0.2", 1 + i % 30),
        };
        let touch = [2, 2, 3, 20, 300][i as usize % 5];
        let device = format!("latency={latency}us,first-touch={touch}ms{slow}");
        let (outcome, says) = played(&device, i);
        assert_eq!(outcome, Outcome::Fail, "{device}: {says}");
    }
}

/// Latencies of pairs in which a share of the first reads takes `cold`, and one read in 50 of either kind takes 25 ms.
fn partly(share: u64, cold: Nanos, pairs: usize) -> Vec<[Histogram; 2]> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(share);
    let mut group = |share: u64| {
        let mut reads = Histogram::new();
        for _ in 0..BLOCKS {
            let usual = if rng.next_u64() % 50 == 0 { 25_000_000 } else { 200_000 + rng.next_u64() % 50_000 };
            reads.record(if rng.next_u64() % 100 < share { cold.0 } else { usual });
        }
        reads
    };
    (0..pairs).map(|_| [group(share), group(0)]).collect()
}

fn found(pairs: &[[Histogram; 2]]) -> ColdBlocks {
    let pairs: Vec<Pair<'_>> = pairs.iter().map(|[first, again]| Pair { first, again }).collect();
    ColdBlocks::shown_by(&pairs)
}

#[test]
fn a_part_that_is_cold_is_found_with_its_share() {
    for share in [5, 10, 40, 90] {
        let pairs = partly(share, Nanos::millis(20), LOOKS * PAIRS);
        let ColdBlocks::Loading(found) = found(&pairs) else { panic!("{share}: {:?}", found(&pairs)) };
        let planted = share as f64 / 100.0;
        assert!(found.low - 0.02 < planted && planted < found.high + 0.02, "{share} %: {found:?}");
    }
    assert!(matches!(found(&partly(0, Nanos::millis(20), PAIRS)), ColdBlocks::Loaded(_)));
    assert_eq!(found(&[]), ColdBlocks::Nothing);
}

/// Few pairs decide nothing, and say how many blocks more do.
#[test]
fn few_blocks_leave_the_result_open() {
    let pairs = partly(30, Nanos::millis(20), 8);
    let ColdBlocks::Open(_, more) = found(&pairs) else { panic!("{:?}", found(&pairs)) };
    assert!((100..2000).contains(&more), "{more}");
}

/// First reads that are slower by less than 100 us, or by less than half again, are no sign of blocks that are loaded.
#[test]
fn a_little_slower_is_not_cold() {
    let shifted = |usual: u64, more: u64| {
        let mut pairs = partly(0, Nanos(0), 0);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(more);
        for _ in 0..PAIRS {
            let mut group = |more: u64| {
                let mut reads = Histogram::new();
                (0..BLOCKS).for_each(|_| reads.record(usual + rng.next_u64() % usual + more));
                reads
            };
            pairs.push([group(more), group(0)]);
        }
        found(&pairs)
    };
    assert!(matches!(shifted(40_000, 90_000), ColdBlocks::Loaded(_)), "90 us more");
    assert!(matches!(shifted(10_000_000, 4_000_000), ColdBlocks::Loaded(_)), "40 % more");
    assert!(matches!(shifted(40_000, 200_000), ColdBlocks::Loading(_)));
}

#[test]
fn every_block_is_read_once_before_it_is_read_again() {
    for part in [Bytes::kib(4), Bytes::kib(100), Bytes::mib(1), Bytes::mib(64), Bytes::gib(1000)] {
        let base = Step { offset: Bytes::mib(1), ..Step::default() };
        let steps: Vec<Step> = phases(&base, part, 7).into_iter().flat_map(|phase| phase.steps).collect();
        let mut read = std::collections::BTreeSet::new();
        for step in &steps {
            assert_eq!(step.problem(), None);
            let blocks = step.io_size.unwrap().0 / BLOCK.0;
            let distance = step.stride.0 + BLOCK.0;
            for block in (0..blocks).map(|i| step.offset.0 + i * distance) {
                assert!(block >= base.offset.0 && block + BLOCK.0 <= base.offset.0 + part.0, "{part}");
                assert!(block < step.offset.0 + step.size.unwrap().0, "{part}");
                assert_eq!(read.insert(block), step.name.starts_with("first"), "{part}: {}", step.name);
            }
        }
    }
}

/// The coin falls on either side, and another seed reads other blocks.
#[test]
fn the_order_of_a_pair_and_its_blocks_follow_from_the_seed() {
    let of = |seed: u64| phases(&Step::default(), Bytes::gib(64), seed);
    assert_eq!(of(1), of(1));
    assert!(of(1)[0].steps[0].offset != of(2)[0].steps[0].offset);
    let again_first = of(1)[0].steps[1..].chunks(2).filter(|pair| pair[0].name.starts_with("again")).count();
    assert!((10..40).contains(&again_first), "{again_first}");
}

#[test]
fn a_coin_has_its_probabilities() {
    assert_eq!(at_least(0, 7), 1.0);
    assert!((at_least(14, 14) - 0.5f64.powi(14)).abs() < 1e-12);
    assert!((at_least(8, 15) - 0.5).abs() < 1e-12);
}

#[test]
fn the_answer_asks_for_the_next_look_only_while_it_is_open() {
    let range = suites::SuiteRange { part: Bytes::gib(64), whole: true, smallest: Bytes(512), seed: 1 };
    let suite: Suite = suites::suite(&SuiteName::Cold, &Step::default(), false, &range).unwrap();
    let steps = |cold_share: u64| {
        let mut finished = Vec::new();
        while let Some(step) = suite.next(&finished) {
            let mut service = Histogram::new();
            let cold = if step.name.contains("first") { cold_share } else { 0 };
            (0..BLOCKS).for_each(|i| service.record(if i < cold { 9_000_000 } else { 300_000 }));
            finished.push(FinishedStep::played(&step, 1000.0, service));
        }
        let Some(CourseAnswer::Suite(answer)) = suite.answer(&finished, None) else { panic!("no answer") };
        (finished.len(), answer.outcome)
    };
    assert_eq!(steps(0), (2 * PAIRS + 1, Some(Outcome::Pass)));
    assert_eq!(steps(5), (2 * PAIRS + 1, Some(Outcome::Fail)));
}

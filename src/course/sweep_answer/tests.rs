//! Sweeps of volumes of known shape, played without an engine.

use super::*;
use crate::course::Course;
use crate::hist::Histogram;
use crate::plan::{Axis, Pattern, Step};
use crate::record::CourseAnswer;
use crate::unit::Nanos;

/// A step of a volume that does so many I/Os a second, with a ripple of half a percent.
fn played(step: &Step, iops: f64, number: usize) -> FinishedStep {
    let iops = iops * (1.0 + 0.005 * ((number * 7919 % 13) as f64 - 6.0) / 6.0);
    let mut service = Histogram::new();
    let each = 1e9 * step.depth_per_target() as f64 / iops;
    (0..1000).for_each(|_| service.record(each as u64));
    FinishedStep {
        step: step.clone(),
        iops,
        bytes_per_second: iops * step.largest_block().0 as f64,
        error: Some(0.002 * iops),
        bins: Vec::new(),
        in_flight: step.depth_per_target() as f64,
        latencies: Vec::new(),
        sustained: true,
        service,
        spoilt_by: Vec::new(),
        dead_time: None,
        claim: None,
    }
}

fn sweep_of(depths: &str, rw: Pattern, repeats: u32) -> Sweep {
    Sweep {
        base: Step { rw, runtime: Nanos::seconds(15), ..Step::default() },
        axes: vec![Axis::new(AxisOption::Iodepth, AxisOption::Iodepth.values(depths).unwrap())],
        repeats,
        seed: 5,
        left_out: Vec::new(),
    }
}

fn answered(sweep: &Sweep, finished: &[FinishedStep]) -> SweepAnswer {
    let Some(CourseAnswer::Sweep(answer)) = sweep.answer(finished, None) else { panic!("no answer") };
    answer
}

/// Plays a sweep to its end on a volume, whose rate follows from the step and from the steps before it.
fn play_sweep(sweep: &Sweep, mut iops: impl FnMut(&Step, usize) -> f64) -> SweepAnswer {
    let mut finished = Vec::new();
    while let Some(step) = sweep.next(&finished) {
        let rate = iops(&step, finished.len());
        finished.push(played(&step, rate, finished.len()));
    }
    answered(sweep, &finished)
}

/// All depths up to 256, so many times each.
fn play(rw: Pattern, repeats: u32, iops: impl FnMut(&Step, usize) -> f64) -> SweepAnswer {
    play_sweep(&sweep_of("1..256", rw, repeats), iops)
}

/// Some depths, once each.
fn play_depths(depths: &str, iops: impl FnMut(&Step, usize) -> f64) -> SweepAnswer {
    play_sweep(&sweep_of(depths, Pattern::RandRead, 1), iops)
}

/// Gunther's universal scalability law.
fn scalability(n: f64, contention: f64, coherency: f64) -> f64 {
    1000.0 * n / (1.0 + contention * (n - 1.0) + coherency * n * (n - 1.0))
}

#[test]
fn a_volume_that_loses_by_depth_is_called_so() {
    // The peak lies at sqrt((1 - 0.02) / 0.001) = 31.
    let answer = play(Pattern::RandRead, 1, |s, _| scalability(f64::from(s.iodepth), 0.02, 0.001));
    let depth = &answer.depths[0];
    assert_eq!((depth.most_at, depth.falls_after), (32, Some(32)), "{depth:?}");
    assert!(answer.notes.iter().any(|n| n.contains("more than depth 32")), "{:?}", answer.notes);
    // Without loss, nothing falls.
    let answer = play(Pattern::RandRead, 1, |s, _| scalability(f64::from(s.iodepth), 0.02, 0.0));
    assert_eq!(answer.depths[0].falls_after, None);
}

#[test]
fn the_knee_of_queues_of_many_servers() {
    // M/D/c in a closed loop: each of c servers takes 1 ms, and depth beyond c only waits.
    for servers in [1u32, 3, 8, 20, 50, 100] {
        let answer = play(Pattern::RandRead, 2, |s, _| 1000.0 * f64::from(s.iodepth.min(servers)));
        let depth = &answer.depths[0];
        let truth = f64::from(servers);
        match depth.knee {
            Some(knee) => {
                assert!((knee.depth / truth - 1.0).abs() < 0.02, "{servers}: {depth:?}");
                assert!(knee.low < truth * 1.02 && knee.high > truth * 0.98, "{servers}: {depth:?}");
            }
            // The rate at the smallest depth is the most: no point shows where it began to level off.
            None => assert_eq!(servers, 1, "{depth:?}"),
        }
        assert!((depth.most_iops / (1000.0 * truth) - 1.0).abs() < 0.01, "{servers}: {depth:?}");
        let enough = (0..9).map(|i| 1u64 << i).find(|d| *d as f64 >= 0.95 * truth).unwrap();
        assert_eq!(depth.enough, enough, "{servers}: {depth:?}");
        assert!(!depth.at_edge && depth.falls_after.is_none(), "{servers}: {depth:?}");
    }
}

#[test]
fn the_knee_over_many_seeds() {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};
    let mut worst = 0f64;
    for seed in 0..200 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut uniform = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let servers = 2.0 * 50f64.powf(uniform());
        let answer = play(Pattern::RandRead, 2, |s, _| {
            1000.0 * f64::from(s.iodepth).min(servers) * (1.0 + 0.01 * (uniform() - 0.5))
        });
        let knee = answer.depths[0].knee.unwrap_or_else(|| panic!("{servers}: {answer:?}")).depth;
        worst = worst.max((knee / servers - 1.0).abs());
        assert!(worst < 0.02, "seed {seed}: {servers} servers, knee {knee}");
    }
    println!("knee: 200 seeds, at most {:.2} % off", 100.0 * worst);
}

#[test]
fn a_knee_that_the_points_do_not_show_is_not_told() {
    let capped = |cap: f64| move |s: &Step, _: usize| cap.min(1000.0 * f64::from(s.iodepth));
    let knee = |depths: &str, cap: f64| play_depths(depths, capped(cap)).depths[0].knee;
    assert!(knee("1..256", 8000.0).is_some());
    assert_eq!(knee("16..256", 8000.0), None, "requests queue at every depth");
    assert_eq!(knee("1..4", 8000.0), None, "the rate grows to the edge of the range");
    assert!(knee("2..256", 8000.0).is_some(), "two requests do not queue where the rate grows with depth");
    let queued = play_depths("4..256", |s, _| 8000.0 * (1.0 - (-f64::from(s.iodepth) / 5.0).exp()));
    assert_eq!(queued.depths[0].knee, None, "{:?}", queued.depths);
}

#[test]
fn every_point_that_was_asked_for_is_measured_or_named_with_its_reason() {
    let mut answer = play_depths("1..256", |s, _| 4000f64.min(1000.0 * f64::from(s.iodepth)));
    assert_eq!(answer.points.len(), 5, "the rate no longer grows up to 16");
    let named: Vec<u64> = answer.not_measured.iter().map(|p| p.values[0]).collect();
    assert_eq!(named, [32, 64, 128, 256]);
    assert!(answer.not_measured.iter().all(|p| p.reason == "more depth up to 16 only added waiting"));

    // A time limit left values out, and the run ended early.
    let mut short = sweep_of("1,4,16,64", Pattern::RandRead, 1);
    short.axes[0].left_out = vec![2, 8, 32];
    let first = played(&short.step(&[1], 0), 1000.0, 0);
    answer = answered(&short, &[first]);
    let told: Vec<(u64, &str)> =
        answer.not_measured.iter().map(|p| (p.values[0], p.reason.as_str())).collect();
    let (time, ended) = ("no time for it", "the sweep ended before it");
    assert_eq!(told, [(2, time), (4, ended), (8, time), (16, ended), (32, time), (64, ended)]);
    assert!(answer.depths[0].at_edge && answer.notes.is_empty(), "no larger range is asked for: {answer:?}");
}

#[test]
fn a_volume_that_slows_down_under_writes_is_not_taken_for_one_that_depends_on_depth() {
    // Clean-up begins after ten steps, and takes half of the rate.
    let cap = |s: &Step, n: usize| {
        let rate = 8000f64.min(1000.0 * f64::from(s.iodepth));
        if n < 10 { rate } else { rate / 2.0 }
    };
    let answer = play(Pattern::RandWrite, 3, cap);
    assert!(answer.notes.iter().any(|n| n.contains("% slower than the first")), "{:?}", answer.notes);
    // A volume that is still warming up is faster at the end.
    let warming =
        |s: &Step, n: usize| 8000f64.min(1000.0 * f64::from(s.iodepth)) * (0.6 + 0.04 * (n as f64).min(10.0));
    let answer = play(Pattern::RandRead, 3, warming);
    assert!(answer.notes.iter().any(|n| n.contains("% faster than the first")), "{:?}", answer.notes);
    // One that stays as it is says nothing of the kind.
    let still = play(Pattern::RandWrite, 3, |s, _| 8000f64.min(1000.0 * f64::from(s.iodepth)));
    assert!(still.notes.is_empty(), "{:?}", still.notes);
}

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

/// Plays a sweep of depths on a volume, whose rate follows from the step and from the steps before it.
fn play(rw: Pattern, repeats: u32, mut iops: impl FnMut(&Step, usize) -> f64) -> SweepAnswer {
    let axis = |option: AxisOption, text: &str| Axis { option, values: option.values(text).unwrap() };
    let sweep = Sweep {
        base: Step { rw, runtime: Nanos::seconds(15), ..Step::default() },
        axes: vec![axis(AxisOption::Iodepth, "1..256")],
        repeats,
        seed: 5,
        left_out: Vec::new(),
    };
    let mut finished = Vec::new();
    while let Some(step) = sweep.next(&finished) {
        let rate = iops(&step, finished.len());
        finished.push(played(&step, rate, finished.len()));
    }
    let Some(CourseAnswer::Sweep(answer)) = sweep.answer(&finished, None) else { panic!("no answer") };
    answer
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
    assert!(answer.notes.iter().any(|n| n.contains("more depth than 32")), "{:?}", answer.notes);
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
        assert!((depth.knee / truth - 1.0).abs() < 0.02, "{servers}: {depth:?}");
        assert!((depth.most_iops / (1000.0 * truth) - 1.0).abs() < 0.01, "{servers}: {depth:?}");
        let enough = (0..9).map(|i| 1u64 << i).find(|d| *d as f64 >= 0.95 * truth).unwrap();
        assert_eq!(depth.enough, enough, "{servers}: {depth:?}");
        assert!(!depth.at_edge && depth.falls_after.is_none(), "{servers}: {depth:?}");
    }
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

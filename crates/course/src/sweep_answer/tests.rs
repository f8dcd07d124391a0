//! Sweeps of volumes of known shape, played without an engine.

use super::*;
use crate::Course;
use volproof_base::hist::Histogram;
use volproof_base::unit::Nanos;
use volproof_plan::{Axis, Pattern, Step};
use volproof_record::CourseAnswer;

/// A step of a volume that does so many I/Os a second, with a ripple of half a percent.
fn played(step: &Step, iops: f64, number: usize) -> FinishedStep {
    let iops = iops * (1.0 + 0.005 * ((number * 7919 % 13) as f64 - 6.0) / 6.0);
    let mut service = Histogram::new();
    let each = 1e9 * step.depth_per_target() as f64 / iops;
    (0..1000).for_each(|_| service.record(each as u64));
    FinishedStep {
        error: Some(0.002 * iops),
        in_flight: step.depth_per_target() as f64,
        ..FinishedStep::played(step, iops, service)
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
    let [note] = answer.notes.as_slice() else { panic!("{:?}", answer.notes) };
    assert!(note.contains("the volume changed during the sweep: depth 32 gave 8,0"), "{note}");
    // A volume that is still warming up is faster at the end.
    let warming =
        |s: &Step, n: usize| 8000f64.min(1000.0 * f64::from(s.iodepth)) * (0.6 + 0.04 * (n as f64).min(10.0));
    let answer = play(Pattern::RandRead, 3, warming);
    assert!(answer.notes.iter().any(|n| n.contains("% faster than the first")), "{:?}", answer.notes);
    // One that stays as it is says nothing of the kind.
    let still = play(Pattern::RandWrite, 3, |s, _| 8000f64.min(1000.0 * f64::from(s.iodepth)));
    assert!(still.notes.is_empty(), "{:?}", still.notes);
}

/// A volume with a bucket of credits: the rate of each step of 15 s, on average.
fn bucket(baseline: f64, burst: f64, mut credits: f64, latency: f64) -> impl FnMut(&Step, usize) -> f64 {
    move |step, _| {
        let asked = step.depth_per_target() as f64 / latency;
        let high = asked.min(burst);
        let lasts = if high > baseline { (credits / (high - baseline)).min(15.0) } else { 15.0 };
        credits -= lasts * (high - baseline).max(0.0);
        (lasts * high + (15.0 - lasts) * high.min(baseline)) / 15.0
    }
}

#[test]
fn credits_that_run_out_between_points_are_not_what_depth_does() {
    // The bucket is empty within the point of depth 4.
    let answer = play_depths("1..32", bucket(300.0, 3000.0, 80_000.0, 500e-6));
    let marked: Vec<u32> =
        answer.points.iter().filter(|p| !p.spoilt_by.is_empty()).map(|p| p.iodepth).collect();
    assert_eq!(marked, [1, 4], "{answer:?}");
    let depth = &answer.depths[0];
    assert!((depth.most_iops / 300.0 - 1.0).abs() < 0.01 && depth.falls_after.is_none(), "{depth:?}");
    assert!(depth.knee.is_none(), "{depth:?}");
    assert!(
        answer.sentence.starts_with("30") && !answer.sentence.contains("smallest"),
        "{}",
        answer.sentence
    );
    let [note] = answer.notes.as_slice() else { panic!("{:?}", answer.notes) };
    assert!(note.contains("depth 2 gave 2,99") && note.contains("depth 1; depth 4 (marked !)"), "{note}");
    // A baseline that depth 1 reaches: nothing is open.
    let answer = play_depths("1..64", bucket(5000.0, 20_000.0, 300_000.0, 200e-6));
    assert!(answer.sentence.contains("depth 1 is the smallest"), "{}", answer.sentence);
}

#[test]
fn a_mean_of_two_states_is_not_printed_unmarked() {
    let three = |credits: f64| {
        play_sweep(&sweep_of("1..64", Pattern::RandRead, 3), bucket(5000.0, 20_000.0, credits, 200e-6))
    };
    // The credits end in the first runs: two later runs of each point are of the baseline.
    let answer = three(300_000.0);
    assert!(answer.points.iter().all(|p| p.iops < 5100.0 && p.spoilt_by.is_empty()), "{:?}", answer.points);
    assert!(answer.sentence.contains("depth 1 is the smallest"), "{}", answer.sentence);
    // They end in the last runs: nothing says which of the two lasts.
    let answer = three(1_450_000.0);
    let mixed = |p: &SweepPoint| p.iops > 5100.0 && p.iops < 9000.0 || p.iops > 10_100.0 && p.iops < 19_800.0;
    assert!(answer.points.iter().filter(|p| mixed(p)).all(is_changed), "{:?}", answer.points);
    assert!(answer.points.iter().any(is_changed), "{:?}", answer.points);
}

#[test]
fn a_volume_that_loses_by_depth_is_asked_once_more() {
    let sweep = sweep_of("1..256", Pattern::RandRead, 1);
    let mut names = Vec::new();
    let answer = play_sweep(&sweep, |s, _| {
        names.push(s.name.clone());
        scalability(f64::from(s.iodepth), 0.02, 0.001)
    });
    assert_eq!(names.iter().filter(|n| n.ends_with("-again")).collect::<Vec<_>>(), ["d32-again"]);
    assert!(names.len() <= CourseOf(&sweep).worst_steps());
    assert!(answer.points.iter().all(|p| p.spoilt_by.is_empty()), "{:?}", answer.points);
    assert_eq!(answer.depths[0].falls_after, Some(32));
}

#[test]
fn what_was_measured_while_a_burst_ended_is_no_rate_at_any_depth() {
    // 6,800 a second from depth 7 on, and credits that end within the step of depth 64.
    let answer = play_depths("1..64", |step, _| match step.name.ends_with("-again") {
        true => 6800.0,
        false if step.iodepth == 64 => 8882.0,
        false => f64::from(1000 * step.iodepth).min(20_000.0),
    });
    let marked: Vec<u32> = answer.points.iter().filter(|p| is_changed(p)).map(|p| p.iodepth).collect();
    assert_eq!(marked, [8, 16, 64], "{:?}", answer.points);
    let most = answer.depths[0].most_iops;
    assert!((most / 6800.0 - 1.0).abs() < 0.01, "{most}");
    assert!(
        answer.sentence.contains("seen, since the volume changed: more than depth 32 may"),
        "{}",
        answer.sentence
    );
    assert!(answer.notes.iter().all(|note| !note.contains("still grew")), "{:?}", answer.notes);
}

//! Simulated volumes: what they keep from step to step, and the causes that can be planted in them.

use super::*;
use proptest::prelude::*;
use volproof::engine::SimulatedRun;

/// Runs a step on targets of a run that goes on.
fn on(targets: &[Target], step: &Step, device: &Simulated) -> StepOutcome {
    let step = Step { engine: EngineKind::Null, simulate: Some(Box::new(device.clone())), ..step.clone() };
    run(&step, EngineKind::Null, targets, false)
}

/// Targets of one run.
fn targets_of_a_run(run: &SimulatedRun, count: usize) -> Vec<Target> {
    let volume = |_| Target { volume: run.volume(), ..Target::new(None, Bytes::gib(1)) };
    (0..count).map(volume).collect()
}

fn step(iodepth: u32, seconds: u64) -> Step {
    Step { iodepth, runtime: Nanos::seconds(seconds), ..Step::default() }
}

/// Reads a second of each target.
fn rates(outcome: &StepOutcome) -> Vec<f64> {
    let rate = |s: &volproof::sample::Series| {
        s.read.as_ref().unwrap().track.total().ios as f64 / s.window_ns.as_seconds()
    };
    outcome.series.iter().map(rate).collect()
}

fn near(found: f64, expected: f64, share: f64) -> bool {
    (found / expected - 1.0).abs() <= share
}

#[test]
fn a_stall_comes_at_its_time_of_the_run_in_whichever_step_that_is() {
    let stalling = Simulated {
        stall_at: Some(Nanos::seconds(15)),
        stall_for: Nanos::seconds(2),
        ..device(Nanos::millis(1))
    };
    let longest = |pause: u64| {
        let targets = targets_of_a_run(&SimulatedRun::default(), 1);
        let first = all(&on(&targets, &step(1, 10), &stalling), false).max().unwrap();
        let later = Step { delay: Nanos::seconds(pause), ..step(1, 10) };
        (first, all(&on(&targets, &later, &stalling), false).max().unwrap())
    };
    let (first, second) = longest(0);
    assert!(first < Nanos::millis(2) && second >= Nanos::seconds(2), "{first} {second}");
    assert!(longest(8).1 < Nanos::millis(2), "it went by in the pause");
}

#[test]
fn the_speed_goes_on_from_step_to_step_with_its_rise_drift_and_dips() {
    let rate_of = |uneven: volproof::plan::Uneven, seconds: &[u64]| -> Vec<f64> {
        let slow = Simulated { uneven, ..device(Nanos::millis(1)) };
        let targets = targets_of_a_run(&SimulatedRun::default(), 1);
        seconds.iter().map(|s| rates(&on(&targets, &step(1, *s), &slow))[0]).collect()
    };
    let rising =
        volproof::plan::Uneven { rise_from: 0.5, rise_for: Nanos::seconds(20), ..Default::default() };
    let found = rate_of(rising, &[10, 10, 10]);
    let right = near(found[0], 625.0, 0.01) && near(found[1], 875.0, 0.01) && near(found[2], 1000.0, 0.001);
    assert!(right, "{found:?}");
    let drifting = volproof::plan::Uneven { drift: -0.1, ..Default::default() };
    let found = rate_of(drifting, &[60, 60]);
    assert!(near(found[0], 950.0, 0.005) && near(found[1], 850.0, 0.005), "{found:?}");
    let dipping = volproof::plan::Uneven {
        dip_at: Nanos::seconds(10),
        dip_for: Nanos::seconds(10),
        dip_to: 0.5,
        ..Default::default()
    };
    let found = rate_of(dipping, &[10, 10, 10]);
    assert!(near(found[0], 1000.0, 0.002) && near(found[1], 500.0, 0.002) && near(found[2], 1000.0, 0.002));
}

#[test]
fn a_rest_earns_credits_and_a_volume_waits_for_steps_on_others() {
    let burst = Simulated {
        iops_cap: Some(1000.0),
        burst_iops: Some(3000.0),
        burst_ios: 20_000,
        ..device(Nanos::micros(500))
    };
    let run = SimulatedRun::default();
    let targets = targets_of_a_run(&run, 2);
    let (one, other) = (&targets[..1], &targets[1..]);
    run.rest(Nanos::seconds(100));
    let spent = rates(&on(one, &step(64, 10), &burst))[0];
    let base = rates(&on(one, &step(64, 10), &burst))[0];
    run.rest(Nanos::seconds(10));
    let rested = rates(&on(one, &step(64, 10), &burst))[0];
    // Ten seconds of load on the other target, and a step with other keys, are rest to this volume.
    on(other, &step(1, 5), &burst);
    on(one, &step(1, 5), &device(Nanos::millis(1)));
    let after_others = rates(&on(one, &step(64, 10), &burst))[0];
    let found = [spent, base, rested, after_others];
    let right = [3000.0, 1000.0, 2000.0, 2000.0].iter().zip(found).all(|(e, f)| near(f, *e, 0.02));
    assert!(right, "{found:?}");
}

#[test]
fn the_limit_of_an_instance_is_shared_by_all_targets() {
    let small = Simulated { instance_iops_cap: Some(3000.0), ..device(Nanos::micros(600)) };
    let alone = rates(&on(&targets_of_a_run(&SimulatedRun::default(), 1), &step(64, 10), &small));
    let both = rates(&on(&targets_of_a_run(&SimulatedRun::default(), 2), &step(64, 10), &small));
    assert!(near(alone[0], 3000.0, 0.002), "{alone:?}");
    assert!(near(both.iter().sum(), 3000.0, 0.002) && both.iter().all(|r| *r > 1000.0), "{both:?}");
    let bytes = Simulated {
        instance_bytes_cap: Some(Bytes::mib(100)),
        cap_period: Some(Nanos::millis(1)),
        ..device(Nanos::micros(600))
    };
    let large = Step { bs: "64k".parse().unwrap(), ..step(32, 10) };
    let both = rates(&on(&targets_of_a_run(&SimulatedRun::default(), 2), &large, &bytes));
    assert!(near(both.iter().sum(), 1600.0, 0.005), "{both:?}");
}

#[test]
fn servers_bound_what_is_served_side_by_side() {
    let few = Simulated { servers: 8, ..device(Nanos::millis(1)) };
    let rate = |depth| {
        let targets = targets_of_a_run(&SimulatedRun::default(), 1);
        rates(&on(&targets, &step(depth, 10), &few))[0]
    };
    for (depth, expected) in [(1, 1000.0), (4, 4000.0), (8, 8000.0), (64, 8000.0), (512, 8000.0)] {
        assert!(near(rate(depth), expected, 0.001), "depth {depth}: {}", rate(depth));
    }
}

#[test]
fn others_take_their_part_of_the_volume_and_are_in_its_counters() {
    let capped = Simulated { iops_cap: Some(3000.0), ..device(Nanos::micros(600)) };
    let served = Simulated { servers: 3, ..device(Nanos::millis(1)) };
    for (volume, depth) in [(capped, 64), (served, 16)] {
        let shared = Simulated { others_iops: 1000.0, ..volume };
        let targets = targets_of_a_run(&SimulatedRun::default(), 1);
        // At first only this load has tokens to take: the others' queue is still empty.
        let load = Step { ramp: Nanos::seconds(1), ..step(depth, 10) };
        let o = on(&targets, &load, &shared);
        assert!(near(rates(&o)[0], 2000.0, 0.003), "{:?}", rates(&o));
        let counters = o.volumes_counters.unwrap();
        let sum = |column: &[u64]| column[1..11].iter().sum::<u64>() as f64;
        let disk = &counters.disks[0];
        let (reads, writes) = (sum(&disk.reads), sum(&disk.writes));
        assert!(near(reads, 25_000.0, 0.003) && near(writes, 5_000.0, 0.003), "{reads} {writes}");
        assert_eq!(sum(&disk.written_bytes), writes * 4096.0);
        assert_eq!((disk.reads.len(), counters.at_ns[0]), (counters.at_ns.len(), Nanos::seconds(1)));
    }
    let alone = device(Nanos::millis(1));
    let o = on(&targets_of_a_run(&SimulatedRun::default(), 1), &step(4, 10), &alone);
    let reads: u64 = o.volumes_counters.as_ref().unwrap().disks[0].reads.iter().sum();
    assert!(reads as f64 - rates(&o)[0] * 10.0 <= 4.0, "nobody else used it: {reads}");
}

#[test]
fn a_slow_cpu_limits_each_load_thread() {
    let slow = Simulated { cpu_per_io: Nanos::micros(100), ..device(Nanos::micros(200)) };
    let rate = |jobs, depth| {
        let targets = targets_of_a_run(&SimulatedRun::default(), 1);
        rates(&on(&targets, &Step { numjobs: jobs, ..step(depth, 5) }, &slow))[0]
    };
    for (jobs, depth, expected) in [(1, 64, 10_000.0), (2, 64, 20_000.0), (4, 16, 40_000.0), (1, 1, 3333.3)] {
        assert!(near(rate(jobs, depth), expected, 0.005), "{jobs} x {depth}: {}", rate(jobs, depth));
    }
}

#[test]
fn large_writes_need_no_memory() {
    // Buffers for them would take 64 GiB.
    let write = Step { rw: Pattern::Write, bs: "16m".parse().unwrap(), ..step(4096, 5) };
    let capped = Simulated { bytes_cap: Some(Bytes::gib(1)), ..device(Nanos::millis(1)) };
    let o = on(&[Target::new(None, Bytes::gib(1024))], &write, &capped);
    let bytes = o.series[0].write.as_ref().unwrap().track.total().bytes.0;
    assert!(near(bytes as f64, Bytes::gib(5).0 as f64, 0.01), "{bytes}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_cap_holds_exactly_with_buckets_of_any_period(
        period in 0usize..8, depth in 16u32..4096, cap in 100f64..4000.0, ramp in 0u64..15_000, by_instance: bool,
    ) {
        let period = [50, 200, 1_000, 10_000, 100_000, 1_000_000, 5_000_000, 10_000_000].map(Nanos::micros)[period];
        let cap = cap.round();
        let (iops_cap, instance_iops_cap) = if by_instance { (None, Some(cap)) } else { (Some(cap), None) };
        let capped = Simulated { iops_cap, instance_iops_cap, cap_period: Some(period), ..device(Nanos::micros(600)) };
        let load = Step { ramp: Nanos::millis(ramp), ..step(depth, 60) };
        let rate = rates(&simulated(load, capped))[0];
        prop_assert!(near(rate, cap, 0.001), "{} instead of {:?} at depth {} with {}", rate, cap, depth, period);
    }
}

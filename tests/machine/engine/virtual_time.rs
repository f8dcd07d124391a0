//! Loads on simulated devices of known behaviour: rates, latencies, arrivals, buckets, errors and amounts are exact.

use super::*;

#[test]
fn a_constant_device_gives_its_latency_and_rate() {
    let step = Step { iodepth: 8, runtime: Nanos::seconds(5), ramp: Nanos::millis(250), ..Step::default() };
    let o = simulated(step, device(Nanos::millis(1)));
    let series = &o.series[0];
    assert_eq!(series.window_ns, Nanos::seconds(5));
    let read = series.read.as_ref().unwrap();
    assert_eq!(read.track.ios.len(), 50);
    let total = read.track.total();
    // Eight in flight, 1 ms each: 8000 a second; the edges of the window may cut one round.
    assert!(total.ios.abs_diff(40_000) <= 8, "{}", total.ios);
    assert_eq!(total.bytes.0, total.ios * 4096);
    let h = all(&o, false);
    assert_eq!((h.min(), h.max()), (Some(Nanos::millis(1)), Some(Nanos::millis(1))));
    assert!((series.in_flight_mean() - 8.0).abs() < 0.01, "{}", series.in_flight_mean());
    assert_eq!((o.ends[0].errors.count, o.ends[0].lost, o.stuck), (0, 0, 0));
    assert_eq!(read.service.len(), 5);
    // All eight come back together and go out together.
    let depth = &o.ends[0].depth;
    let rounds = depth.submitted[2];
    assert!(rounds.abs_diff(5000) <= 1, "{depth:?}");
    assert_eq!(depth.in_flight, [0, 0, 0, rounds * 8, 0, 0, 0]);
    assert!(depth.completed[2].abs_diff(rounds) <= 1, "{depth:?}");
}

/// Samples in buckets that lie wholly above a limit.
fn count_above(h: &Histogram, limit: Nanos) -> u64 {
    h.nonzero().filter(|(bucket, _)| bucket_low(*bucket) > limit.0).map(|(_, n)| n).sum()
}

#[test]
fn a_stall_shows_in_the_response_time_as_the_formula_says() {
    // One stall of D in a run of T at rate l with drain rate m: P(response > x) = (D-x)/T * m/(m-l).
    let (t, d, rate) = (Nanos::seconds(20), Nanos::millis(1400), 2000.0);
    let step = Step { iodepth: 4, runtime: t, rate_iops: Some(rate), ..Step::default() };
    let stall = Simulated { stall_at: Some(Nanos::seconds(5)), stall_for: d, ..device(Nanos::micros(200)) };
    let o = simulated(step, stall);
    let response = all(&o, true);
    let (n, drain) = (response.count() as f64, 4.0 / 200e-6);
    assert_eq!(n, 40_000.0, "every arrival is counted");
    for x in [0.2, 0.5, 1.0] {
        let expected = (1.4 - x) / 20.0 * drain / (drain - rate);
        let got = count_above(&response, Nanos((x * 1e9) as u64)) as f64 / n;
        assert!((got / expected - 1.0).abs() < 0.02, "above {x} s: {got} instead of {expected}");
    }
    // Service time hides it: only the four in flight waited.
    let service = all(&o, false);
    assert_eq!(count_above(&service, Nanos::millis(100)), 4);
    let lag = &o.ends[0].open.as_ref().unwrap().lag;
    assert!(lag.quantile(0.99).unwrap() <= Nanos::micros(20), "our own delay: {:?}", lag.quantile(0.99));
}

#[test]
fn arrivals_that_never_complete_are_counted_as_longer() {
    let step = Step { iodepth: 2, runtime: Nanos::seconds(2), rate_iops: Some(100.0), ..Step::default() };
    // The device hangs for good after a second.
    let hang = Simulated {
        stall_at: Some(Nanos::seconds(1)),
        stall_for: Nanos::seconds(3600),
        ..device(Nanos::millis(1))
    };
    let o = simulated(step, hang);
    let end = &o.ends[0];
    assert_eq!(end.lost, 2);
    let open = end.open.as_ref().unwrap();
    assert_eq!(open.arrivals, 200);
    assert_eq!(all(&o, true).count(), 200);
    assert!(open.censored.min().unwrap() >= engine::DRAIN, "known to be longer than the drain");
}

/// Sum of all latencies, what lies outside of them, and the integral of the requests in flight, in request-nanoseconds.
fn law(o: &StepOutcome) -> (i64, i64, i64) {
    let latency = o.series[0].read.as_ref().map_or(0, |r| r.track.total().latency.0 as i64);
    let outside = o.ends.iter().map(|e| e.outside_ns).sum();
    (latency, outside, o.series[0].in_flight_ns.iter().sum::<u64>() as i64)
}

#[test]
fn littles_law_is_exact_whatever_is_in_flight_at_the_edges() {
    let step = Step { iodepth: 32, runtime: Nanos::seconds(60), ramp: Nanos::seconds(1), ..Step::default() };
    let stall = |at, length| Simulated {
        stall_at: Some(Nanos::seconds(at)),
        stall_for: Nanos::seconds(length),
        ..device(Nanos::micros(700))
    };
    // 32 requests wait over the end, over the beginning, and nowhere; then some fail, and blocking calls.
    let edges = [(stall(58, 5), 96), (stall(0, 3), -32), (stall(30, 5), 0)];
    for (device, request_seconds) in edges {
        let o = simulated(step.clone(), device);
        let (latency, outside, in_flight) = law(&o);
        assert_eq!(latency + outside, in_flight);
        let off = outside - request_seconds * 1_000_000_000;
        assert!(off.abs() < 32 * 1_000_000, "{outside} instead of {request_seconds} request-seconds");
    }
    let failing = Simulated { error_every: 7, ..stall(58, 5) };
    let failing_step = Step { engine: EngineKind::Null, simulate: Some(Box::new(failing)), ..step };
    let targets = [Target::new(None, Bytes::gib(1))];
    let (latency, outside, in_flight) = law(&run(&failing_step, EngineKind::Null, &targets, true));
    assert_eq!(latency + outside, in_flight);
}

#[test]
fn a_bucket_with_a_long_period_is_no_device_that_hangs() {
    let step = Step { iodepth: 16, runtime: Nanos::seconds(30), ..Step::default() };
    let bucket = |seconds| Simulated {
        iops_cap: Some(100.0),
        cap_period: Some(Nanos::seconds(seconds)),
        ..device(Nanos::millis(1))
    };
    for seconds in [7, 14] {
        let o = simulated(step.clone(), bucket(seconds));
        assert_eq!((o.ends[0].lost, o.stuck), (0, 0), "a period of {seconds} s");
        assert!(o.ends[0].drained.0 > 0 && o.patience >= engine::DRAIN, "{:?}", o.patience);
    }
}

#[test]
fn the_clock_of_a_step_is_named_and_held_against_the_kernels() {
    let null = |step: &Step| run(step, EngineKind::Null, &[Target::new(None, Bytes::gib(1))], false);
    let step = Step { engine: EngineKind::Null, runtime: Nanos::millis(1100), ..Step::default() };
    let (o, source) = (null(&step), engine::clock_source(std::path::Path::new("/")));
    if source == "tsc" {
        assert_eq!(o.clock, "tsc");
        assert!(o.drift_ppm.unwrap().abs() < 500.0, "{:?}", o.drift_ppm);
    } else {
        assert_eq!(o.clock, format!("clock_gettime (the kernel's clock source is {source})"));
        assert_eq!(o.drift_ppm, None);
    }
    assert_eq!(simulated(step, device(Nanos::millis(1))).clock, "virtual (simulated device)");
}

#[test]
fn poisson_arrivals_keep_their_rate() {
    let step = Step {
        iodepth: 64,
        runtime: Nanos::seconds(20),
        rate_iops: Some(5000.0),
        arrival: Arrival::Poisson,
        ..Step::default()
    };
    let o = simulated(step, device(Nanos::micros(300)));
    let total = o.series[0].read.as_ref().unwrap().track.total().ios as f64;
    assert!((total / 100_000.0 - 1.0).abs() < 0.02, "{total}");
}

#[test]
fn a_token_bucket_caps_the_rate_exactly() {
    let step = Step { iodepth: 128, runtime: Nanos::seconds(10), ramp: Nanos::seconds(1), ..Step::default() };
    let capped = Simulated { iops_cap: Some(20_000.0), ..device(Nanos::millis(1)) };
    let o = simulated(step, capped);
    let series = &o.series[0];
    let rate = series.read.as_ref().unwrap().track.total().ios as f64 / 10.0;
    assert!((rate / 20_000.0 - 1.0).abs() < 0.005, "{rate}");
    let h = all(&o, false);
    // Little's law on what was measured independently.
    let n = rate * h.mean().unwrap() / 1e9;
    assert!((n / series.in_flight_mean() - 1.0).abs() < 0.01, "{n} and {}", series.in_flight_mean());
    // Fast within the quota, held until the next one: the two modes of a throttle.
    assert!(h.quantile(0.5).unwrap() < Nanos::micros(1020), "{:?}", h.quantile(0.5));
    assert!(h.max().unwrap() > Nanos::millis(70));
}

#[test]
fn a_bandwidth_cap_and_a_burst_bucket_hold_what_they_say() {
    let large = Step {
        iodepth: 32,
        bs: volproof::plan::BlockSizes::one(Bytes::kib(256)),
        runtime: Nanos::seconds(10),
        ..Step::default()
    };
    let capped = Simulated { bytes_cap: Some(Bytes::mib(350)), ..device(Nanos::micros(500)) };
    let bytes = simulated(large, capped).series[0].read.as_ref().unwrap().track.total().bytes.0;
    assert!((bytes as f64 / Bytes::mib(3500).0 as f64 - 1.0).abs() < 0.01, "{bytes}");

    // 60,000 credits, spent at 6000 - 3000 a second: 20 s of burst.
    let step = Step { iodepth: 64, runtime: Nanos::seconds(40), ..Step::default() };
    let burst = Simulated {
        iops_cap: Some(3000.0),
        burst_iops: Some(6000.0),
        burst_ios: 60_000,
        ..device(Nanos::micros(500))
    };
    let ios = simulated(step, burst).series[0].read.as_ref().unwrap().track.ios.clone();
    let rate =
        |range: std::ops::Range<usize>| ios[range.clone()].iter().sum::<u64>() * 10 / range.len() as u64;
    assert!(rate(10..190).abs_diff(6000) <= 20, "{}", rate(10..190));
    assert!(rate(210..400).abs_diff(3000) <= 20, "{}", rate(210..400));
}

#[test]
fn jobs_of_a_target_share_its_simulated_volume() {
    let step = Step { iodepth: 16, numjobs: 4, runtime: Nanos::seconds(10), ..Step::default() };
    let capped = Simulated {
        iops_cap: Some(20_000.0),
        jitter: Nanos::micros(200),
        cap_period: Some(Nanos::millis(1)),
        ..device(Nanos::micros(200))
    };
    let ios = |o: &StepOutcome| o.series[0].read.as_ref().unwrap().track.ios.clone();
    let o = simulated(step.clone(), capped.clone());
    assert_eq!((o.ends.len(), o.series[0].workers.len()), (4, 4));
    let rate = ios(&o).iter().sum::<u64>() as f64 / 10.0;
    assert!((rate / 20_000.0 - 1.0).abs() < 0.005, "the cap is that of the volume: {rate}");
    let again = simulated(step.clone(), capped.clone());
    let (sum, sum_again) = (all(&o, false).sum(), all(&again, false).sum());
    assert_eq!((ios(&again), sum_again), (ios(&o), sum), "the same load, the same figures");
    // In an open loop too, half of whose arrivals each of two jobs has.
    let open = Step { numjobs: 2, rate_iops: Some(30_000.0), arrival: Arrival::Poisson, ..step.clone() };
    let rate = ios(&simulated(open, capped.clone())).iter().sum::<u64>() as f64 / 10.0;
    assert!((rate / 20_000.0 - 1.0).abs() < 0.005, "{rate}");
    // Two targets are two volumes.
    let step = Step { engine: EngineKind::Null, simulate: Some(Box::new(capped)), ..step };
    let targets = [Target::new(None, Bytes::gib(1)), Target::new(None, Bytes::gib(1))];
    let o = run(&step, EngineKind::Null, &targets, false);
    for series in &o.series {
        let rate = series.read.as_ref().unwrap().track.total().ios as f64 / 10.0;
        assert!((rate / 20_000.0 - 1.0).abs() < 0.005, "{rate}");
    }
}

#[test]
fn a_simulated_volume_is_as_the_step_before_left_it() {
    let burst = Simulated {
        iops_cap: Some(3000.0),
        burst_iops: Some(6000.0),
        burst_ios: 60_000,
        first_touch: Nanos::millis(5),
        ..device(Nanos::micros(500))
    };
    let step = Step { engine: EngineKind::Null, iodepth: 64, runtime: Nanos::seconds(10), ..Step::default() };
    let targets = [Target::new(None, Bytes::mib(64))];
    let rate = |delay: Nanos, device: &Simulated| {
        let step = Step { simulate: Some(Box::new(device.clone())), delay, ..step.clone() };
        let o = run(&step, EngineKind::Null, &targets, false);
        (o.series[0].read.as_ref().unwrap().track.total().ios / 10, all(&o, false).max().unwrap())
    };
    let pause = Nanos::seconds(5);
    let rates = [Nanos(0), Nanos(0), Nanos(0), pause].map(|delay| rate(delay, &burst));
    let near = |rate: u64, expected: u64| rate.abs_diff(expected) <= expected / 50;
    assert!(near(rates[0].0, 6000) && near(rates[1].0, 6000), "20 s of burst: {rates:?}");
    assert!(near(rates[2].0, 3000), "the credits are spent, but for those of the last period: {rates:?}");
    assert!(near(rates[3].0, 4500), "a pause of 5 s earned 15,000: {rates:?}");
    assert!(rates[0].1 >= Nanos::micros(5500), "each MiB is loaded once: {rates:?}");
    let other = Simulated { iops_cap: Some(1000.0), burst_iops: None, burst_ios: 0, ..burst };
    assert!(near(rate(Nanos(0), &other).0, 1000), "another device is a new volume");
    let touch = Step { iodepth: 1, ..step.clone() };
    let cold = Simulated { first_touch: Nanos::millis(5), ..device(Nanos::micros(500)) };
    let [first, second] = [0, 1].map(|_| {
        let step = Step { simulate: Some(Box::new(cold.clone())), ..touch.clone() };
        all(&run(&step, EngineKind::Null, &targets, false), false).max().unwrap()
    });
    assert!(first > Nanos::millis(5) && second < Nanos::millis(1), "{first} {second}");
}

#[test]
fn an_error_ends_the_load_and_is_named() {
    let step = Step { iodepth: 4, runtime: Nanos::seconds(5), ..Step::default() };
    let failing = Simulated { error_every: 1000, ..device(Nanos::millis(1)) };
    let o = simulated(step.clone(), failing.clone());
    let end = &o.ends[0];
    assert_eq!(end.errors.count, 1);
    assert_eq!(end.errors.first[0].result, -i64::from(libc::EIO));
    assert_eq!(end.errors.first[0].length, 4096);
    assert!(end.window < Nanos::seconds(1), "ended early: {}", end.window);
    assert_eq!(o.series[0].read.as_ref().unwrap().track.total().ios, 999, "what came before is kept");

    let step = Step { engine: EngineKind::Null, simulate: Some(Box::new(failing)), ..step };
    let targets = [Target::new(None, Bytes::gib(1))];
    let o = run(&step, EngineKind::Null, &targets, true);
    assert_eq!(o.ends[0].window, Nanos::seconds(5));
    assert_eq!(o.ends[0].errors.count, 20);
    assert_eq!(o.ends[0].errors.first.len(), 10);
}

#[test]
fn an_amount_ends_the_load_and_all_of_it_counts() {
    let step = Step {
        iodepth: 8,
        runtime: Nanos(0),
        io_size: Some(Bytes::mib(1)),
        bs: "16k".parse().unwrap(),
        ..Step::default()
    };
    let o = simulated(step, device(Nanos::millis(1)));
    let total = o.series[0].read.as_ref().unwrap().track.total();
    assert_eq!((total.ios, total.bytes), (64, Bytes::mib(1)));
    assert_eq!(o.series[0].window_ns, Nanos::millis(8));
}

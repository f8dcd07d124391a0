//! The worker loop against devices of known behaviour in virtual time, and against real files through every backend.

mod special;
mod together;

use std::io::Write;
use std::sync::Arc;

use volproof::device::Root;
use volproof::engine::{self, Load, StepOutcome, Target, Timer, Watch};
use volproof::guard::{Access, clear};
use volproof::hist::{Histogram, bucket_low};
use volproof::plan::{Arrival, EngineKind, Pattern, Simulated, Step};
use volproof::sample::Direction;
use volproof::unit::{Bytes, Nanos};

fn simulated(step: Step, device: Simulated) -> StepOutcome {
    let step = Step { engine: EngineKind::Null, simulate: Some(device), ..step };
    let targets = [Target::new(None, Bytes::gib(1))];
    run(&step, EngineKind::Null, &targets, false)
}

fn run(step: &Step, engine: EngineKind, targets: &[Target], continue_on_error: bool) -> StepOutcome {
    assert_eq!(step.problem(), None);
    let timer = Timer::choose(std::path::Path::new("/"));
    let cpus = &[];
    let load = Load { step, engine, targets, seed: 42, continue_on_error, cpus, gate: None };
    engine::run(&load, &timer, &mut |_: Watch<'_>| true).unwrap()
}

fn device(latency: Nanos) -> Simulated {
    Simulated { latency, ..Simulated::default() }
}

fn all(outcome: &StepOutcome, response: bool) -> Histogram {
    let mut h = Histogram::new();
    let stream = outcome.series[0].read.as_ref().unwrap();
    for s in if response { &stream.response } else { &stream.service } {
        h.merge_sparse(s);
    }
    if response {
        for end in &outcome.ends {
            let open = end.open.as_ref().unwrap();
            h.merge(&open.late[Direction::Read]);
            h.merge(&open.censored);
        }
    }
    h
}

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
    assert_eq!((o.ends[0].errors, o.ends[0].lost, o.stuck), (0, 0, 0));
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
    let failing_step = Step { engine: EngineKind::Null, simulate: Some(failing), ..step };
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
    let step = Step { engine: EngineKind::Null, simulate: Some(capped), ..step };
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
        let step = Step { simulate: Some(device.clone()), delay, ..step.clone() };
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
    let other = Simulated { iops_cap: Some(1000.0), burst_iops: None, ..burst };
    assert!(near(rate(Nanos(0), &other).0, 1000), "another device is a new volume");
    let touch = Step { iodepth: 1, ..step.clone() };
    let cold = Simulated { first_touch: Nanos::millis(5), ..device(Nanos::micros(500)) };
    let [first, second] = [0, 1].map(|_| {
        let step = Step { simulate: Some(cold.clone()), ..touch.clone() };
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
    assert_eq!(end.errors, 1);
    assert_eq!(end.failures[0].result, -i64::from(libc::EIO));
    assert_eq!(end.failures[0].length, 4096);
    assert!(end.window < Nanos::seconds(1), "ended early: {}", end.window);
    assert_eq!(o.series[0].read.as_ref().unwrap().track.total().ios, 999, "what came before is kept");

    let step = Step { engine: EngineKind::Null, simulate: Some(failing), ..step };
    let targets = [Target::new(None, Bytes::gib(1))];
    let o = run(&step, EngineKind::Null, &targets, true);
    assert_eq!(o.ends[0].window, Nanos::seconds(5));
    assert_eq!(o.ends[0].errors, 20);
    assert_eq!(o.ends[0].failures.len(), 10);
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

fn file(size: usize) -> (tempfile::TempDir, std::path::PathBuf) {
    // Direct I/O needs a filesystem that has it: the target folder, not a tmpfs.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = dir.path().join("data");
    let mut f = std::fs::File::create(&path).unwrap();
    let mut x = 1u64;
    let data: Vec<u8> = (0..size)
        .map(|_| {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1);
            (x >> 56) as u8
        })
        .collect();
    f.write_all(&data).unwrap();
    f.sync_all().unwrap();
    (dir, path)
}

/// Every engine that exists here, with the depth it can keep.
fn engines() -> Vec<(EngineKind, u32)> {
    let mut found = Vec::new();
    for (engine, depth) in [(EngineKind::IoUring, 16), (EngineKind::Libaio, 16), (EngineKind::Psync, 1)] {
        match engine::choose(engine) {
            Ok(choice) if choice.fallback.is_none() => found.push((engine, depth)),
            Ok(choice) => println!("skipped: {engine}: {}", choice.fallback.unwrap()),
            Err(e) => println!("skipped: {e}"),
        }
    }
    found
}

#[test]
fn every_backend_reads_each_block_once() {
    let (_dir, path) = file(1 << 20);
    for (engine, depth) in engines() {
        for direct in [true, false] {
            let clearance = clear(&Root::system(), &path, Access::Read, direct).unwrap();
            let targets = [Target::new(Some(Arc::new(clearance)), Bytes::mib(1))];
            let step = Step {
                engine,
                direct,
                iodepth: depth,
                runtime: Nanos(0),
                io_size: Some(Bytes::mib(1)),
                ..Step::default()
            };
            let o = run(&step, engine, &targets, false);
            let total = o.series[0].read.as_ref().unwrap().track.total();
            assert_eq!((total.ios, o.ends[0].errors), (256, 0), "{engine} direct={direct}: {:?}", o.ends);
            assert_eq!(all(&o, false).count(), 256, "{engine}");
            assert!(all(&o, false).min().unwrap() > Nanos(0));
            let depth = &o.ends[0].depth;
            assert_eq!(depth.in_flight.iter().sum::<u64>(), 256, "{engine}: every I/O found a depth");
            let deepest = if engine == EngineKind::Psync { 0 } else { 4 };
            assert!(depth.in_flight[deepest] > 0, "{engine}: {depth:?}");
            assert_eq!(depth.in_flight[deepest + 1..].iter().sum::<u64>(), 0, "{engine}: {depth:?}");
        }
    }
}

#[test]
fn every_backend_writes_what_no_sector_repeats_and_flushes() {
    for (engine, depth) in engines() {
        let (_dir, path) = file(1 << 20);
        let before = std::fs::read(&path).unwrap();
        let mut clearance =
            clear(&Root::system(), &path, Access::Overwrite { shared: false }, false).unwrap();
        clearance.confirm().unwrap();
        let targets = [Target::new(Some(Arc::new(clearance)), Bytes::mib(1))];
        let step = Step {
            rw: Pattern::Write,
            engine,
            direct: false,
            fsync: 16,
            iodepth: depth,
            runtime: Nanos(0),
            io_size: Some(Bytes::mib(1)),
            ..Step::default()
        };
        let o = run(&step, engine, &targets, false);
        assert_eq!(
            o.series[0].write.as_ref().unwrap().track.total().bytes,
            Bytes::mib(1),
            "{engine}: {:?}",
            o.ends
        );
        assert_eq!(o.series[0].sync.as_ref().unwrap().track.total().ios, 15, "{engine}");
        let after = std::fs::read(&path).unwrap();
        assert_eq!(after.len(), before.len());
        let sectors: std::collections::HashSet<&[u8]> = after.chunks(512).collect();
        assert_eq!(sectors.len(), after.len() / 512, "{engine}: a sector was written twice or not at all");
        assert!(before.chunks(512).all(|s| !sectors.contains(s)), "{engine}: old data is left");
    }
}

/// A file of 1 MiB that may be overwritten.
fn scratch(dir: &std::path::Path, direct: bool) -> Target {
    let path = dir.join("data");
    std::fs::write(&path, vec![0x5a; 1 << 20]).unwrap();
    let mut clearance = clear(&Root::system(), &path, Access::Overwrite { shared: false }, direct).unwrap();
    clearance.confirm().unwrap();
    Target::new(Some(Arc::new(clearance)), Bytes::mib(1))
}

fn here() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

#[test]
fn a_flush_at_the_end_is_of_the_window_when_the_amount_ended_the_load_and_never_among_its_flushes() {
    let step = Step {
        rw: Pattern::Write,
        iodepth: 4,
        runtime: Nanos(0),
        io_size: Some(Bytes::kib(32)),
        end_fsync: true,
        ..Step::default()
    };
    let o = simulated(step.clone(), device(Nanos::millis(1)));
    assert_eq!((&o.series[0].sync, o.ends[0].end_flushes), (&None, (1, Nanos::millis(1))));
    assert_eq!(o.series[0].window_ns, Nanos::millis(3), "two rounds of writes, then the flush");
    assert_eq!(o.ends[0].depth.in_flight.iter().sum::<u64>(), 8, "the flush is no part of the load's depths");
    // Time ended it: the flush is not of the window, but it is done.
    let timed = Step { runtime: Nanos::micros(5500), io_size: None, ..step.clone() };
    let o = simulated(timed, device(Nanos::millis(1)));
    assert_eq!(o.series[0].sync, None);
    let end = &o.ends[0];
    assert_eq!(
        (end.drained.0, end.end_flushes.0, end.lost),
        (4, 1, 0),
        "four writes in flight, and the flush"
    );
    // What only reads has nothing to flush.
    let o = simulated(Step { rw: Pattern::Read, ..step.clone() }, device(Nanos::millis(1)));
    assert_eq!(o.series[0].sync, None);

    for (engine, depth) in engines() {
        let dir = here();
        let step = Step { engine, direct: false, iodepth: depth, fsync: 4, datasync: false, ..step.clone() };
        let o = run(&step, engine, &[scratch(dir.path(), false)], false);
        assert_eq!(o.series[0].sync.as_ref().unwrap().track.total().ios, 1, "{engine}: {:?}", o.ends);
        assert_eq!(o.ends[0].end_flushes.0, 1, "{engine}");
        assert_eq!(o.series[0].write.as_ref().unwrap().track.total().ios, 8, "{engine}");
    }
}

/// Pages of a file that lie in memory.
fn cached_pages(path: &std::path::Path) -> usize {
    let file = std::fs::File::open(path).unwrap();
    let length = file.metadata().unwrap().len() as usize;
    let mut seen = vec![0u8; length.div_ceil(rustix::param::page_size())];
    // SAFETY: a new read-only mapping of the file, as long as what mincore is asked about, and taken away again.
    unsafe {
        let (read, private) = (rustix::mm::ProtFlags::READ, rustix::mm::MapFlags::PRIVATE);
        let at = rustix::mm::mmap(std::ptr::null_mut(), length, read, private, &file, 0).unwrap();
        assert_eq!(libc::mincore(at.cast(), length, seen.as_mut_ptr()), 0);
        rustix::mm::munmap(at, length).unwrap();
    }
    seen.iter().filter(|s| **s & 1 == 1).count()
}

#[test]
fn cached_pages_are_dropped_when_asked() {
    let (_dir, path) = file(1 << 20);
    let clearance = Arc::new(clear(&Root::system(), &path, Access::Read, true).unwrap());
    let targets = [Target::new(Some(clearance), Bytes::mib(1))];
    for invalidate in [false, true] {
        assert_eq!(std::fs::read(&path).unwrap().len(), 1 << 20);
        let all = cached_pages(&path);
        let step = Step {
            engine: EngineKind::Psync,
            runtime: Nanos(0),
            io_size: Some(Bytes::kib(4)),
            invalidate,
            ..Step::default()
        };
        run(&step, EngineKind::Psync, &targets, false);
        let left = cached_pages(&path);
        assert!(
            all == 256 && (left < 64) == invalidate,
            "{left} of {all} pages with invalidate={invalidate}"
        );
    }
}

/// CPUs that the load threads of this process may use, as the kernel lists them.
fn affinities() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().filter_map(Result::ok);
    let status = tasks.filter_map(|t| std::fs::read_to_string(t.path().join("status")).ok());
    let of_load = status.filter(|s| s.starts_with("Name:\tvolproof-load"));
    let list = |s: &str| s.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:\t")).unwrap().to_string();
    of_load.map(|s| list(&s)).collect()
}

#[test]
fn workers_share_their_cpus_when_asked() {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    if !allowed.is_set(0) || !allowed.is_set(1) {
        return println!("skipped: CPUs 0 and 1 are not both to be had");
    }
    let targets = [Target::new(None, Bytes::gib(1))];
    for shared in [false, true] {
        let step = Step {
            engine: EngineKind::Null,
            numjobs: 2,
            cpus: Some("0-1".parse().unwrap()),
            cpus_shared: shared,
            runtime: Nanos::millis(250),
            ..Step::default()
        };
        assert_eq!(step.problem(), None);
        let load = Load {
            step: &step,
            engine: EngineKind::Null,
            targets: &targets,
            seed: 1,
            continue_on_error: false,
            cpus: &[0, 1],
            gate: None,
        };
        let mut seen = Vec::new();
        engine::run(&load, &Timer::choose(std::path::Path::new("/")), &mut |_| {
            seen.extend(affinities());
            true
        })
        .unwrap();
        // Threads of other tests are not pinned.
        for one in ["0", "1"] {
            assert_eq!(seen.iter().any(|s| s == one), !shared, "shared={shared}: {seen:?}");
        }
        assert!(!shared || seen.iter().any(|s| s == "0-1"), "{seen:?}");
    }
}

#[test]
fn writing_through_a_read_clearance_is_refused() {
    let (_dir, path) = file(8192);
    let clearance = clear(&Root::system(), &path, Access::Read, false).unwrap();
    let targets = [Target::new(Some(Arc::new(clearance)), Bytes(8192))];
    let step = Step { rw: Pattern::RandWrite, engine: EngineKind::Psync, direct: false, ..Step::default() };
    let load = Load {
        step: &step,
        engine: EngineKind::Psync,
        targets: &targets,
        seed: 1,
        continue_on_error: false,
        cpus: &[],
        gate: None,
    };
    let e = engine::run(&load, &Timer::choose(std::path::Path::new("/")), &mut |_| true).unwrap_err();
    assert!(e.to_string().contains("cleared for reading only"), "{e}");
}

/// Such a step would count flushes as discards.
#[test]
fn an_engine_that_sends_no_discards_is_refused_by_name() {
    let (_dir, path) = file(8192);
    let clearance = clear(&Root::system(), &path, Access::Overwrite { shared: false }, false).unwrap();
    let targets = [Target::new(Some(Arc::new(clearance)), Bytes(8192))];
    for (engine, _) in engines().into_iter().filter(|(engine, _)| *engine != EngineKind::Psync) {
        let step = Step { rw: Pattern::RandTrim, engine, direct: false, ..Step::default() };
        let (step, targets, cpus) = (&step, &targets[..], &[]);
        let load = Load { step, engine, targets, seed: 1, continue_on_error: false, cpus, gate: None };
        let e = engine::run(&load, &Timer::choose(std::path::Path::new("/")), &mut |_| true).unwrap_err();
        assert_eq!(
            e.to_string(),
            format!("setting up a worker failed: engine {engine} sends no discards: use psync")
        );
    }
}

#[test]
fn stopping_from_outside_keeps_what_was_measured() {
    let step =
        Step { engine: EngineKind::Null, iodepth: 4, runtime: Nanos::seconds(3600), ..Step::default() };
    let targets = [Target::new(None, Bytes::gib(1))];
    let load = Load {
        step: &step,
        engine: EngineKind::Null,
        targets: &targets,
        seed: 1,
        continue_on_error: false,
        cpus: &[],
        gate: None,
    };
    let mut calls = 0;
    let o = engine::run(&load, &Timer::choose(std::path::Path::new("/")), &mut |_| {
        calls += 1;
        calls < 3
    })
    .unwrap();
    assert!(o.interrupted && o.stuck == 0);
    assert!(o.series[0].read.as_ref().unwrap().track.total().ios > 0);
    assert!(o.series[0].window_ns > Nanos(0));
}

#[test]
fn a_file_that_shrinks_gives_a_short_read_with_its_place() {
    let (_dir, path) = file(1 << 20);
    let clearance = clear(&Root::system(), &path, Access::Read, false).unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(4096 * 10 + 100).unwrap();
    let targets = [Target::new(Some(Arc::new(clearance)), Bytes::mib(1))];
    for (engine, _) in engines() {
        let step =
            Step { rw: Pattern::Read, engine, direct: false, runtime: Nanos::seconds(5), ..Step::default() };
        let o = run(&step, engine, &targets, false);
        let failure = &o.ends[0].failures[0];
        assert_eq!((failure.offset, failure.result), (40_960, 100), "{engine}");
    }
}

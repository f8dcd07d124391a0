//! Loads that take targets in turn or keep every I/O.

use super::*;
use volproof::engine::{TracedIo, WorkerEnd};

fn reads(o: &StepOutcome) -> u64 {
    o.series[0].read.as_ref().map_or(0, |s| s.track.total().ios)
}

fn writes(o: &StepOutcome) -> u64 {
    o.series[0].write.as_ref().map_or(0, |s| s.track.total().ios)
}

#[test]
fn every_io_of_the_window_is_kept() {
    let step = Step {
        rw: Pattern::RandRw,
        iodepth: 4,
        numjobs: 2,
        bs_write: Some("8k".parse().unwrap()),
        trace: true,
        ramp: Nanos::millis(50),
        runtime: Nanos::millis(300),
        ..Step::default()
    };
    let o = simulated(step, Simulated { jitter: Nanos::micros(300), ..device(Nanos::millis(1)) });
    assert_eq!(o.trace.iter().map(|t| (t.worker, t.left_out)).collect::<Vec<_>>(), [(0, 0), (1, 0)]);
    let ios: Vec<&TracedIo> = o.trace.iter().flat_map(|t| &t.ios).collect();
    for (d, length) in [(Direction::Read, 4096), (Direction::Write, 8192)] {
        let of: Vec<_> = ios.iter().filter(|t| t.direction == d).collect();
        let total = o.series[0].stream(d).unwrap().track.total();
        assert_eq!(of.len() as u64, total.ios, "{d:?}");
        assert!(of.iter().all(|t| t.length == length && t.offset.is_multiple_of(u64::from(length))));
        assert_eq!(of.iter().map(|t| t.latency.0).sum::<u64>(), total.latency.0, "{d:?}");
    }
    for trace in &o.trace {
        assert!(trace.ios.is_sorted_by_key(|t| t.at) && trace.ios.last().unwrap().at <= Nanos::millis(300));
    }
    let plain = simulated(Step { runtime: Nanos::millis(50), ..Step::default() }, device(Nanos::millis(1)));
    assert!(plain.trace.is_empty(), "only when asked");

    let (_dir, path) = file(1 << 20);
    for (engine, depth) in engines() {
        let clearance = clear(&Root::system(), &path, Access::Read, false).unwrap();
        let targets = [Target::new(Some(Arc::new(clearance)), Bytes::mib(1))];
        let (io_size, runtime) = (Some(Bytes::mib(1)), Nanos(0));
        let step =
            Step { engine, direct: false, iodepth: depth, trace: true, io_size, runtime, ..Step::default() };
        let o = run(&step, engine, &targets, false);
        let mut offsets: Vec<u64> = o.trace[0].ios.iter().map(|t| t.offset).collect();
        offsets.sort_unstable();
        assert!(offsets.iter().copied().eq((0..256).map(|block| block * 4096)), "{engine}");
    }
}

#[test]
fn targets_are_taken_in_turn() {
    let targets = [1, 2, 3].map(|mib| Target::new(None, Bytes::mib(mib)));
    let step = Step {
        rw: Pattern::Read,
        engine: EngineKind::Null,
        round_robin: true,
        trace: true,
        io_size: Some(Bytes::kib(36)),
        runtime: Nanos(0),
        simulate: Some(Box::new(device(Nanos::millis(1)))),
        ..Step::default()
    };
    let o = run(&step, EngineKind::Null, &targets, false);
    assert_eq!((o.series.len(), o.ends.len(), reads(&o)), (1, 1, 9));
    let seen: Vec<_> = o.trace[0].ios.iter().map(|t| (t.target, t.offset / 4096)).collect();
    let expected: Vec<_> = (0..3).flat_map(|block| (0..3).map(move |target| (target, block))).collect();
    assert_eq!(seen, expected, "each from its own beginning");

    // Jobs are not multiplied by targets, and random ones cover each target block by block.
    let random = Step { rw: Pattern::RandRead, numjobs: 2, iodepth: 8, io_size: Some(Bytes::mib(3)), ..step };
    let o = run(&random, EngineKind::Null, &targets, false);
    assert_eq!((o.series.len(), o.ends.len(), o.series[0].workers.len()), (1, 2, 2));
    for trace in &o.trace {
        let mut first: Vec<u64> =
            trace.ios.iter().filter(|t| t.target == 0).map(|t| t.offset / 4096).collect();
        first.sort_unstable();
        assert!(first.iter().copied().eq(0..256), "each block of the first target once a pass");
    }
    let failing = Simulated { error_every: 5, ..device(Nanos::millis(1)) };
    let step = Step { simulate: Some(Box::new(failing)), numjobs: 1, iodepth: 1, ..random };
    let o = run(&step, EngineKind::Null, &targets, true);
    let failed: Vec<u16> = o.ends[0].failures.iter().take(4).map(|f| f.target).collect();
    assert_eq!(failed, [0, 1, 2, 0], "the fifth I/O of each target fails");
}

#[test]
fn every_backend_writes_to_each_target_in_turn() {
    for (engine, depth) in engines() {
        let (dirs, targets): (Vec<_>, Vec<_>) = (0..3)
            .map(|_| {
                let dir = here();
                let target = scratch(dir.path(), false);
                (dir, target)
            })
            .unzip();
        let step = Step {
            rw: Pattern::RandWrite,
            engine,
            direct: false,
            iodepth: depth,
            round_robin: true,
            fsync: 64,
            end_fsync: true,
            io_size: Some(Bytes::mib(3)),
            runtime: Nanos(0),
            ..Step::default()
        };
        let o = run(&step, engine, &targets, false);
        assert_eq!((writes(&o), &o.ends[0].failures), (768, &Vec::new()), "{engine}");
        // Each target after 64 writes of its own, and all three once more at the end.
        let flushes = o.series[0].sync.as_ref().unwrap().track.total().ios;
        assert!((3 * 3..=3 * 4).contains(&flushes), "{engine}: {flushes}");
        assert_eq!(o.ends[0].end_flushes.0, 3, "{engine}");
        for dir in &dirs {
            let data = std::fs::read(dir.path().join("data")).unwrap();
            assert!(data.chunks(512).all(|s| s != [0x5a; 512]), "{engine}: a sector was not written");
        }
        // A target that is too short is named.
        let (short, path) = file(8192);
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
        let clearance = clear(&Root::system(), &path, Access::Read, false).unwrap();
        let mut reading = targets.clone();
        reading[1] = Target::new(Some(Arc::new(clearance)), Bytes(8192));
        let reads = Step { rw: Pattern::RandRead, fsync: 0, end_fsync: false, ..step };
        let ends: Vec<WorkerEnd> = run(&reads, engine, &reading, false).ends;
        assert!(ends[0].failures.iter().all(|f| f.target == 1) && ends[0].errors > 0, "{engine}: {ends:?}");
        drop(short);
    }
}

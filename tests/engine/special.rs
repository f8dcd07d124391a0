//! Loads that take targets in turn.

use super::*;
use volproof::engine::WorkerEnd;

fn reads(o: &StepOutcome) -> u64 {
    o.series[0].read.as_ref().map_or(0, |s| s.track.total().ios)
}

fn writes(o: &StepOutcome) -> u64 {
    o.series[0].write.as_ref().map_or(0, |s| s.track.total().ios)
}

#[test]
fn targets_are_taken_in_turn() {
    let targets = [1, 2, 3].map(|mib| Target::new(None, Bytes::mib(mib)));
    let step = Step {
        rw: Pattern::Read,
        engine: EngineKind::Null,
        round_robin: true,
        io_size: Some(Bytes::kib(36)),
        runtime: Nanos(0),
        simulate: Some(Box::new(device(Nanos::millis(1)))),
        ..Step::default()
    };
    let o = run(&step, EngineKind::Null, &targets, false);
    assert_eq!((o.series.len(), o.ends.len(), reads(&o)), (1, 1, 9));

    // Jobs are not multiplied by targets.
    let random = Step { rw: Pattern::RandRead, numjobs: 2, iodepth: 8, io_size: Some(Bytes::mib(3)), ..step };
    let o = run(&random, EngineKind::Null, &targets, false);
    assert_eq!((o.series.len(), o.ends.len(), o.series[0].workers.len()), (1, 2, 2));
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

//! The worker loop against devices of known behaviour in virtual time, and against real files through every backend.

mod simulated;
mod together;
mod virtual_time;

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
    let step = Step { engine: EngineKind::Null, simulate: Some(Box::new(device)), ..step };
    let targets = [Target::new(None, Bytes::gib(1))];
    run(&step, EngineKind::Null, &targets, false)
}

fn run(step: &Step, engine: EngineKind, targets: &[Target], continue_on_error: bool) -> StepOutcome {
    assert_eq!(step.problem(), None);
    let timer = Timer::choose(std::path::Path::new("/"));
    let cpus = &[];
    let load = Load { step, engine, targets, seed: 42, continue_on_error, cpus, gate: None, tap: None };
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
            assert_eq!(
                (total.ios, o.ends[0].errors.count),
                (256, 0),
                "{engine} direct={direct}: {:?}",
                o.ends
            );
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
            tap: None,
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
        tap: None,
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
        let load =
            Load { step, engine, targets, seed: 1, continue_on_error: false, cpus, gate: None, tap: None };
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
        tap: None,
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
        let failure = &o.ends[0].errors.first[0];
        assert_eq!((failure.offset, failure.result), (40_960, 100), "{engine}");
    }
}

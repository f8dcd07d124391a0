//! A step in fio's words reads back as the same step, whatever its options.

use proptest::prelude::*;
use proptest::sample::select;

use super::{job, look};
use crate::fio::plan::*;
use crate::fio::write_jobs::{self, JobTarget, sections};
use crate::plan::{Arrival, CpuList, Distribution, Fadvise, Pattern, Plan, Start, Step};
use crate::sample::Direction;
use crate::unit::Nanos;

/// The disk of [`look`].
const DISK: Bytes = Bytes::gib(10);

/// The step that fio's words for `step` mean.
fn there_and_back(step: &Step) -> Result<Step, String> {
    let place = JobTarget { path: "/dev/vdb".into(), size: Some(DISK) };
    let jobs = sections(step, &[place], 1).map_err(|e| e.to_string())?;
    let words: Vec<String> = jobs[0].iter().map(|(name, value)| format!("{name}={value}")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let native = assemble(&[job(&step.name, &words)], &look, 1).map_err(|o| format!("{words:?}: {o:#?}"))?;
    match <[Step; 1]>::try_from(native.plan.steps) {
        Ok([step]) => Ok(step),
        Err(steps) => Err(format!("{words:?} became {} steps", steps.len())),
    }
}

/// Pattern, sizes, engine and depth, which depend on each other.
fn load() -> impl Strategy<Value = Step> {
    let patterns = [
        Pattern::Read,
        Pattern::Write,
        Pattern::RandRead,
        Pattern::RandWrite,
        Pattern::ReadWrite,
        Pattern::RandRw,
        Pattern::RandTrim,
    ];
    let sizes = ["4KiB", "16KiB", "1MiB", "512B", "4KiB/70:64KiB/30"];
    let engines = [EngineKind::IoUring, EngineKind::Libaio, EngineKind::Psync];
    (
        select(patterns.to_vec()),
        select(sizes.to_vec()),
        select(sizes.to_vec()),
        select(engines.to_vec()),
        1..256u32,
        1..9u32,
        0..=100u32,
    )
        .prop_map(|(rw, bs, bs_write, engine, iodepth, numjobs, rwmix)| {
            let engine = if rw == Pattern::RandTrim { EngineKind::Psync } else { engine };
            let mixed = rw.directions().len() == 2;
            Step {
                rw,
                bs: bs.parse().expect("a size"),
                bs_write: (mixed && bs != bs_write).then(|| bs_write.parse().expect("a size")),
                engine,
                iodepth: if engine == EngineKind::Psync { 1 } else { iodepth },
                numjobs,
                rwmix: if mixed { rwmix } else { 50 },
                ..Step::default()
            }
        })
}

/// Where the step works, and when it ends.
fn extent() -> impl Strategy<Value = Step> {
    let mib = |range: std::ops::Range<u64>| range.prop_map(Bytes::mib);
    (
        mib(0..64),
        proptest::option::of(mib(2048..4096)),
        mib(0..256),
        proptest::option::of(mib(1..9000)),
        (1..600u64, 0..60u64, 0..60u64),
    )
        .prop_map(|(offset, size, increment, io_size, (runtime, ramp, delay))| Step {
            offset,
            size,
            offset_increment: Some(increment),
            io_size,
            runtime: Nanos::seconds(runtime),
            ramp: Nanos::seconds(ramp),
            delay: Nanos::millis(delay),
            ..Step::default()
        })
}

/// The other options: each is taken where the load allows it.
fn rest() -> impl Strategy<Value = Step> {
    let distributions = ["uniform", "zipf:1.2", "pareto:0.3", "normal:20", "zoned:50/5:30/15:20/80"];
    (
        select(distributions.to_vec()),
        (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        (0..64u32, any::<bool>(), any::<bool>(), select(vec![None, Some("dsync"), Some("sync")])),
        (proptest::option::of(1..500u64), any::<bool>()),
        (select(vec![0, 30, 100]), any::<bool>()),
        any::<bool>(),
    )
        .prop_map(
            |(
                distribution,
                (map, poll, sq, buffered),
                (fsync, datasync, end, sync),
                (rate, poisson),
                (share, refill),
                pin,
            )| {
                Step {
                    distribution: distribution.parse().expect("a distribution"),
                    norandommap: map,
                    iopoll: poll,
                    sqpoll: sq,
                    direct: !buffered,
                    fsync,
                    datasync,
                    end_fsync: end,
                    sync: sync.map(|word| word.parse().expect("a durability")),
                    rate_iops: rate.map(|r| r as f64 * 100.0),
                    arrival: if poisson { Arrival::Poisson } else { Arrival::Fixed },
                    compressible: share,
                    refill,
                    cpus: pin.then(|| CpuList(Vec::new())),
                    ..Step::default()
                }
            },
        )
}

/// The parts as one step that has no problem.
fn step() -> impl Strategy<Value = Step> {
    (load(), extent(), rest()).prop_map(|(load, extent, rest)| {
        let writes = load.rw.directions().contains(&Direction::Write);
        let uring = load.engine == EngineKind::IoUring;
        let rate = rest.rate_iops.filter(|_| !uring && load.bs_write.is_none() && load.bs.single().is_some());
        let mixed = load.rw.directions().len() == 2;
        let iopoll = uring && rest.iopoll;
        let direct = rest.direct || iopoll || load.rw == Pattern::RandTrim;
        let compressible = if writes { rest.compressible } else { 0 };
        let partly = (1..100).contains(&compressible);
        let fsync = if writes && !iopoll { rest.fsync } else { 0 };
        Step {
            name: "j".into(),
            targets: vec!["/dev/vdb".into()],
            start: Start::AfterAll,
            // Without a size fio takes the rest of the disk, and says so.
            size: Some(extent.size.unwrap_or(Bytes(DISK.0 - extent.offset.0)))
                .filter(|_| load.numjobs == 1)
                .or(Some(Bytes::gib(2))),
            offset: extent.offset,
            offset_increment: Some(if load.numjobs > 1 {
                extent.offset_increment.unwrap_or_default()
            } else {
                Bytes(0)
            }),
            io_size: extent.io_size,
            time_based: extent.io_size.is_none(),
            runtime: extent.runtime,
            ramp: extent.ramp,
            delay: extent.delay,
            distribution: if load.rw.is_random() { rest.distribution } else { Distribution::Uniform },
            norandommap: rest.norandommap,
            iopoll,
            sqpoll: uring && rest.sqpoll,
            direct,
            invalidate: true,
            fadvise: (!direct).then(|| Fadvise::of(load.rw)),
            fsync,
            datasync: fsync == 0 || rest.datasync,
            end_fsync: writes && !iopoll && rest.end_fsync,
            sync: rest.sync.filter(|_| writes),
            // A rate of each job and direction is a whole number in fio.
            rate_iops: rate
                .filter(|_| !mixed || (1..100).contains(&load.rwmix))
                .map(|r| r * f64::from(load.numjobs)),
            arrival: if rate.is_some() && (!mixed || (1..100).contains(&load.rwmix)) {
                rest.arrival
            } else {
                Arrival::Fixed
            },
            compressible,
            refill: writes && compressible < 100 && (partly || rest.refill),
            compress_chunk: partly.then_some(Bytes(512)),
            cpus: rest.cpus.map(|_| CpuList((0..load.numjobs).collect())),
            ..load
        }
    })
}

proptest! {
    #[test]
    fn a_step_in_fios_words_reads_back(step in step()) {
        prop_assume!(step.problem().is_none());
        let back = there_and_back(&step).map_err(TestCaseError::fail)?;
        prop_assert_eq!(back, step);
    }
}

/// fio writes nothing and opens no file under `--parse-only`.
#[test]
fn the_installed_fio_reads_the_job_files_of_steps() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("j.fio");
    let mut runner = TestRunner::deterministic();
    let mut read = 0;
    while read < 40 {
        let step = step().new_tree(&mut runner).unwrap().current();
        if step.problem().is_some() {
            continue;
        }
        let plan = Plan { name: "any".into(), steps: vec![step], ..Plan::none() };
        let places = [JobTarget { path: "/dev/vdb".into(), size: Some(DISK) }];
        // Some steps cannot be said in fio's options.
        let Ok(text) = write_jobs::job_file(&plan, &places) else { continue };
        std::fs::write(&file, &text).unwrap();
        match std::process::Command::new("fio").arg("--parse-only").arg(&file).output() {
            Ok(ran) => {
                let said = String::from_utf8_lossy(&ran.stderr);
                assert!(ran.status.success(), "{said}\n{text}");
            }
            Err(e) => return println!("skipped: fio: {e}"),
        }
        read += 1;
    }
}

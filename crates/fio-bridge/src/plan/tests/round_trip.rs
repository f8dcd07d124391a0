//! A step in fio's words reads back as the same step, whatever its options.

use std::collections::BTreeSet;
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::{job, look};
use crate::plan::*;
use crate::write_jobs::{self, JobTarget, sections};
use volproof_base::sample::Direction;
use volproof_base::unit::Nanos;
use volproof_plan::{Arrival, CpuList, Distribution, Fadvise, Pattern, Plan, Start, Step};

/// A disk of [`look`].
const DISK_PATH: &str = "/dev/vdb";
const DISK: Bytes = Bytes::gib(10);

/// The targets of a step.
fn places(step: &Step) -> Vec<JobTarget> {
    let place = |t: &PathBuf| JobTarget { path: t.display().to_string(), size: Some(DISK) };
    step.targets.iter().map(place).collect()
}

/// The step that fio's words for `step` mean.
fn there_and_back(step: &Step) -> Result<Step, String> {
    let jobs = sections(step, &places(step), 1).map_err(|e| e.to_string())?;
    let words: Vec<String> = jobs[0].iter().map(|(name, value)| format!("{name}={value}")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let native = assemble(&[job(&step.name, &words)], &look, 1).map_err(|o| format!("{words:?}: {o:#?}"))?;
    match <[Step; 1]>::try_from(native.plan.steps) {
        Ok([step]) => Ok(step),
        Err(steps) => Err(format!("{words:?} became {} steps", steps.len())),
    }
}

/// Pattern, sizes, engine and depth.
fn load() -> impl Strategy<Value = Step> {
    let patterns = [
        Pattern::Read,
        Pattern::Write,
        Pattern::RandRead,
        Pattern::RandWrite,
        Pattern::ReadWrite,
        Pattern::RandRw,
        Pattern::Trim,
        Pattern::RandTrim,
    ];
    let sizes = ["4KiB", "16KiB", "1MiB", "512B", "3KiB", "4KiB/70:64KiB/30", "512B/1:8KiB/50:128KiB/49"];
    let engines = [EngineKind::IoUring, EngineKind::Libaio, EngineKind::Psync];
    (
        select(patterns.to_vec()),
        select(sizes.to_vec()),
        (select(engines.to_vec()), 1..256u32, 1..9u32, any::<bool>(), any::<bool>()),
        0..=100u32,
        (option::of(vec(0..64u32, 1..5)), any::<bool>()),
    )
        .prop_map(|(rw, bs, (engine, iodepth, numjobs, iopoll, sqpoll), rwmix, (cpus, shared))| Step {
            rw,
            bs: bs.parse().expect("a size"),
            engine,
            iodepth,
            numjobs,
            iopoll,
            sqpoll,
            rwmix,
            cpus: cpus.map(CpuList),
            cpus_shared: shared,
            ..Step::default()
        })
}

/// Where the step works, and when it ends.
fn extent() -> impl Strategy<Value = Step> {
    let mib = |range: std::ops::Range<u64>| range.prop_map(Bytes::mib);
    (
        (mib(0..64), option::of(mib(2048..4096)), mib(0..256), option::of(mib(1..9000))),
        (1..600u64, 0..60u64, 0..60u64),
        any::<bool>(),
    )
        .prop_map(|((offset, size, increment, io_size), (runtime, ramp, delay), norandommap)| Step {
            targets: vec![DISK_PATH.into()],
            offset,
            size,
            offset_increment: Some(increment),
            io_size,
            runtime: Nanos::seconds(runtime),
            ramp: Nanos::seconds(ramp),
            delay: Nanos::millis(delay),
            norandommap,
            ..Step::default()
        })
}

/// Offsets, rates, durability and data.
fn rest() -> impl Strategy<Value = Step> {
    let distributions = ["uniform", "zipf:1.2", "zoned:50/5:30/15:20/80"];
    let advice = vec![None, Some(Fadvise::Random), Some(Fadvise::Sequential)];
    (
        (select(distributions.to_vec()), any::<bool>(), any::<bool>(), select(advice)),
        (0..64u32, any::<bool>(), any::<bool>(), select(vec![None, Some("dsync"), Some("sync")])),
        (option::of(1..500u64), option::of(1..500u64), any::<bool>()),
        select(vec![0, 100]),
    )
        .prop_map(
            |(
                (distribution, direct, invalidate, fadvise),
                (fsync, datasync, end_fsync, sync),
                (rate, bytes, poisson),
                compressible,
            )| {
                Step {
                    distribution: distribution.parse().expect("a distribution"),
                    direct,
                    invalidate,
                    fadvise,
                    fsync,
                    datasync,
                    end_fsync,
                    sync: sync.map(|word| word.parse().expect("a durability")),
                    rate_iops: rate.map(|r| r as f64 * 100.0),
                    rate_bw: bytes.map(|r| Bytes(r * 1_000_000)),
                    arrival: if poisson { Arrival::Poisson } else { Arrival::Fixed },
                    compressible,
                    ..Step::default()
                }
            },
        )
}

/// Leaves out of a step what does not go with its pattern and engine, as a plan file that is not refused does.
fn fitting(load: Step, extent: Step, rest: Step) -> Step {
    let mixed = load.rw.directions().len() == 2;
    let trims = load.rw.directions().contains(&Direction::Trim);
    let engine = if trims { EngineKind::Psync } else { load.engine };
    let uring = engine == EngineKind::IoUring;
    let iopoll = uring && load.iopoll;
    let step = Step {
        name: "j".into(),
        targets: extent.targets.clone(),
        start: Start::AfterAll,
        engine,
        iodepth: if engine == EngineKind::Psync { 1 } else { load.iodepth },
        iopoll,
        sqpoll: uring && load.sqpoll,
        rwmix: if mixed { load.rwmix } else { 50 },
        direct: rest.direct || iopoll || trims,
        runtime: extent.runtime,
        ramp: extent.ramp,
        delay: extent.delay,
        offset: extent.offset,
        io_size: extent.io_size,
        compressible: if load.rw.directions().contains(&Direction::Write) { rest.compressible } else { 0 },
        ..load
    };
    of_durability(of_rate(of_offsets(step, &extent, &rest), &rest), &rest)
}

/// Offsets, the page cache and CPUs, as fio has them.
fn of_offsets(step: Step, extent: &Step, rest: &Step) -> Step {
    let random = step.rw.is_random();
    let least = step.bs.shares().iter().map(|share| share.0).min().unwrap();
    // Without a size fio takes the rest of the disk, and says so. Sequential jobs go on to the end of the last block.
    let size = extent.size.filter(|_| step.numjobs == 1).unwrap_or(Bytes::gib(2));
    let size = if step.numjobs == 1 && extent.size.is_none() { Bytes(DISK.0 - step.offset.0) } else { size };
    let size = if random { size } else { Bytes(size.0 / least.0 * least.0) };
    let cpus = match step.cpus.clone().map(|list| list.0) {
        Some(list) if step.cpus_shared => {
            Some(list.into_iter().collect::<BTreeSet<u32>>().into_iter().collect())
        }
        Some(_) => Some((0..step.numjobs).collect()),
        None => None,
    };
    Step {
        norandommap: extent.norandommap,
        distribution: if random { rest.distribution.clone() } else { Distribution::Uniform },
        size: Some(size),
        offset_increment: extent.offset_increment.filter(|_| step.numjobs > 1).or(Some(Bytes(0))),
        time_based: step.io_size.is_none(),
        invalidate: step.direct || rest.invalidate,
        fadvise: rest.fadvise.filter(|_| !step.direct),
        cpus_shared: step.cpus_shared && cpus.is_some(),
        cpus: cpus.map(CpuList),
        ..step
    }
}

/// The rate: of one kind, and a whole number for each job and direction.
fn of_rate(step: Step, rest: &Step) -> Step {
    let of_one_size = step.bs.single().is_some();
    let rate_bw = rest.rate_bw.map(|rate| Bytes(rate.0 * u64::from(step.numjobs)));
    let rate_iops = rest.rate_iops.filter(|_| of_one_size && rate_bw.is_none());
    let arrives = rate_bw.is_some() && of_one_size || rate_iops.is_some();
    Step {
        rate_bw,
        rate_iops: rate_iops.map(|rate| rate * f64::from(step.numjobs)),
        arrival: if arrives { rest.arrival } else { Arrival::Fixed },
        ..step
    }
}

/// Flushes and durable writes. A polled ring carries no flush.
fn of_durability(step: Step, rest: &Step) -> Step {
    let writes = step.rw.directions().contains(&Direction::Write);
    let fsync = if writes && !step.iopoll { rest.fsync } else { 0 };
    Step {
        fsync,
        datasync: fsync == 0 || rest.datasync,
        end_fsync: writes && !step.iopoll && rest.end_fsync,
        sync: rest.sync.filter(|_| writes),
        ..step
    }
}

/// Any step that has no problem and that fio has words for.
fn step() -> impl Strategy<Value = Step> {
    (load(), extent(), rest()).prop_map(|(load, extent, rest)| fitting(load, extent, rest))
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
        let places = places(&step);
        let plan = Plan { name: "any".into(), steps: vec![step], ..Plan::none() };
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

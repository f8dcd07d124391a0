//! How requests are submitted, and by how many jobs: `ioengine`, `iodepth`, `hipri`, `sqthread_poll`, `numjobs`, `cpus_allowed`.

use std::collections::BTreeSet;

use super::{FioWords, Obstacles, whole};
use fio_formats::job::Job;
use fio_formats::option_value::OptionValue;
use volproof_base::sample::Direction;
use volproof_plan::{CpuList, EngineKind, Pattern, Step};

/// Engine, depth and number of clones of a job. The CPUs depend on the clones before: see [`cpus`].
pub(super) fn from(job: &Job, step: &mut Step, obstacles: &mut Obstacles<'_>) {
    step.engine = engine(job, step.rw);
    // fio takes any depth with a blocking engine, and then has one I/O in flight.
    step.iodepth = match step.engine {
        EngineKind::Psync => 1,
        _ => whole(job, "iodepth").unwrap_or(1) as u32,
    };
    step.numjobs = whole(job, "numjobs").unwrap_or(1).clamp(1, 4096) as u32;
    if whole(job, "numjobs") == Some(0) {
        obstacles.refused("numjobs=0", "there would be no job");
    }
    step.iopoll = step.engine == EngineKind::IoUring && on(job, "hipri");
    step.sqpoll = step.engine == EngineKind::IoUring && on(job, "sqthread_poll");
}

/// The same in fio's words.
pub(super) fn to(step: &Step, words: &mut FioWords) {
    words.set("iodepth", step.iodepth.to_string());
    words.set("numjobs", step.numjobs.to_string());
    for (name, wanted) in [("hipri", step.iopoll), ("sqthread_poll", step.sqpoll)] {
        if wanted {
            words.set(name, "1");
        }
    }
    if let Some(cpus) = &step.cpus {
        words.set("cpus_allowed", cpus.to_string());
        words.set("cpus_allowed_policy", if step.cpus_shared { "shared" } else { "split" });
    }
}

/// The engine that stands for fio's. A trim is a blocking call in fio whatever the engine.
fn engine(job: &Job, rw: Pattern) -> EngineKind {
    match job.engine() {
        "null" => EngineKind::Null,
        _ if rw.directions().contains(&Direction::Trim) => EngineKind::Psync,
        "libaio" => EngineKind::Libaio,
        "io_uring" => EngineKind::IoUring,
        _ => EngineKind::Psync,
    }
}

/// A switch of an engine, which may not be there.
fn on(job: &Job, name: &str) -> bool {
    job.given(name).is_some_and(|g| match &g.value {
        OptionValue::Flag(on) => *on,
        OptionValue::Ints([Some(n), ..]) => *n != 0,
        _ => true,
    })
}

/// CPUs of `workers` jobs. The first of them is number `first` (from 0) among all jobs of the command. fio takes the list as a set of bits;
/// `split` gives job *i* the *i*-th bit in ascending order, and begins again behind the last (`fio_cpus_split` in options.c).
pub(super) fn cpus(job: &Job, first: u32, workers: u32) -> Option<CpuList> {
    let set: BTreeSet<u32> = job.text("cpus_allowed")?.parse::<CpuList>().ok()?.0.into_iter().collect();
    let bits: Vec<u32> = set.into_iter().collect();
    if bits.is_empty() {
        return None;
    }
    Some(CpuList(match job.choice("cpus_allowed_policy") {
        Some("split") => (first..first + workers).map(|i| bits[i as usize % bits.len()]).collect(),
        _ => bits,
    }))
}

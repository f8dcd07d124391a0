//! The options of one step in fio's words, its targets apart.

use super::{Inexpressible, Options};
use crate::plan::{Arrival, BlockSizes, Distribution, Fadvise, Step, Stride};
use crate::unit::{Bytes, Nanos};

/// Everything but the target. `size` is that of the target, where it is known.
pub(super) fn options(step: &Step, size: Option<Bytes>, seed: u64) -> Result<Options, Inexpressible> {
    let refuse = |why: String| Err(Inexpressible { step: step.name.clone(), why });
    if step.simulate.is_some() {
        return refuse("fio has no simulated device".into());
    }
    let mut options: Options = Vec::new();
    let mut set = |name: &'static str, value: String| options.push((name, value));
    set("ioengine", step.engine.to_string());
    match step.stride {
        Stride(0) => set("rw", step.rw.to_string()),
        Stride(skip) if skip < 0 && (step.offset.0 > 0 || step.numjobs > 1) => {
            let why = "going backwards, fio wraps to the end of the part only where the part is the start of the target";
            return refuse(why.into());
        }
        Stride(skip) => {
            let sign = if skip < 0 { "-" } else { "" };
            set("rw", format!("{}:{sign}{}", step.rw, bytes(Bytes(skip.unsigned_abs()))));
        }
    }
    if step.rw.directions().len() == 2 {
        set("rwmixread", step.rwmix.to_string());
    }
    blocks(step, &mut set);
    if let Some(align) = step.align {
        if !step.norandommap {
            return refuse("fio draws aligned offsets independently: set norandommap".into());
        }
        set("ba", bytes(align));
    }
    set("iodepth", step.iodepth.to_string());
    set("numjobs", step.numjobs.to_string());
    set("direct", u8::from(step.direct).to_string());
    range(step, size, &mut set);
    if !step.ends_by_amount() {
        set("time_based", "1".into());
    }
    for (name, value) in [("runtime", step.runtime), ("ramp_time", step.ramp), ("startdelay", step.delay)] {
        if value.0 > 0 {
            set(name, time(value));
        }
    }
    if step.fsync > 0 {
        set(if step.datasync { "fdatasync" } else { "fsync" }, step.fsync.to_string());
    }
    if step.end_fsync {
        set("end_fsync", "1".into());
    }
    if let Err(why) = rate(step, &mut set) {
        return refuse(why);
    }
    if step.distribution != Distribution::Uniform {
        set("random_distribution", step.distribution.to_string());
    }
    if step.norandommap {
        set("norandommap", "1".into());
    }
    // fio reads signed numbers.
    set("randseed", (seed & (u64::MAX >> 1)).to_string());
    data(step, &mut set);
    if let Some(cpus) = &step.cpus {
        set("cpus_allowed", cpus.to_string());
        set("cpus_allowed_policy", if step.cpus_shared { "shared" } else { "split" }.into());
    }
    for (name, wanted) in [("hipri", step.iopoll), ("sqthread_poll", step.sqpoll)] {
        if wanted {
            set(name, "1".into());
        }
    }
    if !step.direct && !step.invalidate {
        set("invalidate", "0".into());
    }
    if !step.direct {
        match step.fadvise {
            Some(advice) if advice == Fadvise::of(step.rw) => {}
            Some(Fadvise::Random) => set("fadvise_hint", "random".into()),
            Some(Fadvise::Sequential) => set("fadvise_hint", "sequential".into()),
            None => set("fadvise_hint", "0".into()),
        }
    }
    set("group_reporting", "1".into());
    Ok(options)
}

/// fio's rate is that of one job and one direction; its schedule goes on while requests wait only when they are handed to another thread.
fn rate(step: &Step, set: &mut impl FnMut(&'static str, String)) -> Result<(), String> {
    let Some(all) = step.arrivals_per_second() else { return Ok(()) };
    let job = all / f64::from(step.numjobs);
    let reads = job * f64::from(step.rwmix) / 100.0;
    let wanted = if step.rw.directions().len() == 2 { vec![reads, job - reads] } else { vec![job] };
    if let Some(off) = wanted.iter().find(|r| (r.round() / **r - 1.0).abs() > 0.01) {
        return Err(format!(
            "{off:.3} I/Os a second for one job is not near a whole number, and fio's rates are: use fewer jobs"
        ));
    }
    let wanted: Vec<String> = wanted.iter().map(|r| format!("{r:.0}")).collect();
    set("rate_iops", wanted.join(","));
    set("io_submit_mode", "offload".into());
    if step.arrival == Arrival::Poisson {
        set("rate_process", "poisson".into());
    }
    Ok(())
}

/// Block sizes, of reads and writes apart where they differ.
fn blocks(step: &Step, set: &mut impl FnMut(&'static str, String)) {
    let sizes = [Some(&step.bs), step.bs_write.as_ref()];
    if sizes.iter().flatten().all(|s| s.single().is_some()) {
        let bytes: Vec<_> = sizes.iter().flatten().map(|s| bytes(s.largest())).collect();
        set("bs", bytes.join(","));
        return;
    }
    let split = |sizes: &BlockSizes| {
        let shares: Vec<_> =
            sizes.shares().iter().map(|(b, share)| format!("{}/{share}", bytes(*b))).collect();
        shares.join(":")
    };
    set("bssplit", sizes.iter().flatten().map(|s| split(s)).collect::<Vec<_>>().join(","));
}

/// What writes carry.
fn data(step: &Step, set: &mut impl FnMut(&'static str, String)) {
    if step.compressible > 0 {
        set("buffer_compress_percentage", step.compressible.to_string());
    }
    if step.compressible > 0 && step.compressible < 100 {
        set("buffer_compress_chunk", bytes(step.compress_chunk.unwrap_or(Bytes::kib(4))));
    }
    if let Some(pattern) = &step.buffer_pattern {
        set("buffer_pattern", pattern.to_string());
    }
    if step.compressible > 0 || step.refills() {
        set("refill_buffers", "1".into());
    }
    if !step.scramble {
        set("scramble_buffers", "0".into());
    }
}

/// Sequential jobs of ours get parts of their own.
fn in_parts(step: &Step) -> bool {
    step.offset_increment.is_none() && !step.rw.is_random() && step.numjobs > 1
}

/// Which part of the target, and where each job begins in it.
fn range(step: &Step, target: Option<Bytes>, set: &mut impl FnMut(&'static str, String)) {
    let jobs = u64::from(step.numjobs);
    let block = step.bs.largest().max(step.bs_write.as_ref().map_or(Bytes(0), BlockSizes::largest)).0;
    let whole = step.size.or(target.map(|t| Bytes(t.0.saturating_sub(step.offset.0))));
    let parts = in_parts(step);
    match whole {
        Some(whole) if parts => {
            let share = whole.0 / jobs / block * block;
            set("size", bytes(Bytes(share)));
            set("offset_increment", bytes(Bytes(share)));
        }
        None if parts => {
            set("size", format!("{}%", 100 / jobs));
            set("offset_increment", format!("{}%", 100 / jobs));
        }
        Some(whole) if step.size.is_some() || step.offset.0 > 0 => set("size", bytes(whole)),
        _ => {}
    }
    if step.offset.0 > 0 {
        set("offset", bytes(step.offset));
    }
    if let Some(increment) = step.offset_increment.filter(|i| i.0 > 0) {
        set("offset_increment", bytes(increment));
    }
    if let Some(amount) = step.io_size {
        set("io_size", bytes(amount));
    }
}

/// A time with the largest unit that keeps it exact: a bare number would mean seconds or microseconds, depending on the option.
fn time(value: Nanos) -> String {
    match value.0 {
        ns if ns % 1_000_000_000 == 0 => format!("{}s", ns / 1_000_000_000),
        ns if ns % 1_000_000 == 0 => format!("{}ms", ns / 1_000_000),
        ns => format!("{}us", ns / 1000),
    }
}

/// A size as fio reads it with its default `kb_base=1024`.
fn bytes(n: Bytes) -> String {
    match n.exact().strip_suffix("iB") {
        Some(short) => short.to_ascii_lowercase(),
        None => n.0.to_string(),
    }
}

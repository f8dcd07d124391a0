//! Makes targets ready: how large a test file should be, and filling it with data that is really there.
//!
//! A file that was only allocated reads as zeros from memory, so every byte is written (incompressible, by the load engine itself,
//! which makes the speed of filling the volume's own) and made durable before anything is measured.

use std::os::fd::AsFd;
use std::sync::Arc;

use anyhow::Context;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use volproof_base::stats::LEAST_QUOTABLE;
use volproof_base::unit::{Bytes, Nanos, total};
use volproof_device::guard::Clearance;
use volproof_engine::{self as engine, EngineError, Load, Target, Timer, Watch};
use volproof_plan::{BlockSizes, EngineKind, FileState, Pattern, Plan, Step};

/// The file made when nobody asked for a size: no cache on the way holds much of it, so that the figures stand (`small-range`). A volume of
/// 100 MB/s is filled in six minutes.
const USUAL: Bytes = Bytes::gib(32);
/// The file of a look, a plan whose steps are too short to be quoted (`short-run`): filled in a minute or so.
const LOOK: Bytes = Bytes::gib(4);

/// The size of a test file, and why, from free space and memory.
///
/// Direct I/O: 32 GiB, or 4 GiB for a look; where that is more than half of the free space, a quarter of the free space. Through the page
/// cache: twice the memory, so that it cannot all be cached, but at most half of the free space. No more than the steps use.
///
/// # Errors
/// When that leaves no room for the plan's own blocks.
pub fn file_size(plan: &Plan, free: Bytes, memory: Bytes) -> Result<(Bytes, String), String> {
    let mib = |b: u64| Bytes(b / Bytes::MIB.0 * Bytes::MIB.0);
    let own = own_files(plan);
    let free = Bytes(free.0.checked_sub(own.0).ok_or_else(|| {
        format!(
            "only {free} are free, and the files of single steps (file-state) take {own}: free some space"
        )
    })?);
    if is_stand_in(plan) {
        return Ok((Bytes::MIB, "since every step has a file of its own".into()));
    }
    let usual = usual(plan);
    // What waits for the disk after some writes is not hidden by the cache.
    let cached = |s: &Step| {
        s.file_state == FileState::Filled
            && !s.direct
            && (s.fsync == 0 || !s.rw.changes_data())
            && s.sync.is_none()
    };
    let (size, why) = if plan.steps.iter().any(cached) {
        let wanted = Bytes(memory.0.saturating_mul(2));
        if wanted.0 <= free.0 / 2 {
            (mib(wanted.0), format!("twice the memory of {memory}, as buffered I/O asks for"))
        } else {
            (mib(free.0 / 2), format!("half of the {free} that are free; the page cache may hold part of it"))
        }
    } else if free.0 / 2 >= usual.0 {
        (usual, format!("of {free} that are free; direct I/O bypasses the memory of {memory}"))
    } else {
        (mib(free.0 / 4), format!("a quarter of the {free} that are free"))
    };
    let (size, why) = match furthest(plan) {
        Some(end) if end < size => (end, "its steps use no more".into()),
        _ => (size, why),
    };
    let needed = least(plan);
    if size < needed {
        return Err(format!(
            "only {free} are free, and the plan needs a file of {needed} at least: free some space, or give --file-size or --size"
        ));
    }
    Ok((size, why))
}

/// The size of a simulated volume in a folder, and why: that of a test file, whatever is free there, so that every machine gets the same.
pub fn simulated_size(plan: &Plan) -> (Bytes, String) {
    let size = match furthest(plan) {
        Some(end) => usual(plan).min(end),
        None => usual(plan),
    };
    let size = size.max(least(plan));
    (size, format!("{size}, simulated"))
}

fn usual(plan: &Plan) -> Bytes {
    if plan.steps.iter().all(|s| s.runtime < LEAST_QUOTABLE) { LOOK } else { USUAL }
}

/// Whether no step uses the test file, since each has a file of its own.
pub fn is_stand_in(plan: &Plan) -> bool {
    !plan.steps.is_empty() && plan.steps.iter().all(|s| s.file_state != FileState::Filled)
}

/// Room for the files that single steps have of their own.
fn own_files(plan: &Plan) -> Bytes {
    let own = plan.steps.iter().filter(|s| s.file_state != FileState::Filled);
    Bytes(total(own.filter_map(|s| s.size).map(|size| size.0)))
}

/// The end of the last byte that a step uses of the target, in whole MiB; none where a step uses all of it.
fn furthest(plan: &Plan) -> Option<Bytes> {
    let last = |s: &Step| {
        let further =
            s.offset_increment.map_or(0, |d| d.0.saturating_mul(u64::from(s.numjobs).saturating_sub(1)));
        Some(s.offset.0.saturating_add(further).saturating_add(s.size?.0))
    };
    let shared = plan.steps.iter().filter(|s| s.file_state == FileState::Filled);
    let ends = shared.map(last).collect::<Option<Vec<u64>>>()?;
    let end = ends.into_iter().max()?.checked_next_multiple_of(Bytes::MIB.0)?;
    Some(Bytes(end).max(least(plan)))
}

/// The smallest target on which every job of every step has room for a block, and the ranges that were asked for exist.
pub fn least(plan: &Plan) -> Bytes {
    let of_step = |s: &Step| {
        let (block, jobs) = (s.largest_block().0, u64::from(s.numjobs));
        let part = |blocks: u64| s.size.map_or(blocks, |s| s.0.max(blocks));
        s.offset.0
            + match s.offset_increment {
                Some(distance) => distance.0.saturating_mul(jobs - 1).saturating_add(part(block)),
                None => part(block * if s.rw.is_random() { 1 } else { jobs }),
            }
    };
    let shared = plan.steps.iter().filter(|s| s.file_state == FileState::Filled);
    Bytes(shared.map(of_step).max().unwrap_or(0)).max(Bytes::MIB)
}

/// The blocks that are filled at once.
const BLOCK: Bytes = Bytes::MIB;

/// Gives a file its length and room for all of it, where there is so much; else it grows with what is written to it.
pub fn reserve(clearance: &Clearance, to: Bytes) {
    let _ = rustix::fs::fallocate(clearance.as_fd(), FallocateFlags::empty(), 0, to.0);
}

/// Gives a file its length, with room for all of it where the filesystem can promise that; nothing is written.
///
/// # Errors
/// When the filesystem has no room, or takes no file so long.
pub fn allocate(clearance: &Clearance, to: Bytes) -> std::io::Result<()> {
    match rustix::fs::fallocate(clearance.as_fd(), FallocateFlags::empty(), 0, to.0) {
        Err(Errno::NOSPC) => Err(Errno::NOSPC.into()),
        Err(_) => Ok(rustix::fs::ftruncate(clearance.as_fd(), to.0)?),
        Ok(()) => Ok(()),
    }
}

/// Fills a file from one length to another. `watch` gets the share done, the time, and bytes a second; it ends the filling
/// by returning false.
///
/// Returns the time it took, or `None` when it was ended.
///
/// # Errors
/// When a write fails; the message has the error and what to do.
pub fn fill(
    clearance: &Arc<Clearance>,
    from: Bytes,
    to: Bytes,
    seed: u64,
    timer: &Timer,
    watch: impl FnMut(f64, Nanos, f64) -> bool,
) -> anyhow::Result<Option<Nanos>> {
    let began = std::time::Instant::now();
    // Allocated first, so that parallel writes do not each extend the file.
    allocate(clearance, to).with_context(|| {
        format!(
            "making room for {to} in {}, which its filesystem and the limit of file sizes (ulimit -f) have to allow",
            clearance.path().display()
        )
    })?;
    // What is no whole block at either end, as the sizes of other people's files may be.
    let body = from.0.next_multiple_of(BLOCK.0)..to.0 / BLOCK.0 * BLOCK.0;
    let blocks = body.start < body.end;
    let ends = if blocks { [from.0..body.start, body.end..to.0] } else { [from.0..to.0, 0..0] };
    if blocks && !whole_blocks(clearance, body.start, body.end, seed, timer, watch)? {
        return Ok(None);
    }
    for part in ends.into_iter().filter(|p| !p.is_empty()) {
        let mut data = vec![0; (part.end - part.start) as usize];
        Xoshiro256PlusPlus::seed_from_u64(seed ^ part.start).fill_bytes(&mut data);
        write_all(&clearance.again(false)?, &data, part.start)
            .with_context(|| format!("filling {}", clearance.path().display()))?;
    }
    rustix::fs::fsync(clearance.as_fd())?;
    Ok(Some(Nanos(began.elapsed().as_nanos() as u64)))
}

fn write_all(clearance: &Clearance, mut data: &[u8], mut at: u64) -> std::io::Result<()> {
    while !data.is_empty() {
        let n = rustix::io::pwrite(clearance.as_fd(), data, at)?;
        (data, at) = (&data[n..], at + n as u64);
    }
    Ok(())
}

/// Fills the blocks from one offset to another by the load engine. False when it was ended.
fn whole_blocks(
    clearance: &Arc<Clearance>,
    from: u64,
    to: u64,
    seed: u64,
    timer: &Timer,
    mut watch: impl FnMut(f64, Nanos, f64) -> bool,
) -> anyhow::Result<bool> {
    let size = Bytes(to - from);
    let engine = engine::choose(EngineKind::IoUring)?.engine;
    let step = Step {
        name: "fill".into(),
        rw: Pattern::Write,
        bs: BlockSizes::one(BLOCK),
        iodepth: if engine == EngineKind::Psync { 1 } else { 16 },
        runtime: Nanos(0),
        offset: Bytes(from),
        size: Some(size),
        io_size: Some(size),
        engine,
        direct: clearance.is_direct(),
        ..Step::default()
    };
    let targets = [Target::new(Some(clearance.clone()), Bytes(to))];
    let load = Load {
        step: &step,
        engine,
        targets: &targets,
        seed,
        continue_on_error: false,
        cpus: &[],
        gate: None,
    };
    let mut written = 0u64;
    let outcome = engine::run(&load, timer, &mut |w: Watch<'_>| {
        written += w.fresh.iter().flat_map(|i| i.counts.iter()).map(|(_, c)| c.bytes.0).sum::<u64>();
        let share = written as f64 / size.0 as f64;
        let elapsed = w.elapsed.unwrap_or_default();
        watch(share, elapsed, written as f64 / elapsed.as_seconds().max(1e-3))
    })
    .map_err(|e: EngineError| anyhow::anyhow!("filling {}: {e}", clearance.path().display()))?;
    if let Some(failure) = outcome.ends.iter().flat_map(|e| &e.failures).next() {
        anyhow::bail!(
            "filling {} failed at offset {}: {}",
            clearance.path().display(),
            failure.offset,
            volproof_engine::explain(failure)
        );
    }
    if let Some(why) = outcome.ends.iter().find_map(|e| e.failed.clone()) {
        anyhow::bail!("filling {}: {why}", clearance.path().display());
    }
    Ok(!outcome.interrupted && outcome.stuck == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_plan::PRESETS;

    #[test]
    fn sizes_follow_space_and_memory() {
        let plan = PRESETS[0].plan();
        let size = |free, memory| file_size(&plan, free, memory).map(|s| s.0);
        assert_eq!(size(Bytes::gib(100), Bytes::gib(24)), Ok(Bytes::gib(32)));
        assert_eq!(size(Bytes::gib(60), Bytes::gib(24)), Ok(Bytes::gib(15)));
        let look = file_size(&PRESETS[1].plan(), Bytes::gib(100), Bytes::gib(24)).unwrap().0;
        assert_eq!(look, Bytes::gib(4));
        assert_eq!(size(Bytes::gib(4), Bytes::gib(24)), Ok(Bytes::gib(1)));
        assert!(size(Bytes::mib(3), Bytes::gib(1)).unwrap_err().contains("free some space"));
        let mut buffered = PRESETS[0].plan();
        buffered.steps[0].direct = false;
        assert_eq!(file_size(&buffered, Bytes::gib(100), Bytes::gib(2)).unwrap().0, Bytes::gib(4));
        assert_eq!(file_size(&buffered, Bytes::gib(100), Bytes::gib(64)).unwrap().0, Bytes::gib(50));
    }

    #[test]
    fn no_more_is_written_than_the_steps_use() {
        let mut plan = PRESETS[0].plan();
        let size = |plan: &Plan| file_size(plan, Bytes::gib(100), Bytes::gib(24)).unwrap();
        plan.steps.iter_mut().for_each(|step| step.size = Some(Bytes::mib(64)));
        assert_eq!(size(&plan), (Bytes::mib(64), "its steps use no more".into()));
        plan.steps[0].offset = Bytes(Bytes::gib(1).0 + 4096);
        assert_eq!(size(&plan).0, Bytes(Bytes::gib(1).0 + Bytes::mib(65).0));
        (plan.steps[1].offset_increment, plan.steps[1].numjobs) = (Some(Bytes::gib(1)), 3);
        assert_eq!(size(&plan).0, Bytes(Bytes::gib(2).0 + Bytes::mib(64).0));
        plan.steps[2].size = None;
        assert_eq!(size(&plan).0, Bytes::gib(32), "a step uses all of it");
    }

    #[test]
    fn the_least_size_has_room_for_every_job() {
        let mut plan = PRESETS[0].plan();
        plan.steps[2].numjobs = 8;
        assert_eq!(least(&plan), Bytes::mib(8));
        plan.steps[0].offset = Bytes::gib(1);
        assert_eq!(least(&plan), Bytes(Bytes::gib(1).0 + 4096));
    }
}

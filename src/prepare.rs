//! Makes targets ready: fills them with data that is really there.
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

use volproof_base::unit::{Bytes, Nanos};
use volproof_device::guard::Clearance;
use volproof_engine::{self as engine, EngineError, Load, Target, Timer, Watch};
use volproof_plan::{BlockSizes, EngineKind, Pattern, Step};

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
        tap: None,
    };
    let mut written = 0u64;
    let outcome = engine::run(&load, timer, &mut |w: Watch<'_>| {
        written += w.fresh.iter().flat_map(|i| i.counts.iter()).map(|(_, c)| c.bytes.0).sum::<u64>();
        let share = written as f64 / size.0 as f64;
        let elapsed = w.elapsed.unwrap_or_default();
        watch(share, elapsed, written as f64 / elapsed.as_seconds().max(1e-3))
    })
    .map_err(|e: EngineError| anyhow::anyhow!("filling {}: {e}", clearance.path().display()))?;
    if let Some(failure) = outcome.ends.iter().flat_map(|e| &e.errors.first).next() {
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

//! `zonemode=strided`: which zones a job has, and how much it does where the end of its target cuts the last one.
//!
//! fio's zones (`setup_strided_zone_mode` in io_u.c, and what fio 3.33 was seen to do) begin at the job's offset and go on to the end of the
//! file or device, whatever `size` says: `size` is how much is done in all. Zone and block lengths that do not divide, directions with
//! sizes of their own and skewed distributions lead fio over the ends of zones; such jobs are left to it.

use super::super::job::Job;
use super::super::number::Size;
use super::Obstacles;
use crate::plan::{Distribution, Step, Zones};
use crate::unit::Bytes;

/// The zones of a job.
pub(super) fn of(job: &Job, step: &Step, obstacles: &mut Obstacles<'_>) -> Option<Zones> {
    let bytes = |name: &str| job.int(name).and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0).map(Bytes);
    let size = bytes("zonesize");
    match job.choice("zonemode").unwrap_or("none") {
        "strided" => {}
        "none" => {
            if size.is_some() {
                obstacles.refused("zonesize", "it is the size of a zone: say zonemode=strided");
            }
            return None;
        }
        // What the table says of it is enough.
        _ => return None,
    }
    let Some(size) = size else {
        obstacles.refused("zonemode=strided", "you need to specify zonesize= with it");
        return None;
    };
    let skip = match job.size("zoneskip") {
        None => Bytes(0),
        Some(Size::Bytes(n)) => Bytes(n),
        Some(_) => {
            obstacles.fio_only("zoneskip", "volproof passes over a plain number of bytes");
            return None;
        }
    };
    let zones = Zones { size, range: bytes("zonerange"), skip };
    let random = step.rw.is_random();
    let mut not = |why| obstacles.fio_only("zonemode=strided", why);
    match step.single_block() {
        Some(block) if zones.range().0.is_multiple_of(block.0) => {}
        _ => not("fio goes over the end of zones that are not whole blocks of one size"),
    }
    if random && (step.distribution != Distribution::Uniform || step.align.is_some()) {
        not("fio leaves the zones where random offsets are not those of whole blocks, all alike");
    }
    if !step.stride.is_zero() {
        not("its gaps are laid over those between the zones");
    }
    Some(zones)
}

/// How much of its amount a job does, where the end of its part cuts the last zone: `per_pass` is what it would do until then, from the
/// first zone on. None where fio does something else there than volproof, which has been said then.
pub(super) fn pass(
    step: &Step,
    zones: &Zones,
    part: Bytes,
    amount: Option<u64>,
    obstacles: &mut Obstacles<'_>,
) -> Option<Pass> {
    let random = step.rw.is_random();
    let block = step.largest_block();
    let Some(cut) = zones.cut_after(block, random, part) else { return Some(Pass::Endless) };
    let mixed = step.rw.directions().len() > 1;
    if amount.is_some_and(|amount| amount <= cut.0) {
        return Some(Pass::Endless);
    }
    if random || mixed || amount.is_none() {
        let why = "the last zone is cut by the end of the target, where fio goes on otherwise";
        obstacles.fio_only("zonesize", why);
        return None;
    }
    Some(Pass::Ends(cut.0))
}

/// How a job goes through its zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// Round and round, up to the amount.
    Endless,
    /// A pass, which is so long, ends one of the loops.
    Ends(u64),
}

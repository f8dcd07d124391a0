//! `cap`: a limit on I/Os or on bytes a second.
//!
//! **Experiment:** the same load with blocks of a quarter and of four times the size.
//!
//! **Shown** where I/Os wait for the volume, and I/Os a second (or bytes) stay the same within 3 %. The figure is looked up: which volumes of the
//! provider promise exactly that? A volume that serves a fixed number of I/Os at a time looks the same: see `slow-volume`.

use super::{CauseCase, Change, FACTOR, found, is_same, slow_volume, sold_as, this_machine};
use crate::device::SECTOR;
use crate::judge::load::MOST_BYTES;
use crate::plan::{BlockSizes, Step};
use crate::record::{Cause, CauseEvidence, CauseRow, CauseTrial, NotTried, Outcome};
use crate::unit::Bytes;

/// The largest block that is tried.
const LARGEST_BLOCK: Bytes = Bytes::mib(4);
/// An I/O that takes so many times as long as one alone waited for the volume.
const QUEUED: f64 = 1.5;

const SIZES: [Change; 2] = [Change::SmallerBlock, Change::LargerBlock];

pub(super) fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    if case.is_of_latency() {
        return Some(NotTried::OneAtATime);
    }
    SIZES.iter().all(|size| block(case, *size).is_none()).then_some(NotTried::NoOtherSize)
}

/// The block of a trial, where the target and the memory allow it.
fn block(case: &CauseCase<'_>, size: Change) -> Option<Bytes> {
    let base = case.load.single_block()?;
    let aligned = case.record.targets_of(case.base).into_iter().filter_map(|t| t.facts.direct());
    let sector = aligned.map(|direct| direct.offset_bytes).max().unwrap_or(Bytes(SECTOR));
    let depth = case.short_load().depth_per_target() * case.targets() as u64;
    if size == Change::SmallerBlock {
        let smaller = Bytes(base.0 / FACTOR);
        return (base.0.is_multiple_of(FACTOR * sector.0)).then_some(smaller);
    }
    let larger = Bytes(base.0.saturating_mul(FACTOR));
    let in_flight = larger.0.saturating_mul(depth);
    (larger <= LARGEST_BLOCK && in_flight <= MOST_BYTES.0).then_some(larger)
}

pub(super) fn next(case: &CauseCase<'_>) -> Option<Step> {
    let is_open = |size: &Change| !case.was_begun(Cause::Cap, *size) && block(case, *size).is_some();
    let size = SIZES.into_iter().find(is_open)?;
    let bs = BlockSizes::one(block(case, size)?);
    let load = Step { bs, bs_write: None, ..case.short_load() };
    Some(case.step(Cause::Cap, size, load))
}

/// Under a limit on I/Os smaller blocks come as often, under one on bytes larger blocks carry as many. Where one of the sizes is not possible, the
/// other one tells.
pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    let base = case.base_trial();
    let (smaller, larger) =
        (case.trial(Cause::Cap, Change::SmallerBlock), case.trial(Cause::Cap, Change::LargerBlock));
    let for_ios = smaller.as_ref().or(larger.as_ref())?;
    let for_bytes = larger.as_ref().or(smaller.as_ref())?;
    let counts_ios = is_same(for_ios.ios_per_second, base.ios_per_second);
    let counts_bytes = is_same(for_bytes.bytes_per_second, base.bytes_per_second);
    let is_shown = (counts_ios || counts_bytes) && waits(case);
    let trials: Vec<CauseTrial> = smaller.into_iter().chain([base]).chain(larger).collect();
    let evidence = is_shown.then(|| limit(case, !counts_ios));
    Some(found(Cause::Cap, is_shown, trials, evidence))
}

/// I/Os wait for the volume: they take longer than one alone, and no load thread holds them back. Else the rate is the same at every size because as
/// many are in flight, or sent.
fn waits(case: &CauseCase<'_>) -> bool {
    let alone = slow_volume::own_latency(case);
    let queues = alone.is_none_or(|alone| case.base_trial().latency_ns > QUEUED * alone);
    queues && !this_machine::grows_with_workers(case)
}

/// The limit, and the volumes of the catalogue that are sold with it.
fn limit(case: &CauseCase<'_>, counts_bytes: bool) -> CauseEvidence {
    let base = case.base_trial();
    let per_second = if counts_bytes { base.bytes_per_second } else { base.ios_per_second };
    let is_missed = case.claim.outcome == Outcome::Fail;
    let sold_as = if is_missed {
        sold_as::volumes(case.judged_promise, case.load, counts_bytes, per_second)
    } else {
        Vec::new()
    };
    CauseEvidence::Limit { counts_bytes, per_second, sold_as }
}

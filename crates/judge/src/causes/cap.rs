//! `cap`: a limit on I/Os or on bytes a second.
//!
//! **Experiment:** the same load with blocks of a quarter and of four times the size.
//!
//! **Shown** where I/Os wait for the volume, and I/Os a second (or bytes) stay the same within 3 %; open where they do not, and their intervals
//! allow it. Where they do not, the control counts instead of the load before. The figure is looked up: which volumes of the
//! provider promise exactly that? A volume that serves a fixed number of I/Os at a time looks the same: see `slow-volume`.

use super::cause_case::{CauseCase, Change};
use super::cause_row::answered;
use super::trial::{TrialComparison, same};
use super::{control, slow_volume, sold_as, this_machine};
use crate::saturating_depth::MOST_BYTES;
use crate::thresholds::LOADS_APART;
use volproof_base::unit::Bytes;
use volproof_device::device::SECTOR;
use volproof_plan::{BlockSizes, Step};
use volproof_record::{Cause, CauseEvidence, CauseRow, CauseTrial, NotTried, Outcome};

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
        let smaller = Bytes(base.0 / LOADS_APART);
        return (base.0.is_multiple_of(LOADS_APART * sector.0)).then_some(smaller);
    }
    let larger = Bytes(base.0.saturating_mul(LOADS_APART));
    let in_flight = larger.0.saturating_mul(depth);
    (larger <= LARGEST_BLOCK && in_flight <= MOST_BYTES.0).then_some(larger)
}

pub(super) fn next(case: &CauseCase<'_>) -> Option<Step> {
    let is_open = |size: &Change| !case.was_begun(Cause::Cap, *size) && block(case, *size).is_some();
    let size = SIZES.into_iter().find(is_open)?;
    let bs = BlockSizes::one(block(case, size)?);
    let load = Step { bs, ..case.short_load() };
    Some(case.step(Cause::Cap, size, load))
}

pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    let mut sizes = Sizes::beside(case, case.base_trial())?;
    if !sizes.is_at_limit() {
        sizes = Sizes::beside(case, control::trial(case)?)?;
    }
    let compared = if waits(case) { sizes.at_limit() } else { TrialComparison::No };
    let evidence = (compared == TrialComparison::Yes).then(|| limit(case, &sizes));
    let trials = [sizes.smaller, Some(sizes.base), sizes.larger].into_iter().flatten().collect();
    Some(answered(Cause::Cap, compared, trials, evidence))
}

/// Neither I/Os nor bytes were the same as before.
pub(super) fn needs_control(case: &CauseCase<'_>) -> bool {
    let is_tried = next(case).is_none();
    is_tried && Sizes::beside(case, case.base_trial()).is_some_and(|sizes| !sizes.is_at_limit())
}

/// The load that decides, beside smaller and larger blocks.
struct Sizes {
    base: CauseTrial,
    smaller: Option<CauseTrial>,
    larger: Option<CauseTrial>,
}

impl Sizes {
    /// None before a trial is measured.
    fn beside(case: &CauseCase<'_>, base: CauseTrial) -> Option<Sizes> {
        let [smaller, larger] = SIZES.map(|size| case.trial(Cause::Cap, size));
        let any = smaller.is_some() || larger.is_some();
        any.then_some(Sizes { base, smaller, larger })
    }

    /// Under a limit on I/Os smaller blocks come as often. Where no smaller size is possible, the larger one tells.
    fn same_ios(&self) -> TrialComparison {
        let other = self.smaller.as_ref().or(self.larger.as_ref());
        other.map_or(TrialComparison::No, |other| same(|trial| trial.ios_per_second, other, &self.base))
    }

    /// Under a limit on bytes larger blocks carry as many. Where no larger size is possible, the smaller one tells.
    fn same_bytes(&self) -> TrialComparison {
        let other = self.larger.as_ref().or(self.smaller.as_ref());
        other.map_or(TrialComparison::No, |other| same(|trial| trial.bytes_per_second, other, &self.base))
    }

    /// Whether one of them stays the same.
    fn at_limit(&self) -> TrialComparison {
        TrialComparison::of_any(&[self.same_ios(), self.same_bytes()])
    }

    fn is_at_limit(&self) -> bool {
        self.at_limit() == TrialComparison::Yes
    }
}

/// I/Os wait for the volume: they take longer than one alone, and no load thread holds them back. Else the rate is the same at every size because as
/// many are in flight, or sent.
fn waits(case: &CauseCase<'_>) -> bool {
    let alone = slow_volume::own_latency(case);
    let queues = alone.is_none_or(|alone| case.base_trial().latency_ns > QUEUED * alone);
    queues && !this_machine::grows_with_workers(case)
}

/// The limit, and the volumes of the catalogue that are sold with it.
fn limit(case: &CauseCase<'_>, sizes: &Sizes) -> CauseEvidence {
    let counts_bytes = sizes.same_ios() != TrialComparison::Yes;
    let per_second = if counts_bytes { sizes.base.bytes_per_second } else { sizes.base.ios_per_second };
    let is_missed = case.claim.outcome == Outcome::Fail;
    let sold_as = if is_missed {
        sold_as::volumes(case.judged_promise, case.load, counts_bytes, per_second)
    } else {
        Vec::new()
    };
    CauseEvidence::Limit { counts_bytes, per_second, sold_as }
}

//! A cap on I/Os or on bytes a second: the same load with smaller and with larger blocks.

use super::{CauseCase, Experiment, found, is_same, slow_volume, sold_as, this_machine};
use crate::device::SECTOR;
use crate::plan::{BlockSizes, Step};
use crate::record::{Cause, CauseEvidence, CauseRow, CauseTrial, NotTried, Outcome};
use crate::unit::{Bytes, Nanos};

pub(super) const EXPERIMENT: Experiment = Experiment { cause: Cause::Cap, obstacle, next, row };

/// Buckets of a second or less even out within it.
const TRIAL_OF_A_CAP: Nanos = Nanos::seconds(15);
/// Blocks are smaller or larger by this factor: no promise changes as much by chance.
const FACTOR: u64 = 4;
/// The largest block that is tried, and the most bytes in flight: those of the saturating depth.
const LARGEST_BLOCK: Bytes = Bytes::mib(4);
const MOST_IN_FLIGHT: Bytes = Bytes::gib(1);
/// An I/O that takes so many times as long as one alone waited for the volume.
const QUEUED: f64 = 1.5;
const SMALLER: &str = "quarter-block";
const LARGER: &str = "four-blocks";

fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    if case.is_of_latency() {
        return Some(NotTried::OneAtATime);
    }
    [SMALLER, LARGER].iter().all(|name| block(case, name).is_none()).then_some(NotTried::NoOtherSize)
}

/// The block of a case, where the target and the memory allow it.
fn block(case: &CauseCase<'_>, name: &str) -> Option<Bytes> {
    let base = case.load.single_block()?;
    let aligned = case.record.targets_of(case.base).into_iter().filter_map(|t| t.facts.direct());
    let sector = aligned.map(|direct| direct.offset_bytes).max().unwrap_or(Bytes(SECTOR));
    let depth = case.load.depth_per_target() * case.targets() as u64;
    if name == SMALLER {
        let smaller = Bytes(base.0 / FACTOR);
        return (base.0.is_multiple_of(FACTOR * sector.0)).then_some(smaller);
    }
    let larger = Bytes(base.0.saturating_mul(FACTOR));
    let in_flight = larger.0.saturating_mul(depth);
    (larger <= LARGEST_BLOCK && in_flight <= MOST_IN_FLIGHT.0).then_some(larger)
}

fn next(case: &CauseCase<'_>) -> Option<Step> {
    let is_open = |name: &&&str| !case.was_begun(Cause::Cap, name) && block(case, name).is_some();
    let name = [SMALLER, LARGER].iter().find(is_open)?;
    let bs = BlockSizes::one(block(case, name)?);
    let load = Step { bs, bs_write: None, runtime: TRIAL_OF_A_CAP, ..case.short_load() };
    Some(case.step(Cause::Cap, name, load))
}

fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    let base = case.base_trial();
    let (smaller, larger) = (case.trial(Cause::Cap, SMALLER), case.trial(Cause::Cap, LARGER));
    let pairs = [(&smaller, &base), (&larger, &base)];
    let steady = |name: &str, figure: fn(&CauseTrial) -> f64| {
        let other = if name == SMALLER { pairs[0].0 } else { pairs[1].0 };
        other.as_ref().map(|other| is_same(figure(other), figure(&base)))
    };
    let ios: fn(&CauseTrial) -> f64 = |trial| trial.ios_per_second;
    let bytes: fn(&CauseTrial) -> f64 = |trial| trial.bytes_per_second;
    if smaller.is_none() && larger.is_none() {
        return None;
    }
    // Under a limit on I/Os smaller blocks come as often, under one on bytes larger blocks carry as many. Where one of the sizes is not
    // possible, the other one tells.
    let counts_ios = steady(SMALLER, ios).or_else(|| steady(LARGER, ios)) == Some(true);
    let counts_bytes = steady(LARGER, bytes).or_else(|| steady(SMALLER, bytes)) == Some(true);
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

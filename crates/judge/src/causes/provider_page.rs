//! What the rows of `volume-limit`, `instance-limit` and `not-throttled` have in common: AWS's page of counters in the step that decides.

use super::cause_case::CauseCase;
use super::cause_row::counted;
use super::sold_as;
use crate::provider::{is_owned, proven_limit};
use crate::thresholds::NEGLIGIBLE;
use volproof_base::unit::Nanos;
use volproof_device::nvme::log_reader::PageFault;
use volproof_device::nvme::provider_page::ExceededTimes;
use volproof_record::{
    Cause, CauseEvidence, CauseFinding, CauseRow, NotTried, PageStanding, ProvenLimit, ProviderFigures,
};

/// The provider counts something of these disks.
pub(super) fn is_told(case: &CauseCase<'_>) -> bool {
    !case.base.provider.is_empty()
}

/// The counters prove the limit that holds the volume back: no experiment says more.
pub(super) fn is_settled(case: &CauseCase<'_>) -> bool {
    case.claim.limit_below().is_some()
}

pub(super) fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    let standing = case.base.provider.iter().map(|page| &page.standing);
    let obstacles = standing.filter_map(|standing| match standing {
        PageStanding::Ours => None,
        PageStanding::Others { .. } => Some(NotTried::OthersOnVolume),
        PageStanding::NotOurs | PageStanding::Impossible => Some(NotTried::PageIsWrong),
        PageStanding::Unread(PageFault::NeedsRoot) => Some(NotTried::NeedsRoot),
        PageStanding::TooShort | PageStanding::Unread(_) => Some(NotTried::PageUnread),
    });
    obstacles
        .min_by_key(|why| *why != NotTried::NeedsRoot)
        .or((!is_owned(case.base)).then_some(NotTried::PageUnread))
}

/// The row of a limit that was exceeded for this share of the time.
pub(super) fn limit_row(case: &CauseCase<'_>, cause: Cause, share: f64) -> Option<CauseRow> {
    if obstacle(case).is_some() {
        return None;
    }
    let of_instance = cause == Cause::InstanceLimit;
    let limit = proven_limit(case.base).filter(|limit| limit.of_instance == of_instance);
    let finding = match limit {
        Some(limit) if limit.is_below(case.claim.measured, case.claim.limit) => CauseFinding::Proven,
        None if share > NEGLIGIBLE => CauseFinding::Part,
        // A limit at the promise or above it holds nothing back.
        Some(_) | None => CauseFinding::Excluded,
    };
    Some(counted(cause, finding, evidence(case, limit)))
}

/// What the counters say of the step.
pub(super) fn evidence(case: &CauseCase<'_>, limit: Option<ProvenLimit>) -> CauseEvidence {
    let longest = |times: fn(&ProviderFigures) -> &ExceededTimes| {
        case.base.provider.iter().map(|page| times(page).longest()).max().unwrap_or(Nanos(0))
    };
    let sold = limit
        .filter(|limit| !limit.of_instance)
        .map(|limit| sold_as::volumes(case.judged_promise, case.load, limit.counts_bytes, limit.per_second));
    CauseEvidence::Provider {
        volume_ns: longest(|page| &page.volume_exceeded),
        instance_ns: longest(|page| &page.instance_exceeded),
        counted_ns: case.base.provider.iter().map(|page| page.counted_ns).min().unwrap_or(Nanos(0)),
        limit,
        sold_as: sold.unwrap_or_default(),
    }
}

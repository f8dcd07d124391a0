//! What the causes share that `--anatomy` measures: the parts of the time of requests in the step that decides.

use super::cause_case::CauseCase;
use super::cause_row::counted;
use super::slow_volume;
use crate::thresholds::MOST_OF_THE_TIME;
use volproof_host::anatomy::{Anatomy, RequestPart};
use volproof_record::{Cause, CauseEvidence, CauseFinding, CauseRow};

/// Fewer requests tell no mean.
const LEAST_REQUESTS: u64 = 100;

/// The parts of the step that decides, where enough of its requests were traced.
pub(super) fn anatomy<'a>(case: &CauseCase<'a>) -> Option<&'a Anatomy> {
    case.base.evidence.anatomy.as_ref().filter(|anatomy| anatomy.joined >= LEAST_REQUESTS)
}

/// The row of a cause that is a part of the time. It is shown where the part has most of the time and the device takes no longer than usual; where
/// the device does too, requests wait because of it.
pub(super) fn row_of_part(case: &CauseCase<'_>, cause: Cause, part: RequestPart) -> Option<CauseRow> {
    let anatomy = anatomy(case)?;
    let device_ns = anatomy.part_mean(RequestPart::Device);
    let is_shown = anatomy.share(part) >= MOST_OF_THE_TIME && device_ns <= slow_volume::usual(case);
    let queues = case.base.evidence.queues.first();
    let evidence = CauseEvidence::RequestPart {
        part_ns: anatomy.part_mean(part),
        whole_ns: anatomy.whole_mean()?,
        device_ns,
        hardware_queues: queues.map_or(0, |queue| queue.hardware_queues),
        tags: queues.and_then(|queue| queue.nr_requests),
        scheduler: queues.and_then(|queue| queue.scheduler.clone()),
        busiest_cpu_share: busiest_cpu_share(anatomy),
    };
    let finding = if is_shown { CauseFinding::Shown } else { CauseFinding::Excluded };
    Some(counted(cause, finding, evidence))
}

/// The share of completions on the CPU that had most of them.
fn busiest_cpu_share(anatomy: &Anatomy) -> f64 {
    let most = anatomy.completions.iter().map(|cpu| cpu.requests).max().unwrap_or(0);
    most as f64 / anatomy.joined.max(1) as f64
}

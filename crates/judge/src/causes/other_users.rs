//! `other-users`: other programs used the volume.
//!
//! **Experiment:** the disk's own counters less the I/Os of the step that decides.
//!
//! **Proven** by more than 2 % that is not ours, where the promise would be kept with it; **part** where it would be missed with it too. Users of the
//! volume on other machines are not in these counters.

use super::{CauseCase, counted};
use crate::doubts::other_traffic;
use volproof_base::unit::Bytes;
use volproof_record::{Cause, CauseEvidence, CauseFinding, CauseRow, NotTried, StepFigures};

pub(super) fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    bytes(case).is_none().then_some(NotTried::NoCounters)
}

pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    let (disk, own) = bytes(case)?;
    let all_of_ours = disk / own;
    let finding = if all_of_ours - 1.0 <= other_traffic::most_beside_ours(case.base) {
        CauseFinding::Excluded
    } else if case.claim.measured * all_of_ours >= case.claim.limit {
        CauseFinding::Proven
    } else {
        CauseFinding::Part
    };
    let evidence = CauseEvidence::Disk { disk_bytes: Bytes(disk as u64), own_bytes: Bytes(own as u64) };
    Some(counted(Cause::OtherUsers, finding, evidence))
}

/// Bytes that the disks moved in the window of the deciding step, and ours. A stacked device has several disks, whose counters may tell an
/// I/O more than once.
fn bytes(case: &CauseCase<'_>) -> Option<(f64, f64)> {
    let one_each = case.record.evidence(case.base).disks.len() <= case.base.targets.len();
    let figures = StepFigures::of_step(case.record, case.base);
    other_traffic::bytes(&figures, case.base).filter(|(_, own)| one_each && case.load.direct && *own > 0.0)
}

//! `other-users`: other programs used the volume.
//!
//! **Experiment:** the disk's own counters less the I/Os of the step that decides.
//!
//! **Proven** by more than 2 % that is not ours. Users of the volume on other machines are not in these counters.

use super::{CauseCase, counted};
use crate::judge::doubts::other_traffic;
use crate::record::{Cause, CauseEvidence, CauseRow, NotTried, StepFigures};
use crate::unit::Bytes;

pub(super) fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    bytes(case).is_none().then_some(NotTried::NoCounters)
}

pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    let (disk, own) = bytes(case)?;
    let is_proven = disk / own - 1.0 > other_traffic::most_beside_ours(case.base);
    let evidence = CauseEvidence::Disk { disk_bytes: Bytes(disk as u64), own_bytes: Bytes(own as u64) };
    Some(counted(Cause::OtherUsers, is_proven, evidence))
}

/// Bytes that the disks moved in the window of the deciding step, and ours. A stacked device has several disks, whose counters may tell an
/// I/O more than once.
fn bytes(case: &CauseCase<'_>) -> Option<(f64, f64)> {
    let one_each = case.record.evidence(case.base).disks.len() <= case.base.targets.len();
    let figures = StepFigures::of(case.record, case.base);
    other_traffic::bytes(&figures, case.base).filter(|(_, own)| one_each && case.load.direct && *own > 0.0)
}

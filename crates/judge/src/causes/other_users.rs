//! `other-users`: other programs used the volume.
//!
//! **Experiment:** the disk's own counters less the I/Os of the step that decides.
//!
//! **Proven** by more than 2 % that is not ours, where the promise would be kept with it; **part** where it would be missed with it too. Users of the
//! volume on other machines are not in these counters.

use super::cause_case::CauseCase;
use super::cause_row::counted;
use crate::doubts::other_traffic;
use volproof_base::unit::Bytes;
use volproof_plan::Step;
use volproof_record::{
    Cause, CauseEvidence, CauseFinding, CauseRow, NotTried, Record, StepFigures, StepRecord,
};

pub(super) fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    bytes(case.record, case.load, case.base).is_none().then_some(NotTried::NoCounters)
}

pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    let (disk, own) = bytes(case.record, case.load, case.base)?;
    let finding = if !other_traffic::is_beyond_ours((disk, own), case.base) {
        CauseFinding::Excluded
    } else if case.claim.measured * disk / own >= case.claim.limit {
        CauseFinding::Proven
    } else {
        CauseFinding::Part
    };
    let evidence = CauseEvidence::Disk { disk_bytes: Bytes(disk as u64), own_bytes: Bytes(own as u64) };
    Some(counted(Cause::OtherUsers, finding, evidence))
}

/// Others took a part of the volume during a step.
pub(super) fn took_part(record: &Record, load: &Step, step: &StepRecord) -> bool {
    bytes(record, load, step).is_some_and(|moved| other_traffic::is_beyond_ours(moved, step))
}

/// Bytes that the disks moved in the window of a step, and ours. A stacked device has several disks, whose counters may tell an I/O more than
/// once.
fn bytes(record: &Record, load: &Step, step: &StepRecord) -> Option<(f64, f64)> {
    let one_each = record.evidence(step).disks.len() <= step.targets.len();
    let figures = StepFigures::of_step(record, step);
    other_traffic::bytes(&figures, step).filter(|(_, own)| one_each && load.direct && *own > 0.0)
}

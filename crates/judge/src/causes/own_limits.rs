//! `own-limits`: the process has limits of its own.
//!
//! **Experiment:** the kernel's files: `io.max` and `cpu.max` of the cgroups of the process, and the CPU time that the host took.
//!
//! **Proven** where the rate is at a limit, CPU time was denied, or the host took more than 1 %.

use super::cause_case::CauseCase;
use super::cause_row::counted;
use crate::doubts::own_cgroup_limit::limit_reached;
use crate::thresholds::NEGLIGIBLE;
use volproof_record::{Cause, CauseEvidence, CauseFinding, CauseRow, NotTried};

pub(super) fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    // A simulated device has a time of its own.
    if case.is_simulated() {
        return Some(NotTried::Simulated);
    }
    case.record.evidence(case.base).at_ns.is_empty().then_some(NotTried::NoCounters)
}

pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    if obstacle(case).is_some() {
        return None;
    }
    let evidence = case.record.evidence(case.base);
    let targets = case.record.targets_of(case.base);
    let cgroup = limit_reached(&targets, case.base).map(|limit| format!("{} {}", limit.file, limit.word));
    let throttled_periods = evidence.cgroup_throttled_periods.unwrap_or_default();
    let steal_share = evidence.steal_share();
    let is_proven = cgroup.is_some() || throttled_periods > 0 || steal_share > NEGLIGIBLE;
    let limits = CauseEvidence::Limits { cgroup, throttled_periods, steal_share };
    let finding = if is_proven { CauseFinding::Proven } else { CauseFinding::Excluded };
    Some(counted(Cause::OwnLimits, finding, limits))
}

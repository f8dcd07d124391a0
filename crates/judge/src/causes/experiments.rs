//! The experiments, in the order of the table; which of them can be done, and how each of them reads.

use super::cause_case::{CauseCase, Tried};
use super::cause_row::row;
use super::{
    burst_credits, cap, cold_blocks, completions_on_one_cpu, control, kernel_settings, limit_of_instance,
    not_throttled, other_users, own_limits, provider_page, queue_full, request_parts, scheduler, slow_volume,
    thermal_throttle, this_machine, too_little_load, volume_limit, volume_or_instance,
};
use volproof_base::unit::total;
use volproof_plan::{CausesWanted, Step};
use volproof_record::{Cause, CauseFinding, CauseRow, NotTried, Outcome, State};

/// An experiment on a cause.
pub(super) struct Experiment {
    pub(super) cause: Cause,
    /// Why it cannot be done here.
    pub(super) obstacle: fn(&CauseCase<'_>) -> Option<NotTried>,
    /// Its next missing step.
    pub(super) next: fn(&CauseCase<'_>) -> Option<Step>,
    /// What it shows; none while its steps are missing.
    pub(super) row: fn(&CauseCase<'_>) -> Option<CauseRow>,
    /// A trial of it differs from the load that decides: the control tells whether the volume changed instead.
    pub(super) needs_control: fn(&CauseCase<'_>) -> bool,
    /// Its trials compare rates or latencies: they show nothing while others take a part of the volume.
    pub(super) needs_volume_alone: bool,
}

/// Exact counters, or the steps that decided the promise, show the cause: no step is needed.
const COUNTED: Experiment = Experiment {
    cause: Cause::ColdBlocks,
    obstacle: cold_blocks::obstacle,
    next: |_| None,
    row: |_| None,
    needs_control: |_| false,
    needs_volume_alone: false,
};

/// In the order of the table.
pub(super) const EXPERIMENTS: [Experiment; 17] = [
    Experiment {
        cause: Cause::TooLittleLoad,
        obstacle: too_little_load::obstacle,
        row: too_little_load::row,
        ..COUNTED
    },
    Experiment {
        cause: Cause::ThisMachine,
        obstacle: this_machine::obstacle,
        next: this_machine::next,
        row: this_machine::row,
        needs_control: this_machine::needs_control,
        needs_volume_alone: true,
    },
    Experiment {
        cause: Cause::OtherUsers,
        obstacle: other_users::obstacle,
        row: other_users::row,
        ..COUNTED
    },
    Experiment { cause: Cause::OwnLimits, obstacle: own_limits::obstacle, row: own_limits::row, ..COUNTED },
    Experiment {
        cause: Cause::KernelSettings,
        obstacle: kernel_settings::obstacle,
        next: kernel_settings::next,
        row: kernel_settings::row,
        ..COUNTED
    },
    Experiment {
        cause: Cause::Cap,
        obstacle: cap::obstacle,
        next: cap::next,
        row: cap::row,
        needs_control: cap::needs_control,
        needs_volume_alone: true,
    },
    Experiment {
        cause: Cause::VolumeOrInstance,
        obstacle: volume_or_instance::obstacle,
        next: volume_or_instance::next,
        row: volume_or_instance::row,
        needs_control: volume_or_instance::needs_control,
        needs_volume_alone: true,
    },
    Experiment {
        cause: Cause::VolumeLimit,
        obstacle: provider_page::obstacle,
        row: volume_limit::row,
        ..COUNTED
    },
    Experiment {
        cause: Cause::InstanceLimit,
        obstacle: provider_page::obstacle,
        row: limit_of_instance::row,
        ..COUNTED
    },
    Experiment {
        cause: Cause::NotThrottled,
        obstacle: provider_page::obstacle,
        row: not_throttled::row,
        ..COUNTED
    },
    Experiment {
        cause: Cause::ThermalThrottle,
        obstacle: thermal_throttle::obstacle,
        row: thermal_throttle::row,
        ..COUNTED
    },
    Experiment { cause: Cause::QueueFull, obstacle: |_| None, row: queue_full::row, ..COUNTED },
    Experiment { cause: Cause::Scheduler, obstacle: |_| None, row: scheduler::row, ..COUNTED },
    Experiment {
        cause: Cause::CompletionsOnOneCpu,
        obstacle: |_| None,
        row: completions_on_one_cpu::row,
        ..COUNTED
    },
    Experiment {
        cause: Cause::BurstCredits,
        obstacle: burst_credits::obstacle,
        next: burst_credits::next,
        row: burst_credits::row,
        needs_control: burst_credits::needs_control,
        needs_volume_alone: true,
    },
    COUNTED,
    Experiment {
        cause: Cause::SlowVolume,
        obstacle: slow_volume::obstacle,
        next: slow_volume::next,
        row: slow_volume::row,
        needs_volume_alone: true,
        ..COUNTED
    },
];

impl CauseCase<'_> {
    /// Why an experiment cannot be done here.
    pub(super) fn obstacle(&self, experiment: &Experiment) -> Option<NotTried> {
        let others = || self.is_disturbed(experiment).then_some(NotTried::OtherUsers);
        (experiment.obstacle)(self).or_else(others)
    }

    fn is_disturbed(&self, experiment: &Experiment) -> bool {
        experiment.needs_volume_alone && self.is_shared
    }

    /// The budget has time for a step: a budget of the user's is for all added steps, ours for the experiments.
    pub(super) fn has_time_for(&self, step: &Step) -> bool {
        let added = |s: &&Step| match &s.follows {
            Some(follows) => self.follow_up.budget.is_some() || !follows.purpose.tests_promise(),
            None => false,
        };
        let taken = total(self.record.plan.steps.iter().filter(added).map(|s| s.whole_time().0));
        taken.saturating_add(kernel_settings::time_taken(self.record).0).saturating_add(step.whole_time().0)
            <= self.budget().0
    }

    /// The provider's counters prove the cause, and the user does not want all of the experiments.
    pub(super) fn is_settled(&self) -> bool {
        self.follow_up.causes != CausesWanted::Always && provider_page::is_settled(self)
    }

    /// The row has a place in the table. Counters that a disk does not have are no experiment that was left out.
    pub(super) fn can_tell(&self, cause: Cause) -> bool {
        match cause {
            Cause::VolumeLimit | Cause::InstanceLimit | Cause::NotThrottled => provider_page::is_told(self),
            Cause::ThermalThrottle => thermal_throttle::is_told(self),
            Cause::QueueFull | Cause::Scheduler | Cause::CompletionsOnOneCpu => {
                request_parts::anatomy(self).is_some()
            }
            _ => true,
        }
    }

    pub(super) fn row_of(&self, experiment: &Experiment) -> CauseRow {
        if self.is_faulty() {
            return CauseRow {
                not_tried: Some(NotTried::Faulty),
                ..row(experiment.cause, CauseFinding::NotTried)
            };
        }
        let found = (experiment.row)(self);
        // What compares no two loads may still exclude a cause.
        let compares_none = |row: &CauseRow| row.trials.len() < 2 && row.finding == CauseFinding::Excluded;
        if let Some(row) = found.filter(|row| !self.is_disturbed(experiment) || compares_none(row)) {
            return row;
        }
        let why = self.obstacle(experiment).unwrap_or_else(|| self.why_open(experiment));
        CauseRow { not_tried: Some(why), ..row(experiment.cause, CauseFinding::NotTried) }
    }

    /// The missing control, where a trial needs one.
    pub(super) fn next_control(&self) -> Option<Step> {
        let is_needed = EXPERIMENTS.iter().any(|experiment| (experiment.needs_control)(self));
        control::next(self).filter(|_| is_needed)
    }

    /// Why steps of an experiment that can be done are missing.
    fn why_open(&self, experiment: &Experiment) -> NotTried {
        let has_result = |t: &Tried<'_>| self.record.steps.iter().any(|s| s.name == t.plan.name);
        let failed = |t: &Tried<'_>| t.cause == experiment.cause.code() && !has_result(t);
        if self.is_settled() {
            return NotTried::NotNeeded;
        }
        match (experiment.next)(self).or_else(|| self.next_control()) {
            Some(step) if !self.has_time_for(&step) => NotTried::Budget,
            Some(_) => NotTried::Ended,
            None if self.tried.iter().any(failed) => NotTried::CouldNotRun,
            None if experiment.cause == Cause::TooLittleLoad => self.why_not_confirmed(),
            None => NotTried::Ended,
        }
    }

    /// Why a promise has no confirming step.
    fn why_not_confirmed(&self) -> NotTried {
        let is_whole = self.record.state == State::Complete;
        match self.claim.outcome {
            Outcome::Pass | Outcome::Fail => NotTried::NotNeeded,
            _ if is_whole && self.follow_up.budget.is_some() => NotTried::Budget,
            _ => NotTried::Ended,
        }
    }
}

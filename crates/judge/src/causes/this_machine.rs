//! `this-machine`: the CPUs of this machine send and reap no more I/Os.
//!
//! **Experiment:** requests of this block size that do nothing (headroom), and as many in flight by one worker more on another CPU.
//!
//! **Shown** where the rate grows with the worker and falls again without it; open where the intervals of the rates overlap. Where that was not tried: where the headroom is below 1.25 times the
//! rate, or a load thread is on its CPU for 95 % of the time.

use super::cause_case::{CauseCase, Change};
use super::cause_row::{answered, found};
use super::control;
use super::trial::{TrialComparison, above, is_above};
use crate::doubts::generator_limited::is_saturated;
use volproof_plan::Step;
use volproof_record::{Cause, CauseEvidence, CauseRow, CauseTrial, NotTried};

pub(super) fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    // Threads that do one request at a time each are no more load on one CPU.
    if case.load.iodepth < 2 {
        return Some(NotTried::OneAtATime);
    }
    if !case.load.rw.is_random() {
        return Some(NotTried::Sequential);
    }
    let workers = case.load.workers(case.targets());
    let has_cpu = case.is_simulated() || case.record.environment.cpus_online > workers;
    (!has_cpu).then_some(NotTried::NoFreeCpu)
}

/// The same number of requests in flight by one worker more.
pub(super) fn next(case: &CauseCase<'_>) -> Option<Step> {
    if case.was_begun(Cause::ThisMachine, Change::Worker) {
        return None;
    }
    let load = case.short_load();
    let numjobs = load.numjobs + 1;
    // No more in flight than before: what a greater depth gives would not be the worker's.
    let iodepth = (load.depth_per_target() / u64::from(numjobs)).max(1) as u32;
    Some(case.step(Cause::ThisMachine, Change::Worker, Step { numjobs, iodepth, ..load }))
}

pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    let worker = case.trial(Cause::ThisMachine, Change::Worker);
    let control = control::trial(case).filter(|_| needs_control(case));
    let is_tried = worker.is_some() && (control.is_some() || !needs_control(case));
    let trials: Vec<CauseTrial> = [Some(case.base_trial()), worker, control].into_iter().flatten().collect();
    let headroom = case.base.headroom.as_ref().map(|h| h.ios_per_second);
    let polls = case.load.iopoll || case.load.sqpoll;
    let busiest = (!polls && !case.is_simulated()).then_some(case.base.cpu.busiest_worker);
    // Block layer and driver take CPU time that the headroom leaves out.
    let near = case.base.headroom.as_ref().is_some_and(|h| h.nearly_used(trials[0].ios_per_second).is_some());
    let is_busy = near || busiest.is_some_and(is_saturated);
    // One worker more on a free CPU tells more than how busy the others are.
    let evidence = CauseEvidence::Machine { headroom_per_second: headroom, busiest_worker: busiest };
    if is_tried {
        return Some(answered(Cause::ThisMachine, growth(case), trials, Some(evidence)));
    }
    // Without the trial, only the headroom excludes the machine.
    if !is_busy && (headroom.is_none() || busiest.is_none()) {
        return None;
    }
    Some(found(Cause::ThisMachine, is_busy, trials, Some(evidence)))
}

/// One worker more gives a higher rate than the load that decides, before it and after it.
pub(super) fn grows_with_workers(case: &CauseCase<'_>) -> bool {
    growth(case) == TrialComparison::Yes
}

fn growth(case: &CauseCase<'_>) -> TrialComparison {
    let Some(worker) = case.trial(Cause::ThisMachine, Change::Worker) else { return TrialComparison::No };
    let before = above(&worker, &case.base_trial());
    if before != TrialComparison::Yes {
        return before;
    }
    control::trial(case).map_or(TrialComparison::No, |control| above(&worker, &control))
}

/// One worker more was faster than the load before it.
pub(super) fn needs_control(case: &CauseCase<'_>) -> bool {
    case.trial(Cause::ThisMachine, Change::Worker).is_some_and(|worker| is_above(&worker, &case.base_trial()))
}

//! What jobs do to those that run beside them: `flow` and `exitall`.
//!
//! As measured on fio 3.33:
//!
//! - `flow` counts the weights of all jobs of a flow from the start of the run, so those that run wait for those that have not begun yet.
//! - `exitall` holds for all jobs as soon as one job names it, even as `exitall=0`; `exit_what` and `exitall_on_error` belong to each job.
//! - Each clone is a job: the first one to end ends the others. A job that was ended ends others in turn.
//! - `exit_what=stonewall` spares jobs that wait, and those that are still in their `ramp_time`.

use super::super::job::Job;
use super::{Member, Obstacle, Obstacles};
use crate::plan::{Ends, Flow, Plan, Reach, Start};
use crate::unit::Nanos;

/// A job's part of its flow.
pub(super) fn flow(job: &Job) -> Option<Flow> {
    let number = |name: &str| job.int(name).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
    let weight = number("flow");
    let sleep = Nanos::micros(u64::from(number("flow_sleep")));
    (weight > 0).then(|| Flow { id: number("flow_id"), weight, sleep })
}

/// What ends with a job, where some job asks for that at all.
fn ends(job: &Job, exitall: bool) -> Option<Ends> {
    let reach = match job.choice("exit_what") {
        Some("all") => Reach::All,
        Some("stonewall") => Reach::Running,
        _ => Reach::Group,
    };
    let on_error = !exitall;
    (exitall || job.flag("exitall_on_error")).then_some(Ends { reach, on_error })
}

/// Gives the steps their groups and what ends with them, and finds what fio does otherwise.
pub(super) fn join(jobs: &[Job], members: &[Member], plan: &mut Plan, found: &mut Vec<Obstacle>) {
    let exitall = jobs.iter().any(|job| job.given("exitall").is_some());
    let all: Vec<Option<Ends>> = jobs.iter().map(|job| ends(job, exitall)).collect();
    if all.iter().any(Option::is_some) {
        for (step, member) in plan.steps.iter_mut().zip(members) {
            (step.group, step.ends) = (jobs[member.job].group, all[member.job]);
        }
    }
    let ramps = plan.steps.iter().any(|s| s.ramp.0 > 0);
    for (job, ends) in jobs.iter().zip(&all) {
        let mut obstacles = Obstacles { job: &job.name, found };
        if ramps && ends.is_some_and(|e| e.reach == Reach::Running) {
            obstacles.fio_only("exit_what=stonewall", "fio spares jobs that are still in their ramp_time");
        }
    }
    let stages = plan.stages();
    // When a step begins: the stage, what it waits for there, and how long.
    let begins = |i: usize| {
        let step = &plan.steps[i];
        let waits = match &step.start {
            Start::After(name) => Some(name),
            Start::AfterAll | Start::WithPrevious => None,
        };
        (stages.iter().position(|stage| stage.contains(&i)), waits, step.delay)
    };
    let with_first = |i: usize| {
        let id = plan.steps[i].flow.map(|f| f.id);
        let first = plan.steps.iter().position(|s| s.flow.map(|f| f.id) == id);
        first.is_none_or(|first| begins(first) == begins(i))
    };
    for (i, member) in members.iter().enumerate() {
        let job = &jobs[member.job];
        let Some(flow) = plan.steps[i].flow else { continue };
        let mut obstacles = Obstacles { job: &job.name, found };
        let option = format!("flow={}", flow.weight);
        if plan.steps[i].arrivals_per_second().is_some() {
            obstacles.fio_only(option, "a rate is a schedule that waits for nobody");
        } else if !with_first(i) {
            obstacles.fio_only(option, "fio lets the jobs of a flow wait for those that begin later");
        }
    }
}

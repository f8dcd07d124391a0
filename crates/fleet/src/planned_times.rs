//! When the steps of a plan begin on every machine of a fleet: each at a time that follows from the plan and the common start alone, so that
//! nobody has to be asked while a load runs.

use volproof_base::unit::Nanos;
use volproof_plan::Plan;

/// Time between two steps: for requests that are late, and for saving the Record.
pub const PAUSE: Nanos = Nanos::seconds(5);

/// Why the steps of a plan cannot begin at planned times; the text gives the way out.
pub fn problem(plan: &Plan) -> Option<String> {
    if plan.question.is_some() {
        return Some(
            "the next step of a sweep or search depends on the machine: give a plan of fixed steps".into(),
        );
    }
    let measured = plan.precondition_steps();
    let staged = plan.stages().into_iter().any(|stage| stage.start >= measured && stage.len() > 1);
    plan.steps[measured..].iter().find_map(|s| {
        let why = if s.fio {
            "the installed fio cannot wait for a common start: leave the engine to volproof"
        } else if s.runtime.0 == 0 || s.ends_by_amount() {
            "an amount of I/O ends at another time on each machine: give a runtime instead of an io-size"
        } else if s.delay.0 > 0 || staged {
            "steps that wait for each other begin at no common time: leave 'start' and 'delay' out"
        } else {
            return None;
        };
        Some(format!("step '{}': {why}", s.name))
    })
}

/// When a step of the plan is to send its first I/O, given the start of the first one that is measured: preconditioning comes before it.
pub fn first_io(plan: &Plan, start_unix_ns: i64, step: usize) -> i64 {
    let measured = plan.precondition_steps();
    let before = plan
        .steps
        .iter()
        .take(step)
        .skip(measured)
        .map(|s| s.ramp.0.saturating_add(s.runtime.0).saturating_add(PAUSE.0));
    let before = before.fold(0u64, u64::saturating_add);
    start_unix_ns.saturating_add(i64::try_from(before).unwrap_or(i64::MAX))
}

/// A time as people read it, to the millisecond.
pub fn utc(unix_ns: i64) -> String {
    let at = jiff::Timestamp::from_nanosecond(unix_ns.into()).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_base::unit::Bytes;
    use volproof_plan::{Start, Step};

    fn plan(steps: Vec<Step>) -> Plan {
        Plan { steps, ..Plan::none() }
    }

    #[test]
    fn steps_begin_where_those_before_them_have_surely_ended() {
        let step = Step { ramp: Nanos::seconds(2), runtime: Nanos::seconds(30), ..Step::default() };
        let plan = plan(vec![step.clone(), step.clone(), step]);
        let at = [0, 1, 2].map(|n| first_io(&plan, 1_000_000_000, n) / 1_000_000_000);
        assert_eq!(at, [1, 38, 75]);
    }

    #[test]
    fn what_has_no_planned_time_is_refused_with_the_way_out() {
        let named = |step: Step| Step { name: "s".into(), ..step };
        let of = |step: Step| problem(&plan(vec![named(step)])).unwrap();
        assert!(of(Step { fio: true, ..Step::default() }).contains("installed fio"));
        assert!(of(Step { io_size: Some(Bytes::gib(1)), ..Step::default() }).contains("give a runtime"));
        assert!(
            of(Step { delay: Nanos::seconds(1), ..Step::default() })
                .contains("leave 'start' and 'delay' out")
        );
        let together = Step { start: Start::WithPrevious, ..Step::default() };
        assert!(problem(&plan(vec![Step::default(), together])).is_some());
        assert_eq!(problem(&plan(vec![Step::default(), named(Step::default())])), None);
    }
}

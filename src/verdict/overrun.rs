//! A run that went on after its time: fio waits at the end for the requests in flight, and its time and its figures contain the wait.
//!
//! volproof's own windows end at the time that was asked for; the silence after them is in the samples (`judged_window::stopped_at_the_end`).

use crate::record::Conditions;
use crate::record::StepFigures;
use crate::unit::Nanos;

/// Ends of runs are this far from the time that was asked for by themselves: a stall that takes less shows in the percentiles.
const BY_ITSELF: Nanos = Nanos::millis(500);
/// A queue is empty after its mean latency; one that takes this many times as long had stopped.
const TIMES: f64 = 3.0;

/// A volume that had stopped when its run should have ended, in words: an I/O was under way for all of the time that the run took longer. Nothing
/// shows whether the volume went on after it. Where the time that was asked for is not known (fio's text), any stop may be such a one.
pub(super) fn stopped_past_the_end(c: &Conditions, s: &StepFigures) -> Option<String> {
    let longest = s.max.max(s.flushes.and_then(|f| f.max))?;
    let stop = |time: Nanos| time >= BY_ITSELF && time.0 as f64 > TIMES * s.mean_ns.unwrap_or(0.0);
    let Some(asked) = c.runtime.get() else {
        return stop(longest).then(|| {
            format!(
                "the report does not tell for how long the run was to go on, so that its longest I/O, {longest}, may be a stop that was under way when \
                 the run should have ended; a report that lists its options (JSON), or volproof, tells"
            )
        });
    };
    // 0 is no limit: its amount ends the run.
    let over = Nanos(s.window?.0.saturating_sub(asked.0));
    (asked.0 > 0 && stop(over) && longest >= over).then(|| {
        format!(
            "the volume had stopped when the run should have ended: {asked} were asked for, the run took {over} longer, and its longest I/O took \
             {longest}; a longer run tells whether it happens again"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Known;

    #[test]
    fn a_run_that_waits_for_its_last_requests_had_stopped() {
        let c = Conditions { runtime: Nanos::seconds(600).into(), ..Conditions::default() };
        let of = |window_ms: u64, longest_ms: u64, mean_ms: f64| {
            let (window, max) = (Some(Nanos::millis(window_ms)), Some(Nanos::millis(longest_ms)));
            let s = StepFigures { window, max, mean_ns: Some(mean_ms * 1e6), ..StepFigures::default() };
            stopped_past_the_end(&c, &s)
        };
        let told = of(608_000, 11_000, 14.0).unwrap();
        assert!(told.contains("the run took 8.00 s longer, and its longest I/O took 11.0 s"), "{told}");
        assert_eq!(of(600_003, 11_000, 14.0), None, "the stall was earlier");
        assert_eq!(of(608_000, 900, 14.0), None, "the load took longer, and no I/O did");
        assert_eq!(of(604_000, 5_000, 3_900.0), None, "a deep queue of a slow volume");
    }

    #[test]
    fn a_stop_of_a_run_of_unknown_length_may_be_at_its_end() {
        let of = |runtime: Known<Nanos>, longest_ms: u64, mean_ms: f64| {
            let c = Conditions { runtime, ..Conditions::default() };
            let (window, max) = (Some(Nanos::seconds(302)), Some(Nanos::millis(longest_ms)));
            stopped_past_the_end(
                &c,
                &StepFigures { window, max, mean_ns: Some(mean_ms * 1e6), ..StepFigures::default() },
            )
        };
        let told = of(Known::Unknown, 3_000, 12.0).unwrap();
        assert!(told.contains("does not tell for how long the run was to go on"), "{told}");
        assert_eq!(of(Known::Unknown, 400, 12.0), None);
        assert_eq!(of(Known::Unknown, 3_000, 1_100.0), None, "a deep queue of a slow volume");
        assert_eq!(of(Nanos(0).into(), 3_000, 12.0), None, "its size ended it");
    }
}

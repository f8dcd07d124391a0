//! `jobs-ended-apart`: jobs of a report ended at different times.
//!
//! **Why it matters:** fewer of them drove the volume at the end, and the rate is that over the whole time.
//!
//! **What to do:** set a run time, so that all jobs end together.
//!
//! **Source:** the run times of the jobs.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::stats::limit_answer::TOLERANCE;
use volproof_base::unit::significant;

/// With fewer than this share of the jobs on average, the rate is that of another load.
const MOST_OF_THEM: f64 = 0.9;

/// Jobs of a run ended at different times, so that fewer of them drove the volume at the end.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    case.on_a_device()?;
    let s = &case.figures;
    let (jobs, window, time) = (s.load.jobs.filter(|n| *n > 1.0)?, s.rate.window?, s.cpu.threads_time?);
    let running = time.as_seconds() / window.as_seconds();
    (running < (1.0 - TOLERANCE) * jobs).then(|| {
        Doubt::new(
            if running < MOST_OF_THEM * jobs { Severity::Blocker } else { Severity::Warning },
            DoubtCode::JobsEndedApart,
            format!(
                "the {jobs:.0} jobs ended at different times: the rate is that over {window}, in which {} of them ran on average",
                significant(running)
            ),
            "run all jobs for one set time (300 s), so that they end together",
        )
    })
}

//! `jobs-ended-apart`: jobs of a report ended at different times.
//!
//! **Why it matters:** fewer of them drove the volume at the end, and the rate is that over the whole time.
//!
//! **What to do:** set a run time, so that all jobs end together.
//!
//! **Source:** the run times of the jobs.

use super::DoubtCase;
use crate::thresholds::TENTH;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::stats::limit_answer::TOLERANCE;
use volproof_base::unit::significant;

/// Jobs of a run ended at different times, so that fewer of them drove the volume at the end.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    case.on_a_device()?;
    let s = &case.figures;
    let (jobs, window, time) = (s.jobs.filter(|n| *n > 1.0)?, s.window?, s.threads_time?);
    let running = time.as_seconds() / window.as_seconds();
    (running < (1.0 - TOLERANCE) * jobs).then(|| {
        Doubt::new(
            if running < (1.0 - TENTH) * jobs { Severity::Blocker } else { Severity::Warning },
            DoubtCode::JobsEndedApart,
            format!(
                "the {jobs:.0} jobs ended at different times: the rate is that over {window}, in which {} of them ran on average",
                significant(running)
            ),
            "run all jobs for one set time (300 s), so that they end together",
        )
    })
}

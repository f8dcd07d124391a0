//! What is said where a figure decides nothing, of a promise and of a need alike.

use crate::stats::limit_answer::ClaimAnswer;
use crate::unit::Nanos;

/// Code, message and advice where nothing was measured of any volume.
pub(super) const SIMULATED: (&str, &str, &str) = (
    "simulated",
    "the device was simulated: nothing was measured of any volume",
    "to see what a verdict would look like, add --judge-simulated",
);

/// Whoever watches the figures and chooses when to end the step chooses the answer as well.
pub(super) const ENDED_EARLY: &str = "the user ended the step before its time: let it run to its end";

/// How an answer that is open would be decided.
pub(super) fn way_to_decide(finding: &ClaimAnswer) -> String {
    match finding.more_seconds {
        Some(s) => format!("measure {} longer to decide", Nanos::seconds(s).clock()),
        None => "a longer run of this kind would not decide it within a week".into(),
    }
}

//! Whether the volume has changed since an earlier step ran: the same load, measured once more, gives far less than at first.
//!
//! Used-up credits do that, and other tenants of the hardware. Figures from before say nothing about the volume as it is now.

use super::FinishedStep;

/// The code at a point that was measured before the volume changed, or while it did.
pub(super) const CHANGED: &str = "changed";
/// A rate below this share of an earlier rate of the same load shows another state of the volume.
const SAME_STATE: f64 = 0.8;

/// Whether the rate of `earlier` is far above all that its load may give since `later` ran: more depth gives no more than in proportion.
pub(super) fn is_outdated(earlier: &FinishedStep, later: &FinishedStep) -> bool {
    let [before, since] = [earlier, later].map(|f| f.step.depth_per_target() as f64);
    let deeper = (before / since).max(1.0);
    (later.iops + later.half_interval()) * deeper < SAME_STATE * (earlier.iops - earlier.half_interval())
}

/// No run of one load outdates another one.
fn are_alike(runs: &[&FinishedStep]) -> bool {
    runs.iter().all(|a| runs.iter().all(|b| !is_outdated(a, b)))
}

/// The runs of one load that show the volume as it is now.
pub(super) struct PresentRuns<'a> {
    /// The runs that count, in the order of time.
    pub(super) runs: Vec<&'a FinishedStep>,
    /// Nothing shows that all these runs are of the present state.
    pub(super) changed: bool,
}

impl<'a> PresentRuns<'a> {
    /// From all runs of a load in the order of time. Some may be known to be outdated. A single slow run at the end may be a
    /// disturbance; two slow runs that agree show a new state.
    pub(super) fn among(
        all: Vec<&'a FinishedStep>,
        outdated: impl Fn(&FinishedStep) -> bool,
    ) -> PresentRuns<'a> {
        let standing: Vec<&FinishedStep> = all.iter().copied().filter(|f| !outdated(f)).collect();
        if standing.is_empty() {
            return PresentRuns { runs: all, changed: true };
        }
        let first_alike = (0..standing.len()).find(|from| are_alike(&standing[*from..])).unwrap_or(0);
        let (before, since) = standing.split_at(first_alike);
        let lasts = since.len() > 1 && before.iter().all(|f| since.iter().all(|now| is_outdated(f, now)));
        if before.is_empty() || lasts {
            PresentRuns { runs: since.to_vec(), changed: false }
        } else {
            PresentRuns { runs: standing, changed: true }
        }
    }
}

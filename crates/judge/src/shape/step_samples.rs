//! The samples of a step as the descriptions see them.

use volproof_base::stats::burst::BurstSeen;
use volproof_base::stats::load_grid::LoadGrid;
use volproof_base::stats::rate::per_second;
use volproof_record::{Record, StepRecord, bins};

/// The samples of a step as the detectors see them.
pub(super) struct StepSamples {
    /// I/Os completed in each 100 ms, all targets and directions together.
    pub(super) bins: Vec<u64>,
    /// The same for each whole second.
    pub(super) seconds: Vec<u64>,
    /// Completions beside the requests in flight.
    pub(super) load: LoadGrid,
    /// A fall from one level to a lower one.
    pub(super) burst: Option<BurstSeen>,
    /// A schedule sets the rate.
    pub(super) paced: bool,
    /// The samples show pauses of less than a second; those of a long run do not.
    pub(super) shows_pauses: bool,
    /// Each target has one request at a time.
    pub(super) one_at_a_time: bool,
}

impl StepSamples {
    pub(super) fn from_step(record: &Record, step: &StepRecord) -> StepSamples {
        let bins = bins(step, false);
        StepSamples {
            seconds: per_second(&bins),
            load: LoadGrid::from_series(step.targets.iter().map(|t| &t.series)),
            burst: BurstSeen::from_bins(&bins),
            paced: step.open_loop.is_some(),
            shows_pauses: step.shows_pauses(),
            one_at_a_time: record.depth_per_target(step) == Some(1),
            bins,
        }
    }
}

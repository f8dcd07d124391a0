//! The answer to a promise: its word, why, and the step that is missing for it.

use super::facts::TriedLoad;
use volproof_record::Outcome;

/// A PASS has at most this share of dead time.
pub const MOST_DEAD: f64 = 0.01;

/// The step that is missing for an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Missing {
    /// The load at the saturating depth.
    Confirm,
    /// The same load once more, for a minute at least.
    Repeat(TriedLoad),
    /// A depth between.
    Depth(u64),
}

impl Missing {
    /// The same for so many volumes together.
    pub fn times(self, volumes: u64) -> Missing {
        match self {
            Missing::Confirm => Missing::Confirm,
            Missing::Repeat(load) => Missing::Repeat(TriedLoad {
                depth: load.depth * volumes,
                offered: load.offered.map(|offered| offered * volumes as f64),
            }),
            Missing::Depth(depth) => Missing::Depth(depth * volumes),
        }
    }
}

/// Why a promise has its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Basis {
    /// The rate keeps it.
    Kept,
    /// The rate keeps it with more load than the first step offered: index of that first step.
    KeptWithMoreLoad {
        /// The step that missed it.
        first: usize,
    },
    /// Each second measured kept the provider's promise of time, and the rate is below the nominal one.
    WithinGuarantee,
    /// The rate misses it under enough load.
    Missed,
    /// Too few seconds delivered for the promised share of time.
    TooFewSeconds,
    /// Requests never came back.
    Hangs,
    /// The medium failed I/Os.
    MediumErrors,
    /// The rate misses it, and more load may give more.
    LoadNotShown,
    /// The first load missed it, a greater one kept it, and then the first load kept it too.
    Changed {
        /// The step that missed it.
        first: usize,
        /// The repetition that kept it.
        again: usize,
    },
    /// The rate is kept, and the volume did nothing for some of the time. No share of time is promised.
    DeadTime,
    /// The samples of a long run are too coarse to show the seconds or the pauses that decide.
    SamplesMerged,
    /// Some seconds missed, and the run is too short to refute or to confirm the promised share of time.
    ShareOpen {
        /// Seconds more, all good, that would confirm it.
        more_seconds: Option<u64>,
    },
    /// The burst is kept, and not shown for as long as a full bucket lasts.
    BurstUntested {
        /// Seconds of it that were shown.
        shown_seconds: u64,
        /// Seconds more that were not; absent where the bucket was empty before.
        more_seconds: Option<u64>,
    },
    /// The deciding step says neither yes nor no.
    Open(Open),
    /// The deepest possible load is below the saturating depth, and its rate still grows with depth.
    DepthNotPossible,
}

impl Basis {
    /// Seconds more that should tell; none where time does not decide.
    pub fn more_seconds(self) -> Option<u64> {
        match self {
            Basis::Open(Open::Spans { more_seconds } | Open::Credits { more_seconds })
            | Basis::ShareOpen { more_seconds }
            | Basis::BurstUntested { more_seconds, .. } => more_seconds,
            _ => None,
        }
    }
}

/// The answer to a promise.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The word.
    pub outcome: Outcome,
    /// Why.
    pub basis: Basis,
    /// The index of the step whose figures decide.
    pub by: usize,
    /// The step that would decide, or that would say more.
    pub missing: Option<Missing>,
}

/// Why a step by itself says neither yes nor no.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Open {
    /// Shorter than a minute; whether its mean is below the promise.
    Short {
        /// The mean is below the promise.
        is_below: bool,
    },
    /// The interval holds the limit: seconds more that should tell.
    Spans {
        /// Absent where a week would not be enough.
        more_seconds: Option<u64>,
    },
    /// Burst credits of the type could have given it: seconds more that tell.
    Credits {
        /// Absent where their number is not published.
        more_seconds: Option<u64>,
    },
    /// The end shows no burst, and the load asked for none: credits may be left that more load would use.
    CreditsMayBeLeft,
    /// More than type and size can give.
    BeyondTheType,
    /// Below the burst and not below the baseline: the bucket may not have been full.
    FewCredits,
    /// Above one reading of the provider's unit and below the other.
    OneUnit,
    /// The user ended it before its time.
    EndedEarly,
}

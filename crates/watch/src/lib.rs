//! A watch is a run whose load is somebody else's: counters of the kernel and of the provider in, minutes, spells and an answer out.
//!
//! The counters become the samples that every run has ([`Interval`](volproof_base::sample::Interval)), ten a second. A minute of them becomes a
//! [`WatchSpan`], a wait that hurt somebody a [`Spell`]; both go as frames into a file that survives the end of the program at any moment, and
//! [`WatchHistory::read`] reads them. Everything is pure: times come in as a [`ClockReading`], so that a month is played in seconds.
//!
//! It may use `base` alone. It opens no device and no file, knows no catalogue of promises, and makes no words. Only what the provider counted is
//! ever called proven.

mod minute_sums;
mod spell_detector;
mod stat_counters;
#[cfg(test)]
mod tests;
mod throttle_spells;
mod usual_latency;
mod watch_answer;
mod watch_frame;
mod watch_history;
mod watch_limits;
mod watch_span;
mod watcher;

pub use spell_detector::{Spell, SpellKind};
pub use stat_counters::StatCounters;
pub use throttle_spells::PageSecond;
pub use watch_answer::{AccountAnswer, DemandFigures, WatchAnswer};
pub use watch_frame::{MAGIC, WatchFrame, WatchHeader, WatchNote, WatchNoteKind};
pub use watch_history::{WatchFileError, WatchHistory};
pub use watch_limits::WatchLimits;
pub use watch_span::{DemandBucket, DirectionIos, MinuteAccount, ThrottleTimes, WatchSpan};
pub use watcher::{LiveSecond, Watcher};

use volproof_base::unit::Nanos;

/// A moment by two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockReading {
    /// Since an arbitrary moment, by a clock that nobody sets: lengths come from it.
    pub elapsed: Nanos,
    /// Milliseconds since 1970 by the clock of the machine, which may be set: it names moments and measures nothing.
    pub unix_ms: i64,
}

//! How far the clock of one machine is ahead of that of another, by messages that both of them stamp.

use serde::{Deserialize, Serialize};

use volproof_base::unit::Nanos;
use volproof_record::{ClockBasis, RankClock};

/// The clocks of a machine at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockStamp {
    /// Nanoseconds since 1970.
    pub unix_ns: i64,
    /// `CLOCK_MONOTONIC`, nanoseconds since about the machine's boot.
    pub monotonic_ns: i64,
}

impl ClockStamp {
    /// Of this machine, now.
    pub fn now() -> ClockStamp {
        let monotonic = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        ClockStamp {
            unix_ns: jiff::Timestamp::now().as_nanosecond() as i64,
            monotonic_ns: monotonic.tv_sec * 1_000_000_000 + monotonic.tv_nsec,
        }
    }
}

/// The offset of a clock from one exchange: asked at `sent`, answered with `there`, heard at `back`. The answer was given at some moment of
/// the round trip, so that the offset is wrong by no more than half of it.
pub(super) fn clock_of(sent: ClockStamp, there: ClockStamp, back: ClockStamp) -> RankClock {
    let half = half_trip(sent.unix_ns, back.unix_ns);
    let monotonic_half = half_trip(sent.monotonic_ns, back.monotonic_ns);
    RankClock {
        basis: ClockBasis::Exchange,
        offset_ns: there.unix_ns - sent.unix_ns - half,
        monotonic_offset_ns: Some(there.monotonic_ns - sent.monotonic_ns - monotonic_half),
        error_ns: Some(Nanos(half.unsigned_abs() + 1)),
    }
}

fn half_trip(sent: i64, back: i64) -> i64 {
    (back - sent).max(0) / 2
}

/// A clock from its exchanges before and after a run: the offset is that of before, the error also holds by how much it has changed since.
pub fn over_the_run(before: RankClock, after: RankClock) -> RankClock {
    let moved = Nanos((after.offset_ns - before.offset_ns).unsigned_abs());
    let error = before.error_ns.max(after.error_ns).map(|e| Nanos(e.0.saturating_add(moved.0)));
    RankClock { error_ns: error, ..before }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_moved_during_the_run_is_less_sure() {
        let clock = |offset_ns, error| RankClock {
            basis: ClockBasis::Exchange,
            offset_ns,
            monotonic_offset_ns: None,
            error_ns: Some(Nanos(error)),
        };
        assert_eq!(over_the_run(clock(100, 7), clock(40, 9)), clock(100, 69));
    }
}

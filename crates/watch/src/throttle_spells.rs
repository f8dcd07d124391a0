//! Spells in which the provider counted a limit as exceeded: seconds that follow each other with pauses of a few seconds at most.

use crate::watch_span::ThrottleTimes;
use volproof_base::unit::Nanos;

/// A longer pause ends a spell.
const LONGEST_PAUSE: Nanos = Nanos::seconds(5);

/// What the provider counted between two readings of its page, about a second apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageSecond {
    /// For how long the volume's limits were exceeded.
    pub volume_ns: Nanos,
    /// For how long the instance's limits were exceeded.
    pub instance_ns: Nanos,
    /// Reads and writes.
    pub ios: u64,
}

/// When each of the two limits was exceeded last.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThrottleSpells {
    volume: Option<Nanos>,
    instance: Option<Nanos>,
}

impl ThrottleSpells {
    /// Counts a reading into the sums of a minute.
    pub fn count(&mut self, now: Nanos, page: &PageSecond, kernel_ios: u64, sums: &mut ThrottleTimes) {
        sums.volume_ns.0 += page.volume_ns.0;
        sums.instance_ns.0 += page.instance_ns.0;
        sums.volume_spells += u64::from(begins(&mut self.volume, now, page.volume_ns));
        sums.instance_spells += u64::from(begins(&mut self.instance, now, page.instance_ns));
        sums.ios = sums.ios.saturating_add(page.ios);
        sums.kernel_ios = sums.kernel_ios.saturating_add(kernel_ios);
    }
}

/// Whether a spell begins with this reading.
fn begins(last: &mut Option<Nanos>, now: Nanos, exceeded: Nanos) -> bool {
    if exceeded.is_zero() {
        return false;
    }
    let goes_on = last.is_some_and(|last| now.0.saturating_sub(last.0) <= LONGEST_PAUSE.0);
    *last = Some(now);
    !goes_on
}

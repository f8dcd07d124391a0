//! Two speeds in one run: a latency distribution with an empty middle.

use super::Summary;
use super::summary::TOGETHER;
use crate::stats::held_together::{SlowIos, over_chance, spread_over_chance};
use crate::unit::Nanos;

/// I/Os that passed at once, and I/Os that were held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Share of the I/Os that were held, 0 to 1.
    pub held: f64,
    /// Share of the I/Os between the two speeds: longer than twice the median of those that passed (from the next edge of a band), and not
    /// held.
    pub between: f64,
    /// Median of those that passed.
    pub passed: Nanos,
    /// The shortest latency of the held I/Os, as far as it is known.
    pub held_from: Nanos,
    /// The longest latency of the held I/Os.
    pub held_to: Nanos,
}

/// Fewer held I/Os are a tail, not a second speed.
const HELD: f64 = 0.004;
/// The middle has at most this share of the number of held I/Os.
const EMPTY: f64 = 0.05;
/// The latencies at both ends of the middle differ by at least this factor.
const SPAN: u64 = 2;

impl Modes {
    /// Finds the emptiest middle, and of equally empty ones the widest: where few I/Os are slow, chance leaves narrow gaps among those that
    /// waited a little. `None` for a distribution without one.
    pub fn of(s: &Summary) -> Option<Modes> {
        let mut best: Option<(f64, f64, usize, usize)> = None;
        let mut below = 0.0;
        let total: f64 = s.bands.iter().map(|b| b.share).sum();
        let mut cumulative = Vec::with_capacity(s.bands.len() + 1);
        cumulative.push(0.0);
        for band in &s.bands {
            below += band.share;
            cumulative.push(below);
        }
        for (i, low) in s.bands.iter().enumerate() {
            let beyond = s.bands.partition_point(|b| b.above.0 < low.up_to.0.saturating_mul(SPAN));
            let (passed, held) = (cumulative[i + 1], total - cumulative[beyond]);
            let between = cumulative[beyond] - cumulative[i + 1];
            if between > EMPTY * held || held < HELD || passed < 0.1 {
                continue;
            }
            let next = s.bands[i + 1..].iter().find(|b| b.share > 0.0).map_or(low.up_to, |b| b.above);
            let width = next.0 as f64 / low.up_to.0.max(1) as f64;
            let emptier = |(least, widest, ..): (f64, f64, usize, usize)| {
                between < least - 1e-12 || between <= least + 1e-12 && width > widest
            };
            if best.is_none_or(emptier) {
                best = Some((between, width, i, beyond));
            }
        }
        let (_, _, last_passed, first_held) = best?;
        let held = total - cumulative[first_held];
        let gap = s.bands[last_passed].up_to;
        // Percentiles are finer than bands where a report has both.
        let mut in_held = s.percentiles.iter().filter(|p| p.0 > 1.0 - held && p.1 > gap).map(|p| p.1);
        let held_from = match s.bands.len() {
            // Bands of our own are 1/128 wide: they beat any percentile.
            n if n > 64 => Nanos(s.bands[first_held].above.0 + 1),
            _ => in_held.next().unwrap_or(s.bands[first_held].above),
        };
        let held_to = s.max.or_else(|| s.bands.last().map(|b| b.up_to))?;
        let passed = if s.bands.len() > 64 || s.percentiles.is_empty() {
            let half = cumulative[last_passed + 1] / 2.0;
            let at = cumulative.partition_point(|c| *c < half).clamp(1, s.bands.len());
            s.bands[at - 1].up_to
        } else {
            s.near_quantile((1.0 - held) / 2.0)?
        };
        // The emptiest stretch separates the two modes. The middle that is reported reaches further down, to those that passed.
        let wide = Nanos(passed.0.saturating_mul(SPAN));
        let first_between = s.bands.partition_point(|b| b.above < wide).min(last_passed + 1);
        let between = cumulative[first_held] - cumulative[first_between];
        Some(Modes { held, between, passed, held_from, held_to })
    }

    /// The spread of the counts over that of I/Os which are slow one by one, by chance; see [`over_chance`]. Even counts tell something only of
    /// random access: of blocks in a row every n-th may be slow, as where each MiB is used for the first time.
    pub(super) fn over_chance(&self, in_flight: f64, bins: &[u64], s: &Summary) -> Option<f64> {
        over_chance(bins, &self.slow(in_flight)).filter(|over| s.random == Some(true) || *over >= TOGETHER)
    }

    /// The same for the samples of a report.
    pub(super) fn samples_over_chance(&self, in_flight: f64, s: &Summary) -> Option<f64> {
        let (spread, samples) = s.samples.filter(|_| s.random == Some(true))?;
        let seconds = s.window?.as_seconds() / samples.max(1) as f64;
        spread_over_chance(spread, samples, seconds, s.iops?, &self.slow(in_flight))
    }

    /// The slow I/Os.
    fn slow(&self, in_flight: f64) -> SlowIos {
        SlowIos { in_flight, share: self.held, hold: self.hold() / 1e9 }
    }

    /// The middle of the latencies of held I/Os.
    pub fn hold(&self) -> f64 {
        (self.held_from.0 as f64 + self.held_to.0 as f64) / 2.0
    }
}

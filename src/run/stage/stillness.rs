//! Time in which the whole program stood still and no signal says so: a frozen container (`docker pause`, `cgroup.freeze`).
//!
//! A busy machine may hold up one thread. The program stood still where the thread that looks for signals and keys and a thread that watches a
//! load paused at the same time, and no load thread completed an I/O in most of that time.

use std::time::Instant;

use volproof_base::sample::{GRID, Interval};
use volproof_base::unit::Nanos;
use volproof_engine::STOOD_STILL;

/// The least pause at a SIGCONT that shows a suspension: terminals send SIGCONT to programs that were never stopped, and those look about them each
/// [`TICK`](super::TICK).
const LEAST_SUSPENSION: Nanos = Nanos::millis(250);

/// A pause: the last sign before it, and the first one after it.
type Pause = (Instant, Instant);

/// What was heard of the threads of a stage.
#[derive(Debug, Default)]
pub(super) struct Stillness {
    /// The last long pause of the thread that looks for signals and keys.
    looked: Option<Pause>,
    /// The last news of a load.
    heard: Option<Instant>,
    /// The last long pause between the news of the loads, in which little was completed.
    watched: Option<Pause>,
}

impl Stillness {
    /// Signals and keys were looked for at these two times, one after the other. Returns, once, for how long the program stood still.
    pub(super) fn looked(&mut self, last: Instant, now: Instant) -> Option<Nanos> {
        if now.saturating_duration_since(last) > STOOD_STILL {
            self.looked = Some((last, now));
        }
        self.both()
    }

    /// A load sent these intervals. Returns, once, for how long the program stood still.
    pub(super) fn heard(&mut self, at: Instant, fresh: &[Interval]) -> Option<Nanos> {
        let last = self.heard.replace(self.heard.map_or(at, |heard| heard.max(at)))?;
        let pause = at.saturating_duration_since(last);
        let mut busy: Vec<i64> = fresh
            .iter()
            .filter(|interval| interval.counts.iter().any(|(_, counts)| counts.ios > 0))
            .map(|interval| interval.index)
            .collect();
        busy.sort_unstable();
        busy.dedup();
        let completing = Nanos(GRID.0.saturating_mul(busy.len() as u64));
        if pause > STOOD_STILL && u128::from(completing.0) * 2 < pause.as_nanos() {
            self.watched = Some((last, at));
        }
        self.both()
    }

    /// A signal (SIGCONT) tells of a pause between these two looks: it is not counted again. Returns for how long the program stood still.
    ///
    /// With a signal to `end`, SIGCONT tells nothing: `timeout` sends both, the second for programs that are stopped.
    pub(super) fn continued(&mut self, last: Instant, now: Instant, end: bool) -> Option<Nanos> {
        if end {
            return self.looked(last, now);
        }
        (self.looked, self.watched) = (None, None);
        let still = Nanos(now.saturating_duration_since(last).as_nanos() as u64);
        (still >= LEAST_SUSPENSION).then_some(still)
    }

    fn both(&mut self) -> Option<Nanos> {
        let (looked, watched) = (self.looked?, self.watched?);
        let still = looked.1.min(watched.1).saturating_duration_since(looked.0.max(watched.0));
        (still > STOOD_STILL).then(|| {
            (self.looked, self.watched) = (None, None);
            Nanos(still.as_nanos() as u64)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use volproof_base::sample::{Counts, Direction, PerDirection};

    /// The times that looks and news at these milliseconds show as standstill; news come with the number of intervals in which I/Os completed.
    fn told(signs: &[(&str, u64, i64)]) -> Vec<Nanos> {
        let began = Instant::now();
        let at = |ms: u64| began + Duration::from_millis(ms);
        let (mut stillness, mut looked) = (Stillness::default(), began);
        let of = |(sign, ms, busy): &(&str, u64, i64)| match *sign {
            "look" => stillness.looked(std::mem::replace(&mut looked, at(*ms)), at(*ms)),
            "signal" => stillness.continued(std::mem::replace(&mut looked, at(*ms)), at(*ms), false),
            "timeout" => stillness.continued(std::mem::replace(&mut looked, at(*ms)), at(*ms), true),
            _ => {
                let interval = |index| {
                    let mut counts = PerDirection::<Counts>::default();
                    counts[Direction::Read].ios = 1;
                    Interval { worker: 0, index, length: GRID, counts, in_flight: 0, second: None }
                };
                stillness.heard(at(*ms), &(0..*busy).map(interval).collect::<Vec<_>>())
            }
        };
        signs.iter().filter_map(of).collect()
    }

    #[test]
    fn two_threads_that_stood_still_are_a_suspension() {
        let begin = [("news", 900, 1), ("look", 950, 0), ("news", 1_000, 1)];
        let all = |rest: &[(&'static str, u64, i64)]| told(&[&begin[..], rest].concat());
        let nine = vec![Nanos::millis(8_950)];
        // In either order, once.
        assert_eq!(
            all(&[("look", 9_960, 0), ("news", 9_950, 1), ("look", 10_000, 0), ("news", 10_050, 1)]),
            nine
        );
        assert_eq!(
            all(&[("news", 9_950, 1), ("look", 9_960, 0), ("look", 10_000, 0), ("news", 10_050, 1)]),
            nine
        );
        // One of them went on, the load went on, or a signal has told already.
        let watched: Vec<_> = (11..100).map(|n| ("news", n * 100, 0)).collect();
        assert_eq!(all(&[&watched[..], &[("look", 9_960, 0)]].concat()), []);
        let minded: Vec<_> = (11..100).map(|n| ("look", n * 100, 0)).collect();
        assert_eq!(all(&[&minded[..], &[("news", 9_960, 0)]].concat()), []);
        assert_eq!(all(&[("news", 9_950, 80), ("look", 9_960, 0)]), []);
        let once = vec![Nanos::millis(9_010)];
        assert_eq!(all(&[("news", 9_950, 1), ("signal", 9_960, 0), ("look", 10_000, 0)]), once);
        assert_eq!(all(&[("signal", 1_100, 0)]), [], "the program was not stopped");
        assert_eq!(all(&[("timeout", 1_900, 0)]), [], "and a busy machine held up one thread");
        assert_eq!(all(&[("news", 9_950, 1), ("timeout", 9_960, 0)]), nine, "it was stopped all the same");
        // Pauses at different times.
        assert_eq!(all(&[("look", 5_000, 0), ("news", 4_900, 30), ("news", 9_000, 0)]), []);
    }
}

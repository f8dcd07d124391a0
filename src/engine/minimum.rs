//! Jobs that are slower than their step demands (`rate_min`, `rate_iops_min`): judged by the watching thread from the intervals that
//! the workers send, so that no I/O pays for it.
//!
//! The rules are fio's (3.33): each job and direction by itself; the first [`SETTLE`] of the window count for nothing; a rate is what was
//! done since the last look that was at least a `rate_cycle` ago; nobody looks while the job completes nothing, so a job whose schedule
//! has fewer I/Os than cycles is judged over the time between two of them. Times are those of the grid, so cycles end on whole intervals.

use std::collections::BTreeMap;

use crate::plan::Step;
use crate::record::MissedRate;
use crate::sample::{Direction, GRID, Interval};
use crate::unit::Nanos;

/// What a job has to find its pace.
const SETTLE: Nanos = Nanos::seconds(2);

/// One direction of one job.
#[derive(Clone, Copy, Default)]
struct Course {
    /// I/Os or bytes of the window so far.
    done: u64,
    /// The last look: when, and what had been done by then.
    last: Option<(Nanos, u64)>,
}

/// The demand of a step, and how its jobs stand.
pub struct Minimum {
    in_bytes: bool,
    wanted: f64,
    cycle: Nanos,
    directions: &'static [Direction],
    courses: BTreeMap<(u32, usize), Course>,
}

impl Minimum {
    /// None for a step that demands nothing.
    pub fn of(step: &Step) -> Option<Minimum> {
        let bytes = step.rate_min.map(|b| b.0 as f64);
        Some(Minimum {
            in_bytes: bytes.is_some(),
            wanted: bytes.or(step.rate_iops_min)?,
            cycle: step.rate_cycle.unwrap_or(Nanos::seconds(1)),
            directions: step.rw.directions(),
            courses: BTreeMap::new(),
        })
    }

    /// Takes an interval of a job; intervals of one job come in their order. Says so when the job is too slow.
    pub fn missed(&mut self, interval: &Interval) -> Option<MissedRate> {
        // The last interval of a window is cut; the others may lack what ticks are rounded by.
        let whole = interval.length.0 + 1000 >= GRID.0;
        let index = u64::try_from(interval.index).ok().filter(|_| whole)?;
        let now = Nanos((index + 1) * GRID.0);
        let looks = now >= SETTLE && self.directions.iter().any(|d| interval.counts[*d].ios > 0);
        for direction in self.directions {
            let counts = &interval.counts[*direction];
            let course = self.courses.entry((interval.worker, *direction as usize)).or_default();
            course.done += if self.in_bytes { counts.bytes.0 } else { counts.ios };
            if !looks || course.done == 0 {
                continue;
            }
            if let Some((at, done)) = course.last {
                let spent = Nanos(now.0 - at.0);
                if spent < self.cycle {
                    continue;
                }
                let reached = (course.done - done) as f64 / spent.as_seconds();
                if reached < self.wanted {
                    let (worker, in_bytes, wanted) = (interval.worker, self.in_bytes, self.wanted);
                    return Some(MissedRate { worker, direction: *direction, in_bytes, wanted, reached });
                }
            }
            course.last = Some((now, course.done));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Pattern;
    use crate::sample::{Counts, PerDirection};
    use crate::unit::Bytes;

    fn interval(worker: u32, index: i64, reads: u64, writes: u64) -> Interval {
        let mut counts = PerDirection::<Counts>::default();
        for (d, ios) in [(Direction::Read, reads), (Direction::Write, writes)] {
            counts[d] = Counts { ios, bytes: Bytes(ios * 4096), latency: Nanos(ios) };
        }
        Interval { worker, index, length: GRID, counts, in_flight: 0, second: None }
    }

    /// The interval at which a job misses 50 I/Os a second, and its rate.
    fn ends(step: &Step, ios: impl Fn(i64) -> (u64, u64)) -> Option<(i64, f64)> {
        let mut minimum = Minimum::of(step).unwrap();
        (-20..100).find_map(|i| {
            let (reads, writes) = ios(i);
            minimum.missed(&interval(0, i, reads, writes)).map(|m| (i, m.reached))
        })
    }

    #[test]
    fn a_slow_job_is_found_after_it_settled_and_a_cycle_has_passed() {
        let step = Step { rate_iops_min: Some(50.0), ..Step::default() };
        assert_eq!(ends(&step, |_| (5, 0)), None, "as fast as it has to be");
        assert_eq!(ends(&step, |_| (4, 0)), Some((29, 40.0)), "seen at 2 s, judged at 3 s");
        let mut minimum = Minimum::of(&step).unwrap();
        let short = |cut: u64| move |i: i64| Interval { length: Nanos(GRID.0 - cut), ..interval(0, i, 4, 0) };
        assert!((0..40).map(short(1)).any(|i| minimum.missed(&i).is_some()), "ticks are rounded");
        let mut minimum = Minimum::of(&step).unwrap();
        assert!(
            !(0..40).map(short(50_000_000)).any(|i| minimum.missed(&i).is_some()),
            "cut ones say nothing"
        );
        assert_eq!(ends(&step, |i| (if i < 20 { 0 } else { 5 }, 0)), None, "the first two seconds are free");
        assert_eq!(ends(&step, |i| (if i < 60 { 5 } else { 1 }, 0)), Some((69, 10.0)));
        let short = Step { rate_cycle: Some(Nanos::millis(300)), ..step.clone() };
        assert_eq!(ends(&short, |_| (4, 0)), Some((22, 40.0)));
    }

    #[test]
    fn nobody_looks_while_nothing_completes() {
        // One I/O in 3 s, as of a schedule with a third of an I/O a second; then 6 s without.
        let step = Step { rate_min: Some(Bytes(1000)), ..Step::default() };
        let rare = |i: i64| (u64::from(i % 30 == 0), 0);
        assert_eq!(ends(&step, rare), None);
        let rarer = |i: i64| (u64::from(i % 30 == 0 && i != 60), 0);
        assert_eq!(ends(&step, rarer), Some((90, 4096.0 / 6.0)));
    }

    #[test]
    fn each_job_and_direction_is_judged_by_itself() {
        let step = Step { rw: Pattern::RandRw, rate_iops_min: Some(50.0), ..Step::default() };
        assert_eq!(ends(&step, |_| (9, 0)), None, "a direction without I/O is not judged");
        assert_eq!(ends(&step, |_| (9, 1)), Some((29, 10.0)));
        let mut minimum = Minimum::of(&step).unwrap();
        let mut missed = Vec::new();
        for i in 0..40 {
            for (worker, ios) in [(0, 9), (1, 2)] {
                missed.extend(minimum.missed(&interval(worker, i, ios, 9)).map(|m| m.worker));
            }
        }
        assert_eq!(missed.first(), Some(&1));
        assert!(Minimum::of(&Step::default()).is_none());
    }
}

//! Tokens: the jobs of a flow send their I/Os in proportion to their weights.
//!
//! Each I/O takes one token. A job may take the next one while its share of all tokens, with this one, is not above its share of the
//! weights, so no job is ever ahead of its due by more than one I/O, nor behind by more than one for each other job. This is the rule
//! of fio's `flow`, as jobs that had to wait for a paused one showed (3.33). A job that begins later counts as if it had been in
//! proportion from the start; what a job took leaves with it, and the others go on in proportion to their own weights.
//!
//! Numbers are read without a lock. A job that reads them in the moment in which another begins or ends may take too many, a queue full at
//! most, and waits for the others afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::plan::Flow;
use crate::unit::Nanos;

/// What the jobs of a flow have taken together, and their weights.
#[derive(Debug, Default)]
pub struct Tokens {
    taken: AtomicU64,
    weight: AtomicU64,
}

/// One job's part of them; it leaves the flow when it is dropped.
#[derive(Debug)]
pub struct Share {
    all: Arc<Tokens>,
    taken: u64,
    weight: u64,
    /// How long the job sleeps when it is ahead.
    pub(super) sleep: Nanos,
}

impl Share {
    /// A job of that flow begins.
    pub(super) fn of(all: &Arc<Tokens>, flow: &Flow) -> Share {
        let weight = u64::from(flow.weight);
        let others = all.weight.fetch_add(weight, Ordering::Relaxed);
        let due = u128::from(all.taken.load(Ordering::Relaxed)) * u128::from(weight);
        let taken = due.checked_div(u128::from(others)).unwrap_or(0) as u64;
        all.taken.fetch_add(taken, Ordering::Relaxed);
        Share { all: all.clone(), taken, weight, sleep: flow.sleep }
    }

    /// Takes as many tokens as it may, up to `most`.
    pub(super) fn take(&mut self, most: u32) -> u32 {
        let all = i128::from(self.all.taken.load(Ordering::Relaxed)) + 1;
        let weights = i128::from(self.all.weight.load(Ordering::Relaxed));
        let weight = i128::from(self.weight);
        // How far it is behind its due, and how much of that each token makes good, in tokens times weights.
        let (left, each) = (all * weight - i128::from(self.taken) * weights, weights - weight);
        let most = i128::from(most);
        let n = match each {
            _ if left < 0 => 0,
            // Alone.
            ..=0 => most,
            each => (left / each + 1).min(most),
        };
        self.all.taken.fetch_add(n as u64, Ordering::Relaxed);
        self.taken += n as u64;
        n as u32
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.all.taken.fetch_sub(self.taken, Ordering::Relaxed);
        self.all.weight.fetch_sub(self.weight, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn jobs(all: &Arc<Tokens>, weights: &[u32]) -> Vec<Share> {
        weights.iter().map(|w| Share::of(all, &Flow { id: 0, weight: *w, sleep: Nanos(0) })).collect()
    }

    fn taken(jobs: &[Share]) -> Vec<u64> {
        jobs.iter().map(|j| j.taken).collect()
    }

    #[test]
    fn each_takes_its_share_and_waits_for_the_others() {
        let all = Arc::default();
        let mut two = jobs(&all, &[1, 8]);
        assert_eq!((two[0].take(256), two[0].take(256)), (1, 0));
        assert_eq!(
            (two[1].take(256), two[1].take(256)),
            (17, 0),
            "16 of 18 are its due, and it may be one ahead"
        );
        assert_eq!((two[0].take(1), two[0].take(256), two[0].take(1)), (1, 1, 0));
    }

    /// The counts of fio 3.33 when one job stopped after 100 I/Os, or after 1, and the others had to stop too.
    #[test]
    fn a_job_that_stops_holds_the_others_where_fio_has_them() {
        for (weights, stops, expected) in
            [(&[7, 3][..], 100, &[44][..]), (&[1, 1, 1, 1], 100, &[102, 102, 102]), (&[1, 1], 1, &[3])]
        {
            let all = Arc::default();
            let mut jobs = jobs(&all, weights);
            let mut idle = false;
            while !idle {
                idle = true;
                for (i, job) in jobs.iter_mut().enumerate() {
                    let may = if i == 0 { u32::from(job.taken < stops) } else { 1 };
                    idle &= may == 0 || job.take(may) == 0;
                }
            }
            assert_eq!(taken(&jobs)[1..], *expected, "{weights:?}");
        }
    }

    #[test]
    fn who_is_alone_waits_for_nobody() {
        let all = Arc::default();
        let mut two = jobs(&all, &[1, 1]);
        assert_eq!((two[0].take(9), two[0].take(9)), (2, 0));
        two.pop();
        assert_eq!((two[0].take(9), two[0].take(9)), (9, 9));
    }

    #[test]
    fn who_comes_later_is_in_proportion_at_once() {
        let all = Arc::default();
        let mut early = jobs(&all, &[2]);
        early[0].take(1000);
        let mut late = jobs(&all, &[1]);
        assert_eq!(late[0].take(1000), 1, "it does not make up for what came before it");
        assert_eq!((early[0].take(1000), early[0].take(1000)), (5, 0));
    }

    #[test]
    fn threads_keep_the_proportion() {
        let all = Arc::default();
        let done: Vec<u64> = std::thread::scope(|threads| {
            let run = |mut job: Share| {
                threads.spawn(move || {
                    let mut idle = 0;
                    // It ends once the others have ended and no longer take anything.
                    while job.taken < 3000 * job.weight && idle < 1_000_000 {
                        idle = if job.take(32) == 0 { idle + 1 } else { 0 };
                        std::thread::yield_now();
                    }
                    let taken = job.taken;
                    // Nobody leaves before all have been counted.
                    std::mem::forget(job);
                    taken
                })
            };
            let handles: Vec<_> = jobs(&all, &[1, 2, 3]).into_iter().map(run).collect();
            handles.into_iter().map(|h| h.join().unwrap()).collect()
        });
        let sum: u64 = done.iter().sum();
        for (weight, taken) in [1, 2, 3].into_iter().zip(done) {
            let due = sum as f64 * weight as f64 / 6.0;
            assert!(
                (-2.0..=1.0).contains(&(taken as f64 - due)),
                "{taken} of {sum} with weight {weight} of 6"
            );
        }
    }

    proptest! {
        #[test]
        fn nobody_is_ahead_by_more_than_one(
            weights in prop::collection::vec(1u32..1000, 2..6),
            turns in prop::collection::vec((0usize..6, 1u32..300), 1..400),
        ) {
            let all = Arc::default();
            let mut jobs = jobs(&all, &weights);
            let total: u64 = weights.iter().map(|w| u64::from(*w)).sum();
            for (who, most) in turns {
                let who = who % jobs.len();
                prop_assert!(jobs[who].take(most) <= most);
                let sum: u64 = taken(&jobs).iter().sum();
                for job in &jobs {
                    let ahead = job.taken as f64 - sum as f64 * job.weight as f64 / total as f64;
                    prop_assert!(ahead <= 1.0 && ahead >= 1.0 - weights.len() as f64, "{:?}", taken(&jobs));
                }
            }
            prop_assert!(jobs.iter_mut().any(|job| job.take(1) == 1), "somebody may always go on");
        }
    }
}

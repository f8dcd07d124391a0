//! Intervals of latency percentiles by resampling blocks of one-second histograms.
//!
//! A block is a tenth of the run, as long as a batch of the rate, so whatever makes neighbouring seconds alike stays
//! together (moving-block bootstrap, Künsch 1989; wrapped around the end so that every second counts alike, Politis and
//! Romano 1992). Ten blocks are a small sample, and plain percentile intervals of small samples are too narrow; they are
//! read further out, at the normal quantile of t(9) sqrt(10/9) (expanded percentile interval, Hesterberg 2015). Coverage
//! is simulated in `tests/simulated/stats/percentile.rs`. The seed is fixed: the same histograms give the same interval.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use statrs::distribution::{ContinuousCDF, Normal};

use super::moments::student;
use super::percentile::pooled;
use super::{BATCHES, CONFIDENCE, SEED, UNITS};
use crate::hist::{StoredHistogram, bucket_high, bucket_low};
use crate::unit::{Nanos, total};

/// Resampled runs.
const REPLICATES: usize = 1000;
/// 95 % intervals of the given percentiles (shares in `0..1`), in their order. `None` below ten seconds or without samples.
pub fn intervals(seconds: &[StoredHistogram], shares: &[f64]) -> Option<Vec<(Nanos, Nanos)>> {
    if seconds.len() < BATCHES {
        return None;
    }
    let table = Cumulated::from_seconds(seconds)?;
    let block = table.units() / BATCHES;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut found = vec![Vec::with_capacity(REPLICATES); shares.len()];
    let mut counts = vec![0u64; table.buckets.len()];
    for _ in 0..REPLICATES {
        counts.fill(0);
        for _ in 0..BATCHES {
            let start = ((u128::from(random.next_u64()) * table.units() as u128) >> 64) as usize;
            table.add(start, block, &mut counts);
        }
        let total = total(counts.iter().copied());
        // A resampled run in which nothing completed has no latencies.
        if total > 0 {
            for (share, columns) in shares.iter().zip(&mut found) {
                columns.push(column(&counts, total, *share));
            }
        }
    }
    let tail = tail();
    found.iter_mut().map(|columns| table.interval(columns, tail)).collect()
}

/// Share of resampled runs beyond each end of the interval: 0.0086 instead of 0.025.
fn tail() -> f64 {
    let n = BATCHES as f64;
    let t = student((1.0 + CONFIDENCE) / 2.0, n - 1.0) * (n / (n - 1.0)).sqrt();
    Normal::standard().cdf(-t)
}

/// Column that holds the percentile.
fn column(counts: &[u64], total: u64, share: f64) -> usize {
    let rank = ((share * total as f64).ceil() as u64).clamp(1, total);
    let mut seen = 0;
    let found = counts.iter().position(|n| {
        seen += n;
        seen >= rank
    });
    // The counts add up to the total, so a rank within it is always met.
    found.unwrap_or(counts.len() - 1)
}

/// Histograms summed from the start of the run, so that a block of any length is one subtraction.
struct Cumulated {
    /// Buckets that hold samples, ascending; the columns.
    buckets: Vec<usize>,
    /// One row more than there are units; row `i` counts everything before unit `i`.
    rows: Vec<Vec<u64>>,
    min: Nanos,
    max: Nanos,
}

impl Cumulated {
    fn from_seconds(seconds: &[StoredHistogram]) -> Option<Cumulated> {
        let all = pooled(seconds);
        let (min, max) = (all.min()?, all.max()?);
        let buckets: Vec<usize> = all.nonzero().map(|b| b.0).collect();
        let mut row = vec![0u64; buckets.len()];
        let mut rows = vec![row.clone()];
        for unit in seconds.chunks(seconds.len().div_ceil(UNITS)) {
            for (index, n) in unit.iter().flat_map(StoredHistogram::buckets) {
                if let Ok(column) = buckets.binary_search(&index) {
                    row[column] += n;
                }
            }
            rows.push(row.clone());
        }
        Some(Cumulated { buckets, rows, min, max })
    }

    /// The interval that leaves a share `tail` of the columns beyond each end.
    fn interval(&self, columns: &mut [usize], tail: f64) -> Option<(Nanos, Nanos)> {
        columns.sort_unstable();
        let skip = (tail * columns.len() as f64) as usize;
        let (low, high) = (columns.get(skip)?, columns.get(columns.len().checked_sub(1 + skip)?)?);
        // Buckets are taken whole: the low end at its lower, the high end at its upper bound.
        let low = bucket_low(self.buckets[*low]).max(self.min.0);
        let high = bucket_high(self.buckets[*high]).min(self.max.0);
        Some((Nanos(low), Nanos(high)))
    }

    fn units(&self) -> usize {
        self.rows.len() - 1
    }

    /// Adds the counts of `block` units from `start` on, going on at the front after the last one.
    fn add(&self, start: usize, block: usize, counts: &mut [u64]) {
        let end = (start + block).min(self.units());
        self.add_rows(start, end, counts);
        if end < start + block {
            self.add_rows(0, start + block - end, counts);
        }
    }

    fn add_rows(&self, from: usize, to: usize, counts: &mut [u64]) {
        for ((count, before), after) in counts.iter_mut().zip(&self.rows[from]).zip(&self.rows[to]) {
            *count += after - before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hist::Histogram;

    fn second(latencies: &[(u64, u64)]) -> StoredHistogram {
        let mut h = Histogram::new();
        for &(us, n) in latencies {
            h.record_n(Nanos::micros(us), n);
        }
        h.to_sparse()
    }

    #[test]
    fn equal_seconds_give_the_bucket_itself() {
        let found = intervals(&vec![second(&[(100, 990), (5000, 20)]); 30], &[0.5, 0.99]).unwrap();
        assert!(found[0].0.0 <= 100_000 && found[0].1.0 >= 100_000 && found[0].1.0 < 103_000);
        assert!(found[1].0.0 <= 5_000_000 && found[1].1.0 == 5_000_000);
    }

    #[test]
    fn one_bad_stretch_makes_the_tail_unsure() {
        let seconds: Vec<StoredHistogram> =
            (0..100).map(|i| second(&[(100, 1000), (9000, if i / 4 == 3 { 400 } else { 0 })])).collect();
        let found = intervals(&seconds, &[0.5, 0.99]).unwrap();
        assert!(found[0].1.0 < 103_000, "the median is sure");
        assert!(found[1].0.0 <= 100_000 && found[1].1.0 == 9_000_000, "p99 may be either: {found:?}");
        assert_eq!(intervals(&seconds, &[0.5, 0.99]).unwrap(), found, "the seed is fixed");
    }

    #[test]
    fn short_empty_and_long_runs_are_answered() {
        assert_eq!(intervals(&vec![second(&[(100, 10)]); 9], &[0.5]), None);
        assert_eq!(intervals(&vec![StoredHistogram::default(); 30], &[0.5]), None);
        let mut seconds = vec![StoredHistogram::default(); 30];
        seconds[4] = second(&[(100, 10)]);
        assert!(intervals(&seconds, &[0.5]).is_some());
        assert!(intervals(&vec![second(&[(100, 10)]); 1999], &[0.5]).is_some());
    }

    #[test]
    fn the_tail_is_that_of_ten_blocks() {
        assert!((tail() - 0.00855).abs() < 1e-4, "{}", tail());
    }
}

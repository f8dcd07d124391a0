//! Latency percentiles: which of them are printed, and how precise each is.
//!
//! I/Os of one second resemble each other, so a million of them say less about the tail than a million independent draws. The design effect
//! (Kish) is measured from the histograms kept every second and turns the number of I/Os into an effective number. A percentile is printed
//! where at least [`ABOVE`] I/Os lie above it, and marked where fewer than [`ABOVE`] effective ones do. The largest latency is printed as
//! such, never as a percentile.
//!
//! Latencies are nanoseconds, percentiles are shares in `0..1` (0.99) inside and names ("99") outside.

use serde::{Deserialize, Serialize};

use super::share_interval::share_bounds;
use super::{BATCHES, CONFIDENCE, percentile_interval};
use crate::hist::{Histogram, StoredHistogram, bucket};
use crate::unit::{Nanos, total};

/// I/Os that must lie above a percentile before it is printed; effective ones, before it is printed without a mark.
pub const ABOVE: f64 = 10.0;

/// The percentiles of every table: name and share.
pub const STANDARD: [(&str, f64); 6] =
    [("50", 0.5), ("90", 0.9), ("95", 0.95), ("99", 0.99), ("99.9", 0.999), ("99.99", 0.9999)];

/// One percentile of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Percentile {
    /// The name of the percentile, as in `p99.9`: "99.9".
    pub name: String,
    /// The share `0..1` of I/Os that were at most this slow.
    pub share: f64,
    /// Upper bound of the bucket that holds the percentile, so that it is never under-reported.
    pub value_ns: Nanos,
    /// The number of independent I/Os that would give this percentile with the same precision.
    pub effective_samples: f64,
    /// The 95 % interval of the percentile; absent below ten seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<PercentileBounds>,
}

/// Interval of a percentile, by resampling blocks of seconds (see [`percentile_interval`]).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PercentileBounds {
    /// Share of such intervals that hold the true percentile: 0.95.
    pub confidence: f64,
    /// Lower end.
    pub low_ns: Nanos,
    /// Upper end.
    pub high_ns: Nanos,
}

/// Whether enough of so many samples lie above the percentile `share`.
pub fn printable(samples: f64, share: f64) -> bool {
    // A rounding error in 1 - share must not hide p99 of exactly a thousand.
    samples * (1.0 - share) >= ABOVE - 1e-9
}

/// All samples of a run from its one-second histograms; exact.
pub fn pooled<'a>(seconds: impl IntoIterator<Item = &'a StoredHistogram>) -> Histogram {
    let mut all = Histogram::new();
    for second in seconds {
        all.merge_sparse(second);
    }
    all
}

/// How many independent samples the run is worth for the share of samples above a limit. The limit may lie far from the percentile that is
/// judged, and the drift of fast I/Os says nothing about slow ones. All samples count where none is above the limit.
pub fn effective_samples_above(seconds: &[StoredHistogram], limit: Nanos) -> f64 {
    let edge = bucket(limit.0);
    let samples = total(seconds.iter().map(StoredHistogram::count)) as f64;
    let share = seconds.iter().map(|h| count_above(h, edge) as f64).sum::<f64>() / samples.max(1.0);
    samples / between_groups(seconds, share, |h| count_above(h, edge) as f64).max(1.0)
}

/// The share of samples above a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareAbove {
    /// The share.
    pub share: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl ShareAbove {
    /// The share above a limit; `None` without samples.
    pub fn from_seconds(seconds: &[StoredHistogram], limit: Nanos) -> Option<ShareAbove> {
        let all = pooled(seconds);
        let samples = Some(all.count() as f64).filter(|n| *n > 0.0)?;
        let edge = bucket(limit.0);
        let above = total(all.nonzero().filter(|(b, _)| *b > edge).map(|(_, count)| count));
        let share = above as f64 / samples;
        let effective = effective_samples_above(seconds, limit);
        let (low, high) = share_bounds(share * effective, effective);
        Some(ShareAbove { share, low, high })
    }
}

/// The percentiles of `wanted` that need no mark, with their intervals.
pub fn table(seconds: &[StoredHistogram], wanted: &[(&str, f64)]) -> Vec<Percentile> {
    let mut rows = measure(seconds, wanted);
    rows.retain(|p| printable(p.effective_samples, p.share));
    rows
}

/// Every percentile of `wanted`, including those that are marked or not printed: claims are decided on them. Empty without samples.
pub fn measure(seconds: &[StoredHistogram], wanted: &[(&str, f64)]) -> Vec<Percentile> {
    let all = pooled(seconds);
    let samples = all.count() as f64;
    let mut rows: Vec<Percentile> = wanted
        .iter()
        .filter_map(|&(name, share)| {
            let value_ns = all.quantile(share)?;
            let effective_samples = samples / design_effect(seconds, &all, share, value_ns).max(1.0);
            let name = name.to_string();
            Some(Percentile { name, share, value_ns, effective_samples, interval: None })
        })
        .collect();
    let shares: Vec<f64> = rows.iter().map(|p| p.share).collect();
    if let Some(found) = percentile_interval::intervals(seconds, &shares) {
        for (row, (low, high)) in rows.iter_mut().zip(found) {
            // In a long tail the interval from resampling may miss the value by a bucket; then it is widened.
            let (low_ns, high_ns) = (low.min(row.value_ns), high.max(row.value_ns));
            row.interval = Some(PercentileBounds { confidence: CONFIDENCE, low_ns, high_ns });
        }
    }
    rows
}

/// Variance of the share above the percentile between groups of seconds, over that of independent samples.
///
/// The seconds are put into [`BATCHES`] equal groups, fewer when there are fewer seconds. A single second cannot show any dependence and
/// counts as independent.
fn design_effect(seconds: &[StoredHistogram], all: &Histogram, share: f64, value: Nanos) -> f64 {
    // Samples in the bucket of the percentile itself lie partly above it: as many as make the shares add up.
    let edge = bucket(value.0);
    let at = total(seconds.iter().map(|h| count_at(h, edge)));
    let above = total(seconds.iter().map(|h| count_above(h, edge)));
    let part = ((1.0 - share) * all.count() as f64 - above as f64) / (at as f64).max(1.0);
    between_groups(seconds, 1.0 - share, |h| count_above(h, edge) as f64 + part * count_at(h, edge) as f64)
}

/// Samples in the buckets above one.
fn count_above(h: &StoredHistogram, edge: usize) -> u64 {
    total(h.buckets().filter(|b| b.0 > edge).map(|b| b.1))
}

/// Samples in one bucket.
fn count_at(h: &StoredHistogram, index: usize) -> u64 {
    h.buckets().find(|b| b.0 == index).map_or(0, |b| b.1)
}

/// Variance between groups of seconds of the samples that `slow` counts, over that of independent samples with `share` of them slow; 1
/// where nothing can be compared.
fn between_groups(seconds: &[StoredHistogram], share: f64, slow: impl Fn(&StoredHistogram) -> f64) -> f64 {
    let groups = BATCHES.min(seconds.len());
    let independent = share * (1.0 - share) * total(seconds.iter().map(StoredHistogram::count)) as f64;
    if groups < 2 || independent <= 0.0 {
        return 1.0;
    }
    let per_group = seconds.len() / groups;
    let skipped = seconds.len() - per_group * groups;
    let squares: f64 = seconds[skipped..]
        .chunks_exact(per_group)
        .map(|group| {
            let n = total(group.iter().map(StoredHistogram::count));
            (group.iter().map(&slow).sum::<f64>() - share * n as f64).powi(2)
        })
        .sum();
    let whole = seconds.len() as f64 / (per_group * groups) as f64;
    whole * squares * groups as f64 / (groups - 1) as f64 / independent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effective_samples(seconds: &[StoredHistogram], share: f64) -> f64 {
        measure(seconds, &[("", share)]).first().map_or(0.0, |p| p.effective_samples)
    }

    /// One second with `fast` I/Os of 100 us and `slow` of 80 ms.
    fn second(fast: u64, slow: u64) -> StoredHistogram {
        let mut h = Histogram::new();
        h.record_n(Nanos::micros(100), fast);
        h.record_n(Nanos::millis(80), slow);
        h.to_sparse()
    }

    #[test]
    fn ten_samples_above_are_needed() {
        assert!(printable(1000.0, 0.99) && !printable(999.0, 0.99));
        assert!(printable(20.0, 0.5) && !printable(19.0, 0.5));
        assert!(printable(100_000.0, 0.9999) && !printable(99_999.0, 0.9999));
        assert!(!printable(0.0, 0.5));
    }

    #[test]
    fn even_seconds_cost_nothing() {
        let seconds = vec![second(985, 15); 60];
        assert_eq!(effective_samples(&seconds, 0.99), 60_000.0);
        let names: Vec<String> = table(&seconds, &STANDARD).into_iter().map(|p| p.name).collect();
        assert_eq!(names, ["50", "90", "95", "99", "99.9"]);
    }

    #[test]
    fn slow_ios_that_come_together_count_as_few() {
        // One second in thirty holds all slow I/Os.
        let seconds: Vec<StoredHistogram> =
            (0..90).map(|i| second(1000, if i % 30 == 7 { 450 } else { 0 })).collect();
        let n = pooled(&seconds).count() as f64;
        assert!(effective_samples(&seconds, 0.99) < n / 50.0);
        assert!(table(&seconds, &[("99", 0.99)]).is_empty(), "three bursts are not ten independent samples");
        assert!(effective_samples(&seconds, 0.5) > n / 50.0, "the median hardly notices");
    }

    #[test]
    fn a_single_second_and_none_at_all_are_answered() {
        assert_eq!(effective_samples(&[second(1000, 20)], 0.99), 1020.0);
        assert_eq!(effective_samples(&[], 0.99), 0.0);
    }

    #[test]
    fn samples_above_a_limit_are_those_of_the_slow_ones() {
        // The fast ones drift and the slow ones do not: the percentile is worth little, the share above 10 ms all.
        let drifting: Vec<StoredHistogram> = (0..300)
            .map(|i| {
                let mut h = Histogram::new();
                h.record_n(Nanos::micros(100 + i), 1000);
                h.to_sparse()
            })
            .collect();
        let limit = Nanos::millis(10);
        assert!(effective_samples(&drifting, 0.99) < 30_000.0);
        assert_eq!(effective_samples_above(&drifting, limit), 300_000.0);
        // All slow ones in one tenth of the time.
        let lumped: Vec<StoredHistogram> =
            (0..300).map(|i| second(1000, if i < 30 { 100 } else { 0 })).collect();
        assert!(effective_samples_above(&lumped, limit) < 3_000.0);
        let even: Vec<StoredHistogram> = (0..300).map(|_| second(1000, 10)).collect();
        assert_eq!(effective_samples_above(&even, limit), 303_000.0);
        assert_eq!(effective_samples_above(&[], limit), 0.0);
        assert!(table(&[StoredHistogram::default(), StoredHistogram::default()], &STANDARD).is_empty());
        // Seconds in which nothing completed belong to the run.
        assert!(effective_samples(&[StoredHistogram::default(), second(1000, 20)], 0.99) > 0.0);
    }

    #[test]
    fn intervals_enclose_the_value_and_need_ten_seconds() {
        let seconds: Vec<StoredHistogram> =
            (0..40).map(|i| second(985, if i % 2 == 0 { 11 } else { 12 })).collect();
        let t = table(&seconds, &STANDARD);
        assert!(t.len() >= 4);
        for p in &t {
            let b = p.interval.unwrap();
            assert!(b.low_ns <= p.value_ns && p.value_ns <= b.high_ns, "{p:?}");
        }
        assert!(table(&seconds[..9], &STANDARD).iter().all(|p| p.interval.is_none()));
        let text = serde_json::to_string(&t).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Percentile>>(&text).unwrap(), t);
    }

    #[test]
    fn values_are_upper_bounds() {
        let t = table(&vec![second(985, 15); 60], &STANDARD);
        assert_eq!(t[0].value_ns.0, crate::hist::bucket_high(bucket(100_000)));
        assert_eq!(t[3].value_ns, Nanos::millis(80), "never above the maximum");
    }
}

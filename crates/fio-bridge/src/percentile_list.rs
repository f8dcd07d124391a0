//! Percentiles as fio reckons them: the middle of the first bucket at which enough samples have been seen.

use fio_formats::output::Latency;
use volproof_base::hist::{FIO_BUCKETS, Histogram, bucket_middle};
use volproof_base::unit::{Nanos, total};

/// Percentiles (ascending, in percent) of bins in ascending order, as fio prints them; none where there are no samples.
pub fn of_bins(bins: &[(Nanos, u64)], percents: &[f64]) -> Vec<(f64, Nanos)> {
    let samples = total(bins.iter().map(|b| b.1));
    let mut percents: Vec<f64> = percents.iter().copied().filter(|p| *p > 0.0 && *p <= 100.0).collect();
    percents.sort_by(f64::total_cmp);
    let mut out = Vec::with_capacity(percents.len());
    let (mut seen, mut rest) = (0, bins.iter());
    let mut at = Nanos(0);
    for percent in percents {
        let wanted = percent / 100.0 * samples as f64;
        while (seen as f64) < wanted {
            let Some((middle, n)) = rest.next() else { break };
            seen += n;
            at = *middle;
        }
        if samples > 0 {
            out.push((percent, at));
        }
    }
    out
}

/// The filled buckets by their middles; fio's last bucket takes all that is longer.
pub fn bins(histogram: &Histogram) -> Vec<(Nanos, u64)> {
    let mut out: Vec<(Nanos, u64)> = Vec::new();
    for (index, n) in histogram.nonzero() {
        let middle = Nanos(bucket_middle(index.min(FIO_BUCKETS - 1)));
        match out.last_mut() {
            Some(last) if last.0 == middle => last.1 += n,
            _ => out.push((middle, n)),
        }
    }
    out
}

/// A latency of fio's report from a histogram; with percentiles (and their bins) only where they are asked for.
pub fn latency(histogram: &Histogram, percents: &[f64]) -> Latency {
    let bins = if percents.is_empty() { Vec::new() } else { bins(histogram) };
    Latency {
        min: histogram.min().unwrap_or_default(),
        max: histogram.max().unwrap_or_default(),
        mean: histogram.mean().unwrap_or(0.0),
        deviation: histogram.deviation().unwrap_or(0.0),
        samples: Some(histogram.count()),
        percentiles: of_bins(&bins, percents),
        bins,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_and_middles() {
        let mut h = Histogram::new();
        h.record_n(Nanos(5), 99);
        h.record(1000);
        assert_eq!(
            of_bins(&bins(&h), &[99.0, 50.0, 99.9]),
            [(50.0, Nanos(5)), (99.0, Nanos(5)), (99.9, Nanos(1004))]
        );
        // Half a minute lies beyond fio's last bucket.
        h.record(30_000_000_000);
        h.record(20_000_000_000);
        let last = *bins(&h).last().unwrap();
        assert_eq!(last, (Nanos(bucket_middle(FIO_BUCKETS - 1)), 2));
        assert_eq!(of_bins(&bins(&Histogram::new()), &[50.0]), []);
    }
}

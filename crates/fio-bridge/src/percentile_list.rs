//! Percentiles as fio reckons them: the middle of the first bucket at which enough samples have been seen.
//!
//! Which bucket that is depends on the last bit of fio's arithmetic (`long double` on x86, 64 bits of mantissa): for 99.9 % of 1000 samples it
//! asks for 999.00000000000005684, hence for all 1000. The same arithmetic is done here in whole numbers.

use fio_formats::output::Latency;
use volproof_base::hist::{FIO_BUCKETS, Histogram, bucket_middle};
use volproof_base::unit::{Nanos, total};

/// A number of 64 significant bits: `mantissa * 2^exponent`.
#[derive(Clone, Copy)]
struct Extended {
    mantissa: u64,
    exponent: i32,
}

impl Extended {
    /// The nearest one, ties to even. `rest` says that something was cut off below.
    fn round(mut n: u128, mut exponent: i32, rest: bool) -> Extended {
        let bits = 128 - n.leading_zeros();
        if bits > 64 {
            let shift = bits - 64;
            let cut = n & ((1 << shift) - 1);
            let half = 1u128 << (shift - 1);
            n >>= shift;
            exponent += shift as i32;
            if cut > half || (cut == half && (rest || n & 1 == 1)) {
                n += 1;
            }
            if n >> 64 != 0 {
                n >>= 1;
                exponent += 1;
            }
        }
        Extended { mantissa: n as u64, exponent }
    }

    /// Whether the value is at most `n`.
    fn at_most(self, n: u64) -> bool {
        if self.mantissa == 0 {
            return true;
        }
        if self.exponent >= 0 {
            return self.exponent < 64 && (u128::from(self.mantissa) << self.exponent) <= u128::from(n);
        }
        let shift = -self.exponent as u32;
        // n * 2^shift against the mantissa; from 64 on every whole number but 0 is larger.
        if shift >= 64 { n > 0 } else { u128::from(self.mantissa) <= u128::from(n) << shift }
    }
}

/// `percent / 100 * samples`, rounded after each operation.
fn wanted(percent: f64, samples: u64) -> Extended {
    let bits = percent.to_bits();
    let power = (bits >> 52) as i32 & 0x7ff;
    let mantissa = (bits & ((1 << 52) - 1)) | if power > 0 { 1 << 52 } else { 0 };
    let exponent = power.max(1) - 1075;
    // 53 bits moved up by 74 leave at least 120 for the quotient.
    let n = u128::from(mantissa) << 74;
    let share = Extended::round(n / 100, exponent - 74, n % 100 != 0);
    Extended::round(u128::from(share.mantissa) * u128::from(samples), share.exponent, false)
}

/// Percentiles (ascending, in percent) of a histogram, as fio prints them; none of an empty one.
pub fn list(histogram: &Histogram, percents: &[f64]) -> Vec<(f64, Nanos)> {
    let buckets: Vec<(Nanos, u64)> = bins(histogram);
    of_bins(&buckets, percents)
}

/// The same from bins in ascending order.
pub fn of_bins(bins: &[(Nanos, u64)], percents: &[f64]) -> Vec<(f64, Nanos)> {
    let samples = total(bins.iter().map(|b| b.1));
    let mut percents: Vec<f64> = percents.iter().copied().filter(|p| *p > 0.0 && *p <= 100.0).collect();
    percents.sort_by(f64::total_cmp);
    let mut out = Vec::with_capacity(percents.len());
    let (mut seen, mut rest) = (0, bins.iter());
    let mut at = Nanos(0);
    for percent in percents {
        let wanted = wanted(percent, samples);
        while !wanted.at_most(seen) {
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
    fn the_last_bit_decides_as_it_does_in_fio() {
        // Needed samples as an x87 computes them.
        for (percent, samples, least) in [
            (50.0, 2, 1),
            (99.0, 100, 99),
            (99.9, 1000, 1000),
            (99.99, 10_000, 9999),
            (99.5, 200, 199),
            (95.0, 20, 19),
        ] {
            let w = wanted(percent, samples);
            let found = (0..=samples).find(|n| w.at_most(*n)).unwrap();
            assert_eq!(found, least, "{percent} % of {samples}: {} * 2^{}", w.mantissa, w.exponent);
        }
        assert!(wanted(100.0, u64::MAX).at_most(u64::MAX));
        assert!(!wanted(100.0, u64::MAX).at_most(u64::MAX - 4096));
        assert!(!wanted(f64::MIN_POSITIVE, 1).at_most(0));
    }

    #[test]
    fn buckets_and_middles() {
        let mut h = Histogram::new();
        h.record_n(Nanos(5), 99);
        h.record(1000);
        assert_eq!(list(&h, &[99.0, 50.0, 99.9]), [(50.0, Nanos(5)), (99.0, Nanos(5)), (99.9, Nanos(1004))]);
        // Half a minute lies beyond fio's last bucket.
        h.record(30_000_000_000);
        h.record(20_000_000_000);
        let last = *bins(&h).last().unwrap();
        assert_eq!(last, (Nanos(bucket_middle(FIO_BUCKETS - 1)), 2));
        assert_eq!(list(&Histogram::new(), &[50.0]), []);
    }
}

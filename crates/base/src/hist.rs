//! Latency histogram in fio's bucket layout: 64 buckets an octave, values in nanoseconds.
//!
//! Minimum, maximum and count are exact. The sum is exact below 2^64 ns (584 years), which no run reaches; sums of stored histograms stay
//! there.
//!
//! [`Histogram::record`] is the hot path: no branch but the bucket choice, no allocation. Everything else is cold.

mod bucket_layout;
mod sparse;

use std::ops::Range;

use crate::unit::{Nanos, total};

use bucket_layout::{BITS, PER_OCTAVE};
pub use bucket_layout::{BUCKETS, FIO_BUCKETS, bucket, bucket_high, bucket_low, bucket_middle};
pub use sparse::{StoredHistogram, summed_columns, text_of_column};

/// No bucket holds a sample yet.
const UNUSED: Range<usize> = Range { start: BUCKETS, end: 0 };

/// Full histogram of latencies with exact extremes and sum.
#[derive(Clone)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
    /// No bucket outside holds a sample; those of `min` and `max` are within.
    used: Range<usize>,
    min: u64,
    max: u64,
    sum: u64,
}

/// Adds to a count or sum, which stays at 2^64 - 1 when it would go beyond: histograms of other programs may hold any figure.
fn add(total: &mut u64, more: u64) {
    *total = total.saturating_add(more);
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Histogram {
        let counts = vec![0u64; BUCKETS].into_boxed_slice().try_into().expect("length is BUCKETS");
        Histogram { counts, used: UNUSED, min: u64::MAX, max: 0, sum: 0 }
    }

    /// Counts one latency.
    #[inline(always)]
    pub fn record(&mut self, ns: u64) {
        if !self.record_common(ns) {
            self.record_rare(ns);
        }
    }

    /// Counts one latency from 64 ns to the end of the layout; false, and nothing is counted, where it is outside.
    ///
    /// Exponent and first six bits of the mantissa of a double are octave and bucket. The way over the double takes fewer instructions
    /// than shifts by the number of leading zeros, which baseline x86-64 has to count with a slow `bsr`.
    #[inline(always)]
    pub fn record_common(&mut self, ns: u64) -> bool {
        const FIRST: u64 = ((1023 + BITS) << BITS) as u64;
        let index = ((ns as i64 as f64).to_bits() >> (f64::MANTISSA_DIGITS - 1 - BITS)).wrapping_sub(FIRST);
        let Some(count) = self.counts[PER_OCTAVE..].get_mut(index as usize) else {
            std::hint::cold_path();
            return false;
        };
        *count += 1;
        self.sum += ns;
        // New extremes are rare: a branch that is never taken costs less than two conditional moves.
        if ns < self.min {
            self.lower(ns);
        }
        if ns > self.max {
            self.raise(ns);
        }
        true
    }

    /// Counts one latency of any length; the last bucket takes what is longer than the layout goes, the maximum stays exact.
    #[cold]
    #[inline(never)]
    fn record_rare(&mut self, ns: u64) {
        self.record_n(Nanos(ns), 1);
    }

    #[cold]
    #[inline(never)]
    fn lower(&mut self, ns: u64) {
        self.min = ns;
        self.use_bucket(bucket(ns));
    }

    #[cold]
    #[inline(never)]
    fn raise(&mut self, ns: u64) {
        self.max = ns;
        self.use_bucket(bucket(ns));
    }

    fn use_bucket(&mut self, index: usize) {
        self.used = self.used.start.min(index)..self.used.end.max(index + 1);
    }

    /// Counts `n` equal latencies.
    pub fn record_n(&mut self, latency: Nanos, n: u64) {
        if n > 0 {
            let index = bucket(latency.0);
            add(&mut self.counts[index], n);
            self.extend(latency.0, latency.0, latency.0.saturating_mul(n));
        }
    }

    /// Adds all samples of another histogram; exact.
    pub fn merge(&mut self, other: &Histogram) {
        for (index, n) in other.nonzero() {
            add(&mut self.counts[index], n);
            self.use_bucket(index);
        }
        if !other.is_empty() {
            self.extend(other.min, other.max, other.sum);
        }
    }

    /// Adds all samples of a stored histogram; exact.
    pub fn merge_sparse(&mut self, other: &StoredHistogram) {
        for (index, n) in other.buckets() {
            add(&mut self.counts[index], n);
            self.use_bucket(index);
        }
        if !other.is_empty() {
            self.extend(other.min.0, other.max.0, other.sum.0);
        }
    }

    /// Takes the extremes and the sum of samples that were counted.
    fn extend(&mut self, min: u64, max: u64, sum: u64) {
        (self.min, self.max) = (self.min.min(min), self.max.max(max));
        self.use_bucket(bucket(min));
        self.use_bucket(bucket(max));
        add(&mut self.sum, sum);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        if let Some(used) = self.counts.get_mut(self.used.clone()) {
            used.fill(0);
        }
        (self.used, self.min, self.max, self.sum) = (UNUSED, u64::MAX, 0, 0);
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        total(self.nonzero().map(|(_, n)| n))
    }

    /// True when nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.min > self.max
    }

    /// Smallest sample, exact.
    pub fn min(&self) -> Option<Nanos> {
        (!self.is_empty()).then_some(Nanos(self.min))
    }

    /// Largest sample, exact.
    pub fn max(&self) -> Option<Nanos> {
        (!self.is_empty()).then_some(Nanos(self.max))
    }

    /// Sum of all samples, exact.
    pub fn sum(&self) -> Nanos {
        Nanos(self.sum)
    }

    /// Arithmetic mean in nanoseconds.
    pub fn mean(&self) -> Option<f64> {
        let n = self.count();
        (n > 0).then(|| self.sum as f64 / n as f64)
    }

    /// Standard deviation of the samples in nanoseconds, from bucket middles (relative error below 1 %).
    pub fn deviation(&self) -> Option<f64> {
        let (n, mean) = (self.count(), self.mean()?);
        if n < 2 {
            return Some(0.0);
        }
        // No sample lies outside the exact ends, so neither may the middle that stands for it.
        let (low, high) = (self.min as f64, self.max as f64);
        let mut squares = 0.0;
        for (index, count) in self.nonzero() {
            let middle = (bucket_middle(index) as f64).clamp(low, high);
            squares += count as f64 * (middle - mean).powi(2);
        }
        Some((squares / (n - 1) as f64).sqrt())
    }

    /// The latency that a share `q` in `0..=1` of the samples does not exceed: the upper bound of its bucket, never above
    /// the maximum, so that it is not under-reported.
    pub fn quantile(&self, q: f64) -> Option<Nanos> {
        let n = self.count();
        if n == 0 {
            return None;
        }
        let rank = ((q * n as f64).ceil() as u64).clamp(1, n);
        let mut seen = 0;
        for (i, c) in self.nonzero() {
            add(&mut seen, c);
            if seen >= rank {
                return Some(Nanos(bucket_high(i).min(self.max).max(self.min)));
            }
        }
        self.max()
    }

    /// Buckets that hold samples, in ascending order, with their counts.
    pub fn nonzero(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.used.clone().map(|i| (i, self.counts[i])).filter(|(_, n)| *n > 0)
    }

    /// The stored form.
    pub fn to_sparse(&self) -> StoredHistogram {
        if self.is_empty() {
            return StoredHistogram::default();
        }
        StoredHistogram::from_buckets(Nanos(self.min), Nanos(self.max), Nanos(self.sum), self.nonzero())
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Histogram {{ n: {}, min: {}, max: {}, sum: {} }}",
            self.count(),
            self.min,
            self.max,
            self.sum
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_stall_of_a_minute_keeps_its_length() {
        let mut h = Histogram::new();
        h.record_n(Nanos::micros(100), 1000);
        h.record(Nanos::seconds(60).0);
        assert_eq!(h.max(), Some(Nanos::seconds(60)));
        assert_eq!(h.quantile(1.0), Some(Nanos::seconds(60)));
    }

    #[test]
    fn quantiles_never_under_report() {
        let mut h = Histogram::new();
        for v in 1..=1000u64 {
            h.record(v * 1000);
        }
        let p50 = h.quantile(0.5).unwrap().0;
        assert!((500_000..=508_000).contains(&p50), "{p50}");
        assert_eq!(h.quantile(1.0), Some(Nanos(1_000_000)));
        assert_eq!(h.mean(), Some(500_500.0));
        assert_eq!(Histogram::new().quantile(0.5), None);
    }

    /// Bucket index and its range after the `histogram` crate with grouping power 6, which has the same layout.
    fn oracle(v: u64) -> (usize, u64, u64) {
        let mut h = histogram::Histogram::new(BITS as u8, 47).unwrap();
        h.increment(v).unwrap();
        let index = h.as_slice().iter().position(|c| *c == 1).unwrap();
        let filled = h.into_iter().nth(index).unwrap();
        (index, filled.start(), filled.end())
    }

    proptest! {
        #[test]
        fn layout_equals_h2(v in 0u64..(1 << 47), shift in 0u32..47) {
            let v = v >> shift;
            let mut one = Histogram::new();
            prop_assert_eq!(one.record_common(v), v >= 64);
            one.clear();
            one.record(v);
            prop_assert_eq!(one.nonzero().next(), Some((bucket(v), 1)));
            prop_assert_eq!((bucket(v), bucket_low(bucket(v)), bucket_high(bucket(v))), oracle(v));
            prop_assert!(bucket_low(bucket(v)) <= v && v <= bucket_high(bucket(v)));
            prop_assert!((bucket_middle(bucket(v)) as f64 - v as f64).abs() <= v as f64 / 64.0 + 0.5);
        }

        #[test]
        fn stored_form_loses_nothing(values in proptest::collection::vec(0u64..1 << 40, 0..200), cut in 0usize..200) {
            let mut whole = Histogram::new();
            let (mut a, mut b) = (Histogram::new(), Histogram::new());
            for (i, v) in values.iter().enumerate() {
                whole.record(*v);
                if i < cut { a.record(*v) } else { b.record(*v) }
            }
            a.merge(&b);
            prop_assert_eq!(a.to_sparse(), whole.to_sparse());
            let json = serde_json::to_string(&whole.to_sparse()).unwrap();
            let back: StoredHistogram = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(&back, &whole.to_sparse());
            let mut full = Histogram::new();
            full.merge_sparse(&back);
            prop_assert_eq!(full.quantile(0.99), whole.quantile(0.99));
            prop_assert_eq!(back.count(), values.len() as u64);
        }
    }
}

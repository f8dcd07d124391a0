//! The histogram as it is kept per second and written to the Record: filled buckets alone.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::unit::{Nanos, total};

use super::{BUCKETS, bucket, bucket_high};

/// A filled bucket: its index in the low [`Filled::INDEX`] bits, its count above, so that an hour of seconds fits into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Filled(u64);

impl Filled {
    const INDEX: u32 = 12;
    /// The largest count: 52 days of a billion samples a second.
    const MOST: u64 = u64::MAX >> Filled::INDEX;

    fn new(index: usize, count: u64) -> Filled {
        Filled(count.min(Filled::MOST) << Filled::INDEX | index as u64)
    }

    fn index(self) -> usize {
        (self.0 & ((1 << Filled::INDEX) - 1)) as usize
    }

    fn count(self) -> u64 {
        self.0 >> Filled::INDEX
    }
}

const _: () = assert!(BUCKETS <= 1 << Filled::INDEX);

/// A histogram that holds only its filled buckets: the form that is kept per second and written to the Record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredHistogram {
    /// Smallest sample (0 when empty).
    pub min: Nanos,
    /// Largest sample (0 when empty).
    pub max: Nanos,
    /// Sum of the samples.
    pub sum: Nanos,
    /// Ascending, counts above 0.
    filled: Box<[Filled]>,
}

/// The sums of several columns of histograms, row by row: the seconds of several streams together.
pub fn summed_columns<'a>(
    columns: impl IntoIterator<Item = &'a Vec<StoredHistogram>>,
) -> Vec<StoredHistogram> {
    let mut sums: Vec<StoredHistogram> = Vec::new();
    for column in columns {
        sums.resize(sums.len().max(column.len()), StoredHistogram::default());
        sums.iter_mut().zip(column).for_each(|(sum, row)| sum.merge(row));
    }
    sums
}

/// Characters of numbers with a comma each.
pub fn text_of_column(column: &[u64]) -> usize {
    column.iter().map(|n| n.checked_ilog10().unwrap_or(0) as usize + 2).sum()
}

impl StoredHistogram {
    /// From filled buckets in ascending order, as another program counted them.
    pub fn from_buckets(
        min: Nanos,
        max: Nanos,
        sum: Nanos,
        buckets: impl Iterator<Item = (usize, u64)>,
    ) -> StoredHistogram {
        StoredHistogram { min, max, sum, filled: buckets.map(|(i, n)| Filled::new(i, n)).collect() }
    }

    /// Filled buckets in ascending order, with their counts.
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.filled.iter().map(|f| (f.index(), f.count()))
    }

    /// True when it holds no sample.
    pub fn is_empty(&self) -> bool {
        self.filled.is_empty()
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        total(self.filled.iter().map(|f| f.count()))
    }

    /// Characters of it in a file.
    pub fn text_length(&self) -> usize {
        let (mut last, mut numbers) = (0, vec![self.min.0, self.max.0, self.sum.0]);
        for (index, count) in self.buckets() {
            numbers.extend([(index - last) as u64, count]);
            last = index;
        }
        const NAMES: usize = r#"{"min_ns":"max_ns":"sum_ns":"buckets":[]}"#.len();
        NAMES + text_of_column(&numbers)
    }

    /// The sum of the samples that are at least so long, at most.
    pub fn sum_from(&self, least: Nanos) -> Nanos {
        let mut sum = 0u64;
        for (index, count) in self.buckets().filter(|(index, _)| bucket_high(*index) >= least.0) {
            sum = sum.saturating_add(bucket_high(index).min(self.max.0).saturating_mul(count));
        }
        Nanos(sum)
    }

    /// Adds all samples of another stored histogram; exact.
    pub fn merge(&mut self, other: &StoredHistogram) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = other.clone();
            return;
        }
        // Seconds of machines under one load fill almost the same buckets: most merges find a place for every count.
        let (mut place, mut without_place) = (0, Vec::new());
        for theirs in &other.filled {
            while self.filled.get(place).is_some_and(|mine| mine.index() < theirs.index()) {
                place += 1;
            }
            match self.filled.get_mut(place) {
                Some(mine) if mine.index() == theirs.index() => {
                    *mine = Filled::new(mine.index(), mine.count().saturating_add(theirs.count()));
                }
                _ => without_place.push(*theirs),
            }
        }
        if !without_place.is_empty() {
            let mut filled = std::mem::take(&mut self.filled).into_vec();
            filled.append(&mut without_place);
            // A stable sort merges two ascending runs in one pass.
            filled.sort_by_key(|f| f.index());
            self.filled = filled.into();
        }
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum.0 = self.sum.0.saturating_add(other.sum.0);
    }
}

/// Latencies of one second. Buckets as fio lays them out: 0 to 127 ns one each, then 64 to every power of two.
///
/// Bucket numbers are steps from the one before, so that most are small.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Stored {
    /// Smallest sample, exact; 0 when empty.
    min_ns: Nanos,
    /// Largest sample, exact; 0 when empty.
    max_ns: Nanos,
    /// Sum of the samples, exact.
    sum_ns: Nanos,
    /// `[step, count, step, count, ...]`: the first step is the number of the first filled bucket.
    buckets: Vec<u64>,
}

impl JsonSchema for StoredHistogram {
    fn schema_name() -> Cow<'static, str> {
        "Histogram".into()
    }

    fn json_schema(g: &mut SchemaGenerator) -> Schema {
        Stored::json_schema(g)
    }
}

impl Serialize for StoredHistogram {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut last = 0;
        let mut buckets = Vec::with_capacity(self.filled.len() * 2);
        for (index, n) in self.buckets() {
            buckets.extend([index as u64 - last, n]);
            last = index as u64;
        }
        Stored { min_ns: self.min, max_ns: self.max, sum_ns: self.sum, buckets }.serialize(s)
    }
}

impl<'de> Deserialize<'de> for StoredHistogram {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<StoredHistogram, D::Error> {
        use serde::de::Error;
        let stored = Stored::deserialize(d)?;
        let (pairs, rest) = stored.buckets.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(D::Error::custom(
                "histogram: 'buckets' holds pairs of step and count, but its length is odd",
            ));
        }
        let mut filled = Vec::with_capacity(pairs.len());
        let (mut index, mut total) = (0u64, 0u64);
        for &[step, n] in pairs {
            index = index.saturating_add(step);
            total = total.saturating_add(n);
            if total > Filled::MOST {
                return Err(D::Error::custom("histogram: more than 2^52 samples"));
            }
            if n == 0 || index as usize >= BUCKETS || (step == 0 && !filled.is_empty()) {
                return Err(D::Error::custom(format!("histogram: bucket {index} with count {n} cannot be")));
            }
            filled.push(Filled::new(index as usize, n));
        }
        let ends = [(stored.min_ns, filled.first()), (stored.max_ns, filled.last())];
        if ends.into_iter().any(|(end, place)| place.is_some_and(|f| bucket(end.0) != f.index())) {
            return Err(D::Error::custom("histogram: 'min_ns' or 'max_ns' lies outside its buckets"));
        }
        Ok(StoredHistogram {
            min: stored.min_ns,
            max: stored.max_ns,
            sum: stored.sum_ns,
            filled: filled.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_json_is_refused() {
        for text in [
            r#"{"min_ns":0,"max_ns":0,"sum_ns":0,"buckets":[1]}"#,
            r#"{"min_ns":0,"max_ns":0,"sum_ns":0,"buckets":[9999999,1]}"#,
            r#"{"min_ns":0,"max_ns":0,"sum_ns":0,"buckets":[1,0]}"#,
            r#"{"min_ns":5,"max_ns":5,"sum_ns":0,"buckets":[1,1]}"#,
            r#"{"min_ns":1,"max_ns":1,"sum_ns":0,"buckets":[1,18446744073709551615,1,5]}"#,
            r#"{"min_ns":1,"max_ns":1,"sum_ns":0,"buckets":[1,4503599627370496]}"#,
        ] {
            assert!(serde_json::from_str::<StoredHistogram>(text).is_err(), "{text}");
        }
    }
}

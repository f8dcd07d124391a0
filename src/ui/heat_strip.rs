//! The last minute by latency: a column a second, a row for each step of latency on a log scale, darker where more I/Os were.

use std::collections::BTreeMap;

use volproof_base::hist::{Histogram, StoredHistogram, bucket_middle};
use volproof_base::sample::{Direction, Interval, PER_SECOND};
use volproof_base::stats::percentile::pooled;
use volproof_base::unit::Nanos;

/// Columns that are kept.
pub const SECONDS: usize = 60;

/// Latencies of the last seconds, over all steps that run.
#[derive(Clone, Debug, Default)]
pub struct Minute {
    seconds: BTreeMap<i64, StoredHistogram>,
}

/// The strip: rows from slow to fast, each with the latency at its lower edge.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatStrip {
    /// Lower edge of each row.
    pub edges: Vec<Nanos>,
    /// Shares of the I/Os of a second, 0 to 1, by row and second; absent for seconds without figures.
    pub rows: Vec<Vec<Option<f64>>>,
}

impl Minute {
    /// Takes in the latencies of whole seconds of a step, whose window begins at `shift` on the grid of the stage.
    pub fn add(&mut self, fresh: &[Interval], shift: i64) {
        for interval in fresh {
            let Some(second) = &interval.second else { continue };
            let place = (interval.index + shift).div_euclid(PER_SECOND as i64);
            let sum = self.seconds.entry(place).or_default();
            Direction::ALL.into_iter().for_each(|d| sum.merge(second.latency(d)));
        }
        while self.seconds.len() > SECONDS {
            self.seconds.pop_first();
        }
    }

    /// The latencies of the last second that was heard of.
    pub fn last(&self) -> Option<Histogram> {
        self.seconds.last_key_value().map(|(_, second)| pooled([second])).filter(|h| !h.is_empty())
    }

    /// The strip in so many rows and columns, up to a time since the first load of the stage began; `None` before the first second.
    pub fn strip(&self, rows: usize, columns: usize, now: Nanos) -> Option<HeatStrip> {
        // A second is heard of within one more; later ones that are missing stay empty.
        let newest = (*self.seconds.last_key_value()?.0).max(now.as_seconds() as i64 - 3);
        let oldest = newest - columns.clamp(1, SECONDS) as i64 + 1;
        let all = pooled(self.seconds.range(oldest..).map(|(_, second)| second));
        let (least, most) = (all.min()?.0.max(1) as f64, all.max()?.0.max(2) as f64);
        // At least a factor of 2 from end to end, so that a steady device is a band and no noise.
        let (low, high) = (least.ln(), most.ln().max(least.ln() + std::f64::consts::LN_2));
        let height = (high - low) / rows.max(1) as f64;
        let row_of = |ns: u64| {
            let from_below = ((ns.max(1) as f64).ln() - low) / height;
            rows - 1 - (from_below.max(0.0) as usize).min(rows - 1)
        };
        let mut strip = HeatStrip {
            edges: (0..rows).map(|r| Nanos((low + height * (rows - 1 - r) as f64).exp() as u64)).collect(),
            rows: vec![Vec::new(); rows],
        };
        let first = self.seconds.first_key_value().map_or(newest, |(place, _)| *place);
        for place in oldest.max(first)..=newest {
            let mut shares = vec![0.0; rows];
            let second = self.seconds.get(&place);
            if let Some(second) = second {
                let total = second.count().max(1) as f64;
                second.buckets().for_each(|(b, n)| shares[row_of(bucket_middle(b))] += n as f64 / total);
            }
            for (row, share) in strip.rows.iter_mut().zip(shares) {
                row.push(second.map(|_| share));
            }
        }
        Some(strip)
    }
}

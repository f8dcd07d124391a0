//! Thinning for the eye: at most so many points, each with the smallest, mean and largest of what it stands for.
//!
//! A thinned curve that shows only means would hide the very seconds that a page is read for; so extremes travel along.
//! Time is in seconds after the start of the window.

use serde::Serialize;

use volproof_base::hist::{BUCKETS, Histogram, StoredHistogram, bucket_low};
use volproof_base::sample::{GRID, PER_SECOND};

/// Points of a curve over time: more than a wide screen shows.
pub const POINTS: usize = 600;
/// Columns of a heat map.
const COLUMNS: usize = 200;
/// Rows of a heat map at most.
const ROWS: usize = 64;

/// Four significant digits: more cannot be seen, and would only make the page longer.
pub fn rounded(v: f64) -> f64 {
    if v == 0.0 || !v.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(3 - v.abs().log10().floor() as i32);
    if scale >= 1.0 { (v * scale).round() / scale } else { (v * scale).round() * (1.0 / scale).round() }
}

/// A rate over time, thinned: element `i` lies at `first + i * step` seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curve {
    /// Middle of the first point.
    pub first: f64,
    /// Distance of points.
    pub step: f64,
    /// Smallest unit in each point; empty where a point is one unit.
    pub low: Vec<f64>,
    /// Mean.
    pub mean: Vec<f64>,
    /// Largest unit.
    pub high: Vec<f64>,
}

/// How a window is cut: into units (what is compared), and units into points (what is drawn).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// Grid intervals in a unit.
    pub unit: usize,
    /// Units in a point.
    pub group: usize,
}

impl Cut {
    /// Units are single intervals in a run of up to a minute, seconds in a longer one, and what was merged where that is more.
    pub fn new(intervals: usize, merged: usize) -> Cut {
        let unit = if intervals <= POINTS { 1 } else { PER_SECOND as usize }.max(merged);
        Cut { unit, group: intervals.div_ceil(unit).div_ceil(POINTS).max(1) }
    }

    /// Length of a unit.
    pub fn unit_seconds(self) -> f64 {
        self.unit as f64 * GRID.as_seconds()
    }

    /// Length of a point.
    fn point_seconds(self) -> f64 {
        self.unit_seconds() * self.group as f64
    }
}

/// Counts on the grid as rates; `window` is the length of all of it in seconds. A last unit that was measured for
/// less than half of its time is left out: its rate would say nothing.
pub fn rates(counts: &[u64], window: f64, cut: Cut) -> Curve {
    let unit = cut.unit_seconds();
    let units: Vec<f64> = counts
        .chunks(cut.unit)
        .enumerate()
        .filter_map(|(i, chunk)| {
            let length = (window - i as f64 * unit).min(unit);
            (length >= unit / 2.0).then(|| chunk.iter().map(|&n| n as f64).sum::<f64>() / length)
        })
        .collect();
    let mut curve = Curve { first: cut.point_seconds() / 2.0, step: cut.point_seconds(), ..Curve::default() };
    for part in units.chunks(cut.group) {
        curve.mean.push(rounded(part.iter().sum::<f64>() / part.len() as f64));
        if cut.group > 1 {
            curve.low.push(rounded(part.iter().copied().fold(f64::INFINITY, f64::min)));
            curve.high.push(rounded(part.iter().copied().fold(0.0, f64::max)));
        }
    }
    curve
}

/// Latencies over time in microseconds; a point without I/O has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Latencies {
    /// Middle of the first point.
    pub first: f64,
    /// Distance of points.
    pub step: f64,
    /// Median.
    pub p50: Vec<Option<f64>>,
    /// 99th percentile.
    pub p99: Vec<Option<f64>>,
    /// Longest latency.
    pub max: Vec<Option<f64>>,
}

/// Histograms merged to so many at most, and how many seconds each then holds.
pub fn merged(seconds: &[StoredHistogram], most: usize) -> (usize, Vec<Histogram>) {
    let group = seconds.len().div_ceil(most).max(1);
    let merge = |part: &[StoredHistogram]| {
        let mut all = Histogram::new();
        part.iter().for_each(|s| all.merge_sparse(s));
        all
    };
    (group, seconds.chunks(group).map(merge).collect())
}

/// Percentiles over time from histograms that hold so many seconds each.
pub fn latencies(histograms: &[StoredHistogram], held: f64) -> Latencies {
    let (group, merged) = merged(histograms, POINTS);
    let length = group as f64 * held;
    let at = |q: f64| merged.iter().map(|h| Some(rounded(h.quantile(q)?.0 as f64 / 1e3))).collect();
    Latencies {
        first: length / 2.0,
        step: length,
        p50: at(0.5),
        p99: at(0.99),
        max: merged.iter().map(|h| Some(rounded(h.max()?.0 as f64 / 1e3))).collect(),
    }
}

/// How many I/Os took how long, over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Heat {
    /// Seconds in a column.
    pub step: f64,
    /// Limits of the rows in microseconds, ascending: one more than there are rows.
    pub edges: Vec<f64>,
    /// One list a column: the first row with I/Os, then counts from there upwards.
    pub columns: Vec<Vec<u64>>,
}

/// The heat map of histograms that hold so many seconds each; none without I/O.
pub fn heat(histograms: &[StoredHistogram], held: f64) -> Option<Heat> {
    let (group, columns) = merged(histograms, COLUMNS);
    let lowest = columns.iter().filter_map(|h| h.nonzero().next()).map(|b| b.0).min()?;
    let highest = columns.iter().filter_map(|h| h.nonzero().last()).map(|b| b.0).max()?;
    let mut fold = 8;
    while highest / fold - lowest / fold >= ROWS {
        fold *= 2;
    }
    let (bottom, top) = (lowest / fold, highest / fold);
    let edge = |row: usize| rounded(bucket_low((row * fold).min(BUCKETS - 1)).max(1) as f64 / 1e3);
    let column = |h: &Histogram| {
        let mut out: Vec<u64> = Vec::new();
        for (bucket, n) in h.nonzero() {
            let row = bucket / fold - bottom;
            if out.is_empty() {
                out.push(row as u64);
            }
            let place = 1 + row - out[0] as usize;
            if out.len() <= place {
                out.resize(place + 1, 0);
            }
            out[place] += n;
        }
        out
    };
    Some(Heat {
        step: group as f64 * held,
        edges: (bottom..=top + 1).map(edge).collect(),
        columns: columns.iter().map(column).collect(),
    })
}

/// A percentile curve: `nines[i]` is -log10 of the share above (2 is p99), beside it the latency in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// Position on the axis of nines.
    pub nines: Vec<f64>,
    /// Latency, microseconds.
    pub us: Vec<f64>,
}

/// The percentile curve up to where ten samples lie above: what lies beyond rests on fewer and is left to the maximum.
pub fn percentiles(all: &Histogram) -> Percentiles {
    let mut out = Percentiles::default();
    let last = (all.count() as f64 / 10.0).log10();
    let steps = (last / 0.05) as usize;
    for i in (0..=steps).filter(|_| last > 0.0) {
        let nines = i as f64 * 0.05;
        if let Some(v) = all.quantile(1.0 - 10f64.powf(-nines)) {
            out.nines.push(rounded(nines));
            out.us.push(rounded(v.0 as f64 / 1e3));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_base::unit::Nanos;

    #[test]
    fn four_digits_remain() {
        for (v, want) in [(123_456.0, 123_500.0), (0.123_456, 0.1235), (0.0, 0.0), (9_999.6, 10_000.0)] {
            assert!((rounded(v) - want).abs() < want * 1e-12 + 1e-300, "{v}: {}", rounded(v));
        }
        assert_eq!(rounded(f64::NAN), 0.0);
        assert_eq!(serde_json::to_string(&rounded(43_152_032.0)).unwrap(), "43150000.0");
    }

    #[test]
    fn a_second_of_nothing_survives_an_hour() {
        let mut counts = vec![100u64; 36_000];
        counts[18_000..18_010].fill(0);
        let cut = Cut::new(counts.len(), 1);
        assert_eq!((cut.unit, cut.group, cut.point_seconds()), (10, 6, 6.0));
        let curve = rates(&counts, 3600.0, cut);
        assert_eq!((curve.mean.len(), curve.low.len(), curve.first), (600, 600, 3.0));
        assert_eq!((curve.low[300], curve.high[300], curve.mean[300]), (0.0, 1000.0, 833.3));
        assert_eq!((curve.low[0], curve.mean[0]), (1000.0, 1000.0));
    }

    #[test]
    fn a_short_run_is_not_thinned_and_a_broken_end_not_inflated() {
        let cut = Cut::new(52, 1);
        assert_eq!((cut.unit, cut.group), (1, 1));
        // The last interval lasted 70 ms, and holds seven tenths of a full one.
        let mut counts = vec![10u64; 52];
        counts[51] = 7;
        let curve = rates(&counts, 5.17, cut);
        assert_eq!((curve.mean.len(), curve.mean[51], curve.low.len()), (52, 100.0, 0));
        assert_eq!(rates(&counts, 5.13, cut).mean.len(), 51);
    }

    #[test]
    fn a_heat_map_loses_no_io_and_stays_small() {
        let mut seconds = Vec::new();
        for s in 0..1000u64 {
            let mut h = Histogram::new();
            h.record_n(Nanos::micros(50 + s), 9);
            h.record(if s == 500 { 40_000_000_000 } else { 900 });
            seconds.push(h.to_sparse());
        }
        let heat = heat(&seconds, 1.0).unwrap();
        assert_eq!((heat.columns.len(), heat.step), (200, 5.0));
        assert!(
            heat.edges.len() <= ROWS + 1 && heat.edges.windows(2).all(|w| w[0] < w[1]),
            "{:?}",
            heat.edges
        );
        let total: u64 = heat.columns.iter().flat_map(|c| &c[1..]).sum();
        assert_eq!(total, 10_000);
        for c in heat.columns.iter() {
            assert!(c[0] as usize + c.len() - 1 < heat.edges.len());
        }
        assert_eq!(super::heat(&[StoredHistogram::default()], 1.0), None);
    }

    #[test]
    fn the_percentile_curve_ends_where_ten_samples_lie_above() {
        let mut h = Histogram::new();
        (1..=10_000u64).for_each(|v| h.record(v * 1000));
        let p = percentiles(&h);
        assert_eq!(*p.nines.last().unwrap(), 3.0);
        assert!(p.us.windows(2).all(|w| w[0] <= w[1]));
        assert!((p.us[p.us.len() - 1] / 9990.0 - 1.0).abs() < 0.02, "{:?}", p.us.last());
        assert_eq!(percentiles(&Histogram::new()), Percentiles::default());
    }
}

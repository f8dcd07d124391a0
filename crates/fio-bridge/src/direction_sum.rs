//! The figures of the steps of a row in one direction, added up as fio adds up its jobs (`stat.c`).

use std::borrow::Cow;

use super::of_record::ReportRow;
use super::percentile_list;
use fio_formats::output::{Latency, Samples, Stats};
use volproof_base::hist::Histogram;
use volproof_base::sample::{Direction, GRID, Series, Track};
use volproof_base::unit::{Bytes, Nanos, total};
use volproof_plan::Step;
use volproof_record::StepRecord;

/// fio's `bwavgtime` and `iopsavgtime`.
const SAMPLED_EVERY: u64 = 500_000_000;

/// The sum of all parts of a row in one direction.
#[derive(Default)]
pub(super) struct DirectionSum {
    pub(super) ios: u64,
    pub(super) bytes: u64,
    pub(super) runtime_ms: u64,
    pub(super) latencies: Histogram,
    /// The longest I/O that came back after the window.
    pub(super) longest_after: Nanos,
    pub(super) bandwidth: Sampled,
    pub(super) iops: Sampled,
}

/// fio's running statistics of a sampled rate.
#[derive(Clone, Copy, Default)]
pub(super) struct Sampled {
    min: u64,
    max: u64,
    mean: f64,
    /// Sum of squared distances from the mean.
    squares: f64,
    samples: u64,
}

impl Sampled {
    /// Of the rates of so many workers together, as fio adds those of equal jobs up: the deviation is that of one.
    fn shared(values: Vec<u64>, workers: u64) -> Sampled {
        let n = values.len() as f64;
        let mean = values.iter().map(|v| *v as f64).sum::<f64>() / n.max(1.0);
        Sampled {
            min: values.iter().copied().min().unwrap_or(0),
            max: values.iter().copied().max().unwrap_or(0),
            mean,
            squares: values.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / workers.max(1) as f64,
            samples: values.len() as u64 * workers,
        }
    }

    /// Another job of the row: fio adds everything up.
    pub(super) fn add(&mut self, other: &Sampled) {
        self.min += other.min;
        self.max += other.max;
        self.mean += other.mean;
        self.squares += other.squares;
        self.samples += other.samples;
    }

    fn samples(&self, unit: f64) -> Samples {
        let deviation =
            if self.samples > 1 { (self.squares / (self.samples - 1) as f64).sqrt() } else { 0.0 };
        Samples {
            min: self.min as f64 * unit,
            max: self.max as f64 * unit,
            share: None,
            mean: self.mean * unit,
            deviation: deviation * unit,
            samples: Some(self.samples),
        }
    }
}

/// Sums over the grid for each whole half second before the end; fio takes no sample of the last one.
fn half_seconds(column: impl Iterator<Item = u64>, window: Nanos) -> Vec<u64> {
    let column: Vec<u64> = column.collect();
    let whole = (window.0.max(1) - 1) / SAMPLED_EVERY;
    let sums = column.chunks((SAMPLED_EVERY / GRID.0) as usize).map(|c| total(c.iter().copied()));
    sums.take(whole as usize).filter(|n| *n > 0).collect()
}

/// Adds what a step did in one direction.
pub(super) fn add(
    sum: &mut DirectionSum,
    d: Direction,
    step: &Step,
    record: &StepRecord,
    series: &[&Series],
    workers: u64,
) {
    let streams: Vec<_> = series.iter().filter_map(|s| s.stream(d)).collect();
    if streams.is_empty() {
        return;
    }
    for stream in &streams {
        let moved = stream.track.total();
        sum.ios = sum.ios.saturating_add(moved.ios);
        sum.bytes = sum.bytes.saturating_add(moved.bytes.0);
        stream.service.iter().for_each(|second| sum.latencies.merge_sparse(second));
    }
    // fio waits for the I/Os in flight at the end, and its longest latency is of those as well. Which direction they had is not kept. Its time
    // and its count have them too: here both are those of the window, as in every other output.
    if step.rw.directions().first() == Some(&d) {
        sum.longest_after = sum.longest_after.max(record.drained_max_ns);
    }
    // fio counts microseconds, and begun milliseconds of them.
    sum.runtime_ms = sum.runtime_ms.max((record.window_ns.0 / 1000).div_ceil(1000));
    let on_grid = |pick: fn(&Track) -> &Vec<u64>| {
        let owned = series.iter().filter_map(|s| Some((*s, s.stream(d)?)));
        owned.map(|(series, stream)| series.on_grid(pick(&stream.track))).collect::<Vec<_>>()
    };
    let bytes = rates(&on_grid(|track| &track.bytes), record.window_ns, Bytes::KIB.0);
    sum.bandwidth.add(&Sampled::shared(bytes, workers));
    sum.iops.add(&Sampled::shared(rates(&on_grid(|track| &track.ios), record.window_ns, 1), workers));
}

/// Rates a second, in units of so much, of each whole half second.
fn rates(columns: &[Cow<'_, [u64]>], window: Nanos, unit: u64) -> Vec<u64> {
    let length = columns.iter().map(|column| column.len()).max().unwrap_or(0);
    let sums = (0..length).map(|i| total(columns.iter().map(|column| column.get(i).copied().unwrap_or(0))));
    let per_second = 1_000_000_000 / SAMPLED_EVERY;
    half_seconds(sums, window).into_iter().map(|n| n.saturating_mul(per_second) / unit).collect()
}

/// The figures of a direction as fio defines them.
pub(super) fn stats(row: &ReportRow, sum: &DirectionSum) -> Stats {
    let [clat, lat] = [row.clat_percentiles, row.lat_percentiles].map(|listed| {
        let told = percentile_list::latency(&sum.latencies, if listed { &row.percentiles } else { &[] });
        let max = if sum.ios > 0 { told.max.max(sum.longest_after) } else { told.max };
        Latency { max, ..told }
    });
    let ms = sum.runtime_ms;
    let per_second = (u128::from(sum.bytes) * 1000).checked_div(u128::from(ms)).unwrap_or(0);
    Stats {
        bytes: Bytes(sum.bytes),
        bytes_per_second: per_second as f64,
        iops: if ms > 0 { 1000.0 * sum.ios as f64 / ms as f64 } else { 0.0 },
        runtime: Nanos::millis(ms),
        ios: Some(sum.ios),
        slat: Some(percentile_list::latency(&Histogram::new(), &[])),
        clat: Some(clat),
        lat: Some(lat),
        bandwidth_samples: Some(sum.bandwidth.samples(Bytes::KIB.0 as f64)),
        iops_samples: Some(sum.iops.samples(1.0)),
        ..Stats::default()
    }
}

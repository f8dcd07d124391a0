//! The data that the page's script draws: one entry per step. Seconds after the start of the window, microseconds.
//!
//! The script gets numbers and names, never markup. Everything here is thinned by [`super::bins`].

use std::borrow::Cow;

use serde::Serialize;

use super::bins::{self, Curve, Cut, Heat, Latencies, Percentiles};
use volproof_base::hist::{Histogram, summed_columns};
use volproof_base::sample::{Direction, Series};
use volproof_base::stats::change;
use volproof_base::stats::load_grid::{LoadGrid, Stall};
use volproof_base::stats::rate::per_second;
use volproof_base::unit::Bytes;
use volproof_record::StepRecord;

/// All charts of a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepCharts {
    /// The element prefix in the page.
    pub id: String,
    /// Length of the window in seconds.
    pub seconds: f64,
    /// Length of what is compared within a point: an interval or a second.
    pub unit_seconds: f64,
    /// Rates of each direction.
    pub rates: Vec<RateCurves>,
    /// Changes of level.
    pub changes: Vec<LevelChange>,
    /// Times that are shaded: stalls.
    pub bands: Vec<TimeBand>,
    /// Latency over time, each direction.
    pub latency: Vec<NamedCurve<Latencies>>,
    /// Percentile curves.
    pub percentiles: Vec<NamedCurve<TailCurve>>,
    /// Heat maps.
    pub heat: Vec<NamedCurve<Heat>>,
}

/// The curve of a direction or disk, with its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NamedCurve<T> {
    /// Name of the direction or disk.
    pub name: String,
    /// The curve.
    #[serde(flatten)]
    pub it: T,
}

/// Both rates of a direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateCurves {
    /// The direction.
    pub name: String,
    /// I/Os a second.
    pub iops: Curve,
    /// MiB a second; means only, since I/Os have one size or a fixed mix.
    pub mib: Curve,
}

/// A change of level of the total.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelChange {
    /// Seconds after the start of the window.
    pub at: f64,
    /// I/Os a second before the change.
    pub before: f64,
    /// I/Os a second after the change.
    pub after: f64,
}

/// A percentile curve with its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TailCurve {
    /// The curve.
    #[serde(flatten)]
    pub curve: Percentiles,
    /// The longest latency, and the place of one sample among so many on the axis of nines.
    pub max: Option<(f64, f64)>,
}

/// A stall, which the charts over time shade.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeBand {
    /// Seconds after the start of the window.
    pub from: f64,
    /// Seconds after the start of the window.
    pub to: f64,
}

/// Element-wise sum of columns.
fn sum<'a>(columns: impl Iterator<Item = Cow<'a, [u64]>>) -> Vec<u64> {
    let mut out: Vec<u64> = Vec::new();
    for column in columns {
        out.resize(out.len().max(column.len()), 0);
        out.iter_mut().zip(&*column).for_each(|(a, b)| *a = a.saturating_add(*b));
    }
    out
}

/// More bands than these are no longer told apart.
const MOST_BANDS: usize = 200;

/// The charts of a step; `id` is its element prefix.
pub fn of_step(id: &str, step: &StepRecord) -> StepCharts {
    let series: Vec<&Series> = step.targets.iter().map(|t| &t.series).collect();
    let window = step.window_ns.as_seconds();
    let streams = |d| series.iter().filter_map(|s| Some((*s, s.stream(d)?))).collect::<Vec<_>>();
    let moved: Vec<_> =
        Direction::ALL.into_iter().map(|d| (d, streams(d))).filter(|(_, s)| !s.is_empty()).collect();
    let samples = moved.iter().flat_map(|(_, s)| s).map(|(_, s)| s.track.ios.len()).max().unwrap_or(0);
    let cut = Cut::new(samples * step.merged(), step.merged());
    let held = series.first().map_or(1, |s| s.seconds_merged()) as f64;
    let mut charts = StepCharts {
        id: id.into(),
        seconds: bins::rounded(window),
        unit_seconds: cut.unit_seconds(),
        rates: Vec::new(),
        changes: Vec::new(),
        bands: bands(&series),
        latency: Vec::new(),
        percentiles: Vec::new(),
        heat: Vec::new(),
    };
    for (d, streams) in &moved {
        let name = d.name().to_string();
        let iops =
            bins::rates(&sum(streams.iter().map(|(series, s)| series.on_grid(&s.track.ios))), window, cut);
        let mut mib =
            bins::rates(&sum(streams.iter().map(|(series, s)| series.on_grid(&s.track.bytes))), window, cut);
        mib.mean.iter_mut().for_each(|v| *v = bins::rounded(*v / Bytes::MIB.0 as f64));
        (mib.low, mib.high) = (Vec::new(), Vec::new());
        charts.rates.push(RateCurves { name: name.clone(), iops, mib });
        let service = summed_columns(streams.iter().map(|(_, s)| &s.service));
        let response = summed_columns(streams.iter().map(|(_, s)| &s.response));
        // What a client waits is what counts under a schedule; the device's own part is drawn beside.
        let felt = if response.is_empty() { &service } else { &response };
        charts.latency.push(NamedCurve { name: name.clone(), it: bins::latencies(felt, held) });
        charts.heat.extend(bins::heat(felt, held).map(|it| NamedCurve { name: name.clone(), it }));
        for (kind, seconds) in [("", &service), (" response", &response)] {
            let all = volproof_base::stats::percentile::pooled(seconds.iter());
            if !all.is_empty() {
                charts.percentiles.push(NamedCurve { name: format!("{name}{kind}"), it: tail(&all) });
            }
        }
    }
    let counted = moved.iter().filter(|(d, _)| *d != Direction::Sync).flat_map(|(_, s)| s);
    let mut total = sum(counted.map(|(series, s)| series.on_grid(&s.track.ios)));
    total.truncate((window * 10.0 + 1e-6) as usize);
    if !total.is_empty() {
        let seconds = per_second(&total);
        charts.changes = change::of_seconds(&seconds)
            .iter()
            .map(|c| LevelChange {
                at: bins::rounded(c.index as f64),
                before: bins::rounded(c.before),
                after: bins::rounded(c.after),
            })
            .collect();
    }
    charts
}

/// Stalls.
fn bands(series: &[&Series]) -> Vec<TimeBand> {
    let window = series.iter().map(|s| s.window_ns).max().unwrap_or_default();
    let band = |stall: Stall| {
        let from = stall.start.as_seconds();
        let to = from + stall.length_within(window).as_seconds();
        TimeBand { from: bins::rounded(from), to: bins::rounded(to) }
    };
    LoadGrid::from_series(series.iter().copied()).stalls().into_iter().map(band).take(MOST_BANDS).collect()
}

fn tail(all: &Histogram) -> TailCurve {
    let max =
        all.max().map(|m| (bins::rounded((all.count() as f64).log10()), bins::rounded(m.0 as f64 / 1e3)));
    TailCurve { curve: bins::percentiles(all), max }
}

//! The data that the page's script draws: one entry per step. Seconds after the start of the window, microseconds.
//!
//! The script gets numbers and names, never markup. Everything here is thinned by [`super::bins`].

use serde::Serialize;

use super::bins::{self, Curve, Cut, Heat, Latencies, Percentiles};
use volproof_base::hist::{Histogram, StoredHistogram};
use volproof_base::sample::{Direction, Series, Stream};
use volproof_base::stats::change;
use volproof_base::stats::load_grid::{LoadGrid, Stall};
use volproof_base::stats::rate::per_second;
use volproof_base::unit::{Bytes, Nanos};
use volproof_course::steady::{SteadyWindow, of_fifths};
use volproof_record::{Record, ReportedStep, StepRecord};

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
    /// SNIA's steady-state rule over the fifths of the run; absent without counts, and inside where the run is too short for it.
    #[serde(skip)]
    pub steady: Option<Option<SteadyWindow>>,
    /// Latency over time, each direction.
    pub latency: Vec<NamedCurve<Latencies>>,
    /// Percentile curves.
    pub percentiles: Vec<NamedCurve<TailCurve>>,
    /// Heat maps.
    pub heat: Vec<NamedCurve<Heat>>,
    /// The kernel's counters of the same time.
    pub evidence: Option<Strips>,
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

/// The kernel's counters over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Strips {
    /// Middle of each point, after the start of the window (the ramp lies before 0).
    pub at: Vec<f64>,
    /// Counters of each disk.
    pub disks: Vec<DiskStrip>,
    /// Shares of all CPUs' time in percent: user, kernel, interrupts, steal.
    pub cpu: [Vec<f64>; 4],
}

/// A time that the charts over time shade.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeBand {
    /// `warm-up`, `stall`, `brown-out` or `slow-start`.
    pub kind: &'static str,
    /// Seconds after the start of the window.
    pub from: f64,
    /// Seconds after the start of the window.
    pub to: f64,
}

/// One disk's counters over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DiskStrip {
    /// Name under /sys/block.
    pub name: String,
    /// Reads, writes, discards and flushes completed a second.
    pub iops: Vec<f64>,
    /// MiB a second.
    pub mib: Vec<f64>,
    /// Requests in the driver.
    pub in_flight: Vec<f64>,
}

/// Element-wise sum of columns.
fn sum<'a>(columns: impl Iterator<Item = &'a Vec<u64>>) -> Vec<u64> {
    let mut out: Vec<u64> = Vec::new();
    for column in columns {
        out.resize(out.len().max(column.len()), 0);
        out.iter_mut().zip(column).for_each(|(a, b)| *a = a.saturating_add(*b));
    }
    out
}

/// Histograms of each second over all targets.
fn seconds_of(streams: &[&Stream], pick: fn(&Stream) -> &Vec<StoredHistogram>) -> Vec<StoredHistogram> {
    let n = streams.iter().map(|s| pick(s).len()).max().unwrap_or(0);
    let mut out = vec![StoredHistogram::default(); n];
    for stream in streams {
        out.iter_mut().zip(pick(stream)).for_each(|(a, b)| a.merge(b));
    }
    out
}

/// More bands than these are no longer told apart.
const MOST_BANDS: usize = 200;

/// The charts of a step; `id` is its element prefix.
pub fn of_step(id: &str, record: &Record, step: &StepRecord) -> StepCharts {
    let series: Vec<&Series> = step.targets.iter().map(|t| &t.series).collect();
    let window = step.window_ns.as_seconds();
    let streams = |d| series.iter().filter_map(|s| s.stream(d)).collect::<Vec<&Stream>>();
    let moved: Vec<_> =
        Direction::ALL.into_iter().map(|d| (d, streams(d))).filter(|(_, s)| !s.is_empty()).collect();
    let intervals = moved.iter().flat_map(|(_, s)| s).map(|s| s.track.ios.len()).max().unwrap_or(0);
    let cut = Cut::of(intervals);
    let mut charts = StepCharts {
        id: id.into(),
        seconds: bins::rounded(window),
        unit_seconds: cut.unit_seconds(),
        rates: Vec::new(),
        changes: Vec::new(),
        bands: bands(&series),
        steady: None,
        latency: Vec::new(),
        percentiles: Vec::new(),
        heat: Vec::new(),
        evidence: strips(record, step),
    };
    for (d, streams) in &moved {
        let name = d.name().to_string();
        let iops = bins::rates(&sum(streams.iter().map(|s| &s.track.ios)), window, cut);
        let mut mib = bins::rates(&sum(streams.iter().map(|s| &s.track.bytes)), window, cut);
        mib.mean.iter_mut().for_each(|v| *v = bins::rounded(*v / Bytes::MIB.0 as f64));
        (mib.low, mib.high) = (Vec::new(), Vec::new());
        charts.rates.push(RateCurves { name: name.clone(), iops, mib });
        let service = seconds_of(streams, |s| &s.service);
        let response = seconds_of(streams, |s| &s.response);
        // What a client waits is what counts under a schedule; the device's own part is drawn beside.
        let felt = if response.is_empty() { &service } else { &response };
        charts.latency.push(NamedCurve { name: name.clone(), it: bins::latencies(felt) });
        charts.heat.extend(bins::heat(felt).map(|it| NamedCurve { name: name.clone(), it }));
        for (kind, seconds) in [("", &service), (" response", &response)] {
            let all = volproof_base::stats::percentile::pooled(seconds.iter());
            if !all.is_empty() {
                charts.percentiles.push(NamedCurve { name: format!("{name}{kind}"), it: tail(&all) });
            }
        }
    }
    if let Some(reported) = &step.reported {
        charts.percentiles = of_report(reported);
    }
    let counted = moved.iter().filter(|(d, _)| *d != Direction::Sync).flat_map(|(_, s)| s);
    let mut total = sum(counted.map(|s| &s.track.ios));
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
        charts.steady = Some(of_fifths(&seconds));
    }
    charts
}

/// The percentiles that a report has, or the ends of its bands of latency where it has no percentiles.
fn of_report(reported: &ReportedStep) -> Vec<NamedCurve<TailCurve>> {
    let curve = |points: &mut dyn Iterator<Item = (f64, Nanos)>| {
        let (nines, us) = points
            .filter(|(share, _)| *share > 0.0 && *share < 1.0)
            .map(|(share, at)| (bins::rounded(-(1.0 - share).log10()), bins::rounded(at.0 as f64 / 1e3)))
            .unzip();
        Percentiles { nines, us }
    };
    let mut curves = Vec::new();
    for (name, figures) in reported.parts() {
        let Some((_, latency)) = figures.percentiles() else { continue };
        let samples = latency.samples.get().or(figures.ios.get()).filter(|n| *n > 1 && latency.max.0 > 0);
        let max =
            samples.map(|n| (bins::rounded((n as f64).log10()), bins::rounded(latency.max.0 as f64 / 1e3)));
        let it = TailCurve { curve: curve(&mut latency.shares().into_iter()), max };
        curves.push(NamedCurve { name: name.into(), it });
    }
    if curves.is_empty() {
        let mut below = 0.0;
        let mut ends = reported.bands.iter().map(|band| {
            below += band.share;
            // The last band has all that is left; rounding may leave its end short of that.
            (if below > 1.0 - 1e-9 { 1.0 } else { below }, band.up_to)
        });
        let it = TailCurve { curve: curve(&mut ends), max: None };
        curves.push(NamedCurve { name: "all I/Os".into(), it });
    }
    curves.retain(|c| !c.it.curve.nines.is_empty());
    curves
}

/// Stalls.
fn bands(series: &[&Series]) -> Vec<TimeBand> {
    let window = series.iter().map(|s| s.window_ns).max().unwrap_or_default();
    let band = |stall: Stall| {
        let from = stall.start.as_seconds();
        let to = from + stall.length_within(window).as_seconds();
        TimeBand { kind: "stall", from: bins::rounded(from), to: bins::rounded(to) }
    };
    LoadGrid::of(series.iter().copied()).stalls().into_iter().map(band).take(MOST_BANDS).collect()
}

fn tail(all: &Histogram) -> TailCurve {
    let max =
        all.max().map(|m| (bins::rounded((all.count() as f64).log10()), bins::rounded(m.0 as f64 / 1e3)));
    TailCurve { curve: bins::percentiles(all), max }
}

/// The kernel's counters, averaged to so many points at most; none when nothing was sampled.
fn strips(record: &Record, step: &StepRecord) -> Option<Strips> {
    let e = record.evidence(step);
    let mut n = e.at_ns.len();
    // The last sample closes the load, however short a time after the one before; a rate of that would say nothing.
    if n > 1 && e.at_ns[n - 1].0.saturating_sub(e.at_ns[n - 2].0) < 500_000_000 {
        n -= 1;
    }
    if n == 0 {
        return None;
    }
    let group = n.div_ceil(bins::POINTS).max(1);
    let groups: Vec<(usize, usize)> = (0..n).step_by(group).map(|i| (i, (i + group).min(n))).collect();
    let start = record.window_starts(step).as_seconds();
    let time = |i: usize| if i == 0 { 0.0 } else { e.at_ns[i - 1].as_seconds() };
    let span = |&(a, b): &(usize, usize)| (time(b) - time(a)).max(1e-3);
    let total = |column: &[u64], &(a, b): &(usize, usize)| {
        column.get(a..b).unwrap_or_default().iter().map(|&v| v as f64).sum::<f64>()
    };
    let disks = e.disks.iter().map(|d| DiskStrip {
        name: d.name.clone(),
        iops: groups
            .iter()
            .map(|g| {
                let ios = [&d.reads, &d.writes, &d.discards, &d.flushes];
                bins::rounded(ios.iter().map(|c| total(c, g)).sum::<f64>() / span(g))
            })
            .collect(),
        mib: groups
            .iter()
            .map(|g| (total(&d.read_bytes, g) + total(&d.written_bytes, g)) / span(g) / Bytes::MIB.0 as f64)
            .map(bins::rounded)
            .collect(),
        in_flight: groups
            .iter()
            .map(|g| bins::rounded(total(&d.in_flight, g) / (g.1 - g.0) as f64))
            .collect(),
    });
    let c = &e.cpu;
    let parts = [&c.user_ns, &c.system_ns, &c.interrupt_ns, &c.steal_ns];
    let share = |part: &[u64]| {
        let of = |g: &(usize, usize)| {
            let all: f64 = parts.iter().map(|p| total(p, g)).sum::<f64>() + total(&c.idle_ns, g);
            if all > 0.0 { bins::rounded(total(part, g) / all * 100.0) } else { 0.0 }
        };
        groups.iter().map(of).collect::<Vec<f64>>()
    };
    Some(Strips {
        at: groups.iter().map(|&(a, b)| bins::rounded((time(a) + time(b)) / 2.0 - start)).collect(),
        disks: disks.collect(),
        cpu: parts.map(|p| share(p)),
    })
}

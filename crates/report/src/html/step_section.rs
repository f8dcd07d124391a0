//! The part of the page about one step: its rows, how it was driven, and its charts. Nothing is escaped (the template does).

use std::fmt::Write;

use super::charts::{self, StepCharts};
use super::sections::{Fact, fact, nanos};
use crate::latency_cells::latency_cells;
use crate::text::{self, driven};
use crate::ticket::fio_command;
use crate::{anatomy_words, provider_words};
use volproof_base::unit::{Nanos, grouped, mebibytes, micro, significant};
use volproof_host::anatomy::RequestPart;
use volproof_record::{Record, StepRecord};

/// A row of rates and latencies.
pub struct PageRow {
    /// Step, direction, target.
    pub name: String,
    /// Whether the row is of one target among several.
    pub part: bool,
    /// Link to the step on the page.
    pub link: String,
    /// I/Os a second.
    pub iops: String,
    /// Interval of the rate.
    pub interval: String,
    /// 2^20 bytes a second.
    pub mib: String,
    /// Mean, percentiles, maximum.
    pub latency: Vec<String>,
    /// The same from the intended start; empty without a schedule.
    pub response: Vec<String>,
    /// The rate over time as points of an SVG polyline in a box of 100 x 24.
    pub spark: String,
}

/// A chart: a place for the script, and words for who cannot see it.
pub struct Chart {
    /// `rates`, `percentiles`, `heat-0`.
    pub kind: String,
    /// Its title.
    pub title: String,
    /// Its content in words with figures.
    pub label: String,
    /// How to read it.
    pub caption: String,
    /// Height in pixels.
    pub height: u32,
}

impl Chart {
    /// Its kind without a number, for the style sheet.
    pub(super) fn class(&self) -> &str {
        self.kind.split('-').next().unwrap_or_default()
    }
}

/// A limit of the provider over time.
pub struct LimitRow {
    /// Whose limit, and of which disk.
    pub name: String,
    /// For how long it was exceeded in all.
    pub exceeded: String,
    /// The share of each second as points of an SVG polyline in a box of 100 x 24.
    pub curve: String,
}

/// A part of the time of traced requests: a piece of a bar of 100 x 24.
pub struct TimePart {
    /// The part, its mean time and its share.
    pub name: String,
    /// Where the piece begins.
    pub from: String,
    /// How wide it is.
    pub width: String,
}

/// A step.
pub struct StepSection {
    /// The element prefix.
    pub id: String,
    /// Its name.
    pub name: String,
    /// How it was driven, in a line.
    pub what: String,
    /// Rows of all directions and targets.
    pub rows: Vec<PageRow>,
    /// More on how the step was driven.
    pub facts: Vec<Fact>,
    /// Charts.
    pub charts: Vec<Chart>,
    /// For how long the provider's limits were exceeded, in rows below the first chart.
    pub limits: Vec<LimitRow>,
    /// Where the time of traced requests goes, in the order of a request.
    pub time_parts: Vec<TimePart>,
    /// Failed I/Os.
    pub errors: Vec<String>,
    /// The equivalent fio command, or why there is none.
    pub fio: Result<String, String>,
}

/// A step with all that belongs to it, and its charts' data.
pub fn step(record: &Record, index: usize) -> (StepSection, StepCharts) {
    let step = &record.steps[index];
    let id = format!("step-{}", index + 1);
    let charts = charts::of_step(&id, step);
    let errors = step.errors.first.iter().map(|e| {
        let (path, d) = (e.path.display(), e.direction.name());
        format!("{path}: {d} of {} at byte {}: {}", e.length_bytes, grouped(e.offset_bytes.0), e.error)
    });
    let section = StepSection {
        name: step.name.clone(),
        what: micro(&driven(record, step)),
        rows: rows(record, step, &charts),
        facts: facts(record, step),
        charts: places(step, &charts),
        limits: limits(step),
        time_parts: time_parts(step),
        errors: errors.collect(),
        fio: fio_command(record, step),
        id,
    };
    (section, charts)
}

fn rows(record: &Record, step: &StepRecord, charts: &StepCharts) -> Vec<PageRow> {
    let mut rows = Vec::new();
    for row in text::rows(step) {
        let s = row.summary;
        let curve = row.word.and_then(|word| charts.rates.iter().find(|r| r.name == word));
        rows.push(PageRow {
            name: row.name.trim_start().to_string(),
            part: row.word.is_none(),
            link: format!("#{}", charts.id),
            iops: significant(s.iops),
            interval: text::interval(s).unwrap_or_else(|| text::no_interval(record).into()),
            mib: mebibytes(s.bytes_per_second),
            latency: latency_cells(&s.service_latency_ns, nanos),
            response: s.response_latency_ns.as_ref().map(|l| latency_cells(l, nanos)).unwrap_or_default(),
            spark: curve.map(|curve| spark(&curve.iops.mean, 1e-9)).unwrap_or_default(),
        });
    }
    rows
}

/// The provider's limits of each disk that it counts, over the whole load.
fn limits(step: &StepRecord) -> Vec<LimitRow> {
    let mut rows = Vec::new();
    for (track, page) in step.evidence.provider.iter().zip(&step.provider) {
        for (whose, exceeded, times) in [
            ("Volume", &track.volume_exceeded, &page.volume_exceeded),
            ("Instance", &track.instance_exceeded, &page.instance_exceeded),
        ] {
            let longest = exceeded.ios_ns.iter().zip(&exceeded.bytes_ns).map(|(ios, bytes)| *ios.max(bytes));
            let seconds: Vec<f64> = longest.map(|ns| Nanos(ns).as_seconds()).collect();
            rows.push(LimitRow {
                name: format!("{whose} exceeded, {}", track.disk),
                exceeded: provider_words::seconds_of(times.longest(), page.counted_ns),
                curve: spark(&seconds, 1.0),
            });
        }
    }
    rows
}

/// The bar of a step whose requests were traced.
fn time_parts(step: &StepRecord) -> Vec<TimePart> {
    let Some(anatomy) = step.evidence.anatomy.as_ref().filter(|anatomy| anatomy.joined > 0) else {
        return Vec::new();
    };
    let mut from = 0.0;
    let mut parts = Vec::new();
    for part in RequestPart::ALL {
        let width = 100.0 * anatomy.share(part);
        let time = nanos(Nanos(anatomy.part_mean(part).round() as u64));
        parts.push(TimePart {
            name: format!("{}: {time}, {width:.0} %", part.name()),
            from: format!("{from:.2}"),
            width: format!("{width:.2}"),
        });
        from += width;
    }
    parts
}

/// A curve over its ground in a box of 100 x 24, thinned to at most 100 points by mean; 0 is at the bottom, and `least` or what is more at the
/// top.
fn spark(mean: &[f64], least: f64) -> String {
    let group = mean.len().div_ceil(100).max(1);
    let thin: Vec<f64> = mean.chunks(group).map(|c| c.iter().sum::<f64>() / c.len() as f64).collect();
    let top = thin.iter().copied().fold(least, f64::max);
    let last = (thin.len().max(2) - 1) as f64;
    let mut out = String::from("-2,26");
    for (i, v) in thin.iter().enumerate() {
        let _ = write!(out, " {:.1},{:.1}", i as f64 / last * 100.0, 23.0 - v / top * 20.0);
    }
    out + " 102,26"
}

/// What the line about a step has no room for.
fn facts(record: &Record, step: &StepRecord) -> Vec<Fact> {
    let mut facts = vec![fact(
        "Busiest load thread",
        format!("on a CPU {:.0} % of the time", step.cpu.busiest_worker * 100.0),
    )];
    if !step.engine_features.is_empty() {
        facts.push(fact("Engine uses", step.engine_features.join(", ")));
    }
    facts.extend(provider_words::of_step(step).into_iter().map(|line| fact("The disk counts", line)));
    if let Some(anatomy) = &step.evidence.anatomy {
        facts.extend(anatomy_words::facts(anatomy).into_iter().map(|line| fact("Traced requests", line)));
    }
    if !step.pinned_cpus.is_empty() {
        let cpus: Vec<String> = step.pinned_cpus.iter().map(u32::to_string).collect();
        facts.push(fact("Workers on CPUs", cpus.join(", ")));
    }
    if let Some(o) = &step.open_loop {
        let kept = if o.sustained { "sustained" } else { "not sustained" };
        facts.push(fact(
            "Schedule",
            format!(
                "{} a second offered, {} completed, {kept}; the generator itself was late by {} at p99, {} at most",
                significant(o.offered_per_second),
                significant(o.achieved_per_second),
                nanos(o.lag_p99_ns),
                nanos(o.lag_max_ns)
            ),
        ));
    }
    for (name, n) in [
        ("Never completed", step.open_loop.as_ref().map_or(0, |o| o.censored)),
        ("Failed I/Os", step.errors.count),
        ("Completed after the window", step.drained_ios),
        ("Flushes at the end", step.end_flushes),
        ("Lost requests", step.lost_ios),
        ("Stuck load threads", u64::from(step.stuck_workers)),
        ("Throttled by our own cgroup", record.evidence(step).cgroup_throttled_periods.unwrap_or(0)),
    ] {
        if n > 0 {
            facts.push(fact(name, grouped(n)));
        }
    }
    facts
}

/// The places for the charts of a step.
fn places(step: &StepRecord, charts: &StepCharts) -> Vec<Chart> {
    let mut out = Vec::new();
    if let Some(first) = charts.rates.first() {
        let rates = step.directions().map(|(d, s)| format!("{}s {} IOPS", d.name(), significant(s.iops)));
        let mut caption = if first.iops.low.is_empty() {
            format!("Each point of a rate is {} s.", charts.unit_seconds)
        } else {
            format!(
                "Each point of a rate is the mean of {} s; the band reaches from the lowest to the highest single second within.",
                first.iops.step
            )
        };
        if step.open_loop.is_some() {
            caption += " Latency counts from the intended start.";
        }
        if !charts.changes.is_empty() {
            caption += " Dashed: changes of level.";
        }
        if !charts.bands.is_empty() {
            caption += " Coloured bands: stalls, in which requests waited and none completed.";
        }
        out.push(Chart {
            kind: "rates".into(),
            title: "Over time".into(),
            label: format!(
                "IOPS, bandwidth and latency over {} s: {} on average.",
                charts.seconds,
                rates.collect::<Vec<_>>().join("; ")
            ),
            caption,
            height: 620,
        });
    }
    if !charts.percentiles.is_empty() {
        let longest = step
            .directions()
            .filter(|(_, s)| s.service_latency_ns.max.0 > 0)
            .map(|(d, s)| format!("{} at most {}", d.name(), nanos(s.service_latency_ns.max)));
        out.push(Chart {
            kind: "percentiles".into(),
            title: "Latency distribution".into(),
            label: format!("Percentile curve of latency: {}.", longest.collect::<Vec<_>>().join("; ")),
            caption: "Both axes are logarithmic: to the right, each nine. A curve ends where ten I/Os lie above it; the diamond is the longest of all."
                .into(),
            height: 380,
        });
    }
    for (i, heat) in charts.heat.iter().enumerate() {
        out.push(Chart {
            kind: format!("heat-{i}"),
            title: format!("Latency over time, {}s", heat.name),
            label: format!("Heat map: how many {}s took how long, over {} s.", heat.name, charts.seconds),
            caption: format!(
                "A column is {} s; the darker (in the dark: the brighter) a field, the more I/Os took so long. The colours are logarithmic.",
                heat.it.step
            ),
            height: 320,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spark_stays_in_its_box() {
        assert_eq!(spark(&[0.0, 5.0, 10.0], 1e-9), "-2,26 0.0,23.0 50.0,13.0 100.0,3.0 102,26");
        assert_eq!(spark(&[7.0], 1e-9), "-2,26 0.0,3.0 102,26");
        assert_eq!(spark(&vec![1.0; 600], 1e-9).split(' ').count(), 102);
    }
}

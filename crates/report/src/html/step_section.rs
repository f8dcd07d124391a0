//! The part of the page about one step: its rows, how it was driven, its charts and CPUs. Nothing is escaped (the template does).

use std::fmt::Write;

use super::charts::{self, StepCharts, TimeBand};
use super::grids::{self, Grid};
use super::sections::{Fact, fact, nanos};
use crate::text::together;
use crate::ticket::fio_command;
use volproof_base::unit::{Nanos, grouped, mebibytes, micro, significant};
use volproof_host::observe::CpuShare;
use volproof_plan::Step;
use volproof_record::{DirectionSummary, LatencySummary, Record, StepRecord};

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

/// The heads of [`PageRow::latency`].
pub const LATENCY_HEADS: [&str; 8] = ["mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"];
const PERCENTILES: [&str; 6] = ["50", "90", "95", "99", "99.9", "99.99"];

/// One CPU's shares in percent.
pub struct CpuRow {
    /// Number of the CPU.
    pub cpu: u32,
    /// Percent in user space, kernel, interrupts, steal.
    pub shares: [String; 4],
    /// Percent idle.
    pub idle: String,
    /// Completions by softirq.
    pub block_softirqs: String,
    /// Interrupts of all kinds.
    pub interrupts: String,
}

/// A chart: a place for the script, and words for who cannot see it.
pub struct Chart {
    /// `rates`, `percentiles`, `heat-0`, `strips`.
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

/// A step.
pub struct StepSection {
    /// The element prefix.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The load, in a line.
    pub what: String,
    /// Rows of all directions and targets.
    pub rows: Vec<PageRow>,
    /// Facts on how the step was driven.
    pub facts: Vec<Fact>,
    /// Whether the rate was steady.
    pub steady: String,
    /// Charts.
    pub charts: Vec<Chart>,
    /// CPUs.
    pub cpus: Vec<CpuRow>,
    /// Where the workers sat, and how the disks' queues were set.
    pub grids: Vec<Grid>,
    /// Failed I/Os.
    pub errors: Vec<String>,
    /// The equivalent fio command, or why there is none.
    pub fio: Result<String, String>,
}

/// A step with all that belongs to it, and its charts' data.
pub fn step(record: &Record, index: usize) -> (StepSection, StepCharts) {
    let step = &record.steps[index];
    let id = format!("step-{}", index + 1);
    let mut charts = charts::of_step(&id, record, step);
    let plan = record.plan_step(&step.name);
    if plan.is_some_and(|p| p.simulate.is_some()) {
        charts.evidence = None; // The kernel's clock ran while virtual time stood still, or the other way round.
    }
    let fio = fio_command(record, step);
    let errors = step.errors.first.iter().map(|e| {
        let (path, d) = (e.path.display(), e.direction.name());
        format!("{path}: {d} of {} at byte {}: {}", e.length_bytes, grouped(e.offset_bytes.0), e.error)
    });
    let section = StepSection {
        name: step.name.clone(),
        what: what(record, step),
        rows: rows(step, &charts, if record.report.is_some() { "not known" } else { "too short" }),
        facts: driven(record, step, plan),
        steady: steadiness(&charts),
        charts: places(step, &charts),
        cpus: record.evidence(step).per_cpu.iter().map(cpu).collect(),
        grids: grids::seats(step).into_iter().chain(grids::queues(record, step)).collect(),
        errors: errors.collect(),
        fio,
        id,
    };
    (section, charts)
}

fn what(record: &Record, step: &StepRecord) -> String {
    let c = record.conditions(step);
    let pace = match (&step.open_loop, step.in_flight_asked.get()) {
        (Some(o), _) => format!("{} arrivals a second offered", significant(o.offered_per_second)),
        (None, Some(asked)) => format!("depth {asked}"),
        (None, None) => String::new(),
    };
    let engine = c.engine.as_ref().cloned().unwrap_or_default();
    let cached = if c.direct.get() == Some(false) { "through the page cache" } else { "" };
    let words = [crate::text::load(record, step), pace, engine, cached.into(), step.window_ns.length()];
    words.into_iter().filter(|w| !w.is_empty()).collect::<Vec<_>>().join(", ")
}

/// `without` stands where there is no interval.
fn rows(step: &StepRecord, charts: &StepCharts, without: &str) -> Vec<PageRow> {
    let mixed = step.directions().count() > 1;
    let link = format!("#{}", charts.id);
    let row = |name: String, part: bool, s: &DirectionSummary, spark: String| PageRow {
        name,
        part,
        link: link.clone(),
        iops: significant(s.iops),
        interval: match s.interval() {
            Some(i) => {
                format!("{} – {}", significant(i.low_per_second.max(0.0)), significant(i.high_per_second))
            }
            None => without.into(),
        },
        mib: mebibytes(s.bytes_per_second),
        latency: latency(&s.service_latency_ns),
        response: s.response_latency_ns.as_ref().map(latency).unwrap_or_default(),
        spark,
    };
    let mut out = Vec::new();
    for (word, s) in step.figures() {
        let name = if mixed { format!("{} {word}", step.name) } else { step.name.clone() };
        let curve = charts.rates.iter().find(|r| r.name == word);
        out.push(row(name, false, s, curve.map(|c| spark(&c.iops.mean)).unwrap_or_default()));
        for target in step.targets.iter().filter(|_| step.targets.len() > 1) {
            if let Some(s) = target.row(word) {
                out.push(row(target.path.display().to_string(), true, s, String::new()));
            }
        }
    }
    out
}

/// Latencies as text; `~` differs too much between seconds to be quoted, `>` is known only to be longer.
fn latency(l: &LatencySummary) -> Vec<String> {
    let mark = if l.censored > 0 { ">" } else { "" };
    let told = |n: Option<Nanos>| n.map_or("–".into(), |n| format!("{mark}{}", nanos(n)));
    let mut out = vec![told(l.known_mean())];
    out.extend(PERCENTILES.iter().map(|name| l.marked(name, nanos).unwrap_or_else(|| "–".into())));
    out.push(told(l.known_max()));
    out
}

/// A curve over its ground in a box of 100 x 24, thinned to at most 100 points by mean; 0 is at the bottom.
pub(super) fn spark(mean: &[f64]) -> String {
    let group = mean.len().div_ceil(100).max(1);
    let thin: Vec<f64> = mean.chunks(group).map(|c| c.iter().sum::<f64>() / c.len() as f64).collect();
    let top = thin.iter().copied().fold(0.0, f64::max).max(1e-9);
    let last = (thin.len().max(2) - 1) as f64;
    let mut out = String::from("-2,26");
    for (i, v) in thin.iter().enumerate() {
        let _ = write!(out, " {:.1},{:.1}", i as f64 / last * 100.0, 23.0 - v / top * 20.0);
    }
    out + " 102,26"
}

fn driven(record: &Record, step: &StepRecord, plan: Option<&Step>) -> Vec<Fact> {
    let mut facts = vec![
        fact("Measured", step.window_ns.length()),
        fact(
            "Requests in flight",
            match step.in_flight_asked.get() {
                // A report without latencies does not tell how many were in flight.
                None if step.in_flight_mean <= 0.0 => "not known".into(),
                Some(asked) if step.in_flight_mean <= 0.0 => format!("{asked} asked for"),
                None => format!("{} on average", significant(step.in_flight_mean)),
                Some(asked) => {
                    format!("{} on average, {asked} asked for", significant(step.in_flight_mean))
                }
            },
        ),
        fact(
            "CPU per I/O",
            format!(
                "{} µs user + {} µs system; the busiest load thread was on a CPU {:.0} % of the time",
                significant(step.cpu.user_ns_per_io / 1e3),
                significant(step.cpu.system_ns_per_io / 1e3),
                step.cpu.busiest_worker * 100.0
            ),
        ),
    ];
    if let Some(engine) = record.conditions(step).engine.as_ref() {
        let engine = step.engine_features.iter().fold(engine.clone(), |a, f| a + ", " + f);
        facts.insert(2, fact("Engine", engine));
    }
    if let Some(p) = plan {
        facts.insert(1, fact("Jobs", format!("{} per target, depth {} each", p.numjobs, p.iodepth)));
        if p.ramp.0 > 0 {
            facts.insert(1, fact("Ramp before", nanos(p.ramp)));
        }
    }
    if let Some(text) = together(record, step) {
        let text = text.trim_start_matches("together with ").to_string();
        facts.insert(1, fact("Together with", micro(&text)));
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
        if o.censored > 0 {
            facts.push(fact("Never completed", grouped(o.censored)));
        }
    }
    for (name, n) in [
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

fn steadiness(charts: &StepCharts) -> String {
    let Some(window) = &charts.steady else { return String::new() };
    let Some(window) = window else {
        return "Too short to say whether the rate was steady.".into();
    };
    let verdict = if window.snia_pass && charts.changes.is_empty() { "Steady" } else { "Not steady" };
    let changes = match charts.changes.len() {
        0 => "no change of level".into(),
        1 => "one change of level".into(),
        n => format!("{n} changes of level"),
    };
    format!(
        "{verdict}: {changes}; fifths of the run differ by {:.1} % (at most 20 %) and drift by {:.1} % (at most ±10 %).",
        window.range_pct, window.drift_pct
    )
}

/// How to read the coloured bands.
fn banded(bands: &[TimeBand]) -> String {
    let count = |kind: &str| bands.iter().filter(|b| b.kind == kind).count();
    let words = [
        ("warm-up", "the warm-up, which is judged with the rest"),
        ("stall", "stalls, in which requests waited and none completed"),
        ("brown-out", "brown-outs, at about half the median rate or less"),
        ("slow-start", "a slow start, at about half the median rate or less"),
    ];
    let told: Vec<&str> = words.iter().filter(|(kind, _)| count(kind) > 0).map(|(_, words)| *words).collect();
    if told.is_empty() { String::new() } else { format!(" Coloured bands: {}.", told.join("; ")) }
}

fn places(step: &StepRecord, charts: &StepCharts) -> Vec<Chart> {
    let mut out = Vec::new();
    if let Some(first) = charts.rates.first() {
        let each: Vec<String> = step
            .directions()
            .map(|(d, s)| {
                let worst = s.rate.as_ref().and_then(|r| r.worst_second);
                let worst = worst.map(|w| format!(", worst second {}", grouped(w))).unwrap_or_default();
                format!("{}s {} IOPS on average{worst}", d.name(), significant(s.iops))
            })
            .collect();
        let unit = if charts.unit_seconds < 1.0 { "a tenth of a second" } else { "a second" };
        let thin = if first.iops.low.is_empty() {
            format!("Each point of a rate is {unit}.")
        } else {
            format!(
                "Each point of a rate is the mean of {} s; the band reaches from the lowest to the highest single second within.",
                first.iops.step
            )
        };
        let seconds = charts.latency.first().map_or(1.0, |l| l.it.step);
        let each_latency = if seconds > 1.0 { format!("{seconds} s") } else { "a second".into() };
        out.push(Chart {
            kind: "rates".into(),
            title: "Over time".into(),
            label: format!("IOPS, bandwidth and latency over {} s: {}.", charts.seconds, each.join("; ")),
            caption: format!(
                "{thin} Latency is that of all I/Os of {each_latency}{}.{}{}",
                if step.open_loop.is_some() { ", from the intended start" } else { "" },
                if charts.changes.is_empty() { "" } else { " Dashed: changes of level." },
                banded(&charts.bands),
            ),
            height: 620,
        });
    }
    if !charts.percentiles.is_empty() {
        let max = step
            .directions()
            .filter(|(_, s)| s.service_latency_ns.max.0 > 0)
            .map(|(d, s)| format!("{} at most {}", d.name(), nanos(s.service_latency_ns.max)));
        let tail = if step.open_loop.is_some() {
            " The response is counted from the intended start; arrivals that completed after the window are in the table alone."
        } else {
            ""
        };
        out.push(Chart {
            kind: "percentiles".into(),
            title: "Latency distribution".into(),
            label: format!("Percentile curve of latency: {}.", max.collect::<Vec<_>>().join("; ")),
            caption: format!(
                "Both axes are logarithmic: to the right, each nine. {}; the diamond is the longest of all.{tail}",
                match step.reported {
                    Some(_) => "The points are those of the report",
                    None => "A curve ends where ten I/Os lie above it",
                }
            ),
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
    if let Some(s) = &charts.evidence {
        let names: Vec<&str> = s.disks.iter().map(|d| d.name.as_str()).collect();
        out.push(Chart {
            kind: "strips".into(),
            title: "What the kernel counted".into(),
            label: format!("Disks {} and all CPUs over time, from the kernel's counters.", names.join(", ")),
            caption: "The disks' own counters and the CPU time of the whole machine, other programs included; before 0 lies the ramp.".into(),
            height: 110 * (2 * s.disks.len() as u32 + 1) + 90,
        });
    }
    out
}

fn cpu(c: &CpuShare) -> CpuRow {
    let percent = |v: f64| format!("{:.1}", (v * 100.0).clamp(0.0, 100.0));
    CpuRow {
        cpu: c.cpu,
        shares: [percent(c.user), percent(c.system), percent(c.irq + c.softirq), percent(c.steal)],
        idle: percent(c.idle),
        block_softirqs: grouped(c.block_softirqs),
        interrupts: grouped(c.interrupts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spark_stays_in_its_box() {
        assert_eq!(spark(&[0.0, 5.0, 10.0]), "-2,26 0.0,23.0 50.0,13.0 100.0,3.0 102,26");
        assert_eq!(spark(&[7.0]), "-2,26 0.0,3.0 102,26");
        assert_eq!(spark(&vec![1.0; 600]).split(' ').count(), 102);
    }

    #[test]
    fn figures_without_ten_samples_are_not_made_up() {
        let l = LatencySummary {
            samples: 100,
            min: Nanos(1),
            mean: 1500.4,
            deviation: 0.0,
            max: Nanos::millis(2),
            percentiles: [("50".to_string(), Nanos::micros(1)), ("90".to_string(), Nanos::micros(9))].into(),
            unsettled: vec!["90".into()],
            censored: 0,
        };
        assert_eq!(latency(&l), ["1.50 µs", "1.00 µs", "~9.00 µs", "–", "–", "–", "–", "2.00 ms"]);
        let open = LatencySummary { censored: 20, ..l };
        assert_eq!(latency(&open)[2..], [">9.00 µs", "–", "–", "–", "–", ">2.00 ms"]);
    }
}

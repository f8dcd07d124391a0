//! Latencies as fio prints them: each line and each table in a unit of its own.

use std::fmt::Write;

use super::figure::{figure, percent};
use crate::output::{Latency, Stats};

/// A unit and its nanoseconds. Above a smallest and a largest value fio takes the next one.
const UNITS: [(&str, u64); 3] = [("msec", 1_000_000), ("usec", 1000), ("nsec", 1)];

fn unit(min: u64, max: u64, also: impl Fn(u64) -> bool) -> (&'static str, u64) {
    let mut fitting = UNITS.into_iter().filter(|(_, ns)| min > 2 * ns && max > 100 * ns - 1 && also(*ns));
    fitting.next().unwrap_or(UNITS[2])
}

/// `    clat (usec): min=146, max=83783, avg=6384.14, stdev=19527.05`.
pub fn line(name: &str, l: &Latency) -> String {
    let (word, ns) = unit(l.min.0, l.max.0, |ns| l.deviation > ns as f64);
    let [min, max] = [l.min.0, l.max.0].map(|v| figure(v / ns, 6, 0, false));
    let [mean, deviation] = [l.mean, l.deviation].map(|v| v / ns as f64);
    format!("    {name} ({word}): min={min}, max={max}, avg={mean:5.2}, stdev={deviation:5.2}\n")
}

/// The table of percentiles; nothing where there are none.
pub fn percentiles(name: &str, l: &Latency, precision: usize) -> String {
    let values = l.percentiles.iter().map(|p| p.1.0);
    let (Some(min), Some(max)) = (values.clone().min(), values.max()) else { return String::new() };
    let (word, ns) = unit(min, max, |_| true);
    let digits = (max / ns).max(1).ilog10() as usize + 1;
    let width = digits.max(5);
    let per_line = (73 / (precision + 10 + width)).max(1);
    let mut out = format!("    {name} percentiles ({word}):\n");
    let rows = l.percentiles.chunks(per_line);
    let last = rows.len().saturating_sub(1);
    for (i, row) in rows.enumerate() {
        out.push_str("     |");
        let cells: Vec<String> = row
            .iter()
            .map(|(p, v)| {
                format!(" {p:field$.precision$}th=[{:width$}]", v.0.div_ceil(ns), field = precision + 3)
            })
            .collect();
        out.push_str(&cells.join(","));
        out.push_str(if i < last { ",\n" } else { "\n" });
    }
    out
}

fn counted(samples: Option<u64>) -> String {
    samples.map(|n| format!(", samples={n}")).unwrap_or_default()
}

/// Bandwidth and IOPS over time.
pub fn samples(stats: &Stats) -> String {
    let mut out = String::new();
    if let Some(s) = stats.bandwidth_samples.filter(|s| s.samples != Some(0)) {
        let factor = 1.0 / 1024.0;
        let large = s.mean * factor > 1024.0 * 1024.0;
        let (divisor, word) = if large { (1024.0, "MiB") } else { (1.0, "KiB") };
        // fio counts whole units of 1024 bytes before it scales them.
        let [min, max] = [s.min, s.max].map(|v| ((v * factor).round() / divisor) as u64);
        let _ = writeln!(
            out,
            "   bw ({word:>5}/s): min={min:5}, max={max:5}, per={:.2}%, avg={:5.2}, stdev={:5.2}{}",
            percent(s.share.unwrap_or(1.0)),
            s.mean * factor / divisor,
            s.deviation * factor / divisor,
            counted(s.samples)
        );
    }
    if let Some(s) = stats.iops_samples.filter(|s| s.samples != Some(0)) {
        let _ = writeln!(
            out,
            "   iops        : min={:5}, max={:5}, avg={:5.2}, stdev={:5.2}{}",
            s.min as u64,
            s.max as u64,
            s.mean,
            s.deviation,
            counted(s.samples)
        );
    }
    out
}

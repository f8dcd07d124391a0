//! One run in sentences: the load, its figures, its latencies, and Little's law.

use volproof_base::stats::little::in_flight;
use volproof_base::unit::{Nanos, counted, grouped, megabytes as rate, significant};
use volproof_record::StepFigures;
use volproof_record::{
    Conditions, LatencySummary, Record, ReportProgram, ReportedFigures, ReportedLatency, ReportedStep,
    StepRecord,
};

/// The load and its targets, in a sentence.
pub fn tested(record: &Record, step: &StepRecord, c: &Conditions, s: &StepFigures) -> String {
    let several = c.jobs.get().is_some_and(|n| n > 1);
    // The threads of sysbench share the range, and those of a sequential test divide it among them. Threads of DiskSpd share a target.
    let shared = record.report.as_ref().is_some_and(|r| match r.program {
        ReportProgram::Sysbench => true,
        ReportProgram::Diskspd => c.own_files.get() == Some(false),
        _ => false,
    });
    let apart = if !several {
        ""
    } else if shared {
        " together"
    } else {
        " each"
    };
    let size = c.size.get().filter(|b| b.0 > 0);
    let assumed = if c.size.is_assumed() { " (assumed)" } else { "" };
    let size = size.map(|b| format!(", range {b}{apart}{assumed}"));
    let description = step.reported.as_ref().and_then(|r| r.description.as_ref()).map(|d| format!(" [{d}]"));
    let time = s.rate.window.filter(|w| w.0 > 0).map(|w| format!(", {} s", significant(w.as_seconds())));
    let own = || record.targets_of(step).iter().map(|t| t.path.display().to_string()).collect::<Vec<_>>();
    let said = || c.targets.as_ref().map(|t| t.iter().map(|t| t.display().to_string()).collect::<Vec<_>>());
    let (targets, apart) = match record.report {
        Some(_) => (said().unwrap_or_default(), ":"),
        None => (own(), ", "),
    };
    let on = if targets.is_empty() { String::new() } else { format!(", on {}", targets.join(apart)) };
    format!(
        "{}, {}{on}{}{}{}",
        load(c),
        drive(c),
        size.unwrap_or_default(),
        time.unwrap_or_default(),
        description.unwrap_or_default()
    )
}

/// Block and pattern for people: `4 KiB random reads`.
fn load(c: &Conditions) -> String {
    let rw = c.rw.as_ref().map_or("I/O", String::as_str);
    let what = match rw.split(':').next().unwrap_or(rw) {
        "read" => "sequential reads",
        "write" => "sequential writes",
        "trim" => "sequential discards",
        "randread" => "random reads",
        "randwrite" => "random writes",
        "randtrim" => "random discards",
        "rw" | "readwrite" => "sequential reads and writes",
        "randrw" => "random reads and writes",
        "trimwrite" => "discards, each followed by a write",
        "randtrimwrite" => "random discards, each followed by a write",
        other => other,
    };
    let mix = c.reads_percent.get().filter(|_| rw.ends_with("rw") || rw == "readwrite");
    let mix = mix.map(|p| format!(" ({p} % reads)")).unwrap_or_default();
    let preferred = c.preferred_blocks().map(|name| format!(" ({name})")).unwrap_or_default();
    match c.block.get() {
        Some((low, high)) if low == high => format!("{low} {what}{mix}{preferred}"),
        Some((low, high)) => format!("{what}{mix} of {low} to {high}{preferred}"),
        None => format!("{what}{mix}{preferred}"),
    }
}

/// Depth, threads, engine and cache for people.
fn drive(c: &Conditions) -> String {
    let flight = c.in_flight().map(|n| format!("{} in flight ", grouped(n)));
    let jobs = match c.jobs.get() {
        Some(n) => format!("{n} job{}", if n == 1 { "" } else { "s" }),
        None => "number of jobs not known".into(),
    };
    let cache = c.direct.get().filter(|_| !c.is_null());
    let how: Vec<String> = [
        c.engine.as_ref().cloned(),
        c.iodepth.get().map(|d| format!("iodepth {d}")),
        Some(jobs),
        cache.map(|d| if d { "direct" } else { "through the page cache" }.to_string()),
    ]
    .into_iter()
    .flatten()
    .collect();
    format!("{}({})", flight.unwrap_or_default(), how.join(", "))
}

/// The part of each host.
pub fn hosts(reported: &ReportedStep) -> Vec<String> {
    let line = |h: &volproof_record::ReportedHost| {
        let known = [
            h.iops.get().map(|x| format!("{} IOPS", significant(x))),
            h.bytes_per_second.get().map(rate),
            h.mean_ns.get().map(|ns| format!("mean {}", Nanos(ns.round() as u64))),
        ];
        format!("{}: {}", h.host, known.into_iter().flatten().collect::<Vec<_>>().join(", "))
    };
    reported.hosts.iter().map(line).collect()
}

/// The line that matters, for each direction.
pub fn result(step: &StepRecord, s: &StepFigures) -> Vec<String> {
    let mut lines: Vec<String> = match &step.reported {
        Some(reported) => reported.parts().iter().map(|(name, f)| direction(name, f)).collect(),
        None => step
            .directions()
            .map(|(d, f)| line(d.name(), f.iops, f.bytes_per_second, f.ios, step.window_ns))
            .collect(),
    };
    if let (Some(x), Some(bytes), true) = (s.rate.iops, s.rate.bytes_per_second, lines.len() > 1) {
        // Directions that ran for unequal times do not add up to the total.
        let uneven = step.reported.as_ref().filter(|reported| reported.uneven());
        let over = uneven.and_then(|reported| reported.window());
        let over = over.map(|time| format!(" over the {time} of the longer one")).unwrap_or_default();
        lines.push(format!("together {} IOPS, {}{over}", significant(x), rate(bytes)));
    }
    lines
}

/// One direction of a report, as far as it tells it.
fn direction(name: &str, f: &ReportedFigures) -> String {
    let (seconds, iops) = (f.runtime.get().map(Nanos::as_seconds), f.iops.get());
    let (Some(seconds), Some(iops), Some(bytes)) = (seconds, iops, f.bytes_per_second.get()) else {
        let known = [
            iops.map(|x| format!("{} IOPS", significant(x))),
            f.bytes_per_second.get().map(rate),
            f.ios.get().map(|n| counted(n, "I/O")),
            (f.bytes.0 > 0).then(|| format!("{} moved", f.bytes)),
            seconds.map(|s| format!("in {} s", significant(s))),
        ];
        let known: Vec<String> = known.into_iter().flatten().collect();
        return format!("{name}: {}; the rest is not known", known.join(", "));
    };
    let moved = if f.bytes.0 > 0 { format!(", {} moved", f.bytes) } else { String::new() };
    // Without the count of I/Os none is made up of the rounded rate.
    let Some(ios) = f.ios.get() else {
        return format!(
            "{name}: {} IOPS, {} in {} s{moved}",
            significant(iops),
            rate(bytes),
            significant(seconds)
        );
    };
    line(name, iops, bytes, ios, Nanos((seconds * 1e9) as u64)) + &moved
}

/// One direction: rates in both units, and what they rest on.
fn line(name: &str, iops: f64, bytes: f64, ios: u64, time: Nanos) -> String {
    format!(
        "{name}: {} IOPS, {}: {} in {} s",
        significant(iops),
        rate(bytes),
        counted(ios, "I/O"),
        significant(time.as_seconds())
    )
}

/// Percentiles that are put into words.
const TOLD: [&str; 4] = ["50", "95", "99", "99.9"];

/// Latencies: of flushes first, since they are what their test is about, then for each direction.
pub fn latencies(step: &StepRecord) -> Vec<String> {
    let Some(reported) = &step.reported else {
        return step.directions().map(|(d, f)| own_latency(d.name(), &f.service_latency_ns)).collect();
    };
    let flushes = reported
        .timed_flushes()
        .into_iter()
        .map(|s| latency_line("flush", "", (s.latency.mean, s.latency.max), Some(("", &s.latency))));
    let parts = reported.parts();
    let of_parts = parts.iter().filter_map(|(name, f)| latency_of(name, f));
    // Rates of directions apart, and latencies of all requests together.
    let together = reported.mixed.iter().filter(|_| reported.read.is_some() || reported.write.is_some());
    flushes.chain(of_parts).chain(together.filter_map(|f| latency_of("all requests", f))).collect()
}

fn own_latency(name: &str, l: &LatencySummary) -> String {
    let table = ReportedLatency { percentiles: l.percentiles.clone(), ..ReportedLatency::default() };
    latency_line(name, "", (l.mean, l.max), Some(("", &table)))
}

/// Latencies of a direction under fio's names of them, where it is not the total alone.
fn latency_of(name: &str, f: &ReportedFigures) -> Option<String> {
    let (kind, mean) = f.latency()?;
    let table = f.percentiles();
    let plain = kind == "lat" && table.is_none_or(|(k, _)| k == "lat");
    let word = |kind: &'static str| if plain { "" } else { kind };
    let table = table.map(|(k, l)| (word(k), l));
    let mut text = latency_line(name, word(kind), (mean.mean, mean.max), table);
    // A submission that takes its part of the whole is no matter of the device's queue.
    if let Some(slat) = f.submission.as_ref().filter(|l| kind == "lat" && l.mean > SUBMISSION * mean.mean) {
        text += &format!(
            "; submission (slat) took {} of it, {} %",
            Nanos(slat.mean.round() as u64),
            significant(100.0 * slat.mean / mean.mean)
        );
    }
    Some(text)
}

/// From this share of the mean latency on, a line gives the time of submission.
const SUBMISSION: f64 = 0.1;

/// Mean, percentiles and maximum in words, with the name of their kind where another begins.
fn latency_line(
    name: &str,
    kind: &'static str,
    (mean, longest): (f64, Nanos),
    table: Option<(&'static str, &ReportedLatency)>,
) -> String {
    let mut last = "";
    let mut told: Vec<String> = Vec::new();
    let mut tell = |kind: &'static str, words: String| {
        told.push(if kind == last { words } else { format!("{kind} {words}") });
        last = kind;
    };
    if mean > 0.0 {
        tell(kind, format!("mean {}", Nanos(mean.round() as u64)));
    }
    if let Some((kind, table)) = table {
        for (p, v) in TOLD.iter().filter_map(|p| Some((*p, table.percentiles.get(*p)?))) {
            tell(kind, if p == "50" { format!("half within {v}") } else { format!("{p} % within {v}") });
        }
    }
    if longest.0 > 0 {
        tell(kind, format!("longest {longest}"));
    }
    format!("{name}: {}", told.join(", "))
}

/// Little's law over a run, and whether it holds. `counted`: the requests in flight were counted, and not only asked for; the value is the
/// mean number of those whose time is in no latency ([`Accounting::outside_latency_ns`]).
///
/// [`Accounting::outside_latency_ns`]: volproof_record::Accounting::outside_latency_ns
pub fn little(c: &Conditions, s: &StepFigures, counted: Option<f64>) -> (Option<String>, Option<bool>) {
    let (Some(x), Some(mean)) = (s.rate.iops, s.latency.mean_ns) else { return (None, None) };
    let by_law = in_flight(x, mean);
    let product =
        format!("{}/s x {} = {} in flight", significant(x), Nanos(mean as u64), significant(by_law));
    // The edges of the window hold a mean latency, in which requests lie only partly inside.
    let edges = s.rate.window.map_or(0.0, |w| mean / w.0.max(1) as f64);
    if let (Some(n), Some(outside)) = (s.load.in_flight, counted) {
        let holds = ((by_law + outside) / n - 1.0).abs() <= 0.02 + edges;
        let words = if holds { "holds" } else { "does not hold: something is counted wrong" };
        let apart = match significant(outside) {
            told if (outside / n).abs() > 0.01 => format!(", {told} of them in no latency"),
            _ => String::new(),
        };
        let text = format!("{product}, and {} were counted{apart}: the law {words}", significant(n));
        return (Some(text), Some(holds));
    }
    let Some(asked) = c.in_flight() else { return (Some(format!("{product} on average")), None) };
    let ratio = by_law / asked as f64;
    let near = 0.05 + edges;
    let (holds, words) = if ratio < 1.0 - near {
        (true, why_short(c, s, ratio))
    } else if ratio <= 1.0 + near && s.load.direct != Some(false) && c.odd_options.is_empty() {
        (true, "the law holds, the queue was full all the time".into())
    } else if ratio <= 1.0 + near {
        (true, "the law holds".into())
    } else if ratio <= 1.0 + near + c.begun_before(s.latency.max, s.rate.window) {
        (true, "requests that began before the measured time explain what is above".into())
    } else {
        (false, "more than can be: the report's figures do not belong together".into())
    };
    (Some(format!("{product}, and {} were asked for: {words}", grouped(asked))), Some(holds))
}

/// Why only this share of the requests that were asked for was in flight.
fn why_short(c: &Conditions, s: &StepFigures, share: f64) -> String {
    if !c.odd_options.is_empty() {
        return format!("{} may have left the queue short", c.odd_options.join(" "));
    }
    let words = if s.pace.offered.is_some() {
        "the rate that was asked for left the queue short"
    } else if c.is_null() {
        "no device was driven, the tool's own time is the rest"
    } else if c.fsync.get().is_some_and(|n| n > 0) || s.load.flushes {
        "flushes took time as well"
    } else if s.pace.pauses.is_some() {
        "its pauses took the rest of the time"
    } else if c.direct.get() == Some(false) && !c.one_at_a_time() {
        "the depth was not there: through the page cache, I/O is done one at a time"
    } else {
        let full = significant(share * 100.0);
        return format!("the queue was {full} % full: the load was not always there to fill it");
    };
    words.into()
}

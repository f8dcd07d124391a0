//! A sweep as text: what it will do, its tables and sentences, and rows of comma-separated values.

use super::latency_cells::compact;
use super::layout::{table, wrap};
use volproof_base::unit::{Bytes, Nanos, grouped, mebibytes, megabytes, significant};
use volproof_plan::{AxisOption, Sweep};
use volproof_record::{AxisBest, CapFit, DepthAnswer, DepthKnee, SweepAnswer, SweepPoint};

pub(crate) fn of_sweep(sweep: &Sweep) -> String {
    let mut out: String = sweep.axes.iter().map(|axis| wrap("range    ", &axis.to_string())).collect();
    let fixed = |option: AxisOption| sweep.axes.iter().all(|a| a.option != option);
    let mut load = vec![sweep.base.rw.to_string()];
    if fixed(AxisOption::Bs) {
        load.push(sweep.base.blocks());
    }
    for option in [AxisOption::Numjobs, AxisOption::Iodepth].into_iter().filter(|option| fixed(*option)) {
        load.push(option.words(option.value_in(&sweep.base)));
    }
    let step = &sweep.base;
    load.push(format!("{} after {} of ramp", step.runtime.exact(), step.ramp.exact()));
    load.push(format!("{} run{} of each point", sweep.repeats, if sweep.repeats == 1 { "" } else { "s" }));
    out += &wrap("load     ", &load.join(", "));
    let values = sweep.axes.iter().filter_map(|axis| axis.left_out_words());
    out.extend(sweep.left_out.iter().cloned().chain(values).map(|what| wrap("left out ", &what)));
    out
}

pub(crate) fn of_depth(sweep: &SweepAnswer) -> Option<(&'static str, String)> {
    let [DepthAnswer { knee: Some(knee), most_iops, unloaded_ns: Some(unloaded_ns), .. }] =
        sweep.depths.as_slice()
    else {
        return None;
    };
    let text = format!(
        "{} IOPS, the most, times {}, the latency at the smallest depth, is depth {}: it would be enough if nothing ever queued.",
        significant(*most_iops),
        Nanos(unloaded_ns.round() as u64),
        with_interval(knee)
    );
    Some(("depth", text))
}

pub(crate) fn of_answer(sweep: &SweepAnswer) -> String {
    let mut out = format!("\nEach point ({})\n{}", sweep.rw, points(sweep));
    if sweep.depths.iter().any(|d| !d.at.is_empty()) {
        out += &format!("\nWhat depth does\n{}", depths(sweep));
    }
    for fit in &sweep.caps {
        out += &caps(fit);
    }
    if sweep.axes.len() > 1 {
        out += &best(&sweep.best);
    }
    out
}

/// More points hide the answer.
const MOST_POINTS: usize = 10;

/// What depth does and the two limits; the points where they are few.
pub(crate) fn short_of_answer(sweep: &SweepAnswer) -> String {
    let mut out = String::new();
    if sweep.points.len() <= MOST_POINTS {
        out += &format!("\nEach point ({})\n{}", sweep.rw, points(sweep));
    }
    if sweep.depths.iter().any(|d| !d.at.is_empty()) && sweep.depths.len() <= MOST_POINTS {
        out += &format!("\nWhat depth does\n{}", depths(sweep));
    }
    if sweep.points.len() > MOST_POINTS {
        out += &best(&sweep.best[..sweep.best.len().min(MOST_POINTS)]);
    }
    out
}

/// The points that were asked for and not measured, in words: those of one reason together.
pub(crate) fn not_measured(sweep: &SweepAnswer) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for point in &sweep.not_measured {
        let place: Vec<String> = sweep.axes.iter().zip(&point.values).map(|(a, v)| a.words(*v)).collect();
        let place = place.join(", ");
        match reasons.iter_mut().find(|(reason, _)| *reason == point.reason) {
            Some((_, places)) => places.push(place),
            None => reasons.push((&point.reason, vec![place])),
        }
    }
    let mut lines = Vec::new();
    for (reason, places) in reasons {
        let which = match places.as_slice() {
            [first, _, .., _, last] => format!("{} points, from {first} to {last}", places.len()),
            few => few.join("; "),
        };
        lines.push(format!("{which}: {reason}"));
    }
    lines
}

/// A knee with its interval.
pub(crate) fn with_interval(knee: &DepthKnee) -> String {
    format!("{} ({} .. {})", significant(knee.depth), significant(knee.low), significant(knee.high))
}

pub(crate) fn interval(low: Option<f64>, high: Option<f64>) -> String {
    match low.zip(high) {
        Some((low, high)) => format!("{} .. {}", significant(low), significant(high)),
        None => "too short".into(),
    }
}

/// The mark of a point that does not show what the volume can do, or had dead time.
pub(super) fn mark(point: &SweepPoint) -> &'static str {
    match (point.spoilt_by.is_empty(), &point.dead_time) {
        (false, _) => "! ",
        (true, Some(_)) => "~ ",
        (true, None) => "",
    }
}

pub(crate) fn points(sweep: &SweepAnswer) -> String {
    let latency = |value: Option<Nanos>| value.map_or("-".into(), compact);
    let rows = sweep.points.iter().map(|p| {
        vec![
            format!("{}{}", mark(p), p.place(&sweep.axes)),
            significant(p.iops),
            interval(p.iops_low, p.iops_high),
            mebibytes(p.bytes_per_second),
            compact(Nanos(p.mean_ns.round() as u64)),
            latency(p.p99_ns),
            latency(p.p999_ns),
        ]
    });
    table(&["Point", "IOPS", "95 % interval", "MiB/s", "mean", "p99", "p99.9"], rows.collect())
}

/// What depth does. With several jobs it counts the requests of all of them, and is not what `--iodepth` takes.
pub(crate) fn depths(sweep: &SweepAnswer) -> String {
    let at = if sweep.points.iter().any(|p| p.numjobs > 1) { "in flight" } else { "at depth" };
    let rows = sweep.depths.iter().map(|d| {
        vec![
            d.at.clone(),
            significant(d.most_iops),
            if d.at_edge { format!("{} (edge)", d.most_at) } else { d.most_at.to_string() },
            d.enough.to_string(),
            d.knee.map_or("-".into(), |knee| significant(knee.depth)),
            d.unloaded_ns.map_or("-".into(), |ns| compact(Nanos(ns.round() as u64))),
        ]
    });
    table(&["With", "most IOPS", at, "95 % from", "knee", "unloaded"], rows.collect())
}

pub(crate) fn caps(fit: &CapFit) -> String {
    let at = if fit.at.is_empty() { String::new() } else { format!(" ({})", fit.at) };
    let limit = |cap: Option<f64>, show: fn(f64) -> String| cap.map_or("not met at any size".into(), show);
    let (mut out, off) = match fit.only_at_depth {
        None => (format!("\nThe two limits{at}\n"), "off the limits"),
        Some(depth) => {
            let depth = grouped(depth);
            (format!("\nRates with up to {depth} in flight{at}, which more depth may raise\n"), "off these")
        }
    };
    let a = limit(fit.iops_cap, |a| format!("{} IOPS", significant(a)));
    let b = limit(fit.bytes_cap, megabytes);
    out += &format!("  I/Os   {a}\n  bytes  {b}\n");
    if let Some(knee) = fit.knee_bytes {
        out += &format!("  knee   blocks of {}\n", Bytes(knee.round() as u64));
    }
    let percent = |off: f64| format!("{:+.1} %", 100.0 * off);
    let promised = fit.residuals.iter().any(|r| r.off_promise.is_some());
    let rows = fit.residuals.iter().map(|r| {
        let promise = promised.then(|| r.off_promise.map_or("-".into(), percent));
        let own = [format!("  {}", r.block_bytes), significant(r.iops), percent(r.off_fit)];
        own.into_iter().chain(promise).collect()
    });
    let columns = ["  Block", "IOPS", off, "off the promise"];
    out += &table(if promised { &columns } else { &columns[..3] }, rows.collect());
    if !fit.explains {
        out += "  Two limits do not explain these rates.\n";
    }
    out
}

pub(crate) fn best(best: &[AxisBest]) -> String {
    if best.is_empty() {
        return String::new();
    }
    let rows = best
        .iter()
        .map(|b| vec![b.option.words(b.value), significant(b.iops), mebibytes(b.bytes_per_second)]);
    format!("\nThe most with\n{}", table(&["", "IOPS", "MiB/s"], rows.collect()))
}

pub(crate) fn csv_of_sweep(sweep: &SweepAnswer, end: &str) -> String {
    let mut out = String::from(
        "rw,block_bytes,iodepth,numjobs,reads_percent,runs,iops,iops_low,iops_high,bytes_per_second,in_flight_mean,\
         mean_ns,p50_ns,p99_ns,p99.9_ns,dead_share,spoilt_by,whole,simulated,started\n",
    );
    for p in &sweep.points {
        let cells: Vec<String> = std::iter::once(sweep.rw.to_string()).chain(cells(p)).collect();
        out += &(cells.join(",") + "," + &p.spoilt_by.join(" ") + end);
    }
    out
}

/// The figures of a point as comma-separated values: from the block size to the share of dead time.
pub(crate) fn cells(p: &SweepPoint) -> [String; 15] {
    let number = |v: Option<f64>| v.map(|v| format!("{v:.3}")).unwrap_or_default();
    let latency = |v: Option<Nanos>| v.map(|v| v.0.to_string()).unwrap_or_default();
    [
        p.block_bytes.0.to_string(),
        p.iodepth.to_string(),
        p.numjobs.to_string(),
        p.reads_percent.map(|r| r.to_string()).unwrap_or_default(),
        p.runs.to_string(),
        number(Some(p.iops)),
        number(p.iops_low),
        number(p.iops_high),
        format!("{:.1}", p.bytes_per_second),
        number(Some(p.in_flight)),
        format!("{:.1}", p.mean_ns),
        latency(p.p50_ns),
        latency(p.p99_ns),
        latency(p.p999_ns),
        number(Some(p.dead_time.as_ref().map_or(0.0, |dead| dead.share))),
    ]
}

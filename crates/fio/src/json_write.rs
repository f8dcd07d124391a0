//! An [`Output`] as fio's JSON: the keys, their order, types and layout of fio 3.33, byte for byte where the figures are the same.
//!
//! `json` and `json+` differ in one thing: `json+` carries the bins of every latency that has percentiles. What an Output does not have is
//! left out. Text and terse lines round what they say, so that an Output that was read from them is not written here.

use std::io::{self, Write};

use super::ctime;
use super::json_value::JsonValue;
use super::output::{
    BATCHES, BELOW, BELOW_MS, DEPTHS, DiskCounters, Latency, Output, OutputRow, RowCpu, Stats,
};
use volproof_base::sample::Direction;
use volproof_base::unit::Bytes;

type Members = Vec<(&'static str, JsonValue<'static>)>;

/// The document; with `plus`, fio's `json+`. Ends with a line break.
pub fn write(output: &Output, plus: bool) -> String {
    let mut text = Vec::new();
    write_to(output, plus, &mut text).expect("memory takes everything");
    String::from_utf8(text).expect("it is made of texts")
}

/// Writes the document row by row: ten thousand rows as one text would be ten times their report.
///
/// # Errors
/// When `out` takes no more.
pub fn write_to(output: &Output, plus: bool, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{")?;
    for (name, value) in head(output) {
        write!(out, "\n  \"{name}\" : {},", value.laid_out(1))?;
    }
    let client = output.jobs.iter().any(|j| j.host.is_some());
    write!(out, "\n  \"{}\" : ", if client { "client_stats" } else { "jobs" })?;
    list(out, output.jobs.iter().map(|j| job(j, plus)))?;
    if !output.disks.is_empty() {
        out.write_all(b",\n  \"disk_util\" : ")?;
        list(out, output.disks.iter().map(disk))?;
    }
    out.write_all(b"\n}\n")
}

/// Writes a list that is a member of the document.
fn list(out: &mut dyn Write, values: impl Iterator<Item = JsonValue<'static>>) -> io::Result<()> {
    out.write_all(b"[\n")?;
    for (i, value) in values.enumerate() {
        write!(out, "{}    {}", if i > 0 { ",\n" } else { "" }, value.laid_out(2))?;
    }
    out.write_all(b"\n  ]")
}

/// The members before the rows.
fn head(output: &Output) -> Members {
    let mut members: Members = vec![("fio version", JsonValue::text(&output.version))];
    if let Some(program) = output.measured_by {
        members.push(("measured by", JsonValue::text(program)));
    }
    if let Some(ms) = output.timestamp_ms {
        members.push(("timestamp", JsonValue::int(ms / 1000)));
        members.push(("timestamp_ms", JsonValue::int(ms)));
        members.push(("time", JsonValue::text(&ctime::words(ms))));
    }
    options("global options", &output.global_options, &mut members);
    members
}

/// Options as given. fio prints no object without any, and no option without a value.
fn options(name: &'static str, options: &[(String, String)], members: &mut Members) {
    if !options.is_empty() {
        let given = options.iter().filter(|(_, v)| !v.is_empty());
        let given = given.map(|(k, v)| (k.clone().into(), JsonValue::text(v))).collect();
        members.push((name, JsonValue::Map(given)));
    }
}

fn job(job: &OutputRow, plus: bool) -> JsonValue<'static> {
    let mut members: Members =
        vec![("jobname", JsonValue::text(&job.name)), ("groupid", JsonValue::int(job.group.into()))];
    members.extend(job.start_ms.map(|ms| ("job_start", JsonValue::int(ms))));
    members.push(("error", JsonValue::Number(job.error.to_string().into())));
    members.extend(job.eta.map(|s| ("eta", JsonValue::int(s))));
    members.extend(job.elapsed.map(|s| ("elapsed", JsonValue::int(s))));
    options("job options", &job.options, &mut members);
    for d in [Direction::Read, Direction::Write, Direction::Trim] {
        members.extend(job.directions[d].as_ref().map(|part| (d.name(), stats(part, plus))));
    }
    let flushes = [
        job.sync_ios.map(|count| ("total_ios", JsonValue::int(count))),
        job.sync.as_ref().map(|flushes| ("lat_ns", latency(flushes, plus))),
    ];
    if flushes.iter().any(Option::is_some) {
        members.push(("sync", JsonValue::map(flushes.into_iter().flatten())));
    }
    members.extend(job.mixed.as_ref().map(|m| ("mixed", stats(m, plus))));
    members.extend(job.runtime.map(|t| ("job_runtime", JsonValue::int(t.0 / 1_000_000))));
    if let Some(RowCpu { user, system, switches, major_faults, minor_faults }) = job.cpu {
        members.push(("usr_cpu", JsonValue::float(user * 100.0)));
        members.push(("sys_cpu", JsonValue::float(system * 100.0)));
        members.push(("ctx", JsonValue::int(switches)));
        members.push(("majf", JsonValue::int(major_faults)));
        members.push(("minf", JsonValue::int(minor_faults)));
    }
    let below = BELOW.map(|n| n.to_string());
    members.extend(job.depth.map(|s| ("iodepth_level", shares(DEPTHS, s))));
    members.extend(job.submit.map(|s| ("iodepth_submit", shares(BATCHES, s))));
    members.extend(job.complete.map(|s| ("iodepth_complete", shares(BATCHES, s))));
    members.extend(job.latency_ns.map(|s| ("latency_ns", shares(below.each_ref().map(|k| k.as_str()), s))));
    members.extend(job.latency_us.map(|s| ("latency_us", shares(below.each_ref().map(|k| k.as_str()), s))));
    members.extend(job.latency_ms.map(|s| ("latency_ms", shares(BELOW_MS, s))));
    members.extend(job.errors.map(|n| ("total_err", JsonValue::int(n))));
    members.extend(job.first_error.map(|n| ("first_error", JsonValue::Number(n.to_string().into()))));
    if let Some(t) = job.target {
        members.push(("latency_depth", JsonValue::int(t.depth.into())));
        members.push(("latency_target", JsonValue::int(t.target.0)));
        members.push(("latency_percentile", JsonValue::float(t.percentile * 100.0)));
        members.push(("latency_window", JsonValue::int(t.window.0 / 1000)));
    }
    members.extend(job.description.as_ref().map(|d| ("desc", JsonValue::text(d))));
    members.extend(job.host.as_ref().map(|host| ("hostname", JsonValue::text(host))));
    JsonValue::map(members)
}

/// Shares in percent, by their keys.
fn shares<const N: usize>(keys: [&str; N], shares: [f64; N]) -> JsonValue<'static> {
    let list = keys.into_iter().zip(shares).map(|(k, x)| (k.to_string().into(), JsonValue::float(x * 100.0)));
    JsonValue::Map(list.collect())
}

fn stats(s: &Stats, plus: bool) -> JsonValue<'static> {
    let rate = whole(s.bytes_per_second);
    let mut members: Members = Vec::new();
    // Old versions count whole KiB.
    if is_of_bytes(s.printed.bytes) {
        members.push(("io_bytes", JsonValue::int(s.bytes.0)));
    }
    members.push(("io_kbytes", JsonValue::int(s.bytes.0 / 1024)));
    if is_of_bytes(s.printed.bytes_per_second) {
        members.push(("bw_bytes", JsonValue::int(rate)));
    }
    members.extend([
        ("bw", JsonValue::int(rate / 1024)),
        ("iops", JsonValue::float(s.iops)),
        ("runtime", JsonValue::int(s.runtime.0 / 1_000_000)),
    ]);
    members.extend(s.ios.map(|count| ("total_ios", JsonValue::int(count))));
    members.extend([("short_ios", JsonValue::int(s.short)), ("drop_ios", JsonValue::int(s.dropped))]);
    for (name, kind) in [("slat_ns", &s.slat), ("clat_ns", &s.clat), ("lat_ns", &s.lat)] {
        members.extend(kind.as_ref().map(|kind| (name, latency(kind, plus))));
    }
    if let Some(bw) = s.bandwidth_samples {
        let kib = 1.0 / Bytes::KIB.0 as f64;
        members.push(("bw_min", JsonValue::int(whole(bw.min * kib))));
        members.push(("bw_max", JsonValue::int(whole(bw.max * kib))));
        members.extend(bw.share.map(|share| ("bw_agg", JsonValue::float(share * 100.0))));
        members.push(("bw_mean", JsonValue::float(bw.mean * kib)));
        members.push(("bw_dev", JsonValue::float(bw.deviation * kib)));
        members.extend(bw.samples.map(|count| ("bw_samples", JsonValue::int(count))));
    }
    if let Some(iops) = s.iops_samples {
        members.push(("iops_min", JsonValue::int(whole(iops.min))));
        members.push(("iops_max", JsonValue::int(whole(iops.max))));
        members.push(("iops_mean", JsonValue::float(iops.mean)));
        members.push(("iops_stddev", JsonValue::float(iops.deviation)));
        members.extend(iops.samples.map(|count| ("iops_samples", JsonValue::int(count))));
    }
    JsonValue::map(members)
}

/// Whether a figure is known to the byte.
fn is_of_bytes(printed: Option<(f64, f64)>) -> bool {
    printed.is_none_or(|(low, high)| high - low <= 1.0)
}

fn latency(l: &Latency, plus: bool) -> JsonValue<'static> {
    let mut members: Members = vec![
        ("min", JsonValue::int(l.min.0)),
        ("max", JsonValue::int(l.max.0)),
        ("mean", JsonValue::float(l.mean)),
        ("stddev", JsonValue::float(l.deviation)),
    ];
    members.extend(l.samples.map(|count| ("N", JsonValue::int(count))));
    if !l.percentiles.is_empty() {
        let list = l.percentiles.iter().map(|(p, ns)| (format!("{p:.6}").into(), JsonValue::int(ns.0)));
        members.push(("percentile", JsonValue::Map(list.collect())));
    }
    if plus && !l.bins.is_empty() {
        let list = l.bins.iter().map(|(ns, n)| (ns.0.to_string().into(), JsonValue::int(*n)));
        members.push(("bins", JsonValue::Map(list.collect())));
    }
    JsonValue::map(members)
}

fn disk(disk: &DiskCounters) -> JsonValue<'static> {
    let mut members = vec![("name".into(), JsonValue::text(&disk.name))];
    // One name of fio's has no plural.
    let counted = [("", "write_merges", Some(&disk.counts)), ("aggr_", "write_merge", disk.below.as_ref())];
    for (prefix, write_merges, c) in counted {
        let Some(c) = c else { continue };
        let mut named: Members =
            vec![("read_ios", JsonValue::int(c.ios.0)), ("write_ios", JsonValue::int(c.ios.1))];
        if let Some((read, written)) = c.sectors {
            named
                .extend([("read_sectors", JsonValue::int(read)), ("write_sectors", JsonValue::int(written))]);
        }
        named.extend([
            ("read_merges", JsonValue::int(c.merges.0)),
            (write_merges, JsonValue::int(c.merges.1)),
            ("read_ticks", JsonValue::int(c.ticks.0)),
            ("write_ticks", JsonValue::int(c.ticks.1)),
            ("in_queue", JsonValue::int(c.in_queue)),
            ("util", JsonValue::float(c.busy * 100.0)),
        ]);
        members.extend(named.into_iter().map(|(name, value)| (format!("{prefix}{name}").into(), value)));
    }
    JsonValue::Map(members)
}

/// fio cuts to whole numbers; a figure that was whole and went through a factor is not cut below itself.
fn whole(x: f64) -> u64 {
    (x + 1e-6).max(0.0) as u64
}

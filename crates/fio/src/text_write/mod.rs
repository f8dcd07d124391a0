//! An Output as fio's normal text, line by line as fio 3.33 prints it.
//!
//! Values come from the Output as they are; only what fio itself derives when it prints is derived here: the unit of a line,
//! the status of a group. Two differences are meant: prefixes and digits are fio's defaults, whatever `kb_base`, `unit_base` and
//! `significant_figures` ask for; where directions are reported apart and together
//! (`unified_rw_reporting=both`), fio 3.33 prints the rate of the mix as 0; here it is what it is. Nothing is measured or read.

mod figure;
mod group;
mod latency_lines;

use std::collections::HashMap;
use std::fmt::Write;
use std::io;

pub use figure::figure;

use super::output::{
    BATCHES, BELOW, BELOW_MS, DEPTHS, DiskCounters, DiskCounts, Header, Latency, Output, OutputRow, Stats,
};
use super::runs::is_sum_of_clients;
use super::{ctime, shown_options};
use figure::{percent, whole};
use volproof_base::sample::Direction;

/// The whole report: what fio prints before a run, and the results.
pub fn normal(output: &Output) -> String {
    before(output) + &results(output)
}

/// Writes the whole report row by row, since it may be long.
///
/// # Errors
/// When `out` takes no more.
pub fn write_to(output: &Output, out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(before(output).as_bytes())?;
    results_to(output, &mut |text| out.write_all(text.as_bytes()))
}

/// fio's lines before a run: one per job, its version, how many processes and threads start.
pub fn before(output: &Output) -> String {
    let output = &*output.in_lines();
    let mut out = String::new();
    let mut last = None;
    for job in &output.jobs {
        // The options of one are no header of unlike jobs.
        let one = job.header.is_some() || !shown_options::shows_one_of_several(output, job);
        let header = shown_options::header(output, job).filter(|h| one && h.is_of_one_load());
        let line = header.map(|h| job_line(&job.name, job.group, &h));
        // Rows of one name with one load are clones of a job. fio prints one line for all of them.
        let clone = line.is_some() && line == last;
        if !clone {
            out.extend(line.as_deref());
        }
        if (job.members > 1 || clone) && !out.ends_with("...\n") && line.is_some() {
            out.push_str("...\n");
        }
        last = line;
    }
    let (mut threads, mut processes) = (0u32, 0u32);
    for job in &output.jobs {
        let threaded = job.option(output, &["thread"]).is_some_and(|v| v != "0");
        let count = if threaded { &mut threads } else { &mut processes };
        *count = count.saturating_add(job.least_members());
    }
    let _ = writeln!(out, "{}", output.version);
    out += &starting(threads, processes);
    if let Some(program) = output.measured_by {
        let _ = writeln!(out, "measured by {program}");
    }
    out
}

/// The line of a job before the run; its clones are one line with three points.
fn job_line(name: &str, group: u32, header: &Header) -> String {
    let Header { rw, engine, depth, .. } = header;
    let [read, write, trim] =
        header.block.map(|(low, high)| format!("{}-{}", figure::amount(low.0)[0], figure::amount(high.0)[0]));
    format!(
        "{name}: (g={group}): rw={rw}, bs=(R) {read}, (W) {write}, (T) {trim}, ioengine={engine}, iodepth={depth}\n"
    )
}

/// How many threads and processes start.
pub fn starting(threads: u32, processes: u32) -> String {
    let (s, es) = (if threads > 1 { "s" } else { "" }, if processes > 1 { "es" } else { "" });
    match (threads, processes) {
        (0, 0) => String::new(),
        (0, p) => format!("Starting {p} process{es}\n"),
        (t, 0) => format!("Starting {t} thread{s}\n"),
        (t, p) => format!("Starting {t} thread{s} and {p} process{es}\n"),
    }
}

/// The results: a block per row, the status of each group, the disks.
pub fn results(output: &Output) -> String {
    let mut all = String::new();
    let written = results_to(output, &mut |text| {
        all.push_str(text);
        Ok(())
    });
    written.expect("a text takes everything");
    all
}

/// Hands the results over part by part.
fn results_to(output: &Output, each: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
    let output = &*output.in_lines();
    each("\n")?;
    let mut out = String::new();
    for job in &output.jobs {
        out.clear();
        out.extend(job.host.iter().map(|host| format!("<{host}> \n")));
        row(job, output, &mut out);
        each(&out)?;
    }
    let mut of_group: HashMap<u32, Vec<&OutputRow>> = HashMap::new();
    // The sum of the hosts is no further job.
    let added = output.jobs.iter().filter(|job| !is_sum_of_clients(output, job));
    added.for_each(|job| of_group.entry(job.group).or_default().push(job));
    let groups = of_group.keys().max().map_or(0, |last| last.saturating_add(1));
    for number in 0..groups.min(output.jobs.len() as u32 * 2) {
        let rows = of_group.remove(&number).unwrap_or_default();
        each(&group::status(number, &rows))?;
    }
    if !output.disks.is_empty() {
        each("\nDisk stats (read/write):\n")?;
    }
    output.disks.iter().try_for_each(|d| each(&disk(d)))
}

fn row(job: &OutputRow, output: &Output, out: &mut String) {
    if job.moved().next().is_none() && job.mixed.is_none() {
        return;
    }
    let error = match (&job.error_text, job.error) {
        (_, 0) => String::new(),
        (Some(words), _) => format!(" ({words})"),
        (None, n) => format!(" ({})", error_words(n)),
    };
    let _ = writeln!(
        out,
        "{}: (groupid={}, jobs={}): err={:2}{error}: pid={}: {}",
        job.name,
        job.group,
        job.least_members(),
        job.error,
        job.pid.unwrap_or(0),
        output.timestamp_ms.map(ctime::words).unwrap_or_default()
    );
    if let Some(words) = &job.description {
        let _ = writeln!(out, "  Description  : [{words}]");
    }
    for (d, stats) in job.moved() {
        direction(d.name(), d == Direction::Write, stats, job, output, out);
    }
    if let Some(stats) = &job.mixed {
        direction("mixed", false, stats, job, output, out);
    }
    shares(&BELOW.map(|n| n.to_string()), job.latency_ns.as_ref().map(|a| &a[..]), "nsec", out);
    shares(&BELOW.map(|n| n.to_string()), job.latency_us.as_ref().map(|a| &a[..]), "usec", out);
    shares(&BELOW_MS.map(String::from), job.latency_ms.as_ref().map(|a| &a[..]), "msec", out);
    if let Some(sync) = job.sync.as_ref().filter(|s| s.samples != Some(0)) {
        out.push_str("  fsync/fdatasync/sync_file_range:\n");
        out.push_str(&latency_lines::line("sync", sync));
        out.push_str(&latency_lines::percentiles("sync", sync, precision(job, output, sync)));
    }
    if let Some(cpu) = &job.cpu {
        let _ = writeln!(
            out,
            "  cpu          : usr={:.2}%, sys={:.2}%, ctx={}, majf={}, minf={}",
            percent(cpu.user),
            percent(cpu.system),
            cpu.switches,
            cpu.major_faults,
            cpu.minor_faults
        );
    }
    for (label, keys, values) in [
        ("  IO depths ", DEPTHS, &job.depth),
        ("     submit ", BATCHES, &job.submit),
        ("     complete", BATCHES, &job.complete),
    ] {
        if let Some(values) = values {
            let list: Vec<String> =
                keys.iter().zip(values).map(|(k, v)| format!("{k}={:.1}%", percent(*v))).collect();
            let _ = writeln!(out, "{label:15}: {}", list.join(", "));
        }
    }
    issued(job, out);
    if let Some(total) = job.errors {
        let first = job.first_error.unwrap_or(job.error);
        let _ = writeln!(out, "     errors    : total={total}, first_error={first}/<{}>", error_words(first));
    }
    if let Some(t) = job.target.filter(|t| t.depth > 0) {
        // fio 3.33 prints the target in nanoseconds and the window in microseconds.
        let _ = writeln!(
            out,
            "     latency   : target={}, window={}, percentile={:.2}%, depth={}",
            t.target.0,
            t.window.0 / 1000,
            percent(t.percentile),
            t.depth
        );
    }
}

fn direction(name: &str, zones: bool, stats: &Stats, job: &OutputRow, output: &Output, out: &mut String) {
    let ms = stats.runtime.0 / 1_000_000;
    if ms == 0 {
        return;
    }
    let [rate, rate_alt] = figure::rate(whole(stats.bytes_per_second));
    let [bytes, _] = figure::amount(stats.bytes.0);
    let ending = if zones { "; 0 zone resets" } else { "" };
    let _ = writeln!(
        out,
        "  {name}: IOPS={}, BW={rate} ({rate_alt})({bytes}/{ms}msec){ending}",
        figure::count(whole(stats.iops))
    );
    let kinds = [("slat", &stats.slat), ("clat", &stats.clat), (" lat", &stats.lat)];
    let measured = kinds.into_iter().filter_map(|(name, l)| Some((name, l.as_ref()?)));
    for (name, l) in measured.clone().filter(|(_, l)| l.samples != Some(0)) {
        out.push_str(&latency_lines::line(name, l));
    }
    for (name, l) in measured {
        out.push_str(&latency_lines::percentiles(name.trim(), l, precision(job, output, l)));
    }
    out.push_str(&latency_lines::samples(stats));
}

/// The digits behind the point of a number.
fn decimals(number: &str) -> usize {
    number.split_once('.').map_or(0, |(_, digits)| digits.len())
}

/// Decimals of a percentile: as many as the longest of the user's list, else two, or what the list needs.
fn precision(job: &OutputRow, output: &Output, l: &Latency) -> usize {
    match job.option(output, &["percentile_list"]) {
        Some(list) => list.split(':').map(decimals).max().unwrap_or(2).min(6),
        None => l.percentiles.iter().map(|(p, _)| decimals(&p.to_string())).max().unwrap_or(2).clamp(2, 6),
    }
}

/// Shares of I/Os by latency: those above nothing, five on a line.
fn shares(keys: &[String], values: Option<&[f64]>, unit: &str, out: &mut String) {
    let told: Vec<String> = keys
        .iter()
        .zip(values.unwrap_or_default())
        .filter(|(_, v)| **v > 0.0)
        .map(|(k, v)| format!("{k}={:.2}%", percent(*v)))
        .collect();
    for line in told.chunks(5) {
        let _ = writeln!(out, "  lat ({unit})   : {}", line.join(", "));
    }
}

fn issued(job: &OutputRow, out: &mut String) {
    // Terse lines do not count the I/Os.
    if job.moved().map(|(_, s)| s).chain(job.mixed.as_deref()).any(|s| s.ios.is_none()) {
        return;
    }
    let flushes = job.sync_ios.or(job.sync.as_ref().and_then(|s| s.samples)).unwrap_or(0);
    let _ = writeln!(
        out,
        "     issued rwts: total={},{flushes} short={},0 dropped={},0",
        of_each_direction(job, |s| s.ios.unwrap_or(0)),
        of_each_direction(job, |s| s.short),
        of_each_direction(job, |s| s.dropped)
    );
}

/// A number of reads, writes and discards; that of the mix in the first place, where directions are not told apart.
fn of_each_direction(job: &OutputRow, number: fn(&Stats) -> u64) -> String {
    let mixed = job.mixed.as_deref().filter(|_| job.moved().next().is_none()).map_or(0, number);
    let [read, write, trim] = [Direction::Read, Direction::Write, Direction::Trim]
        .map(|d| job.directions[d].as_deref().map_or(0, number));
    format!("{},{write},{trim}", read.max(mixed))
}

fn disk(d: &DiskCounters) -> String {
    // A stacked device stands further in than the disks below it.
    let lead = if d.below.is_some() { "    " } else { "  " };
    let below = d.below.as_ref().map(|b| format!(", {}", counts(b, "aggr"))).unwrap_or_default();
    format!("{lead}{}: {}{below}\n", d.name, counts(&d.counts, ""))
}

/// The counters of a disk, each behind its name.
fn counts(c: &DiskCounts, prefix: &str) -> String {
    let pairs =
        [("ios", Some(c.ios)), ("sectors", c.sectors), ("merge", Some(c.merges)), ("ticks", Some(c.ticks))];
    let mut out = String::new();
    for (name, (reads, writes)) in pairs.into_iter().filter_map(|(name, pair)| Some((name, pair?))) {
        out += &format!("{prefix}{name}={reads}/{writes}, ");
    }
    out + &format!("{prefix}in_queue={}, {prefix}util={:.2}%", c.in_queue, percent(c.busy))
}

/// The words of an error number.
fn error_words(number: i32) -> String {
    if number == 0 {
        return "Success".into();
    }
    let text = std::io::Error::from_raw_os_error(number.abs()).to_string();
    text.split(" (os error").next().unwrap_or(&text).to_string()
}

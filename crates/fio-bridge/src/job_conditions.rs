//! The options of a reported job as the conditions of a step: from its options where the report has them, else from its header and its figures.

use std::collections::HashSet;
use std::path::PathBuf;

use super::of_record::is_simulated;
use fio_formats::block_ranges::block_ranges;
use fio_formats::job::{Given, Job as Asked};
use fio_formats::option_value::{OptionValue, TargetAmount};
use fio_formats::output::{AskedRate, Output, OutputRow, Stats};
use fio_formats::shown_options::{options, shows_one_of_several};
use volproof_base::sample::Direction;
use volproof_base::unit::{Bytes, Nanos, total};
use volproof_plan::Pattern;
use volproof_record::{Conditions, Known, Pace};

/// Engines that finish an I/O before they begin the next, so that `iodepth` means nothing (fio's HOWTO, "I/O engine").
const ONE_AT_A_TIME: [&str; 8] = ["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "cpuio"];
/// Options of engines that keep a CPU busy whatever the volume does.
const POLLING: [&str; 7] =
    ["hipri", "sqthread_poll", "hipri_percentage", "iopoll", "userspace_reap", "busy_poll", "thinktime_spin"];
/// Engines that make or remove files, send packets, or keep the CPU busy.
const WITHOUT_DEVICE: [&str; 10] = [
    "null",
    "cpuio",
    "net",
    "netsplice",
    "rdma",
    "exec",
    "filestat",
    "filecreate",
    "filedelete",
    "fileoperations",
];
/// Options that make a load another one in ways that its conditions do not tell, and values of theirs that change nothing.
const ODD: [&str; 12] = [
    "iodepth_low",
    "iodepth_batch_complete_min",
    "prioclass",
    "cmdprio_percentage",
    "dedupe_percentage",
    "ba",
    "zonemode",
    "zonesize",
    "zonerange",
    "zoneskip",
    "rw_sequencer",
    "read_iolog",
];
const IDLE: [&str; 3] = ["0", "1", "none"];

/// Conditions of a row, or of several that are one run, as `fio::runs` merges them.
pub fn conditions(output: &Output, job: &OutputRow) -> Conditions {
    if shows_one_of_several(output, job) {
        return of_several(output, job);
    }
    let listed = !job.options.is_empty() || !output.global_options.is_empty();
    let mut c = if listed { of_options(output, job) } else { Conditions::default() };
    c.jobs = match job.members {
        0 if !listed => Known::Unknown,
        _ => jobs(&options(output, job), job).into(),
    };
    if let Some(header) = &job.header {
        let moved = job.moved().map(|(d, _)| header.block[(d as usize).min(2)]);
        let range = moved.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or(header.block[0]);
        c.rw = c.rw.or(|| Some(header.rw.clone()).filter(|rw| !rw.is_empty()).into());
        c.engine = c.engine.or(|| Some(header.engine.clone()).filter(|engine| !engine.is_empty()).into());
        c.iodepth = c.iodepth.or(|| Some(header.depth).filter(|n| *n > 0).into());
        c.block = c.block.or(|| range.into());
        c.size = c.size.or(|| Known::assumed_from(header.laid_out, "the files that fio laid out"));
    }
    if let Some(engine) = c.engine.as_ref() {
        c.blocking = ONE_AT_A_TIME.contains(&engine.as_str()).into();
        // volproof's null engine plays a device where it simulates one.
        c.null_engine = (!is_simulated(job) && WITHOUT_DEVICE.contains(&engine.as_str())).into();
        if engine.contains("spdk") {
            c.polling = true.into();
        }
        if engine == "mmap" {
            c.direct = Known::assumed(false, "ioengine=mmap reads and writes memory");
        }
    }
    if c.block.is_unknown() && job.option(output, &["bssplit", "bsrange", "blocksize_range"]).is_none() {
        c.block = block_of_amounts(job);
    }
    let [reads, writes] = [Direction::Read, Direction::Write]
        .map(|d| job.directions[d].as_ref().and_then(|s| s.ios).filter(|n| *n > 0));
    if let (true, Some(reads), Some(writes)) = (c.reads_percent.is_unknown(), reads, writes) {
        // Of a mix, what was done is what was asked for, within a percent.
        let percent = 100.0 * reads as f64 / (reads as f64 + writes as f64);
        c.reads_percent = Known::assumed(percent.round() as u32, "the counts of reads and writes");
    }
    status_rate(output, job, &mut c);
    if let Some(target) = job.target.map(|t| t.target).filter(|t| t.0 > 0) {
        let mut pace = c.pace.as_ref().cloned().unwrap_or_default();
        pace.pause_option.get_or_insert_with(|| format!("latency_target={}us", target.0 / 1000));
        c.pace = pace.into();
    }
    // Without a latency target fio prints the job's own depth there; of jobs that differ, that of one.
    let differ = job.header.as_ref().is_some_and(|header| header.depth == 0);
    let depth = job.target.map(|t| t.depth).filter(|d| *d > 0 && !differ);
    c.iodepth = c.iodepth.or(|| Known::assumed_from(depth, "the depth of its latency target"));
    if job.steady == Some(true) {
        c.time_based = Known::assumed(true, "its steady state ended it, and not its size");
    } else if seems_time_based(job, output) {
        c.time_based = Known::assumed(true, "it ran for its time and not for its size");
    }
    c
}

/// Conditions of a row that sums up several jobs and has the options of one: what the options of all say, unless that one says otherwise.
fn of_several(output: &Output, job: &OutputRow) -> Conditions {
    let why = "the options that are given for all jobs; the report shows one of them";
    let globals = OutputRow { options: Vec::new(), members: 0, ..job.clone() };
    let (asked, all) = (options(output, &globals), of_options(output, &globals));
    let shown = options(output, job);
    let given: HashSet<&str> = asked.options().map(|g| g.option.name).collect();
    let own: HashSet<&str> = shown.own.iter().map(|g| g.option.name).collect();
    let shared = GlobalOptions { names: &given - &own, why };
    // Their run times added up tell how many they were.
    let longest = job.moved().map(|(_, s)| s.runtime.0).max().filter(|ns| *ns > 0);
    let times = job.runtime.zip(longest).map(|(sum, longest)| sum.0 as f64 / longest as f64);
    let count = times.filter(|n| (n - n.round()).abs() < 0.05 * n).map(|n| n.round() as u32);
    Conditions {
        rw: shared.fact("rw", all.rw),
        block: shared.fact("bs", all.block).or(|| block_of_amounts(job)),
        engine: shared.fact("ioengine", all.engine),
        blocking: shared.fact("ioengine", ONE_AT_A_TIME.contains(&asked.engine()).into()),
        null_engine: ([&asked, &shown].iter().any(|job| WITHOUT_DEVICE.contains(&job.engine()))
            && !is_simulated(job))
        .into(),
        iodepth: shared.fact("iodepth", all.iodepth),
        direct: shared.fact("direct", all.direct),
        time_based: shared.fact("time_based", all.time_based),
        runtime: shared.fact("runtime", all.runtime),
        ramp: shared.fact("ramp_time", all.ramp),
        odd_options: odd_options(&shown),
        jobs: Known::assumed_from(count.filter(|n| *n > 1), "the run times of the jobs added up"),
        ..Conditions::default()
    }
}

/// The options that are given for all jobs, and not again for the one that a report shows.
struct GlobalOptions<'a> {
    names: HashSet<&'a str>,
    why: &'static str,
}

impl GlobalOptions<'_> {
    /// A fact that follows from an option; not known where the option is not among these.
    fn fact<T: Clone>(&self, option: &str, value: Known<T>) -> Known<T> {
        let value = value.as_ref().filter(|_| self.names.contains(option));
        Known::assumed_from(value.cloned(), self.why)
    }
}

/// The jobs that a row, or the rows of one run, stand for: counted, or as its options have it.
fn jobs(asked: &Asked, job: &OutputRow) -> u32 {
    match job.members {
        0 => count(asked, "numjobs").unwrap_or(1).max(1),
        counted => counted,
    }
}

/// The rate that a status line says the jobs were given, where they are all of one kind.
fn status_rate(output: &Output, job: &OutputRow, c: &mut Conditions) {
    let alone = output.jobs.iter().all(|j| j.name == job.name && j.group == job.group);
    let Some(rate) = output.asked_rate.filter(|_| alone && c.offered().is_none()) else { return };
    let (offered, option) = match (rate, c.single_block()) {
        (AskedRate::Iops(n), _) => (n, "rate_iops"),
        (AskedRate::Bytes(n), Some(block)) => (n / block.0 as f64, "rate"),
        _ => return,
    };
    let other = c.pace.as_ref().cloned().unwrap_or_default();
    c.pace = Pace { offered_per_second: Some(offered), rate_option: Some(option.into()), ..other }.into();
}

/// The options as values, those of the row over the globals. An option that is not listed had fio's default; flags without a value are never
/// listed.
fn of_options(output: &Output, job: &OutputRow) -> Conditions {
    let asked = options(output, job);
    // A trace says what is done, and `rw` and `bs` are not looked at.
    let replays = asked.given("read_iolog").is_some();
    let rw = asked.choice("rw").filter(|_| !replays).map(|word| match asked.suffix("rw") {
        Some(suffix) => format!("{word}:{suffix}"),
        None => word.to_string(),
    });
    let split = replays || asked.given("bssplit").is_some() || asked.given("bsrange").is_some();
    let blocks = asked.ints("bs").map(|n| n.and_then(|n| u64::try_from(n).ok()).map(Bytes));
    let moved: Vec<Direction> = job.moved().map(|(d, _)| d).collect();
    // Under unified_rw_reporting all directions of the load are one.
    let of_load = rw.as_deref().and_then(|word| word.split(':').next()?.parse::<Pattern>().ok());
    let mixed = of_load.filter(|_| moved.is_empty()).map(Pattern::directions).unwrap_or_default();
    let of_moved = moved.iter().chain(mixed).filter_map(|d| blocks[(*d as usize).min(2)]);
    let block = of_moved.map(|b| (b, b)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).filter(|_| !split);
    let flushes = ["fsync", "fdatasync"].iter().filter_map(|name| count(&asked, name)).filter(|n| *n > 0);
    // Each write waits by itself.
    let synced = asked.choice("sync").is_some_and(|word| !matches!(word, "none" | "0"));
    let fsync = flushes.chain(synced.then_some(1)).min();
    let files = asked.text("filename").filter(|f| !f.is_empty());
    let form = asked.text("filename_format").filter(|form| !form.is_empty());
    let named_by_form = form.clone().filter(|form| form.contains('/'));
    let folders = asked.text("directory").filter(|t| !t.is_empty());
    // fio looks for each name in each folder.
    let places: Vec<PathBuf> = match (files.clone().or(named_by_form), folders) {
        (Some(names), Some(folders)) => folders
            .split(':')
            .flat_map(|folder| names.split(':').map(move |name| PathBuf::from(format!("{folder}/{name}"))))
            .collect(),
        (names, folders) => {
            names.or(folders).iter().flat_map(|all| all.split(':')).map(PathBuf::from).collect()
        }
    };
    Conditions {
        rw: rw.into(),
        block: block.into(),
        engine: asked.engine().to_string().into(),
        polling: POLLING.iter().any(|name| job.option(output, &[name]).is_some_and(|v| v != "0")).into(),
        iodepth: count(&asked, "iodepth").into(),
        direct: match asked.engine() {
            "mmap" => Known::assumed(false, "the engine mmap writes to and reads from memory"),
            _ => asked.direct().into(),
        },
        targets: Some(places).filter(|all| !all.is_empty()).into(),
        // Without names fio gives each job files of its own.
        own_files: files.or(form).is_none_or(|names| names.contains("$jobnum")).into(),
        own_offsets: asked.size("offset_increment").is_some_and(|step| step != TargetAmount::Bytes(0)).into(),
        size: size_of_job(&asked),
        time_based: asked.given("time_based").map(|_| asked.flag("time_based")).into(),
        runtime: asked.time("runtime").unwrap_or_default().into(),
        ramp: asked.time("ramp_time").unwrap_or_default().into(),
        pace: pace(&asked, job).into(),
        reads_percent: asked.reads().into(),
        distribution: job.option(output, &["random_distribution"]).map(str::to_string).into(),
        odd_options: odd_options(&asked),
        // A report lists no flag without a value: that it lists none says nothing, that it lists this one does.
        stonewall: if ["stonewall", "wait_for_previous", "wait_for"].iter().any(|n| asked.given(n).is_some())
        {
            true.into()
        } else {
            job.options.iter().any(|(name, _)| name == "new_group").then_some(false).into()
        },
        zeros: writes_zeros(&asked).into(),
        pattern_percent: pattern_percent(&asked).into(),
        fsync: fsync.unwrap_or(0).into(),
        ..Conditions::default()
    }
}

/// A number that counts something.
fn count(asked: &Asked, name: &str) -> Option<u32> {
    asked.int(name).and_then(|n| u32::try_from(n).ok())
}

/// The options that make the load another one in ways that are not looked into.
fn odd_options(asked: &Asked) -> Vec<String> {
    let is_odd = |given: &&Given| {
        let text = given.text.as_deref().unwrap_or_default();
        let has_gaps = given.option.name == "rw" && text.contains(':');
        has_gaps || (ODD.contains(&given.option.name) && !IDLE.contains(&text))
    };
    asked.options().filter(is_odd).map(Given::line).collect()
}

/// The job begins writeback with calls of sync_file_range, which flush nothing. fio puts their latencies with those of flushes, and counts each of
/// them as an I/O that was cut short.
pub fn begins_writeback(output: &Output, job: &OutputRow) -> bool {
    job.option(output, &["sync_file_range"]).is_some_and(|calls| !calls.is_empty())
}

/// The bytes of its target that a job uses; 0 where it says nothing of them. It stays within its files, whatever `size` asks for.
fn size_of_job(asked: &Asked) -> Known<Bytes> {
    match (asked.size("size"), size_of_files(asked)) {
        (Some(TargetAmount::Bytes(size)), Some(files)) if size > 0 => Bytes(size).min(files).into(),
        (Some(TargetAmount::Percent(share)), Some(files)) => {
            Bytes((u128::from(files.0) * u128::from(share) / 100).try_into().unwrap_or(u64::MAX)).into()
        }
        (Some(TargetAmount::Bytes(size)), None) => Bytes(size).into(),
        (None | Some(TargetAmount::Bytes(_)), files) => files.unwrap_or_default().into(),
        (Some(_), None) => Known::Unknown,
        (Some(_), Some(files)) => files.into(),
    }
}

/// The size of the files that a job was given (`filesize`), all of them together and as large as they may be.
fn size_of_files(asked: &Asked) -> Option<Bytes> {
    let Some(OptionValue::Ranges([Some((_, largest)), ..])) = asked.value("filesize") else { return None };
    let files = asked.int("nrfiles").and_then(|n| u64::try_from(n).ok()).unwrap_or(1).max(1);
    Some(Bytes(largest.saturating_mul(files))).filter(|size| size.0 > 0)
}

/// The job writes zeros alone. fio compresses a buffer by zeros, unless it is given a pattern.
fn writes_zeros(asked: &Asked) -> bool {
    match asked.text("buffer_pattern") {
        Some(pattern) => is_zeros(&pattern),
        None => asked.flag("zero_buffers") || asked.int("buffer_compress_percentage") == Some(100),
    }
}

/// The share of each block that is a pattern or zeros, in percent.
fn pattern_percent(asked: &Asked) -> Option<u32> {
    let pattern = asked.given("buffer_pattern").is_some().then_some(100);
    count(asked, "buffer_compress_percentage").filter(|n| *n > 0).or(pattern)
}

/// A pattern of numbers that are all nought: `0`, `0x00`.
fn is_zeros(pattern: &str) -> bool {
    let digits = pattern.trim().trim_start_matches("0x");
    !digits.is_empty() && digits.chars().all(|c| c == '0')
}

/// The rate and the pauses that the options ask for.
fn pace(asked: &Asked, job: &OutputRow) -> Pace {
    // Reads that verify what a job wrote have no rate of their own.
    let only_writes = asked.choice("rw").is_some_and(|word| ["write", "randwrite"].contains(&word));
    let moved: Vec<(Direction, &Stats)> =
        job.moved().filter(|(d, _)| !only_writes || *d != Direction::Read).collect();
    let rates = ["rate", "rate_iops"].map(|name| (offered(name, asked, &moved).unwrap_or(0.0), name));
    // The tighter of two holds.
    let (rate, name) = rates.into_iter().filter(|(r, _)| *r > 0.0).min_by(|a, b| a.0.total_cmp(&b.0)).unzip();
    Pace {
        offered_per_second: rate.map(|r| r * f64::from(jobs(asked, job))),
        rate_option: name.and_then(|name| asked.given(name)).map(Given::line),
        pause_option: asked
            .given("thinktime")
            .filter(|_| asked.time("thinktime").is_some_and(|t| t.0 > 0))
            .map(Given::line),
    }
}

/// The I/Os a second of one job that a rate comes to; none where a direction has no rate, and runs as fast as it can.
fn offered(name: &str, asked: &Asked, moved: &[(Direction, &Stats)]) -> Option<f64> {
    let (rates, ranges) = (asked.ints(name), block_ranges(asked));
    let mut sum = 0.0;
    for (d, stats) in moved {
        let place = (*d as usize).min(2);
        let (rate, (low, high)) = (rates[place].filter(|n| *n > 0)? as f64, ranges[place]);
        // Of several sizes fio makes a rate of bytes by the smallest, so that the I/Os a second follow from their mean.
        let mean = if low == high {
            low as f64
        } else {
            stats.bytes.0 as f64 / stats.ios.filter(|n| *n > 0)? as f64
        };
        let offered = rate * if name == "rate" { 1.0 } else { low as f64 } / mean;
        sum += if offered.is_finite() { offered } else { 0.0 };
    }
    Some(sum)
}

/// The job ran for its time though no option listed says so: fio does not list flags, and `time_based` is mostly given as one.
/// Told by more bytes than the job was to move, or by a run time that was used up.
fn seems_time_based(job: &OutputRow, output: &Output) -> bool {
    if job.option(output, &["time_based", "loops"]).is_some() {
        return false;
    }
    let asked = options(output, job);
    let Some(limit) = asked.time("runtime").filter(|t| t.0 > 0) else { return false };
    let moved = total(job.moved().map(|(_, s)| s.bytes.0));
    let whole = ["io_size", "size"].iter().find_map(|name| match asked.size(name) {
        Some(TargetAmount::Bytes(b)) if b > 0 => Some(b),
        _ => None,
    });
    let more = whole.is_some_and(|w| moved > w.saturating_mul(u64::from(jobs(&asked, job))));
    let longest = job.moved().map(|(_, s)| s.runtime).max().unwrap_or_default();
    // fio's clock counts whole milliseconds.
    more || longest.0 + Nanos::millis(10).0 >= limit.0
}

/// The block size from amounts, where all directions agree on a whole sector within what printing rounds.
fn block_of_amounts(job: &OutputRow) -> Known<(Bytes, Bytes)> {
    let parts = job.directions.0.iter().flatten().chain(&job.mixed);
    let mut sizes = parts.map(|stats| mean_block(stats));
    let first = sizes.next().flatten().filter(|first| sizes.all(|size| size == Some(*first)));
    Known::assumed_from(first.map(|block| (block, block)), "bytes moved over I/Os")
}

/// The power of two, or the whole sectors, that the mean of a direction is.
fn mean_block(stats: &Stats) -> Option<Bytes> {
    let mean = stats.bytes.0 as f64 / stats.ios.filter(|n| *n > 0)? as f64;
    let sizes = [2f64.powf(mean.log2().round()), (mean / 512.0).round() * 512.0];
    let near = sizes.into_iter().find(|size| *size >= 512.0 && (mean / size - 1.0).abs() < 0.006);
    near.map(|size| Bytes(size as u64))
}

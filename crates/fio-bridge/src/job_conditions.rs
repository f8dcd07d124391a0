//! The options of a reported job as the conditions of a step: from its options where the report has them, else from its header and its figures.

use std::path::PathBuf;

use super::job_spacing;
use super::of_record::{VERSION, is_simulated};
use fio_formats::block_ranges::block_ranges;
use fio_formats::job::{Given, Job as Asked};
use fio_formats::option_value::{OptionValue, TargetAmount};
use fio_formats::output::{AskedRate, Output, OutputRow, Stats};
use fio_formats::shown_options::{options, shows_one_of_several};
use volproof_base::sample::Direction;
use volproof_base::unit::{Bytes, Nanos, total};
use volproof_plan::Pattern;
use volproof_record::{Conditions, DrainedQueue, Known, Pace};

/// Engines that read and write a file, a device or a volume of a network. All others drive none: they make or remove files, send packets,
/// keep the CPU busy or move memory.
const OF_A_VOLUME: [&str; 24] = [
    "sync",
    "psync",
    "vsync",
    "pvsync",
    "pvsync2",
    "libaio",
    "posixaio",
    "solarisaio",
    "windowsaio",
    "io_uring",
    "io_uring_cmd",
    "mmap",
    "splice",
    "sg",
    "guasi",
    "libblkio",
    "xnvme",
    "spdk",
    "libzbc",
    "nbd",
    "rbd",
    "libiscsi",
    "nfs",
    "gfapi",
];
/// Engines that finish an I/O before they begin the next, so that `iodepth` means nothing (fio's HOWTO, "I/O engine").
const ONE_AT_A_TIME: [&str; 8] = ["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "cpuio"];
/// A queue in which this share of its depth is left has been kept full.
const KEPT_FULL: f64 = 0.9;
/// Options of engines that keep a CPU busy whatever the volume does.
const POLLING: [&str; 6] =
    ["hipri", "sqthread_poll", "hipri_percentage", "iopoll", "userspace_reap", "busy_poll"];

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
        let said = |text: &String| Some(text.clone()).filter(|t| !t.is_empty());
        c.rw = c.rw.or(|| said(&header.rw).into());
        c.engine = c.engine.or(|| said(&header.engine).into());
        c.iodepth = c.iodepth.or(|| Some(header.depth).filter(|n| *n > 0).into());
        c.block = c.block.or(|| range.into());
        c.size = c.size.or(|| match header.laid_out {
            Some(size) => Known::assumed(size, "the files that fio laid out"),
            None => Known::Unknown,
        });
    }
    if let Some(engine) = c.engine.as_ref() {
        c.blocking = ONE_AT_A_TIME.contains(&engine.as_str()).into();
        // volproof's null engine plays a device where it simulates one.
        c.null_engine = if is_simulated(job) { false.into() } else { drives_none(engine) };
        if polls_by_itself(engine) == Known::Said(true) {
            c.polling = true.into();
        }
        if engine == "mmap" {
            c.direct = Known::assumed(false, "ioengine=mmap reads and writes memory");
        }
    }
    if c.block.is_unknown() && job.option(output, &["bssplit", "bsrange", "blocksize_range"]).is_none() {
        c.block = match of_amounts(job) {
            Some(block) => Known::assumed((block, block), "bytes moved over I/Os"),
            None => Known::Unknown,
        };
    }
    let count = |d: Direction| job.directions[d].as_ref().and_then(|s| s.ios).filter(|n| *n > 0);
    if let (true, Some(reads), Some(writes)) =
        (c.reads_percent.is_unknown(), count(Direction::Read), count(Direction::Write))
    {
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
    c.iodepth = c
        .iodepth
        .or(|| depth.map_or(Known::Unknown, |d| Known::assumed(d, "the depth of its latency target")));
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
    let given = |name: &str| asked.given(name).is_some() && shown.own.iter().all(|g| g.option.name != name);
    fn shared<T: Clone>(given: bool, value: Known<T>, why: &str) -> Known<T> {
        match value.as_ref().filter(|_| given) {
            Some(value) => Known::assumed(value.clone(), why),
            None => Known::Unknown,
        }
    }
    // Their run times added up tell how many they were.
    let longest = job.moved().map(|(_, s)| s.runtime.0).max().filter(|ns| *ns > 0);
    let times = job.runtime.zip(longest).map(|(sum, longest)| sum.0 as f64 / longest as f64);
    let count = times.filter(|n| (n - n.round()).abs() < 0.05 * n).map(|n| n.round() as u32);
    let block = match of_amounts(job) {
        Some(block) => Known::assumed((block, block), "bytes moved over I/Os"),
        None => Known::Unknown,
    };
    Conditions {
        rw: shared(given("rw"), all.rw, why),
        block: shared(given("bs"), all.block, why).or(|| block),
        engine: shared(given("ioengine"), all.engine, why),
        blocking: shared(given("ioengine"), Known::from(ONE_AT_A_TIME.contains(&asked.engine())), why),
        null_engine: ([&asked, &shown].iter().any(|job| drives_none(job.engine()) == Known::Said(true))
            && !is_simulated(job))
        .into(),
        iodepth: shared(given("iodepth"), all.iodepth, why),
        direct: shared(given("direct"), all.direct, why),
        time_based: shared(given("time_based"), all.time_based, why),
        runtime: shared(given("runtime"), all.runtime, why),
        ramp: shared(given("ramp_time"), all.ramp, why),
        spacing: match all.spacing.or(|| of_options(output, job).spacing).as_ref() {
            Some(spacing) => Known::assumed(spacing.clone(), why),
            None => Known::Unknown,
        },
        jobs: match count {
            Some(n) if n > 1 => Known::assumed(n, "the run times of the jobs added up"),
            _ => Known::Unknown,
        },
        ..Conditions::default()
    }
}

/// The jobs that a row, or the rows of one run, stand for: counted, or as its options have it.
fn jobs(asked: &Asked, job: &OutputRow) -> u32 {
    match job.members {
        0 => asked.int("numjobs").and_then(|n| u32::try_from(n).ok()).unwrap_or(1).max(1),
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
    let there = |name: &str| asked.given(name).is_some();
    // A trace says what is done, and `rw` and `bs` are not looked at.
    let replays = there("read_iolog");
    let rw = asked.choice("rw").filter(|_| !replays).map(|word| match asked.suffix("rw") {
        Some(suffix) => format!("{word}:{suffix}"),
        None => word.to_string(),
    });
    let split = replays || there("bssplit") || there("bsrange");
    let blocks = asked.ints("bs").map(|n| n.and_then(|n| u64::try_from(n).ok()).map(Bytes));
    let moved: Vec<Direction> = job.moved().map(|(d, _)| d).collect();
    // Under unified_rw_reporting all directions of the load are one.
    let of_load = rw.as_deref().and_then(|word| word.split(':').next()?.parse::<Pattern>().ok());
    let mixed = of_load.filter(|_| moved.is_empty()).map(Pattern::directions).unwrap_or_default();
    let of_moved = moved.iter().chain(mixed).filter_map(|d| blocks[(*d as usize).min(2)]);
    let block = of_moved.map(|b| (b, b)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).filter(|_| !split);
    let positive = |n: Option<i64>| n.and_then(|n| u32::try_from(n).ok());
    let flushes =
        ["fsync", "fdatasync"].iter().filter_map(|name| positive(asked.int(name))).filter(|n| *n > 0);
    // Each write waits by itself.
    let synced = asked.choice("sync").is_some_and(|word| !matches!(word, "none" | "0"));
    let fsync = flushes.chain(synced.then_some(1)).min();
    let on = |name: &&str| job.option(output, &[name]).is_some_and(|v| v != "0");
    let files = asked.text("filename").filter(|f| !f.is_empty());
    let named_by_form = || asked.text("filename_format").filter(|form| form.contains('/'));
    let folders = asked.text("directory").filter(|t| !t.is_empty());
    // fio looks for each name in each folder.
    let places: Vec<PathBuf> = match (files.clone().or_else(named_by_form), folders) {
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
        // To wait for no completion is to ask again and again.
        polling: match polls_by_itself(asked.engine()) {
            Known::Said(false) => (POLLING.iter().any(on)
                || job.option(output, &["wait_mode"]) == Some("loop")
                || asked.int("iodepth_batch_complete_min") == Some(0)
                || spins(&asked))
            .into(),
            by_itself => by_itself,
        },
        iodepth: positive(asked.int("iodepth")).into(),
        direct: match asked.engine() {
            "mmap" => Known::assumed(false, "the engine mmap writes to and reads from memory"),
            _ => asked.direct().into(),
        },
        targets: Some(places).filter(|all| !all.is_empty()).into(),
        // Without names fio gives each job files of its own.
        own_files: files
            .or_else(|| asked.text("filename_format").filter(|form| !form.is_empty()))
            .is_none_or(|names| names.contains("$jobnum"))
            .into(),
        own_offsets: asked.size("offset_increment").is_some_and(|step| step != TargetAmount::Bytes(0)).into(),
        size: size_of_job(&asked),
        time_based: there("time_based").then(|| asked.flag("time_based")).into(),
        runtime: asked.time("runtime").unwrap_or_default().into(),
        ramp: asked.time("ramp_time").unwrap_or_default().into(),
        pace: Pace { drained_queue: drained_queue(output, &asked), ..pace(&asked, job) }.into(),
        reads_percent: asked.reads().into(),
        distribution: job.option(output, &["random_distribution"]).map(str::to_string).into(),
        spacing: job_spacing::spacing(&asked, job).into(),
        // A report lists no flag without a value: that it lists none says nothing, that it lists this one does.
        stonewall: if ["stonewall", "wait_for_previous", "wait_for"].into_iter().any(there) {
            true.into()
        } else {
            job.options.iter().any(|(name, _)| name == "new_group").then_some(false).into()
        },
        zeros: writes_zeros(&asked).into(),
        repeated_percent: positive(asked.int("dedupe_percentage")).into(),
        pattern_percent: pattern_percent(&asked).into(),
        low_priority: low_priority(&asked).into(),
        fsync: fsync.unwrap_or(0).into(),
        ..Conditions::default()
    }
}

/// fio loads the engine from a file (`external:PATH`, or a path alone): its name tells little.
fn is_external(engine: &str) -> bool {
    engine.contains(['/', ':'])
}

/// Whether an engine polls whatever its options are: SPDK does, and of engines that have several ways, or of others' own, nobody knows.
fn polls_by_itself(engine: &str) -> Known<bool> {
    match engine {
        _ if engine.contains("spdk") => true.into(),
        "xnvme" => Known::Unknown,
        _ if is_external(engine) => Known::Unknown,
        _ => false.into(),
    }
}

/// The engine drives no device.
fn drives_none(engine: &str) -> Known<bool> {
    match OF_A_VOLUME.contains(&engine) || engine.contains("spdk") {
        false if is_external(engine) => Known::Unknown,
        of_a_volume => (!of_a_volume).into(),
    }
}

/// The job keeps its CPU busy for a part of its pauses (fio's HOWTO, `thinktime_spin`).
fn spins(asked: &Asked) -> bool {
    ["thinktime", "thinktime_spin"].iter().all(|name| asked.time(name).is_some_and(|t| t.0 > 0))
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
    asked.int("buffer_compress_percentage").and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0).or(pattern)
}

/// fio's `prioclass=3`: the kernel serves such I/Os where no other waits.
fn low_priority(asked: &Asked) -> Option<String> {
    (asked.int("prioclass") == Some(3)).then(|| "prioclass=3".to_string())
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
    let of_load = |(d, _): &(Direction, &Stats)| !(only_writes && *d == Direction::Read);
    let ranges = block_ranges(asked);
    // Of several sizes fio makes a rate of bytes by the smallest, so that the I/Os a second follow from their mean.
    // A direction without a rate runs as fast as it can.
    let rate_of = |name: &str| -> f64 {
        let rates = asked.ints(name);
        let each = |(d, stats): (Direction, &Stats)| {
            let place = (d as usize).min(2);
            let (rate, (low, high)) = (rates[place].filter(|n| *n > 0)? as f64, ranges[place]);
            let mean = if low == high {
                low as f64
            } else {
                stats.bytes.0 as f64 / stats.ios.filter(|n| *n > 0)? as f64
            };
            Some(rate * if name == "rate" { 1.0 } else { low as f64 } / mean)
        };
        let rates: Option<Vec<f64>> = job.moved().filter(of_load).map(each).collect();
        rates.unwrap_or_default().into_iter().filter(|rate| rate.is_finite()).sum()
    };
    let by_bytes = rate_of("rate");
    // The tighter of two holds.
    let rate = [rate_of("rate_iops"), by_bytes].into_iter().filter(|r| *r > 0.0).min_by(f64::total_cmp);
    let line = |name: &str| asked.given(name).map(Given::line);
    Pace {
        offered_per_second: rate.map(|r| r * f64::from(jobs(asked, job))),
        rate_option: rate.and_then(|r| line(if r == by_bytes { "rate" } else { "rate_iops" })),
        pause_option: asked.time("thinktime").filter(|t| t.0 > 0).and(line("thinktime")),
        ..Pace::default()
    }
}

/// A queue that drains before it is filled again, where that leaves clearly fewer requests than its depth. fio fills a full queue again when at most
/// `iodepth_low` requests are left, and takes `iodepth_batch_complete_min` or more completions each time that it waits for some (fio's HOWTO, "I/O
/// depth"). How many it submits at once, and takes at most, lets no queue drain.
fn drained_queue(output: &Output, asked: &Asked) -> Option<DrainedQueue> {
    // volproof's own engines refill at once, whatever these options say.
    if output.version == VERSION || ONE_AT_A_TIME.contains(&asked.engine()) {
        return None;
    }
    let depth = asked.int("iodepth").and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 1)?;
    // No more than the depth can be left or taken.
    let given = |name: &str| {
        let count = asked.int(name).filter(|n| *n > 0)?.min(i64::from(depth)) as u32;
        Some((count, asked.given(name)?.line()))
    };
    let low = given("iodepth_low").filter(|(n, _)| *n < depth);
    let batch = given("iodepth_batch_complete_min").filter(|(n, _)| *n > 1);
    let at_once = batch.as_ref().map_or(1, |(n, _)| *n);
    let taken = low.as_ref().map_or(at_once, |(low, _)| (depth - low).next_multiple_of(at_once));
    let left = depth.saturating_sub(taken);
    let options: Vec<String> = low.into_iter().chain(batch).map(|(_, option)| option).collect();
    (f64::from(left) < KEPT_FULL * f64::from(depth) && !options.is_empty())
        .then(|| DrainedQueue { option: options.join(" "), left })
}

/// The job ran for its time though no option listed says so: fio does not list flags, and `time_based` is mostly given as one.
/// Told by more bytes than the job was to move, or by a run time that was used up.
pub fn seems_time_based(job: &OutputRow, output: &Output) -> bool {
    let given = |names: &[&str]| job.option(output, names);
    if given(&["time_based", "loops"]).is_some() {
        return false;
    }
    let asked = options(output, job);
    let Some(limit) = asked.time("runtime").filter(|t| t.0 > 0) else { return false };
    let moved = total(job.moved().map(|(_, s)| s.bytes.0));
    let bytes = |name: &str| match asked.size(name) {
        Some(TargetAmount::Bytes(b)) if b > 0 => Some(b),
        _ => None,
    };
    let whole = bytes("io_size").or(bytes("size"));
    let more = whole.is_some_and(|w| moved > w.saturating_mul(u64::from(jobs(&asked, job))));
    let longest = job.moved().map(|(_, s)| s.runtime).max().unwrap_or_default();
    // fio's clock counts whole milliseconds.
    more || longest.0 + Nanos::millis(10).0 >= limit.0
}

/// The block size from amounts, where all directions agree on a whole sector within what printing rounds.
fn of_amounts(job: &OutputRow) -> Option<Bytes> {
    let of = |s: &Stats| {
        let ios = s.ios.filter(|n| *n > 0)?;
        let mean = s.bytes.0 as f64 / ios as f64;
        let power = 2f64.powf(mean.log2().round());
        let sector = (mean / 512.0).round() * 512.0;
        let near = |b: &f64| *b >= 512.0 && (mean / b - 1.0).abs() < 0.006;
        [power, sector].into_iter().find(near).map(|b| Bytes(b as u64))
    };
    let mut sizes = Direction::ALL
        .iter()
        .filter_map(|d| job.directions[*d].as_deref())
        .chain(job.mixed.as_deref())
        .map(of);
    let first = sizes.next()??;
    sizes.all(|s| s == Some(first)).then_some(first)
}

//! What the provider's own counters prove about a step.
//!
//! A page is owned first: its I/Os and bytes equal ours within merges and half a percent, or it proves nothing. A limit is proven where it was
//! exceeded for most of the time. While it is exceeded the volume does as much as the limit lets through, so that the limit is at most the rate over
//! the share of that time: a promise above that is broken, at any depth. No limit was exceeded: a slow volume is not a throttled one.

use super::doubts::other_traffic;
use super::thresholds::{MOST_OF_THE_TIME, NEGLIGIBLE, SETS_THE_FIGURE};
use volproof_base::sample::GRID;
use volproof_base::unit::{Bytes, Nanos};
use volproof_device::nvme::provider_page::{ExceededTimes, IoCounts, LatencyBin, ProviderPage};
use volproof_host::observe::{CountTrack, ExceededTrack, ProviderTrack};
use volproof_record::{
    LimitRates, PageStanding, ProvenLimit, ProviderCounts, ProviderFigures, ProviderLatency, Record,
    StepFigures, StepRecord, StepTarget,
};

/// The counts of a page and ours are the same within this share.
const SAME_COUNT: f64 = 0.005;
/// Samples of the page and our grid of 100 ms may differ by a tenth of a second at both ends.
const EDGES: Nanos = Nanos::millis(200);
/// Fewer seconds have no rate that is quoted with its interval.
const LEAST_COUNTED: Nanos = Nanos::seconds(9);
/// A sample is one at the limit from this share of its time on.
const WHOLLY: f64 = 0.9;
/// Percentiles that stand beside ours.
const PERCENTILES: [(&str, f64); 3] = [("50", 0.5), ("99", 0.99), ("99.9", 0.999)];

/// Puts the figures of the provider into the steps from `first` on.
pub fn complete(record: &mut Record, first: usize) {
    for i in first..record.steps.len() {
        let figures = figures(record, &record.steps[i]);
        record.steps[i].provider = figures;
    }
}

/// The figures of each disk of a step.
fn figures(record: &Record, step: &StepRecord) -> Vec<ProviderFigures> {
    let direct = record.plan_step(&step.name).is_some_and(|plan| plan.direct);
    let tracks = step.evidence.provider.iter().enumerate();
    tracks
        .map(|(number, track)| of_disk(step, track, &on_disk(record, step, track, number), direct))
        .collect()
}

/// The targets of a step that lie on a disk; of a simulated volume its own.
fn on_disk<'a>(
    record: &Record,
    step: &'a StepRecord,
    track: &ProviderTrack,
    number: usize,
) -> Vec<&'a StepTarget> {
    let lies_there = |target: &&StepTarget| {
        let facts = record.targets.iter().find(|t| t.path == target.path).map(|t| &t.facts);
        let devices = facts.map(|facts| facts.devices()).unwrap_or_default();
        devices.iter().any(|d| d.disk.name == track.disk)
    };
    let found: Vec<&StepTarget> = step.targets.iter().filter(lies_there).collect();
    if found.is_empty() { step.targets.get(number).into_iter().collect() } else { found }
}

/// The samples of a track that lie wholly in the window of a step.
struct WindowSamples {
    inside: Vec<usize>,
    from: Nanos,
    to: Nanos,
}

impl WindowSamples {
    fn new(step: &StepRecord, track: &ProviderTrack) -> WindowSamples {
        let e = &step.evidence;
        let (from, to) = (e.window_starts_ns.0, e.window_starts_ns.0.saturating_add(step.window_ns.0));
        let (mut inside, mut start) = (Vec::new(), 0);
        let mut covered = (u64::MAX, 0);
        for (i, end) in e.at_ns.iter().map(|end| end.0).enumerate().take(track.queue_length.len()) {
            // The clocks of load and samples begin a moment apart.
            if start >= from && end <= to.saturating_add(GRID.0) && end > start {
                inside.push(i);
                covered = (covered.0.min(start), end);
            }
            start = end;
        }
        let (first, last) = if inside.is_empty() { (from, from) } else { covered };
        WindowSamples { inside, from: Nanos(first - from), to: Nanos(last - from) }
    }

    fn length(&self) -> Nanos {
        Nanos(self.to.0.saturating_sub(self.from.0))
    }

    fn sum(&self, column: &[u64]) -> u64 {
        self.inside.iter().fold(0, |sum: u64, i| sum.saturating_add(column.get(*i).copied().unwrap_or(0)))
    }

    fn sum_of(&self, reads: &[u64], writes: &[u64]) -> u64 {
        self.sum(reads).saturating_add(self.sum(writes))
    }

    fn times(&self, track: &ExceededTrack) -> ExceededTimes {
        ExceededTimes { ios_ns: Nanos(self.sum(&track.ios_ns)), bytes_ns: Nanos(self.sum(&track.bytes_ns)) }
    }
}

fn of_disk(
    step: &StepRecord,
    track: &ProviderTrack,
    on_disk: &[&StepTarget],
    direct: bool,
) -> ProviderFigures {
    let samples = WindowSamples::new(step, track);
    let kernel = step.evidence.disks.iter().find(|disk| disk.name == track.disk);
    let (reads, writes) = (&track.reads, &track.writes);
    let of_disk = kernel.map_or(0, |disk| samples.sum_of(&disk.read_bytes, &disk.written_bytes));
    let counts = ProviderCounts {
        ios: samples.sum_of(&reads.ios, &writes.ios),
        bytes: Bytes(samples.sum_of(&reads.bytes, &writes.bytes)),
        disk_ios: kernel.map_or(0, |disk| samples.sum_of(&disk.reads, &disk.writes)),
        // What the page cache holds back reaches the disk later or never.
        own_bytes: if direct { own_bytes(on_disk, &samples) } else { Bytes(of_disk) },
    };
    let counted = samples.length();
    let (volume, instance) = (samples.times(&track.volume_exceeded), samples.times(&track.instance_exceeded));
    let longest = volume.longest().max(instance.longest());
    let standing = match &track.unread {
        Some(fault) => PageStanding::Unread(fault.clone()),
        None if counted < LEAST_COUNTED => PageStanding::TooShort,
        None if longest.0 as f64 > (1.0 + SETS_THE_FIGURE) * counted.0 as f64 => PageStanding::Impossible,
        None => whose(&counts, counted),
    };
    let exceeding = if volume.longest() >= instance.longest() {
        (volume, &track.volume_exceeded)
    } else {
        (instance, &track.instance_exceeded)
    };
    ProviderFigures {
        disk: track.disk.clone(),
        kind: track.kind,
        target: on_disk.first().map(|target| target.path.clone()).unwrap_or_default(),
        standing,
        counted_ns: counted,
        counts,
        volume_exceeded: volume,
        instance_exceeded: instance,
        at_the_limit: rates(step, track, &samples, exceeding),
        queue_mean: samples.sum_of(&reads.busy_ns, &writes.busy_ns) as f64 / counted.0.max(1) as f64,
        read: latency(&track.reads, &track.read_bins, &samples),
        write: latency(&track.writes, &track.write_bins, &samples),
    }
}

/// The figures of the one disk of a step by the difference of two pages, one read before the step and one after it. The disk's own counters of the whole
/// step tell whose I/Os these are. `None` where the run read the page itself, or drove several disks.
pub fn figures_of_pages(
    record: &Record,
    step: &StepRecord,
    counted: &ProviderPage,
) -> Option<ProviderFigures> {
    let is_read = step.provider.iter().any(|page| !matches!(page.standing, PageStanding::Unread(_)));
    let [disk] = &step.evidence.disks[..] else { return None };
    let length = step.evidence.at_ns.last().copied().filter(|_| !is_read)?;
    let total =
        |reads: &[u64], writes: &[u64]| reads.iter().chain(writes).fold(0, |a: u64, b| a.saturating_add(*b));
    let counts = ProviderCounts {
        ios: counted.reads.ios.saturating_add(counted.writes.ios),
        bytes: Bytes(counted.reads.bytes.0.saturating_add(counted.writes.bytes.0)),
        disk_ios: total(&disk.reads, &disk.writes),
        own_bytes: Bytes(total(&disk.read_bytes, &disk.written_bytes)),
    };
    let (volume, instance) = (counted.volume_exceeded, counted.instance_exceeded);
    let longest = volume.longest().max(instance.longest());
    let beside = other_traffic::bytes(&StepFigures::of_step(record, step), step);
    let beside = beside.filter(|moved| other_traffic::is_beyond_ours(*moved, step));
    let standing = match beside {
        _ if length < LEAST_COUNTED => PageStanding::TooShort,
        _ if longest.0 as f64 > (1.0 + SETS_THE_FIGURE) * length.0 as f64 => PageStanding::Impossible,
        Some((of_disk, own)) => PageStanding::Others { share: of_disk / own - 1.0 },
        None => whose(&counts, length),
    };
    let seconds = length.as_seconds();
    let mean = |counts: &IoCounts| {
        let mean_ns = counts.time_ns.0 as f64 / counts.ios as f64;
        (counts.ios > 0).then(|| ProviderLatency { mean_ns, percentiles: Vec::new() })
    };
    Some(ProviderFigures {
        disk: disk.name.clone(),
        kind: counted.kind,
        target: step.targets.first().map(|target| target.path.clone()).unwrap_or_default(),
        standing,
        counted_ns: length,
        counts,
        volume_exceeded: volume,
        instance_exceeded: instance,
        at_the_limit: LimitRates {
            ios_per_second: counts.ios as f64 / seconds,
            bytes_per_second: counts.bytes.0 as f64 / seconds,
        },
        queue_mean: (counted.reads.time_ns.0 as f64 + counted.writes.time_ns.0 as f64) / length.0 as f64,
        read: mean(&counted.reads),
        write: mean(&counted.writes),
    })
}

/// Bytes of the load on a disk in the time of the samples.
fn own_bytes(on_disk: &[&StepTarget], samples: &WindowSamples) -> Bytes {
    let mut sum = 0.0;
    for series in on_disk.iter().map(|target| &target.series) {
        let length = series.interval_ns.max(GRID).0 as f64;
        let [from, to] = [samples.from, samples.to].map(|at| at.0 as f64 / length);
        let streams = [&series.read, &series.write].into_iter().flatten();
        for (i, bytes) in streams.flat_map(|stream| stream.track.bytes.iter().enumerate()) {
            let covered = to.min(i as f64 + 1.0) - from.max(i as f64);
            sum += *bytes as f64 * covered.clamp(0.0, 1.0);
        }
    }
    Bytes(sum as u64)
}

/// Whose I/Os these are.
fn whose(counts: &ProviderCounts, counted: Nanos) -> PageStanding {
    let allowed = SAME_COUNT + EDGES.as_seconds() / counted.as_seconds();
    let bytes = beyond(counts.bytes.0, counts.own_bytes.0);
    let ios = beyond(counts.ios, counts.disk_ios);
    if bytes.max(ios) > allowed {
        return PageStanding::Others { share: bytes.max(ios) };
    }
    if bytes.min(ios) < -allowed { PageStanding::NotOurs } else { PageStanding::Ours }
}

/// What a count has beyond another one, over that.
fn beyond(page: u64, ours: u64) -> f64 {
    page as f64 / ours.max(1) as f64 - 1.0
}

/// Rates while the limit was met that was exceeded for longest: those of the samples that lie wholly at it. Samples are not read to the moment: the
/// limit lets through no less than the step did, and no more than that over the share of the time.
fn rates(
    step: &StepRecord,
    track: &ProviderTrack,
    samples: &WindowSamples,
    (times, exceeded): (ExceededTimes, &ExceededTrack),
) -> LimitRates {
    let column = if times.is_of_bytes() { &exceeded.bytes_ns } else { &exceeded.ios_ns };
    let is_whole =
        |i: &usize| column.get(*i).is_some_and(|ns| *ns as f64 >= WHOLLY * sample_length(step, *i) as f64);
    let at_limit: Vec<usize> = samples.inside.iter().copied().filter(is_whole).collect();
    let all = rates_of(step, track, &samples.inside);
    if at_limit.is_empty() {
        return all;
    }
    let share = (times.longest().0 as f64 / samples.length().0.max(1) as f64).clamp(0.01, 1.0);
    let met = rates_of(step, track, &at_limit);
    LimitRates {
        ios_per_second: met.ios_per_second.clamp(all.ios_per_second, all.ios_per_second / share),
        bytes_per_second: met.bytes_per_second.clamp(all.bytes_per_second, all.bytes_per_second / share),
    }
}

fn sample_length(step: &StepRecord, sample: usize) -> u64 {
    let before = sample.checked_sub(1).map_or(0, |before| step.evidence.at_ns[before].0);
    step.evidence.at_ns[sample].0.saturating_sub(before)
}

/// Rates of some samples.
fn rates_of(step: &StepRecord, track: &ProviderTrack, samples: &[usize]) -> LimitRates {
    let mut rates = LimitRates::default();
    let mut seconds = 0.0;
    for i in samples {
        let counted = |column: &[u64]| column.get(*i).copied().unwrap_or(0) as f64;
        seconds += sample_length(step, *i) as f64 / 1e9;
        rates.ios_per_second += counted(&track.reads.ios) + counted(&track.writes.ios);
        rates.bytes_per_second += counted(&track.reads.bytes) + counted(&track.writes.bytes);
    }
    rates.ios_per_second /= f64::max(seconds, 1e-9);
    rates.bytes_per_second /= f64::max(seconds, 1e-9);
    rates
}

fn latency(counts: &CountTrack, bins: &[LatencyBin], samples: &WindowSamples) -> Option<ProviderLatency> {
    let (ios, busy) = (samples.sum(&counts.ios), samples.sum(&counts.busy_ns));
    let percentile = |(name, share): (&str, f64)| {
        let bin = bin_of(bins, share)?;
        Some((name.to_string(), bin.from_ns, bin.to_ns))
    };
    (ios > 0).then(|| ProviderLatency {
        mean_ns: busy as f64 / ios as f64,
        percentiles: PERCENTILES.into_iter().filter_map(percentile).collect(),
    })
}

/// The bin that a percentile lies in.
fn bin_of(bins: &[LatencyBin], share: f64) -> Option<&LatencyBin> {
    let all: f64 = bins.iter().map(|bin| bin.count as f64).sum();
    let mut below = 0.0;
    bins.iter().filter(|bin| bin.count > 0).find(|bin| {
        below += bin.count as f64;
        below >= share * all
    })
}

/// All disks of a step have a page, and all pages count our load alone.
pub(crate) fn is_owned(step: &StepRecord) -> bool {
    let all = step.provider.len() == step.evidence.disks.len().min(step.targets.len());
    !step.provider.is_empty() && all && step.provider.iter().all(|page| page.standing == PageStanding::Ours)
}

fn share(page: &ProviderFigures, times: &ExceededTimes) -> f64 {
    times.longest().0 as f64 / page.counted_ns.0.max(1) as f64
}

/// The largest share of the time for which a volume's own limit was exceeded, and that of the instance.
pub(crate) fn shares(step: &StepRecord) -> (f64, f64) {
    let most = |times: fn(&ProviderFigures) -> &ExceededTimes| {
        step.provider.iter().map(|page| share(page, times(page))).fold(0.0, f64::max)
    };
    (most(|page| &page.volume_exceeded), most(|page| &page.instance_exceeded))
}

/// The limit that the provider's counters prove for a step: the instance's where one volume met it for most of the time, the volume's where all
/// of them met theirs, and the instance's was not exceeded.
pub fn proven_limit(step: &StepRecord) -> Option<ProvenLimit> {
    if !is_owned(step) {
        return None;
    }
    let (_, of_instance) = shares(step);
    if of_instance >= MOST_OF_THE_TIME {
        return limit(step, true, |page| &page.instance_exceeded);
    }
    let met = |page: &ProviderFigures| share(page, &page.volume_exceeded) >= MOST_OF_THE_TIME;
    let is_of_volume = of_instance <= NEGLIGIBLE && step.provider.iter().all(met);
    is_of_volume.then(|| limit(step, false, |page| &page.volume_exceeded)).flatten()
}

fn limit(
    step: &StepRecord,
    of_instance: bool,
    times: fn(&ProviderFigures) -> &ExceededTimes,
) -> Option<ProvenLimit> {
    let by_share = |page: &&ProviderFigures| share(page, times(page));
    let pages = step.provider.iter().filter(|page| by_share(page) >= MOST_OF_THE_TIME);
    let page = pages.min_by(|a, b| by_share(a).total_cmp(&by_share(b)))?;
    let counts_bytes = times(page).is_of_bytes();
    let rate = |page: &ProviderFigures| {
        let rates = page.at_the_limit;
        if counts_bytes { rates.bytes_per_second } else { rates.ios_per_second }
    };
    Some(ProvenLimit {
        of_instance,
        counts_bytes,
        exceeded_ns: times(page).longest(),
        counted_ns: page.counted_ns,
        per_second: step.provider.iter().map(rate).sum(),
    })
}

/// The provider's counters exclude every limit of its own.
pub(crate) fn excludes_limits(step: &StepRecord) -> bool {
    let (of_volume, of_instance) = shares(step);
    is_owned(step) && of_volume.max(of_instance) <= NEGLIGIBLE
}

/// A closed loop met the volume's own limit, and that limit is below a rate: no load would reach it.
pub(crate) fn limit_is_below(step: &StepRecord, mean: f64, rate: f64) -> bool {
    let limit = proven_limit(step).filter(|limit| !limit.of_instance && limit.is_below(mean, rate));
    step.open_loop.is_none() && limit.is_some()
}

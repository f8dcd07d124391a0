//! The facts of a step that a promise is held against: its rate, the seconds that delivered, and how much load it was.
//!
//! Pure functions of samples. Rates are in I/Os or bytes a second, by the unit of the promise. Nothing here knows a promise's catalogue,
//! a doubt or a word.

use crate::provider;
use crate::thresholds::last_fifth;
use volproof_base::sample::{Direction, GRID, PER_SECOND, Series};
use volproof_base::stats::LEAST_QUOTABLE;
use volproof_base::stats::load_grid::LoadGrid;
use volproof_base::stats::moments::{mean, median, variance};
use volproof_base::stats::rate::{Estimate, per_second, period, unit};
use volproof_base::stats::spread::{Spread, quantile};
use volproof_base::unit::{Nanos, total};
use volproof_record::StepRecord;

/// A second counts as delivered from this share of the promise on (AWS: "at least 90 percent of provisioned IOPS performance"). Where a
/// provider promises all of the rate, single seconds still vary, and the mean has to keep it.
pub const DELIVERED: f64 = 0.9;
/// Load threads refill a queue a little late: a load counts as one of a depth from this share of it on.
const REFILLED: f64 = 0.9;
/// Standard deviations from the mean within which all but one of a thousand seconds lie.
const SURE: f64 = 3.0;
/// A stretch of dead time has at least nine whole bins: see [`dead_time`].
const STALL: Nanos = Nanos(GRID.0 * (PER_SECOND - 1));

/// Counts of 100 ms in a part of a series: five seconds, in which the edges of a quota's periods make little difference.
const PART: usize = 5 * PER_SECOND as usize;

/// A mean with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateInterval {
    /// The mean.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl RateInterval {
    /// As wide as the slowest and the fastest part of the series allow: a mean lies between them, however slowly they vary.
    fn within(self, bins: &[u64]) -> RateInterval {
        let (mut slowest, mut fastest) = (self.mean, self.mean);
        for part in bins.chunks_exact(PART).map(mean_rate) {
            slowest = slowest.min(part);
            fastest = fastest.max(part);
        }
        RateInterval { low: self.low.max(slowest), high: self.high.min(fastest), ..self }
    }
}

/// The load of a step, as far as it decides how much a volume can be asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TriedLoad {
    /// Requests that were to be in flight, over all targets.
    pub depth: u64,
    /// I/Os a second that were offered; absent in a closed loop, which offers as many as the volume takes.
    pub offered: Option<f64>,
}

impl TriedLoad {
    /// No less load than another one.
    pub fn is_at_least(&self, other: &TriedLoad) -> bool {
        match (self.offered, other.offered) {
            (Some(_), None) => false,
            (Some(own), Some(other)) if own < other => false,
            _ => self.depth >= other.depth,
        }
    }
}

/// The facts of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepFacts {
    /// Name of the step.
    pub step: String,
    /// Its load.
    pub load: TriedLoad,
    /// Requests in flight, averaged over time.
    pub in_flight: f64,
    /// Mean latency of its I/Os, in nanoseconds.
    pub latency_ns: f64,
    /// Length of the window in seconds.
    pub seconds: f64,
    /// The rate of the whole window. Its interval is absent below ten seconds.
    pub mean: f64,
    /// The rate with its interval, between its slowest and its fastest five seconds.
    pub rate: Option<RateInterval>,
    /// The lower of the intervals of the last fifth and of the last minute.
    pub last: Option<RateInterval>,
    /// Mean rate of the last minute; of the whole window where that is shorter.
    pub last_minute: f64,
    /// Whether each whole second delivered 90 % of the promise less its tolerance.
    pub delivered: Vec<bool>,
    /// The seconds vary so little around their mean that hardly one in a thousand would not deliver.
    pub delivers_surely: bool,
    /// Whether in each whole second requests waited and none completed.
    pub dead: Vec<bool>,
    /// Time in seconds of all stretches of at least a second in which requests waited and none completed; the most that it can be, where the samples of
    /// a long run do not show them.
    pub dead_time: f64,
    /// How many counts of 100 ms have one sum in the samples: one, but in long runs.
    pub merged: usize,
    /// The load was as much as any promise asks for, to the end of the step.
    pub is_saturating: bool,
    /// What went wrong in it.
    pub mishaps: StepMishaps,
}

/// What may go wrong in a step, whatever its rate is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepMishaps {
    /// Requests never came back.
    pub hangs: bool,
    /// I/Os that the medium failed.
    pub medium_errors: u64,
    /// The user ended it before its time.
    pub was_ended_early: bool,
    /// A burst was judged, and the baseline came after it or in its place.
    pub credits_ended: bool,
}

/// What a step counted, on the grid of 100 ms.
pub struct BinSamples {
    /// I/Os or bytes, by the unit of the promise.
    pub counts: Vec<u64>,
    /// How many neighbours have one sum, which is spread over them evenly: one, but in long runs.
    pub merged: usize,
    /// Whether requests waited and none completed.
    pub idle: Vec<bool>,
    /// Requests in flight, averaged over time.
    pub in_flight: f64,
    /// Mean latency, in nanoseconds.
    pub latency_ns: f64,
}

impl StepFacts {
    /// The facts of a step for a promised rate less its tolerance. `counts` are those of 100 ms, in the unit of the promise.
    pub fn measured(step: &StepRecord, counts: Vec<u64>, limit: f64, saturating: u64) -> StepFacts {
        let load = TriedLoad {
            depth: step.in_flight_asked.get().unwrap_or(step.in_flight_mean).round() as u64,
            offered: step.open_loop.as_ref().map(|o| o.offered_per_second),
        };
        let samples = BinSamples {
            idle: idle_bins(step.targets.iter().map(|t| &t.series), counts.len()),
            counts,
            merged: step.merged(),
            in_flight: in_flight(step),
            latency_ns: mean_latency(step),
        };
        let is_of_medium = step.errors.first.iter().any(|e| is_of_medium(&e.error));
        let found = StepFacts::of_samples(&step.name, load, &samples, limit, saturating);
        StepFacts {
            // The volume's own limit is below the promise: no load would reach it.
            dead_time: dead_seconds_at_most(step, STALL, found.dead_time),
            is_saturating: (found.is_saturating || provider::limit_is_below(step, found.mean, limit))
                && !step.was_ended_early(),
            mishaps: StepMishaps {
                hangs: step.lost_ios > 0 || step.stuck_workers > 0,
                medium_errors: if is_of_medium { step.errors.count } else { 0 },
                was_ended_early: step.was_ended_early(),
                credits_ended: false,
            },
            ..found
        }
    }

    /// The facts that samples show, of a step of the plan that ran to its end.
    pub fn of_samples(
        step: &str,
        load: TriedLoad,
        samples: &BinSamples,
        limit: f64,
        saturating: u64,
    ) -> StepFacts {
        let counts = &samples.counts[..];
        let seconds = seconds_of(counts);
        StepFacts {
            step: step.into(),
            load,
            in_flight: samples.in_flight,
            latency_ns: samples.latency_ns,
            seconds: counts.len() as f64 / PER_SECOND as f64,
            mean: mean_rate(counts),
            rate: interval_of(counts)
                .map(|rate| if samples.merged <= PART { rate.within(counts) } else { rate }),
            last: last_part(counts, samples.merged <= PART),
            last_minute: mean(&seconds[seconds.len().saturating_sub(LEAST_QUOTABLE.as_seconds() as usize)..]),
            delivered: delivered_seconds(counts, DELIVERED * limit),
            delivers_surely: mean(&seconds) - SURE * variance(&seconds).sqrt() >= DELIVERED * limit,
            dead: dead_seconds(&samples.idle),
            dead_time: dead_time(&samples.idle),
            merged: samples.merged,
            is_saturating: load.offered.is_none() && samples.in_flight >= REFILLED * saturating as f64,
            mishaps: StepMishaps::default(),
        }
    }

    /// The samples show single seconds. Where they do not, a share of seconds is not known.
    pub fn shows_seconds(&self) -> bool {
        (PER_SECOND as usize).is_multiple_of(self.merged)
    }

    /// Long enough to be quoted.
    pub fn is_quotable(&self) -> bool {
        self.seconds + 0.5 >= LEAST_QUOTABLE.as_seconds()
    }

    /// Share of the time in which requests waited and none completed for a second or longer.
    pub fn dead_share(&self) -> f64 {
        self.dead_time / self.seconds.max(1.0)
    }
}

/// An I/O error that the device reported, and not one of the program or of the kernel's limits: the block layer's codes of a medium, of a target
/// and of a link that fail, and of protected data that do not match (`blk_errors` in Linux `block/blk-core.c`).
fn is_of_medium(error: &str) -> bool {
    const OF_MEDIUM: [(i32, &str); 6] = [
        (libc::EIO, "EIO"),
        (libc::ENODATA, "ENODATA"),
        (libc::EILSEQ, "EILSEQ"),
        (libc::EREMOTEIO, "EREMOTEIO"),
        (libc::ETIMEDOUT, "ETIMEDOUT"),
        (libc::ENOLINK, "ENOLINK"),
    ];
    error.contains("Input/output error")
        || OF_MEDIUM
            .iter()
            .any(|(code, name)| error.contains(&format!("os error {code})")) || error.contains(name))
}

/// Mean service latency of reads and writes, in nanoseconds.
pub fn mean_latency(step: &StepRecord) -> f64 {
    let data = step.directions().filter(|(d, _)| *d != Direction::Sync);
    let (sum, ios) = data.fold((0.0, 0.0), |(sum, ios), (_, s)| {
        (sum + s.service_latency_ns.mean * s.ios as f64, ios + s.ios as f64)
    });
    if ios > 0.0 { sum / ios } else { 0.0 }
}

/// Requests in flight of all targets, averaged over time, by the samples.
fn in_flight(step: &StepRecord) -> f64 {
    let series = step.targets.iter().map(|t| &t.series);
    let waited: f64 = series.flat_map(|s| &s.in_flight_ns).map(|ns| *ns as f64).sum();
    if waited > 0.0 { waited / (step.window_ns.0 as f64).max(1.0) } else { step.in_flight_mean }
}

/// The rate of counts of 100 ms.
pub fn mean_rate(bins: &[u64]) -> f64 {
    sum(bins) * PER_SECOND as f64 / bins.len().max(1) as f64
}

fn seconds_of(bins: &[u64]) -> Vec<f64> {
    per_second(bins).into_iter().map(|n| n as f64).collect()
}

/// The rate of counts of 100 ms with its interval. Where the series varies too slowly for the usual interval, the one of its lowest
/// frequencies, which is wide then. `None` below ten seconds.
pub fn interval_of(bins: &[u64]) -> Option<RateInterval> {
    let found = Estimate::from_bins(bins)?;
    if let Some(bounds) = &found.interval {
        let (low, high) = (bounds.low_per_second, bounds.high_per_second);
        return Some(RateInterval { mean: found.mean_per_second, low, high });
    }
    let spread = Spread::from_values(&seconds_of(bins))?;
    let half = quantile(0.975) * spread.standard_error;
    let mean = found.mean_per_second;
    Some(RateInterval { mean, low: (mean - half).max(0.0), high: mean + half })
}

/// The lower of the last fifth and the last minute. Where they are the whole window, that. Merged samples may be too few for a minute.
fn last_part(bins: &[u64], shows_a_minute: bool) -> Option<RateInterval> {
    let seconds = bins.len() / PER_SECOND as usize;
    let fifth = last_fifth(seconds);
    let minute = LEAST_QUOTABLE.as_seconds() as usize;
    let of_fifth = interval_of(&bins[bins.len() - fifth * PER_SECOND as usize..])?;
    // A window that is hardly longer than a minute has no minute at its end that says more.
    if seconds < minute + fifth || !shows_a_minute {
        return Some(of_fifth);
    }
    let of_minute = interval_of(&bins[bins.len() - minute * PER_SECOND as usize..])?;
    Some(if of_minute.high < of_fifth.high { of_minute } else { of_fifth })
}

/// Whether each second reached a rate. Under a limiter that lets its quota through once or several times a second, the edges of seconds
/// say nothing: a unit is then as long as whole periods need, less than two seconds. A quota on an edge makes one unit slow and the next one
/// fast, and half a slow second on either side of an edge makes none slow: of all edges those with the median of slow units count. Where
/// quotas have no period on the grid of 100 ms, a unit that lacks no more than one of them counts together with a neighbour.
fn delivered_seconds(bins: &[u64], per_second: f64) -> Vec<bool> {
    let length = unit(period(bins).filter(|p| *p <= PER_SECOND as usize));
    let wanted = per_second * length as f64 / PER_SECOND as f64;
    let edges = 0..length.min(bins.len());
    let mut by_edge: Vec<Vec<bool>> = edges.map(|edge| reached_from(bins, edge, length, wanted)).collect();
    // A stable sort: of edges with as many slow units the first counts.
    by_edge.sort_by_key(|units| slow_units(units));
    let median = by_edge.get(by_edge.len() / 2).map(|units| slow_units(units));
    by_edge.into_iter().find(|units| Some(slow_units(units)) == median).unwrap_or_default()
}

fn slow_units(units: &[bool]) -> usize {
    units.iter().filter(|reached| !**reached).count()
}

/// Whether each unit from an edge on reached a count, by itself or with the one quota that came just outside of it.
fn reached_from(bins: &[u64], edge: usize, length: usize, wanted: f64) -> Vec<bool> {
    let units: Vec<&[u64]> = bins[edge..].chunks_exact(length).collect();
    let sums: Vec<f64> = units.iter().map(|unit| sum(unit)).collect();
    let usual = median(&sums).unwrap_or(0.0);
    let mut reached = Vec::new();
    for (i, sum) in sums.iter().enumerate() {
        let quota = missing_quota(units[i]);
        // Two units together reach the count too, and lack no more than a quota that came outside both of them.
        let both = f64::max(2.0 * wanted, 2.0 * usual - quota);
        let neighbours = [i.checked_sub(1), Some(i + 1)].into_iter().flatten();
        let mut sums_beside = neighbours.filter_map(|n| sums.get(n));
        let is_whole = sums_beside.any(|beside| beside + sum >= both);
        reached.push(*sum >= wanted || (sum + quota >= wanted && is_whole));
    }
    reached
}

/// A quota that came just outside a unit leaves a hole in it, as large as the usual count of its bins.
fn missing_quota(unit: &[u64]) -> f64 {
    let mut busy: Vec<u64> = unit.iter().copied().filter(|count| *count > 0).collect();
    busy.sort_unstable();
    let usual = busy.get(busy.len() / 2).copied().unwrap_or(0);
    let has_hole = unit.iter().any(|count| 2 * count < usual);
    if has_hole { usual as f64 } else { 0.0 }
}

fn sum(bins: &[u64]) -> f64 {
    // The sum of no floats is -0.
    bins.iter().map(|n| *n as f64).fold(0.0, |sum, n| sum + n)
}

/// Whether in each 100 ms requests waited and none completed, on all targets together.
fn idle_bins<'a>(series: impl Iterator<Item = &'a Series>, bins: usize) -> Vec<bool> {
    let load = LoadGrid::from_series(series);
    let merged = (load.bin.0 / GRID.0).max(1) as usize;
    let mut idle: Vec<bool> = load.idle().flat_map(|idle| std::iter::repeat_n(idle, merged)).collect();
    idle.resize(bins, false);
    idle
}

/// Whether each whole second is idle from its start to its end.
fn dead_seconds(idle: &[bool]) -> Vec<bool> {
    idle.chunks_exact(PER_SECOND as usize).map(|second| second.iter().all(|idle| *idle)).collect()
}

/// Seconds in stretches of at least a second. Where such a stretch lies between the edges of seconds makes no difference to the volume. A second
/// holds nine whole bins or ten.
fn dead_time(idle: &[bool]) -> f64 {
    let shortest = PER_SECOND as usize - 1;
    let stretches = idle.chunk_by(|a, b| a == b).filter(|run| run[0] && run.len() >= shortest);
    stretches.map(<[bool]>::len).sum::<usize>() as f64 / PER_SECOND as f64
}

/// Share of the time of a step in which requests waited for a second or longer and none completed, on all targets together; the most that it can
/// be, where the samples of a long run do not show pauses.
pub fn dead_share(step: &StepRecord) -> f64 {
    let seen = dead_time(&idle_bins_of(step));
    dead_seconds_at_most(step, STALL, seen) / step.window_ns.as_seconds().max(1.0)
}

/// Seconds of all pauses of at least this length. Samples that show pauses show them. Others leave the latencies: requests wait as long as a
/// pause lasts, so that on each target all pauses together are no longer than its latencies of that length.
fn dead_seconds_at_most(step: &StepRecord, least: Nanos, seen: f64) -> f64 {
    if step.shows_pauses() {
        return seen;
    }
    let of_target = |series: &Series| {
        let all = series.streams().flat_map(|stream| &stream.service).map(|h| h.sum_from(least));
        Nanos(total(all.map(|sum| sum.0)).saturating_add(series.silent_after_ns.0)).as_seconds()
    };
    let least_of_targets = step.targets.iter().map(|t| of_target(&t.series)).fold(f64::INFINITY, f64::min);
    least_of_targets.min(step.window_ns.as_seconds())
}

/// The share of the time of several steps, from each one's share and seconds.
pub fn share_of_all(steps: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (part, all) =
        steps.fold((0.0, 0.0), |(part, all), (share, seconds)| (part + share * seconds, all + seconds));
    part / f64::max(all, 1.0)
}

/// Share of the values that are true.
pub fn share(values: &[bool]) -> f64 {
    values.iter().filter(|v| **v).count() as f64 / values.len().max(1) as f64
}

/// Share of the time of a step in which requests waited and none completed, by tenths of a second; the most that it can be, where the samples of
/// a long run do not show pauses.
pub fn idle_share(step: &StepRecord) -> f64 {
    let seconds = step.window_ns.as_seconds().max(1.0);
    dead_seconds_at_most(step, GRID, share(&idle_bins_of(step)) * seconds) / seconds
}

fn idle_bins_of(step: &StepRecord) -> Vec<bool> {
    let bins = (step.window_ns.as_seconds() * PER_SECOND as f64) as usize;
    idle_bins(step.targets.iter().map(|t| &t.series), bins)
}

/// Time that a rate needs in all to be told from a limit, in seconds: the interval shrinks with the square root of time.
pub fn seconds_to_tell(rate: &RateInterval, limit: f64, seconds: f64) -> f64 {
    let distance = (rate.mean - limit).abs();
    let half = (rate.high - rate.low) / 2.0;
    if distance > 0.0 { seconds * (half / distance).powi(2) } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_whole_and_counted_at_their_level() {
        let bins: Vec<u64> = (0..1905).map(|i| if i < 600 { 90 } else { 100 }).collect();
        let good = |rate| delivered_seconds(&bins, rate).iter().filter(|good| **good).count();
        assert_eq!((delivered_seconds(&bins, 960.0).len(), good(960.0), good(900.0)), (190, 130, 190));
    }

    #[test]
    fn errors_of_the_medium_are_told_from_those_of_the_program() {
        let words = |code| std::io::Error::from_raw_os_error(code).to_string();
        assert!([libc::EIO, libc::ENODATA, libc::EREMOTEIO].iter().all(|code| is_of_medium(&words(*code))));
        assert!(![libc::EINVAL, libc::ENOSPC, libc::ENOMEM].iter().any(|code| is_of_medium(&words(*code))));
    }

    #[test]
    fn quotas_without_a_period_on_the_grid_make_no_second_slow() {
        // A quota each 130 ms: seven or eight of them fall into a second.
        let of_rate = |rate: f64| {
            let mut bins = vec![0; 1300];
            (0..1000).for_each(|i| bins[i * 13 / 10] += (rate * 0.13) as u64);
            let seconds = delivered_seconds(&bins, 2_646.0);
            seconds.iter().filter(|good| **good).count() as f64 / seconds.len() as f64
        };
        assert_eq!(of_rate(2_900.0), 1.0);
        assert_eq!(of_rate(2_450.0), 0.0);
    }

    #[test]
    fn a_quota_a_bin_late_makes_no_second_slow_and_quotas_that_lack_do() {
        let mut bins = vec![290; 600];
        for second in (3..60).step_by(3) {
            // The last quota of a second comes with the first one of the next.
            bins[10 * second - 1] = 0;
            bins[10 * second] = 580;
        }
        assert_eq!(delivered_seconds(&bins, 2_646.0), vec![true; 60]);
        let mut slower = bins.clone();
        slower.iter_mut().for_each(|count| *count = *count * 4 / 5);
        assert!(delivered_seconds(&slower, 2_646.0).iter().all(|reached| !reached));
        (3..60).step_by(3).for_each(|second| bins[10 * second - 3..10 * second].fill(0));
        let slow = delivered_seconds(&bins, 2_646.0).iter().filter(|good| !**good).count();
        assert!(slow >= 18, "{slow}");
    }

    #[test]
    fn a_pause_longer_than_a_quota_makes_its_second_slow() {
        // A quota of 44 in each 100 ms, and every three seconds a pause that two of them fall into.
        let bins: Vec<u64> = (0..600).map(|i| if matches!(i % 30, 4 | 5) { 6 } else { 44 }).collect();
        let slow = delivered_seconds(&bins, 370.0).iter().filter(|good| !**good).count();
        assert!(slow >= 18, "{slow}");
    }

    #[test]
    fn a_slow_bucket_is_counted_by_its_own_beat() {
        // 1,400 every 0.7 s: single seconds hold one quota or two.
        let bins: Vec<u64> = (0..2800).map(|i| if i % 7 < 2 { 700 } else { 0 }).collect();
        assert_eq!(delivered_seconds(&bins, 1_900.0), vec![true; 200]);
        // 3,000 every 1.5 s: a third of the seconds hold nothing.
        let bins: Vec<u64> = (0..3000).map(|i| if i % 15 < 3 { 1000 } else { 0 }).collect();
        let seconds = delivered_seconds(&bins, 1_900.0);
        let good = seconds.iter().filter(|good| **good).count();
        assert!((good as f64 / seconds.len() as f64 - 2.0 / 3.0).abs() < 0.01, "{good}");
    }
}

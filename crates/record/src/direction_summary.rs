//! One direction in the window: counts, rates with their intervals, latencies by percentile.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_base::hist::{Histogram, StoredHistogram, summed_columns};
use volproof_base::sample::{Direction, Series, Stream};
use volproof_base::stats::load_grid::LoadGrid;
use volproof_base::stats::percentile::{self, STANDARD};
use volproof_base::stats::rate::{Estimate, RateBounds};
use volproof_base::unit::{Bytes, Nanos, total};

/// The directions that move data or discard it.
pub(crate) const DATA: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

/// One direction in the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectionSummary {
    /// I/Os completed without error.
    pub ios: u64,
    /// Bytes of these I/Os.
    pub bytes: Bytes,
    /// I/Os a second.
    pub iops: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// The rate with its interval and any doubt about it; absent for a window below 100 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Estimate>,
    /// From submission to completion.
    pub service_latency_ns: LatencySummary,
    /// From the intended start to completion, arrivals without completion included; only under a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_latency_ns: Option<LatencySummary>,
}

impl DirectionSummary {
    /// The latency to tell where there is room for one. Under a rate it is the response latency, since a client waits from the intended
    /// start on; else the service latency.
    pub fn latency(&self) -> &LatencySummary {
        self.response_latency_ns.as_ref().unwrap_or(&self.service_latency_ns)
    }
}

/// Latencies in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencySummary {
    /// Number of latencies.
    pub samples: u64,
    /// The smallest latency, exact.
    pub min: Nanos,
    /// Mean: the exact sum over the number.
    pub mean: f64,
    /// Standard deviation, from buckets (error below 1 %).
    pub deviation: f64,
    /// The largest latency, exact.
    pub max: Nanos,
    /// Percentiles by name, such as `99.9`; those with fewer than ten samples above them are left out.
    pub percentiles: BTreeMap<String, Nanos>,
    /// Names of percentiles that are an indication, not a figure to quote: fewer than ten independent samples lie above them, or stalls
    /// took a larger share of the time than the share of samples above them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsettled: Vec<String>,
    /// Number of samples with only a lower bound: the latency was longer than the recorded one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub censored: u64,
}

pub(super) fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// What a table has in place of a figure that is not known.
pub const UNKNOWN: &str = "-";

impl LatencySummary {
    /// The mean; none where a report does not tell it.
    pub fn known_mean(&self) -> Option<Nanos> {
        self.known(Nanos(self.mean.round() as u64))
    }

    /// The shortest latency; none where a report does not tell it.
    pub fn known_min(&self) -> Option<Nanos> {
        self.known(self.min)
    }

    /// The longest latency; none where a report does not tell it.
    pub fn known_max(&self) -> Option<Nanos> {
        self.known(self.max)
    }

    /// A percentile whose value is known. None above the share of arrivals that completed: only lower bounds are known there.
    pub fn known_percentile(&self, name: &str) -> Option<Nanos> {
        self.percentiles.get(name).copied().filter(|_| !self.is_bound(name))
    }

    /// A percentile in words: `>` marks a lower bound, `~` a percentile that is not settled enough to be quoted.
    pub fn marked(&self, name: &str, told: impl Fn(Nanos) -> String) -> Option<String> {
        let mark = match () {
            () if self.is_bound(name) => ">",
            () if self.unsettled.iter().any(|u| u == name) => "~",
            () => "",
        };
        Some(format!("{mark}{}", told(*self.percentiles.get(name)?)))
    }

    /// Whether only a lower bound of the percentile is known.
    fn is_bound(&self, name: &str) -> bool {
        let completed = 1.0 - self.censored as f64 / self.samples.max(1) as f64;
        self.censored > 0 && name.parse::<f64>().is_ok_and(|p| p / 100.0 > completed)
    }

    /// The value; none for a 0, which stands for a figure that the report does not have. Only where all latencies are 0 was a 0 measured.
    fn known(&self, value: Nanos) -> Option<Nanos> {
        let all_zero = self.samples > 0 && self.max.0 == 0;
        Some(value).filter(|v| v.0 > 0 || all_zero)
    }

    /// From histograms of each second, and samples that belong to no second.
    pub(super) fn of_seconds(
        mut parts: Cow<'_, [StoredHistogram]>,
        extra: &Histogram,
        censored: u64,
    ) -> Option<LatencySummary> {
        if !extra.is_empty() {
            parts.to_mut().push(extra.to_sparse());
        }
        let all = percentile::pooled(parts.iter());
        let samples = all.count() as f64;
        let carried = STANDARD.iter().filter(|(_, share)| percentile::printable(samples, *share));
        let settled = percentile::table(&parts, &STANDARD);
        let unsettled = carried.clone().filter(|(name, _)| !settled.iter().any(|p| p.name == *name));
        Some(LatencySummary {
            samples: all.count(),
            min: all.min()?,
            mean: all.mean()?,
            deviation: all.deviation()?,
            max: all.max()?,
            unsettled: unsettled.map(|(name, _)| name.to_string()).collect(),
            percentiles: carried.filter_map(|(n, q)| Some((n.to_string(), all.quantile(*q)?))).collect(),
            censored,
        })
    }
}

/// Responses that belong to no second of the window: those that completed after it, and those that never completed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LateResponses {
    /// Completed after the window, per direction.
    pub late: BTreeMap<Direction, StoredHistogram>,
    /// Never completed, per direction: the time until the wait for them ended (arrivals that were never sent count for the first direction of
    /// the step).
    pub censored: BTreeMap<Direction, StoredHistogram>,
}

impl LateResponses {
    /// Adds a response that completed after the window, or several.
    pub fn add_late(&mut self, d: Direction, responses: &StoredHistogram) {
        if !responses.is_empty() {
            self.late.entry(d).or_default().merge(responses);
        }
    }

    /// Adds responses that never came.
    pub fn add_censored(&mut self, d: Direction, responses: &StoredHistogram) {
        if !responses.is_empty() {
            self.censored.entry(d).or_default().merge(responses);
        }
    }

    /// Adds those of another machine.
    pub fn merge(&mut self, other: &LateResponses) {
        other.late.iter().for_each(|(d, all)| self.add_late(*d, all));
        other.censored.iter().for_each(|(d, all)| self.add_censored(*d, all));
    }

    /// Those of one direction, of both kinds.
    pub fn of_direction(&self, d: Direction) -> impl Iterator<Item = &StoredHistogram> {
        self.late.get(&d).into_iter().chain(self.censored.get(&d))
    }

    /// How many they are.
    pub fn count(&self) -> u64 {
        total(self.late.values().chain(self.censored.values()).map(StoredHistogram::count))
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.late.is_empty() && self.censored.is_empty()
    }
}

impl LatencySummary {
    /// Marks the percentiles that stalls and used-up quotas distort: a load that waits for completions sends next to nothing meanwhile, so that the
    /// I/Os which would have waited are not among its latencies (coordinated omission).
    fn mark_stalls(&mut self, share_of_time: f64) {
        for (name, _) in STANDARD.iter().filter(|(_, share)| 1.0 - share < share_of_time) {
            if self.percentiles.contains_key(*name) && !self.unsettled.iter().any(|u| u == name) {
                self.unsettled.push(name.to_string());
            }
        }
    }
}

impl DirectionSummary {
    /// The interval of the rate, where one may be printed.
    pub fn interval(&self) -> Option<&RateBounds> {
        self.rate.as_ref().and_then(Estimate::quoted)
    }

    /// Summary of a direction over one or several targets that ran together; none when nothing happened.
    pub fn of_samples(
        d: Direction,
        series: &[&Series],
        tails: &[&LateResponses],
    ) -> Option<DirectionSummary> {
        DirectionSummary::of_all(&[d], series, tails)
    }

    /// Summary of reads, writes and discards together; none where only one of them happened.
    pub fn total(series: &[&Series], tails: &[&LateResponses]) -> Option<DirectionSummary> {
        let moved = DATA.iter().filter(|d| series.iter().any(|s| s.stream(**d).is_some()));
        (moved.count() > 1).then(|| DirectionSummary::of_all(&DATA, series, tails)).flatten()
    }

    /// The sum of directions without known samples: counts, rates and the mean latency. None where there is only one.
    pub fn sum(directions: &[&DirectionSummary]) -> Option<DirectionSummary> {
        if directions.len() < 2 {
            return None;
        }
        let latencies = directions.iter().map(|s| &s.service_latency_ns);
        let ios = total(directions.iter().map(|s| s.ios));
        let all = directions.iter().map(|s| s.service_latency_ns.mean * s.ios as f64).sum::<f64>();
        // Latencies of a part are not those of the whole.
        let (mut samples, mut shortest, mut mean, mut longest) =
            (0, Some(Nanos(u64::MAX)), all / ios.max(1) as f64, Some(Nanos(0)));
        for l in latencies.clone() {
            samples = u64::saturating_add(samples, l.samples);
            shortest = shortest.zip(l.known_min()).map(|(a, b)| a.min(b));
            longest = longest.zip(l.known_max()).map(|(a, b)| a.max(b));
            mean = if l.known_mean().is_some() { mean } else { 0.0 };
        }
        if latencies.clone().any(|l| l.samples == 0) {
            samples = 0;
        }
        Some(DirectionSummary {
            ios,
            bytes: Bytes(total(directions.iter().map(|s| s.bytes.0))),
            iops: directions.iter().map(|s| s.iops).sum(),
            bytes_per_second: directions.iter().map(|s| s.bytes_per_second).sum(),
            rate: None,
            service_latency_ns: LatencySummary {
                samples,
                min: shortest.unwrap_or_default(),
                mean,
                deviation: 0.0,
                max: longest.unwrap_or_default(),
                percentiles: BTreeMap::new(),
                unsettled: Vec::new(),
                censored: 0,
            },
            response_latency_ns: None,
        })
    }

    fn of_all(
        directions: &[Direction],
        series: &[&Series],
        tails: &[&LateResponses],
    ) -> Option<DirectionSummary> {
        let of_series =
            series.iter().flat_map(|s| directions.iter().filter_map(|d| Some((*s, s.stream(*d)?))));
        let (owners, streams): (Vec<&Series>, Vec<&Stream>) = of_series.unzip();
        if streams.is_empty() {
            return None;
        }
        let window = series.iter().map(|s| s.window_ns).max().unwrap_or_default().as_seconds().max(1e-9);
        let (mut ios, mut bytes) = (0, 0);
        for stream in &streams {
            let total = stream.track.total();
            ios = u64::saturating_add(ios, total.ios);
            bytes = u64::saturating_add(bytes, total.bytes.0);
        }
        let whole_bins = (window * 10.0 + 1e-6) as usize;
        let mut bins = vec![0u64; whole_bins];
        for (series, stream) in owners.iter().zip(&streams) {
            add_column(&mut bins, &series.on_grid(&stream.track.ios));
        }
        bins.truncate(whole_bins);
        let mut extra = Histogram::new();
        let mut censored = 0;
        for (tail, d) in tails.iter().flat_map(|tail| directions.iter().map(move |d| (tail, *d))) {
            tail.of_direction(d).for_each(|all| extra.merge_sparse(all));
            censored += tail.censored.get(&d).map_or(0, StoredHistogram::count);
        }
        let mut service =
            LatencySummary::of_seconds(columns(&streams, |s| &s.service), &Histogram::new(), 0)?;
        let load = LoadGrid::from_series(series.iter().copied());
        let stalled: f64 = load.stalls().iter().map(|stall| stall.length.as_seconds()).sum();
        service.mark_stalls(stalled / window);
        Some(DirectionSummary {
            ios,
            bytes: Bytes(bytes),
            iops: ios as f64 / window,
            bytes_per_second: bytes as f64 / window,
            rate: Estimate::from_bins(&bins),
            service_latency_ns: service,
            response_latency_ns: LatencySummary::of_seconds(
                columns(&streams, |s| &s.response),
                &extra,
                censored,
            ),
        })
    }
}

/// Adds a column to the sum of others.
pub fn add_column(sum: &mut Vec<u64>, column: &[u64]) {
    sum.resize(sum.len().max(column.len()), 0);
    sum.iter_mut().zip(column).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
}

/// The histograms of each second, of all streams together. Those of one stream are used where they are: an hour of them is large.
fn columns<'a>(
    streams: &[&'a Stream],
    pick: fn(&Stream) -> &Vec<StoredHistogram>,
) -> Cow<'a, [StoredHistogram]> {
    if let [one] = streams {
        return Cow::Borrowed(pick(one));
    }
    Cow::Owned(summed_columns(streams.iter().map(|stream| pick(stream))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_has_the_mark_of_what_is_known_of_it() {
        let l = LatencySummary {
            samples: 1000,
            min: Nanos(1),
            mean: 1.0,
            deviation: 0.0,
            max: Nanos(3),
            censored: 2,
            percentiles: [("50", 1), ("99", 2), ("99.9", 3)].map(|(n, t)| (n.into(), Nanos(t))).into(),
            unsettled: vec!["99".into()],
        };
        let told = ["50", "99", "99.9", "99.99"].map(|name| l.marked(name, |t| t.0.to_string()));
        assert_eq!(told, [Some("1".into()), Some("~2".into()), Some(">3".into()), None]);
    }
}

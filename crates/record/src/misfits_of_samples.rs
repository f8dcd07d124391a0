//! Figures of a measured step that do not fit its own samples: a Record that was edited by hand, or damaged, or written by a faulty program.
//!
//! Summaries are made from the samples, so that they agree to rounding. Nothing tells which of two figures is wrong. Absent figures are not
//! compared.

use super::{DirectionSummary, StepRecord};
use volproof_base::sample::{Direction, GRID, PER_SECOND, Series};
use volproof_base::stats::percentile::pooled;
use volproof_base::unit::{Bytes, Nanos, grouped, significant, total};

/// Two figures of one quantity may differ by this share, or by one unit of the count.
const ROUNDED: f64 = 0.005;

impl StepRecord {
    /// The figures that do not fit, in words; none for a step of a report, which has no samples.
    pub fn misfits(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.reported.is_some()
            || self.targets.iter().all(|t| Direction::ALL.iter().all(|d| t.series.stream(*d).is_none()))
        {
            return found;
        }
        let all: Vec<&Series> = self.targets.iter().map(|t| &t.series).collect();
        let longest = all.iter().map(|s| s.window_ns).max().unwrap_or_default();
        if apart(longest.as_seconds(), self.window_ns.as_seconds(), GRID.as_seconds()) {
            found.push(format!("the window is {}, that of the samples {longest}", self.window_ns));
        }
        for d in Direction::ALL {
            of_samples(d, self.direction(d), &all, self.window_ns, &mut found);
            for target in self.targets.iter().filter(|_| self.targets.len() > 1) {
                of_samples(d, target.direction(d), &[&target.series], self.window_ns, &mut found);
            }
        }
        self.total_of_directions(&mut found);
        found
    }

    /// The total of a mix against its directions.
    fn total_of_directions(&self, found: &mut Vec<String>) {
        let Some(all) = &self.total else { return };
        let parts = self.directions().filter(|(d, _)| *d != Direction::Sync);
        let parts: Vec<&DirectionSummary> = parts.map(|(_, summary)| summary).collect();
        let ios = total(parts.iter().map(|s| s.ios));
        let rate = parts.iter().map(|s| s.iops).sum::<f64>();
        if apart(all.ios as f64, ios as f64, 1.0) {
            found.push(format!(
                "a total of {} I/Os, and {} in its directions",
                grouped(all.ios),
                grouped(ios)
            ));
        }
        if apart(all.iops, rate, 1.0) {
            found.push(format!(
                "a total of {} IOPS, and {} in its directions",
                significant(all.iops),
                significant(rate)
            ));
        }
    }
}

/// The summary of a direction against its samples: counts, rates and latencies.
fn of_samples(
    d: Direction,
    stated: Option<&DirectionSummary>,
    all: &[&Series],
    window: Nanos,
    found: &mut Vec<String>,
) {
    let streams: Vec<_> = all.iter().filter_map(|s| s.stream(d)).collect();
    let (seconds, name) = (window.as_seconds(), d.name());
    let interval = all.first().map_or(GRID, |series| series.interval_ns.max(GRID)).0;
    let held = all.first().map_or(GRID, |series| series.histogram_length()).0;
    let most = (window.0.div_ceil(interval) + PER_SECOND) as usize;
    let most_held = (window.0.div_ceil(held) + 2) as usize;
    if streams.iter().any(|s| s.track.ios.len() > most || s.service.len() > most_held) {
        found.push(format!("{name}: samples of a longer time than the window of {window}"));
    }
    // Where nothing completed there are samples of 0.
    let least = (window.0 / interval).saturating_sub(PER_SECOND) as usize;
    if streams.iter().map(|s| s.track.ios.len()).max().is_some_and(|n| n < least) {
        found.push(format!("{name}: samples of a shorter time than the window of {window}"));
    }
    let counts: Vec<_> = streams.iter().map(|s| s.track.total()).collect();
    let (ios, bytes) = (total(counts.iter().map(|c| c.ios)), total(counts.iter().map(|c| c.bytes.0)));
    let Some(stated) = stated else {
        if ios > 0 {
            found.push(format!("{name}: {} I/Os in the samples, and no figures of them", grouped(ios)));
        }
        return;
    };
    if apart(stated.ios as f64, ios as f64, 1.0) {
        found.push(format!("{name}: {} I/Os, and {} in the samples", grouped(stated.ios), grouped(ios)));
    }
    if apart(stated.bytes.0 as f64, bytes as f64, 1.0) {
        found.push(format!("{name}: {}, and {} in the samples", stated.bytes, Bytes(bytes)));
    }
    if apart(stated.iops * seconds, stated.ios as f64, 1.0) {
        let (n, rate) = (grouped(stated.ios), significant(stated.iops));
        found.push(format!("{name}: {n} I/Os in {} s are not {rate} a second", significant(seconds)));
    }
    if apart(stated.bytes_per_second * seconds, stated.bytes.0 as f64, 1.0) {
        let rate = Bytes(stated.bytes_per_second as u64);
        found.push(format!("{name}: {} in {} s are not {rate} a second", stated.bytes, significant(seconds)));
    }
    let (l, sampled) = (&stated.service_latency_ns, pooled(streams.iter().flat_map(|s| &s.service)));
    if apart(sampled.count() as f64, ios as f64, 1.0) {
        let (n, all) = (grouped(sampled.count()), grouped(ios));
        found.push(format!("{name}: the histograms hold {n} latencies of {all} I/Os"));
    }
    let mean = sampled.mean().unwrap_or(0.0);
    if apart(l.mean, mean, 1000.0) {
        let (stated, seen) = (Nanos(l.mean as u64), Nanos(mean as u64));
        found.push(format!("{name}: a mean latency of {stated}, and {seen} in the samples"));
    }
    let table = l
        .percentiles
        .iter()
        .filter_map(|(p, v)| Some((p, *v, sampled.quantile(p.parse::<f64>().ok()? / 100.0)?)));
    for (p, stated, seen) in
        table.filter(|(_, stated, seen)| apart(stated.0 as f64, seen.0 as f64, 0.02 * seen.0 as f64))
    {
        found.push(format!("{name}: {p} % within {stated}, and within {seen} in the samples"));
    }
}

/// Two figures differ by more than a rounding; `one` is what is counted.
fn apart(a: f64, b: f64, one: f64) -> bool {
    (a - b).abs() > ROUNDED * a.max(b) + one
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use crate::{Record, StepRecord};

    #[test]
    fn an_edited_figure_does_not_fit_its_samples() {
        let text = include_str!("../../../fuzz/records/simulated.json");
        let record = Record::parse(text, PathBuf::new()).unwrap();
        let steps = || record.steps.iter().filter(|s| s.read.is_some());
        assert!(steps().next().is_some());
        type Edit = fn(&mut StepRecord);
        let edits: [(&str, Edit); 8] = [
            ("a second", |s| s.read.as_mut().unwrap().iops *= 1.5),
            ("in the samples", |s| s.read.as_mut().unwrap().ios *= 2),
            ("a mean latency", |s| s.read.as_mut().unwrap().service_latency_ns.mean /= 2.0),
            ("in the samples", |s| {
                let percentiles = &mut s.read.as_mut().unwrap().service_latency_ns.percentiles;
                percentiles.values_mut().for_each(|v| v.0 /= 2);
            }),
            ("the window is", |s| s.window_ns.0 *= 2),
            ("no figures of them", |s| s.read = None),
            ("in the samples", |s| {
                let stream = s.targets[0].series.read.as_mut().unwrap();
                stream.track.ios.iter_mut().for_each(|n| *n *= 2);
            }),
            ("a shorter time", |s| {
                let track = &mut s.targets[0].series.read.as_mut().unwrap().track;
                let kept = track.ios.len() / 2;
                track.ios[0] += track.ios.drain(kept..).sum::<u64>();
                track.bytes[0] += track.bytes.drain(kept..).sum::<u64>();
            }),
        ];
        for step in steps() {
            assert_eq!(step.misfits(), [""; 0], "{}", step.name);
            for (words, edit) in edits {
                let mut edited = step.clone();
                edit(&mut edited);
                let found = edited.misfits();
                assert!(found.iter().any(|told| told.contains(words)), "{words}: {found:?}");
            }
        }
    }
}

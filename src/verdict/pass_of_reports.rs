//! What undoes the PASS of a report: memory that may have answered, times in which the volume may have done nothing, and samples below the promise;
//! and what undoes its FAIL: a time at less than half of the rate that was kept otherwise.

use std::path::PathBuf;

use super::claim_terms::ClaimTerms;
use super::judged_window::DELIVERED;
use crate::judge::doubts::disk_counters::{missing_flushes, missing_reads, missing_writes, reads_in_doubt};
use crate::record::StepFigures;
use crate::record::{Conditions, Record, ReportedFigures, ReportedLatency, ReportedStep, ReportedSync};
use crate::stats::warmup::longest_warmup;
use crate::unit::{Nanos, significant};

/// What to do where no report tells what would decide.
pub(super) const MEASURE_IT: &str = "measure it with volproof";

/// What to do where requests are missing among the figures.
const ALL_REQUESTS: &str = "take all requests into the figures";

/// No network volume answers in less than `FASTEST`. Memory copies `COPIED` bytes in a nanosecond.
const FASTEST: Nanos = Nanos::micros(20);
const COPIED: u64 = 4;
/// Share of the samples that may lie below 90 % of the promise, where the provider promises no share of the time.
const BELOW: f64 = 0.1;
/// Seconds count, and so does what a sample of this many seconds tells. fio's samples take half of one.
const WIDEST: f64 = 1.1;
/// Where more than this share of the samples may lie below the limit, the rate may have had a level below the limit for much of the time.
const LEVEL_BELOW: f64 = 0.25;
/// A slow start or a stall has samples of at most this share of the limit,
const SLOW: f64 = 0.5;
/// and no sample above this multiple of it, as a quota has that is handed out once in several samples.
const QUOTA: f64 = 1.5;

/// A figure of a report that keeps its limit, which a promise or the need of an application set, with all that shows whether the volume kept it.
pub(super) struct KeptFigure<'a> {
    /// The report.
    pub record: &'a Record,
    /// The load.
    pub conditions: &'a Conditions,
    /// The run.
    pub reported: &'a ReportedStep,
    /// Its figures.
    pub s: &'a StepFigures,
    /// The flushes of the run, where the figure is one of them.
    pub flushes: Option<&'a ReportedSync>,
    /// Share of the run in which the volume may have done nothing.
    pub allowed: f64,
    /// How many volumes are meant.
    pub volumes: usize,
}

impl KeptFigure<'_> {
    /// Why the volume may not have kept a rate that is kept in the mean.
    pub(super) fn rate_undone(&self, measured: f64, terms: &ClaimTerms) -> Option<String> {
        self.tells_only_the_sum()
            .or_else(|| low_samples(self.reported, self.s, measured, terms))
            .or_else(|| self.unless_it_stood_still())
    }

    /// Why the volume may not have kept the limit, although the figure does.
    pub(super) fn undone(&self) -> Option<String> {
        self.tells_only_the_sum().or_else(|| self.unless_it_stood_still())
    }

    /// Several volumes may have been targets of one row: as many as are meant, or as there are disks and folders among the targets.
    fn tells_only_the_sum(&self) -> Option<String> {
        let c = self.conditions;
        let targets = c.targets.as_ref().map_or(&[][..], |t| t.as_slice());
        let folder_of_job =
            |path: &PathBuf| path.parent().is_some_and(|p| p.to_string_lossy().contains("$jobnum"));
        let several = c.places().len() > 1
            || c.jobs.get() != Some(1) && targets.iter().any(folder_of_job)
            || c.differing_targets.get() == Some(true)
            || targets.len() > 1 && self.volumes > 1
            || self.reported.device.as_ref().is_some_and(|device| device.lowest_disks > 1);
        several.then(|| {
            "the report tells only the sum of what may be several volumes, one of which may fall short: measure each by itself".into()
        })
    }

    /// I/Os too short for any volume where the report does not tell whether the page cache took them, or no latency at all; flushes too short
    /// for any volume.
    fn as_in_memory(&self) -> Option<String> {
        if let Some(flushes) = self.flushes {
            let mean = flushes.latency.mean;
            return (mean < FASTEST.0 as f64).then(|| {
                format!(
                    "the flushes took {} in the mean, as where nothing is left to write or memory takes it: write through the page cache, to a \
                     filesystem on the volume",
                    Nanos(mean as u64)
                )
            });
        }
        let s = self.s;
        let copied = s.block.map_or(0, |block| block.0 / COPIED);
        let quick = |min: &Nanos| min.0 < FASTEST.0 + copied;
        if !self.conditions.direct.is_unknown() || s.mean_ns.is_some() && !s.min.as_ref().is_some_and(quick) {
            return None;
        }
        let option = self.record.report.as_ref()?.program.direct_option();
        let told = match s.min.filter(|_| s.mean_ns.is_some()) {
            Some(shortest) => {
                format!("the shortest I/O took {shortest}, as in memory, and the report does not show")
            }
            None => "the report tells no latency, which would show whether memory answered, nor".into(),
        };
        Some(format!(
            "{told} whether {option} was set: run it with {option}, and keep the command line with the report"
        ))
    }

    /// Requests of the run that the disk did not complete. The writes between flushes may wait in the page cache, but each flush writes.
    fn missing_at_the_disk(&self) -> Option<String> {
        if let Some(flushes) = self.flushes {
            let told = missing_flushes(self.s, flushes.flushes()?, self.reported.device.as_ref()?)?;
            return Some(format!(
                "the limit is kept, but {told}: memory may hold what was flushed, as in a filesystem in memory, or another disk took it; write to \
                 a filesystem on the volume"
            ));
        }
        let reads = missing_reads(self.s).map(|(_, told)| told);
        if let Some(told) = reads.or_else(|| reads_in_doubt(self.s)) {
            return Some(format!(
                "the mean is met, but {told}: memory may have answered them, or blocks that were never written; write the whole range once, and read it with direct I/O"
            ));
        }
        missing_writes(self.s).map(|told| {
            format!(
                "the mean is met, but {told}: memory may hold them, as with a filesystem that takes no direct writes; write to the device itself, or to \
                 a filesystem that takes them"
            )
        })
    }

    /// What the report shows of memory, of requests that are not among its figures, and of times in which the volume may have done nothing.
    fn unless_it_stood_still(&self) -> Option<String> {
        if let Some(reason) = self.as_in_memory().or_else(|| self.missing_at_the_disk()) {
            return Some(reason);
        }
        if let Some(why) = self.record.report.as_ref().and_then(|report| report.partial.as_ref()) {
            return Some(format!(
                "the report is not whole ({why}), and what is missing may fall short: take it again"
            ));
        }
        if let Some(left) = self.reported.left_out.as_ref().filter(|left| left.slow) {
            return Some(format!("the mean is met, but {}: {ALL_REQUESTS}", left.words));
        }
        if let Some(pause) = self.s.pauses.as_ref().filter(|_| self.reported.rate_of_latency) {
            return Some(format!(
                "the load paused between its requests ({pause}), so that it sent fewer than this: the figure is one over the latency of single requests"
            ));
        }
        let longest = match self.flushes {
            Some(flushes) => Hole::of_flush(&flushes.latency, self.s, self.allowed),
            None => Hole::of_longest(self.s, self.allowed),
        };
        let Hole { words, .. } = longest.or_else(|| Hole::without_samples(self.reported, self.allowed))?;
        let met = if self.flushes.is_some() { "limit is kept" } else { "mean is met" };
        Some(format!("the {met}, but {words}: find out why, or run it again to see whether it happens again"))
    }
}

/// Why a mean latency that is met is no PASS, in words: the report has no more than the time from the kernel's hand to completion, and a call that
/// submits for later may take long itself. A blocking engine does all of an I/O in one call.
pub(super) fn without_submission(reported: &ReportedStep, s: &StepFigures) -> Option<String> {
    let part = |f: &ReportedFigures| f.latency().is_some_and(|(kind, _)| kind == "clat");
    let told = reported.parts().iter().any(|(_, f)| part(f));
    (told && s.blocking != Some(true)).then(|| {
        "the mean is met by clat alone, which leaves out the time of submission (slat), and the report has neither that nor the total (lat): leave \
         disable_slat and disable_lat out, and keep the whole report"
            .to_string()
    })
}

/// Why a mean that is missed is no FAIL where the report leaves out quick requests, in words.
pub(super) fn without_the_quick(reported: &ReportedStep) -> Option<String> {
    let left = reported.left_out.as_ref().filter(|left| left.quick)?;
    Some(format!("the mean is missed, but {}: {ALL_REQUESTS}", left.words))
}

/// The share of the run for which the longest I/O took longer than the mean; 0 where the report does not tell it.
pub(super) fn longest_share(s: &StepFigures) -> f64 {
    share_beyond_the_mean(s, s.max.unwrap_or_default(), s.mean_ns.unwrap_or(0.0))
}

/// The share of the run for which a latency lasts longer than a mean in nanoseconds; 0 where the report does not tell how long it ran.
fn share_beyond_the_mean(s: &StepFigures, longest: Nanos, mean_ns: f64) -> f64 {
    let waited = longest.as_seconds() - mean_ns / 1e9;
    s.window.filter(|w| w.0 > 0).map_or(0.0, |window| (waited / window.as_seconds()).clamp(0.0, 1.0))
}

/// A part of the run in which the volume may have delivered nothing.
struct Hole {
    /// Share of the run, 0 to 1.
    share: f64,
    /// How the report shows it.
    words: String,
}

impl Hole {
    /// Of the longest I/O, where it waited for more than the `allowed` share of the run. Where requests wait in a queue, all of them take long.
    fn of_longest(s: &StepFigures, allowed: f64) -> Option<Hole> {
        Hole::of_wait("I/O", s.max?, s.mean_ns.unwrap_or(0.0), s, allowed)
    }

    /// Of the longest flush, during which its job did nothing else.
    fn of_flush(flushes: &ReportedLatency, s: &StepFigures, allowed: f64) -> Option<Hole> {
        Hole::of_wait("flush", flushes.max, flushes.mean, s, allowed)
    }

    /// Of the longest of what took `mean_ns` nanoseconds in the mean.
    fn of_wait(what: &str, longest: Nanos, mean_ns: f64, s: &StepFigures, allowed: f64) -> Option<Hole> {
        let share = share_beyond_the_mean(s, longest, mean_ns);
        let seconds = s.window.unwrap_or_default().as_seconds();
        (share > allowed).then(|| Hole {
            share,
            words: format!(
                "the longest {what} took {longest}, {} % of the run, in which the volume may have delivered nothing",
                significant(100.0 * longest.as_seconds() / seconds)
            ),
        })
    }

    /// Of samples that are missing for more than the `allowed` share of the run.
    fn without_samples(reported: &ReportedStep, allowed: f64) -> Option<Hole> {
        let share = reported.unsampled_share().filter(|share| *share > allowed)?;
        let words = format!(
            "for {} % of the time the report has no sample of the rate, as where nothing completed",
            significant(100.0 * share)
        );
        Some(Hole { share, words })
    }

    /// A rate of the whole run as that of the time outside.
    fn outside(&self, measured: f64) -> f64 {
        measured / (1.0 - self.share).max(f64::MIN_POSITIVE)
    }
}

/// Why the samples of a rate may lie too low for too much of the time, although their mean is high enough: the lowest sample is too low,
/// and the standard deviation allows too many such samples (Cantelli's inequality). A mean without samples shows neither a share of the
/// time nor that the rate had one level.
fn low_samples(
    reported: &ReportedStep,
    s: &StepFigures,
    measured: f64,
    terms: &ClaimTerms,
) -> Option<String> {
    let (promised, most) = terms.readings();
    // Directions may be lowest at the same time.
    let parts = reported.parts();
    let spreads: Option<Vec<_>> = parts.iter().map(|(_, f)| f.rate_spread.as_ref()).collect();
    let spreads = spreads.unwrap_or_default();
    let mean: f64 = spreads.iter().map(|spread| spread.mean).sum();
    let wanted = if terms.at_least { "need" } else { "promise" };
    let Some((spread, samples)) = s.samples.filter(|_| mean > 0.0) else {
        let lacks = match terms.time {
            Some(time) => format!(", and {} % of the time are promised", significant(100.0 * time)),
            None => format!(": a burst with a rate below the {wanted} after it has this mean as well"),
        };
        return Some(format!(
            "the mean is met, but the report does not tell how the rate spread over time{lacks}: {MEASURE_IT}, which tells for how long"
        ));
    };
    if let Some(width) = sample_width(reported, s, samples).filter(|width| *width > WIDEST) {
        return Some(format!(
            "the mean is met, but each sample of the rate is that of some {} s, and hides seconds that are slower: {MEASURE_IT}, which tells each of them",
            significant(width)
        ));
    }
    let lowest = spreads.iter().map(|spread| spread.min).sum::<f64>() / mean * measured;
    let deviation = spread * measured;
    let allowed = terms.time.map_or(BELOW, |time| 1.0 - time);
    // Seconds too low to count as delivered, and a level of the rate that misses the promise.
    let levels = [
        (DELIVERED * promised, allowed, format!("{} % of it", significant(100.0 * DELIVERED))),
        (most * (1.0 - terms.tolerance), LEVEL_BELOW, "the limit".to_string()),
    ];
    levels.into_iter().find_map(|(level, allowed, name)| {
        let room = (measured - level).max(0.0);
        let share = deviation.powi(2) / (deviation.powi(2) + room.powi(2)).max(f64::MIN_POSITIVE);
        (lowest < level && share > allowed).then(|| {
            format!(
                "the mean is met, but the lowest sample is {} % of the {wanted}, and by their spread up to {} % of the samples may lie below {name}: \
                 {MEASURE_IT}, which tells for how long",
                significant(100.0 * lowest / promised),
                significant(100.0 * share)
            )
        })
    })
}

/// Seconds that each sample of the rate takes, by how many there are in the time that has samples.
fn sample_width(reported: &ReportedStep, s: &StepFigures, samples: u64) -> Option<f64> {
    let sampled = 1.0 - reported.unsampled_share().unwrap_or(0.0).clamp(0.0, 1.0);
    Some(sampled * s.window?.as_seconds() / samples as f64)
}

/// Why a mean below the limit is no FAIL: the limit was kept for much of the time, and a slow start or a stall took the rest, which makes no FAIL of a
/// Record either. Such a time shows in samples as low as that, in missing samples, or without any samples in the longest I/O. `allowed` is the share of
/// the time that a hole may have.
pub(super) fn slow_samples(
    reported: &ReportedStep,
    s: &StepFigures,
    measured: f64,
    limit: f64,
    allowed: f64,
) -> Option<String> {
    if !reported.tells_spread() {
        let hole = Hole::of_longest(s, allowed).filter(|hole| hole.outside(measured) >= limit);
        let told = hole.map(|hole| format!("{}, and without that time the limit is kept", hole.words));
        let told = told.or_else(|| may_have_begun_slowly(reported, s, measured, limit))?;
        return Some(format!("the mean is missed, but {told}: {MEASURE_IT}, which tells when it was slow"));
    }
    let parts = reported.parts();
    let spreads: Option<Vec<_>> = parts.iter().map(|(_, f)| f.rate_spread.as_ref()).collect();
    let spreads = spreads?;
    let mean: f64 = spreads.iter().map(|spread| spread.mean).sum();
    let (spread, _) = s.samples.filter(|_| mean > 0.0)?;
    let hole = Hole::without_samples(reported, allowed);
    let sampled = hole.as_ref().map_or(measured, |hole| hole.outside(measured));
    let of = |sum: f64| sum / mean * sampled;
    let lowest = of(spreads.iter().map(|spread| spread.min).sum());
    let highest = of(spreads.iter().map(|spread| spread.max).sum());
    // Cantelli: half of the samples may lie so far above the mean.
    let kept = spread * sampled >= limit - sampled && (limit..=QUOTA * limit).contains(&highest);
    (kept && (lowest <= SLOW * limit || hole.is_some())).then(|| {
        format!(
            "the mean is missed, and the samples go from {} to {} % of the limit{}: a slow start or a stall makes such a mean of a volume that keeps \
             the limit otherwise; {MEASURE_IT}, which tells when it was slow",
            significant(100.0 * lowest / limit),
            significant(100.0 * highest / limit),
            hole.map_or(String::new(), |hole| format!("; {}", hole.words))
        )
    })
}

/// What the I/Os outside of a slow start take in the mean at least, in nanoseconds, by the shortest latency and the percentiles: as long as the quickest,
/// of which a warm-up leaves as many as there is time left.
fn quickest_take(s: &StepFigures) -> f64 {
    let left = s.window.map_or(1.0, |w| 1.0 - longest_warmup(w.as_seconds()) / w.as_seconds().max(1e-9));
    let shortest = s.min.map(|min| (0.0, min));
    let known = shortest.into_iter().chain(s.percentiles.iter().copied());
    let mut known: Vec<(f64, f64)> = known.map(|(share, at)| (share.min(left), at.0 as f64)).collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ends = known.iter().skip(1).map(|(share, _)| *share).chain([left]);
    known.iter().zip(ends).map(|((share, at), end)| (end - share) * at).sum::<f64>() / left
}

/// The longest slow start that the figures of a report may contain, in seconds.
fn hidden_start(reported: &ReportedStep, s: &StepFigures) -> Option<f64> {
    let ramp = reported.conditions.ramp.get().unwrap_or_default().as_seconds();
    Some(longest_warmup(s.window?.as_seconds()) - ramp).filter(|start| *start > 0.0)
}

/// How a slow start explains a missed mean of a report that does not tell how the rate moved, in words: the limit was kept, if nothing came for no
/// longer than a warm-up may last. What the load left out as its ramp was no part of the mean. A larger miss lies in the rest of the run as well.
fn may_have_begun_slowly(
    reported: &ReportedStep,
    s: &StepFigures,
    measured: f64,
    limit: f64,
) -> Option<String> {
    let window = s.window?.as_seconds();
    let start = hidden_start(reported, s)?;
    let missing = 1.0 - measured / limit;
    (measured * window / (window - start) >= limit).then(|| {
        format!(
            "the report does not tell how the rate moved, and a slow start explains a miss of {} %: nothing for the first {} s has that mean",
            significant(100.0 * missing),
            significant(missing * window)
        )
    })
}

/// Why a mean latency above its limit is no FAIL. One request at a time has as long a mean latency as its rate is low, so that the rate tells of slow
/// times. Under a rate of its own a slow start holds no more than one request at any time.
pub(super) fn slow_start_of_latency(
    reported: &ReportedStep,
    s: &StepFigures,
    mean: f64,
    limit: f64,
    allowed: f64,
) -> Option<String> {
    if quickest_take(s) > limit {
        return None;
    }
    if s.offered.is_none() {
        let rate = s.iops?;
        return slow_samples(reported, s, rate, rate * mean / limit, allowed);
    }
    let start = hidden_start(reported, s)?;
    (mean - start * 1e9 / s.ios? <= limit).then(|| {
        format!(
            "the mean is missed, but the report does not tell when I/Os were slow, and a slow start of {} s explains it: {MEASURE_IT}, which \
             tells when it was slow",
            significant(start)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Conditions, RateSpread};
    use crate::unit::Bytes;

    #[test]
    fn low_samples_undo_a_pass_where_many_may_be_as_low() {
        // 1,100 a second on average: 900 is 90 % of the promise, 200 below the mean.
        let of = |min: f64, deviation: f64, terms: &ClaimTerms| {
            let spread = RateSpread { min, max: 1500.0, mean: 1100.0, deviation, samples: 120.into() };
            let read =
                ReportedFigures { bytes: Bytes(1), rate_spread: Some(spread), ..ReportedFigures::default() };
            let reported = ReportedStep { read: Some(read), ..ReportedStep::default() };
            let s = StepFigures { samples: Some((deviation / 1100.0, 120)), ..StepFigures::default() };
            low_samples(&reported, &s, 1100.0, terms)
        };
        assert_eq!(of(985.0, 200.0, &ClaimTerms::THOUSAND), None, "none is low");
        assert_eq!(of(500.0, 60.0, &ClaimTerms::THOUSAND), None, "few can be");
        // A burst and a baseline below the limit of 980: as many samples as their spread allows are low.
        let two_levels = of(950.0, 80.0, &ClaimTerms::THOUSAND).unwrap();
        assert!(two_levels.contains("up to 30.8 % of the samples may lie below the limit"), "{two_levels}");
        assert!(of(500.0, 100.0, &ClaimTerms::THOUSAND).unwrap().contains("up to 20.0 % of the samples"));
        let strict = ClaimTerms { time: Some(0.99), ..ClaimTerms::THOUSAND };
        assert!(of(500.0, 60.0, &strict).is_some(), "the provider promises 99 % of the time");
    }

    #[test]
    fn a_slow_start_makes_no_fail() {
        let of = |min: f64, max: f64, deviation: f64| {
            let spread = RateSpread { min, max, mean: 900.0, deviation, samples: 240.into() };
            let read =
                ReportedFigures { bytes: Bytes(1), rate_spread: Some(spread), ..ReportedFigures::default() };
            let reported = ReportedStep { read: Some(read), ..ReportedStep::default() };
            let s = StepFigures { samples: Some((deviation / 900.0, 240)), ..StepFigures::default() };
            slow_samples(&reported, &s, 900.0, 980.0, 0.02)
        };
        let told = of(200.0, 1010.0, 240.0).unwrap();
        assert!(told.contains("from 20.4 to 103 % of the limit"), "{told}");
        assert_eq!(of(200.0, 950.0, 240.0), None, "the promise was never kept");
        assert_eq!(of(700.0, 1100.0, 90.0), None, "noise");
        assert_eq!(of(200.0, 1010.0, 40.0), None, "too few samples can be low");
        assert_eq!(of(0.0, 1800.0, 900.0), None, "a quota in every other sample");
    }

    /// A volume at its cap that stops for a part of the run, of which no sample is taken.
    #[test]
    fn a_stall_that_has_no_sample_makes_no_fail() {
        let of = |sampled: f64, measured: f64| {
            let spread =
                RateSpread { min: sampled, max: sampled, mean: sampled, deviation: 0.0, samples: 146.into() };
            let read = ReportedFigures {
                ios: 200_000.into(),
                bytes: Bytes(1),
                bytes_per_second: measured.into(),
                rate_spread: Some(spread),
                ..ReportedFigures::default()
            };
            let reported = ReportedStep { read: Some(read), ..ReportedStep::default() };
            let s = StepFigures { samples: Some((0.0, 146)), ..StepFigures::default() };
            slow_samples(&reported, &s, measured, 2744.0, 0.02)
        };
        let told = of(2800.0, 2555.0).unwrap();
        assert!(told.contains("from 102 to 102 % of the limit; for 8.75 % of the time"), "{told}");
        assert_eq!(of(2600.0, 2400.0), None, "too little, also while it delivers");
        assert_eq!(of(2600.0, 2599.0), None);
        assert_eq!(of(5110.0, 2555.0), None, "a quota in every other sample");
        let longest = |seconds: u64| {
            let s = StepFigures {
                max: Some(Nanos::millis(seconds * 1000)),
                window: Some(Nanos::millis(80_000)),
                ..StepFigures::default()
            };
            slow_samples(&ReportedStep::default(), &s, 2555.0, 2744.0, 0.02)
        };
        assert!(longest(7).is_some_and(|told| told.contains("8.75 % of the run")), "{:?}", longest(7));
        let told = longest(2).unwrap();
        assert!(
            told.contains("a slow start explains a miss of 6.89 %"),
            "without these 2 s alone it is missed: {told}"
        );
    }

    #[test]
    fn a_slow_start_that_no_sample_shows_makes_no_fail() {
        let of = |measured: f64, seconds: u64, ramp: u64| {
            let conditions = Conditions { ramp: Nanos::seconds(ramp).into(), ..Conditions::default() };
            let s = StepFigures { window: Some(Nanos::seconds(seconds)), ..StepFigures::default() };
            let reported = ReportedStep { conditions, ..ReportedStep::default() };
            slow_samples(&reported, &s, measured, 1000.0, 0.02)
        };
        let told = of(950.0, 600, 0).unwrap();
        assert!(told.contains("a miss of 5.00 %: nothing for the first 30.0 s"), "{told}");
        assert_eq!(of(890.0, 600, 0), None, "more than a tenth of the run");
        assert_eq!(of(960.0, 3600, 0), None, "more than a minute");
        assert!(of(990.0, 3600, 0).is_some());
        assert_eq!(of(950.0, 600, 60), None, "the start was left out");
        assert_eq!(of(950.0, 600, 31), None, "the rest of a start cannot explain it");
        assert!(of(950.0, 600, 29).is_some());
    }

    #[test]
    fn a_slow_start_makes_no_fail_of_a_latency() {
        // 500 us are promised, and 510 are kept.
        let of = |mean: f64, ramp: u64, offered: Option<f64>| {
            let conditions = Conditions { ramp: Nanos::seconds(ramp).into(), ..Conditions::default() };
            let rate = offered.unwrap_or(1e9 / mean);
            let s = StepFigures {
                window: Some(Nanos::seconds(300)),
                iops: Some(rate),
                ios: Some(300.0 * rate),
                offered,
                ..StepFigures::default()
            };
            let reported = ReportedStep { conditions, ..ReportedStep::default() };
            slow_start_of_latency(&reported, &s, mean, 510e3, 0.02)
        };
        assert!(of(550e3, 0, None).is_some_and(|told| told.contains("a slow start explains")));
        assert_eq!(of(570e3, 0, None), None, "more than a tenth of the run");
        assert_eq!(of(550e3, 30, None), None, "the start was left out");
        assert!(of(600e3, 0, Some(1000.0)).is_some_and(|told| told.contains("a slow start of 30.0 s")));
        assert_eq!(of(620e3, 0, Some(1000.0)), None);
        assert_eq!(of(600e3, 30, Some(1000.0)), None);
        // The quickest nine tenths: half of them no quicker than 550 us, and the others no quicker than 400.
        let percentiles = vec![(0.45, Nanos::micros(550)), (0.99, Nanos::micros(900))];
        let s = StepFigures {
            window: Some(Nanos::seconds(300)),
            min: Some(Nanos::micros(400)),
            percentiles,
            ..StepFigures::default()
        };
        assert!((quickest_take(&s) / 475e3 - 1.0).abs() < 1e-9, "{}", quickest_take(&s));
    }
}

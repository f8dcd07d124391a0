//! The rate of one window against one promise: the statistics of a claim, without Record, diagnosis or words of the report.
//!
//! The whole window is judged, as it was after the ramp that the user asked for. What may change the answer is looked at and
//! told: a warm-up at the start, a burst before the baseline, times in which nothing or too little came, the share of seconds
//! that delivered, a rate that only credits explain, and a rate that the type cannot give. None of these makes a PASS.

use super::figure;
use crate::catalogue::volume_promise::{AtBlock, Binding, VolumePromise};
use crate::record::{Claimed, Delivered, Metric, Outcome, WarmUpCut};
use crate::sample::{GRID, PER_SECOND};
use crate::stats::burst::BurstSeen;
use crate::stats::event::{Event, LoadGrid};
use crate::stats::level::{self as answer, Answer, ClaimAnswer, ONE_SIDED, TimeShare};
use crate::stats::rate::{Estimate, TooShort};
use crate::stats::steady::{self, Assessment, ROUNDS};
use crate::unit::{Nanos, significant};

/// A PASS needs so many of the seconds that deliver, where the provider promises no share of time.
const MOST_SECONDS: f64 = 0.9;
/// Share of the promise that a second must deliver to count as delivered: what providers promise by time is this.
pub const DELIVERED: f64 = 0.90;
/// A rate that rose by this share through the window goes on rising as far as anybody knows.
const RISE: f64 = 0.02;
/// A rate this much above everything that the type can give is not that type's.
const BEYOND: f64 = 1.10;
/// A rate this much above the promise is a burst, where the type bursts.
const ABOVE: f64 = 1.02;

/// Beyond the promise for a while: what the catalogue says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowance {
    /// Rate while it lasts, in the unit of the claim.
    pub per_second: f64,
    /// How long a full bucket lasts at that rate; absent where nothing is published.
    pub seconds: Option<f64>,
}

impl Allowance {
    /// How many seconds a full bucket lasts at a rate: credits go at the rate beyond the baseline.
    fn at_rate(&self, rate: f64, baseline: f64) -> Option<f64> {
        self.seconds.map(|s| s * (self.per_second - baseline) / (rate - baseline).max(1e-9))
    }
}

/// A figure of a type that is bought by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoldRange {
    /// The most that is sold at this size, in the unit of the claim.
    pub most: f64,
    /// The figure.
    pub metric: Metric,
}

impl SoldRange {
    /// The figure of a binding limit of the volumes; `None` where it is not bought by itself, or is limited by the instance.
    fn of(claimed: &Claimed, binding: Binding) -> Option<SoldRange> {
        let metric = match binding {
            Binding::VolumeIops => Metric::Iops,
            Binding::VolumeThroughput => Metric::Throughput,
            _ => return None,
        };
        let most = |v: &VolumePromise| match metric {
            Metric::Iops => v.level.iops_range.filter(|range| range.lo > 0.0).map(|range| range.hi),
            _ => v.level.throughput_range.filter(|range| range.lo > 0.0).map(|r| r.hi * v.unit.bytes as f64),
        };
        let most = claimed.promise.volumes.iter().map(most).sum::<Option<f64>>()?;
        Some(SoldRange { most, metric })
    }

    /// The question to a user whose volume does more than the promise that was named.
    fn question(&self, promised: f64) -> String {
        let option = if self.metric == Metric::Iops { "--iops" } else { "--throughput" };
        let unit = if self.metric == Metric::Iops { " IOPS" } else { "" };
        format!(
            "more than the {}{unit} that are promised: was more bought? Give it with {option} (sold up to {} here)",
            figure(self.metric, promised),
            figure(self.metric, self.most)
        )
    }
}

/// The promise that a window is held against, in I/Os or bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClaimTerms {
    /// Less than this is a FAIL.
    pub least: f64,
    /// At least this is a PASS.
    pub most: f64,
    /// Share by which the promise may be missed.
    pub tolerance: f64,
    /// The burst of the type, or of the instance.
    pub burst: Option<Allowance>,
    /// More than the promise that the type is sold with.
    pub sold: Option<SoldRange>,
    /// Share of the time that the provider promises.
    pub time: Option<f64>,
    /// The burst is judged instead of the baseline.
    pub judge_burst: bool,
    /// An application asks for so much at least: more is no burst and no other type, and the tolerance is for lapses alone.
    pub at_least: bool,
}

/// The answer for a window, with what it rests on.
#[derive(Clone, Debug)]
pub struct JudgedWindow {
    /// The answer after all that was looked at.
    pub answer: Answer,
    /// The comparison that gave it.
    pub finding: ClaimAnswer,
    /// Over the whole window, whatever was judged.
    pub whole: f64,
    /// The promise that the finding is about: the burst where that is judged.
    pub promised: f64,
    /// Why it is not decided, or what the rate is besides; empty for a plain PASS or FAIL.
    pub reasons: Vec<String>,
    /// A fall from one level to another.
    pub burst: Option<BurstSeen>,
    /// Stalls and brown-outs.
    pub lapses: Vec<Event>,
    /// Share of seconds that delivered.
    pub delivered: Option<Delivered>,
    /// Warm-up.
    pub cut: Option<WarmUpCut>,
}

impl ClaimTerms {
    /// The promise of a claim at a block size; `pick` takes the figure of the claim's unit.
    pub fn of(
        claimed: &Claimed,
        least: &AtBlock,
        most: &AtBlock,
        pick: impl Fn(&AtBlock) -> f64,
    ) -> ClaimTerms {
        let words = claimed.promise.volumes.iter().map(|v| v.consistency.as_deref());
        // Several volumes promise together what the weakest of them promises.
        let time = words.map(|w| w.and_then(share_of_time)).reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b)));
        ClaimTerms {
            least: pick(least),
            most: pick(most),
            tolerance: claimed.tolerance,
            burst: allowance(claimed, least, pick(least)),
            sold: SoldRange::of(claimed, most.binding),
            time: time.flatten(),
            judge_burst: claimed.judge_burst,
            at_least: false,
        }
    }
}

/// Times without delivery in a window of so many seconds, in words, where they are longer than the tolerance allows.
pub(super) fn time_lost(lapses: &[Event], seconds: f64, tolerance: f64) -> Option<String> {
    let lost: f64 = lapses.iter().map(|e| e.length_ns.as_seconds()).sum();
    (lost > tolerance * seconds).then(|| {
        format!(
            "for {} % of the time the volume delivered nothing or less than half of its usual rate: find out why, or run it again to see \
             whether it happens again",
            significant(100.0 * lost / seconds)
        )
    })
}

/// An answer of the statistics as one of a claim.
pub(super) fn outcome(answer: Answer) -> Outcome {
    match answer {
        Answer::Pass => Outcome::Pass,
        Answer::Fail => Outcome::Fail,
        Answer::Inconclusive => Outcome::Inconclusive,
    }
}

/// The share in words such as "at least 90 % of provisioned IOPS, 99.9 % of the time".
fn share_of_time(words: &str) -> Option<f64> {
    let before = words.split("% of the time").next().filter(|before| before.len() < words.len())?;
    let number = before.trim_end().rsplit([' ', ',']).next()?;
    number.parse::<f64>().ok().filter(|n| (0.0..100.0).contains(n)).map(|n| n / 100.0)
}

/// The burst of what binds: of the volumes together, or of the instance.
fn allowance(claimed: &Claimed, at: &AtBlock, promised: f64) -> Option<Allowance> {
    let by_iops = at.binding.counts_ios();
    let (per_second, seconds) = match (at.binding, &claimed.promise.instance) {
        (Binding::InstanceIops | Binding::InstanceThroughput, Some(i)) => {
            (if by_iops { i.iops_burst? } else { i.bytes_burst? }, i.burst_seconds)
        }
        _ => {
            let (mut sum, mut longest, mut any) = (0.0, Some(0.0f64), false);
            for v in &claimed.promise.volumes {
                let unit = if by_iops { 1.0 } else { v.unit.bytes as f64 };
                let base = if by_iops { v.level.iops.read } else { v.level.throughput.read }?;
                let burst = v.level.burst.as_ref();
                let rate =
                    burst.and_then(|b| if by_iops { b.iops } else { b.throughput }).filter(|b| *b > base);
                any |= rate.is_some();
                if rate.is_some() {
                    longest = longest.zip(burst.and_then(|b| b.seconds)).map(|(a, b)| a.max(b));
                }
                sum += rate.unwrap_or(base) * unit;
            }
            any.then_some((sum, longest))?
        }
    };
    (per_second > promised).then_some(Allowance { per_second, seconds })
}

impl JudgedWindow {
    /// Judges counts of 100 ms, in the unit of the terms; `load` are the I/Os of the same window. `None` without counts.
    pub fn of(bins: &[u64], load: &LoadGrid, terms: &ClaimTerms) -> Option<JudgedWindow> {
        let burst = BurstSeen::of(bins);
        let whole = bins.iter().map(|&n| n as f64).sum::<f64>() / (bins.len() as f64 / PER_SECOND as f64);
        let (judged, promised) = match (burst, terms.judge_burst, terms.burst) {
            (Some(b), true, Some(a)) if b.seconds >= 1.0 => {
                (&bins[..(b.seconds * PER_SECOND as f64) as usize], a.per_second)
            }
            (_, true, Some(a)) => (bins, a.per_second),
            (Some(b), ..) => (&bins[b.baseline_from_bin..], terms.least),
            (None, ..) => (bins, terms.least),
        };
        let a = steady::assess(judged)?;
        let most = if terms.judge_burst && terms.burst.is_some() { promised } else { terms.most };
        let mut w = JudgedWindow {
            answer: Answer::Inconclusive,
            finding: compare(judged, &a, &a.whole, promised, terms.tolerance),
            whole,
            promised,
            reasons: Vec::new(),
            burst,
            lapses: load.events(),
            delivered: None,
            cut: None,
        };
        w.decide(judged, &a, most, terms);
        w.look_outside_lapses(bins, judged, promised, terms.tolerance);
        w.look_at_cut(judged, &a, promised, terms);
        w.look_at_lapses(bins.len(), terms);
        w.look_at_seconds(judged, promised, terms);
        match terms.burst.filter(|_| terms.judge_burst) {
            Some(promised) => w.look_at_length(promised, terms),
            None if terms.at_least => {}
            None => w.look_at_excess(judged, terms),
        }
        Some(w)
    }

    /// The rate against both readings of the unit.
    fn decide(&mut self, bins: &[u64], a: &Assessment, most: f64, terms: &ClaimTerms) {
        let strict = compare(bins, a, &a.whole, most, terms.tolerance);
        self.answer = match (self.finding.answer, strict.answer) {
            (Answer::Fail, _) => Answer::Fail,
            (_, Answer::Pass) => {
                (self.finding, self.promised) = (strict, most);
                Answer::Pass
            }
            (Answer::Pass, Answer::Fail) => {
                (self.finding, self.promised) = (ClaimAnswer { more_seconds: None, ..strict }, most);
                self.reasons.push("one reading of the provider's unit (MB or MiB) is met, the other is not: ask the provider which it is".into());
                Answer::Inconclusive
            }
            (Answer::Pass, _) => {
                (self.finding, self.promised) = (strict, most);
                Answer::Inconclusive
            }
            _ => Answer::Inconclusive,
        };
        if self.answer == Answer::Inconclusive && self.reasons.is_empty() {
            let seen = |reason| a.whole.too_short.contains(&reason);
            let why = match (seen(TooShort::NotSteady), seen(TooShort::LongMemory)) {
                (true, _) => "the rate moved while it was measured: ".into(),
                (_, true) => format!("{}: ", TooShort::LongMemory.text()),
                _ => String::new(),
            };
            self.reasons.push(match self.finding.more_seconds {
                Some(s) => format!("{why}measure {} longer to decide", Nanos::seconds(s).clock()),
                None => format!("{why}a longer run of this kind would not decide it within a week"),
            });
        }
    }

    /// Stalls and brown-outs only lower a rate: one that misses the promise outside of them misses it.
    fn look_outside_lapses(&mut self, bins: &[u64], judged: &[u64], promised: f64, tolerance: f64) {
        if self.answer != Answer::Inconclusive || self.lapses.is_empty() || judged.len() < bins.len() {
            return;
        }
        let lapsed = |i: usize| {
            let at = i as u64 * GRID.0;
            // Both ends lie within an interval.
            self.lapses.iter().any(|e| {
                at + 2 * GRID.0 > e.start_ns.0 && at < e.start_ns.0.saturating_add(e.length_ns.0) + GRID.0
            })
        };
        let rest: Vec<u64> = bins.iter().enumerate().filter(|(i, _)| !lapsed(*i)).map(|(_, n)| *n).collect();
        let missed = |e: Estimate| answer::rate(&e, promised, tolerance).answer == Answer::Fail;
        if Estimate::of(&rest).is_some_and(missed) && !rises(&rest) {
            self.answer = Answer::Fail;
            (self.finding.bounds, self.finding.more_seconds) = (None, None);
            self.reasons = vec![
                "less than promised, also outside the times in which it delivered nothing or too little"
                    .into(),
            ];
        }
    }

    /// A warm-up is never cut: where the rest would be answered otherwise, nothing is decided.
    fn look_at_cut(&mut self, bins: &[u64], a: &Assessment, promised: f64, terms: &ClaimTerms) {
        let Some(settled) = &a.settled else { return };
        let seconds = a.steadiness.warmup.cut_seconds;
        self.cut = Some(WarmUpCut { seconds, per_second: settled.mean_per_second });
        let rest =
            compare(&bins[a.steadiness.warmup.cut_bins as usize..], a, settled, promised, terms.tolerance);
        if rest.answer != self.answer && self.answer != Answer::Inconclusive {
            self.answer = Answer::Inconclusive;
            self.finding.more_seconds = Some(settled.seconds.ceil() as u64);
            self.reasons.push(first_seconds(seconds));
        }
    }

    /// Stalls and brown-outs. Where they take more of the time than the tolerance, there is no PASS whatever the mean, and a longer run
    /// would not decide.
    fn look_at_lapses(&mut self, bins: usize, terms: &ClaimTerms) {
        let lost = time_lost(&self.lapses, bins as f64 / PER_SECOND as f64, terms.tolerance);
        let Some(words) = lost.filter(|_| self.answer != Answer::Fail) else { return };
        let mean = if self.answer == Answer::Pass { "the mean is met, but " } else { "" };
        self.answer = Answer::Inconclusive;
        self.finding.more_seconds = None;
        self.reasons = vec![format!("{mean}{words}")];
    }

    /// The provider's promise of time.
    fn look_at_seconds(&mut self, bins: &[u64], promised: f64, terms: &ClaimTerms) {
        let Some(share) = TimeShare::of(bins, DELIVERED * promised) else { return };
        let answer = terms.time.map(|t| share.answer(t));
        self.delivered = Some(Delivered {
            share: share.share(),
            low: share.low,
            high: share.high,
            promised: terms.time,
            answer: answer.map(outcome),
        });
        // A tolerance of more than 10 % tolerates seconds below 90 % of the promise as well.
        let strict = terms.time.is_none() && terms.tolerance <= 1.0 - DELIVERED;
        if strict && self.answer == Answer::Pass && share.share() < MOST_SECONDS {
            self.answer = Answer::Inconclusive;
            self.finding.more_seconds = None;
            self.reasons.push(format!(
                "the mean is met, but only {} % of the seconds delivered 90 % of the promise: find out what slows the others down",
                significant(100.0 * share.share())
            ));
        }
        let Some(time) = terms.time.filter(|time| self.answer == Answer::Pass && share.share() < *time)
        else {
            return;
        };
        let lacks = format!(
            "the mean is met, but only {} % of the seconds delivered 90 % of the promise: {} % are promised",
            significant(100.0 * share.share()),
            significant(100.0 * time)
        );
        let cut = self.cut.map_or(0, |cut| (cut.seconds * PER_SECOND as f64) as usize);
        let rest = TimeShare::of(&bins[cut..], DELIVERED * promised);
        if cut > 0 && rest.is_some_and(|rest| rest.share() >= time) {
            self.answer = Answer::Inconclusive;
            self.finding.more_seconds = None;
            let seconds = cut as f64 / PER_SECOND as f64;
            self.reasons.push(first_seconds(seconds));
        } else if share.answer(time) == Answer::Fail {
            self.answer = Answer::Fail;
            self.reasons.push(lacks);
        } else {
            self.answer = Answer::Inconclusive;
            self.finding.more_seconds = share.more_seconds(time);
            self.reasons.push(format!("{lacks}, and this run is too short to tell how often that happens"));
        }
    }

    /// A burst that ended before its promised length undoes a PASS: its bucket may not have been full.
    fn look_at_length(&mut self, promised: Allowance, terms: &ClaimTerms) {
        // What was judged is the burst, and the baseline after it is no part of the answer.
        let Some(burst) = self.burst.take() else { return };
        let Some(lasts) = promised.at_rate(self.finding.value, terms.least) else { return };
        if self.answer == Answer::Pass && burst.seconds < lasts * (1.0 - terms.tolerance) {
            self.answer = Answer::Inconclusive;
            self.finding.more_seconds = None;
            self.reasons.push(format!(
                "the burst ended after {}, and a full bucket lasts {} at this rate: leave the volume idle until the bucket is full, then run it again",
                Nanos((burst.seconds * 1e9) as u64).clock(),
                Nanos((lasts * 1e9) as u64).clock()
            ));
        }
    }

    /// A rate above the promise undoes a PASS.
    fn look_at_excess(&mut self, bins: &[u64], terms: &ClaimTerms) {
        let waits = self.answer == Answer::Inconclusive && self.finding.more_seconds.is_some();
        if self.answer != Answer::Pass && !waits {
            return;
        }
        let seconds = bins.len() as f64 / PER_SECOND as f64;
        let Some(excess) = Excess::of(self.finding.value, seconds, terms) else { return };
        if waits {
            // More time decides nothing about another type.
            self.reasons.clear();
        }
        self.answer = Answer::Inconclusive;
        self.finding.more_seconds = excess.more_seconds;
        self.reasons.push(excess.reason);
    }
}

/// A rate above the promise: a burst that will end, or another type.
pub struct Excess {
    /// Why the promise is not decided by it.
    pub reason: String,
    /// How much longer the burst may last, with a minute of what follows.
    pub more_seconds: Option<u64>,
}

impl Excess {
    /// `None` for a rate near to the promise, or where the type has no burst that explains a little more.
    pub fn of(rate: f64, seconds: f64, terms: &ClaimTerms) -> Option<Excess> {
        let ceiling = terms.burst.map_or(terms.most, |b| b.per_second.max(terms.most));
        if rate <= ABOVE * terms.most {
            return None;
        }
        let sold = terms.sold.filter(|sold| rate <= BEYOND * sold.most && sold.most > terms.most);
        if let Some(sold) = sold.filter(|_| rate > BEYOND * ceiling) {
            return Some(Excess { reason: sold.question(terms.most), more_seconds: None });
        }
        if rate > BEYOND * ceiling {
            // Nothing that is sold explains the rate.
            let ceiling = terms.sold.map_or(ceiling, |sold| sold.most.max(ceiling));
            let reason = format!(
                "{} % of all that this type can give at this size: was the right type and size named, and does the I/O reach the volume?",
                significant(100.0 * rate / ceiling)
            );
            return Some(Excess { reason, more_seconds: None });
        }
        let burst = terms.burst?;
        let lasts = burst.at_rate(rate, terms.least);
        let more_seconds = lasts.map(|s| (s - seconds + 60.0).max(60.0).ceil() as u64);
        let wait = match (lasts, more_seconds) {
            (Some(s), Some(more)) => format!(
                "a full bucket lasts {} at this rate, so measure {} longer",
                Nanos::seconds(s.ceil() as u64).clock(),
                Nanos::seconds(more).clock()
            ),
            _ => "how long it lasts is not published".into(),
        };
        let reason = format!(
            "the measurement lies inside the burst that this type has; {wait}, or judge the burst with --promise-burst"
        );
        Some(Excess { reason, more_seconds })
    }
}

/// A rate against a promise. Where the rate moved to other levels, these decide, if all of them lie on one side of the limit. A rate that varies
/// slowly all the time has no levels: a part of the run says no more of the time after it than the run does.
fn compare(bins: &[u64], a: &Assessment, estimate: &Estimate, promised: f64, tolerance: f64) -> ClaimAnswer {
    let found = answer::rate(estimate, promised, tolerance);
    let moved = |r: &TooShort| matches!(r, TooShort::NotSteady | TooShort::LongMemory);
    if found.answer != Answer::Inconclusive
        || estimate.too_short.is_empty()
        || !estimate.too_short.iter().all(moved)
    {
        return found;
    }
    let changes = a.steadiness.changes.iter().map(|c| (c.at_seconds * PER_SECOND as f64) as usize);
    let fifths = (1..ROUNDS).map(|i| i * bins.len() / ROUNDS);
    let slow = estimate.too_short.contains(&TooShort::LongMemory);
    let of_fifths = || levels(bins, fifths).filter(|_| !slow);
    let Some((low, high)) = levels(bins, changes).or_else(of_fifths) else {
        // What falls and was never as high as the limit is below it afterwards as well.
        let missed = falls(bins) && highest(bins).is_some_and(|rate| rate < found.limit);
        return if missed {
            ClaimAnswer { answer: Answer::Fail, more_seconds: None, ..found }
        } else {
            found
        };
    };
    let answer = if low >= found.limit {
        Answer::Pass
    } else if high < found.limit && !rises(bins) {
        Answer::Fail
    } else {
        return found;
    };
    ClaimAnswer { answer, bounds: Some((low, high)), more_seconds: None, ..found }
}

/// A start that may be a warm-up decides the answer, in words.
fn first_seconds(seconds: f64) -> String {
    let ramp = seconds.ceil() as u64;
    format!(
        "the first {} s differ from the rest and change the answer: use --ramp {ramp}s if that is a warm-up",
        significant(seconds)
    )
}

/// I/Os of each of so many parts of the run.
fn in_parts(bins: &[u64], parts: usize) -> Vec<u64> {
    bins.chunks_exact((bins.len() / parts).max(1)).map(|c| c.iter().sum()).collect()
}

/// The rate fell from tenth to tenth of the run, by more than a rounding. A rate that wanders falls through some fifths, and not through all tenths.
fn falls(bins: &[u64]) -> bool {
    let tenths = in_parts(bins, 2 * ROUNDS);
    let ends = tenths.first().zip(tenths.last());
    tenths.is_sorted_by(|a, b| a >= b) && ends.is_some_and(|(a, b)| *a as f64 > (1.0 + RISE) * *b as f64)
}

/// The highest rate of ten seconds.
fn highest(bins: &[u64]) -> Option<f64> {
    let tens = bins.chunks_exact(10 * PER_SECOND as usize);
    tens.map(|c| c.iter().map(|&n| n as f64).sum::<f64>() / 10.0).reduce(f64::max)
}

/// The rate rose from fifth to fifth, and still after the first one, by more than a rounding: where it ends is not seen.
fn rises(bins: &[u64]) -> bool {
    let fifths = in_parts(bins, ROUNDS);
    let last = fifths.last().map_or(0.0, |n| *n as f64);
    let above =
        |fifth: usize, share: f64| fifths.get(fifth).is_some_and(|n| last > (1.0 + share) * *n as f64);
    fifths.is_sorted() && above(0, RISE) && above(1, RISE / 2.0)
}

/// The lowest and the highest bound of the parts between `edges`; `None` without edges, or where a part is too short for bounds or varies too
/// slowly.
fn levels(bins: &[u64], edges: impl Iterator<Item = usize>) -> Option<(f64, f64)> {
    let edges: Vec<usize> = edges.filter(|e| *e < bins.len()).chain([bins.len()]).collect();
    let (mut low, mut high, mut from) = (f64::INFINITY, 0.0f64, 0);
    for &to in edges.iter().filter(|_| edges.len() > 1) {
        let (l, h) = Estimate::of(bins.get(from..to)?)?.one_sided(ONE_SIDED)?;
        (low, high, from) = (low.min(l), high.max(h), to);
    }
    (edges.len() > 1).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: ClaimTerms = ClaimTerms {
        least: 1000.0,
        most: 1000.0,
        tolerance: 0.02,
        burst: None,
        sold: None,
        time: None,
        judge_burst: false,
        at_least: false,
    };

    fn judged(seconds: usize, terms: &ClaimTerms, rate: impl Fn(usize) -> u64) -> JudgedWindow {
        let ios: Vec<u64> = (0..seconds * 10).map(|i| rate(i) + [0, 1, 0, 1, 1, 0, 0][i * i % 7]).collect();
        let load = LoadGrid { in_flight: vec![32.0; ios.len()], ios, ..LoadGrid::default() };
        // A stall completes nothing at all.
        let bins: Vec<u64> = load.ios.iter().map(|n| if *n <= 1 { 0 } else { *n }).collect();
        JudgedWindow::of(&bins, &LoadGrid { ios: bins.clone(), ..load }, terms).unwrap()
    }

    #[test]
    fn the_share_of_time_is_read_from_its_words() {
        let share = share_of_time("at least 90 % of provisioned IOPS, 99.9 % of the time").unwrap();
        assert!((share - 0.999).abs() < 1e-12);
        assert_eq!(share_of_time("99 % of the time; figures are 'up to'"), Some(0.99));
        assert_eq!(share_of_time("figures are 'up to'"), None);
    }

    #[test]
    fn a_dead_volume_does_not_pass() {
        for (from, to, seconds) in
            [(100, 1300, 300), (1000, 1100, 300), (1200, 1300, 300), (0, 2800, 600), (2000, 3000, 300)]
        {
            let w = judged(seconds, &TERMS, |i| if (from..to).contains(&i) { 0 } else { 101 });
            assert_ne!(w.answer, Answer::Pass, "{from} to {to}: {w:?}");
            assert_eq!(w.lapses.len(), 1, "{from} to {to}");
        }
        // Dead and slow: no level reaches the promise.
        let w = judged(300, &TERMS, |i| if (1000..1200).contains(&i) { 0 } else { 80 });
        assert_eq!(w.answer, Answer::Fail, "{w:?}");
    }

    #[test]
    fn half_the_rate_for_a_while_does_not_pass() {
        let w = judged(300, &TERMS, |i| if i < 1350 { 50 } else { 100 });
        assert_eq!(w.answer, Answer::Inconclusive, "{w:?}");
        assert!((w.whole - 780.0).abs() < 10.0);
    }

    #[test]
    fn a_warm_up_that_decides_leaves_it_open() {
        let w = judged(300, &TERMS, |i| if i < 200 { 50 } else { 100 });
        assert_eq!((w.answer, w.cut.map(|c| c.seconds)), (Answer::Inconclusive, Some(20.0)), "{w:?}");
        let harmless = judged(300, &TERMS, |i| if i < 20 { 80 } else { 101 });
        assert_eq!(harmless.answer, Answer::Pass, "{harmless:?}");
    }

    #[test]
    fn a_burst_is_no_promise_kept() {
        let terms =
            ClaimTerms { burst: Some(Allowance { per_second: 3000.0, seconds: Some(1800.0) }), ..TERMS };
        let inside = judged(600, &terms, |_| 300);
        assert_eq!(inside.answer, Answer::Inconclusive, "{inside:?}");
        assert!(inside.finding.more_seconds.is_some_and(|s| s.abs_diff(1260) < 10), "{inside:?}");
        let asked = judged(600, &ClaimTerms { judge_burst: true, ..terms }, |_| 300);
        assert_eq!((asked.answer, asked.promised), (Answer::Pass, 3000.0));
        // A tenth of the credits that are promised.
        let short =
            judged(600, &ClaimTerms { judge_burst: true, ..terms }, |i| if i < 1800 { 300 } else { 100 });
        assert_eq!(short.answer, Answer::Inconclusive, "{short:?}");
        assert!(
            short.reasons[0].contains("the burst ended after 3 min") && short.burst.is_none(),
            "{short:?}"
        );
        let over = judged(600, &terms, |i| if i < 3000 { 300 } else { 50 });
        assert_eq!(over.answer, Answer::Fail, "{over:?}");
        let kept = judged(600, &terms, |i| if i < 3000 { 300 } else { 100 });
        assert_eq!(kept.answer, Answer::Pass, "{kept:?}");
    }

    #[test]
    fn more_than_the_type_can_give_asks_for_the_type() {
        let w = judged(300, &TERMS, |_| 250);
        assert!(w.answer == Answer::Inconclusive && w.reasons[0].contains("right type"), "{w:?}");
        assert_eq!(judged(300, &TERMS, |_| 103).answer, Answer::Pass);
    }

    #[test]
    fn a_promise_of_time_is_judged_by_seconds() {
        let terms = ClaimTerms { time: Some(0.99), ..TERMS };
        // Every tenth second at 70 %: the mean is met, the time is not.
        let w = judged(300, &terms, |i| if i / 10 % 10 == 0 { 70 } else { 105 });
        assert_eq!((w.answer, w.delivered.unwrap().share), (Answer::Fail, 0.9), "{w:?}");
        assert_eq!(judged(600, &terms, |_| 100).delivered.unwrap().answer, Some(Outcome::Pass));
    }
}

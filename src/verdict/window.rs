//! The rate of one window against one promise: the statistics of a claim, without Record, diagnosis or words of the report.
//!
//! The whole window is judged, as it was after the ramp that the user asked for. What may change the answer is looked at and
//! told: a warm-up at the start, a burst before the baseline, times in which nothing or too little came, the share of seconds
//! that delivered, a rate that only credits explain, and a rate that the type cannot give. None of these makes a PASS.

use super::claim_terms::ClaimTerms;
use super::excess::{ABOVE, Allowance, Excess};
use super::levels::{compare, rises};
use crate::record::{Delivered, Outcome, WarmUpCut};
use crate::sample::{GRID, PER_SECOND};
use crate::stats::burst::BurstSeen;
use crate::stats::event::{Event, LoadGrid};
use crate::stats::level::{self as answer, Answer, ClaimAnswer, TimeShare};
use crate::stats::rate::{Estimate, TooShort};
use crate::stats::steady::{self, Assessment};
use crate::unit::{Nanos, significant};

/// A PASS needs so many of the seconds that deliver, where the provider promises no share of time.
const MOST_SECONDS: f64 = 0.9;
/// Share of the promise that a second must deliver to count as delivered: what providers promise by time is this.
pub const DELIVERED: f64 = 0.90;

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

impl JudgedWindow {
    /// Judges counts of 100 ms, in the unit of the terms; `load` are the I/Os of the same window. `None` without counts.
    pub fn of(bins: &[u64], load: &LoadGrid, terms: &ClaimTerms) -> Option<JudgedWindow> {
        let burst = BurstSeen::of(bins);
        let whole = bins.iter().map(|&n| n as f64).sum::<f64>() / (bins.len() as f64 / PER_SECOND as f64);
        let judged = match (burst, terms.judged_burst()) {
            (Some(b), Some(_)) if b.seconds >= 1.0 => &bins[..(b.seconds * PER_SECOND as f64) as usize],
            (Some(b), None) => &bins[b.baseline_from_bin..],
            _ => bins,
        };
        let (promised, most) = terms.judged();
        let a = steady::assess(judged)?;
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
        if !terms.at_least {
            w.look_at_excess(judged, terms);
        }
        if let Some(burst) = terms.judged_burst() {
            w.look_at_length(judged, burst, terms);
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

    /// A burst that ended before its promised length undoes a PASS: its bucket may not have been full. Any other PASS of a burst says for how long.
    fn look_at_length(&mut self, judged: &[u64], promised: Allowance, terms: &ClaimTerms) {
        // What was judged is the burst, and the baseline after it is no part of the answer.
        let ended = self.burst.take().is_some_and(|b| b.seconds >= 1.0);
        if let (Answer::Fail, Some(why)) =
            (self.answer, terms.few_credits(self.finding.value, ABOVE * terms.least))
        {
            self.answer = Answer::Inconclusive;
            self.finding.more_seconds = None;
            self.reasons = vec![why];
        }
        let (rate, seconds) = (self.finding.value, judged.len() as f64 / PER_SECOND as f64);
        if self.answer == Answer::Inconclusive && ended && self.finding.more_seconds.take().is_some() {
            self.reasons = vec![format!(
                "the burst ended after {}, which is too short to tell whether its rate is that of the promise: leave the volume idle until the \
                 bucket is full, then run it again",
                Nanos((seconds * 1e9) as u64).clock()
            )];
        }
        if self.answer != Answer::Pass {
            return;
        }
        let lasts = promised.at_rate(rate, terms.least);
        match lasts.filter(|lasts| ended && seconds < lasts * (1.0 - terms.tolerance)) {
            Some(lasts) => {
                self.answer = Answer::Inconclusive;
                self.finding.more_seconds = None;
                self.reasons.push(format!(
                    "the burst ended after {}, and a full bucket lasts {} at this rate: leave the volume idle until the bucket is full, then run it again",
                    Nanos((seconds * 1e9) as u64).clock(),
                    Nanos((lasts * 1e9) as u64).clock()
                ));
            }
            None => self.reasons.extend(terms.burst_shown(rate, seconds)),
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

/// A start that may be a warm-up decides the answer, in words.
fn first_seconds(seconds: f64) -> String {
    let ramp = seconds.ceil() as u64;
    format!(
        "the first {} s differ from the rest and change the answer: use --ramp {ramp}s if that is a warm-up",
        significant(seconds)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: ClaimTerms = ClaimTerms::THOUSAND;

    fn judged(seconds: usize, terms: &ClaimTerms, rate: impl Fn(usize) -> u64) -> JudgedWindow {
        let ios: Vec<u64> = (0..seconds * 10).map(|i| rate(i) + [0, 1, 0, 1, 1, 0, 0][i * i % 7]).collect();
        let load = LoadGrid { in_flight: vec![32.0; ios.len()], ios, ..LoadGrid::default() };
        // A stall completes nothing at all.
        let bins: Vec<u64> = load.ios.iter().map(|n| if *n <= 1 { 0 } else { *n }).collect();
        JudgedWindow::of(&bins, &LoadGrid { ios: bins.clone(), ..load }, terms).unwrap()
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
        // Without credits a volume does its baseline, and nothing else between that and the burst.
        for (rate, answer) in [(50, Answer::Fail), (100, Answer::Inconclusive), (200, Answer::Fail)] {
            let w = judged(600, &ClaimTerms { judge_burst: true, ..terms }, |_| rate);
            assert_eq!(w.answer, answer, "{rate}: {w:?}");
        }
        assert!(
            asked.reasons[0].contains("for the 10 min 00 s measured")
                && asked.reasons[0].contains("29 min 55 s"),
            "{asked:?}"
        );
        let whole =
            judged(1900, &ClaimTerms { judge_burst: true, ..terms }, |i| if i < 18_000 { 300 } else { 100 });
        assert_eq!(whole.answer, Answer::Pass, "{whole:?}");
        assert!(whole.reasons[0].contains("as long as a full bucket lasts"), "{whole:?}");
        // More than the burst empties the bucket sooner: 2,000 a second beyond the baseline for 1,800 s are 2,200 for 1,636 s.
        let quick =
            judged(1900, &ClaimTerms { judge_burst: true, ..terms }, |i| if i < 16_400 { 320 } else { 100 });
        assert_eq!(quick.answer, Answer::Pass, "{quick:?}");
        let other = judged(600, &ClaimTerms { judge_burst: true, ..terms }, |_| 400);
        assert!(other.answer == Answer::Inconclusive && other.reasons[0].contains("right type"), "{other:?}");
        // A tenth of the credits that are promised.
        let short =
            judged(600, &ClaimTerms { judge_burst: true, ..terms }, |i| if i < 1800 { 300 } else { 100 });
        assert_eq!(short.answer, Answer::Inconclusive, "{short:?}");
        assert!(
            short.reasons[0].contains("the burst ended after 3 min") && short.burst.is_none(),
            "{short:?}"
        );
        // Half a minute decides nothing, and a longer run has no longer burst.
        let brief =
            judged(600, &ClaimTerms { judge_burst: true, ..terms }, |i| if i < 300 { 300 } else { 100 });
        assert_eq!((brief.answer, brief.finding.more_seconds), (Answer::Inconclusive, None), "{brief:?}");
        assert!(brief.reasons[0].starts_with("the burst ended after"), "{brief:?}");
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

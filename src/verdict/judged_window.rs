//! The rate of one window against one promise: the statistics of a claim, without Record, diagnosis or words of the report.
//!
//! The whole window after the user's ramp is judged. What may change the answer is looked at and told: a warm-up at the start, a burst
//! before the baseline, times in which nothing or too little came, the share of seconds that delivered, a rate that only credits explain,
//! and a rate that the type cannot give. None of these makes a PASS.

use std::ops::Range;

use super::claim_terms::{ClaimTerms, ReadingsAnswer};
use super::excess::{ABOVE_THE_PROMISE, Excess, SoldBurst};
use super::levels::{compare, rises};
use super::undecided::way_to_decide;
use crate::record::{Delivered, Outcome, WarmUpCut};
use crate::sample::{GRID, PER_SECOND};
use crate::stats::LEAST_QUOTABLE;
use crate::stats::burst::{BASELINE, BurstSeen};
use crate::stats::lapses::{Event, Lapse, LoadGrid};
use crate::stats::limit_answer::{self as answer, ClaimAnswer, LimitAnswer, TimeShare};
use crate::stats::rate::{Estimate, TooShort};
use crate::stats::steady::{self, Assessment};
use crate::unit::{Nanos, significant};

/// A PASS needs so many of the seconds that deliver, where the provider promises no share of time.
const MOST_SECONDS: f64 = 0.9;
/// A second counts as delivered from this share of the promise on: where providers promise a share of the time, they promise 90 % of the
/// rate.
pub const DELIVERED: f64 = 0.90;

/// The answer for a window, with what it rests on.
#[derive(Clone, Debug)]
pub struct JudgedWindow {
    /// The answer after all that was looked at.
    pub answer: LimitAnswer,
    /// The comparison that gave it.
    pub finding: ClaimAnswer,
    /// The rate of the whole window, whichever part of it was judged.
    pub whole: f64,
    /// The promise that the finding is about: the burst, where the burst is judged.
    pub promised: f64,
    /// Why it is not decided, or what the rate is besides; empty for a plain PASS or FAIL.
    pub reasons: Vec<String>,
    /// The seconds of the level that was judged, where the rate fell from one level to another; none where all levels were judged together.
    pub level: Option<Range<usize>>,
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
    let window = Nanos((seconds * 1e9) as u64);
    let about = Event::seconds_within(lapses, window);
    (about > tolerance * seconds).then(|| {
        format!(
            "for {} % of the time the volume delivered nothing, or about half of its usual rate or less: find out why, or run it again to see \
             whether it happens again",
            significant(100.0 * about / seconds)
        )
    })
}

/// A stall that was under way when a window ended, in words: how long it lasts is part of no figure of the window, and nobody saw whether the volume
/// went on after it.
pub(super) fn stopped_at_the_end(lapses: &[Event], window: Nanos) -> Option<String> {
    let beyond = |e: &&Event| e.lapse == Lapse::Stall && e.length_within(window) < e.length_ns;
    let stall = lapses.iter().find(beyond)?;
    Some(format!(
        "the volume had stopped when the window ended: nothing came back for {}, of which {} lie after the window and count in no figure; a longer run \
         tells whether it happens again",
        stall.length_ns,
        Nanos(stall.length_ns.0 - stall.length_within(window).0)
    ))
}

/// A longer run after such an end, in seconds.
pub(super) const AFTER_A_STOP: u64 = BASELINE as u64;

/// An answer of the statistics as one of a claim.
pub(super) fn outcome(answer: LimitAnswer) -> Outcome {
    match answer {
        LimitAnswer::Pass => Outcome::Pass,
        LimitAnswer::Fail => Outcome::Fail,
        LimitAnswer::Inconclusive => Outcome::Inconclusive,
    }
}

impl JudgedWindow {
    /// Judges counts of 100 ms, in the unit of the terms; `load` are the I/Os of the same window. `None` without counts.
    pub fn of(bins: &[u64], load: &LoadGrid, terms: &ClaimTerms) -> Option<JudgedWindow> {
        // A fall without a baseline after it is not cut off: the whole window is judged.
        let seconds = bins.len() as f64 / PER_SECOND as f64;
        let seen = BurstSeen::of(bins);
        let burst = seen.filter(|b| terms.judged_burst().is_some() || !b.fell() || b.has_baseline(seconds));
        let whole = bins.iter().map(|&n| n as f64).sum::<f64>() / (bins.len() as f64 / PER_SECOND as f64);
        let part = match (burst, terms.judged_burst()) {
            (Some(b), Some(_)) if b.fell() => 0..(b.seconds * PER_SECOND as f64).round() as usize,
            (Some(b), None) => b.baseline_from_bin..bins.len(),
            _ => 0..bins.len(),
        };
        let second = PER_SECOND as usize;
        let level =
            burst.filter(|b| b.fell()).map(|_| part.start.div_ceil(second)..(part.end / second).max(1));
        let judged = &bins[part];
        let (promised, most) = terms.readings();
        let a = steady::assess(judged)?;
        let mut w = JudgedWindow {
            answer: LimitAnswer::Inconclusive,
            finding: compare(judged, &a, &a.whole, promised, terms.tolerance),
            whole,
            promised,
            reasons: Vec::new(),
            level,
            burst,
            lapses: load.stalls(),
            delivered: None,
            cut: None,
        };
        w.decide(judged, &a, most, terms);
        w.look_outside_lapses(bins, judged, promised, terms.tolerance);
        if burst.is_none() && terms.judged_burst().is_none() {
            w.look_at_fall(seen.as_ref(), seconds, promised * (1.0 - terms.tolerance));
        }
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
        let ReadingsAnswer { answer, by_most, reason } =
            ReadingsAnswer::of(self.finding.answer, strict.answer);
        self.answer = answer;
        if by_most {
            let more_seconds = strict.more_seconds.filter(|_| reason.is_none());
            (self.finding, self.promised) = (ClaimAnswer { more_seconds, ..strict }, most);
        }
        self.reasons.extend(reason.map(String::from));
        if self.answer == LimitAnswer::Inconclusive && self.reasons.is_empty() {
            let seen = |reason| a.whole.too_short.contains(&reason);
            let why = match (seen(TooShort::NotSteady), seen(TooShort::LongMemory)) {
                (true, _) => "the rate moved while it was measured: ".into(),
                (_, true) => format!("{}: ", TooShort::LongMemory.text()),
                _ => String::new(),
            };
            self.reasons.push(why + &way_to_decide(&self.finding));
        }
    }

    /// Stalls and brown-outs only lower a rate, so that a rate which misses the promise outside of them is a FAIL. Where the rest has a
    /// lower mean than the whole, the cut also took good times just before and after the lapses, and the rest shows nothing.
    fn look_outside_lapses(&mut self, bins: &[u64], judged: &[u64], promised: f64, tolerance: f64) {
        if self.answer != LimitAnswer::Inconclusive || self.lapses.is_empty() || judged.len() < bins.len() {
            return;
        }
        let lapsed = |i: usize| {
            let at = i as u64 * GRID.0;
            // Start and end of a lapse lie somewhere within their intervals of the grid.
            self.lapses.iter().any(|e| {
                at + 2 * GRID.0 > e.start_ns.0 && at < e.start_ns.0.saturating_add(e.length_ns.0) + GRID.0
            })
        };
        let rest: Vec<u64> = bins.iter().enumerate().filter(|(i, _)| !lapsed(*i)).map(|(_, n)| *n).collect();
        let whole = Estimate::of(bins).map_or(0.0, |e| e.mean_per_second);
        let missed = |e: Estimate| {
            e.mean_per_second >= whole && answer::rate(&e, promised, tolerance).answer == LimitAnswer::Fail
        };
        if Estimate::of(&rest).is_some_and(missed) && !rises(&rest) {
            self.answer = LimitAnswer::Fail;
            (self.finding.bounds, self.finding.more_seconds) = (None, None);
            self.reasons = vec![
                "less than promised, also outside the times in which it delivered nothing or too little"
                    .into(),
            ];
        }
    }

    /// A fall shortly before the end to less than promised: it may be the baseline, or a dip. Neither makes a PASS.
    fn look_at_fall(&mut self, fall: Option<&BurstSeen>, seconds: f64, limit: f64) {
        let Some(b) = fall.filter(|b| self.answer != LimitAnswer::Fail && b.baseline_per_second < limit)
        else {
            return;
        };
        self.answer = LimitAnswer::Inconclusive;
        self.finding.more_seconds = Some((BASELINE as u64).max(self.finding.more_seconds.unwrap_or(0)));
        self.reasons.push(format!(
            "in the last {} the rate was less than promised: a longer run tells whether that is a dip, or all that the volume \
             gives from then on",
            b.rest(seconds)
        ));
    }

    /// A warm-up is never cut: where the rest would be answered otherwise, nothing is decided.
    fn look_at_cut(&mut self, bins: &[u64], a: &Assessment, promised: f64, terms: &ClaimTerms) {
        let Some(settled) = &a.settled else { return };
        let seconds = a.steadiness.warmup.cut_seconds;
        self.cut = Some(WarmUpCut { seconds, per_second: settled.mean_per_second });
        let rest =
            compare(&bins[a.steadiness.warmup.cut_bins as usize..], a, settled, promised, terms.tolerance);
        if rest.answer != self.answer && self.answer != LimitAnswer::Inconclusive {
            self.answer = LimitAnswer::Inconclusive;
            self.finding.more_seconds = Some(settled.seconds.ceil() as u64);
            self.reasons.push(first_seconds(seconds));
        }
    }

    /// Stalls and brown-outs. Where they take more of the time than the tolerance, there is no PASS whatever the mean, and a longer run
    /// would not decide. Nor is there one where the window ended within a stall.
    fn look_at_lapses(&mut self, bins: usize, terms: &ClaimTerms) {
        if self.answer == LimitAnswer::Fail {
            return;
        }
        let mean = if self.answer == LimitAnswer::Pass { "the mean is met, but " } else { "" };
        if let Some(words) = time_lost(&self.lapses, bins as f64 / PER_SECOND as f64, terms.tolerance) {
            self.answer = LimitAnswer::Inconclusive;
            self.finding.more_seconds = None;
            self.reasons = vec![format!("{mean}{words}")];
        } else if let Some(words) = stopped_at_the_end(&self.lapses, Nanos(bins as u64 * GRID.0))
            && self.answer == LimitAnswer::Pass
        {
            self.answer = LimitAnswer::Inconclusive;
            self.finding.more_seconds = Some(AFTER_A_STOP);
            self.reasons.push(format!("{mean}{words}"));
        }
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
        if let (LimitAnswer::Fail, Some(time), None) = (self.answer, terms.time, terms.judged_burst()) {
            self.look_at_promised_time(&share, time);
            return;
        }
        // A tolerance of more than 10 % tolerates seconds below 90 % of the promise as well.
        let strict = terms.time.is_none() && terms.tolerance <= 1.0 - DELIVERED;
        if strict && self.answer == LimitAnswer::Pass && share.share() < MOST_SECONDS {
            self.answer = LimitAnswer::Inconclusive;
            self.finding.more_seconds = None;
            self.reasons.push(format!(
                "the mean is met, but only {} % of the seconds delivered 90 % of the promise: find out what slows the others down",
                significant(100.0 * share.share())
            ));
        }
        // Times without delivery undo a PASS of the mean; they do not undo the FAIL of a promised share of time.
        let long_enough = bins.len() as u64 * GRID.0 >= LEAST_QUOTABLE.0;
        let open = self.answer == LimitAnswer::Inconclusive && long_enough;
        let asks = |time: f64| {
            self.answer == LimitAnswer::Pass && share.share() < time
                || open && share.answer(time) == LimitAnswer::Fail
        };
        let Some(time) = terms.time.filter(|time| terms.judged_burst().is_none() && asks(*time)) else {
            return;
        };
        let lacks = format!(
            "{}only {} % of the seconds delivered 90 % of the promise: {} % are promised",
            if self.finding.answer == LimitAnswer::Pass { "the mean is met, but " } else { "" },
            significant(100.0 * share.share()),
            significant(100.0 * time)
        );
        let cut = self.cut.map_or(0, |cut| (cut.seconds * PER_SECOND as f64) as usize);
        let rest = TimeShare::of(&bins[cut..], DELIVERED * promised);
        if cut > 0 && rest.is_some_and(|rest| rest.share() >= time) {
            self.answer = LimitAnswer::Inconclusive;
            self.finding.more_seconds = None;
            let seconds = cut as f64 / PER_SECOND as f64;
            self.reasons.push(first_seconds(seconds));
        } else if share.answer(time) == LimitAnswer::Fail {
            self.answer = LimitAnswer::Fail;
            self.finding.more_seconds = None;
            self.reasons = vec![lacks];
        } else {
            self.answer = LimitAnswer::Inconclusive;
            self.finding.more_seconds = share.more_seconds(time);
            self.reasons.push(format!("{lacks}, and this run is too short to tell how often that happens"));
        }
    }

    /// Only too few delivered seconds break a promise of time: a mean below the promised rate is no FAIL where enough seconds delivered.
    fn look_at_promised_time(&mut self, share: &TimeShare, time: f64) {
        let answer = share.answer(time);
        if answer == LimitAnswer::Fail {
            return;
        }
        self.answer = LimitAnswer::Inconclusive;
        self.finding.more_seconds =
            share.more_seconds(time).filter(|_| answer == LimitAnswer::Inconclusive && share.share() < time);
        let for_ever = match self.finding.more_seconds {
            Some(_) => "",
            None => {
                ", and at these rates no longer one does: check what was bought, then ask the provider about the rest"
            }
        };
        self.reasons = vec![format!(
            "less than was bought, but the provider promises 90 % of it for {} % of the time, and {} % of the seconds delivered that: this run shows \
             no breach of the promise{for_ever}",
            significant(100.0 * time),
            significant(100.0 * share.share())
        )];
    }

    /// A burst that ended before its promised length undoes a PASS: its bucket may not have been full. Any other PASS of a burst says for
    /// how long the burst was kept.
    fn look_at_length(&mut self, judged: &[u64], promised: SoldBurst, terms: &ClaimTerms) {
        // What was judged is the burst, and the baseline after it is no part of the answer.
        let ended = self.burst.take().is_some_and(|b| b.fell());
        if let (LimitAnswer::Fail, Some(why)) =
            (self.answer, terms.few_credits(self.finding.value, ABOVE_THE_PROMISE * terms.least))
        {
            self.answer = LimitAnswer::Inconclusive;
            self.finding.more_seconds = None;
            self.reasons = vec![why];
        }
        let (rate, seconds) = (self.finding.value, judged.len() as f64 / PER_SECOND as f64);
        if self.answer == LimitAnswer::Inconclusive && ended && self.finding.more_seconds.take().is_some() {
            self.reasons = vec![format!(
                "the burst ended after {}, which is too short to tell whether its rate is that of the promise: leave the volume idle until the \
                 bucket is full, then run it again",
                Nanos((seconds * 1e9) as u64).length()
            )];
        }
        if self.answer != LimitAnswer::Pass {
            return;
        }
        let lasts = promised.at_rate(rate, terms.least);
        match lasts.filter(|lasts| ended && seconds < lasts * (1.0 - terms.tolerance)) {
            Some(lasts) => {
                self.answer = LimitAnswer::Inconclusive;
                self.finding.more_seconds = None;
                self.reasons.push(format!(
                    "the burst ended after {}, and a full bucket lasts {} at this rate: leave the volume idle until the bucket is full, then run it again",
                    Nanos((seconds * 1e9) as u64).length(),
                    Nanos((lasts * 1e9) as u64).length()
                ));
            }
            None => self.reasons.extend(terms.burst_shown(rate, seconds)),
        }
    }

    /// A rate above the promise undoes a PASS. One that the type cannot give also undoes a FAIL of the promised time: whoever gives more than
    /// the type can has not shown that it is this type, whose promise of time would be broken.
    fn look_at_excess(&mut self, bins: &[u64], terms: &ClaimTerms) {
        let waits = self.answer == LimitAnswer::Inconclusive && self.finding.more_seconds.is_some();
        let seconds = bins.len() as f64 / PER_SECOND as f64;
        let excess = if waits || self.answer == LimitAnswer::Pass {
            Excess::of(self.finding.value, seconds, terms)
        } else if self.answer == LimitAnswer::Fail && self.finding.answer == LimitAnswer::Pass {
            Excess::beyond(self.finding.value, terms)
        } else {
            None
        };
        let Some(excess) = excess else { return };
        if waits {
            // More time decides nothing about another type.
            self.reasons.clear();
        }
        self.answer = LimitAnswer::Inconclusive;
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
            assert_ne!(w.answer, LimitAnswer::Pass, "{from} to {to}: {w:?}");
            assert_eq!(w.lapses.len(), 1, "{from} to {to}");
        }
        // Dead and slow: no level reaches the promise.
        let w = judged(300, &TERMS, |i| if (1000..1200).contains(&i) { 0 } else { 80 });
        assert_eq!(w.answer, LimitAnswer::Fail, "{w:?}");
    }

    #[test]
    fn half_the_rate_for_a_while_does_not_pass() {
        let w = judged(300, &TERMS, |i| if i < 1350 { 50 } else { 100 });
        assert_eq!(w.answer, LimitAnswer::Inconclusive, "{w:?}");
        assert!((w.whole - 780.0).abs() < 10.0);
    }

    #[test]
    fn a_warm_up_that_decides_leaves_it_open() {
        let w = judged(300, &TERMS, |i| if i < 200 { 50 } else { 100 });
        assert_eq!((w.answer, w.cut.map(|c| c.seconds)), (LimitAnswer::Inconclusive, Some(20.0)), "{w:?}");
        let harmless = judged(300, &TERMS, |i| if i < 20 { 80 } else { 101 });
        assert_eq!(harmless.answer, LimitAnswer::Pass, "{harmless:?}");
    }

    #[test]
    fn a_burst_is_no_promise_kept() {
        let terms =
            ClaimTerms { burst: Some(SoldBurst { per_second: 3000.0, seconds: Some(1800.0) }), ..TERMS };
        let inside = judged(600, &terms, |_| 300);
        assert_eq!(inside.answer, LimitAnswer::Inconclusive, "{inside:?}");
        assert!(inside.finding.more_seconds.is_some_and(|s| s.abs_diff(1260) < 10), "{inside:?}");
        let asked = judged(600, &ClaimTerms { judge_burst: true, ..terms }, |_| 300);
        assert_eq!((asked.answer, asked.promised), (LimitAnswer::Pass, 3000.0));
        // Without credits a volume does its baseline, and nothing else between that and the burst.
        for (rate, answer) in
            [(50, LimitAnswer::Fail), (100, LimitAnswer::Inconclusive), (200, LimitAnswer::Fail)]
        {
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
        assert_eq!(whole.answer, LimitAnswer::Pass, "{whole:?}");
        assert!(whole.reasons[0].contains("as long as a full bucket lasts"), "{whole:?}");
        // More than the burst empties the bucket sooner: 2,000 a second beyond the baseline for 1,800 s are 2,200 for 1,636 s.
        let quick =
            judged(1900, &ClaimTerms { judge_burst: true, ..terms }, |i| if i < 16_400 { 320 } else { 100 });
        assert_eq!(quick.answer, LimitAnswer::Pass, "{quick:?}");
        let other = judged(600, &ClaimTerms { judge_burst: true, ..terms }, |_| 400);
        assert!(
            other.answer == LimitAnswer::Inconclusive && other.reasons[0].contains("right type"),
            "{other:?}"
        );
        // A tenth of the credits that are promised.
        let short =
            judged(600, &ClaimTerms { judge_burst: true, ..terms }, |i| if i < 1800 { 300 } else { 100 });
        assert_eq!(short.answer, LimitAnswer::Inconclusive, "{short:?}");
        assert!(
            short.reasons[0].contains("the burst ended after 3 min") && short.burst.is_none(),
            "{short:?}"
        );
        // Half a minute decides nothing, and a longer run has no longer burst.
        let brief =
            judged(600, &ClaimTerms { judge_burst: true, ..terms }, |i| if i < 295 { 300 } else { 100 });
        assert_eq!(
            (brief.answer, brief.finding.more_seconds),
            (LimitAnswer::Inconclusive, None),
            "{brief:?}"
        );
        assert!(brief.reasons[0].starts_with("the burst ended after 29.5 s, which"), "{brief:?}");
        let over = judged(600, &terms, |i| if i < 3000 { 300 } else { 50 });
        assert_eq!(over.answer, LimitAnswer::Fail, "{over:?}");
        let kept = judged(600, &terms, |i| if i < 3000 { 300 } else { 100 });
        assert_eq!(kept.answer, LimitAnswer::Pass, "{kept:?}");
    }

    #[test]
    fn more_than_the_type_can_give_asks_for_the_type() {
        let w = judged(300, &TERMS, |_| 250);
        assert!(w.answer == LimitAnswer::Inconclusive && w.reasons[0].contains("right type"), "{w:?}");
        assert_eq!(judged(300, &TERMS, |_| 103).answer, LimitAnswer::Pass);
    }

    #[test]
    fn a_promise_of_time_is_judged_by_seconds() {
        let terms = ClaimTerms { time: Some(0.99), ..TERMS };
        // Every tenth second at 70 %: the mean is met, the time is not.
        let w = judged(300, &terms, |i| if i / 10 % 10 == 0 { 70 } else { 105 });
        assert_eq!((w.answer, w.delivered.unwrap().share), (LimitAnswer::Fail, 0.9), "{w:?}");
        assert_eq!(judged(600, &terms, |_| 100).delivered.unwrap().answer, Some(Outcome::Pass));
        // 95 % of what was bought, in every second: 90 % are promised.
        let w = judged(600, &terms, |_| 95);
        assert!(w.answer == LimitAnswer::Inconclusive && w.reasons[0].contains("no breach"), "{w:?}");
        assert_eq!(judged(600, &terms, |_| 85).answer, LimitAnswer::Fail);
    }

    #[test]
    fn whoever_gives_more_than_the_type_can_breaks_no_promise_of_time_of_it() {
        let terms = ClaimTerms { time: Some(0.99), ..TERMS };
        // Every fifth second as much as eight times the promise, as under a quota of 5 s, and nothing between.
        let quota = |rate: u64| move |i: usize| if (i / 10).is_multiple_of(5) { rate } else { 0 };
        let w = judged(600, &terms, quota(4_000));
        assert_eq!(w.answer, LimitAnswer::Inconclusive, "{w:?}");
        assert!(
            w.reasons[0].contains("20.0 % of the seconds") && w.reasons[1].contains("right type"),
            "{w:?}"
        );
        // A little more than promised is of that type.
        assert_eq!(judged(600, &terms, quota(510)).answer, LimitAnswer::Fail);
    }
}

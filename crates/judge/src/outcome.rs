//! The table that answers a promised rate: four facts in, one of four words out, and the step that is missing where there is none yet.
//!
//! | rate against the promise less its tolerance | enough load | answer |
//! |---|---|---|
//! | wholly above, and the end not wholly below; dead time at most 1 %; no burst explains it | any | PASS |
//! | wholly below, or wholly below at the end | shown | FAIL |
//! | the same | not yet | the confirming step |
//! | spans it | not yet | the confirming step |
//! | the same | shown | INCONCLUSIVE, with the time that decides |
//!
//! A load that misses and a greater one that keeps the promise differ by the load or by the minutes between them: the first load once more
//! tells which. Pure functions of [`StepFacts`]; the words are in `words`.

use super::answer::{Answer, Basis, MOST_DEAD, Missing, Open};
use super::facts::{StepFacts, TriedLoad};
use super::step_answer::{StepAnswer, read};
use super::terms::ClaimTerms;
use super::thresholds::LOADS_APART;
use volproof_base::stats::SAME_RATE;
use volproof_base::stats::limit_answer::{LimitAnswer, TimeShare};
use volproof_record::Outcome;

/// A promise, and the steps that test it in the order of time.
pub struct Case<'a> {
    /// The promise.
    pub terms: &'a ClaimTerms,
    /// The steps.
    pub steps: &'a [StepFacts],
    /// The deepest load that target and memory allow is below the saturating depth.
    pub deepest: Option<u64>,
}

impl Case<'_> {
    /// The answer of the steps; there is at least one.
    pub fn answer(&self) -> Answer {
        if let Some(by) = self.steps.iter().position(|s| s.mishaps.hangs) {
            return self.ends(Outcome::Fail, Basis::Hangs, by);
        }
        if let Some(by) = self.steps.iter().position(|s| s.mishaps.medium_errors > 0) {
            return self.ends(Outcome::Fail, Basis::MediumErrors, by);
        }
        let by_rate = self.of_all_windows(self.by_rate());
        let answer = match self.terms.time {
            Some(time) => self.with_time(by_rate, time),
            None => self.without_time(by_rate),
        };
        self.for_the_whole_burst(answer)
    }

    /// A burst is promised for as long as a full bucket lasts: a PASS needs all of that.
    fn for_the_whole_burst(&self, answer: Answer) -> Answer {
        let burst = self.terms.judged_burst().and_then(|burst| burst.seconds);
        let Some(length) = burst.filter(|_| answer.outcome == Outcome::Pass) else { return answer };
        let shown = self.terms.burst_shown(self.steps);
        if shown >= (1.0 - self.terms.tolerance) * length {
            return answer;
        }
        let is_empty = self.steps.iter().any(|s| s.mishaps.credits_ended);
        let more_seconds = (!is_empty).then_some((length - shown).ceil() as u64);
        let basis = Basis::BurstUntested { shown_seconds: shown as u64, more_seconds };
        self.ends(Outcome::Inconclusive, basis, answer.by)
    }

    fn ends(&self, outcome: Outcome, basis: Basis, by: usize) -> Answer {
        Answer { outcome, basis, by, missing: None }
    }

    fn wants(&self, basis: Basis, by: usize, missing: Missing) -> Answer {
        Answer { outcome: Outcome::Inconclusive, basis, by, missing: Some(missing) }
    }

    /// All windows of the load that keeps the promise are one measurement: together they keep it too, or the volume changed between them.
    fn of_all_windows(&self, answer: Answer) -> Answer {
        let load = self.steps[answer.by].load;
        let mut windows: Vec<usize> = (0..self.steps.len()).collect();
        windows.retain(|i| self.steps[*i].load == load && self.steps[*i].rate.is_some());
        let completed: f64 = windows.iter().map(|i| self.steps[*i].mean * self.steps[*i].seconds).sum();
        let mean = completed / windows.iter().map(|i| self.steps[*i].seconds).sum::<f64>().max(1.0);
        let slowest = windows.into_iter().min_by(|a, b| self.steps[*a].mean.total_cmp(&self.steps[*b].mean));
        match slowest.filter(|_| answer.outcome == Outcome::Pass && mean < self.terms.limits().0) {
            Some(first) => {
                self.ends(Outcome::Inconclusive, Basis::Changed { first, again: answer.by }, answer.by)
            }
            None => answer,
        }
    }

    /// A mean that is kept says nothing of the seconds in which nothing came, unless the provider promises a share of them.
    fn without_time(&self, answer: Answer) -> Answer {
        if answer.outcome == Outcome::Pass && self.dead_share() > MOST_DEAD {
            let is_seen = self.steps.iter().all(|s| s.merged == 1);
            let basis = if is_seen { Basis::DeadTime } else { Basis::SamplesMerged };
            return self.ends(Outcome::Inconclusive, basis, answer.by);
        }
        answer
    }

    /// A promised share of time is broken by too few good seconds, and kept by the rate or by good seconds alone.
    fn with_time(&self, answer: Answer, time: f64) -> Answer {
        if answer.basis == Basis::Open(Open::EndedEarly) {
            return answer;
        }
        if self.steps.iter().any(|s| !s.shows_seconds()) {
            return self.without_seconds(answer, time);
        }
        let seconds = self.seconds_of_the_volume();
        let delivered = TimeShare::of_seconds(&seconds);
        let deepest = self.last_saturating();
        let by = deepest.unwrap_or(answer.by);
        let share = delivered.answer(time);
        if share == LimitAnswer::Fail && self.steps.iter().any(StepFacts::is_quotable) {
            // A mean that misses the promise says more than its seconds.
            let is_missed = answer.outcome == Outcome::Fail;
            return if is_missed { answer } else { self.ends(Outcome::Fail, Basis::TooFewSeconds, by) };
        }
        if answer.outcome == Outcome::Pass {
            if self.dead_share() <= MOST_DEAD || share == LimitAnswer::Pass {
                return self.with_slow_seconds(answer, time);
            }
            let more_seconds = delivered.more_seconds(time);
            return self.ends(Outcome::Inconclusive, Basis::ShareOpen { more_seconds }, answer.by);
        }
        let spans = matches!(answer.basis, Basis::Open(Open::Spans { .. })) && deepest == Some(answer.by);
        let grants_less = self.terms.level < 1.0;
        if !grants_less || (answer.outcome != Outcome::Fail && !spans) {
            return answer;
        }
        // On both sides of the nominal rate the guarantee is kept.
        let is_sure = self.steps[by].delivers_surely && seconds.iter().all(|delivered| *delivered);
        if is_sure || share == LimitAnswer::Pass {
            return self.within_guarantee(by);
        }
        if spans {
            return answer;
        }
        let more_seconds = delivered.more_seconds(time);
        self.ends(Outcome::Inconclusive, Basis::ShareOpen { more_seconds }, by)
    }

    /// Samples that do not show seconds leave their mean: it refutes a share of time that it could not have even with nothing in all other seconds.
    fn without_seconds(&self, answer: Answer, time: f64) -> Answer {
        let is_refuted = self.steps[answer.by].mean < time * self.terms.level * self.terms.limits().0;
        match answer.outcome {
            Outcome::Pass => self.ends(Outcome::Inconclusive, Basis::SamplesMerged, answer.by),
            Outcome::Fail if !is_refuted => self.ends(Outcome::Inconclusive, Basis::SamplesMerged, answer.by),
            _ => answer,
        }
    }

    /// Every second of the greatest load kept the guarantee: the table answers by the guaranteed rate instead of the nominal one.
    fn within_guarantee(&self, by: usize) -> Answer {
        let terms = self.terms.of_guarantee();
        let guaranteed = Case { terms: &terms, ..*self };
        let answer = guaranteed.of_all_windows(guaranteed.by_rate());
        match answer.outcome {
            Outcome::Pass => Answer { basis: Basis::WithinGuarantee, ..answer },
            // The few seconds that the promised share leaves are what the mean lacks.
            Outcome::Fail => self.ends(Outcome::Pass, Basis::WithinGuarantee, by),
            Outcome::Inconclusive | Outcome::Invalid => answer,
        }
    }

    /// A kept rate with more slow seconds than the promised share of time leaves: under a load below the saturating one, more load shows whose
    /// they are; under that, time shows how often they come.
    fn with_slow_seconds(&self, answer: Answer, time: f64) -> Answer {
        let is_tried = self.last_saturating().is_some();
        let counted = self.steps.iter().filter(|s| s.is_saturating || !is_tried);
        let delivered: Vec<bool> = counted.flat_map(|s| s.delivered.iter().copied()).collect();
        let delivered = TimeShare::of_seconds(&delivered);
        if delivered.share() >= time {
            return answer;
        }
        if self.may_be_confirmed() {
            return self.wants(Basis::LoadNotShown, answer.by, Missing::Confirm);
        }
        if !is_tried {
            return answer;
        }
        let more_seconds = delivered.more_seconds(time);
        self.ends(Outcome::Inconclusive, Basis::ShareOpen { more_seconds }, answer.by)
    }

    /// Whether each second delivered, as far as it is the volume's affair: a slow second counts only under a saturating load, a dead one
    /// under any.
    fn seconds_of_the_volume(&self) -> Vec<bool> {
        let saturating = self.steps.iter().filter(|s| s.is_saturating);
        let delivered: Vec<bool> = saturating.flat_map(|s| s.delivered.iter().copied()).collect();
        if delivered.is_empty() {
            return self.steps.iter().flat_map(|s| s.dead.iter().map(|dead| !dead)).collect();
        }
        delivered
    }

    /// Share of dead time over all steps.
    pub fn dead_share(&self) -> f64 {
        let dead: f64 = self.steps.iter().map(|s| s.dead_time).sum();
        dead / self.steps.iter().map(|s| s.seconds).sum::<f64>().max(1.0)
    }

    /// The answer by the rates alone.
    fn by_rate(&self) -> Answer {
        let readings: Vec<StepAnswer> = self.steps.iter().map(|s| read(s, self.terms)).collect();
        match readings.iter().rposition(|r| *r == StepAnswer::Keeps) {
            Some(kept) => self.with_a_kept_step(&readings, kept),
            None => self.without_a_kept_step(&readings),
        }
    }

    fn without_a_kept_step(&self, readings: &[StepAnswer]) -> Answer {
        let mut missed: Vec<usize> = (0..readings.len()).rev().collect();
        missed.retain(|i| readings[*i] == StepAnswer::Misses);
        if let Some(deep) = missed.iter().find(|i| self.steps[**i].is_saturating) {
            return self.ends(Outcome::Fail, Basis::Missed, *deep);
        }
        let last = readings.len() - 1;
        if let Some(deep) = self.last_saturating() {
            return self.is_open(readings, deep);
        }
        // Of steps of one depth the first.
        if let Some(missed) = missed.into_iter().max_by_key(|i| self.steps[*i].load.depth) {
            return self.without_saturation(readings, missed);
        }
        // Without a firm miss the first step decides, and a short one is repeated.
        if let StepAnswer::Open(Open::Short { is_below: true }) = readings[0] {
            return self.wants(Basis::LoadNotShown, 0, Missing::Confirm);
        }
        self.is_open(readings, last)
    }

    /// A miss, and no step at the saturating depth: that step is missing. Where it is not possible, a rate that does not grow from half of the
    /// deepest load to the deepest one shows that load is not what is missing.
    fn without_saturation(&self, readings: &[StepAnswer], missed: usize) -> Answer {
        let Some(deepest) = self.deepest else {
            return self.wants(Basis::LoadNotShown, missed, Missing::Confirm);
        };
        let at = |depth: u64| {
            (0..readings.len()).rev().find(|i| self.steps[*i].load == TriedLoad { depth, offered: None })
        };
        match (at(deepest / 2), at(deepest)) {
            (None, _) => self.wants(Basis::LoadNotShown, missed, Missing::Depth(deepest / 2)),
            (_, None) => self.wants(Basis::LoadNotShown, missed, Missing::Depth(deepest)),
            (Some(half), Some(full)) => {
                let flat = self.steps[full].mean <= (1.0 + SAME_RATE) * self.steps[half].mean;
                if flat && readings[full] == StepAnswer::Misses {
                    self.ends(Outcome::Fail, Basis::Missed, full)
                } else {
                    self.ends(Outcome::Inconclusive, Basis::DepthNotPossible, full)
                }
            }
        }
    }

    /// The answer of a step that says neither yes nor no.
    fn is_open(&self, readings: &[StepAnswer], by: usize) -> Answer {
        let load = self.steps[by].load;
        match readings[by] {
            StepAnswer::Open(open @ Open::Short { .. }) => {
                self.wants(Basis::Open(open), by, Missing::Repeat(load))
            }
            StepAnswer::Open(open @ (Open::Spans { .. } | Open::CreditsMayBeLeft))
                if self.may_be_confirmed() =>
            {
                self.wants(Basis::Open(open), by, Missing::Confirm)
            }
            StepAnswer::Open(open) => self.ends(Outcome::Inconclusive, Basis::Open(open), by),
            StepAnswer::Keeps | StepAnswer::Misses => self.wants(Basis::LoadNotShown, by, Missing::Confirm),
        }
    }

    fn with_a_kept_step(&self, readings: &[StepAnswer], kept: usize) -> Answer {
        let load = self.steps[kept].load;
        let later_miss = (kept + 1..readings.len())
            .find(|i| readings[*i] == StepAnswer::Misses && self.steps[*i].load.is_at_least(&load));
        if let Some(missed) = later_miss {
            return self.after_a_later_miss(readings, kept, missed);
        }
        let least = self.terms.limits().0;
        let is_miss = |i: &usize| match readings[*i] {
            StepAnswer::Misses => true,
            StepAnswer::Open(Open::Short { .. } | Open::Spans { .. }) => self.steps[*i].mean < least,
            _ => false,
        };
        // Another load may miss between two steps of the one that keeps the promise. The same load never does, unless the volume changed.
        let keeps_around = |i: &usize| {
            let kept_before = (0..*i).any(|b| readings[b] == StepAnswer::Keeps && self.steps[b].load == load);
            kept_before && self.steps[*i].load != load
        };
        let Some(first) = (0..kept).filter(is_miss).find(|i| !keeps_around(i)) else {
            return self.ends(Outcome::Pass, Basis::Kept, kept);
        };
        self.after_an_earlier_miss(readings, first)
    }

    /// A load kept the promise, and then no less load missed it: any depth that keeps the promise keeps it, unless the volume changed.
    fn after_a_later_miss(&self, readings: &[StepAnswer], kept: usize, missed: usize) -> Answer {
        let load = self.steps[kept].load;
        let repeated = (missed..readings.len()).any(|i| self.steps[i].load == load);
        if !repeated {
            return self.wants(Basis::LoadNotShown, missed, Missing::Repeat(load));
        }
        let rest: Vec<usize> = (missed..readings.len()).collect();
        let deep = rest.iter().rev().find(|i| self.steps[**i].is_saturating);
        match deep {
            Some(deep) if readings[*deep] == StepAnswer::Misses => {
                self.ends(Outcome::Fail, Basis::Missed, *deep)
            }
            Some(deep) => self.is_open(readings, *deep),
            None => self.without_saturation(readings, missed),
        }
    }

    /// A load missed the promise, and then a greater one kept it. The first load once more tells whether the load was the reason.
    fn after_an_earlier_miss(&self, readings: &[StepAnswer], first: usize) -> Answer {
        let load = self.steps[first].load;
        let more = (first + 1..readings.len())
            .find(|i| readings[*i] == StepAnswer::Keeps && self.steps[*i].load != load);
        let Some(more) = more else {
            let kept = (first + 1..readings.len()).rev().find(|i| readings[*i] == StepAnswer::Keeps);
            let again = kept.unwrap_or(first);
            if self.is_one_measurement(readings, first, again) {
                return self.ends(Outcome::Pass, Basis::Kept, again);
            }
            return self.ends(Outcome::Inconclusive, Basis::Changed { first, again }, again);
        };
        let again = (more + 1..readings.len()).rev().find(|i| self.steps[*i].load == load);
        match again.map(|i| (i, readings[i])) {
            None => self.wants(Basis::LoadNotShown, more, Missing::Repeat(load)),
            Some((again, StepAnswer::Misses)) => self.kept_with_more_load(readings, first, again),
            Some((again, StepAnswer::Keeps)) if self.is_one_measurement(readings, first, again) => {
                self.ends(Outcome::Pass, Basis::Kept, again)
            }
            // Its rate keeps the promise now, whatever gave it.
            Some((again, StepAnswer::Keeps | StepAnswer::Open(Open::CreditsMayBeLeft))) => {
                self.ends(Outcome::Inconclusive, Basis::Changed { first, again }, again)
            }
            Some((again, StepAnswer::Open(_))) => self.is_open(readings, again),
        }
    }

    /// PASS with the least load that kept it after the first load had missed it again. Directly after a miss, credits that were saved under that
    /// may have kept it, so that one load has to keep it directly after a step that kept it too. Then depths between are tried, each four
    /// times the one below.
    fn kept_with_more_load(&self, readings: &[StepAnswer], first: usize, again: usize) -> Answer {
        let depth = |i: &usize| self.steps[*i].load.depth;
        let of = |reading: StepAnswer| (0..readings.len()).filter(move |i| readings[*i] == reading);
        let load = self.steps[first].load;
        let is_more = |i: &usize| self.steps[*i].load != load && self.steps[*i].load.is_at_least(&load);
        let more = || of(StepAnswer::Keeps).filter(is_more);
        let Some(by) = more().filter(|i| *i > again).min_by_key(depth) else {
            let before = more().min_by_key(depth).unwrap_or(first);
            return self.wants(Basis::LoadNotShown, before, Missing::Repeat(self.steps[before].load));
        };
        let is_sure = |i: usize| readings[i - 1] == StepAnswer::Keeps;
        if !more().filter(|i| *i > again).any(is_sure) {
            return self.wants(Basis::LoadNotShown, by, Missing::Repeat(self.steps[by].load));
        }
        let below = of(StepAnswer::Misses).map(|i| depth(&i)).filter(|d| *d < depth(&by)).max();
        let next = below.unwrap_or(depth(&first)).saturating_mul(LOADS_APART);
        if next < depth(&by) {
            let missing = Some(Missing::Depth(next));
            return Answer { outcome: Outcome::Pass, basis: Basis::KeptWithMoreLoad { first }, by, missing };
        }
        self.kept_after_all_misses(readings, first, by)
    }

    /// Loads between may have missed because credits ended meanwhile: the load that keeps the promise keeps it after them too.
    fn kept_after_all_misses(&self, readings: &[StepAnswer], first: usize, by: usize) -> Answer {
        let load = self.steps[by].load;
        let last_kept = readings.iter().rposition(|r| *r == StepAnswer::Keeps);
        let missed_since = readings.iter().rposition(|r| *r == StepAnswer::Misses) > last_kept;
        if missed_since {
            return self.wants(Basis::LoadNotShown, by, Missing::Repeat(load));
        }
        self.ends(Outcome::Pass, Basis::KeptWithMoreLoad { first }, by)
    }

    /// A step that left the promise open and its repetition are one measurement with a pause, if both have the same rate. Else the volume
    /// changed. The rate of less than ten seconds says nothing.
    fn is_one_measurement(&self, readings: &[StepAnswer], first: usize, again: usize) -> bool {
        let [before, after] = [first, again].map(|i| &self.steps[i]);
        let is_same = before.rate.is_none() || before.mean >= (1.0 - SAME_RATE) * after.mean;
        readings[first] != StepAnswer::Misses && is_same
    }

    /// The saturating depth is possible, and was not tried.
    fn may_be_confirmed(&self) -> bool {
        self.deepest.is_none() && self.last_saturating().is_none()
    }

    fn last_saturating(&self) -> Option<usize> {
        self.steps.iter().rposition(|s| s.is_saturating)
    }
}

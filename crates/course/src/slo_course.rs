//! The search for the highest load whose response time stays within a limit, as a course. Its answer is in `slo_conclusion`.
//!
//! Loads are offered in open loop, so that a response counts from the moment at which a client would have asked (docs/method.md, "Closed
//! and open loop"). The search is a bisection. A load holds when the whole confidence interval of its figure keeps the limit, and is
//! refused when the whole interval breaks it. Trials are short until one of them is undecided. From then on each trial is as long as the
//! percentile and the confirmation need, and a load that is still undecided is refused. So the load that is found has passed a long trial.
//! Where nothing has held yet, and two loads are undecided, one about half of the other, still less load cannot help: the trial
//! becomes longer instead, or the search ends undecided and says how long a trial must be.
//! Where one request after another breaks the limit, a limit of the rate may be what each of them waits for. The first trial then offers
//! a fifth of that rate: if it breaks the limit too, the search ends.
//! Once a long trial refuses a load that a short one kept (burst credits), short trials that hold count no more.
//! A volume may warm up while the search begins. So where the lowest refusal is older than the last few trials, and all of these held, its load is
//! asked again, once and for long. If it holds then, what was refused before counts no more, and the search goes on above it.
//! Credits may carry a load for a whole confirmation. So where a later step with as much load completes less than the load that holds, that load is
//! confirmed anew.

use super::course_of::CourseOf;
use super::{Course, FinishedStep, Forecast};
use volproof_base::doubt::DoubtCode;
use volproof_base::hist::StoredHistogram;
use volproof_base::sample::Direction;
use volproof_base::stats::mean_latency::MeanLatency;
use volproof_base::stats::percentile::{ShareAbove, pooled};
use volproof_base::stats::spread::FEWEST;
use volproof_base::unit::{Nanos, total};
use volproof_plan::{ResponseFigure, SloSearch, Step};
use volproof_record::{CourseAnswer, JudgedPromise, SloDepth, SloTrial, TrialOutcome, UnsureShare};

/// The bracket is narrow enough when its ends differ by this share.
pub(super) const NARROW: f64 = 0.01;
/// No load is tried above this multiple of the closed loop's rate.
pub(super) const CEILING: f64 = 1.1;
/// The search ends without an answer when loads down to this share of the closed loop's rate are refused.
const FLOOR: f64 = 0.005;
/// A trial has this many I/Os beyond its percentile. A confirmation that needs more time than a trial for that has five times as many.
pub(super) const IOS_BEYOND: f64 = 20.0;
/// A percentile that would need a longer trial than this is refused.
pub(super) const LONGEST_TRIAL: Nanos = Nanos::seconds(3600);
/// The longest confirmation.
const LONGEST_CONFIRMATION: Nanos = Nanos::seconds(4 * 3600);
/// A depth is enough for a load when its rate reaches this share of the load.
const GIVES: f64 = 0.99;
/// Where one request after another breaks the limit, the first trial offers this share of their rate.
const SPACED: f64 = 0.2;
/// A refusal is asked again where so many trials came after it. Of a volume that stays the same, one search in eight has such a refusal.
const STALE: usize = 3;
/// Two undecided loads that differ by more than this factor show that less load decides no more.
const HALVED: f64 = 1.8;
/// A trial that an undecided one leads to is so many times as long at least.
const LONGER: f64 = 4.0;
/// The search ends after this many trials.
const MOST_TRIALS: usize = 40;

/// How the latencies of a step stand to the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LimitSeen {
    /// The figure of the limit.
    pub(super) value_ns: Option<Nanos>,
    /// Share above the limit.
    above: Option<ShareAbove>,
    /// Whether the limit holds.
    pub(super) outcome: TrialOutcome,
}

impl LimitSeen {
    /// Of a step in which nothing completed.
    const NOTHING: LimitSeen = LimitSeen { value_ns: None, above: None, outcome: TrialOutcome::Unsure };

    /// The interval of the share above the limit, where it does not decide.
    pub(super) fn unsure(&self) -> Option<UnsureShare> {
        let above = self.above.filter(|_| self.outcome == TrialOutcome::Unsure)?;
        Some(UnsureShare { low: above.low, high: above.high })
    }
}

/// The next action of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stand {
    /// Try this load for this long.
    Try(f64, Nanos),
    /// The load holds and is confirmed.
    Found(f64),
    /// No load is left to try.
    End,
}

/// The bracket around the highest load.
pub(super) struct Bracket {
    /// The highest load that holds, 0 for none.
    pub(super) holds: f64,
    /// A long trial showed that it does.
    pub(super) confirmed: bool,
    /// The lowest load that is refused.
    pub(super) refused: Option<f64>,
}

impl Course for SloSearch {
    fn possible(&self) -> Vec<Step> {
        let trial = self.trial("load-1".into(), 1000.0, self.confirm);
        vec![self.unloaded(), self.most(), trial, self.at_depth(self.base.iodepth)]
    }

    fn next(&self, finished: &[FinishedStep]) -> Option<Step> {
        CourseOf(self).next_trial(finished)
    }

    fn answer(
        &self,
        finished: &[FinishedStep],
        judged_promise: Option<&JudgedPromise>,
    ) -> Option<CourseAnswer> {
        CourseOf(self).slo_answer(finished, judged_promise).map(CourseAnswer::Slo)
    }

    fn forecast(&self) -> Forecast {
        let ramp = self.base.ramp.0;
        let (short, long) = (self.base.runtime.0 + ramp, self.confirm.0 + ramp);
        // Unloaded, most and four depths; three short trials and four long ones to 1 %.
        let likely = Nanos(6 * short + 3 * short + 4 * long);
        // Every short trial decides, and the first long one refuses them all; then a load holds that was refused, and the search goes on above it.
        let worst = Nanos(11 * short + 7 * short + 23 * long);
        let [likely, worst] = [likely, worst].map(|time| self.budget.map_or(time, |b| b.min(time)));
        Forecast::of_steps((13, likely), (41, worst), self.base.rw.changes_data())
    }
}

pub(super) fn named<'a>(finished: &'a [FinishedStep], name: &str) -> Option<&'a FinishedStep> {
    finished.iter().find(|f| f.step.name == name)
}

/// Of several directions the one that stands worst counts.
fn weight(outcome: TrialOutcome) -> u8 {
    match outcome {
        TrialOutcome::Fails | TrialOutcome::Overload => 2,
        TrialOutcome::Unsure => 1,
        TrialOutcome::Holds => 0,
    }
}

/// The highest offered rate below a bound; 0 where there is none.
fn highest(trials: &[&SloTrial], below: f64) -> f64 {
    trials.iter().map(|t| t.offered_per_second).filter(|rate| *rate < below).fold(0.0, f64::max)
}

/// The rate, rounded to a number that people can type.
fn rounded(rate: f64) -> f64 {
    let digits = 3 - (rate.max(1e-3).log10().floor() as i32);
    if digits <= 0 { rate.round() } else { (rate * 10f64.powi(digits)).round() / 10f64.powi(digits) }
}

impl CourseOf<'_, SloSearch> {
    /// The next step of the search.
    fn next_trial(&self, finished: &[FinishedStep]) -> Option<Step> {
        let Some(unloaded) = named(finished, "unloaded") else { return Some(self.unloaded()) };
        let trials = self.trials(finished);
        let spent = total(finished.iter().map(|f| f.step.ramp.0 + f.step.runtime.0));
        let left = self.budget.map_or(u64::MAX, |b| b.0.saturating_sub(spent));
        let fits = |time: Nanos| time.0.saturating_add(self.base.ramp.0) <= left;
        let trial = |rate, time| self.trial(format!("load-{}", trials.len() + 1), rate, time);
        if self.held(unloaded).outcome == TrialOutcome::Fails {
            let (rate, time) = self.spaced(unloaded);
            match trials.first() {
                None => {
                    return (rate > 0.0 && fits(time) && time <= LONGEST_TRIAL).then(|| trial(rate, time));
                }
                Some(first) if first.outcome == TrialOutcome::Fails => return None,
                Some(_) => {}
            }
        }
        let Some(most) = named(finished, "most") else { return Some(self.most()) };
        match self.stand(&trials, most.iops) {
            Stand::Try(rate, time) => {
                let long = self.confirmation(rate);
                // A short trial is worth its time only where the budget allows a long one after it.
                let all = if time < long { total([time.0, self.base.ramp.0, long.0]) } else { time.0 };
                if fits(Nanos(all)) && time <= LONGEST_TRIAL {
                    return Some(trial(rate, time));
                }
                let bracket = self.bracket(&trials);
                let last = self.confirmation(bracket.holds);
                (bracket.holds > 0.0 && !bracket.confirmed && fits(last)).then(|| trial(bracket.holds, last))
            }
            Stand::Found(rate) => {
                let doubted = self.fell_since(finished, rate).map(|_| rate);
                let again = doubted.or_else(|| self.stale_refusal(&trials));
                let again = again.map(|load| (load, self.confirmation(load)));
                match again.filter(|(_, time)| fits(*time) && *time <= LONGEST_TRIAL) {
                    Some((load, time)) => Some(trial(load, time)),
                    None => self.next_depth(finished, rate).filter(|step| fits(step.runtime)),
                }
            }
            Stand::End => None,
        }
    }

    /// Rate and time of the first trial, where one request after another breaks the limit.
    pub(super) fn spaced(&self, unloaded: &FinishedStep) -> (f64, Nanos) {
        let rate = rounded(unloaded.iops * SPACED);
        (rate, self.length(rate))
    }

    /// How the latencies of one direction stand to the limit.
    fn held_by(&self, seconds: &[StoredHistogram]) -> LimitSeen {
        let Some(share) = self.figure.share() else { return self.mean_held(seconds) };
        let value_ns = pooled(seconds).quantile(share);
        let Some(above) = ShareAbove::from_seconds(seconds, self.limit) else { return LimitSeen::NOTHING };
        let outcome = if above.high <= 1.0 - share {
            TrialOutcome::Holds
        } else if above.low > 1.0 - share {
            TrialOutcome::Fails
        } else {
            TrialOutcome::Unsure
        };
        LimitSeen { value_ns, above: Some(above), outcome }
    }

    fn mean_held(&self, seconds: &[StoredHistogram]) -> LimitSeen {
        let found = MeanLatency::of_seconds(seconds);
        let limit = self.limit.0 as f64;
        let outcome = match found.as_ref().and_then(MeanLatency::interval) {
            Some((_, high)) if high <= limit => TrialOutcome::Holds,
            Some((low, _)) if low > limit => TrialOutcome::Fails,
            Some(_) => TrialOutcome::Unsure,
            // A mean that drifts has no interval. Where every second is on one side of the limit, the trial shows the side all the same.
            None => {
                let busy = seconds.iter().filter(|s| s.count() > 0);
                let (above, below): (Vec<_>, Vec<_>) =
                    busy.partition(|s| s.sum.0 as f64 / s.count() as f64 > limit);
                if above.len() + below.len() < FEWEST {
                    TrialOutcome::Unsure
                } else if above.is_empty() {
                    TrialOutcome::Holds
                } else if below.is_empty() {
                    TrialOutcome::Fails
                } else {
                    TrialOutcome::Unsure
                }
            }
        };
        LimitSeen { value_ns: found.map(|m| Nanos(m.mean_ns.round() as u64)), above: None, outcome }
    }

    /// The limited figure as the Record tells it, where it tells it.
    fn told(&self, done: &FinishedStep, direction: Direction) -> Option<Nanos> {
        let (_, told) = done.told.iter().find(|(of, _)| *of == direction)?;
        match self.figure {
            ResponseFigure::Mean => told.known_mean(),
            figure => told.percentiles.get(figure.to_string().trim_start_matches('p')).copied(),
        }
    }

    /// How a step stands to the limit: its worst direction.
    pub(super) fn held(&self, done: &FinishedStep) -> LimitSeen {
        let all = done.latencies.iter().map(|(direction, seconds)| {
            let held = self.held_by(seconds);
            LimitSeen { value_ns: self.told(done, *direction).or(held.value_ns), ..held }
        });
        let worst = all.max_by_key(|held| (weight(held.outcome), held.value_ns.unwrap_or_default()));
        worst.unwrap_or(LimitSeen::NOTHING)
    }

    pub(super) fn trials(&self, finished: &[FinishedStep]) -> Vec<SloTrial> {
        finished.iter().filter_map(|f| self.trial_of(f)).collect()
    }

    /// A finished step as a trial; none where no rate was offered.
    fn trial_of(&self, f: &FinishedStep) -> Option<SloTrial> {
        let offered_per_second = f.step.rate_iops?;
        let held = self.held(f);
        let mut spoilt_by = f.spoilt_by.clone();
        spoilt_by.retain(|code| *code != *DoubtCode::Overload.as_str());
        let outcome = match held.outcome {
            _ if !f.sustained => TrialOutcome::Overload,
            TrialOutcome::Holds if !spoilt_by.is_empty() => TrialOutcome::Unsure,
            outcome => outcome,
        };
        Some(SloTrial {
            step: f.step.name.clone(),
            offered_per_second,
            achieved_per_second: f.iops,
            runtime_ns: f.step.runtime,
            value_ns: held.value_ns,
            above: held.above.map(|above| above.share),
            above_low: held.above.map(|above| above.low),
            above_high: held.above.map(|above| above.high),
            outcome,
            spoilt_by,
        })
    }

    /// A trial that is as long as a confirmation.
    pub(super) fn is_long(&self, trial: &SloTrial) -> bool {
        trial.runtime_ns >= self.confirmation(trial.offered_per_second)
    }

    /// Whether a trial refuses its load: one that is long refuses what it does not show to hold.
    fn refuses(&self, t: &SloTrial) -> bool {
        t.outcome.fails() || (t.outcome != TrialOutcome::Holds && self.is_long(t))
    }

    /// Whether a trial refused a load that a later, long trial kept.
    pub(super) fn is_withdrawn(&self, trials: &[SloTrial], i: usize) -> bool {
        let rate = trials[i].offered_per_second;
        let mut later = trials[i + 1..].iter().filter(|t| t.offered_per_second == rate);
        self.refuses(&trials[i]) && later.any(|t| t.outcome == TrialOutcome::Holds && self.is_long(t))
    }

    /// The trials that count: all but refusals that were withdrawn, and where a load had plainly failed before, all that was refused until then.
    pub(super) fn counted<'a>(&self, trials: &'a [SloTrial]) -> Vec<&'a SloTrial> {
        let mut failed = (0..trials.len()).filter(|i| trials[*i].outcome.fails());
        let faster = failed.rfind(|i| self.is_withdrawn(trials, *i)).and_then(|i| {
            let rate = trials[i].offered_per_second;
            trials.iter().rposition(|t| t.offered_per_second == rate && t.outcome == TrialOutcome::Holds)
        });
        let mut counted = Vec::new();
        for (i, trial) in trials.iter().enumerate() {
            let is_standing = faster.is_none_or(|f| i > f) && !self.is_withdrawn(trials, i);
            if trial.outcome == TrialOutcome::Holds || is_standing {
                counted.push(trial);
            }
        }
        counted
    }

    /// The least that a step completed which came after the last confirmation of `rate`, and which asked for as much: a trial of that load or a
    /// higher one, or the deepest closed loop. None where all of them completed as much as `rate`.
    pub(super) fn fell_since(&self, finished: &[FinishedStep], rate: f64) -> Option<f64> {
        let long = self.confirmation(rate);
        let confirmed = finished.iter().rposition(|f| {
            f.step.rate_iops == Some(rate)
                && f.step.runtime >= long
                && self.held(f).outcome == TrialOutcome::Holds
        })?;
        let as_much = finished[confirmed + 1..].iter().filter(|f| match f.step.rate_iops {
            Some(offered) => offered >= rate,
            None => f.step.iodepth >= self.base.iodepth,
        });
        let less = as_much.filter(|f| f.iops + 2.0 * f.error.unwrap_or_default() < GIVES * rate);
        less.map(|f| f.iops).reduce(f64::min)
    }

    /// The lowest load that is refused, where that is long ago and it was asked once.
    fn stale_refusal(&self, trials: &[SloTrial]) -> Option<f64> {
        let refused = self.bracket(trials).refused?;
        let mut refusals = (0..trials.len())
            .filter(|i| trials[*i].offered_per_second == refused && self.refuses(&trials[*i]));
        let first = refusals.next()?;
        (refusals.next().is_none() && trials.len() - 1 - first >= STALE).then_some(refused)
    }

    /// The bracket that the trials leave.
    pub(super) fn bracket(&self, trials: &[SloTrial]) -> Bracket {
        let counted = self.counted(trials);
        let (long, short): (Vec<&SloTrial>, Vec<&SloTrial>) =
            counted.into_iter().partition(|t| self.is_long(t));
        let (held, open): (Vec<&SloTrial>, Vec<&SloTrial>) =
            long.into_iter().partition(|t| t.outcome == TrialOutcome::Holds);
        let refusals = open.iter().chain(short.iter().filter(|t| t.outcome.fails()));
        let refused = refusals.map(|t| t.offered_per_second).reduce(f64::min);
        let short: Vec<&SloTrial> = short.into_iter().filter(|t| t.outcome == TrialOutcome::Holds).collect();
        let below = refused.unwrap_or(f64::INFINITY);
        let shown = highest(&short, f64::INFINITY);
        let distrusted = open.iter().any(|t| t.offered_per_second <= shown);
        let sure = highest(&held, below);
        let likely = if distrusted { 0.0 } else { highest(&short, below) };
        Bracket { holds: sure.max(likely), confirmed: sure > 0.0 && sure >= likely, refused }
    }

    /// Whether the search ended by itself: it was not interrupted, and neither the budget nor [`LONGEST_TRIAL`] cut it short.
    pub(super) fn is_complete(&self, finished: &[FinishedStep], trials: &[SloTrial]) -> bool {
        let endless = SloSearch { budget: None, ..self.0.clone() };
        let Some(unloaded) = named(finished, "unloaded") else { return false };
        let first_fails = trials.first().is_some_and(|t| t.outcome == TrialOutcome::Fails);
        let alone = first_fails && self.held(unloaded).outcome == TrialOutcome::Fails;
        let Bracket { holds, refused, .. } = self.bracket(trials);
        let floor = named(finished, "most").map_or(0.0, |most| most.iops * FLOOR);
        endless.next(finished).is_none() && (alone || holds > 0.0 || refused.is_some_and(|r| r < floor))
    }

    /// How long a trial of a load takes.
    fn length(&self, rate: f64) -> Nanos {
        let seconds = self.figure.share().map_or(0.0, |share| IOS_BEYOND / (rate.max(1e-9) * (1.0 - share)));
        self.base.runtime.max(Nanos::seconds(seconds.ceil() as u64))
    }

    /// How long a trial takes that confirms a load.
    fn confirmation(&self, rate: f64) -> Nanos {
        let length = self.length(rate);
        let long = Nanos(length.0.saturating_mul(5)).min(LONGEST_CONFIRMATION);
        if length > self.base.runtime { self.confirm.max(long) } else { self.confirm }
    }

    /// The next trial, or the end.
    fn stand(&self, trials: &[SloTrial], most: f64) -> Stand {
        if trials.len() >= MOST_TRIALS || most <= 0.0 {
            return Stand::End;
        }
        let Bracket { holds, confirmed, refused } = self.bracket(trials);
        let high = refused.unwrap_or(most * CEILING);
        if holds == 0.0 && high < most * FLOOR {
            return Stand::End;
        }
        if holds > 0.0 && high <= holds * (1.0 + NARROW) {
            return if confirmed { Stand::Found(holds) } else { Stand::Try(holds, self.confirmation(holds)) };
        }
        if let Some(open) = self.undecided(trials).filter(|_| holds == 0.0) {
            let time = self.needed(open);
            return if time <= LONGEST_TRIAL {
                Stand::Try(open.offered_per_second, time)
            } else {
                Stand::End
            };
        }
        let long = trials.iter().any(|t| t.outcome == TrialOutcome::Unsure || self.is_long(t));
        let rate = rounded((holds + high) / 2.0);
        Stand::Try(rate, if long { self.confirmation(rate) } else { self.length(rate) })
    }

    /// The lowest load, where long trials decide neither it nor one of about twice its rate for want of time: less load decides no more.
    pub(super) fn undecided<'a>(&self, trials: &'a [SloTrial]) -> Option<&'a SloTrial> {
        let counted = self.counted(trials);
        let lowest = counted.iter().map(|t| t.offered_per_second).reduce(f64::min)?;
        let of_lowest =
            counted.iter().filter(|t| t.offered_per_second == lowest).max_by_key(|t| t.runtime_ns)?;
        let mut above = counted.iter().filter(|t| t.offered_per_second > HALVED * lowest);
        (self.lacks_time(of_lowest) && above.any(|t| self.lacks_time(t))).then_some(*of_lowest)
    }

    /// A long trial is undecided, and nothing spoilt it.
    fn lacks_time(&self, t: &SloTrial) -> bool {
        t.outcome == TrialOutcome::Unsure && t.spoilt_by.is_empty() && self.is_long(t)
    }

    /// How long a trial must be that decides what this one does not: an interval narrows with the root of the time.
    pub(super) fn needed(&self, trial: &SloTrial) -> Nanos {
        let bounds = trial.above_low.zip(trial.above_high);
        let times = match (self.figure.share(), trial.above, bounds) {
            (Some(share), Some(above), Some((low, high))) => {
                let allowed = 1.0 - share;
                let half = if above <= allowed { high - above } else { above - low };
                (half / (above - allowed).abs().max(1e-9)).powi(2)
            }
            _ => LONGER,
        };
        Nanos::seconds((trial.runtime_ns.as_seconds() * times.max(LONGER)).ceil() as u64)
    }

    /// Depths that were tried: the largest that gives less than the load, and the smallest that gives it.
    fn depths<'a>(&self, finished: &'a [FinishedStep], rate: f64) -> (u32, Option<&'a FinishedStep>) {
        let tried = finished.iter().filter(|f| f.step.name.starts_with("depth-"));
        let (enough, less): (Vec<&FinishedStep>, Vec<&FinishedStep>) =
            tried.partition(|f| f.iops >= GIVES * rate);
        let enough = enough.into_iter().min_by_key(|f| f.step.iodepth);
        let below = enough.map_or(u32::MAX, |f| f.step.iodepth);
        let too_small = less.iter().map(|f| f.step.iodepth).filter(|depth| *depth < below).max();
        (too_small.unwrap_or(0), enough)
    }

    fn next_depth(&self, finished: &[FinishedStep], rate: f64) -> Option<Step> {
        let (too_small, enough) = self.depths(finished, rate);
        let deepest = self.base.iodepth;
        let depth = match enough.map(|f| f.step.iodepth) {
            Some(enough) if enough <= too_small + 1 => return None,
            Some(enough) => too_small + (enough - too_small) / 2,
            None if too_small >= deepest => return None,
            None if too_small > 0 => too_small.saturating_mul(2).min(deepest),
            None => {
                // Little's law: the requests that the load itself had in flight.
                let trial = finished.iter().rfind(|f| f.step.rate_iops == Some(rate))?;
                let each = (trial.in_flight / f64::from(self.base.numjobs)).ceil() as u32;
                each.clamp(1, deepest)
            }
        };
        Some(self.at_depth(depth))
    }

    pub(super) fn depth(&self, finished: &[FinishedStep], rate: f64) -> Option<SloDepth> {
        let (too_small, enough) = self.depths(finished, rate);
        let enough = enough?;
        let held = self.held(enough);
        Some(SloDepth {
            iodepth: enough.step.iodepth,
            numjobs: enough.step.numjobs,
            iops: enough.iops,
            value_ns: held.value_ns,
            unsure: held.unsure(),
            too_small,
        })
    }
}

#[cfg(test)]
mod tests;

//! The answer of a search for the highest load, from its finished steps, in one sentence and notes.

use super::FinishedStep;
use super::course_of::CourseOf;
use super::slo_course::{Bracket, CEILING, IOS_BEYOND, LONGEST_TRIAL, NARROW, named};
use volproof_base::hist::bucket;
use volproof_base::unit::{Bytes, Nanos, grouped, significant};
use volproof_plan::{Pattern, SloSearch, Step};
use volproof_promise::catalogue::Promise;
use volproof_record::promise_direction;
use volproof_record::{JudgedPromise, SloAnswer, TrialOutcome};

/// Longer trials are not named by their length: nobody runs them.
const DAY: Nanos = Nanos::seconds(24 * 3600);

/// The burst of a type, beside the load of a course.
pub(super) struct TypeBurst {
    /// I/Os a second that the type gives without its burst.
    pub(super) baseline: f64,
    /// The time for which a full bucket lasts; absent where nothing is published.
    pub(super) lasts: Option<Nanos>,
}

/// I/Os a second that are promised for a pattern at a block size.
pub(super) fn promised_iops(promise: &Promise, rw: Pattern, block: Bytes) -> Option<f64> {
    Some(promise.least(block, promise_direction(rw)?)?.iops)
}

impl TypeBurst {
    /// None for a type without a burst above its baseline.
    pub(super) fn in_promise(promise: &Promise, load: &Step) -> Option<TypeBurst> {
        let bursts = promise.volumes.iter().filter_map(|v| v.level.burst.as_ref());
        let seconds: Vec<Option<f64>> = bursts.map(|b| b.seconds).collect();
        let longest = seconds.iter().copied().reduce(|a, b| Some(a?.max(b?)))?;
        let lasts = longest.map(|seconds| Nanos::seconds(seconds.ceil() as u64));
        let baseline = promised_iops(promise, load.rw, load.single_block()?)?;
        Some(TypeBurst { baseline, lasts })
    }

    /// The burst may have given a rate for the whole confirmation.
    fn may_give(&self, rate: f64, confirmed: Option<Nanos>) -> bool {
        let ended = confirmed.zip(self.lasts).is_some_and(|(time, lasts)| time > lasts);
        rate > self.baseline && !ended
    }

    fn note(&self) -> String {
        let baseline = grouped(self.baseline.round() as u64);
        let longer = match self.lasts {
            Some(lasts) => format!(
                "which lasts up to {}: --confirm {} outlasts it",
                lasts.clock(),
                Nanos(lasts.0 / 10 * 11).exact()
            ),
            None => "whose length is not published: give a longer --confirm".into(),
        };
        format!("the type has a baseline of {baseline} IOPS and a burst, {longer}")
    }
}

/// How far a search came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Searched {
    /// Loads are left to try between the one that holds and the one that is refused.
    Partly,
    /// The highest load that the depth allows holds.
    ToTheEdge,
    /// The bracket is narrow.
    Wholly,
}

impl Searched {
    fn from_bracket(bracket: &Bracket, most: Option<&FinishedStep>) -> Searched {
        let high = bracket.refused.or(most.map(|f| f.iops * CEILING)).unwrap_or(f64::INFINITY);
        match bracket.refused {
            _ if high > bracket.holds * (1.0 + NARROW) => Searched::Partly,
            None => Searched::ToTheEdge,
            Some(_) => Searched::Wholly,
        }
    }
}

/// How little load stands to the limit.
struct AgainstLimit {
    /// One request after another breaks it.
    alone_fails: bool,
    /// At the rate of the first trial, more than half of the responses are above it.
    first_load_mostly_above: bool,
}

impl CourseOf<'_, SloSearch> {
    /// The answer so far; none before the first step has finished.
    pub(super) fn slo_answer(
        &self,
        finished: &[FinishedStep],
        judged_promise: Option<&JudgedPromise>,
    ) -> Option<SloAnswer> {
        let unloaded = self.held(named(finished, "unloaded")?);
        let most = named(finished, "most");
        let trials = self.trials(finished);
        let bracket = self.bracket(&trials);
        let holds = (bracket.holds > 0.0).then_some(bracket.holds);
        let confirmations =
            trials.iter().filter(|t| bracket.confirmed && t.offered_per_second == bracket.holds);
        let confirmed_ns = confirmations.map(|t| t.runtime_ns).max();
        let counted = self.counted(&trials);
        let failed = counted.iter().filter(|t| t.outcome.fails());
        let lowest = failed.map(|t| t.offered_per_second).fold(f64::INFINITY, f64::min);
        let kept = counted.iter().filter(|t| t.outcome == TrialOutcome::Holds);
        // Two long trials of one load that contradict each other are no warm-up: credits that came back do that.
        let contradicted = (0..trials.len())
            .any(|i| trials[i].outcome.fails() && self.is_long(&trials[i]) && self.is_withdrawn(&trials, i));
        let fell_to = holds.and_then(|rate| self.fell_since(finished, rate));
        let monotone = kept.map(|t| t.offered_per_second).fold(0.0, f64::max) < lowest
            && !contradicted
            && fell_to.is_none();
        let depth = holds.and_then(|rate| self.depth(finished, rate));
        let burst = judged_promise.and_then(|c| TypeBurst::in_promise(&c.promise, &self.base));
        let is_within = burst.as_ref().is_some_and(|b| b.may_give(bracket.holds, confirmed_ns));
        let within_burst = holds.is_some() && is_within;
        let block = self.base.single_block();
        let promised = judged_promise.and_then(|judged| promised_iops(&judged.promise, self.base.rw, block?));
        let tolerance = judged_promise.map_or(0.0, |judged| judged.tolerance);
        let is_shown = promised.zip(most).is_some_and(|(rate, most)| most.iops >= rate * (1.0 - tolerance));
        let promise_open = judged_promise.is_some() && !is_shown;
        let mut answer = SloAnswer {
            sentence: String::new(),
            rw: self.base.rw,
            figure: self.figure,
            limit_ns: self.limit,
            unloaded_ns: unloaded.value_ns,
            unloaded_unsure: unloaded.unsure(),
            unloaded_spoilt_by: named(finished, "unloaded")?.spoilt_by.clone(),
            most_iops: most.map(|f| f.iops),
            holds_per_second: holds,
            refused_per_second: bracket.refused,
            confirmed_ns,
            complete: self.is_complete(finished, &trials),
            monotone,
            within_burst,
            promise_open,
            depth,
            trials,
            notes: Vec::new(),
        };
        let end = Searched::from_bracket(&bracket, most);
        answer.notes = self.notes(&answer, most, end, fell_to);
        let lacks = match promised {
            Some(rate) => format!(
                "a closed loop did less than the {} IOPS that are promised",
                grouped(rate.round() as u64)
            ),
            None => "the promise says nothing of this load".into(),
        };
        if promise_open {
            let options = judged_promise.map_or(String::new(), |judged| judged.options.join(" "));
            answer.notes.push(format!(
                "{lacks}, and a search does not judge why: `volproof run TARGET {options}` holds the volume against the promise"
            ));
        }
        answer.notes.extend(burst.filter(|_| within_burst).map(|b| b.note()));
        let seen = AgainstLimit {
            alone_fails: unloaded.outcome == TrialOutcome::Fails,
            first_load_mostly_above: named(finished, "load-1")
                .is_some_and(|first| first.median() > Some(self.limit)),
        };
        if seen.alone_fails && holds.is_some() {
            answer.notes.push(format!(
                "one request after another has a {} of {}; fewer a second keep the limit",
                self.figure,
                unloaded.value_ns.unwrap_or_default()
            ));
        }
        answer.sentence = self.sentence(&answer, &seen, end, fell_to);
        if promise_open && holds.is_some() {
            let found = answer.sentence.trim_end_matches('.');
            answer.sentence = format!("{found}; the promise is not shown: {lacks}.");
        }
        Some(answer)
    }

    fn sentence(
        &self,
        answer: &SloAnswer,
        seen: &AgainstLimit,
        end: Searched,
        fell_to: Option<f64>,
    ) -> String {
        let limit = format!("{} of at most {}", self.figure, self.limit);
        let rate = significant;
        let Some(holds) = answer.holds_per_second else { return self.sentence_without_load(answer, seen) };
        let sure = match answer.confirmed_ns {
            Some(time) => format!("confirmed for {}", time.clock()),
            None => "not confirmed".into(),
        };
        let mut text = match answer.refused_per_second {
            _ if let Some(fell_to) = fell_to => format!(
                "{} IOPS kept a {limit} in a trial ({sure}), but of as much load the volume later completed only {} IOPS: it may not last",
                rate(holds),
                rate(fell_to)
            ),
            // A trial that credits carried for its whole time looks like this.
            Some(_) if !answer.monotone => format!(
                "{} IOPS kept a {limit} in a trial ({sure}), but a load failed that another trial of it or of a higher one kept: it may not last",
                rate(holds)
            ),
            Some(refused) => format!(
                "{} IOPS keeps a {limit} ({sure}), {} IOPS is not shown to keep it",
                rate(holds),
                rate(refused)
            ),
            None if end == Searched::Partly => {
                format!("{} IOPS keeps a {limit} ({sure}), and more may keep it too", rate(holds))
            }
            None => format!(
                "{} IOPS keeps a {limit} ({sure}), and more may keep it too: it is all that the depth of the search allows",
                rate(holds)
            ),
        };
        if answer.within_burst {
            text += "; it is above the baseline of the type, so that it may last no longer than the burst";
        }
        if let Some(depth) = &answer.depth {
            let jobs = if depth.numjobs > 1 { format!(" of {} jobs", depth.numjobs) } else { String::new() };
            text += &format!("; depth {}{jobs} is the smallest that reaches it", depth.iodepth);
            // Without a rate, requests follow one another at once: more of them meet than at the same rate in open loop.
            let above = depth.value_ns.filter(|value| bucket(value.0) > bucket(self.limit.0));
            if let Some(value) = above.filter(|_| depth.unsure.is_none()) {
                text += &format!(", but without a rate its {} is {value}, above the limit", self.figure);
            }
        }
        if !answer.complete {
            text += "; the search was not finished";
        }
        text + "."
    }

    /// The answer where no load is known to keep the limit.
    fn sentence_without_load(&self, answer: &SloAnswer, seen: &AgainstLimit) -> String {
        let limit = format!("{} of at most {}", self.figure, self.limit);
        let rate = significant;
        let alone = answer.unloaded_ns.unwrap_or_default();
        let first = answer.trials.first().filter(|t| t.outcome == TrialOutcome::Fails);
        match (answer.refused_per_second, first) {
            (None, _) if seen.alone_fails => {
                let why = match answer.unloaded_spoilt_by.as_slice() {
                    [] => "and no lower rate was tried".to_string(),
                    codes => {
                        format!("in a step that does not show what the volume can do ({})", codes.join(", "))
                    }
                };
                format!(
                    "Not decided whether a load has a {limit}: one request alone has a {} of {alone}, {why}.",
                    self.figure
                )
            }
            (Some(refused), Some(first)) if seen.alone_fails && first.spoilt_by.is_empty() => {
                // Where most requests keep the limit, a still lower load may.
                let word =
                    if seen.first_load_mostly_above { "No load has" } else { "No load was found with" };
                let value = first.value_ns.unwrap_or(alone);
                format!(
                    "{word} a {limit}: one request alone already has a {} of {value}, even at {} IOPS.",
                    self.figure,
                    rate(refused)
                )
            }
            (Some(_), _) if let Some(open) = self.undecided(&answer.trials) => {
                let needed = match self.needed(open) {
                    needed if needed > DAY => "of more than a day".into(),
                    needed => format!("of about {}", needed.clock()),
                };
                format!(
                    "Not decided whether a load has a {limit}: {} IOPS is shown neither to keep it nor to exceed it within {}, and less load decides no more: trials {needed} are needed",
                    rate(open.offered_per_second),
                    open.runtime_ns.clock()
                ) + "."
            }
            (Some(refused), _) => {
                let lower = if answer.complete {
                    ""
                } else {
                    ", and the search was not finished: less load may keep it"
                };
                let mut of_load = answer.trials.iter().filter(|t| t.offered_per_second == refused);
                let why = match of_load.find(|t| t.outcome == TrialOutcome::Fails) {
                    None => "is not shown to keep it",
                    Some(t) if t.spoilt_by.is_empty() => "already exceeds it",
                    Some(_) => "exceeds it in a trial that does not show what the volume can do",
                };
                format!("No load was found with a {limit}: {} IOPS {why}{lower}.", rate(refused))
            }
            (None, _) if answer.trials.is_empty() => "No load has been tried yet.".into(),
            (None, _) => "No load is decided: the search was not finished.".into(),
        }
    }

    fn notes(
        &self,
        answer: &SloAnswer,
        most: Option<&FinishedStep>,
        end: Searched,
        fell_to: Option<f64>,
    ) -> Vec<String> {
        let mut notes = Vec::new();
        let Some(most) = most else { return notes };
        if !answer.monotone {
            let seen = match fell_to {
                Some(fell_to) => format!(
                    "a step after the last confirmation completed {} IOPS, although as much was asked for",
                    significant(fell_to)
                ),
                None => "a load failed although another trial of the same or of a higher load kept the limit"
                    .into(),
            };
            notes.push(format!(
                "not monotone: {seen}. Burst credits or a neighbour may cause that, and so may a trial too short for a queue that grows slowly: give a \
                 longer --confirm to see which load holds for long"
            ));
        }
        let mut failed = (0..answer.trials.len()).filter(|i| answer.trials[*i].outcome.fails());
        if let Some(i) = failed.rfind(|i| self.is_withdrawn(&answer.trials, *i)) {
            notes.push(format!(
                "the volume became faster during the search: {} IOPS failed at first and held later; what was refused before that counts no more",
                significant(answer.trials[i].offered_per_second)
            ));
        }
        if end == Searched::ToTheEdge {
            notes.push(format!(
                "the most lies at the edge of the range: give --iodepth above {} or more --numjobs",
                self.base.iodepth
            ));
        }
        let mut codes: Vec<&str> = answer
            .trials
            .iter()
            .flat_map(|t| &t.spoilt_by)
            .chain(&most.spoilt_by)
            .map(String::as_str)
            .collect();
        codes.sort_unstable();
        codes.dedup();
        if !codes.is_empty() {
            notes.push(format!(
                "some steps do not show what the volume can do ({}): `volproof show RECORD --details` says why",
                codes.join(", ")
            ));
        }
        if let Some(share) = self.figure.share() {
            let rate = most.iops * CEILING / 2.0;
            let needed = IOS_BEYOND / (rate.max(1e-9) * (1.0 - share));
            if answer.trials.is_empty() && needed > LONGEST_TRIAL.as_seconds() {
                notes.push(format!(
                    "a {} needs trials of {} at {} IOPS: limit a lower percentile",
                    self.figure,
                    Nanos::seconds(needed as u64).clock(),
                    grouped(rate as u64)
                ));
            }
        }
        if self.budget.is_some() && answer.holds_per_second.is_some() {
            if answer.confirmed_ns.is_none() {
                notes.push("left out for lack of time: the confirmation".into());
            }
            if answer.depth.is_none() {
                notes.push("left out for lack of time: the depth that gives the load".into());
            }
        }
        notes
    }
}

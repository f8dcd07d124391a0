//! The answer of a Record in one sentence: the page, the text and `--quiet` begin with it.
//!
//! Nothing is decided here; outcome and figures are those of the verdict.

use super::claim_words;
use super::grouped_remarks::grouped_doubts;
use super::verdict_sentence::answer;
use volproof_base::doubt::Severity;
use volproof_base::sample::Direction;
use volproof_base::unit::{Nanos, percent, significant, throughput};
use volproof_judge as judge;
use volproof_judge::{Conclusion, gravest};
use volproof_record::{
    ComparedWord, CourseAnswer, DirectionSummary, LatencySummary, Outcome, Record, ReportComparison, State,
    StepRecord, Verdict,
};

/// The head of every result.
pub struct Headline {
    /// The verdict, where a promise was judged.
    pub outcome: Option<Outcome>,
    /// The word in front: PASS, FAIL, ..., INTERRUPTED; empty for a run that went well without a promise.
    pub word: &'static str,
    /// The answer.
    pub sentence: String,
    /// The promise that was judged; empty without one.
    pub against: String,
    /// Why the run is not whole; empty where it is.
    pub ended: String,
    /// Why the promise is not decided or cannot be judged; empty where it is.
    pub undecided: String,
    /// A device in virtual time was played: nothing was measured of any volume.
    pub simulated: bool,
}

impl Headline {
    /// The head of a Record.
    pub fn of_record(record: &Record) -> Headline {
        let record = &*record.in_lines();
        let judged = judge::judged(record).1;
        let conclusion = Conclusion::from_record(record);
        let outcome = judged.as_ref().and_then(|v| v.outcome);
        let compared = record.compared.as_ref().map(claim_words::compared_with);
        Headline {
            outcome,
            word: conclusion.word(),
            sentence: match (&record.compared, &judged) {
                (Some(compared), _) if !compared.rows.is_empty() => compared_sentence(compared),
                (Some(_), _) => measured(record),
                (None, Some(verdict)) => answer(record, verdict),
                (None, None) => measured(record),
            },
            against: compared
                .or_else(|| judged.as_ref().map(against))
                .or_else(|| against_of_suite(record))
                .unwrap_or_default(),
            ended: ended(record, &conclusion, outcome),
            undecided: judged
                .as_ref()
                .filter(|v| v.outcome != Some(Outcome::Fail))
                .map_or_else(String::new, why),
            simulated: record.is_simulated(),
        }
    }

    /// The head as one line: the whole output of `--quiet`.
    pub fn line(&self) -> String {
        let lead = if self.word.is_empty() { String::new() } else { format!("{}  ", self.word) };
        let against = if self.against.is_empty() { String::new() } else { format!(" ({})", self.against) };
        let notes = [&self.ended, &self.undecided].into_iter().filter(|note| !note.is_empty());
        let notes: String = notes.map(|note| format!(" [{note}]")).collect();
        let simulated = if self.simulated { "SIMULATED  " } else { "" };
        format!("{lead}{simulated}{}{against}{notes}\n", self.sentence)
    }
}

/// The figure of a report that stands first, in a sentence.
fn compared_sentence(c: &ReportComparison) -> String {
    let Some(words) = c.first().map(claim_words::of_compared) else { return String::new() };
    let all = match c.rows.len() {
        n if n > 1 && c.rows.iter().all(|row| row.word == ComparedWord::Kept) => {
            format!(", as all {n} figures")
        }
        _ => String::new(),
    };
    format!("{}: {} in this report{all}.", words.line(), words.word)
}

/// Which steps earlier runs measured that were interrupted, and when those runs began; empty where one run measured all.
pub fn resumed(record: &Record) -> String {
    let of_run = |step: &StepRecord| step.earlier_run.clone();
    let runs = record.steps.chunk_by(|a, b| of_run(a) == of_run(b));
    let parts = runs.filter_map(|steps| {
        let [first, last] = [steps.first()?, steps.last()?].map(|step| step.name.as_str());
        let which = match steps.len() {
            1 => format!("step {first}"),
            n => format!("{n} steps, {first} to {last},"),
        };
        Some(format!("{which} from the run that began {}", steps[0].earlier_run.as_ref()?))
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { String::new() } else { format!("resumed, with {}", parts.join(" and ")) }
}

/// Why a run is not whole or its figures show nothing; empty for one that went well. A verdict on what was measured until then stands beside it.
fn ended(record: &Record, conclusion: &Conclusion, outcome: Option<Outcome>) -> String {
    // A verdict that judges nothing does not say that nothing of it is valid.
    let all_void = || record.steps.iter().all(|step| record.is_void(step));
    let decides_nothing = matches!(conclusion, Conclusion::Judged(None) | Conclusion::Compared(_));
    if *conclusion == Conclusion::NotValid || (decides_nothing && all_void()) {
        return why_void(record);
    }
    if let (Conclusion::MeasuredNothing, Some(step)) = (conclusion, record.dead_step()) {
        return format!("no I/O of {} completed", step.name);
    }
    match (record.state.cut_short(), outcome) {
        _ if record.state == State::Interrupted && record.measured_nothing() => String::new(),
        (Some(why), Some(outcome)) if conclusion.word() != outcome.name() => {
            format!("{why}; the verdict on what was measured: {}", outcome.name())
        }
        (Some(why), None) if record.report.is_none() && !record.measured_nothing() && all_void() => {
            format!("{why}, which is not valid: {}", why_void(record))
        }
        (why, _) => why.unwrap_or_default().to_string(),
    }
}

/// The first doubt that voids figures; empty where none does.
fn why_void(record: &Record) -> String {
    let groups = grouped_doubts(&record.doubts);
    let blocker = groups.iter().find(|group| group.of.severity == Severity::Blocker);
    blocker.map_or_else(String::new, |group| group.words(&group.of.message))
}

/// The promise that the checks of a suite are held against; none where they are held against none.
pub fn against_of_suite(record: &Record) -> Option<String> {
    let Some(CourseAnswer::Suite(suite)) = &record.answer else { return None };
    let promise = record.judged_promise.as_ref().filter(|_| suite.outcome.is_some())?;
    Some(held_against(&judge::against(promise), Some(promise.tolerance)))
}

/// A promise in words, with the tolerance of figures that are held against it.
fn held_against(what: &str, tolerance: Option<f64>) -> String {
    let tolerance = tolerance.map_or(String::new(), |share| format!(", tolerance {}", percent(share)));
    format!("against {what}{tolerance}")
}

/// The promise that was judged.
pub fn against(v: &Verdict) -> String {
    let untested: Vec<&str> = v.untested.iter().map(|u| u.title()).collect();
    let rest = match untested.as_slice() {
        [] => String::new(),
        [one] => format!("; {one} was not tested"),
        [first, rest @ ..] => {
            let all = rest.iter().fold(first.to_string(), |all, one| all + " and " + one);
            format!("; {all} were not tested")
        }
    };
    let tolerates = v.claims.iter().any(|c| c.need.is_none()) || (v.claims.is_empty() && v.tolerance > 0.0);
    held_against(&v.against, tolerates.then_some(v.tolerance)) + &rest
}

/// Why a verdict is what it is: the reason of the claim that stands first, with its step, or what was not tested; empty where nothing is to be said.
pub fn why(v: &Verdict) -> String {
    match gravest(v) {
        Some(c) if c.reason.is_empty() => String::new(),
        Some(c) => format!("{}: {}", c.row_step(), c.reason),
        None => untested(v),
    }
}

/// Why no claim decides a verdict: the first part that was not tested.
fn untested(v: &Verdict) -> String {
    v.untested.first().map_or_else(String::new, |u| format!("{}: {}", u.title(), u.reason))
}

/// The sentence of a result that no promise was held against, each figure with the step it comes from.
pub fn measured(record: &Record) -> String {
    if let Some(answer) = &record.answer {
        return answer.sentence().to_string();
    }
    let tests = || record.tests().filter(|step| !record.plan.is_precondition(&step.name));
    let all: Vec<(&StepRecord, &DirectionSummary)> =
        tests().filter_map(|step| Some((step, whole(step)?))).collect();
    match all.as_slice() {
        [] if tests().count() < record.steps.len() => {
            "Nothing was measured: the run ended with its preconditioning.".into()
        }
        [] if tests().any(StepRecord::moved) => "The report has no time, so there is no rate.".into(),
        [] => "Nothing was measured.".into(),
        // In a cross-check the steps are repeats, and the best of them is no result.
        _ if !record.cross_checks.is_empty() => "volproof and fio, measured in turns.".into(),
        [(step, s)] => {
            let size = record.conditions(step).single_block();
            let size = size.map(|b| format!(" of {b}")).unwrap_or_default();
            // A write that is flushed is done when the flush is.
            let (latency, of) = match &step.sync {
                Some(sync) => (&sync.service_latency_ns, "the flushes"),
                None => (s.latency(), "them"),
            };
            let slowest = quotable_p99(latency).map(|p| format!(", 99 % of {of} within {p}"));
            format!("{} {}{size} a second{}.", significant(s.iops), ios(step), slowest.unwrap_or_default())
        }
        many => of_many(record, many),
    }
}

/// A step, and its figures as a whole.
type Measured<'a> = (&'a StepRecord, &'a DirectionSummary);

/// The best figures of several steps. Where some are void, the others have them; where all are, writes that waited for their flush come before
/// those that memory took.
fn of_many(record: &Record, all: &[Measured<'_>]) -> String {
    let valid: Vec<Measured<'_>> = all.iter().copied().filter(|(step, _)| !record.is_void(step)).collect();
    let noun = if record.report.is_some() { "runs" } else { "steps" };
    let lead = match (valid.len(), all.len()) {
        (0, n) => format!("None of the {n} {noun} is valid: up to"),
        (1, n) => format!("1 of {n} {noun} is valid: up to"),
        (of, n) if of < n => format!("{of} of {n} {noun} are valid: up to"),
        _ => "Up to".into(),
    };
    let flushed: Vec<Measured<'_>> =
        all.iter().copied().filter(|(step, _)| is_flushed(record, step)).collect();
    let many = [valid.as_slice(), &flushed, all].into_iter().find(|steps| !steps.is_empty()).unwrap_or(all);
    let (rate, bytes) = (best_of(many, |s| s.iops), best_of(many, |s| s.bytes_per_second));
    let mut out = format!(
        "{lead} {} IOPS ({}) and {} ({})",
        significant(rate.1.iops),
        rate.0.name,
        throughput(bytes.1.bytes_per_second),
        bytes.0.name,
    );
    if let Some((name, p50)) = shortest_median(record, many) {
        out += &format!("; the shortest median latency is {p50} ({name})");
    } else if let Some((name, mean)) = shortest_durable(many) {
        out += &format!("; the shortest mean of a write and its flush is {mean} ({name})");
    }
    out + "."
}

/// The step with the shortest mean of a write and its flush, where a report such as that of pg_test_fsync has no percentiles.
fn shortest_durable<'a>(many: &[Measured<'a>]) -> Option<(&'a str, Nanos)> {
    let mut shortest: Option<(&str, Nanos)> = None;
    for (step, _) in many {
        let Some(latency) = step.reported.as_ref().and_then(|r| r.durable_writes()) else { continue };
        let mean = Nanos(latency.mean.round() as u64);
        if shortest.is_none_or(|(_, best)| mean < best) {
            shortest = Some((&step.name, mean));
        }
    }
    shortest
}

/// Whether writes of a step waited for a flush.
fn is_flushed(record: &Record, step: &StepRecord) -> bool {
    step.sync.is_some() || record.conditions(step).fsync.get().is_some_and(|every| every > 0)
}

/// The step with the most of a figure, of equal ones the first.
fn best_of<'a>(many: &[Measured<'a>], figure: fn(&DirectionSummary) -> f64) -> Measured<'a> {
    many[1..].iter().fold(many[0], |best, next| if figure(next.1) > figure(best.1) { *next } else { best })
}

/// The shortest median latency of steps with one request at a time: with more in flight a latency is that of the queue, and of a buffered
/// write that of a copy into the page cache.
fn shortest_median<'a>(record: &Record, many: &[Measured<'a>]) -> Option<(&'a str, Nanos)> {
    let mut shortest: Option<(&str, Nanos)> = None;
    for (step, s) in many {
        let is_copy = step.sync.is_none() && record.conditions(step).direct.get() == Some(false);
        if is_copy || record.depth_per_target(step) != Some(1) {
            continue;
        }
        let latency = step.sync.as_ref().map_or(&s.service_latency_ns, |sync| &sync.service_latency_ns);
        let Some(p50) = latency.percentiles.get("50").copied() else { continue };
        if shortest.is_none_or(|(_, best)| p50 < best) {
            shortest = Some((&step.name, p50));
        }
    }
    shortest
}

/// The latency that 99 % keep, unless the table marks it as one that is not to be quoted.
fn quotable_p99(latency: &LatencySummary) -> Option<&Nanos> {
    let unsettled = latency.censored > 0 || latency.unsettled.iter().any(|p| p == "99");
    latency.percentiles.get("99").filter(|_| !unsettled)
}

/// The figures of a step as a whole: of its one direction, or of its mix. None where it only flushed.
fn whole(step: &StepRecord) -> Option<&DirectionSummary> {
    let data = || step.directions().filter(|(d, _)| *d != Direction::Sync);
    step.total.as_ref().or_else(|| data().max_by(|a, b| a.1.iops.total_cmp(&b.1.iops)).map(|(_, s)| s))
}

/// The I/Os of a step in words: `reads and writes`.
fn ios(step: &StepRecord) -> String {
    let data = step.directions().filter(|(d, _)| *d != Direction::Sync);
    let names: Vec<String> = data.map(|(d, _)| format!("{}s", d.name())).collect();
    match &step.reported {
        Some(reported) if names.is_empty() => reported.mixed_name().into(),
        _ => names.join(" and "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_base::stats::limit_answer::ClaimAnswer;
    use volproof_record::{Claim, Metric};

    #[test]
    fn the_claim_that_misses_its_promise_by_most_is_told_first() {
        let open = |step: &str, metric, promised: f64, measured: f64, more: Option<u64>| {
            let found = ClaimAnswer::open(measured, promised, None, more);
            Claim::new(step, metric, Outcome::Inconclusive, promised, found, "a reason".into())
        };
        let verdict = |claims| Verdict {
            outcome: Some(Outcome::Inconclusive),
            against: String::new(),
            tolerance: 0.02,
            claims,
            beyond: Vec::new(),
            untested: Vec::new(),
            notes: Vec::new(),
        };
        let first = |claims| gravest(&verdict(claims)).map(|c| c.step.clone());
        let rate = open("rate", Metric::Iops, 3000.0, 200.0, Some(52));
        let latency = open("latency", Metric::Latency, 1e6, 5e6, None);
        assert_eq!(first(vec![latency.clone(), rate.clone()]).as_deref(), Some("rate"));
        // More than is promised misses nothing, whatever decides it.
        let excess = open("excess", Metric::Throughput, 125e6, 200e6, None);
        assert_eq!(first(vec![excess.clone(), rate]).as_deref(), Some("rate"));
        let short = open("short", Metric::Iops, 3000.0, 3010.0, Some(52));
        assert_eq!(first(vec![short, excess]).as_deref(), Some("excess"), "more time does not decide it");
    }
}

//! A suite as a course: its phases one after another, each for its rounds. The answer has the checks, the rounds and the points.

use super::course_of::CourseOf;
use super::finished::Finished;
use super::forecast::SHORTEST_STEP;
use super::steady::{self, ROUNDS, SteadyWindow};
use super::suite_family::{SuiteFamily, family};
use super::{Course, FinishedStep, Forecast, cold_blocks, contract_checks, point, procedures, snia};
use volproof_base::stats::moments::mean;
use volproof_base::stats::percentile::printable;
use volproof_base::unit::{Nanos, significant, total};
use volproof_plan::{Phase, Step, Suite, SuiteName, TrackedFigure};
use volproof_record::{
    CourseAnswer, JudgedPromise, Outcome, SuiteAnswer, SuiteCheck, SuitePoint, SuiteRounds,
};

/// Samples a minute, on the grid of 100 ms.
const MINUTE: usize = 600;

impl CourseOf<'_, Phase> {
    fn round<'a>(&self, finished: &Finished<'a>, step: &Step, round: u32) -> Option<&'a FinishedStep> {
        finished.get(&self.step_name(step, round))
    }

    /// The tracked figure in each finished round.
    pub(super) fn tracked(&self, finished: &Finished<'_>) -> Vec<f64> {
        let Some(tracked) = &self.until_steady else { return Vec::new() };
        let Some(step) = self.steps.iter().find(|s| s.name == tracked.step) else { return Vec::new() };
        let found = (1..=tracked.most).map_while(|round| self.round(finished, step, round));
        found.map(|f| value_of(tracked.figure, f)).collect()
    }

    /// The next step of the phase that has not finished; none at its end.
    fn next(&self, finished: &Finished<'_>) -> Option<Step> {
        for round in 1..=self.most_rounds() {
            if round > 1 && steady::reached(&self.tracked_before(finished, round)).is_some() {
                return None;
            }
            let open = self.steps.iter().position(|step| self.round(finished, step, round).is_none());
            if let Some(place) = open {
                return Some(self.step(place, round));
            }
        }
        None
    }

    fn tracked_before(&self, finished: &Finished<'_>, round: u32) -> Vec<f64> {
        let mut values = self.tracked(finished);
        values.truncate(round as usize - 1);
        values
    }

    /// The rounds so far, held to the rule of the steady state; none for a phase of one round, and before its first.
    fn rounds(&self, finished: &Finished<'_>) -> Option<SuiteRounds> {
        let tracked = self.until_steady.as_ref()?;
        let values = self.tracked(finished);
        let reached = steady::reached(&values).map(|(round, _)| round);
        let end = reached.unwrap_or(values.len());
        let window = end.checked_sub(ROUNDS).map(|from| &values[from..end]);
        let judged = window.and_then(|w| SteadyWindow::judged(w.try_into().ok()?));
        let window_mean = window.map(mean);
        (!values.is_empty()).then(|| SuiteRounds {
            phase: self.name.clone(),
            step: tracked.step.clone(),
            figure: tracked.figure,
            reached: reached.map(|round| round as u32),
            window_mean,
            range_pct: judged.map(|w| w.range_pct),
            drift_pct: judged.map(|w| w.drift_pct),
            values,
        })
    }

    /// The finished runs of a step that count: those of the window, or the one of a phase without rounds.
    fn counted<'a>(&self, finished: &Finished<'a>, step: &Step) -> Vec<&'a FinishedStep> {
        let values = self.tracked(finished);
        let end = match &self.until_steady {
            None => 1,
            Some(_) => steady::reached(&values).map_or(values.len(), |(round, _)| round),
        };
        let from = (end + 1).saturating_sub(ROUNDS).max(1);
        (from..=end).filter_map(|round| self.round(finished, step, round as u32)).collect()
    }

    /// Time of one round, and the part of it in which data are written.
    fn time(&self) -> (u64, u64) {
        let writing = self.steps.iter().filter(|s| s.rw.changes_data());
        (total(self.steps.iter().map(step_time)), total(writing.map(step_time)))
    }
}

/// The tracked figure of a step.
fn value_of(figure: TrackedFigure, f: &FinishedStep) -> f64 {
    match figure {
        TrackedFigure::Iops => f.iops,
        TrackedFigure::BytesPerSecond => f.bytes_per_second,
        TrackedFigure::MeanLatency => f.mean_ns(),
        TrackedFigure::FirstMinute => {
            let first = &f.bins[..f.bins.len().min(MINUTE)];
            total(first.iter().copied()) as f64 * 10.0 / first.len().max(1) as f64
        }
    }
}

/// Time of a step, in nanoseconds.
fn step_time(step: &Step) -> u64 {
    let amount =
        step.io_size.map(|a| a.0.saturating_mul(u64::from(step.numjobs)) / (Step::FORECAST_RATE.0 / 1000));
    let moved = amount.map(|ms| ms.saturating_mul(1_000_000));
    let longest = if step.runtime.0 == 0 { u64::MAX } else { step.runtime.0 };
    total([step.delay.0, step.ramp.0, moved.map_or(step.runtime.0, |moved| moved.min(longest))])
}

/// Whether a step moves an amount that takes longer than the shortest timed step. The groups of blocks of C7 take milliseconds.
fn is_long_pass(step: &Step) -> bool {
    step.ends_by_amount() && step_time(step) > SHORTEST_STEP.0
}

impl CourseOf<'_, Suite> {
    /// How long the suite takes.
    fn length(&self) -> Forecast {
        let mut forecast = Forecast::default();
        for phase in &self.phases {
            let (time, writing) = CourseOf(phase).time();
            let most = phase.most_rounds();
            let likely = if cold_blocks::is_within(phase, 1) { most.min(ROUNDS as u32) } else { 0 };
            forecast.worst_steps += phase.steps.len() * most as usize;
            forecast.likely_steps += phase.steps.len() * likely as usize;
            for (sum, time, rounds) in [
                (&mut forecast.worst, time, most),
                (&mut forecast.likely, time, likely),
                (&mut forecast.worst_writing, writing, most),
                (&mut forecast.likely_writing, writing, likely),
            ] {
                *sum = Nanos(sum.0.saturating_add(time.saturating_mul(u64::from(rounds))));
            }
        }
        forecast
    }

    /// The phases, with the looks at cold blocks that the finished ones left open.
    fn known_phases(&self, finished: &Finished<'_>) -> Vec<&Phase> {
        let looks = cold_blocks::looks_needed(finished);
        self.phases.iter().filter(|phase| cold_blocks::is_within(phase, looks)).collect()
    }

    fn checks(&self, finished: &Finished<'_>, judged_promise: Option<&JudgedPromise>) -> Vec<SuiteCheck> {
        match family(&self.name) {
            SuiteFamily::Contract => contract_checks::checks(self, finished, judged_promise),
            SuiteFamily::Procedure => procedures::checks(self, finished, judged_promise),
            SuiteFamily::Snia => {
                let phases = self.phases.iter().map(CourseOf);
                let judged = phases.filter_map(|phase| {
                    let is_over = phase.next(finished).is_none();
                    Some(snia::steady_check(&phase.rounds(finished)?, is_over, &self.source))
                });
                judged.collect()
            }
        }
    }

    fn suite_answer(
        &self,
        all: &[FinishedStep],
        judged_promise: Option<&JudgedPromise>,
    ) -> Option<SuiteAnswer> {
        if all.is_empty() {
            return None;
        }
        let finished = Finished::new(all);
        let phases = self.known_phases(&finished);
        let points: Vec<SuitePoint> = phases
            .iter()
            .flat_map(|phase| phase.steps.iter().map(move |step| (*phase, step)))
            .filter_map(|(phase, step)| {
                let runs = CourseOf(phase).counted(&finished, step);
                (!runs.is_empty()).then(|| suite_point(format!("{}-{}", phase.name, step.name), &runs))
            })
            .collect();
        let checks = self.checks(&finished, judged_promise);
        let mut notes = self.notes.clone();
        let is_procedure = family(&self.name) == SuiteFamily::Procedure;
        notes.extend(
            judged_promise.filter(|_| is_procedure).and_then(|promise| procedures::unheld(self, promise)),
        );
        notes.extend(self.left_out.iter().map(|what| format!("left out for lack of time: {what}")));
        let mut answer = SuiteAnswer {
            sentence: String::new(),
            suite: self.name.clone(),
            source: self.source.clone(),
            outcome: checks.iter().map(|check| check.outcome).max_by_key(|outcome| outcome.weight()),
            checks,
            rounds: phases.iter().filter_map(|phase| CourseOf(*phase).rounds(&finished)).collect(),
            points,
            notes,
        };
        answer.sentence = sentence(&answer);
        Some(answer)
    }
}

fn suite_point(step: String, runs: &[&FinishedStep]) -> SuitePoint {
    let mut service = runs[0].service.clone();
    runs[1..].iter().for_each(|f| service.merge(&f.service));
    let p99999 = service.quantile(0.99999).filter(|_| printable(service.count() as f64, 0.99999));
    SuitePoint {
        step,
        rw: runs[0].step.rw,
        point: point::of_runs(runs),
        p99999_ns: p99999,
        max_ns: service.quantile(1.0).unwrap_or_default(),
    }
}

fn sentence(answer: &SuiteAnswer) -> String {
    if answer.suite == SuiteName::Cold
        && let [check] = answer.checks.as_slice()
    {
        let word = match check.outcome {
            Outcome::Pass => "Nothing shows that blocks are still being loaded",
            Outcome::Fail => "The volume is still being loaded",
            Outcome::Inconclusive | Outcome::Invalid => "Not decided",
        };
        return format!("{word}: {}.", check.observed);
    }
    let [passed, failed, open, invalid] =
        [Outcome::Pass, Outcome::Fail, Outcome::Inconclusive, Outcome::Invalid].map(|outcome| {
            let of_outcome = answer.checks.iter().filter(|c| c.outcome == outcome);
            of_outcome.map(|c| c.code.as_str()).collect::<Vec<_>>()
        });
    let (passed, open) = (passed.len(), [open, invalid].concat());
    if answer.checks.is_empty() {
        let best = answer.points.iter().max_by(|a, b| a.point.iops.total_cmp(&b.point.iops));
        let most = best.map_or(String::new(), |p| {
            format!(": {} IOPS is the most ({})", significant(p.point.iops), p.step)
        });
        let steps = if answer.points.len() == 1 { "test" } else { "tests" };
        return format!("{} {steps} of {} ran, none is judged{most}.", answer.points.len(), answer.suite);
    }
    let verb = if passed == 1 { "passes" } else { "pass" };
    let mut text = match answer.checks.len() {
        1 if passed == 1 => format!("The one check of {} passes", answer.suite),
        all => format!("{passed} of {all} checks of {} {verb}", answer.suite),
    };
    if !failed.is_empty() {
        text += &format!("; {} fail{}", failed.join(", "), if failed.len() == 1 { "s" } else { "" });
    }
    if !open.is_empty() {
        let are = if open.len() == 1 { "is" } else { "are" };
        text += &format!("; {} {are} not decided", open.join(", "));
    }
    text + "."
}

impl Course for Suite {
    fn possible(&self) -> Vec<Step> {
        let phases = self.phases.iter();
        phases.flat_map(|phase| (0..phase.steps.len()).map(move |i| phase.step(i, 1))).collect()
    }

    fn next(&self, finished: &[FinishedStep]) -> Option<Step> {
        let finished = Finished::new(finished);
        CourseOf(self).known_phases(&finished).iter().find_map(|phase| CourseOf(*phase).next(&finished))
    }

    fn answer(
        &self,
        finished: &[FinishedStep],
        judged_promise: Option<&JudgedPromise>,
    ) -> Option<CourseAnswer> {
        CourseOf(self).suite_answer(finished, judged_promise).map(CourseAnswer::Suite)
    }

    fn forecast(&self) -> Forecast {
        CourseOf(self).length()
    }
}

/// Shortens a suite until it ends within a time limit: halves its timed steps, to 10 s at least, then allows fewer rounds, then limits
/// the steps that move an amount of data. The suite says what was left out.
///
/// # Errors
/// The shortest form of the suite does not end in time; the text says how long it takes.
pub fn shortened(suite: Suite, limit: Nanos) -> Result<Suite, String> {
    let mut short = suite.clone();
    let mut halvings = 0;
    while short.forecast().worst > limit && halvings < 8 {
        halvings += 1;
        for step in short.phases.iter_mut().flat_map(|p| &mut p.steps).filter(|s| !s.ends_by_amount()) {
            step.runtime = Nanos(step.runtime.0 / 2).max(SHORTEST_STEP.min(step.runtime));
        }
    }
    if halvings > 0 {
        short.left_out.push(format!("timed steps run for 1/{} of their time, 10 s at least", 1 << halvings));
    }
    let mut most = short.phases.iter().filter_map(|p| p.until_steady.as_ref()).map(|t| t.most).max();
    while let Some(rounds) = most.filter(|rounds| short.forecast().worst > limit && *rounds > ROUNDS as u32) {
        most = Some(rounds - 1);
        for tracked in short.phases.iter_mut().filter_map(|p| p.until_steady.as_mut()) {
            tracked.most = tracked.most.min(rounds - 1);
        }
    }
    if let Some(now) = most
        && short.phases.iter().zip(&suite.phases).any(|(a, b)| a.most_rounds() < b.most_rounds())
    {
        short.left_out.push(format!("rounds after the {now}th"));
    }
    if short.forecast().worst > limit {
        limit_passes(&mut short, limit)?;
    }
    Ok(short)
}

/// Gives the steps that move much the time that the others leave, each the same.
fn limit_passes(short: &mut Suite, limit: Nanos) -> Result<(), String> {
    let mut others = short.clone();
    others.phases.iter_mut().for_each(|phase| phase.steps.retain(|step| !is_long_pass(step)));
    let others = others.forecast().worst;
    let mut passes: Vec<&mut Step> =
        short.phases.iter_mut().flat_map(|p| &mut p.steps).filter(|step| is_long_pass(step)).collect();
    let room = limit.0.saturating_sub(others.0) / passes.len().max(1) as u64;
    let room = Nanos(room / 1_000_000_000 * 1_000_000_000);
    if passes.is_empty() || room < SHORTEST_STEP {
        return Err(format!(
            "--budget {} is too short: {} takes {} in its shortest form; give a longer time",
            limit.exact(),
            short.name,
            Nanos(total([others.0, passes.len() as u64 * SHORTEST_STEP.0])).clock()
        ));
    }
    passes.iter_mut().for_each(|step| step.runtime = room);
    short.left_out.push(format!("passes over the range end after {}", room.clock()));
    Ok(())
}

//! A suite as text: what it will do, its checks and its tables.

use super::latency_cells::compact;
use super::layout::{table, wrap};
use super::sweep_text::mark;
use volproof_base::unit::{Nanos, mebibytes, significant, throughput};
use volproof_plan::{Suite, TrackedFigure};
use volproof_record::{SuiteAnswer, SuiteCheck, SuitePoint, SuiteRounds};

/// A longer table hides the answer.
const MOST_POINTS: usize = 30;
/// The same without `--details`.
const MOST_SHORT_POINTS: usize = 12;

/// The suite before any I/O: its phases and steps.
pub fn question(suite: &Suite) -> String {
    let mut out = wrap("suite    ", &suite.name.to_string()) + &wrap("source   ", &suite.source);
    for phase in &suite.phases {
        let steps = phase.steps.len();
        let count = format!("{steps} step{}", if steps == 1 { "" } else { "s" });
        let text = match &phase.until_steady {
            None => format!("{}: {count}", phase.name),
            Some(t) => format!(
                "{}: rounds of {count}, {} rounds at most, until one figure is steady: {} of step {}",
                phase.name,
                t.most,
                t.figure.words(),
                t.step
            ),
        };
        out += &wrap("phase    ", &text);
    }
    out.extend(suite.notes.iter().map(|note| wrap("note     ", note)));
    out.extend(suite.left_out.iter().map(|what| wrap("left out ", what)));
    out
}

/// The checks.
pub(super) fn checks(suite: &SuiteAnswer) -> String {
    // The one check of `cold` is the sentence above it.
    let said = |check: &SuiteCheck| suite.sentence.contains(&check.observed);
    suite.checks.iter().map(|check| of_check(check, said(check))).collect()
}

/// The checks, each with what was seen; `--details` prints what it tests and its source.
pub(super) fn short_checks(suite: &SuiteAnswer) -> String {
    let mut out = String::from("\n");
    for check in &suite.checks {
        let lead = format!("{:13}", check.outcome.name());
        let said = suite.sentence.contains(&check.observed);
        let observed = if said { String::new() } else { format!(": {}", check.observed) };
        out += &wrap(&lead, &format!("{} {}{observed}", check.code, check.subject));
    }
    if suite.checks.is_empty() && suite.points.len() <= MOST_SHORT_POINTS {
        out += &format!("Each step ({})\n{}", suite.suite, points(&suite.points));
    }
    out
}

/// The rounds and the steps.
pub(super) fn tables(suite: &SuiteAnswer) -> String {
    let mut out: String = suite.rounds.iter().map(of_rounds).collect();
    if suite.points.len() <= MOST_POINTS {
        out += &format!("\nEach step ({})\n{}", suite.suite, points(&suite.points));
    }
    out
}

/// The sentences below them.
pub(super) fn sentences(suite: &SuiteAnswer) -> Vec<(&'static str, String)> {
    let text = format!("{} of them: `volproof show RECORD --csv` prints all", suite.points.len());
    let many = (suite.points.len() > MOST_POINTS).then_some(("steps", text));
    many.into_iter().chain([("source", suite.source.clone())]).collect()
}

fn of_check(check: &SuiteCheck, said: bool) -> String {
    let lead = format!("{:13}", check.outcome.name());
    let blank = " ".repeat(lead.len());
    format!(
        "\n{}{}{}",
        wrap(&lead, &format!("{}: {}", check.code, check.subject)),
        if said { String::new() } else { wrap(&blank, &check.observed) },
        wrap(&blank, &format!("tests that {} ({})", check.tests, check.source))
    )
}

/// A tracked figure of a round.
pub fn tracked(figure: TrackedFigure, value: f64) -> String {
    match figure {
        TrackedFigure::Iops | TrackedFigure::FirstMinute => format!("{} IOPS", significant(value)),
        TrackedFigure::BytesPerSecond => throughput(value),
        TrackedFigure::MeanLatency => Nanos(value.round() as u64).to_string(),
    }
}

fn of_rounds(rounds: &SuiteRounds) -> String {
    let all: Vec<String> = rounds.values.iter().map(|v| tracked(rounds.figure, *v)).collect();
    let lead = format!("\nRounds of {} ({})\n", rounds.phase, rounds.step);
    let mean = rounds
        .window_mean
        .map_or(String::new(), |m| wrap("  ", &format!("mean of the window: {}", tracked(rounds.figure, m))));
    lead + &wrap("  ", &all.join(", ")) + &mean
}

fn points(points: &[SuitePoint]) -> String {
    let latency = |value: Option<Nanos>| value.map_or("-".into(), compact);
    let row = |p: &SuitePoint| {
        vec![
            format!("{}{}", mark(&p.point), p.step),
            significant(p.point.iops),
            mebibytes(p.point.bytes_per_second),
            compact(Nanos(p.point.mean_ns.round() as u64)),
            latency(p.point.p99_ns),
            latency(p.point.p999_ns),
            latency(p.p99999_ns),
            compact(p.max_ns),
        ]
    };
    let header = ["Step", "IOPS", "MiB/s", "mean", "p99", "p99.9", "p99.999", "max"];
    table(&header, points.iter().map(row).collect())
}

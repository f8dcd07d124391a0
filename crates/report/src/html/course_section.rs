//! The section of a course on the page: its checks, charts and tables. The section shows what the answer says; nothing is judged here.

use super::course_charts::{CourseChart, of_rounds, of_slo, of_sweep};
use super::verdict_section::looks;
use crate::course_text;
use volproof_base::unit::micro;
use volproof_record::{CourseAnswer, Record, SuiteAnswer};

/// A check as a card.
pub struct CheckCard {
    /// `good`, `bad` or `doubt`.
    pub class: &'static str,
    /// The word of its outcome.
    pub word: &'static str,
    /// Its name and subject.
    pub title: String,
    /// The figures that decide.
    pub observed: String,
    /// The observation that is tested, with its source.
    pub tests: String,
}

/// The section.
pub struct CourseSection {
    /// Checks.
    pub checks: Vec<CheckCard>,
    /// Charts.
    pub charts: Vec<CourseChart>,
    /// The tables under them, as the terminal has them.
    pub tables: String,
    /// The sentences under these, each with its label.
    pub sentences: Vec<(&'static str, String)>,
}

/// The section of a Record's answer.
pub fn section(record: &Record) -> Option<CourseSection> {
    let answer = record.answer.as_ref()?;
    let (checks, charts) = match answer {
        CourseAnswer::Sweep(sweep) => (Vec::new(), of_sweep(record, sweep)),
        CourseAnswer::Slo(slo) => (Vec::new(), of_slo(slo).into_iter().collect()),
        CourseAnswer::Suite(suite) => (checks(suite), suite.rounds.iter().map(of_rounds).collect()),
    };
    let sentences = course_text::sentences(answer);
    Some(CourseSection {
        checks,
        charts,
        tables: micro(course_text::tables(answer).trim()),
        sentences: sentences.into_iter().map(|(label, text)| (label, micro(&text))).collect(),
    })
}

fn checks(suite: &SuiteAnswer) -> Vec<CheckCard> {
    let card = |c: &volproof_record::SuiteCheck| CheckCard {
        class: looks(c.outcome).0,
        word: c.outcome.name(),
        title: format!("{}: {}", c.code, c.subject),
        observed: c.observed.clone(),
        tests: format!("Tests that {} ({}).", c.tests, c.source),
    };
    suite.checks.iter().map(card).collect()
}

//! The top of the page: how the run ended, the verdict with a gauge for each claim, and what is seen in the samples.
//!
//! Nothing is decided here, and nothing escaped (the template does).

use super::gauge::{Compare, Gauge, gauge};
use crate::claim_words::{self, ClaimWords, of_claim, of_compared};
use crate::grouped_remarks::grouped_findings;
use crate::headline::{self, Headline};
use volproof_base::unit::micro;
use volproof_judge::Conclusion;
use volproof_record::{Claim, Compared, Confidence, Diagnosis, Finding, Outcome, Record, Remark, Verdict};

/// The word of the answer, its colour, and why.
pub struct AnswerLine {
    /// `good`, `bad`, `doubt` or `plain`.
    pub class: &'static str,
    /// The word.
    pub word: &'static str,
    /// Its sign, as the path of an SVG of 24 by 24; may be empty.
    pub icon: &'static str,
    /// The text beside the word.
    pub text: String,
    /// How the run ended, and the reason of the answer.
    pub reasons: Vec<String>,
}

/// A claim as a card.
pub struct ClaimCard {
    /// Its colour: `good`, `bad`, `doubt`, `plain`.
    pub class: &'static str,
    /// Its sign, as the path of an SVG of 24 by 24.
    pub icon: &'static str,
    /// The claim.
    pub words: ClaimWords,
    /// The gauge.
    pub gauge: Gauge,
}

/// A promise that no step tested, or that a report cannot be compared with.
pub struct UntestedCard {
    /// The metric.
    pub title: String,
    /// Reason why no step tested it.
    pub reason: String,
    /// The command that tests it.
    pub command: Option<String>,
}

/// Claims and what else is said of the promise.
#[derive(Default)]
pub struct Judged {
    /// Needs of applications were judged, and no promise.
    pub only_needs: bool,
    /// Every claim.
    pub claims: Vec<ClaimCard>,
    /// Promises that no step tested.
    pub untested: Vec<UntestedCard>,
    /// Notes on the promise.
    pub notes: Vec<String>,
}

/// A finding as a card.
pub struct FindingCard {
    /// Steps that it is about.
    pub step: String,
    /// `possible`, `likely`, `proven`.
    pub confidence: &'static str,
    /// How many of three dots are full.
    pub dots: [bool; 3],
    /// The sentence.
    pub headline: String,
    /// The evidence.
    pub evidence: Vec<String>,
    /// The advice.
    pub advice: String,
    /// Its stable name.
    pub code: String,
}

/// Colour and sign of an outcome.
pub(super) fn looks(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Pass => ("good", "M5.5 12.5l4.2 4.2L18.5 7.5"),
        Outcome::Fail => ("bad", "M7 7l10 10M17 7L7 17"),
        Outcome::Inconclusive => ("doubt", "M8.6 9.2a3.5 3.5 0 1 1 5 3.1c-1.1.6-1.6 1.2-1.6 2.4M12 17.9v.1"),
        Outcome::Invalid => ("doubt", "M12 6v7.5M12 17.4v.1"),
    }
}

/// The text with a full stop.
fn stopped(text: &str) -> String {
    let stop = if text.is_empty() || text.ends_with(['.', '?', '!']) { "" } else { "." };
    micro(text) + stop
}

/// The answer with its reasons.
pub fn status(record: &Record, head: &Headline, verdict: Option<&Verdict>) -> AnswerLine {
    let (class, icon) = match Conclusion::from_record(record) {
        Conclusion::Failed(_) | Conclusion::MeasuredNothing | Conclusion::NotValid => ("bad", ""),
        Conclusion::Interrupted | Conclusion::Partial | Conclusion::CutOff => ("doubt", ""),
        Conclusion::Judged(Some(outcome)) | Conclusion::Answered(outcome) => looks(outcome),
        Conclusion::Judged(None) | Conclusion::Compared(_) | Conclusion::Measured => ("plain", ""),
    };
    let text = match head.against.as_str() {
        "" if record.answer.is_none() => "no promise was given, so nothing is judged".into(),
        against => stopped(against),
    };
    let mut reasons = vec![stopped(&head.ended)];
    reasons.extend(verdict.map(|v| stopped(&headline::why(v))));
    reasons.extend(record.compared.as_ref().map(|_| stopped(claim_words::NO_VERDICT)));
    reasons.retain(|reason| !reason.is_empty());
    let word = if head.word.is_empty() { "MEASURED" } else { head.word };
    AnswerLine { class, word, icon, text, reasons }
}

/// The claims of a verdict, or the figures of a report beside a promise.
pub fn judged(record: &Record, verdict: Option<&Verdict>) -> Judged {
    let mut all = Judged { only_needs: record.judged_promise.is_none(), ..Judged::default() };
    if let Some(compared) = &record.compared {
        all.claims.extend(compared.rows.iter().map(|row| compared_card(record, row)));
        for why in &compared.not_compared {
            let title = "This report was not compared".into();
            all.untested.push(UntestedCard { title, reason: stopped(why), command: None });
        }
        all.notes.extend(compared.notes.iter().map(|note| stopped(note)));
    } else if let Some(v) = verdict {
        all.claims.extend(v.claims.iter().map(|c| claim_card(record, c)));
        for c in &v.beyond {
            let mut card = claim_card(record, c);
            card.words.facts.push(format!("A higher grade, which does not count: {}", card.words.word));
            (card.class, card.words.word) = ("plain", "not asked for");
            all.claims.push(card);
        }
        for u in &v.untested {
            let title = format!("{} was not tested", u.title());
            all.untested.push(UntestedCard { title, reason: stopped(&u.reason), command: u.command.clone() });
        }
        all.notes.extend(v.notes.iter().map(|note| stopped(note)));
    }
    all
}

fn claim_card(record: &Record, c: &Claim) -> ClaimCard {
    let (class, icon) = looks(c.outcome);
    let compare = Compare {
        metric: c.metric,
        promised: c.promised,
        limit: c.limit,
        measured: c.measured,
        bounds: c.bounds,
    };
    ClaimCard { class, icon, words: for_page(record, of_claim(c)), gauge: gauge(&compare) }
}

fn compared_card(record: &Record, row: &Compared) -> ClaimCard {
    let compare = Compare {
        metric: row.metric,
        promised: row.promised,
        limit: row.limit,
        measured: row.reported,
        bounds: Some((row.low, row.high)).filter(|(low, high)| low < high),
    };
    ClaimCard { class: "plain", icon: "", words: for_page(record, of_compared(row)), gauge: gauge(&compare) }
}

/// The words with the micro sign, and the command with the file of the Record.
fn for_page(record: &Record, words: ClaimWords) -> ClaimWords {
    ClaimWords {
        measured: micro(&words.measured),
        of: micro(&words.of),
        facts: words.facts.iter().map(|fact| micro(fact)).collect(),
        command: words.command.map(|command| record.saved_as.in_command(&command)),
        ..words
    }
}

/// What is seen in the samples; what several steps share is one card.
pub fn descriptions(found: &[Diagnosis]) -> Vec<FindingCard> {
    grouped_findings(found).iter().map(finding_card).collect()
}

fn finding_card(group: &Remark<'_, Finding>) -> FindingCard {
    let f = group.of;
    let step = match group.named.len() {
        0 | 1 => f.step.clone(),
        n => format!("{} and {} more", f.step, n - 1),
    };
    FindingCard {
        step,
        confidence: f.confidence.name(),
        dots: [Confidence::Possible, Confidence::Likely, Confidence::Proven].map(|c| f.confidence >= c),
        headline: stopped(&(f.headline.trim_end_matches('.').to_string() + &group.elsewhere("step"))),
        evidence: f.evidence.iter().map(|e| micro(e)).collect(),
        advice: micro(&f.advice),
        code: f.code.clone(),
    }
}

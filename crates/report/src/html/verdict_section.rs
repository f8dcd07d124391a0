//! The top of the page: the verdict with a gauge for each claim, and what is seen in the samples.
//!
//! The crate `judge` gives the verdict and the descriptions, so that the page is a function of the Record alone.
//! Nothing is decided here, and nothing escaped (the template does).

use super::gauge::{self, Gauge};
use super::sections::{self, VerdictLine};
use crate::compared_text;
use crate::headline::{self, Headline};
use crate::verdict_sentence;
use crate::verdict_text::asks;
use volproof_base::stats::limit_answer::ClaimAnswer;
use volproof_base::unit::{micro, significant};
use volproof_judge::{PromisedRates, figure};
use volproof_record::{
    Claim, Compared, Confidence, Diagnosis, Finding, Outcome, Record, Remark, ReportComparison, Untested,
    Verdict, form, promise_direction, remarks,
};

/// A claim as a card.
pub struct ClaimCard {
    /// Its colour: `good`, `bad`, `doubt`.
    pub class: &'static str,
    /// Its sign, as the path of an SVG of 24 by 24.
    pub icon: &'static str,
    /// PASS, FAIL, INCONCLUSIVE, INVALID.
    pub word: &'static str,
    /// The metric, or the figure with the application that has a need of it.
    pub metric: String,
    /// Step that measured it.
    pub step: String,
    /// The measured figure.
    pub measured: String,
    /// The promise that it is held against.
    pub of: String,
    /// The gauge of the claim.
    pub gauge: Gauge,
    /// Limit, interval and burst.
    pub facts: Vec<String>,
    /// Reason of the verdict.
    pub reason: String,
    /// The command that decides it.
    pub command: Option<String>,
}

/// A promise that no step tested.
pub struct UntestedCard {
    /// The metric.
    pub metric: String,
    /// Reason why no step tested it.
    pub reason: String,
    /// The command that tests it.
    pub command: Option<String>,
}

/// The verdict, ready for the template.
pub struct Judged {
    /// The sentence on top.
    pub headline: String,
    /// The words under it: the verdict, and how the run ended if it did not end well.
    pub statuses: Vec<VerdictLine>,
    /// Every claim.
    pub claims: Vec<ClaimCard>,
    /// Needs of applications were judged, and no promise.
    pub only_needs: bool,
    /// Promises that no step tested.
    pub untested: Vec<UntestedCard>,
    /// Notes on the promise.
    pub notes: Vec<String>,
}

/// A finding as a card.
#[derive(Clone)]
pub struct FindingCard {
    /// Step that it is about.
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

/// The text as a sentence, with a capital and a full stop.
fn sentence(text: &str) -> String {
    let text = stopped(text);
    let mut letters = text.chars();
    let first: String = letters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    first + letters.as_str()
}

fn status(v: &Verdict) -> VerdictLine {
    let text = headline::against(v) + ".";
    // It begins with the name of a step, which has no capital.
    let reason = stopped(&headline::why(v));
    match v.outcome {
        None => VerdictLine { class: "plain", word: "Not judged", icon: "", text, reason },
        Some(outcome) => {
            let (class, icon) = looks(outcome);
            VerdictLine { class, word: outcome.name(), icon, text, reason }
        }
    }
}

fn card(record: &Record, c: &Claim) -> ClaimCard {
    let name = |v: f64| micro(&figure(c.metric, v));
    let rates = record.judged_promise.as_ref().and_then(|judged_promise| {
        let conditions = record.conditions(record.steps.iter().find(|s| s.name == c.step)?);
        PromisedRates::of(
            judged_promise,
            conditions.single_block()?,
            promise_direction(conditions.pattern()?)?,
        )
    });
    let rates = rates.filter(|_| c.need.is_none());
    let promised = record.judged_promise.as_ref().filter(|_| c.need.is_none());
    let gauge = gauge::of(c, promised.map_or(0.0, |c| c.tolerance), rates.as_ref());
    let side = if c.metric.less_is_better() { "at most" } else { "at least" };
    let mut facts = vec![match &c.need {
        Some(need) => {
            format!("Source: {}; {}; confidence {}.", need.source, need.as_of, need.confidence.name())
        }
        None => format!("Binding limit: {}, {side} {} with tolerance.", c.binding, name(c.limit)),
    }];
    if c.row_step() != c.step {
        facts.push(format!("Measured in {}.", c.row_step()));
    }
    if let Some((low, high)) = c.bounds {
        facts.push(format!("Between {} and {}: each bound holds at 95 %.", name(low.max(0.0)), name(high)));
    }
    if let (true, Some(r)) = (gauge.promised.len() > 1, &rates) {
        facts.push(format!(
            "The provider's unit is in doubt: {} are promised if it is MB (10⁶ bytes), {} if it is MiB (2²⁰).",
            name(r.least.bytes),
            name(r.most.bytes)
        ));
    }
    let (class, icon) = looks(c.outcome);
    ClaimCard {
        class,
        icon,
        word: c.outcome.name(),
        metric: c.title(),
        step: c.step.clone(),
        measured: name(c.measured),
        of: match &c.need {
            Some(_) => micro(&asks(c)),
            None => format!("{} % of {} promised", significant(c.ratio * 100.0), name(c.promised)),
        },
        gauge,
        facts,
        reason: sentence(&c.reason),
        command: c.command.as_ref().map(|command| record.saved_as.in_command(command)),
    }
}

impl Judged {
    /// The top of a page without a promise.
    pub fn without_promise(record: &Record) -> Judged {
        Judged {
            headline: micro(&headline::measured(record)),
            statuses: vec![sections::status(record)],
            claims: Vec::new(),
            only_needs: false,
            untested: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// A report beside what is promised or needed.
pub fn compared(record: &Record, compared: &ReportComparison) -> Judged {
    let untested =
        |why: &String| UntestedCard { metric: "Not compared".into(), reason: sentence(why), command: None };
    let line = VerdictLine {
        class: "plain",
        word: "Compared",
        icon: "",
        text: compared_text::against(compared) + ".",
        reason: sentence(compared_text::NO_VERDICT),
    };
    Judged {
        headline: micro(&Headline::of(record).sentence),
        statuses: vec![line],
        claims: compared.rows.iter().map(|row| compared_card(record, row)).collect(),
        only_needs: record.judged_promise.is_none(),
        untested: compared.not_compared.iter().map(untested).collect(),
        notes: compared.notes.iter().map(|note| sentence(note)).collect(),
    }
}

/// A row of a comparison as a card.
fn compared_card(record: &Record, row: &Compared) -> ClaimCard {
    let bounds = Some((row.low, row.high)).filter(|(low, high)| low < high);
    let found = ClaimAnswer { limit: row.limit, ..ClaimAnswer::open(row.reported, row.limit, bounds, None) };
    let claim = Claim {
        need: row.need.clone(),
        binding: row.binding.clone(),
        command: row.command.clone(),
        ..Claim::new(&row.step, row.metric, Outcome::Inconclusive, row.promised, found, String::new())
    };
    let doubts = row.doubts.iter().map(|doubt| sentence(&format!("void: {doubt}")));
    let mut facts: Vec<String> = doubts.chain([sentence(&compared_text::interval(row))]).collect();
    if !row.not_shown.is_empty() {
        facts.push("The report does not show:".into());
    }
    facts.extend(row.not_shown.iter().map(|fact| micro(fact)));
    let source = card(record, &claim).facts.into_iter().next().filter(|_| row.need.is_some());
    facts.extend(source);
    ClaimCard { class: "plain", word: row.word.name(), facts, reason: String::new(), ..card(record, &claim) }
}

/// The verdict on a Record.
pub fn judged(record: &Record, v: &Verdict) -> Judged {
    let untested = |u: &Untested| UntestedCard {
        metric: u.title().into(),
        reason: sentence(&u.reason),
        command: u.command.clone(),
    };
    let cut_short = record.state.cut_short().map(|_| sections::status(record));
    let beyond = v.beyond.iter().map(|c| ClaimCard {
        word: "not asked for",
        class: "plain",
        reason: format!("A higher grade, which does not count: {}.", c.outcome.name()),
        ..card(record, c)
    });
    Judged {
        headline: micro(&verdict_sentence::answer(record, v)),
        statuses: cut_short.into_iter().chain([status(v)]).collect(),
        claims: v.claims.iter().map(|c| card(record, c)).chain(beyond).collect(),
        only_needs: record.judged_promise.is_none(),
        untested: v.untested.iter().map(untested).collect(),
        notes: v.notes.iter().map(|n| sentence(n)).collect(),
    }
}

/// What is seen in the samples of each step.
pub fn descriptions(found: &[Diagnosis], together: bool) -> Vec<FindingCard> {
    let cards = found.iter().flat_map(|d| &d.findings).map(finding_card).collect();
    if together { of_many_steps(cards) } else { cards }
}

fn finding_card(f: &Finding) -> FindingCard {
    FindingCard {
        step: f.step.clone(),
        confidence: f.confidence.name(),
        dots: [Confidence::Possible, Confidence::Likely, Confidence::Proven].map(|c| f.confidence >= c),
        headline: sentence(&f.headline),
        evidence: f.evidence.iter().map(|e| micro(e)).collect(),
        advice: micro(&f.advice),
        code: f.code.clone(),
    }
}

/// The findings of a course: those of one kind and one advice have one card, which names the steps that its sentence is true for.
fn of_many_steps(all: Vec<FindingCard>) -> Vec<FindingCard> {
    let kind = |card: &FindingCard| (card.code.clone(), card.confidence, form(&card.advice));
    let groups = remarks(all.iter(), kind, |card| &card.headline, |card| &card.step);
    let named = |group: Remark<'_, FindingCard>| {
        let step = match group.named.len() {
            1 => group.of.step.clone(),
            n => format!("{} and {} more", group.of.step, n - 1),
        };
        let headline = group.of.headline.trim_end_matches('.').to_string() + &group.elsewhere("step") + ".";
        FindingCard { step, headline, ..group.of.clone() }
    };
    groups.into_iter().map(named).collect()
}

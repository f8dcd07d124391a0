//! A result as annotations of a GitHub workflow.
//!
//! The form of a workflow command and its escapes are those of GitHub's own toolkit (actions/toolkit, command.ts).

use super::claim_words;
use super::headline::Headline;
use volproof_base::doubt::Severity;
use volproof_device::output::screen::visible;
use volproof_judge::judged;
use volproof_record::{CourseAnswer, Outcome, Record};

/// An error for each promise, need or check that failed, a warning for each that is not decided and for each doubt that voids figures, and a
/// notice with the answer.
pub fn github(record: &Record) -> String {
    let record = &*record.in_lines();
    let mut out = String::new();
    for claim in judged(record).1.iter().flat_map(|verdict| &verdict.claims) {
        let words = claim_words::of_claim(claim);
        let title = format!("{} in {}", words.title, words.step);
        let message = [vec![format!("{}, {}", words.measured, words.of)], words.facts].concat().join("; ");
        out += &of_outcome(claim.outcome, &title, &message);
    }
    if let Some(CourseAnswer::Suite(suite)) = &record.answer {
        for check in &suite.checks {
            out += &of_outcome(check.outcome, &format!("{}: {}", check.code, check.subject), &check.observed);
        }
    }
    for doubt in record.doubts.iter().filter(|doubt| doubt.severity == Severity::Blocker) {
        out += &annotation("warning", doubt.code.as_str(), &format!("{}; {}", doubt.message, doubt.advice));
    }
    let head = Headline::of_record(record);
    out + &annotation("notice", &format!("volproof {}", record.title()), head.line().trim_end())
}

fn of_outcome(outcome: Outcome, title: &str, message: &str) -> String {
    match outcome {
        Outcome::Pass => String::new(),
        Outcome::Fail => annotation("error", title, message),
        Outcome::Inconclusive | Outcome::Invalid => {
            annotation("warning", title, &format!("{}: {message}", outcome.name()))
        }
    }
}

/// One annotation in a line.
pub fn annotation(level: &str, title: &str, message: &str) -> String {
    let message = escaped(message);
    let title = escaped(title).replace(':', "%3A").replace(',', "%2C");
    format!("::{level} title={title}::{message}\n")
}

fn escaped(text: &str) -> String {
    visible(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::annotation;

    #[test]
    fn foreign_text_ends_no_annotation() {
        assert_eq!(
            annotation("error", "a: b, 5 %", "one\n::error::two"),
            "::error title=a%3A b%2C 5 %25::one%0A::error::two\n"
        );
    }
}

//! Colours for judgements: which words at the start of a line have one.
//!
//! Texts are made without colours, so that a file, a pipe and a test hold the same letters as a screen. A foreign name at the start of a line
//! may get a colour by accident, and does no other harm.

use anstyle::{AnsiColor, Style};

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const OPEN: Style = AnsiColor::Yellow.on_default().bold();
const HEADING: Style = Style::new().bold();

/// Outcomes, which also stand at the end of a table's line.
const OUTCOMES: [(&str, Style); 4] =
    [("PASS", GOOD), ("FAIL", BAD), ("INCONCLUSIVE", OPEN), ("INVALID", OPEN)];

/// Other words and marks at the start of a line.
const LEADS: [(&str, Style); 13] = [
    ("FAILED", BAD),
    ("NOT VALID", BAD),
    ("NOT JUDGED", OPEN),
    ("INTERRUPTED", OPEN),
    ("CUT OFF", OPEN),
    ("PARTIAL", OPEN),
    ("SIMULATED", OPEN),
    ("!!", BAD),
    ("!", OPEN),
    ("Doubts", HEADING),
    ("What limited it", HEADING),
    ("What is wrong with the test", HEADING),
    ("Check first", HEADING),
];

/// The text with colours.
pub fn painted(text: &str) -> String {
    text.split_inclusive('\n').map(line).collect()
}

/// Whether a word ends before this text.
fn ends_word(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with([' ', ':'])
}

fn line(line: &str) -> String {
    let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
    let bare = body.trim_start();
    if bare.starts_with("Step  ") {
        return format!("{HEADING}{body}{HEADING:#}{end}");
    }
    let lead = &body[..body.len() - bare.len()];
    let leads = OUTCOMES.iter().chain(&LEADS);
    let (front, rest) =
        match leads.into_iter().find(|(word, _)| bare.strip_prefix(word).is_some_and(ends_word)) {
            Some((word, style)) => (format!("{lead}{style}{word}{style:#}"), &bare[word.len()..]),
            None => (lead.to_string(), bare),
        };
    match OUTCOMES.iter().find(|(word, _)| rest.strip_suffix(word).is_some_and(|r| r.ends_with("  "))) {
        Some((word, style)) => {
            format!("{front}{}{style}{word}{style:#}{end}", &rest[..rest.len() - word.len()])
        }
        None => format!("{front}{rest}{end}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_judgement_have_colours_and_nothing_else() {
        assert_eq!(painted("PASS  a\nplain\n"), "\u{1b}[1m\u{1b}[32mPASS\u{1b}[0m  a\nplain\n");
        assert_eq!(painted(" ! doubt"), " \u{1b}[1m\u{1b}[33m!\u{1b}[0m doubt");
        assert_eq!(painted("randread  2,817  FAIL\n"), "randread  2,817  \u{1b}[1m\u{1b}[31mFAIL\u{1b}[0m\n");
        for same in ["", "\n", "PASSED by\n", "a FAIL in it\n"] {
            assert_eq!(painted(same), same);
        }
    }
}

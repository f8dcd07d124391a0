//! A comparison of runs as JUnit XML and as Markdown.

use super::compare_text::{self, change_cell, ends, figure};
use super::junit::{TestCase, TestSuite};
use super::markdown::{line_of, plain};
use volproof_compare::{GateWord, RunComparison, StepChange};

/// Each figure is a test case: worse is a failure, open and void are errors.
pub fn junit(c: &RunComparison) -> String {
    let mut cases: Vec<TestCase> = c.rows.iter().map(test_case).collect();
    if c.gate.is_some() {
        cases.extend(c.not_comparable.iter().map(|why| case_of_missing(why)));
    }
    TestSuite {
        name: "compare".into(),
        class: "compare".into(),
        attributes: String::new(),
        is_simulated: false,
        cases,
        said: compare_text::answer(c),
    }
    .xml(0.0)
}

fn case_of_missing(why: &str) -> TestCase {
    let name = why.split(": ").next().unwrap_or(why).to_string();
    let wrong = Some(("error", "NOT COMPARABLE", why.to_string()));
    TestCase { name, seconds: 0.0, wrong, said: why.to_string() }
}

fn test_case(row: &StepChange) -> TestCase {
    let said = format!(
        "{} -> {}, {}",
        figure(row.figure, row.before),
        figure(row.figure, row.after),
        row.change.as_ref().map_or("no interval".into(), |change| format!(
            "{} ({})",
            change_cell(row),
            ends(change)
        ))
    );
    let wrong = match row.gate {
        Some(GateWord::Worse) => Some(("failure", "WORSE", said.clone())),
        Some(GateWord::Undecided) => Some(("error", "NOT DECIDED", said.clone())),
        Some(GateWord::Void) => Some(("error", "NOT COMPARABLE", said.clone())),
        Some(GateWord::Kept) | None => None,
    };
    TestCase { name: row.title(), seconds: 0.0, wrong, said }
}

/// The answer, one table, and what else differs.
pub fn markdown(c: &RunComparison) -> String {
    let cells = |all: [&str; 6]| all.map(String::from);
    let mut out = format!("{}\n\n", plain(&compare_text::answer(c)));
    out += &format!("- Basis: {}\n- volproof: {}\n\n", compare_text::basis(c), env!("CARGO_PKG_VERSION"));
    out += &line_of(&cells(["figure", "before", "after", "change", "95 % interval", "gate"]));
    out += "|---|---:|---:|---:|---:|---|\n";
    for row in &c.rows {
        out += &line_of(&[
            row.title(),
            figure(row.figure, row.before),
            figure(row.figure, row.after),
            change_cell(row),
            row.change.as_ref().map_or("-".into(), ends),
            row.gate.map_or("", compare_text::word).into(),
        ]);
    }
    out += "\n";
    for difference in &c.differs {
        out += &format!(
            "- {}: {}\n",
            difference.what,
            plain(&format!("{} -> {}", difference.before, difference.after))
        );
    }
    for (lead, left) in compare_text::left_out(c) {
        out += &format!("- {lead}: {}\n", plain(left));
    }
    out
}

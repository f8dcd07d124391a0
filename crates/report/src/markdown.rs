//! A Record as Markdown for a ticket or a wiki: the answer, one table, the doubts, and on FAIL the text for the provider.

use super::headline::{self, Headline};
use super::text::{self, grouped_doubts, load};
use super::ticket;
use super::{cause_words, compared_text, fit_text};
use volproof_base::unit::{mebibytes, significant};
use volproof_device::output::screen::visible;
use volproof_judge::{figure, gravest, judged};
use volproof_record::{
    CauseTable, Claim, CourseAnswer, Diagnosis, Finding, Record, ReportComparison, Verdict,
};

/// The text.
pub fn markdown(record: &Record) -> String {
    let record = &*record.in_lines();
    let head = Headline::of(record);
    let (found, judged) = judged(record);
    let word = if head.word.is_empty() { String::new() } else { format!("**{}** ", head.word) };
    let mut out = format!("{word}{}\n", plain(&head.sentence));
    let began = record.started.as_ref().cloned().unwrap_or_default();
    let facts = [
        ("Judged", head.against.clone()),
        ("Reason", judged.as_ref().map(headline::why).unwrap_or_default()),
        ("Ended", head.ended.clone()),
        ("Plan", record.title().to_string()),
        ("Target", record.lasting_targets()),
        ("Started", began),
        ("volproof", record.volproof_version.clone()),
    ];
    out += "\n";
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        out += &format!("- {name}: {}\n", plain(value));
    }
    if record.is_simulated() {
        out += "- SIMULATED: a device in virtual time, nothing was measured of any volume\n";
    }
    if let Some(CourseAnswer::Suite(suite)) = record.answer.as_ref().filter(|a| a.outcome().is_some()) {
        out += "\n| check | of | outcome | observed |\n|---|---|---|---|\n";
        for c in &suite.checks {
            out +=
                &line_of(&[c.code.clone(), c.subject.clone(), c.outcome.name().into(), c.observed.clone()]);
        }
    }
    if let Some(command) = judged.as_ref().and_then(command_that_decides) {
        out += &format!("- Run: {}\n", code(&record.saved_as.in_command(command)));
    }
    out += &steps(record, judged.as_ref());
    out += &descriptions(&found);
    out += &record.causes.as_ref().map(|table| causes(record, table)).unwrap_or_default();
    out += &record.compared.as_ref().map(comparison).unwrap_or_default();
    if let Some(needs) = judged.as_ref().map(fit_text::needs).filter(|needs| !needs.is_empty()) {
        out += "\n| application | need | step | asked for | measured | 95 % bounds | verdict | source |\n";
        out += "|---|---|---|---:|---:|---:|---|---|\n";
        for n in needs {
            let source = format!("{}; {}", n.need.source, n.need.as_of);
            out += &line_of(&[
                n.whose(),
                n.need.figure.clone(),
                n.step.clone(),
                n.asked,
                n.measured,
                n.bounds,
                n.answer.into(),
                source,
            ]);
        }
    }
    let doubts = grouped_doubts(&record.doubts);
    if !doubts.is_empty() {
        out += "\nDoubts:\n\n";
    }
    for group in doubts {
        let (doubt, steps) = (group.of, &group.named);
        let of = if steps.is_empty() { String::new() } else { format!("{}: ", steps.join(", ")) };
        out += &format!(
            "- {}{} ({}). {}\n",
            plain(&of),
            plain(&(doubt.message.clone() + &group.elsewhere("step"))),
            doubt.code,
            plain(&doubt.advice)
        );
    }
    let ticket = judged.map(|v| ticket::ticket(record, &v)).unwrap_or_default();
    if !ticket.is_empty() {
        // A fence that no line of the text can close.
        out += &format!("\n````text\n{}\n````\n", visible(ticket.trim()).replace("````", "'''"));
    }
    out
}

/// The command that decides what is open.
fn command_that_decides(verdict: &Verdict) -> Option<&str> {
    let untested = verdict.untested.iter().find_map(|u| u.command.as_deref());
    gravest(verdict).map_or(untested, |claim| claim.command.as_deref())
}

/// A command that nothing in it can end early.
fn code(command: &str) -> String {
    format!("`` {} ``", visible(command).replace("``", "''"))
}

/// What is seen in the samples.
fn descriptions(found: &[Diagnosis]) -> String {
    let line = |f: &Finding| {
        format!("- {}: {} ({}, {})\n", plain(&f.step), plain(&f.headline), f.code, f.confidence.name())
    };
    let all: String = found.iter().flat_map(|d| &d.findings).map(line).collect();
    if all.is_empty() { all } else { format!("\nSeen in the samples:\n\n{all}") }
}

/// A report beside what is promised or needed.
fn comparison(compared: &ReportComparison) -> String {
    let mut out =
        "\n| run | figure | interval | in this report | not shown |\n|---|---|---|---|---|\n".to_string();
    for row in &compared.rows {
        let doubts = row.doubts.iter().map(|doubt| format!("void: {doubt}"));
        let facts: Vec<String> = doubts.chain(row.not_shown.iter().cloned()).collect();
        out += &line_of(&[
            row.step.clone(),
            compared_text::of_limit(row),
            compared_text::interval(row),
            row.word.name().into(),
            facts.join(" "),
        ]);
    }
    let rest = compared.not_compared.iter().map(|why| format!("not compared: {why}"));
    let notes = rest.chain([compared_text::NO_VERDICT.to_string()]);
    out + "\n" + &notes.map(|note| format!("- {}\n", plain(&note))).collect::<String>()
}

/// The figures of each step, with their promises. The needs of applications have a table of their own.
fn steps(record: &Record, judged: Option<&Verdict>) -> String {
    let promises: Vec<&Claim> = judged.iter().flat_map(|v| &v.claims).filter(|c| c.need.is_none()).collect();
    let held = !promises.is_empty() || (judged.is_none() && record.compared.is_none());
    let (heads, line) = if held { (" promised | verdict |", "---:|---|") } else { ("", "") };
    let mut out =
        "\n| step | load | IOPS | 95 % interval | MiB/s | mean | p50 | p99 | p99.9 | max |".to_string();
    out += &format!("{heads}\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|{line}\n");
    let mut rows = String::new();
    for step in record.tests() {
        let claims: Vec<&&Claim> = promises.iter().filter(|c| c.row_step() == step.name).collect();
        for (i, row) in text::rows(step).into_iter().enumerate() {
            // A promise that is for reads and writes together stands at their total.
            let claims = claims.iter().filter(|c| c.row(step).map_or(i == 0, |word| row.word == Some(word)));
            let promised: Vec<String> = claims.clone().map(|c| figure(c.metric, c.promised)).collect();
            let outcomes: Vec<String> = claims
                .map(|c| format!("{} ({} %)", c.outcome.name(), significant(c.ratio * 100.0)))
                .collect();
            let s = row.summary;
            let interval = s.interval();
            let interval = interval.map_or("-".into(), |i| {
                format!("{} to {}", significant(i.low_per_second.max(0.0)), significant(i.high_per_second))
            });
            let l = s.latency();
            let mut cells = vec![
                row.name.clone(),
                load(record, step),
                significant(s.iops),
                interval,
                mebibytes(s.bytes_per_second),
                text::at_least(l, l.known_mean()),
                text::percentile(l, "50"),
                text::percentile(l, "99"),
                text::percentile(l, "99.9"),
                text::at_least(l, l.known_max()),
            ];
            if held {
                cells.extend([promised.join(", "), outcomes.join(", ")]);
            }
            rows += &line_of(&cells);
        }
    }
    out + &rows + &marks(&rows)
}

/// What held the volume back.
fn causes(record: &Record, table: &CauseTable) -> String {
    let mut out = format!("\nWhy: {}.\n", plain(&cause_words::of_step(record, table)));
    out += "\n| why | cause | tried | result |\n|---|---|---|---|\n";
    for line in cause_words::lines(table) {
        out += &line_of(&[line.mark.into(), line.cause.into(), line.tried, line.result]);
    }
    out
}

/// The meaning of the marks that a table has.
fn marks(table: &str) -> String {
    let dash = table.contains("| - |").then_some("- `-`: not known, or too little was measured for it\n");
    let all: String = text::marks(table)
        .into_iter()
        .map(|(mark, words)| format!("- `{mark}`: {words}\n"))
        .chain(dash.map(String::from))
        .collect();
    if all.is_empty() { all } else { format!("\n{all}") }
}

/// A line of a table.
fn line_of(cells: &[String]) -> String {
    format!("| {} |\n", cells.iter().map(|c| plain(c)).collect::<Vec<_>>().join(" | "))
}

/// Foreign text in a line of Markdown: no cell ends early, and nothing becomes markup.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in visible(text).chars() {
        match c {
            '\n' | '\t' => out.push(' '),
            '|' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_makes_no_cell_and_no_link() {
        assert_eq!(plain("a|b\n<i>[x](y)"), "a\\|b \\<i\\>\\[x\\](y)");
    }
}

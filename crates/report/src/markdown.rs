//! A Record as Markdown for a ticket or a wiki: the answer, one table, and below it what the terminal prints with `--details`.

use super::headline::{self, Headline};
use super::text::{self, load};
use super::{course_text, fit_text, grouped_remarks, latency_cells, ticket, verdict_text};
use volproof_base::unit::{mebibytes, significant};
use volproof_device::output::screen::visible;
use volproof_judge::{figure, judged};
use volproof_record::{Claim, Record, Verdict};

/// The text.
pub fn markdown(record: &Record) -> String {
    let record = &*record.in_lines();
    let head = Headline::of_record(record);
    let judged = judged(record).1;
    let word = if head.word.is_empty() { String::new() } else { format!("**{}** ", head.word) };
    let mut out = format!("{word}{}\n\n", plain(&head.sentence));
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
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        out += &format!("- {name}: {}\n", plain(value));
    }
    if record.is_simulated() {
        out += "- SIMULATED: a device in virtual time, nothing was measured of any volume\n";
    }
    out += &steps(record, judged.as_ref());
    let answer = record.answer.as_ref().map(|a| course_text::answer(a, &record.saved_as));
    let details = [
        answer.unwrap_or_default(),
        fit_text::figures_text(record),
        verdict_text::of_record(record),
        grouped_remarks::doubts(&record.doubts),
        judged.map(|v| ticket::ticket(record, &v)).unwrap_or_default(),
    ]
    .concat();
    if !details.is_empty() {
        // A fence that no line of the text can close.
        out += &format!("\n````text\n{}\n````\n", visible(details.trim()).replace("````", "'''"));
    }
    out
}

/// The figures of each step, with their promises.
fn steps(record: &Record, judged: Option<&Verdict>) -> String {
    let promises: Vec<&Claim> = judged.iter().flat_map(|v| &v.claims).filter(|c| c.need.is_none()).collect();
    let mut heads: Vec<String> =
        ["step", "load", "IOPS", "95 % interval", "MiB/s"].map(String::from).to_vec();
    heads.extend(latency_cells::LATENCY_HEADS.map(String::from));
    if !promises.is_empty() {
        heads.extend(["promised", "verdict"].map(String::from));
    }
    let mut out = format!("\n{}|---|---|{}\n", line_of(&heads), "---:|".repeat(heads.len() - 2));
    for step in record.tests() {
        for (i, row) in text::rows(step).into_iter().enumerate() {
            let s = row.summary;
            let mut cells = vec![row.name, load(record, step), significant(s.iops)];
            cells.push(text::interval(s).unwrap_or_else(|| "-".into()));
            cells.push(mebibytes(s.bytes_per_second));
            cells.extend(latency_cells::latency_cells(s.latency(), latency_cells::compact));
            if !promises.is_empty() {
                // A promise that is for reads and writes together stands at their total.
                let of_step = promises.iter().filter(|c| c.row_step() == step.name);
                let of_row: Vec<_> =
                    of_step.filter(|c| c.row(step).map_or(i == 0, |word| row.word == Some(word))).collect();
                let promised: Vec<String> = of_row.iter().map(|c| figure(c.metric, c.promised)).collect();
                let outcomes: Vec<&str> = of_row.iter().map(|c| c.outcome.name()).collect();
                cells.extend([promised.join(", "), outcomes.join(", ")]);
            }
            out += &line_of(&cells);
        }
    }
    if record.tests().flat_map(text::rows).any(|row| row.summary.response_latency_ns.is_some()) {
        out += "\nLatency counts from the intended start of a request: what a client waits.\n";
    }
    for (mark, words) in latency_cells::marks(&out) {
        out += &format!("\n`{mark}` {words}\n");
    }
    out
}

/// A line of a table.
pub(super) fn line_of(cells: &[String]) -> String {
    format!("| {} |\n", cells.iter().map(|c| plain(c)).collect::<Vec<_>>().join(" | "))
}

/// Foreign text in a line of Markdown: no cell ends early, and nothing becomes markup.
pub(super) fn plain(text: &str) -> String {
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

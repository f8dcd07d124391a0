//! What became better or worse between two groups of runs: as text of at most 80 columns, in sentences, and as annotations of GitHub.

use super::github::annotation;
use super::layout::{Column, fitting_table, wrap};
use volproof_base::stats::CONFIDENCE;
use volproof_base::stats::change_of_runs::{ChangeBasis, ChangeOfRuns};
use volproof_base::stats::compare::Comparison;
use volproof_base::unit::{Nanos, counted, mebibytes, percent, significant};
use volproof_compare::{ComparedFigure, GateWord, RunComparison, StepChange};
use volproof_device::output::screen;

/// More rows are not named in the answer.
const MOST_NAMED: usize = 3;
/// Changes beyond these ratios are printed as a multiple.
const TOLD_IN_PERCENT: std::ops::Range<f64> = 0.01..10.0;

/// The whole text: the answer, one row for each figure, what else differs.
pub fn text(c: &RunComparison) -> String {
    let mut out = wrap("", &answer(c));
    out += &wrap("  ", &basis(c));
    out += "\n";
    out += &table(c);
    if c.rows.iter().any(|row| row.change.is_some() && !row.is_certain()) {
        out += &wrap("  ", "~ may be chance");
    }
    out += "\n";
    for (i, difference) in c.differs.iter().enumerate() {
        let lead = if i == 0 { "differs  " } else { "         " };
        out += &wrap(lead, &format!("{}: {} -> {}", difference.what, difference.before, difference.after));
    }
    if c.differs.is_empty() {
        out += "differs  nothing else that the results tell\n";
    }
    for (lead, left) in left_out(c) {
        out += &wrap(&format!("{lead:<9}"), left);
    }
    out
}

/// What is not in the table, each with its label: what cannot be compared, and steps that the results before do not have.
pub fn left_out(c: &RunComparison) -> Vec<(&'static str, &str)> {
    let unlike = c.not_comparable.iter().map(|why| ("unlike", why.as_str()));
    unlike.chain(c.not_before.iter().map(|step| ("new", step.as_str()))).collect()
}

/// The answer in one sentence: that of the gate where there is one, else what changed.
pub fn answer(c: &RunComparison) -> String {
    let Some(gate) = &c.gate else { return changes(c) };
    let allowed = percent(gate.allowed);
    let of =
        |word: GateWord| -> Vec<&StepChange> { c.rows.iter().filter(|row| row.gate == Some(word)).collect() };
    let all = counted(c.rows.len() as u64, "figure");
    match gate.word {
        GateWord::Kept => format!("KEPT  none of {all} is worse by more than {allowed}"),
        GateWord::Worse => {
            let worse = of(GateWord::Worse);
            format!("WORSE  {} of {all} worse by more than {allowed}: {}", worse.len(), named(&worse))
        }
        GateWord::Void => {
            let mut why = c.not_comparable.clone();
            let void = of(GateWord::Void);
            if !void.is_empty() {
                why.push(format!("a run is void: {}", named(&void)));
            }
            format!("NOT COMPARABLE  {}", why.join("; "))
        }
        GateWord::Undecided => {
            let open = of(GateWord::Undecided);
            format!(
                "NOT DECIDED  {} of {all} may be worse by more than {allowed}: {}",
                open.len(),
                named(&open)
            )
        }
    }
}

/// What changed, without a gate.
fn changes(c: &RunComparison) -> String {
    let worse: Vec<&StepChange> = c.rows.iter().filter(|row| row.is_worse()).collect();
    let better: Vec<&StepChange> = c.rows.iter().filter(|row| row.is_better()).collect();
    let all = c.rows.len();
    let mut parts = Vec::new();
    for (word, rows) in [("worse", &worse), ("better", &better)] {
        if !rows.is_empty() {
            parts.push(format!("{} of {all} {word}: {}", rows.len(), named(rows)));
        }
    }
    if parts.is_empty() {
        return format!("No change that these runs can show, in {}", counted(all as u64, "figure"));
    }
    parts.join("; ")
}

/// The first rows with their changes.
fn named(rows: &[&StepChange]) -> String {
    let mut said: Vec<String> =
        rows.iter().take(MOST_NAMED).map(|row| format!("{} {}", row.title(), reason(row))).collect();
    if rows.len() > MOST_NAMED {
        said.push(format!("{} more", rows.len() - MOST_NAMED));
    }
    said.join(", ")
}

/// The change of a row, or why it has none.
fn reason(row: &StepChange) -> String {
    match (&row.void, &row.change) {
        (Some(code), _) => format!("[{code}]"),
        (None, Some(change)) => format!("{} ({})", change_of(change.ratio), ends(change)),
        (None, None) if row.is_dead() => "(nothing completed)".into(),
        (None, None) => format!("{} (no interval)", change_of(row.after / row.before)),
    }
}

/// What the intervals rest on, and what would tell more.
pub fn basis(c: &RunComparison) -> String {
    let [before, after] = c.runs;
    let basis = c.rows.iter().find_map(|row| row.change.map(|change| change.basis));
    match basis {
        Some(ChangeBasis::Pairs) => format!("{before} alternating pairs; 95 % intervals from the spread between pairs"),
        Some(ChangeBasis::Runs) => format!("{} before, {after} after; 95 % intervals from the spread between runs", counted(before as u64, "run")),
        Some(ChangeBasis::OneRunEach) => "One run each: the intervals say how these two runs differ. Compare several of each to see whether the volume changed.".into(),
        None => "One run each, without intervals: compare several of each.".into(),
    }
}

fn table(c: &RunComparison) -> String {
    let rows: Vec<ChangeRow> = c.rows.iter().map(row).collect();
    change_table(["before", "after", "gate"], &rows)
}

fn row(row: &StepChange) -> ChangeRow {
    ChangeRow {
        name: row.title(),
        sides: [row.before, row.after].map(|value| figure(row.figure, value)),
        change: change_cell(row),
        interval: row.change.as_ref().map_or("-".into(), ends),
        can_see: row.change.map_or("-".into(), |change| percent_of(change.detectable_pct)),
        says: row.gate.map_or("", word).into(),
    }
}

/// One row of a table of changes, as cells.
pub struct ChangeRow {
    /// The figure, or the setting.
    pub name: String,
    /// The two sides that are compared.
    pub sides: [String; 2],
    /// The change from the one to the other.
    pub change: String,
    /// Its 95 % interval.
    pub interval: String,
    /// The smallest change that would have shown.
    pub can_see: String,
    /// The answer in a word.
    pub says: String,
}

/// The one table of changes: of two groups of runs, of two tools, of a setting. The headings are those of the two sides and of the answer.
pub fn change_table(heads: [&'static str; 3], rows: &[ChangeRow]) -> String {
    let names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
    let cells =
        |cell: fn(&ChangeRow) -> &String| rows.iter().map(|row| cell(row).clone()).collect::<Vec<String>>();
    let mut columns: Vec<Column> = vec![
        (heads[0], 3, cells(|row| &row.sides[0])),
        (heads[1], 2, cells(|row| &row.sides[1])),
        ("change", 0, cells(|row| &row.change)),
        ("95 % interval", 1, cells(|row| &row.interval)),
        ("can see", 5, cells(|row| &row.can_see)),
    ];
    if rows.iter().any(|row| !row.says.is_empty()) {
        columns.push((heads[2], 1, cells(|row| &row.says)));
    }
    fitting_table("", &names, &columns, screen::width())
}

/// A row of what pairs of runs show: the change from the first side to the second, whose values were turned round where less is better.
pub fn row_of_pairs(name: String, sides: [String; 2], c: &Comparison, less_is_better: bool) -> ChangeRow {
    let turn = |ratio: f64| if less_is_better { 1.0 / ratio } else { ratio };
    let (low, high) = (turn(c.low_ratio), turn(c.high_ratio));
    let mark = if c.p_value < 1.0 - CONFIDENCE { "" } else { "~" };
    ChangeRow {
        name,
        sides,
        change: format!("{mark}{}", change_of(turn(c.ratio))),
        interval: range_of(low.min(high), low.max(high)),
        can_see: percent_of(c.detectable_pct),
        says: String::new(),
    }
}

/// The word of the gate in a table.
pub fn word(word: GateWord) -> &'static str {
    match word {
        GateWord::Worse => "WORSE",
        GateWord::Kept => "kept",
        GateWord::Undecided => "open",
        GateWord::Void => "void",
    }
}

/// `-6.1 %`, with `~` before a change that may be chance.
pub fn change_cell(row: &StepChange) -> String {
    if row.void.is_some() {
        return "void".into();
    }
    let mark = if row.change.is_some() && !row.is_certain() { "~" } else { "" };
    format!("{mark}{}", change_of(row.after / row.before))
}

/// A ratio as a change: `-6.1 %`; beyond what percent tell well, as a multiple.
pub fn change_of(ratio: f64) -> String {
    if ratio > 0.0 && !TOLD_IN_PERCENT.contains(&ratio) {
        return format!("x {}", significant(ratio));
    }
    format!("{:+.1} %", 100.0 * (ratio - 1.0))
}

/// The ends of an interval: `-7.4 .. -4.8 %`.
pub fn ends(change: &ChangeOfRuns) -> String {
    range_of(change.low_ratio, change.high_ratio)
}

fn range_of(low: f64, high: f64) -> String {
    let ends = [low, high];
    if !ends.iter().all(|end| TOLD_IN_PERCENT.contains(end)) {
        return format!("x {} .. {}", significant(low), significant(high));
    }
    let [low, high] = ends.map(|end| 100.0 * (end - 1.0));
    format!("{low:+.1} .. {high:+.1} %")
}

fn percent_of(pct: f64) -> String {
    if pct > 999.0 { ">999 %".into() } else { format!("{pct:.1} %") }
}

/// A figure with its unit, where the name of the row does not have it.
pub fn figure(figure: ComparedFigure, value: f64) -> String {
    match figure {
        ComparedFigure::Iops => significant(value),
        ComparedFigure::Throughput => mebibytes(value),
        ComparedFigure::Median | ComparedFigure::P99 => Nanos(value.round() as u64).to_string(),
    }
}

/// Annotations of a workflow of GitHub: an error for each figure that is worse, a warning for each that is open or void, a notice with the answer.
pub fn github(c: &RunComparison) -> String {
    let mut out = String::new();
    for row in &c.rows {
        let level = match row.gate {
            Some(GateWord::Worse) => "error",
            Some(GateWord::Undecided | GateWord::Void) => "warning",
            None if row.is_worse() => "warning",
            Some(GateWord::Kept) | None => continue,
        };
        out += &annotation(level, &row.title(), &reason(row));
    }
    for why in &c.not_comparable {
        out += &annotation("warning", "not comparable", why);
    }
    out + &annotation("notice", "volproof compare", &answer(c))
}

//! The end of a run: the answer, one table, and the remarks that matter. `--details` prints everything that this leaves out.
//!
//! The six standard steps take 25 lines of 80 columns at most, the lines that name the Record included.

use std::collections::BTreeSet;

use super::cause_words;
use super::compared_text;
use super::fit_text;
use super::fleet_text;
use super::headline::{self, Headline};
use super::layout::{fitting_table, wrap, wrap_command};
use super::text::{self, TableRow, at_least, footnotes, grouped_doubts, percentile, rows};
use super::verdict_text;
use volproof_base::doubt::{Doubt, Severity};
use volproof_base::unit::{grouped, mebibytes, significant};
use volproof_device::output::screen;
use volproof_judge::{self as judge, gravest};
use volproof_record::{
    BasisCode, Claim, CourseAnswer, Diagnosis, Finding, Outcome, Record, Remark, State, StepRecord, Verdict,
    form, remarks as grouped_remarks,
};

/// Lines that a result takes on 80 columns, without the three that name the Record.
const LINES: usize = 22;
/// Lines of the table of steps that take room from the remarks: those of the six standard steps.
const TABLE_LINES: usize = 8;
/// The command that prints all that a Record says.
const SHOW: &str = "volproof show RECORD --details";
/// The command that prints every reason of a verdict, and the text of a ticket.
const VERDICT: &str = "volproof verdict RECORD";
/// Width of the labels of remarks.
const LABEL: usize = 8;

/// A result as text: the summary, or with `details` all that the Record says.
pub fn shown(record: &Record, details: bool) -> String {
    let record = &*record.in_lines();
    if !details {
        return summary(record);
    }
    let judged = if record.tests_a_volume() { verdict_text::of_record(record) } else { String::new() };
    head(record) + "\n" + &text::record(record) + &fit_text::figures_text(record) + &judged
}

/// The short text.
pub fn summary(record: &Record) -> String {
    let record = &*record.in_lines();
    let (found, verdict) = if record.tests_a_volume() { judge::judged(record) } else { Default::default() };
    let mut out = head(record);
    let mut exempt = 0;
    if !record.cross_checks.is_empty() {
        out += &super::crosscheck_text::text(&record.cross_checks);
    } else if let Some(answer) = &record.answer {
        if matches!(answer, CourseAnswer::Slo(slo) if slo.trials.is_empty()) {
            // A search that was ended before its first trial has its first steps to show.
            out += "\n";
            out += &steps(record, None);
        }
        out += &super::course_text::answer(answer, &record.saved_as);
    } else if record.steps.iter().any(|s| s.figures().next().is_some()) {
        let table = steps(record, verdict.as_ref());
        exempt = table.lines().count().saturating_sub(TABLE_LINES);
        out += "\n";
        out += &table;
        let seen: String = descriptions(&found).iter().map(seen).collect();
        exempt += seen.lines().count();
        out += &seen;
        out += &fleet_text::text(record, verdict.as_ref());
        let causes = cause_words::of_record(record);
        exempt += causes.lines().count();
        out += &causes;
        let answers = fit_text::answers(record, verdict.as_ref());
        let compared = record.compared.as_ref().map(compared_text::comparison).unwrap_or_default();
        exempt += answers.lines().count() + compared.lines().count();
        out += &answers;
        out += &compared;
    }
    let mut left = Vec::new();
    let lines = LINES * screen::WIDTH / screen::width().min(screen::WIDTH);
    // Long tables, the machines of a fleet and the needs of applications take no room from the remarks.
    let lines = lines + record.fleet.as_ref().map_or(exempt, |_| out.lines().count());
    let room = |out: &str| lines.saturating_sub(out.lines().count());
    let remarks = remarks(record, verdict.as_ref());
    let notes = record.doubts.iter().filter(|w| w.severity == Severity::Note).count();
    let mut first = true;
    for SummaryRemark { text: remark, kept } in remarks {
        let blank = if first { "\n" } else { "" };
        // One line stays for the count of those that are left out.
        if kept || blank.len() + remark.lines().count() < room(&out) {
            out += blank;
            out += &remark;
            first = false;
        } else {
            left.push(remark);
        }
    }
    let more = left.len() + notes;
    if more > 0 {
        let (what, prints) = if more == 1 { ("remark", "it") } else { ("remarks", "them") };
        if first {
            out += "\n";
        }
        out += &wrap(
            &label("more"),
            &format!("{more} {what}: `{}` prints {prints}", record.saved_as.in_command(SHOW)),
        );
    }
    out
}

fn label(word: &str) -> String {
    format!("{word:LABEL$}")
}

/// The answer and its basis: the first lines of every text about a result.
pub fn head(record: &Record) -> String {
    let head = Headline::of(record);
    let lead = match head.word {
        "" => String::new(),
        word => format!("{:LABEL$}", format!("{word}  ")),
    };
    let blank = " ".repeat(lead.chars().count());
    let mut out = wrap(&lead, &head.sentence);
    if !head.against.is_empty() {
        out += &wrap(&blank, &head.against);
    }
    if !head.ended.is_empty() {
        out += &wrap(&blank, &head.ended);
    }
    let named = record.targets.iter().map(|t| format!("{} ({})", t.path.display(), t.size_bytes));
    let what = if record.report.is_some() { "report of" } else { "plan" };
    let targets = record.fleet.iter().map(|f| fleet_text::machines(f)).chain(named).collect::<Vec<String>>();
    let on = if targets.is_empty() { String::new() } else { format!(" on {}", targets.join(", ")) };
    let began = record.started.as_ref().map(|t| format!(", {t}")).unwrap_or_default();
    out += &wrap(&blank, &format!("{what} {}{on}{began}", record.title()));
    let resumed = headline::resumed(record);
    if !resumed.is_empty() {
        out += &wrap(&blank, &resumed);
    }
    if record.is_simulated() {
        out += &wrap("SIMULATED  ", "a device in virtual time: nothing was measured of any volume");
    }
    out
}

/// The share of the rate that its 95 % interval goes to either side.
fn spread(row: &TableRow<'_>) -> String {
    match row.summary.interval() {
        Some(i) if row.summary.iops > 0.0 => {
            let rate = row.summary.iops;
            let half = (i.high_per_second - rate).max(rate - i.low_per_second).max(0.0);
            let percent = half / rate * 100.0;
            if percent < 0.01 { "<0.01 %".into() } else { format!("{} %", significant(percent)) }
        }
        _ => "-".into(),
    }
}

/// One line for each step and direction; columns go where the screen has no room for them, the least important first.
fn steps(record: &Record, verdict: Option<&Verdict>) -> String {
    let all: Vec<(TableRow<'_>, bool, &StepRecord)> = record
        .tests()
        .flat_map(|s| rows(s).into_iter().enumerate().map(move |(i, row)| (row, i == 0, s)))
        .collect();
    let open = all.iter().any(|(row, ..)| row.summary.response_latency_ns.is_some());
    let latency = |row: &TableRow<'_>| row.summary.latency().clone();
    let claim = |(row, first, step): &(TableRow<'_>, bool, &StepRecord)| {
        let of_step = verdict?.claims.iter().filter(|c| c.row_step() == step.name);
        let of_row = of_step.filter(|c| c.row(step).map_or(*first, |word| row.word == Some(word)));
        of_row.max_by_key(|c| (c.outcome.weight(), !c.metric.less_is_better()))
    };
    let column = |head: &'static str, rank: u8, cell: &dyn Fn(&TableRow<'_>) -> String| {
        (head, rank, all.iter().map(|(row, ..)| cell(row)).collect::<Vec<_>>())
    };
    let at = |name: &'static str| move |row: &TableRow<'_>| percentile(&latency(row), name);
    let mut columns = vec![
        column("IOPS", 0, &|r| significant(r.summary.iops)),
        column("+/- 95 %", 5, &spread),
        column("MiB/s", 1, &|r| mebibytes(r.summary.bytes_per_second)),
        column("mean", 4, &|r| at_least(&latency(r), latency(r).known_mean())),
        column("p50", 3, &at("50")),
        column("p90", 12, &at("90")),
        column("p95", 13, &at("95")),
        column("p99", 2, &at("99")),
        column("p99.9", 6, &at("99.9")),
        column("p99.99", 10, &at("99.99")),
        column("max", 8, &|r| at_least(&latency(r), latency(r).known_max())),
        column("I/Os", 14, &|r| grouped(r.summary.ios)),
    ];
    if let Some(v) = verdict.filter(|v| !v.claims.is_empty()) {
        let promised = |row| claim(row).filter(|c| c.need.is_none());
        let share = |row| promised(row).map(|c| format!("{} %", significant(c.ratio * 100.0)));
        let word = |row| claim(row).map(|c| c.outcome.name().to_string());
        if v.claims.iter().any(|c| c.need.is_none()) {
            columns.push(("promise", 7, all.iter().map(|row| share(row).unwrap_or_default()).collect()));
        }
        columns.push(("verdict", 0, all.iter().map(|row| word(row).unwrap_or_default()).collect()));
    }
    let names: Vec<String> = all.iter().map(|(row, ..)| row.name.clone()).collect();
    let table = fitting_table("Step", &names, &columns, screen::width());
    let mut out = table.clone() + &footnotes(&table);
    if open {
        out += &wrap("  ", "latency counts from the intended start of a request: what a client waits");
    }
    out
}

/// A remark of the summary, with its label.
struct SummaryRemark {
    text: String,
    /// It is printed even where there is no room: the reason of the answer, the next thing to do, and the doubts that make a figure void.
    kept: bool,
}

/// Remarks, the most important first.
fn remarks(record: &Record, verdict: Option<&Verdict>) -> Vec<SummaryRemark> {
    let groups = grouped_doubts(&record.doubts);
    let line = |group: &Remark<'_, Doubt>| {
        let doubt = group.of;
        let text = group.words(&format!("{} [{}]; {}", doubt.message, doubt.code, doubt.advice));
        wrap(&label(doubt.severity.word()), &text)
    };
    let of_severity = |severity| groups.iter().filter(move |group| group.of.severity == severity);
    let void: Vec<String> = of_severity(Severity::Blocker).map(line).collect();
    let claim = verdict.and_then(gravest);
    let next = next_steps(record, verdict, claim);
    // A doubt that voids the figures is the reason itself, and tells its code beside.
    let is_told = |group: &&Remark<'_, Doubt>| claim.is_some_and(|claim| is_reason(claim, group.of));
    let mut all = match of_severity(Severity::Blocker).any(|group| is_told(&group)) {
        true => [void, next].concat(),
        false => [reason(record, verdict), next, void].concat(),
    };
    let kept = all.len();
    all.extend(of_severity(Severity::Warning).filter(|group| !is_told(group)).map(line));
    all.into_iter().enumerate().map(|(i, text)| SummaryRemark { text, kept: i < kept }).collect()
}

/// Whether a doubt is what the reason of a claim says.
fn is_reason(claim: &Claim, doubt: &Doubt) -> bool {
    claim.blocker.as_deref() == Some(doubt.code.as_str())
        && claim.reason.starts_with(doubt.message.trim_end_matches('.'))
}

/// Why the verdict is what it is.
fn reason(record: &Record, verdict: Option<&Verdict>) -> Vec<String> {
    let Some(verdict) = verdict else { return Vec::new() };
    // What a PASS does not show stands beside it.
    let name = if verdict.outcome == Some(Outcome::Pass) { "note" } else { "reason" };
    let why = headline::why(verdict);
    if why.is_empty() {
        return Vec::new();
    }
    let told = gravest(verdict).map(|claim| &claim.reason);
    let open = verdict.claims.iter().filter(|c| c.outcome != Outcome::Pass && !c.reason.is_empty());
    let others: BTreeSet<&String> = open.map(|c| &c.reason).filter(|reason| Some(*reason) != told).collect();
    let more = match others.len() {
        0 => String::new(),
        1 => format!("; `{}` prints another reason", record.saved_as.in_command(VERDICT)),
        n => format!("; `{}` prints {n} other reasons", record.saved_as.in_command(VERDICT)),
    };
    vec![wrap(&label(name), &format!("{why}{more}"))]
}

/// What the user does next: checks before the provider is asked, or the run that decides.
fn next_steps(record: &Record, verdict: Option<&Verdict>, claim: Option<&Claim>) -> Vec<String> {
    let run = |line: &String| wrap_command(&label("run"), &record.saved_as.in_command(line));
    let told = match claim {
        Some(c) if c.outcome == Outcome::Fail && c.need.is_some() => {
            let text = "Other load: is there none on the volume? Volume: `volproof run TARGET --promise TYPE` tells whether it delivers what was \
                        bought; if it does, the application needs a faster one.";
            Some(wrap(&label("check"), text))
        }
        Some(c) if matches!(c.basis, BasisCode::MediumErrors | BasisCode::Hangs) => {
            let text = format!("Kernel log (dmesg): what does it say of the device?{}", ticket_told(record));
            Some(wrap(&label("check"), &text))
        }
        Some(c) if c.outcome == Outcome::Fail => Some(wrap(&label("check"), &check_first(record))),
        Some(c) if c.outcome == Outcome::Pass => None,
        Some(c) => c.command.as_ref().map(run),
        None => verdict.and_then(|v| v.untested.iter().find_map(|u| u.command.as_ref())).map(run),
    };
    told.into_iter().collect()
}

/// What is seen in the samples, by its code.
fn descriptions(found: &[Diagnosis]) -> Vec<Remark<'_, Finding>> {
    let kind = |f: &'_ Finding| (f.code.clone(), f.confidence.name(), form(&f.advice));
    grouped_remarks(found.iter().flat_map(|d| &d.findings), kind, |f| &f.headline, |f| &f.step)
}

/// A description as a line below the figures.
fn seen(group: &Remark<'_, Finding>) -> String {
    let f = group.of;
    let text = group.words(&format!("{} [{}, {}]", f.headline, f.code, f.confidence.name()));
    wrap(&label("seen"), &text)
}

/// Checks for the user before the provider is asked.
fn check_first(record: &Record) -> String {
    let judged_promise = record.judged_promise.as_ref();
    let volume = judged_promise.and_then(|c| c.promise.volumes.first());
    let named = volume.map_or("what was named".into(), |v| format!("{} of {}", v.id, v.size()));
    let instance = match judged_promise.and_then(|c| c.promise.instance.as_ref()) {
        Some(i) => format!("is this machine {}", i.name),
        None => "does it allow as much (--instance)".into(),
    };
    let ticket = ticket_told(record);
    format!("Volume: is it {named}? Instance: {instance}? Other load: is there none on the volume?{ticket}")
}

/// The command that prints the text of a ticket; empty where there is none.
fn ticket_told(record: &Record) -> String {
    if record.state != State::Complete || record.is_simulated() {
        return String::new();
    }
    let verdict = record.saved_as.in_command(VERDICT);
    format!(" If all of it holds, open a ticket: `{verdict}` prints its text.")
}

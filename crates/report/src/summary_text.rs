//! The end of a run: the answer, one table, and the remarks that matter. `--details` prints everything that this leaves out.

use super::grouped_remarks::{grouped_doubts, grouped_findings};
use super::headline::{self, Headline};
use super::latency_cells::{at_least, compact, footnotes, percentile};
use super::layout::{cells, fitting_table, wrap, wrap_command};
use super::text::{self, TableRow, rows};
use super::{anatomy_words, cause_words, claim_words, fit_text, fleet_text, tune, verdict_text};
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::{counted, grouped, mebibytes, significant};
use volproof_device::output::screen;
use volproof_judge as judge;
use volproof_judge::gravest;
use volproof_record::{
    BasisCode, Claim, CourseAnswer, Finding, Outcome, Record, Remark, State, StepRecord, Verdict,
};

/// More remarks hide the answer. Only doubts that leave the figures valid are left out for it.
const MOST_REMARKS: usize = 5;
/// A longer table of steps hides the answer too.
const MOST_STEPS: usize = 12;
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
    if !record.cross_checks.is_empty() {
        out += &super::crosscheck_text::text(&record.cross_checks);
    } else if let Some(answer) = &record.answer {
        if matches!(answer, CourseAnswer::Slo(slo) if slo.trials.is_empty()) {
            // A search that was ended before its first trial has its first steps to show.
            out += "\n";
            out += &steps(record, None);
        }
        out += &super::course_text::short_answer(answer, &record.saved_as);
    } else if record.steps.iter().any(|s| s.figures().next().is_some()) {
        out += "\n";
        out += &steps(record, verdict.as_ref());
        out.extend(grouped_findings(&found).iter().map(seen));
        out += &fleet_text::text(record, verdict.as_ref(), fleet_text::ROWS);
        out += &cause_words::short_text(record);
        let parts = anatomy_words::of_record(record);
        out += &if parts.is_empty() { parts } else { format!("\n{parts}") };
        out += &fit_text::answers(record, verdict.as_ref());
        out.extend(record.compared.as_ref().map(claim_words::comparison));
    }
    // Where the settings were an experiment on a cause, its row has the answer.
    if let Some(tuning) = record.tuning.as_ref().filter(|_| record.causes.is_none()) {
        out += &tune::effects(&tuning.effects);
    }
    let reasons = reasons(record, verdict.as_ref());
    let warnings = warnings(record, verdict.as_ref());
    let notes = record.doubts.iter().filter(|w| w.severity == Severity::Note).count();
    let room = MOST_REMARKS.saturating_sub(reasons.len());
    let (shown, left) = warnings.split_at(warnings.len().min(room));
    let more = left.len() + notes;
    if !reasons.is_empty() || !shown.is_empty() || more > 0 {
        out += "\n";
    }
    out += &reasons.concat();
    out += &shown.concat();
    if more > 0 {
        let show = record.saved_as.in_command(SHOW);
        out += &wrap(&label("more"), &format!("`{show}` prints {}", counted(more as u64, "more remark")));
    }
    out
}

fn label(word: &str) -> String {
    format!("{word:LABEL$}")
}

/// The answer and its basis: the first lines of every text about a result.
pub fn head(record: &Record) -> String {
    let head = Headline::of_record(record);
    let lead = match head.word {
        "" => String::new(),
        word => format!("{:LABEL$}", format!("{word}  ")),
    };
    let blank = " ".repeat(cells(&lead));
    let mut out = wrap(&lead, &head.sentence);
    if !head.ended.is_empty() {
        out += &wrap(&blank, &head.ended);
    }
    let named = record.targets.iter().map(|t| format!("{} ({})", t.path.display(), t.size_bytes));
    let what = if record.report.is_some() { "report of" } else { "plan" };
    let targets = record.fleet.iter().map(|f| fleet_text::machines(f)).chain(named).collect::<Vec<String>>();
    let on = if targets.is_empty() { String::new() } else { format!(" on {}", targets.join(", ")) };
    let began = record.started.as_ref().map(|t| format!(", {t}")).unwrap_or_default();
    let plan = format!("{what} {}{on}{began}", record.title());
    let both = wrap(&blank, &format!("{}; {plan}", head.against));
    out += &if head.against.is_empty() {
        wrap(&blank, &plan)
    } else if both.lines().count() == 1 {
        both
    } else {
        wrap(&blank, &head.against) + &wrap(&blank, &plan)
    };
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
    let (kept, left_out) = steps_in_short(record, verdict);
    let all: Vec<(TableRow<'_>, bool, &StepRecord)> = kept
        .into_iter()
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
        column("mean", 4, &|r| at_least(&latency(r), latency(r).known_mean(), compact)),
        column("p50", 3, &at("50")),
        column("p90", 12, &at("90")),
        column("p95", 13, &at("95")),
        column("p99", 2, &at("99")),
        column("p99.9", 6, &at("99.9")),
        column("p99.99", 10, &at("99.99")),
        column("max", 8, &|r| at_least(&latency(r), latency(r).known_max(), compact)),
        column("I/Os", 14, &|r| grouped(r.summary.ios)),
    ];
    if let Some(v) = verdict.filter(|v| !v.claims.is_empty()) {
        let promised =
            |row: &(TableRow<'_>, bool, &StepRecord)| claim(row).filter(|c| c.need.is_none()).cloned();
        let share = |row: &(TableRow<'_>, bool, &StepRecord)| match promised(row) {
            Some(c) => of_promise(&c),
            None if row.1 && is_not_promised(v, row.2) => "not promised".into(),
            None => String::new(),
        };
        let word = |row| claim(row).map(|c| c.outcome.name().to_string());
        if v.claims.iter().any(|c| c.need.is_none()) {
            columns.push(("of the promise", 1, all.iter().map(share).collect()));
        }
        columns.push(("verdict", 0, all.iter().map(|row| word(row).unwrap_or_default()).collect()));
    }
    let names: Vec<String> = all.iter().map(|(row, ..)| row.name.clone()).collect();
    let table = fitting_table("Step", &names, &columns, screen::width());
    let mut out = table.clone() + &footnotes(&table);
    if left_out > 0 {
        let show = record.saved_as.in_command(SHOW);
        out += &wrap("  ", &format!("`{show}` prints {}", counted(left_out as u64, "more step")));
    }
    if open {
        out += &wrap("  ", "latency counts from the intended start of a request: what a client waits");
    }
    out
}

/// The steps of the short text, and how many others there are. A step that a later one decided gives way to that one, and beyond
/// [`MOST_STEPS`] those that keep their promise do.
fn steps_in_short<'r>(record: &'r Record, verdict: Option<&Verdict>) -> (Vec<&'r StepRecord>, usize) {
    let claims = || verdict.iter().flat_map(|v| &v.claims);
    let is_decided_later =
        |step: &StepRecord| claims().any(|c| c.step == step.name && c.row_step() != step.name);
    let mut kept: Vec<&StepRecord> = record.tests().filter(|step| !is_decided_later(step)).collect();
    let all = kept.len();
    if all > MOST_STEPS {
        let is_open =
            |step: &StepRecord| claims().any(|c| c.row_step() == step.name && c.outcome != Outcome::Pass);
        let open = kept.iter().filter(|step| is_open(step)).count();
        let mut room = MOST_STEPS.saturating_sub(open);
        kept.retain(|step| {
            let stays = is_open(step) || room > 0;
            room -= usize::from(!is_open(step) && room > 0);
            stays
        });
        kept.truncate(MOST_STEPS);
    }
    let left_out = all - kept.len();
    (kept, left_out)
}

/// The share of the promise and the promise: `80.0 % of 3,000`.
fn of_promise(c: &Claim) -> String {
    format!("{} % of {}", significant(c.ratio * 100.0), judge::figure(c.metric, c.promised))
}

/// Whether no promise says anything of a step.
fn is_not_promised(verdict: &Verdict, step: &StepRecord) -> bool {
    let is_of_step = |c: &&Claim| c.row_step() == step.name && c.need.is_none();
    !verdict.claims.iter().any(|c| is_of_step(&c))
}

/// What is printed of every result: the reason of the answer, the next thing to do, and the doubts that make a figure void.
fn reasons(record: &Record, verdict: Option<&Verdict>) -> Vec<String> {
    let groups = grouped_doubts(&record.doubts);
    let void: Vec<_> = groups.iter().filter(|group| group.of.severity == Severity::Blocker).collect();
    // A doubt that voids the figures is the reason itself, and tells its code beside.
    let is_void = |claim: &Claim| void.iter().any(|group| is_reason(claim, group.of));
    let claim = verdict.and_then(gravest);
    let told: Vec<String> = verdict.map(|v| reasons_of_verdict(record, v, &is_void)).unwrap_or_default();
    let next = next_steps(record, verdict, claim);
    let void_lines = void.iter().copied().map(doubt_line);
    if claim.is_some_and(is_void) {
        void_lines.chain(told).chain(next).collect()
    } else {
        told.into_iter().chain(next).chain(void_lines).collect()
    }
}

/// The doubts that leave the figures valid, without the one that is the reason of the answer.
fn warnings(record: &Record, verdict: Option<&Verdict>) -> Vec<String> {
    let claim = verdict.and_then(gravest);
    let groups = grouped_doubts(&record.doubts);
    let warnings = groups.iter().filter(|group| group.of.severity == Severity::Warning);
    warnings.filter(|group| claim.is_none_or(|claim| !is_reason(claim, group.of))).map(doubt_line).collect()
}

fn doubt_line(group: &Remark<'_, Doubt>) -> String {
    let doubt = group.of;
    let text = group.words(&format!("{} [{}]; {}", doubt.message, doubt.code, doubt.advice));
    wrap(&label(doubt.severity.word()), &text)
}

/// Whether a doubt is what the reason of a claim says.
fn is_reason(claim: &Claim, doubt: &Doubt) -> bool {
    claim.blocker.as_deref() == Some(doubt.code.as_str())
        && claim.reason.starts_with(doubt.message.trim_end_matches('.'))
}

/// Why the verdict is what it is: a line for each outcome but PASS, beside which stands what it does not show. A doubt tells its reason itself.
fn reasons_of_verdict(record: &Record, verdict: &Verdict, is_void: &dyn Fn(&Claim) -> bool) -> Vec<String> {
    let is_open = |c: &&Claim| c.outcome != Outcome::Pass && !c.reason.is_empty();
    if !verdict.claims.iter().any(|c| is_open(&c)) {
        let name = if verdict.outcome == Some(Outcome::Pass) { "note" } else { "reason" };
        let why = headline::why(verdict);
        return if why.is_empty() { Vec::new() } else { vec![wrap(&label(name), &why)] };
    }
    let mut told = Vec::new();
    for outcome in [Outcome::Fail, Outcome::Invalid, Outcome::Inconclusive] {
        let claims = verdict.claims.iter().filter(is_open).filter(|c| c.outcome == outcome && !is_void(c));
        let claims = claims.cloned().collect();
        let of_outcome = Verdict { outcome: Some(outcome), claims, ..verdict.clone() };
        let Some(first) = gravest(&of_outcome) else { continue };
        let (like_it, others): (Vec<&Claim>, Vec<&Claim>) =
            of_outcome.claims.iter().partition(|c| c.reason == first.reason);
        let mut steps: Vec<&str> = like_it.iter().map(|c| c.row_step()).collect();
        steps.dedup();
        let more = match others.len() {
            0 => String::new(),
            n => format!("; `{}` prints {n} more", record.saved_as.in_command(VERDICT)),
        };
        // The table of causes shows it.
        if outcome == Outcome::Fail && others.is_empty() && is_in_causes(record, first) {
            continue;
        }
        let word = if verdict.claims.len() > 1 { format!("{} ", outcome.name()) } else { String::new() };
        told.push(wrap(&label("reason"), &format!("{word}{}: {}{more}", steps.join(", "), first.reason)));
    }
    told
}

/// Whether experiments looked for the cause of this claim, so that their table tells its reason.
fn is_in_causes(record: &Record, claim: &Claim) -> bool {
    record.causes.as_ref().is_some_and(|table| table.step == claim.step && table.metric == claim.metric)
}

/// What the user does next: checks before the provider is asked, or the run that decides.
fn next_steps(record: &Record, verdict: Option<&Verdict>, claim: Option<&Claim>) -> Option<String> {
    let command = match claim {
        Some(c) if c.outcome == Outcome::Fail => {
            return Some(wrap(&label("check"), &check_first(record, c)));
        }
        Some(c) if c.outcome == Outcome::Pass => None,
        Some(c) => c.command.as_ref(),
        None => verdict.and_then(|v| v.untested.iter().find_map(|u| u.command.as_ref())),
    };
    command.map(|line| wrap_command(&label("run"), &record.saved_as.in_command(line)))
}

/// A description as a line below the figures.
fn seen(group: &Remark<'_, Finding>) -> String {
    let f = group.of;
    let text = group.words(&format!("{} [{}, {}]", f.headline, f.code, f.confidence.name()));
    wrap(&label("seen"), &text)
}

/// Checks for the user before the provider is asked.
fn check_first(record: &Record, claim: &Claim) -> String {
    if claim.need.is_some() {
        return "Other load: is there none on the volume? Volume: `volproof run TARGET --promise TYPE` tells whether it delivers what was \
                bought; if it does, the application needs a faster one."
            .into();
    }
    let ticket = if record.state == State::Complete && !record.is_simulated() {
        let verdict = record.saved_as.in_command(VERDICT);
        format!(" If all of it holds, open a ticket: `{verdict}` prints its text.")
    } else {
        String::new()
    };
    if matches!(claim.basis, BasisCode::MediumErrors | BasisCode::Hangs) {
        return format!("Kernel log (dmesg): what does it say of the device?{ticket}");
    }
    let judged_promise = record.judged_promise.as_ref();
    let volume = judged_promise.and_then(|c| c.promise.volumes.first());
    let named = volume.map_or("what was named".into(), |v| format!("{} of {}", v.id, v.size()));
    let instance = match judged_promise.and_then(|c| c.promise.instance.as_ref()) {
        Some(i) => format!("is this machine {}", i.name),
        None => "does it allow as much (--instance)".into(),
    };
    let is_shared = record.doubts.iter().any(|doubt| doubt.code == DoubtCode::OtherTraffic);
    let others =
        if is_shared { "stop it, it took a part of the volume" } else { "is there none on the volume?" };
    format!("Volume: is it {named}? Instance: {instance}? Other load: {others}{ticket}")
}

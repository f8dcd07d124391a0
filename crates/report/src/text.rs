//! A Record as text for people, below its headline, which says how the run ended: two tables of at most 80 columns, and the doubts under
//! them. `run` and `show` print the same.

use super::grouped_remarks::doubts;
use super::latency_cells::{LATENCY_HEADS, compact, footnotes, latency_cells};
use super::layout::{table, wrap};
use volproof_base::unit::{counted, grouped, mebibytes, significant};
use volproof_record::{DirectionSummary, LatencySummary, Record, StepRecord};

/// The whole Record.
pub fn record(record: &Record) -> String {
    let mut out = heading(record);
    let rows: Vec<TableRow> = record.steps.iter().flat_map(rows).collect();
    if rows.is_empty() {
        out += &format!("\n{}\n", super::headline::measured(record));
    } else if !record.cross_checks.is_empty() {
        // A dozen rows for each step would bury what was asked: they are in the Record.
        out.push_str(&super::crosscheck_text::text(&record.cross_checks));
    } else if let Some(answer) = &record.answer {
        out.push_str(&super::course_text::answer(answer, &record.saved_as));
    } else {
        out.push('\n');
        out.push_str(&rates(record, &rows));
        out.push('\n');
        out.push_str(&latencies("Service latency, from submission to completion", &rows, |s| {
            Some(&s.service_latency_ns)
        }));
        if rows.iter().any(|r| r.summary.response_latency_ns.is_some()) {
            out.push('\n');
            out.push_str(&latencies(
                "Response time, from the intended start (what a client would wait)",
                &rows,
                |s| s.response_latency_ns.as_ref(),
            ));
        }
        out.push('\n');
        out.push_str(&super::fleet_text::text(record, record.verdict.as_ref(), super::fleet_text::ROWS));
        out.push_str(&costs(record));
        out.push_str(&super::provider_words::of_record(record));
        out.push_str(&super::anatomy_words::of_record(record));
        out.extend(record.steps.iter().filter_map(outside_latency));
    }
    out.extend(record.tuning.as_ref().map(|tuning| super::tune::effects(&tuning.effects)));
    out.push_str(&doubts(&record.doubts));
    out
}

/// The time of requests that is in no latency of a step, where that is more than a rounding.
fn outside_latency(step: &StepRecord) -> Option<String> {
    let share = step.accounting.as_ref()?.outside_share(step.in_flight_mean, step.window_ns)?;
    let why = if share > 0.0 {
        "is in no latency: those I/Os failed, or had not completed when the window ended"
    } else {
        "lies before the window, in latencies of I/Os that began there"
    };
    let percent = significant(100.0 * share.abs());
    Some(wrap("  ", &format!("{}: {percent} % of the time that requests were in flight {why}", step.name)))
}

fn heading(record: &Record) -> String {
    let e = &record.environment;
    let began = if record.started.as_ref().is_none() { "   time not known" } else { "" };
    let mut out = format!("volproof {}{began}\n", record.volproof_version);
    if let Some(report) = &record.report {
        out.push_str(&wrap("report   ", &format!("it does not hold {}", not_in_it(record))));
        out.extend(report.notes.iter().map(|note| wrap("note     ", note)));
        if let Some(runs) = report.runs {
            let told = format!("it has {runs} runs; these are the first {}", record.steps.len());
            out.push_str(&wrap("note     ", &told));
        }
    }
    for target in &record.targets {
        out.push_str(&wrap(
            "target   ",
            &format!("{} ({}){}", target.path.display(), target.size_bytes, disk(target)),
        ));
    }
    let kind = if e.virtual_machine { ", virtual machine" } else { "" };
    let what = format!(
        "{}, {}, {}{kind}, Linux {}",
        e.cpu_model,
        counted(e.cpus_online as u64, "CPU"),
        e.memory_bytes,
        e.kernel
    );
    if let Some(fleet) = &record.fleet {
        out.push_str(&wrap("fleet    ", &super::fleet_text::machines(fleet)));
    } else if record.report.is_none() {
        out.push_str(&wrap("machine  ", &what));
    }
    if let Some(tuning) = &record.tuning {
        out.push_str(&wrap("tuning   ", &super::tune::line(tuning)));
    }
    out
}

fn disk(target: &volproof_record::TargetRecord) -> String {
    match target.facts.device() {
        Some(d) => {
            let model = d.model.as_deref().map(|m| format!(", {m}")).unwrap_or_default();
            let serial = d.serial.as_deref().map(|s| format!(", serial {s}")).unwrap_or_default();
            format!(" on {}{model}{serial}", d.disk.name)
        }
        None => String::new(),
    }
}

/// One line of the tables: a step and direction, in all or on one target.
pub(super) struct TableRow<'a> {
    pub(super) name: String,
    /// The word of the direction or total; none for one of several targets.
    pub(super) word: Option<&'static str>,
    pub(super) summary: &'a DirectionSummary,
}

/// The lines of a step: each direction and their total, and each target where there are several.
pub(super) fn rows(step: &StepRecord) -> Vec<TableRow<'_>> {
    let mixed = step.directions().count() > 1;
    let mut rows = Vec::new();
    for (word, summary) in step.figures() {
        let name = if mixed { format!("{} {word}", step.name) } else { step.name.clone() };
        rows.push(TableRow { name, word: Some(word), summary });
        if step.targets.len() > 1 {
            for target in &step.targets {
                if let Some(summary) = target.row(word) {
                    let file = target.path.file_name().unwrap_or(target.path.as_os_str());
                    rows.push(TableRow {
                        name: format!("  {}", file.to_string_lossy()),
                        word: None,
                        summary,
                    });
                }
            }
        }
    }
    rows
}

/// The 95 % interval of a rate; none where the step was too short for one.
pub fn interval(s: &DirectionSummary) -> Option<String> {
    let i = s.interval()?;
    Some(format!("{} .. {}", significant(i.low_per_second.max(0.0)), significant(i.high_per_second)))
}

/// Words in place of the interval that a Record does not have.
pub(crate) fn no_interval(record: &Record) -> &'static str {
    if record.report.is_some() { "not known" } else { "too short" }
}

fn rates(record: &Record, rows: &[TableRow<'_>]) -> String {
    let mut lines = Vec::new();
    for row in rows {
        let s = row.summary;
        lines.push(vec![
            row.name.clone(),
            significant(s.iops),
            interval(s).unwrap_or_else(|| no_interval(record).into()),
            mebibytes(s.bytes_per_second),
            grouped(s.ios),
        ]);
    }
    table(&["Step", "IOPS", "95 % interval", "MiB/s", "I/Os"], lines)
}

fn latencies<'a>(
    title: &str,
    rows: &'a [TableRow<'a>],
    pick: impl Fn(&'a DirectionSummary) -> Option<&'a LatencySummary>,
) -> String {
    let mut lines = Vec::new();
    for row in rows {
        let Some(l) = pick(row.summary) else { continue };
        lines.push([vec![row.name.clone()], latency_cells(l, compact)].concat());
    }
    let table = table(&[&[""], &LATENCY_HEADS[..]].concat(), lines);
    format!("{title}\n{table}{}", footnotes(&table))
}

fn costs(record: &Record) -> String {
    let steps = record.steps.iter();
    let lines = steps.map(|step| wrap("  ", &format!("{}: {}", step.name, driven(record, step))));
    format!("How it was driven\n{}", lines.collect::<String>())
}

/// How a step was driven: load, engine, depth, time and CPU.
pub(crate) fn driven(record: &Record, step: &StepRecord) -> String {
    let c = record.conditions(step);
    let mut parts = vec![load(record, step)];
    let by = step.fio.as_ref().map(|f| format!("{} with ", f.version)).unwrap_or_default();
    parts.extend(c.engine.as_ref().map(|e| format!("{by}{e}")));
    parts.extend((c.direct.get() == Some(false)).then(|| "buffered".into()));
    parts.push(match (&step.open_loop, step.in_flight_asked.get()) {
        (Some(o), _) => format!("{:.0} IOPS offered", o.offered_per_second),
        // A report without latencies does not tell how many were in flight.
        (None, None) if step.in_flight_mean <= 0.0 => "depth not known".into(),
        (None, None) => format!("{:.1} in flight", step.in_flight_mean),
        (None, Some(asked)) if step.in_flight_mean <= 0.0 => format!("depth {asked} asked for"),
        (None, Some(asked)) => format!("depth {:.1} of {asked}", step.in_flight_mean),
    });
    parts.push(format!("{:.0} s", step.window_ns.as_seconds()));
    parts.extend(together(record, step));
    if step.cpu.user_ns_per_io + step.cpu.system_ns_per_io > 0.0 || step.reported.is_none() {
        let (user, system) = (step.cpu.user_ns_per_io / 1e3, step.cpu.system_ns_per_io / 1e3);
        parts.push(format!("CPU {user:.2} us user + {system:.2} us system per I/O"));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

/// Block size and pattern, as far as they are known.
pub(crate) fn load(record: &Record, step: &StepRecord) -> String {
    if let Some(plan) = record.plan_step(&step.name) {
        return format!("{} {}", plan.blocks(), plan.rw);
    }
    let c = record.conditions(step);
    let block = c.block.get().map(|(low, high)| {
        let to = if low == high { String::new() } else { format!(" to {}", high.exact_spaced()) };
        low.exact_spaced() + &to
    });
    block.into_iter().chain(c.rw.as_ref().cloned()).collect::<Vec<_>>().join(" ")
}

/// Facts that no report holds, and conditions that this one leaves out or lets one infer.
pub(crate) fn not_in_it(record: &Record) -> String {
    let mut facts: Vec<String> =
        ["samples over time", "the machine", "facts about the target"].map(String::from).to_vec();
    facts.extend(record.started.is_unknown().then(|| "when it was".to_string()));
    let reported = record.steps.iter().filter_map(|step| step.reported.as_ref());
    for (fact, why) in reported.flat_map(|reported| reported.conditions.gaps()) {
        let words = why.map_or(fact.to_string(), |why| format!("{fact} (assumed from {why})"));
        if !facts.contains(&words) {
            facts.push(words);
        }
    }
    facts.join(", ")
}

/// Which steps ran while this one did, and how long after the first of them it began.
pub fn together(record: &Record, step: &StepRecord) -> Option<String> {
    let beside = record.beside(step);
    let others = match beside.first.as_slice() {
        [] => return None,
        [a] => a.to_string(),
        [a, b, ..] if beside.count == 2 => format!("{a} and {b}"),
        [a, b, ..] => format!("{a}, {b} and {} more", beside.count - 2),
    };
    let after = match step.started_after_ns.0 {
        // Threads take a moment to begin.
        0..100_000_000 => String::new(),
        _ => format!(", begun {} later", step.started_after_ns),
    };
    Some(format!("together with {others}{after}"))
}

//! Applications and their needs as text: the list, one application whole, and the figures of profiles.

use std::collections::BTreeMap;

use super::layout::{fitting_table, label, table, wrap};
use super::text::{footnotes, percentile};
use super::verdict_text;
use volproof_base::unit::{Bytes, Nanos, grouped, significant};
use volproof_device::output::screen;
use volproof_judge::{figures, shares_by_hour};
use volproof_plan::Step;
use volproof_promise::fit::{
    Application, AskedApplication, FigureKind, FitCatalogue, FitNeed, Grade, NeedBound, SelectionError,
};
use volproof_record::{Claim, JudgedNeed, Record, StepRecord, Verdict};

/// A line for each application.
pub fn list(catalogue: &FitCatalogue) -> String {
    let width = catalogue.applications.iter().map(|a| a.id.len()).max().unwrap_or(0);
    let line = |a: &Application| wrap(&format!("  {:width$}  ", a.id), &format!("{}: {}", a.name, a.about));
    let (profiles, judged): (Vec<_>, Vec<_>) = catalogue.applications.iter().partition(|a| a.is_profile());
    let judged: String = judged.into_iter().map(line).collect();
    let profiles: String = profiles.into_iter().map(line).collect();
    let more = wrap(
        "",
        "`volproof fit --list APP` shows load, needs and sources; `volproof fit TARGET --for APP` tests them",
    );
    format!(
        "Applications with a published need\n{judged}\nProfiles: nothing numeric was published, so figures and no PASS\n{profiles}\n{more}"
    )
}

/// One application whole.
///
/// # Errors
/// There is none of that name.
pub fn application(catalogue: &FitCatalogue, id: &str) -> Result<String, SelectionError> {
    let a = catalogue.application(id)?;
    let mut out = wrap("", &format!("{} ({}): {}", a.name, a.id, a.about));
    if !a.scale.is_empty() {
        let given: Vec<String> = a.scale.iter().map(|s| format!(":{s}=N")).collect();
        out += &wrap("scale    ", &format!("--for {}{}", a.id, given.concat()));
    }
    let once: BTreeMap<String, f64> = a.scale.iter().map(|s| (s.clone(), 1.0)).collect();
    let steps = catalogue.steps_of(a, &once).map_err(SelectionError)?;
    out += "\n";
    out += &table(
        &["Step", "pattern", "block", "load", "made durable", "file", "time"],
        steps.iter().map(load).collect(),
    );
    let needs = a.needs(&once).map_err(SelectionError)?;
    for (need, times) in needs.iter().zip(a.multipliers()) {
        let times = times.map(|name| format!(" for each of {name}")).unwrap_or_default();
        let what = format!("{} {}{times} in {}", need.figure.words(), asked(need), need.step);
        let hourly = if need.hourly { ", in every hour" } else { "" };
        out += "\n";
        out += &wrap(&format!("  {:13}", need.grade.name()), &format!("{what}{hourly}"));
        let source =
            format!("source: {}; {}; confidence {}", need.source, need.as_of, need.confidence.name());
        out += &wrap(&" ".repeat(15), &source);
    }
    if needs.is_empty() {
        out += "\n";
        out += &wrap("  ", "Nothing numeric was published: `fit` prints figures, and no PASS.");
    } else if let Some(least) = needs.iter().filter_map(|n| n.least_runtime).max() {
        out += &wrap(&" ".repeat(15), &format!("a run shorter than {} gives no PASS", least.clock()));
    }
    if let Some(ssd) = &a.ssd {
        out += "\n";
        let from = match ssd.grade {
            Grade::Minimum => String::new(),
            grade => format!(" for the grade {}", grade.name()),
        };
        out += &wrap("class    ", &format!("SSD{from}; source: {}; {}", ssd.source, ssd.as_of));
    }
    out += if a.notes.is_empty() { "" } else { "\n" };
    out.extend(a.notes.iter().map(|note| wrap("note     ", note)));
    Ok(out)
}

/// The limit of a need in words.
fn asked(need: &FitNeed) -> String {
    let (side, value) = match need.bound {
        NeedBound::AtLeast(value) => ("at least", value),
        NeedBound::AtMost(value) => ("at most", value),
    };
    let value = match need.figure.kind {
        FigureKind::Iops => grouped(value as u64),
        FigureKind::Throughput => format!("{} MB/s", significant(value / 1e6)),
        FigureKind::Latency(_) => Nanos(value as u64).to_string(),
        FigureKind::Over(_) => format!("{} %", significant(value * 100.0)),
    };
    format!("{side} {value}")
}

/// A load as a row.
fn load(step: &Step) -> Vec<String> {
    let rate = match step.arrivals_per_second() {
        Some(rate) => format!("{}/s", significant(rate)),
        None => format!("depth {}", step.depth_per_target()),
    };
    let flush = if step.datasync { "fdatasync" } else { "fsync" };
    let durable = match (step.sync, step.fsync) {
        (Some(sync), _) => format!("O_{}", sync.to_string().to_uppercase()),
        (None, 0) => "-".into(),
        (None, 1) => flush.into(),
        (None, n) => format!("{flush} / {n}"),
    };
    let file = step.size.map_or(String::new(), |size| format!(" {size}"));
    let state = format!("{:?}", step.file_state).to_lowercase();
    vec![
        label(&step.name, 24),
        step.rw.to_string(),
        step.blocks(),
        rate,
        durable,
        format!("{state}{file}"),
        step.runtime.clock(),
    ]
}

/// A need as a line of a table.
pub(super) struct NeedLine<'a> {
    /// The need.
    pub(super) need: &'a JudgedNeed,
    /// The step that shows it.
    pub(super) step: &'a String,
    /// The limit in words.
    pub(super) asked: String,
    /// The figure.
    pub(super) measured: String,
    /// Its 95 % bounds; a dash without.
    pub(super) bounds: String,
    /// The answer.
    pub(super) answer: &'static str,
    /// Of a higher grade than was asked for: it does not count.
    beyond: bool,
}

impl NeedLine<'_> {
    /// The need of a claim; none for a promise.
    fn of(c: &Claim, beyond: bool) -> Option<NeedLine<'_>> {
        let bounds: Vec<f64> = c.bounds.iter().flat_map(|(low, high)| [low.max(0.0), *high]).collect();
        let (_, mut texts) = figures(c.metric, c.limit, &[&[c.measured], &bounds[..]].concat());
        let bounds = match texts.split_off(1).as_slice() {
            // A unit that both bounds have is printed once.
            [low, high] => match (low.split_once(' '), high.split_once(' ')) {
                (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} to {high}"),
                _ => format!("{low} to {high}"),
            },
            _ => "-".into(),
        };
        Some(NeedLine {
            need: c.need.as_ref()?,
            step: &c.step,
            asked: verdict_text::asks(c),
            measured: texts.concat(),
            bounds,
            answer: c.outcome.name(),
            beyond,
        })
    }

    /// The application and the grade of the need.
    pub(super) fn whose(&self) -> String {
        self.need.whose() + if self.beyond { ", not asked for: it does not count" } else { "" }
    }
}

/// Each need that was judged, then those of higher grades.
pub(super) fn needs(v: &Verdict) -> Vec<NeedLine<'_>> {
    let own = v.claims.iter().map(|c| (c, false));
    own.chain(v.beyond.iter().map(|c| (c, true))).filter_map(|(c, beyond)| NeedLine::of(c, beyond)).collect()
}

/// The answers of `fit`: every need, and the figures of profiles.
pub(super) fn answers(record: &Record, verdict: Option<&Verdict>) -> String {
    verdict.map(needs_table).unwrap_or_default() + &figures_text(record)
}

/// Figures of an application beside its needs, or in place of them.
pub(super) struct FiguresTable {
    /// What it shows.
    pub(super) title: String,
    /// Heads of its columns.
    pub(super) heads: Vec<String>,
    /// Its rows.
    pub(super) rows: Vec<Vec<String>>,
}

/// The tables of figures: slow I/Os by the hour, then those of profiles.
pub(super) fn figures_tables(record: &Record) -> Vec<FiguresTable> {
    hours(record).into_iter().chain(profiles(record)).collect()
}

/// The tables of figures as text.
pub(super) fn figures_text(record: &Record) -> String {
    let text = |t: FiguresTable| {
        let heads: Vec<&str> = t.heads.iter().map(String::as_str).collect();
        let table = table(&heads, t.rows);
        format!("\n{}{table}{}", wrap("", &t.title), footnotes(&table))
    };
    figures_tables(record).into_iter().map(text).collect()
}

/// A latency with the share of the I/Os above it in each hour.
struct HourColumn {
    /// The latency in words.
    head: String,
    /// The share that is allowed.
    most: f64,
    /// The shares, 0 to 1.
    shares: Vec<f64>,
}

/// The share of slow I/Os in each hour, for needs that every hour has to meet: the table of Aerospike's ACT. Nothing where no whole hour was
/// measured.
fn hours(record: &Record) -> Vec<FiguresTable> {
    let mut tables = Vec::new();
    for a in record.asked.iter().flat_map(|asked| &asked.applications) {
        let of_step = |name: &str| record.steps.iter().find(|s| s.name == name);
        // The table is about one kind of I/O: ACT prints its reads, and ends where the other loads fall behind.
        let mut hourly = a.needs.iter().filter(|need| need.hourly).peekable();
        let Some(step) = hourly.peek().map(|need| need.step.clone()) else { continue };
        let columns: Vec<HourColumn> = hourly
            .filter(|need| need.step == step)
            .filter_map(|need| match need.figure.kind {
                FigureKind::Over(limit) => {
                    let shares = shares_by_hour(of_step(&need.step)?, need.figure, limit);
                    Some(HourColumn { head: format!("> {limit}"), most: need.bound.value(), shares })
                }
                _ => None,
            })
            .collect();
        let hours = columns.iter().map(|c| c.shares.len()).min().unwrap_or(0);
        if hours == 0 {
            continue;
        }
        let row = |name: String, cell: &dyn Fn(&HourColumn) -> f64| {
            let cells = columns.iter().map(|column| format!("{:.2}", cell(column) * 100.0));
            std::iter::once(name).chain(cells).collect::<Vec<_>>()
        };
        let mut rows: Vec<Vec<String>> =
            (0..hours).map(|hour| row((hour + 1).to_string(), &|c| c.shares[hour])).collect();
        rows.push(row("average".into(), &|c| c.shares.iter().sum::<f64>() / hours as f64));
        rows.push(row("worst".into(), &|c| c.shares.iter().copied().fold(0.0, f64::max)));
        rows.push(row("limit".into(), &|c| c.most));
        let heads = std::iter::once("Hour".into()).chain(columns.into_iter().map(|c| c.head));
        tables.push(FiguresTable {
            title: format!("{}: percent of its I/Os that took longer, in each hour", a.scaled()),
            heads: heads.collect(),
            rows,
        });
    }
    tables
}

/// The needs as a table, those of one application and grade under its name; nothing where none was judged.
fn needs_table(v: &Verdict) -> String {
    let lines = needs(v);
    let (Some(first), width) = (lines.first(), screen::width()) else { return String::new() };
    let names: Vec<String> = lines.iter().map(|n| format!("  {}", n.need.figure)).collect();
    let column = |cell: &dyn Fn(&NeedLine<'_>) -> String| lines.iter().map(cell).collect::<Vec<_>>();
    let one_step = lines.iter().all(|n| n.step == first.step);
    // Only the step distinguishes the same figure of two steps.
    let twins = |a: &NeedLine<'_>| {
        lines.iter().any(|b| a.step != b.step && a.need.figure == b.need.figure && a.whose() == b.whose())
    };
    let rank = if lines.iter().any(twins) { 1 } else { 3 };
    let mut columns = vec![
        ("asked for", 0, column(&|n| n.asked.replace("at least", ">=").replace("at most", "<="))),
        ("measured", 0, column(&|n| n.measured.clone())),
        ("95 % bounds", 2, column(&|n| n.bounds.clone())),
        ("verdict", 0, column(&|n| n.answer.into())),
    ];
    if !one_step {
        columns.insert(0, ("in", rank, column(&|n| n.step.clone())));
    }
    let table = fitting_table("Need", &names, &columns, width);
    let mut rows = table.lines();
    let mut out = format!("\n{}\n", rows.next().unwrap_or_default());
    let mut named = String::new();
    for (line, row) in lines.iter().zip(rows) {
        if line.whose() != named {
            named = line.whose();
            out += &wrap("", &named);
        }
        out += &format!("{row}\n");
    }
    out
}

/// The figures of the applications that nothing was published for.
fn profiles(record: &Record) -> Vec<FiguresTable> {
    let of = |a: &AskedApplication| {
        let steps = record.steps.iter().filter_map(|s| Some((record.plan_step(&s.name)?, s)));
        FiguresTable {
            title: format!("{}: nothing numeric was published, so these figures are no PASS", a.name),
            heads: ["Step", "ops/s", "time per op", "p99 of flushes", "p99 of writes"]
                .map(String::from)
                .into(),
            rows: steps.filter(|(_, s)| a.steps.contains(&s.name)).filter_map(row).collect(),
        }
    };
    let asked = record.asked.iter().flat_map(|asked| &asked.applications);
    asked.filter(|a| a.needs.is_empty()).map(of).filter(|t| !t.rows.is_empty()).collect()
}

/// One load of a profile. An operation is a pass over a file of a few blocks, as pg_test_fsync counts, or one I/O.
fn row((plan, step): (&Step, &StepRecord)) -> Option<Vec<String>> {
    let block = plan.single_block()?;
    let writes = step.write.as_ref();
    let io = writes.or(step.read.as_ref())?;
    let blocks = plan.size.filter(|size| *size < Bytes::mib(1)).map_or(1, |size| (size.0 / block.0).max(1));
    let rate = match &step.sync {
        // A flush now and then is no operation of its own.
        Some(sync) if plan.fsync == 1 || blocks > 1 => sync.iops,
        _ if blocks > 1 => io.iops / blocks as f64,
        _ => step.iops(),
    };
    let p99 = |l: Option<&volproof_record::DirectionSummary>| {
        l.map_or("-".into(), |d| percentile(&d.service_latency_ns, "99"))
    };
    let busy = plan.depth_per_target() == 1 && rate > 0.0;
    let mean = if busy { Nanos((1e9 / rate) as u64).to_string() } else { "-".into() };
    Some(vec![label(&step.name, 24), significant(rate), mean, p99(step.sync.as_ref()), p99(writes)])
}

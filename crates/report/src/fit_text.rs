//! Applications and their needs as text: the list, one application whole, and the figures of profiles.

use std::collections::BTreeMap;

use super::claim_words::{ClaimWords, asks, of_claim};
use super::latency_cells::{footnotes, percentile};
use super::layout::{fitting_table, label, table, wrap};
use volproof_base::sample::Direction;
use volproof_base::stats::burst::BurstSeen;
use volproof_base::unit::{Bytes, Nanos, grouped, significant};
use volproof_device::output::screen;
use volproof_judge::figures;
use volproof_plan::Step;
use volproof_promise::fit::{
    Application, AskedApplication, FigureKind, FitCatalogue, FitNeed, Grade, NeedBound, SelectionError,
};
use volproof_record::{Claim, DirectionSummary, Record, StepRecord, Verdict, bins_of};

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
        "Applications with a published need\n{judged}\nProfiles: nothing numeric was published, so they are measured and not judged\n{profiles}\n{more}"
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

/// The answers of `fit`: every need, and the figures of profiles.
pub(super) fn answers(record: &Record, verdict: Option<&Verdict>) -> String {
    verdict.map(needs_table).unwrap_or_default() + &figures_text(record)
}

/// The needs as a table, those of one application and grade under its name; nothing where none was judged.
fn needs_table(v: &Verdict) -> String {
    let own = v.claims.iter().map(|c| (c, ""));
    let beyond = v.beyond.iter().map(|c| (c, ", not asked for: it does not count"));
    let (mut groups, mut names, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for (claim, note) in own.chain(beyond) {
        let Some(need) = &claim.need else { continue };
        groups.push(need.whose() + note);
        names.push(format!("  {}", need.figure));
        rows.push(claim);
    }
    if rows.is_empty() {
        return String::new();
    }
    let words: Vec<ClaimWords> = rows.iter().map(|c| of_claim(c)).collect();
    let asked = rows.iter().map(|c| asks(c.metric, c.promised));
    let asked = asked.map(|text| text.replace("at least", ">=").replace("at most", "<=")).collect();
    let columns = vec![
        ("in", 1, words.iter().map(|w| w.step.clone()).collect()),
        ("asked for", 0, asked),
        ("measured", 0, words.iter().map(|w| w.measured.clone()).collect()),
        ("95 % bounds", 2, rows.iter().map(|c| bounds(c)).collect()),
        ("verdict", 0, words.iter().map(|w| w.word.to_string()).collect()),
    ];
    let table = fitting_table("Need", &names, &columns, screen::width());
    let mut lines = table.lines();
    let mut out = format!("\n{}\n", lines.next().unwrap_or_default());
    for (i, line) in lines.enumerate() {
        if i == 0 || groups[i] != groups[i - 1] {
            out += &wrap("", &groups[i]);
        }
        out += &format!("{line}\n");
    }
    out
}

/// The bounds of a figure; a dash without any.
fn bounds(c: &Claim) -> String {
    let Some((low, high)) = c.bounds else { return "-".into() };
    let (_, texts) = figures(c.metric, c.limit, &[low.max(0.0), high]);
    format!("{} to {}", texts[0], texts[1])
}

/// The figures of the profiles: applications that nothing numeric was published for.
pub(super) fn figures_text(record: &Record) -> String {
    let mut tables = String::new();
    let asked = record.asked.iter().flat_map(|asked| &asked.applications);
    for a in asked.filter(|a| a.is_profile()) {
        let steps = record.steps.iter().filter(|s| a.steps.contains(&s.name));
        let rows: Vec<Vec<String>> = steps.filter_map(|s| row(record.plan_step(&s.name)?, s)).collect();
        if rows.is_empty() {
            continue;
        }
        tables += &commits(record, a).map_or(String::new(), |words| format!("\n{}", wrap("", &words)));
        let title = format!("{}: nothing numeric was published, so these figures are not judged", a.name);
        let table = table(&["Step", "ops/s", "time per op", "p99 of flushes", "p99 of writes"], rows);
        tables += &format!("\n{}{table}{}", wrap("", &title), footnotes(&table));
    }
    tables
}

/// What an operator counts in: commits a second, and the time of a flush.
fn commits(record: &Record, a: &AskedApplication) -> Option<String> {
    let loads = a.commits.as_ref()?;
    let measured = |name: &str| {
        let step = record.steps.iter().find(|step| step.name == name)?;
        Some((step, step.sync.as_ref()?))
    };
    let (step, one) = measured(&loads.one_client)?;
    let many =
        loads.many_clients.as_ref().and_then(|name| Some((record.plan_step(name)?.numjobs, measured(name)?)));
    let mut of_one = lasting(step, &[Direction::Sync], one.iops);
    let mut of_many = String::new();
    if let Some((clients, (step, many))) = many {
        let per_second = lasting(step, &[Direction::Sync], many.iops);
        // Where a burst ended among many clients, one client had its share of that burst.
        of_one = if per_second < many.iops { of_one.min(per_second) } else { of_one };
        of_many = format!(", {} for {clients}", significant(per_second));
    }
    let mut words = format!("{}: {} commits/s for one client", a.name, significant(of_one));
    words += &of_many;
    let p99 = one.service_latency_ns.marked("99", |value: Nanos| value.to_string());
    Some(words + &p99.map(|p99| format!("; {} p99 {p99}", loads.flush)).unwrap_or_default())
}

/// A rate of I/Os: after a burst that of the baseline.
fn lasting(step: &StepRecord, directions: &[Direction], rate: f64) -> f64 {
    let burst = BurstSeen::from_bins(&bins_of(step, directions, false));
    burst.map_or(rate, |burst| burst.baseline_per_second)
}

/// One load of a profile. An operation is a pass over a file of a few blocks, as pg_test_fsync counts, or one I/O.
fn row(plan: &Step, step: &StepRecord) -> Option<Vec<String>> {
    let block = plan.single_block()?;
    let writes = step.write.as_ref();
    let io = writes.or(step.read.as_ref())?;
    let direction = if writes.is_some() { Direction::Write } else { Direction::Read };
    let blocks = plan.size.filter(|size| *size < Bytes::mib(1)).map_or(1, |size| (size.0 / block.0).max(1));
    let rate = match &step.sync {
        // A flush now and then is no operation of its own.
        Some(sync) if plan.fsync == 1 || blocks > 1 => lasting(step, &[Direction::Sync], sync.iops),
        _ if blocks > 1 => lasting(step, &[direction], io.iops) / blocks as f64,
        _ => lasting(step, &[Direction::Read, Direction::Write], step.iops()),
    };
    let p99 =
        |l: Option<&DirectionSummary>| l.map_or("-".into(), |d| percentile(&d.service_latency_ns, "99"));
    let busy = plan.depth_per_target() == 1 && rate > 0.0;
    let mean = if busy { Nanos((1e9 / rate) as u64).to_string() } else { "-".into() };
    Some(vec![label(&step.name, 24), significant(rate), mean, p99(step.sync.as_ref()), p99(writes)])
}

//! Applications and their needs as text: the list, one application whole, and the figures of profiles.

use std::collections::BTreeMap;

use super::layout::{label, table, wrap};
use crate::fit::{Application, FigureKind, FitCatalogue, FitNeed, NeedBound, SelectionError};
use crate::plan::Step;
use crate::record::{Record, StepRecord};
use crate::unit::{Bytes, Nanos, grouped, significant};

/// A line for each application.
pub fn list(catalogue: &FitCatalogue) -> String {
    let width = catalogue.applications.iter().map(|a| a.id.len()).max().unwrap_or(0);
    let line = |a: &Application| wrap(&format!("  {:width$}  ", a.id), &format!("{}: {}", a.name, a.about));
    let (profiles, judged): (Vec<_>, Vec<_>) = catalogue.applications.iter().partition(|a| a.is_profile());
    let judged: String = judged.into_iter().map(line).collect();
    let profiles: String = profiles.into_iter().map(line).collect();
    let more = wrap(
        "\n",
        "`volproof fits APP` shows load, needs and sources; `volproof fit TARGET --for APP` tests them",
    );
    format!(
        "Applications with a published need\n{judged}\nProfiles: nothing numeric was published, so figures and no PASS\n{profiles}{more}"
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
        out += &wrap(&format!("\n  {:13}", need.grade.name()), &format!("{what}{hourly}"));
        let source =
            format!("source: {}; {}; confidence {}", need.source, need.as_of, need.confidence.name());
        out += &wrap(&" ".repeat(15), &source);
    }
    if needs.is_empty() {
        out += "\n";
        out += &wrap("  ", "Nothing numeric was published: `fit` prints figures, and no PASS.");
    } else if let Some(least) = needs.iter().filter_map(|n| n.least_runtime).max() {
        out += &wrap(&" ".repeat(15), &format!("a run shorter than {} is no PASS", least.clock()));
    }
    for note in &a.notes {
        out += &wrap("\nnote     ", note);
    }
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

/// The figures of the applications that nothing was published for; nothing where there are none.
pub fn profiles(record: &Record) -> String {
    let mut out = String::new();
    for a in record.asked.iter().flat_map(|asked| &asked.applications).filter(|a| a.needs.is_empty()) {
        let steps = record.steps.iter().filter_map(|s| Some((record.plan_step(&s.name)?, s)));
        let rows: Vec<Vec<String>> =
            steps.filter(|(_, s)| a.steps.contains(&s.name)).filter_map(row).collect();
        out +=
            &wrap("\n", &format!("{}: nothing numeric was published, so these figures are no PASS", a.name));
        out += &table(&["Step", "ops/s", "mean", "p99 of flushes", "p99 of writes"], rows);
    }
    out
}

/// One load of a profile. An operation is a pass over a file of a few blocks, as pg_test_fsync counts, or one I/O.
fn row((plan, step): (&Step, &StepRecord)) -> Option<Vec<String>> {
    let block = plan.single_block()?;
    let writes = step.write.as_ref();
    let io = writes.or(step.read.as_ref())?;
    let blocks = plan.size.filter(|size| *size < Bytes::mib(1)).map_or(1, |size| (size.0 / block.0).max(1));
    let rate = match &step.sync {
        Some(sync) => sync.iops,
        None if blocks > 1 => io.iops / blocks as f64,
        None => step.iops(),
    };
    let p99 = |l: Option<&crate::record::DirectionSummary>| {
        let p = l.and_then(|d| d.service_latency_ns.percentiles.get("99").copied());
        p.map_or("-".into(), |p| p.to_string())
    };
    let busy = plan.depth_per_target() == 1 && rate > 0.0;
    let mean = if busy { Nanos((1e9 / rate) as u64).to_string() } else { "-".into() };
    Some(vec![label(&step.name, 24), significant(rate), mean, p99(step.sync.as_ref()), p99(writes)])
}

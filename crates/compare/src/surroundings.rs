//! What else differs between two groups of runs: machine, kernel, volume, settings. Any of it may be the cause of a change.

use std::collections::BTreeSet;

use serde::Serialize;
use volproof_record::{Record, TargetRecord};

/// A fact that is not the same in all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The fact: `kernel`.
    pub what: &'static str,
    /// Its values in the first group.
    pub before: String,
    /// Its values in the second.
    pub after: String,
}

type SurroundingFact = (&'static str, fn(&Record) -> Option<String>);

const FACTS: [SurroundingFact; 15] = [
    ("tool", |r| {
        Some(r.report.as_ref().map_or_else(|| format!("volproof {}", r.volproof_version), |t| t.tool.clone()))
    }),
    ("host", |r| known(&r.environment.hostname)),
    ("machine", |r| r.environment.machine.clone()),
    ("kernel", |r| known(&r.environment.kernel)),
    ("distribution", |r| r.environment.distribution.clone()),
    ("CPU", |r| known(&r.environment.cpu_model)),
    ("CPUs", |r| Some(r.environment.cpus_online).filter(|n| *n > 0).map(|n| n.to_string())),
    ("limit on CPUs", |r| {
        measured(r).then(|| r.environment.cgroup_cpu_max.clone().unwrap_or_else(|| "none".into()))
    }),
    ("clock", |r| known(&r.environment.clock_source)),
    ("volume", |r| of_targets(r, volume)),
    ("size", |r| of_targets(r, |t| Some(t.size_bytes.to_string()))),
    ("filesystem", |r| of_targets(r, |t| t.facts.place().and_then(|place| place.filesystem.clone()))),
    ("simulated volume", simulated),
    ("kernel settings", |r| measured(r).then(|| settings(r))),
    ("engine and length", |r| Some(engines_and_lengths(r))),
];

/// The facts that differ, in this order.
pub fn differences(before: &[&Record], after: &[&Record]) -> Vec<Difference> {
    let mut out = Vec::new();
    for (what, fact) in FACTS {
        let (a, b) = (values(before, fact), values(after, fact));
        let known = !a.is_empty() && !b.is_empty();
        if known && (a != b || a.len() > 1) {
            out.push(Difference { what, before: joined(a), after: joined(b) });
        }
    }
    out
}

fn values(records: &[&Record], fact: fn(&Record) -> Option<String>) -> BTreeSet<String> {
    records.iter().filter_map(|record| fact(record)).collect()
}

fn joined(values: BTreeSet<String>) -> String {
    Vec::from_iter(values).join(" or ")
}

fn known(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_string())
}

fn measured(record: &Record) -> bool {
    record.report.is_none()
}

/// The same fact of all targets.
fn of_targets(record: &Record, fact: fn(&TargetRecord) -> Option<String>) -> Option<String> {
    let all: Vec<String> = record.targets.iter().filter_map(fact).collect();
    known(&all.join(", "))
}

/// What tells a volume from all others: never the name of its device.
fn volume(target: &TargetRecord) -> Option<String> {
    let device = target.facts.device()?;
    device.serial.clone().or_else(|| device.wwid.clone())
}

/// The devices in virtual time that were played in place of a volume.
fn simulated(record: &Record) -> Option<String> {
    let devices = record.plan.steps.iter().filter_map(|step| step.simulate.as_ref());
    let played: BTreeSet<String> = devices.map(|device| device.to_string()).collect();
    known(&Vec::from_iter(played).join("; "))
}

/// The settings that the run made, in the order of their names.
fn settings(record: &Record) -> String {
    let applied = record.tuning.iter().flat_map(|tuning| &tuning.applied);
    let set: BTreeSet<String> = applied.map(|a| format!("{} {}", a.knob, a.wanted)).collect();
    if set.is_empty() { "as they were".into() } else { Vec::from_iter(set).join(", ") }
}

fn engines_and_lengths(record: &Record) -> String {
    let of_steps = record.tests().map(|step| {
        let conditions = record.conditions(step);
        let engine = conditions.engine.as_ref().cloned().unwrap_or_default();
        format!("{engine} {} s", step.window_ns.as_seconds().round()).trim().to_string()
    });
    Vec::from_iter(of_steps.collect::<BTreeSet<String>>()).join(", ")
}

//! What else differs between two groups of runs: machine, kernel, volume, settings. Any of it may be the cause of a change.

use std::collections::{BTreeMap, BTreeSet};

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
    ("volume", volume_key),
    ("size", |r| of_targets(r, |t| Some(t.size_bytes.to_string()))),
    ("filesystem", |r| of_targets(r, |t| t.facts.place().and_then(|place| place.filesystem.clone()))),
    ("simulated volume", simulated),
    ("kernel settings", |r| measured(r).then(|| settings(r))),
    ("engine and length", |r| Some(engines_and_lengths(r))),
];

/// The facts of a run by name.
pub type RunSurroundings = BTreeMap<String, String>;

/// All facts that a run tells.
pub fn surroundings_of(record: &Record) -> RunSurroundings {
    let told = FACTS.iter().filter_map(|(what, fact)| Some((what.to_string(), fact(record)?)));
    told.collect()
}

/// The facts that differ, in this order.
pub fn differences(before: &[&Record], after: &[&Record]) -> Vec<Difference> {
    let all = |records: &[&Record]| -> Vec<RunSurroundings> {
        records.iter().map(|record| surroundings_of(record)).collect()
    };
    differences_between(&all(before), &all(after))
}

/// The same of facts that were read before.
pub fn differences_between(before: &[RunSurroundings], after: &[RunSurroundings]) -> Vec<Difference> {
    let mut out = Vec::new();
    for (what, _) in FACTS {
        let (a, b) = (values(before, what), values(after, what));
        let known = !a.is_empty() && !b.is_empty();
        if known && (a != b || a.len() > 1) {
            out.push(Difference { what, before: joined(a), after: joined(b) });
        }
    }
    out
}

fn values(runs: &[RunSurroundings], what: &str) -> BTreeSet<String> {
    runs.iter().filter_map(|run| run.get(what).cloned()).collect()
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

/// What tells the volumes of a run from all others: serial number (a provider puts the volume's id there), world-wide name, UUID of the filesystem.
/// Never the name of a device, which another volume may have tomorrow. None where a target tells nothing of the kind.
pub fn volume_key(record: &Record) -> Option<String> {
    let mut all: Vec<String> = record.targets.iter().map(target_key).collect::<Option<_>>()?;
    all.sort();
    all.dedup();
    known(&all.join(", "))
}

fn target_key(target: &TargetRecord) -> Option<String> {
    let device = target.facts.device()?;
    let of_disk = device.serial.as_ref().or(device.wwid.as_ref()).filter(|id| !id.trim().is_empty());
    match (of_disk, device.partition) {
        (Some(id), Some(number)) => Some(format!("{id} partition {number}")),
        (Some(id), None) => Some(id.clone()),
        (None, _) => target.facts.place()?.filesystem_uuid.clone(),
    }
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

//! The page's tables and sentences: text taken from a Record, ready for the template, nothing escaped (the template does).

use crate::fleet_text::machines;
use crate::grouped_remarks::grouped_doubts;
use volproof_base::doubt::Severity;
use volproof_base::unit::{Nanos, micro};
use volproof_record::{Record, TargetRecord};

/// A name and what it is.
pub struct Fact {
    /// Name of the fact.
    pub name: &'static str,
    /// Value of the fact.
    pub value: String,
}

pub(super) fn fact(name: &'static str, value: impl Into<String>) -> Fact {
    Fact { name, value: value.into() }
}

/// A doubt.
pub struct DoubtCard {
    /// `blocker`, `warning` or `note`.
    pub class: &'static str,
    /// The same as a word.
    pub word: &'static str,
    /// Names of the steps that it is about.
    pub steps: String,
    /// The observation.
    pub message: String,
    /// The advice.
    pub advice: String,
    /// Its stable name.
    pub code: String,
}

pub(super) fn nanos(n: Nanos) -> String {
    micro(&n.to_string())
}

/// Doubts, the gravest first.
pub fn doubts(record: &Record) -> Vec<DoubtCard> {
    grouped_doubts(&record.doubts)
        .into_iter()
        .map(|group| {
            let w = group.of;
            let class = match w.severity {
                Severity::Blocker => "blocker",
                Severity::Warning => "warning",
                Severity::Note => "note",
            };
            let word = w.severity.word();
            let steps = match group.named.as_slice() {
                [] => "the whole run".into(),
                [first, _, _, _, rest @ ..] => format!("{first} and {} more", rest.len() + 3),
                few => few.join(", "),
            };
            let message = micro(&(w.message.clone() + &group.elsewhere("step")));
            let advice = micro(&w.advice);
            let code = w.code.to_string();
            DoubtCard { class, word, steps, message, advice, code }
        })
        .collect()
}

/// The facts about a target.
pub fn target(t: &TargetRecord) -> Vec<Fact> {
    let mut facts = vec![fact("Driven", t.path.display().to_string())];
    if t.named != t.path {
        facts.push(fact("Named", t.named.display().to_string()));
    }
    facts.push(fact("Size", t.size_bytes.to_string()));
    if let Some(n) = t.filled_in_ns {
        facts.push(fact("Filled in", nanos(n)));
    }
    if let Some(d) = t.facts.device() {
        facts.push(fact("Device", format!("{} on disk {}", d.name, d.disk.name)));
        facts.extend(d.model.as_deref().map(|m| fact("Model", m)));
        facts.extend(d.serial.as_deref().map(|s| fact("Serial", s)));
        facts.push(fact(
            "Blocks",
            format!("{} logical, {} physical", d.logical_block_bytes, d.physical_block_bytes),
        ));
        facts.extend(
            d.cgroup_limits.iter().map(|l| fact("Own limit", format!("{} ({})", l.limit, l.file.display()))),
        );
    }
    facts
}

/// The targets, or the machines of a fleet, each behind a dot.
pub fn places(record: &Record) -> String {
    let targets = record.targets.iter().map(|t| format!(" · {} ({})", t.path.display(), t.size_bytes));
    let fleet = record.fleet.iter().map(|f| format!(" · {}", machines(f)));
    fleet.chain(targets).collect()
}

/// The machine.
pub fn environment(record: &Record) -> Vec<Fact> {
    if let Some(fleet) = &record.fleet {
        return vec![fact("Fleet", machines(fleet)), fact("volproof", &record.volproof_version)];
    }
    let e = &record.environment;
    if let Some(report) = &record.report {
        let mut facts = vec![fact("Measured by", &report.tool)];
        facts.extend(report.written.as_ref().map(|at| fact("Report of", at)));
        facts.push(fact("Not in the report", crate::text::not_in_it(record)));
        facts.extend(report.notes.iter().map(|note| fact("Note", note)));
        facts.push(fact("volproof", &record.volproof_version));
        return facts;
    }
    let mut facts = vec![fact("Host", &e.hostname), fact("Kernel", format!("Linux {}", e.kernel))];
    facts.extend(e.distribution.as_deref().map(|d| fact("Distribution", d)));
    facts.push(fact("CPU", format!("{}, {} online", e.cpu_model, e.cpus_online)));
    facts.push(fact("Memory", format!("{}, {} available", e.memory_bytes, e.memory_available_bytes)));
    facts.extend(e.machine.as_deref().map(|m| fact("Machine", m)));
    facts.push(fact("Virtual machine", if e.virtual_machine { "yes" } else { "no" }));
    facts.push(fact("Clock", format!("{}; kernel: {}", e.clock, e.clock_source)));
    facts.extend(e.cgroup_cpu_max.as_deref().map(|v| fact("cgroup cpu.max", v)));
    facts.extend(e.cgroup_memory_max.as_deref().map(|v| fact("cgroup memory.max", v)));
    facts.push(fact("Rights", if e.root { "root" } else { "user" }));
    facts.push(fact("volproof", &record.volproof_version));
    facts
}

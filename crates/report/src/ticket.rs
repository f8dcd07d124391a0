//! A text for the provider's support desk: volume, time, figures with their bounds, conditions, and the fio command that shows the same.
//!
//! Plain text that can be pasted into a form. Only what failed is in it.

use super::cause_words;
use super::claim_words::of_claim;
use super::layout::wrap;
use super::provider_words;
use super::text::load;
use volproof_base::foreign_lines::in_lines;
use volproof_base::unit::{counted, grouped};
use volproof_fio::write_jobs::{self, JobTarget};
use volproof_judge as judge;
use volproof_plan::Step;
use volproof_record::{Claim, Diagnosis, Outcome, Record, StepRecord, StepTarget, Verdict};

/// The text; empty where nothing failed, and for a simulated device.
pub fn ticket(record: &Record, verdict: &Verdict) -> String {
    let (record, verdict) = (&*record.in_lines(), &*in_lines(verdict));
    // No provider promises what an application needs.
    let failed: Vec<&Claim> =
        verdict.claims.iter().filter(|c| c.outcome == Outcome::Fail && c.need.is_none()).collect();
    if failed.is_empty() || record.is_simulated() {
        return String::new();
    }
    let mut out = String::from("\nText for the provider's support desk\n\n");
    out += "The volume below delivers less than its specification promises.\n\n";
    for (i, volume) in record.judged_promise.iter().flat_map(|c| &c.promise.volumes).enumerate() {
        let target = record.targets.get(i);
        let path = target.map(|t| &t.path).filter(|path| !path.as_os_str().is_empty());
        let place = path.map(|path| format!(", {}", path.display())).unwrap_or_default();
        let device = target.and_then(|t| t.facts.device());
        let serial = device.and_then(|d| d.serial.as_deref());
        let serial = serial.map(|s| format!(", serial {s}")).unwrap_or_default();
        out += &wrap("Volume    ", &format!("{}, {}{place}{serial}", volume.id, volume.size()));
    }
    let instance = record.judged_promise.as_ref().and_then(|c| c.promise.instance.as_ref());
    out.extend(instance.map(|i| wrap("Instance  ", &i.name)));
    let e = &record.environment;
    out += &wrap(
        "Machine   ",
        &format!("{}, {}, Linux {}", counted(e.cpus_online as u64, "CPU"), e.cpu_model, e.kernel),
    );
    out.extend(record.started.as_ref().map(|began| wrap("Began     ", began)));
    out += &wrap("Tool      ", &format!("volproof {}", record.volproof_version));
    let found = judge::judged(record).0;
    for claim in failed {
        out += &part_of_claim(record, &found, claim);
    }
    out + &cause_words::of_record(record)
}

fn part_of_claim(record: &Record, found: &[Diagnosis], c: &Claim) -> String {
    let Some(step) = record.steps.iter().find(|s| s.name == c.row_step()) else { return String::new() };
    let mut load = vec![load(record, step)];
    load.extend(step.in_flight_asked.get().map(|n| format!("{} in flight", grouped(n.round() as u64))));
    if record.conditions(step).direct.get() == Some(true) {
        load.push("direct I/O".into());
    }
    load.push(format!("{:.0} s", step.window_ns.as_seconds()));
    load.retain(|part| !part.is_empty());
    let words = of_claim(c);
    let mut out = String::from("\n");
    out += &wrap("Test      ", &format!("{}: {}", step.name, load.join(", ")));
    out += &wrap("Result    ", &words.line());
    out.extend(words.facts.iter().map(|fact| wrap("          ", fact)));
    out.extend(provider_words::of_step(step).iter().map(|line| wrap("Counters  ", line)));
    let of_step = found.iter().filter(|d| d.step == c.step || d.step == step.name);
    for finding in of_step.flat_map(|d| &d.findings) {
        out += &wrap("Seen      ", &format!("{}: {}", finding.step, finding.headline));
    }
    if let Ok(command) = fio_command(record, step) {
        // In one line, so that it can be copied.
        out += &format!("With fio  {command}\n");
    }
    out
}

/// fio's command for the load of a step.
///
/// # Errors
/// The reason why there is none.
pub fn fio_command(record: &Record, step: &StepRecord) -> Result<String, String> {
    let seen_by_fio = |t: &StepTarget| JobTarget {
        path: t.path.display().to_string(),
        size: record.targets.iter().find(|r| r.path == t.path).map(|r| r.size_bytes),
    };
    let targets: Vec<JobTarget> = step.targets.iter().map(seen_by_fio).collect();
    match record.plan_step(&step.name) {
        Some(plan) => {
            let engine = step.engine.get().unwrap_or(plan.engine);
            write_jobs::command_line(&Step { engine, ..plan.clone() }, &targets, record.plan.seed)
                .map_err(|e| format!("None: {e}."))
        }
        None if step.reported.is_some() => Err("None: volproof show says what to run instead.".into()),
        None => Err("None: the plan in this Record has no step of that name.".into()),
    }
}

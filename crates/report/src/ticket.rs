//! A text for the provider's support desk: volume, time, figures with their bounds, conditions, and the fio command that shows the same.
//!
//! Plain text that can be pasted into a form. Only what failed is in it.

use jiff::{SignedDuration, Timestamp};

use super::cause_words;
use super::layout::wrap;
use super::text::load;
use super::verdict_text::{bounds, delivered};
use volproof_base::foreign_lines::in_lines;
use volproof_base::unit::{counted, grouped};
use volproof_fio::write_jobs::{self, JobTarget};
use volproof_judge::{self as judge, figure};
use volproof_plan::Step;
use volproof_record::{Claim, Diagnosis, Finding, Metric, Outcome, Record, StepRecord, StepTarget, Verdict};

/// The text; empty where nothing failed, and for a simulated device.
pub fn ticket(record: &Record, verdict: &Verdict) -> String {
    let (record, verdict) = (&*record.in_lines(), &*in_lines(verdict));
    // No provider promises what an application needs.
    let broken = |c: &&Claim| c.outcome == Outcome::Fail && c.need.is_none();
    let failed: Vec<&Claim> = verdict.claims.iter().filter(broken).collect();
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
    out.extend(time(record).map(|t| wrap("Time      ", &t)));
    out += &wrap("Tool      ", &format!("volproof {}", record.volproof_version));
    let found = judge::judged(record).0;
    for claim in failed {
        out += &of_claim(record, &found, claim);
    }
    out + &cause_words::of_record(record)
}

/// When the run began and ended, in UTC.
fn time(record: &Record) -> Option<String> {
    let began = record.started.as_ref()?.parse::<Timestamp>().ok()?;
    let last = record.steps.last()?;
    let of_step = last.started.as_ref().and_then(|t| t.parse::<Timestamp>().ok());
    let seconds = i64::try_from(last.window_ns.0 / 1_000_000_000).ok()?;
    let ended = of_step.and_then(|t| t.checked_add(SignedDuration::from_secs(seconds)).ok());
    let clock = |t: Timestamp| t.strftime("%Y-%m-%d %H:%M:%S").to_string();
    Some(match ended {
        Some(ended) => format!("{} to {} UTC", clock(began), clock(ended)),
        None => format!("from {} UTC", clock(began)),
    })
}

fn of_claim(record: &Record, found: &[Diagnosis], c: &Claim) -> String {
    let Some(step) = record.steps.iter().find(|s| s.name == c.row_step()) else { return String::new() };
    let conditions = record.conditions(step);
    let load =
        Some(load(record, step)).filter(|l| !l.is_empty()).map(|l| format!("{l}, ")).unwrap_or_default();
    let asked = step
        .in_flight_asked
        .get()
        .map(|n| format!("{} in flight, ", grouped(n.round() as u64)))
        .unwrap_or_default();
    let direct = if conditions.direct.get() == Some(true) { "direct I/O, " } else { "" };
    let seconds = step.window_ns.as_seconds();
    let unit = if c.metric == Metric::Iops { " IOPS" } else { "" };
    let what = match c.metric {
        Metric::Iops => "I/Os a second",
        Metric::Throughput => "throughput",
        Metric::Latency => "mean latency",
        Metric::Percentile | Metric::SlowShare => c.metric.name(),
    };
    let mut out = String::from("\n");
    out += &wrap("Test      ", &format!("{}: {load}{asked}{direct}{seconds:.0} s", step.name));
    out += &wrap("Promised  ", &format!("{what}: {}{unit} ({})", figure(c.metric, c.promised), c.binding));
    let between = bounds(c).map(|b| format!(", {b}")).unwrap_or_default();
    out += &wrap("Measured  ", &format!("{what}: {}{unit}{between}", figure(c.metric, c.measured)));
    let promised = c.delivered.iter().filter(|d| d.promised.is_some());
    out.extend(promised.map(|d| wrap("In time   ", &delivered(d))));
    if !c.reason.is_empty() {
        out += &wrap("Why       ", &c.reason);
    }
    for finding in seen_in(found, &[&c.step, &step.name]) {
        out += &wrap("Seen      ", &format!("{}: {}", finding.step, finding.headline));
    }
    if let Ok(command) = fio_command(record, step) {
        // In one line, so that it can be copied.
        out += &format!("With fio  {command}\n");
    }
    out
}

/// What is seen in the samples of some steps.
fn seen_in<'a>(found: &'a [Diagnosis], steps: &[&str]) -> impl Iterator<Item = &'a Finding> {
    let of_steps = found.iter().filter(move |d| steps.contains(&d.step.as_str()));
    of_steps.flat_map(|d| &d.findings)
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

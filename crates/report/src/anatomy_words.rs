//! Where the time of requests went, in words: made here alone, for the text and the page.

use super::latency_cells::compact;
use super::layout::wrap;
use volproof_base::unit::{Nanos, grouped, significant};
use volproof_host::anatomy::{Anatomy, NotTraced, RequestPart};
use volproof_record::{Record, StepRecord};

/// Width of the names of the parts.
const NAME: usize = 28;
/// Width of a bar of the whole.
const BAR: f64 = 28.0;
/// A part below this share stands in no line of its own.
const LEAST_SHARE: f64 = 0.005;

/// The parts of each step, below a heading; empty where no request was to be traced.
pub fn of_record(record: &Record) -> String {
    let mut out = String::new();
    let mut reasons: Vec<&NotTraced> = Vec::new();
    for step in &record.steps {
        let Some(anatomy) = &record.evidence(step).anatomy else { continue };
        match &anatomy.not_traced {
            Some(why) if reasons.contains(&why) => {}
            Some(why) => {
                reasons.push(why);
                out += &wrap("  ", &format!("not traced: {why}"));
            }
            None => out += &of_step(step, anatomy),
        }
    }
    if out.is_empty() { out } else { format!("Where the time goes\n{out}") }
}

fn of_step(step: &StepRecord, anatomy: &Anatomy) -> String {
    let Some(whole) = anatomy.whole_mean() else {
        let none = format!("{}: no request was traced: run for some seconds longer", step.name);
        return wrap("  ", &none);
    };
    let mut out =
        wrap("  ", &format!("{}, {}: {}", step.name, anatomy.disks.join(", "), heading(anatomy, whole)));
    let mut rest = 0.0;
    for part in RequestPart::ALL {
        let share = anatomy.share(part);
        if share < LEAST_SHARE {
            rest += anatomy.part_mean(part);
            continue;
        }
        let bar = "#".repeat((BAR * share).round() as usize);
        out += &line(part.name(), anatomy.part_mean(part), share, &bar);
    }
    if rest > 0.0 {
        out += &line("the rest", rest, rest / whole, "");
    }
    out += &slowest(anatomy).map(|told| wrap("    ", &told)).unwrap_or_default();
    out + &cost(anatomy).map(|told| wrap("    ", &told)).unwrap_or_default()
}

fn line(name: &str, mean: f64, share: f64, bar: &str) -> String {
    let line = format!("    {name:NAME$}{:>9}{:>6}  {bar}", time(mean), format!("{:.0} %", 100.0 * share));
    format!("{}\n", line.trim_end())
}

fn time(mean: f64) -> String {
    compact(Nanos(mean.round() as u64))
}

/// `3.05 ms in the mean of 1,204 requests`.
fn heading(anatomy: &Anatomy, whole: f64) -> String {
    let mut text = format!("{} in the mean of {} traced requests", time(whole), grouped(anatomy.joined));
    let share = anatomy.cost.as_ref().map_or(0.0, |cost| cost.share);
    if share > 0.0 {
        text += &format!(", one in {:.0}", 1.0 / share);
    }
    if anatomy.unjoined > 0 {
        text += &format!("; {} not found in the kernel's events", grouped(anatomy.unjoined));
    }
    if anatomy.events_lost {
        text += "; the kernel dropped events";
    }
    text
}

/// What stands beside the bar of the page.
pub fn facts(anatomy: &Anatomy) -> Vec<String> {
    if let Some(why) = &anatomy.not_traced {
        return vec![format!("not traced: {why}")];
    }
    let heading = anatomy.whole_mean().map(|whole| heading(anatomy, whole));
    [heading, slowest(anatomy), cost(anatomy)].into_iter().flatten().collect()
}

/// The slowest one in a hundred, by its largest part.
fn slowest(anatomy: &Anatomy) -> Option<String> {
    let slowest = anatomy.slowest.as_ref()?;
    let parts = anatomy.parts.iter().zip(&slowest.part_means_ns);
    let (largest, mean) = parts.max_by(|a, b| a.1.total_cmp(b.1))?;
    Some(format!(
        "slowest one in a hundred: {} of {} {}",
        time(*mean),
        time(slowest.whole_mean_ns),
        largest.part.name()
    ))
}

/// What tracing cost.
fn cost(anatomy: &Anatomy) -> Option<String> {
    let cost = anatomy.cost.as_ref()?;
    let micros = |ns: f64| significant(ns / 1e3);
    Some(format!(
        "tracing cost {} us of CPU time a request: {} +- {} for each traced one ({} pairs with and without), {} to read the events",
        micros(cost.mean_ns()),
        micros(cost.recorded_mean_ns),
        micros(cost.recorded_error_ns),
        grouped(cost.pairs),
        micros(cost.reader_mean_ns)
    ))
}

//! The options that a report shows of a job, and whose they are.

use super::job::{Given, Job};
use super::mistake::Origin;
use super::option;
use super::option_value;
use super::output::{Header, Output, OutputRow, Stats};
use volproof_base::sample::Direction;

/// Whether a row sums up several jobs (`group_reporting`) and shows the options of one: under another name than its own, with a pattern that does
/// not move what the row moved, or with fewer jobs than its run times add up to.
pub fn shows_one_of_several(output: &Output, job: &OutputRow) -> bool {
    if job.options_of().is_some() {
        return true;
    }
    let asked = options(output, job);
    let Some(word) = asked.choice("rw").filter(|_| !asked.own.is_empty()) else { return false };
    let moved: Vec<(Direction, &Stats)> = job.moved().collect();
    let alien = moved.iter().any(|(d, _)| match d {
        Direction::Write => ["read", "randread"].contains(&word),
        // Blocks that a job wrote are read to verify them.
        Direction::Read => ["write", "randwrite"].contains(&word) && asked.given("verify").is_none(),
        _ => false,
    });
    let one = if let [(_, one)] = moved[..] { Some(one.runtime.0).filter(|ns| *ns > 0) } else { None };
    let times = job.runtime.zip(one).map(|(sum, one)| sum.0 as f64 / one as f64);
    let counted = asked.int("numjobs").unwrap_or(1) == i64::from(job.members);
    let more = counted && times.is_some_and(|times| times > f64::from(job.members) + 0.5);
    more || alien
}

/// The line that fio prints of a job before it runs: as the report has it, else from the options; none where there are none.
pub fn header(output: &Output, job: &OutputRow) -> Option<Header> {
    let listed = !job.options.is_empty() || !output.global_options.is_empty();
    job.header.clone().or_else(|| listed.then(|| options(output, job).header()))
}

/// An option as a report shows it, as a value.
fn given(name: &str, text: &str, kb_base: u64) -> Option<Given> {
    let option = option::find_any(name)?;
    let text = Some(text).filter(|t| !t.is_empty());
    let (value, _) = option_value::read(option, text, kb_base).ok()?;
    Some(Given { option, text: text.map(str::to_string), value, origin: Origin::Whole })
}

/// The options of a row and those of all jobs, as values. An option that cannot be read is left out.
pub fn options(output: &Output, job: &OutputRow) -> Job {
    let base = if job.option(output, &["kb_base"]) == Some("1000") { 1000 } else { 1024 };
    Job {
        name: job.name.clone(),
        globals: output.global_options.iter().filter_map(|(name, text)| given(name, text, base)).collect(),
        own: job.options.iter().filter_map(|(name, text)| given(name, text, base)).collect(),
        stonewall: false,
        group: job.group,
        origin: Origin::Whole,
    }
}

//! Reports of fio in a text of any form: JSON, terse lines, text for people, or several of them.

use super::json_read::{self, ReadError};
use super::output::Output;
use super::runs::{moved_ios, parts};
use super::same_run::ToldRows;
use super::{terse, text_read};
use volproof_base::report_form::ReportForm;

/// All reports of a text that [`paste::plain`](super::paste::plain) went over, JSON first, because it says most; a report that is there in
/// several forms (`--output-format=json,normal`) is read once.
///
/// # Errors
/// With line and column, when it has one of these forms and breaks it, or none of them.
pub fn reports(bytes: &[u8]) -> Result<Vec<(ReportForm, Output)>, ReadError> {
    let mut all: Vec<(ReportForm, Output)> = Vec::new();
    let mut failed = Vec::new();
    match json_read::read(bytes) {
        Ok(found) => add(&mut all, ReportForm::Json, found),
        Err(e) => failed.push(e),
    }
    match text_read::read(bytes) {
        Ok(found) => add(&mut all, ReportForm::Text, found),
        // Around JSON, status lines are all that there is of the text.
        Err(_) if !all.is_empty() => {}
        Err(e) => failed.push(e),
    }
    if let Ok(found) = terse::read(bytes) {
        add(&mut all, ReportForm::Terse, found);
    }
    // What came nearest to a report says where it fails.
    let placed = failed.into_iter().find(|e| !matches!(e, ReadError::Nothing { .. }));
    if all.is_empty() {
        return Err(placed.unwrap_or(ReadError::Nothing { kind: "report" }));
    }
    if let Some(e) = placed {
        for (_, output) in &mut all {
            output.partial.get_or_insert_with(|| format!("another report in the file cannot be read: {e}"));
        }
    }
    Ok(all)
}

/// Adds the reports of a form, but for those of runs that another form has told.
fn add(all: &mut Vec<(ReportForm, Output)>, form: ReportForm, found: Vec<Output>) {
    let mut told = ToldRows::of_reports(all);
    let known: Vec<bool> = found.iter().map(|output| told.take(output)).collect();
    let new = found.into_iter().zip(known).filter(|(_, known)| !known);
    let new: Vec<_> = new.map(|(output, _)| (form, output)).collect();
    all.extend(new);
}

/// Interim reports (`--status-interval`) are left out where the last one of their run is there.
pub fn last_of_each_run(reports: Vec<(ReportForm, Output)>) -> Vec<(ReportForm, Output)> {
    let mut last: Vec<(ReportForm, Output)> = Vec::new();
    for (form, output) in reports {
        if last
            .last()
            .is_some_and(|(before_form, before)| *before_form == form && is_interim(before, &output))
        {
            last.pop();
        } else if let Some((_, before)) = last.last_mut() {
            // The reader of text cannot know that another run follows, and no later report of this one.
            before.partial = before.partial.take().filter(|why| why != text_read::INTERIM);
        }
        last.push((form, output));
    }
    last
}

fn is_interim(before: &Output, after: &Output) -> bool {
    let mut rows = before.jobs.iter().zip(&after.jobs);
    let other_run = before.jobs.len() != after.jobs.len()
        || rows.any(|(a, b)| a.name != b.name || a.group != b.group || (a.pid.is_some() && a.pid != b.pid));
    if other_run {
        return false;
    }
    if before.partial.as_ref().is_some_and(|why| why == text_read::INTERIM) {
        return true;
    }
    let [from, to] = [before, after].map(|output| output.jobs.iter().filter_map(|j| j.elapsed).max());
    let (Some(from), Some(to)) = (from, to) else { return false };
    let (Some(t0), Some(t1)) = (before.timestamp_ms, after.timestamp_ms) else { return false };
    let same_clock = (t1 as f64 - t0 as f64) / 1000.0 - (to as f64 - from as f64);
    let grew = before.jobs.iter().zip(&after.jobs).all(|(a, b)| {
        moved_ios(a) <= moved_ios(b) && parts(a).iter().zip(parts(b)).all(|(a, b)| a.runtime <= b.runtime)
    });
    to >= from && same_clock.abs() <= 1.5 && grew
}

//! A report of fio as a Record that has the doubts which `explain` has: what shows Records says the same of it.

use std::path::Path;

use super::{command, doubted, last_of_each_run};
use crate::diagnose::{Confidence, Finding};
use crate::fio::output::Output;
use crate::fio::paste;
use crate::fio::to_record::{LoadError, Loaded, has_step, open, to_record};
use crate::record::Record;
use crate::warn::{Severity, Warning};

/// Reads a Record, or a report of fio as one.
///
/// # Errors
/// See [`LoadError`].
pub fn load(path: &Path) -> Result<Record, LoadError> {
    match open(path)? {
        Loaded::Record(record) => Ok(*record),
        Loaded::Reports(bytes, outputs) => {
            record(&bytes, outputs).map_err(|why| LoadError::Empty { path: path.to_path_buf(), why })
        }
    }
}

/// The last of the reports in a text, with its doubts.
///
/// # Errors
/// When it says nothing that a Record can hold.
pub fn record(bytes: &[u8], outputs: Vec<Output>) -> Result<Record, &'static str> {
    let mut outputs = last_of_each_run(outputs);
    command::attach(&paste::plain(bytes), &mut outputs);
    let mut record = to_record(&outputs)?;
    let Some(output) = outputs.last() else { return Ok(record) };
    let told = doubted(output, None, super::MOST_RUNS);
    let mut doubts: Vec<Warning> = Vec::new();
    for (job, step) in output.jobs.iter().filter(|j| has_step(output, j)).zip(&record.steps) {
        let own = told.iter().find(|run| run.rows.iter().any(|row| std::ptr::eq(*row, job)));
        let Some(own) = own else { continue };
        doubts.extend(own.doubts.iter().cloned().map(|d| d.in_step(&step.name)));
        let tests = own.diagnosis.findings.iter().filter(|f| of_the_test(f));
        doubts.extend(tests.map(|f| as_doubt(f).in_step(&step.name)));
    }
    doubts.extend(super::together::doubts(&told));
    for note in &output.notes {
        doubts.push(Warning::new(
            Severity::Note,
            "reading",
            note.clone(),
            "look at that place of the report",
        ));
    }
    record.warnings.extend(doubts);
    Ok(record)
}

fn of_the_test(f: &Finding) -> bool {
    f.doubt.is_none() && (super::text::OF_THE_TEST.contains(&f.code.as_str()) || f.code == "load-limited")
}

/// A finding that no samples will show again, as a doubt.
fn as_doubt(f: &Finding) -> Warning {
    let severity = match (f.blocks, f.confidence) {
        (true, _) => Severity::Blocker,
        (false, Confidence::Possible) => Severity::Note,
        _ => Severity::Warning,
    };
    let evidence = f.evidence.first().map(|e| format!(" ({e})")).unwrap_or_default();
    Warning::new(
        severity,
        &f.code,
        format!("{}{evidence}", f.headline.trim_end_matches('.')),
        f.advice.clone(),
    )
}

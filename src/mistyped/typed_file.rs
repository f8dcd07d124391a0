//! A file whose name was typed: does it hold a result, or jobs?

use std::fs::File;
use std::path::Path;

use fio_formats::jobfile;
use volproof_device::output::OutputKind;

/// A longer file is no job file, and is not read whole.
const LONGEST_JOB_FILE: u64 = 1 << 20;

/// Whether a file holds a Record, or a report of fio.
pub fn holds_result(path: &Path) -> bool {
    let is = |kind: OutputKind| File::open(path).and_then(|mut file| kind.is_in(&mut file)).unwrap_or(false);
    let has_data = path.is_file() && path.metadata().is_ok_and(|about| about.len() > 0);
    has_data && (is(OutputKind::Record) || is(OutputKind::FioReport))
}

/// Whether a file holds jobs of fio.
pub(super) fn holds_job(path: &Path) -> bool {
    let is_short = path.metadata().is_ok_and(|about| about.is_file() && about.len() < LONGEST_JOB_FILE);
    is_short && std::fs::read_to_string(path).is_ok_and(|text| jobfile::is_one(&text))
}

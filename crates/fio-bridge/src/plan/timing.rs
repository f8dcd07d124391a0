//! How long a job runs: `runtime`, `time_based`, `ramp_time`, `startdelay`.

use super::FioWords;
use fio_formats::job::Job;
use volproof_base::unit::Nanos;
use volproof_plan::Step;

/// The times of a job. Its delay belongs to the order of jobs.
pub(super) fn from(job: &Job, step: &mut Step) {
    step.runtime = job.time("runtime").unwrap_or_default();
    step.ramp = job.time("ramp_time").unwrap_or_default();
    step.time_based = is_time_based(job);
}

/// The same in fio's words. fio ends a job after its size, volproof only after an `io-size`.
pub(super) fn to(step: &Step, words: &mut FioWords) {
    if step.time_based || !step.ends_by_amount() {
        words.set("time_based", "1");
    }
    for (name, value) in [("runtime", step.runtime), ("ramp_time", step.ramp), ("startdelay", step.delay)] {
        if value.0 > 0 {
            words.set(name, written_time(value));
        }
    }
}

/// Time alone ends the job.
pub(super) fn is_time_based(job: &Job) -> bool {
    job.flag("time_based") && job.time("runtime").is_some_and(|t| t.0 > 0)
}

/// A time with the largest unit that keeps it exact: a bare number would mean seconds or microseconds, depending on the option.
fn written_time(value: Nanos) -> String {
    match value.0 {
        ns if ns % 1_000_000_000 == 0 => format!("{}s", ns / 1_000_000_000),
        ns if ns % 1_000_000 == 0 => format!("{}ms", ns / 1_000_000),
        ns => format!("{}us", ns / 1000),
    }
}

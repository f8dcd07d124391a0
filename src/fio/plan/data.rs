//! What a job writes: fio's `zero_buffers`, `buffer_pattern`, `buffer_compress_percentage`, `dedupe_percentage` and what goes with them.
//!
//! Which of them wins was seen on fio 3.33: compression and repetition make random data whatever `zero_buffers` says and make every write
//! anew, repetition leaves a pattern out, and a pattern that is all there is stays as it is.

use super::super::job::Job;
use super::super::number::Size;
use super::Obstacles;
use super::load::whole;
use crate::plan::{BufferPattern, Dedupe, DedupeMode, Step};
use crate::sample::Direction;
use crate::unit::Bytes;

/// Adds the data of a job to its step.
pub(super) fn apply(job: &Job, step: &mut Step, obstacles: &mut Obstacles<'_>) {
    let writes = step.rw.directions().contains(&Direction::Write);
    // A job that only reads counts among those that share a working set.
    step.dedupe = dedupe(job, step, obstacles).filter(|d| writes || d.global);
    if !writes {
        return;
    }
    let percent = whole(job, "buffer_compress_percentage").unwrap_or(0).min(100) as u32;
    let made_anew = step.dedupe.is_some() || percent > 0 && percent < 100;
    step.buffer_pattern = pattern(job, step.dedupe.is_some() && percent == 0, obstacles);
    step.compressible = match percent {
        0 if job.flag("zero_buffers") && step.buffer_pattern.is_none() && !made_anew => 100,
        percent => percent,
    };
    if made_anew && job.given("refill_buffers").is_some() && !job.flag("refill_buffers") {
        obstacles
            .fio_only("refill_buffers=0", "fio then neither repeats nor compresses, it writes one buffer");
    }
    let random = step.fixed_share() < 100;
    step.dedupe = step.dedupe.filter(|_| random);
    step.refill = random && (made_anew || job.flag("refill_buffers"));
    step.scramble = !random || step.refill || job.flag("scramble_buffers");
    if percent > 0 && percent < 100 {
        step.compress_chunk = Some(chunk(job, step, obstacles));
    }
}

/// The piece that compresses: a block when it is 0.
fn chunk(job: &Job, step: &Step, obstacles: &mut Obstacles<'_>) -> Bytes {
    let smallest = step.smallest_write();
    let asked = Bytes(whole(job, "buffer_compress_chunk").unwrap_or(512));
    if (asked.0 == 0 || asked > smallest) && step.sizes(Direction::Write).single().is_none() {
        obstacles.fio_only("buffer_compress_chunk", "it is larger than some blocks");
    }
    if asked.0 == 0 { smallest } else { asked }
}

fn pattern(job: &Job, left_out: bool, obstacles: &mut Obstacles<'_>) -> Option<BufferPattern> {
    let text = job.text("buffer_pattern")?;
    match text.parse() {
        _ if left_out => {
            obstacles.fio_only(format!("buffer_pattern={text}"), "with dedupe_percentage fio leaves it out");
            None
        }
        Ok(pattern) => Some(pattern),
        Err(e) => {
            let e: crate::plan::WordError = e;
            obstacles.fio_only(format!("buffer_pattern={text}"), e.to_string());
            None
        }
    }
}

/// Its writes repeat a working set.
pub(super) fn has_working_set(job: &Job) -> bool {
    whole(job, "dedupe_percentage").unwrap_or(0) > 0 && job.choice("dedupe_mode") == Some("working_set")
}

fn dedupe(job: &Job, step: &Step, obstacles: &mut Obstacles<'_>) -> Option<Dedupe> {
    let percent = whole(job, "dedupe_percentage").filter(|p| *p > 0)? as u32;
    if step.sizes(Direction::Write).single().is_none() {
        let why = "where writes differ in size, what fio repeats depends on the sizes before";
        obstacles.fio_only("dedupe_percentage", why);
    }
    if !has_working_set(job) {
        return Some(Dedupe { percent, mode: DedupeMode::Repeat, set: 5, global: false });
    }
    let set = whole(job, "dedupe_working_set_percentage").unwrap_or(5).min(100) as u32;
    if percent + set > 100 {
        let why = format!("the working set is {set} % of the writes, and those cannot repeat");
        obstacles.refused(format!("dedupe_percentage={percent}"), why);
    }
    if !matches!(job.size("size"), Some(Size::Bytes(1..))) {
        obstacles
            .fio_only("dedupe_mode=working_set", "it is a share of size, which has to be given in bytes");
    }
    if job.int("nrfiles").is_some_and(|n| n > 1)
        || job.text("filename").is_some_and(|n| super::split(&n).len() > 1)
    {
        obstacles.refused("dedupe_mode=working_set", "it needs a single file");
    }
    if step.zones.is_some() {
        obstacles.fio_only("dedupe_mode=working_set", "zones go beyond the size that it is a share of");
    }
    Some(Dedupe { percent, mode: DedupeMode::WorkingSet, set, global: job.flag("dedupe_global") })
}

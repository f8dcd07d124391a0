//! The data that a job writes: `zero_buffers`, `buffer_pattern`, `buffer_compress_percentage` and what goes with them.
//!
//! Which of them wins was seen on fio 3.33: compression makes random data whatever `zero_buffers` says and makes every write
//! anew, and a pattern that is all there is stays as it is.

use super::{FioWords, Obstacles, whole, written_size};
use fio_formats::job::Job;
use volproof_base::sample::Direction;
use volproof_base::unit::Bytes;
use volproof_plan::{BufferPattern, Step};

/// Adds the data of a job to its step.
pub(super) fn from(job: &Job, step: &mut Step, obstacles: &mut Obstacles<'_>) {
    if !step.rw.directions().contains(&Direction::Write) {
        return;
    }
    let percent = whole(job, "buffer_compress_percentage").unwrap_or(0).min(100) as u32;
    let made_anew = percent > 0 && percent < 100;
    step.buffer_pattern = pattern(job, obstacles);
    step.compressible = match percent {
        0 if job.flag("zero_buffers") && step.buffer_pattern.is_none() && !made_anew => 100,
        percent => percent,
    };
    if made_anew && job.given("refill_buffers").is_some() && !job.flag("refill_buffers") {
        obstacles.fio_only("refill_buffers=0", "fio then does not compress, it writes one buffer");
    }
    let random = step.fixed_share() < 100;
    step.refill = random && (made_anew || job.flag("refill_buffers"));
    step.scramble = !random || step.refill || job.flag("scramble_buffers");
    if made_anew {
        step.compress_chunk = Some(chunk(job, step, obstacles));
    }
}

/// The same in fio's words.
pub(super) fn to(step: &Step, words: &mut FioWords) {
    if step.compressible > 0 {
        words.set("buffer_compress_percentage", step.compressible.to_string());
    }
    if step.compressible > 0 && step.compressible < 100 {
        words.set("buffer_compress_chunk", written_size(step.compress_chunk.unwrap_or(Bytes::kib(4))));
    }
    if let Some(pattern) = &step.buffer_pattern {
        words.set("buffer_pattern", pattern.to_string());
    }
    if step.compressible > 0 || step.refills() {
        words.set("refill_buffers", "1");
    }
    if !step.scramble {
        words.set("scramble_buffers", "0");
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

fn pattern(job: &Job, obstacles: &mut Obstacles<'_>) -> Option<BufferPattern> {
    let text = job.text("buffer_pattern")?;
    match text.parse() {
        Ok(pattern) => Some(pattern),
        Err(e) => {
            let e: volproof_plan::WordError = e;
            obstacles.fio_only(format!("buffer_pattern={text}"), e.to_string());
            None
        }
    }
}

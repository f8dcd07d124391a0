//! The data that a job writes: `zero_buffers`, `buffer_compress_percentage` and what goes with them.
//!
//! volproof writes random data, each sector unlike all others, or zeros. The table hands patterns and other data to the installed fio.

use super::{FioWords, Obstacles, whole};
use fio_formats::job::Job;
use volproof_base::sample::Direction;
use volproof_plan::Step;

/// Adds the data of a job to its step.
pub(super) fn from(job: &Job, step: &mut Step, obstacles: &mut Obstacles<'_>) {
    if !step.rw.directions().contains(&Direction::Write) {
        return;
    }
    let percent = whole(job, "buffer_compress_percentage").unwrap_or(0).min(100);
    // fio compresses also where `zero_buffers` is given (seen on 3.33).
    step.compressible = if percent == 100 || percent == 0 && job.flag("zero_buffers") { 100 } else { 0 };
    if percent > 0 && percent < 100 {
        obstacles.fio_only("buffer_compress_percentage", "fio compresses pieces of sizes of its own");
    }
    let repeats = job.given("scramble_buffers").is_some() && !job.flag("scramble_buffers");
    if repeats && step.compressible == 0 && !job.flag("refill_buffers") {
        obstacles.fio_only("scramble_buffers=0", "volproof never writes the same data twice");
    }
}

/// The same in fio's words.
pub(super) fn to(step: &Step, words: &mut FioWords) {
    if step.compressible == 0 {
        return;
    }
    words.set("buffer_compress_percentage", step.compressible.to_string());
    if step.compressible < 100 {
        words.set("buffer_compress_chunk", "4k");
    }
    words.set("refill_buffers", "1");
}

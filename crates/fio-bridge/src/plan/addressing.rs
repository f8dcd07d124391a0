//! Which I/O goes where: `rw` with its gaps, `rwmixread`, `ba`, `random_distribution`, `norandommap`, `randseed`.

use super::{FioWords, Obstacles, whole, written_size};
use fio_formats::block_ranges::bytes;
use fio_formats::block_ranges::size_of;
use fio_formats::job::Job;
use volproof_plan::{Distribution, Pattern, Step};

/// The seed that repeats the same offsets in every run: any number would do.
const REPEATED: u64 = 0x0076_6f6c_7072_6f6f;

/// The pattern of a job, on which most other options depend.
pub(super) fn pattern_from(job: &Job, step: &mut Step, obstacles: &mut Obstacles<'_>) {
    step.rw = pattern(job, obstacles);
    step.rwmix = job.reads();
}

/// Offsets of a job, once its block sizes are known.
pub(super) fn from(job: &Job, step: &mut Step, obstacles: &mut Obstacles<'_>) {
    step.distribution = distribution(job, step.rw, obstacles);
    step.norandommap = job.flag("norandommap");
    gaps(job, step, obstacles);
    align(job, step, obstacles);
}

/// The pattern and its gaps in fio's words.
pub(super) fn pattern_to(step: &Step, words: &mut FioWords) {
    if step.stride.0 > 0 {
        words.set("rw", format!("{}:{}", step.rw, written_size(step.stride)));
    } else {
        words.set("rw", step.rw.to_string());
    }
    if step.rw.directions().len() == 2 {
        words.set("rwmixread", step.rwmix.to_string());
    }
}

/// Offsets in fio's words.
pub(super) fn to(step: &Step, seed: u64, words: &mut FioWords) -> Result<(), String> {
    if let Some(align) = step.align {
        if !step.norandommap {
            return Err("fio draws aligned offsets independently: set norandommap".into());
        }
        words.set("ba", written_size(align));
    }
    if step.distribution != Distribution::Uniform {
        words.set("random_distribution", step.distribution.to_string());
    }
    if step.norandommap {
        words.set("norandommap", "1");
    }
    // fio reads signed numbers.
    words.set("randseed", (seed & (u64::MAX >> 1)).to_string());
    Ok(())
}

fn pattern(job: &Job, obstacles: &mut Obstacles<'_>) -> Pattern {
    let word = job.choice("rw").unwrap_or("read");
    if let Some(suffix) = job.suffix("rw").filter(|s| !matches!(s.as_str(), "" | "0" | "1"))
        && word.starts_with("rand")
    {
        obstacles.fio_only(format!("rw={word}:{suffix}"), "random I/O draws each offset");
    }
    // What is no pattern of ours is among the limits of the table.
    word.parse().unwrap_or(Pattern::Read)
}

/// Gaps between sequential I/Os: fio ends a pass over them by rules of its own (`get_next_seq_offset` in io_u.c).
fn gaps(job: &Job, step: &Step, obstacles: &mut Obstacles<'_>) {
    let suffix = job.suffix("rw").filter(|s| !s.is_empty() && !step.rw.is_random());
    if let Some(suffix) = suffix.filter(|suffix| gap(suffix, job) != Some(0)) {
        obstacles
            .fio_only(format!("rw={}:{suffix}", step.rw), "fio ends passes with gaps by rules of its own");
    }
}

/// The gap that the suffix of a sequential `rw` asks for, in bytes: `1g`, and `-8k` for one that goes backwards. `None` where it is no size.
fn gap(suffix: &str, job: &Job) -> Option<i64> {
    let (sign, size) = suffix.strip_prefix('-').map_or((1, suffix), |size| (-1, size));
    // A size is above 0.
    match size_of(size, job) {
        Err(_) if size == "0" => Some(0),
        size => i64::try_from(size.ok()?.0).ok().map(|size| sign * size),
    }
}

/// `blockalign` where it differs from the block: fio then draws offsets independently (`fixup_options`).
fn align(job: &Job, step: &Step, obstacles: &mut Obstacles<'_>) {
    if job.given("ba").is_none() || !step.rw.is_random() {
        return;
    }
    let block = step.bs.single().map(|b| b.0);
    let all = job.ints("ba");
    if step.rw.directions().iter().any(|d| all[*d as usize].map(|n| bytes(n).0) != block) {
        obstacles.fio_only("ba", "random offsets that are aligned to something else than their block");
    }
}

fn distribution(job: &Job, rw: Pattern, obstacles: &mut Obstacles<'_>) -> Distribution {
    let word = job.choice("random_distribution").unwrap_or("random");
    if !rw.is_random() || matches!(word, "random" | "zoned_abs") {
        return Distribution::Uniform;
    }
    let text = match job.suffix("random_distribution") {
        Some(suffix) => format!("{word}:{suffix}"),
        None => word.to_string(),
    };
    text.parse().unwrap_or_else(|e: volproof_plan::WordError| {
        obstacles.fio_only(format!("random_distribution={text}"), e.to_string());
        Distribution::Uniform
    })
}

/// Seed of the random numbers: `given` for a job that wants other ones every time.
pub(super) fn seed(job: &Job, given: u64) -> u64 {
    match job.given("randseed") {
        Some(_) => whole(job, "randseed").unwrap_or(REPEATED),
        None if job.flag("randrepeat") || job.flag("allrandrepeat") => REPEATED,
        None => given,
    }
}

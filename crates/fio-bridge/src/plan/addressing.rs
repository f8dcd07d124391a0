//! Which I/O goes where: `rw` with its gaps, `rwmixread`, `ba`, `random_distribution`, `norandommap`, `randseed`.

use super::{FioWords, Obstacles, bytes, whole, written_size};
use fio_formats::block_ranges::size_of;
use fio_formats::job::Job;
use volproof_base::unit::Bytes;
use volproof_plan::{BlockSizes, Distribution, Pattern, Step, Stride};

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
    step.stride = stride(job, step, obstacles);
    align(job, step, obstacles);
}

/// The pattern and its gaps in fio's words.
pub(super) fn pattern_to(step: &Step, words: &mut FioWords) -> Result<(), String> {
    match step.stride {
        Stride(0) => words.set("rw", step.rw.to_string()),
        Stride(skip) if skip < 0 && (step.offset.0 > 0 || step.numjobs > 1) => {
            let why = "going backwards, fio wraps to the end of the part only where the part is the start of the target";
            return Err(why.into());
        }
        Stride(skip) => {
            let sign = if skip < 0 { "-" } else { "" };
            words.set("rw", format!("{}:{sign}{}", step.rw, written_size(Bytes(skip.unsigned_abs()))));
        }
    }
    if step.rw.directions().len() == 2 {
        words.set("rwmixread", step.rwmix.to_string());
    }
    Ok(())
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

/// The gap that sequential I/O leaves after each I/O, where that is the same in fio (`get_next_seq_offset` in io_u.c) and here: whole blocks of
/// one size in one direction and one file. `extent` looks at where the part begins and ends.
fn stride(job: &Job, step: &Step, obstacles: &mut Obstacles<'_>) -> Stride {
    let Some(suffix) = job.suffix("rw").filter(|s| !s.is_empty() && !step.rw.is_random()) else {
        return Stride(0);
    };
    let option = || format!("rw={}:{suffix}", step.rw);
    let skip = match gap(&suffix, job) {
        Some(0) => return Stride(0),
        Some(skip) => skip,
        None => {
            obstacles.fio_only(option(), "volproof passes over a plain number of bytes");
            return Stride(0);
        }
    };
    let block = step.bs.single().map_or(0, |b| b.0);
    if step.rw.directions().len() > 1 {
        obstacles.fio_only(option(), "reads and writes would leave gaps of their own");
    } else if block == 0 || !skip.unsigned_abs().is_multiple_of(block) {
        obstacles.fio_only(option(), "the gap is not of whole blocks of one size");
    } else if job.int("loops").is_some_and(|n| n > 1) {
        obstacles.fio_only(option(), "every loop would begin at the start again");
    }
    Stride(skip)
}

/// The gap that the suffix of a sequential `rw` asks for, in bytes: `1g`, and `-8k` for one that goes backwards. `None` where it is no size.
pub fn gap(suffix: &str, job: &Job) -> Option<i64> {
    let (sign, size) = suffix.strip_prefix('-').map_or((1, suffix), |size| (-1, size));
    // A size is above 0.
    match size_of(size, job) {
        Err(_) if size == "0" => Some(0),
        size => i64::try_from(size.ok()?.0).ok().map(|size| sign * size),
    }
}

/// `blockalign` where it differs from the smallest block: fio then draws offsets independently (`fixup_options`).
fn align(job: &Job, step: &mut Step, obstacles: &mut Obstacles<'_>) {
    if job.given("ba").is_none() || !step.rw.is_random() {
        return;
    }
    let all = job.ints("ba");
    let directions = step.rw.directions().iter();
    let wanted: Vec<u64> = directions.filter_map(|d| all[*d as usize]).map(|n| bytes(n).0).collect();
    let least = |sizes: &BlockSizes| sizes.shares().iter().map(|s| s.0.0).min().unwrap_or(0);
    let Some(align) = wanted.first().copied() else { return };
    if wanted.iter().any(|a| *a != align) || wanted.len() < step.rw.directions().len() {
        obstacles.fio_only("ba", "reads and writes are aligned differently");
    } else if align == least(&step.bs) && step.bs_write.is_none() && step.bs.single().is_some() {
        // The default of a step: nothing to set.
    } else if align % 512 != 0 {
        obstacles.fio_only(format!("ba={align}"), "offsets are whole sectors");
    } else {
        (step.align, step.norandommap) = (Some(Bytes(align)), true);
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

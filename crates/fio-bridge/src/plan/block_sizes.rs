//! Block sizes of reads and writes: `bs`, `bsrange` of one size, `bssplit`.

use super::{FioWords, Obstacles, written_size};
use fio_formats::block_ranges::bytes;
use fio_formats::block_ranges::{self, SplitSizes, block_ranges};
use fio_formats::job::Job;
use volproof_base::sample::Direction;
use volproof_base::unit::Bytes;
use volproof_plan::{BlockSizes, Pattern, Step};

/// The block sizes of a job.
pub(super) fn from(job: &Job, step: &mut Step, obstacles: &mut Obstacles<'_>) {
    step.bs = sizes(job, step.rw, obstacles);
}

/// The same in fio's words.
pub(super) fn to(step: &Step, words: &mut FioWords) {
    if let Some(bytes) = step.bs.single() {
        return words.set("bs", written_size(bytes));
    }
    let shares = step.bs.shares().iter().map(|(b, share)| format!("{}/{share}", written_size(*b)));
    words.set("bssplit", shares.collect::<Vec<_>>().join(":"));
}

/// The sizes of the pattern's directions.
fn sizes(job: &Job, rw: Pattern, obstacles: &mut Obstacles<'_>) -> BlockSizes {
    let plain = match job.given("bsrange") {
        Some(_) => block_ranges(job).map(|(low, _)| i64::try_from(low).ok()),
        None => job.ints("bs"),
    };
    let split = job.text("bssplit").map(|text| split_sizes(&text, job));
    let mut all = Vec::new();
    for direction in rw.directions().iter().map(|d| (*d as usize).min(2)) {
        let sizes = match &split {
            Some(Ok(shares)) => shares[direction.min(shares.len() - 1)].clone(),
            Some(Err(why)) => {
                obstacles.fio_only("bssplit", why.clone());
                BlockSizes::one(Bytes::kib(4))
            }
            None => BlockSizes::one(bytes(plain[direction].unwrap_or(4096))),
        };
        if sizes.largest() > Bytes::gib(1) {
            obstacles.fio_only("bs", format!("{} is above 1 GiB", sizes.largest()));
        }
        all.push(sizes);
    }
    if let [Direction::Read, Direction::Write] = rw.directions()
        && all[0] != all[1]
    {
        obstacles.fio_only("bs", "reads and writes differ in size");
    }
    all.swap_remove(0)
}

/// `bsrange` has one size for each direction, and nothing beside it says otherwise.
pub(super) fn range_is_a_size(job: &Job) -> bool {
    job.ranges("bsrange").iter().flatten().all(|(low, high)| low == high)
}

/// The sizes of `bssplit` as a step has them, for reads, writes and trims.
fn split_sizes(text: &str, job: &Job) -> Result<Vec<BlockSizes>, String> {
    block_ranges::split_sizes(text, job)?.iter().map(of_direction).collect()
}

fn of_direction(sizes: &SplitSizes) -> Result<BlockSizes, String> {
    let shares: Option<Vec<u32>> = sizes.iter().map(|(_, share)| *share).collect();
    if shares.is_none_or(|shares| shares.iter().sum::<u32>() != 100) {
        return Err("volproof takes sizes with a percentage each, 100 together".into());
    }
    let words = sizes.iter().map(|(size, share)| format!("{}/{}", size.exact(), share.unwrap_or(0)));
    words.collect::<Vec<_>>().join(":").parse().map_err(|e: volproof_plan::WordError| e.to_string())
}

//! Block sizes of reads and writes: `bs`, `bsrange` of one size, `bssplit`.

use super::super::job::Job;
use super::super::option;
use super::super::option_value::{self, OptionValue};
use super::{FioWords, Obstacles, bytes, written_size};
use crate::plan::{BlockSizes, Pattern, Step};
use crate::sample::Direction;
use crate::unit::Bytes;

/// The block sizes of a job.
pub(super) fn from(job: &Job, step: &mut Step, obstacles: &mut Obstacles<'_>) {
    (step.bs, step.bs_write) = sizes(job, step.rw, obstacles);
}

/// The same in fio's words: sizes of reads and writes apart where they differ.
pub(super) fn to(step: &Step, words: &mut FioWords) {
    let sizes = [Some(&step.bs), step.bs_write.as_ref()];
    if sizes.iter().flatten().all(|s| s.single().is_some()) {
        let bytes: Vec<_> = sizes.iter().flatten().map(|s| written_size(s.largest())).collect();
        words.set("bs", bytes.join(","));
        return;
    }
    let split = |sizes: &BlockSizes| {
        let shares: Vec<_> =
            sizes.shares().iter().map(|(b, share)| format!("{}/{share}", written_size(*b))).collect();
        shares.join(":")
    };
    words.set("bssplit", sizes.iter().flatten().map(|s| split(s)).collect::<Vec<_>>().join(","));
}

/// Sizes of the first direction of the pattern, and of writes where they differ.
fn sizes(job: &Job, rw: Pattern, obstacles: &mut Obstacles<'_>) -> (BlockSizes, Option<BlockSizes>) {
    let plain = match job.given("bsrange") {
        Some(_) => block_ranges(job).map(|(low, _)| i64::try_from(low).ok()),
        None => job.ints("bs"),
    };
    let split = job.text("bssplit").map(|text| shares(&text, job));
    let of = |direction: usize, obstacles: &mut Obstacles<'_>| {
        let sizes = match &split {
            Some(Ok(shares)) => shares[direction.min(shares.len() - 1)].clone(),
            Some(Err(why)) => {
                obstacles.refused("bssplit", why.clone());
                BlockSizes::one(Bytes::kib(4))
            }
            None => BlockSizes::one(bytes(plain[direction].unwrap_or(4096))),
        };
        if sizes.largest() > Bytes::gib(1) {
            obstacles.fio_only("bs", format!("{} is above 1 GiB", sizes.largest()));
        }
        sizes
    };
    match rw.directions() {
        [Direction::Read, _, ..] => {
            let (read, write) = (of(0, obstacles), of(1, obstacles));
            let differ = read != write;
            (read, differ.then_some(write))
        }
        [Direction::Write, ..] => (of(1, obstacles), None),
        [Direction::Trim, ..] => (of(2, obstacles), None),
        _ => (of(0, obstacles), None),
    }
}

/// `4k/10:64k/50:32k/40,8k/100`: sizes with their percentages, for reads, writes and trims.
///
/// Shares that are left out, or 0, divide the rest. Then, as measured on fio 3.33, the smallest share is honoured first and the largest gets
/// whatever is left of 100 %, be that less or more than was asked for.
fn shares(text: &str, job: &Job) -> Result<Vec<BlockSizes>, String> {
    let sizes = |text: &str| -> Result<BlockSizes, String> {
        let parts: Vec<(&str, &str)> =
            text.split(':').filter(|p| !p.is_empty()).map(|p| p.split_once('/').unwrap_or((p, ""))).collect();
        let number = |share: &str| match share {
            "" => Ok(0),
            share => share.parse::<u32>().map_err(|_| format!("'{share}' is no whole percentage")),
        };
        let mut shares = parts.iter().map(|p| number(p.1)).collect::<Result<Vec<_>, _>>()?;
        let sum: u32 = shares.iter().fold(0, |a, b| a.saturating_add(*b));
        let blanks = shares.iter().filter(|share| **share == 0).count() as u32;
        if blanks > 0 {
            let none = || format!("its percentages add up to {sum}, and leave nothing for the others");
            let rest = 100u32.checked_sub(sum).ok_or_else(none)?;
            shares.iter_mut().filter(|share| **share == 0).for_each(|share| *share = rest / blanks);
        }
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by_key(|i| shares[*i]);
        let mut left = 100;
        for (n, i) in order.iter().enumerate() {
            shares[*i] = if n + 1 == order.len() { left } else { shares[*i].min(left) };
            left -= shares[*i];
        }
        let mut words = Vec::new();
        for ((size, _), share) in parts.iter().zip(shares) {
            if share > 0 {
                words.push(format!("{}/{share}", Bytes(size_of(size, job)?).exact()));
            }
        }
        words.join(":").parse().map_err(|e: crate::plan::WordError| e.to_string())
    };
    text.split(',')
        .filter(|t| !t.is_empty())
        .map(sizes)
        .collect::<Result<Vec<_>, _>>()
        .and_then(|all| if all.is_empty() { Err("it has no size".into()) } else { Ok(all) })
}

/// A size with fio's units.
pub(super) fn size_of(text: &str, job: &Job) -> Result<u64, String> {
    let bs = option::find_any("bs").expect("the table has bs");
    match option_value::read(bs, Some(text), base(job))? {
        (OptionValue::Ints([Some(n), ..]), _) => Ok(bytes(n).0),
        _ => Err(format!("'{text}' is no size")),
    }
}

/// fio's `kb_base`.
fn base(job: &Job) -> u64 {
    if job.choice("kb_base") == Some("1000") { 1000 } else { 1024 }
}

/// Smallest and largest block of reads, writes and trims.
pub fn block_ranges(job: &Job) -> [(u64, u64); 3] {
    let plain = job.ints("bs");
    let split = job.text("bssplit").and_then(|text| shares(&text, job).ok());
    std::array::from_fn(|d| match &split {
        Some(all) => {
            let sizes = all[d.min(all.len() - 1)].shares().iter().map(|s| s.0.0);
            (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0))
        }
        None => match job.ranges("bsrange")[d] {
            Some(range) => range,
            None => [plain[d].unwrap_or(4096); 2].map(|n| bytes(n).0).into(),
        },
    })
}

/// `bsrange` has one size for each direction, and nothing beside it says otherwise.
pub(super) fn range_is_a_size(job: &Job) -> bool {
    job.ranges("bsrange").iter().flatten().all(|(low, high)| low == high)
}

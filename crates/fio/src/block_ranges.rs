//! The blocks of a job: `bs`, `bsrange` and `bssplit`.

use super::job::Job;
use super::option;
use super::option_value::{self, OptionValue};
use volproof_base::unit::Bytes;

/// The sizes of one direction with their percentages; none where fio makes up the percentage.
pub type SplitSizes = Vec<(Bytes, Option<u32>)>;

/// `4k/10:64k/50:32k/40,8k/100`: sizes with their percentages, for reads, writes and trims.
///
/// # Errors
/// A size or a percentage is none, or a direction has no size.
pub fn split_sizes(text: &str, job: &Job) -> Result<Vec<SplitSizes>, String> {
    let directions = text.split(',').filter(|direction| !direction.is_empty());
    let all: Vec<SplitSizes> = directions.map(|sizes| of_direction(sizes, job)).collect::<Result<_, _>>()?;
    if all.is_empty() { Err("it has no size".into()) } else { Ok(all) }
}

fn of_direction(text: &str, job: &Job) -> Result<SplitSizes, String> {
    let mut sizes = SplitSizes::new();
    for part in text.split(':').filter(|part| !part.is_empty()) {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        let share = match share {
            "" => None,
            share => Some(share.parse().map_err(|_| format!("'{share}' is no whole percentage"))?),
        };
        sizes.push((size_of(size, job)?, share.filter(|share| *share > 0)));
    }
    if sizes.is_empty() { Err("a direction has no size".into()) } else { Ok(sizes) }
}

/// A size with fio's units.
///
/// # Errors
/// It is none.
pub fn size_of(text: &str, job: &Job) -> Result<Bytes, String> {
    let bs = option::find_any("bs").expect("the table has bs");
    match option_value::read(bs, Some(text), base(job))? {
        (OptionValue::Ints([Some(n), ..]), _) => Ok(bytes(n)),
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
    let split = job.text("bssplit").and_then(|text| split_sizes(&text, job).ok());
    std::array::from_fn(|d| match &split {
        Some(all) => {
            let sizes = all[d.min(all.len() - 1)].iter().map(|(size, _)| size.0);
            (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0))
        }
        None => match job.ranges("bsrange")[d] {
            Some(range) => range,
            None => [plain[d].unwrap_or(4096); 2].map(|n| bytes(n).0).into(),
        },
    })
}

/// Bytes of a number that cannot be negative here.
pub fn bytes(number: i64) -> Bytes {
    Bytes(u64::try_from(number).unwrap_or(0))
}

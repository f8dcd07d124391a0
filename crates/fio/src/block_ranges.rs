//! The blocks of a job: `bs`, `bsrange` and `bssplit`.

use super::job::Job;
use super::option;
use super::option_value::{self, OptionValue};
use volproof_base::unit::Bytes;

/// The sizes of one direction with their percentages.
pub type SplitSizes = Vec<(Bytes, u32)>;

/// `4k/10:64k/50:32k/40,8k/100`: sizes with their percentages, for reads, writes and trims.
///
/// Shares that are left out, or 0, divide the rest. Then, as measured on fio 3.33, the smallest share is honoured first and the largest gets
/// whatever is left of 100 %, be that less or more than was asked for.
///
/// # Errors
/// A size or a percentage is none, or the percentages leave nothing.
pub fn shares(text: &str, job: &Job) -> Result<Vec<SplitSizes>, String> {
    let sizes = |text: &str| -> Result<SplitSizes, String> {
        let parts: Vec<(&str, &str)> =
            text.split(':').filter(|p| !p.is_empty()).map(|p| p.split_once('/').unwrap_or((p, ""))).collect();
        if parts.is_empty() {
            return Err("a direction has no size".into());
        }
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
        let kept = parts.iter().zip(shares).filter(|(_, share)| *share > 0);
        kept.map(|((size, _), share)| Ok((size_of(size, job)?, share))).collect()
    };
    text.split(',')
        .filter(|t| !t.is_empty())
        .map(sizes)
        .collect::<Result<Vec<_>, _>>()
        .and_then(|all| if all.is_empty() { Err("it has no size".into()) } else { Ok(all) })
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
    let split = job.text("bssplit").and_then(|text| shares(&text, job).ok());
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

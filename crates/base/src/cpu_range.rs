//! A CPU or a range of CPUs, as lists of them have it (`0-3,8`).

use std::ops::RangeInclusive;

/// More CPUs are on no machine.
const MOST: u32 = 8192;

/// The CPUs that a part of a list names; none where it is no number or range of CPUs.
pub fn cpu_range(part: &str) -> Option<RangeInclusive<u32>> {
    let (low, high) = part.split_once('-').unwrap_or((part, part));
    let (low, high): (u32, u32) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (low <= high && high < MOST).then_some(low..=high)
}

//! `splits`: each I/O became several requests at the disk.
//!
//! **Why it matters:** a provider may count each request, so that the IOPS at the disk are more than those of the load.
//!
//! **What to do:** compare the IOPS at the disk with the promise, or use blocks no larger than `max_sectors_kb`.
//!
//! **Source:** the disk's counters (`/sys/block/DISK/stat`), whose bytes were ours alone.

use super::DoubtCase;
use super::other_traffic::beyond_ours;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::significant;
use volproof_record::most_parts;

/// More requests than this for each I/O come from splits, or from others.
pub(super) const MORE_REQUESTS: f64 = 1.5;

/// The disk completed more requests than the load sent, of the same bytes.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let s = &case.figures;
    let (device, ios, block) = (s.disk.own?, s.rate.ios?, s.load.block?);
    let each = (device.ios + device.merges) / ios;
    if each <= MORE_REQUESTS || each > most_parts(block) || beyond_ours(case).is_some() {
        return None;
    }
    let limits = case.evidence.queues.iter().filter_map(|queue| queue.max_request_bytes);
    let limit = limits.max().filter(|limit| limit.0 > 0 && *limit < block);
    let why = limit.map_or(String::new(), |limit| {
        format!(": the kernel splits what is larger than {limit} (max_sectors_kb)")
    });
    Some(Doubt::new(
        Severity::Note,
        DoubtCode::Splits,
        format!("each I/O of {block} became {} requests at the disk{why}", significant(each)),
        "compare IOPS at the disk with the promise, or use blocks no larger than max_sectors_kb",
    ))
}

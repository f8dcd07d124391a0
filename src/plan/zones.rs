//! Zones of I/O that are not the device's: the load stays in one part of the target for a while, then goes on to the next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Distribution, Step};
use crate::unit::{Bytes, text};

/// I/O in one zone after another, and behind the last one in the first again (fio's `zonemode=strided`).
///
/// A zone begins anew after every `range` bytes of I/O in it: sequential I/O from its start, random I/O with every block once more. At
/// the end of the part sequential I/O uses what is left of the last zone; random I/O leaves out a zone that is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Zones {
    /// Bytes of I/O in a zone, reads and writes together, before the next one begins.
    #[serde(with = "text")]
    #[schemars(with = "String")]
    pub size: Bytes,
    /// Length of a zone; `size` when absent.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub range: Option<Bytes>,
    /// Bytes from the end of a zone to the beginning of the next.
    #[serde(default, with = "text", skip_serializing_if = "Bytes::is_zero")]
    #[schemars(with = "String")]
    pub skip: Bytes,
}

impl Zones {
    /// Length of a zone.
    pub fn range(&self) -> Bytes {
        self.range.unwrap_or(self.size)
    }

    /// From the beginning of a zone to that of the next.
    pub fn distance(&self) -> Bytes {
        Bytes(self.range().0.saturating_add(self.skip.0))
    }

    /// What is done in the last zone of a part that ends inside of it, where that is not what is done in the others: the bytes of I/O
    /// from the first zone to the end of the part. None where no zone is cut short.
    pub fn cut_after(&self, block: Bytes, random: bool, part: Bytes) -> Option<Bytes> {
        let visit = self.size.0.next_multiple_of(block.0);
        let zones_before = part.0.saturating_sub(1) / self.distance().0;
        let left = part.0 - zones_before * self.distance().0;
        let needed = if random { self.range().0 } else { self.range().0.min(visit) };
        let last = if random { 0 } else { left / block.0 * block.0 };
        (left < needed).then(|| Bytes(zones_before.saturating_mul(visit).saturating_add(last)))
    }

    /// What is wrong with zones in a step.
    pub(super) fn problem(&self, step: &Step) -> Option<String> {
        let block = step.largest_block();
        if self.size.0 == 0 {
            Some("zones: size 0 would never do anything in a zone: use a block or more".into())
        } else if self.range() < block {
            Some(format!("zones: a block of {block} does not fit into a zone of {}: use range", self.range()))
        } else if !step.stride.is_zero() || step.align.is_some() {
            Some("zones say where I/O goes: leave out stride and align".into())
        } else if step.rw.is_random() && step.single_block().is_none() {
            Some("zones: random I/O covers a zone in blocks of one size: use a single bs".into())
        } else if step.rw.is_random() && step.distribution != Distribution::Uniform {
            Some("zones: random I/O is uniform in a zone: leave out distribution".into())
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_part_may_cut_a_zone() {
        let kib = |size, range: Option<u64>, skip| Zones {
            size: Bytes::kib(size),
            range: range.map(Bytes::kib),
            skip: Bytes::kib(skip),
        };
        let cut = |zones: Zones, random, part| {
            zones.cut_after(Bytes::kib(4), random, Bytes::kib(part)).map(|b| b.0 >> 10)
        };
        let plain = kib(64, None, 32);
        assert_eq!(cut(plain, false, 220), Some(156), "64 + 64 + 28");
        assert_eq!(cut(plain, true, 220), Some(128), "whole zones alone");
        for part in [160, 184, 192, 256] {
            assert_eq!((cut(plain, false, part), cut(plain, true, part)), (None, None), "{part}");
        }
        let fraction = kib(16, Some(32), 0);
        assert_eq!(cut(fraction, false, 112), None, "16 KiB are left");
        assert_eq!(cut(fraction, true, 112), Some(48));
        let twice = kib(64, Some(32), 32);
        assert_eq!(cut(twice, false, 76), Some(76), "64 + 12");
        assert_eq!(cut(kib(10, Some(32), 0), false, 40), Some(20), "12 + 8: a visit is of whole blocks");
        assert_eq!(cut(plain, false, 40), Some(40));
    }
}

//! Where the I/Os of a load lie in its range, as far as they are not blocks side by side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_base::unit::{Bytes, gcd};
use volproof_plan::Step;

/// A block of a disk: an I/O that begins within one touches one more than it is long.
const DISK_BLOCK: u64 = 4096;

/// Options by which a load leaves out parts of its range, comes back to its blocks, or begins its I/Os within blocks of a disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spacing {
    /// The options that do so, as they were given.
    pub options: Vec<String>,
    /// Share of the range that is used, above 0 and below 1; absent where all of it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_share: Option<f64>,
    /// All offsets of a step of volproof are multiples of this, and an I/O may touch one more block of the disk than it is long; absent where no I/O does.
    #[serde(rename = "unaligned_to_bytes", skip_serializing_if = "Option::is_none")]
    pub unaligned_to: Option<Bytes>,
}

impl Spacing {
    /// The share of a range that blocks use which begin so far apart, in bytes: all of it where they lie side by side.
    fn share(block: f64, apart: f64) -> f64 {
        if block > 0.0 { block / apart.max(block) } else { 1.0 }
    }

    /// Only what leaves out, repeats or misaligns something, if anything does. All offsets are multiples of `unaligned_to` bytes; `block` is the size of
    /// all I/Os, where they have one.
    fn reduced(self, block: Option<Bytes>) -> Option<Spacing> {
        let unaligned =
            self.unaligned_to.zip(block).filter(|(unit, block)| touches_one_more(block.0, unit.0));
        let spacing = Spacing {
            used_share: self.used_share.filter(|share| *share < 1.0),
            unaligned_to: unaligned.map(|(unit, _)| unit),
            options: self.options,
        };
        (spacing.leaves_out() || spacing.unaligned_to.is_some()).then_some(spacing)
    }

    /// Of a step of volproof.
    pub fn of_step(step: &Step) -> Option<Spacing> {
        let random = step.rw.is_random();
        let (block, single) = (step.bs.mean(), step.bs.single());
        let align = step.align.filter(|_| random);
        let gap = if random { Bytes(0) } else { step.stride };
        let apart = align.map_or(block + gap.0 as f64, |align| align.0 as f64);
        let each = align.or(single).map_or(0, |bytes| bytes.0);
        let increment = step.offset_increment.unwrap_or_default().0;
        let unit = [gap.0, step.offset.0, increment].into_iter().fold(each, gcd);
        let given = [
            ("align", align),
            ("stride", Some(gap).filter(|gap| gap.0 > 0)),
            ("offset", Some(step.offset).filter(|offset| offset.0 > 0)),
            ("offset-increment", step.offset_increment),
        ];
        let options =
            given.into_iter().filter_map(|(name, bytes)| Some(format!("{name} {}", bytes?.exact())));
        let share = Spacing::share(block, apart);
        let unaligned_to = Some(Bytes(unit));
        Spacing { options: options.collect(), used_share: Some(share), unaligned_to }.reduced(single)
    }

    /// Parts of the range are left out.
    pub fn leaves_out(&self) -> bool {
        self.used_share.is_some()
    }

    /// The options in words.
    pub fn words(&self) -> String {
        self.options.join(" ")
    }
}

/// An I/O at some multiple of `unit` touches more blocks of a disk than one at the start of a block.
fn touches_one_more(block: u64, unit: u64) -> bool {
    let furthest = DISK_BLOCK - gcd(unit, DISK_BLOCK);
    block > 0 && (furthest + block).div_ceil(DISK_BLOCK) > block.div_ceil(DISK_BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_plan::{BlockSizes, Pattern};

    #[test]
    fn only_an_io_that_begins_within_a_block_of_the_disk_touches_one_more() {
        for (block, unit, more) in [
            (4096, 4096, false),
            (4096, 512, true),
            (4096, 1024, true),
            (16_384, 4096, false),
            (16_384, 512, true),
            (512, 512, false),
            (1024, 512, true),
            (3072, 3072, true),
            (4608, 4608, false),
            (4096, 0, false),
        ] {
            assert_eq!(touches_one_more(block, unit), more, "{block} at {unit}");
        }
    }

    #[test]
    fn a_step_leaves_out_what_lies_between_its_blocks() {
        let step = Step { bs: BlockSizes::one(Bytes::kib(4)), ..Step::default() };
        let random = Step { rw: Pattern::RandRead, ..step.clone() };
        assert_eq!(Spacing::of_step(&random), None);
        let far = Spacing::of_step(&Step { align: Some(Bytes::mib(1)), ..random.clone() }).unwrap();
        assert_eq!((far.used_share, far.words()), (Some(1.0 / 256.0), "align 1MiB".into()));
        let holes = Step { rw: Pattern::Read, stride: Bytes(8_192), ..step.clone() };
        assert_eq!(Spacing::of_step(&holes).unwrap().used_share, Some(1.0 / 3.0));
        let shifted = Spacing::of_step(&Step { offset: Bytes::kib(1), ..random }).unwrap();
        assert_eq!((shifted.used_share, shifted.unaligned_to), (None, Some(Bytes::kib(1))));
    }
}

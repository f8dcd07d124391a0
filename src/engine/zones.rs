//! Where a load in zones goes: see [`plan::Zones`](crate::plan::Zones). Offsets count from the start of the job's part, in bytes.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::offsets::Offsets;
use crate::plan::{self, Distribution, Step};
use crate::sample::Direction;

/// The zones of one job on one target, and where it is in them.
#[derive(Clone, Debug)]
pub struct Zones {
    size: u64,
    range: u64,
    distance: u64,
    /// Length of the part.
    part: u64,
    random: Option<Blocks>,
    /// Where the zone begins.
    start: u64,
    /// Bytes of I/O in it so far, when it begins anew, and from one such beginning to the next.
    done: u64,
    again: u64,
    lap: u64,
    /// Where each direction is in the zone, for sequential patterns.
    position: [u64; 4],
}

/// Blocks of a zone for random patterns, shared by reads and writes.
#[derive(Clone, Debug)]
struct Blocks {
    length: u64,
    count: u64,
    covering: bool,
    offsets: Offsets,
    rng: Xoshiro256PlusPlus,
}

impl Blocks {
    fn shuffle(&mut self) {
        self.offsets = Offsets::random(&Distribution::Uniform, self.covering, self.count, &mut self.rng);
    }
}

impl Zones {
    /// Zones of a step in a part of `part` bytes, which hold at least one block.
    pub fn new(zones: &plan::Zones, step: &Step, part: u64, seed: u64) -> Zones {
        let range = zones.range().0.min(part);
        // Where blocks do not fill a zone, it begins anew behind the last one.
        let lap = step.single_block().map_or(range, |block| (range / block.0).max(1) * block.0);
        let blocks = || {
            let length = step.largest_block().0;
            let (count, covering) = ((range / length).max(1), !step.norandommap);
            // Other numbers than those of the generator beside it.
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(!seed);
            let offsets = Offsets::random(&Distribution::Uniform, covering, count, &mut rng);
            Blocks { length, count, covering, offsets, rng }
        };
        Zones {
            size: zones.size.0,
            range,
            distance: zones.distance().0,
            part,
            random: step.rw.is_random().then(blocks),
            start: 0,
            done: 0,
            again: lap,
            lap,
            position: [0; 4],
        }
    }

    /// Where an I/O of that length begins. Random I/O has one length, that of the blocks.
    pub fn next(&mut self, direction: Direction, length: u64) -> u64 {
        if self.done >= self.size {
            self.enter(self.start.saturating_add(self.distance));
        } else if self.done >= self.again {
            self.begin_anew();
        }
        self.done += length;
        if let Some(blocks) = &mut self.random {
            return self.start + blocks.offsets.next(&mut blocks.rng) * blocks.length;
        }
        let mut at = self.position[direction as usize];
        if at + length > self.range {
            at = 0;
        }
        if self.start + at + length > self.part {
            self.enter(0);
            (at, self.done) = (0, length);
        }
        self.position[direction as usize] = at + length;
        self.start + at
    }

    fn enter(&mut self, start: u64) {
        let needed = if self.random.is_some() { self.range } else { 1 };
        let fits = start.checked_add(needed).is_some_and(|end| end <= self.part);
        self.start = if fits { start } else { 0 };
        (self.done, self.again) = (0, 0);
        self.begin_anew();
    }

    fn begin_anew(&mut self) {
        self.again += self.lap;
        self.position = [0; 4];
        if let Some(blocks) = &mut self.random {
            blocks.shuffle();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Pattern;
    use crate::unit::Bytes;
    use proptest::prelude::*;

    fn zones(size: u64, range: Option<u64>, skip: u64) -> plan::Zones {
        plan::Zones { size: Bytes::kib(size), range: range.map(Bytes::kib), skip: Bytes::kib(skip) }
    }

    /// Offsets of blocks of 4 KiB in a part of so many, in KiB.
    fn offsets(zones: plan::Zones, rw: Pattern, part: u64, n: usize) -> Vec<u64> {
        let step = Step { rw, zones: Some(zones), ..Step::default() };
        let mut all = Zones::new(&zones, &step, part << 10, 5);
        (0..n).map(|_| all.next(rw.directions()[0], 4096) >> 10).collect()
    }

    #[test]
    fn sequential_io_goes_from_zone_to_zone() {
        let read = |zones, part, n| offsets(zones, Pattern::Read, part, n);
        assert_eq!(read(zones(8, None, 8), 40, 8), [0, 4, 16, 20, 32, 36, 0, 4]);
        assert_eq!(read(zones(8, Some(16), 0), 32, 6), [0, 4, 16, 20, 0, 4], "a fraction of each zone");
        assert_eq!(read(zones(16, Some(8), 8), 32, 9), [0, 4, 0, 4, 16, 20, 16, 20, 0], "each zone twice");
        assert_eq!(read(zones(16, Some(12), 64), 160, 5), [0, 4, 8, 0, 76]);
        assert_eq!(read(zones(16, None, 8), 32, 8), [0, 4, 8, 12, 24, 28, 0, 4], "the last one is cut");
        assert_eq!(read(zones(10, Some(64), 0), 64, 4), [0, 4, 8, 0], "one zone");
        assert_eq!(read(zones(8, Some(64), 64), 12, 4), [0, 4, 0, 4], "a zone longer than the part");
    }

    #[test]
    fn both_directions_begin_at_the_start_of_a_zone() {
        let zones = zones(16, None, 16);
        let step = Step { rw: Pattern::ReadWrite, ..Step::default() };
        let mut all = Zones::new(&zones, &step, 64 << 10, 5);
        use Direction::{Read, Write};
        let at: Vec<u64> = [Read, Read, Write, Read, Write, Read, Write, Read]
            .iter()
            .map(|d| all.next(*d, 4096) >> 10)
            .collect();
        assert_eq!(at, [0, 4, 0, 8, 32, 32, 36, 36]);
    }

    #[test]
    fn random_io_covers_each_zone_once_per_pass() {
        let at = offsets(zones(32, Some(16), 16), Pattern::RandRead, 80, 8 * 4);
        for (pass, zone) in at.chunks(4).zip([0, 0, 32, 32, 64, 64, 0, 0]) {
            let mut pass = pass.to_vec();
            pass.sort_unstable();
            assert_eq!(pass, [zone, zone + 4, zone + 8, zone + 12]);
        }
        let cut = offsets(zones(16, None, 16), Pattern::RandWrite, 44, 8);
        assert!(cut.iter().all(|at| *at < 16), "the second zone is not whole: {cut:?}");
    }

    proptest! {
        #[test]
        fn every_io_lies_in_its_zone(size in 1u64..40, range in 5u64..40, skip in 0u64..40, part in 5u64..400, pattern in 0usize..6, seed in any::<u64>()) {
            let rw: Pattern = ["read", "write", "randread", "randwrite", "rw", "randrw"][pattern].parse().unwrap();
            let zones = plan::Zones { size: Bytes(size * 512), range: Some(Bytes(range * 512)), skip: Bytes(skip * 512) };
            let step = Step { rw, bs: "2560".parse().unwrap(), ..Step::default() };
            let (part, distance) = (part * 512, zones.distance().0);
            let mut all = Zones::new(&zones, &step, part, seed);
            let (mut zone, mut done) = (0, 0);
            for i in 0..200usize {
                let directions = rw.directions();
                let at = all.next(directions[i * 7 % 5 % directions.len()], 2560);
                prop_assert!(at + 2560 <= part);
                prop_assert!(at % distance + 2560 <= range * 512);
                if at / distance == zone {
                    done += 2560;
                } else {
                    prop_assert!(at / distance == zone + 1 || at / distance == 0);
                    prop_assert!(done >= size * 512 || at / distance == 0, "left early, and not at the end");
                    (zone, done) = (at / distance, 2560);
                }
            }
        }
    }
}

//! The choice of the next I/O: direction, size and place. [`Generator::new`] makes all choices that do not change from I/O to I/O.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::offsets::{Offsets, Permutation};
use volproof_base::sample::Direction;
use volproof_base::unit::Bytes;
use volproof_plan::Step;

/// The part of a target that one job uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First byte.
    pub start: Bytes,
    /// Length in bytes, at least one block.
    pub length: Bytes,
}

impl Region {
    /// The part of a target for job `job` of a step. Unless the step gives the distance between jobs, random ones share the
    /// whole part, and sequential ones get equal, block-aligned parts of their own, since jobs that run after each other over
    /// the same blocks would be merged or served from a cache. None when not even one block fits.
    pub fn of_job(step: &Step, target_size: Bytes, job: u32) -> Option<Region> {
        let block = step.largest_block().0;
        if let Some(distance) = step.offset_increment {
            let start = step.offset.0.checked_add(distance.0.checked_mul(u64::from(job))?)?;
            let room = target_size.0.checked_sub(start)?;
            let length = step.size.map_or(room, |s| s.0);
            return (length <= room && length >= block)
                .then_some(Region { start: Bytes(start), length: Bytes(length) });
        }
        let whole = step.size.map_or(target_size.0.checked_sub(step.offset.0)?, |s| s.0);
        if step.offset.0.checked_add(whole)? > target_size.0 {
            return None;
        }
        let (start, length) = if step.rw.is_random() {
            (step.offset.0, whole)
        } else {
            let share = whole / u64::from(step.numjobs) / block * block;
            (step.offset.0 + share * u64::from(job), share)
        };
        (length >= block).then_some(Region { start: Bytes(start), length: Bytes(length) })
    }
}

/// One block size of one direction.
#[derive(Clone, Debug)]
struct SizeShare {
    /// Cumulative share, scaled to 2^32: this size is drawn when the random number is below this value, and not below that of the size
    /// before it.
    below: u64,
    length: u32,
    /// Random offsets are multiples of this many bytes.
    unit: u64,
    offsets: Offsets,
}

/// Where the worker loop gets its I/Os from. The loop is compiled for each source, so that what a source always answers costs nothing.
pub trait Source {
    /// The only direction that occurs, where that is known beforehand. All I/Os of such a source have one length, too.
    const ONLY: Option<Direction> = None;

    /// Each completion has more to do than to be counted: something is done at the end of each pass, or requests are traced.
    const FOLLOWED: bool = false;

    /// The length of all I/Os; asked only of sources that have [`Source::ONLY`].
    fn length(&self) -> u32 {
        0
    }

    /// Direction, offset and length of the next I/O.
    fn next(&mut self) -> (Direction, u64, u32);
}

/// The I/Os of a job that begins its passes anew, or whose requests are traced.
pub struct Followed(pub Generator);

impl Source for Followed {
    const FOLLOWED: bool = true;

    #[inline(always)]
    fn next(&mut self) -> (Direction, u64, u32) {
        self.0.next()
    }
}

/// The commonest load: random reads of one size, every block once a pass.
pub struct Reads {
    blocks: Permutation,
    start: u64,
    length: u32,
    rng: Xoshiro256PlusPlus,
}

impl Source for Reads {
    const ONLY: Option<Direction> = Some(Direction::Read);

    fn length(&self) -> u32 {
        self.length
    }

    #[inline(always)]
    fn next(&mut self) -> (Direction, u64, u32) {
        let block = self.blocks.next(&mut self.rng);
        (Direction::Read, self.start + block * u64::from(self.length), self.length)
    }
}

/// Draws the I/Os of one job.
#[derive(Clone, Debug)]
pub struct Generator {
    rng: Xoshiro256PlusPlus,
    region: Region,
    /// First or only direction, and the second of a mix.
    directions: [Direction; 2],
    /// The first direction is taken when a draw from 0..2^32 is below this; 2^32 for always.
    first_below: u64,
    sizes: [Vec<SizeShare>; 2],
    /// Position of each direction, for sequential patterns.
    position: [u64; 2],
    sequential: bool,
    /// The distance from the end of a sequential I/O to the start of the next one.
    stride: u64,
    writes_per_flush: u32,
    writes_since_flush: u32,
}

impl Generator {
    /// The I/Os of a step in a region, from a seed of the job's own.
    pub fn new(step: &Step, region: Region, seed: u64) -> Generator {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let directions = step.rw.directions();
        let mixed = directions.len() == 2;
        let first = size_shares(step, region, &mut rng);
        let second = if mixed { size_shares(step, region, &mut rng) } else { Vec::new() };
        Generator {
            rng,
            region,
            directions: [directions[0], directions[directions.len() - 1]],
            first_below: if mixed { (u64::from(step.rwmix) << 32) / 100 } else { 1 << 32 },
            sizes: [first, second],
            position: [0; 2],
            sequential: !step.rw.is_random(),
            stride: step.stride.0,
            writes_per_flush: step.fsync,
            writes_since_flush: 0,
        }
    }

    /// A faster source of the same I/Os, when this generator draws plain random reads and nothing else.
    pub fn reads(&self) -> Option<Reads> {
        match (self.sizes[0].as_slice(), &self.sizes[1]) {
            ([SizeShare { length, unit, offsets: Offsets::Permuted(blocks), .. }], mixed)
                if mixed.is_empty()
                    && !self.sequential
                    && *unit == u64::from(*length)
                    && self.directions[0] == Direction::Read =>
            {
                let (blocks, start) = (blocks.clone(), self.region.start.0);
                Some(Reads { blocks, start, length: *length, rng: self.rng.clone() })
            }
            _ => None,
        }
    }
}

/// The block sizes of one direction, each with offsets of its own.
fn size_shares(step: &Step, region: Region, rng: &mut Xoshiro256PlusPlus) -> Vec<SizeShare> {
    let mut sum = 0u64;
    let mut shares = Vec::new();
    for (bytes, percent) in step.bs.shares() {
        sum += u64::from(*percent);
        let unit = step.align.unwrap_or(*bytes).0;
        let blocks = (region.length.0 - bytes.0) / unit + 1;
        let offsets = Offsets::random(&step.distribution, !step.norandommap, blocks, rng);
        shares.push(SizeShare { below: (sum << 32) / 100, length: bytes.0 as u32, unit, offsets });
    }
    shares
}

impl Source for Generator {
    #[inline(always)]
    fn next(&mut self) -> (Direction, u64, u32) {
        let which = if self.first_below == 1 << 32 {
            0
        } else {
            usize::from(u64::from(self.rng.next_u64() as u32) >= self.first_below)
        };
        let direction = self.directions[which];
        if self.writes_per_flush > 0 && direction == Direction::Write {
            if self.writes_since_flush == self.writes_per_flush {
                self.writes_since_flush = 0;
                return (Direction::Sync, 0, 0);
            }
            self.writes_since_flush += 1;
        }
        let sizes = &mut self.sizes[which];
        let size = if sizes.len() == 1 {
            &mut sizes[0]
        } else {
            let draw = u64::from(self.rng.next_u64() as u32);
            let at = sizes.iter().position(|s| draw < s.below).unwrap_or(sizes.len() - 1);
            &mut sizes[at]
        };
        let length = u64::from(size.length);
        let offset = if self.sequential {
            let mut at = self.position[which];
            if at > self.region.length.0 - length {
                at = 0;
            }
            self.position[which] = (at + length).saturating_add(self.stride);
            at
        } else {
            size.offsets.next(&mut self.rng) * size.unit
        };
        (direction, self.region.start.0 + offset, size.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use volproof_plan::Pattern;

    fn region(kib: u64) -> Region {
        Region { start: Bytes(8192), length: Bytes::kib(kib) }
    }

    #[test]
    fn sequential_jobs_get_their_own_parts() {
        let step = Step { rw: Pattern::Write, numjobs: 3, ..Step::default() };
        let parts: Vec<_> = (0..3).map(|j| Region::of_job(&step, Bytes(100_000), j).unwrap()).collect();
        assert_eq!(parts[0].length, Bytes(32_768));
        assert_eq!(parts[2].start, Bytes(65_536));
        let random = Step { rw: Pattern::RandRead, ..step.clone() };
        assert_eq!(Region::of_job(&random, Bytes(100_000), 2).unwrap().length, Bytes(100_000));
        assert_eq!(Region::of_job(&step, Bytes(4096), 0), None);
        let beyond = Step { offset: Bytes(8192), ..Step::default() };
        assert_eq!(Region::of_job(&beyond, Bytes(4096), 0), None);
    }

    #[test]
    fn a_given_distance_places_each_job() {
        let at = |distance, size, job| {
            let step = Step {
                rw: Pattern::Write,
                numjobs: 3,
                offset: Bytes(4096),
                offset_increment: Some(distance),
                size,
                ..Step::default()
            };
            Region::of_job(&step, Bytes(100_000), job).map(|r| (r.start.0, r.length.0))
        };
        assert_eq!(at(Bytes(0), None, 2), Some((4096, 95_904)), "fio's way: all in the same part");
        assert_eq!(at(Bytes(40_000), Some(Bytes(8192)), 2), Some((84_096, 8192)));
        assert_eq!(at(Bytes(40_000), None, 2), Some((84_096, 15_904)), "the rest of the target");
        assert_eq!(at(Bytes(40_000), Some(Bytes(16_384)), 2), None, "beyond the end");
        assert_eq!(at(Bytes(u64::MAX), None, 2), None);
    }

    #[test]
    fn sequential_io_passes_over_a_stride_and_wraps() {
        let kib = |stride: &str, rw: Pattern, n: usize| -> Vec<u64> {
            let step = Step { rw, stride: stride.parse().unwrap(), ..Step::default() };
            let mut g = Generator::new(&step, region(100), 5);
            (0..n).map(|_| (g.next().1 - 8192) / 1024).collect()
        };
        assert_eq!(kib("8k", Pattern::Read, 11), [0, 12, 24, 36, 48, 60, 72, 84, 96, 0, 12]);
        assert_eq!(kib("12k", Pattern::Write, 8), [0, 16, 32, 48, 64, 80, 96, 0]);
        assert_eq!(kib("200k", Pattern::Read, 2), [0, 0]);
    }

    #[test]
    fn random_offsets_are_aligned_to_what_the_step_says() {
        let step = Step { bs: "8k".parse().unwrap(), align: Some(Bytes::kib(4)), ..Step::default() };
        let mut g = Generator::new(&step, region(100), 5);
        assert!(g.reads().is_none(), "plain random reads are aligned to their size");
        let mut pass: Vec<u64> = (0..24).map(|_| (g.next().1 - 8192) / 1024).collect();
        pass.sort_unstable();
        assert_eq!(pass, (0..24).map(|n| n * 4).collect::<Vec<_>>(), "each offset once, the last at 92");
        let wide = Step { norandommap: true, align: Some(Bytes::kib(64)), ..step };
        let mut g = Generator::new(&wide, region(100), 5);
        assert!((0..100).all(|_| matches!((g.next().1 - 8192) / 1024, 0 | 64)));
    }

    #[test]
    fn a_mix_keeps_its_shares() {
        let step =
            Step { rw: Pattern::RandRw, rwmix: 70, bs: "4k/75:64k/25".parse().unwrap(), ..Step::default() };
        let mut g = Generator::new(&step, region(1 << 20), 5);
        let all: Vec<_> = (0..100_000).map(|_| g.next()).collect();
        let reads = all.iter().filter(|r| r.0 == Direction::Read).count();
        let small = all.iter().filter(|r| r.2 == 4096).count();
        assert!((69_300..70_700).contains(&reads), "{reads}");
        assert!((74_300..75_700).contains(&small), "{small}");
    }

    #[test]
    fn flushes_come_after_so_many_writes() {
        let step = Step { rw: Pattern::Write, fsync: 3, ..Step::default() };
        let mut g = Generator::new(&step, region(64), 5);
        let kinds: Vec<_> = (0..8).map(|_| g.next().0).collect();
        use Direction::{Sync, Write};
        assert_eq!(kinds, [Write, Write, Write, Sync, Write, Write, Write, Sync]);
    }

    proptest! {
        #[test]
        fn every_io_lies_in_its_region(kib in 64u64..4096, seed in any::<u64>(), pattern in 0usize..8, mix in 0u32..=100, skip in 0u64..40) {
            let names = ["read", "write", "randread", "randwrite", "rw", "randrw", "trim", "randtrim"];
            let step = Step {
                rw: names[pattern].parse().unwrap(),
                rwmix: mix,
                bs: "4k/50:20k/50".parse().unwrap(),
                stride: Bytes(skip * 4096),
                ..Step::default()
            };
            let r = region(kib);
            let mut g = Generator::new(&step, r, seed);
            for _ in 0..300 {
                let (_, offset, length) = g.next();
                prop_assert!(offset >= r.start.0);
                prop_assert!(offset + u64::from(length) <= r.start.0 + r.length.0);
                prop_assert_eq!((offset - r.start.0) % 4096, 0);
            }
        }
    }
}

//! What writes carry: where buffers are random and where not, and data of its own for every write where a step asks for it.
//!
//! Such a write has a number, from which all of its random bytes follow: the same number is the same data again. Whatever is here runs once per write, in the loop for special loads (see `worker::special`).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::buffers::Buffers;
use crate::plan::{DedupeMode, Plan, Step};
use crate::unit::Bytes;

/// Length of the pieces that compress, unless a step says otherwise.
const CHUNK: usize = 4096;

/// How random and fixed bytes alternate.
#[derive(Clone, Debug)]
pub struct Layout {
    chunk: usize,
    /// Share of each piece that is zeros or the pattern, in percent.
    fixed: usize,
    pattern: Vec<u8>,
}

impl Layout {
    /// That of a step.
    pub fn of(step: &Step) -> Layout {
        let chunk = match step.fixed_share() {
            // A pattern goes on to the end of a write.
            100 => usize::MAX,
            _ => step.compress_chunk.map_or(CHUNK, |chunk| chunk.0.max(1) as usize),
        };
        Layout {
            chunk,
            fixed: step.fixed_share() as usize,
            pattern: step.buffer_pattern.as_ref().map_or_else(Vec::new, |p| p.bytes().to_vec()),
        }
    }

    /// Fills the bytes of a write: first the fixed part of each piece, then random bytes.
    pub fn fill(&self, bytes: &mut [u8], rng: &mut Xoshiro256PlusPlus) {
        for piece in bytes.chunks_mut(self.chunk) {
            let (fixed, random) = piece.split_at_mut(piece.len() * self.fixed / 100);
            match self.pattern.as_slice() {
                [] => fixed.fill(0),
                pattern => fixed.iter_mut().zip(pattern.iter().cycle()).for_each(|(to, from)| *to = *from),
            }
            rng.fill_bytes(random);
        }
    }
}

/// Jobs whose working sets are one: each repeats blocks of all of them in equal parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Where the numbers of their blocks begin.
    pub seed: u64,
    /// How many jobs there are before those of this load.
    pub first: u64,
    /// How many there are in all.
    pub jobs: u64,
}

impl Pool {
    /// That of a step, by its number, among the steps of a plan that share a working set.
    pub fn of(plan: &Plan, step: usize) -> Option<Pool> {
        let shares = |s: &Step| s.dedupe.is_some_and(|d| d.global && d.mode == DedupeMode::WorkingSet);
        let jobs = |s: &Step| {
            let targets = if s.targets.is_empty() { plan.targets.len() } else { s.targets.len() };
            u64::from(s.workers(targets.max(1)))
        };
        let sum = |steps: &[Step]| steps.iter().filter(|s| shares(s)).map(jobs).sum();
        shares(&plan.steps[step]).then(|| Pool {
            seed: Xoshiro256PlusPlus::seed_from_u64(plan.seed).next_u64(),
            first: sum(&plan.steps[..step]),
            jobs: sum(&plan.steps),
        })
    }

    /// The number of a block of a job: jobs have room for 2^40 blocks each.
    fn number(&self, job: u64, block: u64) -> u64 {
        self.seed.wrapping_add((job << 40).wrapping_add(block))
    }
}

/// Data of its own for every write of one worker.
#[derive(Clone, Debug)]
pub struct Data {
    layout: Layout,
    /// A write is one from before when a draw from 0..2^32 is below this.
    again_below: u64,
    rng: Xoshiro256PlusPlus,
    /// The last number that is nobody else's, and that of the last new write.
    own: u64,
    last: Option<u64>,
    set: Option<Set>,
}

/// The working set of one worker.
#[derive(Clone, Debug)]
struct Set {
    pool: Pool,
    /// Which of its jobs this is.
    job: u64,
    /// Blocks of the set, and how many of its own the worker has brought in.
    blocks: u64,
    brought: u64,
}

impl Data {
    /// That of a worker, when the step asks for it: `number` counts the workers of the step, `part` is what the worker uses of its target.
    pub fn new(step: &Step, part: Bytes, number: u32, pool: Option<Pool>, seed: u64) -> Option<Data> {
        if !step.refills() {
            return None;
        }
        // Other numbers than those of the buffers. Those of blocks begin at a random place of 2^64: they do not meet.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(!seed);
        let own = rng.next_u64();
        let set = step.dedupe.filter(|d| d.mode == DedupeMode::WorkingSet).map(|d| {
            let percent = u128::from(d.set.min(100));
            let blocks = (u128::from(part.0) * percent / 100) as u64 / step.smallest_write().0;
            let pool = pool.unwrap_or(Pool { seed: rng.next_u64(), first: 0, jobs: 1 });
            let job = if pool.jobs > 1 { pool.first + u64::from(number) } else { 0 };
            Set { pool, job, blocks: blocks.max(1), brought: 0 }
        });
        let percent = step.dedupe.map_or(0, |d| d.percent.min(100));
        Some(Data {
            layout: Layout::of(step),
            again_below: (u64::from(percent) << 32) / 100,
            rng,
            own,
            last: None,
            set,
        })
    }

    /// Fills the buffer of a write.
    #[inline(never)]
    pub fn fill(&mut self, buffers: &mut Buffers, slot: u32, length: u32) {
        let number = self.number();
        self.layout.fill(buffers.bytes(slot, length), &mut Xoshiro256PlusPlus::seed_from_u64(number));
    }

    /// The number of the next write.
    fn number(&mut self) -> u64 {
        if self.again_below > 0 && u64::from(self.rng.next_u64() as u32) < self.again_below {
            match (&self.set, self.last) {
                (Some(set), _) => {
                    let at = ((u128::from(self.rng.next_u64()) * u128::from(set.blocks)) >> 64) as u64;
                    return set.pool.number(at % set.pool.jobs, at / set.pool.jobs);
                }
                (None, Some(last)) => return last,
                (None, None) => {}
            }
        }
        let number = match &mut self.set {
            Some(set) if set.brought < set.blocks => {
                set.brought += 1;
                set.pool.number(set.job, set.brought - 1)
            }
            _ => {
                self.own = self.own.wrapping_add(1);
                self.own
            }
        };
        self.last = Some(number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Dedupe, Pattern};
    use std::collections::{BTreeMap, BTreeSet};

    fn step(percent: u32, mode: DedupeMode, global: bool) -> Step {
        let dedupe = (percent > 0).then_some(Dedupe { percent, mode, set: 20, global });
        Step { rw: Pattern::Write, refill: true, dedupe, size: Some(Bytes::mib(8)), ..Step::default() }
    }

    /// How often each block was written.
    fn counts(numbers: impl IntoIterator<Item = u64>) -> BTreeMap<u64, u64> {
        let mut seen = BTreeMap::new();
        numbers.into_iter().for_each(|n| *seen.entry(n).or_insert(0) += 1);
        seen
    }

    fn numbers(data: &mut Data, n: usize) -> Vec<u64> {
        (0..n).map(|_| data.number()).collect()
    }

    #[test]
    fn repeated_writes_have_their_share() {
        let mut data = Data::new(&step(30, DedupeMode::Repeat, false), Bytes::mib(8), 0, None, 5).unwrap();
        let all = numbers(&mut data, 10_000);
        assert!((6800..7200).contains(&counts(all.clone()).len()), "{}", counts(all.clone()).len());
        assert!(all.windows(2).all(|w| w[1] == w[0] || w[1] == w[0] + 1), "the write before, or a new one");
        let mut never = Data::new(&step(0, DedupeMode::Repeat, false), Bytes::mib(8), 0, None, 5).unwrap();
        assert_eq!(counts(numbers(&mut never, 1000)).len(), 1000);
        let mut always = Data::new(&step(100, DedupeMode::Repeat, false), Bytes::mib(8), 0, None, 5).unwrap();
        assert_eq!(counts(numbers(&mut always, 1000)).len(), 1);
    }

    #[test]
    fn a_working_set_is_repeated_and_nothing_else() {
        let part = Bytes::mib(8); // 2048 blocks, of which 409 are the set
        let mut data = Data::new(&step(60, DedupeMode::WorkingSet, false), part, 0, None, 5).unwrap();
        let seen = counts(numbers(&mut data, 10_000));
        let again = seen.values().filter(|n| **n > 1).count();
        assert!((3800..4200).contains(&seen.len()), "{}", seen.len());
        assert_eq!(again, 409);
    }

    #[test]
    fn loads_of_a_plan_share_a_set() {
        let mut plan = crate::plan::Preset::find("quick").unwrap().plan();
        plan.targets = vec!["f".into()];
        let alone = step(50, DedupeMode::WorkingSet, false);
        let two = Step { numjobs: 2, rw: Pattern::RandWrite, ..step(50, DedupeMode::WorkingSet, true) };
        plan.steps = vec![two.clone(), alone, two];
        assert_eq!(Pool::of(&plan, 1), None);
        let (a, b) = (Pool::of(&plan, 0).unwrap(), Pool::of(&plan, 2).unwrap());
        assert_eq!((a.first, a.jobs, b.first, b.jobs, a.seed), (0, 4, 2, 4, b.seed));
        let worker = |step: usize, number, pool| {
            let seed = step as u64 * 8 + u64::from(number);
            let mut data = Data::new(&plan.steps[step], Bytes::mib(8), number, Some(pool), seed).unwrap();
            numbers(&mut data, 8192)
        };
        let each = [worker(0, 0, a), worker(0, 1, a), worker(2, 0, b), worker(2, 1, b)];
        let sets = each.clone().map(|all| {
            let again: BTreeSet<u64> = counts(all).into_iter().filter(|n| n.1 > 1).map(|n| n.0).collect();
            assert_eq!(again.len(), 409);
            again
        });
        assert!(sets.iter().all(|set| *set == sets[0]), "all repeat the same blocks");
        for (job, all) in (0..).zip(&each) {
            let own = sets[0].iter().filter(|n| n.wrapping_sub(a.seed) >> 40 == job);
            assert!((102..=103).contains(&own.clone().count()), "a quarter comes from each");
            assert!(own.into_iter().all(|n| all[..300].contains(n)), "and from its first writes");
        }
    }

    #[test]
    fn bytes_follow_from_the_number() {
        let step = Step {
            compressible: 25,
            compress_chunk: Some(Bytes(1024)),
            buffer_pattern: Some("\"abc\"".parse().unwrap()),
            bs: "2k/50:4k/50".parse().unwrap(),
            ..step(50, DedupeMode::Repeat, false)
        };
        let mut data = Data::new(&step, Bytes::mib(8), 0, None, 5).unwrap();
        let mut buffers = Buffers::new(1, Bytes::kib(4)).unwrap();
        let mut blocks = BTreeMap::new();
        for _ in 0..1000 {
            data.fill(&mut buffers, 0, 4096);
            let block = buffers.bytes(0, 4096);
            for piece in block.chunks(1024) {
                assert_eq!(&piece[..4], b"abca");
                let values: BTreeSet<u8> = piece[256..].iter().copied().collect();
                assert_eq!((&piece[252..256], values.len() > 150), (&b"abca"[..], true));
            }
            *blocks.entry(block.to_vec()).or_insert(0) += 1;
            // A shorter write of the same number is the beginning of it.
            let number = data.last.unwrap();
            let mut short = [0; 1500];
            data.layout.fill(&mut short, &mut Xoshiro256PlusPlus::seed_from_u64(number));
            assert_eq!(buffers.bytes(0, 4096)[..1024], short[..1024]);
        }
        assert!((400..600).contains(&blocks.len()), "half of 1000 writes: {}", blocks.len());
    }

    #[test]
    fn without_repetition_every_write_differs() {
        let step = Step { compressible: 50, ..step(0, DedupeMode::Repeat, false) };
        let mut data = Data::new(&step, Bytes::mib(8), 0, None, 5).unwrap();
        let mut buffers = Buffers::new(1, Bytes::kib(8)).unwrap();
        let mut seen = BTreeSet::new();
        for _ in 0..100 {
            data.fill(&mut buffers, 0, 8192);
            for half in buffers.bytes(0, 8192).chunks(4096) {
                assert!(half[..2048].iter().all(|b| *b == 0));
                assert!(seen.insert(half.to_vec()));
            }
        }
    }
}

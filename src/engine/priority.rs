//! Priorities of single requests (`cmdprio`): which one the next request has, and how long those of each took.
//!
//! Only loads with such shares have one of these; their loop is the one that looks at every I/O (`worker::special`).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::hist::Histogram;
use crate::plan::{Priority, Step};
use crate::sample::Direction;

/// What a request is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Place in the table of priorities.
    pub place: u8,
    /// The kernel's number.
    pub number: u16,
}

/// Priorities of the requests of one direction and size.
struct Size {
    length: u32,
    /// A draw from 0..2^32 below the first number, and not below the one before, has the priority at that place.
    below: Vec<(u64, u8)>,
}

/// The priorities of one worker's requests.
pub struct Priorities {
    /// Each once; the first is that of the job.
    table: Vec<Priority>,
    /// Of reads and of writes.
    sizes: [Vec<Size>; 2],
    rng: Xoshiro256PlusPlus,
    /// Latencies by direction and place in the table.
    latencies: [Vec<Histogram>; 2],
}

/// Latencies of the requests of one priority.
#[derive(Clone, Debug)]
pub struct PriorityLatency {
    /// What they did.
    pub direction: Direction,
    /// Their priority.
    pub prio: Priority,
    /// From submission to completion, over the window.
    pub service: Histogram,
}

impl Priorities {
    /// None for a step whose requests all have the priority of their job.
    pub fn of(step: &Step, seed: u64) -> Option<Priorities> {
        if step.cmdprio.is_empty() {
            return None;
        }
        let mut table = vec![step.prio.unwrap_or_default()];
        let mut sizes = [Vec::new(), Vec::new()];
        for direction in [Direction::Read, Direction::Write] {
            for (bytes, _) in step.sizes(direction).shares() {
                let (mut sum, mut below) = (0u64, Vec::new());
                for share in step.priorities(direction, *bytes) {
                    let place = table.iter().position(|p| *p == share.prio).unwrap_or_else(|| {
                        table.push(share.prio);
                        table.len() - 1
                    });
                    sum += u64::from(share.percent);
                    below.push(((sum << 32) / 100, place as u8));
                }
                sizes[direction as usize].push(Size { length: bytes.0 as u32, below });
            }
        }
        let latencies = std::array::from_fn(|_| vec![Histogram::new(); table.len()]);
        // Other numbers than those of the offsets. The multiplier is one of splitmix64.
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(0x94d0_49bb_1331_11eb));
        Some(Priorities { table, sizes, rng, latencies })
    }

    /// The priorities, by place.
    pub fn table(&self) -> &[Priority] {
        &self.table
    }

    /// The priority of the next request. One that moves no data has that of the job.
    #[inline]
    pub fn draw(&mut self, direction: Direction, length: u32) -> Drawn {
        let place = self.place(direction, length);
        Drawn { place, number: self.table[usize::from(place)].number() }
    }

    fn place(&mut self, direction: Direction, length: u32) -> u8 {
        let Some(sizes) = self.sizes.get(direction as usize) else { return 0 };
        let Some(size) = sizes.iter().find(|s| s.length == length) else { return 0 };
        if size.below.is_empty() {
            return 0;
        }
        let draw = u64::from(self.rng.next_u64() as u32);
        size.below.iter().find(|(below, _)| draw < *below).map_or(0, |(_, place)| *place)
    }

    /// A request of the window has completed.
    #[inline]
    pub fn complete(&mut self, direction: Direction, place: u8, latency_ns: u64) {
        if let Some(latencies) = self.latencies.get_mut(direction as usize) {
            latencies[usize::from(place)].record(latency_ns);
        }
    }

    /// What came of it; priorities that no request had are left out.
    pub fn finish(self) -> Vec<PriorityLatency> {
        let mut found = Vec::new();
        for (direction, latencies) in [Direction::Read, Direction::Write].into_iter().zip(self.latencies) {
            for (prio, service) in self.table.iter().zip(latencies).filter(|(_, h)| !h.is_empty()) {
                found.push(PriorityLatency { direction, prio: *prio, service });
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Pattern, PriorityShare};
    use crate::unit::Bytes;

    fn share(rw: Option<Direction>, bs: Option<Bytes>, percent: u32, prio: &str) -> PriorityShare {
        PriorityShare { rw, bs, percent, prio: prio.parse().unwrap() }
    }

    #[test]
    fn shares_are_kept_by_direction_and_size() {
        let step = Step {
            rw: Pattern::RandRw,
            bs: "4k/50:8k/50".parse().unwrap(),
            prio: Some("be/7".parse().unwrap()),
            cmdprio: vec![
                share(Some(Direction::Read), Some(Bytes::kib(4)), 25, "rt/1"),
                share(Some(Direction::Read), Some(Bytes::kib(4)), 75, "idle/2"),
                share(Some(Direction::Write), None, 10, "rt/1"),
            ],
            ..Step::default()
        };
        let mut p = Priorities::of(&step, 7).unwrap();
        let mut counted = |direction, length| {
            let mut counts = [0u32; 3];
            for _ in 0..10_000 {
                let drawn = p.draw(direction, length);
                counts[usize::from(drawn.place)] += 1;
                assert_eq!(drawn.number, [0x4007, 0x2001, 0x6002][usize::from(drawn.place)]);
                p.complete(direction, drawn.place, 500);
            }
            counts
        };
        let small = counted(Direction::Read, 4096);
        assert!(small[0] == 0 && (2300..2700).contains(&small[1]), "{small:?}");
        assert_eq!(counted(Direction::Read, 8192), [10_000, 0, 0]);
        let written = counted(Direction::Write, 8192);
        assert!((900..1100).contains(&written[1]) && written[2] == 0, "{written:?}");
        assert_eq!(p.draw(Direction::Sync, 0), Drawn { place: 0, number: 0x4007 });
        let words: Vec<_> = p.finish().iter().map(|l| format!("{} {}", l.direction.name(), l.prio)).collect();
        assert_eq!(words, ["read be/7", "read rt/1", "read idle/2", "write be/7", "write rt/1"]);
        assert!(Priorities::of(&Step::default(), 1).is_none());
    }
}

//! The data that writes carry: the random and the fixed parts of buffers, and unique data for every write where a step asks for it.
//!
//! A write with unique data has a number, from which all of its random bytes follow. The code for it runs once per write, in the loop
//! that is compiled for loads that examine every I/O (`Source::SPECIAL`).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::buffers::Buffers;
use volproof_plan::Step;

/// Length of the pieces that compress, unless a step says otherwise.
const CHUNK: usize = 4096;

/// How random and fixed bytes alternate.
#[derive(Clone, Debug)]
pub struct PieceLayout {
    chunk: usize,
    /// Share of each piece that is zeros or the pattern, in percent.
    fixed: usize,
    pattern: Vec<u8>,
}

impl PieceLayout {
    /// The layout of a step.
    pub fn of(step: &Step) -> PieceLayout {
        let chunk = match step.fixed_share() {
            // Where everything is fixed, the pattern fills a write to its end.
            100 => usize::MAX,
            _ => step.compress_chunk.map_or(CHUNK, |chunk| chunk.0.max(1) as usize),
        };
        PieceLayout {
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

/// Data of its own for every write of one worker.
#[derive(Clone, Debug)]
pub struct Data {
    layout: PieceLayout,
    /// The number of the last write.
    number: u64,
}

impl Data {
    /// The data of one worker, when the step asks for unique data.
    pub fn new(step: &Step, seed: u64) -> Option<Data> {
        // `!seed` gives numbers other than those in the buffers. Each worker starts at a random 64-bit number, so that two workers
        // practically never use the same ones.
        let number = Xoshiro256PlusPlus::seed_from_u64(!seed).next_u64();
        step.refills().then(|| Data { layout: PieceLayout::of(step), number })
    }

    /// Fills the buffer of a write.
    #[inline(never)]
    pub fn fill(&mut self, buffers: &mut Buffers, slot: u32, length: u32) {
        self.number = self.number.wrapping_add(1);
        self.layout.fill(buffers.bytes(slot, length), &mut Xoshiro256PlusPlus::seed_from_u64(self.number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use volproof_base::unit::Bytes;
    use volproof_plan::Pattern;

    #[test]
    fn every_write_differs_and_has_its_layout() {
        let step = Step {
            rw: Pattern::Write,
            compressible: 25,
            compress_chunk: Some(Bytes(1024)),
            buffer_pattern: Some("\"abc\"".parse().unwrap()),
            ..Step::default()
        };
        let mut buffers = Buffers::new(1, Bytes::kib(4)).unwrap();
        let mut seen = BTreeSet::new();
        for seed in [5, 6] {
            let mut data = Data::new(&step, seed).unwrap();
            for _ in 0..100 {
                data.fill(&mut buffers, 0, 4096);
                let block = buffers.bytes(0, 4096);
                for piece in block.chunks(1024) {
                    assert_eq!(&piece[..4], b"abca");
                    let values: BTreeSet<u8> = piece[256..].iter().copied().collect();
                    assert_eq!((&piece[252..256], values.len() > 150), (&b"abca"[..], true));
                    assert!(seen.insert(piece.to_vec()), "each piece of each write of each worker");
                }
            }
        }
        assert!(Data::new(&Step { rw: Pattern::Write, ..Step::default() }, 5).is_none());
    }

    #[test]
    fn zeros_stand_where_there_is_no_pattern() {
        let step = Step { rw: Pattern::Write, refill: true, compressible: 50, ..Step::default() };
        let mut data = Data::new(&step, 5).unwrap();
        let mut buffers = Buffers::new(1, Bytes::kib(8)).unwrap();
        data.fill(&mut buffers, 0, 8192);
        for half in buffers.bytes(0, 8192).chunks(CHUNK) {
            assert!(half[..2048].iter().all(|b| *b == 0) && half[2048..].iter().any(|b| *b != 0));
        }
    }
}

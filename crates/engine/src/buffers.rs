//! Memory for I/O: one region per worker, cut into a slot per request in flight. Slots are aligned to 4 KiB, which direct I/O is content with
//! everywhere, and not to pages: of 64 KiB, as some kernels for ARM have them, a deep load would need sixteen times the memory.
//!
//! Writes carry data that neither compresses nor repeats: the region is filled once with random bytes, and before each write every 512-byte
//! sector gets a number that was never used before. Where data is to compress, the first part of each 4 KiB is zeros and stays as it is.

use std::io;
use std::ptr::NonNull;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use volproof_base::unit::Bytes;

/// Size of the unit that gets a number of its own: the smallest logical block.
const SECTOR: usize = 512;
/// Each piece of this size compresses by the share of a step, and is the alignment of a slot.
const PIECE: usize = 4096;

/// The buffers of one worker.
pub struct Buffers {
    base: NonNull<u8>,
    length: usize,
    stride: usize,
    serial: u64,
}

// SAFETY: the region belongs to this value alone; it is moved to the worker's thread as a whole.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Maps `slots` buffers of at least `size` each; zeroed, aligned to 4 KiB.
    ///
    /// # Errors
    /// When the kernel has no memory for them.
    pub fn new(slots: u32, size: Bytes) -> io::Result<Buffers> {
        let stride = (size.0 as usize).next_multiple_of(PIECE);
        let length = stride
            .checked_mul(slots as usize)
            .ok_or_else(|| io::Error::new(io::ErrorKind::OutOfMemory, "buffers of more than 2^64 bytes"))?;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice overlaps nothing.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )?
        };
        let base = NonNull::new(base.cast::<u8>()).expect("mmap never returns null");
        // SAFETY: the range was mapped above. Huge pages only spare page-table walks: a refusal is harmless.
        let _ = unsafe { madvise(base.as_ptr().cast(), length, Advice::LinuxHugepage) };
        // Writing allocates every page before the first I/O. MAP_POPULATE would have allocated small pages, before the advice about huge
        // pages. SAFETY: as above, and nobody else knows the region yet.
        unsafe { base.as_ptr().write_bytes(0, length) };
        Ok(Buffers { base, length, stride, serial: 0 })
    }

    /// Fills all buffers: in each 4 KiB first `compressible` percent of zeros, then random bytes.
    pub fn randomise(&mut self, rng: &mut Xoshiro256PlusPlus, compressible: u32) {
        // SAFETY: the region is mapped, written by nobody else, and no request is in flight yet.
        let all = unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.length) };
        for piece in all.chunks_mut(PIECE) {
            let (zeros, random) = piece.split_at_mut(piece.len() * compressible as usize / 100);
            zeros.fill(0);
            rng.fill_bytes(random);
        }
        self.serial = rng.next_u64();
    }

    /// The first bytes of a slot.
    #[cfg(test)]
    fn bytes(&mut self, slot: u32, length: u32) -> &mut [u8] {
        assert!(length as usize <= self.stride && (slot as usize + 1) * self.stride <= self.length);
        // SAFETY: inside one slot of the region, which the kernel does not use while it is being filled.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot), length as usize) }
    }

    /// Makes the sectors of a slot unlike any written before. The number goes to the end of each sector; the first
    /// `compressible` percent of each 4 KiB stay as they are.
    #[inline(always)]
    pub fn stamp(&mut self, slot: u32, length: u32, compressible: u32) {
        let last = PIECE * compressible as usize / 100;
        let base = self.address(slot);
        let mut at = 0;
        while at + SECTOR <= length as usize {
            // A sector wholly inside the zeros of its 4 KiB stays as it is.
            if at % PIECE + SECTOR > last {
                self.serial = self.serial.wrapping_add(0x9e37_79b9_7f4a_7c15);
                // SAFETY: at + SECTOR <= length <= stride, inside this slot, which the kernel does not use: it is being filled.
                unsafe { base.add(at + SECTOR - 8).cast::<u64>().write_unaligned(self.serial) };
            }
            at += SECTOR;
        }
    }

    /// Where a slot's buffer starts.
    #[inline(always)]
    pub fn address(&self, slot: u32) -> *mut u8 {
        debug_assert!((slot as usize + 1) * self.stride <= self.length);
        // SAFETY: slots are numbered below the count the region was made for.
        unsafe { self.base.as_ptr().add(slot as usize * self.stride) }
    }

    /// The whole region, to be registered with the kernel.
    pub fn region(&self) -> (*mut u8, usize) {
        (self.base.as_ptr(), self.length)
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the region came from mmap with this length, and the backend that used it is gone (fields of a worker drop in order).
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn a_slot_takes_4_kib_on_pages_of_any_size() {
        let b = Buffers::new(3, Bytes(512)).unwrap();
        let places = [0, 1, 2].map(|slot| b.address(slot) as usize - b.address(0) as usize);
        assert_eq!(places, [0, 4096, 8192]);
    }

    #[test]
    fn no_sector_is_written_twice() {
        let mut b = Buffers::new(2, Bytes::kib(4)).unwrap();
        b.randomise(&mut Xoshiro256PlusPlus::seed_from_u64(1), 0);
        let mut seen = std::collections::HashSet::new();
        for round in 0..50 {
            b.stamp(round % 2, 4096, 0);
            for sector in b.bytes(round % 2, 4096).chunks(SECTOR) {
                assert!(seen.insert(sector.to_vec()));
            }
        }
    }

    #[test]
    fn the_compressible_share_is_zero() {
        let mut b = Buffers::new(1, Bytes::kib(8)).unwrap();
        b.randomise(&mut Xoshiro256PlusPlus::seed_from_u64(1), 50);
        b.stamp(0, 8192, 50);
        let zeros = b.bytes(0, 8192).iter().filter(|x| **x == 0).count();
        assert!((4096..4200).contains(&zeros), "{zeros}");
        assert_eq!(b.address(0) as usize % 4096, 0);
    }
}

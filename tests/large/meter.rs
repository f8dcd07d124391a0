//! Counts what a piece of work takes: bytes on the heap, and instructions. Neither depends on the load of the machine.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;

/// The allocator of the system, which counts for each thread.
pub struct CountedHeap;

thread_local! {
    /// Bytes that this thread holds, and the most that it has held.
    static HELD: Cell<(i64, i64)> = const { Cell::new((0, 0)) };
}

/// Counts the bytes that the C library takes for a block: a header, and multiples of 16.
fn charge(size: usize, sign: i64) {
    let whole = ((size + 8 + 15) & !15).max(32) as i64;
    HELD.with(|held| {
        let (now, most) = held.get();
        let now = now + sign * whole;
        held.set((now, most.max(now)));
    });
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for CountedHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        charge(layout.size(), 1);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        charge(layout.size(), -1);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Large blocks are moved by their page table, so that old and new are not there together.
        charge(layout.size(), -1);
        charge(size, 1);
        // SAFETY: as the caller promised.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// The most bytes that the work had on the heap at one time, beyond those that were there before.
pub fn peak(work: impl FnOnce()) -> u64 {
    let before = HELD.with(|held| {
        let (now, _) = held.get();
        held.set((now, now));
        now
    });
    work();
    (HELD.with(Cell::get).1 - before) as u64
}

/// Counts the instructions of this thread in user space (perf_event_open(2)).
pub struct Instructions(File);

impl Instructions {
    /// Absent where the machine or its kernel does not count them.
    pub fn counter() -> Option<Instructions> {
        // Type hardware, 128 bytes long; event 1, instructions; without those of kernel and hypervisor.
        let mut attributes = [0u64; 16];
        attributes[0] = 128 << 32;
        attributes[1] = 1;
        attributes[5] = 1 << 5 | 1 << 6;
        // SAFETY: the attributes are as long as they say, and the kernel only reads them.
        let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, 8) };
        // SAFETY: nobody else has the new descriptor.
        (fd >= 0).then(|| Instructions(unsafe { File::from_raw_fd(fd as i32) }))
    }

    fn now(&self) -> u64 {
        let mut count = [0; 8];
        (&self.0).read_exact(&mut count).unwrap();
        u64::from_ne_bytes(count)
    }

    /// The instructions that the work takes.
    pub fn of(&self, work: impl FnOnce()) -> u64 {
        let before = self.now();
        work();
        self.now() - before
    }
}

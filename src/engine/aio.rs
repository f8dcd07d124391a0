//! Linux AIO (`libaio`) by raw system calls: `io_submit` by the batch, completions read from the ring that the kernel shares.
//!
//! The ring is the one libaio itself uses (`struct aio_ring` in fs/aio.c, magic 0xa10a10a1); when a kernel does not
//! show it, `io_getevents` serves. On devices without NOWAIT (zram, many bio-based drivers) this beats io_uring per core, which
//! has to hand such requests to threads.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::backend::{Backend, Batch, Request};
use super::buffers::Buffers;
use crate::guard::Clearance;
use crate::sample::Direction;
use crate::unit::Nanos;

/// `struct iocb` of include/uapi/linux/aio_abi.h, little-endian layout.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Iocb {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    eventfd: u32,
}

const _: () = assert!(size_of::<Iocb>() == 64);

const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;
/// `IOCB_FLAG_IOPRIO`: the request has a priority of its own.
const FLAG_PRIORITY: u32 = 2;

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    iocb: u64,
    result: i64,
    result2: i64,
}

/// `struct aio_ring`; events follow.
#[repr(C)]
struct Ring {
    id: u32,
    entries: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible: u32,
    incompatible: u32,
    header_length: u32,
}

const RING_MAGIC: u32 = 0xa10a_10a1;

/// The libaio backend.
pub struct Aio {
    context: u64,
    /// One per slot; addresses stay, since the kernel keeps them while a request is in flight.
    iocbs: Box<[Iocb]>,
    /// Address of the first buffer, and distance to the next.
    base: u64,
    stride: u64,
    /// Filled and not yet taken by the kernel.
    queued: Vec<*mut Iocb>,
    /// Filled and not yet reaped.
    busy: u32,
    batch: Batch,
    /// Requests that never reached the device, and completions taken by `io_getevents`.
    early: VecDeque<(u32, i64)>,
    scratch: Vec<Event>,
    user_ring: bool,
    /// The operation that a flush is.
    flush: u16,
    targets: Vec<Arc<Clearance>>,
}

fn setup(depth: u32) -> io::Result<u64> {
    let mut context = 0u64;
    // SAFETY: io_setup writes one aio_context_t to the pointer.
    match unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) } {
        0 => Ok(context),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Says why libaio cannot be used here, in words.
pub fn refusal() -> Option<String> {
    match setup(1) {
        Ok(context) => {
            // SAFETY: the context was just made and has no request.
            unsafe { libc::syscall(libc::SYS_io_destroy, context) };
            None
        }
        Err(e) if e.raw_os_error() == Some(libc::ENOSYS) => Some("this kernel has no AIO (ENOSYS)".into()),
        Err(e) => Some(e.to_string()),
    }
}

impl Aio {
    /// A context for `depth` requests on at least one target, with buffers that must outlive this value.
    ///
    /// # Errors
    /// EAGAIN when `fs.aio-max-nr` is exhausted.
    pub fn new(targets: Vec<Arc<Clearance>>, buffers: &Buffers, depth: u32) -> io::Result<Aio> {
        let context = setup(depth)?;
        let fd = targets[0].as_fd().as_raw_fd() as u32;
        let iocbs = (0..depth)
            .map(|slot| Iocb {
                data: u64::from(slot),
                fd,
                buffer: buffers.address(slot) as u64,
                ..Iocb::default()
            })
            .collect();
        // SAFETY: the context is the address of the ring that the kernel mapped for this process.
        let ring = unsafe { &*(context as *const Ring) };
        let user_ring = ring.magic == RING_MAGIC && ring.incompatible == 0 && ring.entries > 0;
        Ok(Aio {
            context,
            iocbs,
            base: buffers.region().0 as u64,
            stride: buffers.region().1 as u64 / u64::from(depth),
            queued: Vec::with_capacity(depth as usize),
            busy: 0,
            batch: Batch::new(targets[0].is_direct(), depth),
            early: VecDeque::with_capacity(depth as usize),
            scratch: vec![Event::default(); depth as usize],
            user_ring,
            flush: FDSYNC,
            targets,
        })
    }

    fn ring(&self) -> &Ring {
        // SAFETY: mapped by the kernel until io_destroy, which only drop calls.
        unsafe { &*(self.context as *const Ring) }
    }

    /// Completions in the shared ring.
    #[inline(always)]
    fn in_ring(&self) -> u32 {
        if !self.user_ring {
            return 0;
        }
        let ring = self.ring();
        let (head, tail) = (ring.head.load(Ordering::Relaxed), ring.tail.load(Ordering::Acquire));
        if tail >= head { tail - head } else { ring.entries - head + tail }
    }

    /// Sends what is queued; requests that the kernel refuses one by one become completions with their error.
    #[inline(always)]
    fn submit(&mut self) -> io::Result<()> {
        let mut sent = 0;
        while sent < self.queued.len() {
            let left = (self.queued.len() - sent) as u32;
            let n = self.batch.next(left, self.busy - left);
            // SAFETY: the pointers are to iocbs of this value, whose buffers live longer than it.
            let n = unsafe {
                libc::syscall(
                    libc::SYS_io_submit,
                    self.context,
                    libc::c_long::from(n),
                    self.queued.as_ptr().add(sent),
                )
            };
            if n > 0 {
                sent += n as usize;
                continue;
            }
            let e = io::Error::last_os_error();
            match e.raw_os_error() {
                // No room in the kernel now: completions come first, the rest is sent again.
                Some(libc::EAGAIN | libc::EINTR) if sent > 0 || self.in_flight_elsewhere() => break,
                Some(libc::EINTR) => {}
                Some(code) => {
                    // SAFETY: as above; the first one not sent is the one refused.
                    let slot = unsafe { (*self.queued[sent]).data as u32 };
                    self.early.push_back((slot, -i64::from(code)));
                    sent += 1;
                }
                None => return Err(e),
            }
        }
        self.queued.drain(..sent);
        Ok(())
    }

    /// Some request is with the kernel, so that waiting makes room.
    #[cold]
    fn in_flight_elsewhere(&self) -> bool {
        self.queued.len() < self.iocbs.len()
    }

    /// Waits in the kernel for `min` completions; without the shared ring it also takes them.
    #[cold]
    fn getevents(&mut self, min: u32, timeout: Option<Nanos>) -> io::Result<()> {
        let ts = timeout.map(|t| libc::timespec {
            tv_sec: (t.0 / 1_000_000_000) as i64,
            tv_nsec: (t.0 % 1_000_000_000) as i64,
        });
        let pointer = ts.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the kernel writes at most scratch.len() events.
        let n = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                libc::c_long::from(min),
                self.scratch.len() as libc::c_long,
                self.scratch.as_mut_ptr(),
                pointer,
            )
        };
        if n < 0 {
            let e = io::Error::last_os_error();
            return if e.raw_os_error() == Some(libc::EINTR) { Ok(()) } else { Err(e) };
        }
        for event in &self.scratch[..n as usize] {
            self.early.push_back((event.data as u32, event.result));
        }
        Ok(())
    }
}

impl Backend for Aio {
    #[inline(always)]
    fn fill(&mut self, slots: &[u32], mut next: impl FnMut(u32) -> Request) {
        for slot in slots {
            let r = next(*slot);
            let iocb = &mut self.iocbs[r.slot as usize];
            // A flush must not name a buffer (EINVAL), so the next request of its slot has to name it again.
            (iocb.opcode, iocb.buffer) = match r.direction {
                Direction::Read => (PREAD, self.base + u64::from(r.slot) * self.stride),
                Direction::Write => (PWRITE, self.base + u64::from(r.slot) * self.stride),
                Direction::Sync | Direction::Trim => (self.flush, 0),
            };
            iocb.length = u64::from(r.length);
            iocb.offset = r.offset as i64;
            if let Some(target) = r.target {
                iocb.fd = self.targets[usize::from(target)].as_fd().as_raw_fd() as u32;
            }
            if let Some(priority) = r.priority {
                iocb.priority = priority as i16;
                iocb.flags = if priority > 0 { FLAG_PRIORITY } else { 0 };
            }
            self.queued.push(iocb);
        }
        self.busy += slots.len() as u32;
    }

    #[inline(always)]
    fn submit_and_wait(&mut self, want: u32, timeout: Option<Nanos>) -> io::Result<()> {
        if !self.queued.is_empty() {
            self.submit()?;
        }
        let ready = self.in_ring() + self.early.len() as u32;
        if want > ready {
            self.getevents(want - ready, timeout)?;
        } else if !self.user_ring && ready == 0 {
            self.getevents(0, Some(Nanos(0)))?;
        }
        Ok(())
    }

    #[inline(always)]
    fn ready(&mut self) -> u32 {
        self.in_ring() + self.early.len() as u32
    }

    #[inline(always)]
    fn reap(&mut self, n: u32, mut each: impl FnMut(u32, i64)) {
        self.busy -= n;
        let mut left = n;
        while left > 0
            && let Some((slot, result)) = self.early.pop_front()
        {
            each(slot, result);
            left -= 1;
        }
        if left == 0 {
            return;
        }
        let ring = self.ring();
        let (entries, mut head) = (ring.entries, ring.head.load(Ordering::Relaxed));
        // SAFETY: `entries` events follow the header; those from head to tail are complete (tail was read with Acquire in `in_ring`).
        let events = unsafe {
            (std::ptr::from_ref(ring).cast::<u8>()).add(ring.header_length as usize).cast::<Event>()
        };
        for _ in 0..left {
            // SAFETY: head is below entries.
            let event = unsafe { &*events.add(head as usize) };
            each(event.data as u32, event.result);
            head = if head + 1 == entries { 0 } else { head + 1 };
        }
        ring.head.store(head, Ordering::Release);
    }

    fn datasync(&mut self, yes: bool) {
        self.flush = if yes { FDSYNC } else { FSYNC };
    }

    fn features(&self) -> Vec<String> {
        let way = if self.user_ring { "completions from the shared ring" } else { "io_getevents" };
        vec![way.into()]
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        let _ = &self.targets;
        // SAFETY: the context is this value's own. The call waits for requests in flight, so buffers may go afterwards.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}

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

use super::backend::{Backend, Request};
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
///
/// Pointers that the kernel keeps or shares (requests, completions) are derived once, when the context is made, and every access goes
/// through them: a reference to the same memory would allow the compiler to assume that nobody else changes it.
pub struct Aio {
    context: u64,
    /// One request per slot, owned by this value.
    iocbs: *mut [Iocb],
    /// Address of the first buffer, and distance to the next.
    base: u64,
    stride: u64,
    /// Filled and not yet taken by the kernel.
    queued: Vec<*mut Iocb>,
    /// Filled and not yet reaped.
    busy: u32,
    /// Requests that never reached the device, and completions taken by `io_getevents`.
    early: VecDeque<(u32, i64)>,
    scratch: Vec<Event>,
    ring: Option<SharedRing>,
    /// The operation that a flush is.
    flush: u16,
    targets: Vec<Arc<Clearance>>,
}

// SAFETY: the pointers are to memory of this value alone, and it is moved to another thread as a whole.
unsafe impl Send for Aio {}

/// The completions that the kernel shows without a system call, valid until `io_destroy`.
#[derive(Clone, Copy)]
struct SharedRing {
    header: *const Ring,
    events: *const Event,
    entries: u32,
}

impl SharedRing {
    /// The ring of a context for `depth` requests; none when this kernel's ring is not the one known here.
    fn of(context: u64, depth: u32) -> Option<SharedRing> {
        let header: *const Ring = std::ptr::with_exposed_provenance(context as usize);
        // SAFETY: the context is the address of the ring that the kernel mapped for this process; these fields never change.
        let (magic, incompatible, entries, length) =
            unsafe { ((*header).magic, (*header).incompatible, (*header).entries, (*header).header_length) };
        // SAFETY: `entries` events follow the header in the same mapping.
        let events = unsafe { header.cast::<u8>().add(length as usize).cast() };
        (magic == RING_MAGIC && incompatible == 0 && entries > depth).then_some(SharedRing {
            header,
            events,
            entries,
        })
    }

    /// Place of the next completion, and how many there are.
    #[inline(always)]
    fn waiting(&self) -> (u32, u32) {
        // SAFETY: the header is mapped; both fields are atomics, as the kernel changes them.
        let (head, tail) = unsafe {
            ((*self.header).head.load(Ordering::Relaxed), (*self.header).tail.load(Ordering::Acquire))
        };
        (head, if tail >= head { tail - head } else { self.entries - head + tail })
    }
}

/// Completions that are being taken from the shared ring; the kernel may overwrite them once this value is dropped.
struct Shared {
    ring: SharedRing,
    head: u32,
    left: u32,
}

impl Shared {
    /// The next `left` completions, at most as many as are there.
    #[inline(always)]
    fn new(ring: SharedRing, left: u32) -> Shared {
        Shared { head: ring.waiting().0, ring, left }
    }
}

impl Iterator for Shared {
    type Item = (u32, i64);

    #[inline(always)]
    fn next(&mut self) -> Option<(u32, i64)> {
        self.left = self.left.checked_sub(1)?;
        // SAFETY: the head is below `entries`, and its event is complete: it was counted after the tail had been read with Acquire.
        let (slot, result) = unsafe {
            let event = self.ring.events.add(self.head as usize);
            ((*event).data as u32, (*event).result)
        };
        self.head = if self.head + 1 == self.ring.entries { 0 } else { self.head + 1 };
        Some((slot, result))
    }
}

impl Drop for Shared {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the header is mapped, and the head is an atomic that this thread alone changes.
        unsafe { (*self.ring.header).head.store(self.head, Ordering::Release) };
    }
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

/// The kernel has no room for a request now, and a completion of one of the `others` that were sent before makes room: they come
/// first, and the request is sent again. Without others it would wait for nothing.
fn refused_for_now(code: i32, others: u32) -> bool {
    matches!(code, libc::EAGAIN | libc::EINTR) && others > 0
}

impl Aio {
    /// A context for `depth` requests on at least one target, with buffers that must outlive this value.
    ///
    /// # Errors
    /// EAGAIN when `fs.aio-max-nr` is exhausted.
    pub fn new(targets: Vec<Arc<Clearance>>, buffers: &Buffers, depth: u32) -> io::Result<Aio> {
        let context = setup(depth)?;
        let fd = targets[0].as_fd().as_raw_fd() as u32;
        let iocbs: Box<[Iocb]> = (0..depth)
            .map(|slot| Iocb {
                data: u64::from(slot),
                fd,
                buffer: buffers.address(slot) as u64,
                ..Iocb::default()
            })
            .collect();
        Ok(Aio {
            context,
            iocbs: Box::into_raw(iocbs),
            base: buffers.region().0 as u64,
            stride: buffers.region().1 as u64 / u64::from(depth),
            queued: Vec::with_capacity(depth as usize),
            busy: 0,
            early: VecDeque::with_capacity(depth as usize),
            scratch: vec![Event::default(); depth as usize],
            ring: SharedRing::of(context, depth),
            flush: FDSYNC,
            targets,
        })
    }

    /// Completions in the shared ring.
    #[inline(always)]
    fn in_ring(&self) -> u32 {
        self.ring.map_or(0, |ring| ring.waiting().1)
    }

    /// Sends what is queued, if anything; requests that the kernel refuses one by one become completions with their error.
    #[inline(always)]
    fn send(&mut self) -> io::Result<()> {
        let mut sent = 0;
        while sent < self.queued.len() {
            let left = &self.queued[sent..];
            // SAFETY: the pointers are to requests of this value, whose buffers live longer than it.
            let n = unsafe {
                libc::syscall(libc::SYS_io_submit, self.context, left.len() as libc::c_long, left.as_ptr())
            };
            if n > 0 {
                sent += n as usize;
                continue;
            }
            let e = io::Error::last_os_error();
            let Some(code) = e.raw_os_error() else { return Err(e) };
            if refused_for_now(code, self.busy - left.len() as u32) {
                break;
            }
            if code != libc::EINTR {
                // SAFETY: as above; the first request that was not sent is the one refused.
                let slot = unsafe { (*left[0]).data as u32 };
                self.early.push_back((slot, -i64::from(code)));
                sent += 1;
            }
        }
        if sent == self.queued.len() {
            self.queued.clear();
        } else {
            self.queued.drain(..sent);
        }
        Ok(())
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
            let buffer = self.base + u64::from(r.slot) * self.stride;
            // A flush must not name a buffer (EINVAL), so the next request of its slot has to name it again.
            let (opcode, buffer) = match r.direction {
                Direction::Read => (PREAD, buffer),
                Direction::Write => (PWRITE, buffer),
                Direction::Sync | Direction::Trim => (self.flush, 0),
            };
            assert!((r.slot as usize) < self.iocbs.len());
            // SAFETY: the slot is one of this value's requests, and not in flight.
            let iocb = unsafe {
                let iocb = self.iocbs.cast::<Iocb>().add(r.slot as usize);
                (*iocb).opcode = opcode;
                (*iocb).buffer = buffer;
                (*iocb).length = u64::from(r.length);
                (*iocb).offset = r.offset as i64;
                if let Some(target) = r.target {
                    (*iocb).fd = self.targets[usize::from(target)].as_fd().as_raw_fd() as u32;
                }
                if let Some(priority) = r.priority {
                    (*iocb).priority = priority as i16;
                    (*iocb).flags = if priority > 0 { FLAG_PRIORITY } else { 0 };
                }
                iocb
            };
            self.queued.push(iocb);
        }
        self.busy += slots.len() as u32;
    }

    fn submit(&mut self) -> io::Result<()> {
        self.send()
    }

    #[inline(always)]
    fn submit_and_wait(&mut self, want: u32, timeout: Option<Nanos>) -> io::Result<()> {
        self.send()?;
        let ready = self.ready();
        if want > ready {
            self.getevents(want - ready, timeout)?;
        } else if self.ring.is_none() && ready == 0 {
            self.getevents(0, Some(Nanos(0)))?;
        }
        Ok(())
    }

    #[inline(always)]
    fn ready(&mut self) -> u32 {
        self.in_ring() + self.early.len() as u32
    }

    #[inline(always)]
    fn completions(&mut self, n: u32) -> impl Iterator<Item = (u32, i64)> {
        self.busy -= n;
        let early = self.early.len().min(n as usize);
        let ring = self.ring.map(|ring| Shared::new(ring, n - early as u32));
        self.early.drain(..early).chain(ring.into_iter().flatten())
    }

    fn datasync(&mut self, yes: bool) {
        self.flush = if yes { FDSYNC } else { FSYNC };
    }

    fn features(&self) -> Vec<String> {
        let way = if self.ring.is_some() { "completions from the shared ring" } else { "io_getevents" };
        vec![way.into()]
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        // SAFETY: the context is this value's own. The call waits for requests in flight, so that their memory may go afterwards.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
        // SAFETY: the pointer came from a box and is used by nobody any more.
        drop(unsafe { Box::from_raw(self.iocbs) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_others_in_flight_waits_for_nothing() {
        assert!(refused_for_now(libc::EAGAIN, 1) && refused_for_now(libc::EINTR, 3));
        assert!(!refused_for_now(libc::EAGAIN, 0) && !refused_for_now(libc::EINVAL, 5));
    }

    #[test]
    fn the_ring_of_a_context_holds_its_depth() {
        let context = setup(64).unwrap();
        let ring = SharedRing::of(context, 64).expect("this kernel shows the ring");
        assert_eq!(ring.waiting(), (0, 0));
        assert!(SharedRing::of(context, 1 << 20).is_none(), "a ring that is too small is not used");
        // SAFETY: the context was made above and has no request.
        unsafe { libc::syscall(libc::SYS_io_destroy, context) };
    }
}

//! Linux AIO (`libaio`) by raw system calls: `io_submit` by the batch, completions read from the ring that the kernel shares.
//!
//! The ring is the one libaio itself uses (`struct aio_ring` in fs/aio.c, magic 0xa10a10a1); when a kernel does not
//! show it, `io_getevents` serves. On devices without NOWAIT (zram, many bio-based drivers) this beats io_uring per core, which
//! has to hand such requests to threads.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::ReadWriteFlags;

use super::backend::{Backend, IoRequest, no_discard};
use super::buffers::Buffers;
use volproof_base::sample::Direction;
use volproof_base::unit::Nanos;
use volproof_device::guard::Clearance;

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

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct IoEvent {
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
    /// A read or write for each slot, then a flush for each slot, owned by this value.
    iocbs: *mut [Iocb],
    depth: usize,
    /// Filled and not yet taken by the kernel.
    queued: Vec<*mut Iocb>,
    /// Requests that are prepared or in flight.
    busy: u32,
    /// Completions that did not come through the shared ring: from `io_getevents`, or made here for requests that the kernel refused.
    early: Vec<IoEvent>,
    ring: Option<SharedRing>,
    /// The operation of a flush: `FDSYNC` or `FSYNC`.
    flush: u16,
    /// Keeps the descriptor of the requests open.
    _target: Option<Arc<Clearance>>,
}

// SAFETY: the pointers are to memory of this value alone, and it is moved to another thread as a whole.
unsafe impl Send for Aio {}

/// The kernel's ring of completions, which is read without a system call and is valid until `io_destroy`.
#[derive(Clone, Copy)]
struct SharedRing {
    header: *const Ring,
    events: *const IoEvent,
    entries: u32,
}

impl SharedRing {
    /// The ring of a context for `depth` requests; none when this kernel's ring has another layout.
    fn at(context: u64, depth: u32) -> Option<SharedRing> {
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

/// Completions that are being taken: from the shared ring, where the kernel may overwrite them once this value is dropped, or early ones.
struct TakenEvents<'a> {
    events: *const IoEvent,
    entries: u32,
    head: u32,
    left: u32,
    most: u32,
    ring: Option<SharedRing>,
    early: &'a mut Vec<IoEvent>,
    busy: &'a mut u32,
}

impl Iterator for TakenEvents<'_> {
    type Item = (u32, i64);

    #[inline(always)]
    fn next(&mut self) -> Option<(u32, i64)> {
        self.left = self.left.checked_sub(1)?;
        // SAFETY: the head is below `entries`, and its event is complete: those of the ring were counted after its tail had been read with
        // Acquire.
        let (slot, result) = unsafe {
            let event = self.events.add(self.head as usize);
            ((*event).data as u32, (*event).result)
        };
        self.head = if self.head + 1 == self.entries { 0 } else { self.head + 1 };
        Some((slot, result))
    }
}

impl Drop for TakenEvents<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let taken = self.most - self.left;
        *self.busy -= taken;
        match self.ring {
            // SAFETY: the header is mapped, and the head is an atomic that this thread alone changes.
            Some(ring) => unsafe { (*ring.header).head.store(self.head, Ordering::Release) },
            None => drop(self.early.drain(..taken as usize)),
        }
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
        Err(e) if e.raw_os_error() == Some(libc::EAGAIN) => {
            Some("other programs hold all AIO requests of the kernel: raise fs.aio-max-nr (sysctl)".into())
        }
        Err(e) => Some(e.to_string()),
    }
}

/// Whether the kernel had no room for a request and one of the `others` in flight will make room when it completes. The request is then
/// sent again after that completion. With no others in flight, nothing would ever make room.
fn refused_for_now(code: i32, others: u32) -> bool {
    matches!(code, libc::EAGAIN | libc::EINTR) && others > 0
}

impl Aio {
    /// A context for `depth` requests on a target, with buffers that must outlive this value.
    ///
    /// # Errors
    /// EAGAIN when `fs.aio-max-nr` is exhausted.
    pub fn new(target: Arc<Clearance>, buffers: &Buffers, depth: u32) -> io::Result<Aio> {
        let context = setup(depth)?;
        let fd = target.as_fd().as_raw_fd() as u32;
        let mut iocbs = Vec::new();
        for slot in 0..depth {
            iocbs.push(Iocb {
                data: u64::from(slot),
                fd,
                buffer: buffers.address(slot) as u64,
                ..Iocb::default()
            });
        }
        // A flush must not name a buffer (EINVAL).
        for slot in 0..depth {
            iocbs.push(Iocb { data: u64::from(slot), fd, opcode: FDSYNC, ..Iocb::default() });
        }
        let iocbs = iocbs.into_boxed_slice();
        Ok(Aio {
            context,
            iocbs: Box::into_raw(iocbs),
            depth: depth as usize,
            queued: Vec::with_capacity(depth as usize),
            busy: 0,
            early: Vec::with_capacity(depth as usize),
            ring: SharedRing::at(context, depth),
            flush: FDSYNC,
            _target: Some(target),
        })
    }

    /// Completions in the shared ring.
    #[inline(always)]
    fn in_ring(&self) -> u32 {
        self.ring.map_or(0, |ring| ring.waiting().1)
    }

    /// Sends the queued requests, if any. A request that the kernel refuses becomes a completion with its error.
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
                self.early.push(IoEvent {
                    data: u64::from(slot),
                    result: -i64::from(code),
                    ..IoEvent::default()
                });
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

    /// Waits in the kernel for `min` completions, and takes those that are there.
    #[cold]
    fn getevents(&mut self, min: u32, timeout: Option<Nanos>) -> io::Result<()> {
        let ts = timeout.map(|t| libc::timespec {
            tv_sec: (t.0 / 1_000_000_000) as i64,
            tv_nsec: (t.0 % 1_000_000_000) as i64,
        });
        let pointer = ts.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        self.early.reserve(self.depth);
        let room = self.early.spare_capacity_mut();
        // SAFETY: the kernel writes at most as many events as there is room for.
        let n = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                libc::c_long::from(min),
                room.len() as libc::c_long,
                room.as_mut_ptr(),
                pointer,
            )
        };
        if n < 0 {
            let e = io::Error::last_os_error();
            return if e.raw_os_error() == Some(libc::EINTR) { Ok(()) } else { Err(e) };
        }
        // SAFETY: the kernel has written the first n of them.
        unsafe { self.early.set_len(self.early.len() + n as usize) };
        Ok(())
    }
}

impl Backend for Aio {
    #[inline(always)]
    fn fill(&mut self, slots: &[u32], mut next: impl FnMut(u32) -> IoRequest) {
        let Aio { queued, iocbs, depth, flush, .. } = self;
        queued.extend(slots.iter().map(|slot| {
            let r = next(*slot);
            assert!((r.slot as usize) < *depth);
            let (opcode, place) = match r.direction {
                Direction::Read => (PREAD, 0),
                Direction::Write => (PWRITE, 0),
                Direction::Trim => no_discard(),
                Direction::Sync => (*flush, *depth),
            };
            // SAFETY: the request is the slot's own and not in flight. There are `depth` requests of either kind.
            unsafe {
                let iocb = iocbs.cast::<Iocb>().add(place + r.slot as usize);
                (*iocb).opcode = opcode;
                (*iocb).length = u64::from(r.length);
                (*iocb).offset = r.offset as i64;
                iocb
            }
        }));
        self.busy += slots.len() as u32;
    }

    #[inline(always)]
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
        if self.early.is_empty() { self.in_ring() } else { self.early.len() as u32 }
    }

    #[inline(always)]
    fn completions(&mut self) -> impl Iterator<Item = (u32, i64)> {
        let Aio { early, busy, ring, .. } = self;
        match *ring {
            Some(ring) if early.is_empty() => {
                let SharedRing { events, entries, .. } = ring;
                let (head, left) = ring.waiting();
                TakenEvents { events, entries, head, left, most: left, ring: Some(ring), early, busy }
            }
            _ => {
                let (events, left) = (early.as_ptr(), early.len() as u32);
                TakenEvents { events, entries: left, head: 0, left, most: left, ring: None, early, busy }
            }
        }
    }

    fn datasync(&mut self, yes: bool) {
        self.flush = if yes { FDSYNC } else { FSYNC };
    }

    /// Reads share the requests of writes, and the kernel ignores their flag.
    fn sync_writes(&mut self, durability: ReadWriteFlags) {
        for slot in 0..self.depth {
            // SAFETY: the first `depth` requests are those of reads and writes, and none is in flight before the load begins.
            unsafe { (*self.iocbs.cast::<Iocb>().add(slot)).rw_flags = durability.bits() as i32 };
        }
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
        let ring = SharedRing::at(context, 64).expect("this kernel shows the ring");
        assert_eq!(ring.waiting(), (0, 0));
        assert!(SharedRing::at(context, 1 << 20).is_none(), "a ring that is too small is not used");
        // SAFETY: the context was made above and has no request.
        unsafe { libc::syscall(libc::SYS_io_destroy, context) };
    }

    /// Plays the kernel's part through a pointer of its own. Under Miri (CONTRIBUTING.md) it shows that the backend claims nothing for
    /// itself of the memory that both use.
    #[test]
    fn completions_are_taken_while_the_kernel_adds_others() {
        #[repr(C)]
        struct Mapping {
            header: Ring,
            events: [IoEvent; 3],
        }
        let header = Ring {
            id: 0,
            entries: 3,
            head: AtomicU32::new(0),
            tail: AtomicU32::new(0),
            magic: RING_MAGIC,
            compatible: 1,
            incompatible: 0,
            header_length: size_of::<Ring>() as u32,
        };
        let mapping = Box::into_raw(Box::new(Mapping { header, events: [IoEvent::default(); 3] }));
        let depth = 2;
        let iocbs: Box<[Iocb]> =
            (0..2 * depth).map(|i| Iocb { data: u64::from(i % depth), ..Iocb::default() }).collect();
        let mut aio = std::mem::ManuallyDrop::new(Aio {
            context: 0,
            iocbs: Box::into_raw(iocbs),
            depth: depth as usize,
            queued: Vec::new(),
            busy: 0,
            early: Vec::new(),
            ring: SharedRing::at(mapping.expose_provenance() as u64, depth),
            flush: FDSYNC,
            _target: None,
        });
        assert!(aio.ring.is_some());
        // SAFETY: all pointers are to memory made above, which one thread uses.
        let complete = |iocb: *mut Iocb| unsafe {
            let tail = (*mapping).header.tail.load(Ordering::Relaxed);
            let event = IoEvent { data: (*iocb).data, result: (*iocb).length as i64, ..IoEvent::default() };
            (&raw mut (*mapping).events[tail as usize]).write(event);
            (*mapping).header.tail.store((tail + 1) % 3, Ordering::Release);
        };
        let request = |slot: u32, direction, length| IoRequest { slot, direction, offset: 0, length };
        for pass in 1..=4 {
            aio.fill(&[0, 1], |slot| match slot {
                0 => request(0, Direction::Read, 512 * pass),
                _ => request(1, Direction::Sync, 0),
            });
            let sent = std::mem::take(&mut aio.queued);
            complete(sent[1]);
            let mut taken = aio.completions();
            assert_eq!(taken.next(), Some((1, 0)));
            complete(sent[0]);
            assert_eq!(taken.next(), None, "those are taken that were there at the beginning");
            drop(taken);
            assert_eq!(aio.completions().collect::<Vec<_>>(), [(0, i64::from(512 * pass))]);
            assert_eq!((aio.busy, aio.ready()), (0, 0));
        }
        // SAFETY: both pointers came from boxes, and the value that had one is gone without its Drop, which would ask the kernel.
        drop(unsafe { (Box::from_raw(mapping), Box::from_raw(aio.iocbs)) });
    }
}

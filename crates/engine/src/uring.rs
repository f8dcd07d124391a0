//! io_uring through the `io-uring` crate: registered file, buffers and ring; the call that submits last also waits.
//!
//! Set-up flags are tried from the best to none: SINGLE_ISSUER with DEFER_TASKRUN (6.1) and NO_SQARRAY (6.6), then without the
//! latter, then COOP_TASKRUN (5.19), then plain. DEFER_TASKRUN takes completions only when this thread asks, which saves
//! interruptions (measured: same IOPS, 40 % more work per core-second on a loop device).
//!
//! Where kernel threads do the requests (io-wq, for devices without NOWAIT such as zram), each completion would wake this thread, which
//! then takes the CPU that the kernel threads need. There a wait is for several completions, see [`several`]: for as many as come in
//! [`WAIT`] at the rate of the last interval. Elsewhere a wait is for one.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use io_uring::types::{self, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, opcode, squeue};
use rustix::io::ReadWriteFlags;

use super::backend::{Backend, IoRequest, no_discard};
use super::buffers::Buffers;
use volproof_base::sample::Direction;
use volproof_base::unit::Nanos;
use volproof_device::guard::Clearance;

/// Offsets of fields in `struct io_uring_sqe` (kernel ABI, include/uapi/linux/io_uring.h).
const SQE_OFF: usize = 8;
const SQE_LEN: usize = 24;
const SQE_RW_FLAGS: usize = 28;

/// How many registered buffers the kernel takes (`IORING_MAX_REG_BUFFERS`).
const REGISTERED_MAX: usize = 1 << 14;

/// A wait is for as many completions as come in this time at the rate of the last interval.
const WAIT: Nanos = Nanos(50_000);

/// A wait for several completions ends after this time with those that are there: a device that stops keeps finished requests no longer.
/// It is as long as the longest tick of a kernel (`CONFIG_HZ=100`). A timer that is due before the tick must be programmed into the
/// hardware, which takes a virtual machine 9 us for each wait: a fifth of its IOPS on zram.
const LONGEST_WAIT: Timespec = Timespec::new().nsec(10_000_000);

/// The most completions that one wait is for, the same as in fio's fastest settings.
const WAIT_FOR: u32 = 32;

/// One wait is for at most the depth divided by this number, so that the kernel threads have other requests to do meanwhile.
const WAIT_PART: u32 = 4;

/// The most completions that one wait is for; 1 at a depth so small that each finished request which waits costs throughput.
fn several(depth: u32) -> u32 {
    if depth < 32 { 1 } else { (depth / WAIT_PART).min(WAIT_FOR) }
}

/// The completions that come in [`WAIT`] at the rate of `completed` in a time of this length, between 1 and `most`.
fn soon(completed: u64, length: Nanos, most: u32) -> u32 {
    let meanwhile = completed as f64 * WAIT.0 as f64 / length.0.max(1) as f64;
    (meanwhile as u32).clamp(1, most)
}

/// The io_uring backend.
pub struct Uring {
    ring: IoUring,
    /// A read and a write request per slot, complete but for offset and length.
    templates: Vec<[squeue::Entry; 2]>,
    /// Requests that are filled and that the kernel has not yet taken.
    queued: u32,
    sqpoll: bool,
    /// Completions that the next wait is for.
    want: u32,
    /// The most completions that a wait may be for.
    want_most: u32,
    /// Some wait was for several completions.
    waited_for_several: bool,
    datasync: bool,
    flags: Vec<String>,
    target: Arc<Clearance>,
}

/// Makes earlier writes durable, as `fdatasync` or `fsync` does.
#[cold]
fn flush(target: &Clearance, slot: u32, datasync: bool) -> squeue::Entry {
    let fd = types::Fd(target.as_fd().as_raw_fd());
    let flags = if datasync { types::FsyncFlags::DATASYNC } else { types::FsyncFlags::empty() };
    opcode::Fsync::new(fd).flags(flags).build().user_data(u64::from(slot))
}

/// Options of a ring beyond its depth.
#[derive(Clone, Copy, Debug, Default)]
pub struct RingOptions {
    /// Poll the device for completions.
    pub iopoll: bool,
    /// A kernel thread submits.
    pub sqpoll: bool,
}

/// Opens a ring with the best flags this kernel takes.
pub(super) fn open(depth: u32, options: RingOptions) -> io::Result<(IoUring, Vec<String>)> {
    let chain: &[&[&str]] = if options.sqpoll {
        &[&["SINGLE_ISSUER", "NO_SQARRAY"], &["SINGLE_ISSUER"], &[]]
    } else {
        &[
            &["SINGLE_ISSUER", "DEFER_TASKRUN", "NO_SQARRAY"],
            &["SINGLE_ISSUER", "DEFER_TASKRUN"],
            &["COOP_TASKRUN"],
            &[],
        ]
    };
    let mut last = io::Error::from_raw_os_error(libc::ENOSYS);
    for flags in chain {
        let mut b = IoUring::builder();
        for flag in *flags {
            match *flag {
                "SINGLE_ISSUER" => b.setup_single_issuer(),
                "DEFER_TASKRUN" => b.setup_defer_taskrun(),
                "NO_SQARRAY" => b.setup_no_sqarray(),
                _ => b.setup_coop_taskrun(),
            };
        }
        let mut names: Vec<String> = flags.iter().map(|f| (*f).to_string()).collect();
        if options.iopoll {
            b.setup_iopoll();
            names.push("IOPOLL".into());
        }
        if options.sqpoll {
            b.setup_sqpoll(1000);
            names.push("SQPOLL".into());
        }
        match b.build(depth.next_power_of_two()) {
            Ok(ring) if ring.params().sq_entries() < depth || ring.params().cq_entries() < depth => {
                return Err(io::Error::other(format!(
                    "the kernel gave a ring of {} requests and {} completions for a depth of {depth}: lower --iodepth, or use more --numjobs",
                    ring.params().sq_entries(),
                    ring.params().cq_entries()
                )));
            }
            Ok(ring) => return Ok((ring, names)),
            // The kernel does not know one of the flags: the next set is tried. Any other error would come again.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => last = e,
            Err(e) => return Err(e),
        }
    }
    Err(last)
}

/// The features of io_uring that this kernel offers.
///
/// # Errors
/// The reason why io_uring cannot be used here, in words.
pub fn features() -> Result<Vec<String>, String> {
    let refused = match open(1, RingOptions::default()) {
        Ok((_, features)) => return Ok(features),
        Err(e) => e,
    };
    let disabled = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
    Err(match refused.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel has no io_uring, or a container profile hides it (ENOSYS)".into(),
        Some(libc::EPERM) if matches!(disabled.trim(), "1" | "2") => {
            format!("kernel.io_uring_disabled is {} (EPERM)", disabled.trim())
        }
        Some(libc::EPERM) => "a container's seccomp profile forbids it (EPERM)".into(),
        _ => refused.to_string(),
    })
}

impl Uring {
    /// Opens a ring for `depth` requests on a target, with buffers that must outlive this value. Call it on the thread that will
    /// use the ring.
    ///
    /// # Errors
    /// When the kernel refuses the ring. Where it only refuses a registration, the ring works without that.
    pub fn new(
        target: Arc<Clearance>,
        buffers: &Buffers,
        depth: u32,
        options: RingOptions,
    ) -> io::Result<Uring> {
        let (ring, mut flags) = open(depth, options)?;
        let descriptor = target.as_fd().as_raw_fd();
        let fixed_file = ring.submitter().register_files(&[descriptor]).is_ok();
        if fixed_file {
            flags.push("registered file".into());
        }
        let (base, length) = buffers.region();
        let stride = length / depth as usize;
        // One registered buffer per slot where possible: for a request inside a longer buffer the kernel takes a slower path (a bio with
        // many pages).
        let per_range = (depth as usize).div_ceil(REGISTERED_MAX);
        let ranges: Vec<libc::iovec> = (0..(depth as usize).div_ceil(per_range))
            .map(|i| {
                let start = i * per_range * stride;
                let iov_len = (per_range * stride).min(length - start);
                // SAFETY: start lies inside the region.
                libc::iovec { iov_base: unsafe { base.add(start) }.cast(), iov_len }
            })
            .collect();
        // SAFETY: the region outlives the ring: the worker drops the ring first, or leaks both.
        let fixed_buffers = unsafe { ring.submitter().register_buffers(&ranges) }.is_ok();
        if fixed_buffers {
            flags.push("registered buffers".into());
        }
        if !options.sqpoll && ring.submitter().register_ring_fd().is_ok() {
            flags.push("registered ring".into());
        }
        let raw = types::Fd(descriptor);
        let templates = (0..depth)
            .map(|slot| {
                let at = buffers.address(slot);
                let range = (slot as usize / per_range) as u16;
                // A request names the file by index 0 of the registered files, or by its descriptor. The macro writes both variants of each
                // operation.
                macro_rules! entry {
                    ($op:ident $(, $range:expr)?) => {
                        if fixed_file {
                            opcode::$op::new(types::Fixed(0), at, stride as u32 $(, $range)?).build()
                        } else {
                            opcode::$op::new(raw, at, stride as u32 $(, $range)?).build()
                        }
                    };
                }
                let pair = if fixed_buffers {
                    [entry!(ReadFixed, range), entry!(WriteFixed, range)]
                } else {
                    [entry!(Read), entry!(Write)]
                };
                pair.map(|e| e.user_data(u64::from(slot)))
            })
            .collect();
        Ok(Uring {
            ring,
            want: 1,
            waited_for_several: false,
            // With a thread that submits or a device that is polled, no completion wakes this thread.
            want_most: if options.sqpoll || options.iopoll { 1 } else { several(depth) },
            templates,
            queued: 0,
            sqpoll: options.sqpoll,
            datasync: true,
            flags,
            target,
        })
    }
}

impl Uring {
    /// Counts the requests that a call has sent.
    #[inline(always)]
    fn sent(&mut self, result: io::Result<usize>) -> io::Result<()> {
        match result {
            Ok(taken) => self.queued -= (taken as u32).min(self.queued),
            Err(e) => match e.raw_os_error() {
                // A signal, the time-out, or a kernel short of requests: completions come first, the rest is sent again.
                Some(libc::EINTR | libc::ETIME | libc::EAGAIN | libc::EBUSY) => {
                    self.queued = self.ring.submission().len() as u32;
                }
                _ => return Err(e),
            },
        }
        Ok(())
    }
}

/// A request beyond the depth that the ring was made for: a defect of the loop.
#[cold]
#[inline(never)]
fn no_room() -> ! {
    unreachable!("the ring has an entry for every slot")
}

/// Puts offset and length into a prepared request: far cheaper than building it anew for every I/O.
#[inline(always)]
fn aim(entry: &mut squeue::Entry, offset: u64, length: u32) {
    let at = std::ptr::from_mut(entry).cast::<u8>();
    // SAFETY: an Entry is one `struct io_uring_sqe` (64 bytes, checked below), and both fields lie inside it, aligned.
    unsafe {
        at.add(SQE_OFF).cast::<u64>().write(offset);
        at.add(SQE_LEN).cast::<u32>().write(length);
    }
}

const _: () = assert!(size_of::<squeue::Entry>() == 64);

impl Backend for Uring {
    #[inline(always)]
    fn fill(&mut self, slots: &[u32], mut next: impl FnMut(u32) -> IoRequest) {
        let mut queue = self.ring.submission();
        for slot in slots {
            let r = next(*slot);
            let Some([read, write]) = self.templates.get_mut(r.slot as usize) else { no_room() };
            let entry = match r.direction {
                Direction::Read => read,
                Direction::Write => write,
                Direction::Trim => no_discard(),
                Direction::Sync => {
                    // SAFETY: a flush carries no buffer; the file is open for as long as this value lives.
                    let pushed = unsafe { queue.push(&flush(&self.target, r.slot, self.datasync)) };
                    debug_assert!(pushed.is_ok());
                    continue;
                }
            };
            aim(entry, r.offset, r.length);
            // SAFETY: the buffer of the slot lives longer than the ring and is used by no other request in flight.
            // There is always room: the ring has an entry for every slot.
            if unsafe { queue.push(entry) }.is_err() {
                no_room();
            }
        }
        drop(queue);
        self.queued += slots.len() as u32;
    }

    #[inline(always)]
    fn submit(&mut self) -> io::Result<()> {
        let submitter = self.ring.submitter();
        let sent = if self.sqpoll {
            submitter.submit()
        } else {
            // SAFETY: no argument is passed, and no flag.
            unsafe { submitter.enter::<libc::sigset_t>(self.queued, 0, 0, None) }
        };
        self.sent(sent)
    }

    #[inline(always)]
    fn submit_and_wait(&mut self, want: u32, timeout: Option<Nanos>) -> io::Result<()> {
        let submitter = self.ring.submitter();
        let result = match timeout {
            None if self.sqpoll => submitter.submit_and_wait(want as usize),
            None if want > 0 && self.want > 1 => {
                let args = SubmitArgs::new().timespec(&LONGEST_WAIT);
                submitter.submit_with_args(self.want as usize, &args)
            }
            None => {
                let flags = EnterFlags::GETEVENTS.bits();
                // SAFETY: no argument is passed, and the flags are those of a plain submit with a wait.
                unsafe { submitter.enter::<libc::sigset_t>(self.queued, want, flags, None) }
            }
            Some(t) => {
                let ts = Timespec::new().sec(t.0 / 1_000_000_000).nsec((t.0 % 1_000_000_000) as u32);
                submitter.submit_with_args(want as usize, &SubmitArgs::new().timespec(&ts))
            }
        };
        self.sent(result)
    }

    #[inline(always)]
    fn ready(&mut self) -> u32 {
        self.ring.completion().len() as u32
    }

    #[inline(always)]
    fn completions(&mut self) -> impl Iterator<Item = (u32, i64)> {
        let queue = self.ring.completion();
        queue.map(|cqe| (cqe.user_data() as u32, i64::from(cqe.result())))
    }

    fn kernel_threads(&mut self, completed: u64, length: Nanos) {
        self.want = soon(completed, length, self.want_most);
        self.waited_for_several |= self.want > 1;
    }

    fn datasync(&mut self, yes: bool) {
        self.datasync = yes;
    }

    fn sync_writes(&mut self, durability: ReadWriteFlags) {
        for [_, write] in &mut self.templates {
            // SAFETY: as in `aim`; the field lies inside the request and is aligned.
            unsafe {
                std::ptr::from_mut(write)
                    .cast::<u8>()
                    .add(SQE_RW_FLAGS)
                    .cast::<u32>()
                    .write(durability.bits());
            }
        }
    }

    fn features(&self) -> Vec<String> {
        let us = WAIT.0 / 1000;
        let several = self.waited_for_several.then(|| {
            format!("waits for the completions of {us} us at a time, as kernel threads do the requests")
        });
        self.flags.iter().cloned().chain(several).collect()
    }
}

impl Drop for Uring {
    /// Gives files and buffers back while this thread waits. The kernel takes a ring apart some 30 ms after its descriptor was closed,
    /// and would keep the target busy until then: for `umount`, `mkfs` and any program that opens the device for itself alone.
    fn drop(&mut self) {
        let submitter = self.ring.submitter();
        // An error says that nothing was registered.
        let _ = submitter.unregister_files();
        let _ = submitter.unregister_buffers();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shallow_queue_waits_for_one() {
        assert_eq!([1, 16, 31, 32, 64, 128, 1024].map(several), [1, 1, 1, 8, 16, 32, 32]);
    }

    #[test]
    fn a_slow_device_is_waited_for_one_at_a_time() {
        let in_a_tenth = |completed| soon(completed, Nanos(100_000_000), 32);
        assert_eq!([0, 1_000, 3_999, 4_000, 40_000, 1_000_000].map(in_a_tenth), [1, 1, 1, 2, 20, 32]);
        assert_eq!(soon(1_000_000, Nanos(100_000_000), 1), 1);
        assert_eq!(soon(0, Nanos(0), 32), 1);
    }
}

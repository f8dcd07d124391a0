//! The limit: the smallest loops of random 4 KiB reads that this kernel allows, without latencies, as a measure for volproof and fio.
//!
//!     limit io_uring|libaio|pread PATH DEPTH THREADS SECONDS [buffered]
//!
//! Each thread has a ring, a file and buffers of its own, and sends and takes requests by 32. It prints the reads per second of all threads.
//! `benches/versus-fio` runs it in turn with both tools. It reads only.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

use io_uring::{IoUring, opcode, types};

const BLOCK: usize = 4096;
const BATCH: usize = 32;
/// Pages of huge size would favour this loop over programs that do not ask for them.
const ALIGN: usize = 4096;

struct Load {
    engine: String,
    path: String,
    depth: usize,
    threads: usize,
    time: Duration,
    flags: i32,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let Some(load) = parse(&words) else {
        // `cargo bench` runs it without arguments.
        eprintln!("usage: limit io_uring|libaio|pread PATH DEPTH THREADS SECONDS [buffered]");
        return;
    };
    let reads: io::Result<u64> = std::thread::scope(|scope| {
        let load = &load;
        let threads: Vec<_> = (1..=load.threads).map(|n| scope.spawn(move || read(load, n as u64))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum()
    });
    match reads {
        Ok(reads) => println!("{:.0}", reads as f64 / load.time.as_secs_f64()),
        Err(error) => {
            eprintln!("{}: {error}", load.path);
            std::process::exit(1);
        }
    }
}

fn parse(words: &[String]) -> Option<Load> {
    let [engine, path, depth, threads, seconds, rest @ ..] = words else { return None };
    let buffered = rest.first().is_some_and(|word| word == "buffered");
    Some(Load {
        engine: engine.clone(),
        path: path.clone(),
        depth: depth.parse().ok()?,
        threads: threads.parse().ok()?,
        time: Duration::from_secs_f64(seconds.parse().ok()?),
        flags: if buffered { 0 } else { libc::O_DIRECT },
    })
}

/// The load of one thread: reads that came back.
fn read(load: &Load, seed: u64) -> io::Result<u64> {
    let mut file = OpenOptions::new().read(true).custom_flags(load.flags).open(&load.path)?;
    let blocks = file.seek(SeekFrom::End(0))? / BLOCK as u64;
    let mut offsets = Offsets { state: seed, blocks };
    let buffers = aligned(load.depth * BLOCK);
    let end = Instant::now() + load.time;
    match load.engine.as_str() {
        "io_uring" => by_io_uring(&file, load.depth, &buffers, &mut offsets, end),
        "libaio" => by_libaio(&file, load.depth, &buffers, &mut offsets, end),
        _ => by_pread(&file, &buffers, &mut offsets, end),
    }
}

/// Offsets of blocks, by xorshift.
struct Offsets {
    state: u64,
    blocks: u64,
}

impl Offsets {
    fn draw(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % self.blocks * BLOCK as u64
    }
}

/// Memory of whole pages, all of them written once.
struct Pages {
    memory: Vec<u8>,
    first: usize,
}

fn aligned(length: usize) -> Pages {
    let memory = vec![1; length + ALIGN];
    Pages { first: memory.as_ptr().align_offset(ALIGN), memory }
}

impl Pages {
    fn block(&self, slot: usize) -> *mut u8 {
        self.memory[self.first + slot * BLOCK..].as_ptr().cast_mut()
    }
}

fn by_io_uring(
    file: &File,
    depth: usize,
    buffers: &Pages,
    offsets: &mut Offsets,
    end: Instant,
) -> io::Result<u64> {
    let mut ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build(depth.next_power_of_two() as u32)?;
    ring.submitter().register_files(&[file.as_raw_fd()])?;
    let all: Vec<libc::iovec> =
        (0..depth).map(|slot| libc::iovec { iov_base: buffers.block(slot).cast(), iov_len: BLOCK }).collect();
    // SAFETY: the buffers outlive the ring, which is dropped at the end of this function.
    unsafe { ring.submitter().register_buffers(&all) }?;
    let mut free: Vec<usize> = (0..depth).collect();
    let mut reads = 0;
    loop {
        let stop = Instant::now() >= end;
        if !stop {
            for slot in free.drain(..) {
                let request =
                    opcode::ReadFixed::new(types::Fixed(0), buffers.block(slot), BLOCK as u32, slot as u16)
                        .offset(offsets.draw())
                        .build()
                        .user_data(slot as u64);
                // SAFETY: the slot is free, so that no other request uses its buffer.
                unsafe { ring.submission().push(&request) }.map_err(io::Error::other)?;
            }
        }
        let in_flight = depth - free.len();
        if in_flight == 0 {
            return Ok(reads);
        }
        ring.submit_and_wait(in_flight.min(BATCH))?;
        for completion in ring.completion() {
            whole(i64::from(completion.result()))?;
            free.push(completion.user_data() as usize);
            reads += u64::from(!stop);
        }
    }
}

/// `struct iocb` of include/uapi/linux/aio_abi.h, little-endian.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Iocb {
    data: u64,
    key_and_flags: u64,
    opcode_and_priority: u32,
    fd: u32,
    buffer: u64,
    length: u64,
    offset: u64,
    rest: [u64; 2],
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct IoEvent {
    data: u64,
    iocb: u64,
    result: i64,
    result2: i64,
}

fn by_libaio(
    file: &File,
    depth: usize,
    buffers: &Pages,
    offsets: &mut Offsets,
    end: Instant,
) -> io::Result<u64> {
    let mut context: u64 = 0;
    // SAFETY: the kernel writes the context, and nothing else.
    checked(unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) })?;
    let mut requests: Vec<Iocb> = (0..depth).map(|slot| iocb(file.as_raw_fd(), buffers, slot)).collect();
    let mut events = vec![IoEvent::default(); depth];
    let mut free: Vec<usize> = (0..depth).collect();
    let mut reads = 0;
    loop {
        let stop = Instant::now() >= end;
        if !stop {
            for slot in &free {
                requests[*slot].offset = offsets.draw();
            }
            let filled: Vec<*mut Iocb> = free.iter().map(|slot| &raw mut requests[*slot]).collect();
            // SAFETY: the requests and their buffers outlive the loop, which ends with nothing in flight.
            let taken = checked(unsafe {
                libc::syscall(libc::SYS_io_submit, context, filled.len(), filled.as_ptr())
            })?;
            free.drain(..taken);
        }
        let in_flight = depth - free.len();
        if in_flight == 0 {
            return Ok(reads);
        }
        let (least, no_limit) = (in_flight.min(BATCH), std::ptr::null::<libc::timespec>());
        // SAFETY: there is room for as many events as the call may write.
        let done = checked(unsafe {
            libc::syscall(libc::SYS_io_getevents, context, least, depth, events.as_mut_ptr(), no_limit)
        })?;
        for event in &events[..done] {
            whole(event.result)?;
            free.push(event.data as usize);
            reads += u64::from(!stop);
        }
    }
}

fn iocb(fd: RawFd, buffers: &Pages, slot: usize) -> Iocb {
    let buffer = buffers.block(slot) as u64;
    Iocb { data: slot as u64, fd: fd as u32, buffer, length: BLOCK as u64, ..Iocb::default() }
}

fn by_pread(file: &File, buffers: &Pages, offsets: &mut Offsets, end: Instant) -> io::Result<u64> {
    let mut reads = 0;
    while Instant::now() < end {
        for _ in 0..BATCH {
            let at = offsets.draw() as i64;
            // SAFETY: the buffer has room for a block.
            let read = unsafe { libc::pread(file.as_raw_fd(), buffers.block(0).cast(), BLOCK, at) };
            checked(read as i64)?;
            whole(read as i64)?;
        }
        reads += BATCH as u64;
    }
    Ok(reads)
}

/// A system call's value, or its error.
fn checked(value: i64) -> io::Result<usize> {
    usize::try_from(value).map_err(|_| io::Error::last_os_error())
}

/// Refuses a read of less than a block: the count would not be one of blocks.
fn whole(result: i64) -> io::Result<()> {
    match result {
        error if error < 0 => Err(io::Error::from_raw_os_error(-error as i32)),
        bytes if bytes as usize == BLOCK => Ok(()),
        bytes => Err(io::Error::other(format!("a read gave {bytes} bytes"))),
    }
}

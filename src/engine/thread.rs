//! What a load thread asks of the kernel for itself, before it has memory of its own: its CPUs, exact timers, the nodes that its memory
//! comes from, its I/O priority. All of it ends with the thread.

use std::io;

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::plan::{MemoryPolicy, Priority};

/// Runs on these CPUs alone.
///
/// # Errors
/// None of them may be used.
pub fn pin(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu as usize));
    Ok(sched_setaffinity(None, &set)?)
}

/// Sleeps end when they should: the default slack of 50 us would show as lag. Refusal is harmless.
pub fn exact_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes one number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// The I/O priority of this thread, which its requests have unless they say otherwise.
///
/// # Errors
/// The kernel refuses it: real time is for the privileged.
pub fn prioritise(prio: Priority) -> io::Result<()> {
    // IOPRIO_WHO_PROCESS with 0 is the calling thread (ioprio_set(2)).
    let (who, this) = (1 as libc::c_int, 0 as libc::c_int);
    // SAFETY: three numbers.
    match unsafe { libc::syscall(libc::SYS_ioprio_set, who, this, libc::c_int::from(prio.number())) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Bits of a mask of nodes: as many as the kernel can have (`MAX_NUMNODES`).
const NODES: usize = 1024;
const WORD: usize = libc::c_ulong::BITS as usize;

/// Pages that this thread touches first come from the nodes of this policy.
///
/// # Errors
/// The kernel has no NUMA, or a node has no memory.
pub fn place_memory(policy: &MemoryPolicy) -> io::Result<()> {
    // Modes of include/uapi/linux/mempolicy.h.
    let mode = match policy {
        // What the program was started with stays.
        MemoryPolicy::Default => return Ok(()),
        MemoryPolicy::Prefer(_) => 1,
        MemoryPolicy::Bind(_) => 2,
        MemoryPolicy::Interleave(_) => 3,
        MemoryPolicy::Local => 4,
    };
    let mut mask: [libc::c_ulong; NODES / WORD] = [0; NODES / WORD];
    for node in policy.nodes().into_iter().map(|n| n as usize).filter(|n| *n < NODES) {
        mask[node / WORD] |= 1 << (node % WORD);
    }
    let (bits, length) = match policy {
        MemoryPolicy::Local => (std::ptr::null(), 0),
        // The kernel reads one bit less than it is told of.
        _ => (mask.as_ptr(), NODES + 1),
    };
    // SAFETY: the kernel reads `length` - 1 bits at most, which is what the mask has, and changes nothing of ours but the policy for
    // pages that this thread has not touched yet.
    match unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::c_long::from(mode), bits, length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The policy of this thread, as the kernel tells it; none where there is no NUMA.
    fn policy() -> Option<i32> {
        let mut mode = -1i32;
        // SAFETY: without flags and mask get_mempolicy writes one int.
        let said = unsafe {
            libc::syscall(
                libc::SYS_get_mempolicy,
                &raw mut mode,
                std::ptr::null_mut::<u8>(),
                0usize,
                0usize,
                0usize,
            )
        };
        (said == 0).then_some(mode)
    }

    #[test]
    fn the_kernel_holds_the_priority_that_was_asked_for() {
        let found = std::thread::spawn(|| {
            prioritise("idle/3".parse().unwrap()).unwrap();
            // SAFETY: two numbers; the answer is one.
            unsafe { libc::syscall(libc::SYS_ioprio_get, 1 as libc::c_int, 0 as libc::c_int) }
        });
        assert_eq!(found.join().unwrap(), 0x6003);
    }

    #[test]
    fn the_kernel_holds_the_policy_that_was_asked_for() {
        // Each in a thread of its own, so that no other test has it.
        for (text, mode) in
            [("default", 0), ("prefer:0", 1), ("bind:0", 2), ("interleave:0", 3), ("local", 4)]
        {
            let found = std::thread::spawn(move || {
                policy()?;
                place_memory(&text.parse().unwrap()).unwrap();
                policy()
            });
            match found.join().unwrap() {
                Some(found) => assert_eq!(found, mode, "{text}"),
                None => return println!("skipped: this kernel has no NUMA"),
            }
        }
    }
}

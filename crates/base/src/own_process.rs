//! This process as /proc shows it. In a process namespace that still has the /proc of another one (`unshare --pid --fork`, a container with
//! the host's /proc), its number there differs from what getpid(2) gives, which is the number of a stranger there.

/// The number of this process in /proc; none where /proc does not show it.
pub fn number_in_proc() -> Option<u32> {
    std::fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()
}

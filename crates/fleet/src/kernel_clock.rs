//! The kernel's estimate of its own clock: synchronised or not, and by how much it may be wrong (`adjtimex(2)`). Read only.

use volproof_base::unit::Nanos;
use volproof_record::{ClockBasis, RankClock};

/// The clock of this machine as the kernel sees it. Daemons that keep the clock (chrony, ntpd, systemd-timesyncd) tell the kernel.
pub fn read() -> RankClock {
    // SAFETY: all fields are integers, for which zero is a value; with modes 0 the call only fills the structure.
    let (state, told) = unsafe {
        let mut told: libc::timex = std::mem::zeroed();
        (libc::adjtimex(&mut told), told)
    };
    let synchronised = state >= 0 && state != libc::TIME_ERROR && told.status & libc::STA_UNSYNC == 0;
    let error = u64::try_from(told.maxerror).unwrap_or(0).saturating_mul(1000);
    RankClock {
        basis: ClockBasis::Kernel,
        offset_ns: 0,
        monotonic_offset_ns: None,
        error_ns: synchronised.then_some(Nanos(error)),
    }
}

//! Clocks of the worker loop: raw ticks that are cheap to take, and what they mean in nanoseconds.
//!
//! The TSC is used only while the kernel itself keeps time by it (clock source `tsc`): the kernel has then verified that it is constant and
//! the same on all CPUs, and watches it. It costs about 8 ns against 45 ns for `clock_gettime` on the machines measured. Under any other
//! clock source (`kvm-clock`, `hpet`, ...) every stamp is `clock_gettime`. So it is on ARM (`arch_sys_counter`): the call reads the counter of
//! the CPU without entering the kernel, with the corrections that some chips need. `quanta` gives the same reading but
//! calibrates for up to 200 ms, and the first I/O is to leave within 100 ms of the start; the calibration here takes 10 ms and is renewed
//! before every step over the whole time since the start, so that its error falls with the length of the run. At the end of a step the TSC
//! is held against `CLOCK_MONOTONIC` once more ([`Tsc::drift_ppm`]).

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

use volproof_base::unit::Nanos;

/// Ticks and their length.
pub trait Clock: Clone {
    /// Time passes only when a worker moves it on. The workers of a load then share one thread and take turns.
    const VIRTUAL: bool = false;

    /// The time now, in ticks.
    fn now(&self) -> u64;
    /// A difference of ticks in nanoseconds.
    fn ns(&self, ticks: u64) -> u64;
    /// Nanoseconds as ticks.
    fn ticks(&self, ns: Nanos) -> u64;
    /// Waits until `until` (ticks): sleeps while that is far away, and spins without a system call when it is near.
    fn idle_until(&self, until: u64) {
        loop {
            let now = self.now();
            if now >= until {
                return;
            }
            let left = self.ns(until - now);
            if left > 2 * SPIN.0 {
                std::thread::sleep(Duration::from_nanos(left - SPIN.0));
            } else {
                std::hint::spin_loop();
            }
        }
    }
    /// This clock and `CLOCK_MONOTONIC` read together.
    fn anchor(&self) -> Anchor {
        let now = self.now();
        Anchor { ticks: now, ns: self.ns(now) }
    }
    /// One turn of a waiting loop.
    fn pause(&self) {
        std::hint::spin_loop();
    }
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn monotonic() -> Nanos {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    Nanos(tv_sec as u64 * 1_000_000_000 + tv_nsec as u64)
}

/// How long before an arrival a sleeping worker is woken, to spin for the rest: timers of virtual machines are late by tens of
/// microseconds.
pub const SPIN: Nanos = Nanos::micros(80);

/// Name of the TSC where a clock is named.
pub const TSC: &str = "tsc";

/// Name of `clock_gettime` where a clock is named, with the reason why it is not the TSC.
pub fn gettime(why: &str) -> String {
    format!("clock_gettime ({why})")
}

/// The choice of the clock, made anew for every step: the kernel may give up the TSC at any time.
pub struct Timer {
    root: PathBuf,
    began: Anchor,
}

impl Timer {
    /// Reads the clock source below `root`. The TSC is calibrated from this moment on.
    pub fn choose(root: &Path) -> Timer {
        Timer { root: root.into(), began: Anchor::take() }
    }

    /// The clock that a step would have now, with the reason where it is not the TSC.
    pub fn description(&self) -> String {
        Tsc::refusal(&self.root).map_or_else(|| TSC.into(), |why| gettime(&why))
    }

    /// The TSC, calibrated from the start of the program until now, over at least 10 ms; or the reason not to use it.
    pub(super) fn tsc(&self) -> Result<Tsc, String> {
        if let Some(why) = Tsc::refusal(&self.root) {
            return Err(why);
        }
        if self.began.age() < Nanos::millis(10) {
            std::thread::sleep(Duration::from_millis(10));
        }
        Tsc::calibrated(self.began).ok_or_else(|| "the TSC does not run at 1 to 20 GHz".into())
    }
}

#[doc(hidden)]
impl Timer {
    /// For tests: a TSC whose calibration is wrong: it runs fast by so many parts per million, and less so as time passes. The kernel's clock source
    /// is read below `root`.
    pub fn running_fast(root: &Path, ppm: f64) -> Timer {
        const BACK: f64 = 10e9;
        let from = Anchor::take();
        std::thread::sleep(Duration::from_millis(50));
        let to = Anchor::take();
        let ticks_per_ns = (to.ticks - from.ticks) as f64 / (to.ns - from.ns) as f64;
        let ticks = to.ticks - (BACK * ticks_per_ns / (1.0 + ppm / 1e6)) as u64;
        Timer { root: root.into(), began: Anchor { ticks, ns: to.ns - BACK as u64 } }
    }
}

/// The CPU's time stamp counter.
#[derive(Clone, Copy, Debug)]
pub struct Tsc {
    /// Nanoseconds per tick, times 2^64: a tick is shorter than a nanosecond.
    scale: u64,
}

/// A pair of readings of the TSC and the kernel's clock, as close together as can be had.
#[derive(Clone, Copy, Debug)]
pub struct Anchor {
    ticks: u64,
    ns: u64,
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn rdtsc() -> u64 {
    // SAFETY: every x86-64 CPU has the instruction; it has no side effect.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn rdtsc() -> u64 {
    0
}

impl Anchor {
    /// Time since this reading.
    pub fn age(&self) -> Nanos {
        Nanos(monotonic().0 - self.ns)
    }

    /// The time of `CLOCK_MONOTONIC` at so many ticks of the clock that was read.
    pub fn ns_of(&self, ticks: u64, clock: &impl Clock) -> u64 {
        if ticks <= self.ticks {
            self.ns.saturating_sub(clock.ns(self.ticks - ticks))
        } else {
            self.ns + clock.ns(ticks - self.ticks)
        }
    }

    /// Takes the tightest of several readings.
    pub fn take() -> Anchor {
        let readings = (0..16).map(|_| Anchor::read());
        readings.min_by_key(|(width, _)| *width).expect("16 readings").1
    }

    /// One reading, and the ticks that it took.
    fn read() -> (u64, Anchor) {
        let before = rdtsc();
        let ns = monotonic().0;
        let width = rdtsc().wrapping_sub(before);
        (width, Anchor { ticks: before + width / 2, ns })
    }
}

impl Tsc {
    /// The reason not to use the TSC, from the clock source below `root`.
    pub fn refusal(root: &Path) -> Option<String> {
        let source = clock_source(root);
        if source != TSC {
            return Some(format!("the kernel's clock source is {source}"));
        }
        (!cfg!(target_arch = "x86_64")).then(|| "not an x86-64 CPU".into())
    }

    /// The rate between an earlier anchor and now, which should be at least 10 ms apart.
    fn calibrated(from: Anchor) -> Option<Tsc> {
        let to = Anchor::take();
        let (ticks, ns) = (to.ticks.checked_sub(from.ticks)?, to.ns.checked_sub(from.ns)?);
        // Above 1 GHz, which the scale needs, up to 20 GHz: anything else is not a clock that should be trusted.
        if ticks == 0 || !(0.05..1.0).contains(&(ns as f64 / ticks as f64)) {
            return None;
        }
        Some(Tsc { scale: ((u128::from(ns) << 64) / u128::from(ticks)) as u64 })
    }

    /// How far this clock has run from `CLOCK_MONOTONIC` since an anchor, in parts per million; positive when it is fast. None within
    /// a second of the anchor: the two readings of an anchor may be a microsecond apart.
    pub fn drift_ppm(&self, from: Anchor) -> Option<f64> {
        let to = Anchor::take();
        let passed = to.ns.saturating_sub(from.ns);
        let counted = self.ns(to.ticks.saturating_sub(from.ticks));
        (passed >= 1_000_000_000).then(|| (counted as f64 / passed as f64 - 1.0) * 1e6)
    }
}

/// The kernel's current clock source.
pub fn clock_source(root: &Path) -> String {
    std::fs::read_to_string(root.join("sys/devices/system/clocksource/clocksource0/current_clocksource"))
        .map(|s| s.trim().to_string())
        .unwrap_or_else(|_| "unknown".into())
}

impl Clock for Tsc {
    #[inline(always)]
    fn now(&self) -> u64 {
        rdtsc()
    }

    #[inline(always)]
    fn ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.scale)) >> 64) as u64
    }

    fn ticks(&self, ns: Nanos) -> u64 {
        ((u128::from(ns.0) << 64) / u128::from(self.scale)) as u64
    }

    fn anchor(&self) -> Anchor {
        Anchor::take()
    }
}

/// `clock_gettime(CLOCK_MONOTONIC)`; a tick is a nanosecond.
#[derive(Clone, Copy, Debug)]
pub struct Monotonic;

impl Clock for Monotonic {
    #[inline(always)]
    fn now(&self) -> u64 {
        monotonic().0
    }

    #[inline(always)]
    fn ns(&self, ticks: u64) -> u64 {
        ticks
    }

    fn ticks(&self, ns: Nanos) -> u64 {
        ns.0
    }
}

/// Time that passes only when a simulated device says so; a tick is a nanosecond.
#[derive(Clone, Debug, Default)]
pub struct Virtual(Rc<Cell<u64>>);

impl Virtual {
    /// Moves on to a time; never back.
    pub fn advance_to(&self, ticks: u64) {
        self.0.set(self.0.get().max(ticks));
    }
}

impl Clock for Virtual {
    const VIRTUAL: bool = true;

    fn now(&self) -> u64 {
        self.0.get()
    }

    fn ns(&self, ticks: u64) -> u64 {
        ticks
    }

    fn ticks(&self, ns: Nanos) -> u64 {
        ns.0
    }

    fn idle_until(&self, until: u64) {
        self.advance_to(until);
    }

    fn pause(&self) {
        self.0.set(self.0.get() + 500);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_is_exact_over_hours() {
        let clock = Tsc { scale: ((1u128 << 64) * 10 / 23) as u64 }; // 2.3 GHz
        let hour = 3_600_000_000_000u64;
        let ticks = clock.ticks(Nanos(hour));
        assert!(clock.ns(ticks).abs_diff(hour) <= 1, "{}", clock.ns(ticks));
        assert!(ticks.abs_diff(hour * 23 / 10) < 10_000);
    }

    #[test]
    fn the_tsc_is_used_only_where_the_kernel_uses_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("sys/devices/system/clocksource/clocksource0");
        std::fs::create_dir_all(&folder).unwrap();
        for (source, refused) in
            [("tsc\n", false), ("kvm-clock\n", true), ("arch_sys_counter\n", true), ("", true)]
        {
            std::fs::write(folder.join("current_clocksource"), source).unwrap();
            let refusal = Tsc::refusal(dir.path());
            assert_eq!(
                refusal.is_some(),
                refused || cfg!(not(target_arch = "x86_64")),
                "{source}: {refusal:?}"
            );
        }
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(Tsc::refusal(dir.path()).is_some());
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_clock_that_runs_fast_is_found() {
        let to = Anchor::take();
        let from = Anchor { ticks: to.ticks - 20_000_000_000, ns: to.ns - 10_000_000_000 };
        // 2 GHz between the two; a scale of 0.1 % more nanoseconds a tick is 1000 ppm fast.
        let clock = |factor: f64| Tsc { scale: (0.5 * factor * 2f64.powi(64)) as u64 };
        assert!((clock(1.001).drift_ppm(from).unwrap() - 1000.0).abs() < 100.0);
        assert!(clock(1.0).drift_ppm(from).unwrap().abs() < 100.0);
        assert_eq!(clock(1.0).drift_ppm(to), None);
    }

    #[test]
    fn virtual_time_moves_only_when_told() {
        let clock = Virtual::default();
        let twin = clock.clone();
        clock.idle_until(500);
        assert_eq!(twin.now(), 500);
        clock.advance_to(400);
        assert_eq!(twin.now(), 500);
    }
}

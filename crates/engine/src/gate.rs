//! A common start for loads that run at the same time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time from the last load's set-up to the common start: enough to wake the threads that watch the loads.
const AHEAD: Duration = Duration::from_millis(2);

/// The common start of several loads, each run by a thread of its own: no load sends an I/O before all of them are set up. A load that
/// fails during its set-up withdraws by itself. A load that fails before [`run`](super::run) is called must be withdrawn by the caller,
/// since the others would wait for it.
pub struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
    not_before: Option<Instant>,
}

struct GateState {
    awaited: usize,
    start: Option<Instant>,
}

impl Gate {
    /// A gate for this many loads.
    pub fn new(loads: usize) -> Gate {
        Gate {
            state: Mutex::new(GateState { awaited: loads, start: None }),
            changed: Condvar::new(),
            not_before: None,
        }
    }

    /// The same, with a start that is no earlier than this instant.
    pub fn not_before(self, instant: Option<Instant>) -> Gate {
        Gate { not_before: instant, ..self }
    }

    /// Withdraws a load that will not start.
    pub fn withdraw(&self) {
        drop(self.arrive());
    }

    /// Counts a load that has arrived or was withdrawn. The last one sets the time of the start.
    fn arrive(&self) -> MutexGuard<'_, GateState> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.awaited = state.awaited.saturating_sub(1);
        if state.awaited == 0 && state.start.is_none() {
            let soon = Instant::now() + AHEAD;
            state.start = Some(self.not_before.map_or(soon, |planned| planned.max(soon)));
            self.changed.notify_all();
        }
        state
    }
}

/// A load's place at a gate; it withdraws when it is dropped unused.
pub(super) struct Pass<'a>(Option<&'a Gate>);

impl<'a> Pass<'a> {
    pub(super) fn new(gate: &'a Gate) -> Pass<'a> {
        Pass(Some(gate))
    }

    /// Waits for the other loads; the instant at which all begin.
    pub(super) fn wait(mut self) -> Instant {
        let Some(gate) = self.0.take() else { return Instant::now() };
        let mut state = gate.arrive();
        loop {
            if let Some(start) = state.start {
                drop(state);
                // A load that has passed begins to count its time.
                let early = start.saturating_duration_since(Instant::now()).saturating_sub(AHEAD);
                std::thread::sleep(early);
                return start;
            }
            state = gate.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if let Some(gate) = self.0 {
            gate.withdraw();
        }
    }
}

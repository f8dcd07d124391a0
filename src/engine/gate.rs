//! A common start for loads that run at the same time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long after the last load is set up all of them begin: time enough to wake the threads that watch them.
const AHEAD: Duration = Duration::from_millis(2);

/// Loads that are to start at the same instant meet here: none sends anything before all are set up. Each of them is run by a thread
/// of its own. One that will not come after all, because something went wrong before it could be run, has to be withdrawn;
/// a load that fails while it is set up withdraws by itself.
pub struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

struct GateState {
    awaited: usize,
    start: Option<Instant>,
}

impl Gate {
    /// For so many loads.
    pub fn new(loads: usize) -> Gate {
        Gate { state: Mutex::new(GateState { awaited: loads, start: None }), changed: Condvar::new() }
    }

    /// A load will not come.
    pub fn withdraw(&self) {
        drop(self.arrive());
    }

    /// One more has come or will not come; the last one sets the time.
    fn arrive(&self) -> MutexGuard<'_, GateState> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.awaited = state.awaited.saturating_sub(1);
        if state.awaited == 0 && state.start.is_none() {
            state.start = Some(Instant::now() + AHEAD);
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

//! Orders that the user gives by key and that the pipeline carries out.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// How the running step is to end before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndOrder {
    /// With the samples that it has, and on to the next step.
    Next,
    /// Without a result, and on to the next step.
    Abort,
}

/// The orders that stand.
#[derive(Debug, Default)]
pub struct UserOrders {
    end: AtomicU8,
    paused: AtomicBool,
}

impl UserOrders {
    /// The running step is to end so.
    pub fn end_step(&self, order: EndOrder) {
        self.end.store(1 + order as u8, Ordering::Relaxed);
    }

    /// Takes the order to end the running step, if there is one.
    pub fn take_end(&self) -> Option<EndOrder> {
        match self.end.swap(0, Ordering::Relaxed) {
            0 => None,
            1 => Some(EndOrder::Next),
            _ => Some(EndOrder::Abort),
        }
    }

    /// No further step is to begin, or the schedule goes on.
    pub fn turn_pause(&self) {
        self.paused.fetch_xor(true, Ordering::Relaxed);
    }

    /// No further step is to begin for now.
    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed)
    }
}

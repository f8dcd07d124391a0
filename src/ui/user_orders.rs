//! The order that the user gives by key and that the pipeline carries out.

use std::sync::atomic::{AtomicBool, Ordering};

/// The order that stands.
#[derive(Debug, Default)]
pub struct UserOrders {
    end: AtomicBool,
}

impl UserOrders {
    /// The running step is to end with the samples that it has, and the next one to begin.
    pub fn end_step(&self) {
        self.end.store(true, Ordering::Relaxed);
    }

    /// Takes the order to end the running step, if there is one.
    pub fn take_end(&self) -> bool {
        self.end.swap(false, Ordering::Relaxed)
    }
}

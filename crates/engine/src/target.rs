//! Where a load goes.

use std::sync::Arc;

use super::simulated_run::SharedVolume;
use volproof_base::unit::Bytes;
use volproof_device::guard::Clearance;

/// Where a load goes.
#[derive(Clone)]
pub struct Target {
    /// The target, checked and open. Only the null engine works without one.
    pub clearance: Option<Arc<Clearance>>,
    /// Usable size.
    pub size: Bytes,
    /// The volume that a simulated device plays in place of the target.
    pub volume: SharedVolume,
}

impl Target {
    /// A target with a simulated volume of its own.
    pub fn new(clearance: Option<Arc<Clearance>>, size: Bytes) -> Target {
        Target { clearance, size, volume: SharedVolume::default() }
    }

    /// Its path, for messages.
    pub(crate) fn name(&self) -> String {
        self.clearance.as_ref().map_or("null".into(), |c| c.path().display().to_string())
    }
}

//! Drops the cached pages of the targets each time a job has gone over its part of them (`invalidate`). Without that, a buffered load
//! measures memory from its second pass on. fio 3.33 does the same whenever a job begins anew over its files (`loops`, `time_based`).

use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::{Advice, fadvise};

use super::Target;
use super::generator::Region;
use crate::guard::Clearance;
use crate::plan::Step;

/// How far a job has come with its pass.
pub struct Passes {
    parts: Vec<(Arc<Clearance>, Region)>,
    /// Bytes of a pass.
    length: u64,
    /// Bytes left of the present pass.
    left: u64,
}

impl Passes {
    /// The passes of a job over these regions of these targets. None when the step keeps cached pages, or does direct I/O.
    pub fn of(step: &Step, targets: &[Target], regions: &[Region]) -> Option<Passes> {
        if !step.invalidate || step.direct {
            return None;
        }
        let cleared = |(t, region): (&Target, &Region)| Some((t.clearance.clone()?, *region));
        let parts: Vec<_> = targets.iter().zip(regions).map(cleared).collect::<Option<_>>()?;
        let length = regions.iter().map(|r| r.length.0).sum();
        Some(Passes { parts, length, left: length })
    }

    /// Counts bytes that were moved, and drops the cached pages at the end of a pass.
    #[inline(always)]
    pub fn complete(&mut self, bytes: u32) {
        self.left = self.left.saturating_sub(u64::from(bytes));
        if self.left == 0 {
            self.begin_anew();
        }
    }

    /// A refused advice does not end the load: the kernel accepted the same advice when the load began.
    #[cold]
    fn begin_anew(&mut self) {
        self.left = self.length;
        for (clearance, Region { start, length }) in &self.parts {
            let _ = fadvise(clearance.as_fd(), start.0, length.0.try_into().ok(), Advice::DontNeed);
        }
    }
}

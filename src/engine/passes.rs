//! Cached pages that are dropped again each time a job has gone over its part of the targets (`invalidate`). Without that a buffered
//! load that is longer than one pass measures memory from the second one on. fio 3.33 does the same whenever a job begins anew
//! over its files (`loops`, `time_based`).

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
    /// Bytes until it ends.
    left: u64,
}

impl Passes {
    /// Of a job with these parts of these targets; none when nothing is to be dropped or nothing is cached.
    pub fn of(step: &Step, targets: &[Target], regions: &[Region]) -> Option<Passes> {
        if !step.invalidate || step.direct {
            return None;
        }
        let cleared = |(t, region): (&Target, &Region)| Some((t.clearance.clone()?, *region));
        let parts: Vec<_> = targets.iter().zip(regions).map(cleared).collect::<Option<_>>()?;
        let length = regions.iter().map(|r| r.length.0).sum();
        Some(Passes { parts, length, left: length })
    }

    /// So many bytes were moved.
    #[inline(always)]
    pub fn complete(&mut self, bytes: u32) {
        self.left = self.left.saturating_sub(u64::from(bytes));
        if self.left == 0 {
            self.begin_anew();
        }
    }

    /// Advice that cannot be given is no reason to end a load: it was taken when the load began.
    #[cold]
    fn begin_anew(&mut self) {
        self.left = self.length;
        for (clearance, Region { start, length }) in &self.parts {
            let _ = fadvise(clearance.as_fd(), start.0, length.0.try_into().ok(), Advice::DontNeed);
        }
    }
}

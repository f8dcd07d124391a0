//! How much load shows that load is not what a volume lacks: the saturating depth, and what memory and target allow of it.

use volproof_base::stats::LEAST_QUOTABLE;
use volproof_base::unit::{Bytes, Nanos};
use volproof_plan::{EngineKind, Step};
use volproof_record::Record;

/// A volume that misses its promise at the saturating depth keeps each request waiting for so long in the mean, by Little's law. No promise
/// asks for more.
const LONGEST_MEAN_WAIT: Nanos = Nanos::millis(500);
/// Bounds of the saturating depth of a promise of I/Os.
const FEWEST_REQUESTS: f64 = 256.0;
const MOST_REQUESTS: f64 = 4096.0;
/// Bounds of that of a promise of bytes: requests, and bytes in flight.
const FEWEST_LARGE_REQUESTS: f64 = 32.0;
pub(super) const MOST_BYTES: Bytes = Bytes::gib(1);
/// Memory that buffers of a load may take, as a share of what is available.
const SHARE_OF_MEMORY: f64 = 0.5;

/// Requests in flight, over all jobs and targets, beyond which no promise asks for more: as many as the promised rate completes in half a
/// second, within bounds.
pub fn saturating_depth(per_second: f64, block: Bytes, counts_ios: bool) -> u64 {
    let wait = LONGEST_MEAN_WAIT.as_seconds();
    let most = (MOST_BYTES.0 as f64 / block.0.max(1) as f64).clamp(FEWEST_LARGE_REQUESTS, MOST_REQUESTS);
    let depth = if counts_ios {
        (per_second * wait).clamp(FEWEST_REQUESTS.min(most), most)
    } else {
        (per_second * wait / block.0.max(1) as f64).clamp(FEWEST_LARGE_REQUESTS, most)
    };
    depth.ceil() as u64
}

/// The deepest load of a step that memory and target allow, beside the saturating depth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deepest {
    /// The saturating depth.
    pub saturating: u64,
    /// The deepest that is possible.
    pub possible: u64,
    /// Memory is what limits it, and not the size of the target.
    pub by_memory: bool,
}

impl Deepest {
    /// Of a planned step on the targets of a Record.
    pub fn for_step(record: &Record, step: &Step, saturating: u64) -> Deepest {
        let block = step.largest_block().0.max(1);
        let available = record.environment.memory_available_bytes.0;
        let by_memory = if available == 0 || step.engine == EngineKind::Null {
            u64::MAX
        } else {
            (available as f64 * SHARE_OF_MEMORY) as u64 / block
        };
        let blocks = blocks_of_targets(record, step, block);
        Deepest { saturating, possible: by_memory.min(blocks), by_memory: by_memory < blocks }
    }

    /// The deepest possible depth, where it is below the saturating one.
    pub fn if_shallow(&self) -> Option<u64> {
        (self.possible < self.saturating).then_some(self.possible)
    }

    /// The depth of the confirming step.
    pub fn depth(&self) -> u64 {
        self.possible.min(self.saturating)
    }
}

/// Blocks in the used part of all targets of a step: no more requests than blocks can be in flight where each has a block of its own.
fn blocks_of_targets(record: &Record, step: &Step, block: u64) -> u64 {
    let named = record.plan.targets_of(step);
    let sizes = record.targets.iter().filter(|t| named.contains(&t.named)).map(|t| t.size_bytes.0);
    let used = sizes.map(|size| step.size.map_or(size, |part| part.0.min(size)) / block);
    let all: u64 = used.sum();
    if all == 0 { u64::MAX } else { all }
}

/// A step like this one that keeps so many requests in flight over all targets, in a closed loop, for at least a minute.
pub fn at_depth(step: &Step, targets: usize, depth: u64) -> Step {
    let series = targets.max(1) as u64;
    let engine = if step.engine == EngineKind::Psync { Step::default().engine } else { step.engine };
    // One request at a time for each of many threads becomes a queue of one thread.
    let numjobs = if step.engine == EngineKind::Psync { 1 } else { step.numjobs };
    let iodepth = depth.div_ceil(series * u64::from(numjobs)).max(1);
    Step {
        engine,
        numjobs,
        iodepth: iodepth.min(u64::from(volproof_plan::MOST_DEPTH)) as u32,
        rate_iops: None,
        rate_bw: None,
        ..for_a_minute(step)
    }
}

/// The same load, for as long as planned and at least a minute, after all other steps.
pub fn for_a_minute(step: &Step) -> Step {
    let default = Step::default();
    Step {
        runtime: step.runtime.max(LEAST_QUOTABLE),
        io_size: None,
        time_based: false,
        start: default.start,
        delay: default.delay,
        end_fsync: false,
        ..step.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_saturating_depth_follows_from_the_promise() {
        let of_iops = |iops| saturating_depth(iops, Bytes::kib(4), true);
        assert_eq!((of_iops(100.0), of_iops(3000.0), of_iops(1e6)), (256, 1500, 4096));
        let of_bytes = |mib: f64, block| saturating_depth(mib * 1048576.0, block, false);
        assert_eq!(of_bytes(125.0, Bytes::mib(1)), 63);
        assert_eq!(of_bytes(1.0, Bytes::mib(1)), 32);
        assert_eq!(of_bytes(4000.0, Bytes::mib(1)), 1024, "a GiB in flight");
    }

    #[test]
    fn a_depth_is_divided_over_jobs_and_targets() {
        let step = Step { numjobs: 4, iodepth: 16, ..Step::default() };
        let deep = at_depth(&step, 2, 1500);
        assert_eq!((deep.iodepth, deep.numjobs, deep.runtime), (188, 4, Nanos::seconds(60)));
        let psync = Step { engine: EngineKind::Psync, numjobs: 8, ..Step::default() };
        let deep = at_depth(&psync, 1, 256);
        assert_eq!((deep.iodepth, deep.numjobs, deep.engine), (256, 1, Step::default().engine));
    }
}

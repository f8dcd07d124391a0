//! `own-cgroup-limit`: this process's own cgroup limits the disk, and the step is at that limit.
//!
//! **Why it matters:** the kernel lets no more through, so that a volume that could do more is not seen.
//!
//! **What to do:** run outside the container or slice, or raise its limit.
//!
//! **Source:** `io.max` and `blkio.throttle.*` of the cgroups of this process.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::DoubtCase;
use crate::thresholds::SETS_THE_FIGURE;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::significant;
use volproof_device::device::Block;
use volproof_record::{DirectionSummary, StepRecord, StepTarget, TargetRecord};

/// A limit of our own cgroup that a step is at.
pub(crate) struct LimitReached {
    /// The file.
    pub file: String,
    /// The word in it, as `rbps=1048576`.
    pub word: String,
    /// The figure that was measured.
    pub reached: String,
}

/// The rate of the step is at a limit of our own cgroup.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let LimitReached { file, word, reached } = limit_reached(&case.targets, case.step)?;
    Some(Doubt::new(
        Severity::Blocker,
        DoubtCode::OwnCgroupLimit,
        format!("this process's own cgroup limits the disk: {file} says {word}, and {reached} were measured"),
        "run outside the container or slice, or raise its limit: this measured the limit, not the volume",
    ))
}

/// The first limit of our own cgroup that the rate of a step on these targets is at.
pub(crate) fn limit_reached(targets: &[&TargetRecord], step: &StepRecord) -> Option<LimitReached> {
    let disks: HashMap<&Path, &Block> =
        targets.iter().filter_map(|t| Some((t.path.as_path(), t.facts.device()?))).collect();
    // The limit is one of the disk, whose targets share it. A step may drive some of the targets only.
    let mut of_disks: BTreeMap<&str, (&Block, Vec<&StepTarget>)> = BTreeMap::new();
    for target in &step.targets {
        if let Some(device) = disks.get(target.path.as_path()) {
            of_disks.entry(&device.disk.name).or_insert((device, Vec::new())).1.push(target);
        }
    }
    for (device, on_disk) in of_disks.values() {
        for set in &device.cgroup_limits {
            for word in set.limit.split_ascii_whitespace() {
                if let Some(reached) = reached(word, on_disk) {
                    let file = set.file.display().to_string();
                    return Some(LimitReached { file, word: word.into(), reached });
                }
            }
        }
    }
    None
}

/// The measured figure that is at the limit of one word, as `rbps=1048576`.
fn reached(word: &str, targets: &[&StepTarget]) -> Option<String> {
    let (name, value) = word.split_once('=')?;
    let limit = value.parse::<f64>().ok().filter(|limit| *limit > 0.0)?;
    let direction = |t: &&StepTarget| match name.as_bytes().first() {
        Some(b'r') => t.read.clone(),
        Some(b'w') => t.write.clone(),
        _ => None,
    };
    let sum = |figure: fn(DirectionSummary) -> f64| -> f64 {
        targets.iter().filter_map(direction).map(figure).sum()
    };
    let (reached, unit) = match name.get(1..) {
        Some("bps") => (sum(|d| d.bytes_per_second), " B/s"),
        Some("iops") => (sum(|d| d.iops), " IOPS"),
        _ => return None,
    };
    ((reached / limit - 1.0).abs() <= SETS_THE_FIGURE).then(|| format!("{}{unit}", significant(reached)))
}

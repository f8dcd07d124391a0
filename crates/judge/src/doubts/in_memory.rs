//! `in-memory`: the file or device lies in memory.
//!
//! **Why it matters:** its rates and latencies are those of memory, not of a volume.
//!
//! **What to do:** name a file on the volume, or its block device.
//!
//! **Source:** the filesystem of the target, or the path that a report names.

use std::path::{Path, PathBuf};

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_plan::EngineKind;
use volproof_record::TargetRecord;

/// Folders and devices that are memory on every Linux of today.
const MEMORY: [&str; 5] = ["/dev/shm/", "/run/", "/var/run/", "/dev/ram", "/dev/pmem"];
/// Folders below them where disks are mounted.
const ON_DISK: [&str; 2] = ["/run/media/", "/run/mount/"];
/// Names in reports that are no volume: memory, and files that the kernel makes up.
const NO_VOLUME: [&str; 7] =
    ["/dev/zram", "/dev/nullb", "/dev/zero", "/dev/null", "/dev/full", "/proc/", "/sys/"];

/// A target is memory.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let path = match &case.reported {
        Some(_) => named_by_report(case)?,
        None if case.ran_on(EngineKind::Null) => return None,
        None => &case.targets.iter().find(|target| is_in_memory(target))?.path,
    };
    Some(Doubt::new(
        Severity::Blocker,
        DoubtCode::InMemory,
        format!("{} is memory, not a disk", path.display()),
        "name a file on the volume, or its block device",
    ))
}

/// The target of a run lies in memory, by its filesystem. A block device has none and is known by its path.
fn is_in_memory(target: &TargetRecord) -> bool {
    match target.facts.place() {
        Some(place) => place.is_memory(),
        None => is_memory_path(&target.path),
    }
}

/// The first path of a report that is no volume.
fn named_by_report<'a>(case: &'a DoubtCase<'_>) -> Option<&'a PathBuf> {
    let mut named = case.on_a_device()?.conditions.targets.as_ref()?.iter();
    named.find(|path| is_memory_path(path) || begins(path, &NO_VOLUME))
}

fn is_memory_path(path: &Path) -> bool {
    begins(path, &MEMORY) && !begins(path, &ON_DISK)
}

/// A folder is named without the slash at its end.
fn begins(path: &Path, with: &[&str]) -> bool {
    let path = format!("{}/", path.to_string_lossy());
    with.iter().any(|beginning| path.starts_with(beginning))
}

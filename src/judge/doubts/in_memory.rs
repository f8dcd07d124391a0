//! `in-memory`: the file or device lies in memory.
//!
//! **Why it matters:** its rates and latencies are those of memory, not of a volume.
//!
//! **What to do:** name a file on the volume, or its block device.
//!
//! **Source:** the filesystem of the target, or the path that a report names.

use std::path::Path;

use super::DoubtCase;
use crate::doubt::{Doubt, DoubtCode, Severity};
use crate::plan::EngineKind;
use crate::record::TargetRecord;

/// Folders and devices that are memory on every Linux of today.
const MEMORY: [&str; 5] = ["/dev/shm/", "/run/", "/var/run/", "/dev/ram", "/dev/pmem"];
/// Folders below them where disks are mounted.
const ON_DISK: [&str; 2] = ["/run/media/", "/run/mount/"];
/// Names in reports that are no volume: memory, and files that the kernel makes up.
const NO_VOLUME: [&str; 7] =
    ["/dev/zram", "/dev/nullb", "/dev/zero", "/dev/null", "/dev/full", "/proc/", "/sys/"];

/// The file or device is memory: by its filesystem where volproof measured, by its path where a report names no more.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    // A folder is named without the slash at its end.
    let begins = |path: &Path, with: &[&str]| {
        let path = format!("{}/", path.to_string_lossy());
        with.iter().any(|m| path.starts_with(m))
    };
    let by_path = |path: &Path| begins(path, &MEMORY) && !begins(path, &ON_DISK);
    let path = match &case.reported {
        Some(reported) if reported.conditions.is_null() => None,
        Some(reported) => {
            let mut named = reported.conditions.targets.as_ref()?.iter();
            named.find(|path| by_path(path) || begins(path, &NO_VOLUME))
        }
        None if case.step.engine.get() == Some(EngineKind::Null) => None,
        None => {
            let in_memory = |t: &&&TargetRecord| match t.facts.place() {
                Some(place) => place.is_memory(),
                None => by_path(&t.path),
            };
            case.targets.iter().find(in_memory).map(|t| &t.path)
        }
    }?;
    Some(Doubt::new(
        Severity::Blocker,
        DoubtCode::InMemory,
        format!("{} is memory, not a disk", path.display()),
        "name a file on the volume, or its block device",
    ))
}

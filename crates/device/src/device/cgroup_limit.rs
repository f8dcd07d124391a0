//! Limits of I/O that cgroups set for a disk.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DevNumber, Root};

/// A limit that this process's cgroup sets for the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CgroupLimit {
    /// The file that sets it.
    pub file: PathBuf,
    /// Its words for this device, such as `rbps=1048576 wiops=120`.
    pub limit: String,
}

/// Limits of this process's cgroup and those above it, version 2 (`io.max`) and 1 (`blkio.throttle.*`).
pub(super) fn cgroup_limits(root: &Root, disk: DevNumber) -> Vec<CgroupLimit> {
    const V1: &[(&str, &str)] = &[
        ("blkio.throttle.read_bps_device", "rbps"),
        ("blkio.throttle.write_bps_device", "wbps"),
        ("blkio.throttle.read_iops_device", "riops"),
        ("blkio.throttle.write_iops_device", "wiops"),
    ];
    let own = root.text("/proc/self/cgroup").unwrap_or_default();
    let mut limits = Vec::new();
    let mut look = |folder: PathBuf, file: &str, label: Option<&str>| {
        let file = folder.join(file);
        let text = root.text(&file).unwrap_or_default();
        for line in text.lines() {
            if let Some((_, limit)) = line.split_once(' ').filter(|(n, _)| n.parse() == Ok(disk)) {
                let limit = label.map_or(limit.to_string(), |l| format!("{l}={limit}"));
                limits.push(CgroupLimit { file: file.clone(), limit });
            }
        }
    };
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        for folder in Path::new(path.trim_start_matches('/')).ancestors() {
            if controllers.is_empty() {
                for mount in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
                    look(Path::new(mount).join(folder), "io.max", None);
                }
            } else if controllers.split(',').any(|c| c == "blkio") {
                for (file, label) in V1 {
                    look(Path::new("/sys/fs/cgroup/blkio").join(folder), file, Some(label));
                }
            }
        }
    }
    limits
}

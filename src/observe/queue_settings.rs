//! Settings of a disk's queue at the start of a step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::device::Root;
use crate::unit::Bytes;

/// `/sys/block/NAME/queue` and `mq` (Documentation/ABI/stable/sysfs-block). Absent where the kernel does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueSettings {
    /// Name of the disk under /sys/block.
    pub disk: String,
    /// The active scheduler, such as `none` or `mq-deadline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Requests that a hardware queue holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_requests: Option<u64>,
    /// Hardware queues; 0 for a device that works on whole bios (device mapper, md, loop of old).
    pub hardware_queues: u64,
    /// Where completions run: 0 where the interrupt landed, 1 in the submitter's group, 2 on the submitter's CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rq_affinity: Option<u64>,
    /// The largest request that is not split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_request_bytes: Option<Bytes>,
    /// 0 merges requests, 1 only simple ones, 2 none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nomerges: Option<u64>,
}

impl QueueSettings {
    /// Reads the current settings of a disk's queue.
    pub fn read(root: &Root, disk: &str) -> QueueSettings {
        let queue = format!("/sys/block/{disk}/queue");
        let number = |name: &str| root.number(format!("{queue}/{name}"));
        let words = root.text(format!("{queue}/scheduler")).unwrap_or_default();
        let active = words
            .split_ascii_whitespace()
            .find_map(|w| w.strip_prefix('[')?.strip_suffix(']'))
            .or_else(|| words.split_ascii_whitespace().next());
        QueueSettings {
            disk: disk.into(),
            scheduler: active.map(str::to_string),
            nr_requests: number("nr_requests"),
            hardware_queues: root.names(format!("/sys/block/{disk}/mq")).len() as u64,
            rq_affinity: number("rq_affinity"),
            max_request_bytes: number("max_sectors_kb").map(Bytes::kib),
            nomerges: number("nomerges"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn queue_settings_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let queue = dir.path().join("sys/block/vdb/queue");
        fs::create_dir_all(&queue).unwrap();
        fs::create_dir_all(dir.path().join("sys/block/vdb/mq/0")).unwrap();
        for (name, text) in
            [("scheduler", "none [mq-deadline] bfq"), ("nr_requests", "64"), ("max_sectors_kb", "1280")]
        {
            fs::write(queue.join(name), text).unwrap();
        }
        let q = QueueSettings::read(&Root::tree(dir.path()), "vdb");
        assert_eq!(
            (q.scheduler.as_deref(), q.nr_requests, q.hardware_queues),
            (Some("mq-deadline"), Some(64), 1)
        );
        assert_eq!((q.max_request_bytes, q.rq_affinity), (Some(Bytes::kib(1280)), None));
    }
}

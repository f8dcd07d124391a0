//! Settings of a disk's queue at the start of a step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_base::unit::Bytes;
use volproof_device::device::{self, Root};

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
    /// The latency at which the kernel holds buffered writes back, in microseconds; 0 never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wbt_lat_usec: Option<u64>,
    /// Whether completions give entropy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub add_random: Option<u64>,
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
            wbt_lat_usec: number("wbt_lat_usec"),
            add_random: number("add_random"),
        }
    }

    /// The first setting that is another one now, in words. What one of both does not say is no difference.
    pub fn change(&self, now: &QueueSettings) -> Option<String> {
        let then = self.named();
        let known =
            then.into_iter().zip(now.named()).filter(|(then, now)| then.1.is_some() && now.1.is_some());
        let change = known.into_iter().find_map(|((name, was), (_, is))| device::change(name, was, is));
        change.map(|change| format!("{}: {change}", now.disk))
    }

    /// Every setting with its name.
    fn named(&self) -> [(&'static str, Option<String>); 8] {
        let hardware_queues = self.hardware_queues.to_string();
        [
            ("scheduler", self.scheduler.clone()),
            ("nr_requests", self.nr_requests.map(|n| n.to_string())),
            ("number of hardware queues", Some(hardware_queues)),
            ("rq_affinity", self.rq_affinity.map(|n| n.to_string())),
            ("largest request", self.max_request_bytes.map(|b| b.to_string())),
            ("nomerges", self.nomerges.map(|n| n.to_string())),
            ("wbt_lat_usec", self.wbt_lat_usec.map(|n| n.to_string())),
            ("add_random", self.add_random.map(|n| n.to_string())),
        ]
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
        assert_eq!(q.change(&q), None);
        let untold = QueueSettings { scheduler: None, nr_requests: None, ..q.clone() };
        assert_eq!((q.change(&untold), untold.change(&q)), (None, None));
        let fewer = QueueSettings { nr_requests: Some(32), ..q.clone() };
        assert_eq!(q.change(&fewer).unwrap(), "vdb: its nr_requests was 64 and is 32");
    }
}

//! The page 0xD0 of a volume of AWS as `nvme amzn stats` and `ebsnvme` print it: text with or without colons, and JSON.
//!
//! Source: plugins/amzn/amzn-nvme.c of nvme-cli, sbin/ebsnvme of FreeBSD. Histograms are not read: the limits need none.

use serde_json::Value;

use volproof_base::unit::{Bytes, Nanos};
use volproof_device::nvme::provider_page::{ExceededTimes, IoCounts, PageKind, ProviderPage};

/// A page and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct PageAt {
    /// When it was read.
    pub at_ns: i64,
    /// What it counts.
    pub page: ProviderPage,
    /// The file itself tells the time; else it is when the file was written.
    pub is_told: bool,
}

/// The counters in their order, with the heading and the line of the text, and the key of the JSON.
const COUNTERS: [(&str, &str, &str); 10] = [
    ("Total Ops", "Read", "total_read_ops"),
    ("Total Ops", "Write", "total_write_ops"),
    ("Total Bytes", "Read", "total_read_bytes"),
    ("Total Bytes", "Write", "total_write_bytes"),
    ("Total Time", "Read", "total_read_time"),
    ("Total Time", "Write", "total_write_time"),
    ("EBS Volume Performance Exceeded", "IOPS", "ebs_volume_performance_exceeded_iops"),
    ("EBS Volume Performance Exceeded", "Throughput", "ebs_volume_performance_exceeded_tp"),
    ("EC2 Instance", "IOPS", "ec2_instance_ebs_performance_exceeded_iops"),
    ("EC2 Instance", "Throughput", "ec2_instance_ebs_performance_exceeded_tp"),
];

/// Of a local disk these two are missing.
const OF_VOLUME: std::ops::Range<usize> = 6..8;

/// The page in a text; absent where it is no such output. The error is the counter that is missing.
pub(crate) fn of_text(text: &str) -> Option<Result<ProviderPage, &'static str>> {
    if text.trim_start().starts_with('{') {
        let document: Value = serde_json::from_str(text).ok()?;
        document.get(COUNTERS[0].2)?;
        let is_local = document.get("histograms").is_some();
        return Some(page(is_local, |(_, _, key)| document.get(key)?.as_u64()));
    }
    if !text.contains("Total Ops") {
        return None;
    }
    // The line below the counters: without it the last of them may be cut.
    if !text.contains("Queue Length") {
        return Some(Err("Queue Length"));
    }
    let is_local = text.contains("Local Storage Performance Exceeded");
    Some(page(is_local, |(heading, line, _)| in_text(text, heading, line)))
}

/// The number of a line below a heading.
fn in_text(text: &str, heading: &str, line: &str) -> Option<u64> {
    let mut lines = text.lines().skip_while(|l| !l.starts_with(heading)).skip(1);
    let below = lines.by_ref().take_while(|l| l.starts_with(' ') || l.starts_with('\t'));
    let found = below.filter_map(|l| l.trim().split_once(':')).find(|(name, _)| *name == line);
    found?.1.trim().parse().ok()
}

fn page(
    is_local: bool,
    counter: impl Fn((&str, &str, &str)) -> Option<u64>,
) -> Result<ProviderPage, &'static str> {
    let mut values = [0; COUNTERS.len()];
    for (i, place) in COUNTERS.into_iter().enumerate() {
        if !(is_local && OF_VOLUME.contains(&i)) {
            values[i] = counter(place).ok_or(place.2)?;
        }
    }
    let counts = |at: usize| IoCounts {
        ios: values[at],
        bytes: Bytes(values[at + 2]),
        time_ns: micros(values[at + 4]),
    };
    let exceeded = |at: usize| ExceededTimes { ios_ns: micros(values[at]), bytes_ns: micros(values[at + 1]) };
    Ok(ProviderPage {
        kind: if is_local { PageKind::InstanceStore } else { PageKind::Ebs },
        reads: counts(0),
        writes: counts(1),
        volume_exceeded: exceeded(6),
        instance_exceeded: exceeded(8),
        ..ProviderPage::default()
    })
}

fn micros(us: u64) -> Nanos {
    Nanos(us.saturating_mul(1000))
}

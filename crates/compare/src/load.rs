//! Whether a step had the same load in two runs. What a report does not tell of its load is not held against it.

use volproof_base::unit::Bytes;
use volproof_record::{Conditions, Known};

/// What differs between the loads, each as `queue depth 32 and 64`; empty for the same load.
pub fn differences(a: &Conditions, b: &Conditions) -> Vec<String> {
    let mut out = Vec::new();
    for ((name, before), (_, after)) in parts(a).into_iter().zip(parts(b)) {
        if let (Some(before), Some(after)) = (before, after)
            && before != after
        {
            out.push(format!("{name} {before} and {after}"));
        }
    }
    out
}

/// What most loads have in common.
const USUAL: [&str; 8] = [
    "jobs 1",
    "direct I/O true",
    "size 0 B",
    "percent of reads 50",
    "distribution uniform",
    "flush after so many writes: 0",
    "other options none",
    "rate unlimited",
];

/// What is known of the load and unusual, in words: `pattern randread, block size 4 KiB, queue depth 32`.
pub fn words_of(conditions: &Conditions) -> String {
    let mut told = Vec::new();
    for (name, part) in parts(conditions) {
        told.extend(part.map(|part| format!("{name} {part}")).filter(|part| !USUAL.contains(&part.as_str())));
    }
    told.join(", ")
}

/// The parts of a load in words; none where it is not told.
fn parts(c: &Conditions) -> [(&'static str, Option<String>); 11] {
    [
        ("pattern", words(&c.rw)),
        ("block size", c.block.as_ref().map(|(low, high)| block(*low, *high))),
        ("queue depth", words(&c.iodepth)),
        ("jobs", words(&c.jobs)),
        ("direct I/O", words(&c.direct)),
        ("size", words(&c.size)),
        ("percent of reads", words(&c.reads_percent)),
        ("distribution", words(&c.distribution)),
        ("flush after so many writes:", words(&c.fsync)),
        (
            "other options",
            Some(if c.odd_options.is_empty() { "none".into() } else { c.odd_options.join(" ") }),
        ),
        ("rate", Some(pace(c))),
    ]
}

fn words<T: ToString>(fact: &Known<T>) -> Option<String> {
    fact.as_ref().map(T::to_string)
}

fn block(low: Bytes, high: Bytes) -> String {
    if low == high { low.to_string() } else { format!("{low} to {high}") }
}

/// What holds the load back on purpose.
fn pace(c: &Conditions) -> String {
    let Some(pace) = c.pace.as_ref() else { return "unlimited".into() };
    let rate = pace.offered_per_second.map(|rate| format!("{rate} a second"));
    let said: Vec<String> = [rate, pace.pause_option.clone()].into_iter().flatten().collect();
    if said.is_empty() { "unlimited".into() } else { said.join(", ") }
}

//! Volumes that are the same at all times: what chance does with their I/Os is no stop, no burst and no drift.

use super::{Lab, Volume};

/// Runs of each volume, with random numbers of their own.
const RUNS: usize = 60;
/// Runs of which a false alarm is allowed.
const ALLOWED: usize = 1;

/// Loads and devices: two latencies far apart, a long tail, noise.
const STEADY: [(&str, &str); 5] = [
    ("iodepth=32", "latency=2ms,slow-share=0.1,slow-latency=600ms"),
    ("iodepth=4", "latency=10ms,jitter=10ms,slow-share=0.01,slow-latency=300ms"),
    ("iodepth=16", "latency=5ms,jitter=5ms,slow-share=0.02,slow-latency=2s"),
    ("iodepth=8", "latency=2ms,jitter=2ms,slow-share=0.3,slow-latency=50ms"),
    ("iodepth=16", "latency=30ms,jitter=30ms,noise=0.1,noise-memory=0.5"),
];

#[test]
fn chance_is_neither_a_stop_nor_a_burst_nor_a_drift() {
    let lab = Lab::with_all_types();
    for (load, device) in STEADY {
        let steps: String =
            (0..RUNS).map(|i| Volume::new("steady", "plain", 60, load, device).step(i)).collect();
        let said = lab.measured("plain", &steps);
        let alarm = |f: &&serde_json::Value| {
            ["on-off", "burst", "drift"].iter().any(|code| f["code"] == *code)
                && f["confidence"] != "possible"
        };
        let all = said["diagnoses"].as_array().unwrap();
        assert_eq!(all.len(), RUNS, "{device}");
        let alarms: Vec<&serde_json::Value> =
            all.iter().filter_map(|d| d["findings"].as_array()?.iter().find(alarm)).collect();
        assert!(alarms.len() <= ALLOWED, "{load} on {device}: {} of {RUNS}, {:#}", alarms.len(), alarms[0]);
    }
}

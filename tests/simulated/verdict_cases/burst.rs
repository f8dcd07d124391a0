//! The burst of a type: a baseline that credits hide, and a burst that is judged by itself, for as long as it is promised.

use crate::verdict_cases::lab::{Lab, Ran, answer, text};

/// 300 IOPS, and 3,000 for 33 min 20 s out of a full bucket of 5,400,000 credits.
const GP2: &str = "--promise aws:gp2 --volume-size 100GiB";
const OPEN: [&str; 2] = ["inconclusive", "credits"];

fn run(lab: &Lab, volume: &str, runtime: &str, more: &str) -> Ran {
    let depth = if more.contains("--no-follow-up") { 2048 } else { 32 };
    let load = format!("--rw randread --iodepth {depth} --runtime {runtime}");
    lab.run(&format!("latency=500us,{volume}"), &load, &format!("{GP2} {more}"))
}

#[test]
fn a_baseline_is_judged_without_the_credits_above_it() {
    let lab = Lab::new();
    let ran = run(&lab, "iops-cap=300,burst-iops=3000,burst-ios=5400000", "120s", "");
    assert_eq!((ran.code, answer(&ran.claim())), (5, OPEN), "{}", ran.stdout);
    // After a bucket that was nearly empty.
    let ran = run(&lab, "iops-cap=309", "60s", "");
    assert_eq!((ran.code, answer(&ran.claim())), (0, ["pass", "kept"]), "{}", ran.stdout);
}

#[test]
fn a_burst_passes_where_it_lasts_as_long_as_promised() {
    let lab = Lab::new();
    let full = "iops-cap=300,burst-iops=3000,burst-ios=5400000";
    let ran = run(&lab, full, "2000s", "--promise-burst");
    assert_eq!((ran.code, answer(&ran.claim())), (0, ["pass", "kept"]), "{}", ran.stdout);
    assert!(ran.stdout.contains("what is promised of its burst"), "{}", ran.stdout);
    let ran = run(&lab, full, "120s", "--promise-burst");
    let claim = ran.claim();
    assert_eq!((ran.code, answer(&claim)), (5, OPEN), "{}", ran.stdout);
    assert!(text(&claim, "reason").contains("2 min 00 s of the 33 min 20 s that are promised"), "{claim:#}");
    assert_eq!(claim["more_seconds"], 1880, "{claim:#}");
    assert!(text(&claim, "command").contains("--runtime 2000s"), "{claim:#}");
}

#[test]
fn an_empty_bucket_refutes_no_burst() {
    let lab = Lab::new();
    for (bucket, runtime) in [(0, "60s"), (60_000, "60s"), (300_000, "60s"), (500_000, "300s")] {
        for more in ["", "--no-follow-up"] {
            let volume = format!("iops-cap=300,burst-iops=3000,burst-ios={bucket}");
            let ran = run(&lab, &volume, runtime, &format!("--promise-burst {more}"));
            assert_eq!((ran.code, answer(&ran.claim())), (5, OPEN), "{volume} {more}: {}", ran.stdout);
        }
    }
    // The baseline gives no such rate.
    for volume in ["iops-cap=1000", "iops-cap=200", "iops-cap=200,burst-iops=3000,burst-ios=60000"] {
        let ran = run(&lab, volume, "60s", "--promise-burst");
        assert_eq!((ran.code, answer(&ran.claim())), (1, ["fail", "missed"]), "{volume}: {}", ran.stdout);
    }
}

#[test]
fn a_type_without_a_burst_is_refused_by_name() {
    let lab = Lab::new();
    for (kind, size) in [("aws:gp3", "100GiB"), ("alibaba:cloud_essd.PL0", "40GiB"), ("aws:gp2", "2TiB")] {
        let promise = format!("--promise {kind} --volume-size {size} --promise-burst");
        let ran = lab.run("latency=500us,iops-cap=2960", "--rw randread --runtime 60s", &promise);
        assert!(ran.code == 2 && ran.stderr.contains(kind), "{kind}: {} {}", ran.code, ran.stderr);
    }
}

#[test]
fn more_than_the_burst_is_a_share_of_the_burst() {
    let lab = Lab::new();
    let ran = run(&lab, "iops-cap=30000", "60s", "");
    let claim = ran.claim();
    assert_eq!(answer(&claim), ["inconclusive", "beyond-the-type"], "{claim:#}");
    assert!(text(&claim, "reason").starts_with("1,000 % of the burst that is promised"), "{claim:#}");
}

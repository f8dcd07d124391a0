//! Diagnosis from figures alone, as another tool's report gives them: percentiles, shares of latency bands, depth, runtime.

use volproof::catalogue::volume_promise::Binding;
use volproof::diagnose::{Band, DeviceCounts, DiagnosisCase, Promised, Summary, of_case};
use volproof::record::{Confidence, Diagnosis};
use volproof::unit::{Bytes, Nanos};

/// fio's table of latencies: `2=65.86%` counts what lies above the row before it, up to 2 ms.
fn bands(rows: &[(u64, u64, f64)]) -> Vec<Band> {
    rows.iter()
        .map(|&(above, up_to, pct)| Band {
            above: Nanos::micros(above),
            up_to: Nanos::micros(up_to),
            share: pct / 100.0,
        })
        .collect()
}

/// A published report of fio 2.2.8 on an 800 GiB SSD cloud disk (2017): 4 KiB random reads at depth 128 for 13.0 s.
fn published() -> Summary {
    Summary {
        name: "Rand_Read_Testing".into(),
        reads: Some(true),
        random: Some(true),
        direct: Some(true),
        iops: Some(20_126.0),
        bytes_per_second: Some(80_505.0 * 1024.0),
        ios: Some(262_144.0),
        block: Some(Bytes::kib(4)),
        in_flight: Some(128.0),
        window: Some(Nanos::millis(13_025)),
        mean_ns: Some(6_358_280.0),
        min: Some(Nanos::micros(175)),
        max: Some(Nanos::micros(82_994)),
        percentiles: [
            (0.01, 454),
            (0.05, 668),
            (0.1, 812),
            (0.2, 996),
            (0.3, 1128),
            (0.4, 1256),
            (0.5, 1368),
        ]
        .into_iter()
        .chain([(0.6, 1480), (0.7, 1624), (0.8, 1816), (0.9, 2192), (0.95, 79_360), (0.99, 81_408)])
        .chain([(0.995, 81_408), (0.999, 82_432), (0.9995, 82_432), (0.9999, 82_432)])
        .map(|(q, us)| (q, Nanos::micros(us)))
        .collect(),
        bands: bands(&[
            (100, 250, 0.04),
            (250, 500, 1.49),
            (500, 750, 6.08),
            (750, 1000, 12.81),
            (1000, 2000, 65.86),
            (2000, 4000, 6.84),
            (4000, 10_000, 0.49),
            (10_000, 20_000, 0.04),
            (50_000, 100_000, 6.35),
        ]),
        range: Some(Bytes::gib(1)),
        device: Some(DeviceCounts { ios: 258_422.0, merges: 0.0, bytes: None }),
        ..Summary::default()
    }
}

fn promised() -> Promised {
    Promised {
        iops: 20_000.0,
        bytes_per_second: 20_000.0 * 4096.0,
        binding: Binding::VolumeIops,
        iops_cap: Some(20_000.0),
        bytes_cap: Some(300.0 * 1_048_576.0),
    }
}

/// The findings on figures alone.
fn of_summary(summary: Summary) -> Diagnosis {
    of_case(&DiagnosisCase { summary, run: None })
}

fn headlines(found: &Diagnosis) -> Vec<&str> {
    found.findings.iter().take(3).map(|f| f.headline.as_str()).collect()
}

#[test]
fn the_published_report_is_read_as_a_token_bucket() {
    let found = of_summary(Summary { promised: Some(promised()), ..published() });
    let bucket = found.find("throttle").unwrap();
    assert_eq!(
        bucket.confidence,
        Confidence::Likely,
        "a report has no rate over time, and one tooth is no comb"
    );
    assert!((bucket.numbers["period_ms"] - 100.16).abs() < 0.2, "{:?}", bucket.numbers);
    assert!((bucket.numbers["quota_ios"] - 2016.0).abs() < 2.0, "{:?}", bucket.numbers);
    assert!((bucket.numbers["device_latency_ms"] - 1.37).abs() < 0.01, "{:?}", bucket.numbers);
    insta::assert_snapshot!(headlines(&found).join("\n"), @r#"
    A token bucket of about 100 ms sets the rate, 20,126/s; without it the volume takes 1.37 ms.
    13.0 s are too short to quote a figure from.
    A full bucket at the start explains the 126/s above the cap.
    "#);
    insta::assert_snapshot!(bucket.evidence.join("\n"), @r#"
    6.35 % of the I/Os took 79.4 ms to 83.0 ms, 0.53 % lay in between, and the others took 1.37 ms (median)
    128 in flight / (6.35 % x 20,126/s) = 100 ms: a quota of 2,016 I/Os each 100 ms, a period that throttles use
    each quota is used up in about 19.0 ms, at about 106,207/s
    20,126/s are 101 % of the promised 20,000 (volume IOPS)
    "#);
    // 20,126 = 20,000 + one quota / 13 s.
    let full = found.find("full-bucket-at-start").unwrap();
    assert!((full.numbers["surplus_ios"] - 1641.0).abs() < 2.0, "{:?}", full.numbers);
    assert!(found.find("too-short").is_some());
    assert!(found.find("reads-from-memory").is_none(), "fio reads the counters a little early");
}

#[test]
fn without_a_promise_the_bucket_is_still_named() {
    let found = of_summary(published());
    assert_eq!(found.find("throttle").unwrap().confidence, Confidence::Possible);
    assert!(found.find("full-bucket-at-start").is_none(), "nobody said what the cap is");
}

/// Slow I/Os of a fixed length give a period by Little's law, whatever made them slow; it may be one that throttles use.
#[test]
fn single_ios_that_give_a_period_of_100_ms_are_no_likely_throttle() {
    // A third of the I/Os takes 100 ms, the others 1 ms: 32 in flight do 943 a second.
    let single = Summary {
        iops: Some(943.0),
        in_flight: Some(32.0),
        mean_ns: Some(33.9e6),
        min: Some(Nanos::millis(1)),
        max: Some(Nanos::millis(100)),
        percentiles: vec![(0.5, Nanos::millis(1)), (0.9, Nanos::millis(100))],
        bands: bands(&[(750, 1000, 66.7), (50_000, 100_000, 33.3)]),
        random: Some(true),
        window: Some(Nanos::seconds(300)),
        ..Summary::default()
    };
    let confidence = |s: Summary| of_summary(s).find("throttle").map(|f| f.confidence);
    assert_eq!(confidence(single.clone()), Some(Confidence::Possible));
    // Samples of half a second differ by 6 % where chance makes I/Os slow, and by next to nothing under a throttle.
    let sampled = |spread| confidence(Summary { samples: Some((spread, 600)), ..single.clone() });
    assert_eq!(sampled(0.06), Some(Confidence::Possible));
    assert_eq!(sampled(0.01), Some(Confidence::Likely));
    // 1 % takes 80 ms, the others 200 us.
    let shorter = Summary {
        iops: Some(32_065.0),
        mean_ns: Some(998_000.0),
        min: Some(Nanos::micros(200)),
        max: Some(Nanos::millis(80)),
        percentiles: vec![(0.5, Nanos::micros(200)), (0.9, Nanos::micros(200))],
        bands: bands(&[(100, 200, 99.0), (70_000, 80_000, 1.0)]),
        ..single
    };
    let found = of_summary(shorter).find("throttle").cloned().unwrap();
    assert!(found.evidence.iter().any(|e| e.contains("a period that throttles use")), "{found:?}");
    assert_eq!(found.confidence, Confidence::Possible);
}

#[test]
fn a_summary_without_signs_is_limited_by_nothing_visible() {
    let plain = Summary {
        bands: bands(&[(250, 500, 20.0), (500, 750, 50.0), (750, 1000, 25.0), (1000, 2000, 5.0)]),
        percentiles: vec![(0.5, Nanos::micros(600)), (0.99, Nanos::micros(1500))],
        window: Some(Nanos::seconds(300)),
        range: Some(Bytes::gib(800)),
        device: Some(DeviceCounts { ios: 262_000.0, merges: 0.0, bytes: None }),
        mean_ns: Some(620_000.0),
        ..published()
    };
    let found = of_summary(plain);
    assert_eq!(found.findings, []);
    assert_eq!(of_summary(Summary::default()).findings, []);
}

#[test]
fn a_stall_is_no_bucket() {
    // One pause of 2 s held all 128 once: the share would mean a period of 13 s, and nobody is held nearly so long.
    let stalled = Summary {
        bands: bands(&[(500, 1000, 60.0), (1000, 2000, 39.5), (1_000_000, 2_000_000, 0.5)]),
        max: Some(Nanos::millis(1990)),
        percentiles: vec![(0.5, Nanos::micros(900)), (0.999, Nanos::millis(1980))],
        iops: Some(2000.0),
        ..published()
    };
    assert!(of_summary(stalled).find("throttle").is_none());
}

#[test]
fn counters_of_the_disk_show_memory_merges_and_splits() {
    let with = |ios: f64, merges: f64, block: Bytes| {
        of_summary(Summary {
            device: Some(DeviceCounts { ios, merges, bytes: None }),
            block: Some(block),
            ..published()
        })
    };
    let cached = with(26_000.0, 0.0, Bytes::kib(4));
    assert!(cached.find("reads-from-memory").unwrap().evidence[0].contains("26,000 of 262,144"));
    assert!(
        !cached.find("reads-from-memory").unwrap().blocks,
        "direct I/O was asked for: it is told, not refused"
    );
    let merged = with(65_536.0, 196_608.0, Bytes::kib(4));
    assert!((merged.find("merges").unwrap().numbers["merged_share"] - 0.75).abs() < 1e-9);
    let split = with(1_048_576.0, 0.0, Bytes::mib(1));
    assert_eq!(split.find("splits").unwrap().numbers["requests_per_io"], 4.0);
    // Requests of others on top of ours make no whole multiple, however many there are.
    for each in [4.3, 10.6] {
        assert!(with(each * 262_144.0, 0.0, Bytes::mib(8)).find("splits").is_none(), "{each}");
    }
}

#[test]
fn bytes_and_not_ios_are_named_where_bytes_bind() {
    let large = Summary {
        iops: Some(1398.0),
        bytes_per_second: Some(1398.0 * 262_144.0),
        block: Some(Bytes::kib(256)),
        promised: Some(Promised {
            iops: 1400.0,
            bytes_per_second: 350.0 * 1_048_576.0,
            binding: Binding::VolumeThroughput,
            iops_cap: Some(41_800.0),
            bytes_cap: Some(350.0 * 1_048_576.0),
        }),
        ..Summary::default()
    };
    let found = of_summary(large);
    insta::assert_snapshot!(headlines(&found)[0], @r#"Bandwidth, not IOPS, is the limit at 256 KiB: 366 MB/s (350 MiB/s)."#);
    assert!((found.find("bandwidth-cap").unwrap().numbers["knee_bytes"] - 8779.9).abs() < 1.0);
}

#[test]
fn a_queue_that_is_not_full_is_told_whatever_filled_it() {
    // 100 I/Os in 20 s at a mean of 5 a second, at random times: chance alone misses the rate.
    let paced = Summary { offered: Some(5.0), iops: Some(4.55), mean_ns: Some(2e6), ..load(1.0) };
    let found = of_case(&DiagnosisCase { summary: paced, run: None });
    let told = found.find("load-limited").unwrap();
    assert_eq!(told.headline, "The load held itself back: 5.00/s were asked for (its rate) and 4.55 done.");
    assert!(told.evidence.iter().any(|e| e.starts_with("0.01 were in flight")), "{told:?}");
    // Jobs that do something else between their I/Os, whatever their engine is and whatever the report shows.
    for (blocking, pace_known) in [(true, true), (true, false), (false, true)] {
        let own = Summary { blocking: Some(blocking), pace_known, ..load(16.0) };
        let found = of_case(&DiagnosisCase { summary: own, run: None });
        assert!(found.find("load-limited").is_some_and(|f| f.headline.contains("37.5 % full")), "{found:?}");
    }
}

/// 3,000 I/Os a second of 2 ms, of so many in flight that were asked for.
fn load(asked: f64) -> Summary {
    Summary {
        name: "load".into(),
        asked: Some(asked),
        iops: Some(3000.0),
        mean_ns: Some(2e6),
        in_flight: Some(6.0),
        window: Some(Nanos::seconds(60)),
        ..Summary::default()
    }
}

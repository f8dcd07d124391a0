//! `proven` stands only where the evidence excludes every other explanation, and a cap only where the rate is at it.

use volproof::catalogue::volume_promise::Binding;
use volproof::diagnose::{DeviceCounts, DiagnosisCase, Flushes, Promised, Summary, of_case};
use volproof::record::{Confidence, Diagnosis, Record};
use volproof::unit::{Bytes, Nanos};

use super::page_record;

/// The findings on figures alone.
fn of_summary(summary: Summary) -> Diagnosis {
    of_case(&DiagnosisCase { summary, run: None })
}

/// 256 KiB reads at so many MiB/s, of a volume that is promised 350.
fn large(mib: f64) -> Diagnosis {
    let bytes = mib * 1_048_576.0;
    let promised = Promised {
        iops: 1400.0,
        bytes_per_second: 350.0 * 1_048_576.0,
        binding: Binding::VolumeThroughput,
        iops_cap: Some(41_800.0),
        bytes_cap: Some(350.0 * 1_048_576.0),
    };
    of_summary(Summary {
        iops: Some(bytes / 262_144.0),
        bytes_per_second: Some(bytes),
        block: Some(Bytes::kib(256)),
        promised: Some(promised),
        ..Summary::default()
    })
}

#[test]
fn t12_a_rate_above_a_cap_or_far_below_it_is_not_held_by_it() {
    let said = |mib: f64| large(mib).find("bandwidth-cap").map(|f| f.confidence);
    assert_eq!(said(875.0), None, "250 % of the cap");
    assert_eq!(said(360.0), None, "103 % of the cap");
    assert_eq!(said(350.0), Some(Confidence::Likely));
    assert_eq!(said(320.0), Some(Confidence::Possible));
    assert_eq!(said(200.0), None, "57 % of the cap");
}

/// A step on disks with one queue each, while one CPU is in the kernel all the time.
fn on_disks(disks: usize, queues: usize) -> Record {
    let mut record = page_record::record(20, 1);
    record.plan.steps[0].rw = "randread".parse().unwrap();
    let step = &mut record.steps[0];
    step.write = None;
    step.targets[0].write = None;
    step.targets[0].series.write = None;
    let one = step.evidence.queues[0].clone();
    step.evidence.queues = (0..disks)
        .map(|i| {
            let mut queue = one.clone();
            queue.disk = format!("vd{}", (b'b' + i as u8) as char);
            queue.hardware_queues = if i < queues { 1 } else { 8 };
            queue
        })
        .collect();
    step.evidence.per_cpu[1].system = 0.97;
    record
}

#[test]
fn t15_of_several_disks_none_is_blamed_alone() {
    let said = |disks, queues| {
        let all = volproof::diagnose::of_record(&on_disks(disks, queues)).remove(0);
        all.find("single-queue").map(|f| (f.confidence, f.headline.clone(), f.evidence.join("\n")))
    };
    let (confidence, headline, _) = said(1, 1).unwrap();
    assert_eq!(confidence, Confidence::Likely);
    assert!(headline.starts_with("vdb has one hardware queue, and CPU "), "{headline}");
    let (confidence, headline, evidence) = said(9, 9).unwrap();
    assert_eq!(confidence, Confidence::Possible);
    assert!(headline.starts_with("9 of 9 disks have one hardware queue each"), "{headline}");
    assert!(evidence.contains("vdb, vdc, vdd, vde, vdf, vdg, vdh, vdi, vdj"), "{evidence}");
    assert!(said(9, 2).unwrap().1.starts_with("2 of 9 disks"));
    assert_eq!(said(9, 0), None);
}

#[test]
fn tags_that_were_taken_in_some_samples_prove_nothing() {
    let of = |samples: usize, taken: usize| {
        let mut record = on_disks(1, 1);
        let evidence = &mut record.steps[0].evidence;
        (evidence.queues[0].nr_requests, evidence.queues[0].hardware_queues) = (Some(16), 1);
        evidence.queues[0].disk = evidence.disks[0].name.clone();
        evidence.disks[0].in_flight = (0..samples).map(|i| if i < taken { 16 } else { 5 }).collect();
        let found = volproof::diagnose::of_record(&record).remove(0);
        found.find("queue-full").map(|f| f.confidence)
    };
    assert_eq!(of(20, 20), Some(Confidence::Proven));
    assert_eq!(of(20, 12), Some(Confidence::Likely));
    assert_eq!(of(3, 3), Some(Confidence::Likely));
    assert_eq!(of(20, 8), None);
}

#[test]
fn a_busy_thread_among_others_proves_nothing_of_them() {
    let of = |jobs: f64, polling: Option<bool>| {
        let s = Summary { busiest_thread: Some(0.99), jobs: Some(jobs), polling, ..Summary::default() };
        of_summary(s).find("generator-limited").map(|f| (f.confidence, f.blocks))
    };
    assert_eq!(of(1.0, Some(false)), Some((Confidence::Proven, true)));
    assert_eq!(of(16.0, Some(false)), Some((Confidence::Likely, true)));
    // A thread that polls is always on its CPU, and text does not tell whether it did.
    assert_eq!(of(1.0, None), Some((Confidence::Likely, true)));
}

#[test]
fn a_rate_that_was_asked_for_is_the_loads_where_the_queue_had_room() {
    // 1,000 a second at 1 ms are one in flight of 32; at 31 ms the queue was full. While one I/O took 50 ms, more became due than it holds.
    let of = |mean_ms: f64, longest_ms: Option<u64>| {
        let s = Summary {
            iops: Some(1000.0),
            offered: Some(1000.0),
            mean_ns: Some(mean_ms * 1e6),
            max: longest_ms.map(Nanos::millis),
            asked: Some(32.0),
            ..Summary::default()
        };
        of_summary(s).find("load-limited").unwrap().confidence
    };
    assert_eq!((of(1.0, Some(20)), of(31.0, Some(32))), (Confidence::Proven, Confidence::Likely));
    assert_eq!((of(1.0, Some(50)), of(1.0, None)), (Confidence::Likely, Confidence::Likely));
}

#[test]
fn flushes_beside_other_requests_take_no_share_of_the_time_alone() {
    let of = |asked: f64| {
        let s = Summary {
            iops: Some(700.0),
            mean_ns: Some(10_000.0),
            window: Some(Nanos::seconds(60)),
            jobs: Some(1.0),
            asked: Some(asked),
            flushes: Some(Flushes { count: Some(42_000.0), mean_ns: 1_400_000.0, max: None }),
            ..Summary::default()
        };
        of_summary(s).find("flushes").unwrap().confidence
    };
    assert_eq!((of(1.0), of(8.0)), (Confidence::Proven, Confidence::Likely));
}

#[test]
fn counters_of_a_report_prove_no_merges() {
    let s = Summary {
        ios: Some(10_000.0),
        block: Some(Bytes::kib(4)),
        device: Some(DeviceCounts { ios: 5_000.0, merges: 5_000.0, bytes: None }),
        ..Summary::default()
    };
    assert_eq!(of_summary(s).find("merges").unwrap().confidence, Confidence::Likely);
}

#[test]
fn t12_an_untested_throughput_is_told_of_the_blocks_that_ran() {
    let untested = |change: fn(&mut Record)| {
        let mut record = page_record::record(20, 1);
        record.judged_promise = Some(page_record::judged_promise());
        change(&mut record);
        let verdict = volproof::verdict::judged_anew(&record).1.unwrap();
        verdict
            .untested
            .into_iter()
            .find(|u| u.metric == volproof::record::Metric::Throughput)
            .map(|u| u.reason)
    };
    let small = |r: &mut Record| r.plan.steps[0].bs = "4k".parse().unwrap();
    insta::assert_snapshot!(untested(small).unwrap(), @"it shows above 49.4 KiB a block, and the steps used 4 KiB");
    // A step that was planned and did not run used nothing.
    insta::assert_snapshot!(untested(|r| r.steps.clear()).unwrap(), @"it shows above 49.4 KiB a block, and no step was measured");
    // Blocks that would show it, in a window too short for a claim.
    let short = |r: &mut Record| {
        r.plan.steps[0].bs = "256k".parse().unwrap();
        r.steps[0].window_ns = Nanos::millis(50);
    };
    insta::assert_snapshot!(untested(short).unwrap_or_default(), @"it shows above 49.4 KiB a block, and no step of such blocks could be judged");
}

#[test]
fn flushes_set_no_rate_that_the_load_set() {
    let of = |offered: Option<f64>| {
        let s = Summary {
            iops: Some(500.0),
            ios: Some(60_000.0),
            mean_ns: Some(50e3),
            window: Some(Nanos::seconds(120)),
            asked: Some(1.0),
            jobs: Some(1.0),
            offered,
            flushes: Some(Flushes { count: Some(60_000.0), mean_ns: 1.8e6, max: None }),
            ..Summary::default()
        };
        of_summary(s).find("flushes").unwrap().headline.clone()
    };
    assert_eq!(of(None), "Flushes take 90.0 % of the time: the rate is that of flushes, 1.80 ms each.");
    assert_eq!(of(Some(500.0)), "Flushes take 90.0 % of the time, 1.80 ms each.");
}

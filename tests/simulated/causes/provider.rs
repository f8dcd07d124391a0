//! The page of AWS's counters, as simulated volumes have it: what it proves, and what it must not. In virtual time, through the binary.

use volproof::record::{Cause, CauseFinding, NotTried, Outcome, PageStanding, Record};
use volproof::report::cause_words;

use crate::causes::{GP3, Lab, found, row};

fn outcome(record: &Record) -> Option<Outcome> {
    record.verdict.as_ref().unwrap().outcome
}

/// A gp3 that gives a part of its 3,000 IOPS, at a depth.
fn gp3(percent: u64, depth: u32) -> Record {
    let volume = format!("latency=280us,jitter=20us,iops-cap={},bytes-cap=125MiB,page=ebs", 30 * percent);
    Lab::new().run_load(&format!("--bs 4KiB --iodepth {depth}"), &volume, GP3).0
}

#[test]
fn the_outcome_and_the_limit_are_right_at_every_depth() {
    for percent in [10, 50, 90, 97, 100] {
        for depth in [1, 16, 128] {
            let record = gp3(percent, depth);
            // Each second gives 90 % of what is promised: that is all that AWS promises.
            let wanted = if percent < 90 { Outcome::Fail } else { Outcome::Pass };
            assert_eq!(outcome(&record), Some(wanted), "{percent} % at {depth}");
            let limit = record.verdict.as_ref().unwrap().claims[0].proven_limit;
            // One request at a time waits for a token only for a part of the time.
            assert!(limit.is_some() || (depth == 1 && percent > 50), "{percent} % at {depth}");
            if let Some(limit) = limit {
                let enforced = 30.0 * percent as f64;
                assert!(
                    (limit.per_second / enforced - 1.0).abs() < 0.01,
                    "{percent} % at {depth}: {limit:?}"
                );
                assert!(!limit.of_instance && !limit.counts_bytes);
            }
            if wanted == Outcome::Fail {
                let table = record.causes.as_ref().unwrap();
                assert_eq!(found(table), [Cause::VolumeLimit], "{table:#?}");
                assert_eq!(row(table, Cause::Cap).not_tried, Some(NotTried::NotNeeded), "{table:#?}");
            }
        }
    }
}

#[test]
fn a_limit_far_below_the_promise_needs_no_deeper_load() {
    for depth in [1, 16, 128] {
        let record = gp3(10, depth);
        assert_eq!((outcome(&record), record.steps.len()), (Some(Outcome::Fail), 1), "at {depth}");
    }
}

#[test]
fn figures_agree_with_the_page() {
    for depth in [1, 16, 128] {
        let record = gp3(50, depth);
        let (step, page) = (&record.steps[0], &record.steps[0].provider[0]);
        let read = step.read.as_ref().unwrap();
        let same = |theirs: f64, ours: f64| (theirs / ours - 1.0).abs() < 0.01;
        assert!(same(page.counts.ios as f64 / page.counted_ns.as_seconds(), read.iops), "rate at {depth}");
        assert!(same(page.queue_mean, step.in_flight_mean), "queue at {depth}: {}", page.queue_mean);
        assert!(
            same(page.read.as_ref().unwrap().mean_ns, read.service_latency_ns.mean),
            "latency at {depth}"
        );
    }
}

#[test]
fn an_instance_limit_is_no_fault_of_good_volumes() {
    let two = format!("one two --file-size 16GiB {GP3}");
    let volume = "latency=500us,iops-cap=3000,instance-iops-cap=2000,page=ebs";
    let (record, text) = Lab::new().run(volume, &two);
    let claim = &record.verdict.as_ref().unwrap().claims[0];
    assert_eq!(
        (outcome(&record), claim.blocker.as_deref()),
        (Some(Outcome::Invalid), Some("limited-by-instance"))
    );
    let table = record.causes.as_ref().unwrap();
    assert_eq!(found(table), [Cause::InstanceLimit], "{table:#?}");
    assert_eq!(row(table, Cause::InstanceLimit).finding, CauseFinding::Proven);
    assert!(text.contains("no fault of the volume"), "{text}");
}

#[test]
fn a_slow_volume_and_a_stall_are_proven_not_throttled() {
    let slow = "latency=20ms,jitter=2ms,servers=8,page=ebs";
    let stalls = "latency=20ms,servers=60,stall-at=5s,stall-for=2s,stall-every=10s,page=ebs";
    for volume in [slow, stalls] {
        let (record, text) = Lab::new().run(volume, GP3);
        assert_eq!(outcome(&record), Some(Outcome::Fail), "{text}");
        let table = record.causes.as_ref().unwrap();
        assert_eq!(row(table, Cause::NotThrottled).finding, CauseFinding::Proven, "{table:#?}");
        assert_eq!(row(table, Cause::VolumeLimit).finding, CauseFinding::Excluded, "{table:#?}");
    }
}

#[test]
fn a_limit_at_the_promise_is_no_cause_of_stalls() {
    let volume = "latency=500us,iops-cap=3000,stall-at=5s,stall-for=2s,stall-every=10s,page=ebs";
    let (record, text) = Lab::new().run(volume, GP3);
    assert_eq!(outcome(&record), Some(Outcome::Fail), "{text}");
    let table = record.causes.as_ref().unwrap();
    assert_eq!(row(table, Cause::VolumeLimit).finding, CauseFinding::Excluded, "{table:#?}");
    assert!(!text.contains("proven by AWS"), "{text}");
}

#[test]
fn with_another_user_on_the_volume_its_page_proves_nothing() {
    let volume = "latency=500us,iops-cap=1500,others-iops=150,page=ebs";
    let (record, text) = Lab::new().run(volume, GP3);
    let standing = &record.steps[0].provider[0].standing;
    assert!(
        matches!(standing, PageStanding::Others { share } if (0.05..0.2).contains(share)),
        "{standing:?}"
    );
    let table = record.causes.as_ref().unwrap();
    assert_eq!(row(table, Cause::VolumeLimit).not_tried, Some(NotTried::OthersOnVolume), "{table:#?}");
    assert!(!text.contains("proven by AWS"), "{text}");
}

#[test]
fn a_page_that_lies_proves_nothing() {
    let lab = Lab::new();
    let (record, _) = lab.run("latency=600us,iops-cap=300,page=ebs", &format!("{GP3} --why"));
    type Lie = fn(&mut Record);
    let lies: [(Lie, NotTried); 4] = [
        (|r| pages(r, |ns| ns * 3, |n| n), NotTried::PageIsWrong),
        (|r| pages(r, |ns| ns, |n| n / 2), NotTried::PageIsWrong),
        (|r| pages(r, |ns| ns, |n| n * 3), NotTried::OthersOnVolume),
        (|r| r.steps[0].evidence.provider[0].queue_length.truncate(4), NotTried::PageUnread),
    ];
    for (lie, why) in lies {
        let mut lying = record.clone();
        lie(&mut lying);
        std::fs::write(lab.dir.path().join("lie.json"), serde_json::to_string(&lying).unwrap()).unwrap();
        let told = lab.volproof("verdict lie.json --json");
        let json: serde_json::Value = serde_json::from_str(&told).unwrap();
        let table: volproof::record::CauseTable =
            serde_json::from_value(json["causes"].clone()).unwrap_or_else(|e| panic!("{e}: {told}"));
        assert_eq!(row(&table, Cause::VolumeLimit).not_tried, Some(why), "{table:#?}");
        assert!(json["claims"][0]["proven_limit"].is_null(), "{told}");
    }
}

/// Changes every exceeded time and every count of I/Os and bytes of the pages.
fn pages(record: &mut Record, time: fn(u64) -> u64, count: fn(u64) -> u64) {
    for page in record.steps.iter_mut().flat_map(|step| &mut step.evidence.provider) {
        page.volume_exceeded.ios_ns.iter_mut().for_each(|ns| *ns = time(*ns));
        for counts in [&mut page.reads, &mut page.writes] {
            counts.ios.iter_mut().chain(&mut counts.bytes).for_each(|n| *n = count(*n));
        }
    }
}

#[test]
fn thirty_seconds_name_the_limit_and_every_output_tells_it() {
    let lab = Lab::new();
    let files = "--html r.html --json r.json --openmetrics r.prom";
    let text = lab.volproof(&format!(
        "run --rw randread --bs 4KiB --iodepth 16 --ramp 1s --runtime 30s --simulate latency=600us,iops-cap=300,page=ebs {GP3} --no-follow-up \
         --offline {files}"
    ));
    let read = |name: &str| {
        std::fs::read_to_string(lab.dir.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}: {text}"))
    };
    let shown = lab.volproof("show r.json --details");
    assert!(shown.contains("proven: the volume's limit, 30"), "{shown}");
    assert!(read("r.html").contains("Volume exceeded, simulated0"));
    assert!(read("r.prom").contains("volproof_provider_exceeded_seconds{"));
}

#[test]
fn the_table_of_a_proven_limit_fits_the_screen() {
    let record = gp3(10, 16);
    let table = cause_words::text(&record, record.causes.as_ref().unwrap());
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    insta::assert_snapshot!(table);
}

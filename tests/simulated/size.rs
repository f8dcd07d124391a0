//! What a replay says of a demand, against the worked examples of providers and against simulated volumes with the same limits.

use proptest::prelude::*;
use volproof_base::token_bucket::BucketTerms;
use volproof_base::unit::{Bytes, Nanos};
use volproof_engine::SimulatedVolume;
use volproof_plan::Simulated;
use volproof_promise::catalogue::request::AskedVolume;
use volproof_promise::catalogue::{Catalogue, Promise, PromiseRequest};
use volproof_size::{BucketLimit, Demand, DemandMoment, LimitOwner, Replay, limits_of, replay};

fn limits(volume: &str, instance: Option<&str>) -> Vec<BucketLimit> {
    let volume: AskedVolume = volume.parse().unwrap();
    let request =
        PromiseRequest { volume, instance: instance.map(str::to_string), ..PromiseRequest::default() };
    limits_of(&Promise::requested(Catalogue::shipped(), &request).unwrap()).unwrap()
}

fn reads(seconds: f64, iops: f64, block: f64) -> DemandMoment {
    DemandMoment { seconds, ios: [iops * seconds, 0.0], bytes: [iops * seconds * block, 0.0] }
}

fn on(moments: Vec<DemandMoment>, limits: &[BucketLimit]) -> Replay {
    replay(&Demand { moments, ..Demand::default() }, limits, f64::INFINITY).unwrap()
}

/// "General Purpose SSD volumes", Amazon EC2 User Guide of 2023-05-31: how long a full bucket lasts at 3,000 IOPS, and how long an empty one fills.
#[test]
fn gp2_lasts_and_fills_as_published() {
    for (gib, lasts, fills) in [(100, 2_000.0, 18_000.0), (334, 2_703.0, 5_389.0), (750, 7_200.0, 2_400.0)] {
        let gp2 = limits(&format!("aws:gp2:{gib}GiB"), None);
        let short = on(vec![reads(lasts - 2.0, 3000.0, 4096.0)], &gp2);
        assert_eq!((short.late_share, short.credits[0].emptied), (0.0, 0), "{gib}");
        let long = on(vec![reads(lasts + 2.0, 3000.0, 4096.0)], &gp2);
        assert_eq!(long.credits[0].emptied, 1, "{gib}");
        assert!(long.volume_seconds > 0.5 && !long.is_lasting());
        // Used up, then idle until it is full: the same again.
        let [spend, again] = [lasts, lasts - 2.0].map(|seconds| reads(seconds, 3000.0, 4096.0));
        let (full, early) = (fills + 1.0, fills * 0.9);
        assert!(on(vec![spend, DemandMoment::idle(full), again], &gp2).volume_seconds < 2.0, "{gib}");
        assert!(on(vec![spend, DemandMoment::idle(early), again], &gp2).volume_seconds > 100.0, "{gib}");
    }
}

/// "Throughput Optimized HDD", the same guide: a scan of 5 TiB with a full bucket takes 2.91 hours.
#[test]
fn a_scan_of_st1_takes_as_long_as_published() {
    let st1 = limits("aws:st1:5TiB", None);
    let bytes = 5.0 * 1024f64.powi(4);
    let scan = DemandMoment { seconds: 1.0, ios: [bytes / 1048576.0, 0.0], bytes: [bytes, 0.0] };
    let seen = on(vec![scan, DemandMoment::idle(40_000.0)], &st1);
    assert!((seen.longest_spell_seconds / 3600.0 - 2.91).abs() < 0.01, "{}", seen.longest_spell_seconds);
}

/// "Managed disk bursting", Azure documentation (includes/managed-disks-bursting-2.md, 2020-04-27): resources begin with full credits, which last for 30
/// minutes at the highest rate; an idle P4 earns 120 IOPS a second and a P20 2,300, and it takes less than a day to fill them again. Credits of IOPS and of
/// MB/s are apart.
#[test]
fn azure_bursts_for_half_an_hour() {
    for (gib, base) in [(32, 120.0), (512, 2300.0)] {
        let disk = limits(&format!("azure:Premium_LRS:{gib}GiB"), None);
        let half_an_hour = reads(1800.0, 3500.0, 4096.0);
        let seen = on(vec![half_an_hour], &disk);
        assert!(seen.volume_seconds < 1.0 && seen.credits[0].least_left < 1e-6, "{gib}");
        assert_eq!(seen.credits[1].least_left, 1.0, "credits of bytes are apart");
        let fills = (3500.0 - base) * 1800.0 / base;
        assert!(fills < 86_400.0);
        let again = vec![half_an_hour, DemandMoment::idle(fills + 1.0), half_an_hour];
        assert!(on(again, &disk).volume_seconds < 2.0, "{gib}");
        let early = vec![half_an_hour, DemandMoment::idle(fills / 2.0), half_an_hour];
        assert!(on(early, &disk).volume_seconds > 100.0, "{gib}");
    }
}

/// The same page, "burstable virtual machine with non-burstable disks": Standard_L8s_v2 (160 MB/s, up to 1,280 with credits) passes 600 MB/s.
#[test]
fn an_instance_bursts_as_published() {
    let instance = BucketLimit {
        owner: LimitOwner::Instance,
        counts_bytes: true,
        directions: [true, true],
        terms: BucketTerms::lasting(160e6, 1280e6, 1800.0),
        unit_bytes: 0.0,
    };
    let job = |seconds: f64| reads(seconds, 600e6 / 65536.0, 65536.0);
    // 1,120 MB/s for half an hour are 4,581 s of 440 MB/s.
    let lasts = 1120.0 * 1800.0 / 440.0;
    assert_eq!(on(vec![job(lasts - 1.0)], &[instance]).instance_seconds, 0.0);
    let seen = on(vec![job(lasts + 60.0)], &[instance]);
    assert!((seen.instance_seconds - 60.0).abs() < 0.1 && seen.credits[0].emptied == 1);
}

#[test]
fn volume_and_instance_limit_together() {
    // a1.large: 4,000 IOPS, up to 20,000 with credits for half an hour. gp3 has 6,000 of its own.
    let both = limits("aws:gp3:100GiB,iops=6000", Some("a1.large"));
    let seen = on(vec![reads(60.0, 7000.0, 4096.0)], &both);
    assert!(seen.volume_seconds > 59.0 && seen.instance_seconds == 0.0);
    // 2,000 of 16,000 credits a second.
    let lasts = 16_000.0 * 1800.0 / 2_000.0;
    let seen = on(vec![reads(lasts + 100.0, 6000.0, 4096.0)], &both);
    assert!((seen.instance_seconds - 100.0).abs() < 1.0 && seen.volume_seconds == 0.0, "{seen:?}");
}

/// One part of a demand: seconds, and its rate as a share of the cap.
fn part() -> impl Strategy<Value = (u32, f64)> {
    prop_oneof![3 => (20u32..120, 0.1..0.8f64), 1 => (20u32..60, 1.3..4.0f64), 1 => (5u32..60, 0.0..0.1f64)]
}

/// The time in which requests wait on a simulated volume, and the share that waits for more than 10 ms.
fn simulated(device: &str, parts: &[(u32, f64)], cap: f64) -> (f64, f64) {
    let plan: Simulated = device.parse().unwrap();
    let mut volume = SimulatedVolume::new(&plan, 7);
    let (mut begin, mut waits_until, mut throttled) = (0.0, 0.0f64, 0.0);
    let (mut ios, mut late) = (0u64, 0u64);
    let end: f64 = parts.iter().map(|part| f64::from(part.0)).sum();
    for (seconds, share) in parts {
        let count = (f64::from(*seconds) * share * cap) as u64;
        for i in 0..count {
            let at = begin + i as f64 / (share * cap);
            let done = volume.read(Nanos((at * 1e9) as u64), Bytes(0), Bytes::kib(4)).0 as f64 / 1e9;
            let wait = done - at - plan.latency.0 as f64 / 1e9;
            (ios, late) = (ios + 1, late + u64::from(wait > 0.01));
            if wait > 1e-6 {
                throttled += ((at + wait).min(end) - at.max(waits_until)).max(0.0);
                waits_until = waits_until.max(at + wait);
            }
        }
        begin += f64::from(*seconds);
    }
    (throttled, late as f64 / ios.max(1) as f64)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// Throttled time within 2 %, for demands that are throttled for twenty seconds and more.
    #[test]
    fn simulated_volumes_throttle_as_the_replay_says(
        parts in prop::collection::vec(part(), 4..8), cap in 500f64..2000.0, burst in 1.2f64..4.0, credits in 0u32..20_000,
    ) {
        let device = format!("latency=1us,iops-cap={cap},burst-iops={},burst-ios={credits},cap-period=10ms", cap * burst);
        // Where the demand is the burst rate itself, the grain of the bucket decides who waits for a part of a millisecond.
        prop_assume!(parts.iter().all(|(_, share)| (share / burst - 1.0).abs() > 0.05));
        let (seconds, late) = simulated(&device, &parts, cap);
        let limit = BucketLimit {
            owner: LimitOwner::Volume,
            counts_bytes: false,
            directions: [true, true],
            terms: BucketTerms { rate: cap, burst: cap * burst, full: f64::from(credits) },
            unit_bytes: 0.0,
        };
        let moments = parts.iter().map(|(seconds, share)| reads(f64::from(*seconds), share * cap, 4096.0));
        let seen = on(moments.collect(), &[limit]);
        let difference = (seen.volume_seconds - seconds).abs();
        prop_assert!(difference <= 0.02 * seconds.max(20.0), "replay {seen:?}, simulated {seconds} s, {late}");
        prop_assert!((seen.late_share - late).abs() <= 0.02, "late {} and {late}", seen.late_share);
    }

    /// More of a limit never delays more.
    #[test]
    fn more_is_never_worse(parts in prop::collection::vec(part(), 1..12), more in 1f64..2.0, seconds in 0f64..600.0) {
        let limit = |rate: f64| BucketLimit {
            owner: LimitOwner::Volume,
            counts_bytes: false,
            directions: [true, true],
            terms: BucketTerms::lasting(rate, 2.0 * rate, seconds),
            unit_bytes: 0.0,
        };
        let moments: Vec<DemandMoment> = parts.iter().map(|(seconds, share)| reads(f64::from(*seconds), share * 1000.0, 4096.0)).collect();
        let [less, more] = [1000.0, 1000.0 * more].map(|rate| on(moments.clone(), &[limit(rate)]));
        prop_assert!(more.late_share <= less.late_share + 1e-9);
        prop_assert!(more.volume_seconds <= less.volume_seconds + 1e-6);
    }
}

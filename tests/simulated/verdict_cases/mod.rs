//! The verdict on simulated volumes whose limits are known: the whole chain, from the command line to exit code, Record and text, in virtual
//! time. `tests/volumes` holds the same chain against volumes drawn at random.

mod burst;
mod interrupted;
mod lab;
mod subject;

use lab::{GP3, Lab, PL0, answer, text};
use volproof::doubt::Doubt;
use volproof::record::Outcome;

const MINUTE: &str = "--rw randread --iodepth 16 --runtime 60s";

#[test]
fn a_kept_promise_passes_at_any_depth() {
    let lab = Lab::new();
    let ran = lab.run("latency=300us,iops-cap=2280", MINUTE, PL0);
    assert_eq!((ran.code, answer(&ran.claim())), (0, ["pass", "kept"]), "{}", ran.stderr);
    assert_eq!(ran.steps().len(), 1, "nothing is missing");
    // The stored Record says the same, and so does `show`.
    let show = lab.volproof("show --details r.json");
    assert_eq!(String::from_utf8(show.stdout).unwrap(), ran.stdout);
    assert_eq!(lab.volproof("verdict r.json").status.code(), Some(0));
}

/// Short and long steps beside traffic of others.
const BESIDE_OTHERS: [&str; 3] =
    ["--preset quick", "--preset standard", "--rw randread --bs 4k --iodepth 16 --runtime 8s"];

/// Traffic of others makes a rate smaller, and never greater.
#[test]
fn a_promise_kept_beside_traffic_of_others_passes_after_short_and_long_steps() {
    for load in BESIDE_OTHERS {
        let lab = Lab::new();
        let ran = lab.run_only("latency=500us,iops-cap=3300,others-iops=200,bytes-cap=130MiB/s", load, GP3);
        assert_eq!((ran.code, answer(&ran.claim())), (0, ["pass", "kept"]), "{load}: {}", ran.stdout);
    }
}

#[test]
fn what_voids_a_figure_is_of_its_own_step_or_names_another() {
    for load in BESIDE_OTHERS {
        let lab = Lab::new();
        let ran = lab.run_only("latency=500us,iops-cap=3050,others-iops=400", load, GP3);
        let record = ran.record();
        let claims = record.verdict.as_ref().unwrap().claims.iter();
        let void: Vec<_> = claims.filter(|claim| claim.outcome == Outcome::Invalid).collect();
        assert!(!void.is_empty(), "{load}: {}", ran.stdout);
        for claim in void {
            let step = &claim.deciding_step().unwrap().step;
            let spoils = |doubt: &&Doubt| doubt.spoils(step) && claim.reason.contains(&doubt.message);
            let is_own = record.doubts.iter().any(|doubt| spoils(&doubt));
            let names_another =
                ran.steps().iter().any(|other| claim.reason.starts_with(&format!("{other}: ")));
            assert!(is_own != names_another, "{load}: {step}: {}", claim.reason);
        }
    }
}

#[test]
fn less_than_the_rate_passes_only_where_the_words_grant_it() {
    let lab = Lab::new();
    let gp3 = "--promise aws:gp3 --volume-size 100GiB";
    for (promise, load, volume, code) in [
        (gp3, "--rw randread --bs 4k --iodepth 256 --runtime 60s", "iops-cap=2760", 0),
        (gp3, "--rw read --bs 1MiB --iodepth 64 --runtime 60s", "bytes-cap=112MiB/s", 1),
        (
            "--promise azure:Premium_LRS --volume-size 128GiB",
            "--rw randread --bs 4k --iodepth 256 --runtime 60s",
            "iops-cap=442",
            1,
        ),
        (
            "--promise azure:UltraSSD_LRS --volume-size 128GiB --iops 5000 --throughput 300",
            "--rw randread --bs 4k --iodepth 256 --runtime 300s",
            "iops-cap=4450",
            1,
        ),
    ] {
        let volume = format!("latency=500us,{volume},cap-period=10ms");
        let ran = lab.volproof(&format!("run --simulate {volume} --offline {load} {promise}"));
        assert_eq!(ran.status.code(), Some(code), "{promise}: {ran:?}");
    }
}

#[test]
fn a_missed_promise_is_tried_at_the_saturating_depth() {
    let lab = Lab::new();
    let ran = lab.run("latency=300us,iops-cap=228", MINUTE, PL0);
    let claim = ran.claim();
    assert_eq!((ran.code, answer(&claim)), (1, ["fail", "missed"]), "{}", ran.stdout);
    assert_eq!(text(&claim, "reason"), "16 -> 1,140 in flight: 228 -> 228 IOPS");
    assert_eq!(claim["evidence"].as_array().unwrap().len(), 2);
}

#[test]
fn a_promise_that_needs_more_load_passes_with_the_depth_that_is_enough() {
    let lab = Lab::new();
    let ran = lab.run("latency=40ms,iops-cap=2300", MINUTE, PL0);
    let claim = ran.claim();
    assert_eq!((ran.code, answer(&claim)), (0, ["pass", "kept-with-more-load"]), "{}", ran.stdout);
    let depths: Vec<u64> =
        claim["evidence"].as_array().unwrap().iter().map(|s| s["depth"].as_u64().unwrap()).collect();
    assert_eq!(
        depths,
        [16, 1140, 16, 1140, 1140, 64, 256],
        "the first load once more, the greater one twice, then four times as many in flight"
    );
    let reason = text(&claim, "reason");
    assert!(
        reason.starts_with("256 in flight keep it, ") && reason.contains("16 in flight gave 400 IOPS"),
        "{reason}"
    );
}

#[test]
fn a_volume_that_changed_between_the_steps_is_left_open() {
    let lab = Lab::new();
    let ran = lab.run("latency=1ms,iops-cap=2300,rise-from=0.3,rise-for=60s", MINUTE, PL0);
    let claim = ran.claim();
    assert_eq!((ran.code, answer(&claim)), (5, ["inconclusive", "changed"]), "{claim:#}");
    assert!(text(&claim, "reason").contains("16 in flight gave"), "{claim:#}");
}

#[test]
fn without_the_follow_up_a_miss_is_open_and_the_command_goes_on() {
    let lab = Lab::new();
    for without in ["--no-follow-up", "--budget 30s"] {
        let ran = lab.run("latency=300us,iops-cap=228", MINUTE, &format!("{PL0} {without}"));
        let claim = ran.claim();
        assert_eq!((ran.code, answer(&claim)), (5, ["inconclusive", "load-not-shown"]), "{without}");
        assert_eq!(ran.steps().len(), 1, "{without}");
        assert_eq!(text(&claim, "command"), "volproof run --resume RECORD");
        assert!(text(&claim, "reason").contains("1,140 in flight decide, and were not tried"), "{claim:#}");
    }
}

#[test]
fn a_short_step_is_repeated_for_a_minute() {
    let lab = Lab::new();
    let short = MINUTE.replace("60s", "8s");
    let ran = lab.run("latency=300us,iops-cap=2280", &short, PL0);
    assert_eq!((ran.code, answer(&ran.claim())), (0, ["pass", "kept"]), "{}", ran.stdout);
    assert_eq!(ran.steps().len(), 2);
    let ran = lab.run("latency=300us,iops-cap=228", &short, PL0);
    assert_eq!((ran.code, answer(&ran.claim())), (1, ["fail", "missed"]), "{}", ran.stdout);
    let ran = lab.run("latency=300us,iops-cap=2280", &short, &format!("{PL0} --no-follow-up"));
    assert_eq!((ran.code, answer(&ran.claim())), (5, ["inconclusive", "too-short"]), "{}", ran.stdout);
}

#[test]
fn what_the_volume_does_wrong_counts_against_it() {
    let lab = Lab::new();
    let errors =
        lab.run("latency=1ms,iops-cap=2300,error-every=5000", MINUTE, &format!("{PL0} --continue-on-error"));
    assert_eq!(answer(&errors.claim()), ["fail", "medium-errors"], "{}", errors.stdout);
    let hangs = lab.run("latency=1ms,iops-cap=2300,stall-at=59500ms,stall-for=1h", MINUTE, PL0);
    assert_eq!(answer(&hangs.claim()), ["fail", "hangs"], "{}", hangs.stdout);
}

#[test]
fn dead_time_under_a_kept_mean_needs_a_promised_share() {
    let lab = Lab::new();
    let dead = "latency=1ms,iops-cap=2450,stall-at=5s,stall-for=1500ms,stall-every=30s";
    let open = lab.run(dead, &MINUTE.replace("16", "2048"), PL0);
    assert_eq!(answer(&open.claim()), ["inconclusive", "dead-time"], "{}", open.stdout);
    assert!(text(&open.claim(), "reason").contains("--min-share 99%"), "{:#}", open.claim());
    let load = MINUTE.replace("16", "2048").replace("60s", "300s");
    let decided = lab.run(dead, &load, &format!("{PL0} --min-share 99%"));
    assert_eq!(answer(&decided.claim()), ["fail", "too-few-seconds"], "{}", decided.stdout);
}

#[test]
fn a_promise_of_time_allows_a_tenth_less_and_no_slow_seconds() {
    let lab = Lab::new();
    let ran = lab.run("latency=1ms,iops-cap=2750", MINUTE, GP3);
    let claim = ran.claim();
    assert_eq!((ran.code, answer(&claim)), (0, ["pass", "within-guarantee"]), "{}", ran.stdout);
    assert!(text(&claim, "reason").contains("below the nominal rate"), "{claim:#}");
    let slow = "latency=1ms,iops-cap=3250,dip-at=2s,dip-for=1s,dip-every=5s,dip-to=0.7";
    let ran = lab.run(slow, MINUTE, GP3);
    assert_eq!((ran.code, answer(&ran.claim())), (1, ["fail", "too-few-seconds"]), "{}", ran.stdout);
}

#[test]
fn a_latency_is_offered_where_one_at_a_time_misses_it() {
    let lab = Lab::new();
    // A PL0 of 1 GiB is promised 1,812 IOPS and 500 us: under that limit one request at a time takes 552 us, however quick the volume is.
    let small = "--promise alibaba:cloud_essd.PL0 --volume-size 1GiB";
    let alone = "--rw randwrite --iodepth 1 --runtime 60s";
    for (own, outcome) in [("100us", "pass"), ("540us", "fail")] {
        let ran = lab.run(&format!("latency={own},iops-cap=1812,cap-period=1ms"), alone, small);
        let record = ran.record();
        let claims = record.verdict.as_ref().unwrap().claims.iter();
        let latency = claims.clone().find(|c| c.metric == volproof::record::Metric::Latency).unwrap();
        assert_eq!(latency.outcome.name().to_lowercase(), outcome, "{own}: {latency:#?}");
        let offered = record.steps.last().unwrap().open_loop.as_ref().map(|o| o.offered_per_second);
        assert!(offered.is_some_and(|rate| rate <= 906.0), "{own}: {offered:?}");
    }
}

#[test]
fn more_than_the_type_gives_asks_for_the_type() {
    let lab = Lab::new();
    let ran = lab.run("latency=1ms,iops-cap=2600", &MINUTE.replace("16", "64"), PL0);
    assert_eq!((ran.code, answer(&ran.claim())), (5, ["inconclusive", "beyond-the-type"]), "{}", ran.stdout);
}

#[test]
fn a_rate_between_two_readings_of_the_unit_is_open() {
    let lab = Lab::new();
    let at = |cap: &str| {
        let large = "--rw randread --bs 256k --iodepth 64 --runtime 120s";
        let words =
            format!("run --simulate latency=500us,bytes-cap={cap} --offline --json r.json {large} {PL0}");
        let code = lab.volproof(&words).status.code();
        let record = volproof::record::Record::load(&lab.path().join("r.json")).unwrap();
        (code, record.verdict.unwrap().claims[0].basis)
    };
    use volproof::record::BasisCode::{Kept, Missed, OneUnit};
    // The provider says MB: 110 MB/s, or 110 MiB/s.
    assert_eq!(at("110MiB"), (Some(0), Kept));
    assert_eq!(at("110MB"), (Some(5), OneUnit));
    assert_eq!(at("99MB"), (Some(1), Missed));
}

#[test]
fn a_promise_of_bytes_needs_few_large_requests() {
    let lab = Lab::new();
    for (share, code) in [(0.93, 1), (1.05, 0)] {
        for depth in [1, 8, 32] {
            let cap = (share * 110e6) as u64;
            let words = format!(
                "run --simulate latency=5ms,jitter=1ms,bytes-cap={cap} --offline --rw read --bs 1m --iodepth {depth} --runtime 60s \
                 --ramp 5s --promise alibaba:cloud_essd.PL0 --volume-size 40GiB --tolerance 6"
            );
            let out = lab.volproof(&words);
            assert_eq!(
                out.status.code(),
                Some(code),
                "{share} at {depth}: {}",
                String::from_utf8_lossy(&out.stdout)
            );
        }
    }
}

#[test]
fn hot_blocks_pass_no_promise() {
    let lab = Lab::new();
    for (load, outcome) in [
        ("--distribution zipf:1.1", "inconclusive"),
        ("--distribution zoned:90/1:10/99", "inconclusive"),
        ("--distribution uniform", "pass"),
    ] {
        let ran = lab.run("latency=1ms,iops-cap=2400", &format!("{MINUTE} {load}"), PL0);
        let claim = ran.claim();
        assert_eq!(text(&claim, "outcome"), outcome, "{load}: {claim:#}");
    }
}

#[test]
fn until_conclusive_measures_again_for_as_long_as_it_takes() {
    let lab = Lab::new();
    let short = MINUTE.replace("60s", "3s");
    let ran = lab.run("latency=300us,iops-cap=2280", &short, &format!("{PL0} --until-conclusive 5m"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let record = ran.record();
    assert_eq!(record.steps.len(), 2, "the short step stays beside the longer one");
    assert!(record.plan.steps[1].runtime.as_seconds() >= 60.0, "the plan says what was run");
}

#[test]
fn until_conclusive_forgets_no_slow_start() {
    let lab = Lab::new();
    for volume in
        ["latency=1ms,rise-from=0.2,rise-for=40s", "latency=300us,iops-cap=3100,rise-from=0.2,rise-for=40s"]
    {
        let ran = lab.run(volume, MINUTE, &format!("{PL0} --until-conclusive 10m"));
        assert_ne!(ran.code, 0, "{volume}: {}", ran.stderr);
    }
}

//! Whether a run measured the volumes that are promised, and all of them.

use volproof::record::{Intervention, Record, TargetRecord};

use crate::verdict_cases::lab::{Lab, PL0, Ran, answer, text};

const MINUTE: &str = "--rw randread --iodepth 64 --runtime 60s --ramp 1s";

/// A volume at so many IOPS, where 2,280 are promised, on a target of its own.
fn at(lab: &Lab, iops: u32) -> Ran {
    let _ = std::fs::create_dir(lab.path().join("one"));
    let ran = lab.run(&format!("latency=300us,iops-cap={iops} one --file-size 2GiB"), MINUTE, PL0);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran
}

/// Puts a second volume of the same type beside the first, which does this share of the first one's I/Os in each interval.
fn with_a_second(record: &mut Record, share: f64) {
    let first = record.targets[0].clone();
    let step = &mut record.steps[0];
    let mut second = step.targets[0].clone();
    second.path = "/dev/second".into();
    let less = |column: &mut Vec<u64>| column.iter_mut().for_each(|n| *n = (*n as f64 * share) as u64);
    let track = &mut second.series.read.as_mut().unwrap().track;
    [&mut track.ios, &mut track.bytes, &mut track.latency_ns].into_iter().for_each(less);
    step.targets.push(second);
    step.in_flight_asked = step.in_flight_asked.get().map(|n| 2.0 * n).into();
    step.in_flight_mean *= 2.0;
    record.targets.push(TargetRecord {
        path: "/dev/second".into(),
        named: "/dev/second".into(),
        ..first.clone()
    });
    record.plan.targets = vec![first.named, "/dev/second".into()];
    let promise = &mut record.judged_promise.as_mut().unwrap().promise;
    promise.volumes.push(promise.volumes[0].clone());
}

#[test]
fn a_simulated_volume_is_judged_and_named_so() {
    let lab = Lab::new();
    let ran = lab.run("latency=300us,iops-cap=2350", MINUTE, PL0);
    assert_eq!((ran.code, answer(&ran.claim())), (0, ["pass", "kept"]));
    let shown = String::from_utf8(lab.volproof("show r.json").stdout).unwrap();
    assert!(shown.contains("SIMULATED"), "{shown}");
}

#[test]
fn each_of_two_volumes_must_deliver_its_own() {
    let lab = Lab::new();
    let even = at(&lab, 2350).judged_but(|r| with_a_second(r, 1.0));
    assert_eq!(answer(&even), ["pass", "kept"], "{even:#}");
    let sum = at(&lab, 2350).judged_but(|r| with_a_second(r, 0.8));
    assert_ne!(answer(&sum)[0], "pass", "{sum:#}");
    // 108 % and 93 %: the sum is kept.
    let uneven = at(&lab, 2470).judged_but(|r| with_a_second(r, 0.86));
    assert_ne!(answer(&uneven)[0], "pass", "{uneven:#}");
    let reason = text(&uneven, "reason");
    assert!(
        reason.contains("/dev/second by itself") && reason.contains("all volumes together did"),
        "{reason}"
    );
}

#[test]
fn each_simulated_target_is_a_volume_of_its_own() {
    let lab = Lab::new();
    ["one", "two"].iter().for_each(|name| std::fs::create_dir(lab.path().join(name)).unwrap());
    let both = |cap: u32| {
        lab.run(&format!("latency=1ms,iops-cap={cap} one two --file-size 2GiB"), MINUTE, PL0).claim()
    };
    let claim = both(2300);
    assert_eq!((claim["promised"].as_f64(), answer(&claim)), (Some(4560.0), ["pass", "kept"]));
    assert_eq!(answer(&both(2000)), ["fail", "missed"], "both together do more than one is promised");
}

#[test]
fn a_step_that_drove_some_of_the_volumes_passes_for_none() {
    let lab = Lab::new();
    let claim = at(&lab, 2350).judged_but(|record| {
        with_a_second(record, 1.0);
        record.steps[0].targets.pop();
        let track = &mut record.steps[0].targets[0].series.read.as_mut().unwrap().track;
        track.ios.iter_mut().for_each(|n| *n *= 2);
    });
    assert_eq!(claim["blocker"], "not-all-volumes", "{claim:#}");
}

#[test]
fn a_range_larger_than_the_named_volume_is_another_volume() {
    let lab = Lab::new();
    let claim = at(&lab, 2350).judged_but(|record| {
        let volume = &mut record.judged_promise.as_mut().unwrap().promise.volumes[0];
        volume.gib = 1.0;
    });
    assert_eq!(claim["blocker"], "larger-than-named", "{claim:#}");
}

#[test]
fn volumes_that_are_loaded_together_are_promised_their_sum() {
    let lab = Lab::new();
    let both = format!("{PL0} --with alibaba:cloud_essd.PL0:40GiB");
    let ran = lab.run("latency=300us,iops-cap=4560", MINUTE, &both);
    let claim = ran.claim();
    assert_eq!((claim["promised"].as_f64(), answer(&claim)), (Some(4560.0), ["pass", "kept"]), "{claim:#}");
    // The promise can be another one later.
    let other = "verdict r.json --promise alibaba:cloud_essd.PL1 --volume-size 40GiB";
    assert_eq!(lab.volproof(&format!("{other} --tolerance 95")).status.code(), Some(5));
}

#[test]
fn the_instance_binds_where_it_allows_less() {
    let lab = Lab::new();
    lab.run("latency=300us,iops-cap=2280", MINUTE, "");
    let large = "verdict r.json --json --promise alibaba:cloud_essd.PL2 --volume-size 1600GiB --instance ecs.g6.8xlarge \
                ";
    let out = lab.volproof(large);
    let verdict: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let claim = &verdict["verdict"]["claims"][0];
    assert_eq!((&claim["binding"], claim["promised"].as_f64()), (&"instance IOPS".into(), Some(60_000.0)));
    // The Record has no step at the depth that decides.
    assert_eq!(answer(claim), ["inconclusive", "load-not-shown"]);
}

#[test]
fn a_step_of_one_request_at_a_time_is_no_test_of_the_rate_beside_one_that_is() {
    let lab = Lab::new();
    let plan = "[[step]]\nname = 'rate'\nengine = 'null'\nrw = 'randread'\niodepth = 32\nruntime = '60s'\n\
                [step.simulate]\nlatency = '300us'\niops-cap = 2280\n\
                [[step]]\nname = 'alone'\nengine = 'null'\nrw = 'randread'\niodepth = 1\nruntime = '60s'\n\
                [step.simulate]\nlatency = '900us'\n";
    std::fs::write(lab.path().join("plan.toml"), plan).unwrap();
    let out = lab.volproof(&format!("run --plan plan.toml --offline --json r.json {PL0}"));
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stdout));
}

#[test]
fn a_step_that_the_user_ended_decides_nothing() {
    let lab = Lab::new();
    let claim = at(&lab, 2350).judged_but(|record| {
        let after_ns = volproof::unit::Nanos::seconds(60);
        record.steps[0].interventions.push(Intervention::EndedEarly { after_ns });
    });
    assert_eq!(answer(&claim), ["inconclusive", "ended-early"], "{claim:#}");
}

#[test]
fn wrong_input_is_told_before_anything_is_measured() {
    let lab = Lab::new();
    let ran = lab.run("latency=1ms", MINUTE, "--volume-size 40GiB");
    assert_eq!(ran.code, 2);
    let ran = lab.run("latency=1ms", MINUTE, "--promise alibaba:cloud_essd.PL0");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("--volume-size"), "{}", ran.stderr);
    assert!(!lab.path().join("r.json").exists(), "nothing was measured");
    assert_eq!(lab.run("latency=1ms", MINUTE, "").code, 0);
    let out = lab.volproof("verdict r.json");
    assert_eq!(out.status.code(), Some(2));
    let message = String::from_utf8(out.stderr).unwrap();
    assert!(message.contains("name the volume with --promise"), "{message}");
}

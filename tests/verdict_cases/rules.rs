//! One rule each: what undoes a PASS, and what is told of a volume that keeps its promise in the sum only.

use serde_json::Value;
use volproof::record::{Confidence, Metric, Outcome, Record, TargetRecord};

use super::lab::{
    Lab, PL0, PL1_OF_20, capped, claim, codes, finding, has, judged_but, judged_here, random, screen,
    simulated,
};

/// A run of a volume at 103 % of its promise, and its verdict after a change of its Record.
fn passing_but(lab: &Lab, change: impl FnOnce(&mut Record)) -> Value {
    let ran = lab.run(&[("randread", &random(120), &capped(2350.0))], &PL0);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    judged_but(lab, &ran, change)
}

/// Puts a second volume of the same type beside the first, which does this share of the first one's I/Os in each interval.
fn with_a_second(record: &mut Record, share: f64) {
    super::on_a_disk(record, "");
    let target = record.targets[0].clone();
    let step = &mut record.steps[0];
    let mut second = step.targets[0].clone();
    second.path = "/dev/vdc".into();
    let less = |column: &mut Vec<u64>| column.iter_mut().for_each(|n| *n = (*n as f64 * share) as u64);
    let track = &mut second.series.read.as_mut().unwrap().track;
    [&mut track.ios, &mut track.bytes, &mut track.latency_ns].into_iter().for_each(less);
    if let Some(read) = &mut second.read {
        read.iops *= share;
        read.bytes_per_second *= share;
    }
    step.targets.push(second);
    step.in_flight_asked = step.in_flight_asked.get().map(|n| 2.0 * n).into();
    record.targets.push(TargetRecord { path: "/dev/vdc".into(), named: "/dev/vdc".into(), ..target });
    record.plan.targets.push("/dev/vdc".into());
    let promise = &mut record.judged_promise.as_mut().unwrap().promise;
    promise.volumes.push(promise.volumes[0].clone());
    record.lookup = Default::default();
}

#[test]
fn each_of_two_volumes_must_deliver_its_own() {
    let lab = Lab::new();
    // 150 % and half of that: the sum is 112 % of both promises.
    let ran = lab.run(&[("randread", &random(120), &capped(3420.0))], &PL0);
    let v = judged_here(&ran, |r| with_a_second(r, 0.5));
    let claim = claim(&v);
    assert_ne!(claim["outcome"], "pass", "{claim:#}");
    let even = lab.run(&[("randread", &random(120), &capped(2290.0))], &PL0);
    let v = judged_here(&even, |r| with_a_second(r, 1.0));
    assert_eq!(self::claim(&v)["outcome"], "pass", "{v:#}");
    // 118 % and 87 %: the sum is kept, the second volume is not.
    let uneven = lab.run(&[("randread", &random(120), &capped(2290.0))], &PL0);
    let v = judged_here(&uneven, |r| with_a_second(r, 0.965));
    let claim = self::claim(&v);
    assert_eq!(claim["outcome"], "fail", "{claim:#}");
    let reason = claim["reason"].as_str().unwrap();
    assert!(
        reason.contains("/dev/vdc by itself") && reason.contains("the 2 volumes together did"),
        "{reason}"
    );
}

#[test]
fn a_throttle_is_likely_at_most() {
    let lab = Lab::new();
    for device in [capped(2280.0), format!("{}\ncap_period = \"1s\"", capped(2280.0))] {
        let ran = lab.run(&[("randread", &random(60), &device)], &PL0);
        let v = judged_but(&lab, &ran, |_| {});
        assert_eq!(finding(&v, "throttle")["confidence"], "likely", "{device}");
    }
}

#[test]
fn a_quota_of_a_second_is_named_and_marks_its_percentiles() {
    let lab = Lab::new();
    let device = format!("{}\ncap_period = \"1s\"", capped(2290.0));
    let ran = lab.run(&[("randread", &random(60), &device)], &PL0);
    let v = judged_but(&lab, &ran, |_| {});
    assert_eq!(claim(&v)["outcome"], "pass", "{v:#}");
    let share = super::lab::number(finding(&v, "on-off"), "silent_share");
    assert!(share > 0.9, "{share}");
    // One cause has one period.
    let period = super::lab::number(finding(&v, "throttle"), "period_ms");
    assert_eq!(period, 1e3 * super::lab::number(finding(&v, "on-off"), "period_seconds"));
    assert!(ran.stdout.contains("~") && !has(&v, "stall"), "{}", ran.stdout);
}

#[test]
fn more_throughput_than_the_named_iops_allow_may_have_been_bought() {
    let lab = Lab::new();
    let load = "rw = \"read\"\nbs = \"1m\"\niodepth = 64\nruntime = \"60s\"\nramp = \"1s\"";
    let gp3 = ["--promise", "aws:gp3", "--volume-size", "100GiB", "--judge-simulated"];
    // 750 MiB/s at most with the 3,000 IOPS that are included, and 2,000 MiB/s with more of them.
    let ran = lab.run(&[("read", load, &capped(1500.0))], &gp3);
    let v = judged_but(&lab, &ran, |_| {});
    let reason = claim(&v)["reason"].as_str().unwrap();
    assert!(reason.contains("with the IOPS that it includes: was more bought"), "{reason}");
}

#[test]
fn a_promise_of_bytes_needs_few_large_requests() {
    let lab = Lab::new();
    let load = |depth: u32| {
        format!("rw = \"read\"\nbs = \"1m\"\niodepth = {depth}\nruntime = \"60s\"\nramp = \"5s\"")
    };
    // 110 MB/s are promised.
    for share in [0.93, 0.95, 0.97] {
        let device =
            format!("latency = \"5ms\"\njitter = \"1ms\"\nbytes_cap = \"{}\"", (share * 110e6) as u64);
        for depth in [8, 16, 32] {
            let ran = lab.run(&[("read", &load(depth), &device)], &PL0);
            let v = judged_but(&lab, &ran, |_| {});
            let claim = claim(&v);
            let reason = claim["reason"].as_str().unwrap();
            assert_ne!(claim["outcome"], "pass", "{share} at {depth}: {claim:#}");
            if depth == 32 {
                assert_eq!(claim["outcome"], "fail", "{share} at {depth}: {reason}");
            }
            if let Some((_, reach)) = reason.split_once(" each reach ") {
                let reach: f64 = reach.split(' ').next().unwrap().parse().unwrap();
                let measured = claim["measured"].as_f64().unwrap() / 1_048_576.0;
                assert!(reach >= measured.floor(), "{reach} are less than the {measured} that were measured");
            }
        }
    }
}

#[test]
fn a_shallow_step_that_slow_ios_hold_tests_no_rate() {
    let lab = Lab::new();
    let device = "latency = \"1500us\"\nslow_share = 0.02\nslow_latency = \"40ms\"";
    let step = |depth: u32| random(60).replace("iodepth = 64", &format!("iodepth = {depth}"));
    let ran = lab.run(&[("shallow", &step(4), device)], &PL0);
    let v = judged_but(&lab, &ran, |_| {});
    assert_eq!(claim(&v)["blocker"], "could-not-reach", "{v:#}");
    let deep = lab.run(&[("deep", &step(64), device)], &PL0);
    let v = judged_but(&lab, &deep, |_| {});
    assert_ne!(claim(&v)["outcome"], "fail", "with more in flight the volume does what it should: {v:#}");
}

#[test]
fn a_step_that_drove_some_of_the_volumes_passes_for_none() {
    let lab = Lab::new();
    let v = passing_but(&lab, |record| {
        with_a_second(record, 1.0);
        record.steps[0].targets.pop();
        record.steps[0].read.as_mut().unwrap().iops *= 2.0;
        let track = &mut record.steps[0].targets[0].series.read.as_mut().unwrap().track;
        track.ios.iter_mut().for_each(|n| *n *= 2);
    });
    assert_eq!(claim(&v)["blocker"], "not-all-volumes", "{v:#}");
}

#[test]
fn slow_seconds_undo_a_pass() {
    let lab = Lab::new();
    // One second in five at 70 %, the others above the promise.
    let device = format!(
        "{}\ndip_at = \"2s\"\ndip_for = \"1s\"\ndip_every = \"5s\"\ndip_to = 0.7",
        capped(2280.0 * 1.08)
    );
    let ran = lab.run(&[("randread", &random(120), &device)], &PL0);
    let v = judged_but(&lab, &ran, |_| {});
    let claim = claim(&v);
    assert!(claim["measured"].as_f64().unwrap() > claim["limit"].as_f64().unwrap(), "{claim:#}");
    assert_eq!(claim["outcome"], "inconclusive", "{claim:#}");
    assert!(claim["reason"].as_str().unwrap().contains("of the seconds delivered 90 %"), "{claim:#}");
}

#[test]
fn a_promise_without_a_claim_says_why() {
    let lab = Lab::new();
    let report = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/fio/3.33-mixed.txt");
    let promise = ["--promise", "aws:gp3", "--volume-size", "100GiB"];
    let (_, v) = lab.verdict(report.as_ref(), &promise);
    assert_eq!(v["verdict"]["claims"].as_array().unwrap().len(), 0);
    let reason = v["verdict"]["untested"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("several sizes"), "{reason}");
}

#[test]
fn a_rate_that_depth_and_latency_explain_is_no_cap() {
    let lab = Lab::new();
    let step = |bs: &str, depth: u32| {
        random(60).replace("4k", bs).replace("iodepth = 64", &format!("iodepth = {depth}"))
    };
    let device = "latency = \"200us\"\njitter = \"100us\"\niops_cap = 20000.0";
    let names = ["alone-4k", "alone-16k", "four-4k", "four-16k", "deep-4k", "deep-16k"];
    let loads: Vec<String> = [1, 4, 64].into_iter().flat_map(|n| [step("4k", n), step("16k", n)]).collect();
    let steps: Vec<(&str, &str, &str)> =
        names.iter().zip(&loads).map(|(name, load)| (*name, load.as_str(), device)).collect();
    let ran = lab.run(&steps, &[]);
    let record = ran.record();
    let capped = |name: &str| {
        let found = record.diagnoses().unwrap();
        let of_step = found.iter().find(|d| d.step == name).unwrap();
        of_step.findings.iter().any(|f| f.code == "iops-cap")
    };
    let told: Vec<&str> = names.into_iter().filter(|name| capped(name)).collect();
    assert_eq!(told, ["deep-4k", "deep-16k"], "4 in flight of 250 us each do 16,000 a second");
}

/// Latencies that differ by themselves look as if requests waited: a deeper step that does more shows that no cap held the others.
#[test]
fn a_rate_that_a_deeper_step_exceeds_is_no_cap() {
    let lab = Lab::new();
    let load = |block: &str, depth: u32| {
        format!("rw = \"randread\"\nbs = \"{block}\"\niodepth = {depth}\nruntime = \"60s\"")
    };
    let names = ["4k-16", "16k-16", "4k-32", "16k-32", "16k-128"];
    let loads = [load("4k", 16), load("16k", 16), load("4k", 32), load("16k", 32), load("16k", 128)];
    let steps: Vec<(&str, &str, &str)> = names
        .iter()
        .zip(&loads)
        .map(|(name, load)| (*name, load.as_str(), "latency = \"1ms\"\njitter = \"6ms\""))
        .collect();
    let ran = lab.run(&steps, &[]);
    let found = ran.record().findings.unwrap();
    let caps: Vec<_> = found.iter().filter(|f| f.code == "iops-cap" || f.code == "bandwidth-cap").collect();
    assert!(caps.iter().all(|f| f.confidence == Confidence::Possible), "{caps:#?}");
    assert!(caps.iter().all(|f| !f.step.ends_with("16")), "{caps:#?}");
}

#[test]
fn a_cap_on_ios_takes_the_place_of_bytes_that_happen_to_be_near_the_promised_ones() {
    let lab = Lab::new();
    let load = |block: &str| format!("rw = \"randread\"\nbs = \"{block}\"\niodepth = 32\nruntime = \"60s\"");
    let (small, large) = (load("4KiB"), load("64KiB"));
    let device = "latency = \"1ms\"\niops_cap = 1970";
    let gp3 = ["--promise", "aws:gp3", "--volume-size", "100GiB", "--judge-simulated"];
    let caps = |steps: &[(&str, &str, &str)]| {
        let found = lab.run(steps, &gp3).record().findings.unwrap();
        let caps = found.into_iter().filter(|f| f.code.ends_with("-cap") && f.step == "large");
        caps.map(|f| f.code).collect::<Vec<_>>()
    };
    // 1,970 blocks of 64 KiB are 98.5 % of 125 MiB/s, and as many blocks of 4 KiB show that bytes do not hold them.
    assert_eq!(caps(&[("large", &large, device)]), ["bandwidth-cap"]);
    assert_eq!(caps(&[("large", &large, device), ("small", &small, device)]), ["iops-cap"]);
}

/// Outcome of the latency of a PL0 of 1 GiB, which is promised 1,812 IOPS and 500 us, with its reason and command.
fn latency_alone(lab: &Lab, device: &str, more: &[&str]) -> [String; 3] {
    let small = ["--promise", "alibaba:cloud_essd.PL0", "--volume-size", "1GiB", "--judge-simulated"];
    let load = ["run", "--offline", "--simulate", device, "--rw", "randwrite", "--iodepth", "1"];
    let time: &[&str] = if more.contains(&"--runtime") { &[] } else { &["--runtime", "61s"] };
    let out = lab.volproof(&[&load[..], &["--json", "alone.json"], time, &small, more].concat());
    let record = Record::load(&lab.dir.path().join("alone.json"));
    let record = record.unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&out.stderr)));
    let verdict = serde_json::to_value(record.verdict.unwrap()).unwrap();
    let claims = verdict["claims"].as_array().unwrap();
    let found = claims.iter().find(|c| c["metric"] == "latency").unwrap();
    ["outcome", "reason", "command"].map(|key| found[key].as_str().unwrap_or_default().into())
}

#[test]
fn the_wait_for_an_iops_limit_is_no_latency_of_the_volume() {
    let lab = Lab::new();
    // At 1,812 IOPS one request at a time takes 552 us, however quick the volume is.
    for (own, at_half) in [("100us", "pass"), ("540us", "fail")] {
        let device = format!("latency={own},iops-cap=1812");
        let [outcome, reason, command] = latency_alone(&lab, &device, &[]);
        assert_eq!(outcome, "inconclusive", "{own}: {reason}");
        assert!(reason.contains("the wait for the IOPS limit (1,812 IOPS are promised)"), "{reason}");
        assert!(command.contains("--iodepth 1") && command.contains("--rate-iops 906"), "{command}");
        let [outcome, reason, _] = latency_alone(&lab, &device, &["--rate-iops", "906"]);
        assert_eq!(outcome, at_half, "{own}: {reason}");
        // What the rate cannot show is told beside it, and spoils nothing.
        let record = Record::load(&lab.dir.path().join("alone.json")).unwrap();
        let claims = &record.verdict.as_ref().unwrap().claims;
        assert_eq!(claims.len(), 1, "{claims:#?}");
    }
    // Far below its promised rate a volume is slow by itself.
    assert_eq!(latency_alone(&lab, "latency=800us,iops-cap=1812", &[])[0], "fail");
    // A quota below the promise shows in counts that do not vary; where the slow I/Os come by chance the mean is the volume's own.
    let [outcome, reason, command] = latency_alone(&lab, "latency=100us,iops-cap=1000", &[]);
    assert_eq!(outcome, "inconclusive", "{reason}");
    assert!(reason.contains("a throttle holds it there") && command.contains("--rate-iops 500"), "{reason}");
    let by_chance = "latency=100us,slow-share=0.01,slow-latency=90ms";
    assert_eq!(latency_alone(&lab, by_chance, &[])[0], "fail");
    // After a burst, or in a dip of the limit, the limit is that of the level that lasted longest.
    for (level, device, runtime) in [
        ("at 800 IOPS, from ", "iops-cap=800,burst-iops=1500,burst-ios=15000", "15m"),
        ("at 800 IOPS, from ", "iops-cap=800,burst-iops=1500,burst-ios=15000", "61s"),
        ("at 900 IOPS, from ", "iops-cap=1500,dip-at=20s,dip-for=30s,dip-to=0.6", "61s"),
    ] {
        let device = format!("latency=100us,{device}");
        let [outcome, reason, _] = latency_alone(&lab, &device, &["--runtime", runtime]);
        assert_eq!(outcome, "inconclusive", "{device}: {reason}");
        assert!(reason.starts_with(level) && reason.contains("a throttle holds it there"), "{reason}");
    }
    // A volume that gives more than was bought may hold that rate as well, evenly or in quotas of a second.
    for device in [
        "latency=100us,iops-cap=1900",
        "latency=100us,iops-cap=1500,cap-period=1s",
        "latency=400us,iops-cap=1631,cap-period=5s",
    ] {
        let [outcome, reason, _] = latency_alone(&lab, device, &[]);
        assert!(
            outcome == "inconclusive" && reason.contains("may contain the wait"),
            "{device}: {outcome} {reason}"
        );
    }
    // Only more with more in flight shows that no limit held it.
    let slow = "latency = '560us'\niops-cap = 9000";
    let [one, many] = ["iodepth = 1", "iodepth = 16"]
        .map(|depth| format!("rw = 'randwrite'\nbs = '4k'\nruntime = '61s'\n{depth}"));
    let small =
        ["--promise", "alibaba:cloud_essd.PL0", "--volume-size", "1GiB", "--judge-simulated", "--offline"];
    let ran = lab.run(&[("deep", &many, slow), ("one", &one, slow)], &small);
    let verdict = Record::load(&ran.path).unwrap().verdict.unwrap();
    let latency = verdict.claims.iter().find(|c| c.metric == Metric::Latency).unwrap();
    assert_eq!((latency.step.as_str(), latency.outcome), ("one", Outcome::Fail), "{}", latency.reason);
}

#[test]
fn a_rate_that_varies_too_slowly_for_an_interval_is_not_decided() {
    let lab = Lab::new();
    let step = random(60).replace("iodepth = 64", "iodepth = 16");
    let mut wrong_answers = 0;
    for (cap, wrong) in [(0.97, "pass"), (1.0, "fail")] {
        for seed in 1..=10 {
            let device =
                format!("latency = \"2ms\"\niops_cap = {}\nnoise = 0.1\nnoise_memory = 0.99", cap * 2280.0);
            let seed = seed.to_string();
            let ran = lab.run(&[("randread", &step, &device)], &[&PL0[..], &["--seed", &seed]].concat());
            let v = judged_but(&lab, &ran, |_| {});
            wrong_answers += usize::from(claim(&v)["outcome"] == wrong);
        }
    }
    assert!(wrong_answers <= 1, "{wrong_answers} of 20 are wrong, where one is allowed");
}

#[test]
fn a_rate_that_the_load_set_is_no_cap() {
    let lab = Lab::new();
    let load = "rw = \"read\"\nbs = \"1m\"\niodepth = 8\nrate-bw = \"100MiB\"\nruntime = \"60s\"";
    let ran = lab.run(&[("read", load, "latency = \"1ms\"")], &PL0);
    let v = judged_but(&lab, &ran, |_| {});
    assert!(has(&v, "load-limited") && !has(&v, "bandwidth-cap"), "{v:#}");
}

/// fio's text of random writes with psync: the shortest, the mean and the longest latency are alike.
fn text_of(engine: &str, latency_us: u32) -> String {
    format!(
        "w: (g=0): rw=randwrite, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine={engine}, iodepth=1\n\
         fio-3.33\nStarting 1 process\n\n\
         w: (groupid=0, jobs=1): err= 0: pid=3031: Sun Nov 22 19:32:14 2026\n\
         \x20 write: IOPS=504, BW=2019KiB/s (2068kB/s)(122MiB/62008msec); 0 zone resets\n\
         \x20   clat (usec): min={latency_us}, max=900, avg={latency_us}.40, stdev= 1.00\n\
         \x20    lat (usec): min={latency_us}, max=900, avg={latency_us}.90, stdev= 1.00\n\
         \x20  iops        : min=  480, max=  520, avg=504.96, stdev= 1.00, samples=122\n\
         \x20    issued rwts: total=0,31306,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
    )
}

#[test]
fn a_report_of_memory_does_not_pass() {
    let lab = Lab::new();
    let promise = ["--promise", "alibaba:cloud_essd.PL1", "--volume-size", "100GiB", "--offline"];
    let latency = |text: String| {
        let path = lab.dir.path().join("w.txt");
        std::fs::write(&path, text).unwrap();
        let (_, v) = lab.verdict(&path, &promise);
        let claims = v["verdict"]["claims"].as_array().unwrap();
        claims.iter().find(|c| c["metric"] == "latency").cloned().unwrap_or_else(|| panic!("{v:#}"))
    };
    let found = latency(text_of("psync", 6));
    assert_eq!(found["outcome"], "inconclusive", "{found:#}");
    assert!(found["reason"].as_str().unwrap().contains("as in memory"), "{found:#}");
    let found = latency(text_of("psync", 150));
    assert_eq!(found["outcome"], "pass", "{found:#}");
    let found = latency(text_of("mmap", 150));
    assert_eq!(found["blocker"], "buffered", "{found:#}");
}

#[test]
fn a_latency_that_hides_waiting_for_the_volume_does_not_pass() {
    let options = "--rw randwrite --iodepth 1 --rate-iops 1400 --runtime 120s";
    let record = simulated("latency=60us,stall-at=1s,stall-for=90ms,stall-every=1s", options, PL1_OF_20);
    let of_latency = |record: &Value| {
        let claims = record["verdict"]["claims"].as_array().unwrap().clone();
        claims.into_iter().find(|c| c["metric"] == "latency").unwrap()
    };
    let claim = of_latency(&record);
    assert_eq!(claim["outcome"], "inconclusive", "{claim:#}");
    assert!(claim["reason"].as_str().unwrap().contains("was due"), "{claim:#}");
    assert_eq!(of_latency(&simulated("latency=60us", options, PL1_OF_20))["outcome"], "pass");
}

/// The first use of each MiB makes every 64th block in a row slow: counts are as even as those of a quota, and more in flight give more.
#[test]
fn slow_blocks_at_equal_distances_are_no_throttle() {
    let load = "rw = \"read\"\nbs = \"16k\"\niodepth = 12\nruntime = \"120s\"";
    let device = "latency = \"1ms\"\njitter = \"500us\"\nfirst-touch = \"400ms\"";
    let record = serde_json::to_value(Lab::new().run(&[("read", load, device)], &PL0).record()).unwrap();
    assert_eq!(record["verdict"]["outcome"], "invalid", "{:#}", record["verdict"]);
    let likely = |f: &&Value| {
        let code = f["code"].as_str().unwrap();
        f["confidence"] != "possible" && (code == "throttle" || code.starts_with("full-bucket"))
    };
    let found = record["findings"].as_array().unwrap();
    assert_eq!(found.iter().find(likely), None);
}

/// They fill a shallow queue together, which is no stop of the volume: more in flight go on beside them.
#[test]
fn blocks_in_a_row_that_are_slow_by_chance_fail_no_volume() {
    let device = "latency=100us,iops-cap=3090,slow-share=0.2,slow-latency=500ms";
    let record = simulated(device, "--rw write --iodepth 32 --runtime 300s", PL1_OF_20);
    assert_eq!(record["verdict"]["outcome"], "invalid", "{:#}", record["verdict"]);
    let found = record["findings"].as_array().unwrap();
    assert!(found.iter().all(|f| f["code"] != "on-off"), "{found:#?}");
}

/// The installed fio counts what it does beyond the end of a file that shrank.
#[test]
fn ios_that_moved_less_than_their_blocks_pass_nothing() {
    let lab = Lab::new();
    let v = passing_but(&lab, |record| {
        let step = &mut record.steps[0];
        let target = &mut step.targets[0];
        for summary in [&mut step.read, &mut step.total, &mut target.read].into_iter().flatten() {
            summary.bytes.0 /= 100;
            summary.bytes_per_second /= 100.0;
        }
        let bytes = &mut target.series.read.as_mut().unwrap().track.bytes;
        bytes.iter_mut().for_each(|n| *n /= 100);
    });
    assert_eq!(claim(&v)["blocker"], "short-ios", "{v:#}");
}

/// Slow I/Os that began together leave times without any completion, a neighbour adds to how much the counts differ, and chance leaves narrow gaps
/// among the latencies of those that waited a little: 160 in flight and more show that the volume gives the rate.
#[test]
fn slow_ios_that_come_back_together_fail_no_volume() {
    let io2 = "aws:io2 --iops 400 --volume-size 20GiB";
    for (device, options) in [
        (
            "latency=1ms,slow-share=0.2,slow-latency=2s,iops-cap=430",
            "--rw randread --iodepth 64 --runtime 120s --seed 7",
        ),
        (
            "latency=5ms,slow-share=0.1,slow-latency=1s,noise=0.2,iops-cap=600",
            "--rw randwrite --iodepth 32 --runtime 60s --seed 1",
        ),
    ] {
        let record = simulated(device, options, io2);
        assert_eq!(record["verdict"]["outcome"], "invalid", "{device}: {:#}", record["verdict"]);
    }
}

/// A quota is used up in each period, and nothing comes until the next one.
#[test]
fn slow_ios_beside_a_quota_are_no_quota_of_a_longer_period() {
    let device = "latency=8ms,iops-cap=200,slow-share=0.05,slow-latency=1s";
    let load = "--rw randread --iodepth 16 --runtime 120s --seed 7";
    let record = simulated(device, load, "aws:io2 --iops 400 --volume-size 20GiB");
    assert_eq!(record["verdict"]["outcome"], "fail", "{:#}", record["verdict"]);
    assert!(!codes(&record).contains(&"throttle"), "{:#}", record["findings"]);
    // A quota of 800 ms pauses.
    let quota = simulated(
        "latency=8ms,iops-cap=200,cap-period=800ms",
        load,
        "aws:io2 --iops 400 --volume-size 20GiB",
    );
    assert!(codes(&quota).contains(&"throttle"), "{:#}", quota["findings"]);
}

/// With more in flight than one quota and fewer than two, requests are held for one period or for two.
#[test]
fn a_cap_that_holds_requests_for_one_period_or_two_is_a_limit() {
    let device = "latency=100us,iops-cap=906,first-touch=1ms";
    let record = simulated(device, "--rw randrw --iodepth 128 --runtime 600s", PL1_OF_20);
    assert_eq!(record["verdict"]["outcome"], "fail", "{:#}", record["verdict"]);
}

/// An open loop that its depth holds back is no better judge than the closed loop of that depth.
#[test]
fn a_schedule_that_a_shallow_queue_holds_up_fails_no_volume() {
    let outcome = |volume: &str, depth: u32| {
        let options = format!("--rw randread --iodepth {depth} --rate-iops 2856 --runtime 61s");
        simulated(volume, &options, PL1_OF_20)["verdict"]["outcome"].clone()
    };
    for volume in ["latency=222us,jitter=10ms", "latency=100us,slow-share=0.05,slow-latency=100ms"] {
        assert_eq!(outcome(volume, 8), "invalid", "{volume}");
        assert_eq!(outcome(volume, 64), "pass", "{volume}");
    }
    for depth in [8, 64] {
        assert_eq!(outcome("latency=300us,iops-cap=1500", depth), "fail");
    }
}

#[test]
fn each_simulated_target_is_a_volume_of_its_own() {
    let at = |cap: u32| {
        let volume = format!("latency=1ms,iops-cap={cap}");
        simulated(&volume, "one two --file-size 16GiB --rw randread --iodepth 16 --runtime 60s", PL1_OF_20)
    };
    let record = at(3000);
    assert_eq!(record["verdict"]["claims"][0]["promised"], 5600.0);
    assert_eq!(record["verdict"]["outcome"], "pass");
    // Both together do more than one is promised.
    assert_eq!(at(2000)["verdict"]["outcome"], "fail");
}

/// A range of which few blocks are used is as small as those.
#[test]
fn blocks_far_apart_are_a_small_range() {
    let lab = Lab::new();
    for (load, apart) in [
        ("rw = \"randread\"\nalign = \"64m\"", true),
        ("rw = \"read\"\nstride = \"64m\"", true),
        ("rw = \"randread\"\nalign = \"4k\"", false),
        ("rw = \"randread\"", false),
    ] {
        let load =
            format!("{load}\nbs = \"4k\"\nsize = \"40g\"\niodepth = 64\nruntime = \"60s\"\nramp = \"1s\"");
        let ran = lab.run(&[("far", &load, &capped(2280.0))], &PL0);
        let v = judged_but(&lab, &ran, |_| {});
        let reason = claim(&v)["reason"].as_str().unwrap_or_default().to_string();
        assert_eq!(reason.contains("a cache may have answered"), apart, "{load}: {v:#}");
        assert_eq!(claim(&v)["outcome"] == "pass", !apart, "{load}: {v:#}");
    }
}

#[test]
fn hot_blocks_pass_no_promise() {
    for (hot, outcome) in
        [("zipf:1.1", "inconclusive"), ("zoned:90/1:10/99", "inconclusive"), ("uniform", "pass")]
    {
        let options = format!("--rw randread --iodepth 16 --runtime 60s --distribution {hot}");
        let record = simulated("latency=1ms,iops-cap=3000", &options, PL1_OF_20);
        let claim = &record["verdict"]["claims"][0];
        assert_eq!(claim["outcome"], outcome, "{claim:#}");
        let told = claim["reason"].as_str().is_some_and(|why| why.contains(hot));
        assert_eq!(told, outcome != "pass", "{claim:#}");
    }
}

#[test]
fn what_returns_in_a_few_seconds_may_be_chance() {
    let lab = Lab::new();
    let device = format!("{}\ncap_period = \"1s\"", capped(2290.0));
    for (seconds, confidence) in [(12, "possible"), (30, "likely")] {
        let ran = lab.run(&[("randread", &random(seconds), &device)], &PL0);
        let v = judged_but(&lab, &ran, |_| {});
        assert_eq!(finding(&v, "on-off")["confidence"], confidence, "{seconds} s");
    }
}

#[test]
fn how_long_a_burst_was_kept_stands_beside_its_pass() {
    let volume = "--simulate latency=500us,iops-cap=300,burst-iops=3000,burst-ios=5400000 --rw randread --iodepth 64 --runtime 120s \
                  --promise aws:gp2 --volume-size 100GiB --promise-burst";
    let out = screen(&Lab::new(), volume);
    assert!(out.starts_with("PASS"), "{out}");
    assert!(
        out.contains("kept for the 2 min 00 s measured; whether it lasts the 33 min 20 s of a full bucket was not tested"),
        "{out}"
    );
}

#[test]
fn a_load_that_waited_for_the_volume_proves_no_limit_of_its_own() {
    let said = |stall: &str| {
        let lab = Lab::new();
        let load = "rw = \"randread\"\nbs = \"4k\"\niodepth = 16\nrate-iops = 400\narrival = \"fixed\"\nruntime = \"120s\"";
        let ran = lab.run(&[("open", load, &format!("latency = \"2ms\"\n{stall}"))], &PL0);
        let v = judged_but(&lab, &ran, |_| {});
        let found = finding(&v, "load-limited");
        (found["confidence"].as_str().unwrap().to_string(), found["evidence"].to_string())
    };
    assert_eq!(said("").0, "proven");
    let (confidence, evidence) = said("stall_at = \"30s\"\nstall_for = \"1s\"");
    assert_eq!(confidence, "likely", "the queue was full for a second: {evidence}");
    assert!(evidence.contains(" s of 120 the queue was full"), "{evidence}");
    let (confidence, evidence) = said("stall_at = \"200ms\"\nstall_for = \"700ms\"\nstall_every = \"1s\"");
    assert_eq!(confidence, "possible", "it was full for most of the time: {evidence}");
}

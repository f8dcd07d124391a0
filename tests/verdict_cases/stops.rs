//! Stops of planted length and distance, and the figures that are told of them.

use serde_json::Value;
use volproof::plan::EngineKind;
use volproof::unit::Nanos;

use super::lab::{
    Lab, PL0, PL1_OF_20, capped, claim, codes, judged_but, judged_here, random, screen, simulated,
};

/// Loads whose requests wait for completions: I/Os in parallel, and writes that reach the volume with a flush.
const CLOSED: [&str; 2] =
    ["rw = \"randread\"\niodepth = 4", "rw = \"randwrite\"\niodepth = 1\ndirect = false\nfsync = 8"];
/// I/Os that are sent on a schedule.
const OPEN: &str = "rw = \"randread\"\niodepth = 8\nrate-iops = 1000";

/// The figures of `on-off` for stops of so many ms in every so many ms: share, length, period; and the sentence.
fn told(stop: u64, every: u64, load: &str, more: &str) -> Option<([Option<f64>; 3], String)> {
    let lab = Lab::new();
    let device = format!(
        "latency = \"500us\"\njitter = \"100us\"\nstall-at = \"{every}ms\"\nstall-for = \"{stop}ms\"\nstall-every = \"{every}ms\"\n{more}"
    );
    let ran = lab.run(&[("s", &format!("runtime = \"60s\"\n{load}"), &device)], &[]);
    let findings = ran.record().findings.unwrap_or_else(|| panic!("{}{}", ran.stdout, ran.stderr));
    let found = findings.into_iter().find(|f| f.code == "on-off")?;
    let figures = ["silent_share", "stop_seconds", "period_seconds"];
    Some((figures.map(|name| found.numbers.get(name).copied()), found.headline))
}

#[test]
fn the_figures_of_stops_are_those_of_the_volume() {
    for (stop, every) in [(350, 400), (200, 400), (80, 400), (103, 250), (350, 1000)] {
        for load in CLOSED {
            let (figures, sentence) = told(stop, every, load, "").unwrap();
            let truth = [stop as f64 / every as f64, stop as f64 / 1e3, every as f64 / 1e3];
            let near = |(told, truth): (&Option<f64>, f64)| (told.unwrap() / truth - 1.0).abs() < 0.06;
            assert!(figures.iter().zip(truth).all(near), "{stop} of {every} ms, {load}: {figures:?}");
            assert!(!sentence.contains("at least"), "{sentence}");
        }
    }
}

#[test]
fn stops_that_show_in_part_have_no_period() {
    for (stop, every) in [(70, 130), (90, 110)] {
        for load in CLOSED {
            let Some((figures, sentence)) = told(stop, every, load, "") else { continue };
            assert_eq!(figures[1..], [None, None], "{sentence}");
            assert!(figures[0].unwrap() < stop as f64 / every as f64, "{figures:?}");
            assert!(sentence.ends_with("it stops again and again."), "{sentence}");
        }
    }
    assert!(told(70, 130, CLOSED[0], "").is_some());
}

/// I/Os that wait for the end of a stop may be many or few: how long they waited in all does not tell when the stop began.
#[test]
fn the_figures_of_an_open_loop_are_lower_bounds() {
    for (stop, every) in [(350, 400), (350, 1000), (103, 250), (70, 130)] {
        let Some((_, sentence)) = told(stop, every, OPEN, "") else { continue };
        let share = sentence.split("for at least ").nth(1).and_then(|rest| rest.split(' ').next());
        let share: f64 = share.unwrap_or_else(|| panic!("{sentence}")).parse().unwrap();
        assert!((1.0..=100.0 * stop as f64 / every as f64).contains(&share), "{stop} of {every}: {sentence}");
    }
    assert!(told(350, 400, OPEN, "").is_some());
}

#[test]
fn stops_of_a_part_of_the_run_have_the_share_of_the_run() {
    // 400 a second once the credits are gone, after 24,000 / (988 - 400) = 41 s of 60: 200 I/Os in each half second, which 4 requests of
    // 4 ms use up in 0.2 s.
    let lab = Lab::new();
    let device =
        "latency = \"4ms\"\niops-cap = 400.0\ncap-period = \"500ms\"\nburst-iops = 1200.0\nburst-ios = 24000";
    let ran = lab.run(&[("s", "runtime = \"60s\"\nrw = \"randread\"\niodepth = 4", device)], &[]);
    let found = ran.record().findings.unwrap().into_iter().find(|f| f.code == "on-off").unwrap();
    let near = |name: &str, truth: f64| (found.numbers[name] / truth - 1.0).abs() < 0.06;
    assert!(near("stop_seconds", 0.3) && near("period_seconds", 0.5), "{found:?}");
    assert!(near("silent_share", 0.6 * 19.0 / 60.0), "{found:?}");
    assert!(found.headline.contains("in a part of the run it stops for about"), "{}", found.headline);
}

#[test]
fn a_mean_latency_that_stalls_do_not_enter_does_not_pass() {
    let lab = Lab::new();
    let one = "rw = \"randwrite\"\nbs = \"4k\"\niodepth = 1\nruntime = \"60s\"";
    let deep = random(60);
    for stall in [
        "stall_at = \"1s\"\nstall_for = \"900ms\"\nstall_every = \"2s\"",
        "stall_at = \"10s\"\nstall_for = \"5s\"",
    ] {
        let device = format!("latency = \"200us\"\n{stall}");
        let ran = lab.run(&[("deep", &deep, &capped(2300.0)), ("lat", one, &device)], &PL0);
        let v = judged_but(&lab, &ran, |_| {});
        let claims = v["verdict"]["claims"].as_array().unwrap();
        let latency = claims.iter().find(|c| c["metric"] == "latency").unwrap();
        assert_eq!(latency["outcome"], "inconclusive", "{latency:#}");
        assert!(latency["reason"].as_str().unwrap().contains("% of the time"), "{latency:#}");
        assert_eq!(ran.code, 5, "{}", ran.stdout);
    }
}

#[test]
fn stalls_that_outlast_a_quota_pass_nothing() {
    for (quota, stall, depth) in [
        ("cap-period=1s,iops-cap=3111", "stall-at=2919ms,stall-for=3s,stall-every=30s", 64),
        ("cap-period=500ms,iops-cap=3209", "stall-at=2919ms,stall-for=1500ms,stall-every=20s", 256),
        ("cap-period=250ms,iops-cap=3181", "stall-at=2919ms,stall-for=520ms,stall-every=5s", 256),
        ("cap-period=250ms,iops-cap=3181", "stall-at=2919ms,stall-for=900ms,stall-every=9s", 32),
    ] {
        let options = format!("--rw randread --iodepth {depth} --runtime 300s");
        let record = simulated(&format!("latency=1ms,{quota},{stall}"), &options, PL1_OF_20);
        assert_eq!(record["verdict"]["outcome"], "inconclusive", "{quota}: {:#}", record["verdict"]);
        assert!(codes(&record).contains(&"stall"), "{quota}: {:?}", codes(&record));
    }
}

#[test]
fn a_promise_of_time_is_broken_by_stalls_as_by_dips() {
    for lapse in
        ["dip-at=10s,dip-for=3s,dip-every=50s,dip-to=0.5", "stall-at=10s,stall-for=3s,stall-every=50s"]
    {
        let options = "--rw randread --iodepth 32 --runtime 600s";
        let record = simulated(
            &format!("latency=500us,iops-cap=3300,{lapse}"),
            options,
            "aws:gp3 --volume-size 100GiB",
        );
        let claim = &record["verdict"]["claims"][0];
        assert_eq!(claim["outcome"], "fail", "{lapse}: {claim:#}");
        assert!(claim["reason"].as_str().unwrap().contains("99.0 % are promised"), "{claim:#}");
    }
}

#[test]
fn a_fall_at_the_end_decides_nothing_and_the_whole_window_is_judged() {
    let options = "--rw randread --iodepth 16 --runtime 300s";
    let volume = "latency=1ms,iops-cap=3080,dip-at=290s,dip-for=20s,dip-to=0.6";
    let record = simulated(volume, options, PL1_OF_20);
    let claim = &record["verdict"]["claims"][0];
    assert_eq!((&claim["outcome"], &claim["burst"]), (&"inconclusive".into(), &Value::Null), "{claim:#}");
    assert_eq!(claim["measured"], claim["whole_window"], "{claim:#}");
    assert!(claim["reason"].as_str().unwrap().contains("in the last 10"), "{claim:#}");
}

/// What is in flight when a window ends counts in none of its figures, although it shows that the volume had stopped.
#[test]
fn a_stall_that_the_end_of_the_window_cuts_off_does_not_pass() {
    let deep = "--rw randread --iodepth 32 --runtime 60s";
    let one = "--rw randwrite --iodepth 1 --runtime 60s";
    let jobs = "--rw randread --iodepth 8 --numjobs 4 --runtime 300s";
    let open = "--rw randread --iodepth 64 --rate-iops 2820 --runtime 300s";
    for (options, volume, metric, at) in [
        (deep, "latency=1ms,iops-cap=3080", "iops", "59500ms"),
        (deep, "latency=1ms,iops-cap=3080", "iops", "59950ms"),
        (deep, "latency=1ms,iops-cap=3080", "iops", "58600ms"),
        (jobs, "latency=1ms,iops-cap=3080,cap-period=500ms", "iops", "299500ms"),
        (open, "latency=1ms", "iops", "299500ms"),
        (one, "latency=150us", "latency", "59500ms"),
    ] {
        let of = |stall: &str| {
            let record = simulated(&format!("{volume}{stall}"), options, PL1_OF_20);
            let claims = record["verdict"]["claims"].as_array().unwrap().clone();
            (claims.into_iter().find(|c| c["metric"] == metric).unwrap(), record)
        };
        let kept = of("").0;
        assert_eq!(kept["outcome"], "pass", "{options}: {kept:#}");
        let (claim, record) = of(&format!(",stall-at={at},stall-for=9s"));
        assert_eq!(claim["outcome"], "inconclusive", "{options}: {claim:#}");
        let reason = claim["reason"].as_str().unwrap();
        let told = reason.contains("had stopped when the window ended: nothing came back for ");
        assert!(told || reason.contains("% of the time"), "{options}, {at}: {reason}");
        assert!(codes(&record).contains(&"stall"), "{:?}", codes(&record));
    }
}

/// The window of the installed fio contains the wait for the requests that are in flight when its time is over.
#[test]
fn a_run_that_waited_for_its_last_requests_does_not_pass() {
    let lab = Lab::new();
    let device = format!("{}\nstall_at = \"60s\"\nstall_for = \"2s\"", capped(2350.0));
    let ran = lab.run(&[("randread", &random(120), &device)], &PL0);
    let kept = judged_here(&ran, |_| {});
    assert_eq!(claim(&kept)["outcome"], "pass", "{kept:#}");
    let v = judged_here(&ran, |record| record.plan.steps[0].runtime = Nanos::millis(118_500));
    let claim = claim(&v);
    assert_eq!(claim["outcome"], "inconclusive", "{v:#}");
    assert!(claim["reason"].as_str().unwrap().contains("the run took 1.50 s longer"), "{v:#}");
}

/// In the rest of the window the queue was deep enough, and a stall has no end for any depth.
#[test]
fn a_long_stall_is_no_reason_for_a_deeper_queue() {
    let options = "--rw randread --iodepth 20 --runtime 600s";
    for stall in ["stall-at=540s,stall-for=65s", "stall-at=200s,stall-for=60s"] {
        let record = simulated(&format!("latency=6ms,iops-cap=2820,{stall}"), options, PL1_OF_20);
        let claims = record["verdict"]["claims"].as_array().unwrap();
        let claim = claims.iter().find(|c| c["metric"] == "iops").unwrap();
        assert_eq!(claim["outcome"], "inconclusive", "{stall}: {claim:#}");
        assert!(claim["reason"].as_str().unwrap().contains("% of the time"), "{claim:#}");
        assert!(codes(&record).contains(&"stall"), "{:?}", codes(&record));
    }
    let shallow = simulated("latency=9ms,stall-at=540s,stall-for=65s", options, PL1_OF_20);
    assert_eq!(
        shallow["verdict"]["claims"][0]["blocker"], "could-not-reach",
        "too shallow in the rest as well"
    );
}

/// A second in which nothing completes is the volume's, whatever was sent and however deep.
#[test]
fn a_volume_that_stands_still_fails_its_promise_of_time_under_a_rate() {
    let options = "--rw randread --iodepth 32 --rate-iops 3050 --runtime 300s";
    let device = "latency=200us,iops-cap=6000,stall-at=20s,stall-every=60s,stall-for=3s";
    let record = simulated(device, options, "aws:gp3 --volume-size 100GiB");
    let claim = &record["verdict"]["claims"][0];
    assert_eq!(claim["outcome"], "fail", "{claim:#}");
    assert!(!claim["reason"].as_str().unwrap().contains("each I/O took longer"), "{claim:#}");
}

#[test]
fn arrivals_that_wait_for_each_other_are_no_stops_of_the_volume() {
    let volume = |device: &str| {
        format!(
            "--simulate latency=198us{device} --rw randwrite --iodepth 1 --runtime 120s --rate-iops 1400 --arrival poisson \
             --promise alibaba:cloud_essd.PL1 --volume-size 20GiB"
        )
    };
    let out = screen(&Lab::new(), &volume(""));
    assert!(out.contains("come in bunches and wait for each other"), "{out}");
    let stops = screen(&Lab::new(), &volume(",stall-at=10s,stall-for=300ms,stall-every=20s"));
    assert!(!stops.contains("in bunches") && !stops.starts_with("PASS"), "{stops}");
}

/// The text for the support desk tells what the volume failed in, where its mean is nearly kept.
#[test]
fn the_text_for_the_support_desk_tells_the_seconds_and_the_stops() {
    let lab = Lab::new();
    let device =
        "latency = \"300us\"\niops_cap = 3100\nstall-at = \"10s\"\nstall-for = \"1s\"\nstall-every = \"20s\"";
    let gp3 = ["--promise", "aws:gp3", "--volume-size", "100GiB"];
    let ran = lab.run(&[("r", &random(200), device)], &[&gp3[..], &["--judge-simulated"]].concat());
    assert!(!ran.stdout.contains("support desk"), "a simulated device has no support desk: {}", ran.stdout);
    let real = ran.changed(|record| {
        record.plan.steps[0].simulate = None;
        record.plan.steps[0].engine = EngineKind::IoUring;
        record.steps[0].engine = EngineKind::IoUring.into();
        // What the host took from this machine meanwhile is no part of the case.
        record.steps[0].evidence.cpu.steal_ns.fill(0);
    });
    let out = lab.volproof(&[&["verdict", real.to_str().unwrap()][..], &gp3].concat());
    let out = String::from_utf8(out.stdout).unwrap();
    let text = out.split("support desk").nth(1).unwrap_or_else(|| panic!("{out}"));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [
        "In time 95.0 % of the seconds delivered at least 90 % of the promise",
        "the provider promises 99.0 %",
        "Stops the volume delivered nothing or less than half 10 times, 10.0 s in all; the longest time begins",
    ] {
        assert!(words.contains(told), "{told}: {text}");
    }
}

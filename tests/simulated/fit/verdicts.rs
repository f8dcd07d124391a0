//! Verdicts on volumes of known latency and rate, in virtual time.

use std::path::Path;

use serde_json::Value;

use super::volproof;

/// Exit code and Record of applications on a simulated device.
fn judged(folder: &Path, applications: &str, device: &str, more: &[&str]) -> (Option<i32>, Value) {
    let fit = ["fit", "--for", applications, "--simulate", device, "--json", "r.json"];
    let (code, out, err) = volproof(folder, &[&fit[..], more].concat());
    assert_ne!(code, Some(2), "{out}\n{err}");
    (code, serde_json::from_str(&std::fs::read_to_string(folder.join("r.json")).unwrap()).unwrap())
}

#[test]
fn a_volume_at_the_limit_of_etcd_is_judged_alike_by_every_seed() {
    let dir = tempfile::tempdir().unwrap();
    // Latencies of 10 ms lie in the bucket of the limit, which no statistics tell from it.
    for (latency, expected) in [("9850us", "pass"), ("9970us", "inconclusive"), ("10100us", "fail")] {
        for seed in ["1", "2", "3", "4", "5"] {
            let device = format!("latency={latency},jitter=50us");
            let (_, record) = judged(dir.path(), "etcd", &device, &["--seed", seed]);
            let claims = record["verdict"]["claims"].as_array().unwrap();
            assert_eq!(claims.len(), 2, "{latency}, seed {seed}");
            let p99 = &claims[0];
            assert_eq!(p99["outcome"], expected, "{latency}, seed {seed}: {p99}");
            assert_eq!(p99["need"]["figure"], "p99 of flushes");
            let sourced = |key: &str| !p99["need"][key].as_str().unwrap().is_empty();
            assert!(sourced("source") && sourced("as_of") && sourced("confidence"));
        }
    }
}

#[test]
fn a_promise_that_no_step_tests_has_no_pass_beside_kept_needs() {
    let dir = tempfile::tempdir().unwrap();
    let promise = "--promise aws:st1 --volume-size 1280GiB --offline --json r.json";
    let line = format!("run --simulate latency=200us,iops-cap=2052 --fit etcd {promise}");
    let (code, out, err) = volproof(dir.path(), &line.split(' ').collect::<Vec<_>>());
    assert_eq!(code, Some(5), "{out}\n{err}");
    let record: Value =
        serde_json::from_str(&std::fs::read_to_string(dir.path().join("r.json")).unwrap()).unwrap();
    let claims = record["verdict"]["claims"].as_array().unwrap();
    assert!(claims.iter().all(|c| c["outcome"] == "pass" && !c["need"].is_null()), "{claims:?}");
    let untested = &record["verdict"]["untested"][0];
    assert_eq!(untested["metric"], "throughput");
    // The test that is recommended is one of the promise, and no more the application's load.
    let command = untested["command"].as_str().unwrap();
    assert!(!command.contains("--fsync") && !command.contains("--size"), "{command}");
    let words: Vec<&str> = ["plan"].into_iter().chain(command.split(' ').skip(2)).collect();
    let (code, out, err) = volproof(dir.path(), &words);
    assert_eq!(code, Some(0), "{command}\n{out}\n{err}");
}

#[test]
fn slow_flushes_decide_and_not_the_mean() {
    let dir = tempfile::tempdir().unwrap();
    let outcome = |share: &str| {
        let device = format!("latency=1ms,slow-share={share},slow-latency=30ms");
        judged(dir.path(), "etcd", &device, &[]).1["verdict"]["claims"][0]["outcome"].clone()
    };
    assert_eq!(outcome("0.0002"), "pass", "one in five thousand is slow");
    assert_eq!(outcome("0.002"), "pass", "one in five hundred is slow");
    assert_eq!(outcome("0.05"), "fail", "one in twenty is slow");
}

/// A write through the page cache costs nothing until its flush, which waits for the limits of the volume.
#[test]
fn the_wait_for_a_limit_lies_in_the_flush() {
    let dir = tempfile::tempdir().unwrap();
    for device in ["latency=1ms,iops-cap=60", "latency=1ms,bytes-cap=138KB"] {
        let (code, record) = judged(dir.path(), "etcd", device, &[]);
        let p99 = &record["verdict"]["claims"][0];
        assert_eq!((code, &p99["outcome"]), (Some(1), &"fail".into()), "{device}: {p99}");
        let step = &record["steps"][0];
        let mean = |direction: &str| step[direction]["service_latency_ns"]["mean"].as_f64().unwrap();
        assert!(mean("write") < 2e3 && mean("sync") > 15e6, "{device}: {} {}", mean("write"), mean("sync"));
        let flushes = step["sync"]["iops"].as_f64().unwrap();
        assert!((flushes / 60.0 - 1.0).abs() < 0.02, "{device}: {flushes}");
    }
    assert_eq!(judged(dir.path(), "etcd", "latency=1ms,iops-cap=6000", &[]).0, Some(0));
}

/// A flush that never comes back is a device that hangs, whatever the percentile of the others is.
#[test]
fn a_flush_that_never_comes_back_passes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let device = "latency=1ms,stall-at=59500ms,stall-for=90s";
    let (code, record) = judged(dir.path(), "etcd", device, &["--runtime", "60s"]);
    let p99 = &record["verdict"]["claims"][0];
    assert_eq!((code, &p99["outcome"]), (Some(1), &"fail".into()), "{p99}");
    assert!(p99["reason"].as_str().unwrap().contains("never came back"), "{p99}");
}

/// What a load that waits does not send is in no figure of its latencies: neither a mean nor a percentile passes beside such a time.
#[test]
fn silence_that_latencies_hide_passes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (stalls, quota) =
        ("stall-at=500ms,stall-for=4s,stall-every=5s", "stall-at=100ms,stall-for=900ms,stall-every=1s");
    let words = "the figure hides it";
    for (application, stops) in
        [("sqlserver", stalls), ("sqlserver", quota), ("etcd", stalls), ("etcd", quota)]
    {
        let device = format!("latency=200us,jitter=50us,{stops}");
        let (code, record) = judged(dir.path(), application, &device, &[]);
        assert_ne!(code, Some(0), "{application}, {stops}: {:#}", record["verdict"]);
        let claims = record["verdict"]["claims"].as_array().unwrap();
        let latencies = || claims.iter().filter(|c| c["metric"] == "latency" || c["metric"] == "percentile");
        assert!(latencies().count() > 0 && latencies().all(|c| c["outcome"] != "pass"), "{claims:#?}");
        let told = |c: &Value| c["reason"].as_str().is_some_and(|reason| reason.contains(words));
        assert!(latencies().any(told), "{application}, {stops}: {claims:#?}");
    }
    // Stops within the limit of 10 ms make no flush too slow.
    let short = "latency=200us,jitter=50us,stall-at=100ms,stall-for=8ms,stall-every=100ms";
    assert_eq!(judged(dir.path(), "etcd", short, &[]).0, Some(0));
}

#[test]
fn a_latency_is_that_of_the_baseline_after_a_burst() {
    let dir = tempfile::tempdir().unwrap();
    // The I/Os of the burst hide the baseline's, or leave open what the percentile of both is.
    for burst in ["burst-iops=20000,burst-ios=400000", "burst-iops=3000,burst-ios=60000"] {
        let device = format!("latency=500us,iops-cap=300,{burst}");
        let (code, record) = judged(dir.path(), "etcd", &device, &[]);
        let claims = record["verdict"]["claims"].as_array().unwrap();
        let p99 = claims.iter().find(|c| c["metric"] == "percentile").unwrap();
        assert!(code != Some(0) && p99["outcome"] == "fail", "{code:?}: {p99}");
        assert!(p99["measured"].as_f64().unwrap() > 50e6, "{p99}");
        assert!(p99["reason"].as_str().unwrap().contains("it was lower before"), "{p99}");
    }
}

#[test]
fn a_short_run_decides_no_percentile() {
    let dir = tempfile::tempdir().unwrap();
    let (code, record) = judged(dir.path(), "etcd", "latency=2ms", &["--runtime", "2s"]);
    assert_eq!((code, &record["verdict"]["outcome"]), (Some(5), &"inconclusive".into()));
    let p99 = |device: &str, runtime: &str| {
        judged(dir.path(), "etcd", device, &["--runtime", runtime]).1["verdict"]["claims"][0].clone()
    };
    // Seconds keep no limit, and break it where every flush does: too few for ten beyond the percentile, and none of them was in time.
    assert_eq!(p99("latency=2ms", "20s")["outcome"], "inconclusive");
    assert_eq!(p99("latency=2ms", "20s")["more_seconds"], 40);
    assert_eq!(p99("latency=2ms", "60s")["outcome"], "pass");
    assert_eq!(p99("latency=12ms", "8s")["outcome"], "inconclusive");
    assert_eq!(p99("latency=12ms", "12s")["outcome"], "fail");
    assert_eq!(p99("latency=5ms,slow-share=0.5,slow-latency=14ms", "12s")["outcome"], "fail");
}

#[test]
fn a_figure_at_its_limit_asks_for_no_more_time() {
    let dir = tempfile::tempdir().unwrap();
    for seed in ["1", "2", "3"] {
        let device = "latency=10ms,jitter=20us";
        let claim = judged(dir.path(), "etcd", device, &["--seed", seed]).1["verdict"]["claims"][0].clone();
        assert_eq!(
            (&claim["outcome"], &claim["more_seconds"]),
            (&"inconclusive".into(), &Value::Null),
            "{claim}"
        );
        assert!(claim["reason"].as_str().unwrap().contains("closer than the 1.6 %"), "{claim}");
    }
}

#[test]
fn grades_above_the_one_asked_for_decide_nothing() {
    let dir = tempfile::tempdir().unwrap();
    // The write waits for its flush, which takes 2 ms: 500 flushes a second are just not reached.
    let (code, record) = judged(dir.path(), "etcd", "latency=2050us", &[]);
    let beyond = &record["verdict"]["beyond"][0];
    assert_eq!((code, &beyond["outcome"]), (Some(0), &"fail".into()));
    let (code, _) = judged(dir.path(), "etcd:heavy", "latency=2050us", &[]);
    assert_eq!(code, Some(1));
    let (code, _) = judged(dir.path(), "etcd:heavy", "latency=1900us", &[]);
    assert_eq!(code, Some(0));
}

#[test]
fn rates_scale_with_their_parameter() {
    let dir = tempfile::tempdir().unwrap();
    let device = "latency=500us,iops-cap=5000,bytes-cap=1GB";
    let (code, record) = judged(dir.path(), "cockroachdb:vcpus=8", device, &[]);
    assert_eq!(code, Some(0), "{}", record["verdict"]);
    assert_eq!(record["verdict"]["claims"][0]["limit"], 4000.0);
    let (code, record) = judged(dir.path(), "cockroachdb:vcpus=16", device, &[]);
    assert_eq!((code, &record["verdict"]["claims"][0]["outcome"]), (Some(1), &"fail".into()));
}

#[test]
fn several_jobs_share_the_rate_of_the_volume() {
    let dir = tempfile::tempdir().unwrap();
    for (device, expected) in [("iops-cap=20000", 1), ("iops-cap=39000", 1), ("iops-cap=41000", 0)] {
        let device = format!("latency=200us,{device}");
        let (code, record) = judged(dir.path(), "tikv", &device, &["--runtime", "60s"]);
        assert_eq!(code, Some(expected), "{device}: {}", record["verdict"]["claims"][0]);
    }
}

#[test]
fn act_asks_for_a_day_and_judges_every_hour() {
    let dir = tempfile::tempdir().unwrap();
    let (code, record) = judged(dir.path(), "aerospike:x=0.01", "latency=500us", &["--runtime", "2h"]);
    let claims = record["verdict"]["claims"].as_array().unwrap();
    assert_eq!((code, claims.len()), (Some(5), 5));
    assert!(claims[0]["reason"].as_str().unwrap().contains("24 h"), "{}", claims[0]);
    // Good over two hours, and bad in the second of them.
    let device = "latency=500us,dip-at=1h,dip-for=15m,dip-to=0.3";
    let (code, record) = judged(dir.path(), "aerospike:x=0.01", device, &["--runtime", "2h"]);
    let claim = &record["verdict"]["claims"][0];
    assert_eq!((code, &claim["outcome"]), (Some(1), &"fail".into()), "{claim}");
    assert!(claim["measured"].as_f64().unwrap() > 0.2, "the worst hour: {claim}");
}

#[test]
fn act_fails_where_its_large_blocks_fall_behind() {
    let dir = tempfile::tempdir().unwrap();
    // One large block is due each 4.25 s, and one is written at a time.
    for (latency, expected) in [("4s", "inconclusive"), ("5s", "fail")] {
        let device = format!("latency={latency}");
        let (_, record) = judged(dir.path(), "aerospike:x=0.01", &device, &["--runtime", "1h"]);
        for claim in &record["verdict"]["claims"].as_array().unwrap()[3..] {
            assert_eq!(claim["outcome"], expected, "{latency}: {claim}");
        }
    }
}

#[test]
fn applications_share_their_steps_and_a_load_runs_beside_them() {
    let dir = tempfile::tempdir().unwrap();
    let device = "latency=1ms,iops-cap=20000,bytes-cap=500MB";
    let (_, record) =
        judged(dir.path(), "etcd,milvus,harvester", device, &["--beside", "20MB/s", "--runtime", "60s"]);
    let steps: Vec<&str> =
        record["steps"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(steps, ["etcd-wal", "beside-etcd-wal", "random-4k", "beside-random-4k"]);
    let claims = record["verdict"]["claims"].as_array().unwrap();
    assert!(claims.iter().all(|c| c["outcome"] != "invalid"), "{claims:?}");
}

#[test]
fn a_profile_has_figures_and_no_pass() {
    let dir = tempfile::tempdir().unwrap();
    let fit = ["fit", "--for", "postgresql", "--simulate", "latency=1ms"];
    let (code, out, err) = volproof(dir.path(), &fit);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        out.contains("PostgreSQL: nothing numeric was published, so these figures are not judged"),
        "{out}"
    );
    assert!(!out.contains("PASS  "), "{out}");
    let rate = |step: &str| -> f64 {
        let line = out.lines().rfind(|line| line.starts_with(step)).unwrap();
        line.split_whitespace().nth(1).unwrap().replace(',', "").parse().unwrap()
    };
    // A request takes 1 ms: a synced write, a flush with its write, two synced writes, a flush with two writes behind each other.
    let close =
        |step: &str, expected: f64| assert!((rate(step) / expected - 1.0).abs() < 0.02, "{step}: {out}");
    close("wal-open-datasync ", 1000.0);
    close("wal-fdatasync ", 1000.0);
    close("wal-open-datasync-two", 500.0);
    close("wal-fdatasync-two", 1000.0);
}

#[test]
fn commits_after_a_burst_are_those_of_the_baseline() {
    let dir = tempfile::tempdir().unwrap();
    let device = "latency=500us,iops-cap=1000,burst-iops=4000,burst-ios=600000";
    let args = ["fit", "--for", "postgres", "--need", "wal-flush.p99<=5ms", "--simulate", device];
    let (_, out, err) = volproof(dir.path(), &args);
    let line = out.lines().find(|line| line.contains("commits/s")).unwrap_or_else(|| panic!("{out}{err}"));
    let figures = line.replace(',', "");
    let rates: Vec<f64> = figures.split(' ').filter_map(|word| word.parse().ok()).take(2).collect();
    // A commit is one or two of the 1,000 requests that the baseline does.
    assert!(rates.len() == 2 && rates.iter().all(|rate| (400.0..1100.0).contains(rate)), "{line}");
}

#[test]
fn a_need_of_ones_own_is_judged_like_a_published_one() {
    let dir = tempfile::tempdir().unwrap();
    let fit = |need: &str| {
        let device = ["--simulate", "latency=1ms", "--runtime", "60s", "--json", "r.json", "--force"];
        volproof(dir.path(), &[&["fit", "--for", "postgres", "--need", need][..], &device].concat())
    };
    let (code, out, err) = fit("wal-flush.p99<=2ms");
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("Good enough") && out.contains("PostgreSQL (your own need)"), "{out}");
    assert!(
        out.contains("PostgreSQL: 999 commits/s for one client, 15,984 for 16; WAL flush p99 1.00 ms"),
        "{out}"
    );
    let (code, out, _) = fit("pages-8k.read.iops>=1000000");
    assert!(code == Some(1) && out.contains("at least 1,000,000 asked for"), "{out}");
    // The need is in the Record, which is judged like this wherever it is read.
    let (code, again, err) = volproof(dir.path(), &["verdict", "r.json"]);
    assert!(
        code == Some(1) && again.contains("Not good enough for PostgreSQL (your own need)"),
        "{again}{err}"
    );
}

/// A write is in the page cache before it is durable: what a client waits for is the flush.
#[test]
fn the_latency_of_a_load_that_flushes_is_that_of_its_flushes() {
    let dir = tempfile::tempdir().unwrap();
    for (application, load) in [
        ("postgres", "wal-fdatasync"),
        ("mongodb", "journal-append"),
        ("kafka", "segment-append"),
        ("elasticsearch", "fsync-append"),
        ("rocksdb", "journal-append"),
        ("etcd", "etcd-wal"),
    ] {
        let need = format!("{load}.p99<=5ms");
        let line = ["fit", "--for", application, "--need", &need, "--simulate", "latency=20ms"];
        let (code, out, err) = volproof(dir.path(), &line);
        assert_eq!(code, Some(1), "{application}:\n{out}\n{err}");
        assert!(out.contains("your own need"), "{application}: {out}");
    }
}

#[test]
fn each_need_has_a_line_and_stands_in_the_row_of_its_own_ios() {
    let dir = tempfile::tempdir().unwrap();
    let fit = ["fit", "--for", "splunk,postgresql,etcd:heavy", "--simulate", "latency=2221us,iops-cap=900"];
    let files = ["--openmetrics", "m.prom", "--markdown", "t.md", "--html", "p.html", "--runtime", "60s"];
    let (code, out, err) = volproof(dir.path(), &[&fit[..], &["--json", "r.json"], &files].concat());
    assert_eq!(code, Some(1), "{out}\n{err}");
    let head: Vec<&str> = out.lines().take(3).map(str::trim).collect();
    assert_eq!(
        head.join(" "),
        "FAIL    Not good enough for etcd (heavy): flushes a second 450, at least 500 asked for. \
         against Splunk Enterprise (minimum) and etcd (heavy)"
    );
    let (_, needs) = out.split_once("\nNeed ").unwrap();
    let needs: Vec<String> =
        needs.lines().skip(1).take(7).map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        needs,
        [
            "Splunk Enterprise (minimum)",
            "I/Os a second random-4k >= 800 900 900 to 900 PASS",
            "etcd (minimum)",
            "p99 of flushes etcd-wal <= 10.0 ms 2.23 ms 2.22 ms to 2.23 ms PASS",
            "flushes a second etcd-wal >= 50.0 450 448 to 450 PASS",
            "etcd (heavy)",
            "flushes a second etcd-wal >= 500 450 448 to 450 FAIL",
        ]
    );
    let row = |name: &str| out.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(row("etcd-wal sync").ends_with("FAIL") && row("random-4k total").ends_with("PASS"), "{out}");
    for other in ["etcd-wal write", "random-4k read", "random-4k write"] {
        assert!(!row(other).ends_with('L') && !row(other).ends_with('S'), "{out}");
    }
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let metrics = read("m.prom");
    let mut series: Vec<&str> = metrics.lines().filter_map(|l| Some(l.rsplit_once(' ')?.0)).collect();
    let all = series.len();
    series.sort_unstable();
    series.dedup();
    assert_eq!(series.len(), all, "a collector refuses a file with one series twice: {metrics}");
    assert!(
        metrics.contains("volproof_need_room") && !metrics.contains("volproof_promise_ratio"),
        "{metrics}"
    );
    assert!(metrics.contains("volproof_flushes_per_second"), "{metrics}");
    let markdown = read("t.md");
    assert!(
        markdown.contains("flushes a second for etcd (heavy) in etcd-wal: 450, at least 500"),
        "{markdown}"
    );
    assert!(!markdown.contains("promised"), "{markdown}");
    let page = read("p.html");
    assert!(page.contains("Asked for and measured") && !page.contains("a miss is tolerated"));
    assert!(!page.contains("(minimum) (minimum)"));
    for option in ["--iodepth", "--numjobs", "leave fsync", "--buffered"] {
        assert!(!page.contains(&format!(" {option}")), "fit has no {option}");
    }
}

#[test]
fn the_closest_need_is_the_one_with_the_least_room() {
    let dir = tempfile::tempdir().unwrap();
    let fit = ["fit", "--for", "harvester", "--simulate", "latency=1ms,iops-cap=5100", "--runtime", "60s"];
    let (code, out, err) = volproof(dir.path(), &[&fit[..], &["-q"]].concat());
    assert_eq!(code, Some(0), "{out}\n{err}");
    assert!(
        out.contains("both needs are met; the closest is Harvester, LLMOS (minimum), I/Os a second 5,100"),
        "{out}"
    );
}

#[test]
fn the_answer_in_every_form() {
    let dir = tempfile::tempdir().unwrap();
    let fit = [
        "fit",
        "--for",
        "etcd:heavy",
        "--simulate",
        "latency=2050us,jitter=50us",
        "--json",
        "r.json",
        "--junit",
        "j.xml",
        "--html",
        "p.html",
        "--markdown",
        "t.md",
        "--openmetrics",
        "m.prom",
        "--details",
    ];
    let (code, out, err) = volproof(dir.path(), &fit);
    assert_eq!(code, Some(1), "{err}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let undated: String = out
        .lines()
        .filter(|line| !line.contains("20") || line.contains("2019"))
        .map(|l| l.to_string() + "\n")
        .collect();
    assert!(undated.contains("FAIL          flushes a second for etcd (heavy) in etcd-wal"), "{out}");
    assert!(out.contains("source: etcd documentation, hardware"), "{out}");
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let junit = read("j.xml");
    assert!(junit.contains("tests=\"3\" failures=\"1\""), "{junit}");
    assert!(junit.contains("flushes a second for etcd (heavy) in etcd-wal"), "{junit}");
    assert!(read("p.html").contains("p99 of flushes for etcd (minimum)"));
    assert!(read("t.md").contains("FAIL") && read("m.prom").contains("volproof_verdict_exit_code"));
    let (code, line, _) = volproof(dir.path(), &["show", "r.json", "-q"]);
    assert_eq!(code, Some(0));
    assert!(
        line.starts_with("FAIL  SIMULATED  Not good enough for etcd (heavy): flushes a second 4"),
        "{line}"
    );
    let (code, _, _) = volproof(dir.path(), &["verdict", "r.json"]);
    assert_eq!(code, Some(1), "a stored Record is judged by its samples");
}

#[test]
fn run_takes_applications_beside_a_plan() {
    let dir = tempfile::tempdir().unwrap();
    let device = ["--simulate", "latency=1ms", "--json", "r.json"];
    let (code, _, err) = volproof(dir.path(), &[&["run", "--fit", "etcd"][..], &device].concat());
    assert_eq!(code, Some(0), "{err}");
    let with = ["run", "--rw", "randread", "--runtime", "10s", "--fit", "etcd,kafka", "--beside", "5MB/s"];
    let (_, out, err) = volproof(dir.path(), &[&with[..], &device].concat());
    assert!(out.contains("Apache Kafka: nothing numeric was published"), "{out}");
    let record: Value =
        serde_json::from_str(&std::fs::read_to_string(dir.path().join("r.json")).unwrap()).unwrap();
    let steps = record["steps"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap());
    assert_eq!(
        steps.collect::<Vec<_>>(),
        [
            "randread",
            "etcd-wal",
            "beside-etcd-wal",
            "segment-append",
            "beside-segment-append",
            "sequential-1m",
            "beside-sequential-1m"
        ],
        "{err}"
    );
    let (code, _, err) = volproof(dir.path(), &["run", "--beside", "5MB/s", "--simulate", "latency=1ms"]);
    assert_eq!(code, Some(2), "{err}");
}

#[test]
fn an_application_that_no_step_tested_has_no_pass() {
    let dir = tempfile::tempdir().unwrap();
    judged(dir.path(), "etcd", "latency=1ms", &[]);
    let verdict = |file: &str, applications: &str, more: &[&str]| {
        let fit = ["verdict", file, "--fit", applications];
        let (code, out, _) = volproof(dir.path(), &[&fit[..], more].concat());
        (code, out.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    assert_eq!(verdict("r.json", "etcd", &["-q"]).0, Some(0));
    let (code, text) = verdict("r.json", "etcd,vault", &[]);
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("not tested Vault and Consul"), "{text}");
    assert!(text.contains("-> volproof fit TARGET --for vault:"), "{text}");
    assert!(text.contains("--simulate latency=1ms"), "on the same device: {text}");
    let reads =
        ["run", "--rw", "randread", "--simulate", "latency=1ms", "--runtime", "2s", "--json", "o.json"];
    volproof(dir.path(), &reads);
    let (code, line) = verdict("o.json", "etcd", &["-q"]);
    assert_eq!(code, Some(5), "{line}");
    assert!(line.starts_with("NOT JUDGED ") && line.contains("was not measured]"), "{line}");
    assert!(!line.contains("tolerance"), "{line}");
}

/// A plan of the user's whose step has the name of a published load, and not its data or its range.
#[test]
fn a_load_that_flatters_the_volume_keeps_no_need() {
    let dir = tempfile::tempdir().unwrap();
    let outcome = |more: &str| {
        let plan = format!(
            "name = 'p'\n[[step]]\nname = 'random-write-4k'\nrw = 'randwrite'\nbs = '4k'\niodepth = 64\nruntime = '2m'\n{more}"
        );
        std::fs::write(dir.path().join("p.toml"), plan).unwrap();
        let simulated =
            ["run", "--plan", "p.toml", "--simulate", "latency=200us,iops-cap=20000", "--json", "o.json"];
        let (_, _, err) = volproof(dir.path(), &simulated);
        let (_, out, _) = volproof(dir.path(), &["verdict", "o.json", "--fit", "gitaly", "--json"]);
        let verdict: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
        let claim = verdict["verdict"]["claims"][0].clone();
        (claim["outcome"].as_str().unwrap_or_default().to_string(), claim["reason"].to_string())
    };
    assert_eq!(outcome("").0, "pass");
    for (more, told) in [
        ("size = '64m'", "the load went over only 64 MiB"),
        ("distribution = 'zipf:1.2'", "preferred some blocks"),
        ("compressible = 100", "wrote zeros alone"),
    ] {
        let (outcome, reason) = outcome(more);
        assert!(outcome == "inconclusive" && reason.contains(told), "{more}: {outcome} {reason}");
    }
}

/// What several volumes do together shows nothing of one of them.
#[test]
fn volumes_that_keep_a_need_together_keep_none_each() {
    let dir = tempfile::tempdir().unwrap();
    judged(dir.path(), "gitaly", "latency=200us,iops-cap=9000", &["--runtime", "2m"]);
    let mut record: Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("r.json")).unwrap()).unwrap();
    let outcome = |record: &Value| {
        std::fs::write(dir.path().join("o.json"), record.to_string()).unwrap();
        let (_, out, _) = volproof(dir.path(), &["verdict", "o.json", "--fit", "gitaly"]);
        out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(outcome(&record).starts_with("PASS"));
    for step in record["steps"].as_array_mut().unwrap() {
        // It did nothing.
        let mut idle = step["targets"][0].clone();
        (idle["path"], idle["in_flight_mean"]) = ("idle".into(), 0.0.into());
        for ns in idle["series"]["in_flight_ns"].as_array_mut().unwrap() {
            *ns = 0.into();
        }
        for direction in ["read", "write"] {
            idle.as_object_mut().unwrap().remove(direction);
            idle["series"].as_object_mut().unwrap().remove(direction);
        }
        step["targets"].as_array_mut().unwrap().push(idle);
    }
    let told = outcome(&record);
    assert!(told.starts_with("INCONCLUSIVE") && told.contains("idle by itself has none"), "{told}");
}

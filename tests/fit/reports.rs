//! Needs of applications held against reports of fio.

use std::path::Path;

use serde_json::Value;

use super::volproof;

/// A report of the vendor's command, with these percentiles of its flushes (nanoseconds).
fn vendors_report(folder: &Path, application: &str, seconds: u64, p99: u64, p995: u64, p98: u64) -> String {
    let block = if application == "openshift" { 8000 } else { 2300 };
    let flushes = seconds * 600;
    let bytes = flushes * block;
    let (runtime, rate) = (seconds * 1000, 600 * block);
    let text = format!(
        r#"{{"fio version":"fio-3.33","timestamp":1555600000,"time":"Thu Apr 18 15:06:40 2019",
        "global options":{{"rw":"write","ioengine":"sync","fdatasync":"1","bs":"{block}","directory":"."}},
        "jobs":[{{"jobname":"mytest","groupid":0,"error":0,"elapsed":{seconds},"job options":{{"name":"mytest","size":"22m"}},
        "read":{{"io_bytes":0,"total_ios":0,"runtime":0}},
        "write":{{"io_bytes":{bytes},"bw_bytes":{rate},"iops":600.0,"runtime":{runtime},"total_ios":{flushes},
          "bw_min":{low},"bw_max":{high},"bw_agg":100.0,"bw_mean":{kib}.0,"bw_dev":10.0,"bw_samples":600,
          "clat_ns":{{"min":5000,"max":90000,"mean":20000.0,"stddev":500.0,"N":{flushes}}},
          "lat_ns":{{"min":5000,"max":90000,"mean":20000.0,"stddev":500.0,"N":{flushes}}}}},
        "trim":{{"io_bytes":0,"total_ios":0,"runtime":0}},
        "sync":{{"total_ios":0,"lat_ns":{{"min":300000,"max":40000000,"mean":1500000.0,"stddev":300000.0,"N":{flushes},
          "percentile":{{"50.000000":1400000,"90.000000":1700000,"98.000000":{p98},"99.000000":{p99},"99.500000":{p995},"99.900000":{p995}}}}}}},
        "usr_cpu":1.0,"sys_cpu":3.0,"ctx":1000,"job_runtime":{runtime}}}]}}"#,
        kib = rate / 1024,
        low = rate / 1024 - 20,
        high = rate / 1024 + 20,
    );
    std::fs::write(folder.join("fio.json"), text).unwrap();
    let (_, out, err) = volproof(folder, &["verdict", "fio.json", "--fit", application, "-q"]);
    let (_, told, _) = volproof(folder, &["explain", "fio.json", "--fit", application]);
    let word = out.split_whitespace().next().unwrap_or_else(|| panic!("{err}")).to_string();
    assert!(told.contains(&format!("{word} against ")), "{told}");
    word
}

#[test]
fn the_vendors_report_has_the_same_verdict() {
    let dir = tempfile::tempdir().unwrap();
    for application in ["etcd", "milvus", "openshift"] {
        let verdict =
            |seconds, p99, p995, p98| vendors_report(dir.path(), application, seconds, p99, p995, p98);
        assert_eq!(verdict(300, 2_376_000, 3_000_000, 2_000_000), "PASS", "{application}");
        assert_eq!(verdict(300, 15_000_000, 20_000_000, 12_000_000), "FAIL", "{application}");
        assert_eq!(verdict(300, 9_900_000, 15_000_000, 5_000_000), "INCONCLUSIVE", "{application}");
        assert_eq!(verdict(10, 2_376_000, 3_000_000, 2_000_000), "INCONCLUSIVE", "{application}");
    }
}

/// The flushes of a report are as uneven as its writes: a mean above the need whose samples differ widely is no PASS, as it is none of a run.
#[test]
fn a_reports_rate_of_flushes_has_the_spread_of_its_writes() {
    let dir = tempfile::tempdir().unwrap();
    vendors_report(dir.path(), "etcd", 300, 2_376_000, 3_000_000, 2_000_000);
    let report = std::fs::read_to_string(dir.path().join("fio.json")).unwrap();
    // 600 writes of 2,300 bytes a second are 1,347.656 KiB.
    let outcome = |deviation: u64, longest: u64| {
        let uneven = report
            .replacen(r#""bw_min":1327,"bw_max":1367"#, r#""bw_min":1,"bw_max":4000"#, 1)
            .replacen(r#""bw_dev":10.0"#, &format!(r#""bw_dev":{deviation}.0"#), 1)
            .replace(r#""max":40000000"#, &format!(r#""max":{longest}"#));
        std::fs::write(dir.path().join("uneven.json"), uneven).unwrap();
        let (_, out, err) =
            volproof(dir.path(), &["verdict", "uneven.json", "--fit", "etcd:heavy", "--json"]);
        let verdict: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
        let claims = verdict["verdict"]["claims"].as_array().unwrap_or_else(|| panic!("{verdict}")).clone();
        let of = |figure: &str, limit: f64| {
            let same = |c: &&Value| c["need"]["figure"] == figure && c["limit"] == limit;
            claims.iter().find(same).unwrap_or_else(|| panic!("{verdict}"))["outcome"].clone()
        };
        (of("flushes a second", 500.0), of("p99 of flushes", 1e7))
    };
    assert_eq!(outcome(60, 40_000_000), ("pass".into(), "pass".into()));
    assert_eq!(outcome(1300, 40_000_000), ("inconclusive".into(), "pass".into()));
    // One flush of 7 s in five minutes.
    assert_eq!(outcome(60, 7_000_000_000), ("inconclusive".into(), "inconclusive".into()));
}

/// The verdict of `verdict --fit` on a report of fio's random reads at a depth, over five minutes, whose rate hardly varied.
fn of_reads(folder: &Path, application: &str, iops: u64, depth: u32, more: &str) -> (String, String) {
    let (seconds, kib) = (300, 4);
    let (ios, rate) = (iops * seconds, iops * kib * 1024);
    let mean = u64::from(depth) * 1_000_000_000 / iops;
    let latency = format!(r#"{{"min":90000,"max":40000000,"mean":{mean}.0,"stddev":5000.0,"N":{ios}}}"#);
    let text = format!(
        r#"{{"fio version":"fio-3.33","timestamp":1555600000,"time":"Thu Apr 18 15:06:40 2019",
        "global options":{{"rw":"randread","ioengine":"libaio","bs":"4k","iodepth":"{depth}","runtime":"300","time_based":"1","filename":"/dev/vdb"{more}}},
        "jobs":[{{"jobname":"r","groupid":0,"error":0,"elapsed":{seconds},"job options":{{"name":"r"}},
        "read":{{"io_bytes":{bytes},"bw_bytes":{rate},"iops":{iops}.0,"runtime":300000,"total_ios":{ios},
          "lat_ns":{latency},"clat_ns":{latency},
          "bw_min":{low},"bw_max":{high},"bw_agg":100.0,"bw_mean":{bw}.0,"bw_dev":10.0,"bw_samples":600,
          "iops_min":{iops},"iops_max":{iops},"iops_mean":{iops}.0,"iops_stddev":2.0,"iops_samples":600}},
        "write":{{"io_bytes":0,"total_ios":0,"runtime":0}},
        "trim":{{"io_bytes":0,"total_ios":0,"runtime":0}},
        "usr_cpu":1.0,"sys_cpu":3.0,"ctx":1000,"job_runtime":300000}}]}}"#,
        bytes = rate * seconds,
        bw = rate / 1024,
        low = rate / 1024 - 20,
        high = rate / 1024 + 20,
    );
    std::fs::write(folder.join("reads.json"), text).unwrap();
    let (_, out, err) = volproof(folder, &["verdict", "reads.json", "--fit", application]);
    let word = out.split_whitespace().next().unwrap_or_else(|| panic!("{err}")).to_string();
    (word, out.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn rates_of_the_published_load_are_judged_from_reports() {
    let dir = tempfile::tempdir().unwrap();
    let of = |iops, depth, more: &str| of_reads(dir.path(), "gitaly", iops, depth, more);
    let direct = r#","direct":"1""#;
    // Gitaly: at least 8,000 reads a second.
    assert_eq!(of(9000, 64, direct).0, "PASS");
    assert_eq!(of(7000, 64, direct).0, "FAIL");
    let (word, out) = of(7000, 8, direct);
    assert!(
        word == "INCONCLUSIVE" && out.contains("8 requests in flight are less than the published 64"),
        "{out}"
    );
    let (word, out) = of(9000, 64, r#","direct":"0""#);
    assert!(word != "PASS" && word != "FAIL", "{out}");
    let (word, out) = of(7000, 64, &format!(r#"{direct},"rate_iops":"7000""#));
    assert!(word != "PASS" && word != "FAIL", "{out}");
}

/// The outcome and the reason of each claim of `verdict --fit` on a report.
fn claims_of(folder: &Path, application: &str, report: &str) -> Vec<(String, String, String)> {
    std::fs::write(folder.join("changed.json"), report).unwrap();
    let (_, out, err) = volproof(folder, &["verdict", "changed.json", "--fit", application, "--json"]);
    let verdict: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
    let claims = verdict["verdict"]["claims"].as_array().unwrap_or_else(|| panic!("{verdict}")).clone();
    let word = |claim: &Value, key: &str| claim[key].as_str().unwrap_or_default().to_string();
    claims.iter().map(|c| (word(&c["need"], "figure"), word(c, "outcome"), word(c, "reason"))).collect()
}

/// What undoes the PASS of a promise by a report undoes that of a need.
#[test]
fn a_report_that_decides_no_promise_decides_no_need() {
    let dir = tempfile::tempdir().unwrap();
    let direct = r#","direct":"1""#;
    assert_eq!(of_reads(dir.path(), "gitaly", 9000, 64, direct).0, "PASS");
    let report = std::fs::read_to_string(dir.path().join("reads.json")).unwrap();
    let undone = |changed: String, told: &str| {
        assert_ne!(changed, report, "{told}");
        let claims = claims_of(dir.path(), "gitaly", &changed);
        let [(_, outcome, reason)] = &claims[..] else { panic!("{claims:?}") };
        assert!(outcome == "inconclusive" && reason.contains(told), "{told}: {claims:?}");
    };
    let option = |option: &str| report.replacen(direct, &format!("{direct},{option}"), 1);
    undone(option(r#""random_distribution":"zipf:1.2""#), "preferred some blocks (zipf:1.2)");
    undone(option(r#""size":"64m""#), "went over 64 MiB");
    undone(report.replacen("/dev/vdb", "/dev/vdb:/dev/vdc", 1), "may be several volumes");
    let counted = |ios: u64| {
        let disk = format!(
            r#""disk_util":[{{"name":"vdb","read_ios":{ios},"write_ios":0,"read_merges":0,"write_merges":0,"read_ticks":1,"write_ticks":0,"in_queue":1,"util":99.0}}]}}"#
        );
        format!("{},{disk}", report.strip_suffix('}').unwrap())
    };
    undone(counted(270_000), "the disk completed 270,000 of 2,700,000 reads");
    assert_eq!(claims_of(dir.path(), "gitaly", &counted(2_700_000))[0].1, "pass");
    let low = report.replacen(r#""bw_min":35980"#, r#""bw_min":100"#, 1);
    undone(low.replacen(r#""bw_dev":10.0"#, r#""bw_dev":9000.0"#, 1), "% of the samples may lie below");
    let without = report.replacen(r#""bw_mean":36000.0"#, r#""bw_mean":0.0"#, 1);
    undone(without, "does not tell how the rate spread");
    let paused = of_reads(dir.path(), "gitaly", 7000, 64, &format!(r#"{direct},"thinktime":"1s""#));
    assert_eq!(paused.0, "FAIL", "the queue was full all the same: {}", paused.1);
    let empty = std::fs::read_to_string(dir.path().join("reads.json")).unwrap().replace("9142857", "3000000");
    undone(empty, "the load held itself back");
    of_reads(dir.path(), "gitaly", 7000, 64, &format!(r#"{direct},"fsync":"1""#));
    undone(
        std::fs::read_to_string(dir.path().join("reads.json")).unwrap(),
        "the load flushed between its writes",
    );
}

/// Needs of flushes: the log of the application itself is small, so that a small range is none of a cache's making.
#[test]
fn flushes_that_the_disk_never_saw_keep_no_need() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(vendors_report(dir.path(), "etcd", 300, 2_376_000, 3_000_000, 2_000_000), "PASS");
    let report = std::fs::read_to_string(dir.path().join("fio.json")).unwrap();
    let outcomes = |changed: &str, told: &str| {
        let claims = claims_of(dir.path(), "etcd", changed);
        assert_eq!(claims.len(), 2, "{claims:?}");
        assert!(told.is_empty() || claims.iter().all(|c| c.2.contains(told)), "{told}: {claims:?}");
        claims.into_iter().map(|c| c.1).collect::<Vec<_>>()
    };
    let disk = |writes: u64| {
        let counters = format!(
            r#""disk_util":[{{"name":"vdb","read_ios":0,"write_ios":{writes},"read_merges":0,"write_merges":0,"read_ticks":0,"write_ticks":90000,"in_queue":90000,"util":60.0}}]}}"#
        );
        format!("{},{counters}", report.strip_suffix('}').unwrap())
    };
    let both = |outcome: &str| vec![outcome.to_string(), outcome.to_string()];
    assert_eq!(outcomes(&disk(0), "the disk completed 0 writes for 180,000 flushes"), both("inconclusive"));
    assert_eq!(outcomes(&disk(360_000), ""), both("pass"));
    let zeros = report.replacen(r#""fdatasync":"1""#, r#""fdatasync":"1","zero_buffers":"1""#, 1);
    assert_eq!(outcomes(&zeros, "wrote zeros alone"), both("inconclusive"));
    let memory = report.replace(
        r#""min":300000,"max":40000000,"mean":1500000.0,"stddev":300000.0"#,
        r#""min":300,"max":40000000,"mean":1500.0,"stddev":300.0"#,
    );
    let memory = [1_400_000, 1_700_000, 2_000_000, 2_376_000, 3_000_000]
        .iter()
        .fold(memory, |report, ns| report.replace(&format!(":{ns}"), &format!(":{}", ns / 1000)));
    assert_eq!(outcomes(&memory, "memory takes it"), both("inconclusive"));
    let jobs = report.replacen(r#""size":"22m""#, r#""size":"22m","numjobs":"32""#, 1);
    let jobs = jobs.replacen(r#""job_runtime":300000"#, r#""job_runtime":9600000"#, 1);
    let jobs = jobs.replace(r#""bw_samples":600"#, r#""bw_samples":19200"#);
    let claims = claims_of(dir.path(), "etcd", &jobs);
    assert!(
        claims.iter().any(|c| c.1 == "inconclusive" && c.2.contains("32 jobs flushed at the same time")),
        "{claims:?}"
    );
    let several = report.replacen(r#""directory":".""#, r#""filename":"/dev/vdb:/dev/vdc""#, 1);
    assert_eq!(outcomes(&several, "may be several volumes"), both("inconclusive"));
}

/// A rate that the load set is no FAIL of a need, and latencies under it are no PASS of one for full speed.
#[test]
fn a_load_that_holds_itself_back_fails_no_need_of_flushes() {
    let dir = tempfile::tempdir().unwrap();
    vendors_report(dir.path(), "etcd", 300, 2_376_000, 3_000_000, 2_000_000);
    let report = std::fs::read_to_string(dir.path().join("fio.json")).unwrap();
    let slow = report
        .replace("180000", "12000")
        .replace(&(600 * 2300).to_string(), &(40 * 2300).to_string())
        .replace(&(180_000 * 2300).to_string(), &(12_000 * 2300).to_string())
        .replace(r#""iops":600.0"#, r#""iops":40.0"#)
        .replace(
            r#""bw_min":1327,"bw_max":1367,"bw_agg":100.0,"bw_mean":1347.0"#,
            r#""bw_min":88,"bw_max":90,"bw_agg":100.0,"bw_mean":89.8"#,
        )
        .replace(r#""bw_dev":10.0"#, r#""bw_dev":0.1"#);
    let outcomes = |more: &str, report: &str| {
        let set = format!(r#""fdatasync":"1"{more}"#);
        let claims = claims_of(dir.path(), "etcd", &report.replacen(r#""fdatasync":"1""#, &set, 1));
        let of = |figure: &str| claims.iter().find(|c| c.0 == figure).unwrap_or_else(|| panic!("{claims:?}"));
        (of("flushes a second").clone(), of("p99 of flushes").1.clone())
    };
    let ((_, rate, reason), latency) = outcomes(r#","rate_iops":"40""#, &slow);
    assert_eq!((rate.as_str(), latency.as_str()), ("inconclusive", "inconclusive"), "{reason}");
    assert!(reason.contains("only 40.0 I/Os a second were asked for"), "{reason}");
    let ((_, rate, reason), latency) = outcomes(r#","thinktime":"22ms""#, &slow);
    assert_eq!((rate.as_str(), latency.as_str()), ("inconclusive", "inconclusive"), "{reason}");
    // The flushes take all of the time.
    let long = |report: &str| {
        let slower = [
            (1_400_000, 24_500_000),
            (1_700_000, 25_000_000),
            (2_000_000, 27_000_000),
            (2_376_000, 29_000_000),
        ];
        let mean =
            report.replace(r#""mean":1500000.0"#, r#""mean":24900000.0"#).replace(":3000000", ":30000000");
        slower.iter().fold(mean, |report, (from, to)| report.replace(&format!(":{from}"), &format!(":{to}")))
    };
    let ((_, rate, reason), latency) = outcomes("", &long(&slow));
    assert_eq!((rate.as_str(), latency.as_str()), ("fail", "fail"), "{reason}");
    // A thousand writes for each flush.
    let (writes, flushes) = report.split_once(r#""sync":{"#).unwrap();
    let seldom = format!(r#"{writes}"sync":{{{}"#, long(flushes).replace("180000", "180"));
    let ((_, rate, reason), latency) = outcomes("", &seldom);
    assert_eq!((rate.as_str(), latency.as_str()), ("inconclusive", "inconclusive"), "{reason}");
    assert!(reason.contains("the load flushed after 1,000 writes"), "{reason}");
}

/// Flushes without the percentile that is asked for are told as such, and not as none.
#[test]
fn flushes_without_the_percentile_that_is_asked_for_are_told() {
    let dir = tempfile::tempdir().unwrap();
    vendors_report(dir.path(), "etcd", 300, 2_376_000, 3_000_000, 2_000_000);
    let report = std::fs::read_to_string(dir.path().join("fio.json")).unwrap();
    let told = |report: &str| {
        std::fs::write(dir.path().join("fio.json"), report).unwrap();
        volproof(dir.path(), &["verdict", "fio.json", "--fit", "harvester", "-q"]).1
    };
    let found = told(&report.replace(r#""99.000000":2376000,"#, ""));
    assert!(
        found.starts_with("NOT JUDGED")
            && found.contains(
                "the report tells times of flushes, and not what is asked for: p99 of flushes within 10.0 ms"
            ),
        "{found}"
    );
    // Without flushes nothing of it is told.
    let found = told(&report.replace(r#""sync":{"#, r#""others":{"#));
    assert!(found.contains("no run of the report shows what it asks for"), "{found}");
}

//! The figures of `volproof fio` beside those of the installed fio, for the same jobs on the same file: what no clock and no chance
//! decides is equal, and whatever follows within a report from its other figures follows by the same rule in both.
//!
//! No figure that a clock decides is compared; `benches/fio-values` shows those as ratios of alternating runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The end of a job, which decides which of its figures are the same in every run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// An amount, all of it in one direction.
    Amount,
    /// An amount that chance shares out over the directions: their sums are the same.
    Shared,
    /// Time.
    Time,
}

const CASES: [(End, &str); 16] = [
    (End::Amount, "--rw=randread --size=1m --name=j"),
    (End::Amount, "--rw=write --bs=64k --size=4m --ioengine=libaio --iodepth=8 --direct=1 --name=j"),
    (End::Amount, "--rw=randread --size=1m --ioengine=io_uring --iodepth=16 --name=j"),
    (End::Amount, "--rw=randread --ioengine=null --size=16m --iodepth=16 --name=j"),
    (End::Shared, "--rw=randrw --rwmixread=70 --size=1m --name=j"),
    (End::Amount, "--rw=randread --size=1m --numjobs=3 --name=j"),
    (
        End::Amount,
        "--rw=randread --size=1m --numjobs=3 --group_reporting --ioengine=libaio --iodepth=4 --name=j",
    ),
    (
        End::Amount,
        "--size=1m --group_reporting --name=a --rw=randread --numjobs=2 --name=b --rw=randwrite --bs=16k \
         --name=c --rw=read --new_group --name=d --rw=write --stonewall --bs=8k",
    ),
    (
        End::Amount,
        "--size=1m --name=a --rw=randread --name=b --rw=randwrite --stonewall --name=c --rw=read --new_group",
    ),
    (End::Amount, "--rw=read --bs=16k --size=1m --loops=3 --name=j"),
    (End::Amount, "--rw=randwrite --size=256k --fsync=16 --end_fsync=1 --name=j"),
    (End::Amount, "--rw=write --size=256k --end_fsync=1 --name=j"),
    (End::Amount, "--rw=randread --size=1m --io_size=1536k --random_distribution=zipf:1.2 --name=j"),
    // The last block begins in the part and ends behind it; the file goes on.
    (End::Amount, "--rw=read --bs=24k --size=1m --loops=2 --name=j"),
    (End::Amount, "--rw=randread --size=1m --lat_percentiles=1 --percentile_list=50:99:99.9 --name=j"),
    (
        End::Time,
        "--rw=randread --size=4m --numjobs=2 --group_reporting --ioengine=libaio --iodepth=16 --time_based --runtime=1 --name=j",
    ),
];

/// The report of a tool on these jobs.
fn report(tool: &str, words: &str, file: &Path) -> Value {
    let mut command = match tool {
        "fio" => Command::new("fio"),
        _ => Command::new(env!("CARGO_BIN_EXE_volproof")),
    };
    if tool != "fio" {
        command.arg("fio");
    }
    let target = format!("--filename={}", file.display());
    let target = (!words.contains("=null")).then_some(target);
    let run = command
        .args(["--output-format=json", "--eta=never"])
        .args(target)
        .args(words.split(' '))
        .output()
        .unwrap();
    let (text, said) = (String::from_utf8(run.stdout).unwrap(), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{tool} {words}: {said}");
    assert!(!said.contains("runs this"), "{words}: it was left to fio: {said}");
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{tool} {words}: {e}: {text}"))
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} in {value}"))
}

fn whole(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key} in {value}"))
}

fn rows(report: &Value) -> &[Value] {
    report["jobs"].as_array().unwrap()
}

/// The directions that a row has, by name.
fn directions(row: &Value) -> impl Iterator<Item = (&'static str, &Value)> {
    ["read", "write", "trim", "mixed"].into_iter().filter_map(|d| Some((d, row.get(d)?)))
}

/// The sum of a figure over all directions of a row.
fn sum(row: &Value, key: &str) -> u64 {
    let data = directions(row).filter(|(d, _)| *d != "mixed" || row.get("read").is_none());
    data.map(|(_, s)| whole(s, key)).sum()
}

/// Rules that a report breaks.
struct Rules {
    broken: Vec<String>,
    at: String,
}

impl Rules {
    fn holds(&mut self, rule: &str, holds: bool, about: &Value) {
        if !holds {
            self.broken.push(format!("{}: {rule}: {about}", self.at));
        }
    }

    fn near(&mut self, rule: &str, a: f64, b: f64, about: &Value) {
        self.holds(
            &format!("{rule}: {a} is {b}"),
            (a - b).abs() <= 1e-5 + 2e-6 * a.abs().max(b.abs()),
            about,
        );
    }
}

/// Rules between the figures of a report that it breaks.
fn broken(report: &Value) -> Vec<String> {
    let mut rules = Rules { broken: Vec::new(), at: String::new() };
    for row in rows(report) {
        for (name, s) in directions(row) {
            rules.at = format!("{} {name}", row["jobname"]);
            of_direction(&mut rules, s);
        }
        rules.at = row["jobname"].to_string();
        of_row(&mut rules, row);
    }
    of_groups(&mut rules, report);
    rules.broken
}

fn of_direction(rules: &mut Rules, s: &Value) {
    let (ms, ios, bytes) = (whole(s, "runtime"), whole(s, "total_ios"), whole(s, "io_bytes"));
    let rate = (bytes * 1000).checked_div(ms).unwrap_or(0);
    rules.holds("io_kbytes of io_bytes", whole(s, "io_kbytes") == bytes / 1024, s);
    rules.holds("bw_bytes of io_bytes and runtime", whole(s, "bw_bytes") == rate, s);
    rules.holds("bw of bw_bytes", whole(s, "bw") == rate / 1024, s);
    rules.near("iops", number(s, "iops"), if ms > 0 { ios as f64 * 1000.0 / ms as f64 } else { 0.0 }, s);
    for kind in ["slat_ns", "clat_ns", "lat_ns"] {
        let l = &s[kind];
        let (min, max, mean) = (number(l, "min"), number(l, "max"), number(l, "mean"));
        rules.holds("latencies of all I/Os or none", [0, ios].contains(&whole(l, "N")), l);
        rules.holds("mean within its bounds", min <= mean + 1e-6 && mean <= max + 1e-6, l);
        let Some(listed) = l.get("percentile").and_then(Value::as_object) else { continue };
        // Their order is that of the document, which serde_json does not keep: by number.
        let by_percent = listed.iter().map(|(p, ns)| (p.parse::<f64>().unwrap(), ns.as_f64().unwrap()));
        let mut by_percent: Vec<_> = by_percent.collect();
        by_percent.sort_by(|a, b| a.0.total_cmp(&b.0));
        rules.holds("percentiles ascend", by_percent.is_sorted_by(|a, b| a.1 <= b.1), l);
        if whole(l, "N") > 0 {
            // A percentile is the middle of a bucket, whose half is 1/128 of it.
            let (first, last) = (by_percent[0].1, by_percent[by_percent.len() - 1].1);
            let fits = first >= min * 127.0 / 128.0 - 1.0 && last <= max * 129.0 / 128.0 + 1.0;
            rules.holds("percentiles within the bounds", fits, l);
        }
    }
    for (kind, deviation) in [("bw", "bw_dev"), ("iops", "iops_stddev")] {
        let of = |figure: &str| number(s, &format!("{kind}_{figure}"));
        rules.holds(
            "a rate within its bounds",
            of("min") <= of("mean") + 1.0 && of("mean") <= of("max") + 1.0,
            s,
        );
        rules.holds("one sample does not deviate", of("samples") > 1.0 || number(s, deviation) == 0.0, s);
    }
    rules.holds("as many samples of both", whole(s, "bw_samples") == whole(s, "iops_samples"), s);
}

fn of_row(rules: &mut Rules, row: &Value) {
    let shares = |key: &str| -> Vec<f64> {
        row[key].as_object().unwrap().values().map(|share| share.as_f64().unwrap()).collect()
    };
    let total = |key: &str| shares(key).iter().sum::<f64>();
    // What happened at all is at least 0.1 % or 0.01 %, which adds up.
    let all = |sum: f64| (99.9..=100.7).contains(&sum);
    let flushes = row.get("sync").map_or(0, |s| whole(s, "total_ios"));
    let ios = sum(row, "total_ios") as f64;
    // Flushes are in the depths, and not in what those are shares of.
    let level = total("iodepth_level") * ios / (ios + flushes as f64);
    rules.holds("depths add up", all(level), row);
    rules.holds(
        "no depth holds more than all",
        flushes > 0 || shares("iodepth_level").iter().all(|x| *x <= 100.0),
        row,
    );
    rules.holds("batches add up", all(total("iodepth_submit")) && all(total("iodepth_complete")), row);
    let bands = total("latency_ns") + total("latency_us") + total("latency_ms");
    let measured = directions(row).any(|(_, s)| whole(&s["clat_ns"], "N") > 0);
    rules.holds(
        "bands add up where latencies are kept",
        if measured { all(bands) } else { bands == 0.0 },
        row,
    );
    let longest = directions(row).map(|(_, s)| whole(s, "runtime")).max().unwrap_or(0);
    rules.holds("the jobs' run times added up", whole(row, "job_runtime") + 1 >= longest, row);
    rules.holds("elapsed covers the run", whole(row, "elapsed") * 1000 + 1000 > longest, row);
    if let (Some(mixed), Some(_)) = (row.get("mixed"), row.get("read")) {
        rules.holds("mixed is the sum", whole(mixed, "io_bytes") == sum(row, "io_bytes"), row);
    }
}

/// The rules for all rows of a group: the samples' share of what the group moved in its longest run time.
fn of_groups(rules: &mut Rules, report: &Value) {
    let mut groups: BTreeMap<(u64, &str), (u64, u64)> = BTreeMap::new();
    for row in rows(report) {
        for (name, s) in directions(row) {
            let sums = groups.entry((whole(row, "groupid"), name)).or_default();
            *sums = (sums.0 + whole(s, "io_bytes"), sums.1.max(whole(s, "runtime")));
        }
    }
    for row in rows(report) {
        for (name, s) in directions(row).filter(|(name, _)| ["read", "write"].contains(name)) {
            rules.at = format!("{} {name}", row["jobname"]);
            let (bytes, ms) = groups[&(whole(row, "groupid"), name)];
            if whole(s, "bw_samples") > 0 && bytes * 1000 / ms >= 1024 {
                let (mean, rate) = (number(s, "bw_mean"), (bytes * 1000 / ms) as f64 / 1024.0);
                rules.near("bw_agg", number(s, "bw_agg"), (mean.trunc() * 100.0 / rate).min(100.0), s);
            }
        }
    }
}

/// Figures that no clock decides, by their paths.
fn exact(end: End, words: &str, report: &Value) -> BTreeMap<String, Value> {
    let mut out = BTreeMap::new();
    for (i, row) in rows(report).iter().enumerate() {
        for key in [
            "jobname",
            "groupid",
            "error",
            "latency_depth",
            "latency_target",
            "latency_window",
            "latency_percentile",
        ] {
            out.insert(format!("{i}/{key}"), row[key].clone());
        }
        if end == End::Shared {
            for key in ["total_ios", "io_bytes", "short_ios", "drop_ios"] {
                out.insert(format!("{i}/{key} of all"), sum(row, key).into());
            }
        }
        for (d, s) in directions(row) {
            for kind in ["clat_ns", "lat_ns"] {
                let listed: Vec<String> = s[kind]
                    .get("percentile")
                    .and_then(Value::as_object)
                    .into_iter()
                    .flat_map(|p| p.keys().cloned())
                    .collect();
                out.insert(format!("{i}/{d}/{kind}/percentile"), listed.into());
            }
            if end == End::Amount {
                for key in ["total_ios", "io_bytes", "io_kbytes", "short_ios", "drop_ios"] {
                    out.insert(format!("{i}/{d}/{key}"), s[key].clone());
                }
                out.insert(
                    format!("{i}/{d}/N"),
                    Value::from([&s["clat_ns"]["N"], &s["lat_ns"]["N"]].map(Value::clone).to_vec()),
                );
            }
        }
        if let (End::Amount, Some(sync)) = (end, row.get("sync")) {
            let counts = vec![sync["total_ios"].clone(), sync["lat_ns"]["N"].clone()];
            out.insert(format!("{i}/sync"), counts.into());
        }
        if end == End::Amount && !words.contains("ioengine") {
            // One I/O at a time: nothing about the queue is left to chance.
            for key in ["iodepth_level", "iodepth_submit", "iodepth_complete"] {
                out.insert(format!("{i}/{key}"), row[key].clone());
            }
        }
    }
    out
}

fn check(end: End, words: &str) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = dir.path().join("f");
    std::fs::write(&file, vec![7; 4 << 20]).unwrap();
    let (theirs, ours) = (report("fio", words, &file), report("volproof", words, &file));
    assert_eq!(exact(end, words, &ours), exact(end, words, &theirs), "{words}");
    assert_eq!(broken(&ours), [""; 0], "{words}");
    // That they are rules of fio is what its own report shows; one that time ended may be in the middle of something.
    if end != End::Time {
        assert_eq!(broken(&theirs), [""; 0], "not rules of fio: {words}");
    }
    for row in rows(&ours).iter().filter(|_| end == End::Time) {
        let clones =
            words.split(' ').find_map(|w| w.strip_prefix("--numjobs=")).map_or(1, |n| n.parse().unwrap());
        // A machine that is busy stops them later.
        assert!(whole(row, "job_runtime") >= 1000 * clones, "a second of each job: {row}");
        assert!(whole(&row["read"], "runtime") >= 1000, "{row}");
    }
}

#[test]
fn figures_agree() {
    if Command::new("fio").arg("--version").output().is_err() {
        println!("skipped: fio is not installed");
        return;
    }
    // Most of a run is waiting.
    const TOGETHER: usize = 6;
    std::thread::scope(|scope| {
        for first in 0..TOGETHER {
            let cases = CASES.iter().skip(first).step_by(TOGETHER);
            scope.spawn(move || cases.for_each(|(end, words)| check(*end, words)));
        }
    });
}

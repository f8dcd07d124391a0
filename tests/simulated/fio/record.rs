//! Records as fio's reports: the keys and types of the installed fio, and its definitions, for the same work.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use volproof::fio::of_record::{self, ReportRow};
use volproof::fio_formats::json_syntax::JsonReader;
use volproof::fio_formats::json_value::JsonValue;
use volproof::fio_formats::output::{Output, OutputRow, Stats};
use volproof::fio_formats::{json_read, json_write};
use volproof::record::Record;
use volproof::sample::Direction;
use volproof::unit::{Bytes, Nanos};

/// Runs a plan in a folder of its own.
fn record(plan: &str, targets: &[&str]) -> Record {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    for target in targets {
        std::fs::write(dir.path().join(target), vec![7; 8 << 20]).unwrap();
    }
    let run = Command::new(env!("CARGO_BIN_EXE_volproof"))
        .arg("run")
        .args(targets)
        .args((!plan.contains("simulate")).then_some("--overwrite"))
        .args(["--plan", "plan.toml", "--continue-on-error", "--quiet", "--json", "r.json"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    // A busy machine voids figures (6), whose keys and types are the same.
    assert!(matches!(run.status.code(), Some(0 | 6)), "{}", String::from_utf8_lossy(&run.stderr));
    Record::load(&dir.path().join("r.json")).unwrap()
}

/// Every path of a document with the type of its value; keys that are figures or options are left out.
fn shape(text: &str) -> BTreeMap<String, &'static str> {
    fn walk(path: &str, value: &JsonValue<'_>, out: &mut BTreeMap<String, &'static str>) {
        let kind = match value {
            JsonValue::Number(n) if n.contains('.') => "float",
            JsonValue::Number(_) => "int",
            JsonValue::Text(_) => "text",
            JsonValue::List(_) => "list",
            JsonValue::Map(_) => "map",
            JsonValue::Null | JsonValue::Bool(_) => "odd",
        };
        out.insert(path.to_string(), kind);
        if let JsonValue::List(list) = value {
            list.iter().for_each(|v| walk(&format!("{path}[]"), v, out));
        }
        for (key, value) in value.members() {
            if !["bins", "percentile", "options"].iter().any(|end| path.ends_with(end)) {
                walk(&format!("{path}/{key}"), value, out);
            }
        }
    }
    let mut value = JsonValue::Null;
    JsonReader::new(text.as_bytes(), 0).value_into(&mut value).unwrap();
    let mut out = BTreeMap::new();
    walk("", &value, &mut out);
    out
}

fn fio(words: &str) -> Option<Output> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("f"), vec![7; 8 << 20]).unwrap();
    let run = Command::new("fio")
        .args(["--output-format=json+", "--output=out"])
        .args(words.split(' '))
        .current_dir(dir.path())
        .output();
    if run.is_err() {
        eprintln!("skipped: fio is not installed");
        return None;
    }
    Some(json_read::read(&std::fs::read(dir.path().join("out")).unwrap()).unwrap().remove(0))
}

const LIMITED: &str = "[[step]]\nname = 'j'\nrw = 'randrw'\nbs = '4k'\nio-size = '2M'\nruntime = '1h'\nnumjobs = 2\niodepth = 4\n\
                       engine = 'libaio'\nbuffered = true\nfsync = 16\n";

#[test]
fn keys_types_and_counts_are_those_of_fio() {
    let record = record(LIMITED, &["f"]);
    let ours = of_record::of_record(&record);
    let words = "--name=j --rw=randrw --bs=4k --size=2M --numjobs=2 --iodepth=4 --ioengine=libaio --fsync=16 --filename=f \
                 --group_reporting --continue_on_error=all";
    let Some(theirs) = fio(words) else { return };
    let text = json_write::write(&ours, true);
    assert_eq!(shape(&text), shape(&json_write::write(&theirs, true)));
    let (a, b) = (&ours.jobs[0], &theirs.jobs[0]);
    let all = |job: &OutputRow| {
        let moved = job.moved();
        moved.fold((0, 0), |sum, (_, s)| (sum.0 + s.ios.unwrap(), sum.1 + s.bytes.0))
    };
    // Which of them are reads is a draw; all together are not.
    assert_eq!(all(a), (1024, 4 << 20));
    assert_eq!(all(a), all(b));
    // What is written reads back as it was, save for the decimals of a figure and what JSON does not say.
    let again = json_read::read(text.as_bytes()).unwrap().remove(0);
    assert_eq!(json_write::write(&again, true), text);
}

fn stats(job: &OutputRow, d: Direction) -> &Stats {
    job.directions[d].as_ref().unwrap()
}

#[test]
fn definitions_of_a_row() {
    let plan = "[[step]]\nname = 'a'\nrw = 'randread'\nbs = '4k'\nruntime = '1600ms'\nnumjobs = 2\niodepth = 2\nengine = 'null'\n\
                simulate = { latency = '1ms' }\n\
                [[step]]\nname = 'b'\nrw = 'randwrite'\nbs = '8k'\nruntime = '1100ms'\niodepth = 1\nengine = 'null'\n\
                simulate = { latency = '2ms' }\n";
    let mut record = record(plan, &[]);
    assert_eq!(record.steps[0].workers_window_ns, Nanos::millis(3200));
    let output = of_record::of_record(&record);
    assert_eq!(
        output.jobs.iter().map(|j| (j.name.as_str(), j.group, j.members)).collect::<Vec<_>>(),
        [("a", 0, 2), ("b", 1, 1)]
    );
    let a = &output.jobs[0];
    let read = stats(a, Direction::Read);
    let ios = read.ios.unwrap();
    // Four requests of 1 ms each are always on their way.
    assert!((6380..=6400).contains(&ios), "{ios}");
    assert_eq!((read.bytes, read.runtime), (Bytes(ios * 4096), Nanos::millis(1600)));
    assert_eq!(read.iops, ios as f64 / 1.6);
    assert_eq!(read.bytes_per_second, (ios * 4096 * 1000 / 1600) as f64);
    // Run times add up over the jobs, the row's own is the longest.
    assert_eq!(a.runtime, Some(Nanos::millis(3200)));
    // Every half second of each job, without the last one.
    let (bw, iops) = (read.bandwidth_samples.unwrap(), read.iops_samples.unwrap());
    assert_eq!((bw.samples, iops.samples), (Some(6), Some(6)));
    assert!(
        (iops.mean - 4000.0).abs() < 20.0 && (bw.mean / 4096.0 - iops.mean).abs() < 1.0,
        "{iops:?} {bw:?}"
    );
    assert!(bw.share.unwrap() > 0.99 && bw.share.unwrap() <= 1.0);
    // Latencies: one bucket, which holds them all, and no time of submission alone.
    let clat = read.clat.as_ref().unwrap();
    assert_eq!((clat.min, clat.max, clat.samples), (Nanos::millis(1), Nanos::millis(1), Some(ios)));
    assert_eq!(clat.bins.iter().map(|b| b.1).sum::<u64>(), ios);
    assert_eq!(clat.percentiles.len(), 17);
    assert!(read.lat.as_ref().unwrap().percentiles.is_empty());
    assert_eq!(read.slat.as_ref().unwrap().samples, Some(0));
    assert_eq!(a.latency_ms.unwrap()[0], 1.0);
    assert!(a.depth.is_some() && a.submit.is_some() && a.complete.is_some());
    let sum: f64 = a.depth.unwrap().iter().sum();
    assert!((sum - 1.0).abs() < 0.02, "{:?}", a.depth);

    // Both steps as one group: I/Os add up, the run time is the longest, rates are of that.
    let parts: Vec<_> = record.steps.iter().map(|s| (record.plan_step(&s.name).unwrap(), s)).collect();
    let about = ReportRow { name: "a".into(), lat_percentiles: true, ..ReportRow::default() };
    let row = of_record::row(&about, &parts);
    assert_eq!((row.members, row.runtime), (3, Some(Nanos::millis(4300))));
    assert_eq!(stats(&row, Direction::Write).runtime, Nanos::millis(1100));
    let reads = stats(&row, Direction::Read);
    assert_eq!(reads.lat.as_ref().unwrap().percentiles[16], reads.clat.as_ref().unwrap().percentiles[16]);
    assert!(!Path::new("r.json").exists());

    // Jobs that ended by themselves count with their own time, also in the shares of the processors; those of old Records as the longest.
    let first = |record: &Record| of_record::of_record(record).jobs.remove(0).runtime;
    record.steps[0].workers_window_ns = Nanos::millis(2500);
    assert_eq!(first(&record), Some(Nanos::millis(2500)));
    record.steps[0].workers_window_ns = Nanos(0);
    assert_eq!(first(&record), Some(Nanos::millis(3200)));
    // What was still on its way at the end is a share of the depths, and none is above the whole.
    record.steps[0].depth.as_mut().unwrap().in_flight[1] = ios + 2;
    assert_eq!(of_record::of_record(&record).jobs[0].depth.unwrap()[1], 1.0);
}

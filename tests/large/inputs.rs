//! Inputs of any length: what fio and other tools write, and Records, with so many rows.

use std::fmt::Write;

use serde_json::{Value, json};
use volproof::fleet::part;
use volproof::input::LONGEST_SETTINGS;

/// An input of so many rows.
pub type Rows = fn(usize) -> String;

fn fixture(name: &str) -> String {
    std::fs::read_to_string(format!("tests/fixtures/{name}")).unwrap()
}

fn a_record() -> Value {
    let mut record: Value =
        serde_json::from_str(&std::fs::read_to_string("fuzz/records/simulated.json").unwrap()).unwrap();
    for steps in [&["steps"][..], &["plan", "steps"]] {
        let steps = steps.iter().fold(&mut record, |value, key| &mut value[key]);
        steps.as_array_mut().unwrap().truncate(1);
    }
    record
}

/// A Record of so many steps.
fn record_of_steps(n: usize) -> String {
    let mut record = a_record();
    let named = |steps: &Value| -> Value {
        (0..n)
            .map(|i| {
                let mut step = steps[0].clone();
                step["name"] = format!("s{i}").into();
                step
            })
            .collect()
    };
    let (steps, planned) = (named(&record["steps"]), named(&record["plan"]["steps"]));
    record["steps"] = steps;
    record["plan"]["steps"] = planned;
    record.to_string()
}

/// Lists of a value, each so many times as long.
fn longer(value: &mut Value, n: usize) {
    match value {
        Value::Object(members) => members.values_mut().for_each(|v| longer(v, n)),
        Value::Array(list) if list.len() > 3 => {
            *list = list.iter().cycle().take(list.len() * n).cloned().collect();
        }
        Value::Array(list) => list.iter_mut().for_each(|v| longer(v, n)),
        _ => {}
    }
}

/// From one step of `a_record` to the next on the machines of a fleet: its runtime and the pause.
const STEP_NS: i64 = 9_000_000_000;

/// A Record as that of one machine of so many, on a line.
fn of_machine(record: &mut Value, rank: usize, ranks: usize) -> String {
    let start = 1_795_478_445_000_000_000_i64;
    let clock = json!({"basis": "stated", "offset_ns": 0, "error_ns": 1_000_000});
    record["rank"] =
        json!({"rank": rank, "ranks": ranks, "volumes": "own", "start_unix_ns": start, "clock": clock});
    record["plan"]["seed"] = part::seed(7, rank as u32).into();
    record["environment"]["hostname"] = format!("node{rank}").into();
    let mut due = start;
    for step in record["steps"].as_array_mut().unwrap() {
        step["first_io_unix_ns"] = due.into();
        due += STEP_NS;
    }
    format!("{record}\n")
}

/// So many machines of a fleet, on a line each.
fn machines(n: usize) -> String {
    let mut record = a_record();
    (0..n).map(|rank| of_machine(&mut record, rank, n)).collect()
}

/// Two machines of a fleet that ran so many steps.
fn machines_of_steps(n: usize) -> String {
    let mut record: Value = serde_json::from_str(&record_of_steps(n)).unwrap();
    (0..2).map(|rank| of_machine(&mut record, rank, 2)).collect()
}

/// A Record of one step with so many times its samples.
fn record_of_samples(n: usize) -> String {
    let mut record = a_record();
    for target in record["steps"][0]["targets"].as_array_mut().unwrap() {
        longer(&mut target["series"], n.div_ceil(8));
    }
    record.to_string()
}

/// A Record whose lists of numbers hold so many zeros: no text of so many values is shorter.
fn record_of_zeros(n: usize) -> String {
    fn zeros(value: &mut Value, n: usize) {
        match value {
            Value::Object(members) => {
                // Buckets are gaps and counts in turn, whose sums are checked.
                members.iter_mut().filter(|(key, _)| *key != "buckets").for_each(|(_, v)| zeros(v, n));
            }
            Value::Array(list) if list.first().is_some_and(Value::is_number) => {
                *list = vec![json!(0); n * 50]
            }
            Value::Array(list) => list.iter_mut().for_each(|v| zeros(v, n)),
            _ => {}
        }
    }
    let mut record = a_record();
    for target in record["steps"][0]["targets"].as_array_mut().unwrap() {
        zeros(&mut target["series"], n);
    }
    record.to_string()
}

/// A Record with so many doubts.
fn record_of_doubts(n: usize) -> String {
    let mut record = a_record();
    let doubt = |i| {
        json!({"code": format!("c{}", i % 40), "severity": "note", "step": format!("s{i}"),
            "message": format!("text {i}"), "advice": ""})
    };
    record["warnings"] = (0..n * 5).map(doubt).collect();
    record.to_string()
}

fn fio_json(n: usize) -> String {
    let mut report: Value = serde_json::from_str(&fixture("fio/3.33-fdatasync.json")).unwrap();
    let job = report["jobs"][0].take();
    let named = |i| {
        let mut job = job.clone();
        job["jobname"] = format!("j{i}").into();
        job
    };
    report["jobs"] = (0..n).map(named).collect();
    serde_json::to_string_pretty(&report).unwrap() + "\n"
}

/// Jobs that ran one after another, each in a group of its own.
fn fio_json_of_walled_jobs(n: usize) -> String {
    let mut report: Value = serde_json::from_str(&fio_json(n)).unwrap();
    for (i, job) in report["jobs"].as_array_mut().unwrap().iter_mut().enumerate() {
        job["groupid"] = i.into();
        job["job options"]["stonewall"] = "1".into();
        job["elapsed"] = 1_000_000.into();
    }
    format!("{report}\n")
}

/// Jobs of as few bytes as a job can have.
fn fio_json_of_small_jobs(n: usize) -> String {
    let job = |i| format!(r#"{{"jobname":"j{i}","read":{{"io_bytes":4096,"total_ios":1,"runtime":1}}}}"#);
    let jobs: Vec<String> = (0..n * 4).map(job).collect();
    format!("{{\"fio version\":\"fio-3.33\",\"jobs\":[{}]}}\n", jobs.join(","))
}

/// Jobs of two servers, and the options of each.
fn fio_json_of_servers(n: usize) -> String {
    let mut report: Value = serde_json::from_str(&fixture("fio/3.33-two-servers.json")).unwrap();
    let rows = report["client_stats"].as_array().unwrap().clone();
    report["client_stats"] = rows.iter().cycle().take(n).cloned().collect();
    serde_json::to_string_pretty(&report).unwrap() + "\n"
}

fn fio_text(n: usize) -> String {
    let text = fixture("fio/3.33-fdatasync.txt");
    let row = text.find("wal: (groupid=").unwrap();
    let end = text.find("\nRun status").unwrap();
    let rows: String = (0..n).map(|i| text[row..end].replacen("wal:", &format!("j{i}:"), 1)).collect();
    text[..row].to_string() + &rows + &text[end..]
}

fn fio_terse(n: usize) -> String {
    let line = fixture("fio/3.33-deep.terse");
    let line = line.lines().next().unwrap();
    let mut fields = line.splitn(4, ';');
    let (version, fio, name, rest) =
        (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
    (0..n).fold(String::new(), |mut all, i| {
        writeln!(all, "{version};{fio};{name}{i};{rest}").unwrap();
        all
    })
}

/// ioping with so many requests of one run, one by one.
fn ioping_requests(n: usize) -> String {
    let text = fixture("foreign/ioping-direct.txt");
    let (head, last) = text.rsplit_once(": request=").unwrap();
    let row = text.lines().find(|line| line.contains("request=2")).unwrap();
    let rows = (0..n * 10).map(|i| row.replace("request=2", &format!("request={}", i + 1000)) + "\n");
    format!("{head}: request={}", last.replacen('\n', &("\n".to_string() + &rows.collect::<String>()), 1))
}

/// ioping with requests that have one number, each of a run of its own.
fn ioping_runs(n: usize) -> String {
    let text = fixture("foreign/ioping-direct.txt");
    let row = text.lines().find(|line| line.contains("request=2")).unwrap().to_string() + "\n";
    text.replacen(&row, &row.repeat(n * 10), 1)
}

/// Braces and quotes that never close.
fn unclosed(n: usize) -> String {
    r#"{"a":{"b":[{"c":"d{""#.repeat(n * 50)
}

/// Lists within lists, deeper than any report.
fn nested(n: usize) -> String {
    "{\"fio\":".to_string() + &"[".repeat(n * 1000)
}

/// One key that never ends.
fn endless_text(n: usize) -> String {
    "{\"jobs\":\"".to_string() + &"a{\\\"".repeat(n * 200)
}

/// A report that breaks off, before any number of others.
fn broken_off(n: usize) -> String {
    "{\"fio version\":\"fio-3.33\",\"jobs\":[{\"jobname\":\"a\"\n".repeat(n * 10)
}

/// Settings of many jobs: no result, but `convert` takes them.
fn job_file(n: usize) -> String {
    (0..n * 60).fold("[global]\nrw=read\nsize=1m\n".to_string(), |mut all, i| {
        writeln!(all, "[j{i}]\nbs=4k").unwrap();
        all
    })
}

/// Jobs of one name.
fn job_file_of_namesakes(n: usize) -> String {
    "[global]\nrw=read\nsize=1m\n".to_string() + &"[a]\nbs=4k\n".repeat(n * 60)
}

fn plan_file(n: usize) -> String {
    (0..n * 20).fold(String::new(), |mut all, i| {
        writeln!(all, "[[step]]\nname = 's{i}'\nrw = 'randread'\nruntime = '1s'").unwrap();
        all
    })
}

/// An input, and how much of it is kept.
pub struct Input {
    /// Its name.
    pub name: &'static str,
    /// Its text with so many rows.
    pub rows: Rows,
    /// The most of them that become steps of a Record, whatever its length.
    pub steps: usize,
    /// Bytes of the longest one whose memory is told.
    pub longest: f64,
}

/// How the names of inputs begin that are the Records of several machines, a line each.
pub const FLEET: &str = "a fleet of ";

/// The input that is judged by the time at which its jobs ran.
pub const WALLED: &str = "fio's JSON, jobs one after another";

/// Bytes of a large result.
const RESULT: f64 = 100e6;

const fn all(name: &'static str, rows: Rows) -> Input {
    Input { name, rows, steps: usize::MAX, longest: RESULT }
}

/// A report of fio, of which no more jobs become steps.
const fn jobs(name: &'static str, rows: Rows) -> Input {
    Input { name, rows, steps: 4096, longest: RESULT }
}

/// Reports of which no more are kept than `foreign` and `explain` tell.
const fn reports(name: &'static str, rows: Rows) -> Input {
    Input { name, rows, steps: 1024, longest: RESULT }
}

/// Plan and job files, and what may be one.
const fn settings(name: &'static str, rows: Rows) -> Input {
    Input { name, rows, steps: usize::MAX, longest: LONGEST_SETTINGS.0 as f64 }
}

/// All inputs. The texts of fixtures are repeated as they are: any number of reports in one file.
pub const INPUTS: [Input; 30] = [
    all("a fleet of many machines", machines),
    all("a fleet of many steps", machines_of_steps),
    all("a Record of many steps", record_of_steps),
    all("a Record of many samples", record_of_samples),
    // Eleven lists of fifty values are one row here: 32 million values are read.
    Input { name: "a Record of zeros", rows: record_of_zeros, steps: 58_200, longest: RESULT },
    all("a Record of many doubts", record_of_doubts),
    jobs("fio's JSON", fio_json),
    // Four jobs are one row here: 100,000 are kept.
    Input { name: "fio's JSON, small jobs", rows: fio_json_of_small_jobs, steps: 1024, longest: RESULT },
    jobs(WALLED, fio_json_of_walled_jobs),
    jobs("fio's JSON, servers", fio_json_of_servers),
    all("fio's JSON, many reports", |n| fixture("fio/3.33-fdatasync.json").repeat(n)),
    jobs("fio's text", fio_text),
    all("fio's text, interim reports", |n| fixture("fio/3.33-interim.txt").repeat(n.div_ceil(4))),
    all("fio's text, servers", |n| fixture("fio/3.33-two-servers.txt").repeat(n.div_ceil(4))),
    all("fio's text, groups", |n| fixture("fio/3.33-groups.txt").repeat(n.div_ceil(4))),
    jobs("fio's terse lines", fio_terse),
    all("ioping, many requests", ioping_requests),
    // Ten runs are one row here.
    Input { steps: 103, ..reports("ioping, many runs", ioping_runs) },
    reports("dd", |n| fixture("foreign/dd-direct.txt").repeat(n)),
    reports("DiskSpd", |n| fixture("foreign/diskspd-mix.txt").repeat(n)),
    reports("Iometer", |n| fixture("foreign/iometer.csv").repeat(n)),
    reports("pg_test_fsync", |n| fixture("foreign/pg_test_fsync.txt").repeat(n)),
    reports("sysbench", |n| fixture("foreign/sysbench-rndrw.txt").repeat(n)),
    settings("unclosed braces", unclosed),
    settings("lists within lists", nested),
    settings("an endless text", endless_text),
    all("reports that break off", broken_off),
    settings("a job file", job_file),
    settings("a job file of namesakes", job_file_of_namesakes),
    settings("a plan file", plan_file),
];

//! fio's jobs that mind each other, on both programs: `flow`, `exitall`, `exit_what`, `exitall_on_error`.
//!
//! What is compared is which jobs ran, which were ended, exit codes, and counts where a job that stopped holds the others at one count. A job
//! that is to be ended has a time that no test would wait for.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Bench;
use crate::devices::Loop;
use crate::fio::installed;

/// A row of the report.
#[derive(Debug, PartialEq)]
struct Row {
    name: String,
    group: u64,
    error: i64,
    ios: u64,
    runtime_ms: u64,
    /// Its `runtime`; minutes where it has none of its own.
    planned_ms: u64,
    /// It ends after 50 I/Os.
    short: bool,
}

/// How a job fared.
#[derive(Debug, PartialEq)]
enum Fate {
    /// It ran for its time or amount.
    Ran,
    /// It began, and was ended.
    Ended,
    /// It never began.
    Never,
}

impl Row {
    fn fate(&self) -> Fate {
        match self.ios {
            0 => Fate::Never,
            ios if self.short && ios == 50 => Fate::Ran,
            _ if self.runtime_ms >= self.planned_ms => Fate::Ran,
            _ => Fate::Ended,
        }
    }
}

fn programs() -> [(PathBuf, &'static [&'static str]); 2] {
    [(PathBuf::from("fio"), &[]), (env!("CARGO_BIN_EXE_volproof").into(), &["fio"])]
}

/// Exit code and rows of a command, by fio and by us, which must not hand it over.
fn both(bench: &Bench, arguments: &str) -> Vec<(Option<i32>, Vec<Row>)> {
    std::thread::scope(|threads| {
        let run = |(program, first): (PathBuf, &'static [&'static str])| {
            threads.spawn(move || {
                let out = Command::new("timeout")
                    .args(["--kill-after=2", "30"])
                    .arg(program)
                    .args(first)
                    .arg("--output-format=json")
                    .args(arguments.split_ascii_whitespace())
                    .current_dir(bench.path())
                    .stdin(Stdio::null())
                    .output()
                    .unwrap();
                let said = String::from_utf8_lossy(&out.stderr).into_owned();
                assert!(!said.contains(" runs this: "), "{said}");
                let text = String::from_utf8_lossy(&out.stdout).into_owned();
                let json = text.find("{\n").map_or("", |start| &text[start..]);
                let report: Value =
                    serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}\n{text}\n{said}"));
                (out.status.code(), report["jobs"].as_array().unwrap().iter().map(row).collect())
            })
        };
        programs().map(run).into_iter().map(|t| t.join().unwrap()).collect()
    })
}

fn row(job: &Value) -> Row {
    let number = |value: &Value| value.as_u64().unwrap();
    let own = &job["job options"];
    let seconds: u64 = own["runtime"].as_str().map_or(600, |text| text.parse().unwrap());
    Row {
        name: job["jobname"].as_str().unwrap().into(),
        group: number(&job["groupid"]),
        error: job["error"].as_i64().unwrap(),
        ios: ["read", "write"].iter().map(|d| number(&job[d]["total_ios"])).sum(),
        runtime_ms: number(&job["job_runtime"]),
        planned_ms: seconds * 1000,
        short: own["number_ios"].is_string(),
    }
}

/// Fates of the jobs, the same with both.
#[track_caller]
fn fates(bench: &Bench, arguments: &str, expected: &[(&str, Fate)]) {
    for (program, (code, rows)) in ["fio", "volproof"].iter().zip(both(bench, arguments)) {
        let found: Vec<(&str, Fate)> = rows.iter().map(|r| (r.name.as_str(), r.fate())).collect();
        assert_eq!(found, expected, "{program} {arguments}\n{rows:#?}");
        assert_eq!(code, Some(0), "{program} {arguments}");
    }
}

/// Jobs of the null engine at 1000 I/Os a second, for minutes where nothing else is said.
const PACED: &str = "--ioengine=null --size=100g --thread --time_based --runtime=600 --rate_iops=1000";
/// Ends a job after 50 I/Os.
const SHORT: &str = "--time_based=0 --number_ios=50";

#[test]
fn exitall_ends_whom_fio_ends() {
    if !installed() {
        return;
    }
    let bench = Bench::new();
    use Fate::{Ended, Never, Ran};
    for (jobs, expected) in [
        // Named by any job it holds for all, even as 0.
        ("--name=a SHORT --name=b --exitall", vec![("a", Ran), ("b", Ended)]),
        ("--name=a SHORT --exitall=0 --name=b", vec![("a", Ran), ("b", Ended)]),
        // A stonewall begins a group, which goes on.
        (
            "--name=a SHORT --exitall --name=b --name=c --stonewall --runtime=1",
            vec![("a", Ran), ("b", Ended), ("c", Ran)],
        ),
        ("--name=a SHORT --exitall --name=b --new_group --runtime=1", vec![("a", Ran), ("b", Ran)]),
        (
            "--name=a SHORT --exitall --exit_what=all --name=b --new_group --name=c --stonewall",
            vec![("a", Ran), ("b", Ended), ("c", Never)],
        ),
        (
            "--name=a SHORT --exitall --exit_what=stonewall --name=b --new_group \
             --name=c --new_group --startdelay=1 --runtime=1 --name=d --stonewall --runtime=1",
            vec![("a", Ran), ("b", Ended), ("c", Ran), ("d", Ran)],
        ),
        // What was ended ends others in turn.
        (
            "--name=a SHORT --exitall --name=b --exit_what=all --name=c --new_group",
            vec![("a", Ran), ("b", Ended), ("c", Ended)],
        ),
        // What would have begun later never does, nor does what waits for it.
        (
            "--name=a SHORT --exitall --name=b --startdelay=300 --name=c --new_group --wait_for=b",
            vec![("a", Ran), ("b", Never), ("c", Never)],
        ),
        ("--name=a SHORT --exitall --name=b --wait_for=a", vec![("a", Ran), ("b", Never)]),
        // Each clone is a job.
        ("--name=a SHORT --exitall --name=b --numjobs=2", vec![("a", Ran), ("b", Ended), ("b", Ended)]),
    ] {
        let jobs = jobs.replace("SHORT", SHORT);
        fates(&bench, &format!("{PACED} {jobs}"), &expected);
    }
}

#[test]
fn an_error_ends_others_where_that_job_says_so() {
    if !installed() {
        return;
    }
    let bench = Bench::new();
    let file = bench.file("disk", 2);
    let Some(disk) = Loop::over(&file) else { return };
    // Its second half is gone: reads there fail.
    std::fs::File::options().write(true).open(&file).unwrap().set_len(1 << 20).unwrap();
    bench.file("good", 1);
    let bad = format!(
        "--ioengine=psync --direct=1 --rw=read --bs=16k --time_based --name=bad --filename={} --size=2m --rate_iops=200 --runtime=600",
        disk.path()
    );
    let good = |name: &str, seconds: u32| {
        format!("--name={name} --filename=good --direct=0 --size=1m --rate_iops=1000 --runtime={seconds}")
    };
    for (more, others, expected) in [
        ("", good("b", 1), vec![Fate::Ran]),
        ("", good("b", 1) + " --exitall_on_error", vec![Fate::Ran]),
        ("--exitall_on_error", good("b", 600), vec![Fate::Ended]),
        ("--exitall", good("b", 600), vec![Fate::Ended]),
        (
            "--exitall_on_error --exit_what=all",
            good("b", 600) + " --new_group " + &good("c", 600) + " --stonewall",
            vec![Fate::Ended, Fate::Never],
        ),
    ] {
        let ran = both(&bench, &format!("{bad} {more} {others}"));
        for (program, (code, rows)) in ["fio", "volproof"].iter().zip(&ran) {
            let fates: Vec<Fate> = rows[1..].iter().map(Row::fate).collect();
            assert_eq!(fates, expected, "{program} {more} {others}\n{rows:#?}");
            assert_eq!((*code, rows[0].error), (Some(1), 5), "{program} {more} {others}\n{rows:#?}");
        }
        let groups = |rows: &[Row]| rows.iter().map(|r| (r.name.clone(), r.group)).collect::<Vec<_>>();
        assert_eq!(groups(&ran[0].1), groups(&ran[1].1));
    }
}

/// One job stops after 20 I/Os and leaves last, so the others stop at what fio's rule gives them.
#[test]
fn a_flow_holds_jobs_where_fio_holds_them() {
    if !installed() {
        return;
    }
    let bench = Bench::new();
    bench.file("f.dat", 1);
    for (weights, engine) in
        [(&[1u64, 1, 8][..], "null"), (&[7, 3], "psync"), (&[2, 1, 1], "libaio --iodepth=4")]
    {
        let file = if engine == "null" { "--size=1m" } else { "--filename=f.dat --size=1m" };
        let mut line = format!(
            "--ioengine={engine} {file} --rw=randread --norandommap --thread --time_based --runtime=3 --flow_id=5 --flow_sleep=50 \
             --name=stops --iodepth=1 --thinktime=4s --thinktime_blocks=20 --flow={}",
            weights[0]
        );
        for (i, weight) in weights[1..].iter().enumerate() {
            line += &format!(" --name=job{i} --runtime=2 --flow={weight}");
        }
        let ran = both(&bench, &line);
        for (program, (code, rows)) in ["fio", "volproof"].iter().zip(&ran) {
            assert_eq!(*code, Some(0), "{program} {line}");
            assert_eq!(rows[0].ios, 20, "{program} {line}\n{rows:#?}");
            for (row, weight) in rows[1..].iter().zip(&weights[1..]) {
                // Its due, one more for each job, and again when another has left.
                let due = 20.0 * *weight as f64 / weights[0] as f64;
                let most = due + 2.0 * (*weight as f64 + 1.0);
                assert!((due - 2.0..=most).contains(&(row.ios as f64)), "{program} {line}\n{rows:#?}");
            }
        }
    }
}

/// The job file of fio's own example, for a second and on a small file.
#[test]
fn the_example_keeps_its_ratio() {
    if !installed() {
        return;
    }
    let bench = Bench::new();
    bench.file("f.dat", 4);
    let line = "--norandommap --thread --time_based --runtime=1 --direct=1 --ioengine=libaio --iodepth=256 --size=4m --bs=8k \
                --filename=f.dat --flow_sleep=1000 --name=job2 --rw=write --flow=1 --name=job1 --rw=randread --flow=8";
    for (program, (code, rows)) in ["fio", "volproof"].iter().zip(both(&bench, line)) {
        assert_eq!(code, Some(0));
        let [one, eight] = [rows[0].ios, rows[1].ios];
        // What is in flight at the end, and what the second one does after the first has ended, belongs to no ratio: a queue each.
        let off = (eight as f64 - 8.0 * one as f64).abs();
        assert!(one > 0 && off <= 2.0 * 8.0 * 256.0, "{program}: {one} and {eight}");
    }
}

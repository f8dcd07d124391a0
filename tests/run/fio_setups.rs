//! `volproof fio` beside the installed fio: what each makes of set-ups at the edge, and the line that they show while they run.

use std::process::Command;

use serde_json::Value;

use crate::{Bench, Ran, fits};

/// fio's own run; nothing where it is not installed.
fn fio(bench: &Bench, line: &[&str]) -> Option<Ran> {
    if volproof::fio::installed::find(&std::env::var_os("PATH").unwrap_or_default()).is_none() {
        println!("skipped: fio is not installed, nobody judges");
        return None;
    }
    Some(Ran::of(Command::new("fio").args(line).current_dir(bench.path()).output().unwrap()))
}

fn ours(bench: &Bench, line: &[&str]) -> Ran {
    bench.run(&[&["fio"], line].concat())
}

/// Exit code and reads.
fn reads(ran: &Ran) -> (Option<i32>, u64) {
    let from = ran.out.find("{\n").unwrap_or(ran.out.len());
    let report = serde_json::from_str::<Value>(&ran.out[from..]).unwrap_or_default();
    (ran.code, report["jobs"][0]["read"]["total_ios"].as_u64().unwrap_or(0))
}

#[test]
fn parts_at_the_edge_of_a_file() {
    let bench = Bench::new();
    bench.file("old", 1);
    for more in [
        &["--size=300k", "--bs=128k"][..],
        &["--size=1000k", "--bs=128k"],
        &["--size=300k", "--bs=128k", "--rw=randread"],
        &["--size=300k", "--bs=128k", "--offset=100k"],
        &["--size=300k", "--bs=128k", "--loops=3"],
        &["--size=1m", "--bs=2m"],
        &["--bs=2m"],
        &["--offset=1020k"],
        &["--offset=1020k", "--bs=8k"],
        &["--offset=1m"],
        &["--offset=100%"],
        &["--offset=2m"],
        &["--offset=150%"],
        &["--offset=99%"],
        &["--size=50%", "--offset=50%"],
        &["--io_size=150%"],
        &["--size=0%"],
        &["--filesize=512k"],
        &["--filesize=1m", "--offset=256k"],
        &["--filesize=1m", "--ioengine=null"],
        &["--filesize=1m", "--nrfiles=2", "--ioengine=null"],
        &["--filesize=0"],
    ] {
        let line = [&["--name=j", "--filename=old", "--output-format=json"], more].concat();
        let Some(judge) = fio(&bench, &line) else { return };
        assert_eq!(reads(&ours(&bench, &line)), reads(&judge), "{more:?}");
    }
    // fio would write until the filesystem is full.
    ours(&bench, &["--name=j", "--filename=old", "--rw=write", "--size=200%"])
        .ended(1)
        .says(&["size", "200%"]);
}

/// The whole status lines, with every rate and time as `#`.
fn statuses(ran: &Ran) -> Vec<String> {
    let lines = ran.out.split(['\r', '\n']).map(str::trim_end);
    let whole = lines.filter(|l| l.starts_with("Jobs: ") && l.contains("[eta"));
    let shapes: Vec<String> = whole.map(shape_of).collect();
    assert!(!shapes.is_empty(), "no status line in:\n{}", ran.out);
    shapes
}

/// A status line with every rate and time as `#`.
fn shape_of(line: &str) -> String {
    let (head, tail) = line.split_once("][").unwrap();
    let mut shape = String::new();
    // Nobody knows the share yet.
    let tail = tail.replace("-.-", "0");
    for c in tail.chars().filter(|c| !matches!(c, '.' | 'k' | 'K' | 'M' | 'G')) {
        match c {
            '0'..='9' if shape.ends_with('#') => {}
            '0'..='9' => shape.push('#'),
            c => shape.push(c),
        }
    }
    format!("{head}][{shape}")
}

#[test]
fn the_status_line_has_fios_form() {
    let bench = Bench::new();
    for (more, line) in [
        (&["--rate_iops=200"][..], "Jobs: 1 (f=1), 0-200 IOPS: [R(1)][#%][r=#iB/s][r=# IOPS][eta #m:#s]"),
        (
            &["--rw=randrw", "--rate_iops=200"],
            "Jobs: 1 (f=1), 0-400 IOPS: [m(1)][#%][r=#iB/s,w=#iB/s][r=#,w=# IOPS][eta #m:#s]",
        ),
        (
            &["--rw=randwrite", "--rate=1m", "--numjobs=2", "--runtime=3"],
            "Jobs: 2 (f=2), 0B/s-2048KiB/s: [w(2)][#%][w=#iB/s][w=# IOPS][eta #m:#s]",
        ),
    ] {
        let common = ["--name=j", "--size=4m", "--time_based", "--runtime=3", "--eta=always"];
        let asked = [&common[..], more].concat();
        assert_eq!(statuses(&ours(&bench, &asked).ended(0)).last().unwrap(), line);
        let Some(judge) = fio(&bench, &asked) else { return };
        // A line of fio may come when a clone has ended already, or before fio has rates to print.
        let judge = statuses(&judge.ended(0));
        assert!(judge.iter().any(|l| l == line), "{judge:#?}");
    }
}

#[test]
fn messages_have_fios_names_and_fit() {
    let bench = Bench::new();
    for (more, words) in [
        (&["--bs=100", "--direct=1"][..], "--direct=0"),
        (&["--cpus_allowed=1023"], "--cpus_allowed"),
        (&["--allow_file_create=0"], "allow_file_create=0 (j)"),
        (&["--rw=sideways"], "randtrimwrite"),
    ] {
        let ran = ours(&bench, &[&["--name=j", "--size=64k"], more].concat()).ended(1).says(&[words]);
        fits(&ran.err);
        for foreign in ["--buffered", "--cpus ", "step '", "--file-size"] {
            assert!(!ran.err.contains(foreign), "{}", ran.err);
        }
    }
}

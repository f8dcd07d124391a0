//! `volproof fio` beside the installed fio: what each makes of set-ups at the edge, and the line that they show while they run.

use std::process::Command;

use serde_json::Value;

use crate::run::{Bench, Ran, fits};

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

#[test]
fn progress_is_shown_where_fio_would_show_its_status_line() {
    let bench = Bench::new();
    let line = ["--name=j", "--size=4m", "--time_based", "--runtime=1", "--rate_iops=200"];
    ours(&bench, &[&line[..], &["--eta=always"]].concat()).ended(0).says(&["[1/1] j, 1 s"]);
    assert!(!ours(&bench, &line).ended(0).err.contains("[1/1]"));
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

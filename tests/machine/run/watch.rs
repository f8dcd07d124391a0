//! A watch of a loop device beside a small load, its file, and what it refuses.

use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use volproof_watch::{WatchAnswer, WatchHistory};

use crate::run::Bench;
use crate::run::devices::Loop;

/// The file of a watch.
fn history(path: &Path) -> WatchHistory {
    WatchHistory::read(&std::fs::read(path).unwrap()).unwrap()
}

/// A watch that has begun: its file is there.
fn watch(bench: &Bench, disk: &str, more: &[&str]) -> Child {
    let words = ["watch", disk, "--file", "disk.watch", "--for", "5m"];
    let child = bench
        .command(&[&words[..], more].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let file = bench.path().join("disk.watch");
    let until = Instant::now() + Duration::from_secs(60);
    let begun = || std::fs::read(&file).is_ok_and(|bytes| WatchHistory::read(&bytes).is_ok());
    while !begun() {
        assert!(Instant::now() < until, "the watch did not begin");
        sleep(Duration::from_millis(20));
    }
    child
}

#[test]
fn a_watch_counts_the_load_of_others_and_goes_on_with_its_file() {
    let bench = Bench::new();
    let Some(disk) = Loop::over(&bench.file("disk", 64)) else { return };
    let load = ["--rw", "randread", "--bs", "4k", "--runtime", "2s", "--ramp", "0", "--json", "r.json"];
    let mut child = watch(&bench, disk.path(), &["--openmetrics", "m.prom"]);
    bench.run(&[&["run", disk.path()], &load[..]].concat()).ended(0);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert!(child.wait().unwrap().success());
    let ios = bench.record().steps[0].read.as_ref().unwrap().ios;
    let counted = WatchAnswer::of_history(&history(&bench.path().join("disk.watch"))).total.counts[0].ios;
    assert!(counted > 0, "the watch counted nothing beside {ios} I/Os");
    let metrics = std::fs::read_to_string(bench.path().join("m.prom")).unwrap();
    assert!(metrics.contains("volproof_watch_ios_total{") && metrics.ends_with("# EOF\n"), "{metrics}");

    // Killed, with a torn end, and started again.
    let mut child = watch(&bench, disk.path(), &[]);
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    let path = bench.path().join("disk.watch");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend([7, 0, 1, 2, 3]);
    std::fs::write(&path, bytes).unwrap();
    let again = bench.run(&["watch", disk.path(), "--file", "disk.watch", "--for", "1s"]);
    again.ended(0).says(&["5 bytes at the end"]);
    let whole = history(&path);
    assert_eq!((whole.torn_bytes, whole.damaged_bytes), (0, 0));
    assert!(whole.spans.iter().map(|span| span.counts[0].ios).sum::<u64>() >= counted);
    let shown = bench.run(&["show", "disk.watch"]).ended(0);
    assert!(shown.out.contains("demand") && !shown.out.contains("proven"), "{}", shown.out);
    bench.run(&["verdict", "disk.watch", "--promise", "aws:gp3"]).ended(2).says(&["is the file of a watch"]);
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let bench = Bench::new();
    let Some(disk) = Loop::over(&bench.file("disk", 64)) else { return };
    let refused = |words: &[&str], said: &str| {
        let ran = bench.run(&[&["watch"], words, &["--for", "100ms"]].concat()).says(&[said]);
        assert_ne!(ran.code, Some(0), "{words:?}");
    };
    refused(&["/dev/no-such-disk"], "/dev/no-such-disk");
    refused(&["/proc"], "no block device");
    // A promise that does not fit the size.
    refused(&[disk.path(), "--promise", "aws:gp3", "--volume-size", "1GiB", "--iops", "16000"], "16");
    refused(&[disk.path(), "--promise", "aws:st1", "--volume-size", "1GiB"], "125");
    refused(
        &[disk.path(), "--promise", "aws:gp3", "--volume-size", "9GiB", "--tolerance", "3"],
        "--tolerance",
    );
    refused(&[disk.path(), "--file", disk.path()], "device");
    std::fs::write(bench.path().join("notes"), "somebody's text").unwrap();
    refused(&[disk.path(), "--file", "notes"], "no file of `volproof watch`");
    assert_eq!(std::fs::read(bench.path().join("notes")).unwrap(), b"somebody's text");
    // The file of another volume.
    bench.run(&["watch", disk.path(), "--for", "100ms", "--file", "one.watch"]).ended(0);
    let Some(other) = Loop::over(&bench.file("other", 64)) else { return };
    refused(&[other.path(), "--file", "one.watch"], "is the watch of");
}

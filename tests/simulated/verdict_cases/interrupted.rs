//! Ctrl-C while a run tries a missed promise under more load.

use std::process::Stdio;
use std::time::Duration;

use volproof::record::{Record, State};

use crate::verdict_cases::lab::Lab;

#[test]
fn what_was_measured_before_an_interrupted_confirming_step_is_kept_and_goes_on() {
    let lab = Lab::new();
    // 2,000 of 41,800 IOPS at first; 40,000 at 4,096 in flight, in 2.4 million I/Os.
    let words = "run --simulate latency=1ms,iops-cap=40000 --rw randread --bs 4k --iodepth 2 --runtime 60s --offline --json r.json \
                 --promise alibaba:cloud_essd.PL1 --volume-size 800GiB --budget 60s";
    let mut child = lab.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let path = lab.path().join("r.json");
    while Record::load(&path).map_or(0, |record| record.steps.len()) < 1 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was interrupted");
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let out = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(out.status.code(), Some(130), "{said}");
    let record = Record::load(&path).unwrap();
    assert_eq!((&record.state, record.steps[0].name.contains("confirm")), (&State::Interrupted, false));
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("run --resume"), "{said}");
    let out = lab.volproof("run --resume r.json --json s.json -q");
    assert_eq!(out.status.code(), Some(1), "{}", String::from_utf8_lossy(&out.stderr));
    let resumed = Record::load(&lab.path().join("s.json")).unwrap();
    assert!(resumed.steps[0].earlier_run.is_some(), "the finished step is not measured again");
    assert!(resumed.steps[1].name.contains("confirm"), "{:?}", resumed.steps[1].name);
}

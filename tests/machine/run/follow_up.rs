//! `run --promise` goes on after the steps of its plan: the missed promise under more load, and the experiments on its cause.

use std::io::BufReader;

use rustix::process::{Pid, Signal, kill_process};
use volproof::record::{Cause, CauseFinding, NotTried, Outcome, Record, State};

use crate::run::signals::{finish, wait_for};
use crate::run::{Bench, Ran};

/// A type with 3,000 IOPS at this size, and no promise of time.
const PROMISE: [&str; 5] = ["--promise", "alibaba:cloud_essd.PL1", "--volume-size", "24GiB", "--offline"];
/// Time for the confirming step, and for no experiment on the cause.
const CONFIRM_ALONE: &str = "--budget=60s";

/// The words of a run with 16 in flight on a volume with a smooth cap.
fn words<'a>(device: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let load =
        ["run", "--rw", "randread", "--iodepth", "16", "--ramp", "0s", "--runtime", "60s", "--simulate"];
    [&load[..], &[device, "--json", "r.json"], &PROMISE, more].concat()
}

fn capped(iops: u32) -> String {
    format!("latency=600us,jitter=200us,cap-period=1ms,iops-cap={iops}")
}

fn names(record: &Record) -> Vec<&str> {
    record.steps.iter().map(|step| step.name.as_str()).collect()
}

/// The text of a result, without its line breaks.
fn flat(ran: &Ran) -> String {
    ran.out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The reason of the only promise.
fn reason(record: &Record) -> &str {
    &record.verdict.as_ref().unwrap().claims[0].reason
}

#[test]
fn a_missed_promise_fails_in_one_command() {
    for share in [10, 50, 90] {
        let bench = Bench::new();
        let ran = bench.run(&words(&capped(30 * share), &[CONFIRM_ALONE])).ended(1);
        let record = bench.record();
        assert_eq!(names(&record), ["randread", "randread-confirm"], "{share} %");
        assert_eq!(record.outcome, Some(Outcome::Fail));
        assert!(reason(&record).starts_with("16 -> 1,500 in flight: "), "{}", reason(&record));
        assert!(flat(&ran).contains("too little load 16 -> 1,500 in flight"), "{}", ran.out);
    }
    let bench = Bench::new();
    bench.run(&words(&capped(3000), &[])).ended(0);
    assert_eq!(
        (names(&bench.record()).as_slice(), bench.record().outcome),
        (&["randread"][..], Some(Outcome::Pass))
    );
}

#[test]
fn a_fail_names_the_cap_that_experiments_show() {
    let bench = Bench::new();
    let ran = bench.run(&words(&capped(300), &[])).ended(1);
    let record = bench.record();
    let rows = &record.causes.as_ref().unwrap().rows;
    let of = |cause: Cause| rows.iter().find(|row| row.cause == cause).unwrap().finding;
    assert_eq!(of(Cause::TooLittleLoad), CauseFinding::Excluded);
    assert_eq!(of(Cause::Cap), CauseFinding::Shown);
    assert!(flat(&ran).contains("YES cap on IOPS"), "{}", ran.out);
}

/// What one command does, two do as well.
#[test]
fn a_run_without_follow_up_is_decided_by_its_resumption() {
    for (iops, outcome) in [(300, Outcome::Fail), (2700, Outcome::Fail)] {
        let device = capped(iops);
        let bench = Bench::new();
        let code = bench.run(&words(&device, &[CONFIRM_ALONE])).code;
        let whole = bench.record();
        assert_eq!(whole.outcome, Some(outcome));

        let bench = Bench::new();
        let ran = bench.run(&words(&device, &["--no-follow-up"])).ended(5);
        assert!(flat(&ran).contains("run volproof run --resume r.json"), "{}", ran.out);
        assert_eq!(names(&bench.record()), ["randread"]);
        let resumed = bench.run(&["run", "--resume", "r.json", "--json", "s.json", CONFIRM_ALONE]);
        assert_eq!(resumed.code, code, "{}", resumed.err);
        let record = Record::load(&bench.path().join("s.json")).unwrap();
        assert_eq!((names(&record), record.outcome), (names(&whole), whole.outcome));
        assert_eq!(reason(&record), reason(&whole));
    }
}

/// A volume that needs a deep queue keeps its promise there, and the answer says what that took.
#[test]
fn a_promise_that_more_load_keeps_is_kept() {
    let bench = Bench::new();
    bench.run(&words("latency=20ms,iops-cap=3000,cap-period=1ms", &["--no-follow-up"])).ended(5);
    bench.run(&["run", "--resume", "r.json", "--json", "s.json"]).ended(0);
    let record = Record::load(&bench.path().join("s.json")).unwrap();
    assert_eq!(names(&record)[..3], ["randread", "randread-confirm", "randread-again"], "A B A");
    assert!(reason(&record).contains("in flight keep it") && reason(&record).contains("16 in flight gave"));
}

#[test]
fn a_budget_that_is_too_small_is_named_as_the_reason() {
    let bench = Bench::new();
    let ran = bench.run(&words(&capped(300), &["--budget", "30s"])).ended(5);
    assert_eq!(names(&bench.record()), ["randread"]);
    let said = flat(&ran);
    assert!(said.contains("1,500 in flight decide") && said.contains("--budget 30 s has no time"), "{said}");
    bench.run(&["run", "--resume", "r.json", "--json", "s.json", CONFIRM_ALONE]).ended(1);
}

#[test]
fn an_interrupted_confirming_step_keeps_what_was_before_it() {
    let bench = Bench::new();
    let device = capped(300);
    // An hour of virtual time takes long enough to be interrupted.
    let hour = words(&device, &["--no-live"]).into_iter().map(|w| if w == "60s" { "1h" } else { w });
    let mut child = bench.start(&hour.collect::<Vec<_>>());
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let seen = wait_for(&mut err, "randread-confirm");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    finish(child, err, seen).ended(130);
    let record = bench.record();
    assert_eq!(record.state, State::Interrupted);
    assert_eq!(names(&record)[0], "randread");
    assert!(record.steps[0].read.as_ref().unwrap().ios > 1_000_000, "all of its hour");
    bench.run(&["run", "--resume", "r.json", "--json", "s.json", "--budget", "1h"]).ended(1);
    let resumed = Record::load(&bench.path().join("s.json")).unwrap();
    assert_eq!(names(&resumed), ["randread", "randread-confirm"]);
    assert!(resumed.steps[0].earlier_run.is_some() && resumed.steps[1].earlier_run.is_none());
}

#[test]
fn a_plan_says_what_the_follow_up_may_take() {
    let bench = Bench::new();
    let device = capped(300);
    let plan = |more: &[&'static str]| {
        let words = words(&device, more);
        let words = words.iter().filter(|w| !["--json", "r.json"].contains(w));
        flat(&bench.run(&std::iter::once("plan").chain(words.skip(1).copied()).collect::<Vec<_>>()).ended(0))
    };
    let said = plan(&[]);
    assert!(
        said.contains("follow-up at most 12 min 00 s more")
            && said.contains("why after a FAIL at most 5 min"),
        "{said}"
    );
    let said = plan(&["--budget", "70s"]);
    assert!(said.contains("follow-up at most 1 min 10 s more"), "{said}");
    let said = plan(&["--no-follow-up"]);
    assert!(!said.contains("follow-up at most") && !said.contains("after a FAIL"), "{said}");
}

#[test]
fn a_share_of_time_needs_a_promise() {
    let bench = Bench::new();
    let line = ["run", "--simulate", "latency=1ms", "--rw", "randread", "--min-share", "99%"];
    bench.run(&line).ended(2).says(&["--min-share has no effect without --promise"]);
}

/// On a file some experiments cannot be done: each has a line with its reason. A busy machine may void the measurement, and with it all of them.
#[test]
fn why_on_a_file_says_which_experiments_it_cannot_do() {
    let bench = Bench::new();
    bench.file("f.dat", 8);
    let line =
        ["run", "f.dat", "--rw", "randread", "--runtime", "1s", "--ramp", "0s", "--why", "--budget", "1s"];
    let ran = bench.run(&[&line[..], &["--json", "r.json"], &PROMISE[..5]].concat());
    let record = bench.record();
    let rows = &record.causes.as_ref().unwrap().rows;
    let why = |cause: Cause| rows.iter().find(|row| row.cause == cause).unwrap().not_tried;
    assert!(matches!(why(Cause::KernelSettings), Some(NotTried::AFile | NotTried::NotValid)), "{rows:?}");
    assert!(
        matches!(why(Cause::VolumeOrInstance), Some(NotTried::OneTarget | NotTried::NotValid)),
        "{rows:?}"
    );
    assert!(rows.iter().all(|row| row.not_tried.is_some() == (row.finding == CauseFinding::NotTried)));
    assert!(flat(&ran).contains("not tried: "), "{}", ran.out);
}

/// The command under an open verdict on another promise names that promise, and decides it.
#[test]
fn the_command_for_another_promise_decides_it() {
    let bench = Bench::new();
    bench.run(&words(&capped(2500), &[CONFIRM_ALONE])).ended(1);
    assert_eq!(names(&bench.record()).len(), 2);
    let other = ["--promise", "aws:gp3", "--volume-size", "100GiB", "--iops", "12000", "--tolerance", "1"];
    let told = bench.run(&[&["verdict", "r.json"][..], &other].concat()).ended(5);
    let told = flat(&told);
    assert!(told.contains("in flight gave 2,500 IOPS") && !told.contains("16 in flight gave"), "{told}");
    let command = "run --resume r.json --promise aws:gp3 --volume-size 100GiB --iops 12000 --tolerance 1";
    assert!(told.contains(command), "{told}");
    let command: Vec<&str> = command.split(' ').collect();
    // Both confirming steps.
    bench.run(&[&command[..], &["--json", "s.json", "--budget=120s"]].concat()).ended(1);
    let decided = Record::load(&bench.path().join("s.json")).unwrap();
    assert!(reason(&decided).contains("16 -> 4,096 in flight"), "{}", reason(&decided));
}

/// The Record has the promise: nobody types it again. Without one there is nothing to conclude.
#[test]
fn a_resumed_run_takes_the_promise_from_its_record() {
    let bench = Bench::new();
    bench.run(&words(&capped(300), &["--no-follow-up"])).ended(5);
    let again = ["run", "--resume", "r.json", "--until-conclusive", "--json", "s.json", CONFIRM_ALONE];
    bench.run(&again).ended(1);
    let alone = ["run", "--simulate", "latency=1ms", "--rw", "randread", "--until-conclusive"];
    bench.run(&alone).ended(2).says(&["--until-conclusive has no effect without --promise"]);
}

#[test]
fn a_volume_that_hangs_is_no_subject_of_experiments() {
    let bench = Bench::new();
    let device = "latency=600us,iops-cap=300,cap-period=1ms,stall-at=55s,stall-for=10m";
    let ran = bench.run(&words(device, &["--budget", "2m"]));
    let record = bench.record();
    let rows = &record.causes.as_ref().unwrap().rows;
    assert!(rows.iter().all(|row| row.not_tried == Some(NotTried::Faulty)), "{}", ran.out);
    assert_eq!(names(&record), ["randread"]);
}

//! Steps that mind each other: shares of a flow, and steps that end with others.
//!
//! Counts and order are asserted, never how long anything took: a step of hours that is in the Record was ended.

use volproof::plan::Reach;
use volproof::record::{Record, State, StepRecord};
use volproof::unit::Nanos;

use crate::{Bench, Ran, fits};

fn run(bench: &Bench, plan: &str, arguments: &[&str]) -> Ran {
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    bench.run(&[&["run", "--plan", "p.toml", "--json", "r.json"], arguments].concat())
}

fn step<'a>(record: &'a Record, name: &str) -> &'a StepRecord {
    record.steps.iter().find(|s| s.name == name).unwrap_or_else(|| panic!("no step '{name}'"))
}

fn ios(record: &Record, name: &str) -> u64 {
    let step = step(record, name);
    step.directions().map(|(_, s)| s.ios).sum::<u64>() + step.drained_ios
}

/// Who ended each step, by name.
fn ended(record: &Record) -> Vec<(&str, Option<&str>)> {
    record.steps.iter().map(|s| (s.name.as_str(), s.ended_by.as_deref())).collect()
}

fn not_run(record: &Record) -> Vec<(&str, &str)> {
    record.not_run.iter().map(|n| (n.step.as_str(), n.ended_by.as_str())).collect()
}

/// One job of the flow stops after 100 I/Os and leaves last, so the others have to stop at what that is worth to them.
#[test]
fn jobs_of_a_flow_wait_for_each_other() {
    let bench = Bench::new();
    bench.file("f.dat", 8);
    for (engine, depth, sleep) in [("psync", 1, "0s"), ("io_uring", 16, "0s"), ("libaio", 4, "200us")] {
        let plan = format!(
            "[defaults]\nengine = '{engine}'\niodepth = {depth}\nrw = 'randread'\nbuffered = true\nruntime = '1500ms'\n\
             [[step]]\nname = 'stops'\nruntime = '3s'\niodepth = 1\n\
             flow = {{ id = 7, weight = 2 }}\nthink = {{ time = '1h', blocks = 100 }}\n\
             [[step]]\nname = 'one'\nstart = 'with-previous'\nflow = {{ id = 7, weight = 1, sleep = '{sleep}' }}\nnumjobs = 2\n\
             [[step]]\nname = 'eight'\nstart = 'with-previous'\nflow = {{ id = 7, weight = 8, sleep = '{sleep}' }}\n\
             [[step]]\nname = 'free'\nstart = 'with-previous'\nflow = {{ id = 8, weight = 1 }}\n"
        );
        let ran = run(&bench, &plan, &["f.dat"]).ended(0);
        let record = bench.record();
        assert_eq!(ios(&record, "stops"), 100, "{engine}");
        let (one, eight) = (ios(&record, "one"), ios(&record, "eight"));
        // 50 for each weight of 1, up to one more for each of the four jobs, and that again when the first of them has left.
        assert!((98..=106).contains(&one), "{engine}: {one}");
        assert!((396..=420).contains(&eight), "{engine}: {eight}");
        assert!(ios(&record, "free") > 1000, "{engine}: the other flow has one job, which waits for nobody");
        assert!(!ran.out.contains("depth-not-reached"), "{}", ran.out);
    }
}

#[test]
fn a_flow_shares_a_disk_by_weight_until_a_job_leaves() {
    let bench = Bench::new();
    let plan = "[defaults]\nengine = 'null'\nrw = 'randread'\niodepth = 32\n\
                [[step]]\nname = 'small'\nios = 2000\nruntime = '1h'\nends = 'running'\nflow = { weight = 1 }\n\
                [[step]]\nname = 'large'\nstart = 'with-previous'\nruntime = '1h'\nflow = { weight = 3 }\n";
    run(&bench, plan, &[]).ended(0);
    let record = bench.record();
    assert_eq!(ios(&record, "small"), 2000);
    // The last token of the small one was taken when it was not ahead; nothing holds the large one afterwards.
    assert!(ios(&record, "large") >= 3 * 1999 - 3, "{}", ios(&record, "large"));
}

#[test]
fn the_end_of_a_step_ends_those_that_run() {
    let bench = Bench::new();
    let plan = "[defaults]\nengine = 'null'\nrw = 'randread'\nruntime = '1h'\n\
                [[step]]\nname = 'short'\nios = 50\nends = 'running'\n\
                [[step]]\nname = 'long'\nstart = 'with-previous'\ngroup = 3\n\
                [[step]]\nname = 'chained'\nstart = 'after:short'\nruntime = '200ms'\n\
                [[step]]\nname = 'next'\nruntime = '200ms'\n";
    let ran = run(&bench, plan, &[]).ended(0);
    let record = bench.record();
    assert_eq!(record.state, State::Complete);
    assert_eq!(
        ended(&record),
        [("short", None), ("long", Some("short")), ("chained", None), ("next", None)],
        "what waited begins, and the run goes on"
    );
    assert!(step(&record, "long").window_ns < Nanos::seconds(3600));
    assert_eq!(step(&record, "chained").window_ns, Nanos::millis(200));
    assert!(record.not_run.is_empty());
    assert!(ran.out.contains("the end of short ended it after"), "{}", ran.out);
    fits(&ran.out);
}

#[test]
fn the_end_of_a_step_ends_its_group() {
    let bench = Bench::new();
    let plan = "[defaults]\nengine = 'null'\nrw = 'randread'\nruntime = '1h'\ngroup = 1\n\
                [[step]]\nname = 'short'\nios = 50\nends = 'group'\n\
                [[step]]\nname = 'mate'\nstart = 'with-previous'\n\
                [[step]]\nname = 'never'\nstart = 'with-previous'\ndelay = '1h'\n\
                [[step]]\nname = 'in vain'\nstart = 'after:never'\ngroup = 2\n\
                [[step]]\nname = 'other'\nstart = 'with-previous'\nruntime = '300ms'\ngroup = 2\n\
                [[step]]\nname = 'later'\n\
                [[step]]\nname = 'last'\nruntime = '200ms'\ngroup = 2\n";
    let ran = run(&bench, plan, &[]).ended(0);
    let record = bench.record();
    assert_eq!(record.state, State::Complete);
    assert_eq!(ended(&record), [("short", None), ("mate", Some("short")), ("other", None), ("last", None)]);
    assert_eq!(not_run(&record), [("never", "short"), ("in vain", "short"), ("later", "short")]);
    assert_eq!(step(&record, "other").window_ns, Nanos::millis(300));
    let line = ran.out.lines().find(|l| l.starts_with("not run")).expect("it is said");
    insta::assert_snapshot!(line, @"not run  never, in vain, later: ended with short");
    assert_eq!(bench.run(&["show", "r.json"]).ended(0).out, ran.out);
}

#[test]
fn what_was_ended_ends_others_in_turn_and_everything_after_them() {
    let bench = Bench::new();
    let plan = "[defaults]\nengine = 'null'\nrw = 'randread'\nruntime = '1h'\n\
                [[step]]\nname = 'short'\nios = 50\nends = 'group'\n\
                [[step]]\nname = 'mate'\nstart = 'with-previous'\nends = 'all'\n\
                [[step]]\nname = 'other'\nstart = 'with-previous'\ngroup = 2\n\
                [[step]]\nname = 'later'\ngroup = 2\n";
    run(&bench, plan, &[]).ended(0);
    let record = bench.record();
    assert_eq!(ended(&record), [("short", None), ("mate", Some("short")), ("other", Some("mate"))]);
    assert_eq!(not_run(&record), [("later", "mate")]);
    assert_eq!(record.plan.steps[1].ends.unwrap().reach, Reach::All);
}

#[test]
fn an_error_that_ends_no_job_ends_no_other_either() {
    let bench = Bench::new();
    let plan = "[defaults]\nengine = 'null'\nrw = 'randread'\n\
                [[step]]\nname = 'failing'\nruntime = '10s'\nends = 'all-on-error'\n\
                simulate = { latency = '1ms', error_every = 10 }\n\
                [[step]]\nname = 'other'\nstart = 'with-previous'\nruntime = '300ms'\n\
                [[step]]\nname = 'later'\nruntime = '200ms'\n";
    run(&bench, plan, &["--continue-on-error"]).ended(0);
    let record = bench.record();
    assert_eq!(ended(&record), [("failing", None), ("other", None), ("later", None)]);
    assert_eq!(step(&record, "other").window_ns, Nanos::millis(300));
    run(&bench, plan, &[]).ended(1);
    assert_eq!(not_run(&bench.record()), [("later", "failing")]);
}

#[test]
fn mistakes_are_found_before_anything_runs() {
    let bench = Bench::new();
    let plan = |more: &str| format!("[[step]]\nname = 'a'\nengine = 'null'\n{more}\n");
    run(&bench, &plan("ends = 'others'"), &[]).ended(2).says(&["line 4", "group, running or all"]);
    run(&bench, &plan("flow = { weight = 0 }"), &[]).ended(2).says(&["'a'", "1 to 1000"]);
    run(&bench, &plan("flow = { weight = 1 }\nrate-iops = 9.0"), &[]).ended(2).says(&["leave out flow"]);
    assert!(!bench.path().join("r.json").exists());
}

#[test]
fn a_plan_shows_flows_and_endings() {
    let bench = Bench::new();
    let plan = "[defaults]\nengine = 'null'\nrw = 'randread'\nruntime = '60s'\n\
                [[step]]\nname = 'small'\nflow = { weight = 1 }\nends = 'running'\n\
                [[step]]\nname = 'large'\nstart = 'with-previous'\nruntime = '1h'\nflow = { weight = 8 }\ngroup = 2\nends = 'group-on-error'\n";
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    let ran = bench.run(&["plan", "--plan", "p.toml"]).ended(0);
    fits(&ran.out);
    insta::assert_snapshot!(ran.out, @"
    plan p

    Step    pattern  block  depth  jobs  engine  ramp   time  begins
    small  randread   4KiB      1     1    null    0s    60s
    large  randread   4KiB      1     1    null    0s  3600s    with

    flow     small: weight 1 of 1 : 8 in flow 0
    flow     large: weight 8 of 1 : 8 in flow 0
    ends     small: when one of its jobs ends, all steps that run end
    ends     large: when one of its jobs fails, the steps of group 2 end
    writes   nothing
    time     1 min 00 s for the steps
    ");
}

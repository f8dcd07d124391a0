//! Sweeps of devices whose knee and limits are known.

use volproof::doubt::{Doubt, Severity};
use volproof::judge::Conclusion;
use volproof::observe::QueueSettings;
use volproof::plan::{Axis, AxisOption, Question, Sweep};
use volproof::promise_options::{PromiseOptions, hold_against};
use volproof::record::{CourseAnswer, Outcome, Record, State, SweepAnswer};
use volproof::run::pipeline::{EarlierRun, RunOptions};

use crate::course::{ask, on, plan, run};

fn sweep(device: &str, ranges: &[(AxisOption, &str)], repeats: u32, seed: u64) -> Sweep {
    let axis = |(option, text): &(AxisOption, &str)| Axis::new(*option, option.values(text).unwrap());
    let sweep = Sweep {
        base: on(device),
        axes: ranges.iter().map(axis).collect(),
        repeats,
        seed,
        left_out: Vec::new(),
    };
    assert_eq!(sweep.problem(), None);
    sweep
}

fn answer(record: &Record) -> &SweepAnswer {
    let Some(CourseAnswer::Sweep(answer)) = &record.answer else { panic!("no answer of a sweep") };
    answer
}

fn near(found: f64, truth: f64, share: f64) -> bool {
    (found / truth - 1.0).abs() <= share
}

#[test]
fn the_knee_and_the_most_of_a_capped_device_over_many_seeds() {
    for seed in 0..20u64 {
        let cap = 300.0 + 60.0 * seed as f64;
        let device = format!("latency=4ms,jitter=2ms,iops-cap={cap},noise=0.02");
        let record = ask(Question::Sweep(sweep(&device, &[(AxisOption::Iodepth, "1..256")], 1, seed)), seed);
        let found = answer(&record);
        let depth = &found.depths[0];
        let knee = cap * 0.005;
        assert!(near(depth.most_iops, cap, 0.02), "cap {cap}: {depth:?}");
        // Ten seconds of a low rate may be too short for its error, and then for a knee.
        let told = depth.knee.is_none_or(|told| near(told.depth, knee, 0.03));
        assert!(told && near(depth.unloaded_ns.unwrap(), 5e6, 0.02), "knee {knee}: {depth:?}");
        // The smallest of the depths 1, 2, 4, ... that holds 95 % of the knee. A rate of ten seconds has an error, which decides where
        // the share is 95 % to within a hundredth.
        let enough = depth.enough;
        let holds = |depth: u64, share: f64| depth as f64 >= share * knee;
        assert!(
            enough.is_power_of_two() && holds(enough, 0.94) && !holds(enough / 2, 0.96),
            "knee {knee}: {enough} of {:?}",
            found.points
        );
        assert!(!depth.at_edge && depth.falls_after.is_none() && found.notes.is_empty(), "{found:?}");
        let deepest = found.points.last().unwrap().iodepth as u64;
        assert!(deepest <= 8 * enough && deepest < 256, "depth {deepest} after {enough} only adds waiting");
    }
}

#[test]
fn both_limits_of_a_device_are_within_one_percent() {
    let limits = [(600.0, 40.0), (900.0, 20.0), (400.0, 50.0), (250.0, 12.0), (750.0, 33.0), (500.0, 8.0)];
    for (seed, (cap, megabytes)) in (1u64..).zip(limits) {
        let device = format!("latency=2ms,jitter=1ms,iops-cap={cap},bytes-cap={}", megabytes * 1e6);
        let ranges = [(AxisOption::Bs, "4k..1M"), (AxisOption::Iodepth, "1..64")];
        let record = ask(Question::Sweep(sweep(&device, &ranges, 1, seed)), seed);
        let found = answer(&record);
        let [fit] = found.caps.as_slice() else { panic!("{:?}", found.caps) };
        assert!(fit.explains && fit.only_at_depth.is_none(), "{fit:?}");
        assert!(near(fit.iops_cap.unwrap(), cap, 0.01), "{fit:?}");
        assert!(near(fit.bytes_cap.unwrap(), megabytes * 1e6, 0.01), "{fit:?}");
        assert!(near(fit.knee_bytes.unwrap(), megabytes * 1e6 / cap, 0.02), "{fit:?}");
        assert!(found.sentence.contains("the limit is"), "{}", found.sentence);
    }
}

#[test]
fn a_limit_that_other_sizes_meet_is_met_at_the_edge_too() {
    let ranges = [(AxisOption::Bs, "4k..64k"), (AxisOption::Iodepth, "1..16")];
    // 16 requests of 4 KiB in 2 ms are just the bytes that larger blocks get with fewer.
    let record = ask(Question::Sweep(sweep("latency=2ms,bytes-cap=31250000", &ranges, 1, 1)), 1);
    let found = answer(&record);
    assert!(found.depths.iter().all(|d| !d.at_edge) && found.depths[0].most_at == 16, "{:?}", found.depths);
    assert_eq!(found.caps[0].only_at_depth, None, "{:?}", found.caps);
    assert!(
        found.sentence.contains("the limit is") && !found.sentence.contains("edge"),
        "{}",
        found.sentence
    );
}

#[test]
fn rates_that_the_depth_sets_are_no_limits() {
    // No limit at all: four requests of 2 ms.
    let record = ask(Question::Sweep(sweep("latency=2ms", &[(AxisOption::Bs, "4k..32k")], 1, 1)), 1);
    let found = answer(&record);
    assert_eq!(found.caps[0].only_at_depth, Some(found.points[0].iodepth.into()), "{:?}", found.caps);
    assert!(!found.sentence.contains("limit"), "{}", found.sentence);
    let ranges = [(AxisOption::Bs, "4k..16k"), (AxisOption::Iodepth, "1..4")];
    let record = ask(Question::Sweep(sweep("latency=2ms", &ranges, 1, 1)), 1);
    let found = answer(&record);
    assert_eq!(found.caps[0].only_at_depth, Some(4), "{:?}", found.caps);
    assert!(!found.sentence.contains("the limit is"), "{}", found.sentence);
}

#[test]
fn a_most_at_the_edge_of_the_range_is_called_so() {
    let record = ask(Question::Sweep(sweep("latency=10ms", &[(AxisOption::Iodepth, "1..16")], 1, 1)), 1);
    let found = answer(&record);
    assert_eq!(found.points.len(), 5);
    assert!(found.depths[0].at_edge && found.sentence.contains("edge of the range"), "{}", found.sentence);
    assert!(found.notes.iter().any(|n| n.contains("larger range")), "{:?}", found.notes);
}

#[test]
fn later_runs_are_in_random_order_and_a_drift_is_told() {
    let record =
        ask(Question::Sweep(sweep("latency=5ms,iops-cap=400", &[(AxisOption::Iodepth, "1..8")], 3, 9)), 9);
    let names: Vec<&str> = record.steps.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names[..4], ["d1-run1", "d2-run1", "d4-run1", "d8-run1"]);
    assert_eq!(names.len(), 12);
    let order = |run: &str| -> Vec<String> {
        names.iter().filter(|n| n.ends_with(run)).map(|n| n.replace(run, "")).collect()
    };
    assert!(order("run2") != order("run1") || order("run3") != order("run1"));
    assert!(answer(&record).points.iter().all(|p| p.runs == 3 && p.iops_low.is_some()));

    // The same answer when the last runs of all points are a tenth slower.
    let mut slower = record.clone();
    for step in slower.steps.iter_mut().filter(|s| s.name.ends_with("run3")) {
        step.read.as_mut().unwrap().iops *= 0.9;
    }
    volproof::seal::seal(&mut slower);
    let note = &answer(&slower).notes[0];
    let (_, share) = note.split_once("the last runs are ").unwrap_or_else(|| panic!("{note}"));
    let (share, _) = share.split_once(" % slower than the first").unwrap_or_else(|| panic!("{note}"));
    assert!(near(share.parse().unwrap(), 10.0, 0.05), "{note}");
}

#[test]
fn the_answer_follows_the_promise_that_a_stored_record_is_held_against() {
    let mut record =
        ask(Question::Sweep(sweep("latency=1ms,iops-cap=500", &[(AxisOption::Iodepth, "1..8")], 1, 3)), 3);
    assert!(answer(&record).notes.is_empty());
    let options = PromiseOptions {
        kind: Some("aws:gp2".into()),
        volume_size: Some("100GiB".parse().unwrap()),
        offline: true,
        ..PromiseOptions::default()
    };
    hold_against(&options, None, &mut record).unwrap();
    let notes = &answer(&record).notes;
    assert!(notes.iter().any(|note| note.contains("300 IOPS are promised")), "{notes:?}");
}

#[test]
fn the_end_of_a_run_outweighs_its_doubts_and_these_its_answer() {
    let mut record =
        ask(Question::Sweep(sweep("latency=1ms,iops-cap=500", &[(AxisOption::Iodepth, "1..2")], 1, 3)), 3);
    assert_eq!(Conclusion::from_record(&record), Conclusion::Measured);
    let Some(CourseAnswer::Sweep(sweep)) = &mut record.answer else { panic!("no answer of a sweep") };
    sweep.points.iter_mut().for_each(|p| p.spoilt_by = vec!["burst".into()]);
    assert_eq!(Conclusion::from_record(&record), Conclusion::Answered(Outcome::Invalid));
    record.doubts.push(Doubt::new(Severity::Blocker, "page-cache", "", ""));
    assert_eq!(Conclusion::from_record(&record), Conclusion::NotValid);
    for (state, word) in [
        (State::Running, "CUT OFF"),
        (State::Interrupted, "INTERRUPTED"),
        (State::Failed("x".into()), "FAILED"),
    ] {
        record.state = state;
        assert_eq!(Conclusion::from_record(&record).word(), word);
    }
    let nothing = Record { state: State::Complete, steps: Vec::new(), ..record };
    assert_eq!(Conclusion::from_record(&nothing), Conclusion::MeasuredNothing);
}

#[test]
fn an_interrupted_sweep_goes_on_where_it_stood() {
    let question = || {
        Question::Sweep(sweep("latency=5ms,jitter=1ms,iops-cap=700", &[(AxisOption::Iodepth, "1..16")], 2, 5))
    };
    let whole = ask(question(), 5);
    let part = run(plan(question(), 5), RunOptions::default(), 4);
    assert_eq!((&part.state, part.steps.len()), (&State::Interrupted, 4));
    assert_eq!(answer(&part).points.len(), 4, "the finished steps have an answer");

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("part.json");
    let save = |record: &Record| std::fs::write(&path, serde_json::to_vec(record).unwrap()).unwrap();
    // The last step was cut off: it is measured again.
    let mut cut = part.clone();
    let mut half = question();
    if let Question::Sweep(sweep) = &mut half {
        sweep.base.runtime.0 /= 2;
    }
    cut.steps[3] = run(plan(half, 5), RunOptions::default(), 4).steps.remove(3);
    assert_eq!(cut.steps[3].name, part.steps[3].name);
    save(&cut);
    let earlier = |asked: Question| EarlierRun::load(&path, &plan(asked, 5));
    let options =
        RunOptions { earlier: Some(Box::new(earlier(question()).unwrap())), ..RunOptions::default() };
    let resumed = run(plan(question(), 5), options, usize::MAX);
    assert_eq!(resumed.state, State::Complete);
    assert_eq!(resumed.resumed_after.len(), 1);
    let began = part.started.as_ref().unwrap();
    let of_earlier = resumed.steps.iter().filter(|step| step.earlier_run.as_ref() == Some(began));
    assert_eq!(of_earlier.count(), 3, "the others are of this run");
    // The later steps met a volume that was born anew: the same points, and the same limit to within its noise.
    let points = |r: &Record| answer(r).points.iter().map(|p| (p.iodepth, p.runs)).collect::<Vec<_>>();
    assert_eq!(points(&resumed), points(&whole));
    let limit = |r: &Record| answer(r).depths[0].most_iops;
    assert!(near(limit(&resumed), limit(&whole), 0.02), "{} and {}", limit(&resumed), limit(&whole));
    let names = |r: &Record| r.steps.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&resumed), names(&whole));

    let told = |asked: Question| earlier(asked).unwrap_err().to_string();
    let other = Question::Sweep(sweep(
        "latency=5ms,jitter=1ms,iops-cap=700",
        &[(AxisOption::Iodepth, "1..16")],
        3,
        5,
    ));
    assert!(told(other).contains("question.sweep.repeats was 2 and is 3"), "{}", told(question()));
    // Another setting of the disk's queue; a Record from before a setting was kept does not say which it had.
    let queue = dir.path().join("sys/block/vdb/queue");
    std::fs::create_dir_all(&queue).unwrap();
    let set = |file: &str, value: &str| std::fs::write(queue.join(file), value).unwrap();
    set("scheduler", "[none] mq-deadline");
    set("nr_requests", "64");
    let (root, disks) = (volproof::device::Root::tree(dir.path()), ["vdb".to_string()]);
    cut.steps[2].evidence.queues = vec![QueueSettings::read(&root, "vdb")];
    save(&cut);
    let changed = || earlier(question()).unwrap().other_settings(&root, &disks, false);
    set("wbt_lat_usec", "0");
    assert_eq!(changed(), None);
    set("scheduler", "none [mq-deadline]");
    let why = changed().expect("another scheduler");
    assert!(why.contains("vdb: its scheduler was none and is mq-deadline"), "{why}");
    // Another machine.
    cut.environment.hostname = "elsewhere".into();
    save(&cut);
    let options =
        RunOptions { earlier: Some(Box::new(earlier(question()).unwrap())), ..RunOptions::default() };
    let refused = volproof::run::pipeline::CheckedRun::survey(
        volproof::device::Root::system(),
        plan(question(), 5),
        options,
    );
    let why = refused.err().expect("another machine").to_string();
    assert!(why.contains("the host name was elsewhere") && why.contains("begin anew"), "{why}");
}

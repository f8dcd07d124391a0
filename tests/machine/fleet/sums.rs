//! The sums, the common window and the verdict.

use volproof::fleet::FleetMerge;
use volproof::plan::{EngineKind, Pattern, Question, ResponseFigure, SloSearch, Step};
use volproof::promise_options::{self, PromiseOptions};
use volproof::record::{
    CourseAnswer, FleetVolumes, LatencySummary, Outcome, Record, SloTrial, State, TrialOutcome, Verdict,
};
use volproof::stats::percentile::pooled;
use volproof::unit::Nanos;

use crate::fleet::{Machines, SECOND, begins, merge, on_a_disk};

fn promise(kind: &str, gib: u64) -> PromiseOptions {
    let size = Some(volproof::unit::Bytes::gib(gib));
    PromiseOptions { kind: Some(kind.into()), volume_size: size, ..PromiseOptions::default() }
}

/// Holds each machine against a promise, as `run` does.
fn promised(records: &mut [Record], kind: &str, gib: u64) {
    records.iter_mut().for_each(|r| promise_options::hold_against(&promise(kind, gib), None, r).unwrap());
}

fn verdict(record: &Record) -> &Verdict {
    record.verdict.as_ref().expect("something was promised")
}

fn codes(record: &Record) -> Vec<&str> {
    record.doubts.iter().map(|w| w.code.as_str()).collect()
}

#[test]
fn the_sum_is_that_of_all_samples() {
    let records = Machines::of(FleetVolumes::Own, 4).records(&[1000.0, 2000.0, 3000.0, 4000.0]);
    let ios: u64 = records.iter().map(|r| r.steps[0].read.as_ref().unwrap().ios).sum();
    let all = records.iter().flat_map(|r| &r.steps[0].targets[0].series.read.as_ref().unwrap().service);
    let all = pooled(all);
    // The order in which Records come is no matter.
    let fleet = merge(records.clone().into_iter().rev()).unwrap();
    assert_eq!(fleet, merge(records).unwrap());
    let read = fleet.steps[0].read.as_ref().unwrap();
    assert_eq!(read.ios, ios);
    let stream = fleet.steps[0].targets[0].series.read.as_ref().unwrap();
    assert_eq!(stream.service.len(), 300);
    let sum = pooled(&stream.service);
    assert_eq!(
        (sum.count(), sum.sum(), sum.min(), sum.max()),
        (all.count(), all.sum(), all.min(), all.max())
    );
    assert!(sum.nonzero().eq(all.nonzero()), "every bucket");
    let f = fleet.fleet.as_ref().unwrap();
    let shares: Vec<f64> = f.steps[0].shares.iter().map(|s| (s.share * 100.0).round()).collect();
    assert_eq!(shares, [10.0, 20.0, 30.0, 40.0]);
    let (least, largest) = f.steps[0].fairness().unwrap();
    assert!((least - 0.4).abs() < 0.01 && (largest - 1.6).abs() < 0.01, "{least} {largest}");
    assert_eq!(fleet.state, State::Complete);
    assert_eq!(f.machines[3].record.steps[0].targets[0].series.read.as_ref().unwrap().service.len(), 1);
}

#[test]
fn a_shared_volume_is_judged_once_by_the_sum() {
    // 2,400 are promised to 20 GiB: 1,600 and 40 for each GiB. Each of four machines does a quarter.
    let fleet = |each: f64| {
        let mut records = Machines::of(FleetVolumes::Parts, 4).records(&[each; 4]);
        promised(&mut records, "alibaba:san_ssd", 20);
        merge(records).unwrap()
    };
    let met = fleet(600.0);
    assert_eq!((verdict(&met).outcome, verdict(&met).claims.len()), (Some(Outcome::Pass), 1));
    let claim = &verdict(&met).claims[0];
    assert_eq!((claim.promised, claim.measured.round()), (2400.0, 2400.0));
    assert_eq!(verdict(&fleet(500.0)).outcome, Some(Outcome::Fail));
    assert_eq!(met.conditions(&met.steps[0]).in_flight(), Some(4800), "four machines with 1,200 each");
}

#[test]
fn one_machine_does_not_judge_a_volume_that_is_promised_to_several() {
    let mut records = Machines::of(FleetVolumes::Parts, 1).records(&[2000.0]);
    promised(&mut records, "alibaba:san_ssd", 20);
    let blocker = |r: &Record| verdict(r).claims[0].blocker.clone().unwrap();
    assert_eq!(blocker(&records[0]), "too-few-instances");
    let fleet = merge(records).unwrap();
    assert_eq!(
        (verdict(&fleet).outcome, blocker(&fleet).as_str()),
        (Some(Outcome::Invalid), "too-few-instances")
    );
    assert!(
        verdict(&fleet).claims[0]
            .reason
            .contains("hold when 2 or more instances load it at the same time, and 1 did")
    );
}

#[test]
fn ranks_on_one_machine_are_one_instance() {
    let blocker = |boots: [Option<&str>; 2], hosts: [&str; 2]| {
        let mut records = Machines::of(FleetVolumes::Parts, 2).records(&[1000.0; 2]);
        for (record, (boot, host)) in records.iter_mut().zip(boots.into_iter().zip(hosts)) {
            record.environment.boot_id = boot.map(String::from);
            record.environment.hostname = host.into();
        }
        promised(&mut records, "alibaba:san_ssd", 20);
        verdict(&merge(records).unwrap()).claims[0].blocker.clone()
    };
    let too_few = Some("too-few-instances".to_string());
    assert_eq!(blocker([Some("a"), Some("b")], ["node", "node"]), None, "two machines may have one name");
    assert_eq!(blocker([Some("a"); 2], ["pod-0", "pod-1"]), too_few, "two containers of one machine");
    assert_eq!(blocker([None; 2], ["node", "node"]), too_few, "a Record of an older version");
    assert_eq!(blocker([None; 2], ["node0", "node1"]), None);
}

/// A trial of a search at 1,000 I/Os a second of each machine, and one request after another before it.
fn trial(rank: u32, device: &str) -> Record {
    let step = |name: &str| Step {
        name: name.into(),
        rw: Pattern::RandRead,
        engine: EngineKind::Null,
        simulate: Some(Box::new(device.parse().unwrap())),
        runtime: Nanos::seconds(60),
        ..Step::default()
    };
    let unloaded = Step { iodepth: 1, ..step("unloaded") };
    let load = Step { iodepth: 256, rate_iops: Some(1000.0), ..step("load-1") };
    Machines::of(FleetVolumes::Own, 2).measured(rank, vec![unloaded, load])
}

/// How the search for a p99.9 of 50 ms takes the trial of two machines, of which the second begins so late.
fn searched(devices: [&str; 2], late_ns: i64) -> (Record, SloTrial) {
    let mut records = [trial(0, devices[0]), trial(1, devices[1])];
    assert!(records.iter().all(|r| r.steps[1].open_loop.as_ref().unwrap().sustained));
    begins(&mut records[1], late_ns);
    let mut fleet = merge(records).unwrap();
    let base = Step { iodepth: 256, ..fleet.plan.steps[1].clone() };
    let (limit, confirm) = (Nanos::millis(50), Nanos::seconds(60));
    let figure = ResponseFigure::P999;
    let search = SloSearch { base, figure, limit, confirm, budget: None };
    fleet.plan.question = Some(Question::Slo(search));
    volproof::seal::seal(&mut fleet);
    let Some(CourseAnswer::Slo(answer)) = &fleet.answer else { panic!("{:?}", fleet.answer) };
    let [trial] = answer.trials.as_slice() else { panic!("{:?}", answer.trials) };
    assert_eq!(trial.offered_per_second, 2000.0);
    let trial = trial.clone();
    (fleet, trial)
}

#[test]
fn responses_that_come_after_the_window_count_in_the_sum_and_in_a_search() {
    // A simulated volume keeps its time over both steps.
    let (fast, stalls) = ("latency=500us", "latency=500us,stall-at=119.6s,stall-for=2s");
    let (_, kept) = searched([fast, fast], 0);
    assert_eq!((kept.outcome, kept.spoilt_by.len()), (TrialOutcome::Holds, 0));
    // 400 of 120,000 requests are answered up to two seconds later, all on one machine.
    let (fleet, trial) = searched([fast, stalls], 0);
    assert_ne!(trial.outcome, TrialOutcome::Holds, "{trial:?}");
    assert!(trial.above.unwrap() > 0.003, "{trial:?}");
    let machines = fleet.fleet.as_ref().unwrap().machines.iter();
    let own: Vec<&LatencySummary> = machines
        .map(|m| m.record.steps[1].read.as_ref().unwrap().response_latency_ns.as_ref().unwrap())
        .collect();
    let all = fleet.steps[1].read.as_ref().unwrap().response_latency_ns.as_ref().unwrap();
    assert_eq!(all.samples, own.iter().map(|l| l.samples).sum::<u64>());
    assert_eq!(all.max, own[1].max);
    assert!(all.percentiles["99.9"] > Nanos::seconds(1), "{:?}", all.percentiles);
    assert!(!codes(&fleet).contains(&"late-responses"));
}

#[test]
fn a_search_keeps_no_load_of_which_responses_are_unknown() {
    // What the late machine answered after the common window cannot be told from later requests.
    let (fleet, trial) = searched(["latency=500us"; 2], 2 * SECOND);
    assert!(codes(&fleet).contains(&"late-responses"), "{:?}", codes(&fleet));
    assert_eq!((trial.outcome, trial.spoilt_by), (TrialOutcome::Unsure, vec!["late-responses".to_string()]));
}

#[test]
fn own_volumes_are_judged_each_by_itself() {
    // A PL0 of 40 GiB: 1,800 and 12 for each GiB.
    let mut records = Machines::of(FleetVolumes::Own, 3).records(&[2280.0, 1500.0, 2280.0]);
    promised(&mut records, "alibaba:cloud_essd.PL0", 40);
    let fleet = merge(records).unwrap();
    let found: Vec<(&str, Outcome)> =
        verdict(&fleet).claims.iter().map(|c| (c.step.as_str(), c.outcome)).collect();
    let on = ["randread on rank 0 (node0)", "randread on rank 1 (node1)", "randread on rank 2 (node2)"];
    assert_eq!(found, [(on[0], Outcome::Pass), (on[1], Outcome::Fail), (on[2], Outcome::Pass)]);
    assert_eq!(verdict(&fleet).outcome, Some(Outcome::Fail));
    assert!(verdict(&fleet).against.starts_with("3 x alibaba:cloud_essd.PL0"), "{}", verdict(&fleet).against);
    // Another promise is held against each machine, too.
    let mut other = fleet.clone();
    promise_options::hold_against(&promise("alibaba:cloud_essd.PL0", 20), None, &mut other).unwrap();
    let promised: Vec<f64> = verdict(&other).claims.iter().map(|c| c.promised).collect();
    assert_eq!(promised, [2040.0; 3]);
}

#[test]
fn a_planted_clock_offset_is_taken_off() {
    let mut records = Machines::of(FleetVolumes::Own, 3).records(&[1000.0; 3]);
    // The clock of rank 1 is a day ahead, and rank 2 was two seconds late.
    let day = 86_400 * SECOND;
    records[1].rank.as_mut().unwrap().clock.offset_ns = day;
    begins(&mut records[1], day + 4_000_000);
    begins(&mut records[2], 2 * SECOND);
    let fleet = merge(records).unwrap();
    let step = &fleet.fleet.as_ref().unwrap().steps[0];
    let late: Vec<i64> = step.shares.iter().map(|s| s.late_ns).collect();
    assert_eq!(late, [0, 4_000_000, 2 * SECOND]);
    assert_eq!((step.window_ns, step.skew_ns), (Nanos::seconds(298), Nanos::millis(4)));
    let left_out: Vec<_> = step.shares.iter().map(|s| s.left_out_ns).collect();
    assert_eq!(left_out[0], (Nanos::seconds(2), Nanos(0)));
    assert_eq!(left_out[2], (Nanos(0), Nanos::seconds(2)));
    assert_eq!(fleet.steps[0].window_ns, Nanos::seconds(298));
    assert_eq!(fleet.steps[0].read.as_ref().unwrap().ios, 3 * 298 * 1000);
}

#[test]
fn too_short_a_common_window_is_invalid() {
    let mut records = Machines::of(FleetVolumes::Own, 2).records(&[2280.0; 2]);
    promised(&mut records, "alibaba:cloud_essd.PL0", 40);
    begins(&mut records[1], 40 * SECOND);
    let fleet = merge(records).unwrap();
    assert_eq!(verdict(&fleet).outcome, Some(Outcome::Invalid));
    let claim = &verdict(&fleet).claims[0];
    assert_eq!(claim.blocker.as_deref(), Some("common-window"));
    assert!(claim.reason.contains("rank 1 (node1) began 40.0 s late"), "{}", claim.reason);
}

#[test]
fn a_lost_rank_makes_the_run_invalid() {
    let mut records = Machines::of(FleetVolumes::Own, 4).records(&[2280.0; 4]);
    promised(&mut records, "alibaba:cloud_essd.PL0", 40);
    let mut missing = records.clone();
    missing.remove(2);
    let fleet = merge(missing).unwrap();
    assert_eq!(fleet.state, State::Failed("rank 2 of 4 left no Record".into()));
    assert_eq!((verdict(&fleet).outcome, codes(&fleet)[0]), (Some(Outcome::Invalid), "rank-missing"));
    records[1].state = State::Failed("step randread: the device hangs".into());
    let fleet = merge(records).unwrap();
    assert_eq!((verdict(&fleet).outcome, codes(&fleet)[0]), (Some(Outcome::Invalid), "rank-lost"));
    let message = &fleet.doubts[0].message;
    assert_eq!(message, "rank 1 (node1) did not end its run: it failed: step randread: the device hangs");
}

#[test]
fn clocks_that_nobody_keeps_prove_nothing() {
    let mut records = Machines::of(FleetVolumes::Own, 2).records(&[2280.0; 2]);
    promised(&mut records, "alibaba:cloud_essd.PL0", 40);
    let error = |records: &mut [Record], error| records[1].rank.as_mut().unwrap().clock.error_ns = error;
    error(&mut records, None);
    let fleet = merge(records.clone()).unwrap();
    assert_eq!((verdict(&fleet).outcome, codes(&fleet)[0]), (Some(Outcome::Invalid), "clock-unsynchronised"));
    assert!(fleet.doubts[0].message.contains("the clock of rank 1 (node1)"));
    // 1 % of five minutes are 3 s.
    error(&mut records, Some(Nanos::millis(3_100)));
    assert_eq!(codes(&merge(records.clone()).unwrap())[0], "clock-error");
    error(&mut records, Some(Nanos::millis(2_900)));
    assert_eq!(verdict(&merge(records).unwrap()).outcome, Some(Outcome::Pass));
}

#[test]
fn a_shared_volume_without_a_serial_number_proves_nothing() {
    let with = |serials: [Option<&str>; 2]| {
        let mut records = Machines::of(FleetVolumes::Overlapping, 2).records(&[1200.0; 2]);
        records.iter_mut().zip(serials).for_each(|(r, serial)| on_a_disk(r, serial));
        merge(records)
    };
    assert_eq!(codes(&with([None, None]).unwrap())[0], "no-serial");
    let fleet = with([Some("d-1"), Some("d-1")]).unwrap();
    assert!(!codes(&fleet).contains(&"no-serial"));
    let told = with([Some("d-1"), Some("d-2")]).unwrap_err().to_string();
    assert!(
        told.starts_with("rank 1 (node1) had the volume d-2, and rank 0 (node0) had the volume d-1"),
        "{told}"
    );
}

#[test]
fn doubts_of_machines_are_told_once_with_their_names() {
    let mut records = Machines::of(FleetVolumes::Own, 5).records(&[1000.0; 5]);
    for (i, record) in records.iter_mut().enumerate() {
        record.doubts.clear();
        let doubt = |code: &str, told: &str| {
            volproof::doubt::Doubt::new(volproof::doubt::Severity::Warning, code, told, "look")
        };
        record.doubts.push(doubt("low-cpu", if i == 1 { "90 % busy" } else { "70 % busy" }));
        let doubt = doubt("io-wq", "seen");
        record.doubts.extend((i != 2).then(|| doubt.in_step("randread")));
    }
    let told = merge(records[..2].iter().cloned().chain(records[2..].iter().cloned())).unwrap();
    let doubts: Vec<&str> = told.doubts.iter().map(|w| w.message.as_str()).collect();
    let low = "4 machines (rank 0 (node0), rank 2 (node2), rank 3 (node3), ...): 70 % busy; 1 more machine has the same with other figures";
    assert_eq!(doubts, ["4 machines (rank 0 (node0), rank 1 (node1), rank 3 (node3), ...): seen", low]);
}

#[test]
fn nothing_at_all_is_no_fleet() {
    assert_eq!(FleetMerge::default().finish().unwrap_err().to_string(), "no rank measured anything");
}

//! Records that are no ranks of one run, and places that are none: each is named with the way out.

use volproof::fit::{FitCatalogue, FitRequest};
use volproof::fleet::part;
use volproof::plan::{BlockSizes, Pattern, Plan, Precondition, PreconditionMethod, Step};
use volproof::record::{FleetVolumes, Record};
use volproof::unit::Bytes;

use crate::fleet::{Desk, Machines, SECOND, begins, merge, on_a_disk};

/// The refusal of two machines, of which the second was changed.
fn told(volumes: FleetVolumes, change: impl Fn(&mut Record)) -> String {
    let mut records = Machines { volumes, ranks: 2, seconds: 10 }.records(&[1000.0; 2]);
    change(&mut records[1]);
    merge(records).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn unequal_ranks_are_refused_by_name() {
    let own = |change: &dyn Fn(&mut Record)| told(FleetVolumes::Own, change);
    let rank = |change: fn(&mut volproof::record::FleetRank)| {
        own(&|r: &mut Record| change(r.rank.as_mut().unwrap()))
    };
    let all = [
        own(&|r| r.rank = None),
        own(&|r| r.volproof_version = "0.9.1".into()),
        rank(|r| r.rank = 0),
        rank(|r| r.ranks = 3),
        rank(|r| r.start_unix_ns += 60 * SECOND),
        rank(|r| r.volumes = FleetVolumes::Parts),
        own(&|r| r.plan.steps[0].iodepth = 16),
        own(&|r| r.plan.seed += 1),
        own(&|r| r.plan.steps.clear()),
        own(&|r| begins(r, 11 * SECOND)),
        own(&|r| begins(r, -11 * SECOND)),
        own(&|r| begins(r, 3601 * SECOND)),
        own(&|r| begins(r, i64::MIN)),
    ];
    let version = format!("volproof {}", env!("CARGO_PKG_VERSION"));
    insta::assert_snapshot!(all.join("\n").replace(&version, "volproof NOW"));
}

#[test]
fn needs_of_applications_are_those_of_one_machine_on_a_volume_of_its_own() {
    let asked = |fit: &str| {
        let request: FitRequest = fit.parse().unwrap();
        Some(request.select(FitCatalogue::shipped()).unwrap().0)
    };
    let other = told(FleetVolumes::Own, |r| r.asked = asked("etcd:heavy"));
    assert!(
        other.starts_with("rank 1 (node1) had --fit etcd:heavy, and rank 0 (node0) had no --fit: "),
        "{other}"
    );
    let shared = "the needs of an application are judged on each machine by itself";
    let merged = told(FleetVolumes::Parts, |r| r.asked = asked("etcd"));
    assert!(merged.starts_with(shared), "{merged}");
    // Neither a run measures for it, nor is the Record of a fleet held against it.
    let desk = Desk::with(&[]);
    let at = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(10);
    let (code, _, said) = desk.volproof(&format!(
        "run --simulate latency=1ms --fit etcd --shared --start-at {at} --rank 0/2 --clock-error 1ms"
    ));
    assert!(code == 2 && said.contains(shared), "{code}: {said}");
    let mut fleet =
        merge(Machines { volumes: FleetVolumes::Parts, ranks: 2, seconds: 10 }.records(&[1000.0; 2]))
            .unwrap();
    let refused = volproof::promise_options::ask(Some("etcd"), &mut fleet).unwrap_err().to_string();
    assert!(refused.starts_with(shared), "{refused}");
}

#[test]
fn one_volume_is_not_two_own_ones() {
    let mut records = Machines { volumes: FleetVolumes::Own, ranks: 3, seconds: 10 }.records(&[1000.0; 3]);
    for (record, serial) in records.iter_mut().zip(["d-1", "d-2", "d-1"]) {
        on_a_disk(record, Some(serial));
    }
    let told = merge(records).unwrap_err().to_string();
    assert_eq!(told, "rank 0 (node0) and rank 2 (node2) both drove the volume d-1: run them with --shared");
}

#[test]
fn files_that_are_no_ranks_are_named() {
    let records = Machines { volumes: FleetVolumes::Own, ranks: 2, seconds: 10 }.records(&[1000.0; 2]);
    let desk = Desk::with(&records);
    let says = |words: &str| {
        let (code, _, said) = desk.volproof(words);
        assert_eq!(code, 2, "{words}: {said}");
        said
    };
    assert!(says("merge r0.json missing.json").contains("cannot read missing.json"));
    assert!(
        says("merge r0.json r0.json")
            .contains("r0.json: rank 0 (node0) and rank 0 (node0) have the same rank")
    );
    assert!(says("merge r0.json r1.json -o r1.json").contains("r1.json"), "no input is overwritten");
    std::fs::write(desk.0.path().join("x.json"), "{}").unwrap();
    assert!(says("merge r0.json x.json").contains("x.json is not a volproof Record"));
    std::fs::write(desk.0.path().join("dd.txt"), "1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n")
        .unwrap();
    assert!(says("merge r0.json dd.txt").contains("dd.txt: it is a report of another tool"));
    assert_eq!(desk.volproof("merge r0.json r1.json -o fleet.json").0, 0);
    assert!(says("merge fleet.json r1.json").contains("it is the Record of a fleet"));
}

#[test]
fn places_in_a_fleet_that_cannot_be_are_refused_before_anything_begins() {
    let desk = Desk::with(&[]);
    let soon = (jiff::Timestamp::now() + jiff::SignedDuration::from_mins(5)).to_string();
    let far = (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(30)).to_string();
    let says = |words: &str| {
        let clock = if words.contains("--start-at") { "--clock-error 1ms" } else { "" };
        let (code, _, said) = desk.volproof(&format!("run --engine null --rw randread {clock} {words}"));
        assert_eq!(code, 2, "{words}: {said}");
        said
    };
    assert!(says("--rank 0/2").contains("--start-at"));
    assert!(says(&format!("--start-at {soon}")).contains("give --rank I/N"));
    assert!(says(&format!("--start-at {soon} --rank 2/2")).contains("'2/2' is no rank"));
    assert!(says("--start-at tomorrow --rank 0/2").contains("tomorrow"));
    assert!(says("--start-at 2026-01-01T00:00:00Z --rank 0/2").contains("has passed: here it is"));
    assert!(says(&format!("--start-at {far} --rank 0/2")).contains("is more than a day ahead"));
    assert!(says(&format!("--start-at {soon} --rank 0/2 --io-size 1G")).contains("give a runtime instead"));
    assert!(says(&format!("--start-at {soon} --rank 0/2 --cross-check")).contains("cannot be used with"));
    assert!(says(&format!("--start-at {soon} --rank 0/2 --shared --overlap a b")).contains("one volume"));
    assert!(says("--shared").contains("give --start-at TIME on each of them, or run `volproof fleet`"));
    // Without the feature it says how to get it, with it how to begin.
    let (code, _, said) = desk.volproof("fleet . --preset quick");
    assert_eq!((code, said.contains("docs/fleet.md")), (2, true), "{said}");
    std::fs::write(desk.0.path().join("disk"), vec![1; 16 << 10]).unwrap();
    let few = desk.volproof(&format!(
        "run disk --rw randread --buffered --shared --clock-error 1ms --start-at {soon} --rank 0/5"
    ));
    assert_eq!(few.0, 2);
    assert!(few.2.contains("hold 4 blocks of 4 KiB, too few for 5 ranks"), "{}", few.2);
    let folder = desk.volproof(&format!(
        "run . --rw randread --file-size 16M --shared --clock-error 1ms --start-at {soon} --rank 0/5"
    ));
    assert!(folder.2.contains("with --shared name the device or a file"), "{}", folder.2);
}

#[test]
fn each_machine_writes_its_part_of_a_shared_volume_before_the_common_start() {
    let desk = Desk::with(&[]);
    std::fs::write(desk.0.path().join("disk"), vec![1; 8 << 20]).unwrap();
    let soon = (jiff::Timestamp::now() + jiff::SignedDuration::from_mins(5)).to_string();
    for sharing in ["--shared", "--overlap"] {
        let (code, said, error) = desk.volproof(&format!(
            "plan disk --rw randread --buffered {sharing} --clock-error 1ms --start-at {soon} --rank 1/2 --precondition fill --overwrite"
        ));
        assert_eq!(
            (code, said.contains("(fill, as asked for) first writes 4 MiB")),
            (0, true),
            "{said}{error}"
        );
    }
}

#[test]
fn a_shared_volume_that_machines_wrote_or_divided_otherwise_is_refused() {
    let fill = Step {
        name: "precondition-fill".into(),
        rw: Pattern::Write,
        bs: BlockSizes::one(Bytes::mib(1)),
        io_size: Some(Bytes::gib(40)),
        ..Step::default()
    };
    // Each machine with its part of 40 GiB, after which the second is changed.
    let of = |volumes, change: &dyn Fn(&mut Plan)| {
        let mut records = Machines { volumes, ranks: 2, seconds: 10 }.records(&[1000.0; 2]);
        for record in &mut records {
            let rank = record.rank.clone().unwrap();
            on_a_disk(record, Some(if volumes.is_shared() || rank.rank == 0 { "d-1" } else { "d-2" }));
            record.plan.seed = 7;
            record.plan.steps.insert(0, fill.clone());
            record.plan.precondition =
                Some(Precondition { method: PreconditionMethod::Fill, steps: 1, why: String::new() });
            record.plan = part::of_rank(record.plan.clone(), &rank, Some(Bytes::gib(40))).unwrap();
        }
        change(&mut records[1].plan);
        let backwards = merge(records.clone().into_iter().rev()).map(drop);
        let told = merge(records).map(drop).map_err(|e| e.to_string());
        assert_eq!(told.is_ok(), backwards.is_ok());
        told
    };
    let unwritten = |plan: &mut Plan| {
        plan.precondition = None;
        plan.steps.remove(0);
    };
    for volumes in [FleetVolumes::Parts, FleetVolumes::Overlapping] {
        assert_eq!(of(volumes, &|_| ()), Ok(()));
        let told = of(volumes, &unwritten).unwrap_err();
        let says = "rank 1 (node1) had no preconditioning, and rank 0 (node0) had preconditioning (fill): ";
        assert!(told.starts_with(says), "{told}");
        let told = of(volumes, &|plan| plan.steps[0].offset = Bytes::gib(30)).unwrap_err();
        assert_eq!(
            told,
            "rank 1 (node1) had 20 GiB from 30 GiB in step 'precondition-fill', and rank 0 (node0) had 20 GiB from 0 B in step \
             'precondition-fill': parts of neighbours lie side by side: give every machine the same --offset and --size"
        );
    }
    assert_eq!(of(FleetVolumes::Own, &unwritten), Ok(()), "each writes what its own volume needs");
    let told = of(FleetVolumes::Parts, &|plan| plan.steps[1].offset = Bytes::gib(10)).unwrap_err();
    assert!(told.contains("in step 'randread'"), "{told}");
}

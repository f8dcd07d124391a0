//! The program: a run at a common time, and what is printed, written and read of a fleet.

use volproof::record::{FleetVolumes, Record, State};

use crate::fleet::{Desk, Machines, merge, on_a_disk};

#[test]
fn ranks_of_a_real_run_begin_together_and_are_merged() {
    let desk = Desk::with(&[]);
    let start = (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(20)).to_string();
    // A busy machine may be late with any of it: the figures that are asserted do not depend on that.
    let line = |rank: u32| {
        format!(
            "run --engine null --rw randread --runtime 1s --start-at {start} --rank {rank}/2 --clock-error 1ms --json r{rank}.json"
        )
    };
    let ran = std::thread::scope(|threads| {
        [0, 1]
            .map(|rank| {
                threads.spawn({
                    let (desk, line) = (&desk, line(rank));
                    move || desk.volproof(&line)
                })
            })
            .map(|t| t.join().unwrap())
    });
    for (code, _, said) in &ran {
        // It voids figures, too (6).
        assert!(matches!(code, 0 | 6), "{code}: {said}");
        assert!(said.contains("the first I/O is due at"), "{said}");
    }
    let of = |rank: u32| Record::load(&desk.0.path().join(format!("r{rank}.json"))).unwrap();
    let began = |r: &Record| r.steps[0].first_io_unix_ns.unwrap();
    let due = of(0).rank.unwrap().start_unix_ns;
    assert!([0, 1].iter().all(|r| began(&of(*r)) >= due), "nobody begins early");
    assert_ne!(of(0).plan.seed, of(1).plan.seed);
    let (_, text, said) = desk.volproof("merge r0.json r1.json -o fleet.json");
    assert!(text.contains("2 machines, each with volumes of its own"), "{text}{said}");
}

/// Four machines, of which one is slow.
fn four() -> Vec<Record> {
    Machines::of(FleetVolumes::Own, 4).records(&[2280.0, 2280.0, 1500.0, 2280.0])
}

#[test]
fn every_command_takes_the_record_of_a_fleet() {
    let desk = Desk::with(&four());
    let promise = "--promise alibaba:cloud_essd.PL0 --volume-size 40GiB";
    let merged = desk.volproof(&format!("merge r3.json r1.json r0.json r2.json -o fleet.json {promise}"));
    assert_eq!(merged.0, 1, "{}", merged.2);
    insta::assert_snapshot!(merged.1);
    let shown = desk.volproof("show fleet.json");
    assert_eq!((shown.0, shown.1), (0, merged.1.split("\nRecord:").next().unwrap().to_string()));
    let details = desk.volproof("show fleet.json --details").1;
    assert!(details.contains("fleet    4 machines, each with volumes of its own"), "{details}");
    assert_eq!(desk.volproof(&format!("verdict fleet.json {promise}")).0, 1);
    assert_eq!(desk.volproof("explain fleet.json").1, details);
    assert_eq!(desk.volproof("report fleet.json -o page.html").0, 0);
    let page = std::fs::read_to_string(desk.0.path().join("page.html")).unwrap();
    for rank in 0..4 {
        assert!(page.contains(&format!("\nrank {rank} (node{rank})")), "a row for each machine");
    }
    for form in ["record", "json", "csv", "normal", "plan"] {
        let (code, text, said) = desk.volproof(&format!("convert fleet.json --to {form}"));
        assert_eq!(code, 0, "{form}: {said}");
        assert!(!text.is_empty(), "{form}");
    }
    let csv = desk.volproof("show fleet.json --csv").1;
    assert!(csv.contains("randread,read,all,null,300.000,"), "{csv}");
    assert!(csv.contains("randread,read,rank 2 (node2),null,300.000,450000,"), "{csv}");
    let metrics = desk.volproof("show fleet.json --openmetrics -").1;
    assert!(
        metrics.contains("volproof_ios_per_second{plan=\"fleet\",target=\"\",step=\"randread\""),
        "{metrics}"
    );
    let junit = desk.volproof("show fleet.json --junit -").1;
    assert!(junit.contains("name=\"rank 2 (node2)\" time=\"0.000\""), "{junit}");
    let quiet = desk.volproof(&format!("merge r0.json r1.json r2.json r3.json -q -o again.json {promise}"));
    assert_eq!((quiet.0, quiet.1.lines().count()), (1, 1), "{}", quiet.1);
}

#[test]
fn a_fleet_that_is_not_whole_is_no_success() {
    let desk = Desk::with(&four());
    let (code, text, _) = desk.volproof("merge r0.json r1.json r3.json -o fleet.json");
    assert_eq!(code, 6);
    assert!(text.starts_with("FAILED"), "{text}");
    assert!(text.contains("rank 2 of 4 left no Record"), "{text}");
    let junit = desk.volproof("show fleet.json --junit -").1;
    assert!(junit.contains("it left no Record"), "{junit}");
}

#[test]
fn a_fleet_whose_machines_were_late_is_invalid_although_nothing_was_measured() {
    for volumes in [FleetVolumes::Own, FleetVolumes::Parts] {
        let mut records = Machines { volumes, ranks: 2, seconds: 10 }.records(&[1000.0; 2]);
        for (record, own) in records.iter_mut().zip(["d-1", "d-2"]) {
            on_a_disk(record, Some(if volumes.is_shared() { "d" } else { own }));
            record.steps.clear();
            record.state = State::Failed("getting ready took until 9 s after the common start".into());
        }
        let desk = Desk::with(&records);
        let promise = "--promise alibaba:san_efficiency --volume-size 20GiB --offline";
        let (code, text, error) = desk.volproof(&format!("merge r0.json r1.json {promise} -o fleet.json"));
        assert_eq!((code, text.starts_with("INVALID")), (6, true), "{text}{error}");
        assert_eq!(desk.volproof("verdict fleet.json").0, 6);
    }
}

#[test]
fn a_fleet_reads_back_and_keeps_to_the_schema() {
    let fleet = merge(four()).unwrap();
    let json = serde_json::to_string(&fleet).unwrap();
    assert_eq!(Record::parse(&json, "x".into()).unwrap(), fleet);
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/record.schema.json");
    let schema = serde_json::from_slice(&std::fs::read(page).unwrap()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let value = serde_json::from_str(&json).unwrap();
    let wrong: Vec<String> =
        validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

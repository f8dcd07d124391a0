//! Whole fleets in one process: each rank is a thread, their messages go through channels, their devices play in virtual time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;

use crate::cli::{Cli, CliCommand, FleetRunArgs};
use crate::run::Failure;
use crate::run::fleet_run::{take_part, volumes_fit};
use crate::run::fleet_work::FleetWork;
use volproof_fleet::exchange::{Exchange, threads};
use volproof_fleet::link::FleetLink;
use volproof_fleet::message::FleetMessage;
use volproof_fleet::rank_clock::ClockStamp;
use volproof_plan::Plan;
use volproof_record::exit::Exit;
use volproof_record::{ClockBasis, Outcome, Record};

const DAY: i64 = 86_400_000_000_000;
const SIMULATED: &str = "--rw randread --simulate latency=500us --runtime 1s";

fn arguments(words: &str, records: &Path) -> Box<FleetRunArgs> {
    let records = records.to_str().unwrap();
    let words = format!("volproof fleet {words} --quiet --records {records}");
    match Cli::try_parse_from(words.split_whitespace()).unwrap().command {
        CliCommand::Fleet(args) => args,
        other => panic!("{other:?}"),
    }
}

/// The links of a fleet; the monotonic clock of each machine is a day ahead of the one before it.
fn links(ranks: u32) -> Vec<FleetLink> {
    let link = |exchange: threads::ThreadExchange| {
        let rank = exchange.place().rank;
        let clocks = move || {
            let now = ClockStamp::now();
            ClockStamp { monotonic_ns: now.monotonic_ns + i64::from(rank) * DAY, ..now }
        };
        let limit = Duration::from_secs(60);
        FleetLink::start(|| Ok(exchange), format!("node{rank}"), limit, Arc::default(), clocks).unwrap()
    };
    threads::fleet(ranks).into_iter().map(link).collect()
}

/// Runs a fleet, each rank with its words.
fn fleet(words: &[String], records: &Path) -> Vec<Result<Exit, Failure>> {
    std::thread::scope(|scope| {
        let rank = |(link, words): (FleetLink, &String)| {
            let args = arguments(words, records);
            scope.spawn(move || take_part(&FleetWork::from_args(&args), link, &Arc::default()))
        };
        let ranks: Vec<_> = links(words.len() as u32).into_iter().zip(words).map(rank).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

fn records(folder: &Path, stem: &str) -> Vec<Record> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(stem)).collect();
    paths.sort();
    paths.iter().map(|path| Record::load(path).unwrap()).collect()
}

#[test]
fn ranks_make_one_record_and_keep_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let ended = fleet(&[SIMULATED, SIMULATED, SIMULATED].map(String::from), folder.path());
    assert!(ended.iter().all(|exit| matches!(exit, Ok(Exit::Done))), "{ended:?}");
    let own = records(folder.path(), "volproof-rank");
    let [record] = records(folder.path(), "volproof-fleet").try_into().unwrap();
    let fleet = record.fleet.as_ref().unwrap();
    assert_eq!((own.len(), fleet.ranks, fleet.machines.len()), (3, 3, 3));
    let ios = |record: &Record| record.steps[0].read.as_ref().unwrap().ios;
    assert_eq!(ios(&record), own.iter().map(ios).sum::<u64>());
    for (own, machine) in own.iter().zip(&fleet.machines) {
        let (mine, theirs) = (own.rank.as_ref().unwrap(), machine.record.rank.as_ref().unwrap());
        assert_eq!(mine, theirs, "each machine keeps what the fleet has of it");
        assert_eq!(mine.clock.basis, ClockBasis::Exchange);
        let planted = i64::from(mine.rank) * DAY;
        let error = mine.clock.error_ns.unwrap().0;
        assert!((mine.clock.monotonic_offset_ns.unwrap() - planted).unsigned_abs() <= error + 1_000_000_000);
    }
}

#[test]
fn a_machine_with_another_load_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let slow = SIMULATED.replace("500us", "500us,iops-cap=3000");
    let ended = fleet(&[SIMULATED.to_string(), slow], folder.path());
    let told = ended[0].as_ref().unwrap_err();
    assert!(told.message.contains("was started with other options than rank 0 (node0)"), "{told:?}");
}

#[test]
fn needs_of_applications_are_judged_on_each_machine() {
    let folder = tempfile::tempdir().unwrap();
    let slow = "--fit etcd --simulate latency=20ms --runtime 60s";
    let ended = fleet(&[slow, slow].map(String::from), folder.path());
    let failed = |exit: &Result<Exit, Failure>| match exit {
        Ok(exit) => *exit == Exit::Fail,
        // The other ranks end with the code of rank 0, which alone says why.
        Err(failure) => failure.code == Exit::Fail as u8 && failure.message.is_empty(),
    };
    assert!(ended.iter().all(failed), "{ended:?}");
    let [record] = records(folder.path(), "volproof-fleet").try_into().unwrap();
    let verdict = record.verdict.as_ref().unwrap();
    let failed: Vec<&str> = verdict
        .claims
        .iter()
        .filter(|c| c.outcome == Outcome::Fail && c.need.is_some())
        .map(|c| c.step.as_str())
        .collect();
    for machine in ["etcd-wal on rank 0 (", "etcd-wal on rank 1 ("] {
        assert!(failed.iter().any(|step| step.starts_with(machine)), "{failed:?}");
    }
    assert_eq!(verdict.outcome, Some(Outcome::Fail));
    assert_eq!(verdict.against, "etcd (minimum), each by itself");
    let shared = format!("{slow} --shared");
    let told = fleet(&[shared.clone(), shared], folder.path()).remove(0).unwrap_err().message;
    assert!(told.contains("judged on each machine by itself"), "{told}");
}

#[test]
fn a_rank_without_consent_ends_the_run_of_all_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, vec![1; 1 << 20]).unwrap();
        format!("--rw randwrite --buffered --runtime 1s {}", path.display())
    };
    let words = [format!("{} --overwrite", file("a")), format!("{} --overwrite", file("b")), file("c")];
    let ended = fleet(&words, folder.path());
    let failures: Vec<_> = ended.into_iter().map(|exit| exit.unwrap_err()).collect();
    assert_eq!(failures.iter().map(|f| f.code).collect::<Vec<_>>(), [3, 3, 3]);
    assert!(failures[0].message.starts_with("rank 2 (node2): "), "{}", failures[0].message);
    assert!(failures[0].message.ends_with("the run was ended on all machines"), "{}", failures[0].message);
    assert_eq!(failures[1].message, "", "rank 0 tells");
    assert!(failures[2].message.starts_with("rank 2 (node2): "), "{}", failures[2].message);
    assert!(failures[2].message.contains("--overwrite"), "{}", failures[2].message);
    assert!(records(folder.path(), "volproof-").is_empty());
    assert!(std::fs::read(folder.path().join("a")).unwrap().iter().all(|byte| *byte == 1));
}

/// Rank 0 of two, whose other rank says this; what rank 0 says then, and what the other rank hears.
fn told_by(hello: FleetMessage) -> (Failure, String) {
    let folder = tempfile::tempdir().unwrap();
    let [first, other] = links(2).try_into().unwrap_or_else(|_| panic!("two ranks"));
    let args = arguments(SIMULATED, folder.path());
    let failure = std::thread::scope(|scope| {
        let rank = scope.spawn(move || take_part(&FleetWork::from_args(&args), first, &Arc::default()));
        other.send(0, hello);
        while other.stopped().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        other.send(0, FleetMessage::Ended { measured: false });
        rank.join().unwrap().unwrap_err()
    });
    let heard = other.stopped().unwrap().text;
    other.leave(true);
    (failure, heard)
}

#[test]
fn ranks_that_cannot_be_of_one_run_are_refused_by_name() {
    let hello = |version: &str, options: &str| FleetMessage::Hello {
        version: version.into(),
        host: "node1".into(),
        options: options.into(),
    };
    let own = env!("CARGO_PKG_VERSION");
    let (failure, heard) = told_by(hello("0.0.1", ""));
    let text = format!(
        "rank 1 (node1) has volproof 0.0.1, and rank 0 (node0) has volproof {own}: use one version on all machines"
    );
    assert_eq!((failure.code, failure.message), (2, format!("rank 0 (node0): {text}")));
    assert_eq!(heard, format!("rank 0 (node0): {text}"));
    let (failure, _) = told_by(hello(own, "other"));
    assert!(failure.message.contains("was started with other options"), "{}", failure.message);
}

#[test]
fn volumes_that_are_to_be_one_have_one_serial_number() {
    let says = |volumes: [Option<&str>; 3], shared| {
        let volumes = (0..3).zip(volumes.map(|v| v.map(String::from))).collect();
        volumes_fit(&volumes, shared, &|rank| format!("rank {rank}")).err().map(|f| f.message)
    };
    let same = [Some("d-1"); 3];
    assert_eq!(says(same, true), None);
    assert_eq!(says([Some("d-1"), Some("d-2"), Some("d-3")], false), None);
    assert_eq!(says([None; 3], true), None, "told in the verdict");
    assert_eq!(says([None; 3], false), None);
    let told = says([Some("d-1"), Some("d-1"), Some("d-2")], true).unwrap();
    assert_eq!(told, "rank 2 has the volume d-2, and rank 0 d-1: with --shared all machines name one volume");
    let told = says([Some("d-1"), None, Some("d-1")], true).unwrap();
    assert!(told.starts_with("rank 1 has the volume one without serial number"), "{told}");
    assert_eq!(says(same, false).unwrap(), "rank 0 and rank 1 both have the volume d-1: add --shared");
}

#[test]
fn messages_survive_the_way() {
    let plan = Box::new(Plan::none());
    for message in [
        FleetMessage::Order { plan, asked: None },
        FleetMessage::Record(b"R{}".to_vec()),
        FleetMessage::Pong(3, ClockStamp { unix_ns: -1, monotonic_ns: 7 }),
    ] {
        assert_eq!(FleetMessage::of_bytes(&message.to_bytes()), Some(message));
    }
    assert_eq!(FleetMessage::of_bytes(b"nonsense"), None);
}

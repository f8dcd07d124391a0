//! Files that a job names, through the pipeline as a second front end calls it: made, made longer, overwritten, left or taken away.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use volproof::device::{Facts, Root};
use volproof::engine::Timer;
use volproof::fio::plan::JobDataFile;
use volproof::plan::{EngineKind, Pattern, Plan, Start, Step};
use volproof::record::{Record, State};
use volproof::run::Failure;
use volproof::run::pipeline::{CheckedRun, Ended, Front, RunOptions};
use volproof::ui::Ui;
use volproof::unit::{Bytes, Nanos};

use crate::run::Bench;

struct Silent {
    ui: Ui,
    saved: usize,
}

impl Front for Silent {
    fn ui(&mut self) -> &mut Ui {
        &mut self.ui
    }

    fn measured(&mut self, record: &Record) {
        self.saved = record.steps.len();
    }
}

fn step(name: &str, rw: Pattern) -> Step {
    Step { name: name.into(), rw, runtime: Nanos::millis(200), engine: EngineKind::Psync, ..Step::default() }
}

fn plan(file: &Path, steps: Vec<Step>) -> Plan {
    Plan {
        name: "laid".into(),
        targets: vec![file.into()],
        file_size: None,
        keep: false,
        overwrite: false,
        continue_on_error: false,
        seed: 1,
        steps,
        question: None,
        precondition: None,
        follow_up: None,
    }
}

fn options(file: &Path, size: Bytes, unlink: bool) -> RunOptions {
    let job_files = BTreeMap::from([(file.to_path_buf(), JobDataFile { size, unlink })]);
    RunOptions { job_files, ..RunOptions::default() }
}

fn run(plan: Plan, options: RunOptions) -> Result<(Ended, Silent), Failure> {
    let mut front = Silent { ui: Ui::silent(), saved: 0 };
    let timer = Timer::choose(Path::new("/"));
    let job = CheckedRun::survey(Root::system(), plan, options)?;
    let ended = job.run(&timer, &Arc::new(AtomicUsize::new(0)), &mut front);
    Ok((ended, front))
}

#[track_caller]
fn complete(ran: Result<(Ended, Silent), Failure>) -> (Ended, Silent) {
    let (ended, front) = ran.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(ended.record.state, State::Complete);
    (ended, front)
}

#[test]
fn a_missing_file_is_written_before_it_is_read_and_stays() {
    let bench = Bench::new();
    let file = bench.path().join("new.dat");
    // No whole number of MiB: the ends are written too.
    let size = Bytes((3 << 20) + 12_345);
    let (ended, front) =
        complete(run(plan(&file, vec![step("r", Pattern::RandRead)]), options(&file, size, false)));
    assert!(ended.kept.is_empty() && ended.failed.is_empty());
    assert_eq!(front.saved, 1);
    let record = &ended.record;
    assert!(record.targets[0].filled_in_ns.is_some());
    assert!(!record.doubts.iter().any(|w| w.code == "unwritten-blocks"), "{:?}", record.doubts);
    assert_eq!(record.steps[0].errors.count, 0);
    assert!(record.steps[0].iops() > 0.0);
    let data = std::fs::read(&file).unwrap();
    assert_eq!(data.len() as u64, size.0);
    for (i, part) in data.chunks(4096).enumerate() {
        assert!(part.iter().any(|b| *b != 0), "block {i} was never written");
    }
}

#[test]
fn a_short_file_is_lengthened_and_keeps_what_it_had() {
    let bench = Bench::new();
    let file = bench.file("short.dat", 1);
    std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len((1 << 20) - 1000).unwrap();
    let before = std::fs::read(&file).unwrap();
    complete(run(plan(&file, vec![step("r", Pattern::RandRead)]), options(&file, Bytes::mib(4), false)));
    let after = std::fs::read(&file).unwrap();
    assert_eq!(after.len(), 4 << 20);
    assert!(after.starts_with(&before), "reading changes nothing that was there");
    assert!(after[before.len()..].chunks(4096).all(|c| c.iter().any(|b| *b != 0)));

    let (ended, _) =
        complete(run(plan(&file, vec![step("r", Pattern::RandRead)]), options(&file, Bytes::mib(2), false)));
    assert_eq!(ended.record.targets[0].size_bytes, Bytes::mib(4), "a longer one is used as it is");
    assert!(ended.record.targets[0].filled_in_ns.is_none());
    assert_eq!(std::fs::read(&file).unwrap(), after);
}

#[test]
fn a_file_that_is_only_written_has_its_length_at_once() {
    let bench = Bench::new();
    let file = bench.path().join("new.dat");
    let written = Step { io_size: Some(Bytes::kib(64)), runtime: Nanos(0), ..step("w", Pattern::Write) };
    let (ended, _) = complete(run(plan(&file, vec![written.clone()]), options(&file, Bytes::mib(4), false)));
    assert!(ended.record.targets[0].filled_in_ns.is_none(), "nothing was written but by the step");
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 4 << 20);
    assert_eq!(ended.record.steps[0].write.as_ref().unwrap().bytes, Bytes::kib(64));

    // It exists now, and is overwritten without being asked; at the end it goes.
    complete(run(plan(&file, vec![written]), options(&file, Bytes::mib(4), true)));
    assert_eq!(Bench::names(bench.path()), Vec::<String>::new());
}

#[test]
fn steps_that_read_and_write_one_new_file_share_it() {
    let bench = Bench::new();
    let file = bench.path().join("shared.dat");
    let beside = Step { start: Start::WithPrevious, direct: false, ..step("w", Pattern::RandWrite) };
    let (ended, _) = complete(run(
        plan(&file, vec![step("r", Pattern::RandRead), beside]),
        options(&file, Bytes::mib(4), true),
    ));
    assert!(ended.record.targets[0].filled_in_ns.is_some(), "a step reads it");
    assert_eq!(ended.record.steps.len(), 2);
    assert!(ended.record.steps.iter().all(|s| s.errors.count == 0 && s.iops() > 0.0));
    assert!(!file.exists());
}

#[test]
fn what_cannot_be_laid_is_refused_before_anything_is_made() {
    let bench = Bench::new();
    let file = bench.path().join("new.dat");
    let read = || vec![step("r", Pattern::RandRead)];
    let refusal = |plan: Plan, options: RunOptions| match run(plan, options) {
        Ok(_) => panic!("it ran"),
        Err(e) => e.to_string(),
    };
    assert!(
        refusal(plan(&file, read()), RunOptions::default()).contains("new.dat"),
        "the rule is asked for by name"
    );
    assert!(refusal(plan(&file, read()), options(&file, Bytes(0), false)).contains("no size"));
    assert!(refusal(plan(&file, read()), options(&file, Bytes(1 << 60), false)).contains("free"));
    let folder = bench.folder("folder");
    assert!(refusal(plan(&folder, read()), options(&folder, Bytes::mib(1), false)).contains("is a folder"));
    let nowhere = bench.path().join("no/such/folder.dat");
    assert!(refusal(plan(&nowhere, read()), options(&nowhere, Bytes::mib(1), false)).contains("no/such"));
    assert!(!file.exists());
}

#[test]
fn a_run_that_is_ended_while_a_file_is_lengthened_gives_its_length_back() {
    let bench = Bench::new();
    let file = bench.file("short.dat", 1);
    let mut front = Silent { ui: Ui::silent(), saved: 0 };
    let timer = Timer::choose(Path::new("/"));
    let ended = |file: &Path, front: &mut Silent| {
        let job = CheckedRun::survey(
            Root::system(),
            plan(file, vec![step("r", Pattern::RandRead)]),
            options(file, Bytes::mib(256), false),
        )
        .unwrap_or_else(|e| panic!("{e}"));
        // The user has already asked for the end: the filling hears of it at its first news.
        job.run(&timer, &Arc::new(AtomicUsize::new(1)), front)
    };
    let record = ended(&file, &mut front).record;
    assert_eq!(record.state, State::Interrupted);
    let size = std::fs::metadata(&file).unwrap().len();
    // Where 256 MiB are written within a tenth of a second it was done before it heard.
    assert!(size == 1 << 20 || (size == 256 << 20 && record.targets[0].filled_in_ns.is_some()), "{size}");

    let new = bench.path().join("new.dat");
    let record = ended(&new, &mut front).record;
    let kept = record.targets.first().is_some_and(|t| t.filled_in_ns.is_some());
    assert_eq!(new.exists(), kept, "half a file would be read as a whole one by the next run");
}

#[test]
fn a_step_that_fails_leaves_the_others_alone_where_that_is_asked_for() {
    let bench = Bench::new();
    let file = bench.file("f.dat", 4);
    let failing = Step {
        name: "failing".into(),
        engine: EngineKind::Null,
        simulate: Some(Box::new(volproof::plan::Simulated {
            latency: Nanos::millis(1),
            error_every: 5,
            ..Default::default()
        })),
        ..step("", Pattern::RandRead)
    };
    let beside = Step { start: Start::WithPrevious, ..step("beside", Pattern::RandRead) };
    let later = step("later", Pattern::RandRead);
    let options = RunOptions { others_go_on: true, ..RunOptions::default() };
    let (ended, _) =
        run(plan(&file, vec![failing, beside, later]), options).unwrap_or_else(|e| panic!("{e}"));
    assert!(matches!(ended.record.state, State::Failed(_)), "{:?}", ended.record.state);
    let failed: Vec<_> = ended.failed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(failed, ["failing"]);
    let names: Vec<_> = ended.record.steps.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["failing", "beside", "later"]);
    assert_eq!(ended.record.steps[1].window_ns, Nanos::millis(200), "it ran to its end");
    let Facts::File(_) = &ended.record.targets[0].facts else { panic!("a file") };
}

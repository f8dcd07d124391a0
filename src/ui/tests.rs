//! The screen as a user reads it, in all states and sizes, from samples that are the same every time.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use super::frame;
use super::live_run::{LiveNews, LiveRun, Panel, StagedStep};
use super::step_result::StepResult;
use volproof_base::doubt::{Doubt, Severity};
use volproof_base::hist::Histogram;
use volproof_base::sample::{Counts, Direction, GRID, Interval, PerDirection, Second};
use volproof_base::unit::{Bytes, Nanos, micro};
use volproof_device::device::{DevNumber, Facts, FileFacts, FilePlace};
use volproof_host::observe::{DiskTrack, KernelCounters};
use volproof_plan::{EngineKind, Pattern, Plan, Step};
use volproof_promise::catalogue::Promise;
use volproof_promise::catalogue::catalogue_file::Catalogue;
use volproof_promise::catalogue::request::PromiseRequest;
use volproof_record::{JudgedPromise, Record, TargetRecord};

/// Steps of 60 s after a ramp of 5 s, with 32 requests in flight, on so many targets.
fn record(names: &[&str], targets: &[&str]) -> Record {
    let step = |name: &&str| Step {
        name: name.to_string(),
        rw: if name.contains("write") { Pattern::RandWrite } else { Pattern::RandRead },
        iodepth: 32,
        ramp: Nanos::seconds(5),
        runtime: Nanos::seconds(60),
        engine: EngineKind::IoUring,
        ..Step::default()
    };
    let target = |name: &&str| TargetRecord {
        named: name.into(),
        path: name.into(),
        size_bytes: Bytes::gib(100),
        filled_in_ns: None,
        facts: Facts::File(Box::new(FileFacts {
            place: FilePlace {
                path: name.into(),
                number: DevNumber { major: 253, minor: 1 },
                filesystem: Some("ext4".into()),
                filesystem_uuid: None,
                layer_filesystem: None,
                mount_point: None,
                free_bytes: Bytes::gib(20),
                device: None,
                more_devices: Vec::new(),
                direct: None,
            },
            inode: 12,
            born: None,
            size_bytes: Bytes::gib(100),
            extents: None,
        })),
    };
    let request = PromiseRequest {
        volume: "alibaba:cloud_essd.PL1:100GiB".parse().unwrap(),
        ..PromiseRequest::default()
    };
    let plan = Plan {
        name: "standard".into(),
        steps: names.iter().map(step).collect(),
        ..volproof_plan::PRESETS[0].plan()
    };
    Record {
        volproof_version: "1.2.3".into(),
        targets: targets.iter().map(target).collect(),
        doubts: vec![Doubt::new(
            Severity::Note,
            "system-disk",
            "vda is the system disk",
            "use another volume",
        )],
        judged_promise: Some(JudgedPromise {
            options: Vec::new(),
            min_share: None,
            tolerance: 0.02,
            promise: Promise::requested(Catalogue::shipped(), &request).unwrap(),
            notes: Vec::new(),
            judge_burst: false,
        }),
        ..Record::of_plan(plan, "2026-01-02T03:04:05Z".to_string().into())
    }
}

/// Intervals of a worker from one place of the grid to another: a rate of some 7,000 I/Os a second that varies a little.
fn intervals(worker: u32, d: Direction, places: std::ops::Range<i64>) -> Vec<Interval> {
    let mut latencies = Histogram::new();
    let interval = |index: i64| {
        let ios = 690 + (index.unsigned_abs() * 7919 % 31);
        let latency = 4_200_000 + index.unsigned_abs() * 104_729 % 700_000;
        if index == 0 {
            // The ramp does not count.
            latencies.clear();
        }
        latencies.record_n(Nanos(latency), ios - 3);
        latencies.record_n(Nanos(2 * latency), 2);
        latencies.record_n(Nanos(latency * (4 + index.unsigned_abs() * 13 % 11)), 1);
        let mut counts = PerDirection::<Counts>::default();
        counts[d] = Counts { ios, bytes: Bytes(ios * 4096), latency: Nanos(ios * latency) };
        let second = (index >= 0 && index % 10 == 9).then(|| {
            let mut second = Box::new(Second::default());
            second.service[d] = std::mem::take(&mut latencies).to_sparse();
            second.cpu.user = Nanos((index as u64 + 1) * 12_000_000);
            second.cpu.system = Nanos((index as u64 + 1) * 9_000_000);
            second
        });
        Interval { worker, index, length: GRID, counts, in_flight: 3_190_000_000, second }
    };
    places.map(interval).collect()
}

/// The kernel's counters of so many seconds.
fn evidence(seconds: u64) -> KernelCounters {
    let column = |v: u64| (0..seconds).map(|s| v + s * 17 % 23).collect::<Vec<u64>>();
    KernelCounters {
        at_ns: (1..=seconds).map(Nanos::seconds).collect(),
        window_starts_ns: Nanos::seconds(5),
        disks: vec![DiskTrack {
            name: "vdb".into(),
            reads: column(0),
            reads_merged: column(0),
            read_bytes: column(0),
            writes: column(6990),
            writes_merged: column(12),
            written_bytes: column(6990 * 4096),
            discards: column(0),
            flushes: column(0),
            busy_ns: column(31_000_000_000),
            read_ns: column(0),
            active_ns: column(999_000_000),
            queue_ns: column(31_000_000_000),
            in_flight: column(20),
        }],
        ..KernelCounters::default()
    }
}

/// A run whose steps from one place of the plan to another make a stage.
fn run(record: &Record, stage: std::ops::Range<usize>) -> LiveRun {
    let mut run = LiveRun::default();
    run.take(LiveNews::Said("Test file /mnt/x/volproof-test-1.dat: 4 GiB, as file-size says".into()));
    run.take(LiveNews::Run(Box::new(record.clone())));
    let staged = |place: usize| StagedStep {
        place: format!("[{}/{}]", place + 1, record.plan.steps.len()),
        step: record.plan.steps[place].clone(),
        engine: EngineKind::IoUring,
        paths: record.targets.iter().map(|t| t.path.clone()).collect(),
        targets: record.targets.len(),
        is_touch: false,
    };
    let total = Some(Nanos::seconds(65));
    run.take(LiveNews::Stage { steps: stage.map(staged).collect(), total, after: Some(Nanos::seconds(130)) });
    run
}

/// A step of the stage is heard of for so many seconds, its ramp included.
fn hear(run: &mut LiveRun, number: usize, worker: u32, d: Direction, seconds: u64) {
    run.take(LiveNews::Begun(number));
    run.take(LiveNews::Heard {
        number,
        elapsed: Nanos::seconds(seconds),
        shift: 50,
        fresh: intervals(worker, d, -50..seconds as i64 * 10 - 50),
        evidence: Some(Box::new(evidence(seconds))),
    });
    run.look_ahead();
}

const NAMES: [&str; 3] = ["randread-iops", "randwrite-iops", "randwrite-latency"];

fn middle() -> LiveRun {
    let record = record(&NAMES, &["/mnt/x"]);
    let mut first = run(&record, 0..1);
    hear(&mut first, 0, 0, Direction::Read, 65);
    let outlook = first.stage.as_ref().unwrap().steps[0].outlook.clone().unwrap();
    let outcome = outlook.claims.first().map(|c| c.outcome);
    let finished = StepResult {
        name: NAMES[0].into(),
        figures: outlook.all.into_iter().map(|(d, s)| (d.name(), s, outcome)).collect(),
        errors: 0,
    };
    let mut run = run(&record, 1..2);
    run.finished.push(finished);
    hear(&mut run, 0, 0, Direction::Write, 35);
    run
}

/// The screen as text.
fn shown(run: &LiveRun, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|f| frame::draw(f, run)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| row(y).trim_end().to_string() + "\n").collect()
}

#[test]
fn a_ramp_is_not_counted() {
    let record = record(&NAMES, &["/mnt/x"]);
    let mut early = run(&record, 1..2);
    hear(&mut early, 0, 0, Direction::Write, 3);
    insta::assert_snapshot!(shown(&early, 80, 24));
}

#[test]
fn the_middle_of_a_step() {
    let run = middle();
    for (width, height) in [(80, 24), (60, 15), (200, 60)] {
        insta::assert_snapshot!(format!("middle_{width}x{height}"), shown(&run, width, height));
    }
}

#[test]
fn a_stalled_device_is_told_at_once() {
    let mut run = middle();
    run.take(LiveNews::Heard {
        number: 0,
        elapsed: Nanos::millis(44_300),
        shift: 50,
        fresh: Vec::new(),
        evidence: None,
    });
    insta::assert_snapshot!("stalled_80x24", shown(&run, 80, 24));
}

#[test]
fn errors_between_steps() {
    let mut run = middle();
    let doubt = Doubt::new(
        Severity::Blocker,
        "io-errors",
        "3 I/Os failed, the first one a write of 4 KiB at offset 8192 of /mnt/x: EIO",
        "look at the kernel log (dmesg); rates of a failing device mean nothing",
    );
    let failed = StepResult { name: NAMES[1].into(), figures: Vec::new(), errors: 3 };
    run.take(LiveNews::Measured { steps: vec![failed], doubts: vec![doubt.in_step(NAMES[1])] });
    insta::assert_snapshot!("errors", shown(&run, 80, 24));
    run.panel = Panel::Doubts;
    insta::assert_snapshot!("doubts", shown(&run, 80, 24));
    run.panel = Panel::Help;
    insta::assert_snapshot!("help", shown(&run, 80, 24));
}

#[test]
fn steps_that_run_together() {
    let record = record(&NAMES[..2], &["/mnt/x", "/mnt/y"]);
    let mut together = run(&record, 0..2);
    hear(&mut together, 0, 0, Direction::Read, 30);
    hear(&mut together, 0, 1, Direction::Read, 30);
    hear(&mut together, 1, 0, Direction::Write, 30);
    hear(&mut together, 1, 1, Direction::Write, 30);
    insta::assert_snapshot!("together", shown(&together, 80, 24));
}

#[test]
fn a_file_is_filled() {
    let mut run = LiveRun::default();
    run.take(LiveNews::Run(Box::new(record(&NAMES, &[]))));
    run.take(LiveNews::Said("Test file /mnt/x/volproof-test-1.dat: 4 GiB, as file-size says".into()));
    let (path, elapsed) = ("/mnt/x/volproof-test-1.dat".to_string(), Nanos::seconds(12));
    run.take(LiveNews::Filling { path, share: 0.3, elapsed, rate: 107e6 });
    insta::assert_snapshot!(shown(&run, 80, 24));
}

/// Its end is a command, which nobody can use in part.
#[test]
fn a_long_line_that_is_said_during_a_step_is_shown_whole() {
    let mut run = middle();
    let thaw = format!("fsfreeze -u /mnt/{}", "x".repeat(100));
    run.take(LiveNews::Said(format!("r.json has waited for 5 s to be written; {thaw}")));
    let text: String = shown(&run, 80, 24).lines().map(|line| line.trim_matches([' ', '"'])).collect();
    assert!(text.replace(' ', "").contains(&thaw.replace(' ', "")), "{text}");
}

#[test]
fn nothing_is_coloured_without_colours() {
    let mut run = middle();
    let coloured = |run: &LiveRun| {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|f| frame::draw(f, run)).unwrap();
        let cells = &terminal.backend().buffer().content;
        cells.iter().any(|c| c.fg != Color::Reset || c.bg != Color::Reset)
    };
    assert!(!coloured(&run));
    run.colours = true;
    assert!(coloured(&run));
}

#[test]
fn microseconds_have_their_sign_where_the_terminal_shows_it() {
    let mut run = middle();
    run.take(LiveNews::Said("p50 80.1 us".into()));
    let plain = shown(&run, 80, 24);
    run.micro = true;
    assert!(plain.contains("80.1 us") && !plain.contains('µ'), "{plain}");
    assert_eq!(shown(&run, 80, 24), micro(&plain));
}

#[test]
fn names_of_others_do_not_reach_the_terminal_as_control_characters() {
    let record = record(&["a\x1b[2Jb\u{202e}c\nd"], &["/mnt/\x07\x1b]0;x"]);
    let mut run = run(&record, 0..1);
    hear(&mut run, 0, 0, Direction::Read, 20);
    let text = shown(&run, 120, 30) + &shown(&run, 40, 10);
    assert!(
        text.contains("a\\u001b[2Jb\\u202ec d") && !text.contains(['\x1b', '\x07', '\u{202e}']),
        "{text}"
    );
}

/// However long it takes to look ahead, as after hours of samples, it costs no more than one percent of a CPU.
#[test]
fn the_pace_keeps_the_cost_below_a_percent() {
    use super::outlook::OutlookPace;
    use std::time::{Duration, Instant};
    let (mut pace, began) = (OutlookPace::default(), Instant::now());
    let at = |ms| began + Duration::from_millis(ms);
    assert!(pace.is_due(began));
    pace.took(began, at(2));
    assert!(!pace.is_due(at(900)) && pace.is_due(at(1002)));
    pace.took(at(2000), at(2300));
    assert!(!pace.is_due(at(32_000)) && pace.is_due(at(32_300)));
}

/// Both rows are of one moment: what was heard after the figures of the step were worked out waits for their next time.
#[test]
fn the_last_second_has_no_longer_latency_than_its_step() {
    let mut run = middle();
    let mut slow = intervals(0, Direction::Write, 300..310);
    let latencies = &mut slow[9].second.as_mut().unwrap().service[Direction::Write];
    latencies.merge(&{
        let mut one = Histogram::new();
        one.record_n(Nanos::seconds(3), 1);
        one.to_sparse()
    });
    let elapsed = Nanos::seconds(36);
    run.take(LiveNews::Heard {
        number: 0,
        elapsed,
        shift: 50,
        fresh: slow,
        evidence: Some(Box::new(evidence(36))),
    });
    let longest = |run: &LiveRun| {
        let stage = run.stage.as_ref().unwrap();
        let of_step = stage.steps[0].outlook.as_ref().unwrap().all[0].1.service_latency_ns.max;
        (stage.last_second().unwrap().max().unwrap(), of_step)
    };
    let (of_second, of_step) = longest(&run);
    assert!(of_second <= of_step && of_step < Nanos::seconds(1), "{of_second} {of_step}");
    run.look_ahead();
    let (of_second, of_step) = longest(&run);
    assert!(of_second >= Nanos::millis(2900) && of_second <= of_step, "{of_second} {of_step}");
}

//! Histories with planted levels, and what an index keeps.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use volproof_base::unit::Bytes;
use volproof_compare::{ComparedFigure, RunSurroundings};

use super::*;

/// Standard deviation between runs, as a share: that of cloud volumes on good days.
const SPREAD: f64 = 0.007;

fn run(number: usize, value: f64, kernel: &str) -> IndexedFile {
    let figure = |figure, value| StoredFigure {
        step: "randread".into(),
        direction: None,
        figure,
        value,
        error: Some(0.006),
        void: None,
    };
    let line = RunLine {
        started: format!("2026-{:02}-{:02}T10:00:00Z", 1 + number / 28, 1 + number % 28),
        volume: Some("vol0123".into()),
        size_bytes: Bytes::gib(400),
        plan: "standard".into(),
        load: "randread: depth 32".into(),
        outcome: None,
        end: String::new(),
        figures: vec![figure(ComparedFigure::Iops, value), figure(ComparedFigure::P99, 1.9e6)],
        surroundings: RunSurroundings::from([("kernel".into(), kernel.into())]),
    };
    let stamp = FileVersion { file: format!("{number}.json"), size: 1, changed_ns: 1 };
    IndexedFile { stamp, line: IndexLine::Run(Box::new(line)) }
}

/// Runs whose level is `step` times as high from `at` on.
fn series(runs: usize, at: usize, step: f64, seed: u64) -> VolumeHistory {
    dip(runs, at..runs, step, seed)
}

/// Runs whose level is `step` times as high in a part of them.
fn dip(runs: usize, part: std::ops::Range<usize>, step: f64, seed: u64) -> VolumeHistory {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut normal = || {
        let uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        std::iter::repeat_with(uniform).take(12).sum::<f64>() - 6.0
    };
    let mut files = Vec::new();
    for number in 0..runs {
        let (level, kernel) = if part.contains(&number) { (step, "6.12") } else { (1.0, "6.8") };
        files.push(run(number, 100_000.0 * level * (1.0 + SPREAD * normal()), kernel));
    }
    RunHistory::of_files(&files).volumes.remove(0)
}

#[test]
fn a_step_of_3_percent_in_30_runs_is_found_and_its_cause_named() {
    let (mut found, mut in_place) = (0, 0);
    for seed in 0..100 {
        let at = 5 + seed as usize % 20;
        let history = series(30, at, 0.97, seed);
        let [change] = history.series[0].changes.as_slice() else { continue };
        found += 1;
        assert!((change.ratio() - 0.97).abs() < 0.015, "{change:?}");
        if change.run == at {
            in_place += 1;
            assert_eq!(change.differs[0].what, "kernel");
            assert_eq!(history.last_segment().len(), 30 - at);
        }
    }
    println!("{found} of 100 steps, {in_place} in place");
    assert!(found >= 95 && in_place >= 80, "{found} of 100 steps are found, {in_place} at their run");
}

/// The runs of the steps of the rate.
fn steps(history: &VolumeHistory) -> Vec<usize> {
    history.series[0].changes.iter().map(|change| change.run).collect()
}

#[test]
fn a_dip_is_found_where_it_begins_and_where_it_ends() {
    for (length, step) in [(2, 0.9), (2, 1.1), (4, 0.8), (4, 0.95), (5, 0.9), (10, 0.97), (10, 0.9)] {
        let mut found = 0;
        for seed in 0..100 {
            // Five runs on either side at least.
            let from = 5 + seed as usize % (30 - length - 9);
            let history = dip(30, from..from + length, step, 3000 + seed);
            found += usize::from(steps(&history) == [from, from + length]);
        }
        println!("{length} runs at {step}: {found} of 100");
        // Few runs are few for a test of two means, and 3 % is four times the spread.
        let least = if length < 10 || step == 0.97 { 60 } else { 90 };
        assert!(found >= least, "{found} of 100 dips to {step} of {length} runs");
    }
}

#[test]
fn the_last_two_runs_are_a_level_and_one_run_alone_is_none() {
    let (mut level, mut alone) = (0, 0);
    for seed in 0..100 {
        level += usize::from(steps(&dip(30, 28..30, 0.9, 5000 + seed)) == [28]);
        let at = [0, 29, 2 + seed as usize % 26][seed as usize % 3];
        alone += usize::from(!steps(&dip(30, at..at + 1, 0.9, 6000 + seed)).is_empty());
    }
    println!("{level} of 100 levels, {alone} of 100 single runs");
    assert!(level >= 95, "{level} of 100 levels of two runs");
    assert!(alone <= 5, "{alone} of 100 single runs");
}

#[test]
fn flat_series_have_few_steps() {
    for runs in [6, 12, 30, 100] {
        let flat = (1000..2000).map(|seed| series(runs, runs, 1.0, seed));
        let alarms = flat.filter(|history| history.series.iter().any(|one| !one.changes.is_empty())).count();
        println!("{alarms} of 1000 flat series of {runs} runs");
        assert!(alarms <= 50, "{alarms} of 1000 series of {runs} runs");
    }
}

#[test]
fn what_is_known_of_no_volume_or_void_is_no_level() {
    let mut files: Vec<IndexedFile> =
        (0..20).map(|n| run(n, if n < 10 { 1e5 } else { 5e4 }, "6.8")).collect();
    for file in &mut files {
        let IndexLine::Run(run) = &mut file.line else { unreachable!() };
        run.volume = None;
    }
    let history = RunHistory::of_files(&files);
    assert!(history.volumes[0].series[0].changes.is_empty(), "they may be of several volumes");
    let mut files: Vec<IndexedFile> =
        (0..20).map(|n| run(n, if n < 10 { 1e5 } else { 5e4 }, "6.8")).collect();
    for file in &mut files[10..] {
        let IndexLine::Run(run) = &mut file.line else { unreachable!() };
        run.figures.iter_mut().for_each(|figure| figure.void = Some("other-io".into()));
    }
    let history = RunHistory::of_files(&files);
    assert_eq!((history.volumes[0].runs.len(), history.volumes[0].series[0].points.len()), (20, 10));
}

#[test]
fn a_record_that_lies_there_twice_is_one_run() {
    let mut twice = vec![run(1, 1e5, "6.8"), run(1, 1e5, "6.8"), run(2, 1e5, "6.8")];
    twice[1].stamp.file = "copy.json".into();
    assert_eq!(RunHistory::of_files(&twice).volumes[0].runs.len(), 2);
}

#[test]
fn an_index_gives_back_what_has_not_changed() {
    let other = IndexedFile {
        stamp: FileVersion { file: "b.json".into(), size: 9, changed_ns: -4 },
        line: IndexLine::Damaged("it ends at column 7".into()),
    };
    let files = vec![run(1, 1e5, "6.8"), other];
    let text = FolderIndex::text(&files);
    let mut index = FolderIndex::parse(&text);
    assert_eq!(index.take(&files[0].stamp), Some(files[0].clone()));
    let changed = FileVersion { size: 10, ..files[1].stamp.clone() };
    assert_eq!(index.take(&changed), None, "its file has changed");
    // Another version's, and one that was cut off.
    assert!(FolderIndex::parse(&text.replacen("index 1", "index 0", 1)).is_empty());
    let cut = &text[..text.len() - 3];
    assert_eq!(FolderIndex::parse(cut).take(&files[1].stamp), None);
    assert!(FolderIndex::parse("").is_empty());
}

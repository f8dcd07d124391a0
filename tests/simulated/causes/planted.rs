//! A trial: volumes drawn from a seed, each with one planted cause or with two, and the rows of the table that must name them.
//!
//! `CAUSES=200` draws 200 volumes with one cause, and a quarter as many with two. `CAUSES_SEED` draws others.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use volproof::record::{Cause, CauseFinding, CauseRow, CauseTable};
use volproof::report::cause_words;

use crate::causes::{GP3, Lab, found};

/// As many volumes with one cause as a debug build tries in some ten seconds: two of each cause.
const ONE_CAUSE: u64 = 14;
/// A row names the planted cause of at least this share of the volumes with one.
const NAMED: f64 = 0.98;

const SINGLE: [Cause; 7] = [
    Cause::Cap,
    Cause::SlowVolume,
    Cause::VolumeOrInstance,
    Cause::BurstCredits,
    Cause::ThisMachine,
    Cause::OtherUsers,
    Cause::TooLittleLoad,
];

const DOUBLE: [[Cause; 2]; 8] = [
    [Cause::Cap, Cause::OtherUsers],
    [Cause::Cap, Cause::SlowVolume],
    [Cause::Cap, Cause::VolumeOrInstance],
    [Cause::SlowVolume, Cause::OtherUsers],
    [Cause::VolumeOrInstance, Cause::SlowVolume],
    [Cause::VolumeOrInstance, Cause::OtherUsers],
    [Cause::BurstCredits, Cause::OtherUsers],
    [Cause::BurstCredits, Cause::SlowVolume],
];

/// Numbers that follow from a seed.
struct Drawn(u64);

impl Drawn {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (high - low) * ((self.0 >> 33) as f64 / (1u64 << 31) as f64)
    }

    /// Each order of magnitude as often as the others.
    fn over_magnitudes(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.between(0.0, all.len() as f64) as usize]
    }
}

/// A volume with one planted cause or two, and how it is tried.
struct PlantedVolume {
    causes: Vec<Cause>,
    /// What is true of the volume too, and may be named or not.
    implied: Vec<Cause>,
    volume: String,
    load: String,
    options: String,
}

impl PlantedVolume {
    /// A volume of gp3 with these causes.
    fn with(causes: &[Cause], drawn: &mut Drawn) -> PlantedVolume {
        let has = |cause: Cause| causes.contains(&cause);
        let (mut words, mut implied) = (Vec::new(), Vec::new());
        let (block, block_kib) = if drawn.between(0.0, 4.0) < 3.0 { ("4KiB", 4.0) } else { ("16KiB", 16.0) };
        let mut iodepth = drawn.pick(&["16", "32", "64"]).to_string();
        let mut limit = drawn.over_magnitudes(120.0, 2700.0);

        // A volume that serves so many I/Os at a time, each for so long, has a limit on I/Os.
        let few_servers = causes == [Cause::SlowVolume] || causes == [Cause::SlowVolume, Cause::OtherUsers];
        if few_servers {
            let servers = drawn.between(6.0, 24.0).floor();
            limit = limit.min(servers / 0.003);
            words.push(format!("latency={:.0}us,servers={servers}", 1e6 * servers / limit));
            implied.push(Cause::Cap);
        } else if has(Cause::SlowVolume) {
            // Four at a time stay below the limit.
            let latency = drawn.over_magnitudes(2.5, 30.0).max(6000.0 / limit);
            words.push(format!("latency={latency:.2}ms"));
        } else if has(Cause::TooLittleLoad) {
            let depth = drawn.between(2.0, 5.0).floor();
            iodepth = depth.to_string();
            words.push(format!("latency={:.0}us,iops-cap=3000", drawn.between(depth / 0.0028, 1900.0)));
            implied.push(Cause::Cap);
        } else {
            let latency = drawn.over_magnitudes(100.0, 1500.0);
            words.push(format!("latency={latency:.0}us,jitter={:.0}us", drawn.between(0.0, 0.3) * latency));
        }

        let period = drawn.pick(&["50us", "200us", "1ms", "10ms", "100ms", "250ms", "1s"]);
        if has(Cause::VolumeOrInstance) {
            words.push(format!("instance-iops-cap={:.0},cap-period={period}", 1.8 * limit));
            implied.push(Cause::Cap);
        }
        if has(Cause::BurstCredits) {
            let burst = drawn.between(1.4, 5.0) * limit;
            let credits = drawn.between(8.0, 20.0) * limit;
            words.push(format!("iops-cap={limit:.0},burst-iops={burst:.0},burst-ios={credits:.0}"));
            implied.push(Cause::Cap);
        }
        if has(Cause::Cap) && has(Cause::VolumeOrInstance) {
            words.push(format!("iops-cap={:.0}", drawn.between(1.0, 1.1) * limit));
        } else if has(Cause::Cap) && drawn.between(0.0, 2.0) < 1.0 {
            words.push(format!("iops-cap={limit:.0},cap-period={period}"));
        } else if has(Cause::Cap) {
            words.push(format!("bytes-cap={:.0}KiB,cap-period={period}", block_kib * limit));
        }
        if has(Cause::OtherUsers) {
            if causes == [Cause::OtherUsers] {
                limit = 3000.0;
                words.push(format!("iops-cap={limit:.0},cap-period={period}"));
                implied.push(Cause::Cap);
            }
            words.push(format!("others-iops={:.0}", drawn.between(0.1, 0.5) * limit));
        }
        if has(Cause::ThisMachine) {
            words.push(format!("cpu-per-io={:.0}us", 1e6 / limit));
        }
        let targets = if has(Cause::VolumeOrInstance) { "one two --file-size 16GiB " } else { "" };
        PlantedVolume {
            causes: causes.to_vec(),
            implied,
            volume: words.join(","),
            load: format!("--bs {block} --iodepth {iodepth}"),
            options: format!("{targets}{GP3} --why"),
        }
    }

    /// Runs it, and holds the table against what was planted.
    fn tried(&self) -> Answer {
        let (record, text) = Lab::new().run_load(&self.load, &self.volume, &self.options);
        let table = record.causes.as_ref().unwrap_or_else(|| panic!("no table: {text}"));
        let found = found(table);
        let is_planted = |cause: &Cause| self.causes.contains(cause);
        Answer {
            missed: self.causes.iter().copied().filter(|cause| !found.contains(cause)).collect(),
            false_shown: found
                .iter()
                .copied()
                .filter(|c| !is_planted(c) && !self.implied.contains(c))
                .collect(),
            false_proven: proven(table)
                .into_iter()
                .filter(|cause| !is_planted(cause) && !self.implied.contains(cause))
                .collect(),
            words: format!(
                "planted {:?}, found {found:?}: {} --simulate {}\n{}",
                self.causes,
                self.load,
                self.volume,
                cause_words::text(&record, table)
            ),
        }
    }
}

/// How a table stands to what was planted.
struct Answer {
    missed: Vec<Cause>,
    false_shown: Vec<Cause>,
    false_proven: Vec<Cause>,
    words: String,
}

fn proven(table: &CauseTable) -> Vec<Cause> {
    let is_proven = |row: &&CauseRow| matches!(row.finding, CauseFinding::Proven | CauseFinding::Part);
    let proven = table.rows.iter().filter(is_proven);
    proven.map(|row| row.cause).collect()
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The answers on so many volumes, in the order of their numbers.
fn answers(volumes: u64, draw: impl Fn(u64) -> PlantedVolume + Sync) -> Vec<Answer> {
    let next = AtomicU64::new(0);
    let answers = Mutex::new(Vec::new());
    let work = || {
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            if n >= volumes {
                return;
            }
            let answer = draw(n).tried();
            answers.lock().unwrap().push((n, answer));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut answers = answers.into_inner().unwrap();
    answers.sort_by_key(|(n, _)| *n);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

fn words(wrong: &[&Answer]) -> String {
    wrong.iter().map(|answer| answer.words.as_str()).collect::<Vec<_>>().join("\n")
}

/// No row names what was not planted.
fn nothing_is_named_falsely(answers: &[Answer]) {
    let wrong: Vec<&Answer> =
        answers.iter().filter(|a| !a.false_shown.is_empty() || !a.false_proven.is_empty()).collect();
    let proven = wrong.iter().filter(|a| !a.false_proven.is_empty()).count();
    assert!(wrong.is_empty(), "{} falsely named, {proven} of them proven\n{}", wrong.len(), words(&wrong));
}

/// The rows of the provider's page that are true of a volume: a limit that it does not have is never proven.
fn provider_rows(volume: &str) -> Vec<Cause> {
    let mut rows = Vec::new();
    rows.extend((volume.contains(",iops-cap") || volume.contains("bytes-cap")).then_some(Cause::VolumeLimit));
    rows.extend(volume.contains("instance-iops-cap").then_some(Cause::InstanceLimit));
    if rows.is_empty() { vec![Cause::NotThrottled] } else { rows }
}

#[test]
fn a_page_proves_no_limit_that_is_not_there() {
    let seed = number("CAUSES_SEED").unwrap_or_default();
    let volumes = number("CAUSES").unwrap_or(ONE_CAUSE);
    let answers = answers(volumes, |n| {
        let cause = SINGLE[n as usize % SINGLE.len()];
        let mut planted = PlantedVolume::with(&[cause], &mut Drawn(seed + 7919 * n + 1));
        planted.volume += ",page=ebs";
        planted.implied.extend(provider_rows(&planted.volume));
        planted
    });
    let wrong: Vec<&Answer> =
        answers.iter().filter(|a| !a.false_shown.is_empty() || !a.missed.is_empty()).collect();
    assert!(wrong.is_empty(), "{}", words(&wrong));
}

#[test]
fn one_planted_cause_is_named() {
    let seed = number("CAUSES_SEED").unwrap_or_default();
    let volumes = number("CAUSES").unwrap_or(ONE_CAUSE);
    let answers =
        answers(volumes, |n| PlantedVolume::with(&[SINGLE[(n % 7) as usize]], &mut Drawn(seed + n * 7919)));
    let missed: Vec<&Answer> = answers.iter().filter(|a| !a.missed.is_empty()).collect();
    eprintln!("one cause: {} of {volumes} named\n{}", volumes - missed.len() as u64, words(&missed));
    assert!(missed.len() as f64 <= (1.0 - NAMED) * volumes as f64, "{} missed", missed.len());
    nothing_is_named_falsely(&answers);
}

#[test]
fn two_planted_causes_hide_no_third() {
    let seed = number("CAUSES_SEED").unwrap_or_default();
    let volumes = number("CAUSES").unwrap_or(ONE_CAUSE) / 4;
    let answers =
        answers(volumes, |n| PlantedVolume::with(&DOUBLE[(n % 8) as usize], &mut Drawn(seed + n * 104_729)));
    let one: Vec<&Answer> = answers.iter().filter(|a| a.missed.len() == 1).collect();
    let none: Vec<&Answer> = answers.iter().filter(|a| a.missed.len() > 1).collect();
    eprintln!("two causes: {} of {volumes} with one of them missed\n{}", one.len(), words(&one));
    assert!(none.is_empty(), "no cause named of {}\n{}", none.len(), words(&none));
    nothing_is_named_falsely(&answers);
}

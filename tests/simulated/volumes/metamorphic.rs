//! Changes of a volume or of its test that must not change the answer, by whole runs. `judge::tests::metamorphic` holds the same properties for
//! hundreds of volumes each, on the rules alone.

use super::draw;
use super::fluid::{Device, Dip, StallCycle};
use super::lab::judge;
use super::truth;
use super::volume::{Test, Volume};

/// Volumes of each property.
const VOLUMES: usize = 4;

/// The first volumes of a class to which one answer alone is fair, under a step of a minute.
fn decided(class: &str) -> Vec<Volume> {
    let drawn = (10_000..).filter(|seed| draw::class(*seed) == class).map(|seed| draw::volume(seed).0);
    // Where a few I/Os or stalls more or less in a minute decide, an open answer is fair.
    let is_near = |volume: &Volume| {
        (volume.device.cap / volume.promised() / 0.98 - 1.0).abs() < 0.03 || truth::distance(volume) < 0.1
    };
    let clear =
        |volume: &Volume| !is_near(volume) && truth::fair(volume).is_some_and(|fair| fair.is_decided());
    drawn.map(shortened).filter(clear).take(VOLUMES).collect()
}

fn shortened(v: Volume) -> Volume {
    let test = Test { seconds: 60, ..v.test.clone() };
    Volume { test, ..v }
}

/// Changed volumes have the answer of their original.
fn hold(originals: &[Volume], changes: &[&dyn Fn(&Volume) -> Volume]) {
    let all: Vec<Volume> =
        originals.iter().flat_map(|v| changes.iter().map(move |change| change(v))).collect();
    let said = judge(&all);
    let groups = all.chunks(changes.len()).zip(said.chunks(changes.len()));
    let broken: Vec<String> = groups
        .filter(|(_, said)| said.iter().any(|one| one.outcome != said[0].outcome))
        .map(|(volumes, said)| {
            let lines = volumes.iter().zip(said).map(|(v, s)| format!("{} {v}\n    {}", s.outcome, s.told));
            lines.collect::<Vec<_>>().join("\n")
        })
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n\n"));
}

fn moved(v: &Volume, by: f64) -> Volume {
    let stall = v.device.stall.map(|s| StallCycle { at: s.at + by, ..s });
    let dip = v.device.dip.map(|d| Dip { at: d.at + by, ..d });
    Volume { device: Device { stall, dip, ..v.device }, ..v.clone() }
}

#[test]
fn the_phase_of_a_disturbance_changes_nothing() {
    for class in ["stalls", "brown-outs"] {
        hold(
            &decided(class),
            &[&|v| moved(v, 0.0), &|v| moved(v, 0.1), &|v| moved(v, 0.45), &|v| moved(v, 0.7)],
        );
    }
}

#[test]
fn the_seed_changes_nothing() {
    let with = |v: &Volume, seed| Volume { test: Test { seed, ..v.test.clone() }, ..v.clone() };
    for class in ["noise", "slow shares"] {
        hold(&decided(class), &[&|v| with(v, 1), &|v| with(v, 2), &|v| with(v, 3)]);
    }
}

#[test]
fn the_depth_of_the_first_step_changes_nothing() {
    let at = |v: &Volume, depth| Volume { test: Test { depth, jobs: 1, ..v.test.clone() }, ..v.clone() };
    for class in ["steady", "stalls"] {
        hold(&decided(class), &[&|v| at(v, 4), &|v| at(v, 16), &|v| at(v, 64), &|v| at(v, 256)]);
    }
}

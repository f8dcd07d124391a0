//! The judge and its experiments on simulated volumes whose truth is known.
//!
//! `draw` makes seeded volumes of every class, each with a load that tests it. `truth` says what a fair judge answers: it follows from the
//! limits of the volume alone, as a fluid in `fluid`, and from no rule of the program. `lab` runs `volproof run --promise` on each, with every
//! experiment that the run asks for, in virtual time.
//!
//! A PASS or a FAIL that is not fair is a defect. One volume in a hundred may be left open without need. Volumes too near their limit are not
//! drawn; `truth` has each rule.
//!
//! `VOLUMES=1000 cargo test --release --test simulated volumes` judges as many; without it [`ORDINARY`] are judged.

mod coarser;
mod draw;
#[path = "../../../crates/judge/src/tests/fluid.rs"]
mod fluid;
mod lab;
mod metamorphic;
mod truth;
mod volume;

use std::collections::BTreeMap;

use lab::Said;
use truth::Fair;
use volume::Volume;

/// Volumes of an ordinary run.
const ORDINARY: u64 = 200;
/// One volume in so many may be left open without need.
const LEFT_OPEN: usize = 100;

/// How many volumes of a class there were, and how many had which kind of wrong answer.
#[derive(Default)]
struct Tally {
    volumes: usize,
    steps: usize,
    false_passes: usize,
    false_fails: usize,
    needless: usize,
}

/// What is wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrong {
    Pass,
    Fail,
    Open,
}

fn wrong(said: &Said, fair: &Fair) -> Option<Wrong> {
    if fair.allows(&said.outcome) {
        return None;
    }
    Some(match said.outcome.as_str() {
        "pass" => Wrong::Pass,
        "fail" => Wrong::Fail,
        _ => Wrong::Open,
    })
}

fn asked_for(name: &str, ordinary: u64) -> u64 {
    std::env::var(name).map_or(ordinary, |n| n.parse().expect("a number"))
}

#[test]
fn every_volume_gets_a_fair_answer() {
    let from = asked_for("VOLUMES_FROM", 0);
    let volumes = asked_for("VOLUMES", ORDINARY) as usize;
    let drawn: Vec<(Volume, Fair)> = lab::side_by_side(volumes, |i| draw::volume(from + i as u64));
    let said = lab::judge(&drawn.iter().map(|(volume, _)| volume.clone()).collect::<Vec<_>>());
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut told = Vec::new();
    for ((volume, fair), said) in drawn.iter().zip(&said) {
        let tally = tallies.entry(volume.class).or_default();
        tally.volumes += 1;
        tally.steps += said.steps;
        let Some(wrong) = wrong(said, fair) else { continue };
        *match wrong {
            Wrong::Pass => &mut tally.false_passes,
            Wrong::Fail => &mut tally.false_fails,
            Wrong::Open => &mut tally.needless,
        } += 1;
        told.push(format!("{wrong:?} where {fair} is fair: {volume}\n    {}", said.told));
    }
    let sum = |of: fn(&Tally) -> usize| tallies.values().map(of).sum::<usize>();
    println!(
        "{:<24} {:>7} {:>6} {:>11} {:>11} {:>8}",
        "class", "volumes", "steps", "false PASS", "false FAIL", "needless"
    );
    for (class, t) in &tallies {
        println!(
            "{class:<24} {:>7} {:>6} {:>11} {:>11} {:>8}",
            t.volumes, t.steps, t.false_passes, t.false_fails, t.needless
        );
    }
    println!("{}", told.join("\n"));
    let (false_passes, false_fails) = (sum(|t| t.false_passes), sum(|t| t.false_fails));
    assert_eq!((false_passes, false_fails), (0, 0), "answers that are not fair:\n{}", told.join("\n"));
    let (needless, volumes) = (sum(|t| t.needless), drawn.len());
    assert!(
        needless * LEFT_OPEN <= volumes,
        "{needless} of {volumes} left open without need:\n{}",
        told.join("\n")
    );
}

//! Volumes drawn at random, unlike those of the table: none that does not deliver may pass, none that delivers may fail, and whatever is
//! `proven` must have been planted.
//!
//! `VOLPROOF_VOLUMES=2000 cargo test --test volumes held_out` draws more of them than every run does.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::{PROMISED, Said, Volume, judge};

/// Volumes of an ordinary run.
const VOLUMES: usize = 60;
/// Shorter silence is left to the percentiles.
const SILENCE: f64 = 0.2;
/// So much of the time without an I/O is clearly more than the tolerance of 2 %.
const DEAD: f64 = 0.03;
/// Shares of the promise beyond which the answer must not be PASS, or FAIL.
const SHORT: f64 = 0.975;
const KEPT: f64 = 0.985;

/// A volume, and how it delivers.
struct HeldOut {
    volume: Volume,
    /// Share of the promise that it delivers over the whole time, where the keys tell that.
    share: f64,
    /// Share of the time in which it is silent for longer than [`SILENCE`].
    dead: f64,
    /// It delivers the same at all times.
    even: bool,
}

/// Numbers for the figures of a volume.
struct Draw(Xoshiro256PlusPlus);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0.next_u64() % n
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

fn held_out(draw: &mut Draw, i: usize) -> HeldOut {
    let kind = draw.one_of(&["plain", "plain", "timed", "bursty"]);
    let seconds = draw.one_of(&[60, 80, 120, 180]);
    let latency = draw.between(0.2, 4.0);
    let depth = draw.one_of(&[4u64, 8, 16, 32, 64]);
    let mut share = draw.between(0.75, 1.1);
    let cap = share * PROMISED;
    let trouble = draw.below(8);
    // While a quota is used up, a dead volume shows nowhere: dead ones get short periods.
    let period = match trouble {
        0..=2 => draw.one_of(&["1ms", "10ms", "40ms"]),
        _ => draw.one_of(&["1ms", "10ms", "100ms", "250ms", "1s"]),
    };
    let mut device = format!(
        "latency={latency:.3}ms,jitter={:.3}ms,cap-period={period}",
        latency * draw.between(0.0, 1.0)
    );
    let (mut dead, mut even, mut held) = (0.0, true, cap);
    match trouble {
        // Dead again and again; beyond what the dead time takes, the rate is as drawn.
        0 | 1 => {
            let every = draw.between(0.6, 15.0);
            let length = every.min(3.0) * draw.between(0.05, 0.7);
            let part = length / every;
            dead = if length >= SILENCE { part } else { 0.0 };
            held = cap / (1.0 - part);
            even = false;
            device = format!(
                "{device},stall-at={:.0}ms,stall-for={:.0}ms,stall-every={:.0}ms",
                draw.between(0.0, 4000.0),
                length * 1e3,
                every * 1e3
            );
        }
        // Dead once.
        2 => {
            let length = draw.between(0.3, 20.0);
            let at = draw.between(0.0, f64::from(seconds) - length - 1.0);
            dead = length / f64::from(seconds);
            share *= 1.0 - dead;
            even = false;
            device = format!("{device},stall-at={:.0}ms,stall-for={:.0}ms", at * 1e3, length * 1e3);
        }
        // Garbage collection: slow now and then.
        3 => {
            let (every, to) = (draw.between(4.0, 40.0), draw.between(0.1, 0.8));
            let part = draw.between(0.1, 0.5);
            share *= 1.0 - part * (1.0 - to);
            even = false;
            device = format!(
                "{device},dip-at={:.1}s,dip-for={:.2}s,dip-every={every:.2}s,dip-to={to:.2}",
                draw.between(0.0, every),
                part * every
            );
        }
        // I/Os that hang for a fixed time, too few to take the depth.
        4 => {
            let slow = draw.between(0.0005, 0.004);
            device = format!("{device},slow-share={slow:.5},slow-latency={:.0}ms", draw.between(20.0, 200.0));
        }
        5 => {
            let noise = draw.between(0.005, 0.04);
            device = format!("{device},noise={noise:.4},noise-memory={:.2}", draw.between(0.0, 0.8));
        }
        _ => {}
    }
    device = format!("{device},iops-cap={held:.2}");
    let name = format!("held out {i}");
    let load = format!("iodepth={depth}");
    HeldOut { volume: Volume::new(name, kind, seconds, &load, &device), share, dead, even }
}

/// The false judgement of a volume; none where it is right.
fn wrong(v: &HeldOut, said: &Said) -> Option<String> {
    let rules = [
        (said.outcome() == "pass" && v.share < SHORT, "false PASS: it delivers less"),
        (said.outcome() == "pass" && v.dead > DEAD, "false PASS: it is dead for a part of the time"),
        (said.outcome() == "fail" && v.share > KEPT && v.even, "false FAIL: it delivers"),
        (said.outcome() == "nothing", "it was not judged"),
    ];
    let of_rules = rules.into_iter().find(|(broken, _)| *broken).map(|(_, words)| words.to_string());
    of_rules.or_else(|| super::proof::false_proof(&v.volume, said))
}

#[test]
fn held_out_volumes_are_answered_as_they_deliver() {
    let number = std::env::var("VOLPROOF_VOLUMES").ok().and_then(|n| n.parse().ok()).unwrap_or(VOLUMES);
    let mut draw = Draw(Xoshiro256PlusPlus::seed_from_u64(0x5eed));
    let drawn: Vec<HeldOut> = (0..number).map(|i| held_out(&mut draw, i)).collect();
    let said = judge(&drawn.iter().map(|v| v.volume.clone()).collect::<Vec<_>>());
    let all: Vec<String> = drawn
        .iter()
        .zip(&said)
        .filter_map(|(v, said)| {
            let what = wrong(v, said)?;
            Some(format!(
                "{what}, share {:.3}, dead {:.3}\n  {:?}\n  {}",
                v.share, v.dead, v.volume, said.claim
            ))
        })
        .collect();
    let outcomes = |outcome: &str| said.iter().filter(|s| s.outcome() == outcome).count();
    println!(
        "{number} volumes: {} PASS, {} FAIL, {} INCONCLUSIVE, {} INVALID",
        outcomes("pass"),
        outcomes("fail"),
        outcomes("inconclusive"),
        outcomes("invalid")
    );
    assert!(all.is_empty(), "{} of {number}:\n{}", all.len(), all.join("\n"));
    assert!(outcomes("pass") >= number / 20 && outcomes("fail") >= number / 10, "the volumes test nothing");
}

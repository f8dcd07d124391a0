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

/// The trouble of a volume.
#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    None,
    Drift,
    Noise,
    /// Dead again and again, with or without credits that it earns meanwhile.
    Dies,
    DiesOnce,
    /// Garbage collection: slow now and then.
    Collects,
    /// I/Os that hang for a fixed time, too few to take the depth.
    Hangs,
    /// A burst ends in the window.
    BurstEnds,
    /// Reads fetch blocks from a snapshot.
    LoadsLazily,
}

const TROUBLES: [Trouble; 11] = [
    Trouble::None,
    Trouble::None,
    Trouble::Drift,
    Trouble::Noise,
    Trouble::Dies,
    Trouble::Dies,
    Trouble::DiesOnce,
    Trouble::Collects,
    Trouble::Hangs,
    Trouble::BurstEnds,
    Trouble::LoadsLazily,
];

/// The keys of the load on a volume. A schedule that offers less than the volume can do lowers its share.
fn load(draw: &mut Draw, share: &mut f64) -> String {
    let depth = draw.one_of(&[4u64, 8, 16, 32, 64]);
    match draw.below(8) {
        0 => {
            let jobs = 2 + draw.below(3);
            format!("iodepth={},numjobs={jobs}", depth.div_ceil(jobs))
        }
        1 => format!("iodepth={depth},rw=randrw,rwmixread={}", draw.one_of(&[3, 30, 50, 97])),
        2 => {
            let offered = draw.between(0.9, 1.3);
            *share = share.min(offered);
            format!("iodepth=64,rate-iops={:.1}", offered * PROMISED)
        }
        // A flush is one more I/O to the limit.
        3 => format!("iodepth={depth},rw=randwrite,fsync={}", draw.one_of(&[10, 100])),
        _ => format!("iodepth={depth}"),
    }
}

fn held_out(draw: &mut Draw, i: usize) -> HeldOut {
    let kind = draw.one_of(&["plain", "plain", "timed", "bursty"]);
    let seconds = draw.one_of(&[30, 60, 80, 120, 180]);
    let latency = draw.between(0.2, 4.0);
    let wide = draw.below(2) == 0;
    let able = if wide { draw.between(0.75, 1.1) } else { draw.between(0.96, 1.04) };
    let mut share = able;
    let mut keys = load(draw, &mut share);
    let trouble = draw.one_of(&TROUBLES);
    // While a quota is used up, a dead volume shows nowhere: dead ones get short periods.
    let period = match trouble {
        Trouble::Dies | Trouble::DiesOnce => draw.one_of(&["1ms", "10ms", "40ms"]),
        _ => draw.one_of(&["1ms", "10ms", "100ms", "250ms", "1s"]),
    };
    let mut device = format!(
        "latency={latency:.3}ms,jitter={:.3}ms,cap-period={period}",
        latency * draw.between(0.0, 1.0)
    );
    let (mut dead, mut even, mut held) = (0.0, true, able * PROMISED);
    match trouble {
        Trouble::None => {}
        Trouble::Drift => {
            let drift = draw.between(-0.1, 0.1);
            share = f64::NAN;
            even = false;
            device = format!("{device},drift={drift:.3}");
        }
        // Beyond what the dead time takes, the rate is as drawn.
        Trouble::Dies => {
            let every = draw.between(0.6, 15.0);
            let length = every.min(3.0) * draw.between(0.05, 0.7);
            let part = length / every;
            dead = if length >= SILENCE { part } else { 0.0 };
            even = false;
            match draw.below(3) {
                0 => {
                    device = format!("{device},burst-iops={:.1},burst-ios={}", 3.0 * held, held as u64);
                }
                _ => held /= 1.0 - part,
            }
            share = f64::NAN;
            device = format!(
                "{device},stall-at={:.0}ms,stall-for={:.0}ms,stall-every={:.0}ms",
                draw.between(0.0, 4000.0),
                length * 1e3,
                every * 1e3
            );
        }
        Trouble::DiesOnce => {
            let length = draw.between(0.3, 20.0);
            let at = draw.between(0.0, f64::from(seconds) - length - 1.0);
            dead = length / f64::from(seconds);
            even = false;
            share = f64::NAN;
            device = format!("{device},stall-at={:.0}ms,stall-for={:.0}ms", at * 1e3, length * 1e3);
        }
        Trouble::Collects => {
            let (every, to) = (draw.between(4.0, 40.0), draw.between(0.1, 0.8));
            let part = draw.between(0.1, 0.5);
            even = false;
            share = f64::NAN;
            device = format!(
                "{device},dip-at={:.1}s,dip-for={:.2}s,dip-every={every:.2}s,dip-to={to:.2}",
                draw.between(0.0, every),
                part * every
            );
        }
        Trouble::Hangs => {
            let slow = draw.between(0.0005, 0.004);
            device = format!("{device},slow-share={slow:.5},slow-latency={:.0}ms", draw.between(20.0, 200.0));
        }
        Trouble::Noise => {
            let noise = draw.between(0.005, 0.04);
            device = format!("{device},noise={noise:.4},noise-memory={:.2}", draw.between(0.0, 0.8));
        }
        Trouble::BurstEnds => {
            let (rate, until) = (draw.between(1.3, 3.0), draw.between(0.1, 0.9));
            let credits = (rate - 1.0) * held * until * f64::from(seconds);
            even = false;
            // A schedule uses its credits up later, or never.
            if keys.contains("rate-iops") {
                share = f64::NAN;
            }
            device = format!("{device},burst-iops={:.1},burst-ios={:.0}", rate * held, credits);
        }
        Trouble::LoadsLazily => {
            even = false;
            share = f64::NAN;
            keys = format!("{keys},size={}GiB", 1 + draw.below(4));
            device = format!("{device},first-touch={:.0}ms", draw.between(20.0, 400.0));
        }
    }
    device = format!("{device},iops-cap={held:.2}");
    HeldOut { volume: Volume::new(format!("held out {i}"), kind, seconds, &keys, &device), share, dead, even }
}

/// The false judgement of a volume; none where it is right.
fn wrong(v: &HeldOut, said: &Said) -> Option<String> {
    let (outcome, device) = (said.outcome(), &v.volume.device);
    let decided = outcome == "pass" || outcome == "fail";
    // A burst that goes on is no baseline, and the rate that was counted is no share of the promise.
    let counted = said.claim["whole_window"].as_f64().map(|rate| rate / PROMISED);
    let rules = [
        (outcome == "pass" && v.share < SHORT, "false PASS: it delivers less"),
        (outcome == "pass" && counted.is_some_and(|share| share < SHORT), "false PASS: less was counted"),
        (outcome == "pass" && v.dead > DEAD, "false PASS: it is dead for a part of the time"),
        (outcome == "fail" && v.share > KEPT && v.even, "false FAIL: it delivers"),
        (decided && v.volume.seconds < 60, "so short a run decides nothing"),
        (outcome == "nothing", "it was not judged"),
        (said.finding("stall").is_some() && !may_stall(device), "a stall is invented"),
        (v.dead > 2.0 * DEAD && !said.tells_a_stop(), "the stall is not told"),
    ];
    rules.into_iter().find(|(broken, _)| *broken).map(|(_, words)| words.to_string())
}

/// A device that may complete nothing for a time.
fn may_stall(device: &str) -> bool {
    ["stall-for", "first-touch", "slow-share"].iter().any(|key| device.contains(key))
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

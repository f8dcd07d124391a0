//! What a fair judge answers to a volume.
//!
//! The truth is the volume as a fluid, and nothing that the program measured: what it gives over ten minutes under a load that no
//! promise exceeds, which seconds of that time it delivers, how long it is dead.
//!
//! - A volume that is the same at all times has kept its promise if that rate keeps it, and has not if it does not. Where noise puts windows of
//!   the run on both sides of the limit, an open answer is fair too.
//! - A PASS needs dead time below 1 %, in stretches of a second or longer; else a kept rate stays open where no share of time is promised.
//! - A promised share of time is broken by too few seconds that deliver, kept by a rate that is kept, and kept where every second delivers.
//! - More than the type can give, and credits that its burst may still have, leave a kept rate open.
//! - Of a volume that changes, the first window decides: kept there, it passes, or stays open if some of its minutes miss the promise. Kept in no
//!   minute of the run, it fails. Else it must not pass.
//!
//! A volume without a clear answer by these rules is not drawn: its rate within 1 % of the limit, its minutes on both sides of it, its dead time
//! within a fifth of what a PASS may have, its share of time between 97 % and 99.5 %, or seconds that slow I/Os may move over their limit.

use std::fmt::{Display, Formatter};

use super::fluid::{Fluid, SeenOfFluid};
use super::volume::{BURST, Kind, Volume};

/// The promise less its tolerance, as a share of the promise.
const LIMIT: f64 = 0.98;
/// A rate this near to its limit is a tie.
const TIE: f64 = 0.01;
/// The dead time that a PASS may have, and its tie.
const DEAD: (f64, f64) = (0.008, 0.012);
/// A promised share of time is clearly broken below the first, and clearly kept above the second.
const TIME: (f64, f64) = (0.97, 0.995);
/// Share of the promise beyond which the type is asked for, with its tie.
const BEYOND: (f64, f64) = (1.09, 1.11);
/// Seconds of the load that show what a volume gives.
const HORIZON: f64 = 600.0;
/// Bins in a second.
const BINS: usize = 10;

/// The answers that are fair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fair {
    pass: bool,
    fail: bool,
    open: bool,
}

const PASS: Fair = Fair { pass: true, fail: false, open: false };
const FAIL: Fair = Fair { pass: false, fail: true, open: false };
const OPEN: Fair = Fair { pass: false, fail: false, open: true };

impl Fair {
    pub fn allows(&self, outcome: &str) -> bool {
        match outcome {
            "pass" => self.pass,
            "fail" => self.fail,
            "inconclusive" => self.open,
            _ => false,
        }
    }

    /// One answer alone is fair, and it is a PASS or a FAIL.
    pub fn is_decided(&self) -> bool {
        self.pass != self.fail && !self.open
    }

    fn or(self, other: Fair) -> Fair {
        Fair { pass: self.pass || other.pass, fail: self.fail || other.fail, open: self.open || other.open }
    }

    fn or_open_if(self, open: bool) -> Fair {
        if open { self.or(OPEN) } else { self }
    }
}

impl Display for Fair {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let words = [(self.pass, "PASS"), (self.fail, "FAIL"), (self.open, "INCONCLUSIVE")];
        f.write_str(
            &words.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect::<Vec<_>>().join(" or "),
        )
    }
}

/// A volume under the load that shows all it can do, and under its planned step.
struct Played<'a> {
    volume: &'a Volume,
    /// After the ramp, as shares of the promise by 100 ms.
    deep: Vec<f64>,
    idle: Vec<bool>,
    /// The window of the planned step.
    first: Vec<f64>,
    /// Bins of a window.
    window: usize,
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

impl Played<'_> {
    fn of(volume: &Volume) -> Played<'_> {
        let ramp = f64::from(volume.test.ramp);
        let seconds = f64::from(volume.test.seconds);
        let play =
            |load, seconds: f64| Fluid::new(volume.fluid(), volume.test.seed).play(load, ramp + seconds);
        let cut = volume.test.ramp as usize * BINS;
        let shares = |seen: &SeenOfFluid| -> Vec<f64> {
            let whole = volume.promised() / BINS as f64;
            seen.counts[cut..].iter().map(|n| *n as f64 / whole).collect()
        };
        let deep = play(volume.deepest(), HORIZON);
        let first = play(volume.first(), seconds);
        Played {
            volume,
            deep: shares(&deep),
            idle: deep.idle[cut..].to_vec(),
            first: shares(&first),
            window: volume.test.seconds.max(60) as usize * BINS,
        }
    }

    /// The lowest and the highest mean of a window of so many bins.
    fn extremes(&self, window: usize) -> (f64, f64) {
        let means = (0..self.deep.len() - window).step_by(BINS).map(|at| mean(&self.deep[at..at + window]));
        means.fold((f64::INFINITY, 0.0), |(low, high), m| (low.min(m), high.max(m)))
    }

    /// Share of the time that lies in stretches of at least a second without an I/O; none where a stretch is hardly a second long.
    fn dead(&self) -> Option<f64> {
        let stretches = self.idle.chunk_by(|a, b| a == b).filter(|run| run[0]);
        let mut dead = 0;
        for stretch in stretches {
            if (9..=11).contains(&stretch.len()) {
                return None;
            }
            dead += if stretch.len() > BINS { stretch.len() } else { 0 };
        }
        Some(dead as f64 / self.idle.len() as f64)
    }

    /// Lowest and highest share of seconds that deliver 90 % of the limit, wherever the edges of seconds lie.
    fn delivered(&self) -> (f64, f64) {
        let shares = (0..BINS).map(|edge| {
            let seconds = self.deep[edge..].chunks_exact(BINS);
            let all = seconds.len();
            seconds.filter(|s| mean(s) >= 0.9 * LIMIT).count() as f64 / all as f64
        });
        shares.fold((1.0, 0.0), |(low, high), share| (f64::min(low, share), f64::max(high, share)))
    }

    /// Standard deviation of a second's count as a share of the promise: slow I/Os complete in a later second than they should.
    fn scatter(&self) -> f64 {
        let (share, latency) = self.volume.slow.unwrap_or((0.0, 0.0));
        let late = self.volume.promised() * latency * share * (1.0 - share);
        (2.0 * late).sqrt() / self.volume.promised()
    }

    /// Standard error of the mean of a window that noise leaves, as a share.
    fn noise(&self) -> f64 {
        self.volume.device.noise.map_or(0.0, |noise| {
            // Of a type that bursts the last minute alone shows the baseline.
            let most = if self.volume.kind == Kind::Bursty { 60.0 } else { f64::INFINITY };
            let seconds = (self.window as f64 / BINS as f64).min(most);
            noise.size * ((1.0 + noise.memory) / (1.0 - noise.memory) / seconds).sqrt()
        })
    }
}

/// The lower of the whole window, its last fifth of at least 20 s, and its last minute.
fn with_its_end(window: &[f64]) -> f64 {
    let last = |bins: usize| mean(&window[window.len().saturating_sub(bins)..]);
    mean(window).min(last((window.len() / 5).max(20 * BINS))).min(last(60 * BINS))
}

/// How far the rate of a volume is from its limit, as a share.
pub fn distance(volume: &Volume) -> f64 {
    (mean(&Played::of(volume).deep) / LIMIT - 1.0).abs()
}

/// The fair answers; none where the volume is too near a limit for one.
pub fn fair(volume: &Volume) -> Option<Fair> {
    let d = &volume.device;
    let played = Played::of(volume);
    let changes = d.rise.is_some() || d.drift != 0.0 || d.dip.is_some_and(|dip| dip.every.is_infinite());
    if d.burst.is_some() {
        of_a_burst(&played)
    } else if changes {
        of_a_change(&played)
    } else if volume.kind == Kind::Timed {
        of_a_share_of_time(&played)
    } else {
        of_a_rate(&played)
    }
}

/// A volume that is the same at all times, without a promise of time.
fn of_a_rate(played: &Played<'_>) -> Option<Fair> {
    let (rate, noise) = (mean(&played.deep), played.noise());
    let distance = rate / LIMIT - 1.0;
    if distance.abs() < TIE.max(3.0 * noise) {
        return None;
    }
    let (slowest, fastest) = played.extremes(60 * BINS);
    if slowest < LIMIT * (1.0 - TIE) && fastest > LIMIT * (1.0 + TIE) && noise == 0.0 {
        return None;
    }
    let (low, high) = played.extremes(played.window);
    let spans = low < LIMIT * (1.0 + TIE) && high > LIMIT * (1.0 - TIE) || distance.abs() < 6.0 * noise;
    if distance < 0.0 {
        return Some(FAIL.or_open_if(spans));
    }
    let ceiling = if played.volume.kind == Kind::Bursty { BURST } else { 1.0 };
    if (BEYOND.0 * ceiling..BEYOND.1 * ceiling).contains(&high) {
        return None;
    }
    if high > BEYOND.1 * ceiling {
        return Some(PASS.or(OPEN));
    }
    if played.volume.kind == Kind::Bursty && high > BEYOND.0 {
        return (high > BEYOND.1).then_some(OPEN);
    }
    match played.dead()? {
        dead if dead > DEAD.1 => Some(OPEN),
        dead if dead > DEAD.0 => None,
        _ => Some(PASS.or_open_if(spans)),
    }
}

/// A volume that is the same at all times, whose promise is 90 % of the rate for 99 % of the time. One that pauses more than once a second looks
/// like a limiter with such a quota, whose seconds have no clear answer.
fn of_a_share_of_time(played: &Played<'_>) -> Option<Fair> {
    if played.volume.device.stall.is_some_and(|stall| stall.every < 1.0) {
        return None;
    }
    if (mean(&played.deep) - 0.9 * LIMIT).abs() < 3.0 * played.scatter() {
        return None;
    }
    let (low, high) = played.delivered();
    let dead = played.dead()?;
    if high < TIME.0 {
        // A share is refuted by several slow stretches, not by one.
        let slow = (1.0 - high) * played.window as f64 / BINS as f64;
        let every = played.volume.device.stall.map(|s| s.every);
        let every = every.or(played.volume.device.dip.map(|dip| dip.every)).unwrap_or(1.0);
        let stretches = played.window as f64 / BINS as f64 / every;
        return Some(FAIL.or_open_if(slow < 8.0 || stretches < 5.0));
    }
    if low < TIME.1 || dead > DEAD.0 {
        return None;
    }
    let (_, most) = played.extremes(played.window);
    if most > BEYOND.0 {
        return (most > BEYOND.1).then_some(PASS.or(OPEN));
    }
    let is_whole = low >= 1.0;
    let keeps = mean(&played.deep) > LIMIT * (1.0 + TIE.max(6.0 * played.noise()));
    Some(PASS.or_open_if(!is_whole && !keeps))
}

/// A volume whose rate changes in the course of the run.
fn of_a_change(played: &Played<'_>) -> Option<Fair> {
    if played.volume.kind != Kind::Plain {
        return None;
    }
    let at_once = with_its_end(&played.deep[..played.first.len()]);
    let planned = with_its_end(&played.first);
    let (low, high) = played.extremes(60 * BINS);
    if high > BEYOND.0 {
        return None;
    }
    if high < LIMIT * (1.0 - TIE) {
        return Some(FAIL);
    }
    if planned > LIMIT * (1.0 + TIE) || (at_once > LIMIT * (1.0 + TIE) && low > LIMIT * (1.0 + TIE)) {
        // Some of its minutes miss the promise.
        return Some(PASS.or_open_if(low < LIMIT));
    }
    // A load that could not keep the promise at full speed shows no change.
    let able = played.volume.first().depth as f64 / played.volume.fluid().latency / played.volume.promised();
    let is_offered = played.volume.test.offered.is_some_and(|share| share < 1.0);
    (at_once < LIMIT * (1.0 - TIE) && able > 1.1 && !is_offered).then_some(FAIL.or(OPEN))
}

/// A volume that bursts at three times the promise while its credits last.
fn of_a_burst(played: &Played<'_>) -> Option<Fair> {
    let volume = played.volume;
    let (window, minute) = (&played.first, 60 * BINS);
    let able = volume.first().depth as f64 / volume.fluid().latency / volume.promised();
    if able < 1.1 * BURST || volume.test.offered.is_some() {
        return None;
    }
    let end = mean(&window[window.len().saturating_sub(minute + 15 * BINS)..]);
    if end > 0.99 * BURST {
        return Some(OPEN);
    }
    // The burst has ended well before the last minute.
    let baseline = volume.device.cap / volume.promised();
    let is_over = (end / baseline - 1.0).abs() < 0.01 && window.len() > 2 * minute;
    if !is_over || (baseline / LIMIT - 1.0).abs() < TIE || baseline > BEYOND.0 {
        return None;
    }
    Some(if baseline > LIMIT { PASS } else { FAIL })
}

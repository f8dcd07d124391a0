//! Spells in which requests waited and the volume gave less than it was asked and promised.
//!
//! Each sample is dead (requests on their way from its start to its end, and none came back), slow (they came back late while the disk was busy, at
//! less than the limit), or neither. A demand below the limit that is served in time is neither, however small it is.

use serde::{Deserialize, Serialize};

use crate::ClockReading;
use volproof_base::sample::{Direction, Interval};
use volproof_base::unit::Nanos;

/// A shorter spell is not told.
const SHORTEST: Nanos = Nanos::millis(800);
/// Samples in between that are neither dead nor slow, after which a spell has ended.
const LONGEST_REST: u32 = 3;
/// The same where the provider's page is read each second: its next reading still belongs to the spell.
const LONGEST_REST_WITH_PAGE: u32 = 12;
/// The least part of a spell that is dead or slow. Bursts that each catch up within moments are none.
const LEAST_SLOW: f64 = 0.75;
/// A limit was exceeded in a spell when it was for this part of it.
const EXCEEDED_PART: u64 = 10;
/// A volume that gives this share of its promise keeps it: AWS promises 90 % of the IOPS.
const KEPT_SHARE: f64 = 0.9;
/// The part of a sample for which the disk is busy when its rate is that of the disk and not of its users.
const BUSY: f64 = 0.5;

/// What a spell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpellKind {
    /// Requests waited, the volume gave less than asked and promised, and no limit that the provider counts was exceeded: likely a fault of the volume
    /// or of the way to it.
    Degraded,
    /// The same, while the provider counted the volume's own limit as exceeded: the limit that it enforces is below the promise.
    LimitBelowPromise,
    /// The provider counted the instance's limit as exceeded: no fault of the volume.
    Instance,
}

/// A spell, or the part of one within a minute.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spell {
    /// When it began, in milliseconds since 1970.
    pub start_unix_ms: i64,
    /// Its length.
    pub length_ns: u64,
    /// What it is.
    pub kind: SpellKind,
    /// Reads and writes that came back meanwhile.
    pub ios: u64,
    /// The mean latency of those that came back, and of the first ones behind it.
    pub latency_ns: u64,
    /// Requests in flight in the mean.
    pub in_flight: f64,
    /// The share of the limit that the volume gave; none where no limit is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The provider's counters were read meanwhile.
    pub has_page: bool,
    /// It goes on from the part before.
    #[serde(default)]
    pub goes_on: bool,
}

/// A sample with what the detector asks about it.
#[derive(Clone, Copy, Debug)]
pub struct JudgedSample<'a> {
    /// The sample.
    pub sample: &'a Interval,
    /// When it began.
    pub began: ClockReading,
    /// Time in which any request was on its way.
    pub active: Nanos,
    /// The fewest requests in flight at its two ends.
    pub least_in_flight: u64,
    /// The share of the limit that it took.
    pub share: Option<f64>,
    /// A request that took this long has waited.
    pub wait: Nanos,
}

impl JudgedSample<'_> {
    /// Requests were in flight, the disk was busy, and the volume gave less than promised: whether it held them back is not known.
    pub fn is_held(&self) -> bool {
        self.least_in_flight > 0 && self.is_busy() && self.gives_less()
    }

    fn is_busy(&self) -> bool {
        self.active.0 as f64 >= BUSY * self.sample.length.0 as f64
    }

    fn gives_less(&self) -> bool {
        self.share.is_some_and(|share| share < KEPT_SHARE)
    }
}

/// A spell that goes on.
#[derive(Clone, Copy, Debug)]
struct OpenSpell {
    began: ClockReading,
    goes_on: bool,
    /// To the end of the last sample that was dead or slow.
    length: Nanos,
    rest: u32,
    slow: Nanos,
    ios: u64,
    latency: Nanos,
    in_flight: u64,
    /// The share, weighted by time.
    share: f64,
    has_limit: bool,
    /// What discards and flushes took.
    others: Nanos,
    volume_exceeded: Nanos,
    instance_exceeded: Nanos,
    has_page: bool,
}

/// What a sample means for the degraded time of its minute.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SlowTime {
    /// Nanoseconds to add; less than none is to be taken back.
    pub degraded: i128,
    /// A spell that has ended.
    pub spell: Option<Spell>,
}

/// Finds spells.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpellDetector {
    open: Option<OpenSpell>,
    /// What of the open spell was added to the minute.
    added: Nanos,
    /// The provider's page is read.
    reads_page: bool,
}

impl SpellDetector {
    /// Takes a sample.
    pub fn sample(&mut self, judged: JudgedSample<'_>) -> SlowTime {
        let mut told = SlowTime::default();
        if is_slow(&judged) {
            let open = self.open.get_or_insert(OpenSpell::begin(judged.began, false));
            open.slow_sample(&judged);
            if open.is_long() {
                told.degraded = i128::from(open.slow.0) - i128::from(self.added.0);
                self.added = open.slow;
            }
            return told;
        }
        let Some(open) = &mut self.open else { return told };
        open.other_sample(&judged);
        if open.rest >= if self.reads_page { LONGEST_REST_WITH_PAGE } else { LONGEST_REST } {
            return self.end();
        }
        told
    }

    /// Takes a reading of the provider's page.
    pub fn page(&mut self, volume: Nanos, instance: Nanos) {
        self.reads_page = true;
        if let Some(open) = &mut self.open {
            open.volume_exceeded.0 += volume.0;
            open.instance_exceeded.0 += instance.0;
            open.has_page = true;
        }
    }

    /// A minute ends: the part of a spell within it, which then begins anew.
    pub fn minute_ends(&mut self, now: ClockReading) -> SlowTime {
        if self.open.is_none_or(|open| !open.is_long()) {
            return SlowTime::default();
        }
        let told = self.end();
        self.open = Some(OpenSpell::begin(now, true));
        told
    }

    /// The watch or the attachment ends.
    pub fn end(&mut self) -> SlowTime {
        let added = std::mem::take(&mut self.added);
        let Some(open) = self.open.take() else { return SlowTime::default() };
        let spell = open.spell().filter(|spell| open.is_long() && spell.length_ns > 0);
        let is_degraded = spell.is_some_and(|spell| spell.kind != SpellKind::Instance);
        let degraded = if is_degraded { 0 } else { -i128::from(added.0) };
        SlowTime { degraded, spell }
    }
}

/// Requests waited, and the volume gave less than it was asked and promised.
fn is_slow(judged: &JudgedSample<'_>) -> bool {
    let counts = &judged.sample.counts;
    let came_back: u64 = counts.iter().map(|(_, counts)| counts.ios).sum();
    if came_back == 0 {
        return judged.least_in_flight > 0;
    }
    let [read, write] = [counts[Direction::Read], counts[Direction::Write]];
    let latency = read.latency.0.saturating_add(write.latency.0).checked_div(read.ios + write.ios);
    judged.is_busy() && judged.gives_less() && latency.is_some_and(|latency| latency >= judged.wait.0)
}

impl OpenSpell {
    fn begin(began: ClockReading, goes_on: bool) -> OpenSpell {
        OpenSpell {
            began,
            goes_on,
            length: Nanos(0),
            rest: 0,
            slow: Nanos(0),
            ios: 0,
            latency: Nanos(0),
            in_flight: 0,
            share: 0.0,
            has_limit: false,
            others: Nanos(0),
            volume_exceeded: Nanos(0),
            instance_exceeded: Nanos(0),
            has_page: false,
        }
    }

    fn count(&mut self, judged: &JudgedSample<'_>) {
        let counts = &judged.sample.counts;
        for direction in [Direction::Read, Direction::Write] {
            self.ios += counts[direction].ios;
            self.latency.0 = self.latency.0.saturating_add(counts[direction].latency.0);
        }
        self.others.0 = self.others.0.saturating_add(counts[Direction::Trim].latency.0);
        self.others.0 = self.others.0.saturating_add(counts[Direction::Sync].latency.0);
    }

    fn slow_sample(&mut self, judged: &JudgedSample<'_>) {
        let end = judged.began.elapsed.0 + judged.sample.length.0;
        self.count(judged);
        self.length = Nanos(end.saturating_sub(self.began.elapsed.0));
        self.slow.0 += judged.sample.length.0;
        self.rest = 0;
        self.in_flight = self.in_flight.saturating_add(judged.sample.in_flight);
        self.share += judged.share.unwrap_or(0.0) * judged.sample.length.as_seconds();
        self.has_limit |= judged.share.is_some();
    }

    /// The samples right behind tell how long those took that waited, and whether a discard did.
    fn other_sample(&mut self, judged: &JudgedSample<'_>) {
        if self.rest < LONGEST_REST {
            self.count(judged);
        }
        self.rest += 1;
    }

    /// It lasts long enough to be told, or is the rest of one that did.
    fn is_long(&self) -> bool {
        let is_slow = self.slow.0 as f64 >= LEAST_SLOW * self.length.0 as f64;
        self.goes_on || (self.length >= SHORTEST && is_slow)
    }

    fn is_part(&self, exceeded: Nanos) -> bool {
        !exceeded.is_zero() && exceeded.0.saturating_mul(EXCEEDED_PART) >= self.length.0
    }

    /// The spell; none where discards or flushes took the time: nobody promises theirs.
    fn spell(&self) -> Option<Spell> {
        if self.others.0 * 2 >= self.length.0 && self.others.0 > 0 {
            return None;
        }
        let kind = if self.is_part(self.instance_exceeded) {
            SpellKind::Instance
        } else if self.is_part(self.volume_exceeded) {
            SpellKind::LimitBelowPromise
        } else {
            SpellKind::Degraded
        };
        Some(Spell {
            start_unix_ms: self.began.unix_ms,
            length_ns: self.length.0,
            kind,
            ios: self.ios,
            latency_ns: self.latency.0.checked_div(self.ios).unwrap_or(self.length.0),
            in_flight: self.in_flight as f64 / self.slow.0.max(1) as f64,
            share: self.has_limit.then(|| self.share / self.slow.as_seconds().max(1e-9)),
            has_page: self.has_page,
            goes_on: self.goes_on,
        })
    }
}

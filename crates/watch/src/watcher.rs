//! A watch that goes on: readings of counters in, frames for its file out.
//!
//! A reading allocates nothing; the end of a minute does.

use crate::ClockReading;
use crate::minute_sums::MinuteSums;
use crate::spell_detector::{JudgedSample, SlowTime, SpellDetector, SpellKind};
use crate::stat_counters::StatCounters;
use crate::throttle_spells::{PageSecond, ThrottleSpells};
use crate::usual_latency::UsualLatency;
use crate::watch_frame::{WatchFrame, WatchNote, WatchNoteKind};
use crate::watch_limits::WatchLimits;
use crate::watch_span::{HOUR_MS, MINUTE, WatchSpan};
use volproof_base::sample::{Direction, Interval};
use volproof_base::unit::Nanos;

/// After a longer time between two readings nobody knows what happened in between.
const LONGEST_SAMPLE: Nanos = Nanos::seconds(10);
/// Without a promise, a volume gives less than it can below this part of the rate of its best minute.
const PART_OF_BEST: f64 = 0.5;
/// The part of a promise below which it is not kept, as the detector takes it.
const KEPT_PART_OF_PROMISE: f64 = 0.9;

/// The last second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LiveSecond {
    /// I/Os a second of reads and writes.
    pub iops: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// Mean latency; none without I/O.
    pub latency: Option<Nanos>,
    /// Requests in flight in the mean.
    pub in_flight: f64,
    /// What the provider counted in its last second; none where it tells nothing.
    pub page: Option<PageSecond>,
}

/// Sums of the second that goes on.
#[derive(Clone, Copy, Debug, Default)]
struct SecondSums {
    length: Nanos,
    ios: u64,
    bytes: u64,
    latency: Nanos,
    in_flight: u64,
}

/// Spells that a file keeps of an hour: the others are counted alone.
const MOST_SPELLS: u32 = 12;

/// How many spells of an hour the file has.
#[derive(Clone, Copy, Debug, Default)]
struct SpellsOfHour {
    hour: i64,
    count: u32,
}

impl SpellsOfHour {
    fn admit(&mut self, unix_ms: i64) -> bool {
        let hour = unix_ms.div_euclid(HOUR_MS);
        if hour != self.hour {
            *self = SpellsOfHour { hour, count: 0 };
        }
        self.count += 1;
        self.count <= MOST_SPELLS
    }
}

/// A watch that goes on.
pub struct Watcher {
    promised: Option<WatchLimits>,
    /// The best minute, by I/Os and by bytes a second.
    best: (f64, f64),
    before: Option<(ClockReading, StatCounters)>,
    index: i64,
    minute: MinuteSums,
    missed_before: bool,
    detector: SpellDetector,
    spells_of_hour: SpellsOfHour,
    throttle: ThrottleSpells,
    usual: UsualLatency,
    second: SecondSums,
    /// I/Os since the provider's page was read.
    ios_since_page: u64,
    live: LiveSecond,
    frames: Vec<WatchFrame>,
}

impl Watcher {
    /// A watch that begins now, and knows what minutes before it were like.
    pub fn begin<'a>(
        now: ClockReading,
        promised: Option<WatchLimits>,
        earlier: impl Iterator<Item = &'a WatchSpan>,
    ) -> Watcher {
        let mut watcher = Watcher {
            promised: promised.filter(WatchLimits::is_complete),
            best: (0.0, 0.0),
            before: None,
            index: 0,
            minute: MinuteSums::begin(now),
            missed_before: false,
            detector: SpellDetector::default(),
            spells_of_hour: SpellsOfHour::default(),
            throttle: ThrottleSpells::default(),
            usual: UsualLatency::default(),
            second: SecondSums::default(),
            ios_since_page: 0,
            live: LiveSecond::default(),
            frames: Vec::new(),
        };
        earlier.for_each(|span| watcher.learn(span));
        watcher
    }

    fn learn(&mut self, span: &WatchSpan) {
        self.usual.learn(span);
        self.missed_before = span.account.with_demand > span.account.kept;
        let seconds = span.covered_ns.as_seconds();
        if seconds >= MINUTE.as_seconds() / 2.0 {
            self.best.0 = self.best.0.max(span.ios() as f64 / seconds);
            self.best.1 = self.best.1.max(span.bytes().0 as f64 / seconds);
        }
    }

    /// What the volume gives at most. Without a promise that is learned, and so scaled that the same part of it is kept.
    fn limits(&self) -> Option<WatchLimits> {
        let scale = PART_OF_BEST / KEPT_PART_OF_PROMISE;
        let learned = WatchLimits::shared(self.best.0 * scale, self.best.1 * scale);
        self.promised.or(Some(learned)).filter(WatchLimits::is_complete)
    }

    /// Takes a reading of the kernel's counters.
    pub fn sample(&mut self, now: ClockReading, counters: StatCounters) {
        let Some((then, earlier)) = self.before.replace((now, counters)) else { return };
        let length = Nanos(now.elapsed.0.saturating_sub(then.elapsed.0));
        if length > LONGEST_SAMPLE {
            return self.gap(now, WatchNoteKind::Unwatched, length);
        }
        let Some((sample, active)) = counters.since(&earlier, self.index, length) else {
            return self.gap(now, WatchNoteKind::CountersBeganAnew, Nanos(0));
        };
        if length.is_zero() {
            return;
        }
        self.index += 1;
        self.minute.add(&sample);
        self.count_second(&sample);
        let judged = JudgedSample {
            sample: &sample,
            began: then,
            active,
            least_in_flight: counters.in_flight().min(earlier.in_flight()),
            share: self.limits().map(|limits| limits.share(&sample)),
            wait: self.usual.wait(),
        };
        if judged.is_held() {
            self.minute.add_held(length);
        }
        let told = self.detector.sample(judged);
        self.take(told);
        if self.minute.covered() >= MINUTE {
            self.close_minute(now);
        }
    }

    fn take(&mut self, told: SlowTime) {
        self.minute.add_degraded(told.degraded);
        let Some(spell) = told.spell.filter(|spell| spell.kind != SpellKind::Instance) else { return };
        self.minute.count_spell(&spell);
        if self.spells_of_hour.admit(spell.start_unix_ms) {
            self.frames.push(WatchFrame::Spell(spell));
        }
    }

    fn count_second(&mut self, sample: &Interval) {
        let sums = &mut self.second;
        for direction in [Direction::Read, Direction::Write] {
            let counts = &sample.counts[direction];
            sums.ios += counts.ios;
            sums.bytes = sums.bytes.saturating_add(counts.bytes.0);
            sums.latency.0 = sums.latency.0.saturating_add(counts.latency.0);
            self.ios_since_page += counts.ios;
        }
        sums.length.0 += sample.length.0;
        sums.in_flight = sums.in_flight.saturating_add(sample.in_flight);
        if sums.length < Nanos::millis(950) {
            return;
        }
        let sums = std::mem::take(sums);
        let seconds = sums.length.as_seconds();
        self.live = LiveSecond {
            iops: sums.ios as f64 / seconds,
            bytes_per_second: sums.bytes as f64 / seconds,
            latency: sums.latency.0.checked_div(sums.ios).map(Nanos),
            in_flight: sums.in_flight as f64 / sums.length.0 as f64,
            page: self.live.page,
        };
    }

    /// Takes what the provider counted since its page was read before; none where nothing could be read.
    pub fn page(&mut self, now: ClockReading, second: Option<PageSecond>) {
        self.live.page = second;
        let kernel_ios = std::mem::take(&mut self.ios_since_page);
        let Some(page) = second else { return };
        self.throttle.count(now.elapsed, &page, kernel_ios, self.minute.throttled());
        self.detector.page(page.volume_ns, page.instance_ns);
    }

    /// The device has gone away, or it came back after so long.
    pub fn device(&mut self, now: ClockReading, away: Option<Nanos>) {
        match away {
            None => {
                let told = self.detector.end();
                self.take(told);
                self.before = None;
                self.live = LiveSecond::default();
                self.note(now, WatchNoteKind::DeviceWentAway, Nanos(0));
            }
            Some(length) => {
                self.minute.add_absent(length);
                self.note(now, WatchNoteKind::DeviceCameBack, length);
            }
        }
    }

    /// The clock of the machine was set, by so many milliseconds.
    pub fn clock_was_set(&mut self, now: ClockReading, by_ms: i64) {
        self.note(now, WatchNoteKind::ClockWasSet, Nanos::millis(by_ms.unsigned_abs()));
    }

    /// A time about which nothing is known.
    fn gap(&mut self, now: ClockReading, kind: WatchNoteKind, length: Nanos) {
        let told = self.detector.end();
        self.take(told);
        self.note(now, kind, length);
    }

    fn note(&mut self, now: ClockReading, kind: WatchNoteKind, length: Nanos) {
        self.frames.push(WatchFrame::Note(WatchNote { at_unix_ms: now.unix_ms, kind, length_ns: length.0 }));
    }

    fn close_minute(&mut self, now: ClockReading) {
        let told = self.detector.minute_ends(now);
        self.take(told);
        let minute = std::mem::replace(&mut self.minute, MinuteSums::begin(now)).close(self.missed_before);
        self.learn(&minute);
        self.frames.push(WatchFrame::Span(Box::new(minute)));
    }

    /// The watch ends: the minute that goes on is closed.
    pub fn finish(&mut self, now: ClockReading) {
        let told = self.detector.end();
        self.take(told);
        if self.minute.covered() > Nanos(0) {
            self.close_minute(now);
        }
    }

    /// The last second.
    pub fn live(&self) -> LiveSecond {
        self.live
    }

    /// What is finished since the last call, for the file.
    pub fn take_frames(&mut self) -> Vec<WatchFrame> {
        std::mem::take(&mut self.frames)
    }
}

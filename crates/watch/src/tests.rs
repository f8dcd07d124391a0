//! Months in virtual time: a volume of known limits under days that are not flat.

use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::*;
use volproof_base::stats::limit_answer::LimitAnswer;

const IOPS: f64 = 3000.0;
const BYTES: f64 = 125.0 * 1048576.0;
const DAY: u64 = 86_400;
/// 2026-11-20, in milliseconds.
const START: i64 = 1_795_132_800_000;

/// A volume with a queue, and those who use it.
struct PlayedVolume {
    random: Xoshiro256PlusPlus,
    fields: [f64; 17],
    backlog: f64,
    /// What is left of the limits.
    health: f64,
    block: f64,
}

impl PlayedVolume {
    fn new(seed: u64) -> PlayedVolume {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        PlayedVolume { random, fields: [0.0; 17], backlog: 0.0, health: 1.0, block: 16384.0 }
    }

    fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// I/Os a second that are asked for at a second of the day: a wave, noise, bursts of a second, and a backup at night.
    fn demand(&mut self, second: u64) -> f64 {
        let hour = (second % DAY) as f64 / 3600.0;
        let wave = 0.55 + 0.45 * ((hour - 14.0) / 24.0 * std::f64::consts::TAU).cos();
        let noise = -(self.uniform().max(1e-12)).ln();
        if (2.0..2.5).contains(&hour) {
            self.block = 262_144.0;
            return 900.0;
        }
        self.block = 16384.0;
        let burst = if self.uniform() < 0.01 { 6000.0 * self.uniform() } else { 0.0 };
        900.0 * wave * noise.min(3.0) + burst
    }

    /// Plays a tenth of a second under this demand.
    fn play(&mut self, demand: f64) -> StatCounters {
        let arriving = demand * 0.1 * (0.5 + self.uniform());
        let limit = (IOPS.min(BYTES / self.block)) * 0.1 * self.health;
        let before = self.backlog;
        let served = (self.backlog + arriving).min(limit);
        // A backup stops to ask when enough of its requests are on their way.
        self.backlog = (self.backlog + arriving - served).min(64.0 + 2.0 * limit);
        let own = 0.0006 * (0.8 + 0.4 * self.uniform());
        let wait = if limit > 0.0 { (before + self.backlog) / 2.0 / limit * 0.1 } else { 0.0 };
        let reads = served * 0.4;
        for (at, ios) in [(0, reads), (4, served - reads)] {
            self.fields[at] += ios;
            self.fields[at + 2] += ios * self.block / 512.0;
            self.fields[at + 3] += ios * (own + wait) * 1000.0;
        }
        self.fields[8] = (self.backlog + demand * own).floor();
        let busy = if self.backlog >= 1.0 { 100.0 } else { (served * own * 1000.0).min(100.0) };
        self.fields[9] += busy;
        StatCounters::from_fields(self.fields.map(|field| field as u64))
    }
}

fn at(tenth: u64) -> ClockReading {
    ClockReading { elapsed: Nanos::millis(tenth * 100), unix_ms: START + tenth as i64 * 100 }
}

fn header(promised: bool) -> WatchHeader {
    WatchHeader {
        key: "vol-0123".into(),
        limits: promised.then(|| WatchLimits::shared(IOPS, BYTES)),
        share_of_time: promised.then_some(0.99),
        ..WatchHeader::default()
    }
}

/// A file of so many days. At some seconds the volume has so much of its health for so many tenths.
fn file(seed: u64, days: u64, promised: bool, planted: &[(u64, f64, u64)]) -> Vec<u8> {
    let header = header(promised);
    let mut file = MAGIC.to_vec();
    file.extend(WatchFrame::Header(Box::new(header.clone())).encode());
    let mut volume = PlayedVolume::new(seed);
    let mut watcher = Watcher::begin(at(0), header.limits, std::iter::empty());
    let mut planted = planted.iter().copied().peekable();
    let mut ill_until = 0;
    for second in 0..days * DAY {
        let mut demand = volume.demand(second);
        for tenth in second * 10..second * 10 + 10 {
            if planted.next_if(|(at, ..)| *at * 10 + 3 == tenth).is_some_and(|(_, health, tenths)| {
                volume.health = health;
                ill_until = tenth + tenths;
                true
            }) || tenth < ill_until
            {
                demand = demand.max(400.0);
            } else {
                volume.health = 1.0;
            }
            watcher.sample(at(tenth), volume.play(demand));
        }
        if second % 60 == 0 {
            watcher.take_frames().iter().for_each(|frame| file.extend(frame.encode()));
        }
    }
    watcher.finish(at(days * DAY * 10));
    watcher.take_frames().iter().for_each(|frame| file.extend(frame.encode()));
    file
}

#[test]
fn ordinary_days_have_no_event_and_their_file_is_small() {
    for (seed, promised) in [(1, true), (2, false)] {
        let bytes = file(seed, 30, promised, &[]);
        assert!(bytes.len() <= 8 << 20, "{} bytes", bytes.len());
        let history = WatchHistory::read(&bytes).unwrap();
        assert!(history.spells.len() <= 1, "{:?}", history.spells);
        assert_eq!(history.spans.len(), 30 * 1440);
        let answer = WatchAnswer::of_history(&history);
        let ios: u64 = history.spans.iter().map(WatchSpan::ios).sum();
        let slots: u64 = answer.total.demand.iter().map(|bucket| bucket.ios).sum();
        assert_eq!((answer.total.ios(), slots), (ios, ios), "sums are exact");
        if promised {
            let account = answer.account.unwrap();
            assert_eq!((account.answer, account.share), (LimitAnswer::Pass, 1.0), "{account:?}");
        } else {
            assert_eq!(answer.account, None);
        }
    }
}

#[test]
fn every_planted_event_of_a_second_is_found_and_told_once() {
    let mut planted = Vec::new();
    for number in 0..200 {
        // By day and in the backup; dead, or at a twentieth of its limit.
        let tenths = [10, 12, 15, 20, 50, 140, 700, 1500][number % 8];
        planted.push((3600 + number as u64 * 1000, if number % 3 == 0 { 0.0 } else { 0.05 }, tenths));
    }
    let bytes = file(3, 3, true, &planted);
    let history = WatchHistory::read(&bytes).unwrap();
    for (second, _, tenths) in &planted {
        let from = START + *second as i64 * 1000;
        let to = from + *tenths as i64 * 100 + 2000;
        let found = history.spells.iter().filter(|spell| (from..to).contains(&spell.start_unix_ms));
        let lengths: Vec<u64> = found.map(|spell| spell.length_ns / 100_000_000).collect();
        assert_eq!(lengths.len(), 1, "{second} s, {tenths} tenths");
        assert!((tenths - 3..tenths + 25).contains(&lengths[0]), "{second} s: {tenths} tenths, {lengths:?}");
    }
    assert_eq!(history.spells.len(), planted.len());
    let answer = WatchAnswer::of_history(&history);
    assert_eq!(answer.total.account.spells as usize, planted.len());
    // A spell of ten seconds and more within a minute misses it.
    assert!(answer.account.unwrap().share < 1.0);
}

/// Two hours with spells, notes and the provider's counters.
fn short_file() -> Vec<u8> {
    let mut bytes = file(4, 1, true, &[(3600, 0.0, 300), (7300, 0.05, 20)]);
    let note = WatchNote { at_unix_ms: START, kind: WatchNoteKind::DeviceCameBack, length_ns: 7 };
    bytes.extend(WatchFrame::Note(note).encode());
    let throttled = Some(ThrottleTimes { volume_ns: Nanos(1), ios: 5, ..ThrottleTimes::default() });
    let start_unix_ms = START + 2 * 86_400_000;
    let span = WatchSpan { start_unix_ms, throttled, ..WatchSpan::default() };
    bytes.extend(WatchFrame::Span(Box::new(span)).encode());
    bytes
}

#[test]
fn a_file_that_is_cut_anywhere_loses_the_frame_that_is_cut() {
    let bytes = short_file();
    let whole = WatchHistory::read(&bytes).unwrap();
    assert_eq!((whole.torn_bytes, whole.damaged_bytes, whole.whole_bytes), (0, 0, bytes.len()));
    let (mut last_whole, mut spans) = (0, 0);
    let header = MAGIC.len() + WatchFrame::Header(Box::new(header(true))).encode().len();
    for cut in 0..12_000 {
        match WatchHistory::read(&bytes[..cut]) {
            Err(WatchFileError::Foreign) => assert!(cut < MAGIC.len()),
            Err(WatchFileError::NoHeader) => assert!(cut < header),
            Ok(part) => {
                assert_eq!(part.whole_bytes + part.torn_bytes, cut);
                assert!(part.whole_bytes >= last_whole && part.spans.len() - spans <= 1);
                assert_eq!(part.spans[..], whole.spans[..part.spans.len()]);
                (last_whole, spans) = (part.whole_bytes, part.spans.len());
            }
        }
    }
    assert!(spans > 50);
}

#[test]
fn damage_in_the_middle_costs_the_frames_that_it_touches() {
    let mut bytes = short_file();
    let whole = WatchHistory::read(&bytes).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    let damaged = WatchHistory::read(&bytes).unwrap();
    assert!(damaged.damaged_bytes > 0 && damaged.torn_bytes == 0);
    assert_eq!(damaged.spans.len() + damaged.spells.len() + 1, whole.spans.len() + whole.spells.len());
}

#[test]
fn a_watch_that_is_killed_goes_on_and_loses_a_minute_at_most() {
    for killed in (0..200).map(|kill| 3000 + kill * 97) {
        let header = header(true);
        let mut file = MAGIC.to_vec();
        file.extend(WatchFrame::Header(Box::new(header.clone())).encode());
        let mut volume = PlayedVolume::new(killed);
        let mut watcher = Watcher::begin(at(0), header.limits, std::iter::empty());
        for tenth in 0..30_000 {
            if tenth == killed {
                let history = WatchHistory::read(&file).unwrap();
                watcher = Watcher::begin(at(tenth), header.limits, history.spans.iter());
            }
            let demand = volume.demand(tenth / 10);
            watcher.sample(at(tenth), volume.play(demand));
            watcher.take_frames().iter().for_each(|frame| file.extend(frame.encode()));
        }
        watcher.finish(at(30_000));
        watcher.take_frames().iter().for_each(|frame| file.extend(frame.encode()));
        let answer = WatchAnswer::of_history(&WatchHistory::read(&file).unwrap());
        let watched = answer.total.covered_ns;
        assert!(watched >= Nanos::seconds(3000 - 61), "killed at {killed}: {watched}");
        assert_eq!(answer.spells, [], "a start is no event");
    }
}

#[test]
fn a_device_that_goes_away_and_comes_back_is_no_event() {
    let mut volume = PlayedVolume::new(7);
    let limits = Some(WatchLimits::shared(IOPS, BYTES));
    let mut watcher = Watcher::begin(at(0), limits, std::iter::empty());
    for tenth in 0..3000 {
        watcher.sample(at(tenth), volume.play(500.0));
    }
    watcher.device(at(3000), None);
    watcher.device(at(9000), Some(Nanos::seconds(600)));
    volume.fields = [0.0; 17];
    for tenth in 9000..12_000 {
        watcher.sample(at(tenth), volume.play(500.0));
    }
    // The counters begin anew without a word, and the clock is set back by a day.
    volume.fields = [0.0; 17];
    for tenth in 12_000..15_000 {
        let set_back = ClockReading { unix_ms: at(tenth).unix_ms - 86_400_000, ..at(tenth) };
        watcher.sample(set_back, volume.play(500.0));
    }
    // The machine sleeps.
    for tenth in 20_000..23_000 {
        watcher.sample(at(tenth), volume.play(500.0));
    }
    watcher.finish(at(23_000));
    let mut total = WatchSpan::default();
    let mut notes = Vec::new();
    for frame in watcher.take_frames() {
        match frame {
            WatchFrame::Span(span) => total.merge(&span),
            WatchFrame::Note(note) => notes.push(note.kind),
            other => panic!("{other:?}"),
        }
    }
    use WatchNoteKind::{CountersBeganAnew, DeviceCameBack, DeviceWentAway, Unwatched};
    assert_eq!(notes, [DeviceWentAway, DeviceCameBack, CountersBeganAnew, Unwatched]);
    assert_eq!(total.absent_ns, Nanos::seconds(600));
    let watched = Nanos::millis(100 * (2999 + 2999 + 2999 + 2999));
    assert_eq!(total.covered_ns, watched);
    let rate = total.ios() as f64 / watched.as_seconds();
    assert!((480.0..520.0).contains(&rate), "{rate}");
}

/// Ten minutes in which the volume is at a tenth of its limit for 30 s, and what its page tells then.
fn with_page(page: PageSecond) -> WatchAnswer {
    let mut volume = PlayedVolume::new(9);
    let header = header(true);
    let mut watcher = Watcher::begin(at(0), header.limits, std::iter::empty());
    let mut history = WatchHistory { header, ..WatchHistory::default() };
    for tenth in 0..6000 {
        let is_ill = (2000..2300).contains(&tenth);
        volume.health = if is_ill { 0.1 } else { 1.0 };
        watcher.sample(at(tenth), volume.play(800.0));
        if tenth % 10 == 7 {
            let ios = watcher.live().iops as u64;
            let told =
                if is_ill { PageSecond { ios, ..page } } else { PageSecond { ios, ..PageSecond::default() } };
            watcher.page(at(tenth), Some(told));
        }
    }
    watcher.finish(at(6000));
    for frame in watcher.take_frames() {
        history.spells.extend(if let WatchFrame::Spell(spell) = &frame { Some(*spell) } else { None });
        history.spans.extend(if let WatchFrame::Span(span) = frame { Some(*span) } else { None });
    }
    WatchAnswer::of_history(&history)
}

#[test]
fn the_page_tells_a_throttled_second_from_a_degraded_one() {
    let nothing = with_page(PageSecond::default());
    assert_eq!(nothing.spells[0].kind, SpellKind::Degraded);
    assert!(nothing.spells[0].has_page && nothing.total.account.spells == 1);
    assert_eq!(nothing.throttled.unwrap().volume_ns, Nanos(0));
    let instance = with_page(PageSecond { instance_ns: Nanos::millis(900), ..PageSecond::default() });
    assert_eq!((instance.spells.len(), instance.total.degraded_ns), (0, Nanos(0)));
    let times = instance.throttled.unwrap();
    assert_eq!((times.instance_spells, times.instance_ns), (1, Nanos::millis(27_000)));
    assert_eq!(instance.account.unwrap().share, 1.0);
    let volume = with_page(PageSecond { volume_ns: Nanos::millis(900), ..PageSecond::default() });
    assert_eq!(volume.spells[0].kind, SpellKind::LimitBelowPromise);
}

#[test]
fn a_discard_that_takes_seconds_is_no_event() {
    let mut volume = PlayedVolume::new(11);
    let mut watcher = Watcher::begin(at(0), Some(WatchLimits::shared(IOPS, BYTES)), std::iter::empty());
    for tenth in 0..600 {
        let mut fields = volume.play(if (100..130).contains(&tenth) { 0.0 } else { 200.0 });
        if (100..130).contains(&tenth) {
            let mut with_discard = volume.fields.map(|field| field as u64);
            with_discard[8] = 1;
            fields = StatCounters::from_fields(with_discard);
        } else if tenth == 130 {
            volume.fields[11] += 1.0;
            volume.fields[14] += 3000.0;
            fields = StatCounters::from_fields(volume.fields.map(|field| field as u64));
        }
        watcher.sample(at(tenth), fields);
    }
    watcher.finish(at(600));
    let frames = watcher.take_frames();
    let [WatchFrame::Span(minute)] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!((minute.account.spells, minute.degraded_ns), (0, Nanos(0)));
}

#[test]
fn old_minutes_become_hours_with_the_same_sums() {
    let bytes = file(5, 2, true, &[(3600, 0.0, 300)]);
    let history = WatchHistory::read(&bytes).unwrap();
    assert_eq!(history.with_hours(START + 2 * 86_400_000), None, "all are young");
    let later = START + (30 * 24 + 24) * 3_600_000;
    let hours = WatchHistory::read(&history.with_hours(later).unwrap()).unwrap();
    assert_eq!(hours.spans.len(), 24 + 1440);
    assert_eq!(hours.spells, history.spells);
    assert_eq!(hours.with_hours(later), None, "hours stay hours");
    let (fine, coarse) = (WatchAnswer::of_history(&history), WatchAnswer::of_history(&hours));
    assert_eq!(fine.total.counts, coarse.total.counts);
    assert_eq!((fine.account, fine.between), (coarse.account, coarse.between));
    let (a, b) = (fine.demand.iops[2], coarse.demand.iops[2]);
    assert!((0.7..1.4).contains(&(b / a)), "{a} {b}");
}

/// The frames of a file behind its first line.
fn frames(file: &[u8]) -> Vec<WatchFrame> {
    let (mut at, mut frames) = (MAGIC.len(), Vec::new());
    while let Some((frame, length)) = WatchFrame::decode(&file[at..]) {
        frames.extend(frame);
        at += length;
    }
    frames
}

fn written(frames: &[WatchFrame]) -> Vec<u8> {
    let bytes = frames.iter().flat_map(WatchFrame::encode);
    MAGIC.iter().copied().chain(bytes).collect()
}

#[test]
fn a_span_belongs_to_the_start_before_it() {
    let watched = frames(&file(6, 1, false, &[]));
    let mut both = watched.clone();
    both.push(WatchFrame::Header(Box::new(header(true))));
    let history = WatchHistory::read(&written(&both)).unwrap();
    let answer = WatchAnswer::of_history(&history);
    assert_eq!((answer.owed, answer.account), (MinuteAccount::default(), None), "none under the promise");
    assert_eq!(answer.total.account.with_demand, 1440, "they are counted all the same");
    let ten_days = 10 * 86_400_000;
    let later = frames(&file(7, 1, true, &[])).into_iter().map(|frame| match frame {
        WatchFrame::Span(mut span) => {
            span.start_unix_ms += ten_days;
            WatchFrame::Span(span)
        }
        other => other,
    });
    both.extend(later);
    let history = WatchHistory::read(&written(&both)).unwrap();
    assert_eq!(WatchAnswer::of_history(&history).owed.with_demand, 1440);
    let hours = history.with_hours(START + 4 * ten_days).unwrap();
    let hours = WatchHistory::read(&hours).unwrap();
    assert_eq!(hours.earlier.iter().map(|(_, end)| *end).collect::<Vec<_>>(), [24]);
    assert_eq!(WatchAnswer::of_history(&hours).owed, WatchAnswer::of_history(&history).owed);
}

#[test]
fn requests_in_flight_all_the_time_below_the_promise_are_never_kept() {
    for (rate, depth) in [(300.0, 16.0), (100.0, 2.0), (2500.0, 64.0), (2990.0, 32.0)] {
        let mut fields = [0.0; 17];
        let header = header(true);
        let mut watcher = Watcher::begin(at(0), header.limits, std::iter::empty());
        for tenth in 0..6000 {
            // Each request takes its place in the queue: Little's law.
            fields[0] += rate / 10.0;
            fields[2] += rate / 10.0 * 8.0;
            fields[3] += depth * 100.0;
            (fields[8], fields[9]) = (depth, fields[9] + 100.0);
            watcher.sample(at(tenth), StatCounters::from_fields(fields.map(|field: f64| field as u64)));
        }
        watcher.finish(at(6000));
        let mut account = MinuteAccount::default();
        for frame in watcher.take_frames() {
            let WatchFrame::Span(span) = frame else { panic!("{frame:?}") };
            account.add(&span.account);
        }
        let kept = if rate > 0.9 * IOPS { 10 } else { 0 };
        assert_eq!((account.kept, account.undecided), (kept, 10 - kept), "{rate}/s: {account:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn frames_that_come_again_count_once(places in prop::collection::vec(1usize..1400, 1..60), whole in any::<bool>()) {
        let frames = frames(&short_file());
        let once = WatchHistory::read(&written(&frames)).unwrap();
        let mut again = frames.clone();
        if whole {
            again.extend(frames.clone());
        }
        for place in places {
            let copy = again[place].clone();
            again.insert(place, copy);
        }
        let twice = WatchHistory::read(&written(&again)).unwrap();
        prop_assert_eq!(&twice.spans, &once.spans);
        prop_assert_eq!(&twice.spells, &once.spells);
        prop_assert_eq!(WatchAnswer::of_history(&twice), WatchAnswer::of_history(&once));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..500), place in 0usize..2000) {
        let _ = WatchFrame::decode(&bytes);
        let mut file = MAGIC.to_vec();
        file.extend(WatchFrame::Header(Box::new(header(true))).encode());
        file.extend(&bytes);
        prop_assert!(WatchHistory::read(&file).is_ok());
        let place = place % file.len();
        file[place] ^= 1;
        let _ = WatchHistory::read(&file).map(|history| WatchAnswer::of_history(&history));
    }

    #[test]
    fn any_numbers_of_a_span_come_back_and_have_an_answer(numbers in prop::collection::vec(any::<u64>(), 60)) {
        let mut spans = Vec::new();
        for n in numbers.chunks(20) {
            let mut span = WatchSpan {
                start_unix_ms: n[0] as i64,
                covered_ns: Nanos(n[1]),
                absent_ns: Nanos(n[2]),
                in_flight_ns: n[3],
                most_ios: n[4],
                most_bytes: n[5],
                degraded_ns: Nanos(n[6]),
                throttled: Some(ThrottleTimes { volume_ns: Nanos(n[7]), ios: n[8], kernel_ios: n[9], ..Default::default() }),
                account: MinuteAccount {
                    with_demand: n[10],
                    kept: n[11],
                    missed_runs: n[12],
                    spells: n[13],
                    undecided: n[5],
                },
                ..WatchSpan::default()
            };
            span.counts[1] = DirectionIos { ios: n[14], bytes: n[15], latency_ms: n[16] };
            span.demand.push(DemandBucket { key: n[17] as u16, slots: n[18], ios: n[19], bytes: n[0] / 512 * 512 });
            span.latency.push((n[1] as u8, n[2]));
            spans.push(span);
        }
        let mut file = MAGIC.to_vec();
        file.extend(WatchFrame::Header(Box::new(header(true))).encode());
        for span in &spans {
            let frame = WatchFrame::Span(Box::new(span.clone()));
            let bytes = frame.encode();
            prop_assert_eq!(WatchFrame::decode(&bytes), Some((Some(frame), bytes.len())));
            file.extend(bytes);
        }
        let history = WatchHistory::read(&file).unwrap();
        prop_assert_eq!(history.spans.len() + history.repeated_spans, spans.len());
        let _ = (WatchAnswer::of_history(&history), history.with_hours(0));
        let _ = Watcher::begin(at(0), None, spans.iter());
    }

    #[test]
    fn the_bucket_of_a_value_is_near_it(value in 4u64..1 << 23) {
        let middle = crate::minute_sums::bucket_middle(crate::minute_sums::quarter_octave(value, 128)) as f64;
        prop_assert!((middle / value as f64 - 1.0).abs() < 0.26, "{} {}", value, middle);
    }
}

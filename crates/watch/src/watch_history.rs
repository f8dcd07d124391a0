//! What the file of a watch holds.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::spell_detector::Spell;
use crate::watch_frame::{MAGIC, WatchFrame, WatchHeader, WatchNote, WatchNoteKind};
use crate::watch_span::{HOUR_MS, WatchSpan};

/// So long minutes stay minutes; older ones become hours.
const MINUTES_STAY_MS: i64 = 30 * 24 * HOUR_MS;
/// Notes that are kept when the file is written anew, the latest.
const MOST_NOTES: usize = 1000;

/// Two spans or spells that have more than this in common are about the same time: two readings are a moment apart.
const OVERLAP_MS: i64 = 1000;
/// So long before a span the clock was set when the span begins at a moment that has been before.
const CLOCK_SET_BEFORE_MS: i64 = 120_000;

/// Why bytes are no watch.
#[derive(Debug, thiserror::Error)]
pub enum WatchFileError {
    /// Something else.
    #[error("it is no file of `volproof watch`")]
    Foreign,
    /// Not even the first frame is whole.
    #[error("it is a file of `volproof watch` that was cut off before it said which volume it is about")]
    NoHeader,
}

/// What the file of a watch holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchHistory {
    /// The last start.
    pub header: WatchHeader,
    /// Minutes, and hours of old ones, in the order of time. Each belongs to the start before it.
    pub spans: Vec<WatchSpan>,
    /// Starts with another promise than the start behind them, each with the number of spans up to there.
    pub earlier: Vec<(WatchHeader, usize)>,
    /// Spans that were left out: an earlier one is about the same time.
    pub repeated_spans: usize,
    /// Degraded spells, each whole.
    pub spells: Vec<Spell>,
    /// What happened to the watch itself.
    pub notes: Vec<WatchNote>,
    /// Bytes up to the end of the last whole frame: what is behind them is cut before the file goes on.
    pub whole_bytes: usize,
    /// Bytes behind the last whole frame: a minute that was being written when the machine stopped.
    pub torn_bytes: usize,
    /// Bytes before the last whole frame that no frame accounts for: the file was changed.
    pub damaged_bytes: usize,
}

/// The times that a file has told of, from and to.
#[derive(Default)]
struct ToldTimes(BTreeMap<i64, i64>);

impl ToldTimes {
    /// Takes a time; false where it was told before. From a clock that was set on, all times are new.
    fn takes(&mut self, from: i64, to: i64, clock_was_set: bool) -> bool {
        let slack = OVERLAP_MS.min(to.saturating_sub(from) / 2);
        let before = self.0.range(..=from).next_back();
        let after = self.0.range((Bound::Excluded(from), Bound::Unbounded)).next();
        let is_told = self.0.contains_key(&from)
            || before.is_some_and(|(_, end)| from < end.saturating_sub(slack))
            || after.is_some_and(|(start, _)| *start < to.saturating_sub(slack));
        if is_told && !clock_was_set {
            return false;
        }
        if is_told {
            self.0.clear();
        }
        self.0.insert(from, to);
        true
    }
}

impl WatchHistory {
    /// Whether bytes begin as a file of a watch does.
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// Reads a file. Damage costs the frames that it touches.
    ///
    /// # Errors
    /// The bytes are no watch, or hold no whole frame.
    pub fn read(bytes: &[u8]) -> Result<WatchHistory, WatchFileError> {
        if !WatchHistory::is_one(bytes) {
            return Err(WatchFileError::Foreign);
        }
        let mut history = WatchHistory::default();
        let mut told = [ToldTimes::default(), ToldTimes::default()];
        let (mut at, mut lost, mut has_header) = (MAGIC.len(), 0, false);
        while at < bytes.len() {
            let Some((frame, length)) = WatchFrame::decode(&bytes[at..]) else {
                (at, lost) = (at + 1, lost + 1);
                continue;
            };
            history.damaged_bytes += std::mem::take(&mut lost);
            at += length;
            history.whole_bytes = at;
            has_header |= matches!(frame, Some(WatchFrame::Header(_)));
            history.add(frame, &mut told);
        }
        history.torn_bytes = lost;
        if has_header { Ok(history) } else { Err(WatchFileError::NoHeader) }
    }

    fn add(&mut self, frame: Option<WatchFrame>, [spans, spells]: &mut [ToldTimes; 2]) {
        match frame {
            Some(WatchFrame::Header(header)) => self.add_start(*header),
            Some(WatchFrame::Span(span)) => self.add_span(*span, spans),
            Some(WatchFrame::Spell(spell)) => self.add_new_spell(spell, spells),
            Some(WatchFrame::Note(note)) if self.notes.contains(&note) => {}
            Some(WatchFrame::Note(note)) => self.notes.push(note),
            // A later version may write more kinds.
            None => {}
        }
    }

    fn add_start(&mut self, header: WatchHeader) {
        let before = std::mem::replace(&mut self.header, header);
        let is_same =
            before.limits == self.header.limits && before.share_of_time == self.header.share_of_time;
        if !is_same && self.spans.len() > self.first_span() {
            self.earlier.push((before, self.spans.len()));
        }
    }

    /// The first span under the promise of the last start.
    pub fn first_span(&self) -> usize {
        self.earlier.last().map_or(0, |(_, end)| *end)
    }

    fn add_span(&mut self, span: WatchSpan, told: &mut ToldTimes) {
        if told.takes(span.start_unix_ms, span.end_ms(), self.clock_was_set(span.start_unix_ms)) {
            self.spans.push(span);
        } else {
            self.repeated_spans += 1;
        }
    }

    fn add_new_spell(&mut self, spell: Spell, told: &mut ToldTimes) {
        let end = spell.start_unix_ms.saturating_add((spell.length_ns / 1_000_000) as i64);
        if told.takes(spell.start_unix_ms, end, self.clock_was_set(spell.start_unix_ms)) {
            self.add_spell(spell);
        }
    }

    /// Whether the clock was set right before a moment: then the moment may come for the second time.
    fn clock_was_set(&self, at: i64) -> bool {
        let before = at.saturating_sub(CLOCK_SET_BEFORE_MS)..=at;
        let is_set =
            |note: &WatchNote| note.kind == WatchNoteKind::ClockWasSet && before.contains(&note.at_unix_ms);
        self.notes.iter().any(is_set)
    }

    /// Joins the parts of a spell that minutes divided.
    fn add_spell(&mut self, part: Spell) {
        match self.spells.last_mut().filter(|_| part.goes_on) {
            Some(whole) => {
                let parts = (whole.length_ns as f64, part.length_ns as f64);
                let mean = |a: f64, b: f64| (a * parts.0 + b * parts.1) / (parts.0 + parts.1).max(1.0);
                whole.in_flight = mean(whole.in_flight, part.in_flight);
                whole.share = whole.share.zip(part.share).map(|(a, b)| mean(a, b));
                let latency = |spell: &Spell| u128::from(spell.latency_ns) * u128::from(spell.ios);
                let sum = latency(whole) + latency(&part);
                whole.ios = whole.ios.saturating_add(part.ios);
                whole.latency_ns =
                    sum.checked_div(whole.ios.into()).map_or(whole.latency_ns, |mean| mean as u64);
                whole.length_ns = whole.length_ns.saturating_add(part.length_ns);
                whole.has_page |= part.has_page;
            }
            None => self.spells.push(Spell { goes_on: false, ..part }),
        }
    }

    /// The bytes of the file with old minutes as hours; `None` where all of them are young.
    pub fn with_hours(&self, now_unix_ms: i64) -> Option<Vec<u8>> {
        let is_old = |span: &WatchSpan| {
            span.start_unix_ms.div_euclid(HOUR_MS) < (now_unix_ms - MINUTES_STAY_MS).div_euclid(HOUR_MS)
        };
        let starts = || {
            let ends = self.earlier.iter().map(|(header, end)| (header, *end));
            ends.chain([(&self.header, self.spans.len())])
        };
        // An hour has the minutes of one start.
        let mut hours: BTreeMap<(usize, i64), (WatchSpan, usize)> = BTreeMap::new();
        for (place, span) in self.spans.iter().enumerate().filter(|(_, span)| is_old(span)) {
            let start = starts().take_while(|(_, end)| *end <= place).count();
            let hour = span.start_unix_ms.div_euclid(HOUR_MS);
            hours
                .entry((start, hour))
                .and_modify(|(sum, count)| {
                    sum.merge(span);
                    *count += 1;
                })
                .or_insert((span.clone(), 1));
        }
        if hours.values().all(|(_, count)| *count == 1) {
            return None;
        }
        let mut bytes = MAGIC.to_vec();
        let mut put = |frame: WatchFrame| bytes.extend(frame.encode());
        // The first frame is a start.
        put(WatchFrame::Header(Box::new(starts().next().map_or(&self.header, |(header, _)| header).clone())));
        // The note of a clock that was set stands before the moments that come twice.
        let late = self.notes.len().saturating_sub(MOST_NOTES);
        self.notes[late..].iter().for_each(|note| put(WatchFrame::Note(*note)));
        let mut first = 0;
        for (place, (header, end)) in starts().enumerate() {
            put(WatchFrame::Header(Box::new(header.clone())));
            for (_, (hour, _)) in hours.range((place, i64::MIN)..=(place, i64::MAX)) {
                put(WatchFrame::Span(Box::new(hour.clone())));
            }
            for span in self.spans[first..end].iter().filter(|span| !is_old(span)) {
                put(WatchFrame::Span(Box::new(span.clone())));
            }
            first = end;
        }
        self.spells.iter().for_each(|spell| put(WatchFrame::Spell(*spell)));
        Some(bytes)
    }
}

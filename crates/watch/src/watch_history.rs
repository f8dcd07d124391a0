//! What the file of a watch holds.

use std::collections::BTreeMap;

use crate::spell_detector::Spell;
use crate::watch_frame::{MAGIC, WatchFrame, WatchHeader, WatchNote};
use crate::watch_span::{HOUR_MS, WatchSpan};

/// So long minutes stay minutes; older ones become hours.
const MINUTES_STAY_MS: i64 = 30 * 24 * HOUR_MS;
/// Notes that are kept when the file is written anew, the latest.
const MOST_NOTES: usize = 1000;

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
    /// Minutes, and hours of old ones, in the order of time.
    pub spans: Vec<WatchSpan>,
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
            history.add(frame);
        }
        history.torn_bytes = lost;
        if has_header { Ok(history) } else { Err(WatchFileError::NoHeader) }
    }

    fn add(&mut self, frame: Option<WatchFrame>) {
        match frame {
            Some(WatchFrame::Header(header)) => self.header = *header,
            Some(WatchFrame::Span(span)) => self.spans.push(*span),
            Some(WatchFrame::Spell(spell)) => self.add_spell(spell),
            Some(WatchFrame::Note(note)) => self.notes.push(note),
            // A later version may write more kinds.
            None => {}
        }
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
        let mut hours: BTreeMap<i64, (WatchSpan, usize)> = BTreeMap::new();
        for span in self.spans.iter().filter(|span| is_old(span)) {
            let hour = span.start_unix_ms.div_euclid(HOUR_MS);
            hours
                .entry(hour)
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
        bytes.extend(WatchFrame::Header(Box::new(self.header.clone())).encode());
        for (hour, _) in hours.into_values() {
            bytes.extend(WatchFrame::Span(Box::new(hour)).encode());
        }
        for span in self.spans.iter().filter(|span| !is_old(span)) {
            bytes.extend(WatchFrame::Span(Box::new(span.clone())).encode());
        }
        self.spells.iter().for_each(|spell| bytes.extend(WatchFrame::Spell(*spell).encode()));
        let late = self.notes.len().saturating_sub(MOST_NOTES);
        self.notes[late..].iter().for_each(|note| bytes.extend(WatchFrame::Note(*note).encode()));
        Some(bytes)
    }
}

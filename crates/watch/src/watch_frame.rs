//! The frames of a watch's file: a length, a checksum, and what they hold. They are only ever added.
//!
//! Minutes and hours are numbers of as many bytes as they need, since there are many; the rest is JSON.

use serde::{Deserialize, Serialize};

use crate::spell_detector::Spell;
use crate::watch_limits::WatchLimits;
use crate::watch_span::{DemandBucket, DirectionIos, MinuteAccount, ThrottleTimes, WatchSpan};
use volproof_base::unit::{Bytes, Nanos};

/// How a file of a watch begins.
pub const MAGIC: &[u8] = b"volproof watch 1\n";
/// Length and checksum of a frame.
const HEAD: usize = 6;
/// No frame is longer.
const LONGEST: usize = 16 << 10;

/// What is watched, and against what. Each start of the program writes one; the last one counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchHeader {
    /// The version of volproof.
    pub version: String,
    /// What stays the same of the volume wherever it is attached: its serial number, or else the best that there is.
    pub key: String,
    /// Its name at this start, as `nvme1n1`.
    pub disk: String,
    /// Its size.
    pub size_bytes: Bytes,
    /// The promise in words, as `gp3 400 GiB, 16,000 IOPS, 500 MiB/s on m7i.2xlarge`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<String>,
    /// The options that name the promise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The promised rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<WatchLimits>,
    /// The share of the time for which they are promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_of_time: Option<f64>,
    /// Why the provider's page is not read, in words; none where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_page: Option<String>,
}

/// Something that happened to the watch itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchNoteKind {
    /// The program slept or was stopped for so long.
    Unwatched,
    /// A counter fell while the device was there.
    CountersBeganAnew,
    /// The device went away.
    DeviceWentAway,
    /// The device came back after so long.
    DeviceCameBack,
    /// The clock of the machine was set, by so much.
    ClockWasSet,
}

/// When something happened to the watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchNote {
    /// When, in milliseconds since 1970.
    pub at_unix_ms: i64,
    /// What.
    pub kind: WatchNoteKind,
    /// How long.
    pub length_ns: u64,
}

/// A part of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchFrame {
    /// A start.
    Header(Box<WatchHeader>),
    /// A minute, or an hour of old ones.
    Span(Box<WatchSpan>),
    /// A degraded spell.
    Spell(Spell),
    /// Something that happened to the watch.
    Note(WatchNote),
}

impl WatchFrame {
    /// No frame takes more in a file.
    pub const LONGEST_BYTES: usize = HEAD + LONGEST;

    /// The bytes of the frame.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        match self {
            WatchFrame::Header(header) => json(b'H', &**header, &mut body),
            WatchFrame::Span(span) => {
                body.push(b'S');
                write_span(span, &mut body);
            }
            WatchFrame::Spell(spell) => json(b'E', spell, &mut body),
            WatchFrame::Note(note) => json(b'N', note, &mut body),
        }
        WatchFrame::with_sum(&body)
    }

    /// The bytes of a frame with this body.
    pub fn with_sum(body: &[u8]) -> Vec<u8> {
        let mut frame = (body.len() as u16).to_le_bytes().to_vec();
        frame.extend(crc32(body).to_le_bytes());
        frame.extend(body);
        frame
    }

    /// The frame that bytes begin with, and its length. `Ok(None)` where it is whole and of a kind that this version does not know.
    pub fn decode(bytes: &[u8]) -> Option<(Option<WatchFrame>, usize)> {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let (sum, rest) = rest.split_first_chunk::<4>()?;
        let length = usize::from(u16::from_le_bytes(*length));
        let body = rest.get(..length).filter(|_| length > 0 && length <= LONGEST)?;
        if crc32(body) != u32::from_le_bytes(*sum) {
            return None;
        }
        let (kind, body) = body.split_first()?;
        let frame = match kind {
            b'H' => serde_json::from_slice(body).ok().map(|header| WatchFrame::Header(Box::new(header))),
            b'S' => read_span(body).map(|span| WatchFrame::Span(Box::new(span))),
            b'E' => serde_json::from_slice(body).ok().map(WatchFrame::Spell),
            b'N' => serde_json::from_slice(body).ok().map(WatchFrame::Note),
            _ => None,
        };
        Some((frame, HEAD + length))
    }
}

/// Plain data has a form in JSON.
fn json(kind: u8, value: &impl Serialize, body: &mut Vec<u8>) {
    body.push(kind);
    let _ = serde_json::to_writer(body, value);
}

/// CRC-32 as in zip and PNG, bit by bit: a frame a minute is short.
fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0xEDB8_8320 & (sum & 1).wrapping_neg());
        }
    }
    !sum
}

/// Seven bits a byte, the low ones first (LEB128).
fn write_number(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Reads numbers one after the other.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn next(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn array<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut all = [0; N];
        for number in &mut all {
            *number = self.next()?;
        }
        Some(all)
    }

    /// How many items follow. Each has at least one byte.
    fn count(&mut self) -> Option<usize> {
        let count = self.next()? as usize;
        (count <= self.0.len()).then_some(count)
    }
}

fn write_span(span: &WatchSpan, to: &mut Vec<u8>) {
    let mut put = |numbers: &[u64]| numbers.iter().for_each(|number| write_number(*number, to));
    put(&[span.start_unix_ms as u64, span.covered_ns.0, span.absent_ns.0, span.degraded_ns.0]);
    put(&[span.in_flight_ns, span.most_ios, span.most_bytes]);
    let account = &span.account;
    put(&[account.with_demand, account.kept, account.missed_runs, account.spells]);
    for counts in &span.counts {
        put(&[counts.ios, counts.bytes, counts.latency_ms]);
    }
    put(&[span.demand.len() as u64]);
    for bucket in &span.demand {
        put(&[u64::from(bucket.key), bucket.slots, bucket.ios, bucket.bytes / 512]);
    }
    put(&[span.latency.len() as u64]);
    for (bucket, ios) in &span.latency {
        put(&[u64::from(*bucket), *ios]);
    }
    put(&[u64::from(span.throttled.is_some())]);
    if let Some(times) = &span.throttled {
        put(&[times.volume_ns.0, times.instance_ns.0, times.volume_spells, times.instance_spells]);
        put(&[times.ios, times.kernel_ios]);
    }
    put(&[account.undecided]);
}

fn read_span(body: &[u8]) -> Option<WatchSpan> {
    let mut from = Numbers(body);
    let [start, covered, absent, degraded, in_flight, most_ios, most_bytes] = from.array()?;
    let [with_demand, kept, missed_runs, spells] = from.array()?;
    let mut span = WatchSpan {
        start_unix_ms: start as i64,
        covered_ns: Nanos(covered),
        absent_ns: Nanos(absent),
        degraded_ns: Nanos(degraded),
        in_flight_ns: in_flight,
        most_ios,
        most_bytes,
        account: MinuteAccount { with_demand, kept, missed_runs, spells, undecided: 0 },
        ..WatchSpan::default()
    };
    for counts in &mut span.counts {
        let [ios, bytes, latency_ms] = from.array()?;
        *counts = DirectionIos { ios, bytes, latency_ms };
    }
    for _ in 0..from.count()? {
        let [key, slots, ios, sectors] = from.array()?;
        let key = u16::try_from(key).ok()?;
        span.demand.push(DemandBucket { key, slots, ios, bytes: sectors.saturating_mul(512) });
    }
    for _ in 0..from.count()? {
        let [bucket, ios] = from.array()?;
        span.latency.push((u8::try_from(bucket).ok()?, ios));
    }
    if from.next()? > 0 {
        let [volume, instance, volume_spells, instance_spells, ios, kernel_ios] = from.array()?;
        let (volume_ns, instance_ns) = (Nanos(volume), Nanos(instance));
        span.throttled =
            Some(ThrottleTimes { volume_ns, instance_ns, volume_spells, instance_spells, ios, kernel_ios });
    }
    // Earlier versions ended here.
    span.account.undecided = from.next().unwrap_or(0);
    Some(span)
}

//! Lines that belong to no row: versions, headers, status lines, sums of groups, disks, times of day.

use super::field::{self, amount, bytes, field, position, whole};
use crate::output::{AskedRate, DiskCounters, DiskCounts, Header, OutputRow, Stats};
use volproof_base::sample::Direction;
use volproof_base::unit::{Bytes, Nanos};

/// `fio-3.33`; in client mode `fio=fio-3.33` at the end of a host's line.
pub(super) fn version(text: &str) -> Option<&str> {
    let text = match position(text, "fio") {
        Some(at) => &text[at..],
        None => text,
    };
    let number = text.strip_prefix("fio-").or_else(|| text.strip_prefix("fio "))?;
    let end = text.find([' ', ',']).filter(|_| text.starts_with("fio-")).unwrap_or(text.len());
    let word = &text[..end];
    let plausible =
        number.starts_with(|c: char| c.is_ascii_digit()) && word.len() < 60 && !text.contains(" --");
    plausible.then_some(word.trim_end())
}

/// `Jobs: 1 (f=1), 0-500 IOPS: [r(1)]...`: least and wanted rate; `CR=500/0 IOPS` in 2.x.
pub(super) fn asked_rate(text: &str) -> Option<AskedRate> {
    let (_, rest) = text.split_once("), ")?;
    let rates = rest.split(": [").next()?.trim_end_matches(':').trim();
    let (wanted, old) = match rates.strip_prefix("CR=") {
        Some(rates) => (rates.split('/').next()?, true),
        None => (rates.split_once('-')?.1, false),
    };
    if rates.ends_with("IOPS") {
        return field::count(wanted).filter(|n| *n > 0.0).map(AskedRate::Iops);
    }
    let unit = if old { rates.rsplit(' ').next().unwrap_or_default() } else { "" };
    amount(&format!("{wanted}{unit}"), old).filter(|n| *n > 0.0).map(AskedRate::Bytes)
}

/// `NAME: (g=0): rw=randread, bs=..., ioengine=libaio, iodepth=128`.
pub(super) fn header(text: &str) -> Option<Header> {
    let (_, rw) = field(text, "rw")?;
    let block = position(text, "bs").map(|at| &text[at..]).unwrap_or_default();
    let sizes = block.split(", ioengine").next().unwrap_or_default();
    let old = !sizes.contains('(');
    let parts: Vec<(Bytes, Bytes)> = if old {
        sizes.split('/').filter_map(|words| range(words, old)).collect()
    } else {
        sizes.split(')').skip(1).filter_map(|part| range(part.split(',').next()?, old)).collect()
    };
    let first = *parts.first()?;
    Some(Header {
        rw: rw.into(),
        block: [0, 1, 2].map(|i| parts.get(i).copied().unwrap_or(first)),
        engine: field(text, "ioengine").map(|(_, v)| v.to_string()).unwrap_or_default(),
        depth: field(text, "iodepth")
            .and_then(|(_, v)| whole(v))
            .map_or(0, |n| n.min(u64::from(u32::MAX)) as u32),
        laid_out: None,
    })
}

/// `4096B-8192B`, or one size.
fn range(words: &str, binary: bool) -> Option<(Bytes, Bytes)> {
    let (low, high) = words.trim().split_once('-').unwrap_or((words.trim(), words.trim()));
    Some((bytes(low, binary)?, bytes(high, binary)?))
}

/// The job of a line such as `wal: Laying out IO file (1 file / 8MiB)`, and the size of its files. fio 2 has `MB` for MiB.
pub(super) fn laid_out(text: &str) -> Option<(&str, Bytes)> {
    let (name, rest) = text.split_once(": Laying out IO file")?;
    let size = rest.rsplit_once('/')?.1.trim_end().strip_suffix(')')?;
    Some((name.trim(), bytes(size.trim().trim_start_matches("total").trim(), true)?))
}

/// A sum of a group as a row of its own.
pub(super) fn group(text: &str) -> Option<OutputRow> {
    let (word, rest) = text.trim_start().split_once(':')?;
    let old = position(rest, "aggrb").is_some();
    let (_, rate) = field(rest, if old { "aggrb" } else { "bw" })?;
    let (_, moved) = field(rest, "io")?;
    let (_, run) = field(rest, if old { "maxt" } else { "run" })?;
    let ms = whole(run.rsplit('-').next()?)?;
    let stats = Stats {
        bytes: bytes(moved, old)?,
        bytes_per_second: field::amount(rate, old)?,
        runtime: Nanos(ms.saturating_mul(1_000_000)),
        ..Stats::default()
    };
    let mut job = OutputRow { name: "all jobs".into(), members: 0, ..OutputRow::default() };
    match word {
        "READ" => job.directions[Direction::Read] = Some(Box::new(stats)),
        "WRITE" => job.directions[Direction::Write] = Some(Box::new(stats)),
        "TRIM" => job.directions[Direction::Trim] = Some(Box::new(stats)),
        "MIXED" => job.mixed = Some(Box::new(stats)),
        _ => return None,
    }
    Some(job)
}

/// `vdb: ios=258422/0, merge=0/0, ticks=1625844/0, in_queue=1625990, util=99.30%`.
pub(super) fn disk(text: &str) -> Option<DiskCounters> {
    let (name, _) = text.split_once(": ")?;
    Some(DiskCounters { name: name.trim().into(), counts: counts(text, "")?, below: counts(text, "aggr") })
}

/// The counters whose names begin so.
fn counts(text: &str, prefix: &str) -> Option<DiskCounts> {
    let [ios, sectors, merges, ticks] = ["ios", "sectors", "merge", "ticks"].map(|name| {
        let (reads, writes) = field(text, &format!("{prefix}{name}"))?.1.split_once('/')?;
        Some((whole(reads)?, whole(writes)?))
    });
    Some(DiskCounts {
        ios: ios?,
        sectors,
        merges: merges.unwrap_or_default(),
        ticks: ticks.unwrap_or_default(),
        in_queue: field(text, &format!("{prefix}in_queue")).and_then(|(_, v)| whole(v)).unwrap_or(0),
        busy: field(text, &format!("{prefix}util")).and_then(|(_, v)| field::share(v)).unwrap_or(0.0),
    })
}

//! The JSON of ioping's `-J`: a list with an object for each request, for each period, and for all of them at its end. Times are in nanoseconds.

use serde::Deserialize;

use super::ioping::IopingRow;

/// An object of ioping is shorter.
const LONGEST: usize = 4096;

/// What a list tells.
#[derive(Default)]
pub(super) struct IopingList {
    /// The time of the first object.
    pub began: Option<String>,
    pub target: Option<String>,
    pub writes: bool,
    pub reads: bool,
    /// The statistics of all requests; none where the list breaks off.
    pub all: Option<IopingRow>,
    /// Bytes of the text that it takes.
    pub length: usize,
}

/// A request or statistics.
#[derive(Deserialize)]
struct IopingObject {
    localtime: Option<String>,
    target: IopingTarget,
    io: Option<IopingIo>,
    stat: Option<IopingStat>,
    load: Option<AllRequests>,
}

#[derive(Deserialize)]
struct IopingTarget {
    path: String,
}

#[derive(Deserialize)]
struct IopingIo {
    operation: String,
}

/// Requests that count. The rate is in bytes a second.
#[derive(Deserialize)]
struct IopingStat {
    count: u64,
    size: Option<u64>,
    time: u64,
    iops: f64,
    bps: f64,
    min: u64,
    avg: u64,
    max: u64,
    mdev: u64,
}

/// The count and time of all requests.
#[derive(Deserialize)]
struct AllRequests {
    count: u64,
    time: u64,
}

/// The list that a text begins with, if it is one of ioping.
pub(super) fn list(text: &str) -> Option<IopingList> {
    let mut list = IopingList::default();
    let mut rest = text.trim_start().strip_prefix('[')?;
    let mut last = None;
    let ended = loop {
        let most = (0..=LONGEST.min(rest.len())).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(0);
        let mut objects = serde_json::Deserializer::from_str(&rest[..most]).into_iter::<IopingObject>();
        let Some(Ok(object)) = objects.next() else { break false };
        rest = rest[objects.byte_offset()..].trim_start();
        list.began = list.began.or(object.localtime);
        list.target = Some(object.target.path);
        if let Some(io) = object.io {
            list.writes |= io.operation == "write";
            list.reads |= io.operation == "read";
        }
        last = object.stat.zip(object.load);
        match rest.strip_prefix(',') {
            Some(behind) => rest = behind,
            None => break rest.starts_with(']'),
        }
    };
    list.target.as_ref()?;
    list.length = text.len() - rest.len();
    list.all = last.filter(|_| ended).map(|(s, l)| IopingRow {
        count: s.count,
        time: s.time,
        bytes: s.size,
        rate: s.iops.round() as u64,
        speed: s.bps.round() as u64,
        min: s.min,
        mean: s.avg,
        max: s.max,
        deviation: s.mdev,
        all: l.count,
        whole_time: l.time,
    });
    list.all = list.all.filter(IopingRow::is_possible);
    Some(list)
}

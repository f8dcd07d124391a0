//! The JSON of ioping's `-J`: a list with an object for each request and each statistics, of which a text may hold several, whole or broken off.

use serde::Deserialize;

/// An object of ioping is shorter. One that is longer is something else.
const LONGEST: usize = 4096;

/// Finds ioping's objects in a text, whatever its line breaks.
#[derive(Default)]
pub(super) struct IopingJson {
    object: String,
    /// Braces that are open.
    open: usize,
    in_quotes: bool,
    escaped: bool,
    /// The rest of the line is no JSON.
    other: bool,
}

/// What was found.
pub(super) enum IopingEvent {
    Object(Box<IopingObject>),
    /// The list is over.
    End,
}

/// A request or statistics.
#[derive(Deserialize)]
pub(super) struct IopingObject {
    pub localtime: Option<String>,
    pub target: IopingTarget,
    pub io: Option<IopingIo>,
    stat: Option<IopingStat>,
    load: Option<IopingLoad>,
}

#[derive(Deserialize)]
pub(super) struct IopingTarget {
    pub path: String,
}

/// A request, its size in bytes and its time in nanoseconds.
#[derive(Deserialize)]
pub(super) struct IopingIo {
    pub request: u64,
    pub operation: String,
    pub size: u64,
    pub time: u64,
    pub ignored: bool,
}

/// Requests that count. Times are in nanoseconds, the rate is in bytes a second.
#[derive(Deserialize)]
struct IopingStat {
    count: u64,
    time: u64,
    iops: f64,
    bps: f64,
    min: u64,
    avg: u64,
    max: u64,
    mdev: u64,
}

/// All requests, and the whole time in nanoseconds.
#[derive(Deserialize)]
struct IopingLoad {
    count: u64,
    time: u64,
}

impl IopingObject {
    /// Statistics, as the columns of plain numbers.
    pub fn row(&self) -> Option<[u64; 10]> {
        let (s, l) = (self.stat.as_ref()?, self.load.as_ref()?);
        let [iops, bps] = [s.iops, s.bps].map(|x| x.round() as u64);
        Some([s.count, s.time, iops, bps, s.min, s.avg, s.max, s.mdev, l.count, l.time])
    }
}

impl IopingJson {
    /// What ends in a piece of the text, which may be the first piece of a line.
    pub fn read(&mut self, piece: &str, first: bool) -> Vec<IopingEvent> {
        let mut events = Vec::new();
        if first && self.in_quotes {
            // No text of JSON goes on in the next line.
            *self = IopingJson::default();
        }
        self.other &= !first;
        for c in piece.chars() {
            if self.open > 0 {
                self.object.push(c);
                self.inside(c);
                if self.open == 0 {
                    let object = serde_json::from_str(&std::mem::take(&mut self.object));
                    events.extend(object.ok().map(|object| IopingEvent::Object(Box::new(object))));
                } else if self.object.len() > LONGEST {
                    *self = IopingJson { other: true, ..IopingJson::default() };
                }
            } else if self.other {
                break;
            } else {
                match c {
                    '{' => (self.open, self.object) = (1, c.to_string()),
                    ']' => events.push(IopingEvent::End),
                    _ => self.other = !(c.is_whitespace() || matches!(c, '[' | ',' | '}')),
                }
            }
        }
        events
    }

    /// Whether an object is open.
    pub fn is_within(&self) -> bool {
        self.open > 0
    }

    fn inside(&mut self, c: char) {
        match c {
            _ if self.escaped => self.escaped = false,
            '\\' if self.in_quotes => self.escaped = true,
            '"' => self.in_quotes = !self.in_quotes,
            '{' if !self.in_quotes => self.open += 1,
            '}' if !self.in_quotes => self.open -= 1,
            _ => {}
        }
    }
}

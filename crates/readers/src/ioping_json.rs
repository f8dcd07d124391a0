//! The JSON of ioping's `-J`: a list with an object for each request and each statistics. A text may hold several lists, whole or broken off.

use serde::Deserialize;

use super::ioping_rows::IopingRow;

/// An object of ioping is shorter. One that is longer is something else.
const LONGEST: usize = 4096;

/// Finds ioping's objects in a text, whatever its line breaks.
///
/// A line that breaks off may be followed by anything. An object of ioping holds no list, and where its text has line breaks, each further line
/// of it begins with a quote or a brace: whatever else comes ends an object that is open.
#[derive(Default)]
pub(super) struct IopingJson {
    object: String,
    /// Braces that are open.
    open: usize,
    in_quotes: bool,
    escaped: bool,
    /// The rest of the line is no JSON.
    other: bool,
    /// What was seen last outside of objects.
    last: LastSeen,
    /// The next object of ioping is the first of a list.
    begins: bool,
}

/// What stands outside of objects.
#[derive(Clone, Copy, Default, PartialEq)]
enum LastSeen {
    /// The bracket that opens a list.
    Bracket,
    /// A whole object of ioping.
    Object,
    #[default]
    Other,
}

/// What was found.
pub(super) enum IopingEvent {
    /// A list begins: one that is open has no end.
    Begin,
    Object(Box<IopingObject>),
    /// Another object follows in the list.
    GoesOn,
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

/// Requests that count, and their bytes. Times are in nanoseconds, the rate is in bytes a second.
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

/// All requests, and the whole time in nanoseconds.
#[derive(Deserialize)]
struct IopingLoad {
    count: u64,
    time: u64,
}

impl IopingObject {
    /// Its statistics.
    pub fn row(&self) -> Option<IopingRow> {
        let (s, l) = (self.stat.as_ref()?, self.load.as_ref()?);
        let [rate, speed] = [s.iops, s.bps].map(|x| x.round() as u64);
        let row = IopingRow {
            count: s.count,
            time: s.time,
            bytes: s.size,
            rate,
            speed,
            min: s.min,
            mean: s.avg,
            max: s.max,
            deviation: s.mdev,
            all: l.count,
            whole_time: l.time,
        };
        Some(row).filter(IopingRow::is_possible)
    }
}

impl IopingJson {
    /// What ends in a piece of the text, which may be the first piece of a line.
    pub fn read(&mut self, piece: &str, first: bool) -> Vec<IopingEvent> {
        let mut events = Vec::new();
        if first && self.is_within() && (self.in_quotes || !goes_on(piece)) {
            self.break_off();
        }
        self.other &= !first;
        // The first line of a list may stand behind whatever broke off.
        let (before, begins) = match piece.trim_end().strip_suffix("[{") {
            Some(before) => (before, true),
            None => (piece, false),
        };
        for c in before.chars() {
            if self.is_within() && (c != '[' || self.in_quotes) {
                self.inside(c, &mut events);
            } else if self.other {
                break;
            } else {
                self.outside(c, &mut events);
            }
        }
        if begins {
            self.break_off();
            self.other = false;
            "[{".chars().for_each(|c| self.outside(c, &mut events));
        }
        events
    }

    /// Whether an object is open.
    pub fn is_within(&self) -> bool {
        self.open > 0
    }

    /// What is open has no end.
    fn break_off(&mut self) {
        *self = IopingJson { begins: self.begins, other: self.other, ..IopingJson::default() };
    }

    fn outside(&mut self, c: char, events: &mut Vec<IopingEvent>) {
        if c == '[' && self.is_within() {
            self.break_off();
        }
        let before = self.last;
        match c {
            _ if c.is_whitespace() => return,
            '{' => {
                self.begins |= before == LastSeen::Bracket;
                (self.open, self.object) = (1, c.to_string());
            }
            ']' if before == LastSeen::Object => events.push(IopingEvent::End),
            ',' if before == LastSeen::Object => events.push(IopingEvent::GoesOn),
            _ => self.other = !matches!(c, '[' | ']' | ',' | '}'),
        }
        self.last = if c == '[' { LastSeen::Bracket } else { LastSeen::Other };
    }

    fn inside(&mut self, c: char, events: &mut Vec<IopingEvent>) {
        self.object.push(c);
        match c {
            _ if self.escaped => self.escaped = false,
            '\\' if self.in_quotes => self.escaped = true,
            '"' => self.in_quotes = !self.in_quotes,
            '{' if !self.in_quotes => self.open += 1,
            '}' if !self.in_quotes => self.open -= 1,
            _ => {}
        }
        if !self.is_within() {
            let object = serde_json::from_str(&std::mem::take(&mut self.object)).ok();
            let begins = std::mem::take(&mut self.begins);
            self.last = if object.is_some() { LastSeen::Object } else { LastSeen::Other };
            events.extend(object.is_some().then_some(IopingEvent::Begin).filter(|_| begins));
            events.extend(object.map(|object| IopingEvent::Object(Box::new(object))));
        } else if self.object.len() > LONGEST {
            self.break_off();
            self.other = true;
        }
    }
}

/// Whether a line may be a further one of an object that is open.
fn goes_on(line: &str) -> bool {
    line.trim_start().chars().next().is_none_or(|c| matches!(c, '"' | '{' | '}'))
}

//! Figures that cannot be: texts where numbers belong, counts below nothing, shares above the whole, percentiles that fall.
//!
//! A report that was edited, damaged or made by a faulty version holds such figures. They are not taken for 0: each is kept with
//! its key and value in [`OutputRow::impossible`], and what it is part of is left out. A figure that is left out is 0 or absent, which
//! for a direction that moved something means "not told".

use std::cell::RefCell;
use std::fmt;

use super::json_value::JsonValue;
use super::output::{Latency, OutputRow, Stats};
use volproof_base::sample::Direction;
use volproof_base::unit::Nanos;

/// One such figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// Where it stands: `read.lat_ns.mean`.
    pub key: String,
    /// As it is written there.
    pub value: String,
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

/// Characters of a value that are kept; a longer value is cut.
const SHOWN: usize = 24;
/// No count reaches this; fio prints an unset 64-bit number as -1 or 2^64-1.
const LARGEST_COUNT: u64 = 1 << 63;
/// No run takes longer: ten years.
const LONGEST_RUN: Nanos = Nanos::seconds(10 * 366 * 86_400);
/// Whole numbers, middles of buckets and printed digits are this far apart.
const ROUNDED: f64 = 0.05;
/// A millisecond at each end of a run, seconds: its time has whole ones.
const TWO_MS: f64 = 0.002;
/// Jobs of a row that end a little apart make its rates differ by no more.
const EDGE: f64 = 0.001;

impl Impossible {
    /// Of a key and what is there.
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Impossible {
        let value: String = value.into();
        let shown = match value.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}...", &value[..end]),
            None => value,
        };
        Impossible { key: key.into(), value: shown }
    }

    /// It is one of those that a rate is made of.
    pub fn of_rate(&self) -> bool {
        let last = self.key.rsplit('.').next().unwrap_or_default().to_lowercase();
        ["io_bytes", "io_kbytes", "bw", "bw_bytes", "iops", "runtime", "total_ios", "moved"]
            .contains(&last.as_str())
    }
}

/// An object of a report whose figures are checked as they are read.
pub struct Checked<'v, 'a> {
    value: &'v JsonValue<'a>,
    path: String,
    found: &'v RefCell<Vec<Impossible>>,
}

impl<'v, 'a> Checked<'v, 'a> {
    /// At the top of a row.
    pub fn new(value: &'v JsonValue<'a>, found: &'v RefCell<Vec<Impossible>>) -> Checked<'v, 'a> {
        Checked { value, path: String::new(), found }
    }

    /// The object itself.
    pub fn value(&self) -> &'v JsonValue<'a> {
        self.value
    }

    /// The object of that name. A value of another kind is noted as impossible.
    pub fn object(&self, name: &str) -> Option<Checked<'v, 'a>> {
        let value = self.value.get(name).filter(|v| **v != JsonValue::Null)?;
        if !matches!(value, JsonValue::Map(_)) {
            self.wrong(name, value);
            return None;
        }
        Some(Checked { value, path: self.key(name), found: self.found })
    }

    fn key(&self, name: &str) -> String {
        if self.path.is_empty() { name.into() } else { format!("{}.{name}", self.path) }
    }

    fn wrong(&self, name: &str, value: &JsonValue<'_>) {
        let shown = match value {
            JsonValue::Number(n) => n.to_string(),
            JsonValue::Text(t) => format!("\"{t}\""),
            JsonValue::Bool(b) => b.to_string(),
            JsonValue::List(_) => "[...]".into(),
            JsonValue::Map(_) => "{...}".into(),
            JsonValue::Null => "null".into(),
        };
        self.found.borrow_mut().push(Impossible::new(self.key(name), shown));
    }

    /// Counts by their names; none of them where one cannot be.
    pub fn counts(&self) -> Option<Vec<(&'v str, u64)>> {
        let each = self.value.members().iter().map(|(k, v)| {
            let n = count(v);
            if n.is_none() {
                self.wrong(k, v);
            }
            Some((&**k, n?))
        });
        each.collect()
    }

    /// How many impossible values were found so far, in the whole row.
    pub fn impossible_values(&self) -> usize {
        self.found.borrow().len()
    }

    fn figure<T>(&self, name: &str, read: impl Fn(&JsonValue<'_>) -> Option<T>) -> Option<T> {
        let value = self.value.get(name).filter(|v| **v != JsonValue::Null)?;
        let found = read(value);
        if found.is_none() {
            self.wrong(name, value);
        }
        found
    }

    /// A count.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.figure(name, count)
    }

    /// A time in milliseconds that a run can take.
    pub fn millis(&self, name: &str) -> Option<Nanos> {
        self.figure(name, |v| {
            count(v).map(|ms| Nanos(ms.saturating_mul(1_000_000))).filter(|t| *t <= LONGEST_RUN)
        })
    }

    /// A number from 0 up.
    pub fn real(&self, name: &str) -> Option<f64> {
        self.figure(name, |v| v.as_f64().filter(|x| x.is_finite() && *x >= 0.0))
    }

    /// A number of either sign.
    pub fn signed(&self, name: &str) -> Option<i32> {
        self.figure(name, |v| v.as_f64().filter(|x| x.abs() <= f64::from(i32::MAX)).map(|x| x as i32))
    }

    /// A percentage up to `most` times the whole, as a share.
    pub fn percent(&self, name: &str, most: f64) -> Option<f64> {
        self.figure(name, |v| v.as_f64().map(|x| x / 100.0).filter(|x| (0.0..=most).contains(x)))
    }

    /// The smallest of something: not told where it was never set.
    pub fn least(&self, name: &str) -> Option<f64> {
        let value = self.value.get(name).and_then(JsonValue::as_f64);
        if value.is_some_and(|x| x == -1.0 || x >= LARGEST_COUNT as f64) {
            return None;
        }
        self.real(name)
    }
}

/// A count below what a 64-bit number that was never set looks like.
fn count(value: &JsonValue<'_>) -> Option<u64> {
    value.as_u64().filter(|n| *n < LARGEST_COUNT)
}

/// Contradictions between several figures: takes the impossible ones out, and notes each.
pub fn judge(job: &mut OutputRow) {
    let mut found = Vec::new();
    for d in [Direction::Read, Direction::Write, Direction::Trim] {
        if let Some(stats) = &mut job.directions[d] {
            direction(d.name(), stats, &mut found);
        }
    }
    if let Some(stats) = &mut job.mixed {
        direction("mixed", stats, &mut found);
    }
    latency("sync.lat", &mut job.sync, &mut found);
    let below_ms = job.latency_ns.iter().flatten().chain(job.latency_us.iter().flatten());
    let all: f64 = below_ms.chain(job.latency_ms.iter().flatten()).sum();
    if all > 1.0 + ROUNDED {
        found.push(Impossible::new("latency_ns, latency_us and latency_ms", format!("{:.1}%", all * 100.0)));
        (job.latency_ns, job.latency_us, job.latency_ms) = (None, None, None);
    }
    if job.cpu.is_some_and(|c| ![c.user, c.system].iter().all(|x| (0.0..=1024.0).contains(x))) {
        found.extend(job.cpu.map(|c| Impossible::new("cpu", format!("{:.0}%", (c.user + c.system) * 100.0))));
        job.cpu = None;
    }
    job.impossible.extend(found);
}

/// No rate within its interval, over the time of the run, is an amount within its own. The time is in whole milliseconds.
fn rates_differ(rate: (f64, f64), amount: (f64, f64), seconds: f64) -> bool {
    let edges = TWO_MS * rate.1 + EDGE * amount.1;
    let known = seconds > 0.0 && rate.1 > 0.0 && amount.1 > 0.0;
    known && (rate.0 * seconds > amount.1 + edges || rate.1 * seconds + edges < amount.0)
}

fn direction(name: &str, s: &mut Stats, found: &mut Vec<Impossible>) {
    if s.runtime > LONGEST_RUN {
        found.push(Impossible::new(format!("{name}.runtime"), format!("{}", s.runtime.0 / 1_000_000)));
        s.runtime = Nanos(0);
    }
    let seconds = s.runtime.as_seconds();
    let printed = s.printed;
    if let Some(ios) = s.ios
        && rates_differ(printed.iops.unwrap_or((s.iops, s.iops)), (ios as f64, ios as f64), seconds)
    {
        let value = format!("{:.0}, which is not {ios} in {seconds} s", s.iops);
        found.push(Impossible { key: format!("{name}.iops"), value });
    }
    let speed = printed.bytes_per_second.unwrap_or((s.bytes_per_second, s.bytes_per_second));
    if rates_differ(speed, printed.bytes.unwrap_or((s.bytes.0 as f64, s.bytes.0 as f64)), seconds) {
        let value = format!("{:.0} a second, which is not {} in {seconds} s", s.bytes_per_second, s.bytes.0);
        found.push(Impossible { key: format!("{name}.bw"), value });
    }
    for (kind, l) in [("slat", &mut s.slat), ("clat", &mut s.clat), ("lat", &mut s.lat)] {
        latency(&format!("{name}.{kind}"), l, found);
    }
}

fn latency(name: &str, place: &mut Option<Latency>, found: &mut Vec<Impossible>) {
    let Some(l) = place else { return };
    if let Some(pair) = l.percentiles.windows(2).find(|w| w[0].1 > w[1].1) {
        let ((low, above), (high, below)) = (pair[0], pair[1]);
        let value = format!("{low}: {above}, {high}: {below}");
        found.push(Impossible { key: format!("{name}.percentile"), value });
        l.percentiles.clear();
    }
    // Text cuts fractions of its unit off; a unit is at most 1 % of the longest latency, or a microsecond.
    let [most_mean, most_max] = [l.mean, l.max.0 as f64].map(|x| x * (1.0 + ROUNDED) + 1000.0);
    let (min, max) = (l.min.0 as f64, l.max.0 as f64);
    let told = l.samples != Some(0) && (l.mean > 0.0 || max > 0.0);
    let finite = l.mean.is_finite() && l.deviation.is_finite() && l.mean >= 0.0 && l.deviation >= 0.0;
    if told && (!finite || min > most_mean || l.mean > most_max || l.max > LONGEST_RUN) {
        let value = format!("min {}, mean {}, max {}", l.min, Nanos(l.mean.max(0.0) as u64), l.max);
        found.push(Impossible { key: name.into(), value });
        *place = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_base::unit::Bytes;

    fn told(stats: Stats) -> (Stats, Vec<String>) {
        let mut job = OutputRow::default();
        job.directions[Direction::Read] = Some(Box::new(stats));
        judge(&mut job);
        let stats = *job.directions[Direction::Read].take().unwrap();
        (stats, job.impossible.iter().map(Impossible::to_string).collect())
    }

    #[test]
    fn figures_that_belong_together_stay() {
        let lat = Latency {
            min: Nanos(100_000),
            max: Nanos(9_000_000),
            mean: 1e6,
            percentiles: vec![(50.0, Nanos(900_000)), (99.0, Nanos(9_110_000))],
            ..Latency::default()
        };
        let stats = Stats {
            bytes: Bytes(4096 * 1000),
            bytes_per_second: 4_096_000.0,
            iops: 1000.0,
            ios: Some(1000),
            runtime: Nanos::seconds(1),
            lat: Some(lat.clone()),
            ..Stats::default()
        };
        assert_eq!(told(stats.clone()), (stats.clone(), vec![]));
        // The time of a run is in whole milliseconds, also where the run takes one or two.
        let short = Stats { runtime: Nanos::millis(1), ios: Some(2), iops: 2000.0, ..Stats::default() };
        assert_eq!(told(short).1, Vec::<String>::new());
        // Percentiles that fall go, the mean stays; a mean beyond the longest takes its latency with it.
        let falls = Latency { percentiles: vec![(50.0, Nanos(9)), (99.0, Nanos(1))], ..lat.clone() };
        let (left, words) = told(Stats { lat: Some(falls), ..stats.clone() });
        assert_eq!(words, ["read.lat.percentile=50: 9 ns, 99: 1 ns"]);
        assert_eq!(left.lat, Some(Latency { percentiles: vec![], ..lat.clone() }));
        let (left, words) = told(Stats { lat: Some(Latency { mean: 1e8, ..lat }), ..stats.clone() });
        assert_eq!((left.lat, words.len()), (None, 1));
        // A rate that its own count and time deny is one of rates.
        let (_, words) = told(Stats { iops: 99_000.0, ..stats });
        assert_eq!(words, ["read.iops=99000, which is not 1000 in 1 s"]);
        assert!(Impossible::new("read.iops", "x").of_rate() && !Impossible::new("read.lat", "x").of_rate());
    }
}

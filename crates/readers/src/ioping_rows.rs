//! ioping's statistics in full: the rows of plain numbers of `-p` and `-B`, and the statistics in its JSON. Times are in nanoseconds.

use super::printed;
use volproof_base::unit::{Bytes, Nanos};
use volproof_record::{RateSpread, ReportedFigures, ReportedLatency};

/// Statistics of a period, or of all requests.
#[derive(Clone, Default)]
pub(super) struct IopingRow {
    /// Requests that count.
    pub count: u64,
    /// The time in them.
    pub time: u64,
    /// Their bytes, where the row has them.
    pub bytes: Option<u64>,
    /// Requests a second of that time.
    pub rate: u64,
    /// Bytes a second of that time.
    pub speed: u64,
    pub min: u64,
    pub mean: u64,
    pub max: u64,
    pub deviation: u64,
    /// All requests, with those that are not counted.
    pub all: u64,
    /// The whole time, with that between the requests.
    pub whole_time: u64,
}

/// Statistics of several periods together.
#[derive(Default)]
pub(super) struct IopingRows {
    pub periods: u64,
    pub count: u64,
    pub time: u64,
    pub all: u64,
    pub whole_time: u64,
    bytes: u64,
    /// The whole time of the longest period.
    longest: u64,
    min: u64,
    max: u64,
    /// Least and most bytes a second, their sum and the sum of their squares.
    rates: (f64, f64, f64, f64),
    /// Of one period alone.
    deviation: f64,
}

/// What the last statistics of a list count.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum LastRow {
    OfAll,
    OfAPeriod,
    /// It may be either.
    NotKnown,
}

impl IopingRow {
    /// The ten columns of plain numbers. Ten numbers whose rate does not fit are something else.
    pub fn of_line(line: &str) -> Option<IopingRow> {
        if !line.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let mut columns = [0; 10];
        let mut words = line.split(' ');
        for column in &mut columns {
            *column = printed::whole(words.next()?)?;
        }
        let [count, time, rate, speed, min, mean, max, deviation, all, whole_time] = columns;
        let bytes = None;
        let row = IopingRow { count, time, bytes, rate, speed, min, mean, max, deviation, all, whole_time };
        (words.next().is_none() && row.is_possible()).then_some(row)
    }

    /// Whether these can be statistics.
    pub fn is_possible(&self) -> bool {
        let by_time = self.count as f64 * 1e9 / self.time.max(1) as f64;
        let largest = [self.all, self.whole_time, self.rate, self.speed, self.max, self.deviation];
        largest.into_iter().chain(self.bytes).all(|n| n < 1 << 60)
            && self.count > 0
            && self.count <= self.all
            && self.time <= self.whole_time
            && self.min <= self.mean
            && self.mean <= self.max
            && (by_time - self.rate as f64).abs() <= 1.0 + 0.01 * by_time
    }

    /// Bytes of the requests that count, which are of one size.
    fn bytes(&self) -> u64 {
        let of_one = self.speed as f64 * self.time as f64 / 1e9 / self.count.max(1) as f64;
        self.bytes.unwrap_or_else(|| self.count.saturating_mul(of_one.round() as u64))
    }
}

impl IopingRows {
    pub fn add(&mut self, row: &IopingRow) {
        self.min = if self.periods == 0 { row.min } else { self.min.min(row.min) };
        self.max = self.max.max(row.max);
        self.longest = self.longest.max(row.whole_time);
        self.periods += 1;
        for (sum, n) in [
            (&mut self.count, row.count),
            (&mut self.time, row.time),
            (&mut self.bytes, row.bytes()),
            (&mut self.all, row.all),
            (&mut self.whole_time, row.whole_time),
        ] {
            *sum = sum.saturating_add(n);
        }
        let speed = row.speed as f64;
        let (least, most, sum, squares) = self.rates;
        let least = if self.periods == 1 { speed } else { least.min(speed) };
        self.rates = (least, most.max(speed), sum + speed, squares + speed * speed);
        self.deviation = if self.periods == 1 { row.deviation as f64 } else { 0.0 };
    }

    /// What statistics count that stand last, behind those of periods, in a list without its end.
    pub fn last(&self, row: &IopingRow) -> LastRow {
        // A period ends after a number of requests, or with the first one behind a time: it has no more of them than another, or lasts no
        // longer than another, a pause and a request.
        let pause = row.whole_time / row.all.max(1);
        let a_period = self.longest.saturating_add(pause).saturating_add(row.max);
        match self.left_over(row) {
            None => LastRow::OfAPeriod,
            // The whole time of all is taken after that of the last period.
            Some(0) if row.whole_time > self.whole_time => LastRow::OfAll,
            Some(_) if row.whole_time > a_period => LastRow::OfAll,
            Some(_) => LastRow::NotKnown,
        }
    }

    /// Requests of statistics that are not among those that were added. None where the statistics cannot count all that were added: what is
    /// left over would be no requests.
    fn left_over(&self, row: &IopingRow) -> Option<u64> {
        let requests = row.count.checked_sub(self.count)?;
        let time = row.time.checked_sub(self.time)?;
        let all = row.all.checked_sub(self.all)?;
        let whole_time = row.whole_time.checked_sub(self.whole_time)?;
        let times = requests.saturating_mul(row.min)..=requests.saturating_mul(row.max);
        let extremes = if requests > 0 {
            row.min <= self.min && row.max >= self.max
        } else {
            (row.min, row.max) == (self.min, self.max)
        };
        (requests <= all && time <= whole_time && times.contains(&time) && extremes).then_some(requests)
    }

    /// The statistics are of all periods. How their rates differ stays known.
    pub fn replace_by(&mut self, row: &IopingRow) {
        let (rates, periods) = (self.rates, self.periods);
        *self = IopingRows::default();
        self.add(row);
        if periods > 0 {
            (self.rates, self.periods) = (rates, periods);
        }
    }

    pub fn figures(&self) -> ReportedFigures {
        let seconds = (self.time as f64 / 1e9).max(1e-9);
        let n = self.periods as f64;
        let (least, most, sum, squares) = self.rates;
        let variance = (squares - sum * sum / n) / (n - 1.0).max(1.0);
        ReportedFigures {
            bytes: Bytes(self.bytes),
            ios: self.count.into(),
            iops: (self.count as f64 / seconds).into(),
            bytes_per_second: (self.bytes as f64 / seconds).into(),
            runtime: Nanos(self.time).into(),
            total: Some(ReportedLatency {
                samples: self.count.into(),
                min: Nanos(self.min),
                mean: self.time as f64 / self.count.max(1) as f64,
                deviation: self.deviation,
                max: Nanos(self.max),
                ..ReportedLatency::default()
            }),
            rate_spread: (self.periods > 1).then(|| RateSpread {
                min: least,
                max: most,
                mean: sum / n,
                deviation: variance.max(0.0).sqrt(),
                samples: self.periods.into(),
            }),
            ..ReportedFigures::default()
        }
    }
}

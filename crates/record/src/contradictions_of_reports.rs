//! Figures of a report that cannot belong to one run: a rate that is not bytes over time, or a percentile above the longest latency.
//! Each figure may be right by itself; nothing tells which of the two is wrong.

use super::{ReportedFigures, ReportedLatency, ReportedStep};
use volproof_base::unit::{Bytes, Nanos, grouped, significant};

/// Of figures whose printed digits are not known two are printed at least.
const TWO_DIGITS: f64 = 0.06;
/// A millisecond at each end of a run, since its time is in whole ones, and jobs of a row that end a little apart.
const EDGE: f64 = 0.001;
/// Shorter runs are made of their edges.
const SHORT: f64 = 0.1;
/// The widest buckets of latencies: those of sysbench. 1,024 of them span eight powers of ten. Those of fio have 1.6 %.
const BUCKET: f64 = 0.02;
/// Rate times latency may exceed the configured requests in flight by this factor; a larger excess is no rounding.
const TOO_DEEP: f64 = 1.25;
/// Percentiles at the end of fio's histogram (2^34 ns, `stat.h`) stand for longer latencies too.
pub const LAST_BUCKET: Nanos = Nanos::millis(16_900);

impl ReportedStep {
    /// The contradictions between figures of this run, in words.
    pub fn contradictions(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (name, f) in self.parts() {
            self.rates(name, f, &mut found);
            let kinds = [("slat", &f.submission), ("clat", &f.completion), ("lat", &f.total)];
            for (kind, l) in kinds.into_iter().filter_map(|(kind, l)| Some((kind, l.as_ref()?))) {
                found.extend(l.contradiction().map(|words| format!("{name}.{kind}: {words}")));
            }
            found.extend(f.total_below_its_part().map(|words| format!("{name}: {words}")));
        }
        found.extend(
            self.sync.as_ref().and_then(|s| s.latency.contradiction()).map(|words| format!("sync: {words}")),
        );
        found
    }

    /// Amount, time, rate and block size of a direction against each other, each within the interval that its digits leave.
    fn rates(&self, name: &str, f: &ReportedFigures, found: &mut Vec<String>) {
        let seconds = f.runtime.get().unwrap_or_default().as_seconds();
        let long = seconds > SHORT;
        let (bytes, speed) = (f.bytes_range(), f.wide(f.speed_range()));
        let (ios, iops) = (f.ios.get().map(|n| n as f64), f.wide(f.iops_range()));
        if let (Some(n), Some(rate)) = (ios, iops)
            && long
            && apart((n, n), over_time(rate, seconds), 2.0 + rate.1 * SHORT / 50.0)
        {
            found.push(format!(
                "{name}: {} I/Os in {} s are not {}/s",
                grouped(n as u64),
                significant(seconds),
                significant(f.iops.get().unwrap_or_default())
            ));
        }
        if let (Some(moved), Some(rate)) = (bytes, speed)
            && long
            && apart(moved, over_time(rate, seconds), 2.0 + rate.1 * SHORT / 50.0)
        {
            found.push(format!(
                "{name}: {} in {} s are not {}/s",
                f.bytes,
                significant(seconds),
                Bytes(f.bytes_per_second.get().unwrap_or_default() as u64)
            ));
        }
        let Some(block) = self.conditions.single_block().filter(|b| b.0 > 0) else { return };
        let size = block.0 as f64;
        // One that was cut short moved any part of its block.
        let short = f.short_ios as f64;
        if let (Some(n), Some(moved)) = (ios, bytes)
            && apart(((n - short).max(0.0) * size, n * size), moved, size)
        {
            found.push(format!("{name}: {} I/Os of {block} are not {}", grouped(n as u64), f.bytes));
        }
        if f.short_ios > 0 {
            return;
        }
        if let (Some(rate), Some(speed)) = (iops, speed)
            && apart((rate.0 * size, rate.1 * size), speed, size)
        {
            found.push(format!(
                "{name}: {}/s of {block} are not {}/s",
                significant(f.iops.get().unwrap_or_default()),
                Bytes(f.bytes_per_second.get().unwrap_or_default() as u64)
            ));
        }
        let iops = f.iops.get();
        let deepest = self.conditions.in_flight().map(|n| n as f64);
        if let (Some(n), Some(x), Some((kind, l))) = (deepest, iops, f.latency())
            && x * l.mean / 1e9
                > (TOO_DEEP + self.conditions.begun_before(Some(l.max), f.runtime.get())) * n + 0.5
        {
            found.push(format!(
                "{name}: {}/s at a mean {kind} of {} are {} in flight, and {n:.0} could be",
                significant(x),
                Nanos(l.mean as u64),
                significant(x * l.mean / 1e9)
            ));
        }
    }
}

/// The interval of an amount that moves at a rate for so many seconds.
fn over_time((low, high): (f64, f64), seconds: f64) -> (f64, f64) {
    (low * seconds * (1.0 - EDGE), high * seconds * (1.0 + EDGE))
}

/// A latency is longer than another one by more than a bucket and the unit in which they are printed.
fn is_above(a: f64, b: f64, unit: f64) -> bool {
    a > b * (1.0 + BUCKET) + unit
}

/// No value is in both intervals, nor within `slack` of both.
fn apart(a: (f64, f64), b: (f64, f64), slack: f64) -> bool {
    a.0 > b.1 + slack || b.0 > a.1 + slack
}

impl ReportedFigures {
    /// The interval of the bytes, by their digits; none where they are not told.
    fn bytes_range(&self) -> Option<(f64, f64)> {
        let bytes = Some(self.bytes.0 as f64).filter(|bytes| *bytes > 0.0)?;
        let printed = self.printed.and_then(|printed| printed.bytes);
        self.wide(Some(printed.unwrap_or((bytes, bytes))))
    }

    /// An interval, of two digits where those of the report are not known.
    fn wide(&self, range: Option<(f64, f64)>) -> Option<(f64, f64)> {
        let (low, high) = range?;
        let slack = if self.printed.is_some() { 0.0 } else { TWO_DIGITS / 2.0 };
        Some((low * (1.0 - slack), high * (1.0 + slack)))
    }

    /// A mean latency that is shorter than its part after submission.
    fn total_below_its_part(&self) -> Option<String> {
        let (total, part) = (self.total.as_ref()?, self.completion.as_ref()?);
        let told = self.total_assumed.is_none() && total.mean > 0.0;
        let shorter = told && total.mean < part.mean * (1.0 - BUCKET) - part.digits();
        shorter.then(|| {
            let (total, part) = (Nanos(total.mean as u64), Nanos(part.mean as u64));
            format!("a mean lat of {total} is below the mean clat of {part}")
        })
    }
}

impl ReportedLatency {
    /// The unit of the printed percentiles: text prints whole microseconds or milliseconds.
    fn digits(&self) -> f64 {
        let millis = !self.percentiles.is_empty()
            && self.percentiles.values().all(|value| value.0.is_multiple_of(1_000_000));
        if millis { 1_000_000.0 } else { 1000.0 }
    }

    /// Percentiles or a mean beyond the shortest or longest latency.
    fn contradiction(&self) -> Option<String> {
        let shares = self.shares();
        let unit = self.digits();
        let (min, max) = (self.min.0 as f64, self.max.0 as f64);
        let mean = Nanos(self.mean as u64);
        if max > 0.0 && is_above(self.mean, max, unit) {
            return Some(format!("a mean of {mean} is above the longest, {}", self.max));
        }
        if self.mean > 0.0 && is_above(min, self.mean, unit) {
            return Some(format!("a mean of {mean} is below the shortest, {}", self.min));
        }
        let (first, last) = (shares.first()?, shares.last()?);
        if max > 0.0 && is_above(last.1.0 as f64, max, unit) {
            return Some(format!(
                "{} % took up to {}, and the longest {}",
                percent(last.0),
                last.1,
                self.max
            ));
        }
        is_above(min, first.1.0 as f64, unit)
            .then(|| format!("{} % took up to {}, and the shortest {}", percent(first.0), first.1, self.min))
    }
}

fn percent(share: f64) -> String {
    significant(share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Conditions, PrintedRanges};

    fn latency(min: u64, mean: f64, max: u64, shares: &[(&str, u64)]) -> ReportedLatency {
        ReportedLatency {
            min: Nanos(min),
            mean,
            max: Nanos(max),
            percentiles: shares.iter().map(|(p, v)| (p.to_string(), Nanos(*v))).collect(),
            ..ReportedLatency::default()
        }
    }

    #[test]
    fn percentiles_and_the_mean_lie_between_the_shortest_and_the_longest() {
        let table = [("50", 1_500_123), ("99", 4_000_000), ("99.99", 9_000_000)];
        let told = |min, mean, max| latency(min, mean, max, &table).contradiction();
        assert_eq!(told(900_000, 1_600_000.0, 10_000_000), None);
        assert!(told(900_000, 1_600_000.0, 5_000_000).unwrap().contains("the longest"));
        assert!(told(2_000_000, 2_600_000.0, 10_000_000).unwrap().contains("the shortest"));
        assert!(told(900_000, 500_000.0, 10_000_000).unwrap().contains("below the shortest"));
        assert!(told(900_000, 20_000_000.0, 10_000_000).unwrap().contains("above the longest"));
        // Whole milliseconds are rounded.
        assert_eq!(
            latency(400_000, 1_400_000.0, 3_900_000, &[("50", 2_000_000), ("99", 4_000_000)]).contradiction(),
            None
        );
    }

    #[test]
    fn a_total_that_is_shorter_than_its_part_is_a_contradiction() {
        let told = |total: f64, part: f64| {
            let figures = ReportedFigures {
                total: Some(latency(30_000, total, 0, &[])),
                completion: Some(latency(0, part, 0, &[])),
                ..ReportedFigures::default()
            };
            figures.total_below_its_part()
        };
        assert_eq!(told(59_000.0, 58_000.0), None);
        assert!(told(59_000.0, 90_000.0).unwrap().contains("a mean lat of 59.0 us is below the mean clat"));
    }

    #[test]
    fn figures_differ_only_where_their_digits_do() {
        // 3,067 I/Os of 4 KiB a second are 11.98 MiB/s, which fio 3.1 prints as 11.0 MiB/s.
        let run = |range: (f64, f64)| {
            let figures = ReportedFigures {
                bytes: Bytes(3067 * 60 * 4096),
                ios: (3067 * 60).into(),
                iops: 3067.0.into(),
                bytes_per_second: (11.0 * 1_048_576.0).into(),
                runtime: Nanos::seconds(60).into(),
                printed: Some(PrintedRanges { bytes_per_second: Some(range), ..PrintedRanges::default() }),
                ..ReportedFigures::default()
            };
            let conditions = Conditions { block: (Bytes(4096), Bytes(4096)).into(), ..Conditions::default() };
            ReportedStep { conditions, read: Some(figures), ..ReportedStep::default() }.contradictions()
        };
        let mib = |from: f64, to: f64| (from * 1_048_576.0, to * 1_048_576.0);
        assert_eq!(run(mib(11.0, 12.0)), [""; 0], "3.1 loses the carry");
        assert_eq!(run(mib(10.95, 11.05)).len(), 2, "3.26 rounds");
    }

    #[test]
    fn amount_time_rate_and_block_belong_together() {
        let run = |ios: u64, bytes: u64, iops: f64, speed: f64| ReportedStep {
            conditions: Conditions { block: (Bytes(4096), Bytes(4096)).into(), ..Conditions::default() },
            read: Some(ReportedFigures {
                bytes: Bytes(bytes),
                ios: ios.into(),
                iops: iops.into(),
                bytes_per_second: speed.into(),
                runtime: Nanos::seconds(60).into(),
                ..ReportedFigures::default()
            }),
            ..ReportedStep::default()
        };
        let (n, b) = (60_000, 60_000 * 4096);
        assert_eq!(run(n, b, 1000.0, 4_096_000.0).contradictions(), [""; 0]);
        assert_eq!(run(n, b, 2000.0, 8_192_000.0).contradictions().len(), 2, "time");
        assert_eq!(run(n, 2 * b, 1000.0, 8_192_000.0).contradictions().len(), 2, "block");
        assert_eq!(run(2 * n, b, 1000.0, 4_096_000.0).contradictions().len(), 2, "I/Os");
    }
}

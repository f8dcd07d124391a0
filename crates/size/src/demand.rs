//! A demand: the I/Os and bytes that were asked for, moment by moment. Arrays hold reads and writes.

use serde::Serialize;

/// Times that differ by less are one.
const SAME_TIME: f64 = 1e-6;

/// A time in which I/Os came evenly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DemandMoment {
    /// Its length.
    pub seconds: f64,
    /// I/Os.
    pub ios: [f64; 2],
    /// Bytes.
    pub bytes: [f64; 2],
}

impl DemandMoment {
    /// A time without a demand.
    pub fn idle(seconds: f64) -> DemandMoment {
        DemandMoment { seconds, ..DemandMoment::default() }
    }

    /// Takes the first seconds of it.
    fn take(&mut self, seconds: f64) -> DemandMoment {
        let share = (seconds / self.seconds).min(1.0);
        let part = DemandMoment {
            seconds: self.seconds * share,
            ios: self.ios.map(|n| n * share),
            bytes: self.bytes.map(|n| n * share),
        };
        for d in 0..2 {
            self.ios[d] -= part.ios[d];
            self.bytes[d] -= part.bytes[d];
        }
        self.seconds -= part.seconds;
        part
    }

    fn add(&mut self, other: &DemandMoment) {
        for d in 0..2 {
            self.ios[d] += other.ios[d];
            self.bytes[d] += other.bytes[d];
        }
    }

    /// All I/Os.
    pub fn all_ios(&self) -> f64 {
        self.ios[0] + self.ios[1]
    }

    /// All bytes.
    pub fn all_bytes(&self) -> f64 {
        self.bytes[0] + self.bytes[1]
    }
}

/// What an application asked of a volume.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand {
    /// The moments with data, one after the other. A volume earns no credits in between.
    pub moments: Vec<DemandMoment>,
    /// The time without data between them, in seconds.
    pub unknown_seconds: f64,
    /// Why more may have been asked for than the moments show.
    pub lower_bounds: Vec<String>,
    /// The length of the samples in seconds, where samples that are alike make one moment; else the moments are the samples.
    pub sample_seconds: Option<f64>,
}

/// A demand in figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DemandSummary {
    /// Time that it covers.
    pub seconds: f64,
    /// Time without data in between.
    pub unknown_seconds: f64,
    /// Length of a sample: of half of the time with a demand it is no shorter.
    pub moment_seconds: f64,
    /// I/Os in all.
    pub ios: f64,
    /// I/Os a second: the mean.
    pub iops_mean: f64,
    /// I/Os a second that 99.9 % of the time stay within.
    pub iops_p999: f64,
    /// The most I/Os a second.
    pub iops_most: f64,
    /// Bytes a second that 99.9 % of the time stay within.
    pub bytes_p999: f64,
    /// The most bytes a second.
    pub bytes_most: f64,
    /// Bytes of an I/O in the mean.
    pub block_bytes: f64,
    /// Share of reads among the I/Os.
    pub read_share: f64,
    /// Why more may have been asked for.
    pub lower_bounds: Vec<String>,
}

/// Moments one after the other, from a time on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DemandPart {
    /// Seconds from any moment that all parts share.
    pub start: f64,
    /// The moments.
    pub moments: Vec<DemandMoment>,
}

impl DemandPart {
    /// When it ends.
    pub fn end(&self) -> f64 {
        self.start + self.moments.iter().map(|m| m.seconds).sum::<f64>()
    }

    /// What falls into each time between the ends of moments: when that time begins, and the moment.
    fn pieces(&self) -> Vec<(f64, DemandMoment)> {
        let mut at = self.start;
        let mut pieces = Vec::with_capacity(self.moments.len());
        for moment in self.moments.iter().filter(|m| m.seconds > 0.0) {
            pieces.push((at, *moment));
            at += moment.seconds;
        }
        pieces
    }
}

impl Demand {
    /// The sum of parts, which may overlap; what was asked for between them is not known.
    pub fn of_parts(parts: &[DemandPart]) -> Demand {
        let mut pieces: Vec<(f64, DemandMoment)> = parts.iter().flat_map(DemandPart::pieces).collect();
        pieces.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut demand = Demand::default();
        let Some((mut now, _)) = pieces.first().copied() else { return demand };
        // Pieces that have begun, each with what is left of it.
        let mut open: Vec<DemandMoment> = Vec::new();
        let mut coming = pieces.into_iter().peekable();
        loop {
            while let Some((_, moment)) = coming.next_if(|(start, _)| *start <= now + SAME_TIME) {
                open.push(moment);
            }
            let until_next = coming.peek().map_or(f64::INFINITY, |(start, _)| start - now);
            let seconds = open.iter().map(|m| m.seconds).fold(until_next, f64::min);
            if seconds.is_infinite() {
                return demand;
            }
            if open.is_empty() {
                demand.unknown_seconds += seconds;
                now += seconds;
                continue;
            }
            let mut sum = DemandMoment::idle(seconds);
            for moment in &mut open {
                sum.add(&moment.take(seconds));
            }
            demand.moments.push(sum);
            open.retain(|m| m.seconds > SAME_TIME);
            now += seconds;
        }
    }

    /// All I/Os.
    pub fn ios(&self) -> f64 {
        self.moments.iter().map(DemandMoment::all_ios).sum()
    }

    /// The demand in figures; absent where nothing was asked for.
    pub fn summary(&self) -> Option<DemandSummary> {
        let ios = self.ios();
        if ios <= 0.0 {
            return None;
        }
        let seconds: f64 = self.moments.iter().map(|m| m.seconds).sum();
        let bytes: f64 = self.moments.iter().map(DemandMoment::all_bytes).sum();
        let reads: f64 = self.moments.iter().map(|m| m.ios[0]).sum();
        let rates =
            |of: fn(&DemandMoment) -> f64| self.moments.iter().map(move |m| (of(m) / m.seconds, m.seconds));
        let lengths = self.moments.iter().filter(|m| m.all_ios() > 0.0).map(|m| (m.seconds, m.seconds));
        Some(DemandSummary {
            seconds,
            unknown_seconds: self.unknown_seconds,
            moment_seconds: self.sample_seconds.unwrap_or_else(|| at_share(lengths, 0.5)),
            ios,
            iops_mean: ios / seconds,
            iops_p999: at_share(rates(DemandMoment::all_ios), 0.999),
            iops_most: at_share(rates(DemandMoment::all_ios), 1.0),
            bytes_p999: at_share(rates(DemandMoment::all_bytes), 0.999),
            bytes_most: at_share(rates(DemandMoment::all_bytes), 1.0),
            block_bytes: bytes / ios,
            read_share: reads / ios,
            lower_bounds: self.lower_bounds.clone(),
        })
    }
}

/// The value within which a share of the time stays. Values come with the time that has them.
fn at_share(values: impl Iterator<Item = (f64, f64)>, share: f64) -> f64 {
    let mut values: Vec<(f64, f64)> = values.collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let wanted = share * values.iter().map(|v| v.1).sum::<f64>();
    let mut passed = 0.0;
    for (value, seconds) in &values {
        passed += seconds;
        if passed >= wanted * (1.0 - 1e-12) {
            return *value;
        }
    }
    values.last().map_or(0.0, |v| v.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_where_they_overlap() {
        let moment = |seconds: f64, ios: f64| DemandMoment { seconds, ios: [ios, 0.0], bytes: [0.0, ios] };
        let parts = [
            DemandPart { start: 100.0, moments: vec![moment(10.0, 100.0), moment(10.0, 50.0)] },
            DemandPart { start: 115.0, moments: vec![moment(10.0, 30.0)] },
            DemandPart { start: 140.0, moments: vec![moment(1.0, 7.0)] },
        ];
        let demand = Demand::of_parts(&parts);
        let seen: Vec<(f64, f64)> = demand.moments.iter().map(|m| (m.seconds, m.ios[0])).collect();
        assert_eq!(seen, [(10.0, 100.0), (5.0, 25.0), (5.0, 40.0), (5.0, 15.0), (1.0, 7.0)]);
        assert_eq!(demand.unknown_seconds, 15.0, "nothing is known of the time in between");
    }

    #[test]
    fn figures_are_of_the_time_and_not_of_the_number_of_moments() {
        let moment = |seconds: f64, iops: f64| DemandMoment {
            seconds,
            ios: [iops * seconds, 0.0],
            bytes: [iops * seconds * 4096.0, 0.0],
        };
        let moments = vec![moment(2000.0, 10.0), moment(1.0, 500.0), DemandMoment::idle(999.0)];
        let summary = Demand { moments, ..Demand::default() }.summary().unwrap();
        assert_eq!((summary.iops_p999, summary.iops_most), (10.0, 500.0));
        assert_eq!((summary.seconds, summary.block_bytes, summary.read_share), (3000.0, 4096.0, 1.0));
        assert_eq!(summary.moment_seconds, 2000.0);
        assert_eq!(Demand::default().summary(), None);
    }
}

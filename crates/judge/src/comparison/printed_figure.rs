//! The figures of a report with their intervals: by the spread that the report tells, else by the digits that its tool prints.

use super::compared_step::{ComparedStep, FigureInterval};
use volproof_base::sample::Direction;
use volproof_record::{Metric, ReportedFigures};

impl ComparedStep<'_> {
    /// The rate of a direction, or of all.
    pub(super) fn rate_of(&self, metric: Metric, direction: Option<Direction>) -> Option<FigureInterval> {
        let ios = metric == Metric::Iops;
        let value = |f: &ReportedFigures| if ios { f.iops.get() } else { f.bytes_per_second.get() };
        let ends = |f: &ReportedFigures| if ios { f.iops_range() } else { f.speed_range() };
        match direction {
            Some(d) => {
                let figures = self.reported.direction(d)?;
                Some(FigureInterval::of_spread(value(figures)?, None, 0.0, ends(figures)?))
            }
            None => {
                let value = self.reported.sum_of_rates(value)?;
                let end = |of: fn((f64, f64)) -> f64| self.reported.sum_of_rates(|f| ends(f).map(of));
                let printed = (end(|(low, _)| low).unwrap_or(value), end(|(_, high)| high).unwrap_or(value));
                let spread = self.summary.rate.samples;
                let samples = spread.map_or(0.0, |(_, samples)| samples as f64);
                Some(FigureInterval::of_spread(value, spread.map(|(of, _)| of * value), samples, printed))
            }
        }
    }

    /// The mean latency of all requests. Without a deviation it is as exact as its digits.
    pub(super) fn mean_latency(&self) -> Option<FigureInterval> {
        let mean = self.summary.latency.mean_ns?;
        let latencies = self.reported.parts().into_iter().filter_map(|(_, f)| Some(f.latency()?.1));
        let deviation = latencies.map(|l| l.deviation).fold(0.0, f64::max);
        let samples = self.summary.rate.ios.unwrap_or(0.0);
        Some(FigureInterval::of_spread(mean, Some(deviation).filter(|d| *d > 0.0), samples, (mean, mean)))
    }
}

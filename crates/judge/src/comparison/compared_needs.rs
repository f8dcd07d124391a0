//! The published criteria of applications beside the published figures of a report: rates, and percentiles with their binomial interval.

use super::compared_step::{ComparedStep, DEPENDENT, FigureInterval};
use crate::needs::{judged_need, plain_fit_command as fit_command};
use volproof_base::sample::Direction;
use volproof_base::stats::share_interval::share_bounds;
use volproof_promise::fit::{AskedApplication, AskedFits, FigureKind, FitCatalogue, FitNeed, NeedBound};
use volproof_record::{Compared, ComparedWord, IntervalBasis, Metric, ReportedLatency, ReportedSync};

impl ComparedStep<'_> {
    /// The needs whose figure the step has.
    pub(super) fn needs(&self, asked: &AskedFits) -> Vec<Compared> {
        let all = asked.applications.iter().flat_map(|a| a.needs.iter().map(move |need| (a, need)));
        let asked_for = all.filter(|(a, need)| need.grade <= a.grade);
        asked_for.filter_map(|(a, need)| self.need(a, need)).collect()
    }

    fn need(&self, application: &AskedApplication, need: &FitNeed) -> Option<Compared> {
        let (metric, figure) = match need.figure.direction {
            Some(Direction::Sync) => self.of_flushes(need)?,
            _ => self.of_published_load(need)?,
        };
        let limit = need.bound.value();
        let less_is_better = matches!(need.bound, NeedBound::AtMost(_));
        let below = !less_is_better && figure.value < limit;
        let mut not_shown =
            if metric == Metric::Percentile { self.unshown() } else { self.unshown_of_rate(below, limit) };
        not_shown.extend(self.another_load(need));
        Some(Compared {
            need: Some(judged_need(application, need)),
            binding: application.title(),
            word: ComparedWord::of_interval((figure.low, figure.high), limit, limit, less_is_better),
            command: Some(fit_command(application)),
            ..self.row(metric, figure, limit, not_shown)
        })
    }

    /// A figure of the flushes, which a report counts apart whatever its job was called.
    fn of_flushes(&self, need: &FitNeed) -> Option<(Metric, FigureInterval)> {
        let sync = self.reported.timed_flushes()?;
        let count = sync.flushes().filter(|count| *count > 0.0)?;
        match need.figure.kind {
            FigureKind::Iops => {
                let value = count / self.summary.rate.window?.as_seconds();
                let (spread, samples) = self.summary.rate.samples.unzip();
                let samples = samples.map_or(0.0, |samples| samples as f64);
                let deviation = spread.map(|spread| spread * value);
                Some((Metric::Iops, FigureInterval::of_spread(value, deviation, samples, (value, value))))
            }
            FigureKind::Latency(figure) => {
                Some((Metric::Percentile, percentile(sync, count, figure.share()?)?))
            }
            FigureKind::Throughput | FigureKind::Over(_) => None,
        }
    }

    /// A rate of the published pattern and block size.
    fn of_published_load(&self, need: &FitNeed) -> Option<(Metric, FigureInterval)> {
        let metric = match need.figure.kind {
            FigureKind::Iops => Metric::Iops,
            FigureKind::Throughput => Metric::Throughput,
            FigureKind::Latency(_) | FigureKind::Over(_) => return None,
        };
        let step = FitCatalogue::shipped().plain_load(&need.step)?;
        let c = self.conditions;
        let block = step.single_block()?;
        let open = step.fsync == 0 && step.sync.is_none() && step.arrivals_per_second().is_none();
        let mixed_alike = step.rw.directions().len() < 2 || c.reads_percent.get() == Some(step.rwmix);
        let same = c.pattern() == Some(step.rw) && c.block.get() == Some((block, block));
        let figure = self.rate_of(metric, need.figure.direction)?;
        (open && same && mixed_alike).then_some((metric, figure))
    }

    /// That the load is not the published one.
    fn another_load(&self, need: &FitNeed) -> Option<String> {
        let step = FitCatalogue::shipped().plain_load(&need.step)?;
        let c = self.conditions;
        let depth = u64::from(step.iodepth) * u64::from(step.numjobs);
        let same = c.in_flight() == Some(depth)
            && c.fsync.get() == Some(step.fsync)
            && c.single_block() == step.single_block();
        (!same).then(|| format!("The published load, {}: this report is of its own load.", need.step))
    }
}

/// A percentile of the flushes with its binomial interval: the nearest percentiles that the report has outside the interval of ranks.
fn percentile(sync: &ReportedSync, count: f64, share: f64) -> Option<FigureInterval> {
    let l: &ReportedLatency = &sync.latency;
    let known = l.shares();
    let value = known.iter().find(|(s, _)| (s - share).abs() < 1e-9)?.1.0 as f64;
    // Neighbouring flushes depend on each other, so that several of them count as one.
    let effective = (count / DEPENDENT).max(1.0);
    let (low, high) = share_bounds(share * effective, effective);
    let below = known.iter().filter(|(s, _)| *s <= low).map(|(_, v)| v.0 as f64).reduce(f64::max);
    let above = known.iter().filter(|(s, _)| *s >= high).map(|(_, v)| v.0 as f64).reduce(f64::min);
    Some(FigureInterval {
        value,
        low: below.unwrap_or(l.min.0 as f64),
        high: above.unwrap_or(l.max.0 as f64).max(value),
        basis: IntervalBasis::Binomial,
    })
}

/// The applications for which the report has no figure.
pub(super) fn unanswered(asked: &AskedFits, rows: &[Compared]) -> Vec<String> {
    let answered = |a: &AskedApplication| {
        rows.iter().any(|row| row.need.as_ref().is_some_and(|need| need.application == a.scaled()))
    };
    let open = asked.applications.iter().filter(|a| !a.needs.is_empty() && !answered(a));
    let told = |a: &AskedApplication| {
        format!("{}: no run of the report shows what it asks for: {}", a.title(), fit_command(a))
    };
    open.map(told).collect()
}

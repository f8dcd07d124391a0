//! The needs of applications, held against the report of another tool: counts and percentiles, and no samples.
//!
//! Two kinds of needs are judged. Needs of flushes: a report counts flushes apart, whatever its job was called. Neighbouring flushes depend
//! on each other, so that several of them count as one. And needs of rates without flushes, where the report has the published pattern and
//! block size. A run too short to quote decides nothing.

use super::claim_terms::ClaimTerms;
use super::claims_of_reports::{DEPENDENT, STUDENT, too_short};
use super::pass_of_reports::{KeptFigure, slow_samples, without_the_quick};
use super::reach_of_reports::{half_empty, held_back};
use crate::fit::{FigureKind, FitCatalogue, FitNeed};
use crate::plan::Step;
use crate::record::StepFigures;
use crate::record::{Claim, Metric, Record, ReportedFigures, ReportedStep, ReportedSync};
use crate::sample::Direction;
use crate::stats::limit_answer::{ClaimAnswer, LimitAnswer, share_bounds};
use crate::stats::{LEAST_QUOTABLE, RECOMMENDED};
use crate::unit::{Bytes, Nanos, significant};

/// An I/O that takes this share of the run, or a gap of this share between samples of the rate, is a time in which nothing was delivered.
const HOLE: f64 = 0.02;
/// A load that does so many times the work of the published one before each flush may make its flushes slow by itself,
const MORE_WORK: f64 = 1.5;
/// but not by bytes that a volume takes as one I/O.
const ONE_IO: Bytes = Bytes::kib(16);
/// A load that does nothing for this share of the latency that is asked for, before each I/O, holds itself back.
const IDLE: f64 = 0.1;
/// A rate that was set to less than this multiple of what came out held the load back.
const MORE_ASKED: f64 = 1.05;

/// Whether a need can be judged by a report.
pub(super) fn is_about(need: &FitNeed, reported: &ReportedStep) -> bool {
    match need.figure.direction {
        Some(Direction::Sync) => reported.timed_flushes().is_some(),
        _ => published(need, reported).is_some(),
    }
}

/// What a report that does not answer a need tells of it, and what it lacks; none where it tells nothing of it.
pub(super) fn lacking(record: &Record, need: &FitNeed) -> Option<String> {
    if need.figure.direction != Some(Direction::Sync) {
        return None;
    }
    let runs = || record.steps.iter().filter_map(|s| Some((s, s.reported.as_deref()?)));
    let durable = runs().filter(|(step, _)| !record.is_void(step)).filter_map(|(step, run)| {
        let (latency, rate) = run.durable_writes()?;
        Some((step, latency.mean, rate))
    });
    let told = if runs().any(|(_, run)| run.timed_flushes().is_some()) {
        "the report tells times of flushes".to_string()
    } else {
        let (step, mean, rate) = durable.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let (mean, rate) = (Nanos(mean.round() as u64), significant(rate));
        format!(
            "the report tells means of a write and its flush together (the shortest is {mean}, {rate} a second: {})",
            step.name
        )
    };
    let asked = need.figure.words();
    let lacks = match need.figure.kind {
        FigureKind::Iops | FigureKind::Throughput => "does not count flushes apart".into(),
        FigureKind::Over(_) => format!("not what is asked for: the {asked}"),
        FigureKind::Latency(_) => {
            format!("not what is asked for: {asked} within {}", Nanos(need.bound.value() as u64))
        }
    };
    Some(format!("{told}, and {lacks}"))
}

/// The published load of a need for a rate, where the report is of that load.
fn published(need: &FitNeed, reported: &ReportedStep) -> Option<Step> {
    let is_rate = matches!(need.figure.kind, FigureKind::Iops | FigureKind::Throughput);
    let step = FitCatalogue::shipped().plain_load(&need.step).filter(|_| is_rate)?;
    let open = step.fsync == 0 && step.sync.is_none() && step.arrivals_per_second().is_none();
    let block = step.single_block()?;
    let said = &reported.conditions;
    let same = said.pattern() == Some(step.rw) && said.block.get() == Some((block, block));
    let mixed_alike = step.rw.directions().len() < 2 || said.reads_percent.get() == Some(step.rwmix);
    (open && same && mixed_alike).then_some(step)
}

/// The rate of a need in a report of its load, with its answer.
fn rate(
    need: &FitNeed,
    reported: &ReportedStep,
    s: &StepFigures,
) -> Option<(Metric, ClaimAnswer, Vec<String>)> {
    let step = published(need, reported)?;
    let (metric, limit) = match need.figure.kind {
        FigureKind::Iops => (Metric::Iops, need.bound.value()),
        _ => (Metric::Throughput, need.bound.value()),
    };
    let of =
        |f: &ReportedFigures| if metric == Metric::Iops { f.iops.get() } else { f.bytes_per_second.get() };
    let value = match need.figure.direction {
        Some(Direction::Read) => of(reported.read.as_ref()?)?,
        Some(Direction::Write) => of(reported.write.as_ref()?)?,
        Some(_) => return None,
        None if metric == Metric::Iops => s.iops?,
        None => s.bytes_per_second?,
    };
    let window = s.window?;
    let bounds = spread(value, s);
    let (low, high) = bounds.unwrap_or_else(|| without_spread(value, reported));
    let mut found = ClaimAnswer::open(value, limit, bounds, None);
    let depth = u64::from(step.iodepth) * u64::from(step.numjobs);
    let shallow = s.asked.filter(|asked| *asked < depth as f64);
    let unsure = if low >= limit {
        let direct = s.direct == Some(true) || !step.direct;
        (!direct).then(|| "the report does not show that the I/O was direct, as published: the page cache may have answered".into())
    } else if let Some(asked) = shallow {
        Some(format!("{asked:.0} requests in flight are less than the published {depth}"))
    } else {
        let wanted = s.iops.map_or(limit, |iops| iops * limit / value);
        held_itself_back(reported, s, wanted, flushing(reported))
            .or_else(|| flushes_between(reported))
            .or_else(|| without_the_quick(reported))
            .or_else(|| slow_samples(reported, s, value, limit, HOLE))
    };
    let compared = Compared { met: value >= limit, kept: low >= limit, broken: high < limit, window };
    let reasons = compared.answer(&mut found, unsure, "what the report tells of its spread");
    Some((metric, found, reasons))
}

/// Why a missed rate is that of the load, in words: `wanted` I/Os a second would have kept the limit. `flushing`: the time of flushes behind each
/// I/O, nanoseconds.
fn held_itself_back(reported: &ReportedStep, s: &StepFigures, wanted: f64, flushing: f64) -> Option<String> {
    held_back(&reported.conditions, s, wanted).or_else(|| half_empty(s, flushing, wanted)).or_else(|| {
        (s.offered.is_some() || !s.pace_known)
            .then(|| "the report does not show that the load ran without a limit of its own".into())
    })
}

/// The time of flushes behind each I/O in the mean, nanoseconds.
fn flushing(reported: &ReportedStep) -> f64 {
    let of = |sync: &ReportedSync| Some(sync.flushes()? / reported.ios() * sync.latency.mean);
    reported.timed_flushes().and_then(of).filter(|time| time.is_finite()).unwrap_or(0.0)
}

/// Flushes that the published load has not, in words.
fn flushes_between(reported: &ReportedStep) -> Option<String> {
    let asked = reported.conditions.fsync.get().is_some_and(|every| every > 0);
    (asked || reported.timed_flushes().is_some())
        .then(|| "the load flushed between its writes, and the published one does not".into())
}

/// How much more the load did before each flush than the published one, in words, where that may have made its flushes slow or few.
fn more_between_flushes(need: &FitNeed, reported: &ReportedStep, flushes: f64) -> Option<String> {
    let step = FitCatalogue::shipped().plain_load(&need.step)?;
    let writes = reported.write.as_ref().or(reported.mixed.as_ref())?;
    let (each, bytes) = (writes.count() / flushes, writes.bytes.0 as f64 / flushes);
    let published = f64::from(step.fsync.max(1));
    let block = step.bs.shares().iter().map(|(size, _)| size.0).max()? as f64;
    let one = published * block;
    if each > MORE_WORK * published {
        return Some(format!(
            "the load flushed after {} writes, and the published one after {}",
            significant(each),
            significant(published)
        ));
    }
    (bytes > (MORE_WORK * one).max(ONE_IO.0 as f64)).then(|| {
        format!(
            "each flush made {} durable, and one of the published load {}",
            Bytes(bytes as u64),
            Bytes(one as u64)
        )
    })
}

/// The bounds of a rate by the samples of the whole rate, where the report has them.
fn spread(value: f64, s: &StepFigures) -> Option<(f64, f64)> {
    let (spread, n) = s.samples?;
    let half = STUDENT * spread * value / (n as f64 / DEPENDENT).max(1.0).sqrt();
    Some(((value - half).max(0.0), value + half))
}

/// The bounds of a rate without samples: none where the report has those of a part, and the rate itself where its tool tells no spread.
fn without_spread(value: f64, reported: &ReportedStep) -> (f64, f64) {
    if reported.tells_spread() { (0.0, f64::INFINITY) } else { (value, value) }
}

/// A figure of a report beside its limit.
struct Compared {
    /// The figure itself is on the good side.
    met: bool,
    /// All its bounds are on the good side.
    kept: bool,
    /// All its bounds are on the bad side.
    broken: bool,
    /// How long was measured.
    window: Nanos,
}

impl Compared {
    /// Puts the answer, and the time that would decide, into a finding; the reasons of an open answer. `unsure`: why bounds on one side decide
    /// nothing all the same. `spread`: what makes the bounds wide.
    fn answer(&self, found: &mut ClaimAnswer, unsure: Option<String>, spread: &str) -> Vec<String> {
        let reason = if self.window < LEAST_QUOTABLE {
            found.more_seconds = Some((RECOMMENDED.0 - self.window.0).div_ceil(1_000_000_000));
            Some(too_short(self.window, self.met))
        } else if self.kept || self.broken {
            if unsure.is_none() {
                found.answer = if self.kept { LimitAnswer::Pass } else { LimitAnswer::Fail };
            }
            unsure
        } else {
            found.more_seconds = Some(RECOMMENDED.0.max(self.window.0).div_ceil(1_000_000_000));
            Some(format!("the figure lies too near to the limit for {spread}"))
        };
        reason.into_iter().collect()
    }
}

/// The figure of a need in a report, with its answer; nothing where the report does not tell it.
pub(super) fn answer(
    need: &FitNeed,
    reported: &ReportedStep,
    summary: &StepFigures,
) -> Option<(Metric, ClaimAnswer, Vec<String>)> {
    if need.figure.direction != Some(Direction::Sync) {
        return rate(need, reported, summary);
    }
    let sync = reported.timed_flushes()?;
    let (window, limit) = (summary.window?, need.bound.value());
    let count = sync.flushes().filter(|count| *count > 0.0)?;
    let (metric, value, bounds) = match need.figure.kind {
        FigureKind::Iops => {
            let value = count / window.as_seconds();
            (Metric::Iops, value, spread(value, summary))
        }
        FigureKind::Latency(figure) => {
            let share = figure.share()?;
            let known = |name: &String| name.parse::<f64>().ok().map(|percent| percent / 100.0);
            let at =
                || sync.latency.percentiles.iter().filter_map(|(name, v)| Some((known(name)?, v.0 as f64)));
            let value = at().find(|(s, _)| (s - share).abs() < 1e-9)?.1;
            let effective = (count / DEPENDENT).max(1.0);
            let (low, high) = share_bounds(share * effective, effective);
            // The nearest percentiles that the report has outside the interval of ranks.
            let below = at().filter(|(s, _)| *s <= low).map(|(_, v)| v).reduce(f64::max).unwrap_or(0.0);
            let above = at().filter(|(s, _)| *s >= high).map(|(_, v)| v).reduce(f64::min);
            (Metric::Percentile, value, Some((below, above.unwrap_or(sync.latency.max.0 as f64))))
        }
        FigureKind::Throughput | FigureKind::Over(_) => return None,
    };
    let (low, high) = bounds.unwrap_or_else(|| without_spread(value, reported));
    let (kept, broken) = match metric.less_is_better() {
        true => (high <= limit, low > limit),
        false => (low >= limit, high < limit),
    };
    let mut found = ClaimAnswer::open(value, limit, bounds, None);
    let met = if metric.less_is_better() { value <= limit } else { value >= limit };
    let tells = match need.figure.kind {
        FigureKind::Latency(_) => "the percentiles that the report has",
        _ => "what the report tells of its spread",
    };
    let of_load = || {
        let wanted = summary.ios? / count * limit;
        held_itself_back(reported, summary, wanted, flushing(reported)).filter(|_| metric == Metric::Iops)
    };
    let unsure = || more_between_flushes(need, reported, count).or_else(of_load);
    let unsure = broken.then(unsure).flatten();
    let reasons = Compared { met, kept, broken, window }.answer(&mut found, unsure, tells);
    Some((metric, found, reasons))
}

/// Why a figure of a report that keeps a need does not show that the volume keeps it: what undoes the PASS of a promise, and a load that asks less of
/// the volume than the published one.
pub(super) fn undone(
    record: &Record,
    need: &FitNeed,
    reported: &ReportedStep,
    s: &StepFigures,
    claim: &Claim,
) -> Option<String> {
    let flushes = reported.timed_flushes().filter(|_| need.figure.direction == Some(Direction::Sync));
    let left = match need.figure.kind {
        FigureKind::Latency(figure) => figure.share().map(|share| 1.0 - share),
        _ => None,
    };
    let kept = KeptFigure {
        record,
        conditions: &reported.conditions,
        reported,
        s,
        flushes,
        // A percentile leaves that share of the time.
        allowed: left.unwrap_or(HOLE),
        volumes: 1,
    };
    let undone = match claim.metric {
        Metric::Iops | Metric::Throughput => {
            kept.rate_undone(claim.measured, &ClaimTerms::at_least(claim.limit))
        }
        _ => kept.undone(),
    };
    undone.or_else(|| flushes.and_then(|_| lighter(need, reported, s, claim)))
}

/// How the load asked less of its flushes than the published one, which goes on without a pause and has one flush after the other, in words.
fn lighter(need: &FitNeed, reported: &ReportedStep, s: &StepFigures, claim: &Claim) -> Option<String> {
    let step = FitCatalogue::shipped().plain_load(&need.step)?;
    if claim.metric == Metric::Iops {
        let jobs = s.jobs.filter(|jobs| *jobs > f64::from(step.numjobs))?;
        let of_one = claim.measured / jobs * f64::from(step.numjobs);
        return (of_one < claim.limit).then(|| {
            format!(
                "{jobs:.0} jobs flushed at the same time, and the published load waits for each flush: one job may do less"
            )
        });
    }
    let (iops, own) = (s.iops?, step.arrivals_per_second().is_none());
    let idle = || {
        let each = s.asked? * 1e9 / iops;
        let idle = each - s.mean_ns? - flushing(reported);
        (idle > IDLE * claim.limit)
            .then(|| format!("the load waited {} between its requests", Nanos(idle as u64)))
    };
    let paused = || s.pauses.as_ref().map(|pauses| format!("the load paused between its writes ({pauses})"));
    let why = held_back(&reported.conditions, s, iops * MORE_ASKED).or_else(paused).or_else(idle);
    Some(format!(
        "{}, and at the full speed of the published load flushes may take longer",
        why.filter(|_| own)?
    ))
}

//! The needs of applications, held against a step: the same four answers, from the same statistics, as for a promise.
//!
//! A need has no tolerance: what was published is the limit. Needs of higher grades than the one asked for are answered too and decide nothing.

use super::blocker::{self, of_figures, only_slows};
use super::claim::figure;
use super::claim_terms::ClaimTerms;
use super::each_target::alone;
use super::flattered;
use super::judged_window::{self, JudgedWindow};
use super::needs_of_reports;
use super::overrun::stopped_past_the_end;
use super::proviso::with_proviso;
use super::undecided::{ENDED_EARLY, SIMULATED, way_to_decide};
use super::volume_class;
use crate::fit::{AskedApplication, AskedFits, FigureKind, FitFigure, FitNeed};
use crate::hist::{StoredHistogram, bucket};
use crate::record::{
    Claim, JUDGE_SIMULATED, JudgedNeed, Metric, Outcome, Record, StepFigures, StepRecord, StepTarget,
    Untested, bins,
};
use crate::sample::{Direction, Stream};
use crate::shell_word::shell;
use crate::stats::burst::BurstSeen;
use crate::stats::lapses::{Event, LoadGrid};
use crate::stats::limit_answer::{self, ClaimAnswer, LimitAnswer, ONE_SIDED};
use crate::stats::mean_latency::MeanLatency;
use crate::stats::percentile::{self, effective_samples_above, pooled};
use crate::stats::rate::Estimate;
use crate::unit::{Nanos, significant, total};

/// Seconds of an hour.
const HOUR: usize = 3600;

/// A figure with its answer, and the reasons of that.
type Figure = (Metric, ClaimAnswer, Vec<String>);

/// A need with the application that has it, and the step that shows it.
#[derive(Clone, Copy)]
struct NeedCase<'a> {
    record: &'a Record,
    application: &'a AskedApplication,
    need: &'a FitNeed,
    step: &'a StepRecord,
}

/// The claims of one step, with those of higher grades.
pub(super) fn claims(record: &Record, asked: &AskedFits, step: &StepRecord) -> Vec<Claim> {
    let case = |application, need| NeedCase { record, application, need, step };
    let all = asked.applications.iter().flat_map(|a| a.needs.iter().map(move |need| (a, need)));
    let about = |need: &FitNeed| match &step.reported {
        Some(reported) => needs_of_reports::is_about(need, reported),
        None => need.step == step.name,
    };
    all.filter(|(_, need)| about(need)).filter_map(|(a, need)| case(a, need).claim()).collect()
}

/// Whether a claim is about a need of a higher grade than the application was asked for with.
pub(super) fn is_beyond(asked: Option<&AskedFits>, claim: &Claim) -> bool {
    let Some((asked, need)) = asked.zip(claim.need.as_ref()) else { return false };
    asked.applications.iter().any(|a| a.scaled() == need.application && need.grade > a.grade)
}

/// The applications that have no answer. Of our own steps every need of the grade is to be answered. A report tells only some of them, and
/// one answer is enough.
pub(super) fn unanswered(record: &Record, asked: &AskedFits, claims: &[Claim]) -> Vec<Untested> {
    let of_report = record.report.is_some();
    let answered = |a: &AskedApplication, need: &FitNeed| {
        claims.iter().any(|c| {
            let same = |n: &JudgedNeed| n.application == a.scaled() && n.figure == need.figure.words();
            c.need.as_ref().is_some_and(same) && (of_report || c.step == need.step)
        })
    };
    let of = |a: &AskedApplication| {
        let needs = || a.needs.iter().filter(|need| need.grade <= a.grade);
        let mut open = needs().filter(|need| !answered(a, need));
        let missing = open.clone().next()?;
        let some = needs().any(|need| answered(a, need));
        if of_report && some {
            return None;
        }
        let measured = record.steps.iter().any(|s| s.name == missing.step);
        let reason = match (of_report, measured) {
            (true, _) => open
                .find_map(|need| needs_of_reports::lacking(record, need))
                .unwrap_or_else(|| "no run of the report shows what it asks for".into()),
            (false, true) => format!("{} has no {}", missing.step, missing.figure.words()),
            (false, false) => format!("its load {} was not measured", missing.step),
        };
        Some(Untested {
            application: Some(if some { format!("a part of {}", a.title()) } else { a.title() }),
            metric: match missing.figure.kind {
                FigureKind::Iops => Metric::Iops,
                FigureKind::Throughput => Metric::Throughput,
                FigureKind::Latency(figure) if figure.share().is_none() => Metric::Latency,
                FigureKind::Latency(_) => Metric::Percentile,
                FigureKind::Over(_) => Metric::SlowShare,
            },
            reason,
            command: Some(fit_command(record, a)),
        })
    };
    asked.applications.iter().filter_map(of).collect()
}

/// The command that tests the needs of an application, on the same simulated device where the Record has one.
fn fit_command(record: &Record, a: &AskedApplication) -> String {
    let command = format!("volproof fit TARGET --for {}", shell(&a.request()));
    let device = record.plan.steps.iter().find_map(|step| step.simulate.as_ref());
    let device = device.map_or(String::new(), |device| format!(" --simulate {}", shell(&device.to_string())));
    let judged = record.is_simulated() && record.judges_simulated();
    command + &device + &if judged { format!(" {JUDGE_SIMULATED}") } else { String::new() }
}

/// Remarks on the applications, and on what the figures hold besides the disk.
pub(super) fn notes(record: &Record, asked: &AskedFits) -> Vec<String> {
    let several = asked.applications.len() > 1;
    let mut notes: Vec<String> = Vec::new();
    for application in &asked.applications {
        let lead = if several { format!("for {}: ", application.name) } else { String::new() };
        if application.needs.is_empty() {
            notes.push(format!(
                "{}: nothing numeric was published, so its figures are no PASS",
                application.name
            ));
        }
        notes.extend(application.notes.iter().map(|note| format!("{lead}{note}")));
    }
    if record.report.is_some() {
        notes.push("the load is that of the report: `volproof fits APP` shows the published one".into());
    }
    if asked.disturbed {
        notes.push("another load ran beside each step, as asked".into());
    }
    notes.extend(asked.applications.iter().filter_map(|a| volume_class::note(record, a)));
    notes
}

impl NeedCase<'_> {
    /// The need against the step; nothing where the step has no such I/O.
    fn claim(&self) -> Option<Claim> {
        let limit = self.need.bound.value();
        let (metric, finding, reasons) = match &self.step.reported {
            Some(reported) => {
                needs_of_reports::answer(self.need, reported, &StepFigures::of(self.record, self.step))?
            }
            None => self.measured(limit)?,
        };
        let mut outcome = judged_window::outcome(finding.answer);
        let mut reason = reasons.join("; ");
        let mut more_seconds = finding.more_seconds;
        if let Some(least) = self.need.least_runtime.filter(|_| outcome == Outcome::Pass)
            && self.step.window_ns < least
        {
            outcome = Outcome::Inconclusive;
            more_seconds = Some((least.0 - self.step.window_ns.0).div_ceil(1_000_000_000));
            reason = format!("the source asks for {}: this run was shorter", least.clock());
        }
        let stopped = || judged_window::stopped_at_the_end(&self.load().stalls(), self.step.window_ns);
        let beyond = || {
            let conditions = self.record.conditions(self.step);
            stopped_past_the_end(&conditions, &StepFigures::of(self.record, self.step))
        };
        if outcome == Outcome::Pass
            && let Some(words) = stopped().or_else(beyond)
        {
            outcome = Outcome::Inconclusive;
            more_seconds = Some(judged_window::AFTER_A_STOP);
            reason = format!("the limit is kept, but {words}");
        }
        let found = ClaimAnswer { more_seconds, ..finding };
        let mut claim = Claim::new(&self.step.name, metric, outcome, limit, found, reason);
        claim.binding = self.application.title();
        claim.need = Some(JudgedNeed {
            application: self.application.scaled(),
            figure: self.need.figure.words(),
            direction: self.need.figure.direction,
            grade: self.need.grade,
            source: self.need.source.clone(),
            as_of: self.need.as_of.clone(),
            confidence: self.need.confidence,
        });
        Some(self.or_invalid(claim))
    }

    /// The figure of the need by the step's own samples, with its answer.
    fn measured(&self, limit: f64) -> Option<Figure> {
        match self.need.figure.kind {
            FigureKind::Iops => self.rate(Metric::Iops, limit),
            FigureKind::Throughput => self.rate(Metric::Throughput, limit),
            FigureKind::Latency(_) | FigureKind::Over(_) => {
                let seconds = self.seconds();
                let whole = self.of_latencies(&seconds, limit)?;
                let decides = self
                    .in_baseline(&seconds, limit)
                    .filter(|_| whole.1.answer != LimitAnswer::Fail)
                    .unwrap_or(whole);
                Some(self.unless_silent(decides, limit))
            }
        }
    }

    /// The figure of these seconds, where it is one of latencies.
    fn of_latencies(&self, seconds: &[StoredHistogram], limit: f64) -> Option<Figure> {
        match self.need.figure.kind {
            FigureKind::Iops | FigureKind::Throughput => None,
            FigureKind::Over(latency) => self.slow_share(seconds, latency, limit),
            FigureKind::Latency(figure) => match figure.share() {
                None => self.mean(seconds, limit),
                Some(share) => self.percentile(seconds, &figure.to_string(), share, Nanos(limit as u64)),
            },
        }
    }

    /// The figure of the baseline after a burst, where it does not keep the limit: the many quick I/Os of the burst hide it in the whole.
    fn in_baseline(&self, seconds: &[StoredHistogram], limit: f64) -> Option<Figure> {
        let burst = BurstSeen::of(&bins(self.step, false)).filter(BurstSeen::fell)?;
        let baseline = seconds.get(burst.baseline_from_second()..)?;
        let (metric, finding, mut reasons) = self.of_latencies(baseline, limit)?;
        reasons.push(format!("this is the figure after a burst of {}", burst.length()));
        (finding.answer != LimitAnswer::Pass).then_some((metric, finding, reasons))
    }

    /// The claim, or INVALID where something else than the volume made its figures.
    fn or_invalid(&self, claim: Claim) -> Claim {
        let passed = claim.outcome == Outcome::Pass;
        // Loads of an application run together because they do so there.
        // A flush ends on the volume, wherever the writes before it went.
        let of_flushes = self.need.figure.direction == Some(Direction::Sync);
        let spared = |code: &str| {
            code == "shared-disk" || (passed && only_slows(code)) || (of_flushes && code == "buffered")
        };
        let simulated = self.record.is_void_as_simulated().then_some(SIMULATED);
        let found = of_figures(self.record, self.step);
        match simulated.into_iter().chain(found).find(|(code, ..)| !spared(code)) {
            Some((code, message, advice)) => Claim {
                outcome: Outcome::Invalid,
                more_seconds: None,
                blocker: Some(code.into()),
                reason: blocker::reason(message, advice),
                ..claim
            },
            None if self.step.was_ended_early() && claim.outcome != Outcome::Inconclusive => {
                Claim { outcome: Outcome::Inconclusive, reason: ENDED_EARLY.into(), ..claim }
            }
            None => match volume_class::why_not_ssd(self.record, self.application) {
                Some(reason) => Claim { outcome: Outcome::Fail, more_seconds: None, reason, ..claim },
                None => match passed.then(|| self.undone(&claim)).flatten() {
                    Some(reason) => Claim { outcome: Outcome::Inconclusive, reason, ..claim },
                    // A flush ends on the volume, whatever the options.
                    None if of_flushes => claim,
                    None => with_proviso(self.record, &self.record.conditions(self.step), claim),
                },
            },
        }
    }

    /// Why a figure that keeps the need does not show that the volume keeps it.
    fn undone(&self, claim: &Claim) -> Option<String> {
        let (s, conditions) = (StepFigures::of(self.record, self.step), self.record.conditions(self.step));
        // A log is written to a few blocks by the application itself, and each flush reaches the volume.
        let of_data = self.need.figure.direction != Some(Direction::Sync);
        let places = || flattered::by_places(&conditions).filter(|_| of_data);
        let of_report = || {
            let reported = self.step.reported.as_ref()?;
            let small = || flattered::by_small_range(&s, &conditions, None).filter(|_| of_data);
            small().or_else(|| needs_of_reports::undone(self.record, self.need, reported, &s, claim))
        };
        let of_part = || volume_class::why_range_is_small(self.record, self.step).filter(|_| of_data);
        volume_class::why_disk_is_hidden(self.record, self.step)
            .or_else(of_part)
            .or_else(|| self.only_together())
            .or_else(|| flattered::by_data(&conditions))
            .or_else(places)
            .or_else(of_report)
    }

    /// Several volumes keep a need together, and one of them does not by itself.
    fn only_together(&self) -> Option<String> {
        let targets = self.step.targets.as_slice();
        let lacks = |target: &StepTarget| {
            let step = alone(self.step, target);
            let case = NeedCase { step: &step, ..*self };
            let found = case.measured(self.need.bound.value());
            let kept = found.as_ref().is_some_and(|(_, found, _)| found.answer == LimitAnswer::Pass);
            let told = found.map_or("none".into(), |(metric, found, _)| figure(metric, found.value));
            (!kept).then(|| {
                format!(
                    "the figure is that of {} volumes together, and {} by itself has {told}: measure each by itself",
                    targets.len(),
                    target.path.display()
                )
            })
        };
        targets.iter().filter(|_| targets.len() > 1).find_map(lacks)
    }

    /// The samples that the figure is about, of all targets.
    fn streams(&self) -> impl Iterator<Item = &Stream> {
        streams(self.step, self.need.figure)
    }

    /// All I/O of the step.
    fn load(&self) -> LoadGrid {
        LoadGrid::of(self.step.targets.iter().map(|t| &t.series))
    }

    fn seconds(&self) -> Vec<StoredHistogram> {
        seconds(self.step, self.need.figure)
    }

    fn rate(&self, metric: Metric, limit: f64) -> Option<Figure> {
        let mut bins: Vec<u64> = Vec::new();
        for stream in self.streams() {
            let column = if metric == Metric::Iops { &stream.track.ios } else { &stream.track.bytes };
            bins.resize(bins.len().max(column.len()), 0);
            bins.iter_mut().zip(column).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
        }
        bins.truncate((self.step.window_ns.as_seconds() * 10.0 + 1e-6) as usize);
        let load = self.load();
        let terms = ClaimTerms::at_least(limit);
        let judged = JudgedWindow::of(&bins, &load, &terms)?;
        // The answer may rest on the levels that the rate had; the bounds that are told are those of its mean, as everywhere.
        let of_mean = Estimate::of(&bins).filter(|e| e.too_short.is_empty());
        let of_mean = of_mean.and_then(|e| e.one_sided(ONE_SIDED));
        let bounds = of_mean.or(judged.finding.bounds);
        Some((metric, ClaimAnswer { answer: judged.answer, bounds, ..judged.finding }, judged.reasons))
    }

    fn mean(&self, seconds: &[StoredHistogram], limit: f64) -> Option<Figure> {
        let mut columns: Vec<(u64, Nanos)> = Vec::new();
        for second in seconds {
            // The latencies are those of whole seconds: one of ten bins has them, nine are empty.
            columns.extend([(second.count(), second.sum)].into_iter().chain([(0, Nanos(0)); 9]));
        }
        let finding = limit_answer::mean_latency(&MeanLatency::of(&columns)?, Nanos(limit as u64), 0.0);
        Some((Metric::Latency, finding, undecided(&finding)))
    }

    fn percentile(
        &self,
        seconds: &[StoredHistogram],
        name: &str,
        share: f64,
        limit: Nanos,
    ) -> Option<Figure> {
        let found = percentile::measure(seconds, &[(name, share)]).into_iter().next()?;
        let (_, low, high) = slow(seconds, limit)?;
        let mut finding =
            limit_answer::percentile(&found, (low, high), limit, self.step.window_ns.as_seconds());
        let at_limit = |value: f64| bucket(value as u64) == bucket(limit.0);
        let mut reasons = undecided(&finding);
        // The low end of an interval decides a FAIL; an open answer whose whole interval lies there is one that no time decides.
        let low_at_limit = finding.bounds.is_some_and(|(low, _)| at_limit(low));
        let close = match finding.answer {
            LimitAnswer::Fail => low_at_limit,
            LimitAnswer::Inconclusive => {
                low_at_limit && finding.bounds.is_some_and(|(_, high)| at_limit(high))
            }
            LimitAnswer::Pass => false,
        };
        if close {
            finding.answer = LimitAnswer::Inconclusive;
            finding.more_seconds = None;
            reasons = vec![
                "the figure is at the limit, closer than the 1.6 % to which latencies are counted".into(),
            ];
        }
        Some((Metric::Percentile, finding, reasons))
    }

    /// The figure of latencies, which is no PASS where the volume did nothing for more of the time than the figure leaves for slow I/Os: a
    /// load that waits sends nothing meanwhile. Silence that is no longer than the latency of the limit makes no I/O too slow.
    fn unless_silent(&self, (metric, mut finding, mut reasons): Figure, limit: f64) -> Figure {
        let (latency, left) = match self.need.figure.kind {
            FigureKind::Over(latency) => (latency, limit),
            FigureKind::Latency(figure) => {
                (Nanos(limit as u64), figure.share().map_or(limit_answer::TOLERANCE, |share| 1.0 - share))
            }
            FigureKind::Iops | FigureKind::Throughput => return (metric, finding, reasons),
        };
        let silent = if finding.answer == LimitAnswer::Pass { self.silent_beyond(latency) } else { 0.0 };
        if silent > left {
            finding.answer = LimitAnswer::Inconclusive;
            reasons = vec![format!(
                "nothing completed for {} % of the time, and a load that waits sends nothing meanwhile: the {} does not show that",
                significant(silent * 100.0),
                match metric {
                    Metric::Percentile => "percentile",
                    Metric::SlowShare => "share",
                    _ => "mean",
                }
            )];
        }
        (metric, finding, reasons)
    }

    /// Share of the time in which nothing completed for longer than a latency.
    fn silent_beyond(&self, latency: Nanos) -> f64 {
        let window = self.step.window_ns;
        let stalls = self.load().stalls();
        let longer = stalls.iter().filter(|e| e.length_ns > latency);
        Event::seconds_within(longer, window) / window.as_seconds().max(1e-9)
    }

    /// The share above a latency. A source that asks for every hour is about that hour's own I/Os: each whole hour is counted, and the worst
    /// decides.
    fn slow_share(&self, seconds: &[StoredHistogram], latency: Nanos, limit: f64) -> Option<Figure> {
        let hours = seconds.chunks_exact(HOUR).filter_map(|hour| slow(hour, latency));
        let worst = hours.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|_| self.need.hourly);
        let (value, bounds, answer, reason) = match worst {
            Some((share, ..)) => {
                let answer = if share < limit { LimitAnswer::Pass } else { LimitAnswer::Fail };
                (share, None, answer, format!("the worst of {} hours", seconds.len() / HOUR))
            }
            None => {
                let (share, low, high) = slow(seconds, latency)?;
                let (answer, reason) = match (low > limit, high < limit) {
                    (true, _) => (LimitAnswer::Fail, ""),
                    (_, true) => (LimitAnswer::Pass, ""),
                    _ => (LimitAnswer::Inconclusive, "the interval holds the limit: run it longer"),
                };
                (share, Some((low, high)), answer, reason.to_string())
            }
        };
        let finding = ClaimAnswer { answer, value, limit, ratio: value / limit, bounds, more_seconds: None };
        Some((Metric::SlowShare, finding, Some(reason).into_iter().filter(|r| !r.is_empty()).collect()))
    }
}

/// The samples of a step that a figure is about, of all targets.
fn streams(step: &StepRecord, figure: FitFigure) -> impl Iterator<Item = &Stream> {
    let meant = move |d: &Direction| figure.direction.map_or(*d != Direction::Sync, |wanted| wanted == *d);
    let series = step.targets.iter().map(|t| &t.series);
    series.flat_map(move |s| Direction::ALL.into_iter().filter(meant).filter_map(|d| s.stream(d)))
}

/// Latencies of each second; response times under a rate.
fn seconds(step: &StepRecord, figure: FitFigure) -> Vec<StoredHistogram> {
    let mut seconds: Vec<StoredHistogram> = Vec::new();
    for stream in streams(step, figure) {
        let of_stream = if step.open_loop.is_some() { &stream.response } else { &stream.service };
        seconds.resize(seconds.len().max(of_stream.len()), StoredHistogram::default());
        seconds.iter_mut().zip(of_stream).for_each(|(sum, second)| sum.merge(second));
    }
    seconds
}

/// The share above a latency in each whole hour of a step, 0 to 1.
pub fn shares_by_hour(step: &StepRecord, figure: FitFigure, latency: Nanos) -> Vec<f64> {
    let seconds = seconds(step, figure);
    seconds.chunks_exact(HOUR).filter_map(|hour| slow(hour, latency)).map(|(share, ..)| share).collect()
}

/// The share of the I/Os above a latency, with the bounds of each side at 95 %.
fn slow(seconds: &[StoredHistogram], latency: Nanos) -> Option<(f64, f64, f64)> {
    let all = pooled(seconds);
    let n = Some(all.count() as f64).filter(|n| *n > 0.0)?;
    let edge = bucket(latency.0);
    let above = total(all.nonzero().filter(|(b, _)| *b > edge).map(|(_, count)| count)) as f64 / n;
    let effective = effective_samples_above(seconds, latency);
    let (low, high) = limit_answer::share_bounds(above * effective, effective);
    Some((above, low, high))
}

/// Words on how to decide an answer that is open.
fn undecided(finding: &ClaimAnswer) -> Vec<String> {
    let open = finding.answer == LimitAnswer::Inconclusive;
    open.then(|| way_to_decide(finding)).into_iter().collect()
}

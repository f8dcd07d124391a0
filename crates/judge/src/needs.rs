//! The needs of applications, held against a step: the same four answers, from the same statistics, as for a promise.
//!
//! A need has no tolerance: what was published is the limit. The load is the one that was published, so that it is enough. Needs of higher
//! grades than the one asked for are answered beside it.

use super::answer::Open;
use super::facts::{StepFacts, dead_share, idle_share};
use super::faults::{self, Fault};
use super::step_answer::{StepAnswer, read};
use super::terms::ClaimTerms;
use super::thresholds::last_fifth;
use super::words::{self, ENDED_EARLY, figure};
use super::{cache_may_answer, volume_class};
use volproof_base::doubt::DoubtCode;
use volproof_base::hist::{StoredHistogram, bucket};
use volproof_base::sample::{Direction, GRID};
use volproof_base::shell_word::shell;
use volproof_base::stats::limit_answer::{self, ClaimAnswer, LimitAnswer};
use volproof_base::stats::mean_latency::MeanLatency;
use volproof_base::stats::percentile::{self, ShareAbove};
use volproof_base::unit::{Nanos, significant};
use volproof_plan::ResponseFigure;
use volproof_promise::fit::{AskedApplication, AskedFits, FigureKind, FitNeed};
use volproof_record::{
    BasisCode, Claim, JudgedNeed, Metric, Outcome, Record, StepRecord, StepTarget, Untested, add_column,
};

/// Seconds of an hour.
const HOUR: usize = 3600;

/// A figure with its answer, and the reason of that.
type Figure = (Metric, ClaimAnswer, String);

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
    let mut claims = Vec::new();
    for application in &asked.applications {
        for need in application.needs.iter().filter(|need| need.step == step.name) {
            claims.extend(NeedCase { record, application, need, step }.claim());
        }
    }
    claims
}

/// Whether a claim is about a need of a higher grade than the application was asked for with.
pub(super) fn is_beyond(asked: Option<&AskedFits>, claim: &Claim) -> bool {
    let Some((asked, need)) = asked.zip(claim.need.as_ref()) else { return false };
    asked.applications.iter().any(|a| a.scaled() == need.application && need.grade > a.grade)
}

/// The applications that have no answer: every need of the grade is to be answered.
pub(super) fn unanswered(record: &Record, asked: &AskedFits, claims: &[Claim]) -> Vec<Untested> {
    asked.applications.iter().filter_map(|a| unanswered_by(record, a, claims)).collect()
}

fn unanswered_by(record: &Record, a: &AskedApplication, claims: &[Claim]) -> Option<Untested> {
    let needs = a.needs.iter().filter(|need| need.grade <= a.grade);
    let (answered, missing): (Vec<&FitNeed>, Vec<&FitNeed>) =
        needs.partition(|need| is_answered(a, need, claims));
    let missing = missing.first()?;
    let reason = if record.steps.iter().any(|s| s.name == missing.step) {
        format!("{} has no {}", missing.step, missing.figure.words())
    } else {
        format!("its load {} was not measured", missing.step)
    };
    Some(Untested {
        application: Some(if answered.is_empty() { a.title() } else { format!("a part of {}", a.title()) }),
        metric: metric_of(missing.figure.kind),
        reason,
        command: Some(fit_command(record, a)),
    })
}

/// A claim is about the need of an application.
fn is_answered(a: &AskedApplication, need: &FitNeed, claims: &[Claim]) -> bool {
    let mut of_step = claims.iter().filter(|c| c.step == need.step).filter_map(|c| c.need.as_ref());
    of_step.any(|n| n.application == a.scaled() && n.figure == need.figure.words())
}

fn metric_of(kind: FigureKind) -> Metric {
    match kind {
        FigureKind::Iops => Metric::Iops,
        FigureKind::Throughput => Metric::Throughput,
        FigureKind::Latency(figure) if figure.share().is_none() => Metric::Latency,
        FigureKind::Latency(_) => Metric::Percentile,
        FigureKind::Over(_) => Metric::SlowShare,
    }
}

/// A need as a claim tells it.
pub(super) fn judged_need(application: &AskedApplication, need: &FitNeed) -> JudgedNeed {
    JudgedNeed {
        application: application.scaled(),
        figure: need.figure.words(),
        direction: need.figure.direction,
        grade: need.grade,
        source: need.source.clone(),
        as_of: need.as_of.clone(),
        confidence: need.confidence,
    }
}

/// The command that tests the needs of an application.
pub(super) fn plain_fit_command(a: &AskedApplication) -> String {
    let own: String = a
        .needs
        .iter()
        .filter(|need| need.is_own())
        .map(|need| format!(" --need {}", shell(&need.typed())))
        .collect();
    format!("volproof fit TARGET --for {}{own}", shell(&a.request()))
}

/// The same on the same simulated device where the Record has one.
fn fit_command(record: &Record, a: &AskedApplication) -> String {
    let command = plain_fit_command(a);
    let device = record.plan.steps.iter().find_map(|step| step.simulate.as_ref());
    let device = device.map_or(String::new(), |device| format!(" --simulate {}", shell(&device.to_string())));
    command + &device
}

/// Remarks on the applications, and on what the figures hold besides the disk.
pub(super) fn notes(record: &Record, asked: &AskedFits) -> Vec<String> {
    let several = asked.applications.len() > 1;
    let mut notes: Vec<String> = Vec::new();
    for application in &asked.applications {
        let lead = if several { format!("for {}: ", application.name) } else { String::new() };
        if application.needs.is_empty() {
            notes.push(format!("{}: no published requirement, so no verdict", application.name));
        }
        notes.extend(application.notes.iter().map(|note| format!("{lead}{note}")));
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
        let (metric, finding, reason) = self.measured(limit)?;
        let outcome = Outcome::from(finding.answer);
        let mut claim = Claim::new(&self.step.name, metric, outcome, limit, finding, reason);
        claim.binding = self.application.title();
        claim.need = Some(judged_need(self.application, self.need));
        Some(self.unless_void(claim))
    }

    /// The figure of the need by the step's own samples, with its answer.
    fn measured(&self, limit: f64) -> Option<Figure> {
        match self.need.figure.kind {
            FigureKind::Iops => self.rate(Metric::Iops, limit),
            FigureKind::Throughput => self.rate(Metric::Throughput, limit),
            FigureKind::Over(latency) => self.slow_share(&self.seconds(), latency, limit),
            FigureKind::Latency(figure) => self.latency(figure, limit),
        }
    }

    /// The latency over the whole window; that of its end alone, where this misses the need: faster I/Os of a burst hide those after it.
    fn latency(&self, figure: ResponseFigure, limit: f64) -> Option<Figure> {
        let seconds = self.seconds();
        let whole = self.latency_of(&seconds, figure, limit);
        if matches!(&whole, Some((_, found, _)) if found.answer == LimitAnswer::Fail) {
            return whole;
        }
        let last = last_fifth(seconds.len());
        match self.latency_of(&seconds[seconds.len() - last..], figure, limit) {
            Some((metric, end, _)) if end.answer == LimitAnswer::Fail => {
                Some((metric, end, format!("this is the figure of the last {last} s: it was lower before")))
            }
            _ => whole,
        }
    }

    fn latency_of(&self, seconds: &[StoredHistogram], figure: ResponseFigure, limit: f64) -> Option<Figure> {
        match figure.share() {
            None => self.mean(seconds, limit),
            Some(share) => self.percentile(seconds, &figure.to_string(), share, Nanos(limit as u64)),
        }
    }

    /// The claim, or INVALID where the measurement is at fault; the volume's own faults count against it.
    fn unless_void(&self, claim: Claim) -> Claim {
        if let Some(fault) = self.fault(claim.outcome == Outcome::Pass) {
            return faults::void(claim, &fault);
        }
        if self.step.lost_ios > 0 || self.step.stuck_workers > 0 {
            let reason = "the device hangs: requests in flight at the end of the step never came back".into();
            return answered(claim, Outcome::Fail, BasisCode::Hangs, reason);
        }
        if let Some(reason) = volume_class::why_not_ssd(self.record, self.application) {
            return answered(claim, Outcome::Fail, BasisCode::Missed, reason);
        }
        if self.step.was_ended_early() && claim.outcome != Outcome::Inconclusive {
            return open(claim, BasisCode::EndedEarly, ENDED_EARLY.into());
        }
        if claim.outcome != Outcome::Pass {
            return claim;
        }
        self.unless_undone(claim)
    }

    /// A figure that keeps the need, or INCONCLUSIVE where it does not show that the volume keeps it.
    fn unless_undone(&self, claim: Claim) -> Claim {
        if let Some(least) = self.need.least_runtime.filter(|least| self.step.window_ns < *least) {
            let more = (least.0 - self.step.window_ns.0).div_ceil(1_000_000_000);
            let reason = format!("the source asks for {}: this run was shorter", least.clock());
            return Claim { more_seconds: Some(more), ..open(claim, BasisCode::TooShort, reason) };
        }
        if let Some(reason) = self.silence(&claim) {
            return open(claim, BasisCode::DeadTime, reason);
        }
        // A log is written to a few blocks by the application itself, and each flush reaches the volume.
        let of_data = self.need.figure.direction != Some(Direction::Sync);
        let conditions = self.record.conditions(self.step);
        let why = volume_class::why_disk_is_hidden(self.record, self.step)
            .or_else(|| volume_class::why_range_is_small(self.record, self.step).filter(|_| of_data))
            .or_else(|| self.only_together())
            .or_else(|| cache_may_answer::by_data(&conditions))
            .or_else(|| cache_may_answer::by_places(&conditions).filter(|_| of_data));
        match why {
            Some(reason) => open(claim, BasisCode::NeedOpen, reason),
            None => claim,
        }
    }

    /// The fault of the measurement that voids the figure. Loads of an application run together because they do so there, and a flush ends on
    /// the volume, wherever the writes before it went.
    fn fault(&self, keeps: bool) -> Option<Fault> {
        let of_flushes = self.need.figure.direction == Some(Direction::Sync);
        let mut all = faults::of_doubts(self.record, self.step).into_iter();
        all.find(|fault| {
            fault.code != DoubtCode::SharedDisk
                && !(keeps && fault.only_slows())
                && !(of_flushes && fault.code == DoubtCode::Buffered)
        })
    }

    /// Why a kept figure of latencies does not show that the volume keeps it: seconds in which nothing completed take more of the time than the
    /// figure leaves for slow I/Os, and a load that waits sends nothing meanwhile.
    fn silence(&self, claim: &Claim) -> Option<String> {
        let left = match self.need.figure.kind {
            FigureKind::Over(_) => claim.limit,
            FigureKind::Latency(figure) => {
                figure.share().map_or(limit_answer::TOLERANCE, |share| 1.0 - share)
            }
            FigureKind::Iops | FigureKind::Throughput => super::answer::MOST_DEAD,
        };
        // Where the limit is a latency, a tenth of a second without a completion is dead; a longer latency that is kept leaves such tenths.
        let is_short = matches!(self.need.figure.kind, FigureKind::Latency(_)) && claim.limit < GRID.0 as f64;
        let dead = if is_short { idle_share(self.step) } else { dead_share(self.step) };
        (dead > left).then(|| {
            format!(
                "for {}{} % of the time nothing completed, and a load that waits sends nothing meanwhile: the figure hides it",
                if self.step.shows_pauses() { "" } else { "up to " },
                significant(dead * 100.0)
            )
        })
    }

    /// Several volumes keep a need together, and one of them does not by itself.
    fn only_together(&self) -> Option<String> {
        let targets = self.step.targets.as_slice();
        if targets.len() < 2 {
            return None;
        }
        targets.iter().find_map(|target| self.not_by_itself(target, targets.len()))
    }

    fn not_by_itself(&self, target: &StepTarget, volumes: usize) -> Option<String> {
        let step = faults::alone(self.step, &target.path)?;
        let case = NeedCase { step: &step, ..*self };
        let found = case.measured(self.need.bound.value());
        if found.as_ref().is_some_and(|(_, found, _)| found.answer == LimitAnswer::Pass) {
            return None;
        }
        let own = found.map_or("none".into(), |(metric, found, _)| figure(metric, found.value));
        Some(format!(
            "the figure is that of {volumes} volumes together, and {} by itself has {own}: measure each by itself",
            target.path.display()
        ))
    }

    fn seconds(&self) -> Vec<StoredHistogram> {
        self.step.latencies_of_seconds(self.need.figure.direction)
    }

    fn rate(&self, metric: Metric, limit: f64) -> Option<Figure> {
        let mut bins: Vec<u64> = Vec::new();
        for target in &self.step.targets {
            for stream in target.streams(self.need.figure.direction) {
                let column = if metric == Metric::Iops { &stream.track.ios } else { &stream.track.bytes };
                add_column(&mut bins, &target.series.on_grid(column));
            }
        }
        bins.truncate((self.step.window_ns.as_seconds() * 10.0 + 1e-6) as usize);
        if bins.is_empty() {
            return None;
        }
        let facts = StepFacts::measured(self.step, bins, limit, 0);
        let (answer, more_seconds, reason) = match read(&facts, &ClaimTerms::at_least(limit)) {
            StepAnswer::Keeps => (LimitAnswer::Pass, None, String::new()),
            StepAnswer::Misses => (LimitAnswer::Fail, None, String::new()),
            StepAnswer::Open(Open::Spans { more_seconds }) => {
                (LimitAnswer::Inconclusive, more_seconds, words::longer(more_seconds))
            }
            StepAnswer::Open(Open::EndedEarly) => (LimitAnswer::Inconclusive, None, ENDED_EARLY.into()),
            StepAnswer::Open(_) => {
                (LimitAnswer::Inconclusive, Some(60), "less than a minute was measured".into())
            }
        };
        let bounds = facts.rate.map(|rate| (rate.low, rate.high));
        let (value, ratio) = (facts.mean, facts.mean / limit);
        Some((metric, ClaimAnswer { answer, value, limit, ratio, bounds, more_seconds }, reason))
    }

    fn mean(&self, seconds: &[StoredHistogram], limit: f64) -> Option<Figure> {
        let mut found = MeanLatency::of_seconds(seconds)?;
        // A histogram of a long run holds more than a second.
        found.seconds = self.step.window_ns.as_seconds();
        let finding = limit_answer::mean_latency(&found, Nanos(limit as u64), 0.0);
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
        let above = ShareAbove::from_seconds(seconds, limit)?;
        let length = self.step.window_ns.as_seconds();
        let finding = limit_answer::percentile(&found, (above.low, above.high), limit, length);
        if is_at_limit(&finding, limit) {
            let finding = ClaimAnswer { answer: LimitAnswer::Inconclusive, more_seconds: None, ..finding };
            let reason = "the figure is at the limit, closer than the 1.6 % to which latencies are counted";
            return Some((Metric::Percentile, finding, reason.into()));
        }
        Some((Metric::Percentile, finding, undecided(&finding)))
    }

    /// How many histograms hold an hour: those of a long run hold several seconds each.
    fn histograms_of_an_hour(&self) -> usize {
        let merged = self.step.targets.iter().map(|target| target.series.seconds_merged()).max();
        (HOUR / merged.unwrap_or(1).max(1)).max(1)
    }

    /// The share above a latency. A source that asks for every hour is about that hour's own I/Os: each whole hour is counted, and the worst
    /// decides.
    fn slow_share(&self, seconds: &[StoredHistogram], latency: Nanos, limit: f64) -> Option<Figure> {
        let of_an_hour = self.histograms_of_an_hour();
        let worst = by_hour(seconds, of_an_hour, latency).reduce(f64::max).filter(|_| self.need.hourly);
        let (value, bounds, answer, reason) = match worst {
            Some(share) => {
                let answer = if share < limit { LimitAnswer::Pass } else { LimitAnswer::Fail };
                (share, None, answer, format!("the worst of {} hours", seconds.len() / of_an_hour))
            }
            None => {
                let ShareAbove { share, low, high } = ShareAbove::from_seconds(seconds, latency)?;
                let open = "the interval holds the limit: run it longer".to_string();
                let (answer, reason) = if low > limit {
                    (LimitAnswer::Fail, String::new())
                } else if high < limit {
                    (LimitAnswer::Pass, String::new())
                } else {
                    (LimitAnswer::Inconclusive, open)
                };
                (share, Some((low, high)), answer, reason)
            }
        };
        let finding = ClaimAnswer { answer, value, limit, ratio: value / limit, bounds, more_seconds: None };
        Some((Metric::SlowShare, finding, reason))
    }
}

fn by_hour(histograms: &[StoredHistogram], of_an_hour: usize, latency: Nanos) -> impl Iterator<Item = f64> {
    let hours = histograms.chunks_exact(of_an_hour);
    hours.filter_map(move |hour| Some(ShareAbove::from_seconds(hour, latency)?.share))
}

/// Words on how to decide an answer that is open.
fn undecided(finding: &ClaimAnswer) -> String {
    match finding.answer {
        LimitAnswer::Inconclusive => words::longer(finding.more_seconds),
        LimitAnswer::Pass | LimitAnswer::Fail => String::new(),
    }
}

/// Whether the bound that decides lies in the class of latencies in which the limit lies: the low end of an interval decides a FAIL, and an
/// open answer whose whole interval lies there is one that no time decides.
fn is_at_limit(finding: &ClaimAnswer, limit: Nanos) -> bool {
    let Some((low, high)) = finding.bounds else { return false };
    let [low, high] = [low, high].map(|value| bucket(value as u64) == bucket(limit.0));
    match finding.answer {
        LimitAnswer::Fail => low,
        LimitAnswer::Inconclusive => low && high,
        LimitAnswer::Pass => false,
    }
}

/// The claim without an answer, for a reason.
fn open(claim: Claim, basis: BasisCode, reason: String) -> Claim {
    answered(claim, Outcome::Inconclusive, basis, reason)
}

/// The claim with another answer, which time does not change.
fn answered(claim: Claim, outcome: Outcome, basis: BasisCode, reason: String) -> Claim {
    Claim { outcome, basis, reason, more_seconds: None, ..claim }
}

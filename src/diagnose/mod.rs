//! The limits of a run: rules over a finished step, each of which states its evidence or says nothing.
//!
//! Every rule looks at a [`DiagnosisCase`]: a [`Summary`] that any tool's report can fill, and, for our own runs, the step with all its
//! samples and the kernel's counters. A rule that lacks what it needs finds nothing. Nothing is measured here, and nothing is judged
//! against a promise (that is `verdict`). docs/method.md, "Limits of a run", says how far each rule can be trusted.

mod above_disk;
pub mod cap;
mod credits;
mod drift;
mod kernel;
mod lapse_findings;
mod level;
mod load_limits;
mod modes;
mod summary;
mod summary_of_report;
mod throttle;
mod validity;

use crate::codes;
use crate::doubt::Doubt;
use crate::plan::{EngineKind, Step};
use crate::record::{Confidence, Diagnosis, Finding, Record, StepRecord, TargetRecord};
use crate::stats::lapses::{Event, LoadGrid};
use crate::unit::Nanos;

pub use crate::record::Band;
pub use kernel::SATURATED;
pub use level::Kept;
pub use load_limits::EMPTY;
pub use modes::Modes;
pub use summary::{
    ALONE, DeviceCounts, DirectionCounts, DiskTime, FILLED_BY_FEW, Flushes, Promised, QUEUE_SETS_LATENCY,
    Summary, bins, direction, load_without_promise,
};
pub use summary_of_report::ended_by_size;
pub use validity::{SMALL_RANGE, missing_flushes, missing_reads, missing_writes, most_parts, reads_in_doubt};

/// A step as the rules see it.
pub struct DiagnosisCase<'a> {
    /// The figures of the run.
    pub summary: Summary,
    /// Our own run, where it is one.
    pub run: Option<MeasuredStep<'a>>,
}

/// A step of ours.
#[derive(Clone, Copy)]
pub struct MeasuredStep<'a> {
    /// The planned load.
    pub plan: &'a Step,
    /// The measured step.
    pub step: &'a StepRecord,
    /// The targets of the step.
    pub targets: &'a [TargetRecord],
    /// Doubts of the Record.
    pub doubts: &'a [Doubt],
    /// The load over time, of all targets together.
    pub load: &'a LoadGrid,
    /// Stalls, brown-outs and the slow start of the load: several rules ask for them, and to search them takes long.
    pub lapses: &'a [Event],
    /// The level that its rate kept to.
    pub kept: &'a Kept,
}

impl MeasuredStep<'_> {
    /// Whether the step ran on a device. The null engine and simulated devices run in a time of their own, which CPU time says nothing
    /// about.
    fn real(&self) -> bool {
        self.step.engine.get() != Some(EngineKind::Null) && self.plan.simulate.is_none()
    }
}

impl DiagnosisCase<'_> {
    /// The I/O did not reach the disk (the page cache took it, or the disk's counters show next to none of it), so that no limit of the
    /// disk held it.
    fn beside_the_disk(&self) -> bool {
        let s = &self.summary;
        if self.run.is_some_and(|r| !r.real()) {
            return false;
        }
        let seconds = s.window.map_or(0.0, Nanos::as_seconds);
        let by_bytes = s.device.and_then(|d| Some(d.bytes? / (s.bytes_per_second? * seconds)));
        let by_count = s.device.and_then(|d| Some((d.ios + d.merges) / s.ios?));
        match by_bytes.or(by_count).filter(|share| share.is_finite()) {
            Some(share) => share < REACHED && (s.reads == Some(true) || s.direct == Some(false)),
            None => s.direct == Some(false),
        }
    }

    /// The rate took so much of the headroom that the machine may have set it.
    fn near_headroom(&self) -> bool {
        let headroom = self.run.and_then(|r| r.step.headroom.as_ref());
        headroom.zip(self.summary.iops).is_some_and(|(h, iops)| h.nearly_used(iops).is_some())
    }
}

/// Up to so many requests in flight, the latency alone sets the rate.
const FEW_IN_FLIGHT: f64 = 2.05;
/// Where a smaller share of the I/O than this reached the disk, limits of the disk explain nothing.
const REACHED: f64 = 0.5;

type FindingRule = fn(&DiagnosisCase<'_>) -> Option<Finding>;

/// The subject of a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    /// The test, or the machine: it holds wherever the I/O went.
    Any,
    /// The disk and the way to it.
    Disk,
}
use About::{Any, Disk};

/// In the order in which findings are told: what makes the run no measurement of the volume, what the provider or the volume
/// sets, what the machine sets, what else must be known.
const RULES: &[(About, FindingRule)] = &[
    (Any, validity::unwritten),
    (Any, validity::from_memory),
    (Any, validity::cpu_quota),
    (Any, kernel::generator),
    (Any, kernel::steal),
    (Any, lapse_findings::stall),
    (Any, lapse_findings::brown_out),
    (Any, lapse_findings::slow_start),
    (Any, lapse_findings::on_off),
    (Any, load_limits::limited),
    (Any, load_limits::flushes),
    (Any, above_disk::above_the_disk),
    (Disk, cap::own_cgroup),
    (Disk, cap::bandwidth),
    (Disk, throttle::bucket),
    (Disk, throttle::steady_queue),
    (Disk, throttle::at_the_promise),
    (Disk, credits::credits),
    (Disk, drift::drift),
    (Disk, kernel::tags),
    (Disk, kernel::one_cpu),
    (Disk, kernel::single_queue),
    (Disk, kernel::scheduler),
    (Disk, throttle::one_at_a_time),
    (Any, validity::too_short),
    (Disk, credits::first_quota),
    (Any, validity::other_traffic),
    (Disk, validity::splits),
    (Disk, validity::merges),
    (Disk, validity::lazy_loading),
    (Any, validity::small_range),
    (Any, validity::io_wq),
];

/// Findings on each step of a Record.
pub fn of_record(record: &Record) -> Vec<Diagnosis> {
    let mut all: Vec<Diagnosis> = record.steps.iter().map(|step| of_step(record, step)).collect();
    cap::across_blocks(record, &mut all);
    throttle::no_more_at_depth(record, &mut all);
    all
}

/// Findings about the load that a course chose by itself: the user cannot follow their advice.
const OF_THE_COURSE: [&str; 3] = [codes::LOAD_LIMITED, codes::ONE_AT_A_TIME, codes::TOO_SHORT];

/// Findings of a step for the reader of a report: without those that a doubt tells already, and those about a load that a course chose.
pub fn told_limits<'a>(record: &Record, found: &'a Diagnosis) -> impl Iterator<Item = &'a Finding> {
    let course = record.plan.question.is_some();
    let told = move |f: &&Finding| f.doubt.is_none() && !(course && OF_THE_COURSE.contains(&f.code.as_str()));
    found.findings.iter().filter(told)
}

#[cfg(test)]
thread_local! {
    /// How many steps this thread has looked into.
    pub static LOOKED_INTO: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Findings on one step by itself.
pub fn of_step(record: &Record, step: &StepRecord) -> Diagnosis {
    of_summary(record, step, Summary::of(record, step))
}

/// Findings on a part of a step.
pub fn of_part(record: &Record, part: &StepRecord, whole: &StepRecord) -> Diagnosis {
    of_summary(record, part, Summary::of_part(record, part, whole))
}

fn of_summary(record: &Record, step: &StepRecord, summary: Summary) -> Diagnosis {
    if record.plan.is_precondition(&step.name) || record.plan.is_touch(&step.name) {
        return Diagnosis { step: step.name.clone(), findings: Vec::new() };
    }
    let plan = record.plan_step(&step.name).filter(|_| step.reported.is_none());
    let load = LoadGrid::of(step.targets.iter().map(|t| &t.series));
    let (targets, doubts, lapses) = (&record.targets, &record.doubts, &load.events());
    let kept = &plan.map_or(Kept::Throughout, |_| Kept::of(record, step));
    let run = plan.map(|plan| MeasuredStep { plan, step, targets, doubts, load: &load, lapses, kept });
    let mut found = of_case(&DiagnosisCase { summary, run });
    for finding in &mut found.findings {
        if let Some(advice) = record.advice(&step.name, &finding.code, &finding.advice) {
            finding.advice = advice.into();
        }
    }
    found
}

/// Findings on figures, whoever measured them.
pub fn of_case(case: &DiagnosisCase<'_>) -> Diagnosis {
    #[cfg(test)]
    LOOKED_INTO.set(LOOKED_INTO.get() + 1);
    let mut findings: Vec<Finding> = Vec::new();
    let beside = case.beside_the_disk() || case.waits_above_the_disk();
    let machine = case.near_headroom();
    for (about, rule) in RULES.iter().filter(|(about, _)| *about == Any || !beside) {
        // Each limit is told once: the rule that says most about it stands first.
        let Some(mut found) = rule(case).filter(|f| findings.iter().all(|other| other.code != f.code)) else {
            continue;
        };
        // The evidence of the disk does not exclude that the machine set the rate.
        if *about == Disk && machine && found.confidence == Confidence::Proven {
            found.confidence = Confidence::Likely;
        }
        findings.push(found);
    }
    debug_assert!(findings.iter().all(|f| !f.evidence.is_empty()), "a finding without evidence");
    let step = case.summary.name.clone();
    findings.iter_mut().for_each(|f| f.step.clone_from(&step));
    Diagnosis { step, findings }
}

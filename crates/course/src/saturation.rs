//! `saturation`: the most I/Os and bytes a second with the least depth, by workers for each hardware queue and by streams far apart.

use super::suite_course::Finished;
use super::suites::{self, SuiteFamily, SuiteRange};
use super::{ENOUGH_OF_THE_MOST, FinishedStep, changed_volume};
use volproof_base::unit::{Bytes, significant, throughput};
use volproof_plan::{BlockSizes, Pattern, Phase, Step, Suite, SuiteName};
use volproof_record::{Outcome, SuiteCheck};

/// Depths of each job for I/Os, and for streams.
const DEPTHS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const STREAM_DEPTHS: [u32; 3] = [4, 16, 64];
const STREAMS: [u32; 4] = [1, 2, 4, 8];

/// The phase that measures what gave the most once more.
const AGAIN: &str = "again";

/// The suite for a random and a sequential pattern: jobs are one, one for each hardware queue, and two for each.
pub(super) fn suite(
    name: SuiteName,
    (random, sequential): (Pattern, Pattern),
    base: &Step,
    range: &SuiteRange,
) -> Suite {
    let load = |rw: Pattern, block: Bytes, jobs: u32, depth: u32| Step {
        name: format!("j{jobs}-d{depth}"),
        rw,
        bs: BlockSizes::one(block),
        numjobs: jobs,
        iodepth: depth,
        ..base.clone()
    };
    // Twice the queues show whether one job for each was enough.
    let queues = range.queues.max(1);
    let mut jobs = vec![1, queues, 2 * queues];
    jobs.dedup();
    let small = jobs.iter().flat_map(|j| DEPTHS.map(|d| load(random, Bytes::kib(4), *j, d))).collect();
    let block = Bytes::mib(1);
    let fit = |j: &u32| range.part.0 / u64::from(*j) >= block.0;
    let large =
        STREAMS.iter().filter(|j| fit(j)).flat_map(|j| STREAM_DEPTHS.map(|d| load(sequential, block, *j, d)));
    let apart = Bytes(range.part.0 / u64::from(STREAMS[STREAMS.len() - 1]));
    Suite {
        name,
        source: "the most with the least depth (AnandTech's rule of 95 %), a maximum at the edge of the range is none"
            .into(),
        phases: vec![Phase::once("iops", small), Phase::once("streams", large.collect())],
        reference: Vec::new(),
        notes: vec![format!("{} streams are {apart} apart", STREAMS[STREAMS.len() - 1])],
        left_out: Vec::new(),
        was_judged_simulated: false,
    }
}

/// The figure of a phase: I/Os or bytes a second.
fn figure(phase: &Phase) -> fn(&FinishedStep) -> f64 {
    match phase.name.as_str() {
        "iops" => |f| f.iops,
        _ => |f| f.bytes_per_second,
    }
}

/// The step of a phase with its most, of those that show the volume.
fn top<'a>(phase: &Phase, finished: &Finished<'a>) -> Option<&'a FinishedStep> {
    let of = figure(phase);
    let steps = phase.steps.iter().filter_map(|s| finished.of(&phase.name, &s.name));
    steps.filter(|f| f.spoilt_by.is_empty()).max_by(|a, b| of(a).total_cmp(&of(b)))
}

/// The steps that gave the most, once more: a volume that was faster for a time, as by credits, no longer gives it.
pub(super) fn follow_up(suite: &Suite, finished: &Finished<'_>) -> Option<Phase> {
    let again = suite.phases.iter().filter_map(|phase| Some(top(phase, finished)?.step.clone()));
    let again: Vec<Step> = again.collect();
    (is_of(suite) && !again.is_empty()).then(|| Phase::once(AGAIN, again))
}

/// The longest of these.
pub(super) fn longest_follow_up(suite: &Suite) -> Option<Phase> {
    let again = suite.phases.iter().filter_map(|phase| phase.steps.first().cloned());
    is_of(suite).then(|| Phase::once(AGAIN, again.collect()))
}

fn is_of(suite: &Suite) -> bool {
    suites::family(&suite.name) == SuiteFamily::Saturation
}

/// Whether a step of the suite was measured before the volume changed.
pub(super) fn is_outdated(suite: &Suite, finished: &Finished<'_>, step: &FinishedStep) -> bool {
    let phase = suite.phases.iter().find(|p| p.steps.iter().any(|s| step.step.name == p.step_name(s, 1)));
    let again = phase.and_then(|p| finished.of(AGAIN, &top(p, finished)?.step.name));
    is_of(suite) && again.is_some_and(|again| changed_volume::is_outdated(step, again))
}

/// The most of a phase, and whether the range ends before it.
fn most(phase: &Phase, finished: &Finished<'_>, show: fn(f64) -> String) -> SuiteCheck {
    let of = figure(phase);
    let steps: Vec<&FinishedStep> =
        phase.steps.iter().filter_map(|s| finished.of(&phase.name, &s.name)).collect();
    let sound: Vec<&FinishedStep> = steps.iter().copied().filter(|f| f.spoilt_by.is_empty()).collect();
    let check = |outcome, observed| SuiteCheck {
        code: if phase.name == "iops" { "S1".into() } else { "S2".into() },
        subject: if phase.name == "iops" {
            "the most I/Os a second".into()
        } else {
            "the most bytes a second".into()
        },
        outcome,
        observed,
        tests: "more jobs and more depth give no more".into(),
        source: "PKB's fio_max_iops: a maximum at the largest setting is not known to be one".into(),
    };
    let Some(top) = top(phase, finished) else {
        let why =
            if steps.is_empty() { "it was not measured" } else { "no step shows what the volume can do" };
        return check(Outcome::Inconclusive, why.into());
    };
    let cost = |f: &FinishedStep| (f.step.depth_per_target(), f.step.numjobs);
    let enough = sound
        .iter()
        .copied()
        .filter(|f| of(f) >= ENOUGH_OF_THE_MOST * of(top))
        .min_by_key(|f| cost(f))
        .unwrap_or(top);
    let observed = format!(
        "{}; {} job{} of depth {} reach 95 % of it",
        show(of(top)),
        enough.step.numjobs,
        if enough.step.numjobs == 1 { "" } else { "s" },
        enough.step.iodepth
    );
    // At the edge the largest number of jobs, or the largest depth, still gave more than all smaller ones.
    let error = top.half_interval() / top.iops.max(1e-9);
    let at_edge = |setting: fn(&FinishedStep) -> u32| {
        let largest = steps.iter().map(|f| setting(f)).max().unwrap_or(0);
        let below = sound.iter().filter(|f| setting(f) < largest).map(|f| of(f)).fold(0.0, f64::max);
        setting(top) == largest && of(top) * (1.0 - error) > below * 1.02
    };
    let grows = at_edge(|f| f.step.numjobs) || at_edge(|f| f.step.iodepth);
    let again = finished.of(AGAIN, &top.step.name);
    if let Some(again) = again.filter(|again| changed_volume::is_outdated(top, again)) {
        let seen = format!(
            "{} at first, {} by the same load at the end: the volume changed, as where burst credits run out, and what it gives for long was not measured",
            show(of(top)),
            show(of(again))
        );
        return check(Outcome::Inconclusive, seen);
    }
    let open = steps.len() < phase.steps.len() || again.is_none();
    match (grows, open) {
        (true, _) => check(
            Outcome::Inconclusive,
            format!(
                "{observed}; the most lies at the largest setting: more jobs or more depth may give more"
            ),
        ),
        (_, true) => check(Outcome::Inconclusive, format!("{observed}; not all steps were measured")),
        _ => check(Outcome::Pass, observed),
    }
}

/// The most of both phases.
pub(super) fn checks(suite: &Suite, finished: &Finished<'_>) -> Vec<SuiteCheck> {
    let iops = |v: f64| format!("{} IOPS", significant(v));
    let of = |phase: &Phase| most(phase, finished, if phase.name == "iops" { iops } else { throughput });
    suite.phases.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Course;
    use volproof_base::hist::Histogram;
    use volproof_base::unit::Nanos;
    use volproof_record::{CourseAnswer, SuiteAnswer};

    /// The checks of a volume of these limits, whose every job reaches at most `each` I/Os a second.
    fn checks_of(cap: f64, bytes: f64, latency: f64, each: f64, queues: u32) -> Vec<SuiteCheck> {
        answer_of(|_| cap, bytes, latency, each, queues).checks
    }

    /// The answer, where the limit of I/Os a second may change from step to step.
    fn answer_of(
        cap: impl Fn(usize) -> f64,
        bytes: f64,
        latency: f64,
        each: f64,
        queues: u32,
    ) -> SuiteAnswer {
        let range = SuiteRange { part: Bytes::gib(64), whole: true, smallest: Bytes(512), queues, seed: 1 };
        let base = Step { runtime: Nanos::seconds(15), ..Step::default() };
        let suite = suite(SuiteName::Saturation, (Pattern::RandRead, Pattern::Read), &base, &range);
        let mut finished: Vec<FinishedStep> = Vec::new();
        while let Some(step) = suite.next(&finished) {
            let block = step.largest_block().0 as f64;
            let jobs = f64::from(step.numjobs);
            let iops = (jobs * f64::from(step.iodepth) / latency).min(cap(finished.len())).min(bytes / block);
            let iops = iops.min(jobs * each);
            finished.push(FinishedStep {
                error: Some(iops / 2000.0),
                in_flight: 1.0,
                ..FinishedStep::played(&step, iops, Histogram::new())
            });
        }
        let Some(CourseAnswer::Suite(answer)) = suite.answer(&finished, None) else { panic!("no answer") };
        answer
    }

    #[test]
    fn a_most_that_credits_gave_does_not_pass() {
        // The credits run out within the steps of one job, or after all steps of I/Os.
        for last in [6, 20] {
            let cap = |n: usize| if n < last { 20_000.0 } else { 3000.0 };
            let answer = answer_of(cap, 1e12, 200e-6, f64::INFINITY, 1);
            let check = &answer.checks[0];
            assert_eq!(check.outcome, Outcome::Inconclusive, "{check:?}");
            assert!(
                check.observed.contains("20,000 IOPS at first, 3,000 IOPS by the same load"),
                "{check:?}"
            );
            let marked = answer.points.iter().filter(|p| p.point.spoilt_by == ["changed"]).count();
            // One request does 5,000 a second: that too is above what the volume does at the end.
            assert_eq!(marked, last, "{:?}", answer.points);
        }
    }

    #[test]
    fn the_most_and_the_least_load_that_gives_it() {
        let found = checks_of(100_000.0, 1e9, 200e-6, f64::INFINITY, 4);
        assert_eq!(found[0].observed, "100,000 IOPS; 1 job of depth 32 reach 95 % of it");
        assert_eq!(found[1].observed, "954 MiB/s; 1 job of depth 4 reach 95 % of it");
        assert!(found.iter().all(|c| c.outcome == Outcome::Pass), "{found:?}");
        // One job reaches 40,000: three of four queues are needed.
        let found = checks_of(100_000.0, 1e9, 200e-6, 40_000.0, 4);
        assert!(found[0].observed.contains("4 jobs of depth 8"), "{found:?}");
    }

    #[test]
    fn a_most_that_only_the_most_jobs_give_is_not_decided() {
        // Each job is held back by itself: 8 streams give twice of 4.
        let found = checks_of(1e9, 1e12, 200e-6, 20_000.0, 1);
        assert!(found.iter().all(|c| c.outcome == Outcome::Inconclusive), "{found:?}");
        // One job for each of four queues is enough where eight give no more.
        let found = checks_of(60_000.0, 1e9, 200e-6, 20_000.0, 4);
        assert!(found.iter().all(|c| c.outcome == Outcome::Pass), "{found:?}");
    }

    #[test]
    fn a_most_at_the_largest_setting_is_not_decided() {
        let found = checks_of(1e9, 1e12, 1e-3, f64::INFINITY, 1);
        assert!(
            found
                .iter()
                .all(|c| c.outcome == Outcome::Inconclusive && c.observed.contains("largest setting")),
            "{found:?}"
        );
    }
}

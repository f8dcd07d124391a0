//! `saturation`: the most I/Os and bytes a second with the least depth, by workers for each hardware queue and by streams far apart.

use super::suite_course::Finished;
use super::{FinishedStep, suites::SuiteRange};
use crate::plan::{BlockSizes, Pattern, Phase, Step, Suite};
use crate::record::{Outcome, SuiteCheck};
use crate::stats::spread::quantile;
use crate::unit::{Bytes, significant, throughput};

/// The suites of this file.
pub(super) const SUITES: [(&str, &str); 2] = [
    (
        "saturation",
        "the most read IOPS and MiB/s, with the least jobs and depth that give them; writes nothing",
    ),
    ("saturation-writes", "the same of writes"),
];

/// Depths of each job for I/Os, and for streams.
const DEPTHS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const STREAM_DEPTHS: [u32; 3] = [4, 16, 64];
const STREAMS: [u32; 4] = [1, 2, 4, 8];
/// A load that reaches this share of the most is enough.
const ENOUGH: f64 = 0.95;

/// The suite: jobs are one, one for each hardware queue, and two for each.
pub(super) fn suite(name: &str, base: &Step, range: &SuiteRange) -> Option<Suite> {
    let (random, sequential) = match name {
        "saturation" => (Pattern::RandRead, Pattern::Read),
        "saturation-writes" => (Pattern::RandWrite, Pattern::Write),
        _ => return None,
    };
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
    Some(Suite {
        name: name.into(),
        source: "the most with the least depth (AnandTech's rule of 95 %), a maximum at the edge of the range is none".into(),
        phases: vec![Phase::once("iops", small), Phase::once("streams", large.collect())],
        reference: Vec::new(),
        notes: vec![format!("{} streams are {apart} apart", STREAMS[STREAMS.len() - 1])],
        left_out: Vec::new(),
judge_simulated: false,
    })
}

/// The most of a phase, and whether the range ends before it.
fn most(
    phase: &Phase,
    finished: &Finished<'_>,
    of: fn(&FinishedStep) -> f64,
    show: fn(f64) -> String,
) -> SuiteCheck {
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
    let Some(top) = sound.iter().copied().max_by(|a, b| of(a).total_cmp(&of(b))) else {
        let why =
            if steps.is_empty() { "it was not measured" } else { "no step shows what the volume can do" };
        return check(Outcome::Inconclusive, why.into());
    };
    let cost = |f: &FinishedStep| (f.step.depth_per_target(), f.step.numjobs);
    let enough =
        sound.iter().copied().filter(|f| of(f) >= ENOUGH * of(top)).min_by_key(|f| cost(f)).unwrap_or(top);
    let observed = format!(
        "{}; {} job{} of depth {} reach 95 % of it",
        show(of(top)),
        enough.step.numjobs,
        if enough.step.numjobs == 1 { "" } else { "s" },
        enough.step.iodepth
    );
    // At the edge the largest number of jobs, or the largest depth, still gave more than all smaller ones.
    let error = top.error.map_or(0.0, |e| e / top.iops.max(1e-9)) * quantile(0.975);
    let at_edge = |setting: fn(&FinishedStep) -> u32| {
        let largest = steps.iter().map(|f| setting(f)).max().unwrap_or(0);
        let below = sound.iter().filter(|f| setting(f) < largest).map(|f| of(f)).fold(0.0, f64::max);
        setting(top) == largest && of(top) * (1.0 - error) > below * 1.02
    };
    let grows = at_edge(|f| f.step.numjobs) || at_edge(|f| f.step.iodepth);
    let open = steps.len() < phase.steps.len();
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
    let of = |phase: &Phase| match phase.name.as_str() {
        "iops" => most(phase, finished, |f| f.iops, iops),
        _ => most(phase, finished, |f| f.bytes_per_second, throughput),
    };
    suite.phases.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course::Course;
    use crate::hist::Histogram;
    use crate::record::CourseAnswer;
    use crate::unit::Nanos;

    /// The checks of a volume of these limits, whose every job reaches at most `each` I/Os a second.
    fn checks_of(cap: f64, bytes: f64, latency: f64, each: f64, queues: u32) -> Vec<SuiteCheck> {
        let range = SuiteRange { part: Bytes::gib(64), whole: true, smallest: Bytes(512), queues };
        let suite =
            suite("saturation", &Step { runtime: Nanos::seconds(15), ..Step::default() }, &range).unwrap();
        let mut finished: Vec<FinishedStep> = Vec::new();
        while let Some(step) = suite.next(&finished) {
            let block = step.largest_block().0 as f64;
            let jobs = f64::from(step.numjobs);
            let iops =
                (jobs * f64::from(step.iodepth) / latency).min(cap).min(bytes / block).min(jobs * each);
            finished.push(FinishedStep {
                iops,
                bytes_per_second: iops * block,
                error: Some(iops / 2000.0),
                bins: Vec::new(),
                in_flight: 1.0,
                latencies: Vec::new(),
                sustained: true,
                service: Histogram::new(),
                spoilt_by: Vec::new(),
                dead_time: None,
                claim: None,
                step,
            });
        }
        let Some(CourseAnswer::Suite(answer)) = suite.answer(&finished, None) else { panic!("no answer") };
        answer.checks
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

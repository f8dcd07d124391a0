//! Doubts that a finished step raises by itself: rules over the Record, so that `show` finds the same; nothing is measured here.
//!
//! All rules about a step stand in one list, for runs of volproof and for reports of other tools; three short lists name those of them that regard
//! a small group of blocks, a stored Record, and one of an earlier version. Each rule has a file with the name of its code. A rule looks
//! at what it needs: the plan and the samples, or the report. A fact that is not known raises no doubt. The exceptions are doubts that say what
//! is not known.

mod buffered;
mod buffered_writes;
mod cache_unknown;
mod clock_wrong;
mod cpu_quota;
mod cpu_steal;
mod depth_ignored;
mod depth_not_reached;
mod device_hangs;
pub mod disk_counters;
mod doubt_case;
mod ended_by_size;
mod ended_early;
mod errors;
mod figures_disagree;
mod generator_lag;
pub(crate) mod generator_limited;
mod headroom;
mod impossible_figures;
mod in_memory;
mod io_errors;
mod io_wq;
mod jobs_ended_apart;
mod limited_by_instance;
mod littles_law;
mod merges;
mod network_filesystem;
mod null_engine;
pub(crate) mod other_traffic;
mod overload;
pub(crate) mod own_cgroup_limit;
mod part_missing;
mod percentiles_saturated;
mod queue_latency;
mod ran_together;
mod reads_from_memory;
mod same_range;
mod shared_disk;
mod short_ios;
mod short_run;
mod slow_at_the_end;
mod small_range;
mod splits;
mod suspended;
mod unwritten;
mod zero_buffers;

use self::doubt_case::{DoubtCase, ReportOfStep};
use std::collections::HashSet;

use volproof_base::doubt::Doubt;
use volproof_record::{Record, StepFigures, StepRecord};

pub use ran_together::of_report as of_runs_together;
pub use small_range::SMALL_RANGE;

type DoubtRule = fn(&DoubtCase<'_>) -> Option<Doubt>;

/// In the order in which doubts are printed.
const RULES: &[DoubtRule] = &[
    io_errors::rule,
    short_ios::rule,
    device_hangs::rule,
    shared_disk::rule,
    depth_not_reached::rule,
    generator_limited::rule,
    own_cgroup_limit::rule,
    limited_by_instance::rule,
    headroom::rule,
    littles_law::rule,
    clock_wrong::rule,
    io_wq::rule,
    reads_from_memory::rule,
    buffered_writes::rule,
    other_traffic::rule,
    splits::rule,
    merges::rule,
    overload::rule,
    generator_lag::rule,
    suspended::rule,
    ended_early::rule,
    short_run::rule,
    small_range::rule,
    network_filesystem::rule,
    cpu_steal::rule,
    cpu_quota::rule,
    slow_at_the_end::rule,
    errors::rule,
    impossible_figures::rule,
    in_memory::rule,
    part_missing::rule,
    null_engine::rule,
    buffered::rule,
    cache_unknown::rule,
    depth_ignored::rule,
    percentiles_saturated::rule,
    ended_by_size::rule,
    jobs_ended_apart::rule,
    queue_latency::rule,
    same_range::rule,
    unwritten::rule,
    zero_buffers::rule,
];

/// Rules about a small group of blocks that is held against the group beside it: what disturbs one disturbs the other, so that these regard
/// only reads that failed or did not reach the volume, and what the user did.
const RULES_OF_TOUCHES: &[DoubtRule] = &[
    io_errors::rule,
    short_ios::rule,
    device_hangs::rule,
    reads_from_memory::rule,
    suspended::rule,
    ended_early::rule,
];

/// Gives a stored Record the doubts about figures that contradict each other. The Record may lack them: an edit of a figure can remove
/// its doubt as well.
pub fn look_for_edits(record: &mut Record) {
    let steps = record.steps.iter().filter(|step| step.reported.is_none());
    let since = steps.flat_map(|step| by_rules(record, step, RULES_SINCE_STORED)).collect::<Vec<_>>();
    let found = edits(record).into_iter().chain(since);
    let known = |doubt: &Doubt| record.doubts.iter().any(|w| w.code == doubt.code && w.step == doubt.step);
    let new: Vec<Doubt> = found.filter(|doubt| !known(doubt)).collect();
    record.doubts.extend(new);
}

/// Figures of a stored Record that contradict each other.
pub fn edits(record: &Record) -> Vec<Doubt> {
    record.steps.iter().flat_map(|step| by_rules(record, step, RULES_OF_STORED)).collect()
}

/// Rules about figures of a stored Record that contradict each other.
const RULES_OF_STORED: &[DoubtRule] = &[figures_disagree::rule, short_ios::rule, impossible_figures::rule];

/// Rules whose doubts earlier versions stored as findings. Their Records hold them elsewhere or not at all.
const RULES_SINCE_STORED: &[DoubtRule] =
    &[generator_limited::rule, own_cgroup_limit::rule, other_traffic::rule];

/// All doubts about one step of a Record, or about one that is to be part of it.
pub fn of_step(record: &Record, step: &StepRecord) -> Vec<Doubt> {
    let rules = if record.plan.is_touch(&step.name) { RULES_OF_TOUCHES } else { RULES };
    by_rules(record, step, rules)
}

fn by_rules(record: &Record, step: &StepRecord, rules: &[DoubtRule]) -> Vec<Doubt> {
    // An experiment is held against no promise: what its figures lack, its row says.
    if record.plan.is_precondition(&step.name) || record.is_experiment(step) {
        return Vec::new();
    }
    // Only steps that volproof measured share counters with others.
    let stage = record.stage_of(step).filter(|_| step.reported.is_none());
    let names: HashSet<&str> = stage.iter().flat_map(|t| &t.steps).map(String::as_str).collect();
    let steps = record.steps.iter().filter(|_| !names.is_empty());
    let others = steps.filter(|s| s.name != step.name && names.contains(s.name.as_str()));
    let case = DoubtCase {
        plan: record.plan_step(&step.name),
        published: record.asked.as_ref().is_some_and(|asked| asked.publishes(&step.name)),
        step,
        reported: step.reported.as_deref().map(|report| ReportOfStep {
            program: record.report.as_ref().map(|r| r.program).unwrap_or_default(),
            report,
            conditions: &report.conditions,
        }),
        figures: StepFigures::of_step(record, step),
        partial: record.report.as_ref().is_some_and(|r| r.partial.is_some()),
        targets: record.targets_of(step),
        evidence: record.evidence(step),
        others: others.filter_map(|s| Some((record.plan_step(&s.name)?, s))).collect(),
        sharing: record.sharing(step),
    };
    let advised = |doubt: Doubt| match record.advice(&step.name, doubt.code.as_str(), &doubt.advice) {
        Some(advice) => Doubt { advice: advice.into(), ..doubt },
        None => doubt,
    };
    rules.iter().filter_map(|rule| rule(&case)).map(|w| advised(w.in_step(&step.name))).collect()
}

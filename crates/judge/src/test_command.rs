//! The `run` command of a step, and of the test that a promise still lacks.

use std::path::Path;

use super::answer::Answer;
use super::latency::{latency_promised, latency_step};
use super::promised_rates::PromisedRates;
use super::thresholds::USUAL_DEPTH;
use super::words::RESUME;
use volproof_base::shell_word::shell;
use volproof_base::stats::LEAST_QUOTABLE;
use volproof_base::unit::{Bytes, Nanos};
use volproof_device::device::{Facts, SECTOR};
use volproof_plan::{BlockSizes, EngineKind, Step};
use volproof_promise::catalogue::volume_promise::Reading;
use volproof_record::{Claim, JudgedPromise, Metric, Record, Untested, promise_direction as direction};

/// The target of a command. A file that was only read keeps what it holds: a step that writes has a new file beside it, since it would be
/// refused without consent to overwrite.
fn kept<'a>(record: &Record, step: &Step, target: &'a Path) -> &'a Path {
    let mut files = record.targets.iter().filter(|t| matches!(t.facts, Facts::File(_)));
    let is_file = files.any(|t| t.named == target && t.path.file_name() == target.file_name());
    if !step.rw.changes_data() || record.plan.overwrite || !is_file {
        return target;
    }
    match target.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        folder => folder.unwrap_or(target),
    }
}

/// The `run` command of a step. Consent to overwrite a device is never part of it: the guard asks for that by itself.
pub fn command(record: &Record, judged_promise: &JudgedPromise, step: &Step) -> String {
    let mut words = vec!["volproof".to_string(), "run".into()];
    let targets = record.plan.targets_of(step).iter();
    words.extend(targets.map(|target| kept(record, step, target).display().to_string()));
    words.extend(plain(step).options(&["rw", "bs", "iodepth", "numjobs", "runtime"]));
    if let Some(size) = record.plan.file_size {
        words.extend(["--file-size".into(), size.exact()]);
    }
    if record.plan.overwrite {
        words.push("--overwrite".into());
    }
    words.extend(judged_promise.options.iter().cloned());
    words.iter().map(|word| shell(word)).collect::<Vec<_>>().join(" ")
}

/// The load without what no promise is about: the page cache, flushes, files of its own, amounts, and blocks that are no whole sectors.
fn plain(step: &Step) -> Step {
    let default = Step::default();
    let own_file = step.file_state != default.file_state;
    let rwmix = if step.rw.directions().len() > 1 { step.rwmix } else { default.rwmix };
    let uneven = step.single_block().filter(|block| block.0 % SECTOR != 0);
    let deep_psync = step.engine == EngineKind::Psync && step.iodepth > 1;
    Step {
        bs: uneven.map_or(step.bs.clone(), |b| BlockSizes::one(Bytes(b.0.next_multiple_of(SECTOR)))),
        engine: if deep_psync { default.engine } else { step.engine },
        fsync: default.fsync,
        datasync: default.datasync,
        sync: default.sync,
        direct: default.direct,
        size: step.size.filter(|_| !own_file),
        file_state: default.file_state,
        io_size: None,
        time_based: false,
        cpus: None,
        arrival: default.arrival,
        rwmix,
        ..step.clone()
    }
}

/// Why nothing was judged of a metric that is promised, and the command that tests it.
pub fn untested(record: &Record, judged_promise: &JudgedPromise, metric: Metric) -> Option<Untested> {
    let plan = record.plan.steps.iter().find(|s| direction(s.rw).is_some())?;
    let (reason, step) = match metric {
        Metric::Percentile | Metric::SlowShare => return None,
        Metric::Latency => untested_latency(judged_promise, plan)?,
        Metric::Iops | Metric::Throughput => untested_rate(record, judged_promise, plan, metric)?,
    };
    let command = Some(command(record, judged_promise, &step));
    Some(Untested { application: None, metric, reason, command })
}

fn untested_latency(judged_promise: &JudgedPromise, plan: &Step) -> Option<(String, Step)> {
    let promised = latency_promised(judged_promise)?;
    let first = judged_promise.promise.volumes.first()?;
    let basis = first.latency_basis.clone().unwrap_or_else(|| "one request at a time".into());
    let step = latency_step(judged_promise, plan);
    Some((format!("{promised} are promised ({basis}), and no step runs that"), step))
}

fn untested_rate(
    record: &Record,
    judged_promise: &JudgedPromise,
    plan: &Step,
    metric: Metric,
) -> Option<(String, Step)> {
    let d = direction(plan.rw)?;
    let first = judged_promise.promise.volumes.first()?;
    let iops = judged_promise.promise.iops_cap(d)?;
    let bytes = judged_promise.promise.bytes_cap(d, Reading::Likely)?;
    let knee = Bytes((bytes.value / iops.value) as u64);
    let block = if metric == Metric::Iops { first.iops_block } else { first.throughput_block };
    if PromisedRates::at_block(judged_promise, block, d)?.metric() != metric {
        return None;
    }
    let is_iops = metric == Metric::Iops;
    let side = if is_iops { "below" } else { "above" };
    let shows = |step: &&Step| step.single_block().is_some_and(|b| if is_iops { b < knee } else { b > knee });
    let ran: Vec<&Step> = record.tests().filter_map(|s| record.plan_step(&s.name)).collect();
    let words = if ran.is_empty() {
        "no step was measured".into()
    } else if ran.iter().any(shows) {
        "no step of such blocks could be judged".into()
    } else {
        format!("the steps used {}", distinct(ran.iter().map(|s| s.blocks()).collect()))
    };
    let step = Step {
        bs: BlockSizes::one(block),
        rate_iops: None,
        rate_bw: None,
        iodepth: USUAL_DEPTH,
        runtime: plan.runtime.max(LEAST_QUOTABLE),
        ..plan.clone()
    };
    Some((format!("it shows {side} {knee} a block, and {words}"), step))
}

fn distinct(mut words: Vec<String>) -> String {
    words.dedup();
    words.truncate(4);
    words.join(", ")
}

/// The command that can decide what is open: the missing step, or the deciding one for longer.
pub fn command_to_decide(
    record: &Record,
    judged_promise: &JudgedPromise,
    claim: &Claim,
    answer: &Answer,
) -> Option<String> {
    if answer.missing.is_some() {
        return Some(RESUME.into());
    }
    let more = answer.basis.more_seconds()?;
    let deciding = record.plan_step(claim.row_step())?;
    let runtime = Nanos(deciding.runtime.0.saturating_add(Nanos::seconds(more).0));
    let longer = Step { runtime, ..deciding.clone() };
    Some(command(record, judged_promise, &longer))
}

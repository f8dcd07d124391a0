//! `--precondition`: which method a target needs, whether an earlier run has just done it, and its steps at the start of the plan.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::Failure;
use super::open_targets::NULL_SIZE;
use super::pipeline::RunOptions;
use super::resume::other_target;
use super::targets::{self, Surveyed};
use crate::promise_options::PromiseOptions;
use volproof_base::unit::Bytes;
use volproof_course::finished::is_whole;
use volproof_course::precondition_steps;
use volproof_device::device::{Driver, Facts, Root, cloud};
use volproof_plan::{EngineKind, Plan, Precondition, PreconditionChoice, PreconditionMethod, Step};
use volproof_promise::catalogue::Catalogue;
use volproof_record::Record;

/// An earlier preconditioning holds for this long.
const HOLDS: Duration = Duration::from_secs(3600);
/// A larger Record is not searched for an earlier preconditioning.
const LARGEST_RECORD: u64 = 256 << 20;
/// So many Records are searched for an earlier preconditioning, the latest first.
const MOST_RECORDS: usize = 32;

/// The method that a target needs, and why.
fn by_class(root: &Root, catalogue: &Catalogue, target: &Surveyed) -> (PreconditionMethod, String) {
    use PreconditionMethod::{Fill, None, Snia};
    let device = match &target.facts {
        Facts::Folder(_) => return (None, "the test file is new, and is filled when it is made".into()),
        Facts::File(_) => return (Fill, "a file: its blocks are written once".into()),
        Facts::Block(facts) => &facts.device,
    };
    let volume = cloud::provider(root, catalogue).and_then(|(provider, _)| cloud::volume(provider, device));
    match volume {
        Some(volume) if !volume.local => (
            Fill,
            format!(
                "an elastic volume ({}): one pass also loads what is still in a snapshot",
                volume.evidence
            ),
        ),
        Some(volume) => (Snia, format!("a local disk ({})", volume.evidence)),
        _ if device.driver == Driver::Nvme && !device.rotational => {
            (Snia, "an NVMe disk of no known cloud".into())
        }
        _ => (Fill, "one pass, so that no block was never written".into()),
    }
}

/// The range of a target that the plan uses: that of its steps where they agree, else the whole.
fn range(plan: &Plan, size: Bytes) -> (Bytes, Bytes) {
    let first = &plan.steps[0];
    let agree = plan.steps.iter().all(|s| (s.offset, s.size) == (first.offset, first.size));
    match agree {
        true => (first.offset, first.size.unwrap_or(Bytes(size.0.saturating_sub(first.offset.0)))),
        false => (Bytes(0), size),
    }
}

/// Puts the steps of preconditioning at the start of a plan whose steps are known. `promise` names the catalogue that knows the providers, and
/// `folders` are those in which an earlier run may have left its Record. On a shared volume no earlier run counts: its Record says nothing about
/// the parts that other machines wrote.
///
/// # Errors
/// A preconditioning that the targets or the plan do not allow.
pub fn add(
    plan: Plan,
    choice: Option<PreconditionChoice>,
    promise: &PromiseOptions,
    options: &RunOptions,
    folders: &[PathBuf],
) -> Result<Plan, Failure> {
    let Some(choice) = choice else { return Ok(plan) };
    let root = Root::system();
    let surveyed = targets::survey(&root, &plan, options)?;
    let (mut method, mut why) = match choice {
        PreconditionChoice::Method(method) => (method, "as asked for".to_string()),
        PreconditionChoice::Auto => {
            let catalogue = promise.catalogue().map_err(Failure::input)?;
            surveyed
                .iter()
                .map(|t| by_class(&root, &catalogue, t))
                .max_by_key(|(method, _)| PreconditionMethod::ALL.iter().position(|m| m == method))
                .unwrap_or((PreconditionMethod::Fill, "a simulated device".into()))
        }
    };
    let new = |t: &Surveyed| t.make.is_some() || t.is_only_simulated();
    if method == PreconditionMethod::Fill && !surveyed.is_empty() && surveyed.iter().all(new) {
        (method, why) =
            (PreconditionMethod::None, "the test file is new, and is filled when it is made".into());
    }
    let mut targets: Vec<_> = surveyed.iter().map(|t| (t.named.clone(), t.size)).collect();
    if targets.is_empty() {
        targets.push((Default::default(), NULL_SIZE));
    }
    let offset = range(&plan, targets[0].1).0;
    targets.iter_mut().for_each(|(_, size)| *size = range(&plan, *size).1);
    let first = &plan.steps[0];
    let base = Step {
        // The passes need depth, whatever engine the plan has.
        engine: if first.engine == EngineKind::Null { EngineKind::Null } else { EngineKind::IoUring },
        direct: first.direct,
        compressible: first.compressible,
        simulate: first.simulate.clone(),
        offset,
        ..Step::default()
    };
    let shared = options.rank.as_ref().is_some_and(|rank| rank.volumes.is_shared());
    let folders = if shared { &[] } else { folders };
    let mut steps = precondition_steps::steps(method, &base, &targets);
    if let Some(done) = (!steps.is_empty()).then(|| earlier(folders, &surveyed, &steps)).flatten() {
        (steps, why) = (Vec::new(), done);
    }
    let precondition = Some(Precondition { method, steps: steps.len(), why });
    steps.extend(plan.steps);
    let plan = Plan { steps, precondition, ..plan };
    plan.problem().map_or(Ok(plan), |problem| Err(Failure::input(problem)))
}

/// A run that began within the last hour and did the same to the same targets, in words.
fn earlier(folders: &[PathBuf], surveyed: &[Surveyed], steps: &[Step]) -> Option<String> {
    let now = SystemTime::now();
    // A file that was not written within the hour holds no run of the hour. A new file may still be a copy of an old Record.
    let recent = |entry: std::fs::DirEntry| {
        let path = entry.path();
        let meta = entry.metadata().ok()?;
        let written = meta.modified().ok()?;
        let fresh = now.duration_since(written).is_ok_and(|age| age < HOLDS) && meta.len() <= LARGEST_RECORD;
        (meta.is_file() && fresh && path.extension()? == "json").then_some((written, path))
    };
    let all = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let mut found: Vec<_> = all.filter_map(recent).collect();
    found.sort();
    found.dedup();
    found.into_iter().rev().take(MOST_RECORDS).find_map(|(_, path)| {
        let record = Record::load(&path).ok()?;
        let did = &record.plan.steps[..record.plan.precondition_steps()];
        let whole = |step: &Step| {
            let done = record.steps.iter().find(|done| done.name == step.name);
            done.is_some_and(|done| is_whole(step, done) && done.errors.count == 0)
        };
        let same = |target: &Surveyed| {
            let then = record.targets.iter().find(|t| t.named == target.named);
            then.is_some_and(|then| {
                other_target(&then.facts, &target.facts).is_none() && then.size_bytes == target.size
            })
        };
        let loads = |steps: &[Step]| -> Vec<Step> {
            steps.iter().map(|s| Step { name: String::new(), simulate: None, ..s.clone() }).collect()
        };
        let done = !surveyed.is_empty()
            && surveyed.iter().all(same)
            && loads(did) == loads(steps)
            && did.iter().all(whole);
        let began = record.started.as_ref()?.clone();
        let done = done
            && within_the_hour(&began)
            && surveyed.iter().all(|t| holds_data(t, steps[0].offset, range_of(steps, t.size)));
        done.then(|| format!("done within the last hour by the run of {began} ({})", path.display()))
    })
}

/// Whether a time lies within the hour before now. A run that seems to begin later was timed by another clock.
fn within_the_hour(began: &str) -> bool {
    let age = |at: jiff::Timestamp| jiff::Timestamp::now().duration_since(at);
    let holds = jiff::SignedDuration::from_secs(HOLDS.as_secs() as i64);
    began.parse().is_ok_and(|at| (jiff::SignedDuration::ZERO..holds).contains(&age(at)))
}

/// The length of the range that steps write.
fn range_of(steps: &[Step], size: Bytes) -> Bytes {
    let end =
        steps.iter().map(|s| s.offset.0 + s.size.or(s.io_size).unwrap_or_default().0).max().unwrap_or(0);
    Bytes(end.min(size.0).saturating_sub(steps[0].offset.0))
}

/// Whether blocks all over a range still hold data: a discard of any program since leaves zeros. False where they cannot be read.
fn holds_data(target: &Surveyed, offset: Bytes, range: Bytes) -> bool {
    use std::os::unix::fs::FileExt;
    const LOOKS: u64 = 256;
    let Ok(file) = std::fs::File::open(target.facts.path()) else { return false };
    let mut block = [0u8; 4096];
    (0..LOOKS).all(|i| {
        let at = offset.0 + range.0.saturating_sub(4096) / LOOKS * i / 4096 * 4096;
        file.read_exact_at(&mut block, at).is_ok() && block.iter().any(|byte| *byte != 0)
    })
}

/// The words that an earlier run took the place of the preconditioning; also a quiet run prints them.
pub fn skipped(plan: &Plan) -> Option<String> {
    let by_earlier = |p: &&Precondition| p.steps == 0 && p.method != PreconditionMethod::None;
    plan.precondition.as_ref().filter(by_earlier)?;
    words(plan)
}

/// The preconditioning of a plan in words, with bytes and time; none where the plan has none.
pub fn words(plan: &Plan) -> Option<String> {
    let precondition = plan.precondition.as_ref()?;
    let (method, why) = (precondition.method, &precondition.why);
    if precondition.steps == 0 {
        return Some(format!("nothing is written for preconditioning ({method}): {why}"));
    }
    let bytes = plan.precondition_bytes();
    let time = volproof_report::plan_text::fill_time(bytes);
    Some(format!("preconditioning ({method}, {why}) first writes {bytes}, {} at 100 MiB/s", time.clock()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_counts_for_an_hour_from_its_own_start() {
        let ago = |minutes: i64| {
            let at = jiff::Timestamp::now() - jiff::SignedDuration::from_mins(minutes);
            within_the_hour(&volproof_base::unit::utc(at))
        };
        assert!(ago(1) && ago(59) && !ago(61) && !ago(-5));
        assert!(!within_the_hour("yesterday"));
    }
}

//! `--precondition`: which method a target needs, and its steps at the start of the plan.

use super::open_targets::NULL_SIZE;
use super::run_options::RunOptions;
use super::surveyed::Surveyed;
use super::{Failure, targets};
use crate::promise_options::PromiseOptions;
use volproof_base::unit::Bytes;
use volproof_course::precondition_steps;
use volproof_device::device::{Driver, Facts, Root, cloud};
use volproof_plan::{EngineKind, Plan, Precondition, PreconditionChoice, PreconditionMethod, Step};
use volproof_promise::catalogue::Catalogue;

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
    if !agree {
        return (Bytes(0), size);
    }
    (first.offset, first.size.unwrap_or(Bytes(size.0.saturating_sub(first.offset.0))))
}

/// Puts the steps of preconditioning at the start of a plan whose steps are known. `promise` names the catalogue that knows the providers.
///
/// # Errors
/// A preconditioning that the targets or the plan do not allow.
pub fn add(
    plan: Plan,
    choice: Option<PreconditionChoice>,
    promise: &PromiseOptions,
    options: &RunOptions,
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
    let mut steps = precondition_steps::steps(method, &base, &targets);
    let precondition = Some(Precondition { method, steps: steps.len(), why });
    steps.extend(plan.steps);
    let plan = Plan { steps, precondition, ..plan };
    plan.problem().map_or(Ok(plan), |problem| Err(Failure::input(problem)))
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

//! From arguments to a Plan, and which engine each of its steps will run on.

use std::path::PathBuf;

use fio_formats::jobfile;

use super::run_options::RunOptions;
use super::{Failure, fit_steps, room};
use crate::cli::{PlanArgs, TargetUseArgs};
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::misspelling::none_of;
use volproof_device::device::Root;
use volproof_engine as engine;
use volproof_engine::EngineChoice;
use volproof_fio::fio_process::Fio;
use volproof_fio::write_jobs;
use volproof_plan::{PRESETS, Plan, Preset, Step, parse_beneath};
use volproof_promise::fit::AskedFits;

/// The plan that the arguments ask for. With `--rw` alone it is one ad-hoc step; else the options lie over every step of the
/// preset or plan file. The steps of applications come last, and alone where nothing else is named.
///
/// # Errors
/// Arguments that contradict each other, a plan file that cannot be read, or a plan with a mistake.
pub fn from_args(args: &PlanArgs) -> Result<(Plan, Option<AskedFits>), Failure> {
    if let Some(name) = &args.suite {
        return Err(Failure::input(format!(
            "a suite has a command of its own: volproof suite {name} TARGET"
        )));
    }
    let ad_hoc = args.step.has("rw") && args.preset.is_none() && args.plan.is_none();
    if args.step.has("rw") && !ad_hoc {
        return Err(Failure::input(
            "--rw makes a plan of one step of its own: leave out --rw, or --preset and --plan",
        ));
    }
    let mut plan = if let Some(path) = &args.plan {
        let text = volproof_base::input::read_text(path)
            .map_err(|e| Failure::input(format!("cannot read plan {}: {e}", path.display())))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        parse_beneath(&text, &name, &args.step, args.file.precondition.is_some()).map_err(|e| {
            let way = if jobfile::is_one(&text) {
                format!("; it is a job file of fio: {}", jobfile::ways(path))
            } else {
                String::new()
            };
            Failure::input(format!("plan {}: {e}{way}", path.display()))
        })?
    } else if ad_hoc {
        Plan::new("ad-hoc", vec![Step::default()])
    } else {
        let name = args.preset.as_deref().unwrap_or("standard");
        let unknown = || {
            let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
            Failure::input(format!("--preset {name}: {}", none_of("preset", name, &names)))
        };
        Preset::find(name).ok_or_else(unknown)?.plan()
    };
    for step in &mut plan.steps {
        args.step.apply(step);
        if ad_hoc {
            step.name = step.rw.to_string();
        }
    }
    if let Some((_, text)) = args.step.without_effect(&plan.steps, "--", args.file.precondition.is_some()) {
        return Err(Failure::input(text));
    }
    let mut asked = None;
    if let Some(applications) = &args.fit {
        let alone = !(ad_hoc || args.preset.is_some() || args.plan.is_some());
        if alone && let Some(option) = args.step.other_than(&["runtime", "simulate"]) {
            return Err(Failure::input(format!(
                "{option} would change the loads that the applications publish: leave it out"
            )));
        }
        let mut given = Step::default();
        args.step.apply(&mut given);
        let runtime = args.step.has("runtime").then_some(given.runtime);
        let request = applications.parse().map_err(Failure::input)?;
        let change = |step: &mut Step| fit_steps::change(step, runtime, given.simulate.as_deref());
        let (fits, steps) = fit_steps::select(&request, None, args.beside, &change)?;
        if alone {
            plan.name = format!("fit {request}");
            plan.steps.clear();
        }
        plan.steps.extend(steps);
        asked = Some(fits);
    }
    plan = on_targets(plan, &args.targets);
    plan.seed = args.file.seed.unwrap_or(plan.seed);
    plan.file_size = args.file.file_size.or(plan.file_size);
    plan.keep = args.file.keep;
    plan.overwrite = args.consent.overwrite.is_some();
    plan.continue_on_error |= args.continue_on_error;
    match plan.problem() {
        Some(problem) => Err(Failure::input(problem)),
        None => Ok((plan, asked)),
    }
}

/// A plan on these targets, and on those that its steps name themselves.
pub fn on_targets(mut plan: Plan, targets: &[PathBuf]) -> Plan {
    plan.targets = targets.to_vec();
    for named in plan.steps.iter().flat_map(|s| &s.targets) {
        if !plan.targets.contains(named) {
            plan.targets.push(named.clone());
        }
    }
    plan
}

/// The engine of each step, with a warning where it is not the one asked for. Also checks what only the kernel's limits can tell.
///
/// # Errors
/// An engine that cannot be used here, and a load that the kernel has no room for.
pub fn engines(plan: &Plan, root: &Root) -> Result<(Vec<EngineChoice>, Vec<Doubt>), Failure> {
    let mut choices = Vec::new();
    let mut doubts: Vec<Doubt> = Vec::new();
    for step in &plan.steps {
        let choice =
            engine::choose(step.engine).map_err(|e| Failure::input(format!("step '{}': {e}", step.name)))?;
        if step.fio {
            let fio = |e: &dyn std::fmt::Display| Failure::input(format!("step '{}': {e}", step.name));
            Fio::find().map_err(|e| fio(&e))?;
            write_jobs::sections(step, &[], plan.seed).map_err(Failure::input)?;
        }
        if let Some(why) = &choice.fallback {
            let message = format!("io_uring cannot be used: {why}; libaio took its place");
            if !doubts.iter().any(|w| w.message == message) {
                doubts.push(Doubt::new(
                    Severity::Warning,
                    DoubtCode::EngineFallback,
                    message,
                    "allow io_uring (sysctl kernel.io_uring_disabled=0, or the container's seccomp profile), or ask for --engine libaio",
                ));
            }
        }
        choices.push(choice);
    }
    room::for_rings(plan, &choices, root)?;
    Ok((choices, doubts))
}

/// A plan without steps over these targets, used as the arguments say.
pub(super) fn of_targets(targets: &[PathBuf], using: &TargetUseArgs) -> Plan {
    let plan = Plan::new("", Vec::new());
    Plan {
        targets: targets.to_vec(),
        file_size: using.file.file_size,
        keep: using.file.keep,
        overwrite: using.consent.overwrite.is_some(),
        seed: using.file.seed.unwrap_or(plan.seed),
        ..plan
    }
}

/// The way to run such a plan, beyond what the plan says.
pub(super) fn options(using: &TargetUseArgs) -> RunOptions {
    RunOptions::asked(&using.consent, using.tune)
}

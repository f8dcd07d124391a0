//! `plan`: what `run` with the same arguments would do, and the names that `--preset` and `suite` take.

use super::resume_command::{self, Resumed};
use super::run_command;
use crate::cli::PlanCommand;
use crate::run::surveyed::Surveyed;
use crate::run::{Failure, preconditioning, print, targets};
use volproof_base::unit::{Bytes, Nanos};
use volproof_course::suites;
use volproof_engine::Headrooms;
use volproof_plan::{EngineKind, PRESETS, Plan};
use volproof_record::JudgedPromise;
use volproof_record::exit::Exit;
use volproof_report::{layout, plan_text};

/// `plan`: whatever `run` refuses with the same arguments is refused here too, with the same exit code. Files for results have no use here.
///
/// # Errors
/// Of input, and of the guard.
pub fn plan(args: &PlanCommand) -> Result<Exit, Failure> {
    if args.list {
        return list();
    }
    let args = &args.run;
    if let Some(option) = args.output.named() {
        return Err(Failure::input(format!(
            "plan measures nothing, so there is nothing for {option}: leave it out"
        )));
    }
    let Some(path) = &args.resume else { return run_command::of_run(args)?.tell(forecast) };
    match resume_command::resumed(args, path)? {
        Resumed::Open(measurement) => measurement.tell(forecast),
        Resumed::Done(record) => resume_command::nothing_left(args, path, &record).map(|_| Exit::Done),
    }
}

/// `plan --list`: the presets and the suites.
///
/// # Errors
/// Standard output is closed, or its disk is full.
pub fn list() -> Result<Exit, Failure> {
    let presets = PRESETS.iter().map(|p| {
        let time = p.plan().duration().clock();
        (p.name.to_string(), format!("{}; {time} in all", p.about))
    });
    print(&format!(
        "{}\nSuites (volproof suite NAME TARGET; with --dry-run it says how long it takes)\n{}",
        in_columns(presets.collect()),
        in_columns(suites::list())
    ))
}

/// Names, and beside each what it stands for.
fn in_columns(all: Vec<(String, String)>) -> String {
    let width = all.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    all.iter().map(|(name, about)| layout::wrap(&format!("{name:width$}  "), about)).collect()
}

/// The text of what a plan would do.
pub fn forecast(plan: &Plan, surveyed: &[Surveyed], judged_promise: Option<&JudgedPromise>) -> String {
    let named: Vec<_> = surveyed.iter().map(Surveyed::describe).collect();
    let writing = plan.steps.iter().filter(|s| s.rw.changes_data() && s.engine != EngineKind::Null);
    let written: f64 = writing.map(|s| Nanos(s.ramp.0 + s.runtime.0).as_seconds() * s.forecast_rate()).sum();
    let writes = Bytes(written as u64 * surveyed.len().max(1) as u64);
    let mut headrooms = Headrooms::default();
    let headrooms = plan
        .steps
        .iter()
        .map(|s| headrooms.measure(s, plan.targets_of(s).len(), &|| true))
        .collect::<Vec<_>>();
    let fill = targets::to_fill(surveyed);
    let first = preconditioning::words(plan).map_or(String::new(), |words| layout::wrap("first    ", &words));
    plan_text::plan(plan, &named, judged_promise, writes, fill, &headrooms)
        + &judged_promise.map_or(String::new(), |promise| plan_text::follow_up(plan, promise))
        + &first
}

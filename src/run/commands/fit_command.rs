//! `fit`: the loads that applications publish, and whether the volume meets their needs.

use std::borrow::Cow;
use std::path::Path;

use super::plan_command::forecast;
use crate::cli::FitArgs;
use crate::promise_options::PromiseOptions;
use crate::run::measurement::{Measurement, Words};
use crate::run::run_options::RunOptions;
use crate::run::{Failure, fit_steps, plans, preconditioning, show_text};
use volproof_plan::{Plan, Step};
use volproof_promise::fit::FitRequest;
use volproof_record::exit::Exit;
use volproof_report::fit_text;

/// `fit`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn fit(args: &FitArgs) -> Result<Exit, Failure> {
    if let Some(application) = &args.list {
        return list(application.as_deref(), args.catalog.as_deref());
    }
    let change = |step: &mut Step| fit_steps::change(step, args.runtime, args.simulate.as_ref());
    let catalog = args.catalog.as_deref();
    let Some(applications) = &args.applications else {
        return Err(Failure::input(
            "fit needs --for APP[:GRADE][:KEY=N],...: `volproof fit --list` lists the applications",
        ));
    };
    let request: FitRequest = applications.parse().map_err(Failure::input)?;
    let (mut asked, steps) = fit_steps::select(&request, catalog, args.beside, &change)?;
    asked.add_own_needs(&args.needs, &steps).map_err(Failure::input)?;
    let plan =
        Plan { name: format!("fit {request}"), steps, ..plans::of_targets(&args.targets, &args.using) };
    if let Some(problem) = plan.problem() {
        return Err(Failure::input(problem));
    }
    let promise = PromiseOptions::default();
    let options = RunOptions { asked: Some(asked), ..plans::options(&args.using) };
    let plan = preconditioning::add(plan, args.using.file.precondition, &promise, &options)?;
    let measurement = Measurement {
        plan,
        options,
        promise: Cow::Owned(promise),
        output: &args.output,
        cross: None,
        earlier: None,
    };
    if args.dry_run {
        return measurement.tell(forecast);
    }
    measurement.run(Words { before: String::new(), after: |_| String::new() })
}

/// `fit --list`: the applications that are known, or one with its load, needs and sources.
///
/// # Errors
/// A catalogue of applications that cannot be read, or an unknown application.
pub fn list(application: Option<&str>, catalog: Option<&Path>) -> Result<Exit, Failure> {
    let catalogue = fit_steps::catalogue(catalog)?;
    match application {
        None => show_text(&fit_text::list(&catalogue)),
        Some(id) => show_text(&fit_text::application(&catalogue, id).map_err(Failure::input)?),
    }
}

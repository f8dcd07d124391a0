//! `fit`: the loads that applications publish, and whether the volume meets their needs.

use std::borrow::Cow;

use super::plan_command::forecast;
use crate::cli::FitArgs;
use crate::exit::Exit;
use crate::fit::FitRequest;
use crate::output::FileIdentity;
use crate::plan::{Plan, Step};
use crate::promise_options::PromiseOptions;
use crate::run::measurement::{Measurement, Words};
use crate::run::pipeline::RunOptions;
use crate::run::{Failure, fit_steps, plans, preconditioning};

/// `fit`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn fit(args: &FitArgs) -> Result<Exit, Failure> {
    let change = |step: &mut Step| fit_steps::change(step, args.runtime, args.simulate.as_ref());
    let catalog = args.catalog.as_deref();
    let request: FitRequest = args.applications.parse().map_err(Failure::input)?;
    let (mut asked, steps) = fit_steps::select(&request, catalog, args.beside, &change)?;
    asked.judge_simulated = args.judge_simulated;
    let plan =
        Plan { name: format!("fit {request}"), steps, ..plans::of_targets(&args.targets, &args.using) };
    if let Some(problem) = plan.problem() {
        return Err(Failure::input(problem));
    }
    let promise = PromiseOptions::default();
    let options = RunOptions { asked: Some(asked), ..plans::options(&args.using) };
    let plan =
        preconditioning::add(plan, args.using.file.precondition, &promise, &options, &args.output.folders())?;
    let inputs =
        args.catalog.iter().map(|path| (format!("--catalog {}", path.display()), FileIdentity::of(path)));
    let measurement = Measurement {
        plan,
        options,
        promise: Cow::Owned(promise),
        output: &args.output,
        cross: None,
        earlier: None,
        inputs: inputs.collect(),
    };
    match args.dry_run {
        true => measurement.tell(forecast),
        false => measurement.run(Words { before: String::new(), after: |_| String::new() }),
    }
}

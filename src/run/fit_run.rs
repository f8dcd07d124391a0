//! `fit`: the loads that applications publish, and whether the volume meets their needs.

use std::borrow::Cow;
use std::path::Path;

use super::measurement::{Measurement, Words};
use super::pipeline::Options;
use super::{Failure, forecast, plans, preconditioning, print};
use crate::cli::{FitArgs, FitsArgs};
use crate::exit::Exit;
use crate::fit::{AskedFits, Disturbance, FitCatalogue, FitRequest};
use crate::output::FileIdentity;
use crate::plan::{EngineKind, Plan, Simulated, Step};
use crate::report::fit_text;
use crate::unit::Nanos;

/// The shipped applications, with those of a user's file on top.
fn catalogue(path: Option<&Path>) -> Result<Cow<'static, FitCatalogue>, Failure> {
    match path {
        Some(path) => FitCatalogue::with_file(path).map(Cow::Owned).map_err(Failure::input),
        None => Ok(Cow::Borrowed(FitCatalogue::shipped())),
    }
}

/// `fits`.
///
/// # Errors
/// Of input.
pub fn fits(args: &FitsArgs) -> Result<Exit, Failure> {
    let catalogue = catalogue(args.catalog.as_deref())?;
    match &args.application {
        None => print(&fit_text::list(&catalogue)),
        Some(id) => print(&fit_text::application(&catalogue, id).map_err(Failure::input)?),
    }
}

/// The applications that a run is for, and their steps.
///
/// # Errors
/// Of input.
pub(super) fn select(
    request: &FitRequest,
    catalog: Option<&Path>,
    disturbance: Option<Disturbance>,
    change: &dyn Fn(&mut Step),
) -> Result<(AskedFits, Vec<Step>), Failure> {
    let (mut asked, mut steps) = request.select(catalogue(catalog)?.as_ref()).map_err(Failure::input)?;
    steps.iter_mut().for_each(change);
    if let Some(disturbance) = disturbance {
        steps = asked.disturb(steps, disturbance);
    }
    Ok((asked, steps))
}

/// Changes a published load where a user may: its length, and the volume.
pub(super) fn change(step: &mut Step, runtime: Option<Nanos>, simulate: Option<&Simulated>) {
    step.runtime = runtime.unwrap_or(step.runtime);
    if let Some(device) = simulate {
        (step.simulate, step.engine, step.direct) = (Some(device.clone()), EngineKind::Null, true);
    }
}

/// `fit`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn fit(args: &FitArgs) -> Result<Exit, Failure> {
    let change = |step: &mut Step| self::change(step, args.runtime, args.simulate.as_ref());
    let catalog = args.catalog.as_deref();
    let request: FitRequest = args.applications.parse().map_err(Failure::input)?;
    let (mut asked, steps) = select(&request, catalog, args.beside, &change)?;
    asked.judge_simulated = args.judge_simulated;
    let plan =
        Plan { name: format!("fit {request}"), steps, ..plans::of_targets(&args.targets, &args.using) };
    if let Some(problem) = plan.problem() {
        return Err(Failure::input(problem));
    }
    let options = Options { asked: Some(asked), ..plans::options(&args.using) };
    let plan = preconditioning::add(plan, args.using.file.precondition, &options, &args.output.folders())?;
    let inputs =
        args.catalog.iter().map(|path| (format!("--catalog {}", path.display()), FileIdentity::of(path)));
    let measurement = Measurement {
        plan,
        options,
        claim: Cow::default(),
        output: &args.output,
        cross: None,
        inputs: inputs.collect(),
    };
    match args.dry_run {
        true => measurement.tell(forecast),
        false => measurement.run(Words { before: String::new(), after: |_| String::new() }),
    }
}

//! The applications whose needs a run is held against, and the steps that show them.

use std::borrow::Cow;
use std::path::Path;

use super::Failure;
use volproof_base::unit::Nanos;
use volproof_plan::{EngineKind, Simulated, Step};
use volproof_promise::fit::{AskedFits, Disturbance, FitCatalogue, FitRequest};

/// The shipped applications, with those of a user's file on top.
///
/// # Errors
/// The file cannot be read, or is no catalogue of applications.
pub fn catalogue(path: Option<&Path>) -> Result<Cow<'static, FitCatalogue>, Failure> {
    match path {
        Some(path) => FitCatalogue::with_file(path).map(Cow::Owned).map_err(Failure::input),
        None => Ok(Cow::Borrowed(FitCatalogue::shipped())),
    }
}

/// The applications that a run is for, and their steps.
///
/// # Errors
/// An unknown application or key.
pub fn select(
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
pub fn change(step: &mut Step, runtime: Option<Nanos>, simulate: Option<&Simulated>) {
    step.runtime = runtime.unwrap_or(step.runtime);
    if let Some(device) = simulate {
        (step.simulate, step.engine) = (Some(Box::new(device.clone())), EngineKind::Null);
        // Only writes that are flushed have a page cache in front of a simulated volume.
        step.direct |= step.fsync == 0;
    }
}

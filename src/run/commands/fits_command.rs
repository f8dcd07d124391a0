//! `fits`: the applications that `fit` knows.

use crate::cli::FitsArgs;
use crate::exit::Exit;
use crate::report::fit_text;
use crate::run::{Failure, fit_steps, print};

/// `fits`.
///
/// # Errors
/// Of input.
pub fn fits(args: &FitsArgs) -> Result<Exit, Failure> {
    let catalogue = fit_steps::catalogue(args.catalog.as_deref())?;
    match &args.application {
        None => print(&fit_text::list(&catalogue)),
        Some(id) => print(&fit_text::application(&catalogue, id).map_err(Failure::input)?),
    }
}

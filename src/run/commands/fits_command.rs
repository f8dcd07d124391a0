//! `fits`: the applications that `fit` knows.

use crate::cli::FitsArgs;
use crate::exit::Exit;
use crate::report::fit_text;
use crate::run::{Failure, fit_steps, show_text};

/// `fits`.
///
/// # Errors
/// A catalogue of applications that cannot be read, or an unknown application.
pub fn fits(args: &FitsArgs) -> Result<Exit, Failure> {
    let catalogue = fit_steps::catalogue(args.catalog.as_deref())?;
    match &args.application {
        None => show_text(&fit_text::list(&catalogue)),
        Some(id) => show_text(&fit_text::application(&catalogue, id).map_err(Failure::input)?),
    }
}

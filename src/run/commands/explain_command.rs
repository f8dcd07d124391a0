//! `explain`: Records and reports of other tools in plain words.

use crate::exit::Exit;
use crate::explain::{self, ExplainArgs};
use crate::run::{Failure, chain, print, show_text};

/// `explain`.
///
/// # Errors
/// Files that cannot be read or are no result, and a promise that cannot be told.
pub fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    let told = explain::answer(args).map_err(|e| Failure::input(chain(&e)))?;
    if args.json {
        print(&told.text)?
    } else {
        show_text(&told.text)?
    };
    match told.refused.is_empty() {
        true => Ok(told.exit),
        false => Err(Failure::input(told.refused.join("\nvolproof: "))),
    }
}

//! `explain`: Records and reports of other tools in plain words.

use crate::explain::{self, ExplainArgs};
use crate::run::{Failure, chain, code_after_outputs, print, show_text};
use volproof_record::exit::Exit;

/// `explain`.
///
/// # Errors
/// Files that cannot be read or are no result, and a promise that is not known.
pub fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    let told = explain::answer(args).map_err(|e| Failure::input(chain(&e)))?;
    let printed = if args.json { print(&told.text) } else { show_text(&told.text) };
    let exit = code_after_outputs([printed], told.exit)?;
    if told.refused.is_empty() {
        return Ok(exit);
    }
    Err(Failure::input(told.refused.join("\nvolproof: ")))
}

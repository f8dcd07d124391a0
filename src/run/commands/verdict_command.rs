//! `verdict`: a stored Record, or a report of another tool, held against a promise.

use crate::cli::VerdictCommand;
use crate::result_file;
use crate::run::results::StoredSheets;
use crate::run::{Failure, chain, code_after_outputs, print, show_text};
use crate::stored_verdict;
use volproof_record::exit::Exit;

/// `verdict`.
///
/// # Errors
/// Of input, and an output that cannot be written.
pub fn verdict(args: &VerdictCommand) -> Result<Exit, Failure> {
    let judge = &args.judge;
    let mut sheets = StoredSheets::open(&args.sheets)?;
    let mut record = result_file::load_only(&judge.record).map_err(Failure::input)?;
    let (text, exit) = stored_verdict::answer(judge, &mut record).map_err(|e| Failure::input(chain(&e)))?;
    let printed = match (sheets.takes_stdout(), judge.json) {
        (true, _) => Ok(Exit::Done),
        (false, true) => print(&text),
        (false, false) => show_text(&text),
    };
    let printed = printed.and_then(|_| print(&sheets.annotations(&record)));
    code_after_outputs([printed, sheets.save(&record)], exit)
}

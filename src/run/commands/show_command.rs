//! `show`: stored Records, printed as `run` printed them.

use crate::cli::{SheetArgs, ShowArgs};
use crate::exit::Exit;
use crate::report::headline::Headline;
use crate::report::{csv, summary_text};
use crate::result_file;
use crate::run::results::StoredSheets;
use crate::run::{Failure, code_after_outputs, input_of, print, show_text, tell_of_others};

/// `show`.
///
/// # Errors
/// Of input, and an output that cannot be written.
pub fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let SheetArgs { junit, openmetrics, markdown, .. } = &args.sheets;
    let files = [junit, openmetrics, markdown].into_iter().any(Option::is_some);
    if (args.csv || files) && args.records.len() > 1 {
        return Err(Failure::input(match args.csv {
            true => {
                "--csv prints one result on standard output and takes no file: name one Record, as in volproof show --csv RECORD > FILE"
            }
            false => "an output file holds one result: name one Record",
        }));
    }
    let mut unread = Vec::new();
    for (i, path) in args.records.iter().enumerate() {
        let mut sheets = StoredSheets::open(&args.sheets, &[input_of(path)])?;
        if args.csv && sheets.takes_stdout() {
            return Err(Failure::input("--csv prints on standard output: name a file with the other option"));
        }
        let record = match result_file::load(path) {
            Ok(record) => record,
            // The others may be read.
            Err(e) => {
                unread.push(Failure::input(e).message);
                continue;
            }
        };
        tell_of_others(path, &record);
        let saved = sheets.save(&record);
        if sheets.takes_stdout() {
            saved?;
            continue;
        }
        let title = match (args.records.len(), args.quiet) {
            (1, _) => String::new(),
            (_, true) => format!("{}: ", path.display()),
            _ => format!("{}{}\n", if i > 0 { "\n" } else { "" }, path.display()),
        };
        let printed = match args.csv {
            true => print(&csv::csv(&record)),
            false if args.quiet => show_text(&(title + &Headline::of(&record).line())),
            false => show_text(&(title + &summary_text::shown(&record, args.details))),
        };
        code_after_outputs([printed, saved], Exit::Done)?;
    }
    if unread.is_empty() { Ok(Exit::Done) } else { Err(Failure::input(unread.join("\nvolproof: "))) }
}

//! `merge`: the Records of machines that ran one plan, as one Record.

use std::path::Path;

use crate::cli::MergeArgs;
use crate::merge;
use crate::run::results::{StoredSheets, place_told};
use crate::run::sheet::Sheet;
use crate::run::{Failure, chain, code_after_outputs, print, show_text};
use volproof_device::output::{OutputFile, OutputKind};
use volproof_judge as judge;
use volproof_record::exit::Exit;
use volproof_report::headline::Headline;
use volproof_report::summary_text;

/// `merge`.
///
/// # Errors
/// Of input, and an output that cannot be written.
pub fn merge(args: &MergeArgs) -> Result<Exit, Failure> {
    let file = match &args.output {
        Some(path) => crate::run::sole_output("--output", path, OutputKind::Record, args.sheets.force)?,
        None => {
            let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
            OutputFile::fresh("--output", Path::new("."), format!("volproof-fleet-{now}"), "json")?
        }
    };
    let mut sheets = StoredSheets::open(&args.sheets)?;
    let prints = !file.is_stdout() && !sheets.takes_stdout();
    let record = merge::answer(&args.records, &args.promise).map_err(|e| Failure::input(chain(&e)))?;
    let mut sheet = Sheet::of_record(file);
    let saved = sheet.save_stored(&record);
    if saved.is_ok() && !sheet.file().is_stream() {
        record.saved_as.set(sheet.file().path());
    }
    let text = match args.quiet {
        _ if !prints => String::new(),
        true => Headline::of_record(&record).line(),
        false if saved.is_err() || sheet.file().is_stream() => summary_text::shown(&record, args.details),
        false => {
            let text = summary_text::shown(&record, args.details);
            format!("{text}\n{}\n", place_told(sheet.file().path()))
        }
    };
    let printed = show_text(&text).and_then(|_| print(&sheets.annotations(&record)));
    code_after_outputs([saved, sheets.save(&record), printed], Exit::Done)?;
    Ok(judge::exit(&record))
}

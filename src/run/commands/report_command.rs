//! `report`: a Record as a page.

use std::path::Path;

use crate::cli::ReportArgs;
use crate::evidence_files;
use crate::result_file::{self, Found};
use crate::run::{Failure, chain, output, print, save_output, sole_output, tell_of_others};
use volproof_device::output::{OutputFile, OutputKind};
use volproof_record::exit::Exit;
use volproof_report::{evidence_words, html};

/// `report`.
///
/// # Errors
/// Of input, and an output that cannot be written.
pub fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let mut output = match (&args.output, args.record.file_stem()) {
        (Some(path), _) => sole_output("-o", path, OutputKind::Html, args.force)?,
        // The user did not name this file: an existing file of its name stays.
        (None, Some(stem)) if args.record != Path::new("-") => {
            OutputFile::fresh("-o", Path::new(""), stem, "html")?
        }
        (None, _) => output("-o", Path::new("-"), OutputKind::Html, false)?,
    };
    let stream = output.is_stream();
    match result_file::found(&args.record).map_err(Failure::input)? {
        Found::Watch(_) if !args.evidence.is_empty() => {
            return Err(Failure::input(
                "--evidence is held beside the steps of a Record, and a watch has none",
            ));
        }
        Found::Watch(history) => {
            let page = html::watch_page::page(&history).map_err(|e| Failure::new(Exit::RunFailed, e))?;
            save_output(&mut output, &|out| out.write_all(page.as_bytes()))?;
        }
        other => {
            let mut record = other.one_of_file(&args.record).map_err(Failure::input)?;
            let evidence = evidence_files::beside(&args.evidence, &mut record);
            let evidence = evidence.map_err(|e| Failure::input(chain(&e)))?;
            let evidence = evidence.as_ref().map(evidence_words::text).unwrap_or_default();
            tell_of_others(&args.record, &record);
            save_output(&mut output, &|out| html::write_with_evidence(&record, &evidence, out))?;
        }
    }
    if stream { Ok(Exit::Done) } else { print(&format!("Page: {}\n", output.path().display())) }
}

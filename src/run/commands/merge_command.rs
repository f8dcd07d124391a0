//! `merge`: the Records of machines that ran one plan, as one Record.

use std::path::Path;

use crate::cli::MergeArgs;
use crate::exit::Exit;
use crate::merge;
use crate::output::{self, OutputFile};
use crate::report::headline::Headline;
use crate::report::summary_text;
use crate::run::results::StoredSheets;
use crate::run::{Failure, chain, deliver, given, input_of, show_text};

/// `merge`.
///
/// # Errors
/// Of input, and an output that cannot be written.
pub fn merge(args: &MergeArgs) -> Result<Exit, Failure> {
    let mut file = match &args.output {
        Some(path) => crate::run::output("--output", path)?,
        None => {
            let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
            OutputFile::fresh("--output", Path::new("."), format!("volproof-fleet-{now}"), "json")?
        }
    };
    let inputs: Vec<_> = args.records.iter().chain(&args.claim.catalog).map(|path| input_of(path)).collect();
    output::apart(&[&file], &inputs)?;
    let mut sheets = StoredSheets::open(&args.sheets, &inputs)?;
    let prints = !file.is_stdout() && !sheets.takes_stdout();
    let record = merge::answer(&args.records, &args.claim).map_err(|e| Failure::input(chain(&e)))?;
    let saved = deliver(&mut file, &|out| record.write(out));
    let path = file.path().display();
    let text = match args.quiet {
        _ if !prints => String::new(),
        true => Headline::of(&record).line(),
        false if saved.is_err() || file.is_stream() => summary_text::shown(&record, args.details),
        false => {
            let text = summary_text::shown(&record, args.details);
            format!("{text}\nRecord: {path}\n  print it again: volproof show {path}\n")
        }
    };
    given([saved, sheets.save(&record), show_text(&text)], Exit::Done)?;
    Ok(merge::exit(&record))
}

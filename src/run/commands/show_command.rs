//! `show`: stored Records, printed as `run` printed them, and reports of other tools in plain words.

use std::path::Path;

use crate::cli::{SheetArgs, ShowArgs};
use crate::evidence_files;
use crate::explain;
use crate::result_file::{self, Found};
use crate::run::leftover::tell_of_test_files;
use crate::run::results::StoredSheets;
use crate::run::{Failure, chain, code_after_outputs, print, show_text, tell_of_others};
use volproof_base::input;
use volproof_record::State;
use volproof_record::exit::Exit;
use volproof_report::headline::Headline;
use volproof_report::{csv, evidence_words, summary_text, watch_text};
use volproof_watch::{WatchAnswer, WatchHistory};

/// `show`.
///
/// # Errors
/// Of input, and an output that cannot be written.
pub fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    refuse_several(args)?;
    if is_in_words(args) && args.records.len() > 1 && args.records.iter().all(|path| holds_reports(path)) {
        return in_words(args);
    }
    let mut failed: Vec<Failure> = Vec::new();
    for (i, path) in args.records.iter().enumerate() {
        // The others may be read.
        failed.extend(one(args, path, i).err());
    }
    let Some(first) = failed.first() else { return Ok(Exit::Done) };
    let messages: Vec<&str> = failed.iter().map(|failure| failure.message.as_str()).collect();
    Err(Failure { code: first.code, message: messages.join("\nvolproof: ") })
}

/// Refuses outputs that hold one result where several are named.
fn refuse_several(args: &ShowArgs) -> Result<(), Failure> {
    let SheetArgs { junit, openmetrics, markdown, .. } = &args.sheets;
    let files = [junit, openmetrics, markdown].into_iter().any(Option::is_some);
    if args.csv && args.records.len() > 1 {
        return Err(Failure::input(
            "--csv prints one result on standard output and takes no file: name one Record, as in volproof show --csv RECORD > FILE",
        ));
    }
    if !args.evidence.is_empty() && args.records.len() > 1 {
        return Err(Failure::input("--evidence is held beside one Record: name one"));
    }
    if files && args.records.len() > 1 {
        return Err(Failure::input("an output file holds one result: name one Record"));
    }
    Ok(())
}

/// Plain words are asked for, and no line or table.
fn is_in_words(args: &ShowArgs) -> bool {
    !args.csv && !args.quiet && !args.details
}

/// Whether a file holds reports of other tools. A pipe can be read once, so that it is not asked.
pub fn holds_reports(path: &Path) -> bool {
    let bytes = path.is_file().then(|| input::read(path).ok()).flatten();
    bytes.is_some_and(|bytes| matches!(result_file::of_bytes(&bytes, path), Ok(Found::Reports(_))))
}

/// All reports in plain words, and a table of them.
fn in_words(args: &ShowArgs) -> Result<Exit, Failure> {
    let text = explain::of_reports(&args.records).map_err(|e| Failure::input(chain(&e)))?;
    show_text(&text)
}

/// Prints the answer of a watch.
fn show_watch(args: &ShowArgs, path: &Path, history: &WatchHistory) -> Result<(), Failure> {
    let SheetArgs { junit, openmetrics, markdown, .. } = &args.sheets;
    if args.csv || [junit, openmetrics, markdown].into_iter().any(Option::is_some) {
        let message = format!("{} is the file of a watch: show prints it as text", path.display());
        return Err(Failure::input(message));
    }
    let answer = WatchAnswer::of_history(history);
    show_text(&watch_text::answer(history, &answer, None)).map(|_| ())
}

/// Prints one file, the i-th.
fn one(args: &ShowArgs, path: &Path, i: usize) -> Result<(), Failure> {
    let named = input::named(path);
    let bytes = input::read(path).map_err(|e| {
        let unread = anyhow::Error::from(e).context(format!("cannot read {}", named.display()));
        Failure::input(chain(&unread))
    })?;
    let found = result_file::of_bytes(&bytes, named).map_err(Failure::input)?;
    if let Found::Watch(history) = &found {
        return show_watch(args, path, history);
    }
    let mut sheets = StoredSheets::open(&args.sheets)?;
    if args.csv && sheets.takes_stdout() {
        return Err(Failure::input("--csv prints on standard output: name a file with the other option"));
    }
    // A Record that was made of a report is shown as other Records are.
    let is_report = matches!(found, Found::Reports(_));
    let mut record = found.one_of_file(path).map_err(Failure::input)?;
    let words = if is_report && is_in_words(args) {
        Some(explain::of_report(named, &bytes).map_err(|e| Failure::input(chain(&e)))?)
    } else {
        None
    };
    drop(bytes);
    let evidence =
        evidence_files::beside(&args.evidence, &mut record).map_err(|e| Failure::input(chain(&e)))?;
    let evidence = evidence.as_ref().map(evidence_words::text).unwrap_or_default();
    if record.state == State::Running {
        let left = record.targets.iter().filter(|target| target.is_test_file());
        left.filter_map(|target| target.path.parent()).for_each(tell_of_test_files);
    }
    if words.is_none() {
        tell_of_others(path, &record);
    }
    let saved = sheets.save(&record);
    if sheets.takes_stdout() {
        saved?;
        return Ok(());
    }
    let title = match (args.records.len(), args.quiet) {
        (1, _) => String::new(),
        (_, true) => format!("{}: ", path.display()),
        _ => format!("{}{}\n", if i > 0 { "\n" } else { "" }, path.display()),
    };
    let printed = if args.csv {
        print(&csv::csv(&record))
    } else if args.quiet {
        show_text(&(title + &Headline::of_record(&record).line()))
    } else if let Some(words) = words {
        show_text(&(title + &words))
    } else {
        show_text(&(title + &summary_text::shown(&record, args.details) + &evidence))
    };
    let printed = printed.and_then(|_| print(&sheets.annotations(&record)));
    code_after_outputs([printed, saved], Exit::Done)?;
    Ok(())
}

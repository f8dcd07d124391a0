//! `history`: the runs of each volume in a folder of Records, and where a level changed.

use std::path::{Path, PathBuf};

use crate::cli::HistoryArgs;
use crate::history_folder;
use crate::run::{
    Failure, code_after_outputs, leftover, output, print, records_below, save_output, show_text,
};
use volproof_base::foreign_lines::in_one_line;
use volproof_base::shell_word::shell_path;
use volproof_device::output::{OutputFile, OutputKind, apart};
use volproof_history::RunHistory;
use volproof_record::exit::Exit;
use volproof_report::html::history_page;
use volproof_report::{history_sheets, history_text};

/// `history`.
///
/// # Errors
/// Of input, and an output that cannot be written.
pub fn history(args: &HistoryArgs) -> Result<Exit, Failure> {
    let folder = named_folder(args.folder.as_deref())?;
    let mut sheets = opened(args, &folder)?;
    let mut history = read(&folder)?;
    if let Some(id) = &args.volume {
        history.volumes.retain(|volume| volume.volume.as_ref().is_some_and(|volume| volume.contains(id)));
    }
    let name = folder.display().to_string();
    let mut done = Vec::new();
    for (file, kind) in &mut sheets {
        let text = content(*kind, &history, &name)?;
        done.push(save_output(file, &|out| out.write_all(text.as_bytes())));
    }
    if sheets.iter().any(|(file, _)| file.is_stdout()) {
        return code_after_outputs(done, Exit::Done);
    }
    done.push(if args.json {
        let text = serde_json::to_string_pretty(&history).map_err(|e| Failure::new(Exit::RunFailed, e))?;
        print(&(text + "\n"))
    } else {
        history.damaged.iter_mut().for_each(|damaged| damaged.file = in_one_line(&damaged.file).into_owned());
        show_text(&history_text::text(&history, &in_one_line(&name)))
    });
    code_after_outputs(done, Exit::Done)
}

/// The folder that is meant.
///
/// # Errors
/// No folder is named, and this user has none.
pub fn named_folder(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let folder = named.map(Path::to_path_buf).or_else(history_folder::default_folder);
    folder.ok_or_else(|| {
        let variable = history_folder::VARIABLE;
        Failure::input(format!(
            "no history is kept ({variable} is empty, or there is no home): name a folder of Records"
        ))
    })
}

/// The history in a folder.
///
/// # Errors
/// Of input: the folder cannot be read.
pub fn read(folder: &Path) -> Result<RunHistory, Failure> {
    leftover::tell_of_outputs([folder.join("any").as_path()]);
    history_folder::read(folder).map_err(|e| {
        let name = folder.display();
        let why = match e.kind() {
            std::io::ErrorKind::NotFound => {
                "there is no such folder; finished runs make the usual one, or name a folder of Records"
                    .into()
            }
            std::io::ErrorKind::NotADirectory => {
                format!("it is no folder; `volproof show {}` prints one Record", shell_path(folder))
            }
            _ => e.to_string(),
        };
        Failure::input(format!("cannot read the history in {name}: {why}"))
    })
}

/// The outputs that were asked for.
fn opened(args: &HistoryArgs, folder: &Path) -> Result<Vec<(OutputFile, OutputKind)>, Failure> {
    let asked = [
        ("--html", &args.html, OutputKind::Html),
        ("--csv", &args.csv, OutputKind::Csv),
        ("--sql", &args.sql, OutputKind::Sql),
    ];
    let mut sheets = Vec::new();
    for (option, path, kind) in asked {
        if let Some(path) = path {
            sheets.push((output(option, path, kind, args.force)?, kind));
        }
    }
    let files: Vec<&OutputFile> = sheets.iter().map(|(file, _)| file).collect();
    // The usual folder has no name on the command line.
    apart(&files, &records_below("the history", folder))?;
    Ok(sheets)
}

fn content(kind: OutputKind, history: &RunHistory, folder: &str) -> Result<String, Failure> {
    match kind {
        OutputKind::Html => history_page::page(history, folder).map_err(|e| Failure::new(Exit::RunFailed, e)),
        OutputKind::Sql => Ok(history_sheets::sql(history)),
        _ => Ok(history_sheets::csv(history)),
    }
}

//! What a command prints and saves.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::failure::{Failure, unanswered};
use super::leftover;
use crate::cli::NamedInput;
use crate::history_folder;
use crate::ui;
use volproof_device::device::Root;
use volproof_device::guard;
use volproof_device::output::{
    self, Content, FileIdentity, MisplacedOutput, OutputError, OutputFile, OutputKind, screen,
};
use volproof_record::Record;
use volproof_record::exit::Exit;

/// Prints an answer that carries its exit code.
pub(super) fn print_with_code(answer: anyhow::Result<(String, Exit)>) -> Result<Exit, Failure> {
    let (text, exit) = answer.map_err(|e| unanswered(&e))?;
    code_after_outputs([print(&text)], exit)
}

/// The exit code of an answer that went to several outputs. An output that failed turns 0 into 7, and leaves any other code.
pub(super) fn code_after_outputs(
    places: impl IntoIterator<Item = Result<Exit, Failure>>,
    exit: Exit,
) -> Result<Exit, Failure> {
    let lost: Vec<String> = places.into_iter().filter_map(|p| Some(p.err()?.message)).collect();
    match (lost.is_empty(), exit) {
        (true, exit) => Ok(exit),
        (false, Exit::Done) => Err(Failure::new(Exit::RunFailed, lost.join("\n"))),
        (false, exit) => {
            lost.iter().for_each(|message| ui::tell(message));
            Ok(exit)
        }
    }
}

/// Writes results to standard output.
pub(super) fn print(text: &str) -> Result<Exit, Failure> {
    screen::print(text).map(|()| Exit::Done).map_err(unprinted)
}

/// Writes a text for people to standard output.
pub(super) fn show_text(text: &str) -> Result<Exit, Failure> {
    screen::show(text).map(|()| Exit::Done).map_err(unprinted)
}

fn unprinted(e: std::io::Error) -> Failure {
    Failure::new(Exit::RunFailed, format!("standard output: {e}"))
}

/// Opens an output. The guard checks a file that exists, whether it is replaced or written in place: a result must not overwrite a disk
/// image in use or a swap file either. Standard output is not checked, since the shell has emptied its file already. A file that holds something
/// other than such an output is replaced with `force` alone.
pub(super) fn output(
    option: &str,
    path: &Path,
    kind: OutputKind,
    force: bool,
) -> Result<OutputFile, Failure> {
    let output = OutputFile::open(option, path)?;
    leftover::tell_of_outputs([path]);
    let output = if force { output } else { output.of_kind(kind) };
    spares_inputs(&output)?;
    if let Some(existing) = output.existing().filter(|_| !output.is_stdout()) {
        guard::check_overwrite(&Root::system(), &existing, true)?;
    }
    Ok(output)
}

/// The output of a command that has no other.
pub(super) fn sole_output(
    option: &str,
    path: &Path,
    kind: OutputKind,
    force: bool,
) -> Result<OutputFile, Failure> {
    let output = output(option, path, kind, force)?;
    output::apart(&[&output], &[])?;
    Ok(output)
}

/// What the command line names for the command to read or to measure.
static INPUTS: OnceLock<Vec<NamedInput>> = OnceLock::new();

/// From now on no output replaces one of these.
pub(super) fn no_output_replaces(inputs: Vec<NamedInput>) {
    let _ = INPUTS.set(inputs);
}

/// The files that no output may be, and the words that name them.
fn inputs() -> &'static [(String, FileIdentity)] {
    static FILES: OnceLock<Vec<(String, FileIdentity)>> = OnceLock::new();
    let named = INPUTS.get().map_or(&[][..], Vec::as_slice);
    FILES.get_or_init(|| {
        let mut files = Vec::new();
        for input in named {
            files.push((input.words.clone(), FileIdentity::from_path(&input.path)));
            if !input.is_target {
                files.extend(records_below(&input.words, &input.path));
            }
        }
        files
    })
}

/// The Records of a folder that is read, and the words that name them; nothing of a file.
pub(super) fn records_below(words: &str, folder: &Path) -> Vec<(String, FileIdentity)> {
    let records = history_folder::records_in(folder).unwrap_or_default();
    let named = |path: &PathBuf| (format!("a Record of {words}"), FileIdentity::from_path(path));
    records.iter().map(named).collect()
}

/// Refuses an output that is one of the files which the command line names to be read.
pub(super) fn spares_inputs(output: &OutputFile) -> Result<(), OutputError> {
    output::differ(&[output], inputs())
}

/// Saves the whole text of an output that can be made again; in the temporary folder where its own place does not take it. A reader that
/// has gone away, as `head` does, is no error.
pub(super) fn save_output(output: &mut OutputFile, content: Content<'_>) -> Result<Exit, Failure> {
    let e = match output.save(content) {
        Ok(()) => return Ok(Exit::Done),
        Err(e) if output.is_stream() && e.kind() == ErrorKind::BrokenPipe => return Ok(Exit::Done),
        Err(e) => e,
    };
    Err(Failure::new(Exit::RunFailed, MisplacedOutput::save(output.path(), e, content)))
}

/// Says that a file holds more reports than the one in this Record.
pub fn tell_of_others(path: &Path, record: &Record) {
    let told = record.report.as_ref().and_then(|report| report.told_beside());
    if let Some(told) = told {
        ui::tell(&format!("{}: {told}", path.display()));
    }
}

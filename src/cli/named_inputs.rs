//! The files and folders that a command line names for the command to read or to measure. They come from the declarations of the arguments, so
//! that a new option is among them by itself.

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command};

/// Arguments of another type that name files among other words: the options of the runs of `compare --run`, the words of `million`.
const WORDS: [&str; 2] = ["after", "words"];
/// The names of values that are measured.
const TARGETS: [&str; 2] = ["TARGET", "DEVICE"];

/// A file or folder that the command reads or measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedInput {
    /// The words that name it in a message: `--plan p.toml`, `the target /dev/vdb`.
    pub words: String,
    /// Where it is.
    pub path: PathBuf,
    /// It is measured.
    pub is_target: bool,
}

/// All of them, of a command and the subcommand that was called.
pub fn named_inputs(command: &Command, matches: &ArgMatches) -> Vec<NamedInput> {
    let mut inputs = Vec::new();
    for arg in command.get_arguments().filter(|arg| is_input(arg)) {
        let given = matches.get_raw(arg.get_id().as_str()).ok_or(());
        inputs.extend(given.into_iter().flatten().map(|value| named(arg, path_in(arg, value))));
    }
    if let Some((name, below)) = matches.subcommand()
        && let Some(subcommand) = command.find_subcommand(name)
    {
        inputs.extend(named_inputs(subcommand, below));
    }
    inputs
}

/// Whether an argument names what is read: every path but those of outputs.
fn is_input(arg: &Arg) -> bool {
    let is_output = arg.get_help_heading() == Some("Output") || arg.get_id() == "output";
    let is_path = arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    !is_output && (is_path || WORDS.contains(&arg.get_id().as_str()))
}

/// The path in a value; of a word like `--plan=p.toml`, what follows the sign.
fn path_in(arg: &Arg, value: &OsStr) -> PathBuf {
    let bytes = value.as_bytes();
    let sign = bytes.iter().position(|byte| *byte == b'=');
    match sign.filter(|_| arg.get_id() == "after" && bytes.starts_with(b"--")) {
        Some(sign) => OsStr::from_bytes(&bytes[sign + 1..]).into(),
        None => OsString::from(value).into(),
    }
}

fn named(arg: &Arg, path: PathBuf) -> NamedInput {
    let names = arg.get_value_names().unwrap_or_default();
    let is_target = names.iter().any(|name| TARGETS.contains(&name.as_str()));
    let what = match arg.get_long() {
        Some(long) => format!("--{long}"),
        None if is_target => "the target".into(),
        None => "the input".into(),
    };
    NamedInput { words: format!("{what} {}", path.display()), path, is_target }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    /// How the help names a value that is a file or a folder.
    const FILES: [&str; 9] =
        ["FILE", "FOLDER", "DIR", "FILE|FOLDER", "RECORD", "RESULT", "TARGET", "AFTER", "DEVICE"];

    /// Takes whatever of a command line can be read.
    fn patient(command: Command) -> Command {
        let below: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_string()).collect();
        below.into_iter().fold(command.ignore_errors(true), |all, name| all.mut_subcommand(name, patient))
    }

    /// Command lines of all commands that write files, each with one argument whose value is a file by the help.
    fn lines_with_a_file(command: &Command, words: &[String], lines: &mut Vec<(Vec<String>, bool)>) {
        let writes = |arg: &&Arg| arg.get_action().takes_values() && arg.get_help_heading() == Some("Output");
        let takes_output = command.get_arguments().any(|arg| writes(&arg) || arg.get_id() == "output");
        for arg in command.get_arguments().filter(|_| takes_output) {
            let names = arg.get_value_names().unwrap_or_default();
            if arg.get_action().takes_values() && names.iter().any(|name| FILES.contains(&name.as_str())) {
                lines.push((line_with(arg, words), is_written(arg, words)));
            }
        }
        for below in command.get_subcommands() {
            lines_with_a_file(below, &[words, &[below.get_name().to_string()]].concat(), lines);
        }
    }

    fn line_with(arg: &Arg, words: &[String]) -> Vec<String> {
        let mut line = words.to_vec();
        match (arg.get_long(), arg.get_index()) {
            (Some(long), _) => line.push(format!("--{long}=the-file")),
            _ if arg.is_last_set() => line.extend(["--".into(), "the-file".into()]),
            (None, index) => {
                line.extend((1..index.unwrap_or(1)).map(|_| "snia-lat".to_string()));
                line.push("the-file".into());
            }
        }
        line
    }

    /// What runs and the commands over stored results write.
    fn is_written(arg: &Arg, words: &[String]) -> bool {
        let files = ["json", "csv", "html", "sql", "junit", "openmetrics", "markdown", "output", "file"];
        let long = arg.get_long().unwrap_or_default();
        files.contains(&long) || (long == "records" && words[1] != "compare")
    }

    #[test]
    fn each_file_that_the_help_names_is_an_output_or_an_input() {
        let mut program = patient(Cli::command());
        program.build();
        let mut lines = Vec::new();
        lines_with_a_file(&program, &["volproof".to_string()], &mut lines);
        let read = lines.iter().filter(|(_, is_written)| !is_written).count();
        assert!(read > 20, "the help names the values that are files: {read}");
        for (line, is_written) in lines {
            let matches = program.clone().get_matches_from(&line);
            let named = named_inputs(&program, &matches);
            let is_named = named.iter().any(|input| input.path.as_os_str() == "the-file");
            assert_eq!(is_named, !is_written, "{line:?}: {named:?}");
        }
    }
}

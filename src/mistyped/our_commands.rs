//! What clap knows of our commands and of a mistake in them.

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};

/// What clap says of a mistake under a word of its own.
pub(super) fn words_of(mistake: &clap::Error, kind: ContextKind) -> Vec<String> {
    match mistake.get(kind) {
        Some(ContextValue::String(word)) => vec![word.clone()],
        Some(ContextValue::Strings(words)) => words.clone(),
        _ => vec![],
    }
}

/// The argument that clap writes like this.
pub(super) fn argument<'c>(command: &'c Command, usage: &str) -> Option<&'c Arg> {
    command.get_arguments().find(|arg| arg.to_string() == usage)
}

/// The first example of a command's help that has these options, without the words behind it.
pub(super) fn example_with(command: &Command, args: &[&Arg]) -> Option<String> {
    let help = command.get_after_help()?.to_string();
    let lines = help.lines().map(str::trim).filter(|line| line.starts_with("volproof "));
    let whole = lines.filter(|line| !line.ends_with('\\')).filter_map(|line| line.split("  ").next());
    let has = |line: &&str| {
        args.iter().filter_map(|arg| arg.get_long()).all(|long| line.contains(&format!("--{long}")))
    };
    whole.filter(has).map(str::to_string).next()
}

/// Whether a command drives a load.
pub(super) fn measures(command: &Command) -> bool {
    command.get_arguments().any(|arg| arg.get_long() == Some("bs"))
}

/// The commands that help lists.
pub fn shown_commands(cli: &Command) -> impl Iterator<Item = &Command> {
    cli.get_subcommands().filter(|command| !command.is_hide_set())
}

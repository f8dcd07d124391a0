//! `volproof completions`: a script for a shell, from the declarations of the command line.

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::mistyped::shown_commands;

/// Bash ends a word at a colon and at an equals sign, so that its words hold neither `aws:gp3` nor `--preset=quick`. This function takes the
/// word from the line itself, asks the generated function, and gives back the part behind the sign. It offers options only after a dash:
/// for everything else bash completes values and files.
const BASH_WORDS: &str = r#"
_volproof_word() {
    local line="${COMP_LINE:0:COMP_POINT}" cur known="" before reply all
    cur="${line##*[[:space:]]}"
    read -ra before <<<"${line%"$cur"}"
    before="${before[${#before[@]} - 1]}"
    if [[ "$cur" == --*=* ]]; then
        before="${cur%%=*}"
        cur="${cur#*=}"
    fi
    _volproof "$1" "$cur" "$before"
    [[ "$COMP_WORDBREAKS" != *:* ]] || known="${cur%"${cur##*:}"}"
    all=("${COMPREPLY[@]}")
    COMPREPLY=()
    for reply in "${all[@]}"; do
        [[ "$reply" == -* && "$cur" != -* || "$reply" == [\<\[]* ]] || COMPREPLY+=("${reply#"$known"}")
    done
}
"#;

/// The script.
pub fn script(shell: Shell) -> String {
    let mut made = Vec::new();
    clap_complete::generate(shell, &mut shown(), "volproof", &mut made);
    let text = String::from_utf8_lossy(&made).into_owned();
    // The generated lines of bash that bind the function to the command stand last.
    match text.rfind("\nif [[").filter(|_| shell == Shell::Bash) {
        Some(end) => {
            let (functions, binding) = text.split_at(end);
            functions.to_string() + BASH_WORDS + &binding.replace("-F _volproof ", "-F _volproof_word ")
        }
        None if shell == Shell::Fish => text + &fish_words(),
        None => text,
    }
}

/// The command line without the commands that help does not list.
fn shown() -> Command {
    let cli = Cli::command();
    let shown: Vec<Command> = shown_commands(&cli).cloned().collect();
    Command::new("volproof").version(env!("CARGO_PKG_VERSION")).subcommands(shown)
}

/// What the generated script of fish leaves out: the values of arguments that are no options. Files stay beside them.
fn fish_words() -> String {
    let command = shown();
    let words = command.get_subcommands().flat_map(|subcommand| {
        subcommand
            .get_positionals()
            .map(move |argument| (subcommand.get_name(), argument.get_possible_values()))
    });
    words
        .filter(|(_, values)| !values.is_empty())
        .map(|(name, values)| {
            let values: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
            format!(
                "complete -c volproof -n \"__fish_volproof_using_subcommand {name}\" -a \"{}\"\n",
                values.join(" ")
            )
        })
        .collect()
}

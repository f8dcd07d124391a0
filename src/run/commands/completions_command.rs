//! `volproof completions`: a script for a shell, from the declarations of the command line.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;

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
    clap_complete::generate(shell, &mut Cli::command(), "volproof", &mut made);
    let text = String::from_utf8_lossy(&made).into_owned();
    if shell != Shell::Bash {
        return text;
    }
    // The generated lines that bind the function to the command stand last.
    match text.rfind("\nif [[") {
        Some(end) => {
            let (functions, binding) = text.split_at(end);
            functions.to_string() + BASH_WORDS + &binding.replace("-F _volproof ", "-F _volproof_word ")
        }
        None => text,
    }
}

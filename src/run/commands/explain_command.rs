//! `explain`: the old name of `show --details`; what else it took is refused with the command that does it now.

use std::path::Path;

use super::show_command::{holds_reports, show};
use crate::cli::{ExplainArgs, SheetArgs, ShowArgs};
use crate::run::Failure;
use volproof_base::shell_word::shell_path;
use volproof_record::exit::Exit;

/// `explain`.
///
/// # Errors
/// Those of `show`, and whatever the version before took beside one result.
pub fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    if let Some(option) = args.words.iter().find(|word| is_option(word)) {
        return Err(Failure::input(format!(
            "{} is no option of explain any more: `volproof verdict FILE --promise TYPE` or `--fit APP` judges a result, and `--json` there is for programs",
            option.display()
        )));
    }
    let [result] = args.words.as_slice() else {
        let files: Vec<String> = args.words.iter().map(|file| shell_path(file)).collect();
        let files = files.join(" ");
        return Err(Failure::input(format!(
            "explain takes one result: `volproof compare {files}` says what changed from one to the other, `volproof show {files}` prints each"
        )));
    };
    let sheets = SheetArgs { junit: None, openmetrics: None, markdown: None, github: false, force: false };
    // Plain words on a report have its details.
    let details = !holds_reports(result);
    let records = vec![result.clone()];
    show(&ShowArgs { records, evidence: Vec::new(), csv: false, details, quiet: false, sheets })
}

fn is_option(word: &Path) -> bool {
    word.to_string_lossy().starts_with("--") && !word.exists()
}

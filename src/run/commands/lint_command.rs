//! `lint`: the findings about declared volumes, where they are asked for.

use crate::run::{Failure, chain, code_after_outputs, print, show_text};
use volproof_lint::{self as lint, LintArgs};
use volproof_record::exit::Exit;

/// `lint`.
///
/// # Errors
/// Of input, and where standard output takes no more.
pub fn lint(args: &LintArgs) -> Result<Exit, Failure> {
    let answer = lint::answer(args).map_err(|e| Failure::input(chain(&e)))?;
    let printed = if args.json {
        print(&format!("{:#}\n", lint::json(&answer)))
    } else {
        let text = show_text(&lint::text(&answer));
        if args.github { text.and_then(|_| print(&lint::github(&answer))) } else { text }
    };
    code_after_outputs([printed], answer.exit())
}

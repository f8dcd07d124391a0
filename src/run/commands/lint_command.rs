//! `lint`: the findings about declared volumes, where they are asked for.

use crate::run::{Failure, chain, code_after_outputs, input_of, output, print, save_output, show_text};
use volproof_device::output::{OutputKind, apart};
use volproof_lint::{self as lint, LintArgs};
use volproof_record::exit::Exit;

/// `lint`.
///
/// # Errors
/// Of input, and a file that cannot be written.
pub fn lint(args: &LintArgs) -> Result<Exit, Failure> {
    let sheet = match &args.junit {
        Some(path) => {
            let sheet = output("--junit", path, OutputKind::Junit, args.force)?;
            let inputs: Vec<_> = args.files.iter().chain(&args.catalog).map(|file| input_of(file)).collect();
            apart(&[&sheet], &inputs)?;
            Some(sheet)
        }
        None => None,
    };
    let takes_stdout = sheet.as_ref().is_some_and(|sheet| sheet.is_stdout());
    if takes_stdout && (args.json || args.github) {
        return Err(Failure::input("--junit - takes standard output: name a file with it"));
    }
    let answer = lint::answer(args).map_err(|e| Failure::input(chain(&e)))?;
    let saved = sheet.map_or(Ok(Exit::Done), |mut sheet| {
        let xml = lint::junit(&answer);
        save_output(&mut sheet, &|out| out.write_all(xml.as_bytes()))
    });
    let printed = match (takes_stdout, args.json) {
        (true, _) => Ok(Exit::Done),
        (false, true) => print(&format!("{:#}\n", lint::json(&answer))),
        (false, false) if args.github => {
            show_text(&lint::text(&answer)).and_then(|_| print(&lint::github(&answer)))
        }
        (false, false) => show_text(&lint::text(&answer)),
    };
    code_after_outputs([saved, printed], answer.exit())
}

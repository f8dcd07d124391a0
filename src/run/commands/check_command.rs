//! `check`: what a run would overwrite, or why it may not.

use crate::check::{self, CheckArgs};
use crate::run::leftover::tell_of_test_files;
use crate::run::{Failure, code_after_outputs, print, show_text, unanswered};
use volproof_device::device::Root;
use volproof_record::exit::Exit;

/// `check`.
///
/// # Errors
/// Of input: a target that is not there or cannot be tested, one consent for several targets.
pub fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let answer = check::answer(args, &Root::system()).map_err(|e| unanswered(&e))?;
    args.targets.iter().filter(|target| target.is_dir()).for_each(|folder| tell_of_test_files(folder));
    let printed = if args.json { print(&answer.text) } else { show_text(&answer.text) };
    code_after_outputs([printed], if answer.ready { Exit::Done } else { Exit::Refused })
}

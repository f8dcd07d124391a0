//! `cold`: whether a volume is still being loaded from a snapshot.

use super::suite_command::of_name;
use crate::cli::ColdArgs;
use crate::exit::Exit;
use crate::plan::SuiteName;
use crate::run::Failure;

/// `cold`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn cold(args: &ColdArgs) -> Result<Exit, Failure> {
    if let Some(folder) = args.targets.iter().find(|target| target.is_dir()) {
        return Err(Failure::input(format!(
            "{} is a folder, and a new file in it is never cold: name a block device or a file",
            folder.display()
        )));
    }
    let (step, _) = args.load.base();
    of_name(&SuiteName::Cold, &args.targets, (step, false), &args.how())
}

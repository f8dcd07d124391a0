//! `cold`: whether a volume is still being loaded from a snapshot.

use std::path::Path;

use super::suite_command::of_name;
use crate::cli::ColdArgs;
use crate::run::Failure;
use volproof_device::device::{Facts, Root, facts};
use volproof_plan::SuiteName;
use volproof_record::exit::Exit;

/// `cold`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn cold(args: &ColdArgs) -> Result<Exit, Failure> {
    if let Some(folder) = args.targets.iter().find(|target| target.is_dir()) {
        return Err(Failure::input(format!(
            "{} is a folder, and a new file in it is never cold: name a block device or a file, as in `volproof cold /dev/vdb`",
            folder.display()
        )));
    }
    if let Some(device) = args.targets.iter().find(|target| is_cached_loop(target)) {
        return Err(Failure::input(format!(
            "{0} reads its file through the page cache, and a second read never reaches the volume: losetup --direct-io=on {0}",
            device.display()
        )));
    }
    let (step, _) = args.load.base();
    of_name(&SuiteName::Cold, &args.targets, (step, false), &args.how())
}

fn is_cached_loop(target: &Path) -> bool {
    let root = Root::system();
    match facts(&root, target) {
        Ok(Facts::Block(block)) => block.device.is_cached_loop(&root),
        _ => false,
    }
}

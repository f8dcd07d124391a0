//! Room for the files of jobs that are handed to the installed fio, where the options tell how large they get: fio asks for none, and fills the
//! filesystem for every other program too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Failure;
use super::devices::{DISKLESS_ENGINES, least_length, reads_only, removes_files};
use crate::device::{self, DevNumber, Facts, Root};
use crate::exit::Exit;
use crate::fio::command::Command;
use crate::fio::job::Job;
use crate::unit::Bytes;

/// Options with which a job that writes may end before its files have their length.
const BOUNDS: [&str; 5] = ["io_size", "number_ios", "runtime", "timeout", "io_limit"];

/// Refuses jobs whose files take more space together than a filesystem has.
///
/// # Errors
/// With the space that the files lack and the way out.
pub fn check(root: &Root, command: &Command, files: &dyn Fn(&Job) -> Vec<PathBuf>) -> Result<(), Failure> {
    let mut lengths: BTreeMap<PathBuf, Bytes> = BTreeMap::new();
    for job in command.jobs.iter().filter(|job| fills(job)) {
        let all = files(job);
        let length = least_length(job, all.len(), Bytes(0));
        for path in all {
            let longest = lengths.entry(path).or_default();
            *longest = length.max(*longest);
        }
    }
    let mut lacking: BTreeMap<DevNumber, (Bytes, Bytes, PathBuf)> = BTreeMap::new();
    for (path, length) in lengths {
        let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        let found = device::facts(root, &path).or_else(|_| device::facts(root, parent));
        let (place, has) = match &found {
            Ok(Facts::File(file)) => (&file.place, file.size_bytes),
            Ok(Facts::Folder(place)) => (&**place, Bytes(0)),
            // fio itself says what is wrong with another path, and a device has its size.
            _ => continue,
        };
        let lacks = length.0.saturating_sub(has.0);
        let entry = lacking.entry(place.filesystem_number());
        let sum = &mut entry.or_insert((Bytes(0), place.free_bytes, path)).0;
        *sum = Bytes(sum.0.saturating_add(lacks));
    }
    match lacking.into_values().find(|(lacks, free, _)| lacks > free) {
        Some((lacks, free, path)) => Err(Failure::new(
            Exit::Refused,
            format!(
                "the files of these jobs lack {lacks}, and the filesystem of {} has {free} free: choose a smaller size or free some space",
                path.display()
            ),
        )),
        None => Ok(()),
    }
}

/// The files of the job get their whole length, and stay while the next job runs.
fn fills(job: &Job) -> bool {
    let bounded = !reads_only(job) && BOUNDS.iter().any(|name| job.given(name).is_some());
    !bounded && !removes_files(job) && !DISKLESS_ENGINES.contains(&job.engine())
}

//! The paths of fio's jobs: what lies there, what a job does with it, and files that nobody can mean to be written.
//!
//! The guard looks at each device and file when the targets are opened. fio asks nobody; here a device needs `--destroy` with its own name, also
//! when the command is handed to the real fio.

use std::collections::HashSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::Failure;
use fio_formats::command::Command;
use fio_formats::job::Job;
use fio_formats::option_value::{OptionValue, TargetAmount};
use volproof_base::unit::Bytes;
use volproof_device::device::{self, DeviceError, Facts, Root};
use volproof_device::output::FileIdentity;
use volproof_fio::plan::{PathKind, targets};
use volproof_record::exit::Exit;

/// Engines that do no I/O, so that their jobs have no files.
pub const DISKLESS_ENGINES: [&str; 2] = ["null", "cpuio"];
/// Options with which the installed fio makes a file longer than the other options tell.
const UNKNOWN_LENGTH: [&str; 6] =
    ["fill_device", "file_append", "zonemode", "zonesize", "zonerange", "zoneskip"];

/// The kind of file at a path of this machine.
pub fn look(root: &Root, path: &Path) -> PathKind {
    match device::facts(root, path) {
        Ok(Facts::Block(block)) => PathKind::Block(block.device.size_bytes),
        Ok(Facts::File(file)) => PathKind::File(file.size_bytes),
        Ok(Facts::Folder(_)) => PathKind::Folder,
        // Its length is known, and nothing of its users: it may be read.
        Err(DeviceError::NoPath { .. }) if path.is_file() => {
            PathKind::File(Bytes(std::fs::metadata(path).map_or(0, |about| about.len())))
        }
        Err(_) if std::path::absolute(path).is_ok_and(|path| root.path(path).exists()) => PathKind::Other,
        Err(_) => PathKind::Missing,
    }
}

/// What a path leads to: a block device by its number, a file by its filesystem and inode.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let about = std::fs::metadata(path).ok()?;
    match about.file_type() {
        kind if kind.is_block_device() => Some((about.rdev(), u64::MAX)),
        kind if kind.is_file() => Some((about.dev(), about.ino())),
        _ => None,
    }
}

/// Refuses jobs that read a named file with data and ask for more than it has: it would be made longer, and nobody agreed to that. Files that fio names
/// after a job are its own, and those that another job writes are given up to it.
///
/// # Errors
/// With the file and the way out.
pub fn spare_short_files(command: &Command, look: &dyn Fn(&Path) -> PathKind) -> Result<(), Failure> {
    let files = |job: &Job| targets(job, look);
    let others = command.jobs.iter().filter(|job| !reads_only(job) || removes_files(job)).flat_map(files);
    let given_up: HashSet<(u64, u64)> = others.filter_map(|path| identity(&path)).collect();
    // A format without a variable is a name.
    let format = |job: &Job| job.text("filename_format").filter(|format| !format.is_empty());
    let is_named =
        |job: &Job| job.given("filename").is_some() || format(job).is_some_and(|f| !f.contains('$'));
    let reads_named = |job: &&Job| reads_only(job) && !removes_files(job) && is_named(job);
    for job in command.jobs.iter().filter(reads_named) {
        let all = files(job);
        for path in &all {
            let PathKind::File(has) = look(path) else { continue };
            let short = has.0 > 0 && least_length(job, all.len(), has) > has;
            if !short || identity(path).is_some_and(|file| given_up.contains(&file)) {
                continue;
            }
            return Err(Failure::new(
                Exit::Refused,
                format!(
                    "refused to write to {0}:\n  job {1} only reads it, and asks for more than the {has} that it has (size, offset, filesize), for which \
                     it would be made longer: ask for no more, name a new file, or make this one longer first (truncate)",
                    path.display(),
                    job.name
                ),
            ));
        }
    }
    Ok(())
}

/// Refuses a job whose target is a file that says what the jobs are.
///
/// # Errors
/// With the file.
pub fn spare_job_files(
    command: &Command,
    job_files: &[(String, String)],
    look: &dyn Fn(&Path) -> PathKind,
) -> Result<(), Failure> {
    let own: Vec<FileIdentity> =
        job_files.iter().map(|(name, _)| FileIdentity::from_path(Path::new(name))).collect();
    let all =
        command.jobs.iter().flat_map(|job| targets(job, look).into_iter().map(|path| (&job.name, path)));
    for (job, path) in all.filter(|(_, path)| path.is_file()) {
        if own.iter().any(|file| file.is(&FileIdentity::from_path(&path))) {
            let told = format!(
                "refused to write to {}:\n  it is the job file itself, and the target of job {job}: name another file (filename)",
                path.display()
            );
            return Err(Failure::new(Exit::Refused, told));
        }
    }
    Ok(())
}

/// The length that a job asks of each of so many files, in bytes, where a file has `has`. A share of its size asks for no more than it has; one
/// that is left out at its start moves what comes after it.
pub fn least_length(job: &Job, files: usize, has: Bytes) -> Bytes {
    let bytes = |name: &str| match job.size(name) {
        Some(TargetAmount::Bytes(n)) => n,
        _ => 0,
    };
    let begins_at = |name: &str| match job.size(name) {
        Some(TargetAmount::Percent(share)) => (u128::from(has.0) * u128::from(share)).div_ceil(100) as u64,
        _ => bytes(name),
    };
    let clones = job.int("numjobs").unwrap_or(1).max(1) as u64;
    let begins = begins_at("offset").saturating_add(begins_at("offset_increment").saturating_mul(clones - 1));
    let by_size = match bytes("size") {
        // The rest of the file.
        0 if begins <= has.0 => 0,
        size => begins.saturating_add(size / files.max(1) as u64),
    };
    match job.value("filesize") {
        // The length of the file, in which an offset leads.
        Some(OptionValue::Ranges([Some((_, high)), ..])) => Bytes(high.max(by_size)),
        _ => Bytes(by_size),
    }
}

/// A file that the job reads is missing, or has less than it asks for.
pub fn is_short(job: &Job, path: &Path, look: &dyn Fn(&Path) -> PathKind) -> bool {
    match look(path) {
        PathKind::Missing => true,
        PathKind::File(has) => {
            let is_known = UNKNOWN_LENGTH.iter().all(|name| job.given(name).is_none());
            is_known && least_length(job, 1, has) > has
        }
        _ => false,
    }
}

/// The job removes its files.
pub fn removes_files(job: &Job) -> bool {
    job.flag("unlink") || job.flag("unlink_each_loop")
}

/// Nothing but reads is asked for.
pub fn reads_only(job: &Job) -> bool {
    matches!(job.choice("rw"), None | Some("read" | "randread"))
}

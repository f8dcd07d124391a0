//! The guard before fio's jobs: every block device and file that a command writes to is cleared before anything else happens, whether
//! volproof or the installed fio will run it.
//!
//! fio asks nobody. Here a device needs `--destroy` with its own name, also when the command is handed to the real fio.

use std::collections::HashSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::volproof_options::VolproofOptions;
use super::{Failure, path_of_later};
use fio_formats::command::Command;
use fio_formats::job::Job;
use fio_formats::option_value::{OptionValue, TargetAmount};
use volproof_base::unit::Bytes;
use volproof_device::device::{self, DeviceError, Facts, Root};
use volproof_device::guard::{self, Access, Clearance};
use volproof_device::output::FileIdentity;
use volproof_fio::plan::PathKind;
use volproof_record::exit::Exit;

/// Engines that do no I/O, so that their jobs have no files.
pub const DISKLESS_ENGINES: [&str; 2] = ["null", "cpuio"];
/// Options with which the installed fio makes a file longer than the other options tell.
const UNKNOWN_LENGTH: [&str; 6] =
    ["fill_device", "file_append", "zonemode", "zonesize", "zonerange", "zoneskip"];

/// Bytes from which on a path is none (`PATH_MAX`); fio keeps what is before them.
const LONGEST_PATH: usize = libc::PATH_MAX as usize;

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

/// Block devices and existing files that the command writes to, each once, also those that cannot be looked at.
pub fn written(command: &Command, files: &dyn Fn(&Job) -> Vec<PathBuf>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut seen = HashSet::new();
    for path in command.jobs.iter().filter(|job| !leaves_files_alone(job)).flat_map(files) {
        // Two paths to one device or file count once, whatever their names.
        if identity(&path).is_some_and(|identity| seen.insert(identity)) {
            found.push(path);
        }
    }
    found
}

/// Refuses a command with a path that fio cuts, or one that will lead elsewhere than now: what it will lead to cannot be cleared.
///
/// # Errors
/// With the path and the way out.
pub fn decided(command: &Command, files: &dyn Fn(&Job) -> Vec<PathBuf>) -> Result<(), Failure> {
    for path in command.jobs.iter().flat_map(files) {
        let long = (path.as_os_str().len() >= LONGEST_PATH).then(|| {
            format!("the path has {} bytes, and fio cuts it: name a shorter one", path.as_os_str().len())
        });
        if let Some(why) = long.or_else(|| path_of_later::undecided(&path)) {
            return Err(Failure::new(
                Exit::Refused,
                format!("refused to write to {}:\n  {why}", path.display()),
            ));
        }
    }
    Ok(())
}

/// Refuses a command for which files would be made among the settings of the kernel.
///
/// # Errors
/// With the file.
pub fn spare_settings(
    root: &Root,
    command: &Command,
    files: &dyn Fn(&Job) -> Vec<PathBuf>,
) -> Result<(), Failure> {
    for path in command.jobs.iter().flat_map(files).filter(|path| !path.exists()) {
        if let Err(e @ DeviceError::Setting { .. }) = device::facts(root, &path) {
            return Err(e.into());
        }
    }
    Ok(())
}

/// Existing files that change although their jobs only read: a file that is shorter than what is to be read is made longer, and files are
/// removed on request.
pub fn laid_out(
    command: &Command,
    files: &dyn Fn(&Job) -> Vec<PathBuf>,
    look: &dyn Fn(&Path) -> PathKind,
) -> Vec<PathBuf> {
    let changed = |job: &Job, path: &Path| {
        matches!(look(path), PathKind::File(_)) && (is_short(job, path, look) || removes_files(job))
    };
    let of_job = |job: &Job| files(job).into_iter().filter(|path| changed(job, path)).collect::<Vec<_>>();
    command.jobs.iter().filter(|job| reads_only(job)).flat_map(of_job).collect()
}

/// Refuses jobs that read a named file with data and ask for more than it has: it would be made longer, and nobody agreed to that. Files that fio names
/// after a job are its own, and those that another job writes are given up to it.
///
/// # Errors
/// With the file and the way out.
pub fn spare_short_files(
    command: &Command,
    files: &dyn Fn(&Job) -> Vec<PathBuf>,
    look: &dyn Fn(&Path) -> PathKind,
) -> Result<(), Failure> {
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
    files: &dyn Fn(&Job) -> Vec<PathBuf>,
) -> Result<(), Failure> {
    let own: Vec<FileIdentity> =
        job_files.iter().map(|(name, _)| FileIdentity::from_path(Path::new(name))).collect();
    let targets = command.jobs.iter().flat_map(|job| files(job).into_iter().map(|path| (&job.name, path)));
    for (job, path) in targets.filter(|(_, path)| path.is_file()) {
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

/// The job leaves existing files alone, unless their length has to change.
fn leaves_files_alone(job: &Job) -> bool {
    reads_only(job) || DISKLESS_ENGINES.contains(&job.engine())
}

/// Has the guard look at each device and each file with the consents that were given. To name a file is consent to overwrite it, as in fio; a
/// file that others have open needs one more, and a disk image that is attached or a swap file is never overwritten.
///
/// The devices stay open exclusively for as long as the caller keeps what is returned, so that nobody mounts one meanwhile.
///
/// # Errors
/// The guard refuses one of them; nothing was written.
pub fn clear(
    root: &Root,
    written: &[PathBuf],
    consents: &VolproofOptions,
) -> Result<Vec<Clearance>, Failure> {
    let mut cleared = Vec::new();
    for path in written {
        if path.is_file() {
            guard::check_overwrite(root, path, consents.overwrite_shared)?;
            continue;
        }
        let wanted = match device::facts(root, path) {
            Ok(Facts::Block(facts)) => Some(guard::consent(&facts.device, &facts.usage)),
            _ => None,
        };
        let destroy = &consents.destroy;
        let own = destroy.iter().find(|given| wanted.as_ref() == Some(given)).or(destroy.first());
        let mut device = guard::clear(root, path, Access::Destroy(own.map(String::as_str)), false)?;
        // Nobody held it while it was looked at.
        device.confirm()?;
        cleared.push(device);
    }
    Ok(cleared)
}

//! The guard before fio's jobs: every block device and file that a command may write to is cleared before anything else happens,
//! whether volproof or the installed fio will run it.
//!
//! fio asks nobody. Here a device needs `--destroy` with its own name, also when the command is handed to the real fio. It is not always
//! known what fio does with an option that names a device. So every device that any text leads to counts as written: as it stands, in
//! parts, behind links, below the job's folders. Only `filename` of a job that merely reads is an exception. A command that names its
//! devices in a place we cannot see, or runs programs, is not handed over at all.

use std::collections::HashSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::volproof_options::VolproofOptions;
use super::{Failure, log_files, path_of_later};
use crate::device::{self, DeviceError, Facts, Root};
use crate::exit::Exit;
use crate::fio::command::Command;
use crate::fio::job::Job;
use crate::fio::jobfile;
use crate::fio::option_value::{OptionValue, TargetAmount};
use crate::fio::plan::{self, Obstacle, PathKind};
use crate::fio::table;
use crate::guard::{self, Access, Clearance};
use crate::output::{self, FileIdentity};
use crate::unit::Bytes;

/// Options whose devices are named elsewhere (in a trace, a profile), or that run programs.
const UNSEEN: [&str; 6] =
    ["read_iolog", "profile", "replay_redirect", "exec_prerun", "exec_postrun", "ioscheduler"];
/// Flags of the same kind.
const UNSEEN_FLAGS: [&str; 10] = [
    "client",
    "server",
    "daemonize",
    "remote-config",
    "merge-blktrace-only",
    "profile",
    "trigger",
    "trigger-file",
    "trigger-remote",
    "trigger-timeout",
];
/// Engines that leave a file alone when they read. Others may write to it, replace it or remove it whatever `rw` says.
const READING_ENGINES: [&str; 13] = [
    "sync",
    "psync",
    "vsync",
    "pvsync",
    "pvsync2",
    "libaio",
    "io_uring",
    "io_uring_cmd",
    "posixaio",
    "mmap",
    "splice",
    "sg",
    "null",
];
/// Engines whose jobs need no files, or are no I/O to them.
pub const DISKLESS_ENGINES: [&str; 6] = ["null", "cpuio", "net", "netsplice", "sg", "io_uring_cmd"];
/// Options with which the installed fio makes a file longer than the other options tell.
const UNKNOWN_LENGTH: [&str; 6] =
    ["fill_device", "file_append", "zonemode", "zonesize", "zonerange", "zoneskip"];
/// Those of them with which it does so whatever the length is; zones lead beyond the end of a file and leave it as it is.
const LENGTHENING: [&str; 2] = ["fill_device", "file_append"];
/// Engines that run what is no part of fio.
const UNSEEN_ENGINES: [&str; 2] = ["exec", "external"];

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

/// Block devices and existing files that the command may write to, each once, also those that cannot be looked at.
pub fn written(command: &Command, files: &dyn Fn(&Job) -> Vec<PathBuf>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut seen = HashSet::new();
    for path in touched(command, files).into_iter().chain(log_files::names(command)) {
        // Two paths to one device or file count once, whatever their names.
        if identity(&path).is_some_and(|identity| seen.insert(identity)) {
            found.push(path);
        }
    }
    found
}

/// Every path that fio looks up for the command, as far as the texts tell.
fn looked_up(command: &Command, files: &dyn Fn(&Job) -> Vec<PathBuf>) -> Vec<PathBuf> {
    let mut all = log_files::names(command);
    all.extend(command.output.clone());
    for job in &command.jobs {
        all.extend(files(job));
        // Below a folder, only the names that fio makes of them lead anywhere.
        all.extend(words(job, job.given("directory").is_none(), &[]));
    }
    all
}

/// Refuses a command with a path that fio cuts, or one that will lead elsewhere than now: what it will lead to cannot be cleared.
///
/// # Errors
/// With the path and the way out.
pub fn decided(
    command: &Command,
    files: &dyn Fn(&Job) -> Vec<PathBuf>,
    handed_over: bool,
) -> Result<(), Failure> {
    let mut named = command.jobs.iter().flat_map(files).chain(log_files::names(command));
    if let Some(path) = named.find(|path| path.as_os_str().len() >= LONGEST_PATH) {
        let why =
            format!("the path has {} bytes, and fio cuts it: name a shorter one", path.as_os_str().len());
        return Err(Failure::new(Exit::Refused, format!("refused to write to {}:\n  {why}", path.display())));
    }
    let bent = |path: PathBuf| Some((path_of_later::undecided(&path, handed_over)?, path));
    match looked_up(command, files).into_iter().find_map(bent) {
        Some((why, path)) => {
            Err(Failure::new(Exit::Refused, format!("refused to write to {}:\n  {why}", path.display())))
        }
        None => Ok(()),
    }
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
    let named = command.jobs.iter().flat_map(files).chain(log_files::names(command));
    for path in named.filter(|path| !path.exists()) {
        if let Err(e @ DeviceError::Setting { .. }) = device::facts(root, &path) {
            return Err(e.into());
        }
    }
    Ok(())
}

/// Existing files that change although their jobs only read: a file that is shorter than what is to be read is made longer (the installed
/// fio writes all of it anew, or replaces it), and files are removed on request. With `handed_over` these are also the files where the
/// options do not tell what length the installed fio gives them.
pub fn laid_out(
    command: &Command,
    handed_over: bool,
    files: &dyn Fn(&Job) -> Vec<PathBuf>,
    look: &dyn Fn(&Path) -> PathKind,
) -> Vec<PathBuf> {
    let changed = |job: &Job, path: &Path| match look(path) {
        PathKind::File(length) => {
            asked_length(job).map_or(handed_over, |asked| length < asked) || removes_files(job)
        }
        _ => false,
    };
    let of_job = |job: &Job| files(job).into_iter().filter(|path| changed(job, path)).collect::<Vec<_>>();
    command.jobs.iter().filter(|job| reads_only(job)).flat_map(of_job).collect()
}

/// The length that a file must have for the last clone of a job; none where the options do not tell it.
fn asked_length(job: &Job) -> Option<Bytes> {
    if UNKNOWN_LENGTH.iter().any(|name| job.given(name).is_some()) {
        return None;
    }
    let bytes = |name: &str| match job.size(name) {
        Some(TargetAmount::Bytes(n)) => Some(n),
        Some(_) => None,
        None => Some(0),
    };
    let clones = job.int("numjobs").unwrap_or(1).max(1) as u64;
    let begins = bytes("offset")?.saturating_add(bytes("offset_increment")?.saturating_mul(clones - 1));
    let size = match job.size("size") {
        // A share of the file asks for no more than the file has.
        Some(TargetAmount::Percent(_)) if begins == 0 => 0,
        _ => bytes("size")?,
    };
    let of_file = match job.value("filesize") {
        Some(OptionValue::Ranges([Some((_, high)), ..])) => high,
        Some(_) => return None,
        None => 0,
    };
    Some(Bytes(begins.saturating_add(size.max(of_file))))
}

/// Refuses to hand over jobs that only read a file with data and ask for more than it has: the installed fio writes all of it anew.
///
/// # Errors
/// With the file and the way out.
pub fn spare_read_files(
    command: &Command,
    files: &dyn Fn(&Job) -> Vec<PathBuf>,
    look: &dyn Fn(&Path) -> PathKind,
) -> Result<(), Failure> {
    for job in command.jobs.iter().filter(|job| reads_only(job) && !removes_files(job)) {
        let all = files(job);
        for path in &all {
            let PathKind::File(has) = look(path) else { continue };
            let unknown = LENGTHENING.iter().find(|name| job.given(name).is_some());
            if has.0 == 0 || (unknown.is_none() && least_length(job, all.len(), has) <= has) {
                continue;
            }
            let (path, options) = (path.display(), unknown.map_or("size, offset, filesize", |name| name));
            return Err(Failure::new(
                Exit::Refused,
                format!(
                    "refused to write to {path}:\n  job {} only reads it, and the installed fio writes all of it anew where a job asks for more \
                     than the {has} that it has ({options}): ask for no more, remove it first if it is a test file, or call fio itself",
                    job.name
                ),
            ));
        }
    }
    Ok(())
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
        job_files.iter().map(|(name, _)| FileIdentity::of(Path::new(name))).collect();
    let targets = command.jobs.iter().flat_map(|job| files(job).into_iter().map(|path| (&job.name, path)));
    for (job, path) in targets.filter(|(_, path)| path.is_file()) {
        if own.iter().any(|file| file.is(&FileIdentity::of(&path))) {
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

/// The job removes its files.
pub fn removes_files(job: &Job) -> bool {
    job.flag("unlink") || job.flag("unlink_each_loop") || job.engine() == "filedelete"
}

/// The job leaves every file alone, of whatever length and name it is.
fn leaves_any_file_alone(job: &Job) -> bool {
    leaves_files_alone(job) && asked_length(job) == Some(Bytes(0)) && !removes_files(job)
}

/// Nothing but reads is asked for.
pub fn reads_only(job: &Job) -> bool {
    matches!(job.choice("rw"), None | Some("read" | "randread"))
}

/// The job leaves existing files alone, unless their length has to change.
fn leaves_files_alone(job: &Job) -> bool {
    reads_only(job) && READING_ENGINES.contains(&job.engine())
}

/// Every path that a command may write to as far as its texts tell, whether it exists or not.
fn touched(command: &Command, files: &dyn Fn(&Job) -> Vec<PathBuf>) -> Vec<PathBuf> {
    let flags: Vec<(&str, &str)> = flags(command).collect();
    let aux: Vec<String> = aux_path(command).map(String::from).into_iter().collect();
    let mut all: Vec<PathBuf> = flags.iter().flat_map(|(_, text)| paths(text, &aux)).collect();
    for job in &command.jobs {
        let writes = !leaves_files_alone(job);
        if writes {
            all.extend(files(job));
        }
        all.extend(words(job, writes, &aux));
    }
    all.extend(states(command));
    all
}

/// The flags of a command that only fio honours, or that change nothing here, with their values.
fn flags(command: &Command) -> impl DoubleEndedIterator<Item = (&str, &str)> {
    let all = command.needs_fio.iter().chain(&command.noted);
    all.filter_map(|(flag, _)| flag.trim_start_matches('-').split_once('='))
}

/// The folder of the files in which fio keeps how far checks came.
fn aux_path(command: &Command) -> Option<&str> {
    flags(command).rev().find(|(name, _)| *name == "aux-path").map(|(_, folder)| folder)
}

/// The files in which fio keeps how far the checks of jobs came: the jobs are counted through the whole command (`verify_state_gen_name` in
/// fio's verify-state.h).
pub fn states(command: &Command) -> Vec<PathBuf> {
    let folder = Path::new(aux_path(command).unwrap_or_default());
    let (mut all, mut number) = (Vec::new(), 0);
    for job in &command.jobs {
        let clones = job.int("numjobs").unwrap_or(1).max(1);
        // A pattern alone has its checks as well.
        let checks = job.options().any(|given| given.option.name.starts_with("verify"));
        if checks && job.flag("verify_state_save") {
            let name = job.name.replace('/', ".");
            all.extend(
                (number..number + clones).map(|n| folder.join(format!("local-{name}-{n}-verify.state"))),
            );
        }
        number += clones;
    }
    all
}

/// Everything in the texts of a job that may be a path.
fn words(job: &Job, writes: bool, aux: &[String]) -> Vec<PathBuf> {
    // The name of a job is that of its file only where it has no other.
    let named = job.text("filename").is_some_and(|name| !name.is_empty());
    let target = |name: &str| matches!(name, "filename" | "directory" | "opendir");
    let asked = |name: &str| !matches!(name, "description" | "name") && (writes || !target(name));
    let directories = job.options().filter(|g| g.option.name == "directory");
    let directories = directories.flat_map(|g| plan::split(g.text.as_deref().unwrap_or_default()));
    let folders: Vec<String> = directories.chain(aux.iter().cloned()).collect();
    let texts = job.options().filter(|g| asked(g.option.name)).filter_map(|g| g.text.clone());
    let name = (writes && !named).then(|| job.name.clone());
    texts.chain(name).flat_map(|text| paths(&text, &folders)).collect()
}

/// The paths that a text may stand for: whole, as fio trims it, and each of its parts; alone and below each folder.
fn paths(text: &str, folders: &[String]) -> Vec<PathBuf> {
    let mut forms = vec![text, jobfile::stripped(text)];
    forms.extend(text.split([':', ',', '=', ' ', ';', '#']).map(str::trim));
    let mut forms: Vec<String> = forms.into_iter().map(str::to_string).collect();
    forms.extend(plan::split(jobfile::stripped(text)));
    forms.retain(|form| !form.is_empty());
    forms.sort();
    forms.dedup();
    let below =
        |form: &String| folders.iter().map(|f| format!("{f}/{form}").into()).collect::<Vec<PathBuf>>();
    forms.iter().flat_map(|form| below(form).into_iter().chain([PathBuf::from(form)])).collect()
}

/// The options for which a command is not handed to the real fio.
pub fn unseen(command: &Command, files: &dyn Fn(&Job) -> Vec<PathBuf>) -> Vec<Obstacle> {
    let why = "volproof cannot see which devices it would write to; call fio itself if that is meant";
    let obstacle =
        |job: &str, option: String| Obstacle { job: job.into(), option, fio_can: false, why: why.into() };
    let flags = command.needs_fio.iter().filter(|(flag, _)| {
        let name = flag.trim_start_matches('-').split('=').next().unwrap_or_default();
        UNSEEN_FLAGS.contains(&name)
    });
    let mut found: Vec<Obstacle> = flags.map(|(flag, _)| obstacle("command line", flag.clone())).collect();
    for job in &command.jobs {
        let given = UNSEEN.iter().filter_map(|name| job.given(name));
        // The files in it are not looked at one by one.
        let folder = job.given("opendir").filter(|_| !leaves_any_file_alone(job));
        found.extend(given.chain(folder).map(|g| obstacle(&job.name, g.line())));
        if UNSEEN_ENGINES.contains(&job.engine()) || table::engine(job.engine()).is_none() {
            found.push(obstacle(&job.name, format!("ioengine={}", job.engine())));
        }
    }
    let through = touched(command, files).into_iter().filter(|path| {
        let about = std::fs::metadata(path);
        about.is_ok_and(|about| about.file_type().is_char_device() && output::holds_data(&about))
    });
    found.extend(through.map(|path| obstacle("all jobs", path.display().to_string())));
    found
}

/// Has the guard look at each device and each file with the consents that were given. To name a file is consent to overwrite it, as in fio; a
/// file that others have open needs one more, and a disk image that is attached or a swap file is never overwritten. The files in `replaced`
/// get a new file under their name: a process that has the old one open, or that has it under another name, keeps it.
///
/// The devices stay open exclusively for as long as the caller keeps what is returned, so that nobody mounts one meanwhile.
///
/// # Errors
/// The guard refuses one of them; nothing was written.
pub fn clear(
    root: &Root,
    written: &[PathBuf],
    replaced: &[PathBuf],
    consents: &VolproofOptions,
) -> Result<Vec<Clearance>, Failure> {
    let mut cleared = Vec::new();
    for path in written {
        if path.is_file() {
            let shared = consents.overwrite_shared || replaced.contains(path);
            guard::check_overwrite(root, path, shared)?;
            continue;
        }
        let wanted = match device::facts(root, path) {
            Ok(Facts::Block(facts)) => Some(guard::consent(&facts.device, &facts.usage)),
            _ => None,
        };
        let destroy = &consents.destroy;
        let own = destroy.iter().find(|given| wanted.as_ref() == Some(given)).or(destroy.first());
        let mut device = guard::clear(root, path, Access::Destroy(own.map(String::as_str)), false)?;
        // Nobody held it while it was looked at, and the installed fio looks at nothing.
        device.confirm()?;
        cleared.push(device);
    }
    Ok(cleared)
}

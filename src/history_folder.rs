//! The folder of Records that is the history: where it is, what it holds, and the Record that a finished run adds.
//!
//! The Records are the store. Beside them lies an index with a line for each file, so that a folder of thousands answers at once; it is made anew
//! wherever a file has another size or time, and nothing is lost with it.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::result_file;
use volproof_base::input;
use volproof_base::regular_file::open_regular;
use volproof_device::device::{Root, shares_disk};
use volproof_device::guard;
use volproof_device::output::{OutputFile, OutputKind, apart, make_folder};
use volproof_history::{FileVersion, FolderIndex, IndexLine, IndexedFile, RunHistory, RunLine};
use volproof_record::{Record, State};

/// The variable that names another folder; without a value nothing is kept.
pub const VARIABLE: &str = "VOLPROOF_HISTORY";
/// The folder of root.
const OF_ROOT: &str = "/var/lib/volproof";
/// The name of the index in the folder.
const INDEX: &str = "index.jsonl";

/// The folder of the history; none where the user wants none, or has no home.
pub fn default_folder() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return Some(PathBuf::from(named)).filter(|folder| !folder.as_os_str().is_empty());
    }
    if rustix::process::geteuid().is_root() {
        return Some(OF_ROOT.into());
    }
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    Some(data?.join("volproof"))
}

/// What a folder holds. Files whose line in the index still holds are not opened.
///
/// # Errors
/// The folder cannot be read.
pub fn read(folder: &Path) -> io::Result<RunHistory> {
    Ok(RunHistory::of_files(&files(folder)?))
}

/// The lines of all files of a folder, by name.
///
/// # Errors
/// The folder cannot be read.
pub fn files(folder: &Path) -> io::Result<Vec<IndexedFile>> {
    let mut index = FolderIndex::parse(&index_text(folder));
    let (mut files, mut unread) = (Vec::new(), Vec::new());
    for stamp in stamps(folder)? {
        match index.take(&stamp) {
            Some(file) => files.push(file),
            None => unread.push(stamp),
        }
    }
    if !unread.is_empty() || !index.is_empty() {
        files.extend(read_files(folder, unread));
        files.sort_by(|a, b| a.stamp.file.cmp(&b.stamp.file));
        // One that cannot be saved, in a folder of somebody else, is made anew the next time.
        let _ = save_index(folder, &files);
    }
    Ok(files)
}

/// The text of the index; empty where none is there.
fn index_text(folder: &Path) -> String {
    let file = open_regular(&folder.join(INDEX), OpenOptions::new().read(true));
    file.and_then(io::read_to_string).unwrap_or_default()
}

/// Whether a file of this name is one of the history.
fn is_of_history(name: &str) -> bool {
    !name.starts_with('.') && name.ends_with(".json")
}

/// The files of a folder that may be Records.
///
/// # Errors
/// The folder cannot be read.
pub fn records_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(stamps(folder)?.into_iter().map(|stamp| folder.join(stamp.file)).collect())
}

/// The files of a folder that may be Records, by name.
fn stamps(folder: &Path) -> io::Result<Vec<FileVersion>> {
    let mut stamps = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy().into_owned();
        if !is_of_history(&file) {
            continue;
        }
        match std::fs::metadata(entry.path()) {
            // A pipe would be waited for.
            Ok(about) if !about.is_file() => {}
            Ok(about) => {
                // The time that nobody sets.
                let changed_ns =
                    about.ctime().saturating_mul(1_000_000_000).saturating_add(about.ctime_nsec());
                stamps.push(FileVersion { file, size: about.len(), changed_ns });
            }
            Err(_) if entry.path().is_symlink() => {
                stamps.push(FileVersion { file, size: 0, changed_ns: 0 });
            }
            // It is gone by now.
            Err(_) => {}
        }
    }
    stamps.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(stamps)
}

/// The lines of files, read by as many threads as there are CPUs.
fn read_files(folder: &Path, stamps: Vec<FileVersion>) -> Vec<IndexedFile> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = stamps.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> =
            stamps.chunks(share).map(|part| scope.spawn(move || read_part(folder, part))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
    })
}

fn read_part(folder: &Path, stamps: &[FileVersion]) -> Vec<IndexedFile> {
    stamps
        .iter()
        .map(|stamp| IndexedFile { stamp: stamp.clone(), line: line(&folder.join(&stamp.file)) })
        .collect()
}

fn line(path: &Path) -> IndexLine {
    if path.is_symlink() && !path.exists() {
        return IndexLine::Damaged("it is a link that leads nowhere".into());
    }
    if !path.exists() {
        return IndexLine::Damaged("its name is no text: give it another one".into());
    }
    let bytes = match input::read(path) {
        Ok(bytes) => bytes,
        Err(e) => return IndexLine::Damaged(e.to_string()),
    };
    match result_file::stored(&bytes, Path::new("it")) {
        Ok(Some(record)) => IndexLine::Run(Box::new(RunLine::of_record(&record))),
        Ok(None) => IndexLine::Other,
        Err(e) => IndexLine::Damaged(e.to_string()),
    }
}

/// Saves the index, which nobody has asked for: it replaces an earlier index alone, and who may not read a Record reads no index either.
fn save_index(folder: &Path, files: &[IndexedFile]) -> anyhow::Result<()> {
    let text = FolderIndex::text(files);
    let path = folder.join(INDEX);
    let mut output = OutputFile::itself("history", &path)?
        .of_kind(OutputKind::HistoryIndex)
        .with_mode(strictest_mode(folder, files));
    apart(&[&output], &[])?;
    if let Some(existing) = output.existing() {
        guard::check_overwrite(&Root::system(), &existing, true)?;
    }
    Ok(output.save(&|out| out.write_all(text.as_bytes()))?)
}

/// Who may read and write all of these files.
fn strictest_mode(folder: &Path, files: &[IndexedFile]) -> u32 {
    let modes = files.iter().filter_map(|file| Some(folder.join(&file.stamp.file).metadata().ok()?.mode()));
    modes.fold(0o666, |all, mode| all & mode) | 0o600
}

/// What became of a finished run.
#[derive(Debug, PartialEq, Eq)]
pub enum Keeping {
    /// It is in this folder.
    Kept(PathBuf),
    /// It is no run for a history, or the user wants none.
    Unwanted,
    /// The folder lies on the volume under test.
    UnderTest(PathBuf),
    /// It could not be saved there.
    Failed(PathBuf, String),
}

/// Whether a Record at this path is one of the history in a folder.
fn is_in(saved: &Path, folder: &Path) -> bool {
    let there = saved.parent().and_then(|parent| parent.canonicalize().ok());
    let is_named = saved.file_name().and_then(|name| name.to_str()).is_some_and(is_of_history);
    is_named && there.is_some() && there == folder.canonicalize().ok()
}

/// Adds the Record of a finished run, which was saved at a path too, if at all. Nothing is written to a volume under test.
pub fn keep(record: &Record, saved: Option<&Path>) -> Keeping {
    let is_run =
        record.state == State::Complete && !record.measured_nothing() && record.cross_checks.is_empty();
    let is_alone = record.rank.is_none() && record.fleet.is_none();
    let Some(folder) = default_folder().filter(|_| is_run && is_alone && !record.is_simulated()) else {
        return Keeping::Unwanted;
    };
    if saved.is_some_and(|saved| is_in(saved, &folder)) {
        return Keeping::Kept(folder);
    }
    let root = Root::system();
    let mut devices = record.targets.iter().flat_map(|target| target.facts.devices());
    if devices.any(|device| shares_disk(&root, device, &folder)) {
        return Keeping::UnderTest(folder);
    }
    match save(record, &folder) {
        Ok(()) => Keeping::Kept(folder),
        Err(why) => Keeping::Failed(folder, why),
    }
}

fn save(record: &Record, folder: &Path) -> Result<(), String> {
    make_folder(folder).map_err(|e| e.to_string())?;
    let started = record.started.as_ref().map_or("", String::as_str).replace(['-', ':'], "");
    let stem = format!("volproof-{started}");
    let mut file = OutputFile::fresh(VARIABLE, folder, stem, "json").map_err(|e| e.reason())?;
    file.save(&|out| record.write(out)).map_err(|e| e.to_string())
}

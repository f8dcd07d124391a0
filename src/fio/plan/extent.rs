//! Which files a job drives, which part of them, and how much: fio's `add_job` and `setup_files`.
//!
//! - Files are named by `filename`, or made up from `filename_format`, one set for each clone; `directory` goes in front.
//! - `size` is shared out over the files of a job. Without it each file counts with the size it has, and `filesize` says how large each one is to be.
//! - A file that is shorter than what the job needs is laid out to that size; a device is used as far as it goes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::job::Job;
use super::super::number::{Size, Value};
use super::Obstacles;
use crate::plan::{EngineKind, Step};
use crate::sample::Direction;
use crate::unit::Bytes;

/// What lies at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Missing,
    /// A regular file of that size.
    File(Bytes),
    /// A block device of that size.
    Block(Bytes),
    /// A folder.
    Folder,
    /// A character device, a pipe or a socket.
    Other,
}

/// A file that jobs name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Laid {
    /// The least size it needs.
    pub size: Bytes,
    /// It goes away at the end (`unlink`).
    pub unlink: bool,
}

/// Files that one job, or one clone of it, has to have laid out: what fio says of that in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Name of the job.
    pub job: String,
    /// How many.
    pub files: u32,
    /// Their size together.
    pub bytes: Bytes,
}

impl Layout {
    /// The line as fio prints it, without its end.
    pub fn line(&self) -> String {
        let (s, total) = if self.files > 1 { ("s", "total ") } else { ("", "") };
        let mib = self.bytes.0 >> 20;
        format!("{}: Laying out IO file{s} ({} file{s} / {total}{mib}MiB)", self.job, self.files)
    }
}

/// The part of a job that becomes a step: all of it, or one clone.
#[derive(Clone)]
pub(super) struct Part {
    targets: Vec<PathBuf>,
    round_robin: bool,
    numjobs: u32,
    offset: Bytes,
    size: Option<Bytes>,
    offset_increment: Option<Bytes>,
    io_size: Option<Bytes>,
}

impl Part {
    /// The step of that load on this part.
    pub(super) fn apply(self, load: &Step) -> Step {
        Step {
            targets: self.targets,
            round_robin: self.round_robin,
            numjobs: self.numjobs,
            offset: self.offset,
            size: self.size,
            offset_increment: self.offset_increment,
            io_size: self.io_size,
            ..load.clone()
        }
    }
}

/// What one clone does.
#[derive(Clone, PartialEq)]
struct Extent {
    offset: Bytes,
    /// Of each file; the whole of a device when absent.
    size: Option<Bytes>,
    amount: Option<Bytes>,
}

/// All files of a command, as they will be when the jobs before have been set up.
pub(super) struct Files<'a> {
    look: &'a dyn Fn(&Path) -> Found,
    named: Vec<PathBuf>,
    laid: BTreeMap<PathBuf, Laid>,
    layouts: Vec<Layout>,
}

impl<'a> Files<'a> {
    pub(super) fn new(look: &'a dyn Fn(&Path) -> Found) -> Files<'a> {
        Files { look, named: Vec::new(), laid: BTreeMap::new(), layouts: Vec::new() }
    }

    /// The targets of the plan: everything that was named, once.
    pub(super) fn targets(&self) -> Vec<PathBuf> {
        self.named.clone()
    }

    /// Files and layouts.
    pub(super) fn finish(self) -> (Vec<(PathBuf, Laid)>, Vec<Layout>) {
        (self.laid.into_iter().collect(), self.layouts)
    }

    /// What is there now, or will be.
    fn found(&self, path: &Path) -> Found {
        match ((self.look)(path), self.laid.get(path)) {
            (Found::Missing, Some(laid)) => Found::File(laid.size),
            (Found::File(had), Some(laid)) => Found::File(had.max(laid.size)),
            (found, _) => found,
        }
    }

    /// The steps that a job becomes: one where that says the same, else one for each clone.
    pub(super) fn parts(&mut self, job: &Job, load: &Step, obstacles: &mut Obstacles<'_>) -> Vec<Part> {
        let together = job.flag("group_reporting") || load.numjobs == 1;
        if load.engine == EngineKind::Null {
            let part = without_files(job, load, obstacles);
            let clones = if together { 1 } else { load.numjobs };
            return vec![Part { numjobs: load.numjobs / clones, ..part }; clones as usize];
        }
        let shared = job.text("filename").is_some();
        // Clones are numbered downwards: the job itself is 0, then come N-1 to 1.
        let numbers = std::iter::once(0).chain((1..load.numjobs).rev());
        let mut clones = Vec::new();
        for number in numbers {
            let Some(names) = self.names(job, number, obstacles) else { return Vec::new() };
            let Some(extent) = self.extent(job, load, number, &names, obstacles) else { return Vec::new() };
            clones.push((names, extent));
        }
        let alike = clones.iter().all(|c| c.1 == clones[0].1);
        let increment = increment(job);
        let apart = increment.is_some_and(|i| i.0 > 0) && clones[0].1.size.is_some();
        if together && shared && (alike || apart) {
            let (targets, extent) = clones.swap_remove(0);
            let round_robin = targets.len() > 1;
            let offset_increment = Some(increment.unwrap_or_default());
            return vec![part(targets, round_robin, load.numjobs, extent, offset_increment)];
        }
        if together && alike && clones.iter().all(|c| c.0.len() == 1) {
            let extent = clones[0].1.clone();
            let targets = clones.into_iter().flat_map(|c| c.0).collect();
            return vec![part(targets, false, 1, extent, Some(Bytes(0)))];
        }
        let one = |(targets, extent): (Vec<PathBuf>, Extent)| {
            let round_robin = targets.len() > 1;
            part(targets, round_robin, 1, extent, Some(Bytes(0)))
        };
        clones.into_iter().map(one).collect()
    }

    /// The files of one clone.
    fn names(&mut self, job: &Job, number: u32, obstacles: &mut Obstacles<'_>) -> Option<Vec<PathBuf>> {
        let paths = names(job, number, self.look);
        let twice = paths.iter().enumerate().find(|(i, path)| paths[..*i].contains(path));
        if let Some((_, path)) = twice {
            obstacles.fio_only(format!("filename={}", path.display()), "the file is named twice");
            return None;
        }
        if paths.iter().any(|path| path == Path::new("-")) {
            obstacles.fio_only("filename=-", "volproof drives no pipes");
            return None;
        }
        for path in &paths {
            if !self.named.contains(path) {
                self.named.push(path.clone());
            }
        }
        Some(paths)
    }

    /// The part of its files that a clone uses, and how much it does there. Files that are too short are laid out.
    fn extent(
        &mut self,
        job: &Job,
        load: &Step,
        number: u32,
        names: &[PathBuf],
        obstacles: &mut Obstacles<'_>,
    ) -> Option<Extent> {
        let found: Vec<Found> = names.iter().map(|p| self.found(p)).collect();
        // A folder fails as fio's jobs do, when it is to be laid out.
        if let Some((path, _)) = names.iter().zip(&found).find(|(_, found)| **found == Found::Other) {
            let option = format!("filename={}", path.display());
            obstacles.fio_only(option, "it is neither a file nor a block device");
            return None;
        }
        let file = found.iter().position(|f| !matches!(f, Found::Block(_)));
        if let Some(file) = file.filter(|_| load.rw.directions().contains(&Direction::Trim)) {
            obstacles.refused("rw", format!("only block devices are trimmed, not {}", names[file].display()));
            return None;
        }
        let had = |f: &Found| match f {
            Found::File(size) | Found::Block(size) => size.0,
            _ => 0,
        };
        let all: u64 = found.iter().map(had).sum();
        let block =
            load.bs.shares().iter().chain(load.bs_write.iter().flat_map(|b| b.shares())).map(|s| s.0.0);
        let least = block.min().unwrap_or(1);
        let (wanted, percent) = match job.size("size") {
            Some(Size::Bytes(0)) | None => (None, None),
            Some(Size::Bytes(n)) => (Some(n), None),
            Some(Size::Percent(p)) => (None, (!matches!(p, 0 | 100)).then_some(u64::from(p))),
            Some(Size::Zones(_)) => {
                obstacles.fio_only("size in zones", "volproof does not know zoned devices");
                return None;
            }
        };
        let file_size = file_size(job, obstacles)?;
        if all == 0 && wanted.is_none() && file_size.is_none() {
            obstacles
                .refused("size", format!("you need to specify size=: {} has none yet", names[0].display()));
            return None;
        }
        if wanted.is_some_and(|n| n < least) {
            obstacles.refused("size", format!("it is smaller than one block of {}", Bytes(least).exact()));
            return None;
        }
        let count = names.len() as u64;
        // Where size does not divide by the files, fio gives the first of them a block more.
        if let Some(n) = wanted.filter(|n| file_size.is_none() && (n - n / count * count) / least > 0) {
            obstacles.fio_only("size", format!("{n} bytes are not shared out evenly over {count} files"));
            return None;
        }
        let mut sizes = Vec::new();
        let mut offset = 0;
        for (found, path) in found.iter().zip(names) {
            let real = had(found);
            offset = self.offset(job, number, real, least, obstacles)?;
            let Some(rest) =
                real.checked_sub(offset).or((wanted.is_some() || file_size.is_some()).then_some(0))
            else {
                obstacles.refused("offset", format!("it lies behind the end of {}", path.display()));
                return None;
            };
            let mut size = match (file_size, wanted) {
                (Some(f), _) if real == f => rest,
                (Some(f), _) => f.saturating_sub(offset),
                (None, Some(n)) => n / count,
                (None, None) => rest,
            };
            if let Some(percent) = percent {
                size = ((size + offset) * percent / 100).min(size);
                size -= size % least;
            }
            if matches!(found, Found::Block(_)) {
                size = size.min(rest);
            }
            // Going on from block to block, fio's last one may lie beyond the part, though not beyond the target.
            let blocks = load.bs.single().filter(|_| load.bs_write.is_none() && !load.rw.is_random());
            if let Some(bs) = blocks.filter(|_| load.stride.is_zero() && size >= least) {
                size = Some(size.next_multiple_of(bs.0)).filter(|whole| *whole <= rest).unwrap_or(size);
            }
            if size < least {
                obstacles
                    .refused("bs", format!("a block is larger than what there is of {}", path.display()));
                return None;
            }
            sizes.push(size);
        }
        if sizes.iter().any(|s| *s != sizes[0]) {
            obstacles.fio_only("filename", "its files and devices differ in the part that is used of each");
            return None;
        }
        let size = sizes[0];
        if self.lay_out(job, names, &found, offset + size) {
            obstacles.refused("allow_file_create=0", format!("{} is missing", names[0].display()));
            return None;
        }
        let lays_out = found.iter().any(|f| !matches!(f, Found::Block(_)) && had(f) < offset + size);
        if lays_out && job.flag("overwrite") && !load.rw.directions().contains(&Direction::Read) {
            obstacles.fio_only("overwrite=1", "a file that is only written is allocated, not filled first");
            return None;
        }
        let total = size * count;
        if load.stride.0 < 0 && offset > 0 {
            obstacles
                .fio_only("offset", "going backwards, fio wraps to another place than the end of the part");
            return None;
        }
        if !load.stride.is_zero() && (size % least != 0 || load.stride.0.unsigned_abs() > size) {
            obstacles
                .fio_only("size", "gaps are whole blocks of a part that is whole blocks too, and longer");
            return None;
        }
        if !load.stride.is_zero() && count > 1 {
            obstacles.fio_only("filename", "gaps are left in one file, not in several in turn");
            return None;
        }
        let end = found.iter().map(had).max().unwrap_or(0).max(offset + size);
        let pass = (load.stride.0 > 0 && !load_is_timed(job))
            .then(|| one_pass(size, least, load.stride.0.unsigned_abs(), offset == 0 && end == size));
        if pass.is_some() && io_size(job, total).is_some() {
            obstacles.fio_only("io_size", "fio begins again only at the end of some passes with gaps");
            return None;
        }
        let amount = (!load_is_timed(job)).then(|| {
            let limit = match io_size(job, total).or(pass) {
                Some(limit) => limit,
                None => {
                    let whole = match load.bs.single() {
                        Some(bs) if load.bs_write.is_none() && !(load.norandommap && load.rw.is_random()) => {
                            size - size % bs.0
                        }
                        _ => size,
                    };
                    wanted.map_or(whole * count, |n| n.min(whole * count))
                }
            };
            Bytes(limit * loops(job))
        });
        Some(Extent { offset: Bytes(offset), size: Some(Bytes(size)), amount })
    }

    /// Where the part begins.
    fn offset(
        &self,
        job: &Job,
        number: u32,
        real: u64,
        least: u64,
        obstacles: &mut Obstacles<'_>,
    ) -> Option<u64> {
        let steps = match (job.size("offset_increment"), number) {
            (Some(Size::Bytes(n)), number) => n * u64::from(number),
            (Some(Size::Percent(p)), number) => real * u64::from(p) / 100 * u64::from(number),
            (Some(Size::Zones(_)), _) => {
                obstacles.fio_only("offset_increment in zones", "volproof does not know zoned devices");
                return None;
            }
            (None, _) => 0,
        };
        match job.size("offset") {
            None => Some(steps),
            Some(Size::Bytes(n)) => Some(n + steps),
            Some(Size::Percent(p)) => {
                let align = job.int("offset_align").filter(|a| *a > 0).map_or(least, |a| a as u64);
                Some((real * u64::from(p) / 100 + steps).next_multiple_of(align))
            }
            Some(Size::Zones(_)) => {
                obstacles.fio_only("offset in zones", "volproof does not know zoned devices");
                None
            }
        }
    }

    /// Notes what is too short. True when a file is missing that may not be made.
    fn lay_out(&mut self, job: &Job, names: &[PathBuf], found: &[Found], needed: u64) -> bool {
        let mut missing = false;
        let mut layout = Layout { job: job.name.clone(), files: 0, bytes: Bytes(0) };
        for (path, found) in names.iter().zip(found) {
            let had = match found {
                Found::Block(_) => continue,
                Found::File(size) => size.0,
                _ => 0,
            };
            let laid = self.laid.entry(path.clone()).or_default();
            laid.unlink |= job.flag("unlink");
            if needed > had {
                missing |= *found == Found::Missing;
                laid.size = laid.size.max(Bytes(needed));
                layout.files += 1;
                layout.bytes.0 += needed;
            }
        }
        if layout.files > 0 {
            self.layouts.push(layout);
        }
        missing && !job.flag("allow_file_create")
    }
}

/// Every file and device that a job names or makes up a name for, whatever its clones do with it.
pub fn targets(job: &Job, look: &dyn Fn(&Path) -> Found) -> Vec<PathBuf> {
    let clones = match job.text("filename_format") {
        // Names of the usual form end in numbers and lie in the job's folder: no device has one.
        Some(format) if format != FORMAT && job.text("filename").is_none() => job.int("numjobs").unwrap_or(1),
        _ => 1,
    };
    let mut all: Vec<PathBuf> =
        (0..clones.max(1) as u32).flat_map(|number| names(job, number, look)).collect();
    all.sort();
    all.dedup();
    all
}

/// fio's `filename_format`.
const FORMAT: &str = "$jobname.$jobnum.$filenum";

/// The files of one clone, which has that number.
fn names(job: &Job, number: u32, look: &dyn Fn(&Path) -> Found) -> Vec<PathBuf> {
    let folders = job.text("directory").map(|d| split(&d)).unwrap_or_default();
    let folder = match folders.len() as u32 {
        0 => None,
        n => Some(&folders[(number % n) as usize]),
    };
    let count = job.int("nrfiles").unwrap_or(1).max(1) as u32;
    let names = match job.text("filename") {
        Some(names) => split(stripped(&names)),
        None if count == 1 && matches!(look(Path::new(&job.name)), Found::Block(_) | Found::Other) => {
            vec![job.name.clone()]
        }
        None => (0..count).map(|file| made_up(job, number, file)).collect(),
    };
    let path = |name: String| match folder {
        // As fio has it, a path from the root lies in the folder too.
        Some(folder) if name != "-" => PathBuf::from(format!("{folder}/{name}")),
        _ => PathBuf::from(name),
    };
    names.into_iter().map(path).collect()
}

/// The null engine has no files; what it does still ends with `size`.
fn without_files(job: &Job, load: &Step, obstacles: &mut Obstacles<'_>) -> Part {
    let size = match job.size("size") {
        Some(Size::Bytes(n)) if n > 0 => Some(n),
        _ => {
            obstacles.refused("size", "you need to specify size=: the null engine has no file with one");
            None
        }
    };
    let size_or_none = size.map(Bytes);
    let total = size.unwrap_or(0);
    let amount = (!load_is_timed(job)).then(|| Bytes(io_size(job, total).unwrap_or(total) * loops(job)));
    Part {
        targets: Vec::new(),
        round_robin: false,
        numjobs: load.numjobs,
        offset: Bytes(0),
        size: size_or_none,
        offset_increment: Some(Bytes(0)),
        io_size: amount,
    }
}

fn part(
    targets: Vec<PathBuf>,
    round_robin: bool,
    numjobs: u32,
    extent: Extent,
    offset_increment: Option<Bytes>,
) -> Part {
    let Extent { offset, size, amount } = extent;
    Part { targets, round_robin, numjobs, offset, size, offset_increment, io_size: amount }
}

/// Only time ends the job.
fn load_is_timed(job: &Job) -> bool {
    job.flag("time_based") && job.time("runtime").is_some_and(|t| t.0 > 0)
}

fn loops(job: &Job) -> u64 {
    job.int("loops").map_or(1, |n| n.max(1) as u64)
}

fn increment(job: &Job) -> Option<Bytes> {
    match job.size("offset_increment") {
        Some(Size::Bytes(n)) => Some(Bytes(n)),
        None => Some(Bytes(0)),
        _ => None,
    }
}

/// How much a job does that leaves gaps: fio ends where the next I/O would begin behind the part, unless that is behind the end of the file
/// too and some of the file is left behind the last I/O; then it begins again.
fn one_pass(size: u64, block: u64, stride: u64, to_the_end: bool) -> u64 {
    let ios = size.saturating_sub(block) / (block + stride) + 1;
    let end = (ios - 1) * (block + stride) + block;
    if to_the_end && end < size { size - size % block } else { ios * block }
}

/// `io_size`: how much is done where that is not `size`.
fn io_size(job: &Job, total: u64) -> Option<u64> {
    match job.size("io_size")? {
        Size::Bytes(0) => None,
        Size::Bytes(n) => Some(n),
        Size::Percent(p) => Some(total * u64::from(p) / 100),
        Size::Zones(_) => None,
    }
}

/// `filesize`; the outer `None` when it is a range.
fn file_size(job: &Job, obstacles: &mut Obstacles<'_>) -> Option<Option<u64>> {
    let (low, high) = match job.value("filesize") {
        Some(Value::Ranges([Some(range), ..])) => range,
        _ => return Some(None),
    };
    if low != high {
        obstacles.fio_only("filesize", "volproof makes files of one size");
        return None;
    }
    Some((low > 0).then_some(low))
}

/// The name of a file that the job does not name itself.
fn made_up(job: &Job, number: u32, file: u32) -> String {
    let format = job.text("filename_format").filter(|f| !f.is_empty());
    let format = format.unwrap_or_else(|| FORMAT.into());
    format
        .replace("$jobname", &job.name)
        .replace("$jobnum", &number.to_string())
        .replace("$filenum", &file.to_string())
        .replace("$clientuid", "localhost")
}

/// A list of names as fio trims it: no blanks around it, nothing from a `;` or `#` on.
pub fn stripped(text: &str) -> &str {
    let blank = |c: char| c.is_ascii_whitespace() || c == '\x0b';
    let text = text.trim_start_matches(blank);
    let text = text.split([';', '#']).next().unwrap_or_default();
    text.trim_end_matches(|c: char| blank(c) || c.is_ascii_control())
}

/// Parts between colons; a colon behind a backslash belongs to its part.
pub fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' if characters.peek() == Some(&':') => {
                characters.next();
                parts.last_mut().expect("never empty").push(':');
            }
            ':' => parts.push(String::new()),
            c => parts.last_mut().expect("never empty").push(c),
        }
    }
    parts.retain(|p| !p.is_empty());
    parts
}

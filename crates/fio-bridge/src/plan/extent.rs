//! Which part of its files a job uses, and how much it does there: `size`, `filesize`, `offset`, `offset_increment`, `io_size`, `loops`.
//!
//! Without `size` the file counts with the size it has, and `filesize` says how large it is to be. A job that drives several files in turn goes
//! to the installed fio.

use std::path::{Path, PathBuf};

use super::data_files::{Files, PathKind};
use super::timing::is_time_based;
use super::{FioWords, Obstacles, written_size};
use fio_formats::job::Job;
use fio_formats::option_value::{OptionValue, TargetAmount};
use volproof_base::sample::Direction;
use volproof_base::unit::Bytes;
use volproof_plan::{EngineKind, Step};

/// The part of a job that becomes a step: all of it, or one clone.
#[derive(Clone)]
pub(super) struct JobPart {
    targets: Vec<PathBuf>,
    numjobs: u32,
    offset: Bytes,
    size: Option<Bytes>,
    offset_increment: Option<Bytes>,
    io_size: Option<Bytes>,
}

impl JobPart {
    /// The step of that load on this part.
    pub(super) fn apply(self, load: &Step) -> Step {
        Step {
            targets: self.targets,
            numjobs: self.numjobs,
            offset: self.offset,
            size: self.size,
            offset_increment: self.offset_increment,
            io_size: self.io_size,
            ..load.clone()
        }
    }
}

/// The extent of one clone.
#[derive(Clone, PartialEq)]
struct Extent {
    offset: Bytes,
    /// The whole of a device when absent.
    size: Option<Bytes>,
    amount: Option<Bytes>,
}

/// The sizes that a job asks for.
struct AskedSizes {
    /// `size` in bytes.
    total: Option<u64>,
    /// `size` as a share, other than all.
    percent: Option<u64>,
    /// `filesize`.
    of_file: Option<u64>,
    /// The smallest block.
    least: u64,
}

impl AskedSizes {
    /// None where only fio takes them.
    fn of_job(job: &Job, load: &Step, obstacles: &mut Obstacles<'_>) -> Option<AskedSizes> {
        let (total, percent) = match job.size("size") {
            Some(TargetAmount::Bytes(0)) | None => (None, None),
            Some(TargetAmount::Bytes(n)) => (Some(n), None),
            Some(TargetAmount::Percent(p)) => (None, (!matches!(p, 0 | 100)).then_some(u64::from(p))),
            Some(TargetAmount::Zones(_)) => {
                obstacles.fio_only("size in zones", "volproof does not know zoned devices");
                return None;
            }
        };
        let least = load.bs.shares().iter().map(|s| s.0.0).min().unwrap_or(1);
        Some(AskedSizes { total, percent, of_file: file_size(job, obstacles)?, least })
    }

    /// The file has a size to begin with, of at least one block.
    fn is_fit(&self, path: &Path, found: PathKind, obstacles: &mut Obstacles<'_>) -> bool {
        if self.total.is_none() && self.of_file.is_none() && found.size() == 0 {
            obstacles.refused("size", format!("you need to specify size=: {} has none yet", path.display()));
        } else if self.total.is_some_and(|n| n < self.least) {
            let why = format!("it is smaller than one block of {}", Bytes(self.least).exact());
            obstacles.refused("size", why);
        } else {
            return true;
        }
        false
    }

    /// How much of the file is used behind an offset, by the rest that there is of the file.
    fn used(&self, load: &Step, found: PathKind, offset: u64, rest: u64) -> u64 {
        let mut size = match (self.of_file, self.total) {
            (Some(f), _) if found.size() == f => rest,
            (Some(f), _) => f.saturating_sub(offset),
            (None, Some(n)) => n,
            (None, None) => rest,
        };
        if let Some(percent) = self.percent {
            size = ((size + offset) * percent / 100).min(size);
            size -= size % self.least;
        }
        if matches!(found, PathKind::Block(_)) {
            size = size.min(rest);
        }
        // Going on from block to block, fio's last one may lie beyond the part, though not beyond the target.
        let blocks = load.bs.single().filter(|_| !load.rw.is_random());
        if let Some(bs) = blocks.filter(|_| size >= self.least) {
            size = Some(size.next_multiple_of(bs.0)).filter(|whole| *whole <= rest).unwrap_or(size);
        }
        size
    }

    /// How much a clone does on a part of that size; none where time ends it.
    fn amount(&self, job: &Job, load: &Step, size: u64) -> Option<Bytes> {
        if is_time_based(job) {
            return None;
        }
        let whole = match load.bs.single() {
            Some(bs) if !(load.norandommap && load.rw.is_random()) => size - size % bs.0,
            _ => size,
        };
        let limit = io_size(job, size).unwrap_or(self.total.map_or(whole, |n| n.min(whole)));
        Some(Bytes(limit * loops(job)))
    }
}

impl Files<'_> {
    /// The steps that a job becomes: one where that says the same, else one for each clone.
    pub(super) fn parts(&mut self, job: &Job, load: &Step, obstacles: &mut Obstacles<'_>) -> Vec<JobPart> {
        let together = job.flag("group_reporting") || load.numjobs == 1;
        if load.engine == EngineKind::Null {
            let part = without_files(job, load, obstacles);
            let clones = if together { 1 } else { load.numjobs };
            return vec![JobPart { numjobs: load.numjobs / clones, ..part }; clones as usize];
        }
        let shared = job.text("filename").is_some();
        // Clones are numbered downwards: the job itself is 0, then come N-1 to 1.
        let numbers = std::iter::once(0).chain((1..load.numjobs).rev());
        let mut clones = Vec::new();
        for number in numbers {
            let Some(names) = self.names(job, number, obstacles) else { return Vec::new() };
            let [path] = names.as_slice() else {
                obstacles.fio_only(
                    "filename",
                    "volproof has jobs for each file, and none that drives several in turn",
                );
                return Vec::new();
            };
            let Some(extent) = self.extent(job, load, number, path, obstacles) else { return Vec::new() };
            clones.push((path.clone(), extent));
        }
        let alike = clones.iter().all(|c| c.1 == clones[0].1);
        let increment = increment(job);
        let apart = increment.is_some_and(|i| i.0 > 0) && clones[0].1.size.is_some();
        if together && shared && (alike || apart) {
            let (target, extent) = clones.swap_remove(0);
            return vec![part(vec![target], load.numjobs, extent, increment.unwrap_or_default())];
        }
        if together && alike {
            let extent = clones[0].1.clone();
            let targets = clones.into_iter().map(|c| c.0).collect();
            return vec![part(targets, 1, extent, Bytes(0))];
        }
        clones.into_iter().map(|(target, extent)| part(vec![target], 1, extent, Bytes(0))).collect()
    }

    /// The part of its file that a clone uses, and how much it does there. A file that is too short is laid out.
    fn extent(
        &mut self,
        job: &Job,
        load: &Step,
        number: u32,
        path: &Path,
        obstacles: &mut Obstacles<'_>,
    ) -> Option<Extent> {
        let found = self.found(path);
        if !is_target(load, path, found, obstacles) {
            return None;
        }
        let asked =
            AskedSizes::of_job(job, load, obstacles).filter(|asked| asked.is_fit(path, found, obstacles))?;
        let offset = offset(job, number, found.size(), asked.least, obstacles)?;
        let made = asked.total.is_some() || asked.of_file.is_some();
        let Some(rest) = found.size().checked_sub(offset).or(made.then_some(0)) else {
            obstacles.refused("offset", format!("it lies behind the end of {}", path.display()));
            return None;
        };
        let size = asked.used(load, found, offset, rest);
        if size < asked.least {
            obstacles.refused("bs", format!("a block is larger than what there is of {}", path.display()));
            return None;
        }
        if self.lay_out(job, &[path.to_path_buf()], &[found], offset + size) {
            obstacles.refused("allow_file_create=0", format!("{} is missing", path.display()));
            return None;
        }
        let is_short = !matches!(found, PathKind::Block(_)) && found.size() < offset + size;
        let only_written = !load.rw.directions().contains(&Direction::Read);
        if is_short && job.flag("overwrite") && only_written {
            obstacles.fio_only("overwrite=1", "a file that is only written is allocated, not filled first");
            return None;
        }
        Some(Extent { offset: Bytes(offset), size: Some(Bytes(size)), amount: asked.amount(job, load, size) })
    }
}

/// It is a file or a block device, and only a device is trimmed. A folder fails as fio's jobs do, when it is to be laid out.
fn is_target(load: &Step, path: &Path, found: PathKind, obstacles: &mut Obstacles<'_>) -> bool {
    if found == PathKind::Other {
        let option = format!("filename={}", path.display());
        obstacles.fio_only(option, "it is neither a file nor a block device");
        return false;
    }
    if !matches!(found, PathKind::Block(_)) && load.rw.directions().contains(&Direction::Trim) {
        obstacles.refused("rw", format!("only block devices are trimmed, not {}", path.display()));
        return false;
    }
    true
}

/// Where the part begins.
fn offset(job: &Job, number: u32, real: u64, least: u64, obstacles: &mut Obstacles<'_>) -> Option<u64> {
    let steps = match (job.size("offset_increment"), number) {
        (Some(TargetAmount::Bytes(n)), number) => n * u64::from(number),
        (Some(TargetAmount::Percent(p)), number) => real * u64::from(p) / 100 * u64::from(number),
        (Some(TargetAmount::Zones(_)), _) => {
            obstacles.fio_only("offset_increment in zones", "volproof does not know zoned devices");
            return None;
        }
        (None, _) => 0,
    };
    match job.size("offset") {
        None => Some(steps),
        Some(TargetAmount::Bytes(n)) => Some(n + steps),
        Some(TargetAmount::Percent(p)) => {
            let align = job.int("offset_align").filter(|a| *a > 0).map_or(least, |a| a as u64);
            Some((real * u64::from(p) / 100 + steps).next_multiple_of(align))
        }
        Some(TargetAmount::Zones(_)) => {
            obstacles.fio_only("offset in zones", "volproof does not know zoned devices");
            None
        }
    }
}

/// The null engine has no files; what it does still ends with `size`.
fn without_files(job: &Job, load: &Step, obstacles: &mut Obstacles<'_>) -> JobPart {
    let size = match (job.size("size"), file_size(job, obstacles).flatten()) {
        (Some(TargetAmount::Bytes(n)), _) if n > 0 => Some(n),
        (_, Some(n)) => Some(n),
        _ => {
            obstacles.refused("size", "you need to specify size=: the null engine has no file with one");
            None
        }
    };
    let size_or_none = size.map(Bytes);
    let total = size.unwrap_or(0);
    let amount = (!is_time_based(job)).then(|| Bytes(io_size(job, total).unwrap_or(total) * loops(job)));
    JobPart {
        targets: Vec::new(),
        numjobs: load.numjobs,
        offset: Bytes(0),
        size: size_or_none,
        offset_increment: Some(Bytes(0)),
        io_size: amount,
    }
}

fn part(targets: Vec<PathBuf>, numjobs: u32, extent: Extent, increment: Bytes) -> JobPart {
    let Extent { offset, size, amount } = extent;
    JobPart { targets, numjobs, offset, size, offset_increment: Some(increment), io_size: amount }
}

fn loops(job: &Job) -> u64 {
    job.int("loops").map_or(1, |n| n.max(1) as u64)
}

fn increment(job: &Job) -> Option<Bytes> {
    match job.size("offset_increment") {
        Some(TargetAmount::Bytes(n)) => Some(Bytes(n)),
        None => Some(Bytes(0)),
        _ => None,
    }
}

/// `io_size`: how much is done where that is not `size`.
fn io_size(job: &Job, total: u64) -> Option<u64> {
    match job.size("io_size")? {
        TargetAmount::Bytes(0) => None,
        TargetAmount::Bytes(n) => Some(n),
        TargetAmount::Percent(p) => Some(total * u64::from(p) / 100),
        TargetAmount::Zones(_) => None,
    }
}

/// `filesize`; the outer `None` when it is a range.
fn file_size(job: &Job, obstacles: &mut Obstacles<'_>) -> Option<Option<u64>> {
    let (low, high) = match job.value("filesize") {
        Some(OptionValue::Ranges([Some(range), ..])) => range,
        _ => return Some(None),
    };
    if low != high {
        obstacles.fio_only("filesize", "volproof makes files of one size");
        return None;
    }
    Some((low > 0).then_some(low))
}

/// The part of the target in fio's words, and where each job begins in it. fio shares `size` out over the files of a job.
pub(super) fn to(
    step: &Step,
    target: Option<Bytes>,
    files: usize,
    words: &mut FioWords,
) -> Result<(), String> {
    let jobs = u64::from(step.numjobs);
    let block = step.bs.largest().0;
    let whole = step.size.or(target.map(|t| Bytes(t.0.saturating_sub(step.offset.0))));
    let parts = in_parts(step);
    match whole {
        Some(whole) if parts => {
            let share = whole.0 / jobs / block * block;
            words.set("size", size_of_all(share, files)?);
            words.set("offset_increment", written_size(Bytes(share)));
        }
        None if parts => {
            words.set("size", format!("{}%", 100 / jobs));
            words.set("offset_increment", format!("{}%", 100 / jobs));
        }
        Some(whole) if step.size.is_some() || step.offset.0 > 0 => {
            words.set("size", size_of_all(whole.0, files)?);
        }
        _ => {}
    }
    if step.offset.0 > 0 {
        words.set("offset", written_size(step.offset));
    }
    if let Some(increment) = step.offset_increment.filter(|i| i.0 > 0) {
        words.set("offset_increment", written_size(increment));
    }
    if let Some(amount) = step.io_size {
        words.set("io_size", written_size(amount));
    }
    Ok(())
}

/// The size of all files of a job, from that of each.
fn size_of_all(size: u64, files: usize) -> Result<String, String> {
    let all = size
        .checked_mul(files.max(1) as u64)
        .ok_or("the size of all its targets is above 16 EiB: use a smaller size")?;
    Ok(written_size(Bytes(all)))
}

/// Sequential jobs of ours get parts of their own.
fn in_parts(step: &Step) -> bool {
    step.offset_increment.is_none() && !step.rw.is_random() && step.numjobs > 1
}

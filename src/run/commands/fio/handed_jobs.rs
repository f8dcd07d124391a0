//! Jobs for the installed fio: their files are checked, opened and laid out here, and fio gets their descriptors in place of their names.
//!
//! fio opens `/proc/self/fd/N`, which is the file that was checked, whatever leads to its name meanwhile. It is never given a name to open: an
//! option that holds one is refused. Files are laid out here too, since fio would remove a file and make another one under its name.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

use anyhow::Context;
use fio_formats::block_ranges::block_ranges;
use fio_formats::command::Command;
use fio_formats::job::{Given, Job};
use fio_formats::option_value::{OptionValue, TargetAmount};

use super::Failure;
use super::devices::{DISKLESS_ENGINES, least_length, reads_only, spare_short_files};
use super::volproof_options::VolproofOptions;
use crate::prepare;
use crate::run::open_targets::{Ready, ReadySetting, try_open};
use crate::run::run_options::RunOptions;
use crate::run::targets;
use crate::ui::Ui;
use volproof_base::unit::Bytes;
use volproof_device::device::Root;
use volproof_engine::Timer;
use volproof_fio::plan::{Obstacle, PathKind, files_of_clone};
use volproof_plan::{BlockSizes, EngineKind, Pattern, Plan, Step};

/// Options that volproof's own engine honours or leaves to fio, and that are not handed over: fio would look for the name of a file.
const BY_NAME: [(&str, &str); 4] = [
    ("unlink", "fio has no name to remove: remove the file yourself"),
    ("unlink_each_loop", "fio has no name to remove: remove the file yourself"),
    ("fill_device", "a file gets its length before fio starts: give size"),
    ("file_append", "a file gets its length before fio starts: give size and offset"),
];
/// Options that say which files there are: their descriptors take the place of all of them.
const FILES: [&str; 5] = ["filename", "directory", "filename_format", "nrfiles", "allow_file_create"];
/// Options that those behind them depend on.
const FIRST: [&str; 2] = ["kb_base", "ioengine"];

/// What keeps a command from the installed fio: options that hold a name which fio would open.
pub fn obstacles(command: &Command, look: &dyn Fn(&Path) -> PathKind) -> Vec<Obstacle> {
    command.jobs.iter().flat_map(|job| of_job(job, look)).collect()
}

fn of_job(job: &Job, look: &dyn Fn(&Path) -> PathKind) -> Vec<Obstacle> {
    let obstacle = |option: String, why: &str| Obstacle {
        job: job.name.clone(),
        option,
        fio_can: false,
        why: why.into(),
    };
    let mut found = Vec::new();
    for (name, why) in BY_NAME {
        if job.flag(name) {
            found.push(obstacle(name.into(), why));
        }
    }
    for given in job.options() {
        let text = given.text.as_deref().unwrap_or_default();
        match given.option.name {
            "mem" if text.contains([':', '=']) => {
                found.push(obstacle(
                    given.line(),
                    "fio would keep its buffers in that file: leave the file out",
                ));
            }
            "verify_pattern" | "buffer_pattern" if text.contains('\'') => {
                found.push(obstacle(
                    given.line(),
                    "fio would read the pattern from a file: write the pattern",
                ));
            }
            _ => {}
        }
    }
    if let Some(OptionValue::Ranges([Some((low, high)), ..])) = job.value("filesize")
        && low != high
    {
        found.push(obstacle("filesize".into(), "a file gets its length before fio starts: give one size"));
    }
    if job.name.starts_with("global") {
        found.push(obstacle(
            format!("name={}", job.name),
            "fio would read it as options for all jobs: rename it",
        ));
    }
    let clones = clones(job, look);
    if lacks_files(job, &clones) {
        found.push(obstacle("filename".into(), NO_FILE));
    }
    if clones.iter().flatten().any(|path| path == Path::new("-")) {
        found.push(obstacle("filename=-".into(), STANDARD_STREAM));
    }
    if clones.len() > 1 && job.given("offset_increment").is_some() {
        let why = "each clone has files of its own, and fio counts the increment by clones of one job: name the files";
        found.push(obstacle("offset_increment".into(), why));
    }
    if !job.flag("allow_file_create") {
        let missing = clones.iter().flatten().find(|path| look(path) == PathKind::Missing);
        found.extend(
            missing.map(|path| {
                obstacle("allow_file_create=0".into(), &format!("{} is missing", path.display()))
            }),
        );
    }
    found
}

const NO_FILE: &str = "it names no file, and fio would open one by the name of the job: name a file";

/// fio takes the name for standard input or output. Given a descriptor instead, it would make a file of that name.
const STANDARD_STREAM: &str = "fio would read standard input or write standard output, which is no volume: name a file (./- for one of that name)";

/// Whether a job of an engine that needs files has none. fio would make up names then, and open them unchecked.
fn lacks_files(job: &Job, clones: &[Vec<PathBuf>]) -> bool {
    !DISKLESS_ENGINES.contains(&job.engine()) && clones.iter().any(Vec::is_empty)
}

/// The files of each job that fio gets: one job for all clones where they share their files, else one for each clone.
fn clones(job: &Job, look: &dyn Fn(&Path) -> PathKind) -> Vec<Vec<PathBuf>> {
    if DISKLESS_ENGINES.contains(&job.engine()) {
        return vec![Vec::new()];
    }
    let count = job.int("numjobs").unwrap_or(1).max(1) as u32;
    let mut all: Vec<_> = (0..count).map(|number| files_of_clone(job, number, look)).collect();
    if all.iter().all(|files| *files == all[0]) {
        all.truncate(1);
    }
    all
}

/// One job as fio gets it.
struct HandedJob<'a> {
    job: &'a Job,
    /// It stands for all clones of the job.
    all: bool,
    /// It is the first clone: the others wait for no other job.
    first: bool,
    /// Its step in the plan that opens its files; none without files.
    step: Option<usize>,
}

/// The jobs of a command and their files, which are open and as long as the jobs need them.
pub struct HandedJobs<'a> {
    jobs: Vec<HandedJob<'a>>,
    /// A step for each job with files, which says how they are opened.
    plan: Plan,
    ready: Ready,
}

impl<'a> HandedJobs<'a> {
    /// Checks, opens and lays out all files. None when a signal ended it.
    ///
    /// # Errors
    /// What the guard refuses, and files that cannot be made.
    pub fn open(
        root: &Root,
        command: &'a Command,
        own: &VolproofOptions,
        look: &dyn Fn(&Path) -> PathKind,
        interrupts: &AtomicUsize,
    ) -> Result<Option<HandedJobs<'a>>, Failure> {
        let mut options = RunOptions {
            destroy: own.destroy.clone(),
            overwrite_shared: own.overwrite_shared,
            ..RunOptions::default()
        };
        let plan = Plan { name: "fio".into(), overwrite: true, ..Plan::none() };
        let mut handed = HandedJobs { jobs: Vec::new(), plan, ready: Ready::default() };
        for job in &command.jobs {
            let clones = clones(job, look);
            if lacks_files(job, &clones) {
                return Err(Failure::input(format!("{}: filename: {NO_FILE}", job.name)));
            }
            for (number, files) in clones.iter().enumerate() {
                let step = (!files.is_empty()).then(|| handed.plan_files(job, files, look, &mut options));
                handed.jobs.push(HandedJob { job, all: clones.len() == 1, first: number == 0, step });
            }
        }
        if handed.plan.targets.is_empty() {
            return Ok(Some(handed));
        }
        // Where a folder has to be made first, the room in it is not known before.
        options.others_go_on = handed.plan.targets.iter().any(|path| lacks_folder(path));
        let timer = Timer::choose(Path::new("/"));
        let surveyed = targets::survey(root, &handed.plan, &options)?;
        // Every device and every file that may be written is cleared, before a file is made.
        surveyed.iter().try_for_each(|target| try_open(root, &handed.plan, target, &options))?;
        spare_short_files(command, look)?;
        for target in surveyed {
            let plan = &handed.plan;
            let setting = ReadySetting { root, plan, options: &options, timer: &timer, interrupts };
            if !handed.ready.add(&setting, target, &mut Ui::silent())? {
                return Ok(None);
            }
        }
        handed.lengthen(&options)?;
        Ok(Some(handed))
    }

    /// Makes files that are only written as long as the jobs need them: fio would make a new file in place of a shorter one.
    fn lengthen(&self, options: &RunOptions) -> Result<(), Failure> {
        for step in &self.plan.steps {
            for (path, target) in step.targets.iter().zip(self.ready.targets(&self.plan, step)) {
                let Some(clearance) = target.clearance else { continue };
                let has = rustix::fs::fstat(clearance.as_fd()).map_or(0, |about| about.st_size as u64);
                let asked = options.job_files[path].size;
                if !clearance.is_block() && has < asked.0 {
                    prepare::allocate(&clearance, asked)
                        .with_context(|| format!("{} is to be {asked} long", path.display()))?;
                }
            }
        }
        Ok(())
    }

    /// Adds a step that says what a job does with its files, and how long they have to be. Returns its place.
    fn plan_files(
        &mut self,
        job: &Job,
        files: &[PathBuf],
        look: &dyn Fn(&Path) -> PathKind,
        options: &mut RunOptions,
    ) -> usize {
        for path in files {
            let has = match look(path) {
                PathKind::File(length) => length,
                _ => Bytes(0),
            };
            let laid = options.job_files.entry(path.clone()).or_default();
            laid.size = laid.size.max(length(job, files.len(), has));
            if !self.plan.targets.contains(path) {
                self.plan.targets.push(path.clone());
            }
        }
        self.plan.steps.push(Step {
            name: job.name.clone(),
            rw: access(job),
            bs: BlockSizes::one(SECTOR),
            engine: EngineKind::Psync,
            direct: false,
            targets: files.to_vec(),
            ..Step::default()
        });
        self.plan.steps.len() - 1
    }

    /// fio's options for the jobs, and the files behind the descriptors in them, which fio is to inherit.
    ///
    /// # Errors
    /// There is no room for another descriptor.
    pub fn arguments(&self) -> io::Result<(Vec<String>, Vec<File>)> {
        let (mut words, mut inherited) = (Vec::new(), Vec::new());
        for handed in &self.jobs {
            let mut names = Vec::new();
            for target in
                handed.step.iter().flat_map(|step| self.ready.targets(&self.plan, &self.plan.steps[*step]))
            {
                let clearance = target.clearance.expect("every file of a job is opened");
                let file = File::from(rustix::io::dup(clearance.as_fd())?);
                names.push(format!("/proc/self/fd/{}", file.as_raw_fd()));
                inherited.push(file);
            }
            words.extend(options(handed, &names));
        }
        Ok((words, inherited))
    }
}

/// The folder of a file is missing: it is made, as fio makes it.
fn lacks_folder(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder != Path::new("") && !folder.exists())
}

/// The least block of a file or device.
const SECTOR: Bytes = Bytes(512);

/// Whether a job reads its files, writes them, or both: what it reads has to hold data first.
fn access(job: &Job) -> Pattern {
    if reads_only(job) {
        return Pattern::Read;
    }
    match job.choice("rw") {
        Some("rw" | "readwrite" | "randrw") => Pattern::ReadWrite,
        _ => Pattern::Write,
    }
}

/// The length of a file with which fio makes it no longer. Where `size` is not shared out evenly, fio gives some files a block more.
fn length(job: &Job, files: usize, has: Bytes) -> Bytes {
    let least = least_length(job, files, has);
    let uneven = match job.size("size") {
        Some(TargetAmount::Bytes(all)) => files > 1 && all % files as u64 > 0,
        _ => false,
    };
    let largest = block_ranges(job).into_iter().map(|(_, high)| high).max().unwrap_or(0);
    if uneven { Bytes(least.0.saturating_add(largest)) } else { least }
}

/// One job in fio's words: the options that were given, with descriptors in place of names of files.
fn options(handed: &HandedJob<'_>, files: &[String]) -> Vec<String> {
    let job = handed.job;
    let mut words = vec![format!("--name={}", job.name)];
    let is_first = |given: &&Given| FIRST.contains(&given.option.name);
    let is_left_out = |given: &&Given| {
        let name = given.option.name;
        let of_all = !handed.all && name == "numjobs";
        let of_first = !handed.first && ["stonewall", "new_group"].contains(&name);
        name == "name" || FILES.contains(&name) || is_first(given) || of_all || of_first
    };
    words.extend(job.options().filter(is_first).map(word));
    if !files.is_empty() {
        words.push(format!("--filename={}", files.join(":")));
    }
    words.extend(job.options().filter(|given| !is_left_out(given)).map(word));
    if job.stonewall && handed.first {
        words.push("--stonewall".into());
    }
    // It names a file of fio's own.
    words.push("--verify_state_save=0".into());
    words
}

/// An option on fio's command line. A switch that stands alone in a job file needs its value there.
fn word(given: &Given) -> String {
    let line = given.line();
    let is_bare = given.text.is_none() && !given.option.value_is_optional();
    if is_bare { format!("--{line}=1") } else { format!("--{line}") }
}

//! fio jobs become a Plan for volproof's own engine, or the list of what keeps them from it.
//!
//! The rules are fio's (3.33: `fixup_options` and `add_job` in init.c, `setup_files` in filesetup.c, `run_threads` in backend.c):
//!
//! - A job is one [`Step`]. Where its clones (`numjobs`) are reported together they stay in it; else each clone is a step of its own.
//! - `stonewall` waits for everything before it; everything else begins together.
//! - A job ends after its `size` (or `io_size`, times `loops`) even when it has a runtime, unless `time_based`.
//!
//! The table's reasons and `docs/fio-compat.md` say where an option of the same name works differently: random offsets come from our
//! own generator (each block once a pass, as fio's random map), so a seed repeats our sequence and not fio's.
//!
//! Nothing is opened here: sizes of targets come through a function.

mod addressing;
mod block_sizes;
mod caching;
mod data_files;
mod extent;
mod fio_words;
mod flushing;
mod job_order;
mod obstacle;
mod rates;
mod submission;
#[cfg(test)]
mod tests;
mod timing;
mod written_data;

use self::fio_words::{FioWords, whole, written_size};
pub use self::obstacle::Obstacle;
use self::obstacle::Obstacles;
use std::path::{Path, PathBuf};

pub use data_files::{JobDataFile, Layout, PathKind, files_of_clone, split, targets};

use fio_formats::job::Job;
use volproof_base::unit::Bytes;
use volproof_plan::{EngineKind, FileState, Plan, Step};

use crate::support::{self, Limit, Support};

/// A command that runs on volproof's own engine.
#[derive(Clone, Debug)]
pub struct Native {
    /// The plan.
    pub plan: Plan,
    /// The jobs that the steps of the plan stand for, in the same order.
    pub members: Vec<Member>,
    /// Files that the jobs name, each once, with the size they need.
    pub files: Vec<(PathBuf, JobDataFile)>,
    /// Which of them are missing or too short, by job and in fio's order.
    pub layouts: Vec<Layout>,
    /// Options that are accepted and change nothing.
    pub notes: Vec<Limit>,
}

/// The part of a fio job that a step stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The job, by its place in the command.
    pub job: usize,
    /// Clones of it that are in the step: all, or one.
    pub clones: u32,
    /// Number of the first of them among all jobs and clones of the command, from 1 (fio's thread number).
    pub thread: u32,
}

/// Makes the plan. `look` says what lies at a path; `seed` is the seed of jobs that ask for other random numbers in each run.
///
/// # Errors
/// Everything that only the real fio can do, or nobody.
pub fn convert(jobs: &[Job], look: &dyn Fn(&Path) -> PathKind, seed: u64) -> Result<Native, Vec<Obstacle>> {
    let native = assemble(jobs, look, seed)?;
    match native.plan.problem() {
        None => Ok(native),
        Some(why) => Err(vec![Obstacle::of_all("these options together", &why)]),
    }
}

/// The plan, whatever the engine can do of it.
fn assemble(jobs: &[Job], look: &dyn Fn(&Path) -> PathKind, seed: u64) -> Result<Native, Vec<Obstacle>> {
    let mut found = Vec::new();
    let mut notes = Vec::new();
    let mut files = data_files::Files::new(look);
    let mut plan = Plan {
        name: "fio".into(),
        targets: Vec::new(),
        file_size: None,
        keep: false,
        overwrite: true,
        continue_on_error: false,
        seed: jobs.first().map_or(seed, |job| addressing::seed(job, seed)),
        steps: Vec::new(),
        question: None,
        precondition: None,
        follow_up: None,
    };
    let mut members: Vec<Member> = Vec::new();
    let mut order = job_order::JobOrder::default();
    let mut thread = 1;
    for (index, job) in jobs.iter().enumerate() {
        let obstacles = &mut Obstacles { job: &job.name, before: found.len(), found: &mut found };
        limits(job, obstacles, &mut notes);
        let load = step_of(job, obstacles);
        let numjobs = load.numjobs;
        let parts = files.parts(job, &load, obstacles);
        let merged = parts.len() == 1;
        order.job(job, obstacles);
        let clones = if merged { numjobs } else { 1 };
        for (i, part) in (0..).zip(parts) {
            let mut step = part.apply(&load);
            rates::scale(&mut step);
            step.name = order.name(job);
            step.start = order.start(job, i == 0);
            step.delay = job_order::delay(job);
            step.cpus = submission::cpus(job, thread - 1 + i, clones);
            step.cpus_shared = step.cpus.is_some() && job.choice("cpus_allowed_policy") != Some("split");
            members.push(Member { job: index, clones, thread: thread + i });
            plan.steps.push(step);
        }
        thread += numjobs;
    }
    together(jobs, &mut plan, &mut found);
    plan.targets = files.targets();
    if !found.is_empty() {
        found.dedup();
        return Err(found);
    }
    let (files, layouts) = files.finish();
    Ok(Native { plan, members, files, layouts, notes })
}

/// Applies the table's support of the options that were given.
fn limits(job: &Job, obstacles: &mut Obstacles<'_>, notes: &mut Vec<Limit>) {
    for limit in support::limits(job) {
        match limit.support {
            Support::Native => {}
            // A range of one size is a size.
            _ if limit.option == "bsrange" && block_sizes::range_is_a_size(job) => {}
            // A schedule of ours waits for no completion, which is what helper threads are for.
            _ if limit.option == "io_submit_mode" && rates::has_rate(job) => notes.push(limit),
            // It matters only where a file is missing: see `extent`.
            _ if limit.option == "allow_file_create" => {}
            Support::Noted(_) => notes.push(limit),
            Support::FioOnly(why) => obstacles.fio_only(limit.text, why),
            Support::Refused(why) => obstacles.push(limit.text, false, why.into()),
        }
    }
}

/// Options of fio's jobs that volproof has for a whole plan: jobs that differ in one go to fio.
fn together(jobs: &[Job], plan: &mut Plan, found: &mut Vec<Obstacle>) {
    plan.continue_on_error = jobs.iter().any(continues);
    if plan.continue_on_error && !jobs.iter().all(continues) {
        let why = "volproof has it for all jobs of a run or none, and here they differ";
        found.push(Obstacle::of_all("continue_on_error", why));
    }
    let null = plan.steps.iter().filter(|s| s.engine == EngineKind::Null).count();
    if null > 0 && null < plan.steps.len() {
        found.push(Obstacle::of_all("ioengine=null", "volproof runs it without other engines beside it"));
    }
}

/// The step of a job, without its targets and how much it does there. `numjobs` counts the clones.
fn step_of(job: &Job, obstacles: &mut Obstacles<'_>) -> Step {
    let mut step = Step { name: job.name.clone(), ..Step::default() };
    addressing::pattern_from(job, &mut step, obstacles);
    block_sizes::from(job, &mut step, obstacles);
    submission::from(job, &mut step, obstacles);
    caching::from(job, &mut step);
    timing::from(job, &mut step);
    flushing::from(job, &mut step, obstacles);
    addressing::from(job, &mut step, obstacles);
    rates::from(job, &mut step, obstacles);
    written_data::from(job, &mut step, obstacles);
    if let Some(turns) = job.suffix("file_service_type").filter(|turns| turns != "1") {
        obstacles.fio_only(format!("file_service_type={turns}"), "files take turns I/O by I/O");
    }
    if let Some(which @ ("read" | "write")) = job.choice("continue_on_error")
        && step.rw.directions().iter().any(|d| d.name() != which)
    {
        let why = "volproof goes on after all errors of a run or none";
        obstacles.fio_only(format!("continue_on_error={which}"), why);
    }
    step
}

/// A step in fio's words, its targets apart. `size` is that of the target, where it is known; a job of fio drives `files` targets in turn.
///
/// # Errors
/// Why fio cannot do the step, and what to do instead.
pub(super) fn words_of(
    step: &Step,
    size: Option<Bytes>,
    files: usize,
    seed: u64,
) -> Result<FioWords, String> {
    if step.simulate.is_some() {
        return Err("fio has no simulated device".into());
    }
    if step.file_state != FileState::Filled {
        return Err(
            "fio does not begin its file anew for each pass (file-state): leave file-state out".into()
        );
    }
    let mut words = FioWords::default();
    words.set("ioengine", step.engine.to_string());
    addressing::pattern_to(step, &mut words);
    block_sizes::to(step, &mut words);
    submission::to(step, &mut words);
    caching::to(step, &mut words);
    extent::to(step, size, files, &mut words)?;
    timing::to(step, &mut words);
    flushing::to(step, &mut words);
    rates::to(step, &mut words)?;
    addressing::to(step, seed, &mut words)?;
    written_data::to(step, &mut words);
    words.set("group_reporting", "1");
    Ok(words)
}

/// Errors do not end the job. `none` is fio's default; checks (`verify`) are not native, so errors of theirs cannot occur.
fn continues(job: &Job) -> bool {
    !matches!(job.choice("continue_on_error"), None | Some("none" | "0" | "verify"))
}

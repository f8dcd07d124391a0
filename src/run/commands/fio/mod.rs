//! `volproof fio ARGS…`, and volproof called through a link named `fio`: fio's command line in, fio's reports out.
//!
//! ```text
//! arguments -> Command -> Plan -> the pipeline -> Record -> Output -> normal | json | json+
//!                      -> the real fio, when an option needs it; refused where there is none
//! ```
//!
//! The exit code is fio's: the number of jobs that failed, 1 for what cannot be read or run, 128 plus the number of
//! failed jobs after a signal (129 after SIGHUP). The guard's 3 comes on top: block
//! devices are written only with `--destroy`, here and when fio is handed the command. Existing files are overwritten as fio does,
//! but one that others have open only with `--overwrite=shared`. What volproof
//! has to say beside fio's report goes to standard error, so that a reader of the report finds nothing foreign in it.

mod devices;
mod hand_over;
mod handed_jobs;
mod handed_report;
mod messages;
mod print_report;
mod progress;
mod volproof_options;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use fio_formats::argv;
use fio_formats::command::{Command, Format, InfoRequest, Surroundings};
use fio_formats::job::Job;
use fio_formats::mistake::Mistake;
use signal_hook::consts::{SIGHUP, SIGUSR1};
use signal_hook::flag;

use crate::cli::TuneMode;
use crate::device_tuning;
use crate::mistyped::holds_result;
use crate::run::pipeline::CheckedRun;
use crate::run::run_options::RunOptions;
use crate::run::sheet::Sheet;
use crate::run::{Failure, end_signals};
use handed_jobs::HandedJobs;
use handed_report::HandedReport;
use print_report::Seen;
use progress::FioProgress;
use volproof_base::shell_word::shell;
use volproof_device::device::Root;
use volproof_device::output::{self, FileIdentity, OutputFile, screen};
use volproof_engine::Timer;
use volproof_fio::help;
use volproof_fio::plan::{self, Native, Obstacle, PathKind};
use volproof_fio::support::{self, CommandLimits};
use volproof_host::tune::Places;
use volproof_options::VolproofOptions;
use volproof_plan::{EngineKind, Simulated};
use volproof_record::exit::Exit;

/// The exit code after a signal, as fio has it. The number of failed jobs is added.
const INTERRUPTED: u8 = 128;
/// The exit code after SIGHUP (a terminal that went away), with failed jobs added too. The signal kills fio, and its shell reports 129.
/// Here the run ends in order, and with the same code.
const HUNG_UP: u8 = 129;
const HANG_UP: usize = SIGHUP as usize;

/// The arguments after `fio`, where the program was called so: as `volproof fio …`, or through a link named `fio`.
pub fn called(arguments: &[OsString]) -> Option<&[OsString]> {
    let (program, rest) = arguments.split_first()?;
    if Path::new(program).file_name().is_some_and(|name| name == "fio") {
        return Some(rest);
    }
    rest.split_first().filter(|(first, _)| *first == "fio").map(|(_, rest)| rest)
}

/// Does what fio would do with these arguments.
///
/// # Errors
/// With fio's exit codes, and 3 from the guard.
pub fn main(arguments: &[OsString]) -> Result<ExitCode, Failure> {
    answer(arguments).map_err(messages::failure)
}

fn answer(arguments: &[OsString]) -> Result<ExitCode, Failure> {
    let (own, rest) = VolproofOptions::take(arguments).map_err(input)?;
    let text = |argument: &OsString| argument.clone().into_string();
    let words = rest.iter().map(text).collect::<Result<Vec<String>, _>>();
    let words = words.map_err(|a| input(format!("'{}' is not UTF-8", a.display())))?;
    let (here, job_files) = (Surroundings::here(), RefCell::new(Vec::new()));
    let file = |name: &str| {
        let text = (here.file)(name)?;
        job_files.borrow_mut().push((name.to_string(), text.clone()));
        Ok(text)
    };
    let around = Surroundings { file: &file, ..Surroundings::here() };
    let command = argv::parse(&words, &around).map_err(|mistakes| {
        let result = words.iter().find(|word| holds_result(Path::new(word)));
        result.map_or_else(|| mistaken(&mistakes), |word| is_no_job(word))
    })?;
    if !own.quiet_doubts {
        command.notes.iter().for_each(|note| messages::say(note));
    }
    if let Some(request) = &command.request {
        return asked(request);
    }
    let limits = support::of_command(&command).map_err(|mistake| mistaken(&[mistake]))?;
    folders(&command)?;
    if command.jobs.is_empty() && limits.needs_fio.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let root = Root::system();
    let look = |path: &Path| devices::look(&root, path);
    if command.readonly && !command.jobs.iter().all(devices::reads_only) {
        let why = "trim and write operations are not allowed with the --readonly parameter.";
        return Err(input(why));
    }
    if let Some(job) = command.jobs.iter().find(|job| command.readonly && devices::removes_files(job)) {
        return Err(input(format!("{}: it removes files, which --readonly does not allow", job.name)));
    }
    if command.parse_only {
        return parsed(&command, &limits, &look);
    }
    screen::say(&device_tuning::recover(&Places::system()));
    let job_files = job_files.into_inner();
    sinks(&command, &own, &look)?;
    let seed = jiff::Timestamp::now().as_nanosecond() as u64;
    match (converted(&command, &limits, &look, seed), &own.simulate) {
        (Ok(native), Some(device)) => {
            let used = files_of(targets_of(&native), &job_files);
            let native = simulated(native, device).map_err(input)?;
            run(&root, (&command, &limits), &own, native, used)
        }
        (Err(needs), Some(_)) => Err(hand_over::refusal("the installed fio has no simulated device", &needs)),
        (Ok(native), None) => {
            if let Some(layout) = native.layouts.first().filter(|_| command.readonly) {
                return Err(input(format!(
                    "{}: a file is missing or shorter than what is to be read, and --readonly lays out none",
                    layout.job
                )));
            }
            devices::spare_job_files(&command, &job_files, &look)?;
            let used = files_of(targets_of(&native), &job_files);
            run(&root, (&command, &limits), &own, native, used)
        }
        (Err(needs), None) => {
            for_fio(&command, &needs, &look)?;
            own.left_to_fio().map_err(|why| hand_over::refusal(&why, &needs))?;
            if let Some(short) = lacks_data(&command, &look).filter(|_| command.readonly) {
                return Err(input(format!("{short}, and --readonly lays out none")));
            }
            devices::spare_job_files(&command, &job_files, &look)?;
            let targets = command.jobs.iter().flat_map(|job| plan::targets(job, &look));
            let used = files_of(targets, &job_files);
            // Without an fio nothing is written, and no earlier report is given up.
            hand_over::program(&needs)?;
            hand(&root, &command, &own, &words, (&needs, &used), &look)
        }
    }
}

/// The first job that reads more than its file has.
fn lacks_data(command: &Command, look: &dyn Fn(&Path) -> PathKind) -> Option<String> {
    let lacks = |job: &&Job| plan::targets(job, look).iter().any(|path| devices::is_short(job, path, look));
    let job = command.jobs.iter().find(lacks)?;
    Some(format!("{}: a file is missing or shorter than what is to be read", job.name))
}

/// Has the installed fio run a command on files that are open here until it ends. No output may be one of the files in `used`.
fn hand(
    root: &Root,
    command: &Command,
    own: &VolproofOptions,
    words: &[String],
    (needs, used): (&[Obstacle], &[(String, FileIdentity)]),
    look: &dyn Fn(&Path) -> PathKind,
) -> Result<ExitCode, Failure> {
    let mut report = print_report::open(command, own.force).map_err(as_fio)?;
    output::apart(&[&report], used).map_err(|e| as_fio(e.into()))?;
    let interrupts = end_signals::counted(end_signals::of_fio(), false).map_err(|e| as_fio(e.into()))?;
    let Some(jobs) = HandedJobs::open(root, command, own, look, &interrupts).map_err(as_fio)? else {
        return Ok(ExitCode::from(INTERRUPTED));
    };
    let memory = HandedReport::begin(&report).map_err(input)?;
    let handed = hand_over::command_line(words, command, &jobs, memory.as_ref())?;
    let code = hand_over::to_installed(handed, needs)?;
    drop(jobs);
    let is_whole = match memory {
        Some(memory) => memory.save(&mut report, code).map_err(input)?,
        None => true,
    };
    Ok(if code == 0 && !is_whole { ExitCode::FAILURE } else { code.into() })
}

/// The same jobs on a simulated device: no file is made and no device is opened.
fn simulated(native: Native, device: &Simulated) -> Result<Native, String> {
    let mut plan = native.plan;
    plan.targets.clear();
    for step in &mut plan.steps {
        (step.engine, step.fio, step.simulate) = (EngineKind::Null, false, Some(Box::new(device.clone())));
        step.targets.clear();
    }
    if let Some(problem) = plan.problem() {
        return Err(problem);
    }
    Ok(Native { plan, files: Vec::new(), layouts: Vec::new(), ..native })
}

/// `--parse-only`: fails where the run would for what is asked; consents and outputs are not looked at.
fn parsed(
    command: &Command,
    limits: &CommandLimits,
    look: &dyn Fn(&Path) -> PathKind,
) -> Result<ExitCode, Failure> {
    if let Err(needs) = converted(command, limits, look, 0) {
        for_fio(command, &needs, look)?;
        hand_over::program(&needs)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses what fio cannot do either, and what is never handed to it.
fn for_fio(command: &Command, needs: &[Obstacle], look: &dyn Fn(&Path) -> PathKind) -> Result<(), Failure> {
    let never: Vec<Obstacle> = needs.iter().filter(|o| !o.fio_can).cloned().collect();
    if !never.is_empty() {
        // fio counts the jobs that cannot be set up.
        let jobs: BTreeSet<&str> = never.iter().map(|o| o.job.as_str()).collect();
        let code = jobs.len().min(255) as u8;
        return Err(Failure { code, ..hand_over::refusal("this cannot be run", &never) });
    }
    let mut by_name = handed_jobs::obstacles(command, look);
    by_name.extend(hand_over::unprintable(command));
    if by_name.is_empty() { Ok(()) } else { Err(hand_over::refusal("this is not handed to fio", &by_name)) }
}

/// fio ends with 1 for everything that cannot be read or run.
fn input(message: impl std::fmt::Display) -> Failure {
    Failure { code: 1, message: message.to_string() }
}

/// The pipeline's codes for bad input and for a run that failed are fio's 1.
fn as_fio(failure: Failure) -> Failure {
    let is_one = [Exit::WrongInput, Exit::RunFailed].map(Exit::code).contains(&failure.code);
    Failure { code: if is_one { 1 } else { failure.code }, ..failure }
}

/// All mistakes of a command line or job file, as fio ends on them.
fn mistaken(mistakes: &[Mistake]) -> Failure {
    let lines: Vec<String> = mistakes.iter().map(Mistake::to_string).collect();
    Failure { code: Mistake::EXIT, message: lines.join("\nvolproof: ") }
}

/// A result in the place of a job file.
fn is_no_job(word: &str) -> Failure {
    let message = format!("{word} holds a result and no jobs: `volproof show {}` prints it", shell(word));
    Failure { code: Mistake::EXIT, message }
}

/// Help and version.
fn asked(request: &InfoRequest) -> Result<ExitCode, Failure> {
    let ours = if *request == InfoRequest::Help { volproof_options::HELP } else { "" };
    crate::run::print(&(help::answer(request) + ours)).map_err(as_fio)?;
    Ok(ExitCode::SUCCESS)
}

/// `directory` names folders that are there; fio makes none of them.
fn folders(command: &Command) -> Result<(), Failure> {
    let asked = command.jobs.iter().filter_map(|job| job.text("directory"));
    match asked.flat_map(|text| plan::split(&text)).find(|folder| !Path::new(folder).is_dir()) {
        Some(folder) => Err(input(format!("directory={folder}: {folder} is not a directory"))),
        None => Ok(()),
    }
}

/// The plan, or what needs the real fio.
fn converted(
    command: &Command,
    limits: &CommandLimits,
    look: &dyn Fn(&Path) -> PathKind,
    seed: u64,
) -> Result<Native, Vec<Obstacle>> {
    let flags = limits.needs_fio.iter().map(|(flag, why)| Obstacle {
        job: "command line".into(),
        option: flag.clone(),
        fio_can: true,
        why: why.to_string(),
    });
    let flags: Vec<Obstacle> = flags.collect();
    if command.jobs.is_empty() {
        return Err(flags);
    }
    match plan::convert(&command.jobs, look, seed) {
        Ok(native) if flags.is_empty() => Ok(native),
        Ok(_) => Err(flags),
        Err(needs) => Err(flags.into_iter().chain(needs).collect()),
    }
}

/// Refuses to write reports over a block device.
fn sinks(command: &Command, own: &VolproofOptions, look: &dyn Fn(&Path) -> PathKind) -> Result<(), Failure> {
    let named = [("--output", &command.output), ("--record", &own.record)];
    for (option, path) in named.into_iter().filter_map(|(option, path)| Some((option, path.clone()?))) {
        if matches!(look(&path), PathKind::Block(_)) {
            return Err(Failure {
                code: Exit::Refused.code(),
                message: format!(
                    "{option}={}: it is a block device, and a report would overwrite it",
                    path.display()
                ),
            });
        }
    }
    Ok(())
}

/// The files that no output may be: those that the jobs name, also where only a simulated device is driven, and the job files.
fn files_of(
    targets: impl Iterator<Item = PathBuf>,
    job_files: &[(String, String)],
) -> Vec<(String, FileIdentity)> {
    let named =
        |what: &str, path: &Path| (format!("the {what} {}", path.display()), FileIdentity::from_path(path));
    let job_files = job_files.iter().map(|(file, _)| named("job file", Path::new(file)));
    targets.map(|path| named("target", &path)).chain(job_files).collect()
}

/// The files that a plan drives.
fn targets_of(native: &Native) -> impl Iterator<Item = PathBuf> {
    let of_steps = native.plan.steps.iter().flat_map(|step| &step.targets);
    native.plan.targets.iter().chain(of_steps).cloned()
}

/// Runs a plan and reports as fio does. No output may be one of the files in `used`.
fn run(
    root: &Root,
    (command, limits): (&Command, &CommandLimits),
    own: &VolproofOptions,
    native: Native,
    used: Vec<(String, FileIdentity)>,
) -> Result<ExitCode, Failure> {
    let timer = Timer::choose(Path::new("/"));
    let options = RunOptions {
        destroy: own.destroy.clone(),
        overwrite_shared: own.overwrite_shared,
        tune: Some(if own.tune { TuneMode::On } else { TuneMode::Off }),
        job_files: native.files.iter().cloned().collect(),
        others_go_on: true,
        share_cpus: true,
        ..RunOptions::default()
    };
    let job = CheckedRun::survey(root.clone(), native.plan.clone(), options).map_err(as_fio)?;
    // Every device and every file that may be written is cleared, before a file is made.
    job.try_targets().map_err(as_fio)?;
    if !job.is_simulated() {
        devices::spare_short_files(command, &|path| devices::look(root, path))?;
    }
    let mut report = print_report::open(command, own.force).map_err(as_fio)?;
    let saved = open_record(own, &report, &used).map_err(as_fio)?;
    let interrupts = end_signals::counted(end_signals::of_fio(), false).map_err(|e| as_fio(e.into()))?;
    let signal = last_signal().map_err(|e| as_fio(e.into()))?;
    // It asks fio for a report before the end, and would end a program that does not know it.
    flag::register(SIGUSR1, Arc::default()).map_err(|e| as_fio(anyhow::Error::from(e).into()))?;
    if !own.quiet_doubts {
        print_report::say_noted(limits, &native);
    }
    let mut progress = FioProgress::new(command, saved);
    let began = Instant::now();
    let ended = job.run(&timer, &interrupts, &mut progress);
    let mut saved = progress.finish();
    let stopped = interrupts.load(Ordering::Relaxed) > 0;
    let signal = signal.load(Ordering::Relaxed);
    if stopped && !command.formats.contains(&Format::Normal) {
        screen::say(&print_report::terminating(signal));
    }
    let seen = Seen::all(&ended.record, &ended.failed, began.elapsed());
    let results = print_report::output(command, &native, &seen);
    let text = print_report::text(command, &native, &results, stopped.then_some(signal));
    let mut whole = print_report::save(&mut report, &text);
    if let Some(sheet) = &mut saved {
        sheet.save(&ended.record);
        if let Some(told) = sheet.loss() {
            whole = false;
            screen::say(&told);
        }
    }
    messages::failures(&ended.record, &ended.failed);
    if !own.quiet_doubts {
        print_report::say_doubts(&ended.record, own.record.as_deref());
    }
    let failed = failed_jobs(&native, &ended.failed);
    if !ended.put_back {
        return Ok(Exit::NotRestored.into());
    }
    let base = match signal {
        _ if !stopped => 0,
        HANG_UP => HUNG_UP,
        _ => INTERRUPTED,
    };
    if failed == 0 && !stopped {
        let exit = ended.exit().map_err(as_fio)?.as_fio();
        return Ok(if whole || exit != Exit::Done { exit.into() } else { ExitCode::FAILURE });
    }
    Ok(ExitCode::from(with_failed(base, failed)))
}

/// An exit code with the number of failed jobs added, at most 255: a system keeps 8 bits of an exit code, and those of 256 are the ones of
/// success.
fn with_failed(base: u8, failed: u32) -> u8 {
    base.saturating_add(u8::try_from(failed).unwrap_or(u8::MAX))
}

/// Opens the file of the Record. No output may be another one, or one of the files in `used`.
fn open_record(
    own: &VolproofOptions,
    report: &OutputFile,
    used: &[(String, FileIdentity)],
) -> Result<Option<Sheet>, Failure> {
    let record = own.record.as_deref().map(|path| Sheet::record("--record", path, own.force)).transpose()?;
    let all: Vec<&OutputFile> = std::iter::once(report).chain(record.iter().map(Sheet::file)).collect();
    output::apart(&all, used)?;
    Ok(record)
}

/// The number of the last signal that was to end the run.
fn last_signal() -> anyhow::Result<Arc<AtomicUsize>> {
    let last = Arc::new(AtomicUsize::new(0));
    for signal in end_signals::of_fio() {
        flag::register_usize(signal, last.clone(), signal as usize)?;
    }
    Ok(last)
}

/// Jobs and clones whose steps failed.
fn failed_jobs(native: &Native, failed: &[(String, String)]) -> u32 {
    let steps = native.plan.steps.iter().zip(&native.members);
    steps.filter(|(step, _)| failed.iter().any(|(name, _)| *name == step.name)).map(|(_, m)| m.clones).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_subcommand_or_by_link() {
        let called = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            called(&words).map(|rest| rest.len())
        };
        assert_eq!(called(&["/usr/local/bin/volproof", "fio", "--name=a", "-rw=read"]), Some(2));
        assert_eq!(called(&["/opt/bin/fio", "fio", "--name=a"]), Some(2));
        assert_eq!(called(&["volproof", "run", "fio"]), None);
        assert_eq!(called(&["volproof"]), None);
        assert_eq!(called(&[]), None);
    }

    #[test]
    fn no_number_of_failed_jobs_is_success() {
        assert_eq!([0, 3, 255, 256, 512, 70_000].map(|n| with_failed(0, n)), [0, 3, 255, 255, 255, 255]);
        assert_eq!([0, 2, 128].map(|n| with_failed(INTERRUPTED, n)), [128, 130, 255]);
    }
}

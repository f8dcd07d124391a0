//! A fio command line, read: the jobs it asks for and how they are to be reported. Also what reading needs of its surroundings, so that
//! the same text reads the same everywhere.
//!
//! Nothing is run here and no target is opened; job files are the only files that are read.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use volproof_base::unit::Nanos;

use super::job::{Given, Job, KB_BASE};
use super::mistake::{Mistake, Origin};
use super::option::FioOption;
use super::option_value::{self, OptionValue};

/// A command line, read.
#[derive(Clone, Debug)]
pub struct Command {
    /// Jobs in order, before `numjobs` multiplies them.
    pub jobs: Vec<Job>,
    /// Where the report goes; standard output when absent.
    pub output: Option<PathBuf>,
    /// Forms of the report, each once.
    pub formats: Vec<Format>,
    /// The progress line.
    pub eta: ProgressLine,
    /// Read everything and run nothing.
    pub parse_only: bool,
    /// Refuse jobs that write.
    pub readonly: bool,
    /// Only these sections of job files.
    pub sections: Vec<String>,
    /// Help or version that was asked for instead of a run.
    pub request: Option<InfoRequest>,
    /// Notes end the run.
    pub warnings_fatal: bool,
    /// Flags beside those that the fields here tell of.
    pub other_flags: Vec<GivenFlag>,
    /// Job files in order.
    pub files: Vec<PathBuf>,
    /// The arguments that are flags for the installed fio, with their values, counted from 0.
    pub flag_arguments: Vec<Range<usize>>,
    /// Notes for the user, such as units that surprise.
    pub notes: Vec<String>,
    /// The most files that the jobs so far may have.
    names: u64,
}

/// A flag that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenFlag {
    /// Its name; `output-format=terse` for terse lines among the forms.
    pub name: &'static str,
    /// The flag with its value.
    pub word: String,
    /// Where it stood.
    pub origin: Origin,
}

/// Forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text for people.
    Normal,
    /// JSON.
    Json,
    /// JSON with the bins of the histograms.
    JsonPlus,
    /// Lines of fields between semicolons.
    Terse,
}

/// How the progress line is shown.
#[derive(Clone, Debug)]
pub struct ProgressLine {
    /// When.
    pub when: Eta,
    /// Time between two of them.
    pub interval: Nanos,
    /// Time after which it begins a new line.
    pub newline: Option<Nanos>,
}

/// When the progress line is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eta {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// A request for help or the version instead of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InfoRequest {
    /// `--version`.
    Version,
    /// `--help`.
    Help,
}

/// The facts of the machine that the text of a job file may refer to.
pub struct Surroundings<'a> {
    /// A variable of the environment; what is not UTF-8 in it is replaced by U+FFFD.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a job file; `-` is standard input.
    pub file: &'a dyn Fn(&str) -> io::Result<String>,
    /// `$ncpus`.
    pub cpus: u64,
    /// `$pagesize`, bytes.
    pub page: u64,
    /// `$mb_memory`, MiB.
    pub memory: u64,
}

impl Surroundings<'static> {
    /// This process and this machine.
    pub fn here() -> Surroundings<'static> {
        let page = rustix::param::page_size() as u64;
        let memory = rustix::system::sysinfo();
        Surroundings {
            variable: &|name| Some(std::env::var_os(name)?.to_string_lossy().into_owned()),
            file: &read_file,
            cpus: online(),
            page,
            memory: (memory.totalram as u64).saturating_mul(u64::from(memory.mem_unit)) >> 20,
        }
    }
}

/// CPUs of the machine, also those that this process may not use: what fio calls `$ncpus`.
fn online() -> u64 {
    // SAFETY: sysconf reads a number and touches no memory of ours.
    let cpus = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u64::try_from(cpus).map_or(1, |n| n.max(1))
}

/// More files have no run: they would be open at once (`fs.nr_open`).
const MOST_FILES: u64 = 1 << 20;

fn read_file(name: &str) -> io::Result<String> {
    let bytes = volproof_base::input::read_settings(Path::new(name))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Command {
    pub(super) fn new() -> Command {
        Command {
            jobs: Vec::new(),
            output: None,
            formats: vec![Format::Normal],
            eta: ProgressLine { when: Eta::Auto, interval: Nanos::seconds(1), newline: None },
            parse_only: false,
            readonly: false,
            sections: Vec::new(),
            request: None,
            warnings_fatal: false,
            other_flags: Vec::new(),
            files: Vec::new(),
            flag_arguments: Vec::new(),
            notes: Vec::new(),
            names: 0,
        }
    }

    /// A section or job of this name is left out by `--section`.
    pub(super) fn skips(&self, name: &str) -> bool {
        !self.sections.is_empty() && !name.starts_with("global") && !self.sections.iter().any(|s| s == name)
    }

    /// Takes in one job, whose group and name follow from what was given.
    ///
    /// # Errors
    /// The jobs so far have more files than can be looked at.
    pub(super) fn add(&mut self, mut job: Job) -> Result<(), Mistake> {
        // A name among the global options names no job.
        let name = job.own.iter().rev().find(|g| g.option.name == "name");
        if let Some(Given { value: OptionValue::Text(name), .. }) = name {
            job.name = name.clone();
        }
        job.stonewall |= job.flag("stonewall");
        let begins = job.stonewall || job.flag("new_group");
        job.group = self.jobs.last().map_or(0, |before| before.group + u32::from(begins));
        self.names = self.names.saturating_add(most_files(&job));
        if self.names > MOST_FILES {
            let option = if job.given("numjobs").is_some() { "numjobs" } else { "nrfiles" };
            let why = "the jobs have more than 1,048,576 files";
            return Err(Mistake::value(&job.origin, option, why.into()));
        }
        self.jobs.push(job);
        Ok(())
    }

    /// The text of one option becomes what was given, on top of what was given before.
    pub(super) fn give(
        &mut self,
        option: &'static FioOption,
        text: Option<&str>,
        origin: &Origin,
        before: &[&[Given]],
    ) -> Result<Given, Mistake> {
        let kb_base = before.iter().rev().find_map(|given| kb_base(given)).unwrap_or(KB_BASE);
        let (value, notes) = option_value::read(option, text, kb_base)
            .map_err(|why| Mistake::value(origin, option.name, why))?;
        self.notes.extend(notes.into_iter().map(|note| format!("{}: {note}", option.name)));
        Ok(Given { option, text: text.map(str::to_string), value, origin: origin.clone() })
    }
}

/// The last `kb_base` that was given.
fn kb_base(given: &[Given]) -> Option<u64> {
    given.iter().rev().find(|g| g.option.name == "kb_base").and_then(|g| match g.value {
        OptionValue::Choice(word, _) => word.parse().ok(),
        _ => None,
    })
}

/// How many files a job may have: each clone its own, unless they are named.
fn most_files(job: &Job) -> u64 {
    let [clones, files] = ["numjobs", "nrfiles"].map(|name| job.int(name).map_or(1, |n| n.max(1) as u64));
    clones.saturating_mul(if job.given("filename").is_some() { 1 } else { files })
}

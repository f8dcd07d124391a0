//! fio's command line: flags, jobs and job files in any order, as GNU `getopt_long_only` reads them.
//!
//! One dash or two, `--name=value` or `--name value`. The beginning of a name is no name, though fio takes one. Options before the first `--name` hold for
//! every job, and for those of the first job file; options behind a `--name` belong to that job.

use volproof_base::misspelling;
use volproof_base::unit::Nanos;

use super::command::{Command, Eta, Format, GivenFlag, InfoRequest, Surroundings};
use super::job::{Given, Job};
use super::jobfile;
use super::mistake::{Mistake, Origin, What};
use super::option::{FioOption, TimeUnit};
use super::option_value;
use super::table;

/// Whether a flag has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Never.
    Nothing,
    /// Behind `=`, or none.
    Maybe,
    /// Always.
    Value,
}

/// A flag of fio itself, not of a job.
#[derive(Debug)]
pub struct Flag {
    /// Its name.
    pub name: &'static str,
    /// The letter it may be shortened to.
    pub letter: char,
    /// Whether it has a value.
    pub takes: Takes,
    /// Its effect, in our words.
    pub help: &'static str,
}

const fn flag(name: &'static str, letter: char, takes: Takes, help: &'static str) -> Flag {
    Flag { name, letter, takes, help }
}

/// Flags of fio 3.33.
pub const FLAGS: &[Flag] = &[
    flag("output", 'o', Takes::Value, "Write the report to this file"),
    flag("latency-log", 'l', Takes::Value, "Gone from fio"),
    flag("bandwidth-log", 'b', Takes::Nothing, "Log the bandwidth of all jobs together"),
    flag("minimal", 'm', Takes::Maybe, "Terse report"),
    flag("output-format", 'F', Takes::Value, "Forms of the report: normal, terse, json, json+"),
    flag("append-terse", 'f', Takes::Maybe, "Terse report after the others"),
    flag("terse-version", 'V', Takes::Value, "Version of the terse report: 2, 3, 4 or 5"),
    flag("version", 'v', Takes::Nothing, "Print the version"),
    flag("help", 'h', Takes::Nothing, "Print this text"),
    flag("cmdhelp", 'c', Takes::Maybe, "Describe an option, or all"),
    flag("enghelp", 'i', Takes::Maybe, "List engines, or options of one"),
    flag("showcmd", 's', Takes::Nothing, "Print job files as a command line"),
    flag("readonly", 'r', Takes::Nothing, "Refuse jobs that write"),
    flag("eta", 'e', Takes::Value, "Progress line: always, never or auto"),
    flag("eta-interval", 'O', Takes::Value, "Time between progress lines"),
    flag("eta-newline", 'E', Takes::Value, "Time until the progress line begins a new one"),
    flag("debug", 'd', Takes::Value, "Tell what fio does inside"),
    flag("parse-only", 'P', Takes::Nothing, "Read everything, run nothing"),
    flag("section", 'x', Takes::Value, "Run only this section; may be repeated"),
    flag("alloc-size", 'a', Takes::Value, "Size of the memory that jobs share, KiB"),
    flag("profile", 'p', Takes::Value, "Run a test that fio has built in"),
    flag("warnings-fatal", 'w', Takes::Nothing, "Notes end the run"),
    flag("max-jobs", 'j', Takes::Value, "Most jobs"),
    flag("server", 'S', Takes::Maybe, "Serve other machines"),
    flag("daemonize", 'D', Takes::Value, "Serve in the background"),
    flag("client", 'C', Takes::Value, "Run on another machine"),
    flag("remote-config", 'R', Takes::Value, "Job file on the other machine"),
    flag("cpuclock-test", 'T', Takes::Nothing, "Test the clock of the CPU"),
    flag("crctest", 'G', Takes::Maybe, "Time checksums"),
    flag("memcpytest", 'M', Takes::Maybe, "Time copies in memory"),
    flag("idle-prof", 'I', Takes::Value, "Report how idle the CPUs are"),
    flag("status-interval", 'L', Takes::Value, "Time between full reports"),
    flag("inflate-log", 'X', Takes::Value, "Print a compressed log"),
    flag("trigger-file", 'W', Takes::Value, "Run the trigger when this file appears"),
    flag("trigger-timeout", 'B', Takes::Value, "Run the trigger at this time"),
    flag("trigger", 'H', Takes::Value, "Program of the trigger"),
    flag("trigger-remote", 'J', Takes::Value, "Program of the trigger elsewhere"),
    flag("aux-path", 'K', Takes::Value, "Folder of state files"),
    flag("merge-blktrace-only", 'A', Takes::Nothing, "Merge traces and end"),
];

/// Flags that have done their work before the installed fio gets a command, or that name a file.
const NOT_HANDED: [&str; 5] = ["output", "section", "aux-path", "parse-only", "warnings-fatal"];

/// Flags that need no job.
const WITHOUT_JOBS: [&str; 12] = [
    "cmdhelp",
    "enghelp",
    "bandwidth-log",
    "profile",
    "server",
    "daemonize",
    "client",
    "cpuclock-test",
    "crctest",
    "memcpytest",
    "inflate-log",
    "merge-blktrace-only",
];

/// The flag or option that a word of the command line names.
enum NamedWord {
    Flag(&'static Flag),
    Option(&'static FioOption),
}

/// Where job options go.
enum OptionScope {
    /// Nothing was given yet, or a job is closed.
    None,
    /// The options for all jobs.
    Globals,
    /// A job.
    Job(Box<Job>),
}

/// Reads a command line, without the name of the program, and the job files it names.
///
/// # Errors
/// The first mistake of the command line, or all those of one section of a job file.
pub fn parse(arguments: &[String], around: &Surroundings) -> Result<Command, Vec<Mistake>> {
    let mut line = CommandLine { command: Command::new(), globals: Vec::new(), target: OptionScope::None };
    line.read(arguments).map_err(|mistake| vec![mistake])?;
    let CommandLine { mut command, mut globals, .. } = line;
    if command.request.is_some() {
        return Ok(command);
    }
    for (n, file) in command.files.clone().iter().enumerate() {
        if n > 0 {
            globals.clear();
        }
        jobfile::read(&mut command, &file.to_string_lossy(), &mut globals, n > 0, around)?;
    }
    let alone = command.other_flags.iter().any(|flag| WITHOUT_JOBS.contains(&flag.name));
    let other_work = command.parse_only || alone;
    if command.jobs.is_empty() && !other_work {
        return Err(vec![Mistake::at(&Origin::Whole, What::NoJobs)]);
    }
    if let Some(note) = command.notes.first().filter(|_| command.warnings_fatal) {
        return Err(vec![Mistake::form(&Origin::Whole, note.clone())]);
    }
    Ok(command)
}

struct CommandLine {
    command: Command,
    globals: Vec<Given>,
    target: OptionScope,
}

impl CommandLine {
    fn read(&mut self, arguments: &[String]) -> Result<(), Mistake> {
        let mut rest = arguments.iter().enumerate();
        let mut only_files = false;
        while let Some((n, word)) = rest.next() {
            let origin = Origin::Argument(n + 1);
            if only_files || word == "-" || !word.starts_with('-') {
                self.command.files.push(word.into());
                continue;
            }
            if word == "--" {
                only_files = true;
                continue;
            }
            let (named, value) = self.name(word, &origin)?;
            let (name, takes) = match named {
                NamedWord::Flag(flag) => (flag.name, flag.takes),
                NamedWord::Option(option) if option.value_is_optional() => (option.name, Takes::Maybe),
                NamedWord::Option(option) => (option.name, Takes::Value),
            };
            let words = n..n + 1 + usize::from(takes == Takes::Value && value.is_none());
            let value = match (takes, value) {
                (Takes::Nothing, Some(_)) => {
                    return Err(Mistake::value(&origin, name, "it takes no value".to_string()));
                }
                (Takes::Value, None) => match rest.next() {
                    Some((_, value)) => Some(value.clone()),
                    None => return Err(Mistake::value(&origin, name, "it needs a value".to_string())),
                },
                (_, value) => value,
            };
            match named {
                NamedWord::Flag(flag) => {
                    if !NOT_HANDED.contains(&flag.name) {
                        self.command.flag_arguments.push(words);
                    }
                    self.flag(flag, value, &origin).map_err(|why| Mistake::value(&origin, name, why))?;
                }
                NamedWord::Option(option) => self.option(option, value, &origin)?,
            }
            if self.command.request.is_some() {
                return Ok(());
            }
        }
        self.close()
    }

    /// The engine whose options may be used here; none before anything was given.
    fn engine(&self) -> Option<String> {
        match &self.target {
            OptionScope::None => None,
            OptionScope::Globals => Some(jobfile::engine_of(&[&self.globals])),
            OptionScope::Job(job) => Some(job.engine().to_string()),
        }
    }

    /// The flag or option that a word names, and the value behind its `=`.
    fn name(&self, word: &str, origin: &Origin) -> Result<(NamedWord, Option<String>), Mistake> {
        let double = word.starts_with("--");
        let body = word.trim_start_matches('-');
        let (name, value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (body, None),
        };
        let first = name.chars().next().filter(|_| !double);
        let by_letter = FLAGS.iter().find(|flag| Some(flag.letter) == first);
        if let Some(flag) = by_letter.filter(|_| name.len() == 1) {
            return Ok((NamedWord::Flag(flag), value));
        }
        let engine = self.engine();
        if let Some(flag) = FLAGS.iter().find(|f| f.name == name) {
            return Ok((NamedWord::Flag(flag), value));
        }
        let mut options = table::all().filter(|o| o.is_called(name));
        if let Some(option) =
            options.find(|o| o.engines.is_empty() || engine.as_ref().is_some_and(|e| o.is_of(e)))
        {
            return Ok((NamedWord::Option(option), value));
        }
        if let Some(flag) = by_letter.filter(|f| f.takes == Takes::Value) {
            return Ok((NamedWord::Flag(flag), Some(body[1..].to_string())));
        }
        let mut what = jobfile::unknown(name, engine.as_deref().unwrap_or("psync"));
        if let What::Unknown { nearest, .. } = &mut what {
            let names = table::all().flat_map(|o| [Some(o.name), o.alias]).flatten();
            let known = FLAGS.iter().map(|f| f.name).chain(names);
            *nearest = misspelling::nearest(name, known.map(|n| (n, n))).map(str::to_string);
        }
        Err(Mistake::at(origin, what))
    }

    /// The open job is complete.
    fn close(&mut self) -> Result<(), Mistake> {
        match std::mem::replace(&mut self.target, OptionScope::None) {
            OptionScope::Job(job) => self.command.add(*job),
            _ => Ok(()),
        }
    }

    fn option(
        &mut self,
        option: &'static FioOption,
        value: Option<String>,
        origin: &Origin,
    ) -> Result<(), Mistake> {
        if option.name == "name" {
            self.close()?;
            let name = value.as_deref().unwrap_or_default();
            jobfile::whole_name(name, origin)?;
            if self.command.skips(name) {
                return Ok(());
            }
            self.target = if name.starts_with("global") {
                OptionScope::Globals
            } else {
                OptionScope::Job(Box::new(Job {
                    name: name.to_string(),
                    globals: self.globals.clone(),
                    own: Vec::new(),
                    stonewall: false,
                    group: 0,
                    origin: origin.clone(),
                }))
            };
            if let OptionScope::Globals = self.target {
                return Ok(());
            }
        }
        if let OptionScope::None = self.target {
            self.target = OptionScope::Globals;
        }
        let own: &[Given] = match &self.target {
            OptionScope::Job(job) => &job.own,
            _ => &[],
        };
        let given = self.command.give(option, value.as_deref(), origin, &[&self.globals, own])?;
        if let ("ioengine", option_value::OptionValue::Text(name)) = (option.name, &given.value) {
            let nearest = misspelling::nearest(name, table::engines().iter().map(|e| (e.name, e.name)));
            let hint = nearest.map_or(String::new(), |n| format!(": did you mean '{n}'?"));
            return Err(Mistake::value(origin, "ioengine", format!("fio has no engine '{name}'{hint}")));
        }
        match &mut self.target {
            OptionScope::Job(job) => job.own.push(given),
            _ => self.globals.push(given),
        }
        Ok(())
    }

    /// Takes a flag; the error is why its value is none.
    fn flag(&mut self, flag: &'static Flag, value: Option<String>, origin: &Origin) -> Result<(), String> {
        let text = value.clone().unwrap_or_default();
        let command = &mut self.command;
        match flag.name {
            "output" => command.output = Some(text.into()),
            "latency-log" => return Err("fio has given it up: leave it out".into()),
            "output-format" => {
                command.formats = formats(&text)?;
                if command.formats.contains(&Format::Terse) {
                    let word = format!("--output-format={text}");
                    let name = "output-format=terse";
                    command.other_flags.push(GivenFlag { name, word, origin: origin.clone() });
                }
            }
            "version" => command.request = Some(InfoRequest::Version),
            "help" => command.request = Some(InfoRequest::Help),
            "readonly" => command.readonly = true,
            "eta" => match text.as_str() {
                "always" => command.eta.when = Eta::Always,
                "never" => command.eta.when = Eta::Never,
                "auto" => command.eta.when = Eta::Auto,
                _ => command
                    .notes
                    .push(format!("eta: '{text}' is none of always, never, auto; fio ignores it")),
            },
            "eta-interval" => command.eta.interval = time(&text, Nanos::millis(250))?,
            "eta-newline" => command.eta.newline = Some(time(&text, Nanos::millis(1))?),
            "parse-only" => command.parse_only = true,
            "section" if text == "global" => return Err("'global' alone is no job".into()),
            "section" => command.sections.push(text),
            "warnings-fatal" => command.warnings_fatal = true,
            name => {
                if name == "status-interval" {
                    time(&text, Nanos::millis(1))?;
                }
                let word = value.map_or(format!("--{name}"), |value| format!("--{name}={value}"));
                command.other_flags.push(GivenFlag { name, word, origin: origin.clone() });
            }
        }
        Ok(())
    }
}

/// A time that is no shorter than `least`.
fn time(text: &str, least: Nanos) -> Result<Nanos, String> {
    let time = option_value::time(text, TimeUnit::Seconds)?;
    if time < least {
        return Err(format!("'{text}' is too short: {} ms at least", least.0 / 1_000_000));
    }
    Ok(time)
}

/// A list of forms, each once; `json+` is `json` with more in it.
fn formats(text: &str) -> Result<Vec<Format>, String> {
    let mut formats = Vec::new();
    for part in text.split(',') {
        let format = match part {
            "minimal" | "terse" | "csv" => Format::Terse,
            "json" => Format::Json,
            "json+" => Format::JsonPlus,
            "normal" => Format::Normal,
            _ => return Err(format!("'{part}' is none of normal, terse, json, json+")),
        };
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    if formats.contains(&Format::JsonPlus) {
        formats.retain(|f| *f != Format::Json);
    }
    Ok(formats)
}

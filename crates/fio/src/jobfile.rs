//! The text of a job file: sections, global sections, includes, variables, keywords.
//!
//! fio's grammar as its `init.c` reads it: a comment begins at `;` or `#`, wherever that stands in a line; a section whose name begins
//! with `global` gives defaults to the jobs below it; an option line is `name=value` or a name; `${VAR}` is replaced in files only, as the
//! shell has done it for the command line.

use std::path::Path;

use super::argv;
use super::command::{Command, Surroundings};
use super::job::{ENGINE, Given, Job};
use super::mistake::{Mistake, Origin, What};
use super::option_value::OptionValue;
use super::{option, table};
use volproof_base::quoting::quoted;
use volproof_base::shell_word::shell_path;

/// How many files one job file may include, all together: one that includes itself never ends.
const INCLUDES: usize = 200;

/// Bytes of a line, with its end, that fio reads at once: it takes what is behind them for another line.
const LINE: usize = 8191;

/// Bytes of a section's name from which on fio cuts it.
const NAME: usize = 255;

/// An option line with its place.
struct OptionLine {
    text: String,
    origin: Origin,
    column: usize,
}

/// A section with its lines, those of included files among them.
struct Section {
    name: String,
    origin: Origin,
    lines: Vec<OptionLine>,
}

/// Reads one job file into `command`. `globals` holds for its jobs from the beginning; its first job waits for all jobs before it when
/// `further` says that another file went before.
///
/// # Errors
/// Everything that is wrong in the first section with a mistake, or one mistake of the form of the file.
pub(super) fn read(
    command: &mut Command,
    name: &str,
    globals: &mut Vec<Given>,
    further: bool,
    around: &Surroundings,
) -> Result<(), Vec<Mistake>> {
    let text = (around.file)(name).map_err(|e| vec![unreadable(&Origin::Whole, name, &e.to_string())])?;
    let mut stonewall = further;
    let mut reader = JobFileReader { around, left: INCLUDES };
    for section in reader.sections(command, name, &text).map_err(|mistake| vec![mistake])? {
        let is_global = section.name.starts_with("global");
        let own = options(command, &section, globals, around)?;
        if is_global {
            globals.extend(own);
            continue;
        }
        let job = Job {
            name: section.name,
            globals: globals.clone(),
            own,
            stonewall,
            group: 0,
            origin: section.origin,
        };
        command.add(job).map_err(|mistake| vec![mistake])?;
        stonewall = false;
    }
    Ok(())
}

/// The jobs of the text of a job file, whatever its name is. It stands for every file that it includes.
///
/// # Errors
/// The text is no job file, or has mistakes.
pub fn jobs(text: &str) -> Result<Command, Vec<Mistake>> {
    let around = Surroundings { file: &|_| Ok(text.to_string()), ..Surroundings::here() };
    argv::parse(&["jobs".to_string()], &around)
}

/// Whether a text is a job file with options. That of a plan, which begins its steps with `[[`, is none.
pub fn is_one(text: &str) -> bool {
    let read = if text.contains("[[") { None } else { jobs(text).ok() };
    read.is_some_and(|command| command.jobs.iter().any(|job| job.options().next().is_some()))
}

/// What can be done with a job file.
pub fn ways(path: &Path) -> String {
    let path = shell_path(path);
    format!("`volproof fio {path}` runs it, `volproof convert {path} --to plan` makes a plan of it")
}

fn unreadable(origin: &Origin, file: &str, why: &str) -> Mistake {
    Mistake::at(origin, What::Unreadable { file: file.to_string(), why: why.to_string() })
}

/// The text of a line as fio trims it: no blanks around it, nothing from a `;` or `#` on. Only those of ASCII are blanks.
pub fn stripped(text: &str) -> &str {
    let text = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
    let text = text.split([';', '#']).next().unwrap_or_default();
    text.trim_end_matches(|c: char| c == ' ' || c.is_ascii_control())
}

/// The name and the value of an option line; a name alone has none.
fn name_and_value(text: &str) -> (&str, Option<&str>) {
    text.split_once('=').map_or((text, None), |(name, value)| (name.trim_end(), Some(value)))
}

/// A line without comment and blanks, with the column where it begins; nothing when that was all.
fn content(line: &str) -> Option<(usize, &str)> {
    let text = stripped(line);
    let begin = text.as_ptr().addr() - line.as_ptr().addr();
    (!text.is_empty()).then(|| (line[..begin].chars().count() + 1, text))
}

/// The lines of a file that say something, each with its place and column.
///
/// # Errors
/// A line that fio would read as another text.
fn lines<'a>(file: &str, text: &'a str) -> Result<Vec<(Origin, usize, &'a str)>, Mistake> {
    let mut lines = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let origin = Origin::Line { file: file.into(), line: n + 1 };
        whole(line, &origin)?;
        lines.extend(content(line).map(|(column, text)| (origin, column, text)));
    }
    Ok(lines)
}

/// Refuses a line that fio reads only in part.
fn whole(line: &str, origin: &Origin) -> Result<(), Mistake> {
    if line.contains('\0') {
        return Err(Mistake::form(origin, "a NUL byte stands in this line: fio's text ends there"));
    }
    if line.len() >= LINE {
        let why =
            format!("{} bytes: fio reads {LINE} bytes of a line, and the rest as another line", line.len());
        return Err(Mistake::form(origin, why));
    }
    Ok(())
}

/// Refuses a name of a job that fio cuts.
pub(super) fn whole_name(name: &str, origin: &Origin) -> Result<(), Mistake> {
    if name.len() < NAME {
        return Ok(());
    }
    let why = format!("the name of a job has {} bytes: fio cuts it after {}", name.len(), NAME - 1);
    Err(Mistake::form(origin, why))
}

/// The name that stands behind `include`. fio skips the one character behind the word, whatever it is.
fn included(rest: &str) -> &str {
    let mut name = rest.chars();
    name.next();
    name.as_str()
}

/// A name as one in the folder of `file`.
fn beside(file: &str, name: &str) -> Option<String> {
    Path::new(file).parent().map(|folder| folder.join(name).to_string_lossy().into_owned())
}

/// Reads sections and what they include.
struct JobFileReader<'a> {
    around: &'a Surroundings<'a>,
    /// Files that may still be included.
    left: usize,
}

impl JobFileReader<'_> {
    /// Divides a file into its sections, without those that `--section` leaves out.
    fn sections(&mut self, command: &mut Command, name: &str, text: &str) -> Result<Vec<Section>, Mistake> {
        let mut sections: Vec<Section> = Vec::new();
        let mut skipping = false;
        for (origin, column, text) in lines(name, text)? {
            if let Some(rest) = text.strip_prefix('[').filter(|rest| !rest.is_empty()) {
                // fio drops the last character, whatever it is.
                let title = &rest[..rest.len() - rest.chars().next_back().map_or(0, char::len_utf8)];
                if !rest.ends_with(']') {
                    let note = format!("{origin}: no ']' ends '{text}': fio calls this section '{title}'");
                    command.notes.push(quoted(&origin, note));
                }
                whole_name(title, &origin)?;
                skipping = command.skips(title);
                if !skipping {
                    sections.push(Section { name: title.to_string(), origin, lines: Vec::new() });
                }
                continue;
            }
            match sections.last_mut() {
                _ if skipping => {}
                Some(section) => {
                    self.line(&mut section.lines, name, OptionLine { text: text.into(), origin, column })?
                }
                None => {
                    let text = format!("'{text}' stands before the first [section]");
                    return Err(Mistake { origin, column: Some(column), what: What::Form(text) });
                }
            }
        }
        Ok(sections)
    }

    /// One line inside a section of `file`: an option, or the lines of another file.
    fn line(&mut self, into: &mut Vec<OptionLine>, file: &str, line: OptionLine) -> Result<(), Mistake> {
        let Some(rest) = line.text.strip_prefix("include") else {
            into.push(line);
            return Ok(());
        };
        let Some(left) = self.left.checked_sub(1) else {
            return Err(Mistake::form(&line.origin, format!("more than {INCLUDES} files are included")));
        };
        self.left = left;
        let wanted = included(rest);
        let beside = beside(file, wanted);
        let found = match ((self.around.file)(wanted), beside) {
            (Err(_), Some(beside)) => (self.around.file)(&beside).map(|text| (beside, text)),
            (read, _) => read.map(|text| (wanted.to_string(), text)),
        };
        let (file, text) = found.map_err(|e| unreadable(&line.origin, wanted, &e.to_string()))?;
        for (origin, column, text) in lines(&file, &text)? {
            if text.starts_with('[') {
                return Err(Mistake::form(&origin, "an included file may not begin a section"));
            }
            self.line(into, &file, OptionLine { text: text.into(), origin, column })?;
        }
        Ok(())
    }
}

/// Options that fio reads before and after the others of a section, whatever their place.
fn rank(name: &str) -> i8 {
    match name {
        "lockfile" | "cpus_allowed_policy" | "kb_base" | "unit_base" => -1,
        "filename" | "filename_format" => 1,
        _ => 0,
    }
}

/// Reads the options of a section; those of engines last, when the engine is known.
fn options(
    command: &mut Command,
    section: &Section,
    globals: &[Given],
    around: &Surroundings,
) -> Result<Vec<Given>, Vec<Mistake>> {
    let mut own: Vec<Given> = Vec::new();
    let mut mistakes = Vec::new();
    let mut lines: Vec<(String, &OptionLine)> = Vec::new();
    for line in &section.lines {
        lines.push((replaced(line, around).map_err(|mistake| vec![mistake])?, line));
    }
    lines.sort_by_key(|(text, _)| option::find(name_and_value(text).0, "").map_or(0, |o| rank(o.name)));
    let (of_all, of_engines): (Vec<_>, Vec<_>) =
        lines.iter().partition(|(text, _)| option::find(name_and_value(text).0, "").is_some());
    let mut engine = String::new();
    for (n, (text, line)) in of_all.iter().chain(&of_engines).enumerate() {
        if n == of_all.len() {
            engine = engine_of(&[globals, &own]);
        }
        let (name, value) = name_and_value(text);
        let given = match option::find(name, &engine) {
            Some(option) => command.give(option, value, &line.origin, &[globals, &own]),
            None => Err(Mistake::at(&line.origin, unknown(name, &engine))),
        };
        match given {
            Ok(given) => own.push(given),
            Err(mistake) => mistakes.push(Mistake { column: Some(line.column), ..mistake }),
        }
    }
    if mistakes.is_empty() { Ok(own) } else { Err(mistakes) }
}

/// The engine that holds after these.
pub(super) fn engine_of(given: &[&[Given]]) -> String {
    let last = given.iter().rev().find_map(|part| part.iter().rev().find(|g| g.option.name == "ioengine"));
    match last.map(|g| &g.value) {
        Some(OptionValue::Choice(name, _)) => name.to_string(),
        Some(OptionValue::Text(name)) => name.clone(),
        _ => ENGINE.to_string(),
    }
}

/// An option that a job with this engine does not have.
pub(super) fn unknown(name: &str, engine: &str) -> What {
    match option::find_any(name) {
        Some(other) if !other.engines.is_empty() => {
            let rows = table::all().filter(|o| o.is_called(name));
            let engines = rows.flat_map(|o| &o.engines).map(|e| e.to_string()).collect();
            What::OtherEngine { name: name.to_string(), engine: engine.to_string(), engines }
        }
        _ => What::Unknown { name: name.to_string(), nearest: option::nearest_to(name).map(str::to_string) },
    }
}

/// An option line with its variables and keywords replaced.
///
/// # Errors
/// fio would make another text of it.
fn replaced(line: &OptionLine, around: &Surroundings) -> Result<String, Mistake> {
    let mut text = String::new();
    let mut rest = line.text.as_str();
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((name, after)) = behind.split_once('}') else { break };
        text.push_str(before);
        let value = (around.variable)(name).unwrap_or_default();
        if value.contains(char::REPLACEMENT_CHARACTER) {
            return Err(Mistake::form(&line.origin, format!("the variable {name} is not UTF-8")));
        }
        text.push_str(&value);
        rest = after;
    }
    text.push_str(rest);
    whole(&text, &line.origin)?;
    let keywords = [("$pagesize", around.page), ("$mb_memory", around.memory), ("$ncpus", around.cpus)];
    if !keywords.iter().any(|(keyword, _)| text.contains(keyword)) {
        return Ok(text);
    }
    for (keyword, value) in keywords {
        text = text.replace(keyword, &value.to_string());
    }
    match name_and_value(&text) {
        (name, Some(value)) if value.contains(['+', '-', '*', '/']) => {
            let why = format!(
                "'{value}' is arithmetic for fio, as a word like $ncpus stood in it: write the result"
            );
            Err(Mistake::value(&line.origin, name, why))
        }
        _ => Ok(text),
    }
}

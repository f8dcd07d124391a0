//! Where the results of a run go: the Record, the table and the page; and what happens to a result that cannot be saved.
//!
//! If an output cannot be saved, the run goes on and the other outputs are written. The content goes to a second place (the temporary
//! folder), the figures to the screen, and the exit code is 7 unless a verdict has another one.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::front::Front;
use super::pipeline::Ended;
use super::sheet::{Sheet, SheetForm, opened};
use super::{Failure, leftover};
use crate::cli::{OutputArgs, SheetArgs};
use crate::history_folder::{self, Keeping, VARIABLE};
use crate::ui::{self, Ui};
use volproof_base::shell_word::shell_path;
use volproof_course::finished::is_whole;
use volproof_device::output::{
    FileIdentity, OutputError, OutputFile, OutputKind, apart, patient_write, screen,
};
use volproof_record::exit::Exit;
use volproof_record::{Record, State, StepRecord};
use volproof_report::headline::Headline;
use volproof_report::{csv, github, html, junit, markdown, openmetrics, summary_text};

impl From<OutputError> for Failure {
    fn from(e: OutputError) -> Failure {
        let harm = matches!(e, OutputError::Device { .. } | OutputError::Setting { .. });
        Failure::new(if harm { Exit::Refused } else { Exit::WrongInput }, e)
    }
}

/// Writes a text. Control characters that others put into it (names, serials) are made visible.
fn put(out: &mut dyn Write, text: &str) -> io::Result<()> {
    out.write_all(screen::visible(text).as_bytes())
}

/// The outputs for other programs and for tickets.
fn forms(args: &SheetArgs) -> [SheetForm<'_>; 3] {
    [
        ("--junit", &args.junit, OutputKind::Junit, |r, out| put(out, &junit::junit(r))),
        ("--openmetrics", &args.openmetrics, OutputKind::OpenMetrics, |r, out| {
            put(out, &openmetrics::openmetrics(r))
        }),
        ("--markdown", &args.markdown, OutputKind::Markdown, |r, out| put(out, &markdown::markdown(r))),
    ]
}

/// These outputs of a stored Record.
pub struct StoredSheets {
    sheets: Vec<Sheet>,
    github: bool,
}

impl StoredSheets {
    /// Opens and checks them.
    ///
    /// # Errors
    /// An output that cannot be written, or that is one of the inputs.
    pub fn open(args: &SheetArgs) -> Result<StoredSheets, Failure> {
        let sheets = opened(&forms(args), args.force)?;
        let files: Vec<&OutputFile> = sheets.iter().map(|s| &s.file).collect();
        apart(&files, &[])?;
        Ok(StoredSheets { sheets, github: args.github })
    }

    /// Annotations of a GitHub workflow, where they were asked for and are to be printed.
    pub fn annotations(&self, record: &Record) -> String {
        if self.github && !self.takes_stdout() { github::github(record) } else { String::new() }
    }

    /// Whether one of them goes to standard output, where nothing else is printed then.
    pub fn takes_stdout(&self) -> bool {
        self.sheets.iter().any(|s| s.file.is_stdout())
    }

    /// Saves them.
    ///
    /// # Errors
    /// Results that could not be saved in their place, and where they are instead.
    pub fn save(&mut self, record: &Record) -> Result<Exit, Failure> {
        let save = |sheet: &mut Sheet| sheet.save_stored(record).err();
        let lost: Vec<String> = self.sheets.iter_mut().filter_map(save).map(|lost| lost.message).collect();
        if lost.is_empty() { Ok(Exit::Done) } else { Err(Failure::new(Exit::RunFailed, lost.join("\n"))) }
    }
}

/// A new file for a Record, in the folder of Records.
fn fresh(args: &OutputArgs, stem: &str) -> Result<Sheet, Failure> {
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let file = OutputFile::fresh("--records", args.records_folder(), format!("{stem}-{now}"), "json")?;
    Ok(Sheet::of_record(file))
}

/// The outputs of a run, opened and checked, and the progress that is shown.
pub struct Results {
    ui: Ui,
    quiet: bool,
    details: bool,
    github: bool,
    record: Sheet,
    /// The file of the Record was made before anything was measured.
    begun: bool,
    others: Vec<Sheet>,
    pace: SavePace,
}

/// How often a Record is saved while it grows with every step: each save is as long as the Record, so that saves after many short steps
/// would take longer than the steps.
#[derive(Debug, Default)]
pub struct SavePace {
    /// When it was last saved, and how long that took.
    last: Option<(Instant, Duration)>,
    /// Something was measured since.
    is_behind: bool,
}

impl SavePace {
    /// Time between saves, as a multiple of what the last one took.
    const BETWEEN: u32 = 20;
    /// The longest that a finished step stays unsaved, whatever the last save took.
    const LONGEST: Duration = Duration::from_secs(5);

    /// Whether a save may wait: nothing is lost for longer than the pace allows, if it comes `length` from now.
    fn may_wait(since: Duration, took: Duration, length: Duration) -> bool {
        since.saturating_add(length) < (took * SavePace::BETWEEN).min(SavePace::LONGEST)
    }

    /// Saves, unless the last save was so short a time ago that it may wait for the next chance, in `length`.
    fn save_if_due(&mut self, length: Duration, save: impl FnOnce()) {
        let waits = self.last.is_some_and(|(at, took)| SavePace::may_wait(at.elapsed(), took, length));
        self.is_behind = waits;
        if waits {
            return;
        }
        let began = Instant::now();
        save();
        self.last = Some((Instant::now(), began.elapsed()));
    }

    /// Saves what was measured.
    pub fn spaced(&mut self, save: impl FnOnce()) {
        self.save_if_due(Duration::ZERO, save);
    }

    /// Saves what is not saved yet, where nothing is saved for `length` from now.
    pub fn before(&mut self, length: Duration, save: impl FnOnce()) {
        if self.is_behind {
            self.save_if_due(length, save);
        }
    }
}

impl Results {
    /// Opens all outputs; none may be one of the targets in `used`. A Record that has no name gets this stem and the time.
    ///
    /// # Errors
    /// An output that cannot be written, or that is one of the files in `used`.
    pub fn open(args: &OutputArgs, stem: &str, used: &[(String, FileIdentity)]) -> Result<Results, Failure> {
        let force = args.sheets.force;
        let record = match &args.json {
            Some(path) => Sheet::record("--json", path, force)?,
            None => fresh(args, stem)?,
        };
        let record = record.claimed()?;
        let tables: [SheetForm<'_>; 2] = [
            ("--csv", &args.csv, OutputKind::Csv, |r, out| put(out, &csv::csv(r))),
            ("--html", &args.html, OutputKind::Html, html::write),
        ];
        let others = opened(&[&tables[..], &forms(&args.sheets)].concat(), force)?;
        let files: Vec<&OutputFile> = std::iter::once(&record).chain(&others).map(|s| &s.file).collect();
        apart(&files, used)?;
        leftover::tell_of_outputs([record.file.path()]);
        let mut results = Results {
            ui: Ui::plain(),
            quiet: args.quiet,
            details: args.details,
            github: args.sheets.github,
            record,
            begun: false,
            others,
            pace: SavePace::default(),
        };
        results.ui = if args.quiet {
            Ui::silent()
        } else if args.no_live || !results.talks() {
            Ui::plain()
        } else {
            Ui::live()
        };
        Ok(results)
    }

    /// The answer is printed on standard output: no output goes there.
    fn prints(&self) -> bool {
        let all = std::iter::once(&self.record).chain(&self.others);
        !all.into_iter().any(|sheet| sheet.file.is_stdout())
    }

    /// More than one line is printed on standard output: nobody asked for silence.
    pub fn talks(&self) -> bool {
        !self.quiet && self.prints()
    }

    /// The Record of one rank of a fleet, in a file of its own on its machine. Rank 0 shows progress; nothing goes to standard output.
    ///
    /// # Errors
    /// The folder of Records cannot be written, or the file is one of those in `used`.
    pub fn of_rank(
        args: &OutputArgs,
        rank: u32,
        used: &[(String, FileIdentity)],
    ) -> Result<Results, Failure> {
        let record = fresh(args, &format!("volproof-rank{rank}"))?.claimed()?;
        apart(&[&record.file], used)?;
        let ui = if rank == 0 && !args.quiet { Ui::plain() } else { Ui::silent() };
        let (others, pace) = (Vec::new(), SavePace::default());
        Ok(Results { ui, quiet: true, details: false, github: false, record, begun: false, others, pace })
    }

    /// Saves the Record between steps, when the pace says so.
    fn save_by(&mut self, record: &Record, when: impl FnOnce(&mut SavePace, &mut dyn FnMut())) {
        if self.record.file.is_stream() {
            return;
        }
        let Results { pace, record: sheet, ui, quiet, .. } = self;
        when(pace, &mut || {
            sheet.save(record);
            // At once, also where the user wants no progress: a run that is killed later names nothing.
            if let Some(loss) = sheet.loss().filter(|_| !sheet.said) {
                if *quiet {
                    screen::say(&loss)
                } else {
                    ui.say(&loss)
                }
                sheet.said = true;
            }
        });
    }

    /// Saves the Record alone, and tells the user where that fails.
    pub fn keep(&mut self, record: &Record) {
        self.record.save(record);
        screen::say(&self.record.loss().unwrap_or_default());
    }

    /// Removes the Record of a run that measured nothing: it helps nobody who knows how the run ended.
    pub fn drop_empty(&self) {
        if self.begun {
            self.record.file.remove();
        }
    }

    /// Saves and prints what was measured, then says which exit code the run has.
    ///
    /// # Errors
    /// Those of [`Ended::exit`].
    pub fn publish(mut self, ended: &Ended, after: fn(&Record) -> String) -> Result<Exit, Failure> {
        let record = &ended.record;
        let compared = record.tuning.as_ref().is_some_and(|tuning| !tuning.effects.is_empty());
        if record.steps.is_empty() && !compared && record.state != State::Complete {
            self.drop_empty();
            if record.state == State::Interrupted {
                screen::say("volproof: interrupted before anything was measured\n");
            }
            return ended.exit();
        }
        let lost = self.deliver(record, &ended.kept, after);
        self.keep_in_history(record);
        let exit = ended.exit()?;
        if patient_write::gave_up() {
            return Ok(Exit::Interrupted);
        }
        // A verdict keeps its code.
        let is_not_valid = exit == Exit::Invalid && record.outcome.is_none();
        Ok(if lost && (exit == Exit::Done || is_not_valid) { Exit::RunFailed } else { exit })
    }

    /// Adds a finished run to the history. Whatever becomes of that, the run has its result.
    fn keep_in_history(&mut self, record: &Record) {
        match history_folder::keep(record, self.saved_path()) {
            Keeping::Unwanted => {}
            Keeping::Kept(_) => self.ui.say("  all runs of this volume: volproof history"),
            Keeping::UnderTest(folder) => self.ui.say(&format!(
                "  not in the history: {} lies on the volume under test ({VARIABLE}=FOLDER names another)",
                folder.display()
            )),
            Keeping::Failed(folder, why) => {
                self.ui.say(&format!("  not in the history: {}: {why}", folder.display()));
            }
        }
    }

    /// Where the Record is, if it is a file in its own place.
    fn saved_path(&self) -> Option<&Path> {
        let is_saved = self.record.misplaced.is_none() && !self.record.file.is_stream();
        is_saved.then(|| self.record.file.path())
    }

    /// Saves and prints a Record, and names the test files that stay; whether something could not be saved.
    pub fn deliver(&mut self, record: &Record, kept: &[PathBuf], after: fn(&Record) -> String) -> bool {
        self.record.save(record);
        let saved = self.saved_path().map(Path::to_path_buf);
        if saved.is_some() && record.state == State::Complete {
            self.record.file.is_complete();
        }
        if let Some(path) = &saved {
            record.saved_as.set(path);
        }
        self.others.iter_mut().for_each(|sheet| sheet.save(record));
        let sheets = || std::iter::once(&self.record).chain(&self.others);
        let mut lost = sheets().any(|sheet| sheet.misplaced.is_some());
        let mut unsaid: String = sheets().filter(|sheet| !sheet.said).filter_map(Sheet::loss).collect();
        if self.prints() {
            let text = if self.quiet {
                Headline::of_record(record).line()
            } else {
                summary_text::shown(record, self.details) + &after(record)
            };
            let annotations = if self.github { github::github(record) } else { String::new() };
            if let Err(e) = screen::show(&text).and_then(|()| screen::print(&annotations)) {
                lost = true;
                unsaid += &format!("volproof: standard output: {e}\n");
            }
        }
        match &record.state {
            _ if self.talks() => {}
            _ if lost => screen::say(&summary_text::shown(record, true)),
            State::Failed(why) => ui::tell(why),
            _ => {}
        }
        for file in kept {
            self.ui.say(&format!("\nThe test file stays: {}", file.display()));
        }
        if let Some(path) = &saved {
            self.ui.say(&format!("\n{}{}", place_told(path), way_on(record, path)));
        }
        if let Some(earlier) = self.record.file.earlier() {
            let (place, before) = (self.record.file.path().display(), shell_path(&earlier));
            unsaid += &format!(
                "volproof: what {place} held before this run is kept, for this run is not complete: mv {before} NAME, or rm {before}\n"
            );
        }
        screen::say(&unsaid);
        lost
    }
}

/// The command that goes on with a run which was ended before its time; empty where a new run does as well.
fn way_on(record: &Record, path: &Path) -> String {
    let is_finished =
        |step: &StepRecord| record.plan_step(&step.name).is_some_and(|planned| is_whole(planned, step));
    let may_go_on =
        record.state == State::Interrupted && record.plan.question.is_none() && record.rank.is_none();
    if may_go_on && record.tests().any(is_finished) {
        format!("\n  go on with it: volproof run --resume {}", shell_path(path))
    } else {
        String::new()
    }
}

/// Where the Record is, and the command that prints it.
pub fn place_told(path: &Path) -> String {
    format!("Record: {}\n  print it again: volproof show {}", path.display(), shell_path(path))
}

impl Front for Results {
    fn ui(&mut self) -> &mut Ui {
        &mut self.ui
    }

    fn begun(&mut self, record: &Record) {
        // What a file holds stays until there is something better. A simulation loses nothing.
        if self.record.file.is_new() && !record.plan.needs_no_target() {
            self.begun = true;
            self.record.save(record);
        }
    }

    fn stage_begins(&mut self, record: &Record, length: Duration) {
        self.save_by(record, |pace, save| pace.before(length, save));
    }

    fn measured(&mut self, record: &Record) {
        self.save_by(record, |pace, save| pace.spaced(save));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Steps of any length, after saves that took any time: each chance to save is the end of a step or the begin of the next one.
        #[test]
        fn a_finished_step_is_saved_within_seconds(
            steps in proptest::collection::vec((0u64..20_000, 0u64..10_000), 1..100),
        ) {
            let millis = Duration::from_millis;
            let (mut since, mut took) = (Duration::ZERO, millis(5_000));
            let mut unsaved = Duration::ZERO;
            for (length, save) in steps {
                if SavePace::may_wait(since, took, millis(length)) {
                    unsaved += millis(length);
                    prop_assert!(unsaved <= SavePace::LONGEST);
                } else {
                    (unsaved, took) = (Duration::ZERO, millis(save));
                    since = Duration::ZERO;
                }
                since += millis(length);
            }
        }
    }
}

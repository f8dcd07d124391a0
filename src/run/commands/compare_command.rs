//! `compare`: what became better or worse between two groups of results, or of two ways to run here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::history_command::named_folder;
use crate::cli::CompareArgs;
use crate::history_folder;
use crate::result_file;
use crate::run::baseline::Baseline;
use crate::run::{Failure, code_after_outputs, output, print, records_below, save_output, show_text};
use crate::ui;
use volproof_compare::{GateWord, RunComparison, RunDesign, compare as compared};
use volproof_device::output::{FileIdentity, OutputFile, OutputKind, apart, try_new_folder};
use volproof_record::Record;
use volproof_record::exit::Exit;
use volproof_report::html::compare_page;
use volproof_report::{compare_sheets, compare_text};

/// `compare`.
///
/// # Errors
/// Of input, results that cannot be compared, and an output that cannot be written.
pub fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    if let Some(pairs) = args.run {
        return compare_runs(args, pairs);
    }
    let (before, after) = named_groups(args)?;
    // The usual folder of the history has no name on the command line.
    let usual = before.iter().flat_map(|path| records_below(&path.display().to_string(), path));
    let sheets = ComparisonSheets::open(args, &usual.collect::<Vec<_>>())?;
    let after = load(&after)?;
    let new: Vec<&Record> = after.iter().collect();
    let mut earlier = Vec::new();
    for path in &before {
        earlier.extend(Baseline::load(path)?.records(&new)?);
    }
    answer(args, sheets, &earlier, &after, RunDesign::Groups)
}

/// The files of the two groups.
fn named_groups(args: &CompareArgs) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Failure> {
    let after: Vec<PathBuf> = args.after.iter().map(PathBuf::from).collect();
    // Words behind `--` are never options.
    if let Some(option) = after.iter().find(|path| path.to_string_lossy().starts_with("--") && !path.exists())
    {
        return Err(Failure::input(format!(
            "{} stands behind `--`, where files are named: put options first, as in `volproof compare --gate 5% A1 A2 -- B1 B2`",
            option.display()
        )));
    }
    if args.history {
        let new: Vec<PathBuf> = args.results.iter().cloned().chain(after).collect();
        if new.is_empty() {
            return Err(Failure::input(
                "--history has the results before: name those after, as in `volproof compare --history new.json`",
            ));
        }
        return Ok((vec![named_folder(None)?], new));
    }
    match (args.results.as_slice(), after.is_empty()) {
        ([before, after], true) => Ok((vec![before.clone()], vec![after.clone()])),
        ([], _) | ([_], true) => Err(Failure::input(
            "compare takes two groups of results: `volproof compare before.json after.json`, or `volproof compare A1 A2 -- B1 B2`",
        )),
        (_, true) => Err(Failure::input(
            "say with `--` where the second group begins: `volproof compare A1 A2 -- B1 B2`",
        )),
        (before, false) => Ok((before.to_vec(), after)),
    }
}

fn load(paths: &[PathBuf]) -> Result<Vec<Record>, Failure> {
    paths.iter().map(|path| result_file::load_only(path).map_err(Failure::input)).collect()
}

/// Runs pairs here: the order within a pair is reversed every time, so that what drifts meets both alike.
fn compare_runs(args: &CompareArgs, pairs: u32) -> Result<Exit, Failure> {
    let sheets = ComparisonSheets::open(args, &[])?;
    let (a, b) = named_options(&args.after)?;
    let folder = new_folder(args.records.as_deref())?;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for pair in 1..=pairs {
        let (mut of_a, mut of_b) = (None, None);
        for is_a in [pair % 2 == 1, pair % 2 == 0] {
            let (word, options) = if is_a { ("a", a) } else { ("b", b) };
            ui::tell(&format!("pair {pair} of {pairs}: {}", if is_a { "A" } else { "B" }));
            let record = run_once(options, &folder.join(format!("{word}-{pair}.json")))?;
            *(if is_a { &mut of_a } else { &mut of_b }) = Some(record);
        }
        before.extend(of_a);
        after.extend(of_b);
    }
    ui::tell(&format!("Records: {}", folder.display()));
    answer(args, sheets, &before, &after, RunDesign::Pairs)
}

/// The options of A and of B.
fn named_options(words: &[OsString]) -> Result<(&[OsString], &[OsString]), Failure> {
    let mut groups = words.split(|word| word == "--");
    match (groups.next(), groups.next(), groups.next()) {
        (Some(a), Some(b), None) if !words.is_empty() => Ok((a, b)),
        _ => Err(Failure::input(
            "--run takes the options of two runs: `volproof compare --run 6 -- /mnt/x --iodepth 32 -- /mnt/x --iodepth 64`",
        )),
    }
}

fn new_folder(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let folder = named.map_or_else(|| PathBuf::from(format!("volproof-compare-{now}")), Path::to_path_buf);
    try_new_folder(&folder).and_then(|()| std::fs::create_dir(&folder)).map_err(|e| {
        Failure::input(format!("--records {}: cannot make this folder: {e}", folder.display()))
    })?;
    Ok(folder)
}

/// One run by a process of its own, as a user would start it, so that nothing of a run is left to the next.
fn run_once(options: &[OsString], record: &Path) -> Result<Record, Failure> {
    let program = std::env::current_exe()
        .map_err(|e| Failure::new(Exit::RunFailed, format!("cannot find the program itself: {e}")))?;
    let ended = Command::new(program)
        .arg("run")
        .args(options)
        .args(["--quiet", "--json"])
        .arg(record)
        // What is compared is no part of the volume's history.
        .env(history_folder::VARIABLE, "")
        .stdout(std::process::Stdio::null())
        .status()
        .map_err(|e| Failure::new(Exit::RunFailed, format!("cannot start a run: {e}")))?;
    let judged = [Exit::Done, Exit::Fail, Exit::Inconclusive, Exit::Invalid].map(Exit::code);
    let code = ended.code().and_then(|code| u8::try_from(code).ok());
    match code {
        Some(code) if judged.contains(&code) => result_file::load_only(record).map_err(Failure::input),
        Some(code) => Err(Failure {
            code,
            message: "a run of the comparison ended: see above; finished runs keep their Records".into(),
        }),
        None => Err(Failure::new(
            Exit::Interrupted,
            "a run of the comparison was ended by a signal; finished runs keep their Records",
        )),
    }
}

/// Compares, prints and saves.
fn answer(
    args: &CompareArgs,
    mut sheets: ComparisonSheets,
    before: &[Record],
    after: &[Record],
    design: RunDesign,
) -> Result<Exit, Failure> {
    // No name of others begins a line of the answer.
    let in_lines = |records| <[Record]>::iter(records).map(Record::in_lines).collect::<Vec<_>>();
    let (before, after) = (in_lines(before), in_lines(after));
    let before: Vec<&Record> = before.iter().map(|record| &**record).collect();
    let after: Vec<&Record> = after.iter().map(|record| &**record).collect();
    let comparison =
        compared(&before, &after, design, args.gate.gate).map_err(|e| Failure::new(Exit::Invalid, e))?;
    let saved = sheets.save(&comparison, &before, &after);
    if sheets.takes_stdout() {
        return code_after_outputs([saved], exit(&comparison));
    }
    let printed = if args.json {
        let text = serde_json::to_string_pretty(&comparison).map_err(|e| Failure::new(Exit::RunFailed, e))?;
        print(&(text + "\n"))
    } else {
        let annotations = if args.github { compare_text::github(&comparison) } else { String::new() };
        show_text(&compare_text::text(&comparison)).and_then(|_| print(&annotations))
    };
    code_after_outputs([printed, saved], exit(&comparison))
}

/// The exit code: that of the gate.
pub fn exit(comparison: &RunComparison) -> Exit {
    match comparison.gate.map(|gate| gate.word) {
        None | Some(GateWord::Kept) => Exit::Done,
        Some(GateWord::Worse) => Exit::Fail,
        Some(GateWord::Undecided) => Exit::Inconclusive,
        Some(GateWord::Void) => Exit::Invalid,
    }
}

/// The files for the answer.
struct ComparisonSheets {
    html: Option<OutputFile>,
    junit: Option<OutputFile>,
    markdown: Option<OutputFile>,
}

impl ComparisonSheets {
    fn open(args: &CompareArgs, inputs: &[(String, FileIdentity)]) -> Result<ComparisonSheets, Failure> {
        let opened = |option: &str, path: &Option<PathBuf>, kind| {
            path.as_ref().map(|path| output(option, path, kind, args.force)).transpose()
        };
        let sheets = ComparisonSheets {
            html: opened("--html", &args.html, OutputKind::Html)?,
            junit: opened("--junit", &args.junit, OutputKind::Junit)?,
            markdown: opened("--markdown", &args.markdown, OutputKind::Markdown)?,
        };
        let files: Vec<&OutputFile> =
            [&sheets.html, &sheets.junit, &sheets.markdown].into_iter().flatten().collect();
        apart(&files, inputs)?;
        Ok(sheets)
    }

    fn takes_stdout(&self) -> bool {
        [&self.html, &self.junit, &self.markdown].into_iter().flatten().any(OutputFile::is_stdout)
    }

    fn save(
        &mut self,
        comparison: &RunComparison,
        before: &[&Record],
        after: &[&Record],
    ) -> Result<Exit, Failure> {
        let mut lost = Vec::new();
        if let Some(file) = &mut self.html {
            let page = compare_page::page(comparison, before, after)
                .map_err(|e| Failure::new(Exit::RunFailed, e))?;
            lost.extend(save_output(file, &|out| out.write_all(page.as_bytes())).err());
        }
        if let Some(file) = &mut self.junit {
            lost.extend(
                save_output(file, &|out| out.write_all(compare_sheets::junit(comparison).as_bytes())).err(),
            );
        }
        if let Some(file) = &mut self.markdown {
            lost.extend(
                save_output(file, &|out| out.write_all(compare_sheets::markdown(comparison).as_bytes()))
                    .err(),
            );
        }
        lost.into_iter().next().map_or(Ok(Exit::Done), Err)
    }
}

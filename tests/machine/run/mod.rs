//! The binary end to end: what a user types, what it prints, what it leaves behind.
//!
//! Every test has a folder of its own that goes away with it. Figures are never asserted, only what must hold whatever the machine
//! does. What a machine cannot show (no root, no loop device) says `skipped` with the reason.

mod anatomy;
mod answer;
mod completions;
mod devices;
mod engines;
mod every_output;
mod exit_codes;
mod extremes;
mod failing_outputs;
mod files;
mod files_of_jobs;
mod fio;
mod fio_cache;
mod fio_data;
mod fio_engine;
mod fio_files;
mod fio_installed;
mod fio_interim;
mod fio_setups;
mod follow_up;
mod history;
mod hostile;
mod inputs;
mod left_outputs;
mod limits;
mod live_screen;
mod memory;
mod million;
mod mounted;
mod outputs;
mod pipeline_files;
mod planned;
mod refusals;
mod replaced_outputs;
mod resumed;
mod schema;
mod signals;
mod text;
mod threads;
mod together;
mod watch;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;
use volproof::record::Record;

/// A folder in which volproof runs, and where its Record goes.
struct Bench {
    dir: TempDir,
    /// The temporary folder of the programs, where a result goes that has no other place.
    temporary: TempDir,
}

impl Bench {
    /// In the build folder, which lies on a disk: a memory filesystem would have no direct I/O on older kernels.
    fn new() -> Bench {
        let parent = env!("CARGO_TARGET_TMPDIR");
        let dir = tempfile::Builder::new().prefix("run-").tempdir_in(parent).unwrap();
        Bench { dir, temporary: TempDir::new().unwrap() }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A folder inside, for test files alone.
    fn folder(&self, name: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// A file with data that is really there.
    fn file(&self, name: &str, mib: usize) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, vec![0x5a; mib << 20]).unwrap();
        std::fs::File::open(&path).unwrap().sync_all().unwrap();
        path
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_volproof"));
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// Another program that runs in the folder, such as a shell that starts volproof.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.current_dir(self.path()).env("TMPDIR", self.temporary.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).output().unwrap())
    }

    fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The Record that `--json r.json` wrote.
    fn record(&self) -> Record {
        Record::load(&self.path().join("r.json")).unwrap()
    }

    /// Names of what lies in a folder.
    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// A finished program.
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

/// Whether an output says that figures are void. CSV has no place for it, and a closed output none at all.
fn is_void(out: &str) -> bool {
    let void = ["NOT VALID", ", void]", "\"severity\":\"blocker\""];
    out.is_empty() || out.starts_with("step,") || void.iter().any(|word| out.contains(word))
}

impl Ran {
    fn of(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// It ended with this code; its output is shown where it did not. A busy machine voids figures (6 in place of 0), which tests do not look at.
    #[track_caller]
    fn ended(self, code: i32) -> Ran {
        let seen = if code == 0 && self.code == Some(6) && is_void(&self.out) { Some(0) } else { self.code };
        assert_eq!(seen, Some(code), "\n-- out:\n{}\n-- err:\n{}", self.out, self.err);
        self
    }

    /// The message holds all of these.
    #[track_caller]
    fn says(self, words: &[&str]) -> Ran {
        // A message is wrapped.
        let joined = self.err.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in words {
            let said = self.err.contains(word) || joined.contains(word);
            assert!(said, "'{word}' is not in:\n{}", self.err);
        }
        self
    }
}

/// The second places that a text names, wherever its lines are broken.
fn second_places(text: &str) -> Vec<String> {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    joined.split("it is in ").skip(1).map(|rest| rest.split([' ', ';']).next().unwrap().to_string()).collect()
}

/// Standard error of `volproof fio` holds nothing but messages of ours: `volproof: `, and indented lines that continue it. How many there
/// are depends on what the rest of the machine does meanwhile.
#[track_caller]
fn messages(err: &str) {
    let ours = |l: &str| l.starts_with("volproof: ") || l.starts_with("  ");
    assert!(!err.starts_with(' ') && err.lines().all(ours), "{err}");
}

/// Every line fits the width that text for people keeps to. A path that is longer stands in a line of its own, in one piece.
#[track_caller]
fn fits(text: &str) {
    for line in text.lines() {
        let path = line.trim().starts_with('/') && !line.trim().contains(' ');
        assert!(path || line.chars().count() <= volproof::output::screen::WIDTH, "too wide: {line}");
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

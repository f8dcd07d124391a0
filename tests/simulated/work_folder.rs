//! A folder in which the program runs, with a place of its own for what it keeps between runs.

use std::path::Path;
use std::process::{Command, Output};

pub struct WorkFolder(tempfile::TempDir);

impl WorkFolder {
    pub fn new() -> WorkFolder {
        WorkFolder(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs the program with these words.
    pub fn volproof(&self, words: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_volproof"))
            .args(words.split(' '))
            .current_dir(self.path())
            .env("XDG_STATE_HOME", self.path())
            .output()
            .unwrap()
    }

    /// A run of a device of known latency for so many seconds; each seed is a run of its own.
    pub fn run(&self, name: &str, latency: &str, seconds: u32, seed: u32) {
        let words = format!(
            "run --simulate latency={latency},noise=0.01 --rw randread --iodepth 8 --runtime {seconds}s --seed {seed} -q --json {name}"
        );
        let ran = self.volproof(&words);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
}

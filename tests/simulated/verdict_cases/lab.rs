//! Simulated volumes of known limits, run from the command line in virtual time, and the verdict on them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use volproof::record::Record;

/// A PL0 of 40 GiB: 1800 + 12 x 40 = 2,280 IOPS, 100 + 0.25 x 40 = 110 MB/s.
pub const PL0: &str = "--promise alibaba:cloud_essd.PL0 --volume-size 40GiB";
/// 3,000 IOPS, of which 90 % for 99 % of the time.
pub const GP3: &str = "--promise aws:gp3 --volume-size 100GiB";

/// A folder in which the program runs.
pub struct Lab {
    dir: tempfile::TempDir,
}

/// A run and its results.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    path: PathBuf,
}

impl Lab {
    pub fn new() -> Lab {
        Lab { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The program, with words between blanks.
    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_volproof"));
        command.args(words.split_whitespace()).current_dir(self.path());
        command
    }

    pub fn volproof(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// Runs a load of 4 KiB on a simulated volume.
    pub fn run(&self, volume: &str, load: &str, more: &str) -> Ran {
        self.run_only(volume, &format!("--bs 4k {load}"), more)
    }

    /// Runs a load on a simulated volume.
    pub fn run_only(&self, volume: &str, load: &str, more: &str) -> Ran {
        let offline = if more.contains("--promise") { "--offline" } else { "" };
        let words = format!("run --simulate {volume} {offline} --details --json r.json {load} {more}");
        let _ = std::fs::remove_file(self.path().join("r.json"));
        let out = self.volproof(&words);
        Ran {
            code: out.status.code().unwrap(),
            stdout: String::from_utf8(out.stdout).unwrap(),
            stderr: String::from_utf8(out.stderr).unwrap(),
            path: self.path().join("r.json"),
        }
    }
}

impl Ran {
    pub fn record(&self) -> Record {
        Record::load(&self.path).unwrap_or_else(|e| panic!("{e}: {}", self.stderr))
    }

    /// The first claim of the Record's verdict.
    pub fn claim(&self) -> Value {
        first_claim(&self.record())
    }

    /// The names of its steps.
    pub fn steps(&self) -> Vec<String> {
        self.record().steps.iter().map(|step| step.name.clone()).collect()
    }

    /// The first claim after a change of the Record, judged anew.
    pub fn judged_but(&self, change: impl FnOnce(&mut Record)) -> Value {
        let mut record = self.record();
        change(&mut record);
        record.lookup = Default::default();
        let verdict = volproof::judge::judged_anew(&record).1;
        first_claim(&Record { verdict, ..record })
    }
}

fn first_claim(record: &Record) -> Value {
    let verdict = serde_json::to_value(record.verdict.as_ref().expect("a verdict")).unwrap();
    verdict["claims"][0].clone()
}

/// Outcome and basis of a claim.
pub fn answer(claim: &Value) -> [&str; 2] {
    ["outcome", "basis"].map(|key| claim[key].as_str().unwrap_or_default())
}

/// A reason, a command or another text of a claim.
pub fn text<'a>(claim: &'a Value, key: &str) -> &'a str {
    claim[key].as_str().unwrap_or_default()
}

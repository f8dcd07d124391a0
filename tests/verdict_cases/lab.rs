//! Simulated volumes of known limits, run from the command line in virtual time, and what is said of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use volproof::record::Record;

/// 1800 + 50 x 20 IOPS.
pub const PL1_OF_20: &str = "alibaba:cloud_essd.PL1 --volume-size 20GiB";
/// A PL0 of 40 GiB: 1800 + 12 x 40 IOPS, 100 + 0.25 x 40 MB/s.
pub const PL0: [&str; 5] =
    ["--promise", "alibaba:cloud_essd.PL0", "--volume-size", "40GiB", "--judge-simulated"];
pub const PL1: [&str; 5] =
    ["--promise", "alibaba:cloud_essd.PL1", "--volume-size", "800GiB", "--judge-simulated"];

pub struct Lab {
    pub dir: tempfile::TempDir,
}

/// A run and what it gave.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub path: PathBuf,
}

impl Lab {
    pub fn new() -> Lab {
        Lab { dir: tempfile::tempdir().unwrap() }
    }

    pub fn volproof(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_volproof")).args(args).current_dir(self.dir.path()).output().unwrap()
    }

    /// Runs steps, each `name, options, device` in TOML.
    pub fn run(&self, steps: &[(&str, &str, &str)], more: &[&str]) -> Ran {
        let plan: String = steps
            .iter()
            .map(|(name, step, device)| {
                format!("[[step]]\nname = \"{name}\"\nengine = \"null\"\n{step}\n[step.simulate]\n{device}\n")
            })
            .collect();
        let file = self.dir.path().join("lab.toml");
        std::fs::write(&file, plan).unwrap();
        let path = self.dir.path().join("record.json");
        let out = self
            .volproof(&[&["run", "--details", "--plan", "lab.toml", "--json", "record.json"], more].concat());
        Ran {
            code: out.status.code().unwrap(),
            stdout: String::from_utf8(out.stdout).unwrap(),
            stderr: String::from_utf8(out.stderr).unwrap(),
            path,
        }
    }

    pub fn verdict(&self, record: &Path, more: &[&str]) -> (i32, Value) {
        let out = self.volproof(&[&["verdict", record.to_str().unwrap(), "--json"], more].concat());
        let text = String::from_utf8(out.stdout).unwrap();
        let value = serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{e}: {text}{}", String::from_utf8_lossy(&out.stderr)));
        (out.status.code().unwrap(), value)
    }
}

impl Ran {
    /// The text from the heading on.
    pub fn part(&self, heading: &str) -> &str {
        let at = self
            .stdout
            .find(heading)
            .unwrap_or_else(|| panic!("no '{heading}' in {}{}", self.stdout, self.stderr));
        let rest = &self.stdout[at..];
        // A word of a command is not divided.
        let fits = |l: &str| l.chars().count() <= 80 || l.split_whitespace().count() == 1;
        assert!(rest.lines().all(fits), "wider than 80 columns:\n{rest}");
        rest
    }

    pub fn record(&self) -> Record {
        Record::load(&self.path).unwrap()
    }

    /// Stores a changed copy.
    pub fn changed(&self, change: impl FnOnce(&mut Record)) -> PathBuf {
        let mut record = self.record();
        change(&mut record);
        // Its findings and verdict were those of the run as it was.
        (record.findings, record.verdict) = (None, None);
        let path = self.path.with_file_name("changed.json");
        record.write(&mut std::fs::File::create(&path).unwrap()).unwrap();
        path
    }
}

/// 4 KiB random reads at depth 64.
pub fn random(seconds: u32) -> String {
    format!("rw = \"randread\"\nbs = \"4k\"\niodepth = 64\nruntime = \"{seconds}s\"\nramp = \"1s\"")
}

pub fn capped(iops: f64) -> String {
    format!("latency = \"300us\"\njitter = \"200us\"\niops-cap = {iops}").replace("iops-cap", "iops_cap")
}

pub fn finding<'a>(value: &'a Value, code: &str) -> &'a Value {
    let all = value["diagnoses"].as_array().unwrap().iter().flat_map(|d| d["findings"].as_array().unwrap());
    all.clone()
        .find(|f| f["code"] == code)
        .unwrap_or_else(|| panic!("no {code}: {:#}", Value::Array(all.cloned().collect())))
}

pub fn has(value: &Value, code: &str) -> bool {
    value["diagnoses"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|d| d["findings"].as_array().unwrap())
        .any(|f| f["code"] == code)
}

pub fn number(finding: &Value, name: &str) -> f64 {
    finding["numbers"][name].as_f64().unwrap_or_else(|| panic!("no {name} in {finding:#}"))
}

/// A load on simulated volumes by options alone, and what its Record says.
pub fn simulated(volume: &str, options: &str, promise: &str) -> Value {
    let lab = Lab::new();
    ["one", "two"].iter().for_each(|name| std::fs::create_dir(lab.dir.path().join(name)).unwrap());
    let line = format!(
        "run --simulate {volume} {options} --bs 4k --offline --json r.json --promise {promise} --judge-simulated"
    );
    let out = lab.volproof(&line.split(' ').collect::<Vec<_>>());
    let text = std::fs::read_to_string(lab.dir.path().join("r.json"));
    let text = text.unwrap_or_else(|_| panic!("{line}: {}", String::from_utf8_lossy(&out.stderr)));
    serde_json::from_str(&text).unwrap()
}

pub fn codes(record: &Value) -> Vec<&str> {
    record["findings"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap()).collect()
}

pub fn claim(verdict: &Value) -> &Value {
    &verdict["verdict"]["claims"][0]
}

pub fn judged_but(lab: &Lab, ran: &Ran, change: impl FnOnce(&mut Record)) -> Value {
    lab.verdict(&ran.changed(change), &[]).1
}

/// The verdict on a Record that was made up, whose samples would show at the door that no run gave it.
pub fn judged_here(ran: &Ran, change: impl FnOnce(&mut Record)) -> Value {
    let mut record = ran.record();
    change(&mut record);
    serde_json::json!({ "verdict": volproof::judge::judged_anew(&record).1 })
}

/// The screen of a run on a simulated volume.
pub fn screen(lab: &Lab, words: &str) -> String {
    let words: Vec<&str> =
        ["run", "--judge-simulated", "--offline"].into_iter().chain(words.split(' ')).collect();
    let out = String::from_utf8(lab.volproof(&words).stdout).unwrap();
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

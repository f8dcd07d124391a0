//! The whole chain on simulated volumes whose truth is known: what each must be answered, and what no result may say.
//!
//! Volumes are steps of plan files, run by the binary in virtual time with fixed seeds, and judged by `verdict --json`.

mod exports;
mod held_out;
mod rows;
mod stopping_rows;
mod table;

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// IOPS that each of the lab's volume types promises.
pub const PROMISED: f64 = 400.0;

/// Types of a made-up provider's catalogue: a plain one, one with a promise of time, and one that bursts to 1,200 IOPS for
/// 30 minutes.
const TYPES: [(&str, &str); 3] = [
    ("plain", ""),
    ("timed", "consistency = \"at least 90 % of provisioned IOPS, 99 % of the time\"\n"),
    ("bursty", "burst = { iops = 1200, credit_seconds = 1800 }\n"),
];

/// A simulated volume and the load on it.
#[derive(Clone, Debug)]
pub struct Volume {
    /// Its name in messages.
    pub name: String,
    /// Its type in the catalogue.
    pub kind: &'static str,
    /// Length of the window.
    pub seconds: u32,
    /// Further keys of the step.
    pub load: String,
    /// Keys of the simulated device.
    pub device: String,
}

impl Volume {
    /// A volume under 4 KiB random reads.
    pub fn new(
        name: impl Into<String>,
        kind: &'static str,
        seconds: u32,
        load: &str,
        device: &str,
    ) -> Volume {
        Volume { name: name.into(), kind, seconds, load: load.into(), device: device.into() }
    }

    fn step(&self, i: usize) -> String {
        let lines =
            |keys: &str| keys.split(',').filter(|k| !k.trim().is_empty()).map(line).collect::<String>();
        let reads = if self.load.contains("rw=") { "" } else { "rw = \"randread\"\n" };
        format!(
            "[[step]]\nname = \"v{i}\"\nengine = \"null\"\n{reads}bs = \"4k\"\nruntime = \"{}s\"\n{}[step.simulate]\n{}",
            self.seconds,
            lines(&self.load),
            lines(&self.device)
        )
    }
}

/// `key=value` as TOML.
fn line(pair: &str) -> String {
    let (key, value) = pair.split_once('=').expect("KEY=VALUE");
    match value.parse::<f64>() {
        Ok(_) => format!("{} = {value}\n", key.trim()),
        Err(_) => format!("{} = \"{value}\"\n", key.trim()),
    }
}

/// The judgement of a volume: its claim on IOPS, and its findings.
#[derive(Debug)]
pub struct Said {
    /// The claim.
    pub claim: Value,
    /// The findings.
    pub findings: Vec<Value>,
}

impl Said {
    /// PASS, FAIL, INCONCLUSIVE or INVALID.
    pub fn outcome(&self) -> &str {
        self.claim["outcome"].as_str().unwrap_or("nothing")
    }

    /// The finding of a code.
    pub fn finding(&self, code: &str) -> Option<&Value> {
        self.findings.iter().find(|f| f["code"] == code)
    }

    /// A time without completions is told: those of each second as on and off, since a quota looks alike.
    pub fn tells_a_stop(&self) -> bool {
        ["stall", "on-off"].iter().any(|code| self.finding(code).is_some())
    }

    /// A number of the claim.
    pub fn number(&self, key: &str) -> f64 {
        self.claim[key].as_f64().unwrap_or_else(|| panic!("no {key} in {:#}", self.claim))
    }
}

/// A folder with the catalogue of the made-up provider, where volumes are run and judged.
pub struct Lab(tempfile::TempDir);

impl Lab {
    /// A new folder.
    pub fn with_all_types() -> Lab {
        let dir = tempfile::tempdir().unwrap();
        let entry = |(kind, more): &(&str, &str)| {
            format!(
                "[[volume]]\nprovider = \"alibaba\"\ntype = \"lab.{kind}\"\nname = \"Lab\"\nmedia = \"ssd\"\nstatus = \"current\"\n\
                 capacity_gib = [20, 100]\niops = {PROMISED}\nthroughput = 100\nthroughput_unit = \"MB/s\"\nunit_bytes = 1000000\n\
                 unit_certain = true\n{more}source = \"the lab\"\nas_of = \"2026-11\"\nconfidence = \"high\"\n\n"
            )
        };
        std::fs::write(dir.path().join("lab.toml"), TYPES.iter().map(entry).collect::<String>()).unwrap();
        Lab(dir)
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Runs the program; its standard output and standard error.
    pub fn run(&self, args: &[&str]) -> (String, String) {
        let out = Command::new(env!("CARGO_BIN_EXE_volproof"))
            .args(args)
            .current_dir(self.folder())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(out.stdout), text(out.stderr))
    }

    /// `verdict --json` of a Record.
    pub fn verdict(&self, record: &str) -> Value {
        let (text, errors) = self.run(&["verdict", record, "--json"]);
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{errors}"))
    }

    /// Runs steps of one type as one plan, and judges them.
    fn measured(&self, kind: &str, steps: &str) -> Value {
        std::fs::write(self.folder().join("plan.toml"), steps).unwrap();
        let kind = format!("alibaba:lab.{kind}");
        let promise =
            ["--promise", &kind, "--volume-size", "50GiB", "--catalog", "lab.toml", "--judge-simulated"];
        let first = ["run", "--plan", "plan.toml", "--json", "r.json", "--seed", "7"];
        let more = ["-q", "--continue-on-error", "--offline"];
        let _ = std::fs::remove_file(self.folder().join("r.json"));
        self.run(&[&first[..], &more, &promise].concat());
        self.verdict("r.json")
    }

    /// The whole judgement of one volume.
    pub fn judged(&self, volume: &Volume) -> Value {
        self.measured(volume.kind, &volume.step(0))
    }
}

/// Runs volumes, several to a plan, and returns the judgement of each.
pub fn judge(volumes: &[Volume]) -> Vec<Said> {
    let lab = Lab::with_all_types();
    let mut said: Vec<Option<Said>> = volumes.iter().map(|_| None).collect();
    for kind in TYPES.map(|t| t.0) {
        // A step with one request in flight is no test of the rate where another step is one, and the steps of a plan draw the same offsets,
        // so that a later one finds blocks that were touched: each gets a plan of its own.
        let alone = |i: &usize| {
            volumes[*i].load.split(',').next() == Some("iodepth=1")
                || volumes[*i].device.contains("first-touch")
        };
        let (lone, deep): (Vec<usize>, Vec<usize>) =
            (0..volumes.len()).filter(|i| volumes[*i].kind == kind).partition(alone);
        for part in deep.chunks(6).chain(lone.chunks(1)) {
            let plan: String = part.iter().map(|i| volumes[*i].step(*i)).collect();
            let all = lab.measured(kind, &plan);
            for i in part {
                let name = format!("v{i}");
                let of_step = |list: &Value, key: &str| {
                    list.as_array().unwrap().iter().find(|c| c[key] == name.as_str()).cloned()
                };
                let diagnosis = of_step(&all["diagnoses"], "step").unwrap_or_default();
                said[*i] = Some(Said {
                    claim: of_step(&all["verdict"]["claims"], "step").unwrap_or_default(),
                    findings: diagnosis["findings"].as_array().cloned().unwrap_or_default(),
                });
            }
        }
    }
    said.into_iter().map(|s| s.expect("every volume is judged")).collect()
}

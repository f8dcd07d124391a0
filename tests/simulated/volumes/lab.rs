//! Runs volumes by the program in virtual time, and reads their answers.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::volume::{IOPS, Kind, Volume};

/// The answer to a volume.
#[derive(Clone, Debug)]
pub struct Said {
    /// pass, fail, inconclusive or invalid.
    pub outcome: String,
    /// Steps that were run.
    pub steps: usize,
    /// The reason and the evidence in a line.
    pub told: String,
}

/// The catalogue of the made-up provider.
fn catalogue() -> String {
    let entry = |kind: Kind| {
        format!(
            "[[volume]]\nprovider = \"alibaba\"\ntype = \"lab.{}\"\nname = \"Lab\"\nmedia = \"ssd\"\nstatus = \"current\"\n\
             capacity_gib = [20, 100]\niops = {IOPS}\nthroughput = 100\nthroughput_unit = \"MB/s\"\nunit_bytes = 1000000\n\
             unit_certain = true\n{}source = \"the lab\"\nas_of = \"2026-11\"\nconfidence = \"high\"\n\n",
            kind.name(),
            kind.lines()
        )
    };
    Kind::ALL.map(entry).concat()
}

/// The answers to volumes.
pub fn judge(volumes: &[Volume]) -> Vec<Said> {
    records(volumes, |text, volume| {
        let record: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {volume}"));
        said(&record)
    })
}

/// What a look at the Record of each volume gives.
pub fn records<T: Send>(volumes: &[Volume], look: impl Fn(&str, &Volume) -> T + Sync) -> Vec<T> {
    let lab = tempfile::tempdir().unwrap();
    std::fs::write(lab.path().join("lab.toml"), catalogue()).unwrap();
    side_by_side(volumes.len(), |i| look(&run(lab.path(), &format!("v{i}"), &volumes[i]), &volumes[i]))
}

/// The results of so many pieces of work, as many at a time as there are CPUs.
pub fn side_by_side<T: Send>(pieces: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<T>>> = Mutex::new((0..pieces).map(|_| None).collect());
    let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < pieces);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(i) = take() {
                    let result = work(i);
                    done.lock().unwrap_or_else(PoisonError::into_inner)[i] = Some(result);
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.into_iter().map(|result| result.expect("each piece is done")).collect()
}

/// Runs a volume in a folder of its own, and gives its Record.
fn run(lab: &Path, name: &str, volume: &Volume) -> String {
    let folder = lab.join(name);
    std::fs::create_dir(&folder).unwrap();
    let targets: Vec<String> = match volume.test.targets {
        1 => Vec::new(),
        n => (0..n).map(|i| format!("t{i}")).collect(),
    };
    targets.iter().for_each(|target| std::fs::create_dir(folder.join(target)).unwrap());
    std::fs::write(folder.join("plan.toml"), volume.plan()).unwrap();
    let kind = format!("alibaba:lab.{}", volume.kind.name());
    let seed = volume.test.seed.to_string();
    // For the load that decides, the first one again, and one of them five times as long: hardly for the experiments that look for a cause.
    let budget = format!("{}s", 8 * (volume.test.seconds.max(60) + volume.test.ramp));
    let out = Command::new(env!("CARGO_BIN_EXE_volproof"))
        .args(["run", "--plan", "plan.toml", "--json", "r.json", "--seed", &seed, "-q", "--offline"])
        .args(["--promise", &kind, "--volume-size", "50GiB", "--catalog", "../lab.toml"])
        .args(["--budget", &budget])
        .args(if targets.is_empty() { &[][..] } else { &["--file-size", "2GiB"] })
        .args(&targets)
        .current_dir(&folder)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&out.stderr).into_owned();
    let text = std::fs::read_to_string(folder.join("r.json"));
    let text = text.unwrap_or_else(|e| panic!("{e}: {volume}\n{}\n{errors}", volume.plan()));
    std::fs::remove_dir_all(&folder).unwrap();
    text
}

/// The answer in a Record: that of the claim on the rate.
fn said(record: &Value) -> Said {
    let claims = record["verdict"]["claims"].as_array().cloned().unwrap_or_default();
    let claim = claims.into_iter().find(|c| c["metric"] != "latency").unwrap_or_default();
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let evidence = claim["evidence"].as_array().cloned().unwrap_or_default();
    let steps: Vec<String> = evidence
        .iter()
        .map(|s| {
            let (low, high) = (number(&s["interval"][0]), number(&s["interval"][1]));
            let dead = 100.0 * number(&s["dead_share"]);
            let sure = if s["saturating"] == true { "*" } else { "" };
            let rate = number(&s["per_second"]);
            let keeps = &s["keeps"];
            format!("{}{sure}: {rate:.1} ({low:.1}-{high:.1}) dead {dead:.1} % keeps {keeps}", s["depth"])
        })
        .collect();
    Said {
        outcome: claim["outcome"].as_str().unwrap_or("nothing").to_string(),
        steps: record["steps"].as_array().map_or(0, Vec::len),
        told: format!(
            "{} {} limit {}: {} | delivered {} | {}",
            claim["outcome"],
            claim["basis"],
            claim["limit"],
            claim["reason"],
            claim["delivered"]["share"],
            steps.join("; ")
        ),
    }
}

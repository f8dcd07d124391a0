//! Records of any plan: `convert` makes a job file that the installed fio reads, or says why there is none.

use std::path::Path;
use std::process::Command;

use clap::Parser;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde_json::Value;
use volproof::convert::{self, ConvertArgs};
use volproof::plan::parse_file;

#[derive(Parser)]
struct Conversion {
    #[command(flatten)]
    arguments: ConvertArgs,
}

/// Records whose job files fio reads.
const READ: usize = 120;

/// Names of steps, some of which a job file would read as something else.
const NAMES: [&str; 14] = [
    "read",
    "a b",
    "x'y",
    "ü",
    "a.b",
    "1",
    "name=x",
    "a,b",
    "50%",
    "a:b",
    "\\\"q\\\"",
    "global",
    "a;b",
    "[x]",
];

/// Targets, as a plan file names them.
const TARGETS: [&str; 6] = ["f", "a file", "a:b", "/dev/vdb", "ü/x", "a,b=c"];

/// Keys of a step, each with some of its values.
const KEYS: [(&str, &[&str]); 26] = [
    ("rw", &["'read'", "'write'", "'randread'", "'randwrite'", "'rw'", "'randrw'", "'trim'", "'randtrim'"]),
    ("rwmix", &["0", "1", "33", "100"]),
    ("bs", &["'512'", "'4k'", "'1m'", "'4k/70:64k/30'", "'1g'"]),
    ("iodepth", &["1", "32", "32768"]),
    ("numjobs", &["1", "3", "4096"]),
    ("distribution", &["'zipf:1.1'", "'zoned:50/5:50/95'"]),
    ("norandommap", &["true"]),
    ("align", &["'4k'", "'1m'"]),
    ("fsync", &["1", "4294967295"]),
    ("datasync", &["false"]),
    ("end-fsync", &["true"]),
    ("sync", &["'dsync'", "'sync'"]),
    ("size", &["'1m'", "'64g'", "'8e'"]),
    ("offset", &["'1m'", "'4611686018427387904'"]),
    ("offset-increment", &["'0'", "'10g'"]),
    ("stride", &["'4k'", "'8k'"]),
    ("delay", &["'1ms'", "'5s'"]),
    ("runtime", &["'1ms'", "'90s'", "'365d'"]),
    ("ramp", &["'10s'", "'300ms'"]),
    ("io-size", &["'64k'", "'1t'"]),
    ("rate-iops", &["1.0", "2500.0", "0.5", "1e9"]),
    ("rate-bw", &["'100m'", "'1'"]),
    ("arrival", &["'poisson'"]),
    ("compressible", &["50", "100"]),
    ("engine", &["'io_uring'", "'libaio'", "'psync'", "'fio'", "'fio:mmap'", "'fio:posixaio'"]),
    ("direct", &["false"]),
];

/// A plan file of one to four steps, a few options each.
fn plan(random: &mut Xoshiro256PlusPlus) -> String {
    let mut below = |n: usize| (random.next_u64() % n as u64) as usize;
    let mut text = String::new();
    if below(3) == 0 {
        text += "continue-on-error = true\n";
    }
    let mut names: Vec<String> = Vec::new();
    for n in 0..1 + below(4) {
        // Most names are plain: others end the conversion.
        let name = if below(4) == 0 { NAMES[below(NAMES.len())].to_string() } else { format!("step {n}") };
        text += &format!("[[step]]\nname = \"{name}\"\n");
        for (key, values) in KEYS {
            if below(8) == 0 {
                text += &format!("{key} = {}\n", values[below(values.len())]);
            }
        }
        match below(4) {
            0 if n > 0 => text += "start = \"with-previous\"\n",
            1 if n > 0 => text += &format!("start = \"after:{}\"\n", names[below(names.len())]),
            _ => {}
        }
        names.push(name);
    }
    text
}

#[test]
fn job_files_of_any_record_are_read_by_fio() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(10);
    let dir = tempfile::tempdir().unwrap();
    let (input, jobs) = (dir.path().join("r.json"), dir.path().join("jobs.fio"));
    let arguments = Conversion::parse_from(["convert", input.to_str().unwrap(), "--to", "jobfile"]).arguments;
    let mut record: Value =
        serde_json::from_str(&std::fs::read_to_string("fuzz/records/simulated.json").unwrap()).unwrap();
    let (mut drawn, mut refused, mut read) = (0, 0, 0);
    while read < READ {
        drawn += 1;
        assert!(drawn < 100_000, "{read} of {drawn} plans became job files");
        let text = plan(&mut random);
        // Most combinations of options are refused.
        let Ok(mut plan) = parse_file(&text, "any") else { continue };
        let draw = |_| TARGETS[(random.next_u64() % TARGETS.len() as u64) as usize].into();
        plan.targets = (0..1 + drawn % 2).map(draw).collect();
        record["plan"] = serde_json::to_value(&plan).unwrap();
        let converted = match convert::of_bytes(record.to_string().into_bytes(), &arguments) {
            Ok(converted) => converted,
            Err(e) => {
                let why = format!("{e:#}");
                assert!(why.contains("cannot be said in fio's language"), "{why}\n{text}");
                refused += 1;
                continue;
            }
        };
        let mut written = Vec::new();
        converted.write(&mut written).unwrap();
        std::fs::write(&jobs, &written).unwrap();
        let Some(said) = complaint(&jobs) else { return };
        let written = String::from_utf8(written).unwrap();
        assert!(said.is_empty(), "fio does not read the job file: {said}\n{written}\nof\n{text}");
        read += 1;
    }
    println!("{drawn} plans drawn, {read} job files read by fio, {refused} refused with a reason");
}

/// The reason for which fio does not read a job file; empty when it does, nothing where fio is not installed.
fn complaint(jobs: &Path) -> Option<String> {
    match Command::new("fio").arg("--parse-only").arg(jobs).output() {
        Ok(ran) if ran.status.success() => Some(String::new()),
        Ok(ran) => Some(format!("{}: {}", ran.status, String::from_utf8_lossy(&ran.stderr))),
        Err(e) => {
            println!("skipped: fio: {e}");
            None
        }
    }
}

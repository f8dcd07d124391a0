//! Every job file of Debian's fio-examples, by fio and by us: what runs natively, what fio runs for us, what is refused.
//!
//! Job files are made small first, by [`smaller`], which is the same for both: sizes, times, clones and counts shrink, and devices and folders that
//! nobody has become a loop device of the test and its own folder. Both then run a file in folders of their own, and exit codes, rows, keys and,
//! where only the amount of I/O ends a job, totals must be equal.
//!
//! The outcome is the last part of `docs/fio-compat.md`. `UPDATE_COMPAT=1` writes it anew; a page that says something else fails.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::fio::compat::MARK;
use serde_json::Value;
use tempfile::TempDir;
use volproof::fio_formats::argv;
use volproof::fio_formats::command::Surroundings;

/// Where Debian's package fio-examples has its files: installed, or unpacked by `./test` beside the build.
fn examples() -> Option<PathBuf> {
    let installed = "usr/share/doc/fio/examples";
    let beside = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("fio-examples");
    [Path::new("/").join(installed), beside.join(installed)].into_iter().find(|folder| folder.is_dir())
}

/// Engines whose target is a file, a block device or nothing.
const ENGINES: [&str; 10] =
    ["psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio", "mmap", "null"];
/// Variables that the job files take from the environment.
const VARIABLES: [(&str, &str); 4] =
    [("FIO_RW", "randread"), ("FIO_IODEPTH", "2"), ("FIO_BS", "4k"), ("FIO_DIR", ".")];
/// Job files that fio 3.33 itself does not end on the machines where this was tried; they are not run.
const ENDLESS: [&str; 2] = ["fixed-rate-submission.fio", "poisson-rate-submission.fio"];
/// Size of the loop device.
const DEVICE: u64 = 16 << 20;

/// The names of the job files, in order.
fn names() -> Option<Vec<String>> {
    let Some(folder) = examples() else {
        println!("skipped: Debian's fio-examples is not here (./test fetches it)");
        return None;
    };
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.ends_with(".fio"))
        .collect();
    names.sort();
    Some(names)
}

fn installed() -> Option<PathBuf> {
    let found = volproof::fio::installed::find(&std::env::var_os("PATH").unwrap_or_default());
    if found.is_none() {
        println!("skipped: fio is not installed");
    }
    found
}

/// The documented override: one line of a job file made small. `device` stands for devices that nobody has.
fn smaller(line: &str, device: &Path) -> String {
    let plain = line.split(';').next().unwrap_or_default().trim();
    let Some((name, value)) = plain.split_once('=') else { return line.to_string() };
    let (name, value) = (name.trim(), value.trim());
    let number = |most: u64| value.parse::<u64>().map_or(most, |n| n.min(most));
    match name {
        "size" if value.ends_with('%') || value == "256k" => line.to_string(),
        "size" | "filesize" => format!("{name}=1m"),
        // Clones that leave gaps must not reach each other's part, where the one would find what the other wrote.
        "io_size" | "io_limit" => format!("{name}=64k"),
        "runtime" | "timeout" => format!("{name}=1"),
        "ramp_time" | "startdelay" => format!("{name}=0"),
        "numjobs" => format!("{name}={}", number(2)),
        "nrfiles" | "loops" => format!("{name}={}", number(2)),
        "number_ios" => format!("{name}={}", number(64)),
        "offset" | "offset_increment" if !value.starts_with('0') => format!("{name}=1m"),
        "iodepth" => format!("{name}={}", number(32)),
        "zonesize" | "zoneskip" => format!("{name}=256k"),
        "ss_dur" | "ss_ramp" | "steadystate_duration" | "steadystate_ramp_time" => format!("{name}=0"),
        "rate_iops" if value == "50" => format!("{name}=500"),
        "latency_window" => format!("{name}=100000"),
        "filename" if value.starts_with("/dev/") && !matches!(value, "/dev/null" | "/dev/zero") => {
            format!("{name}={}", device.display())
        }
        "filename" if value.starts_with("/tmp/") => format!("{name}={}", value.rsplit('/').next().unwrap()),
        "directory" => format!("{name}=."),
        "numa_cpu_nodes" => format!("{name}=0"),
        "numa_mem_policy" => format!("{name}={}:0", value.split(':').next().unwrap()),
        "allow_file_create" => String::new(),
        _ => line.to_string(),
    }
}

/// Options that make a job end by time or at random, so that two runs of it need not do the same amount.
const UNEVEN: [&str; 12] = [
    "runtime",
    "timeout",
    "rate",
    "rate_iops",
    "exitall",
    "flow",
    "ss",
    "latency_target",
    "bssplit",
    "norandommap",
    "random_distribution",
    "fill_device",
];

/// A folder of its own for one program, with the job file in it and a loop device where it needs one.
struct Place {
    dir: TempDir,
    device: Option<PathBuf>,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(device) = &self.device {
            let _ = Command::new("losetup").arg("--detach").arg(device).status();
        }
    }
}

impl Place {
    /// None where a device is needed and none can be had.
    fn new(name: &str) -> Option<Place> {
        let dir = tempfile::Builder::new().prefix("corpus-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let text = std::fs::read_to_string(examples().unwrap().join(name)).unwrap();
        let needs = text.lines().any(|l| {
            l.trim().strip_prefix("filename=/dev/").is_some_and(|d| !matches!(d.trim(), "null" | "zero"))
        });
        let device = if needs {
            let disk = dir.path().join("disk.img");
            std::fs::write(&disk, vec![0x5a; DEVICE as usize]).unwrap();
            let out = Command::new("losetup").args(["--find", "--show"]).arg(&disk).output().ok()?;
            if !out.status.success() {
                println!("skipped: losetup: {}", String::from_utf8_lossy(&out.stderr).trim());
                return None;
            }
            Some(PathBuf::from(String::from_utf8(out.stdout).unwrap().trim()))
        } else {
            None
        };
        let stand_in = device.clone().unwrap_or_else(|| "none".into());
        let mut lines: Vec<String> = text.lines().map(|l| smaller(l, &stand_in)).collect();
        // Nothing may go on for long: what has a pace or no end gets a second.
        // A job whose rate is in I/Os ends soon by itself; fio 3.33 hangs on io_submit_mode=offload with a runtime.
        // A rate in I/Os ends soon by itself, and fio 3.33 hangs on io_submit_mode=offload with a runtime.
        let has = |names: &[&str]| lines.iter().any(|l| names.iter().any(|n| l.starts_with(n)));
        let endless = has(&["rate=", "flow=", "latency_target=", "fill_device=", "thinktime="]);
        // What has no size is to be there: a file of 1 MiB.
        if !has(&["size=", "filesize="])
            && let Some(file) = lines.iter().find_map(|l| l.strip_prefix("filename="))
            && !file.contains('/')
        {
            std::fs::write(dir.path().join(file), vec![0x5a; 1 << 20]).unwrap();
        }
        if endless && !has(&["runtime=", "timeout="]) {
            lines.insert(0, "[global]\nruntime=1".into());
        }
        std::fs::write(dir.path().join(name), lines.join("\n") + "\n").unwrap();
        Some(Place { dir, device })
    }

    fn run(&self, program: &Path, arguments: &[&str]) -> Output {
        // One that hangs is killed hard: a job of fio's own may be out of reach of a plain signal. On a busy disk laying out files takes long.
        Command::new("timeout")
            .args(["--kill-after=10", "300"])
            .arg(program)
            .args(arguments)
            .envs(VARIABLES)
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// The consent that volproof asks for before it writes to the device.
    fn consent(&self) -> Vec<String> {
        let Some(device) = &self.device else { return Vec::new() };
        let check = volproof::guard::check(&volproof::device::Root::system(), device, None, None).unwrap();
        vec!["--destroy".into(), check.consent.unwrap()]
    }
}

/// How a job file fared.
#[derive(Debug, PartialEq)]
enum Outcome {
    Native,
    /// Natively, and not compared.
    Alone(String),
    ViaFio(String),
    Refused(String),
    /// It needs something else than files, block devices or nothing.
    Elsewhere(String),
}

/// Engines of the jobs, as far as they are no plain ones, and zones, which need a device of their own kind.
fn elsewhere(name: &str) -> Option<String> {
    let path = examples().unwrap().join(name).display().to_string();
    let variable = |n: &str| VARIABLES.iter().find(|v| v.0 == n).map(|v| v.1.to_string());
    let around = Surroundings { variable: &variable, ..Surroundings::here() };
    let text = std::fs::read_to_string(&path).unwrap();
    let zoned = text.lines().any(|l| l.trim().starts_with("zonemode=zbd"));
    // Folders of the file are not here, so it is read with another.
    let read =
        |_: &str| Ok(text.lines().map(|l| smaller(l, Path::new("none"))).collect::<Vec<_>>().join("\n"));
    let around = Surroundings { file: &read, ..around };
    let command = match argv::parse(&[path], &around) {
        Ok(command) => command,
        Err(_) => return Some("fio reads it with the option of a missing engine".into()),
    };
    let engines: BTreeSet<&str> = command.jobs.iter().map(|j| j.engine()).collect();
    let other: Vec<&str> = engines.into_iter().filter(|e| !ENGINES.contains(e)).collect();
    match (other.as_slice(), zoned) {
        ([], false) => None,
        ([], true) => Some("a zoned device".into()),
        (engines, _) => Some(format!("ioengine={}", engines.join(", "))),
    }
}

/// Paths of all keys, arrays taken by their first element; keys that are values (percentiles, bins, options) stay.
fn keys(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let path = format!("{at}/{key}");
                // Disks are those of the machine, and how many there are depends on the moment. volproof names itself.
                if at.is_empty() && matches!(key.as_str(), "disk_util" | "measured by") {
                    continue;
                }
                keys(value, &path, into);
                into.insert(format!("{path}:{}", kind(value)));
            }
        }
        Value::Array(elements) => elements.iter().for_each(|e| keys(e, &format!("{at}[]"), into)),
        _ => {}
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "object",
        Value::Array(_) => "array",
        Value::String(_) => "text",
        Value::Number(n) if n.is_f64() => "float",
        Value::Number(_) => "int",
        _ => "other",
    }
}

/// Keys whose presence depends on what was measured: percentiles need samples.
fn steady(keys: BTreeSet<String>) -> BTreeSet<String> {
    keys.into_iter().filter(|k| !k.contains("percentile")).collect()
}

fn total(report: &Value) -> Vec<(String, u64)> {
    let rows = report["jobs"].as_array().unwrap().iter();
    rows.map(|j| {
        let bytes = ["read", "write", "trim"].iter().map(|d| j[*d]["io_bytes"].as_u64().unwrap_or(0)).sum();
        (format!("{} (g={})", j["jobname"].as_str().unwrap(), j["groupid"]), bytes)
    })
    .collect()
}

/// The JSON in what a program printed, behind whatever it said before.
fn report(out: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(out);
    let start = text.find("{\n")?;
    let end = text.rfind("\n}")? + 2;
    serde_json::from_str(text.get(start..end)?).ok()
}

/// Runs one file with both and says where they differ.
fn judged(fio: &Path, name: &str, wrong: &mut Vec<String>) -> Option<Outcome> {
    let us = Path::new(env!("CARGO_BIN_EXE_volproof"));
    if ENDLESS.contains(&name) {
        let ran = Place::new(name)?.run(us, &["fio", "--output-format=json", name]);
        if !ran.status.success() || report(&ran.stdout).is_none() {
            wrong.push(format!("{name}: {}", String::from_utf8_lossy(&ran.stderr)));
        }
        return Some(Outcome::Alone("fio 3.33 hangs with io_submit_mode=offload: not compared".into()));
    }
    let (theirs, ours) = (Place::new(name)?, Place::new(name)?);
    let consent = ours.consent();
    let mut line = vec!["fio", "--output-format=json", name];
    let expected = theirs.run(fio, &line[1..]);
    line.extend(consent.iter().map(String::as_str));
    let found = ours.run(us, &line);
    let said = String::from_utf8_lossy(&found.stderr).into_owned();
    // Before anything is run: fio has options and kinds of files that volproof does not honour.
    if let Some(why) = refused(&said) {
        return Some(Outcome::Refused(why));
    }
    let mut differ = |what: String| wrong.push(format!("{name}: {what}\n-- ours said:\n{said}"));
    if expected.status.code() != found.status.code() {
        let theirs = String::from_utf8_lossy(&expected.stderr).into_owned();
        differ(format!(
            "exit code {:?}, fio's is {:?} ({theirs})",
            found.status.code(),
            expected.status.code()
        ));
    }
    if let Some((_, via)) = said.split_once(" runs this: ") {
        // What is too long for a line goes on in the next ones, behind blanks.
        let more = via.lines().skip(1).take_while(|l| l.starts_with("  ")).map(str::trim);
        let whole: Vec<&str> = via.lines().take(1).map(str::trim).chain(more).collect();
        return Some(Outcome::ViaFio(whole.join(" ")));
    }
    let (Some(expected), Some(found)) = (report(&expected.stdout), report(&found.stdout)) else {
        let why = said.lines().last().unwrap_or_default().trim().to_string();
        return Some(Outcome::Refused(why));
    };
    let paths = |report: &Value| {
        let mut set = BTreeSet::new();
        keys(report, "", &mut set);
        steady(set)
    };
    let (theirs_keys, ours_keys) = (paths(&expected), paths(&found));
    let missing: Vec<_> = theirs_keys.difference(&ours_keys).collect();
    let more: Vec<_> = ours_keys.difference(&theirs_keys).collect();
    if !missing.is_empty() || !more.is_empty() {
        differ(format!("keys missing {missing:?}, keys more {more:?}"));
    }
    let (theirs_total, ours_total) = (total(&expected), total(&found));
    let rows = |total: &[(String, u64)]| total.iter().map(|t| t.0.clone()).collect::<Vec<_>>();
    let text = std::fs::read_to_string(ours.dir.path().join(name)).unwrap();
    let uneven = text.lines().any(|l| UNEVEN.contains(&l.split('=').next().unwrap_or_default().trim()));
    let idle = |total: &[(String, u64)]| total.iter().map(|t| t.1 == 0).collect::<Vec<_>>();
    let alike = if uneven { idle(&theirs_total) == idle(&ours_total) } else { theirs_total == ours_total };
    if rows(&theirs_total) != rows(&ours_total) || !alike {
        differ(format!("totals {ours_total:?}, fio's are {theirs_total:?}"));
    }
    Some(Outcome::Native)
}

/// The first option that is refused by its name, or the file that is no file to measure.
fn refused(said: &str) -> Option<String> {
    let listed =
        ["this cannot be run:", "this is not handed to fio:"].iter().find_map(|head| said.split_once(head));
    if let Some((_, options)) = listed {
        let first = options.trim_start().split(':').next().unwrap_or_default();
        return Some(first.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let is_no_target = said.contains("is a character device");
    is_no_target.then(|| "a character device is no target".into())
}

fn page(rows: &[(String, Outcome)]) -> String {
    let count = |pick: fn(&Outcome) -> bool| rows.iter().filter(|r| pick(&r.1)).count();
    let elsewhere = count(|o| matches!(o, Outcome::Elsewhere(_)));
    let (native, here) =
        (count(|o| matches!(o, Outcome::Native | Outcome::Alone(_))), rows.len() - elsewhere);
    let mut text = format!(
        "\n\n## Job files of fio-examples\n\n\
         The {} job files of Debian's package fio-examples, run by fio 3.33 and by volproof. They are made small first, for both alike \
         (`smaller` in `tests/simulated/fio/corpus.rs`): at most 1 MiB, one second, two clones, 64 I/Os in all, a loop device in the place of devices, a file of 1 MiB where no size is given, and NUMA node 0.\n\
         Exit codes, rows, keys of the JSON and, where no clock and no chance ends a job, totals are equal.\n\n\
         {here} of them need only files, block devices or nothing: {native} of these ({:.0} %) run natively.\n\n\
         | job file | runs | |\n|---|---|---|\n",
        rows.len(),
        100.0 * native as f64 / here.max(1) as f64
    );
    for (name, outcome) in rows {
        let (word, why) = match outcome {
            Outcome::Native => ("native", ""),
            Outcome::Alone(why) => ("native", why.as_str()),
            Outcome::ViaFio(why) => ("via fio", why.as_str()),
            Outcome::Refused(why) => ("refused", why.as_str()),
            Outcome::Elsewhere(why) => ("not here", why.as_str()),
        };
        let _ = writeln!(text, "| `{name}` | {word} | {} |", why.replace('|', "\\|"));
    }
    text
}

#[test]
fn job_files_of_fio_examples_run_alike() {
    let (Some(names), Some(fio)) = (names(), installed()) else { return };
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: root is needed to attach a loop device");
    }
    let only = std::env::var("CORPUS").ok();
    let mut wrong = Vec::new();
    let mut rows = Vec::new();
    for name in names.into_iter().filter(|n| only.as_ref().is_none_or(|o| n.contains(o))) {
        let outcome = match elsewhere(&name) {
            Some(why) => Outcome::Elsewhere(why),
            None => match judged(&fio, &name, &mut wrong) {
                Some(outcome) => outcome,
                None => return,
            },
        };
        rows.push((name, outcome));
    }
    let new = page(&rows);
    println!("{new}");
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n\n"));
    if only.is_some() {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/fio-compat.md");
    let old = std::fs::read_to_string(&path).unwrap();
    let (first, _) = old.split_once(MARK).expect("the page has a mark");
    let new = format!("{first}{MARK}{new}");
    if std::env::var_os("UPDATE_COMPAT").is_some() {
        std::fs::write(&path, new).unwrap();
    } else {
        assert!(
            old == new,
            "docs/fio-compat.md is stale: UPDATE_COMPAT=1 cargo test --test simulated fio::corpus"
        );
    }
}

//! How many source files read an option of a load: at most five, but for a few with a reason.
//!
//! The file of declarations, tests, and the conditions that every figure is quoted with are not counted: all that judges, prints or reads a
//! figure reads those.

use std::path::{Path, PathBuf};

/// The most files that read a plain option.
const MOST: usize = 5;

/// What every figure is quoted with: load, part, time, order and engine.
const CONDITIONS: [&str; 23] = [
    "name",
    "rw",
    "rwmix",
    "bs",
    "iodepth",
    "numjobs",
    "targets",
    "size",
    "offset",
    "start",
    "delay",
    "follows",
    "runtime",
    "ramp",
    "io_size",
    "rate_iops",
    "fsync",
    "sync",
    "direct",
    "engine",
    "fio",
    "cpus",
    "simulate",
];

/// Options that more files read, and why.
const EXCEPTIONS: [(&str, &str); 3] = [
    (
        "offset_increment",
        "the parts of jobs: where they lie, how large the test file is, and what is drawn in fio's words",
    ),
    (
        "file_state",
        "what a test file holds decides its size, its passes, and which recommended run is the same",
    ),
    (
        "iopoll",
        "polling takes a CPU for each queue: the causes in this machine and the tuning of queues look at it",
    ),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The names that crates/plan/src/step.rs declares.
fn declared() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("crates/plan/src/step.rs")).unwrap();
    let mut names = Vec::new();
    for line in text.lines() {
        let mut words = line.trim().split([' ', ':']);
        if line.starts_with("        ") && matches!(words.next(), Some("Both" | "File" | "Record")) {
            names.extend(words.next().map(str::to_string));
        }
    }
    names
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" && !path.ends_with("plan/src/step.rs") {
            found.push(path);
        }
    }
}

/// Whether a source reads the field of a step.
fn reads(source: &str, option: &str) -> bool {
    ["step.", "s.", "base.", "load."].iter().any(|of| {
        let field = format!("{of}{option}");
        source.match_indices(&field).any(|(at, _)| {
            let before = source[..at].chars().next_back();
            let after = source[at + field.len()..].chars().next();
            !before.is_some_and(is_of_name) && !after.is_some_and(is_of_name)
        })
    })
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[test]
fn a_plain_option_is_read_in_at_most_five_files() {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    for member in std::fs::read_dir(root().join("crates")).unwrap() {
        sources(&member.unwrap().path().join("src"), &mut files);
    }
    let texts: Vec<(PathBuf, String)> = files
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod").next().unwrap().to_string();
            (path, code)
        })
        .collect();
    let declared = declared();
    for name in CONDITIONS.iter().chain(EXCEPTIONS.iter().map(|(name, _)| name)) {
        assert!(declared.iter().any(|d| d == name), "crates/plan/src/step.rs declares no {name}");
    }
    let mut plain = 0;
    for option in declared.iter().filter(|d| !CONDITIONS.contains(&d.as_str())) {
        plain += 1;
        let readers: Vec<_> =
            texts.iter().filter(|(_, text)| reads(text, option)).map(|(path, _)| path).collect();
        assert!(!readers.is_empty(), "nothing reads {option}");
        let excepted = EXCEPTIONS.iter().any(|(name, _)| name == option);
        assert_eq!(readers.len() > MOST, excepted, "{option}: {readers:#?}");
    }
    assert!(plain > 10, "{plain}");
}

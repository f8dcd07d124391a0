//! Compresses the data files and the texts of the page that the program carries, and tells the compiler which commit it builds, for
//! `volproof --version`. A build from a packed crate has the commit from cargo, one from any other archive has none. Debug builds have none
//! either, so that a commit compiles nothing anew.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["volumes.toml", "fits.toml", "lint.toml"] {
        let remark = |line: &&str| line.trim_start().starts_with('#');
        let text = text("data", name);
        compress(name, &text.split_inclusive('\n').filter(|line| !remark(line)).collect::<String>());
    }
    for name in ["report.css", "report.js"] {
        compress(name, &text("templates", name));
    }
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        return;
    }
    let commit = if Path::new(".git").exists() { of_checkout() } else { of_packed_crate() };
    if let Some(commit) = commit {
        println!("cargo::rustc-env=VOLPROOF_COMMIT={commit}");
    }
}

/// The text of a file that is part of the crate.
fn text(folder: &str, name: &str) -> String {
    let from = Path::new(folder).join(name);
    println!("cargo::rerun-if-changed={}", from.display());
    std::fs::read_to_string(&from).expect("the file is part of the crate")
}

/// Writes a text for `shipped`, which has it in the program.
fn compress(name: &str, text: &str) {
    let to =
        Path::new(&std::env::var_os("OUT_DIR").expect("cargo names a folder")).join(format!("{name}.zlib"));
    std::fs::write(to, miniz_oxide::deflate::compress_to_vec_zlib(text.as_bytes(), 10))
        .expect("the folder is cargo's own");
}

/// The commit of the checkout, with `-dirty` where files differ from it.
fn of_checkout() -> Option<String> {
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).output().ok()?;
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_string())
    };
    // Each commit and checkout adds a line to this log.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    for path in ["Cargo.toml", "Cargo.lock", "src", "data", "templates", &log] {
        println!("cargo::rerun-if-changed={path}");
    }
    git(&["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
}

/// The commit that `cargo package` wrote down.
fn of_packed_crate() -> Option<String> {
    let info = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = info.split_once("\"sha1\": \"")?;
    Some(rest.split('"').next()?.chars().take(12).collect())
}

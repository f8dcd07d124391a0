//! Tells the compiler which commit it builds, for `volproof --version`. A build from a packed crate has the commit from cargo, one from any other archive has none. Debug builds have none
//! either, so that a commit compiles nothing anew.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        return;
    }
    let commit = if Path::new(".git").exists() { of_checkout() } else { of_packed_crate() };
    if let Some(commit) = commit {
        println!("cargo::rustc-env=VOLPROOF_COMMIT={commit}");
    }
}

/// The commit of the checkout, with `-dirty` where files differ from it.
fn of_checkout() -> Option<String> {
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).output().ok()?;
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_string())
    };
    // Each commit and checkout adds a line to this log.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    for path in ["Cargo.toml", "Cargo.lock", "src", "crates", &log] {
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

//! Compresses the data files that the program carries, and tells the compiler which commit it builds, for `volproof --version`. A build from
//! a packed crate has the commit from cargo, one from any other archive has none. Debug builds have none either, so that a commit compiles
//! nothing anew.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["volumes.toml", "fits.toml", "lint.toml"] {
        compress(name);
    }
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        return;
    }
    let commit = if Path::new(".git").exists() { of_checkout() } else { of_packed_crate() };
    if let Some(commit) = commit {
        println!("cargo::rustc-env=VOLPROOF_COMMIT={commit}");
    }
}

/// Writes a file of `data`, without its remarks, for `shipped`, which has it in the program.
fn compress(name: &str) {
    let from = Path::new("data").join(name);
    println!("cargo::rerun-if-changed={}", from.display());
    let text = std::fs::read_to_string(&from).expect("the data files are part of the crate");
    let data: String =
        text.split_inclusive('\n').filter(|line| !line.trim_start().starts_with('#')).collect();
    let to =
        Path::new(&std::env::var_os("OUT_DIR").expect("cargo names a folder")).join(format!("{name}.zlib"));
    std::fs::write(to, miniz_oxide::deflate::compress_to_vec_zlib(data.as_bytes(), 10))
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

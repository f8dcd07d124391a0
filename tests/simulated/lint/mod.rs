//! `volproof lint`: what Terraform plans and Kubernetes objects declare, held against the catalogue.
//!
//! The plans in `fixtures/` are written by hand in the form that <https://developer.hashicorp.com/terraform/internals/json-format> documents, with
//! the fields of the providers' pages; the objects in the form of the drivers' pages. `crates/lint/data/lint.toml` names those pages. Nothing in them is real.

mod cases;
mod csi_drivers;
mod inputs;
mod outputs;
mod secrets;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Every file in `fixtures/`.
const FIXTURES: [&str; 9] = [
    "aws.json",
    "google.json",
    "azure.json",
    "alibaba.json",
    "state.json",
    "aws.yaml",
    "google.yaml",
    "azure.yaml",
    "alibaba.yaml",
];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/simulated/lint/fixtures").join(name)
}

/// Exit code, standard output and standard error of `volproof lint` in a folder.
fn lint(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_volproof"));
    let out = command.arg("lint").args(arguments).current_dir(folder).env_remove("COLUMNS").output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (out.status.code(), text(out.stdout), text(out.stderr))
}

/// The same in the folder of the fixtures.
fn lint_fixtures(arguments: &[&str]) -> (Option<i32>, String, String) {
    lint(&fixture(""), arguments)
}

/// The answer in JSON and the exit code.
fn answer(folder: &Path, arguments: &[&str]) -> (serde_json::Value, Option<i32>) {
    let (code, out, err) = lint(folder, &[arguments, &["--json"]].concat());
    (serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}")), code)
}

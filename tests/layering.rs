//! Imports go down. A module may use those of lower layers and of its own.

use std::fs;
use std::path::Path;

/// From the top; modules of one line may not import each other unless listed in `WITHIN`.
const LAYERS: &[&[&str]] = &[
    &["main"],
    &["cli", "run"],
    &["check", "convert", "crosscheck", "explain", "judge", "machine", "promise"],
    &["ui"],
    &["guard", "engine", "prepare", "doubts", "verdict", "diagnose", "report", "history", "fio"],
    &["record"],
    &["environment", "observe", "plan", "device", "topo", "stats", "spec", "sample", "warn", "tune"],
    &["unit", "hist", "input", "output"],
];

/// Imports inside one layer that are meant: (from, to).
const WITHIN: &[(&str, &str)] = &[
    ("hist", "unit"),
    ("input", "unit"),
    ("run", "cli"),
    ("engine", "guard"),
    ("observe", "device"),
    ("report", "guard"),
    ("plan", "sample"),
    ("stats", "sample"),
    ("topo", "warn"),
    ("tune", "stats"),
    ("device", "spec"),
    ("environment", "device"),
    ("prepare", "engine"),
    ("prepare", "guard"),
    ("doubts", "diagnose"),
    ("verdict", "diagnose"),
    ("verdict", "fio"),
    ("report", "verdict"),
    ("report", "diagnose"),
    ("explain", "judge"),
    ("convert", "explain"),
    ("report", "fio"),
    ("fio", "engine"),
];

fn layer(module: &str) -> usize {
    LAYERS
        .iter()
        .position(|l| l.contains(&module))
        .unwrap_or_else(|| panic!("'{module}' has no layer: add it to LAYERS"))
}

fn check(dir: &Path, top: Option<&str>, wrong: &mut Vec<String>, seen: &mut usize) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_string();
        let module = top.map_or(stem.clone(), str::to_string);
        if path.is_dir() {
            check(&path, Some(&module), wrong, seen);
            continue;
        }
        if path.extension().is_none_or(|e| e != "rs") || module == "lib" {
            continue;
        }
        *seen += 1;
        let text = fs::read_to_string(&path).unwrap();
        // The tests of a file are its last module; single items that tests alone use stand among the others.
        let product = text.split("\n#[cfg(test)]\nmod tests").next().unwrap();
        for (n, line) in product.lines().enumerate().filter(|(_, l)| !l.trim_start().starts_with("//")) {
            for part in line.split("crate::").skip(1) {
                let target: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if target.is_empty() || target == module {
                    continue;
                }
                let (from, to) = (layer(&module), layer(&target));
                if to < from || (to == from && !WITHIN.contains(&(module.as_str(), target.as_str()))) {
                    wrong.push(format!("{}:{}: {module} may not import {target}", path.display(), n + 1));
                }
            }
        }
    }
}

#[test]
fn imports_go_down() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), None, &mut wrong, &mut seen);
    assert!(seen >= 5, "read only {seen} files: is the layout still under src/?");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

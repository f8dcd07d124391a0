//! A name stands for one thing: no two types and no two files of all crates share one.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn below(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Every Rust file of all crates.
fn all_sources() -> Vec<PathBuf> {
    let crates = fs::read_dir(below("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    crates.chain([below("src")]).flat_map(|dir| sources(&dir)).collect()
}

/// Every Rust file under a folder.
pub(crate) fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

/// The lines of a file outside comments and items marked `#[cfg(test)]`, with their numbers.
fn product(text: &str) -> Vec<(usize, &str)> {
    let mut kept = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((n, line)) = lines.next() {
        let code = line.trim_start();
        if code == "#[cfg(test)]" {
            let close = format!("{}}}", &line[..line.len() - code.len()]);
            let is_end = |line: &str| line == close || line.ends_with(';') && !line.starts_with(' ');
            lines.by_ref().find(|(_, line)| is_end(line));
        } else if !code.starts_with("//") {
            kept.push((n + 1, line));
        }
    }
    kept
}

/// Names that stand more than once, with where they stand.
fn repeated(names: Vec<(String, String)>) -> Vec<String> {
    let mut places = std::collections::BTreeMap::<String, Vec<String>>::new();
    for (name, place) in names {
        places.entry(name).or_default().push(place);
    }
    places.retain(|_, at| at.len() > 1);
    places.into_iter().map(|(name, at)| format!("{name}: {}", at.join(", "))).collect()
}

/// The type that a line declares.
fn declared(line: &str) -> Option<&str> {
    // An indented `type` is one that a trait asks for.
    let alias = if line.starts_with(' ') { None } else { Some("type ") };
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let mut words = ["struct ", "enum ", "trait ", "union "].into_iter().chain(alias);
    let rest = words.find_map(|word| line.strip_prefix(word))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

#[test]
fn no_two_types_share_a_name() {
    let mut names = Vec::new();
    for file in all_sources() {
        let text = fs::read_to_string(&file).unwrap();
        for (n, line) in product(&text) {
            names.extend(declared(line).map(|name| (name.to_string(), format!("{}:{n}", file.display()))));
        }
    }
    assert!(names.len() > 300, "found only {} types", names.len());
    let repeated = repeated(names);
    assert!(repeated.is_empty(), "{}", repeated.join("\n"));
}

#[test]
fn no_two_files_share_a_name() {
    // A rule of the judge has the name of its code.
    let rules = below("crates/judge/src");
    let names = all_sources()
        .into_iter()
        .filter(|file| !file.starts_with(&rules))
        .map(|file| (file.file_name().unwrap().to_string_lossy().into_owned(), file.display().to_string()))
        .filter(|(name, _)| !["mod.rs", "lib.rs", "tests.rs"].contains(&name.as_str()))
        .collect();
    let repeated = repeated(names);
    assert!(repeated.is_empty(), "{}", repeated.join("\n"));
}

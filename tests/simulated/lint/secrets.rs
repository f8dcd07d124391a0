//! Plans hold secrets, and any field may be one: none of them is told.

use std::fs;
use std::path::Path;

use serde_json::Value;
use volproof::lint::{self, LintArgs};

use super::{FIXTURES, fixture};

const SECRET: &str = "hunter2-planted";

/// Everything that lint says of a file, in every form, and its error.
fn said(path: &Path) -> String {
    let args = LintArgs { files: vec![path.to_path_buf()], ..LintArgs::default() };
    match lint::answer(&args) {
        Ok(answer) => lint::text(&answer) + &lint::json(&answer).to_string() + &lint::github(&answer),
        Err(e) => format!("{e:#}\n{e:?}"),
    }
}

#[test]
fn the_fixtures_tell_nothing_of_what_was_planted() {
    for name in FIXTURES {
        let said = said(&fixture(name));
        assert!(!said.contains("planted-secret"), "{name}: {said}");
        let text = fs::read_to_string(fixture(name)).unwrap();
        assert!(text.contains("planted-secret") || name == "google.yaml", "{name} has nothing planted");
    }
}

/// The paths to all values of a document that are no names of things: those stand in every address.
fn leaves(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, inner) in entries {
                leaves(inner, format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (i, inner) in items.iter().enumerate() {
                leaves(inner, format!("{path}/{i}"), found);
            }
        }
        _ => found.push(path),
    }
}

#[test]
fn a_secret_in_any_field_of_a_plan_stays_there() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plan.json");
    let mut planted = 0;
    for name in FIXTURES.iter().filter(|name| name.ends_with(".json")) {
        let plan: Value = serde_json::from_slice(&fs::read(fixture(name)).unwrap()).unwrap();
        let mut paths = Vec::new();
        leaves(&plan, String::new(), &mut paths);
        // The address and the type of a resource are its name.
        paths.retain(|path| {
            let is_type = path.ends_with("/type") && path.rsplit('/').nth(2) == Some("resources");
            !path.ends_with("/address") && !is_type
        });
        let key =
            |path: &String| path.rsplit('/').find(|part| part.parse::<usize>().is_err()).map(str::to_string);
        let keys: std::collections::BTreeSet<_> = paths.iter().map(key).collect();
        for field in keys {
            let mut mutant = plan.clone();
            for path in paths.iter().filter(|path| key(path) == field) {
                *mutant.pointer_mut(path).unwrap() = Value::String(SECRET.into());
                planted += 1;
            }
            fs::write(&file, mutant.to_string()).unwrap();
            let said = said(&file);
            assert!(!said.contains(SECRET), "{name} {field:?}: {said}");
        }
    }
    assert!(planted > 500, "{planted}");
}

#[test]
fn a_secret_in_any_value_of_an_object_stays_there() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("objects.yaml");
    let mut planted = 0;
    for name in FIXTURES.iter().filter(|name| name.ends_with(".yaml")) {
        let text = fs::read_to_string(fixture(name)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (n, line) in lines.iter().enumerate() {
            let Some((key, value)) = line.rsplit_once(": ") else { continue };
            // Names and kinds are how objects are told apart.
            let is_name = ["name", "namespace", "kind"].iter().any(|k| key.ends_with(k));
            if is_name || value.ends_with(['{', '}']) {
                continue;
            }
            let mut mutant: Vec<String> = lines.iter().map(ToString::to_string).collect();
            mutant[n] = format!("{key}: {SECRET}");
            fs::write(&file, mutant.join("\n")).unwrap();
            let said = said(&file);
            assert!(!said.contains(SECRET), "{name} line {}: {said}", n + 1);
            planted += 1;
        }
    }
    assert!(planted > 50, "{planted}");
}

#[test]
fn a_file_that_ends_early_is_refused_in_silence() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cut.json");
    let text = fs::read_to_string(fixture("state.json")).unwrap();
    for end in (0..text.len()).step_by(97) {
        fs::write(&file, &text.as_bytes()[..end]).unwrap();
        let said = said(&file);
        assert!(!said.contains("planted-secret"), "{end}: {said}");
    }
}

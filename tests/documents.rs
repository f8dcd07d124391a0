//! The pages for people keep to the code and to each other: docs/findings.md has a row for each finding, doubt and refusal that the code can
//! make, and for nothing else; links lead to files that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn below(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The constants of `codes`, by name.
fn declared() -> Vec<(String, String)> {
    let text = fs::read_to_string(below("src/codes.rs")).unwrap();
    let constant = |line: &str| {
        let (name, value) = line.strip_prefix("pub const ")?.split_once(": &str = ")?;
        Some((format!("codes::{name}"), value.trim_end_matches(';').to_string()))
    };
    text.lines().filter_map(constant).collect()
}

/// The text of every file of the library, without its tests.
fn sources(dir: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push(text.split("#[cfg(test)]\nmod ").next().unwrap().to_string());
        }
    }
}

/// The literal texts among the first two arguments of each call of a constructor. An argument that is a variable has no text here: its
/// values are literals elsewhere, which [`said`] finds.
fn codes(source: &str, constructor: &str) -> Vec<String> {
    let calls = source.match_indices(constructor).map(|(at, _)| &source[at + constructor.len()..]);
    let literal = |call: &str| {
        let mut depth = 0;
        for (at, c) in call.char_indices() {
            match c {
                '(' | '{' | '[' => depth += 1,
                ')' | '}' | ']' if depth == 0 => return None,
                ')' | '}' | ']' => depth -= 1,
                '"' if depth == 0 => return call[at + 1..].split('"').next().map(str::to_string),
                _ => {}
            }
        }
        None
    };
    calls.filter_map(literal).filter(|text| is_code(text)).collect()
}

fn is_code(text: &str) -> bool {
    !text.is_empty()
        && text.split('-').all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase()))
}

/// Whether a text stands as a literal in the code.
fn said(all: &[String], code: &str) -> bool {
    let literal = format!("\"{code}\"");
    all.iter().any(|text| text.contains(&literal))
}

/// The literals with which codes are compared, which a misspelling would make false in silence: `codes` has a constant for each.
fn compared(source: &str, known: &BTreeSet<String>) -> Vec<String> {
    let forms = ["code == \"", "code != \"", ".find(\"", "blocker.as_deref() == Some(\""];
    let of_form = |form: &'static str| {
        source.split(form).skip(1).filter_map(|rest| rest.split('"').next()).filter(|text| is_code(text))
    };
    let found = forms.into_iter().flat_map(of_form).filter(|code| known.contains(*code));
    found.map(|code| format!("\"{code}\" is compared as a literal: use crate::codes")).collect()
}

/// Names of the guard's codes, as serde writes them.
fn of_guard(all: &[String]) -> BTreeSet<String> {
    let source =
        all.iter().find(|text| text.contains("pub enum Code {")).expect("the guard has an enum of codes");
    let (_, rest) = source.split_once("pub enum Code {").unwrap();
    let names = rest
        .split('}')
        .next()
        .unwrap()
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"));
    let kebab = |name: &str| {
        let mut out = String::new();
        for c in name.trim_end_matches(',').chars() {
            if c.is_ascii_uppercase() && !out.is_empty() {
                out.push('-');
            }
            out.push(c.to_ascii_lowercase());
        }
        out
    };
    names.map(kebab).collect()
}

/// The codes of the tables under headings that begin with one of these words.
fn rows(page: &str, headings: &[&str]) -> BTreeSet<String> {
    let sections = page.split("\n## ").filter(|section| headings.iter().any(|h| section.starts_with(h)));
    sections
        .flat_map(|s| s.lines())
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .map(str::to_string)
        .collect()
}

#[test]
fn the_dictionary_has_every_code_and_no_other() {
    let mut all = Vec::new();
    sources(&below("src"), &mut all);
    let mut declared = declared();
    assert!(declared.len() > 30, "{declared:?}");
    // The longest name first, since one may begin with another.
    declared.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let literal = |text: String| declared.iter().fold(text, |text, (name, code)| text.replace(name, code));
    let page = fs::read_to_string(below("docs/findings.md")).unwrap();
    let (findings, doubts, guard) =
        (rows(&page, &["Findings"]), rows(&page, &["Doubts"]), rows(&page, &["Refusals"]));
    let known = &findings | &doubts;
    let mut wrong: Vec<String> = all.iter().flat_map(|text| compared(text, &known)).collect();
    all = all.into_iter().map(literal).collect();
    for (constructor, documented) in [("Finding::new(", &findings), ("Doubt::new(", &doubts)] {
        let made: BTreeSet<String> = all.iter().flat_map(|text| codes(text, constructor)).collect();
        assert!(
            made.len() > 15,
            "{constructor} is how findings and doubts are made; only {made:?} were found"
        );
        wrong.extend(made.difference(documented).map(|code| format!("{code} of {constructor}) has no row")));
    }
    let causes = rows(&page, &["Why a claim is INVALID"]);
    let made: BTreeSet<String> = ["why.push((", " invalid("]
        .iter()
        .flat_map(|made| all.iter().flat_map(|text| codes(text, made)))
        .collect();
    assert!(causes.is_subset(&(&made | &BTreeSet::from(["simulated".to_string()]))), "{made:?}");
    let undocumented = made.difference(&causes).filter(|code| !known.contains(*code));
    wrong.extend(undocumented.map(|code| format!("{code}, a cause of INVALID, has no row")));
    let made = of_guard(&all);
    assert!(made.len() > 20, "{made:?}");
    wrong.extend(
        made.symmetric_difference(&guard)
            .map(|code| format!("{code}: the guard's codes and the page differ")),
    );
    let stale = findings.union(&doubts).filter(|code| !said(&all, code));
    wrong.extend(stale.map(|code| format!("{code} has a row and is made nowhere")));
    assert!(wrong.is_empty(), "docs/findings.md:\n{}", wrong.join("\n"));
}

#[test]
fn links_between_pages_lead_to_files() {
    let docs = fs::read_dir(below("docs")).unwrap().map(|entry| entry.unwrap().path());
    let top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(below);
    let pages: Vec<PathBuf> =
        docs.chain(top).filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    let mut wrong = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap();
            if !file.contains("://") && !page.parent().unwrap().join(file).exists() {
                wrong.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        fs::read_to_string(below("README.md")).unwrap().lines().count() <= 150,
        "README.md is to be read in one go"
    );
}

/// The volume type that docs/extending.md shows is a whole one.
#[test]
fn the_example_of_a_volume_type_is_read() {
    let page = fs::read_to_string(below("docs/extending.md")).unwrap();
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ours.toml");
    fs::write(&file, rest.split("```").next().unwrap()).unwrap();
    let catalogue = volproof::catalogue::Catalogue::with_file(&file).unwrap();
    assert!(catalogue.find("aws:gp3", None).unwrap().volume.source.starts_with("the provider's page"));
}

/// The table of docs/clouds.md: as many types and families as the catalogue has, editions and variants of a family counted once.
#[test]
fn the_clouds_have_the_types_of_the_catalogue() {
    let catalogue = volproof::catalogue::Catalogue::shipped();
    let page = fs::read_to_string(below("docs/clouds.md")).unwrap();
    for row in page.lines().filter(|l| l.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let counts: Vec<&str> =
            if cells[1].contains(',') { cells[2].split(", ").collect() } else { vec![cells[2]] };
        for (provider, count) in cells[1].split(", ").map(|p| p.trim_matches('`')).zip(counts) {
            let types = catalogue.volumes.iter().filter(|v| v.provider == provider).count();
            assert_eq!(count.split([' ', ',']).next(), Some(types.to_string().as_str()), "{row}");
            let families: BTreeSet<&str> = catalogue
                .instance_families
                .iter()
                .filter(|f| f.provider == provider)
                .map(|f| f.family.split(['@', '#']).next().unwrap())
                .collect();
            let expected =
                if families.is_empty() { "–".into() } else { format!("{} families", families.len()) };
            assert_eq!(cells[3], expected, "{row}");
        }
    }
}

/// Whatever stands in capitals in front of an answer is explained to who reads it.
#[test]
fn every_word_in_front_of_an_answer_is_explained() {
    let source = fs::read_to_string(below("src/output/colours.rs")).unwrap();
    let page = fs::read_to_string(below("docs/results.md")).unwrap();
    let first_cells: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).collect();
    let words: Vec<&str> = source
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|word| word.len() > 1 && word.bytes().all(|b| b.is_ascii_uppercase() || b == b' '))
        .take(10)
        .collect();
    assert_eq!(words.len(), 10, "{words:?}");
    let missing: Vec<_> = words.iter().filter(|word| !first_cells.contains(*word)).collect();
    assert!(missing.is_empty(), "docs/results.md has no row for {missing:?}");
}

/// README.md tells the limits that `tests/instructions` holds.
#[test]
fn the_instructions_of_an_io_are_those_of_their_test() {
    let script = fs::read_to_string(below("tests/instructions")).unwrap();
    let (_, rest) = script.split_once("ENGINES = [").unwrap();
    let engines = rest.split(']').next().unwrap();
    let limit = |engine: &str| -> &str {
        let (_, row) = engines.split_once(&format!("(\"{engine}\"")).unwrap();
        row.split(')').next().unwrap().rsplit(", ").next().unwrap()
    };
    let told = format!(
        "At most {} user-space instructions an I/O with io_uring, {} with libaio",
        limit("io_uring"),
        limit("libaio")
    );
    assert!(fs::read_to_string(below("README.md")).unwrap().contains(&told), "README.md lacks: {told}");
}

//! The pages for people keep to the code and to each other: docs/findings.md is made of the comments of doubts and descriptions, and has a row for
//! each refusal; links lead to files that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use volproof::cli::Cli;
use volproof::course::suite_options::as_suite;
use volproof::doubt::{DoubtCode, DoubtEffect};

fn below(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
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

/// The comment at the head of a file, without its marks.
fn head_of(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(str::trim).collect::<Vec<_>>().join("\n")
}

/// A heading for each file of a folder that begins with its code, and what the head of the file says.
fn sections(folder: &str) -> String {
    let mut files: Vec<PathBuf> =
        fs::read_dir(below(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let heads = files.iter().map(|file| head_of(file)).filter(|head| head.starts_with('`'));
    let section = |head: String| {
        let (code, words) = head.split_once(": ").unwrap();
        let mut letters = words.chars();
        let first = letters.next().unwrap().to_uppercase();
        format!("### {code}\n\n{first}{}\n", letters.as_str())
    };
    heads.map(section).collect::<Vec<_>>().join("\n")
}

/// What the page says of doubts and descriptions: made of the comments of the code.
fn made() -> String {
    let effect = |code: &DoubtCode| match code.effect() {
        DoubtEffect::Remark => "a remark",
        DoubtEffect::Voids => "voids",
        DoubtEffect::OnlySlows => "voids all but a PASS",
        DoubtEffect::OfTheVolume => "the volume's own",
    };
    let row = |code: &DoubtCode| format!("| `{code}` | {} | {} |\n", effect(code), code.words());
    let mut codes = DoubtCode::ALL.to_vec();
    codes.sort_by_key(|code| code.as_str().to_string());
    format!(
        "## Doubts\n\n| code | a blocker of it | what it says |\n|---|---|---|\n{}\n## The rules of doubts\n\n{}\n## Descriptions\n\n{}\n## Causes\n\n{}",
        codes.iter().map(row).collect::<String>(),
        sections("crates/judge/src/doubts"),
        sections("crates/judge/src/shape"),
        sections("crates/judge/src/causes")
    )
}

/// `UPDATE_FINDINGS=1 cargo test --test simulated documents` makes the page anew.
#[test]
fn the_dictionary_is_made_of_the_comments_of_the_code() {
    let path = below("docs/findings.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("## Doubts\n").unwrap();
    let (_, after) = rest.split_once("\n## Why a claim is INVALID\n").unwrap();
    let whole = format!("{before}{}\n## Why a claim is INVALID\n{after}", made());
    if std::env::var_os("UPDATE_FINDINGS").is_some() {
        return fs::write(&path, &whole).unwrap();
    }
    assert!(
        page == whole,
        "docs/findings.md is stale: UPDATE_FINDINGS=1 cargo test --test simulated documents"
    );
    let guard = rows(&page, &["Refusals"]);
    let mut all = Vec::new();
    sources(&below("src"), &mut all);
    sources(&below("crates"), &mut all);
    assert_eq!(of_guard(&all), guard, "the guard's codes and the page differ");
}

/// Each rule of a doubt has the name of its code.
#[test]
fn a_rule_has_the_name_of_its_code() {
    let not_rules = ["mod.rs", "doubt_case.rs", "disk_counters.rs"];
    for entry in fs::read_dir(below("crates/judge/src/doubts")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let code = name.trim_end_matches(".rs").replace('_', "-");
        let known = DoubtCode::ALL.iter().any(|known| *known == *code);
        assert!(known || not_rules.contains(&name.as_str()), "{name}");
    }
}

/// Folders of the repository that pages name files of.
const FOLDERS: [&str; 7] = ["tests/", "src/", "crates/", "docs/", "benches/", "fuzz/", "packaging/"];

#[test]
fn links_and_paths_in_pages_lead_to_files() {
    let docs = fs::read_dir(below("docs")).unwrap().map(|entry| entry.unwrap().path());
    let top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"].map(below);
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
        // What a command line or a list names behind the path is no part of it.
        let quoted = text.split('`').skip(1).step_by(2).filter_map(|words| words.split_whitespace().next());
        let paths = quoted.filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)));
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
        for path in paths.filter(|path| path.chars().all(plain) && !below(path).exists()) {
            wrong.push(format!("{}: `{path}`", page.display()));
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
    let source = fs::read_to_string(below("crates/device/src/output/colours.rs")).unwrap();
    let page = fs::read_to_string(below("docs/results.md")).unwrap();
    let first_cells: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).collect();
    let words: Vec<&str> = source
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|word| word.len() > 1 && word.bytes().all(|b| b.is_ascii_uppercase() || b == b' '))
        .take(11)
        .collect();
    assert_eq!(words.len(), 11, "{words:?}");
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

/// The calls of volproof in the code blocks of a page, without the words of a shell around them.
fn calls(page: &str) -> Vec<Vec<String>> {
    let mut calls = Vec::new();
    let mut fenced = false;
    for line in page.replace("\\\n", " ").lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        let is_code = fenced || line.starts_with("    ");
        let command = line.trim_start().trim_start_matches("$ ");
        let is_version = command.starts_with("volproof 0.");
        if !is_code || !command.starts_with("volproof ") || command.contains("...") || is_version {
            continue;
        }
        // Three blanks stand before a remark.
        let end = ["   ", " #", " |", " >", " &&", ";"].iter().filter_map(|end| command.find(end)).min();
        calls.extend(shlex::split(&command[..end.unwrap_or(command.len())]));
    }
    calls
}

/// Nobody pastes a command from a page that the program refuses. `fio` takes fio's options and is tried in tests/simulated/fio.
#[test]
fn commands_in_pages_are_taken() {
    let docs = fs::read_dir(below("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = docs.chain([below("README.md")]).filter(|path| path.extension().is_some_and(|e| e == "md"));
    let mut refused = Vec::new();
    let mut tried = 0;
    for page in pages {
        for call in calls(&fs::read_to_string(&page).unwrap()) {
            let words = as_suite(call.iter().map(Into::into).collect());
            if call.get(1).is_none_or(|command| command != "fio") {
                tried += 1;
                // Help and version are no mistakes.
                if let Some(why) = Cli::try_parse_from(words).err().filter(clap::Error::use_stderr) {
                    refused.push(format!("{}: {}: {why}", page.display(), call.join(" ")));
                }
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(tried > 50, "{tried}");
}

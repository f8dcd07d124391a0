//! The order of the modules is the table in ARCHITECTURE.md: each line is a module, which may use those below it and none above.
//! A name stands for one thing: no two types and no two files share one.

use std::fs;
use std::path::{Path, PathBuf};

fn below(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The modules of ARCHITECTURE.md, from the top.
fn table() -> Vec<String> {
    let page = fs::read_to_string(below("ARCHITECTURE.md")).unwrap();
    let (_, rest) = page
        .split_once("\n## The modules, from the top\n")
        .expect("ARCHITECTURE.md has the table of modules");
    let section = rest.split("\n## ").next().unwrap();
    section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .map(str::to_string)
        .collect()
}

/// Every Rust file under a folder.
fn sources(dir: &Path) -> Vec<PathBuf> {
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

/// The lines of a file outside comments and outside items marked `#[cfg(test)]`, with their numbers; and the names of the files that hold
/// such items (`mod tests;`).
fn product(text: &str) -> (Vec<(usize, &str)>, Vec<&str>) {
    let (mut kept, mut tests) = (Vec::new(), Vec::new());
    let mut lines = text.lines().enumerate();
    while let Some((n, line)) = lines.next() {
        let code = line.trim_start();
        let margin = &line[..line.len() - code.len()];
        if code == "#[cfg(test)]" {
            let close = format!("{margin}}}");
            let mut first = true;
            for (_, line) in lines.by_ref() {
                let code = line.trim_start();
                if first && code.starts_with("#[") {
                    continue;
                }
                if first && code.ends_with(';') {
                    tests.extend(code.strip_prefix("mod ").map(|name| name.trim_end_matches(';')));
                    break;
                }
                first = false;
                if line == close {
                    break;
                }
            }
        } else if !code.starts_with("//") {
            kept.push((n + 1, line));
        }
    }
    (kept, tests)
}

/// Modules that a line names by `crate::`.
fn named(line: &str) -> impl Iterator<Item = &str> {
    line.split("crate::")
        .skip(1)
        .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap())
}

#[test]
fn imports_go_down_the_table_of_architecture() {
    let (root, table) = (below("src"), table());
    let place = |module: &str| table.iter().position(|m| m == module);
    let files = sources(&root);
    assert!(files.len() > 100, "read only {} files: is the layout still under src/?", files.len());
    let texts: Vec<(PathBuf, String)> =
        files.iter().map(|f| (f.clone(), fs::read_to_string(f).unwrap())).collect();
    let of_tests: Vec<PathBuf> = texts
        .iter()
        .flat_map(|(file, text)| {
            let stem = file.file_stem().unwrap();
            let dir = if stem == "mod" || stem == "lib" {
                file.parent().unwrap().into()
            } else {
                file.with_extension("")
            };
            product(text).1.into_iter().map(move |name| dir.join(name)).collect::<Vec<_>>()
        })
        .collect();
    let exists = |f: &PathBuf| f.with_extension("rs").exists() || f.join("mod.rs").exists();
    assert!(of_tests.iter().all(exists), "{of_tests:?}");
    let is_test = |file: &Path| of_tests.iter().any(|t| file.with_extension("").starts_with(t));

    let (mut wrong, mut seen) = (Vec::new(), std::collections::BTreeSet::new());
    for (file, text) in texts.iter().filter(|(file, _)| !is_test(file)) {
        let inside = file.strip_prefix(&root).unwrap();
        let module =
            inside.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        let Some(from) = place(module) else {
            wrong.push(format!("{}: ARCHITECTURE.md has no line for the module {module}", inside.display()));
            continue;
        };
        seen.insert(from);
        for (n, line) in product(text).0 {
            for target in named(line).filter(|target| *target != module) {
                match place(target) {
                    Some(to) if to > from => {}
                    Some(_) => wrong.push(format!(
                        "{}:{n}: {module} may not use {target}, which is above it",
                        inside.display()
                    )),
                    None => wrong
                        .push(format!("{}:{n}: {target} is no module of ARCHITECTURE.md", inside.display())),
                }
            }
        }
    }
    wrong.extend(
        table
            .iter()
            .enumerate()
            .filter(|(n, _)| !seen.contains(n))
            .map(|(_, m)| format!("{m}: in ARCHITECTURE.md, not in src")),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_test_items_are_left_out() {
    let text = "use crate::a;\n#[cfg(test)]\nuse crate::b;\n// crate::c\n#[cfg(test)]\nmod tests {\n    use crate::d;\n}\n    #[cfg(test)]\n    \
                fn x() {\n        crate::e();\n    }\nuse crate::f;\n#[cfg(test)]\n#[path = \"x\"]\nmod far;\nfn z() -> crate::g::G { crate::h() }\n";
    let (kept, tests) = product(text);
    let modules: Vec<&str> = kept.iter().flat_map(|(_, line)| named(line)).collect();
    assert_eq!((modules, tests), (vec!["a", "f", "g", "h"], vec!["far"]));
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
    for file in sources(&below("src")) {
        let text = fs::read_to_string(&file).unwrap();
        for (n, line) in product(&text).0 {
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
    let rules = below("src/judge");
    let names = sources(&below("src"))
        .into_iter()
        .filter(|file| !file.starts_with(&rules))
        .map(|file| (file.file_name().unwrap().to_string_lossy().into_owned(), file.display().to_string()))
        .filter(|(name, _)| !["mod.rs", "tests.rs"].contains(&name.as_str()))
        .collect();
    let repeated = repeated(names);
    assert!(repeated.is_empty(), "{}", repeated.join("\n"));
}

//! Files for pipelines and monitoring, made of every report that the project has as a fixture: each must be what its readers accept.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::run::Bench;

/// All stored reports, of fio and of other tools.
fn reports() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut found: Vec<PathBuf> = ["fio", "foreign"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(fixtures.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension().is_some_and(|e| ["txt", "json", "xml", "csv"].iter().any(|k| e == *k))
        })
        .collect();
    found.sort();
    found
}

const JUDGED: [&str; 4] = ["--promise", "aws:gp3", "--volume-size", "100GiB"];

/// Rules of the Prometheus text format and of the node exporter's textfile collector, which drops a file whole when one series stands twice.
fn hold_metrics(text: &str, of: &str) {
    let mut families = HashSet::new();
    let mut series = HashSet::new();
    let mut family = String::new();
    for line in text.lines().filter(|l| *l != "# EOF") {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            family = rest.split(' ').next().unwrap().to_string();
            assert!(families.insert(family.clone()), "{of}: {family} has two blocks");
            assert!(rest.len() > family.len() + 1, "{of}: {family} without a text");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            assert_eq!(rest, format!("{family} gauge"), "{of}");
        } else {
            let (name, rest) = line.split_once('{').unwrap();
            assert_eq!(name, family, "{of}: a series outside its block");
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{of}: {name}");
            let (labels, value) = rest.rsplit_once("} ").unwrap();
            assert!(series.insert(format!("{name}{{{labels}")), "{of}: twice: {line}");
            assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{of}: {line}");
            let mut names = HashSet::new();
            for label in labels.split("\",") {
                let (label, _) = label.split_once("=\"").unwrap_or_else(|| panic!("{of}: {line}"));
                assert!(names.insert(label), "{of}: label {label} twice in {line}");
            }
        }
    }
    assert!(text.ends_with("\n# EOF\n") && !series.is_empty(), "{of}");
}

/// The rules that the JUnit schema of Jenkins and the readers of CI services agree on.
fn hold_junit(text: &str, of: &str) {
    let document = roxmltree::Document::parse(text).unwrap_or_else(|e| panic!("{of}: {e}"));
    let suites = document.root_element();
    assert_eq!(suites.tag_name().name(), "testsuites", "{of}");
    let number = |node: roxmltree::Node, name: &str| -> usize {
        node.attribute(name).unwrap_or_else(|| panic!("{of}: no {name}")).parse().unwrap()
    };
    let cases: Vec<_> = suites.descendants().filter(|n| n.has_tag_name("testcase")).collect();
    let with = |tag: &str| cases.iter().filter(|c| c.children().any(|n| n.has_tag_name(tag))).count();
    for node in suites.descendants().filter(|n| ["testsuites", "testsuite"].contains(&n.tag_name().name())) {
        assert_eq!(number(node, "tests"), cases.len(), "{of}");
        assert_eq!(number(node, "failures"), with("failure"), "{of}");
        assert_eq!(number(node, "errors"), with("error"), "{of}");
    }
    let mut names = HashSet::new();
    for case in &cases {
        let name = (case.attribute("classname").unwrap(), case.attribute("name").unwrap());
        assert!(names.insert(name), "{of}: two cases of one name {name:?}");
        case.attribute("time").unwrap().parse::<f64>().unwrap();
    }
    assert!(!cases.is_empty(), "{of}");
}

#[test]
fn files_for_monitoring_keep_the_rules_of_their_readers() {
    let bench = Bench::new();
    let mut read = 0;
    for report in reports() {
        let of = report.file_name().unwrap().to_str().unwrap();
        let report = report.to_str().unwrap();
        let shown = |more: &[&str]| bench.run(&[&["show", report], more].concat());
        let metrics = shown(&["--openmetrics", "-"]);
        if metrics.code == Some(2) {
            // A fixture that another test wants refused.
            continue;
        }
        read += 1;
        hold_metrics(&metrics.ended(0).out, of);
        hold_junit(&shown(&["--junit", "-"]).ended(0).out, of);
        let judged = |more: &[&str]| bench.run(&[&["verdict", report], &JUDGED[..], more].concat());
        let junit = judged(&["--junit", "-"]);
        if junit.code == Some(2) {
            // A text of several reports: `verdict` judges one.
            continue;
        }
        hold_metrics(&judged(&["--openmetrics", "-"]).out, of);
        hold_junit(&junit.out, of);
        // A comparison is no test: nothing passes, and nothing fails.
        let wrong = junit.out.contains("<error ") || junit.out.contains("<failure ");
        let skipped = junit.out.contains("<skipped ");
        assert_eq!((junit.code, wrong, skipped), (Some(5), false, true), "{of}:\n{}", junit.out);
    }
    assert!(read >= 30, "{read} reports were read");
}

/// Each run makes a test file of another name: a suite or a series that had it would be a new one every night.
#[test]
fn series_and_suites_are_named_after_the_folder() {
    let bench = Bench::new();
    let load = [
        "run",
        ".",
        "--rw",
        "randread",
        "--engine",
        "psync",
        "--runtime",
        "100ms",
        "--ramp",
        "0s",
        "--file-size",
        "4M",
    ];
    let files = ["--openmetrics", "m.prom", "--junit", "j.xml", "--markdown", "t.md", "--json", "r.json"];
    for keep in [&[][..], &["--keep"]] {
        bench.run(&[&load[..], &files, keep].concat()).ended(0);
        let folder = bench.path().canonicalize().unwrap();
        for (file, said) in [
            ("m.prom", "target=\"FOLDER\""),
            ("j.xml", "name=\"ad-hoc on FOLDER\""),
            ("t.md", "Target: FOLDER\n"),
        ] {
            let text = std::fs::read_to_string(bench.path().join(file)).unwrap();
            let said = said.replace("FOLDER", folder.to_str().unwrap());
            assert!(text.contains(&said), "{file}: {text}");
            assert!(
                file == "t.md" || !text.contains("volproof-test-") && !text.contains("volproof-kept-"),
                "{file}: {text}"
            );
            std::fs::remove_file(bench.path().join(file)).unwrap();
        }
        std::fs::remove_file(bench.path().join("r.json")).unwrap();
    }
}

/// Two grades of an application may ask for one figure of one step.
#[test]
fn files_of_needs_keep_the_rules_too() {
    let bench = Bench::new();
    let fit = ["fit", "--simulate", "latency=1ms", "--for", "etcd:heavy,milvus", "--runtime", "60s"];
    let files = ["--openmetrics", "m.prom", "--junit", "j.xml"];
    bench.run(&[&fit[..], &files].concat());
    let text = |file: &str| std::fs::read_to_string(bench.path().join(file)).unwrap();
    hold_metrics(&text("m.prom"), "needs");
    hold_junit(&text("j.xml"), "needs");
}

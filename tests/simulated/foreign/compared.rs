//! Reports beside a promise: one word for each figure, and no verdict anywhere.

use std::path::Path;

use super::commands::volproof;
use super::{all, fixture};

/// A volume that promises so many IOPS, which is what the report shows.
fn promise_of(iops: u64) -> String {
    format!(
        "[[volume]]\nprovider = 'alibaba'\ntype = 'lab'\nname = 'Lab'\nmedia = 'ssd'\nstatus = 'current'\ncapacity_gib = [20, 100]\n\
         iops = {iops}\nthroughput = 1000000\nthroughput_unit = 'MB/s'\nunit_bytes = 1000000\nunit_certain = true\nsource = 'the lab'\n\
         as_of = '2026-11'\nconfidence = 'high'\n"
    )
}

/// A report with the options that name a promise of so many IOPS.
fn held_against<'a>(folder: &Path, command: &'a str, file: &'a str, iops: u64) -> Vec<&'a str> {
    std::fs::write(folder.join("lab.toml"), promise_of(iops)).unwrap();
    vec![command, file, "--promise", "alibaba:lab", "--volume-size", "100GiB", "--catalog", "lab.toml"]
}

/// The words of a verdict, which no report has.
fn verdicts(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| ["PASS", "FAIL", "INVALID", "INCONCLUSIVE"].contains(word)).collect()
}

/// All reports of other tools and of fio, with a figure near which a promise is.
fn reports() -> Vec<(String, u64)> {
    let of_fio = std::fs::read_dir("tests/fixtures/fio").unwrap().map(|file| file.unwrap().path());
    let files = all().iter().map(|name| fixture(name)).chain(of_fio).collect::<Vec<_>>();
    let with_rate = |file: &Path| {
        let record = volproof::result_file::load_only(file).ok()?;
        let iops = record.steps.iter().map(|step| step.iops()).fold(1.0, f64::max);
        Some((std::fs::canonicalize(file).unwrap().to_str().unwrap().to_string(), iops as u64))
    };
    files.iter().filter_map(|file| with_rate(file)).collect()
}

#[test]
fn no_report_has_a_verdict_in_any_output() {
    let folder = tempfile::tempdir().unwrap();
    let reports = reports();
    assert!(reports.len() > 40, "{}", reports.len());
    for (file, iops) in &reports {
        {
            let words = held_against(folder.path(), "verdict", file, *iops);
            let sheets = ["--junit", "j.xml", "--markdown", "m.md", "--openmetrics", "o.prom"];
            let (code, text, err) = volproof(folder.path(), &[&words[..], &sheets].concat());
            assert_eq!(code, Some(5), "{file}: {text}{err}");
            assert_eq!(verdicts(&text), [""; 0], "{file}: {text}");
            for sheet in ["j.xml", "m.md"] {
                let content = std::fs::read_to_string(folder.path().join(sheet)).unwrap();
                assert_eq!(verdicts(&content), [""; 0], "{file}: {content}");
            }
            let junit = std::fs::read_to_string(folder.path().join("j.xml")).unwrap();
            assert!(junit.contains("failures=\"0\"") && !junit.contains("<failure"), "{junit}");
        }
        if !file.ends_with(".json") && !file.contains("bare") {
            continue;
        }
        let (code, json, _) = volproof(
            folder.path(),
            &[&held_against(folder.path(), "verdict", file, *iops)[..], &["--json"]].concat(),
        );
        let told: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!((code, told.get("verdict")), (Some(5), None));
        assert_eq!(verdicts(&json.to_uppercase()), [""; 0], "{json}");
    }
}

#[test]
fn the_page_of_a_report_has_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let file = std::fs::canonicalize(fixture("sysbench-rndrd.txt")).unwrap();
    let mut record = volproof::result_file::load_only(&file).unwrap();
    let promise = volproof::promise_options::PromiseOptions {
        kind: Some("aws:gp3".into()),
        volume_size: Some(volproof::unit::Bytes::gib(100)),
        ..Default::default()
    };
    volproof::promise_options::hold_against(&promise, None, &mut record).unwrap();
    assert!(record.verdict.is_none() && record.compared.is_some());
    let mut page = Vec::new();
    volproof::report::html::write(&record, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let shown = page.split("<script").next().unwrap();
    assert_eq!(verdicts(shown), [""; 0]);
    assert!(shown.contains("Promised and delivered"));
    drop(folder);
}

#[test]
fn a_report_of_each_tool_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = String::new();
    for name in [
        "../fio/2.2.8-published.txt",
        "../fio/3.33-fdatasync.json",
        "dd-direct.txt",
        "sysbench-rndrd.txt",
        "ioping-direct.txt",
        "pg_test_fsync.txt",
        "diskspd-mix.txt",
        "iometer.csv",
    ] {
        let content = std::fs::read(fixture(name)).unwrap();
        let file = Path::new(name).file_name().unwrap().to_str().unwrap();
        std::fs::write(folder.path().join(file), content).unwrap();
        let (code, text, err) = volproof(
            folder.path(),
            &["verdict", file, "--promise", "alibaba:cloud_essd.PL1", "--volume-size", "100GiB"],
        );
        assert_eq!(code, Some(5), "{err}");
        all += &text;
        all += "\n=====\n";
    }
    insta::assert_snapshot!(all);
}

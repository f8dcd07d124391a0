//! The page: safe against any name, small for a long run, the same for the same Record, whole without its script.

mod page_record;

use std::path::Path;
use std::process::{Command, Output};

use page_record::record;
use volproof::plan::Simulated;
use volproof::record::{Record, State};
use volproof::report::html::{PLOTLY, page};
use volproof::unit::Nanos;

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'`{{7*7}}<!-- &amp; \u{2028}";

fn volproof(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_volproof")).current_dir(folder).args(args).output().unwrap()
}

/// The page without plotly.js.
fn ours(record: &Record) -> String {
    let page = page(record).unwrap();
    assert_eq!(page.matches(PLOTLY).count(), 1);
    page.replace(PLOTLY, "")
}

/// What is on the page as text, one element a line, script and style left out.
fn text(page: &str) -> String {
    let body = &page[page.find("<body>").unwrap()..page.find("<script").unwrap()];
    let mut out = String::new();
    let mut inside = false;
    for c in body.chars() {
        match c {
            '<' => {
                inside = true;
                out.push('\n');
            }
            '>' => inside = false,
            c if !inside => out.push(c),
            _ => {}
        }
    }
    out.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n")
}

#[test]
fn any_name_stays_text() {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "run",
        ".",
        "--rw",
        "randread",
        "--engine",
        "psync",
        "--buffered",
        "--runtime",
        "1200ms",
        "--file-size",
        "4M",
    ];
    let run = volproof(folder.path(), &[&args[..], &["--json", "r.json"]].concat());
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let mut r = Record::load(&folder.path().join("r.json")).unwrap();
    let plain = ours(&r);
    let name = || HOSTILE.to_string();
    r.volproof_version = name();
    r.started = name();
    r.state = State::Failed(name());
    r.plan.name = name();
    r.plan.targets = vec![HOSTILE.into()];
    r.plan.steps[0].name = name();
    r.steps[0].name = name();
    r.steps[0].engine_features = vec![name()];
    r.steps[0].targets[0].path = HOSTILE.into();
    r.steps[0].evidence.disks.iter_mut().for_each(|d| d.name = name());
    r.steps[0].errors = record(1, 1).steps[0].errors.clone();
    r.steps[0].errors.first[0].error = name();
    r.targets[0].path = HOSTILE.into();
    r.targets[0].named = "other".into();
    let e = &mut r.environment;
    for field in [&mut e.hostname, &mut e.kernel, &mut e.cpu_model, &mut e.clock, &mut e.clock_source] {
        *field = name();
    }
    (e.distribution, e.machine, e.cgroup_cpu_max) = (Some(name()), Some(name()), Some(name()));
    r.warnings = record(1, 1).warnings;
    let w = &mut r.warnings[0];
    (w.code, w.message, w.advice, w.step) = (name(), name(), name(), Some(name()));

    let page = ours(&r);
    assert!(page.matches("&#60;img src=x").count() >= 20, "{}", page.matches("&#60;img src=x").count());
    assert!(!page.contains("<img") && !page.contains("<!--"));
    // No element more than on the page of the same Record with harmless names; one list of errors and one of doubts came.
    for element in ["<script", "</script", "<style", "<svg"] {
        assert_eq!(page.matches(element).count(), plain.matches(element).count(), "{element}");
    }
    let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    assert!(!data.contains(['<', '>', '&', '\u{2028}']));
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    for disk in data[0]["evidence"]["disks"].as_array().unwrap() {
        assert_eq!(disk["name"], HOSTILE);
    }
}

#[test]
fn an_hour_adds_less_than_a_mebibyte() {
    let page = page(&record(3600, 4)).unwrap();
    let added = page.len() - PLOTLY.len();
    assert!(added > 100_000, "{added}: the hour is not on the page");
    assert!(added < 1 << 20, "{added}");
}

#[test]
fn the_same_record_gives_the_same_page() {
    let made = record(30, 1);
    let json = serde_json::to_string(&made).unwrap();
    let stored = Record::parse(&json, "r.json".into()).unwrap();
    assert_eq!(page(&made).unwrap(), page(&stored).unwrap());
    assert_ne!(page(&made).unwrap(), page(&record(31, 1)).unwrap());
}

#[test]
fn the_page_asks_for_nothing() {
    let page = ours(&record(30, 1));
    for word in ["http:", "https:", "src=", "@import", "url(", "<link", "<iframe", "//cdn"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'; script-src 'nonce-volproof'"));
}

#[test]
fn everything_to_read_is_in_the_markup() {
    let mut r = record(20, 1);
    r.plan.steps[0].simulate = None;
    insta::assert_snapshot!(text(&page(&r).unwrap()));
}

#[test]
fn virtual_time_has_no_kernel_counters_and_no_fio_command() {
    let mut r = record(20, 1);
    r.steps[0].engine = volproof::plan::EngineKind::Null;
    r.plan.steps[0].simulate = Some(Simulated { latency: Nanos::micros(80), ..Simulated::default() });
    let page = ours(&r);
    assert!(!page.contains("What the kernel counted") && page.contains("\"evidence\":null"));
    assert!(page.contains("None: the device was played in virtual time"));
}

#[test]
fn report_and_run_write_the_same_page() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let plan = "[[step]]\nrw = 'randread'\niodepth = 4\nruntime = '20s'\nengine = 'null'\n[step.simulate]\nlatency = '1ms'\n";
    std::fs::write(at("p.toml"), plan).unwrap();
    let run =
        volproof(folder.path(), &["run", "--plan", "p.toml", "--json", "r.json", "--html", "run.html", "-q"]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let report = volproof(folder.path(), &["report", "r.json"]);
    assert_eq!(String::from_utf8_lossy(&report.stdout), "Page: r.html\n");
    let page = std::fs::read(at("run.html")).unwrap();
    assert_eq!(page, std::fs::read(at("r.html")).unwrap());
    assert_eq!(page, volproof(folder.path(), &["report", "r.json", "-o", "-"]).stdout);

    let before = std::fs::read(at("r.json")).unwrap();
    for (args, what) in [
        (vec!["report", "r.json", "-o", "./r.json"], "is the Record itself"),
        (vec!["report", "r.json", "-o", "no/such/x.html"], "there is no folder no/such"),
        (vec!["report", "missing.json"], "cannot read missing.json"),
        (vec!["report", "p.toml"], "p.toml"),
        (vec!["run", "--plan", "p.toml", "--html", "no/x.html"], "name another file with --html"),
    ] {
        let out = volproof(folder.path(), &args);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(what), "{args:?}: {said}");
    }
    assert_eq!(before, std::fs::read(at("r.json")).unwrap());
}

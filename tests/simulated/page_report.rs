//! The page: safe against any name, small for a long run, the same for the same Record, whole without its script.

use crate::page_record;

use std::path::Path;
use std::process::{Command, Output};

use page_record::{judged_promise, record};
use volproof::plan::{Question, Simulated, Sweep};
use volproof::record::{Record, State};
use volproof::report::html::{self, PLOTLY};
use volproof::unit::Nanos;

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'`{{7*7}}<!-- &amp; \u{2028}";

fn volproof(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_volproof")).current_dir(folder).args(args).output().unwrap()
}

fn page(record: &Record) -> String {
    let mut page = Vec::new();
    html::write(record, &mut page).unwrap();
    String::from_utf8(page).unwrap()
}

/// The page without plotly.js.
fn ours(record: &Record) -> String {
    let page = page(record);
    assert_eq!(page.matches(PLOTLY.as_str()).count(), 1);
    page.replace(PLOTLY.as_str(), "")
}

/// The text of the page, one element a line, without script and style.
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
    // Reads that came from memory are no measurement.
    assert!(matches!(run.status.code(), Some(0 | 6)), "{}", String::from_utf8_lossy(&run.stderr));
    let mut r = Record::load(&folder.path().join("r.json")).unwrap();
    let plain = ours(&r);
    let name = || HOSTILE.to_string();
    r.volproof_version = name();
    r.started = name().into();
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
    r.doubts = record(1, 1).doubts;
    let w = &mut r.doubts[0];
    (w.code, w.message, w.advice, w.step) = (name().into(), name(), name(), Some(name()));
    let tuning = r.tuning.insert(record(1, 1).tuning.unwrap());
    let e = &mut tuning.effects[0];
    (e.knob, e.before, e.after) = (name(), name(), name());
    let mut judged_promise = judged_promise();
    judged_promise.promise.volumes[0].id = name();
    judged_promise.promise.volumes[0].latency_basis = Some(name());
    (judged_promise.options, judged_promise.notes) = (vec![name()], vec![name()]);
    r.judged_promise = Some(judged_promise);

    let page = ours(&r);
    assert!(
        page.contains("Promised and delivered") && page.contains("4 alternating pairs of short runs each")
    );
    assert!(page.matches("&#60;img src=x").count() >= 28, "{}", page.matches("&#60;img src=x").count());
    assert!(!page.contains("<img") && !page.contains("<!--"));
    // No element more than on the page of the same Record with harmless names; one list of errors and one of doubts came.
    for element in ["<script", "</script", "<style"] {
        assert_eq!(page.matches(element).count(), plain.matches(element).count(), "{element}");
    }
    let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    assert!(!data.contains(['<', '>', '&', '\u{2028}']));
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["steps"].as_array().unwrap().len(), 1);
}

#[test]
fn an_hour_adds_less_than_a_mebibyte() {
    let page = page(&record(3600, 4));
    let added = page.len() - PLOTLY.len();
    assert!(added > 100_000, "{added}: the hour is not on the page");
    assert!(added < 1 << 20, "{added}");
}

#[test]
fn the_same_record_gives_the_same_page() {
    let made = record(30, 1);
    let json = serde_json::to_string(&made).unwrap();
    let stored = Record::parse(&json, "r.json".into()).unwrap();
    assert_eq!(page(&made), page(&stored));
    assert_ne!(page(&made), page(&record(31, 1)));
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
    insta::assert_snapshot!(text(&page(&r)));
}

#[test]
fn virtual_time_has_no_fio_command() {
    let mut r = record(20, 1);
    r.steps[0].engine = volproof::plan::EngineKind::Null.into();
    r.plan.steps[0].simulate =
        Some(Box::new(Simulated { latency: Nanos::micros(80), ..Simulated::default() }));
    assert!(ours(&r).contains("fio has no simulated device"));
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
    assert!(page == volproof(folder.path(), &["report", "r.json", "-o", "-"]).stdout);

    let before = std::fs::read(at("r.json")).unwrap();
    for (args, what) in [
        (vec!["report", "r.json", "-o", "./r.json"], "is the same file as the input r.json"),
        (vec!["report", "r.json", "-o", "no/such/x.html"], "there is no folder no/such"),
        (vec!["report", "missing.json"], "cannot read missing.json"),
        (vec!["report", "p.toml"], "p.toml"),
        (vec!["run", "--plan", "p.toml", "--html", "no/x.html"], "name another path with --html"),
    ] {
        let out = volproof(folder.path(), &args);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(what), "{args:?}: {said}");
    }
    assert_eq!(before, std::fs::read(at("r.json")).unwrap());
}

/// Runs steps of 4 KiB random reads in virtual time against the promise of a PL0 of 40 GiB, and gives the page.
fn judged(seconds: u32, depth: u32, iops_cap: u32) -> String {
    let folder = tempfile::tempdir().unwrap();
    let plan = format!(
        "[[step]]\nname = 'reads'\nrw = 'randread'\nbs = '4k'\niodepth = {depth}\nruntime = '{seconds}s'\nramp = '1s'\n\
         engine = 'null'\n[step.simulate]\nlatency = '600us'\njitter = '200us'\niops_cap = {iops_cap}.0\n"
    );
    std::fs::write(folder.path().join("p.toml"), plan).unwrap();
    let args =
        "run --plan p.toml --json r.json -q --promise alibaba:cloud_essd.PL0 --volume-size 40GiB --offline";
    // A short step stays one: it is not repeated for a minute.
    let short = (seconds < 60).then_some("--no-follow-up");
    let run = volproof(folder.path(), &args.split(' ').chain(short).collect::<Vec<_>>());
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    let record = Record::load(&folder.path().join("r.json")).unwrap_or_else(|e| panic!("{e}: {said}"));
    ours(&record)
}

#[test]
fn the_verdict_stands_on_top_with_its_gauge() {
    for (seconds, depth, cap, word, headline, has_reason) in [
        (
            120,
            64,
            2280,
            "PASS",
            "The volume delivers what is promised for reads: 2,280 IOPS of 2,280.",
            false,
        ),
        (
            120,
            64,
            2052,
            "FAIL",
            "The volume falls short of its promise in reads-confirm: 2,052 IOPS, 90.0 % of 2,280.",
            true,
        ),
        (3, 64, 2280, "INCONCLUSIVE", "Not decided: ", true),
    ] {
        let page = judged(seconds, depth, cap);
        let text = text(&page);
        let hero = &text[..text.find("Promised and delivered").unwrap()];
        assert!(hero.contains(headline) && hero.lines().any(|l| l == word), "{word}: {hero}");
        assert!(
            hero.contains(
                "against alibaba:cloud_essd.PL0, 40 GiB, tolerance 2 %; throughput and latency were"
            )
        );
        assert!(!hero.contains("no promise was given"));
        // The reason names its step, as that of the text does.
        assert_eq!(hero.lines().any(|l| l.starts_with("reads")), has_reason, "{word}: {hero}");
        assert!(text.contains("the limit is 2,234") || word == "INCONCLUSIVE", "{text}");
        assert_eq!(page.matches("<article class=\"claim ").count(), 1);
        let gauge = page.split("<div class=\"gauge\">").nth(1).unwrap().split("</svg>").next().unwrap();
        assert!(gauge.contains("aria-label=\"IOPS in reads"), "{gauge}");
        let x = |class: &str| -> f64 {
            let at = gauge.split(&format!("class=\"{class}\" d=\"M")).nth(1).unwrap();
            at.split(' ').next().unwrap().parse().unwrap()
        };
        assert!(x("limit") < x("promised"), "{gauge}");
        assert_eq!(x("dot") < x("limit"), word == "FAIL", "{word}: {gauge}");
        assert!(page.contains("--promise alibaba:cloud_essd.PL0 --volume-size"), "not repeatable");
    }
}

#[test]
fn a_run_that_was_cut_short_says_so_beside_its_verdict() {
    let mut r = record(20, 1);
    r.plan.steps[0].rw = "randread".parse().unwrap();
    r.judged_promise = Some(judged_promise());
    assert!(!ours(&r).contains("INTERRUPTED"));
    r.state = State::Interrupted;
    let page = ours(&r);
    assert!(page.contains("INTERRUPTED") && page.contains("Promised and delivered"));
}

#[test]
fn tools_that_were_compared_stand_side_by_side() {
    use volproof::record::{CrossCheck, CrossMetric};
    let mut record = record(20, 1);
    let metric = CrossMetric {
        name: "IOPS".into(),
        less_is_better: false,
        volproof: 20_126.0,
        fio: 20_100.0,
        comparison: None,
    };
    record.cross_checks.push(CrossCheck {
        step: "randread-4k".into(),
        fio_version: "fio-3.33".into(),
        pairs: 1,
        margin: 0.05,
        metrics: vec![metric],
    });
    let page = ours(&record);
    assert!(page.contains("volproof and fio side by side"));
    let table = volproof::report::crosscheck_text::text(&record.cross_checks);
    for line in table.lines().filter(|l| !l.is_empty()) {
        assert!(text(&page).contains(line.trim()), "{line}");
    }
    // The best of the repeats is no result, and nothing is judged.
    assert!(page.contains("<h1 id=\"headline\">volproof and fio, measured in turns.</h1>"));
    assert!(!page.contains("What limited it"));
}

/// A plan of the steps would not ask the question again.
#[test]
fn a_page_of_a_course_names_the_command_that_asks_anew() {
    let mut record = record(30, 1);
    assert!(!text(&ours(&record)).contains("asks anew"));
    let base = record.plan.steps[0].clone();
    let sweep = Sweep { base, axes: Vec::new(), repeats: 1, seed: 1, left_out: Vec::new() };
    record.plan.question = Some(Question::Sweep(sweep));
    assert!(ours(&record).contains("<code>volproof sweep</code> asks anew"));
}

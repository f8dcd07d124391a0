//! Foreign texts in every field that can carry one, through every subcommand: nothing that a terminal obeys comes out, JSON stays JSON, and
//! a page runs no script.

use std::path::Path;

use serde_json::Value;

use crate::run::inputs::{HOSTILE, harmless};
use crate::run::{Bench, Ran};

/// The text in escapes that JSON and TOML share.
fn escaped(text: &str) -> String {
    let escape = |unit: u16| format!("\\u{unit:04x}");
    format!("\"{}\"", text.encode_utf16().map(escape).collect::<String>())
}

/// The same as far as a name of a file can hold it.
fn file_name() -> String {
    HOSTILE.replace(['\0', '/'], "")
}

/// Nothing of a file that volproof wrote is obeyed either.
#[track_caller]
fn harmless_file(path: &Path) {
    let out = String::from_utf8(std::fs::read(path).unwrap()).unwrap();
    harmless(&Ran { code: None, out, err: String::new() });
}

fn all(bench: &Bench, table: &[&[&str]]) {
    for arguments in table {
        let ran = bench.run(arguments);
        harmless(&ran);
        assert!(ran.code.is_some_and(|code| code < 100), "{arguments:?}: {:?}\n{}", ran.code, ran.err);
        if ran.code == Some(0) && arguments.contains(&"--json") && !ran.out.is_empty() {
            serde_json::from_str::<Value>(&ran.out)
                .unwrap_or_else(|e| panic!("{arguments:?}: {e}\n{}", ran.out));
        }
    }
}

#[test]
fn texts_of_a_plan_are_not_obeyed() {
    let bench = Bench::new();
    let text = escaped(HOSTILE);
    let plan = format!(
        "name = {text}\n[[step]]\nname = {text}\nrw = 'randread'\nengine = 'null'\nruntime = '1s'\n\
         simulate = {{ latency = '1ms', error_every = 50 }}\n"
    );
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    let outputs = ["run", "--plan", "p.toml", "--json", "r.json", "--csv", "r.csv", "--html", "r.html"];
    harmless(&bench.run(&outputs));
    for file in ["r.json", "r.csv", "r.html"] {
        harmless_file(&bench.path().join(file));
    }
    let record = bench.record();
    assert!(record.steps[0].name.contains('\u{1b}'), "the name is kept: {:?}", record.steps[0].name);
    all(
        &bench,
        &[
            &["plan", "--plan", "p.toml"],
            &["run", "--plan", "p.toml", "--json", "-"],
            &["run", "--plan", "p.toml", "--json", "s.json", "--csv", "-"],
            &["run", "--plan", "p.toml", "--json", "t.json", "--html", "-"],
            &["show", "r.json"],
            &["verdict", "r.json", "--json"],
        ],
    );
}

/// No line of a text begins within a name: it would read like one of volproof.
#[test]
fn no_name_begins_a_line() {
    const NAME: &str = "a\nFORGED  PASS of all \u{fffe}\u{ffff}";
    let bench = Bench::new();
    let text = escaped(NAME);
    let plan = format!(
        "name = {text}\n[[step]]\nname = {text}\nrw = 'randread'\nengine = 'null'\nruntime = '1s'\nsimulate = {{ latency = '1ms' }}\n\
         [[step]]\nname = 'next'\nstart = {}\nrw = 'randread'\nengine = 'null'\nruntime = '1s'\nsimulate = {{ latency = '1ms' }}\n",
        escaped(&format!("after:{NAME}"))
    );
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    #[track_caller]
    fn whole(text: &str) {
        let forged = text.lines().find(|line| line.trim_start().starts_with("FORGED"));
        assert!(forged.is_none() && !text.contains(['\u{fffe}', '\u{ffff}']), "{text}");
    }
    let sheets = "--json r.json --csv r.csv --html r.html --junit r.xml --markdown r.md --openmetrics r.prom";
    let run = ["run", "--plan", "p.toml"].into_iter().chain(sheets.split(' '));
    let ran = bench.run(&run.collect::<Vec<_>>()).ended(0);
    [&ran.out, &ran.err].into_iter().for_each(|text| whole(text));
    let read = |name: &str| std::fs::read_to_string(bench.path().join(name)).unwrap();
    ["r.csv", "r.xml", "r.md", "r.prom"].map(read).iter().for_each(|text| whole(text));
    assert!(!read("r.html").contains(['\u{fffe}', '\u{ffff}']));
    assert_eq!([&bench.record().steps[0].name, &bench.record().plan.name], [NAME; 2], "JSON keeps the name");
    let promise = "--promise cloud_essd.PL1 --volume-size 100GiB";
    for line in [
        "plan --plan p.toml",
        "show r.json",
        "show r.json -q",
        "show r.json --details",
        "show r.json --csv",
        "explain r.json",
        &format!("verdict r.json {promise} --details"),
        &format!("verdict r.json {promise} -q"),
        "convert r.json --to normal",
        "convert r.json --to plan",
        "convert r.json --to csv",
        "run --plan p.toml -q --json s.json",
    ] {
        let ran = bench.run(&line.split(' ').collect::<Vec<_>>());
        assert!(ran.code.is_some_and(|code| ![2, 3].contains(&code)), "{line}: {}", ran.err);
        [&ran.out, &ran.err].into_iter().for_each(|text| whole(text));
    }
    let json = bench.run(&["convert", "r.json", "--to", "json"]).ended(0).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["jobs"][0]["jobname"], NAME);
    for format in ["normal", "json"] {
        let name = format!("--name={NAME}");
        let line = ["fio", &name, "--ioengine=null", "--size=64k", "--output-format", format];
        let ran = bench.run(&line);
        [&ran.out, &ran.err].into_iter().for_each(|text| whole(text));
    }
}

#[test]
fn names_of_files_are_not_obeyed() {
    let bench = Bench::new();
    let name = file_name();
    let file = bench.file(&name, 4);
    let folder = format!("d{name}");
    bench.folder(&folder);
    let load = ["--rw", "randread", "--runtime", "200ms", "--ramp", "0"];
    let run = |target: &str, size: &[&str]| {
        let line =
            [&["run", target, "--json", "r.json", "--csv", "r.csv", "--html", "r.html"], &load[..], size]
                .concat();
        harmless(&bench.run(&line));
        for file in ["r.json", "r.csv", "r.html"] {
            harmless_file(&bench.path().join(file));
        }
        all(
            &bench,
            &[
                &["show", "r.json"],
                &["report", "r.json", "-o", "-"],
                &["explain", "r.json"],
                &["convert", "r.json", "--to", "record"],
                &["convert", "r.json", "--to", "json"],
                &["convert", "r.json", "--to", "jobfile"],
                &["convert", "r.json", "--to", "plan"],
                &["check", target],
                &["check", target, "--details"],
                &["plan", target, "--rw", "randread"],
                &["million", target, "1", "1", "4k", "randread", "--runtime", "200ms"],
                &["topo", target],
                &["tune", target, "--dry-run"],
            ],
        );
    };
    run(&name, &[]);
    run(&folder, &["--file-size", "4M"]);
    if let Some(disk) = crate::run::devices::Loop::over(&file) {
        run(disk.path(), &[]);
    }
    let records = ["run", &name, "--rw", "randread", "--runtime", "200ms", "--records", &folder];
    harmless(&bench.run(&records));
}

#[test]
fn texts_of_fios_jobs_are_not_obeyed() {
    let bench = Bench::new();
    let text = file_name();
    let (name, description) = (format!("--name={text}"), format!("--description={text}"));
    let target = format!("--filename={}", text.replace(':', ""));
    for format in ["normal", "json", "json+"] {
        let format = format!("--output-format={format}");
        let line =
            ["fio", &name, &description, &target, &format, "--rw=write", "--size=64k", "--output=o.txt"];
        harmless(&bench.run(&line));
        harmless_file(&bench.path().join("o.txt"));
    }
    std::fs::write(bench.path().join("j.fio"), format!("[{text}]\ndescription={text}\nrw={text}\n")).unwrap();
    all(&bench, &[&["fio", "j.fio"], &["fio", "--parse-only", "j.fio"]]);
}

#[test]
fn texts_of_a_catalogue_are_not_obeyed() {
    let bench = Bench::new();
    let text = escaped(HOSTILE);
    let entry = format!(
        "[[volume]]\nprovider = \"alibaba\"\ntype = \"ours\"\nname = {text}\nmedia = \"ssd\"\nstatus = \"current\"\n\
         capacity_gib = [20, 100]\niops = 10\nthroughput = 100\nthroughput_unit = \"MB/s\"\nunit_bytes = 1000000\n\
         unit_certain = true\nsource = {text}\nas_of = \"2026-11\"\nconfidence = \"high\"\nnotes = {text}\n"
    );
    std::fs::write(bench.path().join("c.toml"), &entry).unwrap();
    // Notes may be called otherwise: then this is a message about a hostile file, which is to be harmless too.
    let sound = entry.lines().filter(|line| !line.starts_with("notes")).map(|line| format!("{line}\n"));
    std::fs::write(bench.path().join("d.toml"), sound.collect::<String>()).unwrap();
    std::fs::write(bench.path().join("e.toml"), entry.replace("\"ours\"", &text)).unwrap();
    for catalogue in ["c.toml", "d.toml", "e.toml"] {
        all(
            &bench,
            &[
                &["promise", "alibaba:ours", "--volume-size", "50GiB", "--catalog", catalogue, "--offline"],
                &[
                    "promise",
                    "alibaba:ours",
                    "--volume-size",
                    "50GiB",
                    "--catalog",
                    catalogue,
                    "--offline",
                    "--json",
                ],
                &["promise", "--list", "--catalog", catalogue],
                &["promise", "--list", "--catalog", catalogue, "--json"],
                &["promise", "--search", "ours", "--catalog", catalogue],
                &["promise", "--need-iops", "5", "--catalog", catalogue],
            ],
        );
    }
}

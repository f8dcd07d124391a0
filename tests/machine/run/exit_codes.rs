//! The exit codes of every command that judges, end to end, and the page that documents them.

use volproof::exit::{self, Exit};

use crate::run::Bench;

const PL0: [&str; 4] = ["--promise", "alibaba:cloud_essd.PL0", "--volume-size", "40GiB"];

/// Random reads of a simulated volume with this cap, at a depth that decides. PL0 promises 2,280 IOPS to 40 GiB.
fn plan(bench: &Bench, cap: u32, seconds: u32, more: &str) {
    let text = format!(
        "[[step]]\nname = 'randread'\nengine = 'null'\niodepth = 1140\nruntime = '{seconds}s'\n\
         simulate = {{ latency = '500us', jitter = '100us', iops-cap = {cap}{more} }}"
    );
    std::fs::write(bench.path().join("p.toml"), text).unwrap();
}

/// Every command that judges a stored Record, and every output for pipelines, comes to the same.
fn every_door_says(bench: &Bench, file: &str, word: &str, code: i32) {
    bench.run(&["verdict", file]).ended(code);
    // The same promise typed again: the Record was asked to judge its simulated volume.
    bench.run(&[&["verdict", file][..], &PL0[..4]].concat()).ended(code);
    let line = bench.run(&["show", file, "--quiet"]).ended(0).out;
    assert!(line.starts_with(word), "{word}: {line}");
    let metrics = bench.run(&["show", file, "--openmetrics", "-"]).ended(0).out;
    let metric = |name: &str| {
        metrics.lines().any(|line| line.starts_with(name) && line.ends_with(&format!(" {code}")))
    };
    assert!(metric("volproof_verdict_exit_code{"), "{word}: {metrics}");
    let passes = metrics.lines().any(|line| line.contains("outcome=\"pass\"") && line.ends_with(" 1"));
    assert_eq!(passes, code == 0, "{word}: {metrics}");
    let outcome = bench.run(&["convert", file, "--to", "record"]).ended(0).out;
    let answers = ["PASS", "FAIL", "INCONCLUSIVE", "INVALID"];
    let due = if answers.contains(&word) { format!("\"{}\"", word.to_lowercase()) } else { "null".into() };
    assert!(outcome.contains(&format!("\"outcome\":{due},\"plan\"")), "{word}: {}", &outcome[..300]);
    let junit = bench.run(&["show", file, "--junit", "-"]).ended(0).out;
    assert_eq!(junit.contains("failures=\"0\" errors=\"0\""), code == 0, "{word}: {junit}");
}

#[test]
fn a_pipeline_accepts_nothing_but_a_kept_promise() {
    let bench = Bench::new();
    for (cap, seconds, more, word, code) in [
        (2300, 70, "", "PASS", 0),
        (1000, 70, "", "FAIL", 1),
        (2280, 3, "", "INCONCLUSIVE", 5),
        (2280, 70, ", others-iops = 1500", "INVALID", 6),
    ] {
        plan(&bench, cap, seconds, more);
        let run = ["run", "--plan", "p.toml", "--no-follow-up", "--json", "r.json"];
        let ran = bench.run(&[&run[..], &PL0].concat());
        assert!(ran.out.contains(word), "{word}:\n{}", ran.out);
        ran.ended(code);
        every_door_says(&bench, "r.json", word, code);
        for reader in ["show", "convert"] {
            let more: &[&str] = if reader == "convert" { &["--to", "csv"] } else { &[] };
            bench.run(&[&[reader, "r.json"][..], more].concat()).ended(0);
        }
        std::fs::copy(bench.path().join("r.json"), bench.path().join(format!("{word}.json"))).unwrap();
    }
    // How a run ended outweighs what was measured until then, whoever reads its Record.
    let passed = std::fs::read_to_string(bench.path().join("PASS.json")).unwrap();
    let end = |name: &str, state: &str| {
        let text = passed.replacen("\"state\":\"complete\"", &format!("\"state\":{state}"), 1);
        assert_ne!(text, passed);
        std::fs::write(bench.path().join(name), text).unwrap();
    };
    for (name, state, word, code) in [
        ("INTERRUPTED.json", "\"interrupted\"", "INTERRUPTED", 130),
        ("CUT.json", "\"running\"", "CUT OFF", 130),
        ("FAILED.json", "{\"failed\":\"step s: the device hangs\"}", "FAILED", 7),
    ] {
        end(name, state);
        every_door_says(&bench, name, word, code);
    }
    // What no step tested is not decided.
    std::fs::write(
        bench.path().join("w.toml"),
        "[[step]]\nname = 'w'\nengine = 'null'\nrw = 'trim'\nruntime = '1s'",
    )
    .unwrap();
    bench.run(&[&["run", "--plan", "w.toml", "--json", "r.json"][..], &PL0].concat()).ended(5);
    // Without a promise nothing is judged.
    plan(&bench, 1000, 60, "");
    bench.run(&["run", "--plan", "p.toml", "--json", "r.json"]).ended(0);
    assert_eq!(bench.record().outcome, None);
}

#[test]
fn figures_of_nothing_have_a_code_of_their_own() {
    let bench = Bench::new();
    bench.file("f.dat", 8);
    let cached =
        ["run", "f.dat", "--rw", "randread", "--buffered", "--runtime", "300ms", "-q", "--json", "r.json"];
    let ran = bench.run(&cached).ended(6);
    assert!(ran.out.starts_with("NOT VALID"), "{}", ran.out);
    assert_eq!(bench.record().outcome, None);
    let fio = ["fio", "--name=a", "--filename=f.dat", "--rw=randread", "--direct=0", "--size=8m"];
    bench.run(&fio).ended(0);
    let broken =
        ["run", "--simulate", "latency=1ms,error-every=100", "--rw", "randread", "--runtime", "1s", "-q"];
    bench.run(&[&broken[..], &["--json", "e.json"]].concat()).ended(7);
}

#[test]
fn the_million_is_judged_too() {
    let bench = Bench::new();
    bench.file("f.dat", 8);
    let promise = ["--promise", "alibaba:cloud_essd.PL1", "--volume-size", "100GiB", "--offline"];
    let words = ["million", "f.dat", "1", "1", "4k", "randread", "--runtime", "1s", "--tune", "off"];
    let ran = bench.run(&[&words[..], &["--json", "r.json"], &promise].concat());
    // A second decides nothing, and on some machines depth 1 cannot show so much.
    assert!(matches!(ran.code, Some(5 | 6)), "{:?}\n{}", ran.code, ran.out);
}

#[test]
fn the_page_has_the_table_of_the_program() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/exit-codes.md")).unwrap();
    let row =
        |(exit, meaning, next): &(Exit, &str, &str)| format!("| {} | {meaning} | {next} |\n", exit.code());
    let rows: String = exit::TABLE.iter().map(row).collect();
    let table = format!("| code | meaning | what to do |\n|---|---|---|\n{rows}");
    assert!(page.contains(&table), "docs/exit-codes.md should hold:\n{table}");
    let help = Bench::new().run(&["--help"]).ended(0).out;
    for (exit, meaning, _) in exit::TABLE {
        let start = format!("  {:<4}{}", exit.code(), meaning.split(',').next().unwrap());
        assert!(help.contains(&start), "'{start}' is not in:\n{help}");
    }
}

//! The exit codes of every command that judges, end to end, and the page that documents them.

use volproof::exit::{self, Exit};

use crate::Bench;

const PL0: [&str; 5] = ["--promise", "alibaba:cloud_essd.PL0", "--volume-size", "40GiB", "--judge-simulated"];

/// Random reads of a simulated volume with this cap. PL0 promises 2,280 IOPS to 40 GiB.
fn plan(bench: &Bench, cap: u32, seconds: u32, more: &str) {
    let text = format!(
        "[[step]]\nname = 'randread'\nengine = 'null'\niodepth = 128\nruntime = '{seconds}s'\n{more}\n\
         simulate = {{ latency = '500us', jitter = '100us', iops-cap = {cap} }}"
    );
    std::fs::write(bench.path().join("p.toml"), text).unwrap();
}

#[test]
fn a_pipeline_accepts_nothing_but_a_kept_promise() {
    let bench = Bench::new();
    for (cap, seconds, more, word, code) in [
        (2300, 70, "", "PASS", 0),
        (1000, 70, "", "FAIL", 1),
        (2280, 3, "", "INCONCLUSIVE", 5),
        (2280, 70, "rate-iops = 300", "INVALID", 6),
    ] {
        plan(&bench, cap, seconds, more);
        let ran = bench.run(&[&["run", "--plan", "p.toml", "--json", "r.json"][..], &PL0].concat());
        assert!(ran.out.contains(word), "{word}:\n{}", ran.out);
        ran.ended(code);
        bench.run(&["verdict", "r.json"]).ended(code);
        bench.run(&[&["explain", "r.json"][..], &PL0].concat()).ended(code);
        for reader in ["show", "convert"] {
            let more: &[&str] = if reader == "convert" { &["--to", "csv"] } else { &[] };
            bench.run(&[&[reader, "r.json"][..], more].concat()).ended(0);
        }
        std::fs::copy(bench.path().join("r.json"), bench.path().join(format!("{word}.json"))).unwrap();
    }
    // Of several files the gravest verdict counts.
    bench.run(&["explain", "PASS.json", "INCONCLUSIVE.json"]).ended(5);
    bench.run(&["explain", "INVALID.json", "INCONCLUSIVE.json", "PASS.json"]).ended(6);
    bench.run(&["explain", "INVALID.json", "FAIL.json"]).ended(1);
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

//! Whatever a result of a simulated volume recommends can be run as it stands, and a deeper run is recommended no more than twice.

use std::collections::BTreeSet;
use std::path::Path;

use clap::CommandFactory;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde_json::Value;
use volproof::cli::Cli;

use super::{Lab, Volume, sentences};

/// The volumes that are drawn, and the commands of theirs that are followed.
const VOLUMES: usize = 36;
const FOLLOWED: usize = 16;

/// The text members of a verdict, wherever they are.
fn texts(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|v| texts(v, out)),
        Value::Object(table) => table.values().for_each(|v| texts(v, out)),
        _ => {}
    }
}

/// The commands of claims and of what is untested.
fn commands(verdict: &Value) -> Vec<String> {
    let of = |key: &str| verdict["verdict"][key].as_array().cloned().unwrap_or_default();
    let all = of("claims").into_iter().chain(of("untested"));
    all.filter_map(|entry| entry["command"].as_str().map(String::from)).collect()
}

/// The command with its result in a file; a simulated target needs no consent.
fn followed(lab: &Lab, line: &str) -> Value {
    let words = shlex::split(line).unwrap_or_else(|| panic!("no shell reads {line}"));
    assert_eq!(words[..2], ["volproof", "run"], "{line}");
    let more = ["--json", "next.json", "-q", "--offline"].map(String::from);
    let words: Vec<String> = words.into_iter().skip(1).chain(more).collect();
    let _ = std::fs::remove_file(lab.folder().join("next.json"));
    let (_, errors) = lab.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(Path::new(&lab.folder().join("next.json")).exists(), "{line}: {errors}");
    lab.verdict("next.json")
}

fn is_shallow(verdict: &Value) -> bool {
    let claims = verdict["verdict"]["claims"].as_array().cloned().unwrap_or_default();
    claims.iter().any(|claim| claim["blocker"] == "could-not-reach")
}

/// Names of options in a text: `--numjobs`.
fn options(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    words.filter(|word| word.len() > 3 && word.starts_with("--") && word.as_bytes()[2].is_ascii_alphabetic())
}

/// The options that volproof's commands that measure or judge know.
fn known() -> BTreeSet<String> {
    let cli = Cli::command();
    let names = |command: &clap::Command| {
        let long = command.get_arguments().flat_map(|a| {
            let aliases = a.get_all_aliases().unwrap_or_default();
            a.get_long().into_iter().chain(aliases).map(|name| format!("--{name}")).collect::<Vec<_>>()
        });
        long.collect::<Vec<_>>()
    };
    cli.get_subcommands()
        .filter(|c| ["run", "verdict", "plan"].contains(&c.get_name()))
        .flat_map(names)
        .collect()
}

#[test]
fn every_recommended_command_runs_and_decides() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(77);
    let mut volumes: Vec<Volume> = (0..VOLUMES).map(|i| sentences::random(&mut rng, i)).collect();
    // Served at a constant rate, so that each depth shows a latency that explains the rate.
    for depth in [4, 16, 64] {
        let queue = "latency=1ms,iops-cap=200,cap-period=1ms";
        volumes.push(Volume::new("constant rate", "plain", 120, &format!("iodepth={depth}"), queue));
    }
    volumes.push(Volume::new("one at a time", "plain", 120, "iodepth=1", "latency=4ms"));
    let lab = Lab::with_all_types();
    let known = known();
    let (mut all, mut shallow) = (BTreeSet::new(), 0);
    for volume in &volumes {
        let verdict = lab.judged(volume);
        let mut said = Vec::new();
        texts(&verdict, &mut said);
        for option in said.iter().flat_map(|text| options(text)) {
            assert!(known.contains(option), "{option} is recommended and unknown: {said:#?}");
        }
        let first = commands(&verdict);
        for line in &first {
            assert!(line.contains(" --simulate latency="), "the command is for another device: {line}");
        }
        if is_shallow(&verdict) {
            shallow += 1;
            let second = followed(&lab, &first[0]);
            if is_shallow(&second) {
                let third = followed(&lab, &commands(&second)[0]);
                assert!(!is_shallow(&third), "{volume:?}: a third deeper run is recommended: {third:#}");
            }
        }
        all.extend(first);
    }
    assert!(shallow >= 3, "only {shallow} volumes were driven with too little depth");
    assert!(all.len() >= 10, "{all:?}");
    for line in all.iter().take(FOLLOWED) {
        followed(&lab, line);
    }
}

//! `compare` from the command line: results of devices in virtual time, and of two ways to run.

use serde_json::Value;

use crate::work_folder::WorkFolder;

impl WorkFolder {
    /// The exit code and the JSON of a comparison.
    fn compared(&self, words: &str) -> (i32, Value) {
        let ran = self.volproof(&format!("compare --json {words}"));
        let told = String::from_utf8_lossy(&ran.stderr).into_owned();
        let value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|e| panic!("{words}: {e}: {told}"));
        (ran.status.code().unwrap(), value)
    }
}

fn rate(comparison: &Value) -> &Value {
    let rows = comparison["rows"].as_array().unwrap();
    rows.iter().find(|row| row["figure"] == "iops").unwrap()
}

#[test]
fn a_planted_change_is_worse_and_none_is_kept() {
    let folder = WorkFolder::new();
    for seed in 1..=4 {
        folder.run(&format!("a{seed}.json"), "500us", 30, seed);
        folder.run(&format!("b{seed}.json"), "600us", 30, 10 + seed);
        folder.run(&format!("c{seed}.json"), "500us", 30, 20 + seed);
    }
    let (code, worse) =
        folder.compared("--gate 5% a1.json a2.json a3.json a4.json -- b1.json b2.json b3.json b4.json");
    assert_eq!((code, &worse["gate"]["word"]), (1, &"worse".into()), "{worse:#}");
    let ratio = rate(&worse)["change"]["ratio"].as_f64().unwrap();
    assert!((ratio - 5.0 / 6.0).abs() < 0.02, "{ratio}");
    assert_eq!(worse["differs"][0]["what"], "simulated volume", "{worse:#}");
    let (code, kept) =
        folder.compared("--gate 5% a1.json a2.json a3.json a4.json -- c1.json c2.json c3.json c4.json");
    assert_eq!((code, &kept["gate"]["word"]), (0, &"kept".into()), "{kept:#}");
    // The other way round it is better, which no gate minds.
    let (code, better) = folder.compared("--gate 5% b1.json b2.json -- a1.json a2.json a3.json");
    assert_eq!((code, rate(&better)["gate"].as_str()), (0, Some("kept")), "{better:#}");

    let ran = folder
        .volproof("compare a1.json b1.json --gate 5% --html p.html --junit j.xml --markdown m.md --github");
    assert_eq!(ran.status.code(), Some(1), "{}", String::from_utf8_lossy(&ran.stdout));
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(text.starts_with("WORSE  ") && text.contains("::error title=randread IOPS::"), "{text}");
    assert!(text.lines().filter(|l| !l.starts_with("::")).all(|l| l.chars().count() <= 80), "{text}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let junit = read("j.xml");
    let parsed = roxmltree::Document::parse(&junit).unwrap();
    assert!(parsed.descendants().any(|node| node.has_tag_name("failure")), "{junit}");
    assert!(read("m.md").contains("| randread IOPS |"));
    let page = read("p.html");
    assert!(
        page.contains("class=\"before\"") && page.contains("class=\"after\"") && !page.contains("<script")
    );
}

#[test]
fn two_ways_to_run_are_compared_in_pairs() {
    let folder = WorkFolder::new();
    let same = "--simulate latency=500us,noise=0.01 --rw randread --runtime 10s";
    let (code, found) =
        folder.compared(&format!("--run 3 --records pairs -- {same} --iodepth 4 -- {same} --iodepth 8"));
    assert_eq!(code, 0, "{found:#}");
    assert_eq!(rate(&found)["change"]["basis"], "pairs", "{found:#}");
    let ratio = rate(&found)["change"]["ratio"].as_f64().unwrap();
    assert!((ratio - 2.0).abs() < 0.1, "{ratio}");
    assert_eq!(std::fs::read_dir(folder.path().join("pairs")).unwrap().count(), 6, "each run has its Record");
}

#[test]
fn what_cannot_be_compared_is_refused_by_what_differs() {
    let folder = WorkFolder::new();
    folder.run("a.json", "500us", 30, 1);
    let other = folder.volproof(
        "run --simulate latency=500us --rw randread --iodepth 4 --runtime 10s -q --json other.json",
    );
    assert!(other.status.success());
    let cases = [
        ("a.json other.json", 6, "queue depth 8 and 4"),
        ("a.json", 2, "two groups"),
        ("a.json a.json a.json", 2, "where the second group begins"),
        ("a.json -- a.json --gate 5%", 2, "put options first"),
        ("a.json none.json", 2, "none.json"),
        ("--gate 5% --run 2 -- --rw randread", 2, "--run takes the options of two runs"),
    ];
    for (words, code, said) in cases {
        let ran = folder.volproof(&format!("compare {words}"));
        let told = String::from_utf8_lossy(&ran.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(ran.status.code(), Some(code), "{words}: {told}");
        assert!(told.contains(said), "{words}: {told}");
    }
}

/// Two steps of half a minute.
const TWO: &str = "name = 'two'\n[defaults]\nruntime = '30s'\niodepth = 32\n\
                   [[step]]\nname = 'a'\nrw = 'randread'\n[[step]]\nname = 'b'\nrw = 'randwrite'\n";

#[test]
fn a_gate_answers_for_each_step_of_sound_runs() {
    let folder = WorkFolder::new();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("two.toml", TWO);
    write("renamed.toml", &TWO.replace("'b'", "'c'"));
    write("more.toml", &format!("{TWO}[[step]]\nname = 'c'\nrw = 'read'\n"));
    write("larger.toml", &TWO.replace("'randwrite'", "'randwrite'\nbs = '8k'"));
    let run = |plan: &str, volume: &str, record: &str, code: i32| {
        let ran = folder.volproof(&format!(
            "run --plan {plan} --simulate latency=500us,iops-cap=3000,noise=0.02{volume} -q --continue-on-error --json {record} --junit {record}.xml"
        ));
        assert_eq!(ran.status.code(), Some(code), "{record}: {}", String::from_utf8_lossy(&ran.stdout));
        let junit = std::fs::read_to_string(folder.path().join(format!("{record}.xml"))).unwrap();
        assert_eq!(junit.contains("<error "), code != 0, "{record}: {junit}");
    };
    run("two.toml", "", "before.json", 0);
    run("two.toml", "", "same.json", 0);
    run("more.toml", "", "more.json", 0);
    run("two.toml", ",stall-at=30s,stall-for=1000s", "dead.json", 7);
    run("two.toml", ",error-every=1000", "errors.json", 0);
    run("larger.toml", "", "larger.json", 0);
    run("renamed.toml", "", "renamed.json", 0);
    let whole = std::fs::read_to_string(folder.path().join("same.json")).unwrap();
    let mut cut: Value = serde_json::from_str(&whole).unwrap();
    cut["state"] = "interrupted".into();
    write("cut.json", &cut.to_string());
    for (after, word, code) in [
        ("same", "KEPT", 0),
        ("more", "KEPT", 0),
        ("dead", "WORSE", 1),
        ("errors", "NOT COMPARABLE", 6),
        ("larger", "NOT COMPARABLE", 6),
        ("renamed", "NOT COMPARABLE", 6),
        ("cut", "NOT COMPARABLE", 6),
    ] {
        let ran =
            folder.volproof(&format!("compare before.json {after}.json --gate 10% --junit j.xml --force"));
        let text = String::from_utf8(ran.stdout).unwrap();
        assert!(text.starts_with(word), "{after}: {text}");
        assert_eq!(ran.status.code(), Some(code), "{after}: {text}");
        let junit = std::fs::read_to_string(folder.path().join("j.xml")).unwrap();
        assert_eq!(junit.contains("<failure ") || junit.contains("<error "), code != 0, "{after}: {junit}");
        if code == 6 {
            let (code, turned) = folder.compared(&format!("--gate 10% {after}.json before.json"));
            assert_eq!(code, 6, "{after}: {turned:#}");
        }
    }
    let (code, turned) = folder.compared("--gate 10% dead.json before.json");
    assert_eq!(code, 6, "a dead baseline holds nothing: {turned:#}");
}

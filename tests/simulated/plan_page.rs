//! `docs/plan.md` is made from the declaration of the options, and describes every key.

use std::fmt::Write;

use volproof::plan::key::KeyPlace;
use volproof::plan::{Simulated, Step, keys, parse_file};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/plan.md");

const HEAD: &str = "# Plan files

A plan file is TOML. `volproof run TARGET --plan FILE` runs it; `volproof plan TARGET --plan FILE` shows what it would do.

```toml
name = 'oltp'              # name of the plan; the name of the file by default
seed = 3                   # seed of the random numbers
file-size = '64g'          # size of a test file made in a folder; from free space and memory by default
continue-on-error = false  # count I/O errors and go on

[defaults]                 # options of every step
runtime = '5m'
bs = '16k'

[[step]]                   # the steps, one after another unless `start` says otherwise
name = 'pages'
rw = 'randrw'
rwmix = 70
iodepth = 32

[[step]]
name = 'log'
rw = 'write'
bs = '8k'
fsync = 1
```

Steps follow one another unless they say `start = \"with-previous\"` (all such steps run together) or `start = \"after:NAME\"` (when that
earlier step has ended); `delay = \"5s\"` waits on top, and `targets = [\"a.dat\"]` gives a step targets of its own. Every output marks
steps that ran together: on one disk they show how they share it, not what the disk can do.

Sizes take k, m, g, t (1024-based) or KiB, MB and so on; times take ns, us, ms, s, m, h. Options marked with -- can also be given on the
command line, where they change every step of the plan. A key that would change nothing in its step, such as `rwmix` of reads alone, is
refused with the way out, and so is `file-size` where no target is a folder.

<!-- The rest is made from crates/plan/src/step.rs: UPDATE_PLAN=1 cargo test --test simulated plan_page -->
";

fn page() -> String {
    let mut text = HEAD.to_string();
    let mut heading = "";
    let all: Vec<_> = keys().collect();
    let mut headings: Vec<&str> = Vec::new();
    for key in &all {
        if !headings.contains(&key.heading) {
            headings.push(key.heading);
        }
    }
    for key in headings.iter().flat_map(|h| all.iter().filter(move |key| key.heading == *h)) {
        if key.heading != heading {
            heading = key.heading;
            let _ =
                writeln!(text, "\n## {heading}\n\n| key | default | example | meaning |\n|---|---|---|---|");
        }
        let dashes = if key.place == KeyPlace::Both { "--" } else { "" };
        let default = key.default_text().filter(|text| !text.is_empty() && text != "[]");
        let default = default.map(|text| format!("`{text}`")).unwrap_or_default();
        let about: Vec<&str> = key.about.lines().map(str::trim).collect();
        let mut about = about.join(" ").replace("  ", ". ").trim().trim_end_matches('.').replace('|', "\\|");
        if let [first, rest @ ..] = key.aliases {
            let others: String = rest.iter().map(|alias| format!(", `{alias}`")).collect();
            let _ = write!(about, ". Also `{first}`{others}");
        }
        let _ = writeln!(text, "| `{dashes}{}` | {default} | `{}` | {about} |", key.name(), key.example);
    }
    text.push_str(
        "\n## Keys of `simulate`\n\nAll jobs on a target share one simulated device. Steps with the same keys meet the same device one after another, as they left it: credits, touched\nblocks, stalls and changes of the speed go on, on one clock that begins with the first step of the run; the `delay` of a step is time on it too. Steps\nthat run together have a device each. In a step that goes through the page cache and flushes, writes wait in memory, and their flush\ncarries them out.\n\n| key | meaning |\n|---|---|\n",
    );
    let schema = schemars::schema_for!(Simulated);
    for (name, property) in schema.get("properties").and_then(|p| p.as_object()).expect("a table") {
        let about = property["description"].as_str().expect("a description");
        let _ = writeln!(text, "| `{name}` | {} |", about.replace('\n', " ").trim_end_matches('.'));
    }
    text
}

#[test]
fn the_page_of_plan_keys_is_current() {
    let now = page();
    if std::env::var_os("UPDATE_PLAN").is_some() {
        std::fs::write(PAGE, &now).unwrap();
    }
    assert!(
        std::fs::read_to_string(PAGE).unwrap() == now,
        "docs/plan.md is not what crates/plan/src/step.rs declares: run UPDATE_PLAN=1 cargo test --test simulated plan_page, and read the difference"
    );
}

#[test]
fn the_example_of_the_page_is_a_plan() {
    let toml = HEAD.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let plan = parse_file(toml, "page").unwrap();
    assert_eq!((plan.name.as_str(), plan.steps.len(), plan.problem()), ("oltp", 2, None));
}

#[test]
fn every_example_changes_its_key() {
    // Some keys are refused in steps in which they would change nothing.
    let bases = ["", "rw = 'randrw'", "rate-iops = 100", "rw = 'randwrite'", "rw = 'read'", "rw = 'write'"];
    let step_of = |text: &str| parse_file(text, "t").map(|plan| plan.steps[0].clone());
    let json = |step: &Step| serde_json::to_value(step).unwrap();
    for key in keys() {
        for name in
            [key.name(), key.field.to_string()].into_iter().chain(key.aliases.iter().map(|a| a.to_string()))
        {
            let line = format!("{name} = {}\n", key.example);
            let with_line = |base: &&str| {
                let without = format!("[[step]]\n{base}\n");
                Some((step_of(&without).ok()?, step_of(&(without + &line)).ok()?))
            };
            let found = bases.iter().find_map(with_line);
            let (without, step) =
                found.unwrap_or_else(|| panic!("{line}: {:?}", step_of(&format!("[[step]]\n{line}")).err()));
            assert_ne!(json(&step), json(&without), "{line}");
            let back: Step = serde_json::from_value(json(&step)).unwrap();
            assert_eq!(back, step, "{line}");
        }
    }
}

#[test]
fn a_step_that_says_nothing_special_is_short() {
    let json = serde_json::to_value(Step::default()).unwrap();
    for key in Step::KEYS {
        let special = key.place == KeyPlace::File && key.field != "name";
        assert!(!special || json.get(key.field).is_none(), "{} says nothing and is there", key.field);
    }
    assert_eq!(json["iodepth"], 1);
}

#[test]
fn an_unknown_key_has_a_near_one() {
    let e = parse_file("[[step]]\nrw = 'read'\nramptime = '3s'\n", "t").unwrap_err().to_string();
    assert!(e.contains("line 3") && e.contains("did you mean `ramp"), "{e}");
    let e = parse_file("[[step]]\niodepth = -4\n", "t").unwrap_err().to_string();
    assert!(e.contains("line 2") && e.contains("'-4' is not a whole number"), "{e}");
}

//! Suites as a user types and reads them.

use volproof::record::{Record, State};

use crate::course::typed::{undated, volproof};

const DEVICE: &str = "latency=300us,jitter=100us,iops-cap=200,bytes-cap=64MB";

#[test]
fn the_contract_says_beforehand_what_it_will_do() {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, err) =
        volproof(dir.path(), &["suite", "essd-contract", ".", "--file-size", "64m", "--dry-run"]);
    assert_eq!(code, Some(0), "{err}");
    insta::assert_snapshot!("suite-dry-run", out);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is made");
}

#[test]
fn a_suite_of_rounds_prints_its_answer_and_show_prints_it_again() {
    let dir = tempfile::tempdir().unwrap();
    let suite = ["suite", "snia-lat", "--simulate", DEVICE, "--runtime", "10s", "--size", "16m"];
    let (code, out, err) =
        volproof(dir.path(), &[&suite[..], &["--json", "r.json", "--csv", "r.csv"]].concat());
    assert_eq!(code, Some(0), "{out}\n{err}");
    let (_, markdown, _) = volproof(dir.path(), &["show", "r.json", "--markdown", "-"]);
    assert!(markdown.starts_with("**PASS** The one check of snia-lat passes."), "{markdown}");
    assert!(markdown.contains("PASS         latency: steady state of 4KiB-0r (mean latency)"), "{markdown}");
    let (_, record) = out.split_once("\n\n").unwrap();
    assert!(record.lines().all(|line| line.chars().count() <= 80), "{record}");
    insta::assert_snapshot!("suite", undated(record));
    let (code, shown, _) = volproof(dir.path(), &["show", "r.json"]);
    assert_eq!((code, shown.as_str()), (Some(0), record));
    let csv = std::fs::read_to_string(dir.path().join("r.csv")).unwrap();
    assert!(csv.starts_with("step,direction,") && csv.contains("\nlatency-4KiB-0r"), "{csv}");
    let columns = |line: &str| line.split(',').count();
    assert!(csv.lines().all(|line| columns(line) == columns(csv.lines().next().unwrap())), "{csv}");
}

#[test]
fn an_interrupted_suite_goes_on_where_it_stood() {
    let dir = tempfile::tempdir().unwrap();
    let suite = ["suite", "snia-lat", "--simulate", DEVICE, "--runtime", "10s", "--size", "16m"];
    let run = |more: &[&str]| volproof(dir.path(), &[&suite[..], more].concat());
    let (code, whole, err) = run(&["--json", "whole.json"]);
    assert_eq!(code, Some(0), "{err}");
    let mut part = Record::load(&dir.path().join("whole.json")).unwrap();
    let all = part.steps.len();
    part.steps.truncate(all / 2);
    part.state = State::Interrupted;
    std::fs::write(dir.path().join("part.json"), serde_json::to_vec(&part).unwrap()).unwrap();
    let (code, resumed, err) = run(&["--resume", "part.json", "--json", "resumed.json"]);
    assert_eq!(code, Some(0), "{err}");
    // The later rounds met a volume that was born anew, so that figures differ within its noise.
    let passes = "The one check of snia-lat passes";
    assert!(whole.contains(passes) && resumed.contains(passes), "{whole}{resumed}");
    let resumed = Record::load(&dir.path().join("resumed.json")).unwrap();
    assert_eq!((resumed.steps.len(), resumed.resumed_after.len()), (all, 1));
    let earlier = format!("resumed, with {} steps, ", all / 2);
    let (_, shown, _) = volproof(dir.path(), &["show", "resumed.json"]);
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&earlier) && words.contains("from the run that began 20"), "{shown}");
    let (_, page, _) = volproof(dir.path(), &["report", "resumed.json", "-o", "-"]);
    assert!(page.contains(&earlier), "the page says it too");
    // Another range is another suite.
    let other = ["suite", "snia-lat", "--simulate", DEVICE, "--runtime", "10s", "--size", "32m"];
    let (code, _, err) = volproof(dir.path(), &[&other[..], &["--resume", "part.json"]].concat());
    assert!(code == Some(2) && err.contains("16") && err.contains("32"), "{err}");
}

#[test]
fn a_procedure_is_held_against_the_promise() {
    let dir = tempfile::tempdir().unwrap();
    let run = |device: &str| {
        let suite =
            ["suite", "provider:gcp", "--simulate", device, "--size", "1g", "--promise", "gcp:pd-ssd"];
        let volume = ["--volume-size", "10GiB", "--json", "r.json", "--details"];
        volproof(dir.path(), &[&suite[..], &volume].concat())
    };
    // 6,000 + 30 x 10 IOPS are promised.
    let (code, out, err) = run("latency=1ms,iops-cap=200,bytes-cap=20MB");
    assert_eq!(code, Some(1), "{out}\n{err}");
    assert!(out.contains("FAIL") && out.contains("200 of 6,300 IOPS"), "{out}");
    assert!(out.contains("Benchmark Persistent Disk performance"), "{out}");
}

#[test]
fn a_procedure_tells_its_promise_and_holds_the_latency_against_it() {
    let dir = tempfile::tempdir().unwrap();
    let run = |more: &[&str]| {
        let device = "latency=5ms,iops-cap=2850,bytes-cap=136000000";
        let suite = ["suite", "provider:alibaba", "--simulate", device];
        let promise = ["--promise", "alibaba:cloud_essd.PL1", "--volume-size", "20GiB", "--json", "r.json"];
        volproof(dir.path(), &[&suite[..], &promise, &["--offline", "--details"], more].concat())
    };
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    // One pass over the range takes less than a second at the promised throughput.
    let (code, out, err) = run(&["--tolerance", "15", "--size", "64MiB"]);
    assert_eq!(code, Some(5), "{out}{err}");
    let words = flat(&out);
    assert!(words.contains("against alibaba:cloud_essd.PL1, 20 GiB, tolerance 15 %"), "{out}");
    assert!(words.contains("5.00 ms in the mean, where 200 us are promised"), "{out}");
    assert!(words.contains("2,800 IOPS at 4 KiB, with a tolerance of 15 %"), "{out}");
    assert!(words.contains("(--runtime 300s)"), "{out}");
    assert!(words.contains("held against nothing") && words.contains("latency-randread-4KiB"), "{out}");
    for output in
        [["show", "r.json", "--quiet"], ["show", "r.json", "--details"], ["report", "r.json", "-o-"]]
    {
        let (_, out, err) = volproof(dir.path(), &output);
        assert!(flat(&out).contains("20 GiB, tolerance 15 %"), "{output:?}: {out}{err}");
    }
    for form in ["--markdown", "--junit"] {
        let (_, out, err) = volproof(dir.path(), &["show", "r.json", form, "-"]);
        assert!(out.contains("20 GiB, tolerance 15 %"), "{form}: {out}{err}");
    }
    let (code, out, err) = run(&["--runtime", "60s"]);
    assert_eq!(code, Some(5), "a latency at full speed decides nothing: {out}{err}");
    assert_eq!(out.lines().filter(|line| line.starts_with("PASS  ")).count(), 4, "the rates: {out}");
}

#[test]
fn every_procedure_fits_a_small_target() {
    let dir = tempfile::tempdir().unwrap();
    for provider in ["alibaba", "aws", "gcp", "azure", "oci"] {
        let suite = ["suite", &format!("provider:{provider}"), ".", "--file-size", "64m", "--dry-run"];
        let (code, out, err) = volproof(dir.path(), &suite);
        assert!(code == Some(0) && out.contains("time     "), "{provider}: {out}\n{err}");
    }
}

#[test]
fn a_procedure_has_the_outcomes_and_the_reasons_of_the_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let stops = "latency=200us,cap-period=10ms,iops-cap=4500,bytes-cap=260MB,stall-at=1s,stall-for=1900ms,stall-every=4s";
    let much = "latency=200us,iops-cap=2700,cap-period=1ms";
    // A volume that is dead for a second of each four, and one that gives more than the type can give.
    for (device, says) in [
        (stops, "the mean is kept, but for 45.6 % of the time requests waited"),
        (much, "of what is promised at this size"),
    ] {
        let suite = ["suite", "provider:alibaba", "--simulate", device, "--offline"];
        let promise = ["--promise", "alibaba:cloud_essd.PL0", "--volume-size", "40GiB"];
        let (_, out, err) = volproof(dir.path(), &[&suite[..], &promise].concat());
        let (_, random) =
            out.split_once("cloud-disk-random-IOPS-randread").unwrap_or_else(|| panic!("{out}{err}"));
        let words: Vec<&str> = random.split_whitespace().collect();
        assert!(words.join(" ").contains(says), "{out}");
        let passes = |line: &str| line.starts_with("PASS") && !line.contains("latency");
        assert!(!out.lines().any(passes), "{out}");
    }
}

#[test]
fn a_suite_that_cannot_be_is_refused_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("data"), vec![1; 1 << 20]).unwrap();
    std::fs::write(dir.path().join("none.json"), "{}").unwrap();
    for (arguments, code, says) in [
        (&["essd", "--simulate", DEVICE][..], 2, "the suites are essd-contract, snia-iops"),
        (&["provider:acme", "--simulate", DEVICE], 2, "the providers are alibaba, aws, gcp, azure, oci"),
        (&["snia-iops", "data"], 3, "Give --overwrite"),
        (&["snia-iops", "--simulate", DEVICE, "--runtime", "5s"], 2, "--runtime 10s or more"),
        (
            &["snia-iops", "--simulate", DEVICE, "--budget", "1m"],
            2,
            "--budget 60s is too short: snia-iops takes",
        ),
        (&["snia-iops", "--simulate", DEVICE, "--bs", "4k"], 2, "--bs"),
        (&["essd-contract", "--simulate", DEVICE, "--reference", "none.json"], 2, "none.json"),
        (&["snia-hir", "data"], 2, "snia-hir is gone"),
        (&["saturation", "data"], 2, "volproof sweep TARGET --iodepth 1..256 --numjobs 1..8"),
        (&["snia-lat"], 2, "name a target"),
    ] {
        let (found, out, err) = volproof(dir.path(), &[&["suite"][..], arguments].concat());
        assert_eq!(found, Some(code), "{arguments:?}\n{out}\n{err}");
        assert!(err.contains(says), "{arguments:?}: {err}");
    }
}

#[test]
fn a_budget_shortens_a_suite_and_says_what_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let suite =
        ["suite", "essd-contract", "--simulate", DEVICE, "--size", "64g", "--budget", "1h", "--dry-run"];
    let (code, out, err) = volproof(dir.path(), &suite);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("left out") && out.contains("time     "), "{out}");
    let time = out.lines().last().unwrap();
    assert!(time.contains(" min "), "{time}");
}

#[test]
fn run_and_plan_take_a_suite_by_its_option() {
    let dir = tempfile::tempdir().unwrap();
    let load = ["--simulate", DEVICE, "--size", "1g"];
    let plan = |words: &[&str]| {
        let (code, out, err) = volproof(dir.path(), &[words, &load[..]].concat());
        assert_eq!(code, Some(0), "{err}");
        out
    };
    let own = plan(&["suite", "essd-contract", "--dry-run"]);
    assert_eq!(plan(&["plan", "--suite", "essd-contract"]), own);
    assert_eq!(plan(&["run", "--suite=essd-contract", "--dry-run"]), own);
}

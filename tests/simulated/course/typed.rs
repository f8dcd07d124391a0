//! Courses as a user types and reads them.

use std::path::Path;
use std::process::Command;

use volproof::record::{CourseAnswer, Record, State};

/// Exit code, standard output and standard error of volproof in a folder.
pub fn volproof(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let out =
        Command::new(env!("CARGO_BIN_EXE_volproof")).args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (out.status.code(), text(out.stdout), text(out.stderr))
}

const DEVICE: &str = "latency=1ms,jitter=200us,iops-cap=2000,bytes-cap=64MB";

/// A result without the time at which it began.
pub fn undated(record: &str) -> String {
    record.lines().map(|line| line.split(", 20").next().unwrap().to_string() + "\n").collect()
}

#[test]
fn a_sweep_prints_its_answer_and_show_prints_it_again() {
    let dir = tempfile::tempdir().unwrap();
    let sweep =
        ["sweep", "--simulate", DEVICE, "--iodepth", "1..64", "--bs", "4k..256k:84k", "--runtime", "10s"];
    let (code, out, err) =
        volproof(dir.path(), &[&sweep[..], &["--json", "r.json", "--csv", "r.csv"]].concat());
    assert_eq!(code, Some(0), "{out}\n{err}");
    let (before, record) = out.split_once("\n\n").unwrap();
    assert_eq!(before, "time     likely 5 min 36 s for 28 steps; 6 min 24 s for 32 steps at most");
    assert!(record.lines().all(|line| line.chars().count() <= 80), "{record}");
    insta::assert_snapshot!("sweep", undated(record));
    let (code, shown, _) = volproof(dir.path(), &["show", "r.json"]);
    assert_eq!((code, shown.as_str()), (Some(0), record));
    // The answer in a file is not believed: it is made again of the steps.
    let text = std::fs::read_to_string(dir.path().join("r.json")).unwrap();
    let mut edited: serde_json::Value = serde_json::from_str(&text).unwrap();
    edited["answer"]["sweep"]["sentence"] = "9,000 IOPS is the most.".into();
    assert_ne!(edited["answer"], serde_json::from_str::<serde_json::Value>(&text).unwrap()["answer"]);
    std::fs::write(dir.path().join("edited.json"), edited.to_string()).unwrap();
    assert_eq!(volproof(dir.path(), &["show", "edited.json"]).1.replace("edited.json", "r.json"), record);
    let csv = std::fs::read_to_string(dir.path().join("r.csv")).unwrap();
    assert!(
        csv.starts_with("rw,block_bytes,iodepth,numjobs,") && csv.contains("\nrandread,4096,1,1,,1,"),
        "{csv}"
    );
}

#[test]
fn the_most_stands_beside_the_promise_and_a_burst_is_called_so() {
    let dir = tempfile::tempdir().unwrap();
    let run = |device: &str, more: &[&str]| {
        let sweep = ["sweep", "--simulate", device, "--iodepth", "1..64", "--runtime", "10s", "--offline"];
        let (code, out, err) = volproof(dir.path(), &[&sweep[..], more].concat());
        (code, (out + &err).split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let gp2 = ["--promise", "aws:gp2", "--volume-size", "100GiB"];
    let (code, out) = run("latency=1ms,iops-cap=300,burst-iops=3000,burst-ios=5000000", &gp2);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("300 IOPS are promised at 4 KiB, and the most is 1,000 % of them: the type bursts for up to 33 min"), "{out}");
    let (_, out) = run("latency=1ms,iops-cap=12000", &["--promise", "aws:gp3", "--volume-size", "100GiB"]);
    assert!(
        out.contains(
            "of what is promised at this size: name the right type, and what was bought beside it (--iops"
        ),
        "{out}"
    );
    let (_, out) = run("latency=1ms,iops-cap=3000", &["--promise", "aws:gp3", "--volume-size", "100GiB"]);
    assert!(out.contains("is 100 % of them; a sweep judges nothing"), "{out}");
    for option in [&["--tolerance", "5"][..], &["--min-share", "99"], &["--promise-burst"]] {
        let (code, out) = run("latency=1ms", &[&gp2[..], option].concat());
        assert!(code == Some(2) && out.contains("a sweep gives none"), "{option:?} {out}");
    }
}

#[test]
fn dead_time_within_points_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let device = "latency=1ms,jitter=200us,iops-cap=2000,stall-at=1s,stall-for=1900ms,stall-every=4s";
    let sweep = ["sweep", "--simulate", device, "--iodepth", "1..4", "--runtime", "20s"];
    let (code, out, err) =
        volproof(dir.path(), &[&sweep[..], &["--csv", "r.csv", "--json", "r.json"]].concat());
    assert_eq!(code, Some(0), "{out}\n{err}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("; the volume delivered nothing for up to 45.0 % of the time."), "{out}");
    assert!(words.contains("points marked ~ (3 of 3)") && out.contains("\n~ depth 4"), "{out}");
    let csv = std::fs::read_to_string(dir.path().join("r.csv")).unwrap();
    assert!(
        csv.contains(",dead_share,spoilt_by,whole,simulated,started\n") && csv.contains(",0.450,,yes,yes,"),
        "{csv}"
    );
}

#[test]
fn a_rate_that_no_block_size_changes_is_called_so_and_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = ["sweep", "--simulate", "latency=2ms,iops-cap=2000", "--iodepth", "1..16", "--bs", "4k..64k"];
    let more = ["--runtime", "10s", "--html", "r.html", "--json", "r.json"];
    let (code, out, err) = volproof(dir.path(), &[&sweep[..], &more].concat());
    assert_eq!(code, Some(0), "{out}\n{err}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("2,000 IOPS is the most at every block size (125 MiB/s at 64 KiB)"), "{out}");
    let page = std::fs::read_to_string(dir.path().join("r.html")).unwrap();
    assert!(page.contains("The best and 3 more of 5 are drawn.") && page.contains("p99, 64 KiB"), "{page}");
}

#[test]
fn a_dry_run_says_what_would_be_done() {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, err) = volproof(
        dir.path(),
        &[
            "sweep",
            ".",
            "--iodepth",
            "1..256",
            "--rw",
            "randwrite",
            "--file-size",
            "64m",
            "--budget",
            "6m",
            "--dry-run",
        ],
    );
    assert_eq!(code, Some(0), "{err}");
    insta::assert_snapshot!("sweep-dry-run", out);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is made");
}

#[test]
fn a_sweep_that_cannot_be_is_refused_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, says) in [
        (&["--iodepth", "8"][..], "needs a range: give one to three of --iodepth 1..256"),
        (&["--iodepth", "256..1"], "the range from 256 to 1 does not rise"),
        (&["--rwmix", "0..200"], "outside 0% to 100%"),
        (&["--rwmix", "0..100", "--rw", "randread"], "use --rw randrw"),
        (&["--iodepth", "1..8", "--rate-iops", "5"], "leave the rate out"),
        (&["--iodepth", "1..8", "--io-size", "1g"], "leave --io-size out"),
        (&["--iodepth", "1..8", "--repeats", "0"], "outside 1 to 100"),
        (&["--iodepth", "1..8", "--budget", "5s"], "--budget 5s is too short"),
        (&["--iodepth", "1..8", "--resume", "none.json"], "cannot read none.json"),
        (&["--iodepth", "1..65536:1"], "use a larger step"),
        (
            &["--iodepth", "1..64", "--bs", "512..1M", "--numjobs", "1..4096", "--rwmix", "0..100"],
            "at most three ranges",
        ),
    ] {
        let (code, out, err) =
            volproof(dir.path(), &[&["sweep", "--simulate", DEVICE][..], arguments].concat());
        assert_eq!(code, Some(2), "{arguments:?}\n{out}\n{err}");
        // A message is wrapped.
        let words = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(says), "{arguments:?}: {err}");
    }
    let (code, _, err) =
        volproof(dir.path(), &["sweep", ".", "--iodepth", "1..8", "--bs", "4k..1G", "--file-size", "64m"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("too small for this plan"), "{err}");
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_slo_search_prints_its_answer_and_show_prints_it_again() {
    let dir = tempfile::tempdir().unwrap();
    let slo = [
        "slo",
        "--simulate",
        "latency=1ms,jitter=4ms,iops-cap=400,cap-period=10ms",
        "--p99",
        "20ms",
        "--confirm",
        "60s",
    ];
    let (code, out, err) =
        volproof(dir.path(), &[&slo[..], &["--json", "r.json", "--csv", "r.csv"]].concat());
    assert_eq!(code, Some(0), "{out}\n{err}");
    let (_, record) = out.split_once("\n\n").unwrap();
    assert!(record.lines().all(|line| line.chars().count() <= 80), "{record}");
    insta::assert_snapshot!("slo", undated(record));
    let (code, shown, _) = volproof(dir.path(), &["show", "r.json"]);
    assert_eq!((code, shown.as_str()), (Some(0), record));
    volproof(dir.path(), &["report", "r.json", "-o", "r.html"]);
    let page = std::fs::read_to_string(dir.path().join("r.html")).unwrap();
    assert!(!page.contains("nothing is judged"), "{page}");
    let csv = std::fs::read_to_string(dir.path().join("r.csv")).unwrap();
    assert!(csv.starts_with("trial,rw,figure,") && csv.contains("\nload-1,randread,p99,20000000,"), "{csv}");
}

#[test]
fn a_slo_search_says_beforehand_what_it_will_do() {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, err) = volproof(
        dir.path(),
        &["slo", ".", "--p99.9", "5ms", "--rw", "randwrite", "--file-size", "64m", "--dry-run"],
    );
    assert_eq!(code, Some(0), "{err}");
    insta::assert_snapshot!("slo-dry-run", out);
}

#[test]
fn a_slo_search_that_cannot_be_is_refused_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, says) in [
        (&["slo"][..], "needs one of --p99 TIME"),
        (&["slo", "--p99", "1ms", "--mean", "1ms"], "cannot be used with"),
        (&["slo", "--p99", "1"], "1 has no unit: write 1ms or 1s"),
        (&["slo", "--p99", "10ns"], "below what any clock here can show"),
        (&["slo", "--p99", "1ms", "--runtime", "5s"], "give --runtime 10s or more"),
        (&["slo", "--p99", "1ms", "--confirm", "5s"], "--confirm is shorter than a trial"),
        (&["slo", "--p99", "1ms", "--rate-iops", "5"], "slo has no option --rate-iops"),
        (&["slo", "--p99", "1ms", "--rw", "randtrim"], "cannot be searched"),
        (&["slo", "--p99", "1ms", "a", "b"], "it takes one TARGET"),
        (&["slo", "--p99", "1ms", "--budget", "20s"], "--budget 20s is too short"),
        (&["slo", "--p99", "1ms", "--tolerance", "5"], "--tolerance is about a verdict"),
        (&["slo", "--p99", "1ms", "--min-share", "99"], "--min-share is about a verdict"),
    ] {
        let (code, out, err) = volproof(dir.path(), &[arguments, &["--simulate", DEVICE]].concat());
        assert_eq!(code, Some(2), "{arguments:?}\n{out}\n{err}");
        // A message is wrapped.
        let words = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(says), "{arguments:?}: {err}");
    }
    // A limit below the latency of one request is an answer, found at once.
    let (code, out, err) =
        volproof(dir.path(), &["slo", "--simulate", DEVICE, "--p99", "500us", "--json", "r.json"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(out.contains("No load has a p99 of at most 500 us: one request alone already has a"), "{out}");
}

#[test]
fn a_load_that_only_the_burst_of_the_type_carries_is_called_so() {
    let dir = tempfile::tempdir().unwrap();
    let device = "latency=10ms,jitter=2ms,iops-cap=102,burst-iops=3000,burst-ios=5400000";
    let slo = ["slo", "--simulate", device, "--p99", "100ms", "--iodepth", "4"];
    let promise = ["--promise", "gp2", "--volume-size", "34GiB", "--confirm", "60s", "--json", "r.json"];
    let (code, out, err) = volproof(dir.path(), &[&slo[..], &promise].concat());
    assert_eq!(code, Some(5), "{out}\n{err}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("above the baseline of the type, so that it may last no longer than the burst"),
        "{out}"
    );
    assert!(words.contains("has a baseline of 102 IOPS and a burst, which lasts up to 31 min"), "{out}");
    // Where no time is given, the confirmation outlasts the burst.
    let (code, out, err) = volproof(dir.path(), &[&slo[..], &promise[..4], &["--dry-run"]].concat());
    assert_eq!(code, Some(0), "{err}");
    assert!(out.split_whitespace().collect::<Vec<_>>().join(" ").contains("confirmed for 2"), "{out}");
}

#[test]
fn a_rate_limit_below_one_request_at_a_time_is_no_latency() {
    let dir = tempfile::tempdir().unwrap();
    let slo = ["slo", "--simulate", "latency=200us,iops-cap=300", "--p99", "1ms", "--json", "r.json"];
    let (code, out, err) = volproof(dir.path(), &slo);
    assert_eq!(code, Some(0), "{out}\n{err}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("keeps a p99 of at most 1.00 ms (confirmed for"), "{out}");
    assert!(words.contains("fewer a second keep the limit"), "{out}");
    let promise = ["--promise", "alibaba:cloud_essd.PL1", "--volume-size", "20GiB"];
    let (code, _, err) = volproof(dir.path(), &[&["verdict", "r.json"][..], &promise].concat());
    assert!(code == Some(2) && err.contains("the trials of a search"), "{err}");
    let suite = ["suite", "snia-lat", "--simulate", "latency=200us", "--size", "1g"];
    let (code, _, err) = volproof(dir.path(), &[&suite[..], &promise].concat());
    assert!(code == Some(2) && err.contains("holds nothing against a promise"), "{err}");
}

/// A Record of which only the first steps are left, as after an interruption.
fn cut(folder: &Path, from: &str, to: &str, steps: usize) {
    let mut part = Record::load(&folder.join(from)).unwrap();
    part.steps.truncate(steps);
    part.state = State::Interrupted;
    volproof::seal::seal(&mut part);
    std::fs::write(folder.join(to), serde_json::to_vec(&part).unwrap()).unwrap();
}

/// The load that a search ends with, or the most of a sweep.
fn highest(record: &Record) -> f64 {
    match &record.answer {
        Some(CourseAnswer::Slo(answer)) => answer.holds_per_second.unwrap(),
        Some(CourseAnswer::Sweep(answer)) => answer.depths[0].most_iops,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_interrupted_search_or_sweep_goes_on_where_it_stood() {
    let dir = tempfile::tempdir().unwrap();
    let slo = ["slo", "--simulate", DEVICE, "--p99", "5ms", "--confirm", "60s"];
    let sweep = ["sweep", "--simulate", DEVICE, "--iodepth", "1..16", "--runtime", "10s"];
    for course in [&slo[..], &sweep[..]] {
        let run = |more: &[&str]| volproof(dir.path(), &[course, more].concat());
        let (code, _, err) = run(&["--json", "whole.json", "-q"]);
        assert_eq!(code, Some(0), "{err}");
        let whole = Record::load(&dir.path().join("whole.json")).unwrap();
        for steps in [1, 2, whole.steps.len() - 1] {
            cut(dir.path(), "whole.json", "part.json", steps);
            let (code, _, err) = run(&["--resume", "part.json", "--json", "resumed.json", "-q"]);
            assert_eq!(code, Some(0), "{err}");
            let resumed = Record::load(&dir.path().join("resumed.json")).unwrap();
            assert_eq!(resumed.state, State::Complete);
            let kept = |r: &Record| r.steps[..steps].iter().map(|s| s.name.clone()).collect::<Vec<_>>();
            assert_eq!(kept(&resumed), kept(&whole));
            // The later steps met a volume that was born anew.
            let (found, expected) = (highest(&resumed), highest(&whole));
            assert!(
                (found / expected - 1.0).abs() < 0.05,
                "{course:?} after {steps} steps: {found}, {expected}"
            );
        }
    }
}

#[test]
fn an_interrupted_search_shows_what_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let slo = ["slo", "--simulate", DEVICE, "--p99", "5ms", "--confirm", "60s", "--json", "whole.json", "-q"];
    let (code, out, err) = volproof(dir.path(), &slo);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("PASS  SIMULATED  "), "{out}");
    cut(dir.path(), "whole.json", "part.json", 2);
    let (_, out, _) = volproof(dir.path(), &["show", "part.json"]);
    assert!(out.contains("\nunloaded") && out.contains("\nmost"), "{out}");
    cut(dir.path(), "whole.json", "part.json", 4);
    let (_, out, _) = volproof(dir.path(), &["show", "part.json"]);
    assert!(out.contains("\nload-2") && out.contains("Each load"), "{out}");
}

/// A promise that a course is not held against is no success, whichever command reads its Record.
#[test]
fn a_promise_that_a_course_is_not_held_against_is_said_not_to_be_judged() {
    let dir = tempfile::tempdir().unwrap();
    let ran = |words: &[&str]| volproof(dir.path(), words);
    let plain = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let device = ["--simulate", "latency=1ms,iops-cap=2000", "--runtime", "10s", "-q", "--json"];
    let promise = ["--promise", "alibaba:cloud_essd.PL0", "--volume-size", "40GiB"];
    assert_eq!(ran(&[&["sweep", "--iodepth", "1,2"], &device[..], &["sweep.json"]].concat()).0, Some(0));
    for (asked, why) in
        [(&promise[..], "the points of a sweep"), (&["--fit", "etcd"], "the points of a sweep")]
    {
        let (code, _, err) = ran(&[&["verdict", "sweep.json"], asked].concat());
        assert!(code == Some(2) && err.contains(&format!("sweep.json is not judged: {why}")), "{err}");
    }
    // Nor is a suite held against a promise that is named later.
    assert_eq!(
        ran(&[&["suite", "provider:alibaba", "--size", "64MiB"], &device[..], &["suite.json"]].concat()).0,
        Some(0)
    );
    for asked in [&promise[..], &["--fit", "etcd"]] {
        let (code, _, err) = ran(&[&["verdict", "suite.json"], asked].concat());
        assert!(code == Some(2) && err.contains("is not judged"), "{err}");
    }
    // Nothing numeric is published of a profile.
    assert_eq!(ran(&[&["run", "--rw", "randread"], &device[..], &["run.json"]].concat()).0, Some(0));
    let (code, _, err) = ran(&["verdict", "run.json", "--fit", "mysql"]);
    assert!(code == Some(2) && plain(err.clone()).contains("no need of MySQL"), "{err}");
}

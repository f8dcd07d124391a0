//! The end of a run as a user reads it, at several widths, and its forms for pipelines, monitoring and tickets.

use std::process::Command;

use volproof::doubt::{Doubt, Severity};
use volproof::record::Record;

use crate::run::{Bench, Ran};

/// The six standard steps on a simulated volume of 40 GiB that misses its promise.
fn standard() -> Bench {
    let bench = Bench::new();
    let steps = [
        ("randwrite-iops", "randwrite", "4k", 128, "latency = '500us', jitter = '2ms', iops-cap = 2817.0"),
        ("randread-iops", "randread", "4k", 128, "latency = '500us', jitter = '2ms', iops-cap = 3900.0"),
        ("write-throughput", "write", "1M", 64, "latency = '20ms', jitter = '60ms', iops-cap = 120.0"),
        ("read-throughput", "read", "1M", 64, "latency = '20ms', jitter = '60ms', iops-cap = 150.0"),
        ("randwrite-latency", "randwrite", "4k", 1, "latency = '150us', jitter = '90us'"),
        ("randread-latency", "randread", "4k", 1, "latency = '150us', jitter = '100us'"),
    ];
    let steps: String = steps
        .iter()
        .map(|(name, rw, bs, depth, device)| {
            format!(
                "[[step]]\nname = '{name}'\nrw = '{rw}'\nbs = '{bs}'\niodepth = {depth}\nengine = 'null'\n\
                 runtime = '60s'\nsimulate = {{ {device} }}\n"
            )
        })
        .collect();
    std::fs::write(bench.path().join("p.toml"), format!("name = 'standard'\n{steps}")).unwrap();
    bench
}

const PL1: [&str; 4] = ["--promise", "alibaba:cloud_essd.PL1", "--volume-size", "40GiB"];

/// Runs the plan, and stores its Record as one of a known time on a machine without doubts of its own.
fn measured(bench: &Bench, more: &[&str]) -> Ran {
    let ran = bench.run(&[&["run", "--plan", "p.toml", "--json", "r.json"], more].concat());
    let mut record = bench.record();
    record.volproof_version = env!("CARGO_PKG_VERSION").into();
    record.started = "2026-01-02T03:04:05Z".to_string().into();
    record.doubts.retain(|w| !["cpu-steal", "cpu-quota", "generator-lag"].contains(&w.code.as_str()));
    let path = bench.path().join("r.json");
    record.write(&mut std::fs::File::create(path).unwrap()).unwrap();
    ran
}

fn shown(bench: &Bench, columns: &str, more: &[&str]) -> String {
    let mut command = bench.command(&[&["show", "r.json"], more].concat());
    Ran::of(command.env("COLUMNS", columns).output().unwrap()).ended(0).out
}

#[test]
fn the_answer_comes_first_and_fits_the_screen() {
    let bench = standard();
    let ran = measured(&bench, &PL1).ended(1);
    // With the table of causes and the lines that name the Record.
    let named = ran.err.lines().skip_while(|l| !l.is_empty()).count();
    assert!(ran.out.starts_with("FAIL") && ran.out.lines().count() + named <= 45, "{}\n{}", ran.out, ran.err);
    for columns in ["60", "80", "120"] {
        let text = shown(&bench, columns, &[]);
        assert!(text.lines().all(|l| l.chars().count() <= columns.parse().unwrap()), "{columns}:\n{text}");
        insta::assert_snapshot!(format!("answer_{columns}"), text);
    }
    assert_eq!(
        shown(&bench, "80", &[]),
        bench.run(&["show", "r.json"]).ended(0).out,
        "a pipe has 80 columns"
    );
    assert!(shown(&bench, "80", &["--details"]).contains("How it was driven"));
    insta::assert_snapshot!("answer_verdict", bench.run(&["verdict", "r.json"]).ended(1).out);
    // Without a promise.
    measured(&bench, &[]).ended(0);
    insta::assert_snapshot!("answer_unjudged", shown(&bench, "80", &[]));
}

#[test]
fn quiet_is_one_line() {
    let bench = standard();
    let ran = measured(&bench, &[&PL1[..], &["--quiet"]].concat()).ended(1);
    assert_eq!(
        ran.out,
        "FAIL  SIMULATED  The volume falls short of its promise in randwrite-iops-confirm: 2,822 IOPS, 74.3 % of 3,800; 2 of 5 promises failed. \
         (against alibaba:cloud_essd.PL1, 40 GiB, tolerance 2 %)\n"
    );
    assert_eq!(ran.err, "");
    assert_eq!(bench.run(&["verdict", "r.json", "-q"]).ended(1).out, ran.out);
}

#[test]
fn colours_come_when_they_are_wanted() {
    let bench = standard();
    measured(&bench, &PL1).ended(1);
    let shown = |set: &[(&str, &str)]| {
        let mut command = bench.command(&["show", "r.json"]);
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        Ran::of(command.envs(set.iter().copied()).output().unwrap()).ended(0).out
    };
    let plain = shown(&[]);
    assert!(!plain.contains('\u{1b}'), "a pipe has no colours");
    let coloured = shown(&[("CLICOLOR_FORCE", "1")]);
    assert!(coloured.starts_with("\u{1b}[1m\u{1b}[31mFAIL\u{1b}[0m  "), "{coloured:?}");
    assert_eq!(shown(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), plain);
}

#[test]
fn a_terminal_has_colours_and_the_micro_sign() {
    let bench = standard();
    measured(&bench, &PL1).ended(1);
    let program = env!("CARGO_BIN_EXE_volproof");
    // A terminal of util-linux's script; what it says of itself goes to /dev/null.
    let in_terminal = |set: &[(&str, &str)]| {
        let mut command = Command::new("script");
        command.args(["-qec", &format!("{program} show r.json"), "/dev/null"]).current_dir(bench.path());
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LC_ALL", "LC_CTYPE", "CI"] {
            command.env_remove(name);
        }
        let set = [&[("TERM", "xterm"), ("LANG", "C.UTF-8"), ("COLUMNS", "80")], set].concat();
        String::from_utf8(command.envs(set).output().unwrap().stdout).unwrap()
    };
    let shown = in_terminal(&[]);
    assert!(shown.contains("\u{1b}[31mFAIL") && shown.contains("µs") && !shown.contains("us "), "{shown}");
    let plain = in_terminal(&[("LANG", "C"), ("TERM", "dumb")]);
    assert!(!plain.contains('\u{1b}') && !plain.contains('µ') && plain.contains("us "), "{plain}");
    for off in [("NO_COLOR", "1"), ("CLICOLOR", "0")] {
        assert!(!in_terminal(&[off]).contains('\u{1b}'), "{off:?}");
    }
}

#[test]
fn results_for_pipelines_monitoring_and_tickets() {
    let bench = standard();
    let files = ["--junit", "j.xml", "--openmetrics", "m.prom", "--markdown", "t.md"];
    measured(&bench, &[&PL1[..], &files].concat()).ended(1);
    for file in ["j.xml", "m.prom", "t.md"] {
        assert!(std::fs::metadata(bench.path().join(file)).unwrap().len() > 500, "{file}");
    }
    for (option, name) in [
        ("--junit", "answer_junit"),
        ("--openmetrics", "answer_openmetrics"),
        ("--markdown", "answer_markdown"),
    ] {
        let text = bench.run(&["show", "r.json", option, "-"]).ended(0).out;
        assert_eq!(text, bench.run(&["verdict", "r.json", option, "-"]).ended(1).out, "{option}");
        let host = format!(" hostname=\"{}\"", bench.record().environment.hostname);
        insta::assert_snapshot!(name, text.replace(&host, ""));
    }
    bench.run(&["show", "r.json", "r.json", "--junit", "x"]).ended(2).says(&["name one Record"]);
    bench.run(&["show", "r.json", "--markdown", "r.json"]).ended(2).says(&["same file as the input r.json"]);
    bench.run(&["show", "r.json", "--markdown", "x", "--junit", "x"]).ended(2).says(&["same file"]);
    // A run that failed is an error in a pipeline too.
    let mut failed = bench.record();
    failed.state = volproof::record::State::Failed("the <device> said \"no\"".into());
    failed.judged_promise = None;
    failed.verdict = None;
    failed.write(&mut std::fs::File::create(bench.path().join("f.json")).unwrap()).unwrap();
    let text = bench.run(&["show", "f.json", "--junit", "-"]).ended(0).out;
    assert!(
        text.contains("errors=\"1\"") && text.contains("the &lt;device&gt; said &quot;no&quot;"),
        "{text}"
    );
    // So is a step whose figures show nothing of the volume.
    failed.state = volproof::record::State::Complete;
    let doubt = Doubt::new(Severity::Blocker, "page-cache", "served from memory", "write other data");
    failed.doubts.push(doubt.in_step("randread-iops"));
    failed.write(&mut std::fs::File::create(bench.path().join("f.json")).unwrap()).unwrap();
    let text = bench.run(&["show", "f.json", "--junit", "-"]).ended(0).out;
    assert!(
        text.contains("errors=\"1\"")
            && text.contains("served from memory [page-cache]\" type=\"NOT VALID\""),
        "{text}"
    );
}

#[test]
fn a_failed_promise_has_a_text_for_the_provider() {
    let bench = standard();
    measured(&bench, &PL1).ended(1);
    assert!(!bench.run(&["verdict", "r.json"]).out.contains("support desk"), "nobody disputes a simulation");
    // The same figures of a real file: the Record says nothing of a simulation.
    let text = std::fs::read_to_string(bench.path().join("r.json")).unwrap();
    let mut record = Record::parse(&text, "r.json".into()).unwrap();
    for step in &mut record.plan.steps {
        step.simulate = None;
        step.engine = volproof::plan::EngineKind::IoUring;
    }
    for step in &mut record.steps {
        step.engine = volproof::plan::EngineKind::IoUring.into();
        step.started = "2026-01-02T03:10:00Z".to_string().into();
        // What the machine of this test did meanwhile, the time that its host took away among it, was not beside that file.
        step.evidence = Default::default();
    }
    record.environment.cpu_model = "Imaginary 9000".into();
    record.environment.cpus_online = 8;
    record.environment.kernel = "6.12.1".into();
    volproof::seal::seal(&mut record);
    record.write(&mut std::fs::File::create(bench.path().join("r.json")).unwrap()).unwrap();
    let text = bench.run(&["verdict", "r.json"]).out;
    let ticket = text
        .split("\nText for the provider")
        .nth(1)
        .unwrap_or_else(|| panic!("no text for the provider:\n{text}"));
    insta::assert_snapshot!("answer_ticket", ticket);
}

/// What a verdict recommends is not refused: a file that was only read has a new one beside it for the writes, and a mix leaves no share of
/// reads behind.
#[test]
fn a_recommended_command_runs() {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    for load in [
        "f.dat --rw randread --runtime 300ms --offline",
        "--simulate latency=1ms --rw randrw --rwmix 70 --runtime 2s --offline",
    ] {
        let words: Vec<&str> = ["run", "--json", "r.json"].into_iter().chain(load.split(' ')).collect();
        bench.run(&[&words[..], &PL1[..4], &["--no-follow-up"]].concat());
        let text = bench.run(&["show", "r.json", "--details"]).ended(0).out;
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let command = joined.split("-> volproof run ").find(|command| command.contains("--rw randwrite"));
        let words = command.unwrap_or_else(|| panic!("{text}")).split(' ');
        let words = words.take_while(|w| !["not", "note", "->"].contains(w)).filter(|w| *w != "--offline");
        let offered: Vec<&str> =
            ["plan", "--offline"].into_iter().chain(words.filter(|w| !w.is_empty())).collect();
        assert!(!offered.contains(&"f.dat") && !offered.contains(&"--rwmix"), "{offered:?}");
        bench.run(&offered).ended(0);
    }
}

#[test]
fn lines_of_several_results_name_their_records() {
    let bench = Bench::new();
    for name in ["a.json", "b.json"] {
        bench
            .run(&["run", "--rw", "randread", "--simulate", "latency=1ms", "--runtime", "2s", "--json", name])
            .ended(0);
    }
    let lines = bench.run(&["show", "-q", "a.json", "b.json"]).ended(0).out;
    let named: Vec<&str> =
        lines.lines().filter_map(|line| Some(line.split_once(": SIMULATED  ")?.0)).collect();
    assert_eq!(named, ["a.json", "b.json"], "{lines}");
    let one = bench.run(&["show", "-q", "a.json"]).ended(0).out;
    assert!(one.starts_with("SIMULATED"), "{one}");
}

/// Under a rate a client waits from the intended start on: progress has the figure of the table.
#[test]
fn progress_has_the_latency_of_the_table() {
    let bench = Bench::new();
    let device = "latency=200us,jitter=100us,stall-at=20s,stall-for=1s";
    let load =
        "run --rw randread --iodepth 32 --runtime 60s --rate-iops 1000 --seed 1 --details --json r.json";
    let mut words: Vec<&str> = load.split(' ').collect();
    words.extend(["--simulate", device]);
    let ran = bench.run(&words).ended(0);
    let record = bench.record();
    let read = record.steps[0].read.as_ref().unwrap();
    let p99 = |latency: &volproof::record::LatencySummary| {
        format!("p99 {}", latency.marked("99", |t| t.to_string()).unwrap())
    };
    let (response, service) = (p99(read.latency()), p99(&read.service_latency_ns));
    assert!(
        ran.err.contains(&response) && !ran.err.contains(&service),
        "{response}, {service}:\n{}",
        ran.err
    );
}

/// The volume is not accused of a time in which the program itself stood still.
#[test]
fn a_suspended_run_finds_no_stall() {
    let bench = Bench::new();
    let plan = "[[step]]\nname = 'a'\nrw = 'randread'\nruntime = '60s'\nengine = 'null'\n[step.simulate]\nlatency = '1ms'\nstall_at = '20s'\nstall_for = '4s'\n";
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    bench.run(&["run", "--plan", "p.toml", "--json", "r.json", "-q"]).ended(0);
    let mut record = bench.record();
    let stalls = |record: &Record| {
        let found = record.findings.iter().flatten();
        found.filter(|f| f.code == "stall").count()
    };
    assert_eq!(stalls(&record), 1);
    let stopped = volproof::record::Intervention::Suspended {
        after_ns: volproof::unit::Nanos::seconds(24),
        for_ns: volproof::unit::Nanos::seconds(4),
    };
    record.steps[0].interventions.push(stopped);
    volproof::seal::seal(&mut record);
    assert_eq!(stalls(&record), 0, "{:?}", record.findings);
}

#[test]
fn a_small_range_is_noted() {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    // An amount, and no time: how much a slow disk reads in a time is unknown.
    let line =
        "run f.dat --rw randread --bs 64k --iodepth 32 --io-size 8M --runtime 0 --json r.json --size 4M";
    bench.run(&line.split(' ').collect::<Vec<_>>()).ended(0);
    let doubt = bench.record().doubts.into_iter().find(|d| d.code == "small-range").unwrap();
    assert_eq!(doubt.severity, volproof::doubt::Severity::Note);
    assert_eq!(doubt.advice, "use a larger file, or the whole device");
}

#[test]
fn a_result_that_cannot_be_read_hides_no_other() {
    let bench = Bench::new();
    let line = "run --simulate latency=1ms --rw randread --runtime 1s -q --json r.json";
    bench.run(&line.split(' ').collect::<Vec<_>>()).ended(0);
    let whole = std::fs::read_to_string(bench.path().join("r.json")).unwrap();
    std::fs::write(bench.path().join("cut.json"), &whole[..500]).unwrap();
    let shown = bench.run(&["show", "-q", "r.json", "cut.json", "r.json", "none.json"]).ended(2);
    let shown = shown.says(&["cut.json is a part of a volproof Record", "none.json"]);
    assert_eq!(shown.out.matches("r.json: ").count(), 2, "{}", shown.out);
}

/// A suite keeps one size for all its steps, which is nobody's `--file-size`.
#[test]
fn a_suite_names_no_option_that_was_not_given() {
    let bench = Bench::new();
    bench.folder("here");
    let told = bench.run(&["suite", "snia-iops", "here", "--dry-run"]).ended(0).out;
    assert!(told.contains("for all steps of the suite") && !told.contains("file-size"), "{told}");
}

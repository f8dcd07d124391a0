//! What an output replaces, and what stays.

use std::process::Command;

use volproof::record::{Record, State};

use crate::mounted::Mounted;
use crate::{Bench, Ran};

/// A Record may be somebody's evidence, and a run under its name may be interrupted or fail.
#[test]
fn what_a_complete_run_left_is_replaced_by_a_complete_one_only() {
    let bench = Bench::new();
    let plan = |device: &str| {
        let step = |name: &str| {
            format!(
                "[[step]]\nname = '{name}'\nrw = 'randread'\nruntime = '1s'\nengine = 'null'\nsimulate = {{ latency = '1ms'{device} }}\n"
            )
        };
        std::fs::write(bench.path().join("p.toml"), step("first") + &step("second")).unwrap();
    };
    let sheets = ["--html", "k.html", "--csv", "k.csv", "--markdown", "k.md", "--junit", "k.xml"];
    let line = ["run", "--plan", "p.toml", "--json", "k.json", "-q"];
    let run = || bench.run(&[&line[..], &sheets].concat());
    let text = |name: &str| std::fs::read_to_string(bench.path().join(name)).unwrap();
    plan("");
    run().ended(0);
    let kept = || ["k.json", "k.html", "k.csv", "k.md"].map(text);
    let (whole, tests) = (kept(), text("k.xml"));
    plan(", error_every = 100");
    run().ended(7).says(&[
        "k.json holds the Record of a complete run and stays; this one is k-2.json",
        "k.html is of an earlier run and stays; this one is k-2.html",
    ]);
    assert!(kept() == whole, "{:?}", Bench::names(bench.path()));
    // Machines read it: the last run counts.
    assert_ne!(text("k.xml"), tests);
    let failed = Record::load(&bench.path().join("k-2.json")).unwrap();
    assert!(matches!(failed.state, State::Failed(_)));
    // While it grows, the next one is beside it as well, until it is complete.
    plan("");
    run().ended(0);
    // The figures of a simulated device are the same, the seeds are not.
    assert!(kept().iter().zip(&whole).take(2).all(|(now, before)| now != before));
    let mut expected =
        ["k-2.csv", "k-2.html", "k-2.json", "k-2.md", "k.csv", "k.html", "k.json", "k.md", "k.xml", "p.toml"];
    expected.sort_unstable();
    assert_eq!(Bench::names(bench.path()), expected);
}

#[test]
fn the_record_of_fios_jobs_stays_when_the_next_ones_fail() {
    let bench = Bench::new();
    let run = |device: &str| {
        let line = [
            "fio",
            "--name=a",
            "--rw=randread",
            "--size=1m",
            "--time_based",
            "--runtime=1",
            "--record=k.json",
        ];
        bench.run(&[&line[..], &[&format!("--simulate=latency=1ms{device}")]].concat())
    };
    run("").ended(0);
    let whole = std::fs::read(bench.path().join("k.json")).unwrap();
    run(",error-every=100")
        .says(&["k.json holds the Record of a complete run and stays; this one is k-2.json"]);
    assert!(std::fs::read(bench.path().join("k.json")).unwrap() == whole);
}

/// A mistyped name is no wish to lose what was measured.
#[test]
fn no_import_and_no_simulation_replaces_a_measurement() {
    let bench = Bench::new();
    bench.file("f.dat", 1);
    bench
        .run(&["run", "f.dat", "--rw", "randread", "--runtime", "100ms", "--json", "real.json", "-q"])
        .ended(0);
    let measured = std::fs::read(bench.path().join("real.json")).unwrap();
    let simulated = "run --simulate latency=1ms --rw randread --runtime 1s -q --json";
    let simulate = |to: &str| bench.run(&simulated.split(' ').chain([to]).collect::<Vec<_>>());
    simulate("real.json")
        .ended(7)
        .says(&["real.json holds the Record of a measurement", "this one is real-2.json"]);
    bench.run(&["convert", "real.json", "--to", "json", "-o", "report.json"]).ended(0);
    bench
        .run(&["convert", "report.json", "--to", "record", "-o", "real.json"])
        .ended(7)
        .says(&["real.json holds the Record of a measurement", "this one is real-3.json"]);
    assert!(std::fs::read(bench.path().join("real.json")).unwrap() == measured);
    // Each other is replaced, and a measurement by a measurement.
    bench.run(&["convert", "report.json", "--to", "record", "-o", "real-2.json"]).ended(0);
    bench.run(&["convert", "real.json", "--to", "record", "-o", "real-2.json"]).ended(0);
    simulate("real-3.json").ended(0);
}

/// Runs a step that is measured, and with `fails` one more, which fails.
fn run_steps(bench: &Bench, fails: bool) -> Ran {
    let good = "[[step]]\nname = 'a'\nrw = 'randread'\nruntime = '100ms'\n";
    let bad = "[[step]]\nname = 'b'\nengine = 'null'\nruntime = '1s'\nsimulate = { latency = '1ms', error_every = 100 }\n";
    let plan = if fails { [good, bad].concat() } else { good.into() };
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    bench.run(&["run", "f.dat", "--plan", "p.toml", "-q", "--json", "r.json"]).ended(if fails {
        7
    } else {
        0
    })
}

/// An interrupted run of hours is evidence too, and so is the Record of a newer version.
#[test]
fn a_measured_record_is_replaced_by_a_complete_one_only() {
    let bench = Bench::new();
    bench.file("f.dat", 1);
    let path = bench.path().join("r.json");
    run_steps(&bench, true);
    let first = std::fs::read(&path).unwrap();
    run_steps(&bench, true).says(&["r.json holds steps that were measured and stays; this one is r-2.json"]);
    assert!(std::fs::read(&path).unwrap() == first);
    run_steps(&bench, false);
    let complete = std::fs::read_to_string(&path).unwrap();
    assert!(complete.contains("\"complete\""));
    let newer = complete.replacen("\"schema_version\":2", "\"schema_version\":9", 1);
    assert_ne!(newer, complete);
    std::fs::write(&path, &newer).unwrap();
    run_steps(&bench, true).says(&["r.json holds the Record of a complete run and stays"]);
    assert!(std::fs::read_to_string(&path).unwrap() == newer);
}

/// As the file that a container gets (`docker -v $PWD/r.json:/r.json`): no other takes its name.
#[test]
fn a_mounted_file_is_kept_as_any_other() {
    let bench = Bench::new();
    let Some(small) = Mounted::new(&bench, "size=64k") else { return };
    bench.file("f.dat", 1);
    let (path, behind) = (bench.path().join("r.json"), small.0.join("r.json"));
    [&path, &behind].into_iter().for_each(|file| std::fs::write(file, "").unwrap());
    let mounted = Command::new("mount").arg("--bind").arg(&behind).arg(&path).status();
    assert!(mounted.is_ok_and(|status| status.success()));
    let _mounted = Mounted(path.clone());
    run_steps(&bench, false);
    let complete = std::fs::read(&path).unwrap();
    assert!(String::from_utf8_lossy(&complete).contains("\"complete\""));
    run_steps(&bench, true)
        .says(&["r.json holds the Record of a complete run and stays; this one is r-2.json"]);
    assert!(std::fs::read(&path).unwrap() == complete);
    // Where the new one has no room, the old one stays.
    let old = "{\"fio version\" : \"fio-3.33-volproof-0.0.9\", \"desc\" : \"SIMULATED\"}\n";
    std::fs::write(&behind, old).unwrap();
    let _ = std::fs::write(small.0.join("filler"), vec![1; 65536]);
    bench
        .run(&["convert", "r-2.json", "--to", "json+", "-o", "r.json"])
        .ended(7)
        .says(&["could not be saved"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), old);
    // So it does where the process may not write so large a file: 512 or 1,024 bytes, as the shell counts.
    std::fs::remove_file(small.0.join("filler")).unwrap();
    let limited = format!(
        "ulimit -f 1; exec '{}' convert r-2.json --to json+ -o r.json",
        env!("CARGO_BIN_EXE_volproof")
    );
    let ended = Command::new("sh").args(["-c", &limited]).current_dir(bench.path()).output().unwrap();
    assert_eq!(ended.status.code(), Some(7), "{ended:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), old);
}

#[test]
fn an_output_is_replaced_only_as_volproof_wrote_it() {
    let bench = Bench::new();
    bench.file("f.dat", 1);
    bench.run(&["run", "f.dat", "--rw", "randread", "--runtime", "100ms", "-q", "--json", "r.json"]).ended(0);
    let forms = ["json", "json+", "normal", "csv", "jobfile", "plan", "record"];
    let convert = |form: &str, to: &str| bench.run(&["convert", "r.json", "--to", form, "-o", to]);
    let page = |to: &str| bench.run(&["report", "r.json", "-o", to]);
    let shown = |form: &str| bench.run(&["show", "r.json", "-q", &format!("--{form}"), form]);
    let sheets = ["markdown", "junit", "openmetrics"];
    let make = |name: &str| match name {
        "page" => page(name),
        name if sheets.contains(&name) => shown(name),
        form => convert(form, form),
    };
    let all: Vec<&str> = forms.into_iter().chain(sheets).chain(["page"]).collect();
    for _ in 0..2 {
        all.iter().for_each(|name| drop(make(name).ended(0)));
    }
    let text = |name: &str| std::fs::read_to_string(bench.path().join(name)).unwrap();
    let refuses = |name: &str, changed: &str| {
        let path = bench.path().join(name);
        std::fs::write(&path, changed).unwrap();
        make(name).ended(2).says(&["is no unchanged", "so it is not replaced", "or remove this one"]);
        assert!(std::fs::read_to_string(&path).unwrap() == changed, "{name}");
    };
    for name in all {
        let written = text(name);
        refuses(name, &(written.clone() + "\n## What we decided\nBob: keep PL1 (ticket 4711)\n"));
        // Results that somebody collected.
        refuses(name, &written.repeat(2));
        if name != "normal" {
            // A key of JSON, a word in a page, a cell of a table.
            let edited = match name {
                "record" => written.replacen('{', "{\"owner\":\"Bob\",", 1),
                "json" | "json+" => {
                    written.replacen("\"jobs\" : [\n    {", "\"jobs\" : [\n    {\"owner\" : 7,", 1)
                }
                "csv" => written.replacen("randread", "PL1", 1),
                _ => written.replacen("volproof", "volProof", 1).replacen("randread", "PL1", 1),
            };
            assert_ne!(edited, written, "{name}");
            refuses(name, &edited);
        }
        std::fs::write(bench.path().join(name), &written).unwrap();
        make(name).ended(0);
    }
    // Rows of another run, as in a diary of runs.
    bench.run(&["run", "f.dat", "--rw", "read", "--runtime", "100ms", "-q", "--csv", "other.csv"]).ended(0);
    refuses("csv", &(text("csv") + text("other.csv").lines().nth(1).unwrap() + "\n"));
    // A Record of an older version may have other keys. It is one value.
    let record = text("record");
    let version = format!("\"volproof_version\":\"{}\"", env!("CARGO_PKG_VERSION"));
    let older = record.replacen(&version, "\"volproof_version\":\"0.0.1\",\"gone\":1", 1);
    assert_ne!(older, record);
    refuses("record", &older.repeat(2));
    std::fs::write(bench.path().join("record"), older).unwrap();
    make("record").ended(0);
    let fio = "{\n  \"fio version\" : \"fio-3.33\",\n  \"jobs\" : []\n}\n";
    std::fs::write(bench.path().join("evidence.json"), fio).unwrap();
    convert("json", "evidence.json")
        .ended(2)
        .says(&["is no unchanged report that volproof wrote in fio's form"]);
}

/// One rule for every command: what was measured is no less worth for being a table, a page or a report.
#[test]
fn no_simulation_replaces_a_table_a_page_or_a_report_of_a_measurement() {
    let bench = Bench::new();
    bench.file("f.dat", 1);
    let sheets = ["--csv", "k.csv", "--html", "k.html", "--markdown", "k.md"];
    let run = |line: &str| bench.run(&line.split(' ').chain(sheets).collect::<Vec<_>>());
    let real = "run f.dat --rw randread --runtime 100ms -q --json real.json";
    run(real).ended(0);
    let text = |name: &str| std::fs::read_to_string(bench.path().join(name)).unwrap();
    let kept = || ["k.csv", "k.html", "k.md"].map(text);
    let measured = kept();
    let simulated = "--simulate latency=1ms,jitter=4ms,iops-cap=400,cap-period=10ms -q --json";
    let courses = [
        format!("run --rw randread --runtime 1s {simulated} s.json"),
        format!("sweep --iodepth 1,2 --rw randread --runtime 10s {simulated} sweep.json"),
        format!("slo --judge-simulated --p99 20ms --confirm 60s {simulated} slo.json"),
    ];
    for line in courses {
        run(&line).ended(7).says(&["k.csv was measured", "k.html was measured", "k.md was measured"]);
        assert!(kept() == measured, "{line}");
    }
    let ends = |line: &str, code: i32| bench.run(&line.split(' ').collect::<Vec<_>>()).ended(code);
    let forms = ["json", "json+", "normal"];
    for form in forms {
        ends(&format!("convert real.json --to {form} -o k.{form}"), 0);
        let measured = text(&format!("k.{form}"));
        ends(&format!("convert s.json --to {form} -o k.{form}"), 7).says(&["was measured"]);
        assert!(text(&format!("k.{form}")) == measured, "{form}");
        // A simulation replaces another, and a measurement either.
        ends(&format!("convert s.json --to {form} -o t.{form}"), 0);
        ends(&format!("convert s.json --to {form} -o t.{form}"), 0);
        ends(&format!("convert real.json --to {form} -o t.{form}"), 0);
    }
    for (input, name) in [("s.json", "k"), ("sweep.json", "k"), ("slo.json", "k")] {
        ends(&format!("convert {input} --to csv -o {name}.csv"), 7).says(&["k.csv was measured"]);
        ends(&format!("report {input} -o {name}.html"), 7).says(&["k.html was measured"]);
        ends(&format!("show {input} -q --markdown {name}.md"), 7).says(&["k.md was measured"]);
    }
    assert!(kept() == measured);
    for input in ["s.json", "sweep.json", "slo.json", "real.json"] {
        ends(&format!("convert {input} --to csv -o t.csv"), 0);
        ends(&format!("report {input} -o t.html"), 0);
        ends(&format!("show {input} -q --markdown t.md"), 0);
    }
    run(real).ended(0);
    assert!(kept() != measured);
}

#[test]
fn a_name_as_long_as_any_has_room_for_another_beside_it() {
    let bench = Bench::new();
    let name = "é".repeat(125) + ".json";
    assert_eq!(name.len(), 255);
    let run = |device: &str| {
        let device = format!("latency=1ms{device}");
        bench.run(&[
            "run",
            "--rw",
            "randread",
            "--runtime",
            "1s",
            "-q",
            "--simulate",
            &device,
            "--json",
            &name,
        ])
    };
    run("").ended(0);
    let whole = std::fs::read(bench.path().join(&name)).unwrap();
    run(",error-every=100").ended(7).says(&["holds the Record of a complete run and stays"]);
    assert!(std::fs::read(bench.path().join(&name)).unwrap() == whole);
    let beside = "é".repeat(124) + "-2.json";
    let mut expected = [name.clone(), beside];
    expected.sort_unstable();
    assert_eq!(Bench::names(bench.path()), expected);
}

/// No file in it can be renamed or removed, so that the trial of an output would stay.
#[test]
fn a_folder_that_keeps_every_file_gets_none() {
    let bench = Bench::new();
    let folder = bench.folder("kept");
    let change = |flag: &str| {
        Command::new("chattr")
            .arg(flag)
            .arg(&folder)
            .stderr(std::process::Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    if !change("+a") {
        return println!("skipped: no attribute a here");
    }
    let line = ["run", "--simulate", "latency=1ms", "--rw", "randread", "--runtime", "1s", "-q"];
    let ran = [&["--json", "kept/r.json"][..], &["--records", "kept"]]
        .map(|more| bench.run(&[&line[..], more].concat()));
    let left = Bench::names(&folder);
    assert!(change("-a"));
    ran.into_iter().for_each(|ran| drop(ran.ended(2).says(&["kept", "chattr -a"])));
    assert_eq!(left, Vec::<String>::new());
}

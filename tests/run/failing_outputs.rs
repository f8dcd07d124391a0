//! Results that outlive the failure of an output: nothing that was measured is lost.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::Path;
use std::process::Command;

use volproof::record::{Record, State};

use crate::outputs::{bench, planned, redirected, undecided};
use crate::signals::{finish, wait_for};
use crate::{Bench, Ran, is_root};

/// All figures are on the screen, and the Record of both steps is in the file that standard error names.
#[track_caller]
fn nothing_is_lost(ran: &Ran) {
    let figures = if ran.out.contains("second") { &ran.out } else { &ran.err };
    assert!(
        figures.contains("first") && figures.contains("second"),
        "-- out:\n{}\n-- err:\n{}",
        ran.out,
        ran.err
    );
    let place =
        ran.err.split("it is in ").nth(1).expect("a second place is named").split(" instead").next().unwrap();
    let record = Record::load(Path::new(place)).unwrap();
    assert_eq!((record.state, record.steps.len()), (State::Complete, 2));
    std::fs::remove_file(place).unwrap();
}

/// Under `ulimit -f` the kernel sends SIGXFSZ, which ends programs that do not expect it.
#[test]
fn a_limit_of_file_sizes_loses_no_figure() {
    let bench = bench();
    bench.folder("data");
    let volproof = env!("CARGO_BIN_EXE_volproof");
    // In blocks of 1024 bytes: the page has no room, the table has.
    let limited = |blocks: u32, line: &str| {
        let script = format!("ulimit -f {blocks}; exec {volproof} {line}");
        Ran::of(bench.program("bash").args(["-c", &script]).output().unwrap())
    };
    let ran = limited(0, "run --plan p.toml --json r.json --csv r.csv").ended(1);
    assert!(ran.out.contains("first") && ran.out.contains("second"), "{}", ran.out);
    for name in ["r.json", "r.csv"] {
        assert!(ran.err.contains(&format!("{name} could not be saved: File too large")), "{}", ran.err);
    }
    let ran = limited(4, "run --plan p.toml -q --json r.json --csv r.csv").ended(1);
    assert!(
        ran.err.contains("first") && ran.err.contains("second"),
        "quiet, but the figures are told: {}",
        ran.err
    );
    assert_eq!(ran.err.matches("r.json could not be saved: File too large").count(), 1, "{}", ran.err);
    assert!(std::fs::read_to_string(bench.path().join("r.csv")).unwrap().contains("second"));
    assert!(!bench.path().join("r.json").exists());
    let ran = limited(64, "run data --file-size 8M --rw read --runtime 1s --json r.json").ended(1);
    assert!(ran.err.contains("File too large"), "{}", ran.err);
    assert_eq!(Bench::names(&bench.path().join("data")), Vec::<String>::new(), "the test file is gone");
}

/// A filesystem of its own, unmounted when dropped.
pub struct Small(pub std::path::PathBuf);

impl Small {
    fn new(bench: &Bench, options: &str) -> Option<Small> {
        Small::at(bench, "small", &["-t", "tmpfs", "-o", options, "none"])
    }

    /// Mounts what these words say on a folder.
    pub fn at(bench: &Bench, name: &str, words: &[&str]) -> Option<Small> {
        let place = bench.folder(name);
        let done =
            is_root() && Command::new("mount").args(words).arg(&place).status().is_ok_and(|s| s.success());
        if !done {
            println!("skipped: no filesystem can be mounted here");
        }
        done.then_some(Small(place))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_filesystem_loses_no_figure() {
    let bench = bench();
    let Some(small) = Small::new(&bench, "size=64k") else { return };
    let filler = small.0.join("filler");
    for room in [0, 4096, 8192, 16384] {
        std::fs::write(&filler, vec![1; 65536 - room]).unwrap();
        let ran = bench
            .run(&planned(&["--json", "small/r.json", "--csv", "r.csv", "--html", "small/r.html"]))
            .ended(1);
        assert!(ran.err.contains("small/r.html could not be saved: No space left on device"), "{}", ran.err);
        assert!(std::fs::read_to_string(bench.path().join("r.csv")).unwrap().contains("second"));
        let (first, page) = ran.err.rsplit_once("small/r.html could not be saved").unwrap();
        let page = page.split("it is in ").nth(1).unwrap().split(" instead").next().unwrap();
        assert!(std::fs::read_to_string(page).unwrap().contains("second"));
        std::fs::remove_file(page).unwrap();
        if first.contains("small/r.json could not be saved") {
            nothing_is_lost(&Ran { code: None, out: ran.out.clone(), err: first.into() });
        } else {
            assert_eq!(Record::load(&small.0.join("r.json")).unwrap().steps.len(), 2);
        }
        // The Record after the first step may have had room.
        let whole = Record::load(&small.0.join("r.json"));
        assert!(whole.is_ok() || !small.0.join("r.json").exists(), "{whole:?}");
        let _ = std::fs::remove_file(small.0.join("r.json"));
        assert_eq!(Bench::names(&small.0), ["filler"], "no half of a file stays");
    }
    let _ = std::fs::remove_file(&filler);
    std::fs::write(&filler, vec![1; 65536]).unwrap();
    let line = ["fio", "--name=a", "--size=64k", "--rw=read", "--output=small/out", "--record=small/r.json"];
    let ran = bench.run(&line).ended(1);
    assert!(ran.err.contains("IOPS=") && ran.err.contains("small/r.json could not be saved"), "{}", ran.err);
    for place in ran.err.split("it is in ").skip(1) {
        let _ = std::fs::remove_file(place.split([' ', '\n']).next().unwrap());
    }
}

#[test]
fn a_folder_that_goes_away_loses_no_figure() {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    bench.folder("gone");
    bench.folder("moved");
    let mut line = vec!["run", "f.dat", "--rw", "randread", "--runtime", "2s", "--json", "gone/r.json"];
    line.extend(["--csv", "moved/r.csv"]);
    let mut child = bench.start(&line);
    let mut err = BufReader::new(child.stderr.take().unwrap());
    // Outputs have been opened before the first step is announced.
    let seen = wait_for(&mut err, "[1/1]");
    std::fs::remove_dir(bench.path().join("gone")).unwrap();
    std::fs::rename(bench.path().join("moved"), bench.path().join("elsewhere")).unwrap();
    let ran = finish(child, err, seen).ended(1);
    assert!(ran.out.contains("p99.9"), "{}", ran.out);
    assert_eq!(ran.err.matches("gone/r.json could not be saved").count(), 1, "said once: {}", ran.err);
    let place = ran.err.split("it is in ").nth(1).unwrap().split(" instead").next().unwrap();
    assert_eq!(Record::load(Path::new(place)).unwrap().steps.len(), 1);
    std::fs::remove_file(place).unwrap();
    assert!(std::fs::read_to_string(bench.path().join("elsewhere/r.csv")).unwrap().contains("randread"));
}

/// Starts a run whose Record goes to `there/r.json`, and does something to that folder once it is open.
fn with_record_in_folder(bench: &Bench, meanwhile: impl FnOnce()) -> Ran {
    bench.file("f.dat", 4);
    let mut child =
        bench.start(&["run", "f.dat", "--rw", "randread", "--runtime", "2s", "--json", "there/r.json"]);
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let seen = wait_for(&mut err, "[1/1]");
    meanwhile();
    finish(child, err, seen)
}

#[test]
fn a_record_is_told_where_its_folder_is_now() {
    let bench = Bench::new();
    bench.folder("there");
    let path = |name| bench.path().join(name);
    let moved = || std::fs::rename(path("there"), path("here")).unwrap();
    // The next command reads the name that was asked for.
    let ran = with_record_in_folder(&bench, moved).ended(1);
    let ran = ran.says(&["the folder of there/r.json was renamed meanwhile; this result is"]);
    let told = path("here/r.json");
    assert!(ran.err.contains(&format!("Record: {}", told.display())), "{}", ran.err);
    assert_eq!(Record::load(&told).unwrap().steps.len(), 1);
}

#[test]
fn a_record_that_goes_with_its_filesystem_is_in_a_second_place() {
    let bench = Bench::new();
    let Some(there) = Small::at(&bench, "there", &["-t", "tmpfs", "-o", "size=1m", "none"]) else { return };
    let detached = || assert!(Command::new("umount").arg("-l").arg(&there.0).status().unwrap().success());
    let ran = with_record_in_folder(&bench, detached).ended(1);
    let place = ran.err.split("it is in ").nth(1).unwrap().split(" instead").next().unwrap();
    assert_eq!(Record::load(Path::new(place)).unwrap().steps.len(), 1);
    std::fs::remove_file(place).unwrap();
}

#[test]
fn a_report_of_fio_whose_folder_goes_away_is_in_a_second_place() {
    let bench = Bench::new();
    bench.folder("gone");
    let mut child = bench.start(&[
        "fio",
        "--name=a",
        "--size=64k",
        "--rw=read",
        "--runtime=2",
        "--time_based",
        "--output=gone/out",
        "--record=r.json",
    ]);
    let err = BufReader::new(child.stderr.take().unwrap());
    let began = std::time::Instant::now();
    while !bench.path().join("gone/out").exists() {
        assert!(began.elapsed().as_secs() < 60, "the report never began");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    std::fs::remove_dir_all(bench.path().join("gone")).unwrap();
    let ran = finish(child, err, String::new()).ended(1);
    let said: String = ran.err.split_whitespace().collect();
    let kept: String = Bench::names(bench.temporary.path())
        .into_iter()
        .map(|name| {
            let place = bench.temporary.path().join(name);
            assert!(said.contains(&format!("itisin{}", place.display())), "{}", ran.err);
            std::fs::read_to_string(place).unwrap()
        })
        .collect();
    assert!(kept.contains("IOPS="), "{}", ran.err);
}

/// Starts a run of one step with all outputs in a folder, spoils the folder once they are open, and looks where the figures went.
fn spoilt(bench: &Bench, spoil: impl FnOnce()) {
    bench.file("f.dat", 4);
    let line = ["run", "f.dat", "--rw", "randread", "--runtime", "2s", "--json", "small/r.json"];
    let mut child = bench.start(&[&line[..], &["--csv", "small/r.csv", "--html", "small/r.html"]].concat());
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let seen = wait_for(&mut err, "[1/1]");
    spoil();
    let ran = finish(child, err, seen).ended(1);
    assert!(ran.out.contains("p99.9"), "{}", ran.out);
    for name in ["r.json", "r.csv", "r.html"] {
        assert!(ran.err.contains(&format!("small/{name} could not be saved: ")), "{name}: {}", ran.err);
    }
    // The Record is saved after the step and at the end, in one second place.
    let places: BTreeSet<&str> =
        ran.err.split("it is in ").skip(1).map(|rest| rest.split(" instead").next().unwrap()).collect();
    assert_eq!(places.len(), 3, "{}", ran.err);
    for place in places {
        assert!(std::fs::read_to_string(place).unwrap().contains("randread"), "{place}");
        std::fs::remove_file(place).unwrap();
    }
}

#[test]
fn a_filesystem_that_becomes_read_only_loses_no_figure() {
    let bench = Bench::new();
    let Some(small) = Small::new(&bench, "size=1m") else { return };
    spoilt(&bench, || {
        let done = Command::new("mount").args(["-o", "remount,ro"]).arg(&small.0).status().unwrap();
        assert!(done.success());
    });
}

/// A filesystem on a disk that takes no more: the disk is a file with holes, and the filesystem below it is full. The failure comes with
/// the writing back, so at the sync and not at the write.
#[test]
fn a_disk_that_fails_below_the_filesystem_loses_no_figure() {
    let bench = Bench::new();
    let Some(below) = Small::at(&bench, "below", &["-t", "tmpfs", "-o", "size=2m", "none"]) else { return };
    let disk = below.0.join("disk");
    std::fs::File::create(&disk).unwrap().set_len(8 << 20).unwrap();
    let made = Command::new("mkfs.ext4").args(["-q", "-b", "1024", "-O", "^has_journal"]).arg(&disk).status();
    if !made.is_ok_and(|status| status.success()) {
        return println!("skipped: mkfs.ext4 is not here");
    }
    let Some(_small) = Small::at(&bench, "small", &["-o", "loop", disk.to_str().unwrap()]) else { return };
    let filler = below.0.join("filler");
    spoilt(&bench, || {
        let mut file = std::fs::File::create(&filler).unwrap();
        while std::io::Write::write_all(&mut file, &[1; 4096]).is_ok() {}
    });
}

#[test]
fn a_full_standard_output_loses_no_figure() {
    let bench = bench();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = bench.command(&planned(&["--json", "-"])).stdout(full()).output().unwrap();
    nothing_is_lost(&Ran::of(output).ended(1));
    // The reader of a pipe has gone away.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = bench.command(&planned(&["--json", "-"])).stdout(writer).output().unwrap();
    nothing_is_lost(&Ran::of(output).ended(1));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let fio = ["fio", "--name=a", "--ioengine=null", "--size=64k", "--output-format=json"];
    let output = bench.command(&fio).stdout(writer).output().unwrap();
    let ran = Ran::of(output).ended(1).says(&["Broken pipe"]);
    assert!(!ran.err.contains("jobname"), "`| head` had all that it wanted: {}", ran.err);
    let said: Vec<&str> = ran.err.split_whitespace().collect();
    let said = said.join(" ");
    let place = said.split("it is in ").nth(1).unwrap().split(" instead").next().unwrap();
    assert!(std::fs::read_to_string(place).unwrap().contains("\"jobname\" : \"a\""));
    std::fs::remove_file(place).unwrap();
    let output = bench.command(&planned(&["--json", "r.json"])).stdout(full()).output().unwrap();
    Ran::of(output).ended(1).says(&["standard output: No space left"]);
    assert_eq!(bench.record().steps.len(), 2);
}

/// An output that nobody can read is refused before a run, and is an error afterwards.
#[test]
fn a_standard_output_that_takes_nothing_loses_no_figure() {
    let bench = bench();
    std::fs::write(bench.path().join("read"), "").unwrap();
    let outputs =
        [&["--json", "-"][..], &["--csv", "/dev/stdout"], &["--html", "/dev/fd/1"], &["--junit", "-"]];
    for (redirection, why) in
        [(">&-", "it was closed when the program started"), ("1<read", "it is open for reading only")]
    {
        for output in outputs {
            let ran = redirected(&bench, &planned(output), redirection).ended(2);
            ran.says(&[output[0], "cannot be written", why]);
        }
        let ran = redirected(&bench, &planned(&["--json", "r.json"]), redirection).ended(1);
        ran.says(&["standard output: ", why, "Record: r.json"]);
        assert_eq!(bench.record().steps.len(), 2);
        for command in
            [&["show", "r.json"][..], &["explain", "r.json"], &["convert", "r.json", "--to", "record"]]
        {
            redirected(&bench, command, redirection).says(&[why]);
        }
        let fio = ["fio", "--name=j", "--size=64k", "--simulate=latency=200us", "--output-format=json"];
        redirected(&bench, &fio, redirection).ended(1).says(&["--output", why]);
    }
    let ran = redirected(&bench, &planned(&["--json", "/dev/stderr"]), "2>&-");
    assert_eq!((ran.code, ran.err.as_str()), (Some(2), ""), "the message has no place either");
    redirected(&bench, &["show", "-"], "<&-").ended(2).says(&["it was closed when the program started"]);
}

#[test]
fn an_output_that_fails_takes_no_other_with_it_and_no_verdict() {
    let bench = Bench::new();
    undecided(&bench, "r.json", &[]);
    for output in ["--junit", "--markdown", "--openmetrics"] {
        // 1 would be FAIL.
        let verdict = bench.run(&["verdict", "r.json", "-q", output, "/dev/full"]).ended(5);
        assert!(verdict.out.starts_with("INCONCLUSIVE"), "{}", verdict.out);
        verdict.says(&["/dev/full could not be saved"]);
        let shown = bench.run(&["show", "r.json", "-q", output, "/dev/full"]).ended(1);
        assert!(shown.out.starts_with("INCONCLUSIVE"), "{}", shown.out);
    }
    // An answer that cannot be printed is told; the exit code stays that of the answer, and is never 0.
    for (command, code) in [
        (&["verdict", "r.json"][..], 5),
        (&["explain", "r.json"], 5),
        (&["explain", "r.json", "--json"], 5),
        (&["check", "r.json"], 3),
        (&["check", "r.json", "--json"], 3),
        (&["show", "r.json"], 1),
        (&["presets"], 1),
        (&["--help"], 1),
        (&["run", "--help"], 1),
        (&["--version"], 1),
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = Ran::of(bench.command(command).stdout(full).output().unwrap()).ended(code);
        ran.says(&["standard output: No space left"]);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let code = if code == 1 { 0 } else { code };
        Ran::of(bench.command(command).stdout(writer).output().unwrap()).ended(code);
    }
}

#[test]
fn a_fleet_is_saved_whatever_else_fails() {
    let bench = Bench::new();
    bench.folder("data");
    // A start that has passed is refused, which a busy machine comes to.
    let began = [1, 4, 16, 64].into_iter().any(|ahead| {
        let start = (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(ahead)).to_string();
        let rank = ["--start-at", &start, "--rank", "0/1", "--clock-error", "1ms", "--json", "r.json", "-q"];
        let run = "run data --rw randread --runtime 300ms --file-size 8M";
        bench.run(&run.split(' ').chain(rank).collect::<Vec<_>>()).code == Some(0)
    });
    assert!(began);
    bench.run(&["merge", "r.json", "-o", "m.json", "--junit", "/dev/full"]);
    assert!(bench.path().join("m.json").exists());
    std::fs::remove_file(bench.path().join("m.json")).unwrap();
    redirected(&bench, &["merge", "r.json", "-o", "m.json"], ">/dev/full");
    assert!(bench.path().join("m.json").exists());
}

/// As a terminal after Ctrl-S: what is said stays unsaid, and the run, its Record and its end do not wait for it.
#[test]
fn a_standard_error_that_takes_nothing_holds_up_no_result() {
    let bench = Bench::new();
    bench.file("f.dat", 1);
    let (unread, full) = std::io::pipe().unwrap();
    let non_blocking = rustix::fs::OFlags::NONBLOCK;
    rustix::fs::fcntl_setfl(&full, non_blocking).unwrap();
    while rustix::io::write(&full, &[b'.'; 4096]).is_ok() {}
    rustix::fs::fcntl_setfl(&full, rustix::fs::OFlags::empty()).unwrap();
    let line = ["run", "f.dat", "--rw", "randread", "--runtime", "100ms", "--json", "r.json", "--details"];
    let ran = Ran::of(bench.command(&line).stderr(full).output().unwrap()).ended(0);
    assert!(ran.out.contains("randread"), "{}", ran.out);
    assert_eq!(bench.record().state, State::Complete);
    drop(unread);
}

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
    run().ended(1).says(&[
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
        .ended(1)
        .says(&["real.json holds the Record of a measurement", "this one is real-2.json"]);
    bench.run(&["convert", "real.json", "--to", "json", "-o", "report.json"]).ended(0);
    bench
        .run(&["convert", "report.json", "--to", "record", "-o", "real.json"])
        .ended(1)
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
    bench.run(&["run", "f.dat", "--plan", "p.toml", "-q", "--json", "r.json"]).ended(i32::from(fails))
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
    let Some(small) = Small::new(&bench, "size=64k") else { return };
    bench.file("f.dat", 1);
    let (path, behind) = (bench.path().join("r.json"), small.0.join("r.json"));
    [&path, &behind].into_iter().for_each(|file| std::fs::write(file, "").unwrap());
    let mounted = Command::new("mount").arg("--bind").arg(&behind).arg(&path).status();
    assert!(mounted.is_ok_and(|status| status.success()));
    let _mounted = Small(path.clone());
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
        .ended(1)
        .says(&["could not be saved"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), old);
    // So it does where the process may not write so large a file: 512 or 1,024 bytes, as the shell counts.
    std::fs::remove_file(small.0.join("filler")).unwrap();
    let limited = format!(
        "ulimit -f 1; exec '{}' convert r-2.json --to json+ -o r.json",
        env!("CARGO_BIN_EXE_volproof")
    );
    let ended = Command::new("sh").args(["-c", &limited]).current_dir(bench.path()).output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), old);
}

#[test]
fn an_output_is_replaced_only_as_volproof_wrote_it() {
    let bench = Bench::new();
    bench.file("f.dat", 1);
    bench.run(&["run", "f.dat", "--rw", "randread", "--runtime", "100ms", "-q", "--json", "r.json"]).ended(0);
    let forms = ["json", "json+", "terse", "normal", "csv", "jobfile", "plan", "record"];
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
        if !["terse", "normal"].contains(&name) {
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
        run(&line).ended(1).says(&["k.csv was measured", "k.html was measured", "k.md was measured"]);
        assert!(kept() == measured, "{line}");
    }
    let ends = |line: &str, code: i32| bench.run(&line.split(' ').collect::<Vec<_>>()).ended(code);
    let forms = ["json", "json+", "terse", "normal"];
    for form in forms {
        ends(&format!("convert real.json --to {form} -o k.{form}"), 0);
        let measured = text(&format!("k.{form}"));
        ends(&format!("convert s.json --to {form} -o k.{form}"), 1).says(&["was measured"]);
        assert!(text(&format!("k.{form}")) == measured, "{form}");
        // A simulation replaces another, and a measurement either.
        ends(&format!("convert s.json --to {form} -o t.{form}"), 0);
        ends(&format!("convert s.json --to {form} -o t.{form}"), 0);
        ends(&format!("convert real.json --to {form} -o t.{form}"), 0);
    }
    for (input, name) in [("s.json", "k"), ("sweep.json", "k"), ("slo.json", "k")] {
        ends(&format!("convert {input} --to csv -o {name}.csv"), 1).says(&["k.csv was measured"]);
        ends(&format!("report {input} -o {name}.html"), 1).says(&["k.html was measured"]);
        ends(&format!("show {input} -q --markdown {name}.md"), 1).says(&["k.md was measured"]);
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
    run(",error-every=100").ended(1).says(&["holds the Record of a complete run and stays"]);
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

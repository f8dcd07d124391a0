//! Results that outlive the failure of an output: nothing that was measured is lost.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::Path;
use std::process::Command;

use volproof::record::{Record, State};

use crate::run::mounted::Mounted;
use crate::run::outputs::{bench, planned, redirected, undecided};
use crate::run::signals::{finish, wait_for, wait_for_load};
use crate::run::{Bench, Ran, second_places};

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
    let place = &second_places(&ran.err)[0];
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
    let ran = limited(0, "run --plan p.toml --json r.json --csv r.csv").ended(7);
    assert!(ran.out.contains("first") && ran.out.contains("second"), "{}", ran.out);
    for name in ["r.json", "r.csv"] {
        assert!(ran.err.contains(&format!("{name} could not be saved: File too large")), "{}", ran.err);
    }
    let ran = limited(4, "run --plan p.toml -q --json r.json --csv r.csv").ended(7);
    assert!(
        ran.err.contains("first") && ran.err.contains("second"),
        "quiet, but the figures are told: {}",
        ran.err
    );
    assert_eq!(ran.err.matches("r.json could not be saved: File too large").count(), 1, "{}", ran.err);
    assert!(std::fs::read_to_string(bench.path().join("r.csv")).unwrap().contains("second"));
    assert!(!bench.path().join("r.json").exists());
    let ran = limited(64, "run data --file-size 8M --rw read --runtime 1s --json r.json").ended(7);
    assert!(ran.err.contains("File too large"), "{}", ran.err);
    assert_eq!(Bench::names(&bench.path().join("data")), Vec::<String>::new(), "the test file is gone");
}

/// fio ends with 0 when its report meets a full disk.
#[test]
fn a_report_that_the_installed_fio_could_not_write_is_no_success() {
    if volproof::fio::installed::find(&std::env::var_os("PATH").unwrap_or_default()).is_none() {
        return println!("skipped: fio is not installed");
    }
    let bench = bench();
    let Some(small) = Mounted::new(&bench, "size=64k") else { return };
    let filler = small.0.join("filler");
    let fio = |room: usize, words: &str| {
        std::fs::write(&filler, vec![1; 65536 - room]).unwrap();
        let line = format!("fio --name=a --filename=data/a --size=64k --rw=write --verify=md5 {words}");
        let ran = bench.run(&line.split(' ').collect::<Vec<_>>());
        std::fs::remove_file(&filler).unwrap();
        for name in Bench::names(&small.0) {
            std::fs::remove_file(small.0.join(name)).unwrap();
        }
        ran
    };
    for (room, words) in [
        (0, "--output=small/report"),
        (4096, "--output=small/report --output-format=json"),
        (4096, "--output=small/report --output-format=normal,json"),
    ] {
        fio(room, words).ended(1).says(&["small/report could not be saved"]);
    }
    for words in ["--output=small/report", "--output=small/report --output-format=json"] {
        fio(49152, words).ended(0);
    }
}

#[test]
fn a_full_filesystem_loses_no_figure() {
    let bench = bench();
    let Some(small) = Mounted::new(&bench, "size=64k") else { return };
    let filler = small.0.join("filler");
    for room in [0, 4096, 8192, 16384] {
        std::fs::write(&filler, vec![1; 65536 - room]).unwrap();
        let ran = bench
            .run(&planned(&["--json", "small/r.json", "--csv", "r.csv", "--html", "small/r.html"]))
            .ended(7);
        assert!(ran.err.contains("small/r.html could not be saved: No space left on device"), "{}", ran.err);
        assert!(std::fs::read_to_string(bench.path().join("r.csv")).unwrap().contains("second"));
        let (first, page) = ran.err.rsplit_once("small/r.html could not be saved").unwrap();
        let page = &second_places(page)[0];
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
    for place in second_places(&ran.err) {
        let _ = std::fs::remove_file(place);
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
    std::fs::remove_dir_all(bench.path().join("gone")).unwrap();
    std::fs::rename(bench.path().join("moved"), bench.path().join("elsewhere")).unwrap();
    let ran = finish(child, err, seen).ended(7);
    assert!(ran.out.contains("p99.9"), "{}", ran.out);
    assert_eq!(ran.err.matches("gone/r.json could not be saved").count(), 1, "said once: {}", ran.err);
    let place = &second_places(&ran.err)[0];
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
fn a_record_whose_folder_moves_is_in_a_second_place() {
    let bench = Bench::new();
    bench.folder("there");
    let path = |name| bench.path().join(name);
    let moved = || std::fs::rename(path("there"), path("here")).unwrap();
    // The next command reads the name that was asked for.
    let ran = with_record_in_folder(&bench, moved).ended(7);
    let ran = ran.says(&["there/r.json could not be saved: its folder is no longer there"]);
    let place = &second_places(&ran.err)[0];
    assert_eq!(Record::load(Path::new(place)).unwrap().steps.len(), 1);
    std::fs::remove_file(place).unwrap();
    assert_eq!(Record::load(&path("here/r.json")).unwrap().steps.len(), 1);
}

#[test]
fn a_record_that_goes_with_its_filesystem_is_in_a_second_place() {
    let bench = Bench::new();
    let Some(there) = Mounted::at(&bench, "there", &["-t", "tmpfs", "-o", "size=1m", "none"]) else { return };
    let detached = || assert!(Command::new("umount").arg("-l").arg(&there.0).status().unwrap().success());
    let ran = with_record_in_folder(&bench, detached).ended(7);
    let place = &second_places(&ran.err)[0];
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
    wait_for_load(child.id(), 1 << 20);
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
    let ran = finish(child, err, seen).ended(7);
    assert!(ran.out.contains("p99.9"), "{}", ran.out);
    // What the Record leaves free may be room enough for the table.
    let table = std::fs::read_to_string(bench.path().join("small/r.csv")).unwrap_or_default();
    let has_table = table.contains("randread");
    for name in ["r.json", "r.csv", "r.html"].into_iter().filter(|name| !has_table || *name != "r.csv") {
        assert!(ran.err.contains(&format!("small/{name} could not be saved: ")), "{name}: {}", ran.err);
    }
    // The Record is saved after the step and at the end, in one second place.
    let places: BTreeSet<String> = second_places(&ran.err).into_iter().collect();
    assert_eq!(places.len(), if has_table { 2 } else { 3 }, "{}", ran.err);
    for place in places {
        // The last save of the Record may have found room in its own place.
        let kept = std::fs::read_to_string(&place);
        let kept = kept.or_else(|_| std::fs::read_to_string(bench.path().join("small/r.json")));
        assert!(kept.unwrap().contains("randread"), "{place}");
        let _ = std::fs::remove_file(place);
    }
}

#[test]
fn a_filesystem_that_becomes_read_only_loses_no_figure() {
    let bench = Bench::new();
    let Some(small) = Mounted::new(&bench, "size=1m") else { return };
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
    let Some(below) = Mounted::at(&bench, "below", &["-t", "tmpfs", "-o", "size=2m", "none"]) else { return };
    let disk = below.0.join("disk");
    std::fs::File::create(&disk).unwrap().set_len(8 << 20).unwrap();
    let made = Command::new("mkfs.ext4").args(["-q", "-b", "1024", "-O", "^has_journal"]).arg(&disk).status();
    if !made.is_ok_and(|status| status.success()) {
        return println!("skipped: mkfs.ext4 is not here");
    }
    let Some(_small) = Mounted::at(&bench, "small", &["-o", "loop", disk.to_str().unwrap()]) else { return };
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
    nothing_is_lost(&Ran::of(output).ended(7));
    // The reader of a pipe has gone away.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = bench.command(&planned(&["--json", "-"])).stdout(writer).output().unwrap();
    nothing_is_lost(&Ran::of(output).ended(7));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let fio = ["fio", "--name=a", "--ioengine=null", "--size=64k", "--output-format=json"];
    let output = bench.command(&fio).stdout(writer).output().unwrap();
    let ran = Ran::of(output).ended(1).says(&["Broken pipe"]);
    assert!(!ran.err.contains("jobname"), "`| head` had all that it wanted: {}", ran.err);
    let place = &second_places(&ran.err)[0];
    assert!(std::fs::read_to_string(place).unwrap().contains("\"jobname\" : \"a\""));
    std::fs::remove_file(place).unwrap();
    let output = bench.command(&planned(&["--json", "r.json"])).stdout(full()).output().unwrap();
    Ran::of(output).ended(7).says(&["standard output: No space left"]);
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
        let ran = redirected(&bench, &planned(&["--json", "r.json"]), redirection).ended(7);
        ran.says(&["standard output: ", why, "Record: r.json"]);
        assert_eq!(bench.record().steps.len(), 2);
        for command in [&["show", "r.json"][..], &["convert", "r.json", "--to", "record"]] {
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
        let shown = bench.run(&["show", "r.json", "-q", output, "/dev/full"]).ended(7);
        assert!(shown.out.starts_with("INCONCLUSIVE"), "{}", shown.out);
    }
    // An answer that cannot be printed is told; the exit code stays that of the answer, and is never 0.
    for (command, code) in [
        (&["verdict", "r.json"][..], 5),
        (&["check", "r.json"], 3),
        (&["check", "r.json", "--json"], 3),
        (&["show", "r.json"], 7),
        (&["presets"], 7),
        (&["--help"], 7),
        (&["run", "--help"], 7),
        (&["--version"], 7),
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = Ran::of(bench.command(command).stdout(full).output().unwrap()).ended(code);
        ran.says(&["standard output: No space left"]);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let code = if code == 7 { 0 } else { code };
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

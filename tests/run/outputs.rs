//! Where results go: nothing that must stay is overwritten, and nothing that was measured is lost.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

use volproof::record::{Record, State};
use volproof::unit::Nanos;

use crate::devices::Loop;
use crate::signals::{finish, wait_for};
use crate::{Bench, Ran, is_root};

/// Two steps on a simulated volume: they take no time, and no target.
const PLAN: &str = r#"
[[step]]
name = "first"
rw = "randread"
engine = "null"
runtime = "2s"
[[step]]
name = "second"
rw = "randread"
engine = "null"
runtime = "2s"
"#;

fn bench() -> Bench {
    let bench = Bench::new();
    std::fs::write(bench.path().join("p.toml"), PLAN).unwrap();
    bench
}

fn planned<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--plan", "p.toml"], more].concat()
}

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

#[test]
fn devices_pipes_and_links_are_written_through() {
    let bench = bench();
    symlink("/dev/null", bench.path().join("nowhere")).unwrap();
    symlink("real.json", bench.path().join("r.json")).unwrap();
    bench.run(&planned(&["-q", "--json", "/dev/null", "--csv", "nowhere", "--html", "/dev/null"])).ended(0);
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    bench.run(&planned(&["-q", "--json", "r.json"])).ended(0);
    assert!(bench.path().join("r.json").is_symlink());
    assert_eq!(Record::load(&bench.path().join("real.json")).unwrap().steps.len(), 2);

    let ran = bench.run(&planned(&["--json", "/dev/stdout"])).ended(0);
    assert_eq!(Record::parse(&ran.out, "out".into()).unwrap().steps.len(), 2, "and no table beside it");

    let pipe = bench.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe).unwrap()
    });
    bench.run(&planned(&["-q", "--json", "pipe"])).ended(0);
    let text = reader.join().unwrap();
    assert_eq!(Record::parse(&text, "pipe".into()).unwrap().steps.len(), 2, "once, whole");
    assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
}

#[test]
fn outputs_do_not_overwrite_one_another_nor_what_is_used() {
    let bench = bench();
    let file = bench.file("f.dat", 4);
    std::fs::hard_link(&file, bench.path().join("hard")).unwrap();
    symlink("f.dat", bench.path().join("soft")).unwrap();
    let plan = std::fs::read(bench.path().join("p.toml")).unwrap();
    let data = std::fs::read(&file).unwrap();
    let before = Bench::names(bench.path());
    for (arguments, words) in [
        (planned(&["--json", "r", "--html", "r"]), ["r is the same file as --json r", "--html"]),
        (planned(&["--json", "-", "--csv", "-"]), ["--json goes to standard output already", "--csv"]),
        (planned(&["--json", "p.toml"]), ["p.toml is the same file as --plan p.toml", "--json"]),
        (vec!["run", "f.dat", "--rw", "read", "--csv", "f.dat"], ["same file as the target f.dat", "--csv"]),
        (vec!["run", "f.dat", "--rw", "read", "--html", "hard"], ["same file as the target f.dat", "--html"]),
        (vec!["run", "f.dat", "--rw", "read", "--json", "soft"], ["same file as the target f.dat", "--json"]),
        (vec!["million", "f.dat", "--json", "hard"], ["same file as the target f.dat", "--json"]),
        (vec!["convert", "p.toml", "--to", "plan", "-o", "p.toml"], ["same file as the input p.toml", "-o"]),
        (vec!["report", "p.toml", "-o", "./p.toml"], ["same file as the input p.toml", "-o"]),
    ] {
        bench.run(&arguments).ended(2).says(&words);
        assert_eq!(Bench::names(bench.path()), before, "{arguments:?}");
    }
    for arguments in [
        ["fio", "--name=a", "--filename=f.dat", "--rw=read", "--output=hard"],
        ["fio", "--name=a", "--filename=f.dat", "--rw=read", "--record=soft"],
        ["fio", "--name=a", "--filename=new", "--size=4k", "--output=new"],
        ["fio", "--name=a", "--filename=f.dat", "--rw=read", "--write_bw_log=a"],
    ] {
        let log = arguments[4] == "--write_bw_log=a";
        if log {
            symlink("f.dat", bench.path().join("a_bw.1.log")).unwrap();
        }
        bench.run(&arguments).ended(1).says(&["is the same file as the target"]);
        assert!(!bench.path().join("new").exists());
    }
    std::fs::write(bench.path().join("j.fio"), "[a]\nfilename=f.dat\nrw=read\n").unwrap();
    bench.run(&["fio", "j.fio", "--output=j.fio"]).ended(1).says(&["same file as the job file j.fio"]);
    assert_eq!(std::fs::read(&file).unwrap(), data);
    assert_eq!(std::fs::read(bench.path().join("p.toml")).unwrap(), plan);
}

#[test]
fn block_devices_are_no_outputs() {
    let bench = bench();
    bench.run(&planned(&["-q", "--json", "r.json"])).ended(0);
    let Some(disk) = Loop::over(&bench.file("disk", 4)) else { return };
    let before = std::fs::read(disk.path()).unwrap();
    symlink(disk.path(), bench.path().join("link")).unwrap();
    for device in [disk.path(), "link"] {
        for arguments in [
            planned(&["--json", device]),
            planned(&["--csv", device]),
            planned(&["--html", device]),
            vec!["report", "r.json", "-o", device],
            vec!["convert", "r.json", "--to", "csv", "-o", device],
        ] {
            bench.run(&arguments).ended(3).says(&["is a device, and the output would overwrite it"]);
        }
        for option in ["--output", "--record"] {
            let option = format!("{option}={device}");
            bench.run(&["fio", "--name=a", "--size=4k", &option]).ended(3).says(&["device"]);
        }
    }
    bench.run(&planned(&["--json", "disk"])).ended(3).says(&["is the disk behind"]);
    bench.run(&["convert", "r.json", "--to", "csv", "-o", "disk"]).ended(3).says(&["is the disk behind"]);
    assert_eq!(std::fs::read(disk.path()).unwrap(), before);
}

#[test]
fn nobody_can_plant_a_link_where_the_writer_writes() {
    let bench = bench();
    std::fs::write(bench.path().join("precious"), "precious").unwrap();
    for name in ["r.json.part", "r.csv.part", "x.html.part"] {
        symlink("precious", bench.path().join(name)).unwrap();
    }
    bench.run(&planned(&["-q", "--json", "r.json", "--csv", "r.csv", "--html", "x.html"])).ended(0);
    assert_eq!(std::fs::read_to_string(bench.path().join("precious")).unwrap(), "precious");
    assert!(!Bench::names(bench.path()).iter().any(|n| n.starts_with(".volproof")));
}

#[test]
fn records_of_one_second_have_names_of_their_own() {
    let bench = bench();
    bench.folder("records");
    let start = || bench.start(&planned(&["-q", "--records", "records"]));
    let children: Vec<_> = (0..4).map(|_| start()).collect();
    for child in children {
        Ran::of(child.wait_with_output().unwrap()).ended(0);
    }
    let folder = bench.path().join("records");
    assert_eq!(Bench::names(&folder).len(), 4);
    let mut command = bench.command(&planned(&[]));
    let ran = Ran::of(command.env("VOLPROOF_RECORDS", "records").output().unwrap()).ended(0);
    assert_eq!(Bench::names(&folder).len(), 5);
    assert!(ran.err.contains("volproof show records/volproof-"), "{}", ran.err);
    bench.run(&planned(&["--records", "none"])).ended(2).says(&["none", "no folder", "--records"]);
}

#[test]
fn outputs_that_cannot_be_written_are_found_before_the_run() {
    let bench = bench();
    for option in ["--json", "--csv", "--html"] {
        let ran =
            bench.run(&planned(&[option, "none/r"])).ended(2).says(&["there is no folder none", option]);
        assert!(!ran.err.contains("first"), "nothing ran: {}", ran.err);
        bench.run(&planned(&[option, "."])).ended(2).says(&["it is a folder", option]);
        bench.run(&planned(&[option, "/proc/r"])).ended(2).says(&["/proc/r", option]);
    }
    for option in ["--output", "--record"] {
        let ran = bench.run(&["fio", "--name=a", "--size=4k", &format!("{option}=none/r")]).ended(1);
        assert!(ran.err.contains("there is no folder none") && ran.err.contains(option), "{}", ran.err);
        assert!(!bench.path().join("a.0.0").exists(), "nothing ran");
    }
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
        Ran::of(Command::new("bash").args(["-c", &script]).current_dir(bench.path()).output().unwrap())
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
    assert!(std::fs::read_to_string(bench.path().join("r.csv")).unwrap().contains("second"));
    assert!(!bench.path().join("r.json").exists());
    let ran = limited(64, "run data --file-size 8M --rw read --runtime 1s --json r.json").ended(1);
    assert!(ran.err.contains("File too large"), "{}", ran.err);
    assert_eq!(Bench::names(&bench.path().join("data")), Vec::<String>::new(), "the test file is gone");
}

/// A filesystem of its own, unmounted when dropped.
struct Small(std::path::PathBuf);

impl Small {
    fn new(bench: &Bench, options: &str) -> Option<Small> {
        Small::at(bench, "small", &["-t", "tmpfs", "-o", options, "none"])
    }

    /// Mounts what these words say on a folder.
    fn at(bench: &Bench, name: &str, words: &[&str]) -> Option<Small> {
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
    let ran = with_record_in_folder(&bench, moved).ended(0);
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
    let places = ran.err.split("it is in ").skip(1).map(|rest| rest.split(" and here:").next().unwrap());
    let kept: String = places
        .map(|place| {
            let text = std::fs::read_to_string(place).unwrap();
            std::fs::remove_file(place).unwrap();
            text
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
fn names_that_are_no_text_and_modes_that_are_private() {
    let bench = bench();
    let name = std::ffi::OsStr::from_bytes(b"r\xff.json");
    let path = bench.path().join(name);
    std::fs::write(&path, "").unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut command = bench.command(&planned(&["-q", "--json"]));
    Ran::of(command.arg(name).output().unwrap()).ended(0);
    assert_eq!(Record::load(&path).unwrap().steps.len(), 2);
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
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
    let ran = Ran::of(output).ended(1).says(&["Broken pipe", "\"jobname\" : \"a\""]);
    let said: Vec<&str> = ran.err.split_whitespace().collect();
    let said = said.join(" ");
    let place = said.split("it is in ").nth(1).unwrap().split(" and here").next().unwrap();
    assert!(std::fs::read_to_string(place).unwrap().contains("\"jobname\" : \"a\""));
    std::fs::remove_file(place).unwrap();
    let output = bench.command(&planned(&["--json", "r.json"])).stdout(full()).output().unwrap();
    Ran::of(output).ended(1).says(&["standard output: No space left"]);
    assert_eq!(bench.record().steps.len(), 2);
}

/// Runs in a shell that redirects as `redirection` says.
fn redirected(bench: &Bench, arguments: &[&str], redirection: &str) -> Ran {
    let script = format!(r#"exec "$0" "$@" {redirection}"#);
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_volproof")]).args(arguments);
    Ran::of(command.current_dir(bench.path()).output().unwrap())
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

/// A file that is opened first would have the number of standard output, and be written to.
#[test]
fn a_target_is_no_standard_output() {
    let bench = Bench::new();
    let path = bench.file("f.dat", 1);
    let line = "run f.dat --rw randread --buffered --engine psync --runtime 100ms --json r.json";
    let line: Vec<&str> = line.split(' ').collect();
    let before = std::fs::read(&path).unwrap();
    redirected(&bench, &line, "<&- >&- 2>&-");
    assert_eq!(bench.record().steps.len(), 1);
    assert!(std::fs::read(&path).unwrap() == before, "the target has been written to");
}

/// A simulated device leaves the file that the job names alone, and so do the reports.
#[test]
fn results_of_a_simulated_device_do_not_overwrite_the_file_that_is_named() {
    let bench = Bench::new();
    let path = bench.file("e.img", 1);
    let before = std::fs::read(&path).unwrap();
    let job = "fio --name=a --rw=randread --simulate latency=200us --runtime=1 --size=1m --filename=e.img";
    for output in ["--record=e.img", "--output=e.img"] {
        let line: Vec<&str> = job.split(' ').chain([output]).collect();
        bench.run(&line).ended(1).says(&["e.img is the same file as the target"]);
        assert!(std::fs::read(&path).unwrap() == before, "{output} has overwritten the target");
    }
    let million = "million e.img 1 1 4k randread --runtime 1s --simulate latency=200us --json e.img";
    let line: Vec<&str> = million.split(' ').collect();
    bench.run(&line).ended(2).says(&["e.img is the same file as the target"]);
    assert!(std::fs::read(&path).unwrap() == before, "million has overwritten the target");
}

/// Standard output and error hold what a shell wrote before. Nothing that goes to them takes it away.
#[test]
fn what_stands_in_standard_output_already_stays() {
    let bench = bench();
    let fio = "fio --name=j --size=64k --simulate=latency=200us";
    let simulated = "run --simulate latency=1ms --rw randread --runtime 10ms -q";
    bench.run(&format!("{simulated} --json r.json").split(' ').collect::<Vec<_>>()).ended(0);
    for line in [
        fio.to_string(),
        format!("{fio} --output-format=normal,json"),
        format!("{fio} --output=-"),
        format!("{fio} --output=/dev/stdout"),
        format!("{fio} --output=/dev/stderr"),
        format!("{simulated} --json -"),
        format!("{simulated} --json s.json --csv /dev/stdout"),
        format!("{simulated} --json /dev/stderr"),
        "show r.json --markdown -".into(),
        "convert r.json --to json".into(),
        "report r.json -o -".into(),
    ] {
        let command = format!("{{ echo earlier; {} {line}; }} >log 2>&1", env!("CARGO_BIN_EXE_volproof"));
        let status = Command::new("sh").args(["-c", &command]).current_dir(bench.path()).status().unwrap();
        let log = std::fs::read(bench.path().join("log")).unwrap();
        assert!(status.success(), "{line}: {}", String::from_utf8_lossy(&log));
        assert!(log.starts_with(b"earlier\n") && log.len() > 100, "{line}: {} bytes", log.len());
        assert!(!log.contains(&0), "{line}: a hole");
    }
}

/// A stored result can be printed again: a reader that has gone away costs nothing.
#[test]
fn a_reader_that_goes_away_leaves_no_file() {
    let bench = bench();
    let simulated = "run --simulate latency=1ms --rw randread --runtime 10ms -q --json r.json";
    bench.run(&simulated.split(' ').collect::<Vec<_>>()).ended(0);
    let saved = bench.folder("saved");
    for line in ["report r.json -o -", "convert r.json --to record", "show r.json --junit -"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = bench.command(&line.split(' ').collect::<Vec<_>>());
        let ran = command.env("TMPDIR", &saved).stdout(writer).output().unwrap();
        assert_eq!((ran.status.code(), ran.stderr.as_slice()), (Some(0), &b""[..]), "{line}");
    }
    assert_eq!(Bench::names(&saved), [""; 0]);
}

/// A simulated run with a promise that half a minute cannot decide.
fn undecided(bench: &Bench, name: &str, more: &[&str]) {
    let run = "run --simulate latency=200us,iops-cap=3000 --rw randread --iodepth 8 --runtime 30s --offline";
    let promise = "--promise aws:gp3 --volume-size 100GiB --judge-simulated -q --json";
    let words: Vec<&str> = run.split(' ').chain(promise.split(' ')).chain([name]).collect();
    bench.run(&[&words, more].concat()).ended(5);
}

/// Runs the program with the folder of the bench as its temporary folder, where it saves what has no other place.
fn with_second_place(bench: &Bench, words: &[&str]) -> Ran {
    Ran::of(bench.command(words).env("TMPDIR", bench.path()).output().unwrap())
}

#[test]
fn an_output_that_fails_takes_no_other_with_it_and_no_verdict() {
    let bench = Bench::new();
    undecided(&bench, "r.json", &[]);
    for output in ["--junit", "--markdown", "--openmetrics"] {
        // 1 would be FAIL.
        let verdict = with_second_place(&bench, &["verdict", "r.json", "-q", output, "/dev/full"]).ended(5);
        assert!(verdict.out.starts_with("INCONCLUSIVE"), "{}", verdict.out);
        verdict.says(&["/dev/full could not be saved"]);
        let shown = with_second_place(&bench, &["show", "r.json", "-q", output, "/dev/full"]).ended(1);
        assert!(shown.out.starts_with("INCONCLUSIVE"), "{}", shown.out);
    }
}

#[test]
fn a_fleet_is_saved_whatever_else_fails() {
    let bench = Bench::new();
    bench.folder("data");
    let start = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(2);
    let start = start.to_string();
    let rank = ["--start-at", &start, "--rank", "0/1", "--clock-error", "1ms", "--json", "r.json", "-q"];
    let run = "run data --rw randread --runtime 300ms --file-size 8M";
    bench.run(&run.split(' ').chain(rank).collect::<Vec<_>>());
    with_second_place(&bench, &["merge", "r.json", "-o", "m.json", "--junit", "/dev/full"]);
    assert!(bench.path().join("m.json").exists());
    std::fs::remove_file(bench.path().join("m.json")).unwrap();
    redirected(&bench, &["merge", "r.json", "-o", "m.json"], ">/dev/full");
    assert!(bench.path().join("m.json").exists());
}

#[test]
fn a_page_that_nobody_named_replaces_no_file() {
    let bench = Bench::new();
    undecided(&bench, "index.json", &[]);
    std::fs::write(bench.path().join("index.html"), "precious").unwrap();
    let ran = bench.run(&["report", "index.json"]).ended(0);
    assert_eq!(ran.out, "Page: index-2.html\n");
    assert_eq!(std::fs::read(bench.path().join("index.html")).unwrap(), b"precious");
    bench.run(&["report", "index.json", "-o", "index.html"]).ended(0);
    assert_ne!(std::fs::read(bench.path().join("index.html")).unwrap(), b"precious");
}

#[test]
fn two_runs_into_one_file_keep_both_results() {
    let bench = Bench::new();
    bench.folder("data");
    let run = |time: &str| {
        let words = ["run", "data", "--rw", "randread", "--file-size", "8M", "--no-live", "--json", "r.json"];
        bench.start(&[&words[..], &["--runtime", time]].concat())
    };
    let (mut long, mut short) = (run("3s"), run("300ms"));
    assert!(short.wait().unwrap().success() && long.wait().unwrap().success());
    let length = |name: &str| Record::load(&bench.path().join(name)).unwrap().plan.steps[0].runtime;
    let mut both = [length("r.json"), length("r-2.json")];
    both.sort();
    assert_eq!(both, [Nanos::millis(300), Nanos::seconds(3)]);
}

#[test]
fn two_folders_on_one_disk_are_one_volume() {
    let bench = Bench::new();
    let (a, b) = (bench.folder("a"), bench.folder("b"));
    if volproof::device::facts(&volproof::device::Root::system(), &a).unwrap().disk().is_none() {
        println!("skipped: / lies on no block device here");
        return;
    }
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    let promise = ["--promise", "aws:gp3", "--volume-size", "100GiB", "--offline"];
    let plan = |targets: &[&str], more: &[&str]| {
        bench.run(&[&["plan"], targets, &["--rw", "randread"], &promise, more].concat())
    };
    let one = plan(&[a], &[]).ended(0);
    let two = plan(&[a, b], &[]).ended(0);
    for text in [&one.out, &two.out] {
        assert!(text.contains("3,000 IOPS") && !text.contains("2 x"), "{text}");
    }
    let named = plan(&[a, b], &["--with", "aws:gp3:100GiB"]).ended(2);
    named.says(&["the targets lie on one volume, but --promise and --with name 2"]);
    plan(&[a], &["--with", "aws:gp3:100GiB"]).ended(2).says(&["one volume"]);
}

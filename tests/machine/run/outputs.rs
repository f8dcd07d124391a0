//! Where results go: nothing that must stay is overwritten.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::process::Command;

use volproof::record::Record;

use crate::run::devices::Loop;
use crate::run::{Bench, Ran};

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

pub fn bench() -> Bench {
    let bench = Bench::new();
    std::fs::write(bench.path().join("p.toml"), PLAN).unwrap();
    bench
}

pub fn planned<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--plan", "p.toml"], more].concat()
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
    ] {
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
    let mut without_value = bench.command(&planned(&["-q"]));
    Ran::of(without_value.env("VOLPROOF_RECORDS", "").output().unwrap()).ended(0);
    assert_eq!(Bench::names(&folder).len(), 5);
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
        let setting = "/proc/sys/kernel/hostname";
        bench.run(&planned(&[option, setting])).ended(3).says(&[
            setting,
            "is a setting of the kernel",
            option,
        ]);
    }
    for option in ["--output", "--record"] {
        let ran = bench.run(&["fio", "--name=a", "--size=4k", &format!("{option}=none/r")]).ended(1);
        assert!(ran.err.contains("there is no folder none") && ran.err.contains(option), "{}", ran.err);
        assert!(!bench.path().join("a.0.0").exists(), "nothing ran");
    }
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

/// Runs in a shell that redirects as `redirection` says.
pub fn redirected(bench: &Bench, arguments: &[&str], redirection: &str) -> Ran {
    let script = format!(r#"exec "$0" "$@" {redirection}"#);
    let mut command = bench.program("sh");
    Ran::of(command.args(["-c", &script, env!("CARGO_BIN_EXE_volproof")]).args(arguments).output().unwrap())
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
        let status = bench.program("sh").args(["-c", &command]).status().unwrap();
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
    for line in ["report r.json -o -", "convert r.json --to record", "show r.json --junit -"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = bench.command(&line.split(' ').collect::<Vec<_>>());
        let ran = command.stdout(writer).output().unwrap();
        assert_eq!((ran.status.code(), ran.stderr.as_slice()), (Some(0), &b""[..]), "{line}");
    }
    assert_eq!(Bench::names(bench.temporary.path()), [""; 0]);
}

/// A simulated run with a promise that half a minute cannot decide.
pub fn undecided(bench: &Bench, name: &str, more: &[&str]) {
    let run = "run --simulate latency=200us,iops-cap=3000 --rw randread --iodepth 8 --runtime 30s --offline";
    let promise = "--promise aws:gp3 --volume-size 100GiB --no-follow-up -q --json";
    let words: Vec<&str> = run.split(' ').chain(promise.split(' ')).chain([name]).collect();
    bench.run(&[&words, more].concat()).ended(5);
}

#[test]
fn a_page_that_nobody_named_replaces_no_file() {
    let bench = Bench::new();
    undecided(&bench, "index.json", &[]);
    std::fs::write(bench.path().join("index.html"), "precious").unwrap();
    let ran = bench.run(&["report", "index.json"]).ended(0);
    assert_eq!(ran.out, "Page: index-2.html\n");
    assert_eq!(std::fs::read(bench.path().join("index.html")).unwrap(), b"precious");
    bench.run(&["report", "index.json", "-o", "index-2.html"]).ended(0);
}

/// Whoever locks a file means to write it.
#[test]
fn a_file_that_another_program_has_locked_stays() {
    let bench = Bench::new();
    bench.file("f.dat", 1);
    let [whole, part] = ["whole", "part"].map(|name| bench.path().join(name));
    let open = |path: &std::path::Path| std::fs::File::create(path).unwrap();
    let (flocked, locked) = (open(&whole), open(&part));
    rustix::fs::flock(&flocked, rustix::fs::FlockOperation::LockExclusive).unwrap();
    rustix::fs::fcntl_lock(&locked, rustix::fs::FlockOperation::LockExclusive).unwrap();
    for name in ["whole", "part"] {
        let line =
            ["run", "f.dat", "--rw", "randread", "--runtime", "100ms", "--tune", "off", "-q", "--json", name];
        let told = format!("{name} cannot be written: another program that still runs has locked it");
        bench.run(&line).ended(2).says(&[&told]);
        let told = format!("{name} could not be saved: another program has locked it");
        let fio = format!("--output={name}");
        let line = ["fio", "--name=j", "--filename=f.dat", "--rw=read", "--size=64k", &fio];
        bench.run(&line).ended(1).says(&[&told]);
        assert_eq!(std::fs::metadata(bench.path().join(name)).unwrap().len(), 0, "{name}");
    }
    drop((flocked, locked));
    // The lock that the program was started with is its own.
    let line = "exec flock whole \"$0\" run f.dat --rw randread --runtime 100ms --tune off -q --json whole";
    let volproof = env!("CARGO_BIN_EXE_volproof");
    Ran::of(bench.program("sh").args(["-c", line, volproof]).output().unwrap()).ended(0);
    assert!(Record::load(&whole).is_ok());
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

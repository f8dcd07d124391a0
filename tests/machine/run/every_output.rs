//! The same failures at every command that writes an output: no figure is lost, and nothing that must stay is overwritten.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

use volproof::record::Record;

use crate::run::mounted::Mounted;
use crate::run::{Bench, Ran, second_places};

/// Commands that measure, on simulated devices that take no time.
const MEASURING: [&str; 7] = [
    "run --simulate latency=1ms --rw randread --runtime 1s",
    "sweep --simulate latency=2ms,iops-cap=500 --iodepth 1..2 --runtime 10s",
    "slo --simulate latency=100ms,iops-cap=20,cap-period=1s --p50 500ms --runtime 10s --confirm 10s",
    "suite snia-lat --simulate latency=200ms,iops-cap=5 --runtime 10s --size 1m",
    "cold --simulate latency=1ms",
    "fit --for harvester --simulate latency=10ms --runtime 10s",
    "million target 1 1 4k randread --simulate latency=10ms --runtime 10s",
];

/// Runs a command line in a shell that has set a limit, with a second place of its own for results.
fn limited(bench: &Bench, before: &str, line: &str) -> Ran {
    let script = format!("{before} exec {} {line}", env!("CARGO_BIN_EXE_volproof"));
    Ran::of(bench.program("bash").args(["-c", &script]).output().unwrap())
}

/// The lines of a result that do not change from run to run. The reasons at its end name the Record.
fn figures(text: &str) -> Vec<&str> {
    let changes = |line: &&str| line.contains("202") || line.contains(".json") || line.trim().is_empty();
    text.lines().take_while(|line| !line.starts_with("reason")).filter(|line| !changes(line)).collect()
}

/// The exit code of a command that lost an output. fio ends with 1 for everything that cannot be written.
fn due(line: &str, good: &Ran) -> Option<i32> {
    let lost = if line.starts_with("fio") { 1 } else { 7 };
    if good.code == Some(0) { Some(lost) } else { good.code }
}

/// All figures of a good run are on the screen of one whose outputs failed, and so is the name of the output with the reason.
#[track_caller]
fn nothing_is_lost(line: &str, good: &Ran, ran: &Ran, why: &str) {
    let due = due(line, good);
    assert_eq!(ran.code, due, "{line}:\n{}\n{}", ran.out, ran.err);
    assert!(ran.err.contains(why), "{line}: '{why}' is not in:\n{}", ran.err);
    for figure in figures(&good.out) {
        assert!(ran.out.contains(figure), "{line}: '{figure}' is not in:\n{}\n{}", ran.out, ran.err);
    }
}

#[test]
fn no_command_that_measures_loses_a_figure() {
    for line in MEASURING {
        let bench = Bench::new();
        let good = limited(&bench, "", &format!("{line} --json good.json"));
        assert!(Record::load(&bench.path().join("good.json")).is_ok(), "{line}: {}", good.err);
        let before = Bench::names(bench.path());

        // EFBIG, in the second place too.
        let ran = limited(&bench, "ulimit -f 0;", &format!("{line} --json r.json --csv r.csv"));
        nothing_is_lost(line, &good, &ran, "r.json could not be saved: File too large");
        nothing_is_lost(line, &good, &ran, "r.csv could not be saved: File too large");
        assert_eq!(Bench::names(bench.path()), before, "{line}");

        // ENOSPC: the Record is in the second place.
        let ran = limited(&bench, "", &format!("{line} --json /dev/full"));
        nothing_is_lost(line, &good, &ran, "/dev/full could not be saved: No space left on device");
        let place = &second_places(&ran.err)[0];
        let steps = |path: &Path| Record::load(path).unwrap().steps.len();
        assert_eq!(steps(Path::new(place)), steps(&bench.path().join("good.json")), "{line}");

        for (output, why) in [
            ("--json /proc/r.json", "/proc/r.json cannot be written"),
            ("--html none/r.html", "there is no folder none"),
            ("--json r --csv ./r", "is the same file as --json r"),
            ("--junit /tmp", "/tmp cannot be written: it is a folder"),
        ] {
            let ran = limited(&bench, "", &format!("{line} {output}")).ended(2).says(&[why]);
            assert_eq!(ran.out, "", "{line} {output}: nothing is measured");
        }
    }
}

#[test]
fn a_plan_that_somebody_wrote_stays() {
    let bench = Bench::new();
    let theirs = "name = 'mine'\n\n[[step]]\nrw = 'randread'\n";
    std::fs::write(bench.path().join("hand.toml"), theirs).unwrap();
    let to = |file: &str| limited(&bench, "", &format!("convert hand.toml --to plan -o {file}"));
    to("made.toml").ended(0);
    let converted = |file: &str| limited(&bench, "", &format!("convert made.toml --to plan -o {file}"));
    converted("hand.toml").ended(2).says(&["hand.toml is there and is no copy of this plan"]);
    assert_eq!(std::fs::read_to_string(bench.path().join("hand.toml")).unwrap(), theirs);
    converted("other.toml").ended(0);
    to("other.toml").ended(0);
    let edited = std::fs::read_to_string(bench.path().join("other.toml")).unwrap() + "# PL1 stays\n";
    std::fs::write(bench.path().join("other.toml"), &edited).unwrap();
    converted("other.toml").ended(2).says(&["other.toml is there and is no copy of this plan"]);
    assert_eq!(std::fs::read_to_string(bench.path().join("other.toml")).unwrap(), edited);
    converted("other.toml --force").ended(0);
}

#[test]
fn no_output_replaces_a_record_that_a_course_reads() {
    let bench = Bench::new();
    bench.run(
        &"run --simulate latency=1ms --rw randread --runtime 10ms --json good.json -q"
            .split(' ')
            .collect::<Vec<_>>(),
    );
    std::fs::hard_link(bench.path().join("good.json"), bench.path().join("hard.json")).unwrap();
    let before = std::fs::read(bench.path().join("good.json")).unwrap();
    limited(&bench, "", &format!("{} --json ref.json", MEASURING[3]));
    std::fs::hard_link(bench.path().join("ref.json"), bench.path().join("same.json")).unwrap();
    for output in ["--json ref.json", "--csv same.json"] {
        let ran = limited(
            &bench,
            "",
            &format!("suite essd-contract --simulate latency=1ms --size 64m --reference ref.json {output}"),
        )
        .ended(2);
        ran.says(&["is the same file as --reference ref.json"]);
    }
    for stored in [
        "show good.json --junit hard.json",
        "verdict good.json --markdown hard.json",
        "report good.json -o hard.json",
        "convert good.json --to csv -o hard.json",
        "merge good.json -o hard.json",
    ] {
        limited(&bench, "", stored).ended(2).says(&["is the same file as the input good.json"]);
    }
    assert_eq!(std::fs::read(bench.path().join("good.json")).unwrap(), before);
}

/// Commands over the folder `runs`, the Record `r.json`, the target `f.dat` and the plan `p.toml`, and a file that each of them reads.
const READING: [(&str, &str); 9] = [
    ("run --plan p.toml --baseline r.json --json", "r.json"),
    ("run --plan p.toml --baseline runs --csv", "runs/a.json"),
    ("run --plan p.toml --baseline runs --json", "link.json"),
    ("compare runs r.json --markdown", "runs/a.json"),
    ("compare r.json runs/a.json --html", "link.json"),
    ("compare --run 2 --records new --html p.toml --force -- --plan=p.toml -- f.dat --rw read", ""),
    ("compare --run 2 --records new --markdown f.dat --force -- f.dat --rw read -- f.dat", ""),
    ("history runs --sql", "runs/a.json"),
    ("show r.json --evidence p.toml --junit", "p.toml"),
];

#[test]
fn no_output_replaces_what_its_command_reads() {
    let bench = Bench::new();
    bench.file("f.dat", 1);
    bench.folder("runs");
    let plan = "[[step]]\nname = 'a'\nrw = 'randread'\nruntime = '10ms'\nsimulate = { latency = '1ms' }\n";
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    limited(&bench, "", "run --plan p.toml -q --json r.json").ended(0);
    std::fs::copy(bench.path().join("r.json"), bench.path().join("runs/a.json")).unwrap();
    std::os::unix::fs::symlink("runs/a.json", bench.path().join("link.json")).unwrap();
    let read = ["f.dat", "r.json", "p.toml", "runs/a.json"];
    let held = || read.map(|name| std::fs::read(bench.path().join(name)).unwrap());
    let before = held();
    for (line, output) in READING {
        let force = if output.is_empty() { "" } else { " --force" };
        let ran = limited(&bench, "", &format!("{line} {output}{force}")).ended(2);
        let ran = ran.says(&["is the same file as"]);
        assert_eq!(ran.out, "", "{line}: nothing is measured");
    }
    assert!(held() == before && !bench.path().join("new").exists());
    // A new Record may lie beside the others.
    limited(&bench, "", "run --plan p.toml --baseline r.json --json runs/new.json -q").ended(0);
}

/// Bytes by which two results of the same load differ: their times have more digits or fewer.
const MARGIN: u64 = 64;

/// Commands that write outputs without measuring much, and the options that name these: each option alone is a case.
fn doors() -> Vec<(String, &'static str)> {
    let mut doors = vec![("report r.json".to_string(), "-o")];
    let judged = "verdict r.json --promise aws:gp3 --volume-size 10GiB";
    doors.extend(["--junit", "--openmetrics", "--markdown"].map(|option| (judged.to_string(), option)));
    for form in ["record", "json", "json+", "csv", "normal"] {
        doors.push((format!("convert r.json --to {form}"), "-o"));
    }
    for form in ["jobfile", "plan"] {
        doors.push((format!("convert p.toml --to {form}"), "-o"));
    }
    for option in ["--json", "--csv", "--html", "--junit", "--openmetrics", "--markdown"] {
        doors.push((MEASURING[0].into(), option));
    }
    for option in ["--output", "--record"] {
        doors.push(("fio --name=a --size=64k --simulate=latency=200us".into(), option));
    }
    doors.push(("merge machine.json".into(), "-o"));
    doors.push(("merge machine.json -o /dev/null".into(), "--junit"));
    doors
}

/// A folder that is read-only, as the root of a machine after an error of its disk.
fn sealed(bench: &Bench) -> Option<Mounted> {
    Mounted::at(bench, "sealed", &["-t", "tmpfs", "-o", "ro", "none"])
}

/// `r.json`, and the same as the Record of a fleet's only machine in `machine.json`.
fn measured(bench: &Bench) {
    let run = "run --simulate latency=1ms --rw randread --bs 4k --runtime 1s --json r.json -q";
    bench.run(&run.split(' ').collect::<Vec<_>>()).ended(0);
    let text = std::fs::read(bench.path().join("r.json")).unwrap();
    let mut record: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let clock = serde_json::json!({"basis": "stated", "offset_ns": 0, "error_ns": 1_000_000});
    let start = 1_795_478_445_000_000_000_i64;
    record["rank"] =
        serde_json::json!({"rank": 0, "ranks": 1, "volumes": "own", "start_unix_ns": start, "clock": clock});
    record["steps"][0]["first_io_unix_ns"] = start.into();
    std::fs::write(bench.path().join("machine.json"), record.to_string()).unwrap();
}

/// Runs a command line whose input is a pipe, and does something once it waits for that input: its outputs are open then.
fn meanwhile(bench: &Bench, line: &str, input: &[u8], what: impl FnOnce()) -> Ran {
    let pipe = bench.path().join("pipe");
    let mut child = bench.start(&line.split(' ').collect::<Vec<_>>());
    let open = || std::fs::OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(&pipe);
    let mut writer = loop {
        match open() {
            Ok(writer) => break writer,
            Err(_) => assert!(child.try_wait().unwrap().is_none(), "{line}: it read no input"),
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    };
    what();
    rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::empty()).unwrap();
    writer.write_all(input).unwrap();
    drop(writer);
    Ran::of(child.wait_with_output().unwrap())
}

#[test]
fn no_door_loses_its_output_with_a_folder_that_is_renamed_or_removed() {
    let bench = Bench::new();
    measured(&bench);
    let path = |name: &str| bench.path().join(name);
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), pipe, 0o600.into(), 0).unwrap();
    for (line, option) in doors().iter().filter(|(line, _)| line.contains(".json")) {
        let case = format!("{line} {option}");
        let record = line.split(' ').find(|word| word.ends_with(".json")).unwrap();
        let input = std::fs::read(path(record)).unwrap();
        let line = format!("{} {option} there/new", line.replace(record, "pipe"));
        let told = |ran: &Ran| ran.err.split_whitespace().collect::<Vec<_>>().join(" ");

        bench.folder("there");
        let good = meanwhile(&bench, &line, &input, || ());
        let size = std::fs::metadata(path("there/new"))
            .unwrap_or_else(|e| panic!("{case}: {e}\n{}", good.err))
            .len();
        std::fs::remove_file(path("there/new")).unwrap();
        let due = due(&line, &good);

        let ran = meanwhile(&bench, &line, &input, || std::fs::rename(path("there"), path("here")).unwrap());
        assert_eq!(ran.code, due, "{case}: {}", ran.err);
        let own = path("here/new");
        let expected = "there/new could not be saved: its folder is no longer there";
        assert!(told(&ran).contains(expected), "{case}: {}", ran.err);
        assert!(std::fs::metadata(&own).unwrap().len() + MARGIN > size, "{case}");
        std::fs::remove_dir_all(path("here")).unwrap();

        bench.folder("there");
        let ran = meanwhile(&bench, &line, &input, || std::fs::remove_dir(path("there")).unwrap());
        assert_eq!(ran.code, due, "{case}: {}", ran.err);
        let told = told(&ran);
        assert!(
            told.contains("there/new could not be saved: No such file or directory"),
            "{case}: {}",
            ran.err
        );
        let place = &second_places(&told)[0];
        assert!(std::fs::metadata(place).unwrap().len() + MARGIN > size, "{case}");
        std::fs::remove_file(place).unwrap();
    }
}

#[test]
fn no_door_loses_its_output_or_somebody_elses_file() {
    const THEIRS: &[u8] = b"of the third of March\n";
    let bench = Bench::new();
    measured(&bench);
    std::fs::write(bench.path().join("p.toml"), "[[step]]\nrw = 'randread'\n").unwrap();
    std::fs::write(bench.path().join("notes"), THEIRS).unwrap();
    bench.folder("records");
    let sealed = sealed(&bench);
    let before = Bench::names(bench.path());
    let path = |name: &str| bench.path().join(name);
    for (line, option) in doors() {
        let join = if option == "-o" { " " } else { "=" };
        let to = |before: &str, file: &str| {
            let before = format!("export VOLPROOF_RECORDS=records; {before}");
            limited(&bench, &before, &format!("{line} {option}{join}{file}"))
        };
        let case = format!("{line} {option}");
        let good = to("", "new");
        let size =
            std::fs::metadata(path("new")).unwrap_or_else(|e| panic!("{case}: {e}\n{}", good.err)).len();
        assert!(size > 0, "{case}");
        // What an earlier run left is replaced, and a name may be no text, but in fio's own options.
        let odd = if option == "--output" { "new-2" } else { r"$'new-\xff'" };
        assert_eq!([to("", "new").code, to("", odd).code], [good.code; 2], "{case}");
        assert_eq!(Bench::names(bench.path()).len(), before.len() + 2, "{case}");
        let _ = Command::new("bash").args(["-c", "rm new*"]).current_dir(bench.path()).status();

        // Anything else is somebody's.
        let refused = if line.starts_with("fio") { 1 } else { 2 };
        let told = |ran: &Ran| ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
        let ran = to("", "notes").ended(refused);
        assert!(told(&ran).contains("notes is there and is no "), "{case}: {}", ran.err);
        assert_eq!(ran.out, "", "{case}: nothing is done");
        assert_eq!(std::fs::read(path("notes")).unwrap(), THEIRS, "{case}");
        if sealed.is_some() {
            let ran = to("", "sealed/new").ended(refused);
            assert!(told(&ran).contains("cannot be written: Read-only file system"), "{case}: {}", ran.err);
        }

        let due = due(&line, &good);
        for (limit, file, why) in
            [("ulimit -f 0;", "new", "File too large"), ("", "/dev/full", "No space left on device")]
        {
            let ran = to(limit, file);
            assert_eq!(ran.code, due, "{case}: {}", ran.err);
            let told = told(&ran);
            assert!(told.contains(why), "{case}: {}", ran.err);
            let places = second_places(&told).into_iter();
            let saved: u64 = places.map(|place| std::fs::metadata(place).unwrap().len()).sum();
            // The second place has the same limit of sizes.
            assert!(!limit.is_empty() || saved + MARGIN > size, "{case}: {saved} of {size} bytes\n{told}");
            for figure in figures(&good.out).iter().filter(|_| option != "-o") {
                assert!(ran.out.contains(figure), "{case}: '{figure}' is not in:\n{}\n{}", ran.out, ran.err);
            }
            // A report that grows begins as an empty file, as with fio.
            let begun = option == "--output" && std::fs::read(path("new")).is_ok_and(|new| new.is_empty());
            if begun {
                std::fs::remove_file(path("new")).unwrap();
            }
            assert_eq!(Bench::names(bench.path()), before, "{case}: nothing is left");
        }
    }
}

#[test]
fn a_simulated_run_leaves_its_folder_alone_and_a_plan_names_no_output() {
    let bench = Bench::new();
    let folder = bench.folder("data");
    let before = std::fs::metadata(&folder).unwrap().modified().unwrap();
    let words = "data --simulate latency=1ms --rw randwrite --file-size 8M --runtime 10ms";
    limited(&bench, "", &format!("run {words} --json r.json")).ended(0).says(&["no I/O goes to 'data'."]);
    assert_eq!(std::fs::metadata(&folder).unwrap().modified().unwrap(), before, "no file was made there");
    assert_eq!(bench.record().targets[0].named, Path::new("data"));
    for option in ["--json", "--html", "--markdown"] {
        let ran = limited(&bench, "", &format!("plan {words} {option} p.out")).ended(2);
        ran.says(&["plan measures nothing", option, "leave it out"]);
    }
}

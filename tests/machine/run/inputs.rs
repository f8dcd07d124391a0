//! Inputs from others: Records, reports, job files, plans and names of any content, any size and any form.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use volproof::record::Record;

use crate::run::{Bench, Ran};

/// Text that a terminal obeys (a title, colours, a return to the start of the line, another direction), and text that a page would run.
pub const HOSTILE: &str = "\u{1b}]0;x\u{7}\u{1b}[31m\u{9b}2J\r\u{8}\u{202e}\u{2066}\u{200f}\u{7f}\0</script><script>alert(1)</script>\"'";

const PLAN: &str = "[[step]]\nname = 'first'\nrw = 'randrw'\nengine = 'null'\nruntime = '2s'\n\
                    [[step]]\nname = 'second'\nrw = 'randread'\nengine = 'null'\nruntime = '2s'\n";

/// A Record of two steps, in `r.json`.
fn bench() -> Bench {
    let bench = Bench::new();
    std::fs::write(bench.path().join("p.toml"), PLAN).unwrap();
    let promise = ["--promise", "alibaba:cloud_essd.PL1", "--volume-size", "100GiB", "--no-follow-up"];
    let arguments = [&["run", "--plan", "p.toml", "-q", "--json", "r.json"], &promise[..]].concat();
    let code = bench.run(&arguments).code;
    assert!(matches!(code, Some(0 | 1 | 5 | 6)), "any verdict will do, not {code:?}");
    bench
}

fn with_input(bench: &Bench, arguments: &[&str], input: &[u8]) -> Ran {
    let mut child = bench
        .command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that refuses early reads no further.
    let _ = child.stdin.take().unwrap().write_all(input);
    Ran::of(child.wait_with_output().unwrap())
}

#[track_caller]
pub fn harmless(ran: &Ran) {
    // The library of charts is not foreign, and stands in the page as its makers wrote it.
    for text in [&ran.out.replace(volproof::report::html::PLOTLY.as_str(), ""), &ran.err] {
        let turns = |c: char| matches!(c, '\u{200f}' | '\u{202e}' | '\u{2066}');
        let bad = text.chars().find(|c| (c.is_control() && *c != '\n' && *c != '\t') || turns(*c));
        assert!(bad.is_none(), "{bad:?} is in:\n{text:?}");
        assert!(!text.contains("<html") || !text.contains("<script>alert"), "a script of others:\n{text}");
    }
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
}

/// Appends the hostile text to every string that still gives a Record.
fn poison(whole: &mut Value, path: &str) {
    let keys: Vec<String> = match whole.pointer(path).unwrap() {
        Value::Object(map) => map.keys().cloned().collect(),
        Value::Array(list) => (0..list.len()).map(|i| i.to_string()).collect(),
        Value::String(text) => {
            let old = text.clone();
            *whole.pointer_mut(path).unwrap() = format!("{old}{HOSTILE}").into();
            if Record::parse(&whole.to_string(), "r".into()).is_err() {
                *whole.pointer_mut(path).unwrap() = old.into();
            }
            return;
        }
        _ => return,
    };
    // Samples are many and hold no text.
    for key in keys.iter().filter(|key| *key != "series") {
        poison(whole, &format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")));
    }
}

const FORMS: [&str; 7] = ["record", "json", "json+", "csv", "normal", "jobfile", "plan"];

#[test]
fn no_control_character_of_a_record_passes() {
    let bench = bench();
    let mut record: Value =
        serde_json::from_str(&std::fs::read_to_string(bench.path().join("r.json")).unwrap()).unwrap();
    poison(&mut record, "");
    let poisoned = record.to_string();
    assert!(poisoned.matches("202e").count() + poisoned.matches('\u{202e}').count() > 15, "{poisoned}");
    std::fs::write(bench.path().join("h.json"), poisoned).unwrap();
    for arguments in [
        &["show", "h.json"][..],
        &["show", "--csv", "h.json"],
        &["report", "h.json", "-o", "-"],
        &["verdict", "h.json"],
        &["verdict", "h.json", "--json"],
        &["explain", "h.json"],
    ] {
        let ran = bench.run(arguments);
        harmless(&ran);
        assert!(matches!(ran.code, Some(0 | 1 | 5 | 6)), "{arguments:?}: {}", ran.err);
        if arguments.contains(&"--json") {
            serde_json::from_str::<Value>(&ran.out).unwrap();
        }
    }
    for form in FORMS {
        let ran = bench.run(&["convert", "h.json", "--to", form]);
        harmless(&ran);
        // A line break in a name would begin a line of the job file.
        let code = if form == "jobfile" { 2 } else { 0 };
        let ran = ran.ended(code);
        if form == "record" {
            Record::parse(&ran.out, "out".into()).unwrap();
        }
    }
}

#[test]
fn no_control_character_of_reports_jobs_plans_and_names_passes() {
    let bench = Bench::new();
    let name = serde_json::to_string(HOSTILE).unwrap();
    let job = format!(
        r#"{{"fio version":"fio-3.33","jobs":[{{"jobname":{name},"groupid":0,"error":0,"job options":{{"name":{name},
        "rw":"read","filename":{name}}},"read":{{"io_bytes":4096000,"total_ios":1000,"runtime":1000,"iops":1000.0,"bw":4000,
        "lat_ns":{{"min":1,"max":9,"mean":3.0,"stddev":1.0}}}}}}],"disk_util":[{{"name":{name},"util":3.0}}]}}"#
    );
    let text = format!(
        "{HOSTILE}: (g=0): rw=read, bs=(R) 4096B-4096B, ioengine=libaio, iodepth=1\n\n{HOSTILE}: (groupid=0, jobs=1): err= 0: pid=1\n  \
         read: IOPS=1000, BW=4000KiB/s (4096kB/s)(40.0MiB/10001msec)\n"
    );
    let jobs = format!("[{HOSTILE}]\nrw=sideways{HOSTILE}\n");
    let plan = format!("[[step]]\nname = {name}\nrw = 'randread'\nengine = 'null'\nruntime = '1s'\n");
    for (file, text) in [("j.json", &job), ("t.txt", &text), ("j.fio", &jobs), ("p.toml", &plan)] {
        std::fs::write(bench.path().join(file), text).unwrap();
        for arguments in [
            vec!["show", file],
            vec!["report", file, "-o", "-"],
            vec!["verdict", file],
            vec!["explain", file],
            vec!["fio", file],
            vec!["plan", "--plan", file],
            vec!["run", "--plan", file, "--json", "out.json"],
        ] {
            harmless(&bench.run(&arguments));
        }
        for form in FORMS {
            harmless(&bench.run(&["convert", file, "--to", form]));
        }
    }
    let odd = std::ffi::OsStr::from_bytes(b"\x1b[31m\x07\xff\x9b\r");
    for front in [
        "", "show", "report", "verdict", "explain", "run", "check", "plan", "fio", "million", "convert",
        "promise",
    ] {
        let mut command = bench.command(if front.is_empty() { &[] } else { std::slice::from_ref(&front) });
        harmless(&Ran::of(command.arg(odd).output().unwrap()));
    }
}

#[test]
fn inputs_come_from_files_and_from_standard_input() {
    let bench = bench();
    let text = std::fs::read(bench.path().join("r.json")).unwrap();
    std::fs::copy(bench.path().join("r.json"), bench.path().join("s.json")).unwrap();
    // The text may name its file, in the command that shows more.
    let shown = |name: &str| bench.run(&["show", name]).ended(0).out;
    let both = bench.run(&["show", "r.json", "s.json"]).ended(0).out;
    assert_eq!(both, format!("r.json\n{}\ns.json\n{}", shown("r.json"), shown("s.json")));
    let piped = with_input(&bench, &["show", "-"], &text).ended(0).out;
    let named = |text: String| text.replace("RECORD", "r.json");
    assert_eq!(named(piped), shown("r.json"));
    let page = bench.run(&["report", "r.json", "-o", "-"]).ended(0);
    assert_eq!(named(with_input(&bench, &["report", "-"], &text).ended(0).out), named(page.out));
    let verdict = bench.run(&["verdict", "r.json"]);
    assert_eq!(named(with_input(&bench, &["verdict", "-"], &text).out), verdict.out);
    assert!(verdict.out.contains("against alibaba:cloud_essd.PL1"), "{}", verdict.out);
    bench.run(&["show", "--csv", "r.json", "s.json"]).ended(2).says(&["name one Record"]);

    std::fs::write(bench.path().join("notes"), "something else\n").unwrap();
    for command in ["show", "report", "verdict"] {
        let ran = bench.run(&[command, "notes"]).ended(2);
        assert_eq!(
            ran.err,
            "volproof: notes is not a volproof Record, and no report of fio (text, JSON, terse lines), dd, sysbench fileio, ioping, pg_test_fsync, DiskSpd, Iometer, iostat -x or /proc/diskstats either\n"
        );
        let ran = bench.run(&[command, "none.json"]).ended(2);
        assert_eq!(ran.err.matches("there is no such file").count(), 1, "{}", ran.err);
    }
}

#[test]
fn inputs_without_an_end_and_lines_without_an_end_are_told_shortly() {
    let bench = Bench::new();
    for command in
        [&["show", "/dev/zero"][..], &["explain", "/dev/zero"], &["convert", "/dev/zero", "--to", "csv"]]
    {
        bench.run(command).ended(2).says(&["/dev/zero", "it is longer than 128 MiB"]);
    }
    bench.run(&["run", "--plan", "/dev/zero"]).ended(2).says(&["it is longer than 2 MiB"]);
    for (name, front) in [
        ("p.toml", "x = "),
        ("j.fio", "[a]\nrw="),
        ("r.json", "{\"schema\":\"volproof.record\",\"state\":\""),
    ] {
        std::fs::write(bench.path().join(name), format!("{front}{}", "y".repeat(1 << 19))).unwrap();
        for arguments in [
            vec!["run", "--plan", name],
            vec!["fio", name],
            vec!["show", name],
            vec!["convert", name, "--to", "plan"],
        ] {
            let ran = bench.run(&arguments);
            assert!(ran.code != Some(0) && ran.err.len() < 8000, "{arguments:?}: {} bytes", ran.err.len());
        }
    }
    let deep = "[".repeat(1 << 20);
    for text in [deep.clone(), format!("{{\"fio version\":\"fio-3.33\",\"jobs\":{deep}")] {
        std::fs::write(bench.path().join("deep.json"), &text).unwrap();
        for command in ["show", "explain"] {
            let ran = bench.run(&[command, "deep.json"]);
            assert!(matches!(ran.code, Some(0..=2)), "{command}: {:?}", ran.code);
        }
    }
}

/// Each command and option that names an input, as `INPUT`.
const READERS: [&str; 12] = [
    "show INPUT",
    "report INPUT -o page.html",
    "explain INPUT",
    "verdict INPUT --promise aws:gp3 --volume-size 100GiB --offline",
    "convert INPUT --to record",
    "convert INPUT --to plan",
    "convert INPUT --to jobfile",
    "plan --plan INPUT",
    "run --plan INPUT",
    "fio INPUT --parse-only",
    "fio INPUT",
    "promise aws:gp3 --size 100GiB --catalog INPUT",
];

#[test]
fn inputs_that_never_end_are_refused() {
    let bench = Bench::new();
    std::thread::scope(|scope| {
        for line in READERS {
            let bench = &bench;
            scope.spawn(move || {
                let words: Vec<&str> =
                    line.split(' ').map(|word| if word == "INPUT" { "/dev/zero" } else { word }).collect();
                let ran = bench.run(&words);
                let said = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
                let refused = matches!(ran.code, Some(1 | 2)) && said.contains("longer than");
                assert!(refused, "{line}: {:?} {said}", ran.code);
                assert!(ran.err.len() < 2000, "{line} says too much");
            });
        }
    });
    assert_eq!(Bench::names(bench.path()), Vec::<String>::new());
}

#[test]
fn a_plan_is_refused_where_its_run_is() {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    bench.run(&["plan", "f.dat"]).ended(3).says(&["--overwrite"]);
    for arguments in [&["--preset", "read-only"][..], &["--plan", "p.toml"]] {
        std::fs::write(bench.path().join("p.toml"), PLAN).unwrap();
        for command in ["plan", "run"] {
            let line = [&[command, "f.dat", "--rw", "randwrite"], arguments].concat();
            bench.run(&line).ended(2).says(&["--rw makes a plan of one step"]);
        }
    }
    let Some(disk) = crate::run::devices::Loop::over(&bench.file("disk", 16)) else { return };
    let ran = bench.run(&["plan", disk.path(), "--rw", "randwrite"]).ended(3).says(&[disk.path()]);
    assert!(ran.out.contains("randwrite"), "the plan is shown: {}", ran.out);
    let run = bench.run(&["run", disk.path(), "--rw", "randwrite", "--json", "-"]).ended(3);
    // The run says first how long it takes.
    assert_eq!(run.err.split_once('\n').unwrap().1, ran.err);
    bench.run(&["plan", disk.path(), "--rw", "randread"]).ended(0);
}

#[test]
fn the_job_file_of_a_folders_run_names_the_file() {
    let bench = Bench::new();
    bench.folder("data");
    let line =
        ["run", "data", "--rw", "randread", "--runtime", "200ms", "--file-size", "4M", "--json", "r.json"];
    bench.run(&line).ended(0);
    let jobs = bench.run(&["convert", "r.json", "--to", "jobfile"]).ended(0).out;
    let path = bench.record().targets[0].path.clone();
    assert!(jobs.contains(&format!("filename={}", path.display())) && jobs.contains("size=4m"), "{jobs}");
    std::fs::write(bench.path().join("j.fio"), &jobs).unwrap();
    bench.run(&["fio", "j.fio"]).ended(0);
    assert!(Path::new(&path).exists(), "fio's rule: the file stays");
}

#[test]
fn a_quiet_run_that_fails_says_why() {
    let bench = Bench::new();
    let plan = "[[step]]\nrw = 'randread'\nengine = 'null'\nruntime = '2s'\n[step.simulate]\nlatency = '1ms'\nerror_every = 100\n";
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    let ran = bench.run(&["run", "--plan", "p.toml", "-q", "--json", "r.json"]).ended(7);
    assert!(
        ran.out.starts_with("FAILED  ") && ran.err.starts_with("volproof: step "),
        "{}{}",
        ran.out,
        ran.err
    );
}

#[test]
fn test_files_of_killed_runs_go_with_the_next_run() {
    let bench = Bench::new();
    let folder = bench.folder("data");
    let line =
        ["run", "data", "--rw", "randread", "--runtime", "30s", "--file-size", "4M", "--json", "r.json"];
    let mut child = bench.start(&line);
    while !Bench::names(&folder).iter().any(|n| n.starts_with("volproof-test-")) {
        assert!(child.try_wait().unwrap().is_none(), "it runs for 30 s");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let short =
        ["run", "data", "--rw", "randread", "--runtime", "200ms", "--file-size", "4M", "--json", "s.json"];
    bench.run(&short).ended(0);
    assert_eq!(Bench::names(&folder).len(), 1, "what a living run uses stays");
    child.kill().unwrap();
    child.wait().unwrap();
    // The kernel takes the ring of a killed process apart after the process is gone, and the ring holds the lock until then.
    let left = std::fs::File::open(folder.join(&Bench::names(&folder)[0])).unwrap();
    while left.try_lock().is_err() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    drop(left);
    // Files of somebody else who likes the name stay, and are named.
    let foreign = folder.join("volproof-test-1-2-3.dat");
    std::fs::write(&foreign, "precious").unwrap();
    let quiet = [&short[..], &["-q"]].concat();
    let ran = bench.run(&quiet).ended(0);
    assert!(ran.err.contains("Removed data/volproof-test-") && ran.err.contains("was killed"), "{}", ran.err);
    assert!(ran.err.contains("volproof: data/volproof-test-1-2-3.dat stays"), "{}", ran.err);
    assert_eq!(std::fs::read(&foreign).unwrap(), b"precious");
    assert_eq!(Bench::names(&folder), ["volproof-test-1-2-3.dat"]);
}

#[test]
fn a_target_whose_result_could_not_be_saved_is_refused_before_it_is_overwritten() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    let name = std::ffi::OsStr::from_bytes(b"bad\xff.dat");
    let folder = bench.path().join(std::ffi::OsStr::from_bytes(b"dir\xfe"));
    std::fs::create_dir(&folder).unwrap();
    for path in [bench.path().join(name), folder.join("plain")] {
        std::fs::write(&path, vec![7; 1 << 20]).unwrap();
        std::os::unix::fs::symlink(&path, bench.path().join("link")).unwrap();
        for target in [path.as_path(), std::path::Path::new("link")] {
            let line = ["run", "--rw", "randwrite", "--runtime", "200ms", "--overwrite", "--json", "r.json"];
            let ran = bench.command(&line).arg(target).output().unwrap();
            let err = String::from_utf8_lossy(&ran.stderr);
            assert!(
                ran.status.code() == Some(2) && err.contains("is not UTF-8") && err.contains("rename it"),
                "{err}"
            );
        }
        assert_eq!(std::fs::read(&path).unwrap(), vec![7; 1 << 20]);
        std::fs::remove_file(bench.path().join("link")).unwrap();
    }
}

#[test]
fn a_course_does_not_go_on_over_another_file() {
    let bench = Bench::new();
    std::fs::write(bench.path().join("d"), vec![7; 1 << 20]).unwrap();
    let sweep = [
        "sweep",
        "d",
        "--iodepth",
        "1..2",
        "--runtime",
        "200ms",
        "--ramp",
        "0s",
        "--repeats",
        "1",
        "--buffered",
    ];
    bench.run(&[&sweep[..], &["--json", "r.json"]].concat()).ended(6);
    let resume = [&sweep[..], &["--resume", "r.json", "--json", "s.json"]].concat();
    bench.run(&resume).ended(6);
    // Nor over a figure that does not fit its samples.
    let path = bench.path().join("r.json");
    let whole = std::fs::read_to_string(&path).unwrap();
    let mut edited: serde_json::Value = serde_json::from_str(&whole).unwrap();
    let ios = edited["steps"][0].pointer_mut("/read/ios").unwrap();
    *ios = (ios.as_u64().unwrap() * 10 + 10).into();
    std::fs::write(&path, edited.to_string()).unwrap();
    bench.run(&resume).ended(2).says(&["cannot be resumed: figures of the Record contradict each other"]);
    std::fs::write(&path, whole).unwrap();
    std::fs::write(bench.path().join("other"), vec![7; 1 << 20]).unwrap();
    std::fs::rename(bench.path().join("other"), bench.path().join("d")).unwrap();
    let ran = bench.run(&resume).ended(2);
    assert!(
        ran.err.contains("d is not what it was: its inode number was ") && ran.err.contains("begin anew"),
        "{}",
        ran.err
    );
}

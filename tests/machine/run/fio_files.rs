//! `volproof fio` and files: what it makes, with which mode, and what becomes of jobs whose file cannot be made. The installed fio is
//! the judge where it is there.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::run::mounted::Mounted;
use crate::run::{Bench, Ran, fits};

/// Ours, and fio itself where it is installed.
fn tools() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut tools = vec![("ours", vec![env!("CARGO_BIN_EXE_volproof"), "fio"])];
    if volproof::fio::installed::find(&std::env::var_os("PATH").unwrap_or_default()).is_some() {
        tools.push(("fio", vec!["fio"]));
    } else {
        println!("skipped: fio is not installed, nobody judges");
    }
    tools
}

fn run(tool: &[&str], umask: &str, folder: &Path, line: &[&str]) -> Ran {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("umask {umask}; exec \"$@\""), "sh"]).args(tool).args(line);
    Ran::of(command.current_dir(folder).output().unwrap())
}

/// Every name below a folder with its mode.
fn modes(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for name in Bench::names(folder) {
        let path = folder.join(&name);
        let mode = path.metadata().unwrap().permissions().mode() & 0o7777;
        found.push(format!("{mode:o} {name}"));
        if path.is_dir() {
            found.extend(modes(&path).into_iter().map(|line| format!("{name}/{line}")));
        }
    }
    found
}

#[test]
fn files_and_folders_have_the_modes_that_fio_gives_them() {
    for umask in ["022", "077", "000"] {
        for (which, tool) in tools() {
            let bench = Bench::new();
            let line = ["--size=64k", "--name=r", "--name=w", "--rw=write", "--filename=new/sub/x"];
            run(&tool, umask, bench.path(), &line).ended(0);
            let file = if umask == "077" { "600" } else { "644" };
            let expected = [
                "700 new".to_string(),
                "new/700 sub".into(),
                format!("new/sub/{file} x"),
                format!("{file} r.0.0"),
            ];
            let mut found = modes(bench.path());
            found.sort();
            let mut expected = expected.to_vec();
            expected.sort();
            assert_eq!(found, expected, "{which}, umask {umask}");
        }
    }
    // `run` keeps its test files to their owner.
    let bench = Bench::new();
    let line = ["run", ".", "--rw=randread", "--file-size=16M", "--runtime=100ms", "--keep", "--json=r.json"];
    let ran = run(&[env!("CARGO_BIN_EXE_volproof")], "022", bench.path(), &line);
    let kept = modes(bench.path()).into_iter().find(|line| line.contains(".dat"));
    assert!(kept.is_some_and(|line| line.starts_with("600 ")), "{}", ran.err);
}

#[test]
fn a_job_on_a_folder_fails_and_the_others_run() {
    for (which, tool) in tools() {
        for name in ["d", "q/"] {
            let bench = Bench::new();
            bench.folder("d");
            let filename = format!("--filename={name}");
            let line =
                ["--output-format=json", "--size=64k", "--name=a", &filename, "--name=b", "--filename=g"];
            let ran = run(&tool, "022", bench.path(), &line).ended(1).says(&["Is a directory"]);
            let from = ran.out.find('{').unwrap();
            let report: Value = serde_json::from_str(&ran.out[from..]).unwrap();
            let rows: Vec<(&str, u64, u64)> = report["jobs"]
                .as_array()
                .unwrap()
                .iter()
                .map(|j| {
                    let io = j["read"]["io_bytes"].as_u64().unwrap();
                    (j["jobname"].as_str().unwrap(), j["error"].as_u64().unwrap(), io)
                })
                .collect();
            assert_eq!(rows, [("a", 21, 0), ("b", 0, 65536)], "{which}, {name}");
            assert!(bench.path().join(name).is_dir(), "{which} leaves or makes the folder {name}");
        }
        let bench = Bench::new();
        bench.file("f", 1);
        for folder in ["none", "f", ".:none"] {
            let directory = format!("--directory={folder}");
            let line = ["--name=a", &directory, "--size=64k", "--rw=write"];
            run(&tool, "022", bench.path(), &line).ended(1).says(&["is not a directory"]);
        }
        assert_eq!(Bench::names(bench.path()), ["f"], "{which} makes nothing");
    }
}

#[test]
fn a_file_larger_than_its_filesystem_grows_until_it_ends() {
    let bench = Bench::new();
    let Some(small) = Mounted::new(&bench, "size=16m") else { return };
    let folder = bench.path();
    let empty = || {
        for name in Bench::names(&small.0) {
            std::fs::remove_file(small.0.join(name)).unwrap();
        }
    };
    let paced = ["--name=a", "--directory=small", "--size=64m", "--rw=write", "--rate=1m", "--runtime=1"];
    let full = ["--name=a", "--directory=small", "--size=64m", "--rw=write", "--name=b", "--size=64k"];
    let read = ["--name=a", "--directory=small", "--size=64m", "--rw=read", "--name=b", "--size=64k"];
    for (which, tool) in tools() {
        run(&tool, "022", folder, &paced).ended(0);
        empty();
        // The second job, which has no folder, runs whatever becomes of the first.
        let ran = run(&tool, "022", folder, &full).ended(1);
        assert!(ran.err.contains("small/a.0.0: No space left on device: write offset=16777216, buflen=4096"));
        assert!(ran.out.contains("a: (groupid=0, jobs=1): err=28 ("), "{which}: {}", ran.out);
        assert!(ran.out.contains("error=No space left on device)"), "{which}: {}", ran.out);
        assert!(ran.out.contains("b: (groupid=0, jobs=1): err= 0"), "{which}: {}", ran.out);
        empty();
        let ran = run(&tool, "022", folder, &read).ended(1);
        assert!(!ran.out.contains("a: (groupid"), "{which}: {}", ran.out);
        assert!(ran.out.contains("b: (groupid=0, jobs=1): err= 0"), "{which}: {}", ran.out);
        if which == "ours" {
            assert!(ran.err.contains("volproof: a: small/a.0.0: No space left on device"), "{}", ran.err);
            fits(&ran.err);
            assert!(Bench::names(&small.0).is_empty(), "and the filesystem is as it was");
        }
        empty();
    }
}

/// fio empties each file that an `--output` names, and writes to the last one. Only that one was checked.
#[test]
fn the_installed_fio_opens_no_report_but_the_one_that_was_checked() {
    if tools().len() < 2 {
        return;
    }
    let bench = Bench::new();
    let [notes, report] = ["notes.txt", "r.txt"].map(|name| bench.path().join(name));
    for reports in [&["--output=notes.txt", "--output=r.txt"][..], &["-o", "notes.txt", "--output", "r.txt"]]
    {
        std::fs::write(&notes, "my notes\n").unwrap();
        let jobs = ["--verify=crc32c", "--size=64k", "--rw=write", "--name=a", "--filename=f"];
        bench.run(&[&["fio"], reports, &jobs].concat()).ended(0);
        assert_eq!(std::fs::read(&notes).unwrap(), b"my notes\n", "{reports:?}");
        let text = std::fs::read_to_string(&report).unwrap();
        assert!(text.contains("write: IOPS=") && text.ends_with('\n'), "{reports:?}: {text}");
    }
    // Whoever started the program has the file behind standard output open too.
    let line =
        "fio --output=/dev/stdout --verify=crc32c --size=64k --rw=write --name=a --filename=f > out.txt";
    let script = format!("{} {line}; exit $?", env!("CARGO_BIN_EXE_volproof"));
    Ran::of(bench.program("bash").args(["-c", &format!("exec 5>>out.txt; {script}")]).output().unwrap())
        .ended(0);
    let out = bench.path().join("out.txt");
    assert!(std::fs::read_to_string(&out).unwrap().contains("write: IOPS="));
    std::fs::write(&out, "before\n").unwrap();
    let script = script.replace(" > out.txt", " >> out.txt");
    Ran::of(bench.program("bash").args(["-c", &script]).output().unwrap()).ended(0);
    let text = std::fs::read_to_string(&out).unwrap();
    assert!(text.starts_with("before\n") && text.contains("write: IOPS="), "{text}");
}

/// The installed fio gets the jobs that were checked: those of a pipe are there once, and a file may change meanwhile.
#[test]
fn jobs_from_a_pipe_are_handed_over_with_what_they_include() {
    if tools().len() < 2 {
        return;
    }
    let bench = Bench::new();
    std::fs::write(bench.path().join("more"), "size=64k\nrw=read\n").unwrap();
    std::fs::write(bench.path().join("jobs"), "[piped]\ninclude more\niodepth_low=1\n").unwrap();
    for name in ["-", "/dev/fd/0", "jobs"] {
        let jobs = std::fs::File::open(bench.path().join("jobs")).unwrap();
        let ran = Ran::of(bench.command(&["fio", name]).stdin(jobs).output().unwrap()).ended(0);
        assert!(ran.out.contains("piped: (groupid=0, jobs=1): err= 0"), "{name}: {}", ran.out);
    }
}

#[test]
fn outputs_of_the_installed_fio_are_no_target_and_no_job_file() {
    if tools().len() < 2 {
        return;
    }
    let bench = Bench::new();
    let job = "[a]\nsize=64k\nrw=write\nfilename=data\niodepth_low=1\n";
    std::fs::write(bench.path().join("jobs"), job).unwrap();
    for (line, what) in [
        (["jobs", "--output=data"], "is the same file as the target data"),
        (["jobs", "--output=jobs"], "is the same file as the job file jobs"),
    ] {
        bench.run(&["fio", line[0], line[1]]).ended(1).says(&[what]);
        assert_eq!(Bench::names(bench.path()), ["jobs"], "{line:?}");
        assert_eq!(std::fs::read_to_string(bench.path().join("jobs")).unwrap(), job);
    }
}

/// The installed fio opens what its path leads to once it has made the folders on the way, and what only a descriptor leads to.
#[test]
fn a_file_that_needs_consent_needs_it_behind_every_path() {
    use std::os::fd::AsRawFd;
    let bench = Bench::new();
    let [kept, second, gone] = ["kept.img", "second.img", "gone.img"].map(|name| bench.path().join(name));
    let bytes = vec![7u8; 1 << 20];
    std::fs::write(&kept, &bytes).unwrap();
    std::fs::hard_link(&kept, &second).unwrap();
    std::fs::write(&gone, &bytes).unwrap();
    let open = std::fs::File::open(&gone).unwrap();
    std::fs::remove_file(&gone).unwrap();
    let by_descriptor = format!("/proc/{}/fd/{}", std::process::id(), open.as_raw_fd());
    for (_, handed_over) in tools().iter().zip(["--norandommap", "--verify=md5"]) {
        for path in ["kept.img", "nodir/../kept.img", "nodir/sub/../../kept.img", &by_descriptor] {
            let filename = format!("--filename={path}");
            let line = ["fio", "--name=q", &filename, "--rw=write", "--size=64k", handed_over];
            let ran = bench.run(&line);
            assert_eq!(ran.code, Some(3), "{path} {handed_over}: {}{}", ran.out, ran.err);
            assert!(std::fs::read(&kept).unwrap() == bytes, "{path} {handed_over} was overwritten");
            assert!(std::fs::read(&by_descriptor).unwrap() == bytes, "{path} {handed_over} was overwritten");
            assert!(!bench.path().join("nodir").exists());
        }
    }
}

/// The installed fio lays a file out anew where a reading job asks for more than it has: our own engine adds the end alone.
#[test]
fn a_job_that_reads_destroys_no_file_by_the_installed_fio() {
    if Command::new("fio").arg("--version").output().is_err() {
        return println!("skipped: fio is not installed");
    }
    let bench = Bench::new();
    let file = bench.file("data", 4);
    let before = std::fs::read(&file).unwrap();
    let read = |more: &str| {
        let line = format!("fio --name=a --filename=data --rw=read --bs=64k {more}");
        bench.run(&line.split(' ').collect::<Vec<_>>())
    };
    for more in [
        "--size=8m --ioengine=mmap",
        "--size=8m --create_only=1",
        "--size=4m --offset=1m --ioengine=mmap",
        "--size=3m --offset=50% --ioengine=mmap",
        "--size=1m --offset_increment=50% --numjobs=3 --ioengine=mmap",
        "--filesize=8m --ioengine=mmap",
    ] {
        read(more).ended(3).says(&["refused to write to data", "job a only reads it"]);
        assert!(std::fs::read(&file).unwrap() == before, "{more}");
    }
    for more in [
        "--ioengine=mmap",
        "--size=4m --ioengine=mmap",
        "--size=50% --offset=25% --ioengine=mmap",
        "--size=2m --offset=50% --ioengine=mmap",
    ] {
        read(more).ended(0);
        assert!(std::fs::read(&file).unwrap() == before, "{more}");
    }
}

/// A log or another option that has the name of a file gives that file to nobody.
#[test]
fn a_file_that_a_job_reads_is_not_made_longer_where_an_option_has_its_name() {
    let bench = Bench::new();
    let file = bench.file("data", 1);
    let before = std::fs::read(&file).unwrap();
    let read = |more: &str| {
        let line = format!("fio --name=a --rw=read --filename=data --size=2m --bs=64k {more}");
        bench.run(&line.split(' ').collect::<Vec<_>>())
    };
    let other = "--name=b --rw=read --filename=other --size=64k";
    for more in ["--filename_format=data", "--description=data", other] {
        read(more).ended(3).says(&["refused to write to data", "it would be made longer"]);
        assert!(std::fs::read(&file).unwrap() == before, "{more}");
    }
    let by_format = "fio --name=a --rw=read --filename_format=data --size=2m --bs=64k";
    bench.run(&by_format.split(' ').collect::<Vec<_>>()).ended(3).says(&["it would be made longer"]);
    assert!(std::fs::read(&file).unwrap() == before);
    // Another job writes it, so that it was given up.
    read("--name=b --rw=write --filename=data --size=64k").ended(0);
}

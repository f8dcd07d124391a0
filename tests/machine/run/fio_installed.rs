//! `volproof fio` where the installed fio runs the jobs: what is handed over, what is not, and its reports.

use std::fs::File;

use super::fio::{bytes, installed, json};
use crate::run::{Bench, Ran, fits};

#[test]
fn the_real_fio_does_what_only_it_can() {
    if !installed() {
        return;
    }
    let bench = Bench::new();
    let line = ["fio", "--name=j", "--size=64k", "--rw=write", "--verify=crc32c", "--output-format=json"];
    let ran = bench.run(&line).ended(0).says(&["runs this: verify=crc32c"]);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    fits(&ran.err);
    assert_eq!(bytes(&json(&ran), "write"), [64 << 10]);
    let mut alone = bench.command(&line);
    let ran = Ran::of(alone.env("PATH", bench.path()).output().unwrap()).ended(1);
    ran.says(&["fio is not installed", "verify=crc32c (j)", "does not check data"]);
    // An earlier report stays where nothing runs.
    let report = bench.path().join("old.txt");
    bench
        .run(&["fio", "--name=j", "--size=64k", "--rw=write", "--verify=crc32c", "--output=old.txt"])
        .ended(0);
    let before = std::fs::read_to_string(&report).unwrap();
    let mut alone = bench.command(&[&line[..], &["--output=old.txt"]].concat());
    Ran::of(alone.env("PATH", bench.path()).output().unwrap()).ended(1);
    assert_eq!(std::fs::read_to_string(&report).unwrap(), before);
    bench
        .run(&["fio", "--name=j", "--size=64k", "--exec_prerun=true"])
        .ended(1)
        .says(&["exec_prerun=true (j)"]);
    bench.run(&["fio", "--name=j", "--read_iolog=x"]).ended(1).says(&["read_iolog=x", "call fio itself"]);
    for given_back in [
        "--thinktime=1ms",
        "--number_ios=4",
        "--dedupe_percentage=50",
        "--zonemode=strided --zonesize=16k",
        "--minimal",
    ] {
        let words: Vec<&str> =
            ["fio", "--name=j", "--size=64k"].into_iter().chain(given_back.split(' ')).collect();
        let named = given_back.split(' ').next_back().unwrap().trim_start_matches("--");
        let named = if named.starts_with("zonesize") { "zonemode=strided" } else { named };
        bench.run(&words).says(&["runs this: ", named]);
        let mut alone = bench.command(&words);
        Ran::of(alone.env("PATH", bench.path()).output().unwrap())
            .ended(1)
            .says(&["fio is not installed", named]);
    }
}

#[test]
fn what_runs_programs_or_hides_its_devices_is_not_handed_over() {
    let bench = Bench::new();
    let job = ["fio", "--name=j", "--size=64k", "--rw=write"];
    for more in [
        "--trigger=touch ran",
        "--trigger-remote=touch ran",
        "--trigger-file=ran",
        "--trigger-timeout=1",
        "--exec_prerun=touch ran",
        "--exec_postrun=touch ran",
        "--ioengine=exec",
        "--ioengine=external:/nowhere.so",
        "--opendir=.",
        "--profile=act",
    ] {
        let flag = more.split([':', '=']).next().unwrap();
        bench
            .run(&[&job[..], &["--verify=md5", more]].concat())
            .ended(1)
            .says(&[flag.trim_start_matches('-')]);
    }
    for alone in ["--server", "--client=nowhere", "--profile=act", "--merge-blktrace-only"] {
        bench
            .run(&["fio", alone])
            .ended(1)
            .says(&[alone.split('=').next().unwrap().trim_start_matches('-'), "call fio itself"]);
    }
    assert!(Bench::names(bench.path()).is_empty(), "nothing was run");
    if installed() {
        let ran = bench.run(&["fio", "--crctest=crc32"]).ended(0).says(&["runs this: --crctest"]);
        assert!(ran.out.contains("crc32"), "{}", ran.out);
    }
}

/// Somebody else may lead a name to another file between the check and fio: here a program in fio's place does, and then becomes fio.
#[test]
fn the_installed_fio_opens_no_name_of_a_file() {
    use std::os::unix::fs::PermissionsExt;
    let Some(fio) = volproof::fio::installed::find(&std::env::var_os("PATH").unwrap_or_default()) else {
        return println!("skipped: fio is not installed");
    };
    let bench = Bench::new();
    let precious = bench.path().join("precious");
    std::fs::write(&precious, vec![7; 1 << 20]).unwrap();
    let program = bench.folder("bin").join("fio");
    let names = ["file", "new", "d/j.0.0", "d/j.1.0"];
    let swap: String = names.iter().map(|name| format!("ln -sfn $PWD/precious {name}\n")).collect();
    let script = format!("#!/bin/sh\nset -e\n{swap}echo \"$@\" > words\nexec {} \"$@\"\n", fio.display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path =
        std::env::join_paths([program.parent().unwrap(), "/usr/bin".as_ref(), "/bin".as_ref()]).unwrap();
    for more in [
        "--filename=file",
        "--filename=new",
        "--filename=file:new",
        "--directory=d --numjobs=2 --group_reporting",
    ] {
        bench.folder("d");
        bench.file("file", 1);
        let line = format!("fio --name=j --rw=randrw --size=1m --verify=crc32c {more}");
        let mut command = bench.command(&line.split(' ').collect::<Vec<_>>());
        Ran::of(command.env("PATH", &path).output().unwrap()).ended(0);
        assert!(std::fs::read(&precious).unwrap().iter().all(|byte| *byte == 7), "{more}");
        let words = std::fs::read_to_string(bench.path().join("words")).unwrap();
        let opened: Vec<&str> = words.split(' ').filter_map(|w| w.strip_prefix("--filename=")).collect();
        assert!(!opened.is_empty(), "{words}");
        let all = opened.iter().flat_map(|names| names.split(':'));
        assert!(all.clone().all(|name| name.starts_with("/proc/self/fd/")), "{words}");
        for name in ["file", "new", "d/j.0.0", "d/j.1.0"] {
            let _ = std::fs::remove_file(bench.path().join(name));
        }
        let _ = std::fs::remove_dir_all(bench.path().join("d"));
    }
}

/// fio notices no failed write, and opens a stream by its name anew.
#[test]
fn the_report_of_the_installed_fio_arrives_whole_or_is_told() {
    if !installed() {
        return println!("skipped: fio is not installed");
    }
    let bench = Bench::new();
    let log = bench.path().join("log");
    let job = ["fio", "--name=j", "--rw=write", "--size=64k", "--filename=a", "--iodepth_low=1"];
    let appended =
        |name: &str| File::options().append(true).create(true).open(bench.path().join(name)).unwrap();
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let ran = Ran::of(bench.command(&job).stdout(full()).output().unwrap());
    ran.ended(1).says(&["standard output could not be saved"]);
    let to_full = [&job[..], &["--output=/dev/full"]].concat();
    bench.run(&to_full).ended(1).says(&["/dev/full could not be saved"]);
    let to_file = [&job[..], &["--output=report"]].concat();
    Ran::of(bench.command(&to_file).stdout(full()).output().unwrap()).ended(0);
    let to_error = [&job[..], &["--output=/dev/stderr"]].concat();
    for from_start in [true, false] {
        std::fs::write(&log, "before\n").unwrap();
        let stderr = if from_start { File::create(&log).unwrap() } else { appended("log") };
        let ran = bench.command(&to_error).stderr(stderr).output().unwrap();
        let told = std::fs::read_to_string(&log).unwrap();
        assert!(ran.status.success() && told.starts_with("before") != from_start, "{told}");
        let parts = ["runs this: iodepth_low=1", "j: (groupid=0, jobs=1): err= 0", "Run status group 0"];
        assert!(parts.iter().all(|part| told.contains(part)), "{told}");
    }
    let ran = bench.run(&job).ended(0);
    assert!(ran.out.contains("Run status group 0"), "{}", ran.out);
}

/// fio empties the file of its report before it looks at the jobs.
#[test]
fn an_earlier_report_survives_a_job_that_fio_refuses() {
    if !installed() {
        return println!("skipped: fio is not installed");
    }
    let bench = Bench::new();
    let job =
        ["fio", "--name=j", "--rw=write", "--size=64k", "--filename=a", "--iodepth_low=1", "--output=report"];
    bench.run(&job).ended(0);
    let earlier = std::fs::read(bench.path().join("report")).unwrap();
    for refused in ["--rw=write:bogus", "--zonemode=zbd"] {
        let ran = bench.run(&[&job[..], &[refused]].concat()).ended(1);
        ran.says(&["report: fio wrote no report, and the file holds what it held before"]);
        assert_eq!(std::fs::read(bench.path().join("report")).unwrap(), earlier);
    }
    std::fs::remove_file(bench.path().join("report")).unwrap();
    bench.run(&[&job[..], &["--zonemode=zbd"]].concat()).ended(1).says(&["report: fio wrote no report"]);
    assert_eq!(Bench::names(bench.path()), ["a"]);
}

#[test]
fn no_file_is_made_for_the_name_of_a_stream() {
    let bench = Bench::new();
    for more in ["--iodepth_low=1", "--verify=crc32c", "--direct=0"] {
        let ran = bench.run(&["fio", "--name=j", "--rw=write", "--size=64k", "--filename=-", more]);
        ran.ended(1).says(&["filename=-", "name a file"]);
    }
    assert_eq!(Bench::names(bench.path()), [""; 0]);
}

/// Such as one that hides lines of a terminal or changes its title.
#[test]
fn control_characters_in_jobs_reach_no_text_of_the_installed_fio() {
    let bench = Bench::new();
    for text in ["--name=a\u{1b}[2Ka", "--name=a\rb", "--description=\u{1b}]0;title"] {
        for more in ["--iodepth_low=1", "--output=report --iodepth_low=1"] {
            let job = ["fio", "--name=j", "--filename=a", "--size=64k", "--rw=write", text];
            let mut job = [&job[..], &more.split(' ').collect::<Vec<_>>()].concat();
            if text.starts_with("--name") {
                job.remove(1);
                job.swap(1, 4);
            }
            let ran = bench.run(&job).ended(1).says(&["control character"]);
            assert!(!(ran.out + &ran.err).contains(['\u{1b}', '\r']));
            assert_eq!(Bench::names(bench.path()), [""; 0]);
        }
    }
}

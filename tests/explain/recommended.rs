//! Every command that is recommended runs: with volproof and with the installed fio, on a scratch file and for a moment.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use volproof::explain::explained;
use volproof::promise_options::PromiseOptions;
use volproof::unit::Bytes;

/// Reports among the fixtures.
fn reports() -> Vec<PathBuf> {
    let of = |folder: &str| std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect::<Vec<_>>();
    let mut all = [of("tests/fixtures/fio"), of("tests/fixtures/foreign")].concat();
    all.sort();
    all
}

/// All commands that are recommended for the fixtures, each once.
fn commands() -> BTreeSet<String> {
    let gp3 = PromiseOptions {
        kind: Some("aws:gp3".into()),
        volume_size: Some(Bytes::gib(100)),
        ..PromiseOptions::default()
    };
    let mut all = BTreeSet::new();
    for path in reports() {
        let text = std::fs::read(&path).unwrap();
        for claim in [PromiseOptions::default(), gp3.clone()] {
            for report in explained(&path, &text, &claim).unwrap_or_default() {
                let better = report.runs.iter().flat_map(|r| r.better.iter().flat_map(|b| b.commands()));
                all.extend(better.cloned());
                if let Some(verdict) = report.verdict {
                    all.extend(verdict.claims.into_iter().filter_map(|c| c.command));
                    all.extend(verdict.untested.into_iter().filter_map(|u| u.command));
                }
            }
        }
    }
    all
}

/// A command of DiskSpd has the form that it takes: options with their values in one word, and one target at the end.
fn of_diskspd(line: &str) {
    let options = line.strip_prefix("diskspd ").unwrap();
    let (options, target) = match options.strip_suffix('"') {
        Some(quoted) => quoted.split_once(" \"").unwrap(),
        None => options.rsplit_once(' ').unwrap(),
    };
    let is_file = target.as_bytes().get(1) == Some(&b':') && target.len() > 3;
    let is_disk = target.strip_prefix('#').is_some_and(|n| n.parse::<u32>().is_ok());
    assert!(is_file || is_disk || target == "TARGET", "{target} is no target: {line}");
    assert!(!target.contains('"') && !options.contains('"'), "{line}");
    for option in options.split(' ') {
        let known = ["-b", "-r", "-s", "-w", "-o", "-t", "-g", "-Z", "-Sh", "-L", "-W", "-d", "-c"];
        assert!(known.iter().any(|name| option.starts_with(name)), "{option}: {line}");
    }
}

/// The command on another target and for a moment; the program and its arguments. `None` for a program of Windows.
fn in_a_moment(line: &str, target: &str) -> Option<Vec<String>> {
    let words = shlex::split(line).unwrap_or_else(|| panic!("no shell reads {line}"));
    let mut out: Vec<String> = Vec::new();
    match words[0].as_str() {
        "fio" => {
            out.extend(words.iter().map(|w| match w.split_once('=').map_or(w.as_str(), |(key, _)| key) {
                "--filename" => format!("--filename={target}"),
                "--directory" => format!("--directory={}", Path::new(target).parent().unwrap().display()),
                "--size" => "--size=8m".into(),
                "--runtime" => "--runtime=200ms".into(),
                "--ramp_time" => "--ramp_time=0".into(),
                _ => w.clone(),
            }));
        }
        "volproof" => {
            assert_eq!(words[1], "run", "{line}");
            out.extend(["volproof", "run", target].map(String::from));
            let mut rest = words[2..].iter().skip(usize::from(!words[2].starts_with('-')));
            while let Some(word) = rest.next() {
                let value = match word.as_str() {
                    "--runtime" => Some("200ms".to_string()),
                    "--ramp" => Some("0".into()),
                    _ => None,
                };
                out.push(word.clone());
                if value.is_some() {
                    rest.next();
                }
                out.extend(value);
            }
            out.extend(["--overwrite", "--json", "r.json", "-q"].map(String::from));
        }
        "diskspd" => {
            of_diskspd(line);
            return None;
        }
        other => panic!("{other} is recommended: {line}"),
    }
    Some(out)
}

/// The failure of a command, if it fails.
fn failure(words: &[String], folder: &Path) -> Option<String> {
    let program = if words[0] == "volproof" { env!("CARGO_BIN_EXE_volproof") } else { &words[0] };
    let out = Command::new(program)
        .args(&words[1..])
        .current_dir(folder)
        .env("VOLPROOF_RECORDS", folder)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|e| panic!("{words:?}: {e}"));
    // Any verdict on a scratch file will do: what counts is that the command measured and left a Record.
    let measured = words[0] == "fio" || std::fs::remove_file(folder.join("r.json")).is_ok();
    let code = out.status.code();
    let ran = measured && matches!((words[0].as_str(), code), (_, Some(0)) | ("volproof", Some(1 | 5 | 6)));
    (!ran).then(|| format!("{}: {code:?}\n{}", words.join(" "), String::from_utf8_lossy(&out.stderr)))
}

#[test]
fn every_recommended_command_runs() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("scratch");
    let all: BTreeSet<Vec<String>> =
        commands().iter().filter_map(|line| in_a_moment(line, target.to_str().unwrap())).collect();
    assert!(all.len() >= 10, "{all:?}");
    let fio = Command::new("fio").arg("--version").output().is_ok_and(|out| out.status.success());
    if !fio {
        println!("skipped: fio is not installed");
    }
    std::fs::write(&target, vec![7u8; 64 << 20]).unwrap();
    let usable = all.iter().filter(|w| fio || w[0] != "fio");
    let failed: Vec<String> = usable.filter_map(|words| failure(words, folder.path())).collect();
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), all.len(), failed.join("\n"));
}

/// What `explain` prints of a report.
fn told_of(report: &str, options: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("r"), report).unwrap();
    let mut volproof = Command::new(env!("CARGO_BIN_EXE_volproof"));
    let out = volproof.args(["explain", "r"]).args(options).current_dir(folder.path()).output().unwrap();
    String::from_utf8(out.stdout).unwrap()
}

/// What `explain` prints of a fixture.
fn told_of_fixture(name: &str) -> String {
    told_of(&std::fs::read_to_string(Path::new("tests/fixtures").join(name)).unwrap(), &[])
}

/// What `explain` prints of Iometer's fixture with the disk named so.
fn of_iometer(name: &str) -> String {
    let text = std::fs::read_to_string("tests/fixtures/foreign/iometer.csv").unwrap();
    told_of(&text.replace("E: \"volume\"", name), &[])
}

/// The text in one line, without the backslashes at the ends of lines.
fn in_a_line(told: &str) -> String {
    told.split_whitespace().filter(|word| *word != "\\").collect::<Vec<_>>().join(" ")
}

#[test]
fn commands_that_write_say_what_they_write_over_and_who_asks() {
    let dd = |target: &str| {
        format!(
            "# dd if=/dev/zero of={target} bs=1M oflag=direct count=1\n1+0 records in\n1+0 records out\n\
             1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.0052 s, 202 MB/s\n"
        )
    };
    for (target, words) in [
        (
            "/dev/vdb",
            "these write over /dev/vdb: fio does not ask, and what is there is lost; volproof asks for --destroy",
        ),
        (
            "scratch",
            "these write over scratch: fio does not ask; volproof asks for --overwrite where it exists",
        ),
        (
            "/dev/shm/f",
            "these write over /dev/shm/f: fio does not ask; volproof asks for --overwrite where it exists",
        ),
    ] {
        let told = in_a_line(&told_of(&dd(target), &[]));
        assert!(told.contains("--rw=write") && told.contains(words), "{target}: {told}");
        let json = told_of(&dd(target), &["--json"]);
        assert!(json.contains(&format!(r#""overwrites": "{target}""#)), "{json}");
    }
    let reads = told_of(
        &dd("/dev/vdb")
            .replace("if=/dev/zero of=/dev/vdb bs=1M oflag", "if=/dev/vdb of=/dev/null bs=1M iflag"),
        &[],
    );
    assert!(reads.contains("--filename=/dev/vdb --rw=read") && !reads.contains("write over"), "{reads}");
}

/// The value of an option of fio, in bytes or jobs.
fn value(command: &str, option: &str) -> Option<Bytes> {
    let (_, rest) = command.split_once(option)?;
    Some(rest.split(' ').next().unwrap().parse().unwrap())
}

#[test]
fn no_recommended_test_of_a_folder_has_a_range_that_is_doubted_as_small() {
    let all = commands();
    let in_folders: Vec<&String> = all.iter().filter(|line| line.contains("--directory=")).collect();
    assert!(in_folders.len() >= 4, "{all:?}");
    for command in in_folders.into_iter().filter(|line| !line.contains("--name=durable")) {
        let jobs = value(command, "--numjobs=").map_or(1, |jobs| jobs.0);
        assert!(value(command, "--size=").unwrap().0 * jobs >= Bytes::gib(32).0, "{command}");
    }
    // The log of an application has the size that the application gives it.
    let told = told_of_fixture("fio/3.33-fdatasync.json");
    for (name, size) in [("rate", "32g"), ("latency", "32g"), ("durable", "8m")] {
        let command = format!("--name={name} --directory=/mnt/volume --size={size} ");
        assert!(told.contains(&command), "{command}: {told}");
    }
}

#[test]
fn a_named_file_of_which_little_was_used_is_told() {
    let words = |file: &str, used: &str| {
        format!("these stay on {file}, of which {used} were used: if it is no larger, name one that is")
    };
    for (name, file, used) in
        [("fio/3.33-clones.json", "data", "32 MiB"), ("foreign/diskspd-cached.txt", r"C:\io.dat", "1 GiB")]
    {
        let told = in_a_line(&told_of_fixture(name));
        assert!(told.contains("[small-range") && told.contains(&words(file, used)), "{name}: {told}");
    }
    let text = std::fs::read_to_string("tests/fixtures/fio/3.33-clones.json").unwrap();
    let device = told_of(&text.replace("\"data\"", "\"/dev/vdb\""), &[]);
    assert!(device.contains("--filename=/dev/vdb") && !device.contains("these stay on"), "{device}");
    let folder = told_of_fixture("fio/3.33-fdatasync.json");
    assert!(folder.contains("[small-range") && !folder.contains("these stay on"), "{folder}");
}

#[test]
fn a_sequential_test_has_one_job_at_the_depth_of_all() {
    for command in commands() {
        let sequential = [" --rw=read ", " --rw=write ", " --rw read ", " --rw write ", " -s "];
        if sequential.iter().any(|load| command.contains(load)) {
            assert!(!command.contains("numjobs"), "{command}");
            assert!(!command.starts_with("diskspd") || command.contains(" -t1 "), "{command}");
        }
    }
    let told = in_a_line(&told_of_fixture("fio/3.33-clones.json"));
    assert!(told.contains("--rw=read --bs=64k --ioengine=io_uring --iodepth=64 --direct=1"), "{told}");
    assert!(told.contains("volproof run data --rw read --bs 64KiB --iodepth 64 --runtime"), "{told}");
    let told = in_a_line(&told_of_fixture("foreign/diskspd-cached.txt"));
    assert!(told.contains("diskspd -b4K -s -w0 -o4 -t1 "), "{told}");
}

#[test]
fn jobs_over_one_range_are_told_apart_in_the_words_of_their_tool() {
    let advice = |name: &str| {
        let told = in_a_line(&told_of_fixture(name));
        told.split("[same-range, doubt] -> ").nth(1).unwrap_or_else(|| panic!("{told}")).to_string()
    };
    let of_fio = advice("fio/3.33-clones.json");
    assert!(
        of_fio.starts_with("add offset_increment=10% (or a file per job), or test random I/O "),
        "{of_fio}"
    );
    let of_diskspd = advice("foreign/diskspd-cached.txt");
    let words = "give the threads parts of their own (-T), use one thread, or test random I/O (-r) ";
    assert!(of_diskspd.starts_with(words), "{of_diskspd}");
}

#[test]
fn commands_of_diskspd_are_one_line_and_say_what_they_write_over() {
    for (name, target, lost) in [
        ("E: \"volume\"", r" -c32G E:\volproof.dat", None),
        (r#""E: ""My Data""""#, r" -c32G E:\volproof.dat", None),
        ("PHYSICALDRIVE:1", " -d300 #1", Some("these write over #1")),
        ("1: \"MODEL\"", " -d300 #1", Some("these write over #1")),
    ] {
        let told = of_iometer(name);
        let commands: Vec<&str> =
            told.lines().map(str::trim).filter(|line| line.starts_with("diskspd ")).collect();
        assert!(commands.len() >= 2, "{told}");
        for command in commands {
            assert!(command.ends_with(target), "{name}: {command}");
            of_diskspd(command);
        }
        assert_eq!(told.contains("these write over"), lost.is_some(), "{name}: {told}");
        assert!(lost.is_none_or(|words| told.contains(words)), "{name}: {told}");
    }
}

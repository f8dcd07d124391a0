//! Wrong input is refused before the first I/O, with what to do instead.

use std::process::Command;

use crate::run::{Bench, Ran, is_root};

/// Runs, and sees that it was refused with this code and words and that nothing was made.
#[track_caller]
fn refused(bench: &Bench, arguments: &[&str], code: i32, words: &[&str]) {
    let before = Bench::names(bench.path());
    let ran = bench.run(&[arguments, &["--json", "r.json"]].concat()).ended(code);
    nothing_but_a_message(bench, &before, ran, words);
}

/// A refusal says these words on standard error, and leaves the folder as it was.
#[track_caller]
fn nothing_but_a_message(bench: &Bench, before: &[String], ran: Ran, words: &[&str]) {
    let ran = ran.says(words);
    assert_eq!(ran.out, "", "{}", ran.err);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    assert_eq!(Bench::names(bench.path()), before, "it left something behind: {}", ran.err);
}

#[test]
fn sizes_that_do_not_fit_the_target() {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    refused(
        &bench,
        &["run", "f.dat", "--rw", "read", "--size", "5M"],
        2,
        &["size 5 MiB", "beyond its 4 MiB", "--size"],
    );
    refused(&bench, &["run", "f.dat", "--rw", "read", "--offset", "4M"], 2, &["f.dat", "4 MiB"]);
    refused(
        &bench,
        &["run", "f.dat", "--rw", "read", "--bs", "8M"],
        2,
        &["block of 8 MiB", "smaller blocks"],
    );
    refused(
        &bench,
        &["run", "f.dat", "--rw", "read", "--bs", "64k", "--size", "4k"],
        2,
        &["smaller than one block"],
    );
    refused(
        &bench,
        &["run", "f.dat", "--rw", "read", "--bs", "1M", "--numjobs", "5"],
        2,
        &["5 jobs", "fewer jobs"],
    );
    std::fs::write(bench.path().join("empty"), "").unwrap();
    refused(&bench, &["run", "empty", "--rw", "read"], 2, &["empty", "nothing to test"]);
}

#[test]
fn blocks_that_direct_io_cannot_move() {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    let words = ["1000B", "not a multiple of", "--buffered"];
    refused(&bench, &["run", "f.dat", "--rw", "randread", "--bs", "1000"], 2, &words);
    refused(
        &bench,
        &["run", "f.dat", "--rw", "randread", "--offset", "100"],
        2,
        &["offset 100B", "multiple"],
    );
    let buffered = ["run", "f.dat", "--rw", "randread", "--bs", "1000", "--buffered", "--runtime", "100ms"];
    bench.run(&[&buffered[..], &["--json", "r.json"]].concat()).ended(0);
}

#[test]
fn depths_that_mean_nothing_or_exceed_the_kernel() {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    let read = ["run", "f.dat", "--rw", "randread"];
    let with = |more: &[&'static str]| [&read[..], more].concat();
    refused(&bench, &with(&["--iodepth", "0"]), 2, &["iodepth 0", "use 1 or more"]);
    refused(&bench, &with(&["--numjobs", "0"]), 2, &["numjobs 0"]);
    refused(&bench, &with(&["--engine", "psync", "--iodepth", "2"]), 2, &["psync", "one request"]);
    let words = ["iodepth 40000", "32768", "io_uring", "numjobs=2", "libaio"];
    refused(&bench, &with(&["--engine", "io_uring", "--iodepth", "40000"]), 2, &words);
    refused(&bench, &with(&["--engine", "libaio", "--iodepth", "70000"]), 2, &["65536"]);
    refused(&bench, &with(&["--runtime", "0"]), 2, &["runtime 0"]);
    let most: u64 = std::fs::read_to_string("/proc/sys/fs/aio-max-nr").unwrap().trim().parse().unwrap();
    if most > 50 * 65_536 {
        return println!("skipped: fs.aio-max-nr is {most}, more than a plan may ask for here");
    }
    let jobs = (most / 65_536 + 1).to_string();
    let deep = [
        "run",
        "f.dat",
        "--rw",
        "randread",
        "--engine",
        "libaio",
        "--iodepth",
        "65536",
        "--bs",
        "512",
        "--buffered",
    ];
    // The buffers of so many requests may exceed memory first: that is refused as well, and said.
    let arguments = [&deep[..], &["--numjobs", &jobs, "--json", "r.json"]].concat();
    let ran = bench.run(&arguments).ended(2);
    assert!(ran.err.contains("fs.aio-max-nr") || ran.err.contains("of memory are available"), "{}", ran.err);
}

#[test]
fn more_aio_requests_than_the_kernel_allows() {
    let bench = Bench::new();
    bench.file("f.dat", 64);
    let read = |name: &str| -> u64 {
        std::fs::read_to_string(format!("/proc/sys/fs/{name}")).unwrap().trim().parse().unwrap()
    };
    // Other programs may take requests meanwhile, and give them back.
    for _ in 0..20 {
        let (most, used) = (read("aio-max-nr"), read("aio-nr"));
        let depth = most - used + 1;
        if depth > 65_536 * 2 {
            return println!("skipped: fs.aio-max-nr of {most} is out of reach");
        }
        let half = (depth / 2 + 1).to_string();
        let load = [
            "run",
            "f.dat",
            "--rw",
            "randread",
            "--runtime",
            "100ms",
            "--engine",
            "libaio",
            "--numjobs",
            "2",
        ];
        let before = Bench::names(bench.path());
        let ran = bench.run(&[&load[..], &["--iodepth", &half, "--json", "r.json"]].concat());
        if ran.code == Some(2) {
            return nothing_but_a_message(&bench, &before, ran, &["raise fs.aio-max-nr (sysctl)"]);
        }
        std::fs::remove_file(bench.path().join("r.json")).unwrap();
    }
    panic!("more requests than the kernel allows were never refused");
}

#[test]
fn more_buffers_than_memory() {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    refused(
        &bench,
        &[
            "run",
            "f.dat",
            "--rw",
            "randread",
            "--bs",
            "1M",
            "--iodepth",
            "32768",
            "--numjobs",
            "128",
            "--norandommap",
        ],
        2,
        &["of buffers", "memory are available", "lower the depth"],
    );
}

#[test]
fn files_that_have_no_room() {
    let bench = Bench::new();
    bench.folder("data");
    refused(&bench, &["run", "data", "--file-size", "900T"], 2, &["does not fit", "--file-size"]);
    refused(&bench, &["run", "data", "--file-size", "1k"], 2, &["too small", "--file-size"]);
}

/// Only a test file that is made in a folder gets a size, and goes away or stays.
#[test]
fn options_of_a_test_file_where_none_is_made() {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    bench.file("g.dat", 4);
    bench.folder("data");
    std::fs::write(
        bench.path().join("p.toml"),
        "file-size = '4M'\n[[step]]\nrw = 'randread'\nruntime = '1s'\n",
    )
    .unwrap();
    let size = "--file-size (file-size in a plan file) has no effect here: no target is a folder, in which a test file is made; leave it out";
    let stay = "--keep has no effect here: no target is a folder, in which a test file is made; leave it out";
    let simulated =
        "--keep has no effect here: the device is simulated, so that no test file is made; leave it out";
    let read = "--rw randread --runtime 1s";
    for (line, words) in [
        (format!("run f.dat {read} --file-size 10g --keep"), size),
        (format!("run f.dat {read} --keep"), stay),
        (format!("run f.dat {read} --file-size 10g --precondition fill --overwrite"), size),
        (format!("run f.dat {read} --file-size 1g --simulate latency=1ms"), size),
        (format!("run f.dat g.dat {read} --file-size 1g"), size),
        (format!("run {read} --file-size 1g --simulate latency=1ms"), size),
        (format!("run data {read} --keep --simulate latency=1ms"), simulated),
        ("run f.dat --plan p.toml".into(), size),
        ("sweep f.dat --iodepth 1,2 --file-size 1g".into(), size),
        ("slo f.dat --p99 5ms --keep".into(), stay),
        ("suite snia-iops f.dat --overwrite --file-size 4M".into(), size),
        ("fit f.dat --for splunk --overwrite --file-size 1g".into(), size),
    ] {
        let line: Vec<&str> = line.split(' ').collect();
        refused(&bench, &line, 2, &[words]);
        match line[0] {
            "run" => bench.run(&[&["plan"], &line[1..]].concat()).ended(2).says(&[words]),
            _ => bench.run(&[&line[..], &["--dry-run"]].concat()).ended(2).says(&[words]),
        };
    }
    // One folder among the targets is enough, and a simulated device has the size of the file that it stands for.
    for line in [
        "plan data --plan p.toml --keep".to_string(),
        format!("plan f.dat data {read} --file-size 4M --keep"),
        format!("plan data {read} --file-size 4M --simulate latency=1ms"),
        "suite snia-iops data --dry-run --file-size 4M --keep".into(),
    ] {
        bench.run(&line.split(' ').collect::<Vec<_>>()).ended(0);
    }
    let Some(disk) = crate::run::devices::Loop::over(&bench.file("disk", 16)) else { return };
    let ran = bench.run(&["plan", disk.path(), "--rw", "randread", "--file-size", "4M"]).ended(2);
    ran.says(&["no target is a folder"]);
}

#[test]
fn a_full_filesystem() {
    if !is_root() {
        return println!("skipped: root is needed to mount a small filesystem");
    }
    let bench = Bench::new();
    let point = bench.folder("small");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2M", "none"]).arg(&point).status();
    if !mounted.is_ok_and(|s| s.success()) {
        return println!("skipped: a tmpfs cannot be mounted here");
    }
    struct Unmount(std::path::PathBuf);
    impl Drop for Unmount {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(&self.0).status();
        }
    }
    let _unmount = Unmount(point.clone());
    refused(&bench, &["run", "small"], 2, &["small", "are free", "free some space"]);
    refused(&bench, &["run", "small", "--file-size", "4M"], 2, &["4 MiB does not fit"]);
    assert_eq!(Bench::names(&point), Vec::<String>::new());
    // Either has room, both have not.
    bench.folder("small/a");
    bench.folder("small/b");
    let both = ["run", "small/a", "small/b", "--file-size", "2M"];
    refused(&bench, &both, 2, &["beside the other targets small/b has 0 B free", "2 MiB does not fit"]);
    if Command::new("fio").arg("--version").output().is_ok() {
        let line = "fio --directory=small --rw=write --size=1536k --iodepth_low=1 --name=a --filename=a/f --name=b --filename=b/f";
        let ran = bench.run(&line.split(' ').collect::<Vec<_>>());
        ran.ended(1).says(&["free, but small/b/f lacks 1.50 MiB"]);
    }
    assert!(Bench::names(&point.join("a")).is_empty() && Bench::names(&point.join("b")).is_empty());
}

#[test]
fn a_folder_one_may_not_write_to() {
    let bench = Bench::new();
    let folder = bench.folder("closed");
    std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o555)).unwrap();
    let program = bench.path().join("volproof");
    let json = bench.folder("open").join("r.json");
    let mut command = if is_root() {
        // Nobody's rights, on a copy of the program that nobody can reach.
        crate::copy_program(&program);
        for path in [bench.path(), json.parent().unwrap()] {
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        }
        let mut c = Command::new("setpriv");
        c.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program);
        c
    } else {
        Command::new(env!("CARGO_BIN_EXE_volproof"))
    };
    let arguments = ["run", "closed", "--json", json.to_str().unwrap()];
    let output = match command.args(arguments).current_dir(bench.path()).output() {
        Ok(output) => output,
        Err(e) => return println!("skipped: setpriv: {e}"),
    };
    if String::from_utf8_lossy(&output.stderr).contains("setpriv:") {
        return println!("skipped: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ran::of(output).ended(3).says(&["closed", "folder you may write to"]);
    assert!(!json.exists());
}

#[test]
fn results_that_could_not_be_saved() {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    let ran = bench.run(&["run", "f.dat", "--rw", "read", "--json", "no/such/r.json"]).ended(2);
    ran.says(&["no/such/r.json", "--json"]);
    bench.run(&["run", "f.dat", "--rw", "read", "--csv", "."]).ended(2).says(&["folder", "--csv"]);
    assert_eq!(Bench::names(bench.path()), ["f.dat"]);
}

#[test]
fn words_that_are_none() {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    for (arguments, words) in [
        (&["run", "f.dat", "--rw", "random"][..], &["'random' is not a pattern", "randread"][..]),
        (&["run", "f.dat", "--bs", "4q"], &["'q' is not a unit", "KiB"]),
        (&["run", "f.dat", "--bs", "4k/70:64k/20"], &["add up to 90 %"]),
        (&["run", "f.dat", "--preset", "nonesuch"], &["nonesuch", "the presets are standard, quick"]),
        (&["run", "f.dat", "--preset", "qick"], &["did you mean quick? The presets are standard"]),
        (&["suite", "nosuch", "f.dat"], &["there is no suite 'nosuch': the suites are essd-contract"]),
        (&["suite", "snia-iop", "f.dat"], &["did you mean snia-iops", "The suites are essd-contract"]),
        (&["suite", "provider:aliba", "f.dat"], &["no procedure of 'aliba' is known: did you mean alibaba?"]),
        (&["promise", "aws:gp3", "--size", "100GiB", "--iops", "0"], &["0 IOPS are none: leave it out"]),
        (
            &["promise", "aws:gp3", "--size", "100GiB", "--iops", "20q"],
            &["write it as 3000, 20k, max or min"],
        ),
        (&["run", "f.dat", "--rate-iops", "20q"], &["'20q' is not a number such as 2500 or 20k"]),
        (
            &["run", "f.dat", "--rw", "read", "--catalog", "x.toml"],
            &["--catalog has no effect without --promise TYPE"],
        ),
        (&["run", "f.dat", "--direct", "1"], &["'1' is no target", "--direct=1"]),
        (&["run", "f.dat", "--duration", "60"], &["run has no option --duration", "--runtime TIME"]),
        (
            &["run", "f.dat", "--rw", "read", "--json", "-", "--csv", "-"],
            &["--json goes to standard output already"],
        ),
        (&["promise", "ESSD"], &["alibaba:cloud_essd.PL0", "huawei:ESSD"]),
        (&["verdict", "-"], &["standard input is empty"]),
        (&["run", "f.dat", "--plan", "none.toml"], &["none.toml"]),
        (&["run", "nowhere"], &["nowhere"]),
        (&["run", "f.dat", "f.dat", "--rw", "read"], &["named twice"]),
        (&["run"], &["name a target"]),
        (&["run", "/dev/null", "--rw", "read"], &["/dev/null", "block device, a file or a folder"]),
    ] {
        let ran = bench.run(arguments).ended(2).says(words);
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
    }
    let decimal = bench.run(&["plan", "f.dat", "--rw", "randread", "--rate-iops", "20k"]).ended(0);
    assert!(decimal.out.contains("20,000"), "{}", decimal.out);
    bench.run(&["show", "f.dat"]).ended(2).says(&["f.dat"]);
    let missing = bench.run(&["check", "nofile"]).ended(2);
    assert_eq!(missing.err.matches("No such file").count(), 1, "{}", missing.err);
    std::fs::write(bench.path().join("other.json"), "{\"schema\":\"x\"}").unwrap();
    bench.run(&["show", "other.json"]).ended(2).says(&["not a volproof Record"]);
}

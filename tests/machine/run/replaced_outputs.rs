//! What an output replaces, and what stays.

use std::process::Command;

use crate::run::Bench;
use crate::run::mounted::Mounted;

/// As the file that a container gets (`docker -v $PWD/r.json:/r.json`): no other takes its name.
#[test]
fn a_mounted_file_is_refused() {
    let bench = Bench::new();
    let Some(small) = Mounted::new(&bench, "size=64k") else { return };
    bench.file("f.dat", 1);
    let (path, behind) = (bench.path().join("r.json"), small.0.join("r.json"));
    [&path, &behind].into_iter().for_each(|file| std::fs::write(file, "").unwrap());
    let mounted = Command::new("mount").arg("--bind").arg(&behind).arg(&path).status();
    assert!(mounted.is_ok_and(|status| status.success()));
    let _mounted = Mounted(path.clone());
    let line = ["run", "f.dat", "--rw", "randread", "--runtime", "100ms", "-q", "--json", "r.json"];
    bench.run(&line).ended(2).says(&["r.json cannot be written: it is mounted by itself"]);
    assert_eq!(std::fs::read(&behind).unwrap(), b"");
}

/// An output replaces an empty file and an earlier output of its kind, and any other file with `--force` alone.
#[test]
fn an_output_replaces_its_own_kind_alone() {
    let bench = Bench::new();
    bench.file("f.dat", 1);
    bench.run(&["run", "f.dat", "--rw", "randread", "--runtime", "100ms", "-q", "--json", "r.json"]).ended(0);
    let forms = ["json", "json+", "normal", "csv", "jobfile", "plan", "record"];
    let sheets = ["markdown", "junit", "openmetrics"];
    let make = |name: &str, more: &[&str]| {
        let sheet = format!("--{name}");
        let line = match name {
            "page" => vec!["report", "r.json", "-o", name],
            name if sheets.contains(&name) => vec!["show", "r.json", "-q", &sheet, name],
            form => vec!["convert", "r.json", "--to", form, "-o", name],
        };
        bench.run(&[&line[..], more].concat())
    };
    for name in forms.into_iter().chain(sheets).chain(["page"]) {
        let path = bench.path().join(name);
        std::fs::write(&path, "").unwrap();
        make(name, &[]).ended(0);
        let written = std::fs::read_to_string(&path).unwrap();
        make(name, &[]).ended(0);
        std::fs::write(&path, format!("notes of 3 March\n{written}")).unwrap();
        make(name, &[]).ended(2).says(&["is there and is no ", "or replace it with --force"]);
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("notes of 3 March\n"), "{name}");
        make(name, &["--force"]).ended(0);
        assert!(std::fs::read_to_string(&path).unwrap().starts_with(&written[..20]), "{name}");
    }
    // A report of fio itself is somebody's measurement.
    let fio = "{\n  \"fio version\" : \"fio-3.33\",\n  \"jobs\" : []\n}\n";
    std::fs::write(bench.path().join("json"), fio).unwrap();
    make("json", &[]).ended(2).says(&["is no report that volproof wrote in fio's form"]);
    // Neither a target nor an input is replaced, whatever is given.
    for line in [
        "run f.dat --rw randread --runtime 100ms -q --force --json f.dat",
        "convert r.json --to csv --force -o r.json",
    ] {
        bench.run(&line.split(' ').collect::<Vec<_>>()).ended(2).says(&["is the same file as"]);
    }
    let notes = bench.path().join("notes");
    std::fs::write(&notes, "notes\n").unwrap();
    let job = ["fio", "--name=j", "--filename=f.dat", "--rw=read", "--size=64k", "--output=notes"];
    bench.run(&job).ended(1).says(&["is no report of fio"]);
    bench.run(&[&job[..], &["--force"]].concat()).ended(0);
    assert!(std::fs::read_to_string(&notes).unwrap().starts_with("j: (g=0)"));
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

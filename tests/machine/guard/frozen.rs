//! A frozen filesystem (`fsfreeze -f`) holds up every output that is to be made there: its user is told, a signal leaves nothing behind, and
//! all of them are whole once it is thawed.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::guard::rig::{Rig, volproof, words};

#[test]
fn every_output_that_a_frozen_filesystem_holds_up_is_told_and_kept() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("frozen.img", 16);
    let device = rig.loop_over(&image, &[]);
    rig.filesystem(&device);
    let place = rig.mount(&device);
    let plan = "name = \"p\"\n[[step]]\nname = \"s\"\nruntime = \"1s\"\nengine = \"null\"\n[step.simulate]\nlatency = \"100us\"\n";
    fs::write(rig.path("plan.toml"), plan).unwrap();
    let (code, said) =
        volproof(&rig, &[], &words("run --plan plan.toml --json r.json --quiet", OsStr::new("")));
    assert!(matches!(code, Some(0 | 6)), "{said}");
    fs::write(rig.path("target"), vec![0; 1 << 20]).unwrap();
    rig.make(&["fsfreeze", "-f", place.to_str().unwrap()].map(OsStr::new), None);
    rig.undo(
        "sh",
        &["-c", "fsfreeze -u \"$0\"; true"]
            .map(OsStr::new)
            .iter()
            .copied()
            .chain([place.as_os_str()])
            .collect::<Vec<_>>(),
    );
    let start = |line: &str| {
        let line = line.replace("FROZEN", place.to_str().unwrap());
        let mut child = Command::new(env!("CARGO_BIN_EXE_volproof"));
        child.args(line.split(' ')).current_dir(rig.dir.path()).stdin(Stdio::null()).stdout(Stdio::null());
        child.stderr(Stdio::piped()).spawn().unwrap()
    };
    let lines = [
        "report r.json -o FROZEN/page.html",
        "convert r.json --to csv -o FROZEN/table.csv",
        "show r.json --markdown FROZEN/a.md",
        "run --plan plan.toml --quiet --json FROZEN/again.json",
        "run --plan plan.toml --quiet --records FROZEN",
        "run --plan plan.toml --quiet --json s.json --csv FROZEN/b.csv",
        "run FROZEN --size 1m --rw randwrite --bs 4k --runtime 50ms --tune off --json t.json --quiet",
        "fio --name=a --filename=target --rw=read --size=1m --output=FROZEN/fio.txt",
    ];
    let kept: Vec<Child> = lines.iter().map(|line| start(line)).collect();
    let interrupted = start("report r.json -o FROZEN/never.html");
    let told = |child: Child| {
        let mut child = child;
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let thaw = format!("fsfreeze -u {}", place.display());
        assert!(line.contains("has waited for 5 s") && line.trim_end().ends_with(&thaw), "{line}");
        (child, stderr)
    };
    let kept: Vec<_> = kept.into_iter().map(told).collect();
    let (mut interrupted, _) = told(interrupted);
    let process = rustix::process::Pid::from_child(&interrupted);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    // The signal waits for as long as the filesystem does.
    std::thread::sleep(Duration::from_millis(100));
    assert!(interrupted.try_wait().unwrap().is_none());
    rig.make(&["fsfreeze", "-u", place.to_str().unwrap()].map(OsStr::new), None);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&interrupted.wait().unwrap()), Some(2));
    for ((mut child, mut stderr), line) in kept.into_iter().zip(lines) {
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).unwrap();
        let code = child.wait().unwrap().code();
        assert!(
            matches!(code, Some(0 | 6)) || rest.contains("Nothing was measured"),
            "{line}: {code:?} {rest}"
        );
    }
    let mut names: Vec<String> =
        fs::read_dir(&place).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    let records = names.extract_if(.., |name| name.starts_with("volproof-2")).count();
    assert_eq!(records, 1, "{names:?}");
    names.retain(|name| name != "lost+found");
    names.sort();
    assert_eq!(names, ["a.md", "again.json", "b.csv", "fio.txt", "page.html", "table.csv"]);
    for name in names {
        assert!(File::open(place.join(&name)).unwrap().metadata().unwrap().len() > 0, "{name}");
    }
}

//! Every single system call by which a start changes something: the program dies at it, or it fails, and every knob comes
//! back. strace plays this on the program as it is; a loop device of our own is tuned. Needs both; says so and passes without.

use std::fs;

use crate::traced::{CHANGES, Struck, TracedIo};

/// One test, because the steps of one would be another's strangers.
#[test]
fn whatever_befalls_a_start_at_any_call_every_knob_comes_back() {
    let Some(device) = TracedIo::attach() else { return };
    let (path, usual) = (device.path(), &device.usual);
    let queue = device.queue().display().to_string();
    let program = |arguments: &[&'static str]| [&[env!("CARGO_BIN_EXE_volproof")], arguments].concat();

    // The journal is on disk, file, name and folder, before any knob is written.
    let (out, log) = device.traced(&["-e", "trace=write,fsync,rename"], &["tune", "--keep", path]);
    assert!(out.status.success(), "{out:?}");
    assert_ne!(&device.knobs(), usual, "nothing was tuned: this would show nothing");
    let (mut stage, mut writes) = (0, 0);
    for line in log.lines() {
        stage = match stage {
            0 if line.contains("fsync(") && line.contains("/run/volproof/run-") => 1,
            1 if line.contains("rename(\"/run/volproof/run-") => 2,
            2 if line.contains("fsync(") && line.contains("</run/volproof>)") => 3,
            stage => stage,
        };
        if line.contains("write(") && (line.contains("</sys/") || line.contains("</proc/sys/")) {
            assert_eq!(stage, 3, "a knob is written before the journal is on disk: {line}\n{log}");
            (stage, writes) = (0, writes + 1);
        }
    }
    assert!(writes >= 2, "{log}");
    device.restored("as ever");
    device.assert_usual("as ever");

    let kill = "signal=KILL";
    let every = (&CHANGES[..], 1);
    let restores = |struck: &Struck| device.restored(&struck.story);
    let setting = device.at_each_call(
        kill,
        every,
        &[&program(&["tune", "--keep"])[..], &[path]].concat(),
        || {},
        restores,
    );
    let keep = || assert!(device.volproof(&["tune", "--keep", path]).status.success());
    let putting_back = device.at_each_call(kill, every, &program(&["restore"]), keep, restores);
    // Any start puts back what a dead run left: here the owner of the kept values is made one.
    let dead = || {
        keep();
        for entry in fs::read_dir(device.journals()).unwrap().flatten() {
            if entry.path().extension().is_some_and(|e| e == "json") {
                let text = fs::read_to_string(entry.path()).unwrap();
                fs::write(entry.path(), text.replace("\"kept\": true", "\"kept\": false")).unwrap();
            }
        }
    };
    let starting = device.at_each_call(kill, every, &program(&["presets"]), dead, restores);

    // A run of which a call fails puts back what it can by itself; what it cannot, it says with exit code 4.
    let options = "--rw randread --iodepth 4 --runtime 50ms --tune on --json r.json";
    let run: Vec<&str> =
        [env!("CARGO_BIN_EXE_volproof"), "run", path].into_iter().chain(options.split(' ')).collect();
    let honest = |Struck { story: what, out, .. }: &Struck| {
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(!said.contains("panicked"), "{what}");
        if out.status.code() == Some(4) {
            assert!(said.contains(&format!("> {queue}/")), "the command to do it by hand: {what}");
            device.restored(what);
        }
    };
    let running = device.at_each_call(kill, every, &run, || {}, restores);
    let failing = device.at_each_call("error=EIO", (&CHANGES, 2), &run, || {}, honest);
    println!(
        "killed at each of {setting} calls that set, {putting_back} of restore, {starting} of another start, {running} of \
         a run; every other call of a run failed, {failing} in all"
    );
    let all = [setting, putting_back, starting, running, failing];
    assert!(all.iter().zip([30, 15, 15, 60, 25]).all(|(calls, least)| *calls >= least), "{all:?}");

    // What the kernel does not take back is told, with exit code 4 and the command, and is not forgotten.
    keep();
    let knob = format!("{queue}/rq_affinity");
    let refuse = ["-P", &knob, "-e", "trace=write", "-e", "inject=write:error=EIO"];
    let (out, _) = device.traced(&refuse, &["restore"]);
    let said = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code(), Some(4), "{said}");
    assert!(said.contains(&format!("echo {} > {knob}", usual["rq_affinity"])), "{said}");
    device.restored("again");
    device.assert_usual("as ever");
}

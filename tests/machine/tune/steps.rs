//! Every single system call by which a start changes something: the program dies at it, or it fails, and every knob comes
//! back. strace plays this on the program as it is; a loop device of our own is tuned. Needs both; says so and passes without.

use std::fs;

use crate::tune::traced::{CHANGES, Struck, TracedIo};

const VOLPROOF: &str = env!("CARGO_BIN_EXE_volproof");
const KILL: &str = "signal=KILL";

/// A load that sets knobs and puts them back.
fn run(device: &TracedIo) -> Vec<&str> {
    let options = "--rw randread --iodepth 4 --runtime 1ms --tune on --json r.json";
    [VOLPROOF, "run", device.path()].into_iter().chain(options.split(' ')).collect()
}

fn keep(device: &TracedIo) {
    assert!(device.volproof(&["tune", "--keep", device.path()]).status.success());
}

#[test]
fn the_journal_is_on_disk_with_its_name_and_folder_before_a_knob_is_written() {
    let Some(device) = TracedIo::attach() else { return };
    let (path, usual) = (device.path(), &device.usual);
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
}

#[test]
fn killed_at_any_call_that_sets_or_puts_back_every_knob_comes_back() {
    let Some(device) = TracedIo::attach() else { return };
    let every = (&CHANGES[..], 1);
    let restores = |struck: &Struck| device.restored(&struck.story);
    let setting =
        device.at_each_call(KILL, every, &[VOLPROOF, "tune", "--keep", device.path()], || {}, restores);
    let kept = || keep(&device);
    let putting_back = device.at_each_call(KILL, every, &[VOLPROOF, "restore"], kept, restores);
    // Any start puts back what a dead run left: here the owner of the kept values is made one.
    let dead = || {
        keep(&device);
        for entry in fs::read_dir(device.journals()).unwrap().flatten() {
            if entry.path().extension().is_some_and(|e| e == "json") {
                let text = fs::read_to_string(entry.path()).unwrap();
                fs::write(entry.path(), text.replace("\"kept\": true", "\"kept\": false")).unwrap();
            }
        }
    };
    let starting = device.at_each_call(KILL, every, &[VOLPROOF, "presets"], dead, restores);
    println!("killed at {setting} calls that set, {putting_back} of restore, {starting} of another start");
    let all = [setting, putting_back, starting];
    assert!(all.iter().zip([30, 15, 15]).all(|(calls, least)| *calls >= least), "{all:?}");
}

#[test]
fn killed_at_any_call_of_a_run_every_knob_comes_back() {
    let Some(device) = TracedIo::attach() else { return };
    let restores = |struck: &Struck| device.restored(&struck.story);
    let calls = device.at_each_call(KILL, (&CHANGES, 3), &run(&device), || {}, restores);
    println!("killed at {calls} calls of a run, every third");
    assert!(calls >= 20, "{calls}");
}

/// A run of which a call fails puts back what it can by itself; what it cannot, it says with exit code 4.
#[test]
fn whichever_call_of_a_run_fails_its_knobs_come_back_or_it_says_so() {
    let Some(device) = TracedIo::attach() else { return };
    let queue = device.queue().display().to_string();
    let honest = |Struck { story: what, out, .. }: &Struck| {
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(!said.contains("panicked"), "{what}");
        if out.status.code() == Some(4) {
            assert!(said.contains(&format!("> {queue}/")), "the command to do it by hand: {what}");
            device.restored(what);
        }
    };
    let calls = device.at_each_call("error=EIO", (&CHANGES, 2), &run(&device), || {}, honest);
    println!("each of {calls} calls of a run failed");
    assert!(calls >= 25, "{calls}");
}

/// What the kernel does not take back is told, with exit code 4 and the command, and is not forgotten.
#[test]
fn a_value_that_the_kernel_refuses_to_take_back_is_told_and_tried_again() {
    let Some(device) = TracedIo::attach() else { return };
    keep(&device);
    let knob = device.queue().join("rq_affinity").display().to_string();
    let refuse = ["-P", &knob, "-e", "trace=write", "-e", "inject=write:error=EIO"];
    let (out, _) = device.traced(&refuse, &["restore"]);
    let said = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code(), Some(4), "{said}");
    assert!(said.contains(&format!("echo {} > {knob}", device.usual["rq_affinity"])), "{said}");
    device.restored("again");
    device.assert_usual("as ever");
}

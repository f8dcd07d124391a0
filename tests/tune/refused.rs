//! Where the system refuses: a folder of journals that is full or read-only, and a read-only /sys. On a loop device, by the program itself,
//! in a mount namespace of its own.

use std::process::{Command, Output};

use volproof::exit::Exit;

use crate::traced::TracedIo;
use crate::traced_loop::within;

/// The program, in a mount namespace that these commands have set up.
fn volproof(device: &TracedIo, setup: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = within(&format!("mkdir -p /run/volproof && {setup}"), "sh");
    let program = command.arg(env!("CARGO_BIN_EXE_volproof")).args(arguments);
    let Output { status, stdout, stderr } = program.current_dir(device.device.dir.path()).output().unwrap();
    (status.code(), String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr))
}

fn load(device: &TracedIo) -> Vec<&str> {
    let options = "--rw randread --iodepth 4 --runtime 20ms --tune on --quiet";
    ["run", device.path()].into_iter().chain(options.split(' ')).collect()
}

#[test]
fn without_a_journal_no_knob_is_touched() {
    let Some(device) = TracedIo::attach() else { return };
    let keep = ["tune", "--keep", device.path()];
    let read_only = "mount -t tmpfs -o ro,mode=755 journals /run/volproof";
    for arguments in [&keep[..], &load(&device)] {
        let (code, said) = volproof(&device, read_only, arguments);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("/run/volproof") && said.contains("Read-only file system"), "{said}");
        assert!(said.contains("without a journal no knob is set"), "{said}");
        device.assert_usual(&said);
    }
    // Full before the first journal, or at any later one: what was set by then goes back.
    let mut refused = 0;
    for kib in (4..40).step_by(4) {
        let folder = device.device.dir.path().join("full");
        std::fs::create_dir_all(&folder).unwrap();
        let full = format!(
            "mount -t tmpfs -o size={kib}k,mode=755 journals {folder} && mount --bind {folder} /run/volproof",
            folder = folder.display()
        );
        // What was kept is put back by the same namespace, which alone has the folder.
        let both = format!("{full} && {{ \"$@\"; code=$?; \"$1\" restore >&2 || code=99; exit $code; }}");
        let (code, said) = volproof(&device, &both, &keep);
        if code != Some(Exit::Done as i32) {
            refused += 1;
            assert!(
                code == Some(2) && said.contains("No space left on device"),
                "{kib} KiB: {code:?} {said}"
            );
        }
        device.assert_usual(&said);
    }
    assert!(refused > 0, "every journal had room: this shows nothing");
}

#[test]
fn a_read_only_sysfs_is_told_of_every_knob() {
    let Some(device) = TracedIo::attach() else { return };
    let journals = device.journals().display().to_string();
    let setup = format!(
        "mount --bind {journals} /run/volproof && mount --bind /sys /sys && mount -o remount,bind,ro /sys"
    );
    for arguments in [&["tune", "--keep", device.path()][..], &["tune", device.path()]] {
        let (code, said) = volproof(&device, &setup, arguments);
        assert_eq!(code, Some(Exit::Failed as i32), "{said}");
        assert!(said.ends_with("Nothing is set: the kernel refused every knob.\n"), "{said}");
        assert!(said.contains("rq_affinity: 1 -> 2, refused: Read-only file system"), "{said}");
        device.assert_usual(&said);
        let names = std::fs::read_dir(device.journals()).unwrap().map(|f| f.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["lock"], "neither a journal nor the lock of a disk stays");
    }
    let mut run = load(&device);
    run.retain(|word| *word != "--quiet");
    run.push("--details");
    let (code, said) = volproof(&device, &setup, &run);
    assert_eq!(code, Some(0), "{said}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("rq_affinity 1 -> 2, refused: Read-only file system"), "{said}");
    assert!(!said.contains("every knob was as wanted"), "{said}");
}

#[test]
fn a_run_on_a_file_records_whose_knobs_it_left_alone() {
    let Some(device) = TracedIo::attach() else { return };
    let setup = format!("mke2fs -q -F {0} && mount {0} /mnt", device.path());
    let options = "run /mnt --size 1m --rw randread --iodepth 4 --runtime 20ms --details --json r.json";
    let (code, said) = volproof(&device, &setup, &options.split(' ').collect::<Vec<_>>());
    assert_eq!(code, Some(0), "{said}");
    let text = std::fs::read_to_string(device.device.dir.path().join("r.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(record["tuning"]["untouched"], serde_json::json!([device.name()]), "{said}");
    let line = format!("tuning the knobs of {} stay as they are", device.name());
    assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains(&line), "{said}");
}

/// Settings are the host's, and a journal that goes with the container is no way back.
#[test]
fn a_container_with_journals_of_its_own_is_told_before_anything_changes() {
    let Some(device) = TracedIo::attach() else { return };
    let said = |setup: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--mount-proc", "sh", "-c"]);
        command.arg(format!("mkdir -p /run/volproof && {setup} && exec \"$@\"")).arg("sh");
        command.args([env!("CARGO_BIN_EXE_volproof"), "tune", "--dry-run", device.path()]);
        let out = command.output().unwrap();
        assert!(out.status.success(), "{out:?}");
        String::from_utf8(out.stderr).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let told = said("mount -t tmpfs own /run");
    assert!(told.contains("a container with a /run/volproof of its own"), "{told}");
    assert!(told.contains("-v /run/volproof:/run/volproof") && told.contains("--tune off"), "{told}");
    assert_eq!(said("mount --bind /run/volproof /run/volproof"), "", "somebody gave it that folder");
}

/// Where /sys is not wholly there, as in a rescue system, files that are hidden are not taken for devices that are gone.
#[test]
fn a_journal_whose_files_are_hidden_waits() {
    let Some(device) = TracedIo::attach() else { return };
    assert!(device.volproof(&["tune", "--keep", device.path()]).status.success());
    let tuned = device.knobs();
    let own = format!("mount --bind {} /run/volproof", device.journals().display());
    for hidden in ["/sys", "/sys/block", "/sys/devices"] {
        let (code, said) = volproof(&device, &format!("{own} && mount -t tmpfs none {hidden}"), &["restore"]);
        assert_eq!(code, Some(Exit::NotRestored as i32), "{hidden}: {said}");
        assert!(said.contains("it cannot be seen here"), "{hidden}: {said}");
        assert_eq!(device.knobs(), tuned);
    }
    device.restored("with all of /sys");
    device.assert_usual("with all of /sys");
}

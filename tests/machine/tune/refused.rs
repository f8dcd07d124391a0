//! Where the system refuses: a folder of journals that is full or read-only, and a read-only /sys. On a loop device, by the program itself,
//! in a mount namespace of its own.

use std::process::{Command, Output};

use volproof::exit::Exit;

use crate::tune::traced::TracedIo;
use crate::tune::traced_loop::within;

/// The program, in a mount namespace that these commands have set up.
fn volproof(device: &TracedIo, setup: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = within(&format!("mkdir -p /run/volproof && {setup}"), "sh");
    let program = command.arg(env!("CARGO_BIN_EXE_volproof")).args(arguments);
    let Output { status, stdout, stderr } = program.current_dir(device.device.dir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    // Figures of a disk without data are void, and nobody looks at them here.
    let code = status.code().map(|code| if code == 6 && said.contains("NOT VALID") { 0 } else { code });
    (code, said)
}

fn load(device: &TracedIo) -> Vec<&str> {
    let options = "--rw randread --iodepth 4 --io-size 64k --runtime 0 --tune on --quiet";
    ["run", device.path()].into_iter().chain(options.split(' ')).collect()
}

/// The journal of a run that was killed, of which only the first half is left: the run goes on, and its exit code says that not all is as it was.
#[test]
fn a_journal_that_cannot_be_read_is_told_with_the_old_values_that_it_shows() {
    let Some(device) = TracedIo::attach() else { return };
    let knob = format!("/sys/block/{}/queue/nomerges", device.path().trim_start_matches("/dev/"));
    let cut = format!("{{\"version\": 3, \"entries\": [{{\"path\": \"{knob}\", \"before\": \"1\", \"sta");
    std::fs::write(device.device.dir.path().join("cut"), cut).unwrap();
    let setup = format!(
        "mount -t tmpfs -o mode=755 journals /run/volproof && cp {} /run/volproof/run-1-1-0.json",
        device.device.dir.path().join("cut").display()
    );
    let (code, said) = volproof(&device, &setup, &load(&device));
    assert_eq!(code, Some(Exit::NotRestored as i32), "{said}");
    for told in ["cut off or damaged", &format!("echo 1 > {knob}"), "`volproof restore` says which"] {
        assert!(said.contains(told), "{told}: {said}");
    }
    device.assert_usual(&said);
}

/// What cannot be printed is told, and the exit code still says whether everything is as it was.
#[test]
fn a_full_standard_output_is_told_and_hides_no_value_that_is_not_back() {
    let Some(device) = TracedIo::attach() else { return };
    let on_full = |arguments: &[&str]| {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let out = device.command(arguments).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(said.contains("standard output: No space left"), "{arguments:?}: {said}");
        out.status.code()
    };
    for arguments in
        [&["tune", "--dry-run", device.path()][..], &["tune", "--keep", device.path()], &["restore"]]
    {
        assert_eq!(on_full(arguments), Some(Exit::RunFailed as i32), "{arguments:?}");
    }
    device.assert_usual("it was put back all the same");
    std::fs::write(device.journals().join("run-1-1-0.json"), "{").unwrap();
    assert_eq!(on_full(&["restore"]), Some(Exit::NotRestored as i32));
}

#[test]
fn without_a_journal_no_knob_is_touched() {
    let Some(device) = TracedIo::attach() else { return };
    let keep = ["tune", "--keep", device.path()];
    let no_rights =
        "setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search";
    for (setup, why) in [
        ("mount -t tmpfs own /run && touch /run/volproof", "it is no folder; remove it"),
        (
            "mount -t tmpfs -o ro,mode=755 journals /run/volproof",
            "Read-only file system (os error 30) (mount it writable)",
        ),
        ("mount -t tmpfs -o mode=777 journals /run/volproof", "writable by nobody else; remove it"),
        (
            &format!("mount -t tmpfs -o mode=000 journals /run/volproof && set -- {no_rights} \"$@\""),
            "Permission denied (os error 13) (even to root: give it the right to write there)",
        ),
    ] {
        let told = |arguments: &[&str], expected: i32, times: usize| {
            let (code, said) = volproof(&device, setup, arguments);
            assert_eq!(code, Some(expected), "{said}");
            let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(
                (words.matches(why).count(), words.matches("/run/volproof").count()),
                (times, times),
                "{said}"
            );
            device.assert_usual(&said);
        };
        told(&keep, 2, 1);
        told(&load(&device), 2, 1);
        // Who did not ask for knobs gets a run with those that are there.
        let unasked = "--rw randread --io-size 64k --runtime 0 --json /dev/null".split(' ');
        let unasked: Vec<&str> = ["run", device.path()].into_iter().chain(unasked).collect();
        told(&unasked, 0, 1);
        told(&[&unasked[..], &["--tune", "off"]].concat(), 0, 0);
        told(&["presets"], 0, 0);
    }
    // What waits there cannot be put back, and every start says so.
    let (setup, why) =
        ("mount -t tmpfs -o mode=755 journals /run/volproof", "settings of an earlier run may not be back");
    let waits = format!("{setup} && touch /run/volproof/run-1-1-0.json && mount -o remount,ro /run/volproof");
    let (code, said) = volproof(&device, &waits, &["presets"]);
    assert_eq!((code, said.matches(why).count()), (Some(0), 1), "{said}");
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
        assert_eq!(code, Some(Exit::RunFailed as i32), "{said}");
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
    let options =
        "run /mnt --size 1m --rw randread --iodepth 4 --io-size 64k --runtime 0 --details --json r.json";
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
    // Another mount has a name that is no UTF-8.
    let folder = tempfile::tempdir().unwrap();
    let odd = format!("{}/$(printf '\\377')", folder.path().display());
    let setup =
        format!("mkdir {odd} && mount -t tmpfs odd {odd} && mount --bind /run/volproof /run/volproof");
    assert_eq!(said(&setup), "", "somebody gave it that folder");
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

//! Whatever lies in the folder of journals, a start neither hangs nor believes it, and no knob is touched without a journal.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use volproof::device_tuning::{RestoreArgs, recover, restore as restore_command};
use volproof::exit::Exit;
use volproof::report::tune::waiting as waiting_text;
use volproof::tune::{Places, RoomNeeded, TuneError, Waiting, Which, restore, tune};

use crate::tune::tree::{assert_all_back, lay};

fn disks() -> Vec<String> {
    vec!["vdb".to_string()]
}

fn tree() -> (TempDir, Places) {
    let dir = TempDir::new().unwrap();
    let places = lay(dir.path());
    fs::create_dir_all(&places.journals).unwrap();
    (dir, places)
}

fn pipe(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
}

#[test]
fn what_is_no_journal_is_named_and_believed_in_nothing() {
    let (dir, places) = tree();
    let at = |name: &str| places.journals.join(name);
    pipe(&at("run-1-1-0.json"));
    fs::create_dir(at("run-1-1-1.json")).unwrap();
    let elsewhere = dir.path().join("elsewhere");
    fs::write(&elsewhere, "{}").unwrap();
    symlink(&elsewhere, at("run-1-1-2.json")).unwrap();
    fs::File::create(at("run-1-1-3.json")).unwrap().set_len(1 << 40).unwrap();
    fs::write(at("run-1-1-4.json"), [0xff, 0xfe, 0]).unwrap();
    fs::write(at("run-1-1-5.json"), "[".repeat(100_000)).unwrap();
    // Names that no journal has are nobody's business; unfinished saves are swept away, whatever they are.
    pipe(&at("other.json"));
    pipe(&at("run-1-1-6.new"));
    symlink(&elsewhere, at("run-1-1-7.new")).unwrap();
    let done = restore(&places, Which::Kept).unwrap();
    let said: Vec<String> = done
        .iter()
        .map(|d| {
            let name = d.journal.file_name().unwrap().to_str().unwrap();
            format!("{name}: {}", d.unreadable.as_ref().unwrap().split('(').next().unwrap())
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    run-1-1-0.json: it is a pipe; remove it
    run-1-1-1.json: it is a folder; remove it
    run-1-1-2.json: it is a symbolic link; remove it
    run-1-1-3.json: it has more than 16777216 bytes, which no journal has
    run-1-1-4.json: it is cut off or damaged 
    run-1-1-5.json: it is cut off or damaged 
    ");
    assert!(at("other.json").exists() && !at("run-1-1-6.new").exists() && !at("run-1-1-7.new").exists());
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "{}");
    // A run goes on all the same.
    let tuned = tune(&places, &disks(), RoomNeeded::default()).unwrap();
    assert!(!tuned.found_all_back());
    assert!(tuned.restore().complete());
    assert_all_back(&places);
}

#[test]
fn a_lock_that_is_no_file_stops_nobody_for_long_and_lets_nothing_be_touched() {
    for name in ["lock", "disk-vdb.lock"] {
        let (_dir, places) = tree();
        pipe(&places.journals.join(name));
        let e = tune(&places, &disks(), RoomNeeded::default()).unwrap_err();
        assert!(matches!(e, TuneError::NoJournal { .. }), "{e}");
        assert!(e.to_string().contains(&format!("{name}: it is a pipe; remove it")), "{e}");
        assert_all_back(&places);
    }
}

#[test]
fn a_folder_that_is_none_is_said() {
    for make in
        [pipe as fn(&Path), |path| symlink("/tmp", path).unwrap(), |path| fs::write(path, "").unwrap()]
    {
        let (_dir, places) = tree();
        fs::remove_dir(&places.journals).unwrap();
        make(&places.journals);
        assert_eq!(recover(&places), "", "nothing waits there to be put back");
        let e = tune(&places, &disks(), RoomNeeded::default()).unwrap_err();
        assert!(e.to_string().contains("it is no folder; remove it"), "{e}");
        assert_all_back(&places);
    }
}

/// Root's journals are seen by everybody and put back by root.
#[test]
fn another_users_journals_are_named_and_left_alone() {
    let text = waiting_text(&Waiting {
        folder: "/run/volproof".into(),
        user: 0,
        journals: Some(vec!["/run/volproof/run-7-1-0.json".into()]),
    });
    insta::assert_snapshot!(text, @r"
    Settings of root wait to be put back; run `volproof restore` as root:
      /run/volproof/run-7-1-0.json
    ");
    let text = waiting_text(&Waiting { folder: "/run/volproof".into(), user: 1000, journals: None });
    insta::assert_snapshot!(text, @r"
    /run/volproof belongs to user 1000 and cannot be looked into: whether settings
    wait there to be put back is unknown. Run `volproof restore` as user 1000.
    ");
    if !rustix::process::geteuid().is_root() {
        println!("skipped: root is needed to play two users");
        return;
    }
    let (dir, places) = tree();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let tuned = tune(&places, &disks(), RoomNeeded::default()).unwrap();
    let text = fs::read_to_string(tuned.journal()).unwrap();
    drop(tuned);
    let start = text.split("\"start\": ").nth(1).unwrap().split(',').next().unwrap();
    let dead = text.replacen(&format!("\"start\": {start}"), "\"start\": 1", 1);
    let left = places.journals.join("run-7-1-0.json");
    fs::write(&left, dead).unwrap();
    fs::set_permissions(&left, fs::Permissions::from_mode(0o644)).unwrap();
    // The same program as nobody, with the folder in the place of /run/volproof.
    let program = dir.path().join("volproof");
    crate::copy_program(&program);
    let run = |command: &str| {
        let script = "mkdir -p /run/volproof && mount --bind \"$0\" /run/volproof && \
                      exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$1\" \"$2\"";
        let unshared = ["--mount", "--propagation", "slave", "sh", "-c", script];
        let mut run = Command::new("unshare");
        run.args(unshared).arg(&places.journals).arg(&program).arg(command);
        run.output().unwrap()
    };
    let out = run("restore");
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(out.status.code(), Some(Exit::NotRestored as i32), "{out:?}");
    assert!(said.contains("Settings of root wait") && said.contains("run-7-1-0.json"), "{said}");
    let out = run("presets");
    assert!(out.status.success());
    assert!(String::from_utf8_lossy(&out.stderr).contains("Settings of root wait"), "{out:?}");
    fs::set_permissions(&places.journals, fs::Permissions::from_mode(0o700)).unwrap();
    let said = String::from_utf8_lossy(&run("restore").stdout).into_owned();
    assert!(said.contains("cannot be looked into"), "{said}");
    let (text, _) = restore_command(&RestoreArgs::default(), &places).unwrap();
    assert!(text.contains("has its old value"), "{text}");
}

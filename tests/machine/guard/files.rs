//! The guard on files and folders: new files, existing ones, links, and the kinds of access that do not fit.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use volproof::device::{Facts, Root};
use volproof::guard::{Access, Clearance, Code, GuardError, GuardSeverity, check, clear};
use volproof::unit::Bytes;

use crate::guard::rig::Rig;

fn create(folder: &Path, name: &str) -> Result<Clearance, GuardError> {
    clear(&Root::system(), folder, Access::Create { name, size: Bytes::mib(1), mode: 0o600 }, false)
}

fn codes(e: GuardError) -> Vec<Code> {
    match e {
        GuardError::Refused(check) => check.findings.iter().map(|f| f.code).collect(),
        other => panic!("{other}"),
    }
}

#[test]
fn a_new_file_is_made_and_taken_away_again() {
    let dir = tempfile::tempdir().unwrap();
    let clearance = create(dir.path(), "volproof.data").unwrap();
    assert!(clearance.may_write());
    rustix::io::pwrite(clearance.as_fd(), b"x", 0).unwrap();
    let again = create(dir.path(), "volproof.data").unwrap_err().to_string();
    assert!(again.contains("volproof.data") && again.contains("choose another name"), "{again}");
    clearance.remove_created().unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_file_put_in_its_place_is_not_taken_away() {
    let dir = tempfile::tempdir().unwrap();
    let clearance = create(dir.path(), "f").unwrap();
    std::fs::remove_file(dir.path().join("f")).unwrap();
    std::fs::write(dir.path().join("f"), "somebody else's").unwrap();
    clearance.remove_created().unwrap();
    assert!(dir.path().join("f").exists());
}

#[test]
fn a_link_in_place_of_the_new_file_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    symlink("/dev/null", dir.path().join("surprise")).unwrap();
    symlink(dir.path().join("nowhere"), dir.path().join("dangling")).unwrap();
    for name in ["surprise", "dangling"] {
        assert!(create(dir.path(), name).is_err(), "{name}");
    }
    assert!(!dir.path().join("nowhere").exists());
    for name in ["", "..", "a/b", "/etc/volproof"] {
        let e = create(dir.path(), name).unwrap_err().to_string();
        assert!(e.contains("without folders"), "{name}: {e}");
    }
}

#[test]
fn room_is_asked_for_before_the_file_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let access = Access::Create { name: "f", size: Bytes(1 << 60), mode: 0o600 };
    let e = clear(&Root::system(), dir.path(), access, false).unwrap_err();
    // Beside it there may be notes on the disk.
    assert_eq!(codes(e).first(), Some(&Code::NoSpace));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn an_existing_file_is_written_over_only_with_its_owners_word() {
    // A process that another test begins has each descriptor of this one for a moment.
    let _turn = crate::guard::rig::turn(true);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    std::fs::write(&path, [7; 8192]).unwrap();

    let looked = check(&Root::system(), &path, None, None).unwrap();
    assert!(!looked.ready);
    assert_eq!(
        (looked.findings[0].code, looked.findings[0].severity),
        (Code::Exists, GuardSeverity::NeedsConsent)
    );
    assert_eq!(looked.overwrites.unwrap().to_bytes, Bytes(8192));

    let read = clear(&Root::system(), &path, Access::Read, false).unwrap();
    assert!(!read.may_write());
    assert!(rustix::io::pwrite(read.as_fd(), b"x", 0).is_err(), "the descriptor itself refuses");
    drop(read);

    let mut write = clear(&Root::system(), &path, Access::Overwrite { shared: false }, false).unwrap();
    assert!(!write.may_write(), "not before it was looked at again");
    write.confirm().unwrap();
    assert!(write.may_write());
    write.remove_created().unwrap();
    assert!(path.exists(), "it was not made by the guard");
}

#[test]
fn a_link_to_a_file_is_the_file() {
    // A process that another test begins has each descriptor of this one for a moment.
    let _turn = crate::guard::rig::turn(true);
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("data"), "x").unwrap();
    symlink("data", dir.path().join("link")).unwrap();
    let clearance =
        clear(&Root::system(), &dir.path().join("link"), Access::Overwrite { shared: false }, false).unwrap();
    assert_eq!(clearance.path(), dir.path().canonicalize().unwrap().join("data"));
}

#[test]
fn a_file_swapped_after_the_clearance_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    std::fs::write(&path, "x").unwrap();
    let mut clearance = clear(&Root::system(), &path, Access::Overwrite { shared: false }, false).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_eq!(codes(clearance.confirm().unwrap_err()), [Code::Changed]);
    assert!(!clearance.may_write());
}

#[test]
fn each_access_fits_one_kind_of_target() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    std::fs::write(&file, "x").unwrap();
    let root = Root::system();
    for (target, access) in [
        (dir.path(), Access::Read),
        (dir.path(), Access::Overwrite { shared: false }),
        (dir.path(), Access::Destroy(Some("x"))),
        (&file, Access::Destroy(Some("x"))),
        (&file, Access::Create { name: "g", size: Bytes(1), mode: 0o600 }),
    ] {
        assert_eq!(
            codes(clear(&root, target, access, false).unwrap_err()),
            [Code::NotThatKind],
            "{access:?}"
        );
    }
}

/// The codes that stand in the way of writing over a file, without and with `--overwrite=shared`.
fn in_the_way(path: &Path) -> [Vec<Code>; 2] {
    let _turn = crate::guard::rig::turn(false);
    [false, true].map(|shared| {
        let found = match clear(&Root::system(), path, Access::Overwrite { shared }, false) {
            Ok(mut clearance) => return clearance.confirm().err().map(codes).unwrap_or_default(),
            Err(GuardError::Refused(check)) => check.findings,
            Err(other) => panic!("{other}"),
        };
        let refusing = found.into_iter().filter(|f| f.severity > GuardSeverity::Note);
        refusing
            .map(|f| {
                let way_out = ["--overwrite=shared", "chattr"].iter().any(|w| f.advice.contains(w));
                assert!(way_out, "{f:?}");
                f.code
            })
            .collect()
    })
}

#[test]
fn a_file_that_others_use_asks_for_a_second_word() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    std::fs::write(&path, [7; 8192]).unwrap();
    assert_eq!(in_the_way(&path), [vec![], vec![]]);

    // Open for reading is open.
    let file = std::fs::File::open(&path).unwrap();
    let mut reader = Command::new("sleep").arg("600").stdin(file).spawn().unwrap();
    let open = in_the_way(&path);
    reader.kill().unwrap();
    reader.wait().unwrap();
    assert_eq!(open, [vec![Code::OpenElsewhere], vec![]]);

    let script = "exec flock \"$0\" sh -c 'echo locked; exec sleep 600 >/dev/null'";
    let mut locker =
        Command::new("sh").args(["-c", script]).arg(&path).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(locker.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let mut locked = in_the_way(&path);
    // flock keeps the file open itself, and so does the command that it runs.
    locked[0].dedup();
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", locker.id())).unwrap();
    for pid in children.split_whitespace() {
        let _ = Command::new("kill").arg(pid).status();
    }
    let _ = locker.kill();
    locker.wait().unwrap();
    assert_eq!(locked, [vec![Code::OpenElsewhere, Code::Locked], vec![]]);

    std::fs::hard_link(&path, dir.path().join("other")).unwrap();
    assert_eq!(in_the_way(&path), [vec![Code::OtherNames], vec![]]);
    std::fs::remove_file(dir.path().join("other")).unwrap();

    // A program that runs is mapped, and its file closed.
    let program = dir.path().join("program");
    std::fs::copy("/bin/sleep", &program).unwrap();
    let mut running = Command::new(&program).arg("600").spawn().unwrap();
    let mapped = check(&Root::system(), &program, None, None).unwrap();
    running.kill().unwrap();
    running.wait().unwrap();
    let finding = mapped.findings.iter().find(|f| f.code == Code::OpenElsewhere).unwrap();
    assert!(finding.what.contains(&format!("process {}", running.id())), "{finding:?}");
}

#[test]
fn an_immutable_file_is_told_how_to_change_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    std::fs::write(&path, [7; 8192]).unwrap();
    for flag in ["i", "a"] {
        let set = Command::new("chattr").arg(format!("+{flag}")).arg(&path).stderr(Stdio::null()).status();
        if !set.is_ok_and(|s| s.success()) {
            return eprintln!("skipped: this filesystem or user sets no attributes");
        }
        let found = in_the_way(&path);
        assert!(Command::new("chattr").arg(format!("-{flag}")).arg(&path).status().unwrap().success());
        assert_eq!(found, [vec![Code::Immutable], vec![Code::Immutable]], "{flag}");
    }
}

#[test]
fn a_folder_is_ready_and_nothing_in_it_is_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let looked = check(&Root::system(), dir.path(), None, None).unwrap();
    assert!(looked.ready && looked.overwrites.is_none() && looked.consent.is_none());
    assert!(matches!(looked.facts, Facts::Folder(_)));
}

#[test]
fn a_folder_that_takes_no_file_is_refused_and_memory_is_noted() {
    let look = |path: &str| check(&Root::system(), Path::new(path), None, None).unwrap();
    let codes = |path: &str| look(path).findings.iter().map(|f| f.code).collect::<Vec<_>>();
    for path in ["/proc", "/sys"] {
        assert!(!look(path).ready && codes(path).contains(&Code::NotThatKind), "{path}: {:?}", codes(path));
    }
    assert_eq!(codes("/dev/shm"), [Code::InMemory]);
    assert!(look("/dev/shm").ready);
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("image", 16);
    let device = rig.loop_over(&image, &[]);
    rig.filesystem(&device);
    let mount = rig.mount(&device);
    let remount = ["mount", "-o", "remount,ro"].map(OsStr::new);
    rig.make(&[&remount[..], &[mount.as_os_str()]].concat(), None);
    let found = look(mount.to_str().unwrap());
    assert!(!found.ready && found.findings[0].code == Code::NoPermission, "{:?}", found.findings);
    assert!(found.findings[0].evidence.contains("Read-only file system"), "{:?}", found.findings);
}

#[test]
fn a_file_that_comes_into_use_after_the_first_write_is_written_no_more() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("later.img", 1);
    let clearance = |shared| {
        let mut cleared = clear(&Root::system(), &image, Access::Overwrite { shared }, false).unwrap();
        cleared.confirm().unwrap();
        cleared
    };
    let alone = std::sync::Arc::new(clearance(false));
    // Our own second descriptor is nobody else's, and what the run has made of the file is its own.
    let again = alone.again(true).unwrap();
    rustix::io::pwrite(again.as_fd(), &[7; 512], 0).unwrap_or_default();
    alone.still_free(false).unwrap();
    again.still_free(false).unwrap();
    rig.open(&image);
    assert_eq!(codes(alone.still_free(false).unwrap_err()).first(), Some(&Code::OpenElsewhere));
    alone.still_free(true).unwrap();
    let shared = clearance(true);
    shared.still_free(false).unwrap();
    rig.loop_over(&image, &[]);
    for clearance in [&*alone, &again, &shared] {
        assert!(codes(clearance.still_free(true).unwrap_err()).contains(&Code::LoopFile));
    }
}

/// A job that is delayed writes to no file that was attached as a disk meanwhile.
#[test]
fn a_file_attached_during_the_run_is_not_written_by_a_later_step() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("later.img", 4);
    let empty = std::fs::read(&image).unwrap();
    for _ in 0..20 {
        let mut run = Command::new(env!("CARGO_BIN_EXE_volproof"))
            .args(["fio", "--name=w", "--startdelay=500ms", "--rw=write", "--filename=later.img"])
            .current_dir(rig.dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let files = format!("/proc/{}/fd", run.id());
        let opened = || {
            let files = std::fs::read_dir(&files).into_iter().flatten().flatten();
            files.filter_map(|fd| std::fs::read_link(fd.path()).ok()).any(|to| to == image)
        };
        while !opened() && run.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let pid = rustix::process::Pid::from_child(&run);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::STOP);
        let began = std::fs::read(&image).unwrap() != empty;
        if !began {
            rig.loop_over(&image, &[]);
        }
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::CONT);
        let out = run.wait_with_output().unwrap();
        if !began {
            let said = String::from_utf8_lossy(&out.stderr);
            // The loop, or that somebody has the file open, whichever is seen first.
            let refused = said.contains("loop-file") || said.contains("open-elsewhere");
            assert!(refused && !out.status.success(), "{said}");
            assert!(std::fs::read(&image).unwrap() == empty, "it was written to");
            return;
        }
        std::fs::write(&image, &empty).unwrap();
    }
    panic!("every run began before it could be stopped");
}

/// What the guard looks at before the first write is the file that it holds open, and not what has its name by then.
#[test]
fn a_file_that_was_replaced_before_the_first_write_is_not_written() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = |name| folder.path().join(name);
    for name in ["f", "other"] {
        std::fs::write(path(name), "data").unwrap();
    }
    let access = Access::Overwrite { shared: false };
    let mut cleared = clear(&Root::system(), &path("f"), access, false).unwrap();
    std::fs::rename(path("other"), path("f")).unwrap();
    assert_eq!(codes(cleared.confirm().unwrap_err()), [Code::Changed]);
    assert!(!cleared.may_write());
    std::fs::remove_file(path("f")).unwrap();
    std::fs::create_dir(path("f")).unwrap();
    assert_eq!(codes(cleared.confirm().unwrap_err()), [Code::Changed]);
}

/// A file with several names is somewhere, also where the one that was given is gone.
#[test]
fn a_name_that_is_gone_says_where_the_file_is() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = |name| folder.path().join(name);
    std::fs::write(path("f"), "data").unwrap();
    std::fs::hard_link(path("f"), path("second")).unwrap();
    let cleared = clear(&Root::system(), &path("f"), Access::Read, false).unwrap();
    assert_eq!(cleared.displaced(), None);
    let told = || cleared.displaced().expect("its name leads elsewhere").to_string();
    let was = path("f").display().to_string();
    std::fs::remove_file(path("f")).unwrap();
    assert_eq!(told(), format!("{was} does not lead any more to the file that the run has open"));
    std::fs::write(path("f"), "another").unwrap();
    assert!(told().ends_with(" (another file has its name)"));
    std::fs::remove_file(path("second")).unwrap();
    assert_eq!(told(), format!("{was} was removed during the run (another file has its name)"));
    std::fs::rename(path("f"), path("away")).unwrap();
    assert_eq!(told(), format!("{was} was removed during the run"));
}

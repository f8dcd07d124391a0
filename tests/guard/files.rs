//! The guard on files and folders: new files, existing ones, links, and the kinds of access that do not fit.

use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::path::Path;

use volproof::device::{Facts, Root};
use volproof::guard::{Access, Clearance, Code, GuardError, Severity, check, clear};
use volproof::unit::Bytes;

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
    assert_eq!(codes(e), [Code::NoSpace]);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn an_existing_file_is_written_over_only_with_its_owners_word() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    std::fs::write(&path, [7; 8192]).unwrap();

    let looked = check(&Root::system(), &path, None, None).unwrap();
    assert!(!looked.ready);
    assert_eq!(
        (looked.findings[0].code, looked.findings[0].severity),
        (Code::Exists, Severity::NeedsConsent)
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

#[test]
fn a_folder_is_ready_and_nothing_in_it_is_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let looked = check(&Root::system(), dir.path(), None, None).unwrap();
    assert!(looked.ready && looked.overwrites.is_none() && looked.consent.is_none());
    assert!(matches!(looked.facts, Facts::Folder(_)));
}

//! Notes on the layers beneath a target, for reads, files and folders too: misaligned partitions, every member of a btrfs, holes in the
//! file behind a loop device. And consent, which two targets share only if they share all bytes.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use volproof::device::{Facts, Root, facts};
use volproof::guard::{Access, Code, check, clear};
use volproof::unit::Bytes;

use crate::guard::rig::{Rig, consent, done, volproof, words};

const READ: &str =
    "run TARGET --size 1m --rw randread --bs 4k --runtime 20ms --tune off --json r.json --quiet";

/// Runs a load, and returns its Record.
fn record(rig: &Rig, line: &str, target: &Path) -> serde_json::Value {
    let ended = volproof(rig, &[], &words(line, target.as_os_str()));
    assert!(done(&ended), "{ended:?}");
    serde_json::from_slice(&fs::read(rig.path("r.json")).unwrap()).unwrap()
}

/// The codes of what a run doubts.
fn doubts(record: &serde_json::Value) -> Vec<&str> {
    record["warnings"].as_array().unwrap().iter().map(|w| w["code"].as_str().unwrap()).collect()
}

#[test]
fn a_misaligned_partition_is_told_of_reads_files_and_folders() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("a.img", 64);
    let disk = rig.loop_over(&image, &[]);
    let add = ["1", "2049", "65536"].map(OsStr::new);
    rig.make(
        &[&[OsStr::new("addpart"), disk.as_os_str()][..], &add].concat(),
        Some(("delpart", &[disk.as_os_str(), OsStr::new("1")])),
    );
    let part = PathBuf::from(format!("{}p1", disk.display()));
    rig.filesystem(&part);
    assert!(doubts(&record(&rig, READ, &part)).contains(&"misaligned"));
    let place = rig.mount(&part);
    assert!(doubts(&record(&rig, READ, &place)).contains(&"misaligned"));
    let file = place.join("file");
    fs::write(&file, vec![1; 1 << 20]).unwrap();
    assert!(doubts(&record(&rig, READ, &file)).contains(&"misaligned"));
    for target in [&place, &file] {
        let looked = check(&Root::system(), target, None, None).unwrap();
        assert!(looked.findings.iter().any(|f| f.code == Code::Misaligned), "{:?}", looked.findings);
    }
}

#[test]
fn the_system_disk_is_told_of_reads_files_and_folders() {
    let root = Root::system();
    let place = facts(&root, Path::new("/")).unwrap();
    let Some(disk) = place.disk() else { return eprintln!("skipped: / lies on no block device here") };
    let told = |notes: &[volproof::guard::GuardFinding]| notes.iter().any(|n| n.code == Code::SystemDisk);
    let looked = check(&root, Path::new("/"), None, None).unwrap();
    assert!(looked.ready && told(&looked.findings), "{:?}", looked.findings);
    let node = PathBuf::from(format!("/dev/{}", disk.name));
    match clear(&root, &node, Access::Read, false) {
        Ok(clearance) => assert!(told(clearance.notes()), "{:?}", clearance.notes()),
        Err(e) => eprintln!("skipped: {e}"),
    }
}

#[test]
fn every_member_of_a_btrfs_is_seen_tuned_and_watched() {
    let Some(mut rig) = Rig::new() else { return };
    let images = [rig.image("a.img", 256), rig.image("b.img", 256)];
    let members = images.map(|image| rig.loop_over(&image, &[]));
    let made = Command::new("mkfs.btrfs").args(["-q", "-f"]).args(&members).status();
    if !made.is_ok_and(|s| s.success()) {
        return eprintln!("skipped: mkfs.btrfs is not here");
    }
    let scanned = Command::new("btrfs").args(["device", "scan"]).args(&members).output();
    if !scanned.is_ok_and(|o| o.status.success())
        || !fs::read_to_string("/proc/filesystems").unwrap().contains("btrfs")
    {
        return eprintln!("skipped: this kernel has no btrfs");
    }
    for member in &members {
        rig.undo(
            "btrfs",
            &[OsStr::new("device"), OsStr::new("scan"), OsStr::new("--forget"), member.as_os_str()],
        );
    }
    let place = rig.mount(&members[0]);
    let names = members.clone().map(|m| m.file_name().unwrap().to_str().unwrap().to_string());
    let known = facts(&Root::system(), &place).unwrap();
    let mut disks: Vec<&str> = known.disks().iter().map(|d| d.name.as_str()).collect();
    disks.sort();
    let mut expected: Vec<&str> = names.iter().map(String::as_str).collect();
    expected.sort();
    assert_eq!(disks, expected);
    for member in &members {
        let looked = check(&Root::system(), member, None, None).unwrap();
        assert!(looked.findings.iter().any(|f| f.code == Code::PoolMember), "{:?}", looked.findings);
    }
    // A loop device keeps the settings of whoever had its number before.
    for name in &names {
        fs::write(format!("/sys/block/{name}/queue/rq_affinity"), "1").unwrap();
    }
    let journals = rig.path("journals");
    fs::create_dir(&journals).unwrap();
    let setup =
        format!("mkdir -p /run/volproof && mount --bind {} /run/volproof && exec \"$@\"", journals.display());
    let within = ["unshare", "--mount", "--propagation", "slave", "sh", "-c", &setup, "sh"];
    let line = READ.replace("--tune off", "--tune on");
    let ended = volproof(&rig, &within, &words(&line, place.as_os_str()));
    assert!(done(&ended), "{ended:?}");
    let text = fs::read_to_string(rig.path("r.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    for name in &names {
        let knob = format!("/sys/block/{name}/queue/rq_affinity");
        let applied = record["tuning"]["applied"].as_array().unwrap();
        assert!(applied.iter().any(|a| a["path"] == knob.as_str()), "{name} is not tuned: {applied:?}");
        let watched = record["steps"][0]["evidence"].to_string();
        assert!(watched.contains(&format!("\"{name}\"")), "{name} is not watched: {watched}");
    }
}

#[test]
fn holes_behind_a_loop_device_are_doubted() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("a.img", 16);
    let whole = rig.loop_over(&image, &[]);
    let Facts::Block(known) = facts(&Root::system(), &whole).unwrap() else { panic!("no device") };
    if known.extents.is_none() {
        return eprintln!("skipped: this filesystem does not say where holes are");
    }
    assert_eq!(known.extents.unwrap().hole_bytes, Bytes::mib(16));
    assert!(doubts(&record(&rig, READ, &whole)).contains(&"unwritten-blocks"));
    // Written and not yet synced: no hole.
    File::options().write(true).open(&image).unwrap().write_all_at(&vec![7; 8 << 20], 0).unwrap();
    let half = rig.loop_over(&image, &["--sizelimit", "8M"]);
    assert!(!doubts(&record(&rig, READ, &half)).contains(&"unwritten-blocks"));
    let rest = rig.loop_over(&image, &["--offset", "4M"]);
    let Facts::Block(known) = facts(&Root::system(), &rest).unwrap() else { panic!("no device") };
    let extents = known.extents.unwrap();
    assert_eq!((extents.written_bytes, extents.hole_bytes), (Bytes::mib(4), Bytes::mib(8)));
    // A new file under the old name says nothing of the device.
    fs::remove_file(&image).unwrap();
    fs::write(&image, vec![7; 16 << 20]).unwrap();
    let Facts::Block(known) = facts(&Root::system(), &whole).unwrap() else { panic!("no device") };
    assert_eq!(known.extents, None);
}

#[test]
fn a_file_just_written_has_no_holes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, vec![7; 4 << 20]).unwrap();
    let Facts::File(known) = facts(&Root::system(), &path).unwrap() else { panic!("no file") };
    let Some(extents) = known.extents else {
        return eprintln!("skipped: this filesystem does not say where holes are");
    };
    assert_eq!((extents.written_bytes, extents.hole_bytes), (Bytes::mib(4), Bytes(0)));
}

#[test]
fn consent_ends_when_the_device_shows_other_bytes() {
    let Some(mut rig) = Rig::new() else { return };
    let image = rig.image("a.img", 64);
    let device = rig.loop_over(&image, &["--sizelimit", "32M"]);
    let before = consent(&rig, &device);
    let path = device.to_str().unwrap();
    let detach = || assert!(Command::new("losetup").args(["--detach", path]).status().unwrap().success());
    // Another test may have taken the device for a moment.
    let attach = |option: [&str; 2]| {
        let attached = (0..100).any(|_| {
            let done = Command::new("losetup").args(option).arg(path).arg(&image).output().unwrap();
            std::thread::sleep(Duration::from_millis(if done.status.success() { 0 } else { 100 }));
            done.status.success()
        });
        assert!(attached, "{path} stays taken");
    };
    let run = "run TARGET --rw randwrite --bs 4k --runtime 20ms --tune off --json r.json --quiet";
    let refused = |why: &str| {
        let mut door = words(run, device.as_os_str());
        door.extend([OsStr::new("--destroy"), OsStr::new(&before)]);
        let (code, said) = volproof(&rig, &[], &door);
        assert_eq!(code, Some(3), "{why}: {said}");
        assert!(said.contains("wrong-consent"), "{why}: {said}");
    };
    detach();
    attach(["--offset", "32M"]);
    refused("the other half of the same length");
    detach();
    fs::remove_file(&image).unwrap();
    File::create(&image).unwrap().set_len(64 << 20).unwrap();
    attach(["--sizelimit", "32M"]);
    refused("another file of the same name");
    let partition = |start: &str| {
        let add = Command::new("addpart").args([path, "1", start, "8192"]).status().unwrap();
        assert!(add.success());
        let string = consent(&rig, Path::new(&format!("{path}p1")));
        assert!(Command::new("delpart").args([path, "1"]).status().unwrap().success());
        string
    };
    assert_ne!(partition("2048"), partition("16384"), "a partition that was made anew elsewhere");
}

//! Devices and files that a ring of io_uring has open: it shows their paths alone, which may lead elsewhere by now, and it may be in no table of
//! descriptors. What cannot be seen of a ring speaks against everything that may be in use, so that each of these tests runs alone.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use io_uring::IoUring;

use crate::guard::rig::{Rig, device_refused, written};

/// A ring with this file.
fn ring_with(path: &Path) -> Option<IoUring> {
    let Ok(ring) = IoUring::new(2) else {
        eprintln!("skipped: io_uring cannot be used here");
        return None;
    };
    let file = File::options().read(true).write(true).open(path).unwrap();
    ring.submitter().register_files(&[file.as_raw_fd()]).unwrap();
    Some(ring)
}

fn node_of(device: &Path, node: &Path) {
    let number = fs::metadata(device).unwrap().rdev();
    let kind = rustix::fs::FileType::BlockDevice;
    rustix::fs::mknodat(rustix::fs::CWD, node, kind, 0o600.into(), number).unwrap();
}

/// A ring shows the paths of its files, and this one leads nowhere.
#[test]
fn a_device_that_a_ring_has_open_by_a_node_of_a_detached_filesystem_is_refused() {
    let Some(mut rig) = Rig::alone() else { return };
    let image = rig.image("a.img", 1);
    let (device, memory) = (rig.loop_over(&image, &[]), rig.path("memory"));
    fs::create_dir(&memory).unwrap();
    let mount = ["mount", "-t", "tmpfs", "none"].map(OsStr::new);
    rig.make(&[&mount[..], &[memory.as_os_str()]].concat(), None);
    let node = memory.join("node");
    rig.make(&[OsStr::new("cp"), OsStr::new("-a"), device.as_os_str(), node.as_os_str()], None);
    let ring = ring_with(&node);
    rig.make(
        &["umount", "--lazy"].map(OsStr::new).into_iter().chain([memory.as_os_str()]).collect::<Vec<_>>(),
        None,
    );
    let Some(ring) = ring else { return };
    device_refused(&rig, &device, &image, "leads to no file");
    drop(ring);
}

#[test]
fn a_device_that_a_ring_has_open_by_a_node_that_another_file_covers_is_refused() {
    let Some(mut rig) = Rig::alone() else { return };
    let image = rig.image("a.img", 1);
    let device = rig.loop_over(&image, &[]);
    let [folder, over] = ["folder", "over"].map(|name| rig.path(name));
    [&folder, &over].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
    let node = folder.join("node");
    node_of(&device, &node);
    fs::write(over.join("node"), "another file").unwrap();
    let Some(ring) = ring_with(&node) else { return };
    let bind = |what: &Path, place: &Path| {
        let words = [OsStr::new("mount"), OsStr::new("--bind"), what.as_os_str(), place.as_os_str()];
        let made = Command::new(words[0]).args(&words[1..]).status().unwrap();
        assert!(made.success());
    };
    let unmount = |place: &Path| assert!(Command::new("umount").arg(place).status().unwrap().success());
    bind(&over.join("node"), &node);
    device_refused(&rig, &device, &image, "open-for-writing");
    unmount(&node);
    bind(&over, &folder);
    device_refused(&rig, &device, &image, "open-for-writing");
    // A second one at the same place hides the first.
    bind(&over, &folder);
    device_refused(&rig, &device, &image, "another mount covers it");
    unmount(&folder);
    unmount(&folder);
    drop(ring);
    written(&rig, &device, true);
}

/// Tells a started copy of the test below of a device.
const HELD: &str = "VOLPROOF_TEST_HELD_BY_RING";

#[test]
fn a_ring_whose_descriptor_was_closed_is_a_part_that_cannot_be_seen() {
    if let Some(device) = std::env::var_os(HELD) {
        let ring = ring_with(Path::new(&device));
        if let Some(ring) = ring {
            // SAFETY: the ring is forgotten, so that nobody closes the number again.
            drop(unsafe { OwnedFd::from_raw_fd(ring.as_raw_fd()) });
            std::mem::forget(ring);
            println!("\nclosed");
        } else {
            println!("\nskipped");
        }
        std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
        return;
    }
    let Some(mut rig) = Rig::alone() else { return };
    let image = rig.image("a.img", 1);
    let device = rig.loop_over(&image, &[]);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "--nocapture",
            "guard::alone::rings::a_ring_whose_descriptor_was_closed_is_a_part_that_cannot_be_seen",
        ])
        .env(HELD, &device)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let said = lines.by_ref().find(|line| ["closed", "skipped"].contains(&line.as_str())).unwrap();
    if said == "closed" {
        device_refused(&rig, &device, &image, "keeps a ring of io_uring in its memory");
    }
    drop(child.stdin.take());
    lines.for_each(drop);
    child.wait().unwrap();
    written(&rig, &device, true);
}

//! Uses of a device that no consent overrules: mounts, swap, pools, loop devices, claims, open files, and the system itself.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use volproof::device::Root;
use volproof::guard::{Access, Code, check, clear};

use crate::guard::loop_device::{Loop, Undo, codes, run};
use crate::guard::rig::{Rig, started};

#[test]
fn a_mounted_disk_is_refused_with_consent() {
    let Some(disk) = Loop::attach() else { return };
    let (device, mount) = (disk.device.to_str().unwrap(), disk.dir.path().join("mnt"));
    std::fs::create_dir(&mount).unwrap();
    assert!(run("mkfs.ext4", &["-q", device]));
    assert!(run("mount", &[device, mount.to_str().unwrap()]));
    let undo = Undo("umount", vec![mount.to_str().unwrap().into()]);
    assert_eq!(disk.refusals(), [Code::Mounted]);
    let finding = disk.check(None).findings.into_iter().find(|f| f.code == Code::Mounted).unwrap();
    assert!(finding.evidence.contains(mount.to_str().unwrap()) && finding.advice.contains("umount"));

    // A file on it may be written, and knows the disk beneath.
    let access = Access::Create { name: "new", size: volproof::unit::Bytes::mib(1), mode: 0o600 };
    let file = clear(&Root::system(), &mount, access, true).unwrap();
    assert_eq!(file.facts().disk().unwrap().name, disk.name());
    drop(file);
    drop(undo);
    disk.comes_free();
}

#[test]
fn a_mount_in_another_namespace_is_seen() {
    let Some(disk) = Loop::attach() else { return };
    let (device, mount) = (disk.device.to_str().unwrap(), disk.dir.path().join("mnt"));
    std::fs::create_dir(&mount).unwrap();
    assert!(run("mkfs.ext4", &["-q", device]));
    let script = format!("mount {device} {} && echo mounted && exec cat", mount.display());
    let mut command = Command::new("unshare");
    let mut child =
        started(command.args(["--mount", "--propagation", "slave", "sh", "-c", &script]), "mounted");
    // Mount points are bytes: another test may have mounted one whose name is not UTF-8.
    let here = std::fs::read("/proc/self/mountinfo").unwrap();
    assert!(!String::from_utf8_lossy(&here).contains(mount.to_str().unwrap()));
    let refused = disk.refusals();
    let finding = disk.check(None).findings.into_iter().find(|f| f.code == Code::Mounted);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(refused, [Code::Mounted]);
    let finding = finding.unwrap();
    assert!(finding.evidence.contains(&format!("process {} ", child.id())), "{}", finding.evidence);
}

#[test]
fn a_mounted_btrfs_is_found_by_each_of_its_members() {
    let (Some(a), Some(b)) = (Loop::attach(), Loop::attach()) else { return };
    let mount = a.dir.path().join("mnt");
    std::fs::create_dir(&mount).unwrap();
    let devices = [a.device.to_str().unwrap(), b.device.to_str().unwrap()];
    if !run("mkfs.btrfs", &["-q", "-f", devices[0], devices[1]]) {
        return eprintln!("skipped: mkfs.btrfs is not here");
    }
    let scanned = run("btrfs", &["device", "scan", devices[0], devices[1]]);
    if !scanned || !run("mount", &[devices[0], mount.to_str().unwrap()]) {
        return eprintln!("skipped: this kernel has no btrfs");
    }
    let undo = Undo("umount", vec![mount.to_str().unwrap().into()]);
    assert!(a.refusals().contains(&Code::PoolMember) && b.refusals().contains(&Code::PoolMember));
    drop(undo);
    run("btrfs", &["device", "scan", "--forget", devices[0]]);
    run("btrfs", &["device", "scan", "--forget", devices[1]]);
}

#[test]
fn a_mounted_partition_refuses_its_disk_and_not_its_sibling() {
    let Some(disk) = Loop::attach() else { return };
    let device = disk.device.to_str().unwrap();
    // Made by ioctl and not by a table, so that it works in kernels without partition support.
    let add = |n: &str, start: &str| run("addpart", &[device, n, start, "65536"]);
    if !add("1", "2048") || !add("2", "133121") {
        return eprintln!("skipped: this kernel has no partitions on loop devices");
    }
    let _gone = [1, 2].map(|n| Undo("delpart", vec![device.into(), n.to_string()]));
    let (part1, part2) = (format!("{device}p1"), format!("{device}p2"));
    let mount = disk.dir.path().join("mnt");
    std::fs::create_dir(&mount).unwrap();
    assert!(run("mkfs.ext4", &["-q", &part1]));
    assert!(run("mount", &[&part1, mount.to_str().unwrap()]));
    let _undo = Undo("umount", vec![mount.to_str().unwrap().into()]);

    assert_eq!(disk.refusals(), [Code::Mounted]);
    let at =
        |path: &str, destroy: Option<&str>| check(&Root::system(), Path::new(path), destroy, None).unwrap();
    assert!(at(&part1, None).findings.iter().any(|f| f.code == Code::Mounted));
    let sibling = at(&part2, None);
    assert!(sibling.ready, "{:?}", sibling.findings);
    assert_eq!(sibling.findings.iter().map(|f| f.code).collect::<Vec<_>>(), [Code::Misaligned]);
    assert_ne!(
        sibling.consent,
        disk.check(None).consent,
        "consent for a partition is not consent for the disk"
    );
}

#[test]
fn swap_is_refused_with_consent() {
    let Some(disk) = Loop::attach() else { return };
    let device = disk.device.to_str().unwrap();
    assert!(run("mkswap", &[device]));
    if !run("swapon", &[device]) {
        return eprintln!("skipped: this machine does not swap to a loop device");
    }
    let undo = Undo("swapoff", vec![device.into()]);
    assert_eq!(disk.refusals(), [Code::Swap]);
    drop(undo);
    disk.comes_free();
}

/// The advice names the file as `swapoff` takes it.
#[test]
fn a_device_over_a_swap_file_is_refused() {
    let Some(mut rig) = Rig::new() else { return };
    let file = rig.image("swapped", 8);
    std::fs::write(&file, vec![0; 8 << 20]).unwrap();
    let path = file.to_str().unwrap();
    if !(run("chmod", &["600", path]) && run("mkswap", &[path]) && run("swapon", &[path])) {
        return eprintln!("skipped: this machine does not swap to a file");
    }
    rig.undo("swapoff", &[file.as_os_str()]);
    let device = rig.loop_over(&file, &["--read-only"]);
    let looked = check(&Root::system(), &device, None, None).unwrap();
    let swap = looked.findings.iter().find(|f| f.code == Code::Swap).unwrap();
    assert_eq!(swap.advice, format!("Stop it first: swapoff {path}"));
}

#[test]
fn a_loop_device_over_the_disk_holds_it() {
    let Some(disk) = Loop::attach() else { return };
    let Some(above) = Loop::over(&disk.device, tempfile::tempdir().unwrap()) else { return };
    assert!(disk.refusals().contains(&Code::Held));
    let finding = disk.check(None).findings.into_iter().find(|f| f.code == Code::Held).unwrap();
    assert!(finding.what.contains(above.name()) && finding.advice.contains("losetup -d"), "{finding:?}");
}

#[test]
fn the_file_behind_a_loop_device_is_not_written() {
    let Some(disk) = Loop::attach() else { return };
    let file = disk.dir.path().join("disk");
    let refused = codes(clear(&Root::system(), &file, Access::Overwrite { shared: false }, false));
    assert_eq!(refused, [Code::LoopFile]);
}

#[test]
fn two_loop_devices_over_one_file_are_one_volume() {
    let Some(disk) = Loop::attach() else { return };
    let Some(twin) = Loop::over(&disk.dir.path().join("disk"), tempfile::tempdir().unwrap()) else { return };
    let mount = disk.dir.path().join("mnt");
    std::fs::create_dir(&mount).unwrap();
    assert!(run("mkfs.ext4", &["-q", twin.device.to_str().unwrap()]));
    assert!(run("mount", &[twin.device.to_str().unwrap(), mount.to_str().unwrap()]));
    let _undo = Undo("umount", vec![mount.to_str().unwrap().into()]);
    assert!(run("blockdev", &["--flushbufs", disk.device.to_str().unwrap()]));
    assert_eq!(disk.refusals(), [Code::Mounted]);
    let finding = disk.check(None).findings.into_iter().find(|f| f.code == Code::Mounted).unwrap();
    assert!(finding.what.contains("which shares bytes with this disk"), "{}", finding.what);
}

#[test]
fn a_device_claimed_by_someone_else_is_refused() {
    let Some(disk) = Loop::attach() else { return };
    let held = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&disk.device).unwrap();
    assert_eq!(disk.refusals(), [Code::Claimed]);
    drop(held);
    disk.comes_free();
}

#[test]
fn a_raw_database_that_claims_nothing_is_seen() {
    let Some(disk) = Loop::attach() else { return };
    let open = |how: &str| {
        let script = format!("exec 3{how}{} && echo open && exec cat", disk.device.display());
        let mut child = started(Command::new("sh").args(["-c", &script]), "open");
        let looked = disk.check(None);
        drop(child.stdin.take());
        child.wait().unwrap();
        looked
    };
    let writer = open("<>");
    assert!(!writer.ready);
    assert_eq!(writer.findings[0].code, Code::OpenForWriting);
    let reader = open("<");
    assert!(reader.ready);
    assert_eq!(reader.findings[0].code, Code::OpenForReading);
}

/// The refusals while a started copy of a test, told of a device by a variable, uses it until its input ends.
fn refused_beside_a_copy(disk: &Loop, test: &str, (variable, device): (&str, &Path)) -> Vec<Code> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", test])
        .env(variable, device)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = std::io::BufReader::new(child.stdout.as_mut().unwrap());
    assert!(std::io::BufRead::lines(said).any(|line| line.unwrap() == "open"), "it ended by itself");
    let refused = disk.refusals();
    drop(child.stdin.take());
    child.wait().unwrap();
    refused
}

/// Names the device that a started copy of this test maps.
const MAPPED: &str = "VOLPROOF_TEST_MAPPED";

#[test]
fn a_device_that_is_only_mapped_is_refused() {
    use rustix::mm::{MapFlags, ProtFlags, mmap};
    if let Some(device) = std::env::var_os(MAPPED) {
        let file = OpenOptions::new().read(true).write(true).open(device).unwrap();
        // SAFETY: nothing else is at the address that the kernel chooses, and nobody reads or writes there.
        unsafe {
            mmap(std::ptr::null_mut(), 4096, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &file, 0)
        }
        .unwrap();
        drop(file);
        println!("\nopen");
        std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
        return;
    }
    let Some(disk) = Loop::attach() else { return };
    // Through a node of its own, which has another inode.
    let dir = tempfile::tempdir().unwrap();
    let node = dir.path().join("node");
    let number = std::os::unix::fs::MetadataExt::rdev(&std::fs::metadata(&disk.device).unwrap());
    let kind = rustix::fs::FileType::BlockDevice;
    if rustix::fs::mknodat(rustix::fs::CWD, &node, kind, 0o600.into(), number).is_err() {
        return println!("skipped: no device node can be made here");
    }
    let refused =
        refused_beside_a_copy(&disk, "guard::uses::a_device_that_is_only_mapped_is_refused", (MAPPED, &node));
    assert_eq!(refused, [Code::OpenForWriting]);
}

/// Names the device that a started copy of this test opens.
const OPENED: &str = "VOLPROOF_TEST_OPENED";

#[test]
fn a_device_that_one_thread_alone_has_open_is_refused() {
    if let Some(device) = std::env::var_os(OPENED) {
        let open = move || {
            // SAFETY: the thread uses no descriptor of another thread from here on, and no other thread uses its own.
            unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::FILES) }.unwrap();
            let _held = OpenOptions::new().read(true).write(true).open(device).unwrap();
            println!("\nopen");
            std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
        };
        return std::thread::spawn(open).join().unwrap();
    }
    let Some(disk) = Loop::attach() else { return };
    let refused = refused_beside_a_copy(
        &disk,
        "guard::uses::a_device_that_one_thread_alone_has_open_is_refused",
        (OPENED, &disk.device),
    );
    assert_eq!(refused, [Code::OpenForWriting]);
}

/// Names the device that a started copy of this test maps before its first thread ends.
const ORPHANED: &str = "VOLPROOF_TEST_ORPHANED";

#[test]
fn a_device_mapped_by_a_process_whose_first_thread_has_ended_is_refused() {
    use rustix::mm::{MapFlags, ProtFlags, mmap};
    extern "C" fn end_thread(_: libc::c_int) {
        // SAFETY: only the thread that gets the signal ends, and it holds nothing that the others wait for.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    }
    if let Some(device) = std::env::var_os(ORPHANED) {
        let map = move || {
            let file = OpenOptions::new().read(true).write(true).open(device).unwrap();
            let rights = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: nothing else is at the address that the kernel chooses, and nobody reads or writes there.
            unsafe { mmap(std::ptr::null_mut(), 4096, rights, MapFlags::SHARED, &file, 0) }.unwrap();
            drop(file);
            // SAFETY: the handler makes one system call; the signal goes to the first thread of this process.
            unsafe {
                libc::signal(libc::SIGUSR1, end_thread as *const () as libc::sighandler_t);
                libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::getpid(), libc::SIGUSR1);
            }
            let first = format!("/proc/{}/maps", std::process::id());
            while std::fs::read(&first).is_ok_and(|maps| !maps.is_empty()) {
                std::thread::yield_now();
            }
            println!("\nopen");
            std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
            std::process::exit(0);
        };
        return std::thread::spawn(map).join().unwrap();
    }
    let Some(disk) = Loop::attach() else { return };
    let refused = refused_beside_a_copy(
        &disk,
        "guard::uses::a_device_mapped_by_a_process_whose_first_thread_has_ended_is_refused",
        (ORPHANED, &disk.device),
    );
    assert_eq!(refused, [Code::OpenForWriting]);
}

#[test]
fn the_system_disk_is_refused() {
    let root = Root::system();
    let facts = volproof::device::facts(&root, Path::new("/")).unwrap();
    let Some(disk) = facts.disk() else { return eprintln!("skipped: / lies on no block device here") };
    let path = PathBuf::from(format!("/dev/{}", disk.name));
    // By the refusal alone: no consent is ever given here.
    let looked = check(&root, &path, None, None).unwrap();
    assert!(!looked.ready);
    assert_eq!(looked.findings[0].code, Code::SystemDisk);
    let refused = clear(&root, &path, Access::Destroy(None), true);
    let said = refused.as_ref().unwrap_err().to_string();
    assert!(codes(refused).contains(&Code::SystemDisk));
    // It decides alone; whatever else is found is counted.
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        lines[1].starts_with("  system-disk: ") && lines[2].contains("No option overrules this"),
        "{said}"
    );
    assert!(lines.len() == 4 && lines[3].contains("more finding"), "{said}");
    let advice: Vec<&str> = looked.findings.iter().map(|f| f.advice.as_str()).collect();
    let harmful = ["umount", "swapoff", "lvchange", "--destroy"];
    assert!(!advice.iter().any(|a| harmful.iter().any(|word| a.contains(word))), "{advice:?}");

    // A file on it is fine.
    let dir = tempfile::tempdir().unwrap();
    let access = Access::Create { name: "f", size: volproof::unit::Bytes::mib(1), mode: 0o600 };
    assert!(clear(&root, dir.path(), access, false).unwrap().may_write());
}

/// A ring keeps what is registered with it open, and no descriptor shows it.
#[test]
fn a_device_that_only_a_ring_has_open_is_refused() {
    let Some(disk) = Loop::attach() else { return };
    let Ok(ring) = io_uring::IoUring::new(2) else {
        return println!("skipped: io_uring cannot be used here");
    };
    let file = OpenOptions::new().read(true).write(true).open(&disk.device).unwrap();
    ring.submitter().register_files(&[std::os::fd::AsRawFd::as_raw_fd(&file)]).unwrap();
    drop(file);
    // This process passes over itself.
    let seen = Command::new(env!("CARGO_BIN_EXE_volproof")).arg("check").arg(&disk.device).output().unwrap();
    let text = String::from_utf8(seen.stdout).unwrap();
    assert!(
        text.contains(&format!("process {} ", std::process::id())) && text.contains("for writing"),
        "{text}"
    );
    drop(ring);
    disk.comes_free();
}

//! The guard on real block devices: loop devices that each test attaches and takes off again, and zram.
//!
//! Data is made by the tools that own each format; a tool that is not installed is said to be skipped, and its mark is then
//! covered by the table's own tests. Without root every test here says skipped.

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;
use volproof::device::Root;
use volproof::guard::{Access, Check, Clearance, Code, GuardError, Severity, check, clear};

const SIZE: u64 = 320 << 20;

/// A loop device over a sparse file; detached when it goes, also in a panic.
struct Loop {
    device: PathBuf,
    dir: TempDir,
}

impl Loop {
    fn attach() -> Option<Loop> {
        let dir = tempfile::tempdir().unwrap();
        File::create(dir.path().join("disk")).unwrap().set_len(SIZE).unwrap();
        Loop::over(&dir.path().join("disk"), dir)
    }

    fn over(file: &Path, dir: TempDir) -> Option<Loop> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: root is needed to attach a loop device");
            return None;
        }
        let out =
            Command::new("losetup").args(["--partscan", "--find", "--show"]).arg(file).output().unwrap();
        assert!(out.status.success(), "losetup: {}", String::from_utf8_lossy(&out.stderr));
        let device = PathBuf::from(String::from_utf8(out.stdout).unwrap().trim());
        Some(Loop { device, dir })
    }

    fn name(&self) -> &str {
        self.device.file_name().unwrap().to_str().unwrap()
    }

    fn check(&self, destroy: Option<&str>) -> Check {
        check(&Root::system(), &self.device, destroy, None).unwrap()
    }

    fn consent(&self) -> String {
        self.check(None).consent.unwrap()
    }

    fn clear(&self, destroy: Option<&str>) -> Result<Clearance, GuardError> {
        clear(&Root::system(), &self.device, Access::Destroy(destroy), true)
    }

    /// The codes of what stands in the way, even with the right consent.
    fn refusals(&self) -> Vec<Code> {
        let consent = self.consent();
        let check = self.check(Some(&consent));
        let refused = codes(self.clear(Some(&consent)));
        let found: Vec<Code> =
            check.findings.iter().filter(|f| f.severity > Severity::Note).map(|f| f.code).collect();
        assert_eq!(found, refused, "check and run agree");
        found
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        run("losetup", &["--detach", self.device.to_str().unwrap()]);
    }
}

/// Runs a command at the end of a test, also in a panic.
struct Undo(&'static str, Vec<String>);

impl Drop for Undo {
    fn drop(&mut self) {
        run(self.0, &self.1.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

/// Whether a command was there and succeeded.
fn run(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|s| s.success())
}

fn codes(result: Result<Clearance, GuardError>) -> Vec<Code> {
    match result.map(|_| ()) {
        Ok(()) => Vec::new(),
        Err(GuardError::Refused(check)) => {
            check.findings.iter().filter(|f| f.severity > Severity::Note).map(|f| f.code).collect()
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_blank_disk_is_ready_and_consent_is_its_name() {
    let Some(disk) = Loop::attach() else { return };
    let looked = disk.check(None);
    assert!(looked.ready, "{:?}", looked.findings);
    assert!(looked.data.as_ref().unwrap().blank);
    let overwrites = looked.overwrites.unwrap();
    assert_eq!((overwrites.from_bytes.0, overwrites.to_bytes.0), (0, SIZE));
    let consent = looked.consent.unwrap();
    assert_eq!(consent, format!("320MiB:{}", disk.dir.path().join("disk").display()));

    assert_eq!(codes(disk.clear(None)), [Code::NoConsent]);
    for wrong in ["", "yes", disk.name(), &consent.to_lowercase()[1..], &format!("{consent} ")] {
        assert_eq!(codes(disk.clear(Some(wrong))), [Code::WrongConsent], "{wrong}");
    }
    let mut clearance = disk.clear(Some(&consent)).unwrap();
    assert!(!clearance.may_write(), "not before it was looked at again");
    clearance.confirm().unwrap();
    assert!(clearance.may_write() && clearance.is_direct());

    // It can be opened once more for ourselves, with the same rights and the first one's claim.
    let clearance = Arc::new(clearance);
    let cached = clearance.again(false).unwrap();
    assert!(cached.may_write() && !cached.is_direct() && clearance.is_direct());
    rustix::io::pwrite(cached.as_fd(), &[0], 1).unwrap();
    let clearance = {
        drop(cached);
        Arc::into_inner(clearance).expect("the other one is closed")
    };

    // What was cleared is held: nobody else can claim, format or mount it now.
    let claim = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&disk.device);
    assert_eq!(claim.unwrap_err().raw_os_error(), Some(libc::EBUSY));
    assert!(disk.check(None).findings.iter().any(|f| f.code == Code::Claimed));
    drop(clearance);
    assert!(disk.check(None).ready);
}

#[test]
fn later_looks_do_not_mind_what_the_run_wrote() {
    let Some(disk) = Loop::attach() else { return };
    let mut clearance = disk.clear(Some(&disk.consent())).unwrap();
    clearance.confirm().unwrap();
    let mut block = vec![0u8; 8192];
    let skip = block.as_ptr().align_offset(4096);
    block[skip..skip + 4096].fill(0xa5);
    rustix::io::pwrite(clearance.as_fd(), &block[skip..skip + 4096], 0).unwrap();
    clearance.confirm().unwrap();
}

#[test]
fn a_writer_between_clearance_and_first_write_is_noticed() {
    let Some(disk) = Loop::attach() else { return };
    let mut clearance = disk.clear(Some(&disk.consent())).unwrap();
    // Through the file below, as another host of a shared volume would write.
    let file = OpenOptions::new().write(true).open(disk.dir.path().join("disk")).unwrap();
    file.write_all_at(b"somebody's data", SIZE - 4096).unwrap();
    assert!(codes_of_confirm(&mut clearance).contains(&Code::Changed));
    assert!(!clearance.may_write());
}

fn codes_of_confirm(clearance: &mut Clearance) -> Vec<Code> {
    match clearance.confirm() {
        Ok(()) => Vec::new(),
        Err(GuardError::Refused(check)) => check.findings.iter().map(|f| f.code).collect(),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_device_that_grew_is_another_device() {
    let Some(disk) = Loop::attach() else { return };
    let mut clearance = disk.clear(Some(&disk.consent())).unwrap();
    OpenOptions::new().write(true).open(disk.dir.path().join("disk")).unwrap().set_len(SIZE * 2).unwrap();
    assert!(run("losetup", &["--set-capacity", disk.device.to_str().unwrap()]));
    assert_eq!(codes_of_confirm(&mut clearance), [Code::Changed]);
}

#[test]
fn reads_are_always_allowed_and_cannot_write() {
    let Some(disk) = Loop::attach() else { return };
    assert!(run("mkfs.ext4", &["-q", disk.device.to_str().unwrap()]), "mkfs.ext4 is part of every Debian");
    let clearance = clear(&Root::system(), &disk.device, Access::Read, true).unwrap();
    assert!(!clearance.may_write());
    assert!(rustix::io::pwrite(clearance.as_fd(), &[0; 512], 0).is_err());
}

/// Tool, its arguments before the device, what the table calls the result.
const MAKERS: &[(&str, &[&str], &str)] = &[
    ("mkfs.ext4", &["-q", "-F", "-L", "gold"], "ext4"),
    ("mkfs.ext3", &["-q", "-F"], "ext3"),
    ("mkfs.ext2", &["-q", "-F"], "ext2"),
    ("mkswap", &[], "swap"),
    ("mkfs.xfs", &["-q", "-f"], "xfs"),
    ("mkfs.btrfs", &["-q", "-f"], "btrfs"),
    ("mkfs.f2fs", &["-q", "-f"], "f2fs"),
    ("mkfs.ntfs", &["-q", "-f", "-F"], "NTFS"),
    ("mkfs.exfat", &[], "exFAT"),
    ("mkfs.vfat", &["-I", "-F", "16"], "FAT16"),
    ("mkfs.vfat", &["-I", "-F", "32"], "FAT32"),
    ("make-bcache", &["-B"], "bcache"),
    ("make-bcache", &["-C"], "bcache"),
];

#[test]
fn data_made_by_its_own_tool_is_recognised_and_kept() {
    let Some(disk) = Loop::attach() else { return };
    let device = disk.device.to_str().unwrap();
    let mut made = 0;
    for (tool, args, name) in MAKERS {
        wipe(&disk);
        if !run(tool, &[args, &[device][..]].concat()) {
            eprintln!("skipped: {tool} {args:?} is not here or failed");
            continue;
        }
        made += 1;
        expect_kept(&disk, name);
    }
    assert!(made >= 4, "the tools of e2fsprogs and util-linux are part of every Debian");
}

#[test]
fn volume_managers_and_partition_tables_are_recognised_and_kept() {
    let Some(disk) = Loop::attach() else { return };
    let device = disk.device.to_str().unwrap();
    let shell = |script: &str| run("sh", &["-ec", &script.replace("DEV", device)]);
    for (script, name) in [
        ("command -v sfdisk; echo 'label: gpt\n,,L' | sfdisk --no-tell-kernel DEV", "GPT"),
        ("command -v sfdisk; echo 'label: dos\n,,L' | sfdisk --no-tell-kernel DEV", "MBR"),
        ("printf x | cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 DEV -", "LUKS1"),
        (
            "printf x | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 DEV -",
            "LUKS2",
        ),
        ("pvcreate -qq -y --devices DEV --config 'backup{backup=0 archive=0}' DEV", "LVM2"),
    ] {
        wipe(&disk);
        match shell(script) {
            true => expect_kept(&disk, name),
            false => eprintln!("skipped: {script}"),
        }
    }
}

#[test]
fn an_iso_image_is_recognised_and_kept() {
    let Some(disk) = Loop::attach() else { return };
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("readme"), "data").unwrap();
    let image = dir.path().join("iso");
    if !run(
        "genisoimage",
        &["-quiet", "-V", "BACKUP", "-o", image.to_str().unwrap(), dir.path().to_str().unwrap()],
    ) {
        return eprintln!("skipped: genisoimage is not here");
    }
    let iso = std::fs::read(image).unwrap();
    OpenOptions::new().write(true).open(&disk.device).unwrap().write_all_at(&iso, 0).unwrap();
    expect_kept(&disk, "ISO9660");
}

/// Zeros over the whole device, through the file below.
fn wipe(disk: &Loop) {
    let file = OpenOptions::new().write(true).open(disk.dir.path().join("disk")).unwrap();
    file.set_len(0).unwrap();
    file.set_len(SIZE).unwrap();
    assert!(run("blockdev", &["--flushbufs", disk.device.to_str().unwrap()]));
    assert!(disk.check(None).ready, "blank again: {:?}", disk.check(None).findings);
}

/// Refused without consent, naming what is lost; cleared with consent; and `blkid` agrees.
fn expect_kept(disk: &Loop, name: &str) {
    let looked = disk.check(None);
    let names: Vec<&str> = looked.data.iter().flat_map(|d| &d.signatures).map(|s| s.name.as_str()).collect();
    assert!(names.contains(&name), "{name}: found {names:?}");
    assert!(!looked.ready);
    assert!(looked.findings.iter().all(|f| f.code == Code::Signature), "{name}: {:?}", looked.findings);
    assert!(looked.findings.iter().any(|f| f.what.contains(name) && f.what.contains("would be lost")));
    let refused = codes(disk.clear(None));
    assert!(refused.contains(&Code::Signature) && refused.contains(&Code::NoConsent), "{refused:?}");
    assert_eq!(disk.refusals(), [], "{name}: with consent nothing stands in the way");
}

#[test]
fn unknown_data_is_kept_like_any_other() {
    let Some(disk) = Loop::attach() else { return };
    OpenOptions::new().write(true).open(&disk.device).unwrap().write_all_at(b"raw database", 8192).unwrap();
    let looked = disk.check(None);
    assert_eq!(looked.findings.iter().map(|f| f.code).collect::<Vec<_>>(), [Code::UnknownData]);
    assert!(!looked.ready);
    assert_eq!(disk.refusals(), []);
}

#[test]
fn opinions_that_differ_refuse_even_with_consent() {
    let Some(disk) = Loop::attach() else { return };
    // A superblock of a Minix filesystem: libblkid knows it, our table does not.
    let mut superblock = [0u8; 32];
    superblock[0..2].copy_from_slice(&1000u16.to_le_bytes());
    superblock[2..4].copy_from_slice(&3000u16.to_le_bytes());
    superblock[4..6].copy_from_slice(&1u16.to_le_bytes());
    superblock[6..8].copy_from_slice(&1u16.to_le_bytes());
    superblock[8..10].copy_from_slice(&40u16.to_le_bytes());
    superblock[12..16].copy_from_slice(&0x7fff_ffffu32.to_le_bytes());
    superblock[16..18].copy_from_slice(&0x138fu16.to_le_bytes());
    OpenOptions::new().write(true).open(&disk.device).unwrap().write_all_at(&superblock, 1024).unwrap();
    let looked = disk.check(None);
    match looked.second_opinion {
        Some(volproof::device::Opinion::Sees(seen)) if seen == ["minix"] => {}
        other => return eprintln!("skipped: blkid says {other:?}"),
    }
    assert_eq!(disk.refusals(), [Code::OpinionsDiffer]);
}

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
    assert_eq!(disk.refusals(), []);
}

#[test]
fn a_mount_in_another_namespace_is_seen() {
    let Some(disk) = Loop::attach() else { return };
    let (device, mount) = (disk.device.to_str().unwrap(), disk.dir.path().join("mnt"));
    std::fs::create_dir(&mount).unwrap();
    assert!(run("mkfs.ext4", &["-q", device]));
    let script = format!("mount {device} {} && echo mounted && exec cat", mount.display());
    let mut child = Command::new("unshare")
        .args(["--mount", "--propagation", "slave", "sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line)
        .unwrap();
    assert_eq!(line.trim(), "mounted");
    assert!(!std::fs::read_to_string("/proc/self/mountinfo").unwrap().contains(mount.to_str().unwrap()));
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
    assert_eq!(disk.refusals(), []);
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
    assert_eq!(disk.refusals(), []);
}

#[test]
fn a_raw_database_that_claims_nothing_is_seen() {
    let Some(disk) = Loop::attach() else { return };
    let open = |how: &str| {
        let mut child = Command::new("sh")
            .args(["-c", &format!("exec 3{how}{} && echo open && exec cat", disk.device.display())])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line)
            .unwrap();
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

#[test]
fn a_read_only_device_is_refused() {
    let Some(disk) = Loop::attach() else { return };
    let device = disk.device.to_str().unwrap();
    assert!(run("blockdev", &["--setro", device]));
    assert_eq!(disk.refusals(), [Code::ReadOnly]);
    assert!(run("blockdev", &["--setrw", device]));
    assert_eq!(disk.refusals(), []);
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
    assert!(codes(clear(&root, &path, Access::Destroy(None), true)).contains(&Code::SystemDisk));

    // A file on it is fine.
    let dir = tempfile::tempdir().unwrap();
    let access = Access::Create { name: "f", size: volproof::unit::Bytes::mib(1), mode: 0o600 };
    assert!(clear(&root, dir.path(), access, false).unwrap().may_write());
}

#[test]
fn the_program_answers_with_its_exit_code() {
    let volproof = |args: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_volproof")).args(args).output().unwrap();
        (
            out.status.code().unwrap(),
            String::from_utf8(out.stdout).unwrap(),
            String::from_utf8(out.stderr).unwrap(),
        )
    };
    let missing = volproof(&["check", "/dev/volproof-none"]);
    assert_eq!(missing.0, 2, "{missing:?}");
    assert!(missing.2.contains("/dev/volproof-none"), "{missing:?}");
    let Some(disk) = Loop::attach() else { return };
    let device = disk.device.to_str().unwrap();
    let (code, ready, _) = volproof(&["check", device]);
    assert_eq!(code, 0, "{ready}");
    assert!(ready.contains("READY") && ready.contains("335,544,320"), "{ready}");
    let wrong = volproof(&["check", device, "--destroy", "WRONG"]);
    assert_eq!(wrong.0, 3, "{wrong:?}");
    assert!(run("mkfs.ext4", &["-q", "-L", "gold", device]));
    let (code, refused, _) = volproof(&["check", device]);
    assert!(code == 3 && refused.contains("REFUSED") && refused.contains("ext4 'gold'"), "{refused}");
    let (code, json, _) = volproof(&["check", device, "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(code == 3 && value["findings"][0]["code"] == "signature", "{json}");
    let consent = value["consent"].as_str().unwrap();
    assert_eq!(volproof(&["check", device, "--destroy", consent]).0, 0);
}

/// A zram device of the test's own, taken away again.
struct Zram {
    number: String,
}

impl Zram {
    fn make(bytes: u64) -> Option<Zram> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: root is needed to make a zram device");
            return None;
        }
        let Ok(number) = std::fs::read_to_string("/sys/class/zram-control/hot_add") else {
            eprintln!("skipped: this kernel has no zram");
            return None;
        };
        let zram = Zram { number: number.trim().to_string() };
        std::fs::write(zram.attribute("disksize"), bytes.to_string()).unwrap();
        Some(zram)
    }

    fn attribute(&self, name: &str) -> String {
        format!("/sys/block/zram{}/{name}", self.number)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let _ = std::fs::write(self.attribute("reset"), "1");
        let _ = std::fs::write("/sys/class/zram-control/hot_remove", &self.number);
    }
}

#[test]
fn a_zram_disk_has_no_medium_until_it_has_a_size() {
    let root = Root::system();
    let Some(zram) = Zram::make(64 << 20) else { return };
    let path = PathBuf::from(format!("/dev/zram{}", zram.number));
    let path = path.as_path();
    let looked = check(&root, path, None, None).unwrap();
    assert!(looked.ready, "{:?}", looked.findings);
    assert_eq!(looked.consent, Some(format!("64MiB:zram{}", zram.number)));
    let mut clearance = clear(&root, path, Access::Destroy(looked.consent.as_deref()), true).unwrap();
    clearance.confirm().unwrap();
    drop(clearance);
    std::fs::write(zram.attribute("reset"), "1").unwrap();
    let empty = check(&root, path, None, None).unwrap();
    assert!(empty.findings.iter().any(|f| f.code == Code::NoMedium), "{:?}", empty.findings);
}

//! Data on a device is recognised and kept. It is made by the tools that own each format; a tool that is not installed is said to be
//! skipped, and its mark is then covered by the table's own tests.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use volproof::guard::Code;

use crate::guard::loop_device::{Loop, SIZE, codes, run};

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

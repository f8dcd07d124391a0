//! The table of marks, with the checks of short ones: random bytes are not taken for a filesystem.
//!
//! Offsets and marks are those of each format's own documentation, the same that libblkid looks at.

use super::At::{self, End, EndUnit, Ring, Start};
use super::{Magic, Windows};

/// A row with the usual answers.
const ROW: Magic = Magic {
    name: |_| "",
    at: &[],
    mark: &[],
    check: |_, _| true,
    label: None,
    blkid: &[],
    hidden: false,
    loses: "the filesystem and every file in it",
};

const PAGES: &[At] = &[Start(4086), Start(8182), Start(16374), Start(32758), Start(65526)];
const PARTITIONS: &str = "the partition table and everything in its partitions";
const RAID: &str = "this member of a RAID array";
const SWAP: &str = "the swap area";
const CRYPT: &str = "the keys, and with them every byte of the encrypted volume";

pub(super) static MAGICS: &[Magic] = &[
    Magic {
        name: |_| "GPT",
        at: &[Start(512), Start(4096)],
        mark: b"EFI PART",
        blkid: &["gpt"],
        loses: PARTITIONS,
        ..ROW
    },
    Magic {
        name: |_| "GPT (reserve copy)",
        at: &[End(512), End(4096)],
        mark: b"EFI PART",
        blkid: &["gpt"],
        hidden: true,
        loses: PARTITIONS,
        ..ROW
    },
    Magic {
        name: |_| "MBR",
        at: &[Start(510)],
        mark: b"\x55\xaa",
        check: mbr,
        blkid: &["dos", "PMBR"],
        loses: PARTITIONS,
        ..ROW
    },
    Magic {
        name: ext_version,
        at: &[Start(1080)],
        mark: b"\x53\xef",
        check: ext,
        label: Some((64, 16)),
        blkid: &["ext2", "ext3", "ext4", "ext4dev", "jbd"],
        ..ROW
    },
    Magic { name: |_| "xfs", at: &[Start(0)], mark: b"XFSB", label: Some((108, 12)), blkid: &["xfs"], ..ROW },
    Magic {
        name: |_| "btrfs",
        at: &[Start(65600)],
        mark: b"_BHRfS_M",
        label: Some((235, 256)),
        blkid: &["btrfs"],
        ..ROW
    },
    Magic {
        name: |_| "LVM2",
        at: &[Start(0), Start(512), Start(1024), Start(1536)],
        mark: b"LABELONE",
        check: |w, at| w.is(at + 24, b"LVM2 001"),
        blkid: &["LVM2_member"],
        loses: "this physical volume, and with it the logical volumes that use it",
        ..ROW
    },
    Magic {
        name: |_| "md 1.x",
        at: &[Start(0), Start(4096), EndUnit { unit: 4096, back: 8192 }],
        mark: b"\xfc\x4e\x2b\xa9",
        check: |w, at| w.u32_le(at + 4) == Some(1),
        label: Some((32, 32)),
        blkid: &["linux_raid_member"],
        loses: RAID,
        ..ROW
    },
    Magic {
        name: |_| "md 0.90",
        at: &[EndUnit { unit: 65536, back: 65536 }],
        mark: b"\xfc\x4e\x2b\xa9",
        check: |w, at| w.u32_le(at + 4) == Some(0),
        blkid: &["linux_raid_member"],
        loses: RAID,
        ..ROW
    },
    Magic {
        name: |_| "md 0.90 (big endian)",
        at: &[EndUnit { unit: 65536, back: 65536 }],
        mark: b"\xa9\x2b\x4e\xfc",
        check: |w, at| w.u32_le(at + 4) == Some(0),
        blkid: &["linux_raid_member"],
        loses: RAID,
        ..ROW
    },
    Magic {
        name: |_| "LUKS1",
        at: &[Start(0)],
        mark: b"LUKS\xba\xbe\x00\x01",
        blkid: &["crypto_LUKS"],
        loses: CRYPT,
        ..ROW
    },
    Magic {
        name: |_| "LUKS2",
        at: &[Start(0)],
        mark: b"LUKS\xba\xbe\x00\x02",
        label: Some((24, 48)),
        blkid: &["crypto_LUKS"],
        loses: CRYPT,
        ..ROW
    },
    Magic {
        name: |_| "LUKS2 (reserve copy)",
        at: &[Start(0x4000), Start(0x8000), Start(0x10000), Start(0x20000), Start(0x40000), Start(0x80000)],
        mark: b"SKUL\xba\xbe\x00\x02",
        blkid: &["crypto_LUKS"],
        hidden: true,
        loses: CRYPT,
        ..ROW
    },
    Magic { name: |_| "swap", at: PAGES, mark: b"SWAPSPACE2", blkid: &["swap"], loses: SWAP, ..ROW },
    Magic {
        name: |_| "swap (version 0)",
        at: PAGES,
        mark: b"SWAP-SPACE",
        blkid: &["swap"],
        loses: SWAP,
        ..ROW
    },
    Magic {
        name: |_| "hibernated system",
        at: PAGES,
        mark: b"S1SUSPEND",
        blkid: &["swsuspend"],
        loses: "the memory of a machine that sleeps",
        ..ROW
    },
    Magic {
        name: |_| "ZFS",
        at: &[
            Ring { from: 128 << 10 },
            Ring { from: 384 << 10 },
            Ring { from: -(384 << 10) },
            Ring { from: -(128 << 10) },
        ],
        mark: b"\x0c\xb1\xba\x00\x00\x00\x00\x00",
        blkid: &["zfs_member"],
        hidden: true,
        loses: "this member of a ZFS pool",
        ..ROW
    },
    Magic {
        name: |_| "ZFS (big endian)",
        at: &[
            Ring { from: 128 << 10 },
            Ring { from: 384 << 10 },
            Ring { from: -(384 << 10) },
            Ring { from: -(128 << 10) },
        ],
        mark: b"\x00\x00\x00\x00\x00\xba\xb1\x0c",
        blkid: &["zfs_member"],
        hidden: true,
        loses: "this member of a ZFS pool",
        ..ROW
    },
    Magic {
        name: |_| "bcache",
        at: &[Start(4120)],
        mark: b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
        blkid: &["bcache"],
        loses: "this cache or the device behind it, with writes that were not yet carried over",
        ..ROW
    },
    Magic {
        name: |_| "Ceph BlueStore",
        at: &[Start(0)],
        mark: b"bluestore block device",
        blkid: &["ceph_bluestore"],
        loses: "this object store of a Ceph cluster",
        ..ROW
    },
    Magic {
        name: |_| "NTFS",
        at: &[Start(3)],
        mark: b"NTFS    ",
        check: boot_sector,
        blkid: &["ntfs", "dos"],
        ..ROW
    },
    Magic {
        name: |_| "exFAT",
        at: &[Start(3)],
        mark: b"EXFAT   ",
        check: boot_sector,
        blkid: &["exfat", "dos"],
        ..ROW
    },
    Magic {
        name: |_| "FAT12",
        at: &[Start(54)],
        mark: b"FAT12   ",
        check: boot_sector,
        label: Some((-11, 11)),
        blkid: &["vfat", "dos"],
        ..ROW
    },
    Magic {
        name: |_| "FAT16",
        at: &[Start(54)],
        mark: b"FAT16   ",
        check: boot_sector,
        label: Some((-11, 11)),
        blkid: &["vfat", "dos"],
        ..ROW
    },
    Magic {
        name: |_| "FAT32",
        at: &[Start(82)],
        mark: b"FAT32   ",
        check: boot_sector,
        label: Some((-11, 11)),
        blkid: &["vfat", "dos"],
        ..ROW
    },
    Magic {
        name: |_| "ISO9660",
        at: &[Start(32769)],
        mark: b"CD001",
        label: Some((39, 32)),
        blkid: &["iso9660"],
        ..ROW
    },
    Magic {
        name: |_| "f2fs",
        at: &[Start(1024), Start(5120)],
        mark: b"\x10\x20\xf5\xf2",
        blkid: &["f2fs"],
        ..ROW
    },
    Magic {
        name: |_| "Oracle ASM",
        at: &[Start(32)],
        mark: b"ORCLDISK",
        label: Some((8, 24)),
        blkid: &["oracleasm"],
        loses: "this disk of an Oracle ASM disk group",
        ..ROW
    },
    Magic { name: |_| "squashfs", at: &[Start(0)], mark: b"hsqs", blkid: &["squashfs"], ..ROW },
];

/// A partition table has four entries that are empty or plain; a boot sector with the same mark has code or text there, or
/// the name of its filesystem before it.
fn mbr(w: &Windows, mark: u64) -> bool {
    let Some(table) = w.bytes(mark - 64, 64) else { return false };
    let mut entries = table.chunks_exact(16);
    let used = entries.clone().any(|e| e[4] != 0 && e[12..16] != [0; 4]);
    let boot = BOOT_SECTORS.iter().any(|(at, name)| w.is(*at, name));
    entries.all(|e| matches!(e[0], 0 | 0x80)) && (used || !boot)
}

/// Where filesystems with a boot sector write their names.
const BOOT_SECTORS: &[(u64, &[u8])] =
    &[(3, b"NTFS    "), (3, b"EXFAT   "), (54, b"FAT12   "), (54, b"FAT16   "), (82, b"FAT32   ")];

/// The last two bytes of a boot sector.
fn boot_sector(w: &Windows, _: u64) -> bool {
    w.is(510, b"\x55\xaa")
}

/// Counts that cannot be zero and a block size that exists (kernel: Documentation/filesystems/ext4/super.rst).
fn ext(w: &Windows, mark: u64) -> bool {
    let begin = mark - 56;
    w.u32_le(begin).is_some_and(|inodes| inodes > 0)
        && w.u32_le(begin + 4).is_some_and(|blocks| blocks > 0)
        && w.u32_le(begin + 24).is_some_and(|log_block| log_block <= 6)
        && w.u32_le(begin + 76).is_some_and(|revision| revision <= 1)
}

/// Which of the family, by the features that the older ones do not know. `s` begins at the mark.
fn ext_version(s: &[u8]) -> &'static str {
    let [compat, incompat, ro_compat] =
        [36, 40, 44].map(|at| s.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
    match () {
        _ if incompat & 0x8 != 0 => "ext journal",
        _ if incompat & !0x16 != 0 || ro_compat & !0x7 != 0 => "ext4",
        _ if compat & 0x4 != 0 => "ext3",
        _ => "ext2",
    }
}

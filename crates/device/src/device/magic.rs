//! Looks for the marks that filesystems, volume managers and partition tables leave on a device. `formats` is the table of them.

mod formats;

use formats::MAGICS;

use super::signature::{Scan, Signature, Windows};
use volproof_base::unit::Bytes;

/// Where a mark may stand.
enum At {
    /// From the start.
    Start(u64),
    /// Before the end.
    End(u64),
    /// Before the end, counted from the last whole unit.
    EndUnit { unit: u64, back: u64 },
    /// Repeated: `from` the start, or `from` the last whole 256 KiB backwards, `count` times every KiB.
    Ring { from: i64 },
}

use At::{End, EndUnit, Ring, Start};

struct Magic {
    name: fn(&[u8]) -> &'static str,
    at: &'static [At],
    mark: &'static [u8],
    /// Further conditions: the windows and where the mark was found.
    check: fn(&Windows, u64) -> bool,
    /// Offset of the label from the mark, and its longest length.
    label: Option<(i64, usize)>,
    /// The name that `blkid` has for it.
    blkid: &'static [&'static str],
    hidden: bool,
    loses: &'static str,
}

/// Offsets of a ZFS label's ring of uberblocks: 128 KiB of them, the shortest 1 KiB long.
const RING: u64 = 128;

impl At {
    /// The offsets on a device of this size; those beyond it are left out.
    fn offsets(&self, size: u64) -> Vec<u64> {
        match *self {
            Start(at) => vec![at],
            End(back) => size.checked_sub(back).into_iter().collect(),
            EndUnit { unit, back } => (size / unit * unit).checked_sub(back).into_iter().collect(),
            Ring { from } => {
                let end = size >> 18 << 18;
                let start = if from < 0 { end.checked_add_signed(from) } else { Some(from as u64) };
                start.map(|s| (0..RING).map(|n| s + (n << 10)).collect()).unwrap_or_default()
            }
        }
    }
}

/// Whether one of the signatures is what `blkid` calls by this name.
pub(super) fn is_called(signatures: &[Signature], blkid: &str) -> bool {
    let rows = MAGICS.iter().filter(|m| m.blkid.contains(&blkid));
    rows.flat_map(names).any(|name| signatures.iter().any(|s| s.name == name))
}

/// Every name a row may give.
fn names(magic: &Magic) -> Vec<&'static str> {
    match magic.mark {
        b"\x53\xef" => vec!["ext2", "ext3", "ext4", "ext journal"],
        _ => vec![(magic.name)(&[])],
    }
}

impl Windows {
    /// The signatures in both windows, and whether the windows are blank.
    pub fn scan(&self) -> Scan {
        let mut signatures: Vec<Signature> = Vec::new();
        for magic in MAGICS {
            let found = magic
                .at
                .iter()
                .flat_map(|at| at.offsets(self.size))
                .find(|at| self.is(*at, magic.mark) && (magic.check)(self, *at));
            let Some(at) = found else { continue };
            let label = magic.label.and_then(|(by, longest)| self.text(at.checked_add_signed(by)?, longest));
            signatures.push(Signature {
                name: (magic.name)(self.bytes(at, 64).unwrap_or_default()).to_string(),
                offset_bytes: Bytes(at),
                label,
                loses: magic.loses.to_string(),
                hidden: magic.hidden,
            });
        }
        signatures.sort_by_key(|s| s.offset_bytes);
        let blank = self.head.iter().chain(&self.tail).all(|b| *b == 0);
        Scan { signatures, blank }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: usize = 8 << 20;

    /// A device with these bytes at these offsets; negative ones count from its end.
    fn device(parts: &[(i64, &[u8])]) -> Vec<u8> {
        let mut all = vec![0; SIZE];
        for (at, bytes) in parts {
            let at = if *at < 0 { (SIZE as i64 + at) as usize } else { *at as usize };
            all[at..at + bytes.len()].copy_from_slice(bytes);
        }
        all
    }

    fn found(parts: &[(i64, &[u8])]) -> Vec<String> {
        let scan = Windows::from_bytes(&device(parts)).scan();
        assert!(!scan.blank);
        scan.signatures.into_iter().map(|s| s.name).collect()
    }

    const MD: &[u8] = b"\xfc\x4e\x2b\xa9";
    const BOOT: (i64, &[u8]) = (510, b"\x55\xaa");

    /// A format, and the bytes that show it.
    type Case<'a> = (&'a str, &'a [(i64, &'a [u8])]);

    /// Marks placed by hand; the tools that make the real things are asked in tests/machine/guard/data.rs.
    #[test]
    fn every_mark_is_recognised() {
        let md1 = [MD, b"\x01\0\0\0"].concat();
        let md0 = [MD, b"\0\0\0\0"].concat();
        let bcache = b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";
        let cases: &[Case] = &[
            ("GPT", &[(512, b"EFI PART")]),
            ("GPT", &[(4096, b"EFI PART")]),
            ("GPT (reserve copy)", &[(-512, b"EFI PART")]),
            ("GPT (reserve copy)", &[(-4096, b"EFI PART")]),
            ("MBR", &[(446, b"\x80\0\0\0\x83\0\0\0\0\x08\0\0\0\x10\0\0"), BOOT]),
            ("xfs", &[(0, b"XFSB")]),
            ("btrfs", &[(65600, b"_BHRfS_M")]),
            ("LVM2", &[(512, b"LABELONE"), (536, b"LVM2 001")]),
            ("LVM2", &[(1536, b"LABELONE"), (1560, b"LVM2 001")]),
            ("md 1.x", &[(0, &md1)]),
            ("md 1.x", &[(4096, &md1)]),
            ("md 1.x", &[(-8192, &md1)]),
            ("md 0.90", &[(-65536, &md0)]),
            ("md 0.90 (big endian)", &[(-65536, b"\xa9\x2b\x4e\xfc\0\0\0\0")]),
            ("LUKS1", &[(0, b"LUKS\xba\xbe\0\x01")]),
            ("LUKS2", &[(0, b"LUKS\xba\xbe\0\x02")]),
            ("LUKS2 (reserve copy)", &[(0x4000, b"SKUL\xba\xbe\0\x02")]),
            ("swap", &[(4086, b"SWAPSPACE2")]),
            ("swap", &[(65526, b"SWAPSPACE2")]),
            ("swap (version 0)", &[(4086, b"SWAP-SPACE")]),
            ("hibernated system", &[(4086, b"S1SUSPEND")]),
            ("ZFS", &[((128 << 10) + 31 * 1024, b"\x0c\xb1\xba\0\0\0\0\0")]),
            ("ZFS", &[((384 << 10), b"\x0c\xb1\xba\0\0\0\0\0")]),
            ("ZFS", &[(-(384 << 10), b"\x0c\xb1\xba\0\0\0\0\0")]),
            ("ZFS (big endian)", &[(-(128 << 10), b"\0\0\0\0\0\xba\xb1\x0c")]),
            ("bcache", &[(4120, bcache)]),
            ("Ceph BlueStore", &[(0, b"bluestore block device\n")]),
            ("NTFS", &[(3, b"NTFS    "), BOOT]),
            ("exFAT", &[(3, b"EXFAT   "), BOOT]),
            ("FAT12", &[(54, b"FAT12   "), BOOT]),
            ("FAT16", &[(54, b"FAT16   "), BOOT]),
            ("FAT32", &[(82, b"FAT32   "), BOOT]),
            ("ISO9660", &[(32769, b"CD001")]),
            ("f2fs", &[(1024, b"\x10\x20\xf5\xf2")]),
            ("Oracle ASM", &[(32, b"ORCLDISKVOL1")]),
            ("squashfs", &[(0, b"hsqs")]),
        ];
        for (name, parts) in cases {
            assert_eq!(found(parts), [*name], "{parts:?}");
        }
        let tested: Vec<&str> =
            cases.iter().map(|c| c.0).chain(["ext2", "ext3", "ext4", "ext journal"]).collect();
        for name in MAGICS.iter().flat_map(names) {
            assert!(tested.contains(&name), "{name} has no case here");
        }
    }

    #[test]
    fn the_ext_family_is_told_apart() {
        let ext = |compat: u32, incompat: u32, ro: u32| {
            let mut sb = vec![0u8; 1024];
            for (at, v) in [(0, 128u32), (4, 8192), (24, 2), (76, 1), (92, compat), (96, incompat), (100, ro)]
            {
                sb[at..at + 4].copy_from_slice(&v.to_le_bytes());
            }
            sb[56..58].copy_from_slice(b"\x53\xef");
            sb[120..124].copy_from_slice(b"data");
            let scan = Windows::from_bytes(&device(&[(1024, &sb)])).scan();
            scan.signatures.iter().map(|s| format!("{} {:?}", s.name, s.label.as_deref())).collect::<String>()
        };
        assert_eq!(ext(0, 2, 1), r#"ext2 Some("data")"#);
        assert_eq!(ext(4, 2, 3), r#"ext3 Some("data")"#);
        assert_eq!(ext(4, 0x42, 0x400), r#"ext4 Some("data")"#);
        assert_eq!(ext(0, 8, 0), r#"ext journal Some("data")"#);
    }

    #[test]
    fn short_marks_alone_are_not_taken_for_data() {
        let none = Vec::<String>::new();
        assert_eq!(found(&[BOOT]), ["MBR"], "an empty partition table is one");
        assert_eq!(found(&[BOOT, (446, b"code")]), none);
        assert_eq!(found(&[(1080, b"\x53\xef")]), none);
        assert_eq!(found(&[(3, b"NTFS    ")]), none);
        assert_eq!(found(&[(0, b"LABELONE")]), none);
    }

    #[test]
    fn blank_means_zeros_at_both_ends() {
        assert!(Windows::from_bytes(&vec![0; SIZE]).scan().blank);
        assert!(!Windows::from_bytes(&device(&[(-1, b"x")])).scan().blank);
        assert!(Windows::from_bytes(&device(&[(4 << 20, b"x")])).scan().blank, "the middle is not read");
        assert!(Windows::from_bytes(&[]).scan().blank);
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(
            size in 0usize..2_300_000,
            parts in proptest::collection::vec((0usize..2_300_000, 0usize..64), 0..20),
        ) {
            let mut bytes = vec![0u8; size];
            for (at, row) in parts {
                let mark = MAGICS[row % MAGICS.len()].mark;
                if let Some(to) = bytes.get_mut(at..at + mark.len()) {
                    to.copy_from_slice(mark);
                }
            }
            let scan = Windows::from_bytes(&bytes).scan();
            prop_assert!(scan.signatures.iter().all(|s| s.offset_bytes.0 < size as u64));
            prop_assert!(!scan.blank || scan.signatures.is_empty());
        }
    }
}

//! Filesystems whose files are settings of the kernel or of the firmware: neither a target nor an output is written there.

use std::path::Path;

use rustix::fs::{PROC_SUPER_MAGIC, statfs};

/// The types that `statfs` reports for the filesystems other than /proc whose files are settings of the kernel or of the firmware: sysfs, debugfs, tracefs, configfs, securityfs,
/// selinuxfs, smackfs, cgroup and cgroup2, resctrl, efivarfs, pstore, bpf, binfmt_misc, fusectl, nfsd (`linux/magic.h` and each one's source).
const OF_THE_KERNEL: [i64; 16] = [
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x6265_6570,
    0x7363_6673,
    0xf97c_ff8c,
    0x4341_5d53,
    0x0027_e0eb,
    0x6367_7270,
    0x0765_5821,
    0xde5e_81e4,
    0x6165_676c,
    0xcafe_4a11,
    0x4249_4e4d,
    0x6573_5543,
    0x6e66_7364,
];

/// Whether the files of a filesystem of this type, /proc aside, are settings.
pub fn is_of_the_kernel(filesystem: i64) -> bool {
    OF_THE_KERNEL.contains(&filesystem)
}

/// Whether a path leads to such a file, those of /proc among them.
pub(super) fn holds_settings(path: &Path) -> bool {
    statfs(path).is_ok_and(|about| about.f_type == PROC_SUPER_MAGIC || is_of_the_kernel(about.f_type as _))
}

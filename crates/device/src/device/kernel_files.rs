//! Filesystems whose files are settings of the kernel or of the firmware: neither a target nor an output is written there.

use std::path::{Path, PathBuf};

use rustix::fs::{PROC_SUPER_MAGIC, statfs};

/// The types that `statfs` reports for the filesystems other than /proc whose files are settings of the kernel or of the firmware: sysfs, debugfs, tracefs, configfs, securityfs,
/// selinuxfs, smackfs, AppArmor's, cgroup and cgroup2, resctrl, efivarfs, pstore, bpf, binfmt_misc, fusectl, nfsd, rpc_pipefs, xenfs
/// (`linux/magic.h` and each one's source).
const OF_THE_KERNEL: [i64; 19] = [
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x6265_6570,
    0x7363_6673,
    0xf97c_ff8c,
    0x4341_5d53,
    0x5a3c_69f0,
    0x0027_e0eb,
    0x6367_7270,
    0x0765_5821,
    0xde5e_81e4,
    0x6165_676c,
    0xcafe_4a11,
    0x4249_4e4d,
    0x6573_5543,
    0x6e66_7364,
    0x6759_6969,
    0xabba_1974,
];

/// Whether the files of a filesystem of this type, /proc aside, are settings.
pub fn is_of_the_kernel(filesystem: i64) -> bool {
    OF_THE_KERNEL.contains(&filesystem)
}

/// Links that lead nowhere and are followed, as in the kernel.
const LINKS: usize = 40;

/// Whether a path leads to such a file, those of /proc among them, or would once the file or folder is made.
pub fn holds_settings(path: &Path) -> bool {
    let mut path = PathBuf::from(path);
    for _ in 0..LINKS {
        if let Ok(about) = statfs(if path == Path::new("") { Path::new(".") } else { &path }) {
            return about.f_type == PROC_SUPER_MAGIC || is_of_the_kernel(about.f_type as _);
        }
        // A link that leads nowhere yet; else the file is made in the folder, be it made itself.
        let missing = path.clone();
        path.pop();
        if let Ok(link) = std::fs::read_link(&missing) {
            path.push(link);
        } else if missing.file_name().is_none() {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_exist_yet_is_judged_by_the_folder_in_which_it_would_be_made() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/sys/kernel/new", &link).unwrap();
        for path in ["/sys", "/sys/kernel/new", "/sys/kernel/new/deep", "/proc/new", "/proc/self/status"] {
            assert!(holds_settings(Path::new(path)), "{path}");
        }
        assert!(holds_settings(&link));
        for path in ["/", "/tmp/new", "new", "", "/dev/shm/new/deep"] {
            assert!(!holds_settings(Path::new(path)), "{path}");
        }
        assert!(!holds_settings(&dir.path().join("new")));
    }
}

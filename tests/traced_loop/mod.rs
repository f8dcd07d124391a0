//! A loop device of the test's own, for programs that are run under strace. The folder of its file is the test's too.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

/// A loop device that is detached however the test ends.
pub struct Device {
    /// Such as `/dev/loop0`.
    pub path: String,
    /// Holds the file `image` below the device.
    pub dir: TempDir,
}

impl Device {
    /// Attached over a new file of this size; nothing, said aloud, without root or a strace that may trace.
    pub fn attach(size: u64) -> Option<Device> {
        let able = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
        if !able.as_ref().is_ok_and(|o| o.status.success()) || !rustix::process::geteuid().is_root() {
            println!("skipped: root and a strace that may trace are needed: {able:?}");
            return None;
        }
        let dir = TempDir::new().unwrap();
        let image = dir.path().join("image");
        fs::File::create(&image).unwrap().set_len(size).unwrap();
        let out = Command::new("losetup").args(["-f", "--show"]).arg(&image).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        Some(Device { path: String::from_utf8(out.stdout).unwrap().trim().to_string(), dir })
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.path]).status();
    }
}

//! A loop device of the test's own, as new, for programs that are run under strace. The folder of its file is the test's too.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
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
        if !rustix::process::geteuid().is_root() {
            println!("skipped: root is needed to attach a loop device");
            return None;
        }
        let able = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
        if !able.as_ref().is_ok_and(|o| o.status.success()) {
            println!("skipped: strace is not here or may not trace: {able:?}");
            return None;
        }
        let dir = TempDir::new().unwrap();
        let image = dir.path().join("image");
        fs::File::create(&image).unwrap().set_len(size).unwrap();
        let out = Command::new("losetup").args(["-f", "--show"]).arg(&image).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let path = String::from_utf8(out.stdout).unwrap().trim().to_string();
        as_new(&path);
        Some(Device { path, dir })
    }
}

/// A loop device keeps the knobs that its last user set, also when it is detached: gives it those of a new one.
pub fn as_new(path: &str) {
    let queue = Path::new("/sys/block").join(path.trim_start_matches("/dev/")).join("queue");
    for (knob, value) in [("scheduler", "none"), ("rq_affinity", "1"), ("nomerges", "0")] {
        fs::write(queue.join(knob), value).unwrap();
    }
}

/// Runs a program that finds this folder at `/run/volproof`: it neither sees nor puts back what the journals of other runs on this machine
/// hold, and no other run sees its journals. The process is the program's own from its first moment.
#[allow(dead_code, reason = "the race with mkfs sets no knobs")]
pub fn with_journals(folder: &Path) -> Command {
    within("mkdir -p /run/volproof && mount --bind \"$0\" /run/volproof", folder)
}

/// Runs a program in a mount namespace of its own that this script, which knows one word as `$0`, has set up.
#[allow(dead_code, reason = "the race with mkfs sets no knobs")]
pub fn within(setup: &str, word: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "slave", "sh", "-c"]);
    command.arg(format!("{setup} && exec \"$@\"")).arg(word);
    command
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.path]).status();
    }
}

//! A loop device that a test attaches and takes off again. Without root there is none, and the test says skipped.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use volproof::device::Root;
use volproof::guard::{Access, Check, Clearance, Code, GuardError, GuardSeverity, check, clear};

pub const SIZE: u64 = 320 << 20;

/// A loop device over a sparse file; detached when it goes, also in a panic.
pub struct Loop {
    pub device: PathBuf,
    pub dir: TempDir,
    _turn: File,
}

impl Loop {
    pub fn attach() -> Option<Loop> {
        let dir = tempfile::tempdir().unwrap();
        File::create(dir.path().join("disk")).unwrap().set_len(SIZE).unwrap();
        Loop::over(&dir.path().join("disk"), dir)
    }

    pub fn over(file: &Path, dir: TempDir) -> Option<Loop> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: root is needed to attach a loop device");
            return None;
        }
        let _turn = crate::guard::rig::turn(false);
        let out =
            Command::new("losetup").args(["--partscan", "--find", "--show"]).arg(file).output().unwrap();
        assert!(out.status.success(), "losetup: {}", String::from_utf8_lossy(&out.stderr));
        let device = PathBuf::from(String::from_utf8(out.stdout).unwrap().trim());
        Some(Loop { device, dir, _turn })
    }

    pub fn name(&self) -> &str {
        self.device.file_name().unwrap().to_str().unwrap()
    }

    pub fn check(&self, destroy: Option<&str>) -> Check {
        check(&Root::system(), &self.device, destroy, None).unwrap()
    }

    pub fn consent(&self) -> String {
        self.check(None).consent.unwrap()
    }

    pub fn clear(&self, destroy: Option<&str>) -> Result<Clearance, GuardError> {
        clear(&Root::system(), &self.device, Access::Destroy(destroy), true)
    }

    /// The codes of what stands in the way, even with the right consent.
    pub fn refusals(&self) -> Vec<Code> {
        let consent = self.consent();
        let check = self.check(Some(&consent));
        let refused = codes(self.clear(Some(&consent)));
        let found: Vec<Code> =
            check.findings.iter().filter(|f| f.severity > GuardSeverity::Note).map(|f| f.code).collect();
        assert_eq!(found, refused, "check and run agree");
        found
    }

    /// Nothing stands in the way any more, once mount namespaces of other tests have ended: each began with a copy of the mounts of its
    /// moment, which an `umount` here does not take away.
    pub fn comes_free(&self) {
        let consent = self.consent();
        let free = (0..600).any(|_| {
            let free = codes(self.clear(Some(&consent))).is_empty();
            std::thread::sleep(Duration::from_millis(if free { 0 } else { 100 }));
            free
        });
        assert!(free, "{:?}", self.check(Some(&consent)).findings);
        assert_eq!(self.refusals(), []);
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        run("losetup", &["--detach", self.device.to_str().unwrap()]);
    }
}

/// Runs a command at the end of a test, also in a panic.
pub struct Undo(pub &'static str, pub Vec<String>);

impl Drop for Undo {
    fn drop(&mut self) {
        let args: Vec<&str> = self.1.iter().map(String::as_str).collect();
        // udev or another test may have a look at the device in this moment, and it is busy for that long.
        let done = (0..50).any(|_| {
            let done = run(self.0, &args);
            std::thread::sleep(Duration::from_millis(if done { 0 } else { 100 }));
            done
        });
        if !done {
            eprintln!("could not be taken back: {} {args:?}", self.0);
        }
    }
}

/// Whether a command was there and succeeded.
pub fn run(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|s| s.success())
}

pub fn codes(result: Result<Clearance, GuardError>) -> Vec<Code> {
    match result.map(|_| ()) {
        Ok(()) => Vec::new(),
        Err(GuardError::Refused(check)) => {
            check.findings.iter().filter(|f| f.severity > GuardSeverity::Note).map(|f| f.code).collect()
        }
        Err(other) => panic!("{other}"),
    }
}

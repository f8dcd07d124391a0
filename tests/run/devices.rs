//! Block devices: a loop device of our own may be read; it is written only with its own name as consent.

use std::path::PathBuf;
use std::process::Command;

use crate::{Bench, is_root};

/// A loop device over a file of the bench; detached however the test ends.
struct Loop(PathBuf);

impl Loop {
    fn over(file: &std::path::Path) -> Option<Loop> {
        if !is_root() {
            println!("skipped: attaching a loop device needs root");
            return None;
        }
        let out = Command::new("losetup").args(["--find", "--show"]).arg(file).output().unwrap();
        if !out.status.success() {
            println!("skipped: losetup: {}", String::from_utf8_lossy(&out.stderr).trim());
            return None;
        }
        Some(Loop(String::from_utf8(out.stdout).unwrap().trim().into()))
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

#[test]
fn a_device_is_read_and_stays_what_it_was() {
    let bench = Bench::new();
    let file = bench.file("disk", 64);
    let Some(disk) = Loop::over(&file) else { return };
    let load = ["--preset", "read-only", "--runtime", "300ms", "--ramp", "0", "--json", "r.json"];
    bench.run(&[&["run", disk.path()], &load[..]].concat()).ended(0);
    let record = bench.record();
    assert_eq!(record.targets[0].size_bytes.0, 64 << 20);
    assert_eq!(record.steps.len(), 3);
    assert!(record.steps.iter().all(|s| s.write.is_none() && s.read.is_some()));
    let volproof::device::Facts::Block(facts) = &record.targets[0].facts else { panic!() };
    assert_eq!(facts.device.size_bytes.0, 64 << 20);
    drop(disk);
    assert!(std::fs::read(&file).unwrap().iter().all(|b| *b == 0x5a), "nothing was written");
}

#[test]
fn a_device_is_not_written_without_its_own_consent() {
    let bench = Bench::new();
    let file = bench.file("disk", 64);
    let Some(disk) = Loop::over(&file) else { return };
    for more in [&[][..], &["--overwrite"], &["--destroy", "yes"]] {
        let load = ["run", disk.path(), "--rw", "randwrite", "--runtime", "1s", "--json", "r.json"];
        let ran = bench.run(&[&load[..], more].concat()).ended(3).says(&[disk.path()]);
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
    }
    assert!(!bench.path().join("r.json").exists());
    drop(disk);
    assert!(std::fs::read(&file).unwrap().iter().all(|b| *b == 0x5a), "nothing was written");
}

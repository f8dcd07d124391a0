//! Block devices: a loop device of our own may be read; it is written only with its own name as consent.

use std::path::PathBuf;
use std::process::Command;

use crate::run::mounted::Mounted;
use crate::run::{Bench, Ran, is_root};

/// A loop device over a file of the bench; detached however the test ends.
pub struct Loop(PathBuf);

impl Loop {
    pub fn over(file: &std::path::Path) -> Option<Loop> {
        if !is_root() {
            println!("skipped: root is needed to attach a loop device");
            return None;
        }
        let out = Command::new("losetup").args(["--find", "--show"]).arg(file).output().unwrap();
        if !out.status.success() {
            println!("skipped: losetup: {}", String::from_utf8_lossy(&out.stderr).trim());
            return None;
        }
        Some(Loop(String::from_utf8(out.stdout).unwrap().trim().into()))
    }

    pub fn path(&self) -> &str {
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

#[test]
fn a_device_whose_second_reads_come_from_memory_is_never_cold() {
    let bench = Bench::new();
    let file = bench.file("disk", 64);
    let Some(disk) = Loop::over(&file) else { return };
    let direct_io = |on: &str| {
        let set = Command::new("losetup").args([&format!("--direct-io={on}"), disk.path()]).status();
        set.unwrap().success()
    };
    let cold = ["cold", disk.path(), "--tune", "off", "--json", "r.json"];
    assert!(direct_io("off"));
    bench.run(&cold).ended(2).says(&["page cache", "--direct-io=on"]);
    assert!(!bench.path().join("r.json").exists());
    if !direct_io("on") {
        return println!("skipped: this filesystem has no direct I/O");
    }
    let ran = bench.run(&cold);
    assert!(matches!(ran.code, Some(0 | 5)), "{}{}", ran.out, ran.err);
}

#[test]
fn a_device_that_one_may_not_open_is_refused() {
    let bench = Bench::new();
    let file = bench.file("disk", 64);
    let Some(disk) = Loop::over(&file) else { return };
    // Nobody's rights, on a copy of the program that nobody can reach. The device's node keeps the mode that somebody gave it earlier.
    let program = bench.path().join("volproof");
    crate::copy_program(&program);
    let mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    };
    mode(bench.path(), 0o755);
    mode(&bench.folder("open"), 0o777);
    mode(disk.path().as_ref(), 0o660);
    let ask = |arguments: &[&str]| {
        let mut nobody = Command::new("setpriv");
        nobody.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program).args(arguments);
        nobody.current_dir(bench.path().join("open")).output()
    };
    let out = match ask(&["check", disk.path(), "--json"]) {
        Ok(out) if !String::from_utf8_lossy(&out.stderr).contains("setpriv:") => out,
        other => return println!("skipped: setpriv: {other:?}"),
    };
    assert_eq!(out.status.code(), Some(3), "{out:?}");
    let check: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let found: Vec<_> = check["findings"].as_array().unwrap().iter().map(|f| f["code"].as_str()).collect();
    assert!(found.contains(&Some("no-permission")), "{found:?}");
    // Every other door says so with the same code, and so it is for a folder.
    bench.folder("sealed");
    let fio = format!("fio --name=a --filename={} --rw=randread --size=1m", disk.path());
    for line in [
        format!("run {} --rw randread --json -", disk.path()),
        format!("plan {} --rw randread", disk.path()),
        format!("million {} 1 1 4k randread --json -", disk.path()),
        fio,
        "check ../sealed".into(),
        "run ../sealed --rw randread --json -".into(),
    ] {
        let ran = Ran::of(ask(&line.split(' ').collect::<Vec<_>>()).unwrap());
        assert_eq!(ran.code, Some(3), "{line}: {}{}", ran.out, ran.err);
        let named = if line.contains("sealed") { "sealed" } else { disk.path() };
        assert!((ran.out + &ran.err).contains(named), "{line}");
    }
}

/// An ext4 in a file: unlike a tmpfs, it says where the holes of a file are.
#[test]
fn what_would_fill_the_filesystem_below_is_refused_before_the_first_io() {
    let bench = Bench::new();
    let sparse =
        |path: &std::path::Path, mib: u64| std::fs::File::create(path).unwrap().set_len(mib << 20).unwrap();
    let ext4 = |path: &std::path::Path| {
        Command::new("mkfs.ext4").args(["-q", "-F", "-m", "0"]).arg(path).status().is_ok_and(|s| s.success())
    };
    let image = bench.path().join("image");
    sparse(&image, 16);
    if !ext4(&image) {
        return println!("skipped: mkfs.ext4 is not here");
    }
    let Some(small) = Mounted::at(&bench, "small", &["-o", "loop", image.to_str().unwrap()]) else { return };
    for name in ["disk", "file"] {
        sparse(&small.0.join(name), 64);
    }
    let Some(disk) = Loop::over(&small.0.join("disk")) else { return };
    let run = |line: &str| bench.run(&line.split(' ').collect::<Vec<_>>());
    let check: serde_json::Value =
        serde_json::from_str(&run(&format!("check {} --json", disk.path())).out).unwrap();
    let serial = check["consent"].as_str().unwrap();
    let write = format!("run {} --rw write --runtime 1s --json r.json --destroy {serial}", disk.path());
    let behind =
        "small/disk, which has holes that take up to 64 MiB once they are written, and its filesystem has";
    let checked = run(&format!("check {}", disk.path())).out;
    let checked = checked.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(checked.contains("no room for"), "{checked}");
    run(&write).ended(3).says(&[behind]);
    run(&format!("fio --name=a --filename={} --rw=write --size=64m --destroy={serial}", disk.path()))
        .ended(3)
        .says(&[behind]);
    let holes = "small/file has holes that take up to 64 MiB once they are written, and its filesystem has";
    run("fio --name=a --filename=small/file --rw=write --size=64m").ended(3).says(&[holes]);
    run("run small/file --overwrite --rw write --runtime 1s --json r.json").ended(3).says(&[holes]);
    assert!(!bench.path().join("r.json").exists(), "nothing was begun");
    // What fits is written.
    run(&format!("{write} --io-size 1M")).ended(0);
    run("fio --name=a --filename=small/file --rw=write --size=1m").ended(0);
    // The filesystem on the device says that it has room, and the one below it has none.
    assert!(ext4(disk.path().as_ref()));
    let Some(_nested) = Mounted::at(&bench, "nested", &[disk.path()]) else { return };
    let free = || rustix::fs::statvfs(&small.0).unwrap().f_bfree;
    let before = free();
    let below = "small/disk, in which nested lies, has";
    run("run nested --file-size 32M --rw write --runtime 1s --json r.json")
        .ended(2)
        .says(&[below, "does not fit"]);
    run("fio --name=a --directory=nested --rw=read --size=32m")
        .ended(3)
        .says(&["small/disk, which has holes"]);
    run("fio --name=a --directory=nested --rw=write --size=32m")
        .ended(3)
        .says(&["small/disk, which has holes"]);
    // Blocks that mkfs gave back come free only now.
    assert!(before.saturating_sub(free()) < 1024, "nothing of it was written");
}

/// Runs a script in mounts of its own, which go away with it.
fn in_own_mounts(bench: &Bench, script: &str, arguments: &[&str]) -> Ran {
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-euc",
        script,
        "sh",
        env!("CARGO_BIN_EXE_volproof"),
    ]);
    Ran::of(command.args(arguments).current_dir(bench.path()).output().unwrap())
}

#[test]
fn nothing_is_busy_once_a_run_has_ended() {
    let bench = Bench::new();
    let file = bench.file("disk", 64);
    let Some(disk) = Loop::over(&file) else { return };
    bench.folder("data");
    // Each run is followed at once by what needs the target for itself: mkfs claims the device, umount ends its last use.
    let script = "bin=$1 device=$2 engine=$3
        mkfs.ext4 -q -F $device
        for turn in 1 2 3 4 5; do
            mount $device data
            $bin run data --file-size 16M --engine $engine --rw randread --runtime 60s --io-size 256k --ramp 0 -q --json r.json
            umount data
            $bin run $device --engine $engine --rw randread --runtime 60s --io-size 256k --ramp 0 -q --json r.json
            mkfs.ext4 -q -F $device
        done";
    for engine in ["io_uring", "libaio", "psync"] {
        in_own_mounts(&bench, script, &[disk.path(), engine]).ended(0);
    }
}

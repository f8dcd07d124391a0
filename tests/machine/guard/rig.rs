//! What tests of the guard need: files, devices, mounts and processes of their own, and every door of the program, which is tried for real.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// Files, devices and processes that are taken down in reverse order, however the test ends.
pub struct Rig {
    pub dir: TempDir,
    undo: Vec<(&'static str, Vec<OsString>)>,
    children: Vec<Child>,
    _turn: File,
}

/// A turn together with all other tests, or alone: what no mount names may be any file of the machine that is in use. The lock is on the root
/// folder, which another copy of the tests has too.
pub fn turn(alone: bool) -> File {
    let tests = File::open("/").unwrap();
    let lock = if alone {
        rustix::fs::FlockOperation::LockExclusive
    } else {
        rustix::fs::FlockOperation::LockShared
    };
    rustix::fs::flock(&tests, lock).unwrap();
    tests
}

impl Rig {
    /// Nothing, said aloud, without root.
    pub fn new() -> Option<Rig> {
        Rig::with(false)
    }

    /// While no other test runs that has a file in use.
    pub fn alone() -> Option<Rig> {
        Rig::with(true)
    }

    fn with(alone: bool) -> Option<Rig> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: attaching a loop device needs root");
            return None;
        }
        Some(Rig { dir: TempDir::new().unwrap(), undo: Vec::new(), children: Vec::new(), _turn: turn(alone) })
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A sparse file.
    pub fn image(&self, name: impl AsRef<Path>, mib: u64) -> PathBuf {
        let path = self.path(name);
        File::create(&path).unwrap().set_len(mib << 20).unwrap();
        path
    }

    /// Runs a command that must succeed, and remembers the one that takes its work back.
    pub fn make(&mut self, command: &[&OsStr], undo: Option<(&'static str, &[&OsStr])>) -> Vec<u8> {
        let out = Command::new(command[0]).args(&command[1..]).stdin(Stdio::null()).output().unwrap();
        assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
        if let Some((program, args)) = undo {
            self.undo(program, args);
        }
        out.stdout
    }

    /// A command that takes something back at the end.
    pub fn undo(&mut self, program: &'static str, args: &[&OsStr]) {
        self.undo.push((program, args.iter().map(OsString::from).collect()));
    }

    /// A process that is ended at the end.
    pub fn keep(&mut self, child: Child) {
        self.children.push(child);
    }

    pub fn loop_over(&mut self, file: &Path, options: &[&str]) -> PathBuf {
        let mut command: Vec<&OsStr> = ["losetup", "--find", "--show", "--partscan"].map(OsStr::new).to_vec();
        command.extend(options.iter().map(OsStr::new));
        command.push(file.as_os_str());
        let out = self.make(&command, None);
        let device = PathBuf::from(String::from_utf8(out).unwrap().trim());
        self.undo.push(("losetup", vec!["--detach".into(), device.clone().into()]));
        device
    }

    pub fn filesystem(&mut self, device: &Path) {
        let options = ["mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-E", "lazy_itable_init=0"];
        let mut command: Vec<&OsStr> = options.map(OsStr::new).to_vec();
        command.push(device.as_os_str());
        self.make(&command, None);
    }

    pub fn mount(&mut self, device: &Path) -> PathBuf {
        let place = self.path(format!("mnt{}", self.undo.len()));
        fs::create_dir(&place).unwrap();
        let command = [OsStr::new("mount"), OsStr::new("-onoatime"), device.as_os_str(), place.as_os_str()];
        self.make(&command, Some(("umount", &[place.as_os_str()])));
        place
    }

    /// A process that keeps this open for reading and writing, as long as the test lives.
    pub fn open(&mut self, path: &Path) {
        let file = File::options().read(true).write(true).open(path).unwrap();
        self.children.push(Command::new("cat").stdin(Stdio::piped()).stdout(file).spawn().unwrap());
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        for (program, args) in self.undo.iter().rev() {
            // A mount namespace goes a moment after its last process.
            let done = (0..50).any(|_| {
                let done =
                    Command::new(program).args(args).stdin(Stdio::null()).stderr(Stdio::null()).status();
                let done = done.is_ok_and(|d| d.success());
                if !done {
                    std::thread::sleep(std::time::Duration::from_millis(100));
                }
                done
            });
            // Another program that looks at a loop device over the file keeps the mount busy for longer; a lazy one goes with it.
            let lazy = || Command::new(program).arg("--lazy").args(args).status().is_ok_and(|d| d.success());
            if !(done || *program == "umount" && lazy()) {
                eprintln!("could not be taken back: {program} {args:?}");
            }
        }
    }
}

/// Starts a program that prints this line once it has done its work, and then waits for its input to end.
pub fn started(program: &mut Command, line: &str) -> Child {
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said.trim_end(), line);
    child
}

/// The program in the rig's folder; `within` stands before it, such as `unshare`.
pub fn volproof(rig: &Rig, within: &[&str], args: &[&OsStr]) -> (Option<i32>, String) {
    let mut words: Vec<&OsStr> = within.iter().map(OsStr::new).collect();
    words.push(OsStr::new(env!("CARGO_BIN_EXE_volproof")));
    words.extend(args);
    let out = Command::new(words[0])
        .args(&words[1..])
        .current_dir(rig.dir.path())
        .env("TMPDIR", rig.dir.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    (out.status.code(), said)
}

/// The program did what it was told. A load of some milliseconds need not have measured anything.
pub fn done((code, said): &(Option<i32>, String)) -> bool {
    // 6: it measured, and its figures show no volume, as those of a sweep of 50 ms a point may.
    matches!(code, Some(0 | 6)) || said.contains("Nothing was measured") || said.contains("[no I/O of ")
}

pub fn words<'a>(line: &'a str, target: &'a OsStr) -> Vec<&'a OsStr> {
    line.split(' ').map(|w| if w == "TARGET" { target } else { OsStr::new(w) }).collect()
}

/// The consent that `check` prints for a device.
pub fn consent(rig: &Rig, device: &Path) -> String {
    let (_, said) = volproof(rig, &[], &words("check TARGET --json", device.as_os_str()));
    let check: serde_json::Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    check["consent"].as_str().unwrap().to_string()
}

/// A run that writes over a file.
pub const RUN: &str =
    "run TARGET --overwrite=shared --rw randwrite --bs 4k --runtime 50ms --tune off --json r.json --quiet";
const ENGINE: &str = "run TARGET --overwrite=shared --rw randwrite --bs 4k --runtime 100ms --tune off --json r.json --quiet --engine fio";
const MILLION: &str =
    "million TARGET 1 1 4k randwrite --overwrite=shared --runtime 50ms --tune off --json r.json --quiet";

/// No door lets a write to this file through, and the bytes of `image` stay.
pub fn refused(rig: &Rig, target: &Path, image: &Path, why: &str) {
    refused_within(rig, &[], target, image, why);
}

pub fn refused_within(rig: &Rig, within: &[&str], target: &Path, image: &Path, why: &str) {
    let fio = Command::new("fio").arg("--version").output().is_ok();
    let before = fs::read(image).unwrap();
    let file = format!("--filename={}", target.display());
    let native = ["fio", "--name=a", &file, "--rw=randwrite", "--io_size=64k"].map(OsStr::new).to_vec();
    let mut handed = native.clone();
    handed.push(OsStr::new("--verify=crc32c"));
    let mut doors = vec![words(RUN, target.as_os_str())];
    doors.extend(target.to_str().map(|t| words(MILLION, OsStr::new(t))));
    // fio's command lines are text, in which blanks at the end, tabs and backslashes mean nothing or something else.
    let odd = |c: char| c.is_whitespace() || c == '\\';
    if target.to_str().is_some_and(|t| !t.contains(odd)) {
        doors.push(native);
        if fio {
            doors.extend([handed, words(ENGINE, target.as_os_str())]);
        }
    }
    for door in doors {
        let (code, said) = volproof(rig, within, &door);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        // A Record cannot hold a name that is not UTF-8: such a target is refused before anybody looks at its use.
        let unnamed = target.to_str().is_none() && code == Some(2) && said.contains("is not UTF-8");
        assert!(unnamed || (code == Some(3) && said.contains(why)), "{door:?}: {code:?} {said}");
        assert!(fs::read(image).unwrap() == before, "{door:?}: the image was written to");
    }
}

/// No consent gets a write to this device through.
pub fn device_refused(rig: &Rig, device: &Path, image: &Path, why: &str) {
    let before = fs::read(image).unwrap();
    let consent = consent(rig, device);
    for line in [RUN, MILLION] {
        let mut door = words(line, device.as_os_str());
        door.extend([OsStr::new("--destroy"), OsStr::new(&consent)]);
        let (code, said) = volproof(rig, &[], &door);
        assert_eq!(code, Some(3), "{door:?}: {said}");
        assert!(said.contains(why), "{door:?}: {said}");
        assert!(fs::read(image).unwrap() == before, "{door:?}: the image was written to");
    }
}

pub fn written(rig: &Rig, target: &Path, destroy: bool) {
    let mut door = words(RUN, target.as_os_str());
    let consent = if destroy { consent(rig, target) } else { String::new() };
    if destroy {
        door.extend([OsStr::new("--destroy"), OsStr::new(&consent)]);
    }
    let ended = volproof(rig, &[], &door);
    assert!(done(&ended), "{ended:?}");
}

/// An overlay with its layers; the mount's options are as given, so that layers may be named in full or from the folder of the mounter.
pub fn overlay(rig: &mut Rig, name: &str, from: &Path) -> Option<[PathBuf; 3]> {
    let [lower, upper, work, seen] =
        ["lower", "upper", "work", "seen"].map(|part| PathBuf::from(format!("{name}-{part}")));
    for part in [&lower, &upper, &work, &seen] {
        fs::create_dir(rig.path(part)).unwrap();
    }
    let [a, b, c] = [&lower, &upper, &work].map(|part| from.join(part).display().to_string());
    let options = format!("lowerdir={a},upperdir={b},workdir={c}");
    let mounted = Command::new("mount")
        .args(["-t", "overlay", "overlay", "-o", &options])
        .arg(rig.path(&seen))
        .current_dir(rig.path(""))
        .stderr(Stdio::null())
        .status();
    if !mounted.is_ok_and(|s| s.success()) {
        eprintln!("skipped: this kernel has no overlay that lies here");
        return None;
    }
    rig.undo("umount", &[rig.path(&seen).as_os_str()]);
    Some([rig.path(lower), rig.path(upper), rig.path(seen)])
}

//! Random stacks, built for real: loop devices over files, devices and partitions, at offsets; hard links, bind mounts, unlinked and odd names;
//! mounts here and in another mount namespace, swap, and processes that keep something open. For every target the guard's answer is
//! compared with that of a plain model, which knows which bytes of which file each device shows because it built them so.
//!
//! 200 stacks, or `VOLPROOF_STACKS`; the first has the seed 1, or `VOLPROOF_SEED`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use volproof::device::{Facts, Root, facts};
use volproof::guard::{Access, Code, GuardError, clear, consent};

use crate::attacks::Rig;

const MIB: u64 = 1 << 20;
/// Length of a file of the model.
const FILE: u64 = 24 * MIB;

/// Bytes of one of the files.
#[derive(Clone, Copy, Debug)]
struct Bytes {
    file: usize,
    from: u64,
    to: u64,
}

impl Bytes {
    fn meets(self, other: Bytes) -> bool {
        self.file == other.file && self.from < other.to && other.from < self.to
    }
}

#[derive(Debug)]
struct Device {
    path: PathBuf,
    shows: Bytes,
    /// The devices that it was made from, directly and not.
    made_from: Vec<usize>,
    partition: bool,
}

/// What the model knows of a stack.
#[derive(Default, Debug)]
struct Model {
    /// Every name of every file, by file.
    names: Vec<Vec<PathBuf>>,
    devices: Vec<Device>,
    /// Mounted, swapped to, or open for writing.
    used: Vec<Bytes>,
    /// Files that are swapped to, and those that a process has open.
    swapped: Vec<usize>,
    opened: Vec<usize>,
}

struct Builder {
    rig: Rig,
    model: Model,
    random: Xoshiro256PlusPlus,
}

/// Runs a command; false when it failed.
fn does(program: &str, args: &[&OsStr]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|s| s.success())
}

impl Builder {
    fn below(&mut self, limit: usize) -> usize {
        (self.random.next_u64() % limit as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn file(&mut self) {
        let n = self.model.names.len();
        let odd: [&[u8]; 6] = [b"plain", b"blank ", b"line\n", b"\xff\xfe", b"back\\slash", b"quote'\"$"];
        let name = [odd[self.below(odd.len())], n.to_string().as_bytes(), odd[self.below(2)]].concat();
        let first = self.rig.path(OsStr::from_bytes(&name));
        File::create(&first).unwrap().set_len(FILE).unwrap();
        let mut names = vec![first.clone()];
        if self.chance(40) {
            let link = self.rig.path(format!("link{n} "));
            fs::hard_link(&first, &link).unwrap();
            names.push(link);
        }
        if self.chance(25) {
            let bound = self.rig.path(format!("bound{n}"));
            File::create(&bound).unwrap();
            let command = [OsStr::new("mount"), OsStr::new("--bind"), first.as_os_str(), bound.as_os_str()];
            self.rig.make(&command, Some(("umount", &[bound.as_os_str()])));
            names.push(bound);
        }
        self.model.names.push(names);
    }

    /// A loop device over a file or over another device, over all of it or a part.
    fn loop_device(&mut self) {
        let over =
            (!self.model.devices.is_empty() && self.chance(50)).then(|| self.below(self.model.devices.len()));
        let (path, base, mut made_from) = match over {
            Some(n) => {
                let device = &self.model.devices[n];
                (device.path.clone(), device.shows, [&device.made_from[..], &[n]].concat())
            }
            None => {
                let file = self.below(self.model.names.len());
                let name = self.below(self.model.names[file].len());
                (self.model.names[file][name].clone(), Bytes { file, from: 0, to: FILE }, Vec::new())
            }
        };
        made_from.dedup();
        let length = base.to - base.from;
        let mut shows = base;
        let mut options = Vec::new();
        if length >= 4 * MIB && self.chance(50) {
            let blocks = (length / MIB) as usize;
            let start = self.below(blocks / 2) as u64 * MIB;
            let size = (1 + self.below(blocks / 2)) as u64 * MIB;
            shows = Bytes { from: base.from + start, to: base.from + start + size, ..base };
            options = vec![format!("--offset={start}"), format!("--sizelimit={size}")];
        }
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let path = self.rig.loop_over(&path, &options);
        self.model.devices.push(Device { path, shows, made_from, partition: false });
    }

    fn partitions(&mut self) {
        let n = self.below(self.model.devices.len());
        let (disk, shows) = (self.model.devices[n].path.clone(), self.model.devices[n].shows);
        let named = format!("{}p", disk.display());
        let divided = |d: &Device| d.path.to_str().unwrap().starts_with(&named);
        let length = shows.to - shows.from;
        if self.model.devices[n].partition || self.model.devices.iter().any(divided) || length < 4 * MIB {
            return;
        }
        let half = length / 2 / MIB * MIB;
        for (number, start) in [("1", 0), ("2", half)] {
            let (start, size) = (start + MIB / 2, half - MIB / 2);
            let words = [(start / 512).to_string(), (size / 512).to_string()];
            let add = [disk.as_os_str(), OsStr::new(number), OsStr::new(&words[0]), OsStr::new(&words[1])];
            if !does("addpart", &add) {
                return;
            }
            self.rig.undo("delpart", &[disk.as_os_str(), OsStr::new(number)]);
            let from = shows.from + start;
            let made_from = [&self.model.devices[n].made_from[..], &[n]].concat();
            let path = PathBuf::from(format!("{named}{number}"));
            let shows = Bytes { from, to: from + size, ..shows };
            self.model.devices.push(Device { path, shows, made_from, partition: true });
        }
    }

    /// Takes a device into use, unless something on its bytes is in use already.
    fn device_use(&mut self) {
        let n = self.below(self.model.devices.len());
        let (path, shows) = (self.model.devices[n].path.clone(), self.model.devices[n].shows);
        let busy = self.model.used.iter().any(|u| u.meets(shows)) || self.model.swapped.contains(&shows.file);
        let kind = self.below(if busy { 1 } else { 8 });
        match kind {
            0 if self.chance(20) => {
                let node = self.node(n);
                self.rig.open(&node);
                fs::remove_file(node).unwrap();
            }
            1..=3 => {
                self.rig.filesystem(&path);
                self.rig.mount(&path);
            }
            4 => {
                self.rig.filesystem(&path);
                self.mount_elsewhere(&path);
            }
            5 => {
                let on = does("mkswap", &[path.as_os_str()]) && does("swapon", &[path.as_os_str()]);
                if !on {
                    return;
                }
                self.rig.undo("swapoff", &[path.as_os_str()]);
            }
            _ => return,
        }
        self.model.used.push(shows);
    }

    /// Another node of the device, outside /dev.
    fn node(&mut self, device: usize) -> PathBuf {
        let name = self.model.devices[device].path.file_name().unwrap().to_owned();
        let number = fs::read_to_string(Path::new("/sys/class/block").join(&name).join("dev")).unwrap();
        let (major, minor) = number.trim().split_once(':').unwrap();
        let node = self.rig.path("node");
        let words = [node.as_os_str(), OsStr::new("b"), OsStr::new(major), OsStr::new(minor)];
        assert!(does("mknod", &words));
        node
    }

    fn mount_elsewhere(&mut self, device: &Path) {
        let place = self.rig.path("elsewhere");
        let _ = fs::create_dir(&place);
        let script = "mount \"$0\" \"$1\" && echo mounted && exec sleep 600 >/dev/null";
        let mut child = Command::new("unshare")
            .args(["--mount", "--propagation", "slave", "sh", "-c", script])
            .args([device, &place])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        self.rig.keep(child);
        assert_eq!(said, "mounted\n");
    }

    fn file_use(&mut self) {
        let file = self.below(self.model.names.len());
        let all = Bytes { file, from: 0, to: FILE };
        let free = !self.model.devices.iter().any(|d| d.shows.file == file);
        if free
            && self.chance(50)
            && !self.model.opened.contains(&file)
            && !self.model.swapped.contains(&file)
        {
            let path = self.model.names[file][0].clone();
            // No holes in a swap file.
            fs::write(&path, vec![0; FILE as usize]).unwrap();
            let path = path.as_os_str();
            if does("chmod", &[OsStr::new("600"), path]) && does("mkswap", &[path]) && does("swapon", &[path])
            {
                self.rig.undo("swapoff", &[path]);
                self.model.swapped.push(file);
                self.model.used.push(all);
            }
        } else if !self.model.swapped.contains(&file) {
            let path = self.model.names[file][0].clone();
            self.rig.open(&path);
            self.model.opened.push(file);
            self.model.used.push(all);
        }
    }

    /// The first name goes, where another one is left that is no bind mount of it.
    fn unlink(&mut self) {
        for names in &mut self.model.names {
            if names.len() > 1
                && self.random.next_u64().is_multiple_of(3)
                && fs::remove_file(&names[0]).is_ok()
            {
                names.remove(0);
            }
        }
    }

    fn build(seed: u64) -> Option<Builder> {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut b = Builder { rig: Rig::new()?, model: Model::default(), random };
        for _ in 0..1 + b.below(2) {
            b.file();
        }
        for _ in 0..1 + b.below(4) {
            b.loop_device();
            if b.chance(40) {
                b.partitions();
            }
        }
        for _ in 0..b.below(3) {
            b.device_use();
        }
        if b.chance(8) {
            b.file_use();
        }
        b.unlink();
        Some(b)
    }
}

impl Model {
    /// Whether a write to a device harms somebody: its bytes are in use, or a loop device was made from it.
    fn refuses_device(&self, n: usize) -> bool {
        let held = |d: &Device| !d.partition && d.made_from.contains(&n);
        // A loop device over a partition of the target is made from the target too.
        self.used.iter().any(|u| u.meets(self.devices[n].shows)) || self.devices.iter().any(held)
    }

    fn refuses_file(&self, file: usize) -> bool {
        self.swapped.contains(&file) || self.devices.iter().any(|d| d.shows.file == file)
    }

    fn shared_file(&self, file: usize) -> bool {
        use std::os::unix::fs::MetadataExt;
        self.opened.contains(&file) || fs::metadata(&self.names[file][0]).unwrap().nlink() > 1
    }
}

/// Whether the guard refuses a write, for reasons of use and not of data.
fn refused(target: &Path, access: Access<'_>) -> Option<String> {
    match clear(&Root::system(), target, access, false).and_then(|mut c| c.confirm()) {
        Ok(()) => None,
        Err(GuardError::Refused(check)) => {
            let data = |c: Code| matches!(c, Code::Exists | Code::OpinionsDiffer | Code::Misaligned);
            let note = volproof::guard::GuardSeverity::Note;
            let found = check.findings.iter().filter(|f| f.severity > note && !data(f.code));
            let text: Vec<String> = found.map(|f| format!("{}: {}", f.code.name(), f.what)).collect();
            (!text.is_empty()).then(|| text.join("; "))
        }
        Err(e) => panic!("{}: {e}", target.display()),
    }
}

#[test]
fn random_stacks_are_judged_as_a_plain_model_does() {
    let from_environment = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let first = from_environment("VOLPROOF_SEED").unwrap_or(1);
    let (mut allowed, mut denied) = (0, 0);
    for seed in first..first + from_environment("VOLPROOF_STACKS").unwrap_or(200) {
        let Some(b) = Builder::build(seed) else { return };
        if seed.is_multiple_of(50) {
            println!("seed {seed}");
        }
        let mut compare = |target: &Path, access: Access<'_>, due: bool| {
            let answer = refused(target, access);
            assert_eq!(
                answer.is_some(),
                due,
                "seed {seed}, {}: {answer:?}\n{:#?}",
                target.display(),
                b.model
            );
            if due { denied += 1 } else { allowed += 1 }
        };
        for (n, device) in b.model.devices.iter().enumerate().rev().take(3) {
            let Facts::Block(known) = facts(&Root::system(), &device.path).unwrap() else {
                panic!("no device")
            };
            let consent = consent(&known.device, &known.usage);
            compare(&device.path, Access::Destroy(Some(&consent)), b.model.refuses_device(n));
        }
        for (n, names) in b.model.names.iter().enumerate() {
            let name = &names[seed as usize % names.len()];
            let (hard, soft) = (b.model.refuses_file(n), b.model.shared_file(n));
            let shared = seed.is_multiple_of(2);
            compare(name, Access::Overwrite { shared }, hard || (soft && !shared));
        }
    }
    println!("{allowed} writes allowed, {denied} refused, as the model has it");
    assert!(allowed > 0 && denied > 0);
}

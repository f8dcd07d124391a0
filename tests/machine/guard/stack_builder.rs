//! Builds random stacks for real, and writes down in the model what it has built.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::guard::rig::{Rig, started};
use crate::guard::stack_model::{Bytes, Device, Made, Model, slice};

pub const MIB: u64 = 1 << 20;
/// Length of a file of the model.
const FILE: u64 = 24 * MIB;

pub struct Builder {
    pub rig: Rig,
    pub model: Model,
    pub seed: u64,
    random: Xoshiro256PlusPlus,
}

/// A machine's means for stacks beyond loop devices.
#[derive(Default)]
pub struct Machine {
    /// Device mapper, md, bcache and LVM.
    pub layers: bool,
    /// btrfs.
    pub pools: bool,
    /// Disks whose data may go, each with all its paths.
    pub disks: Vec<Vec<PathBuf>>,
}

/// Runs a command; false when it failed.
pub fn does(program: &str, args: &[&OsStr]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|s| s.success())
}

impl Builder {
    pub fn build(seed: u64, machine: &Machine) -> Option<Builder> {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut b = Builder { rig: Rig::new()?, model: Model::default(), seed, random };
        let (files, pooled) = (1 + b.below(2), machine.pools && seed.is_multiple_of(5));
        for _ in 0..if pooled { files + 2 } else { files } {
            b.file();
        }
        if !machine.disks.is_empty() && b.chance(30) {
            let disk = b.below(machine.disks.len());
            b.disk(&machine.disks[disk]);
        }
        if machine.layers {
            // Devices that share no byte: what is built on two needs both.
            (0..b.model.names.len()).for_each(|file| b.loop_device(Some(file), false));
        }
        if pooled {
            b.pool([files, files + 1]);
        }
        for _ in 0..1 + b.below(4) {
            b.loop_device(None, false);
            if machine.layers && b.chance(50) {
                b.layer();
            }
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

    pub fn below(&mut self, limit: usize) -> usize {
        (self.random.next_u64() % limit as u64) as usize
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A space of bytes that lie on these.
    pub fn space(&mut self, on: Vec<Bytes>, length: u64) -> Bytes {
        self.model.spaces.push(on);
        Bytes { space: self.model.spaces.len() - 1, from: 0, to: length }
    }

    pub fn device(&mut self, path: PathBuf, shows: Vec<Bytes>, from: &[usize], made: Made) -> usize {
        let mut made_from = from.to_vec();
        made_from.extend(from.iter().flat_map(|n| &self.model.devices[*n].made_from).copied());
        self.model.devices.push(Device { path, shows, on: from.to_vec(), made_from, over: None, made });
        self.model.devices.len() - 1
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
        self.space(Vec::new(), FILE);
        self.model.names.push(names);
    }

    /// A disk by each of its paths, without what earlier stacks left on it.
    fn disk(&mut self, paths: &[PathBuf]) {
        let disk = File::options().write(true).open(&paths[0]).unwrap();
        disk.write_all_at(&[0; 1 << 20], 0).unwrap();
        disk.sync_all().unwrap();
        let length = length_of(&paths[0]);
        let all = self.space(Vec::new(), length);
        for path in paths {
            self.device(path.clone(), vec![all], &[], Made::Disk);
        }
    }

    /// A loop device over this file, or else over any file or device, over all of it or perhaps a part.
    fn loop_device(&mut self, over_file: Option<usize>, whole: bool) {
        let over = (over_file.is_none() && !self.model.devices.is_empty() && self.chance(50))
            .then(|| self.below(self.model.devices.len()));
        let mut file = None;
        let (path, base, from) = match over {
            Some(n) => {
                let device = &self.model.devices[n];
                (device.path.clone(), device.shows.clone(), vec![n])
            }
            None => {
                let space = over_file.unwrap_or_else(|| self.below(self.model.names.len()));
                file = Some(space);
                let name = self.below(self.model.names[space].len());
                let all = Bytes { space, from: 0, to: FILE };
                (self.model.names[space][name].clone(), vec![all], Vec::new())
            }
        };
        let length: u64 = base.iter().map(|b| b.length()).sum();
        let mut shows = base.clone();
        let mut options = Vec::new();
        if !whole && length >= 4 * MIB && self.chance(50) {
            let blocks = (length / MIB) as usize;
            let start = self.below(blocks / 2) as u64 * MIB;
            let size = (1 + self.below(blocks / 2)) as u64 * MIB;
            shows = slice(&base, start, size);
            options = vec![format!("--offset={start}"), format!("--sizelimit={size}")];
        }
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let path = self.rig.loop_over(&path, &options);
        let n = self.device(path, shows, &from, Made::Loop);
        self.model.devices[n].over = file;
    }

    fn partitions(&mut self) {
        let n = self.below(self.model.devices.len());
        let disk = self.model.devices[n].path.clone();
        let shown = disk.display().to_string();
        let named = if shown.ends_with(|c: char| c.is_ascii_digit()) { format!("{shown}p") } else { shown };
        let divided = |d: &Device| {
            d.path.to_str().unwrap().strip_prefix(&named).is_some_and(|rest| rest == "1" || rest == "2")
        };
        let length = self.model.devices[n].length();
        if self.model.devices[n].made == Made::Partition
            || self.model.devices.iter().any(divided)
            || length < 4 * MIB
        {
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
            let shows = slice(&self.model.devices[n].shows, start, size);
            self.device(format!("{named}{number}").into(), shows, &[n], Made::Partition);
        }
    }

    /// Takes a device into use, unless something on its bytes is in use already.
    fn device_use(&mut self) {
        let n = self.below(self.model.devices.len());
        let (path, shows) = (self.model.devices[n].path.clone(), self.model.devices[n].shows.clone());
        let swapped = |b: &Bytes| self.model.swapped.contains(&b.space);
        let busy = self.model.in_use(n) || self.model.disk_is_claimed(n) || shows.iter().any(swapped);
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
                self.model.uses.insert("swap");
            }
            _ => return,
        }
        self.model.used.extend(shows.iter().map(|bytes| (*bytes, None)));
    }

    /// A mounted btrfs over two files, of which its mount names one.
    fn pool(&mut self, files: [usize; 2]) {
        let members = files.map(|file| {
            self.loop_device(Some(file), true);
            self.model.devices.len() - 1
        });
        let paths = members.map(|n| self.model.devices[n].path.clone());
        let [first, second] = paths.each_ref().map(|path| path.as_os_str());
        let mixed = ["-q", "-f", "-M", "-n", "4096"].map(OsStr::new);
        if !does("mkfs.btrfs", &[&mixed[..], &[first, second]].concat()) {
            return;
        }
        // Some kernels forget the members when the filesystem is unmounted.
        let forget = OsStr::new("btrfs device scan --forget \"$0\" \"$1\" || true");
        self.rig.undo("sh", &[OsStr::new("-c"), forget, first, second]);
        self.rig.mount(&paths[0]);
        let used: Vec<Bytes> = members.iter().flat_map(|n| self.model.devices[*n].shows.clone()).collect();
        self.model.used.extend(used.into_iter().map(|bytes| (bytes, None)));
        self.model.uses.insert("btrfs");
    }

    /// Another node of the device, outside /dev.
    fn node(&mut self, device: usize) -> PathBuf {
        let raw = fs::metadata(&self.model.devices[device].path).unwrap().rdev();
        let numbers = [rustix::fs::major(raw), rustix::fs::minor(raw)].map(|n| n.to_string());
        let node = self.rig.path("node");
        let words = [node.as_os_str(), OsStr::new("b"), OsStr::new(&numbers[0]), OsStr::new(&numbers[1])];
        assert!(does("mknod", &words));
        node
    }

    fn mount_elsewhere(&mut self, device: &Path) {
        let place = self.rig.path("elsewhere");
        let _ = fs::create_dir(&place);
        let script = "mount \"$0\" \"$1\" && echo mounted && exec cat >/dev/null";
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "slave", "sh", "-c", script]).args([device, &place]);
        self.rig.keep(started(&mut command, "mounted"));
    }

    fn file_use(&mut self) {
        let file = self.below(self.model.names.len());
        let all = Bytes { space: file, from: 0, to: FILE };
        let free = !self.model.devices.iter().any(|d| d.over == Some(file));
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
                self.model.uses.insert("swap file");
                self.model.used.push((all, None));
            }
        } else if !self.model.swapped.contains(&file) {
            let path = self.model.names[file][0].clone();
            self.rig.open(&path);
            self.model.opened.push(file);
            self.model.used.push((all, None));
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
}

/// The length of a block device.
pub fn length_of(device: &Path) -> u64 {
    fs::read_to_string(entry(device).join("size")).unwrap().trim().parse::<u64>().unwrap() * 512
}

/// The folder of a block device in sysfs.
pub fn entry(device: &Path) -> PathBuf {
    let raw = fs::metadata(device).unwrap().rdev();
    format!("/sys/dev/block/{}:{}", rustix::fs::major(raw), rustix::fs::minor(raw)).into()
}

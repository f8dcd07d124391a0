//! Layers that a guest's kernel has: device mapper, md, bcache, and the volumes of LVM.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::guard::stack_builder::{Builder, MIB, entry, length_of};
use crate::guard::stack_model::{Bytes, Made, slice};

/// md's data begins behind its superblock; bcache's too.
const SMALLEST: u64 = 6 * MIB;

impl Builder {
    /// A device built on one or two others, if any are free for it.
    pub fn layer(&mut self) {
        let free: Vec<usize> = (0..self.model.devices.len()).filter(|n| self.free(*n)).collect();
        if free.is_empty() {
            return;
        }
        let one = free[self.below(free.len())];
        let apart = |n: &&usize| {
            let (a, b) = (&self.model.devices[**n], &self.model.devices[one]);
            !self.model.share(&a.shows, &b.shows)
        };
        let others: Vec<usize> = free.iter().filter(apart).copied().collect();
        let two = if others.is_empty() { None } else { Some(others[self.below(others.len())]) };
        let lies_on = |b: &Builder, name: &str| {
            b.is(one, name) || b.model.devices[one].made_from.iter().any(|below| b.is(*below, name))
        };
        // In turn and not drawn, so that few stacks have all of them.
        match ((self.seed as usize + self.model.devices.len()) % 9, two) {
            (0, _) => self.linear(one, two),
            (1, _) => self.crypt(one),
            (2 | 3, Some(two)) => self.striped(one, two),
            (4, Some(two)) => self.array(&[one, two], "0"),
            (5, _) => self.array(&[Some(one), two].into_iter().flatten().collect::<Vec<_>>(), "1"),
            // The kernel caches no cached device, and LVM takes none of its volumes as a disk.
            (6, _) if !lies_on(self, "/bcache") => self.cached(one),
            _ if !self.is(one, "/stack_group") => self.volumes(one),
            _ => self.crypt(one),
        }
    }

    /// Nothing is on its bytes, and it is large enough.
    fn free(&self, n: usize) -> bool {
        let device = &self.model.devices[n];
        device.length() >= SMALLEST && !self.model.refuses_device(n)
    }

    /// Whether a device is one of these, by its name.
    fn is(&self, n: usize, name: &str) -> bool {
        self.model.devices[n].path.to_str().unwrap().contains(name)
    }

    fn name(&self, kind: &str) -> String {
        format!("stack-{kind}{}", self.model.devices.len())
    }

    /// Makes a device of the device mapper from a table.
    fn mapped(&mut self, kind: &str, table: &str, members: &[(usize, Vec<Bytes>)], shows: Vec<Bytes>) {
        let name = self.name(kind);
        let command = ["dmsetup", "create", &name, "--table", table].map(OsStr::new);
        self.rig.make(&command, Some(("dmsetup", &["remove", "--retry", &name].map(OsStr::new))));
        self.built(Path::new("/dev/mapper").join(&name), members, shows);
    }

    /// Writes down a device and the bytes of its members that it uses.
    fn built(&mut self, path: PathBuf, members: &[(usize, Vec<Bytes>)], shows: Vec<Bytes>) {
        let from: Vec<usize> = members.iter().map(|(n, _)| *n).collect();
        let n = self.device(path, shows, &from, Made::Built);
        let used = members.iter().flat_map(|(_, bytes)| bytes).map(|bytes| (*bytes, Some(n)));
        self.model.used.extend(used);
    }

    /// A part of one device, and of another behind it.
    fn linear(&mut self, one: usize, two: Option<usize>) {
        let (mut table, mut members, mut shows) = (String::new(), Vec::new(), Vec::new());
        let mut at = 0;
        for n in [Some(one), two.filter(|_| self.chance(50))].into_iter().flatten() {
            let blocks = (self.model.devices[n].length() / MIB) as usize;
            let (start, size) = (self.below(blocks / 2) as u64 * MIB, (blocks / 2) as u64 * MIB);
            let path = self.model.devices[n].path.display();
            table += &format!("{} {} linear {path} {}\n", at / 512, size / 512, start / 512);
            at += size;
            let part = slice(&self.model.devices[n].shows, start, size);
            shows.extend(part.clone());
            members.push((n, part));
        }
        self.mapped("linear", &table, &members, shows);
    }

    fn crypt(&mut self, n: usize) {
        let start = self.below(3) as u64 * MIB;
        let device = &self.model.devices[n];
        let part = slice(&device.shows, start, device.length() / MIB * MIB - start);
        let length: u64 = part.iter().map(|b| b.length()).sum();
        let key = "0123456789abcdef".repeat(8);
        let path = device.path.display();
        let table = format!("0 {} crypt aes-xts-plain64 {key} 0 {path} {}", length / 512, start / 512);
        self.mapped("crypt", &table, &[(n, part.clone())], part);
    }

    fn striped(&mut self, one: usize, two: usize) {
        let lengths = [one, two].map(|n| self.model.devices[n].length() / MIB * MIB);
        let each = lengths[0].min(lengths[1]) - MIB;
        let members = [one, two].map(|n| (n, slice(&self.model.devices[n].shows, MIB, each)));
        let [a, b] = [one, two].map(|n| self.model.devices[n].path.display().to_string());
        let table = format!("0 {} striped 2 128 {a} 2048 {b} 2048", 2 * each / 512);
        let on = members.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        let shows = self.space(on, 2 * each);
        self.mapped("striped", &table, &members, vec![shows]);
    }

    /// Members with all their bytes, and a device whose bytes are mixed of theirs.
    fn mixed(&mut self, path: &Path, members: &[usize]) {
        let members: Vec<(usize, Vec<Bytes>)> =
            members.iter().map(|n| (*n, self.model.devices[*n].shows.clone())).collect();
        let on = members.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        let shows = self.space(on, length_of(path));
        self.built(path.to_path_buf(), &members, vec![shows]);
    }

    /// A RAID; one of level 1 with a single member lacks its other half.
    fn array(&mut self, members: &[usize], level: &str) {
        let path = PathBuf::from(format!("/dev/md{}", self.model.devices.len()));
        let paths: Vec<PathBuf> = members.iter().map(|n| self.model.devices[*n].path.clone()).collect();
        let level = format!("--level={level}");
        let create = ["mdadm", "--create", "--run", "--force", "--metadata=1.2", "--raid-devices=2", &level];
        let mut command: Vec<&OsStr> = create.map(OsStr::new).to_vec();
        command.push(path.as_os_str());
        command.extend(paths.iter().map(|p| p.as_os_str()));
        if members.len() == 1 {
            command.push(OsStr::new("missing"));
        }
        self.rig.make(&command, Some(("mdadm", &[OsStr::new("--stop"), path.as_os_str()])));
        // Until the mirrors are the same, two looks at the array see two contents. The answer says only whether there was anything to wait for.
        let _ = Command::new("mdadm").arg("--wait").arg(&path).status();
        self.mixed(&path, members);
    }

    fn cached(&mut self, n: usize) {
        let path = self.model.devices[n].path.clone();
        let script = "make-bcache --wipe-bcache -B \"$0\" && echo \"$0\" >/sys/fs/bcache/register";
        self.rig.make(&[OsStr::new("sh"), OsStr::new("-c"), script.as_ref(), path.as_ref()], None);
        let holders = entry(&path).join("holders");
        let names =
            || fs::read_dir(&holders).unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
        let name = loop {
            match names().find(|name| name.starts_with("bcache")) {
                Some(name) => break name,
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let stop = "echo 1 >/sys/block/$0/bcache/stop; while [ -e /sys/block/$0 ]; do sleep 0.05; done";
        self.rig.undo("sh", &["-c", stop, &name].map(OsStr::new));
        self.mixed(&Path::new("/dev").join(name), &[n]);
    }

    /// Two volumes of LVM, which lie behind each other, and the first behind what LVM writes about the group.
    fn volumes(&mut self, n: usize) {
        let path = self.model.devices[n].path.clone();
        // LVM finds the nodes of groups that the device mapper took away, and calls them taken.
        let group = format!("{}_of_{}", self.name("group").replace('-', "_"), self.seed);
        let blocks = (self.model.devices[n].length() / MIB - 2) / 2;
        let extents = blocks.to_string();
        let script = "lvm vgcreate -q -y -s 1M --devices \"$1\" \"$0\" \"$1\" &&
            lvm lvcreate -q -y -Wn -Zn --devices \"$1\" -n one -l $2 \"$0\" &&
            lvm lvcreate -q -y -Wn -Zn --devices \"$1\" -n two -l $2 \"$0\"";
        let words = [OsStr::new("sh"), OsStr::new("-c"), script.as_ref(), group.as_ref()];
        self.rig.make(&[&words[..], &[path.as_ref(), extents.as_ref()]].concat(), None);
        let shows = self.model.devices[n].shows.clone();
        for (at, name) in [(0, "one"), (1, "two")] {
            let mapped = format!("{group}-{name}");
            self.rig.undo("dmsetup", &["remove", "--retry", &mapped].map(OsStr::new));
            let part = slice(&shows, MIB + at * blocks * MIB, blocks * MIB);
            self.built(Path::new("/dev/mapper").join(mapped), &[(n, part.clone())], part);
        }
    }
}

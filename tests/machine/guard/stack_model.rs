//! A plain second implementation of the guard's rules of use: it knows which bytes each device shows because the stack was built so.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Bytes of one space: a file, a disk, or a device that mixes the bytes of its members.
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    pub space: usize,
    pub from: u64,
    pub to: u64,
}

impl Bytes {
    pub fn length(self) -> u64 {
        self.to - self.from
    }
}

/// A part of bytes that follow each other.
pub fn slice(all: &[Bytes], from: u64, length: u64) -> Vec<Bytes> {
    let (mut begin, mut found) = (0, Vec::new());
    for piece in all {
        let (first, last) = (from.max(begin), (from + length).min(begin + piece.length()));
        if first < last {
            let moved = |at: u64| piece.from + (at - begin);
            found.push(Bytes { space: piece.space, from: moved(first), to: moved(last) });
        }
        begin += piece.length();
    }
    found
}

/// How a device came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    Disk,
    Partition,
    Loop,
    /// By the device mapper, md or bcache.
    Built,
}

#[derive(Debug)]
pub struct Device {
    pub path: PathBuf,
    pub shows: Vec<Bytes>,
    /// The devices that it was made from directly.
    pub on: Vec<usize>,
    /// The devices that it was made from, directly and not.
    pub made_from: Vec<usize>,
    /// The file that it is a loop device over.
    pub over: Option<usize>,
    pub made: Made,
}

impl Device {
    pub fn length(&self) -> u64 {
        self.shows.iter().map(|b| b.length()).sum()
    }
}

/// A stack as the model knows it. The spaces of files come first, in their order.
#[derive(Default, Debug)]
pub struct Model {
    /// Every name of every file, by file.
    pub names: Vec<Vec<PathBuf>>,
    /// The bytes on which each space lies, any of its own on any of them; none for files and disks.
    pub spaces: Vec<Vec<Bytes>>,
    pub devices: Vec<Device>,
    /// Mounted, swapped to, open for writing, or a member of this device.
    pub used: Vec<(Bytes, Option<usize>)>,
    /// Files that are swapped to, and those that a process has open.
    pub swapped: Vec<usize>,
    pub opened: Vec<usize>,
    /// Kinds of use that not every machine has, for the count at the end.
    pub uses: BTreeSet<&'static str>,
}

impl Model {
    fn meet(&self, one: Bytes, other: Bytes) -> bool {
        if one.space == other.space {
            return one.from < other.to && other.from < one.to;
        }
        // The later space may lie on the earlier one, and never the other way round.
        let (earlier, later) = if one.space < other.space { (one, other) } else { (other, one) };
        self.spaces[later.space].iter().any(|below| self.meet(*below, earlier))
    }

    /// Whether two devices share bytes.
    pub fn share(&self, one: &[Bytes], other: &[Bytes]) -> bool {
        one.iter().any(|a| other.iter().any(|b| self.meet(*a, *b)))
    }

    /// Whether a device's bytes are in use by something that it is not made from itself.
    pub fn in_use(&self, n: usize) -> bool {
        let device = &self.devices[n];
        let own = |by: usize| by == n || device.made_from.contains(&by);
        let others = self.used.iter().filter(|(_, by)| !by.is_some_and(own));
        others.into_iter().any(|(used, _)| self.share(&[*used], &device.shows))
    }

    /// Whether a write to a device harms somebody: its bytes are in use, or a loop device was made from it.
    pub fn refuses_device(&self, n: usize) -> bool {
        let held = |d: &Device| d.made == Made::Loop && d.made_from.contains(&n);
        self.in_use(n) || self.disk_is_claimed(n) || self.devices.iter().any(held)
    }

    /// Whether something is built on the disk of a partition, be it on other bytes: the kernel then lets nobody claim the partition.
    pub fn disk_is_claimed(&self, n: usize) -> bool {
        let device = &self.devices[n];
        let on_disk = |d: &Device| d.made == Made::Built && d.on.contains(&device.on[0]);
        device.made == Made::Partition && self.devices.iter().any(on_disk)
    }

    pub fn refuses_file(&self, file: usize) -> bool {
        self.swapped.contains(&file) || self.devices.iter().any(|d| d.over == Some(file))
    }

    pub fn shared_file(&self, file: usize) -> bool {
        self.opened.contains(&file) || fs::metadata(&self.names[file][0]).unwrap().nlink() > 1
    }
}

//! Reads the graph of what lies on what from /sys, /proc and the devices themselves.
//!
//! A loop device is asked by ioctl for the device number and inode behind it, since the path in sysfs may be renamed, linked, unlinked or
//! belong to another mount namespace. Only captured trees, which cannot be asked, go by that path.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::{Layer, Piece, Shown, Stack, StackEdge, device_mapper};
use crate::device::block::{dev_path, dir, name_of, node, whole_disk};
use crate::device::disk_identity::DiskIdentity;
use crate::device::mounted_image::{MountedImage, more_than, stay_more_than};
use crate::device::mounts::{all_mounts, swaps};
use crate::device::overlay::Overlays;
use crate::device::stack_node::{FileId, StackNode};
use crate::device::unseen::readable;
use crate::device::{DevNumber, FilePlace, Mount, Root, SECTOR, Unseen, ioctl, number_at, pools};

/// The block device or file at a path.
fn thing_at(root: &Root, path: &Path) -> Option<StackNode> {
    match number_at(root, path) {
        Some(number) => Some(StackNode::Device(number)),
        None => StackNode::from_metadata(&std::fs::metadata(root.path(path)).ok()?),
    }
}

impl Stack {
    /// Reads it.
    pub fn read(root: &Root) -> Stack {
        let mounts = all_mounts(root);
        let mut stack = Stack { overlays: Overlays::read(root, &mounts), ..Stack::default() };
        let names = root.names("/sys/class/block");
        let control = File::open(root.path("/dev/mapper/control")).ok().filter(|_| root.is_system());
        for name in &names {
            stack.device(root, name, control.as_ref());
        }
        for name in names.iter().filter(|n| n.starts_with("loop") && root.has(dir(n).join("loop"))) {
            stack.loop_device(root, name);
        }
        stack.same_volumes(root, &names);
        stack.pools = pools::members(root).iter().filter_map(|n| stack.named(root, n)).collect();
        stack.read_swaps(root);
        stack.read_mounts(root, &mounts);
        stack.unlisted_images = more_than(root, &stack.images)
            && stay_more_than(root, || {
                let mut now = Stack::default();
                now.read_mounts(root, &all_mounts(root));
                now.images
            });
        stack
    }

    fn named(&self, root: &Root, name: &str) -> Option<StackNode> {
        Some(StackNode::Device(node(root, name)?.number))
    }

    fn put(&mut self, upper: StackNode, lower: StackNode, layer: Layer, pieces: Vec<Piece>, exclusive: bool) {
        let is_known = self.steps.iter().any(|s| (s.upper, s.lower, s.layer) == (upper, lower, layer));
        if upper != lower && !is_known {
            self.steps.push(StackEdge { upper, lower, layer, pieces, exclusive });
        }
    }

    /// A device with its disk or its members.
    fn device(&mut self, root: &Root, name: &str, control: Option<&File>) {
        let Some(node) = node(root, name) else { return };
        let thing = StackNode::Device(node.number);
        let folder = dir(name);
        let label = ["dm/name", "md/level"].iter().find_map(|f| root.text(folder.join(f)));
        let uuid = root.text(folder.join("dm/uuid"));
        self.shown.insert(thing, Shown { name: name.to_string(), label, uuid });
        let sectors = |file: &str| root.number(folder.join(file)).unwrap_or(0).saturating_mul(SECTOR);
        if let Some(disk) = whole_disk(root, name).filter(|d| d.number != node.number) {
            let piece = Piece::linear(0, sectors("start"), sectors("size"));
            self.put(thing, StackNode::Device(disk.number), Layer::Partition, vec![piece], false);
        }
        let members: Vec<StackNode> =
            root.names(folder.join("slaves")).iter().filter_map(|n| self.named(root, n)).collect();
        for lower in &members {
            let (pieces, exclusive) =
                mapped(name, self.shown[&thing].uuid.as_deref(), node.number, *lower, control);
            self.put(thing, *lower, Layer::Built, pieces, exclusive);
        }
        // Both ends list the step; a kernel that is about to take one of them away may list it at one end alone.
        for holder in root.names(folder.join("holders")) {
            if let Some(upper) = self.named(root, &holder)
                && !root.has(dir(&holder).join("slaves").join(name))
            {
                self.put(upper, thing, Layer::Built, vec![Piece::ALL], false);
            }
        }
        let backing = root.path_in(folder.join("backing_dev"));
        if let Some(backing) = backing.filter(|b| b.is_absolute()) {
            match number_at(root, &backing) {
                Some(lower) => {
                    self.put(thing, StackNode::Device(lower), Layer::Built, vec![Piece::ALL], false)
                }
                None => self.unseen.push(Unseen::by_root(format!(
                    "which device backs {name} cannot be seen: {} is no block device here",
                    readable(&backing)
                ))),
            }
        }
    }

    fn loop_device(&mut self, root: &Root, name: &str) {
        let Some(thing) = self.named(root, name) else { return };
        let path = root.path_in(dir(name).join("loop/backing_file")).unwrap_or_default();
        let size = root.number(dir(name).join("size")).unwrap_or(0).saturating_mul(SECTOR);
        let offset = root.number(dir(name).join("loop/offset")).unwrap_or(0);
        let found = match root.is_system().then(|| behind(name, thing)) {
            Some(Ok(found)) => found,
            Some(Err(e)) if e.kind() == ErrorKind::PermissionDenied => {
                // The kernel shows the folder while something is attached.
                if !root.has(dir(name).join("loop")) {
                    return;
                }
                self.unasked_loops.push(name.to_string());
                thing_at(root, &path).map(|lower| (lower, offset))
            }
            Some(Err(e)) => {
                let what =
                    format!("what lies behind {name} cannot be seen: /dev/{name} does not answer ({e})");
                return self.unseen.push(Unseen::by_root(what));
            }
            None => thing_at(root, &path).map(|lower| (lower, offset)),
        };
        let Some((lower, from)) = found else { return };
        let lower = self.file_in_use(root, lower, &path, &path);
        if root.number(dir(name).join("loop/sizelimit")).is_some_and(|limit| limit > 0) {
            self.limited.insert(lower);
        }
        self.put(thing, lower, Layer::Loop, vec![Piece::linear(0, from, size)], false);
    }

    /// Takes a thing that is in use, which is at a path, into the graph under a name for people: a file as the file that holds its bytes.
    fn file_in_use(&mut self, root: &Root, thing: StackNode, path: &Path, named: &Path) -> StackNode {
        let thing = self.held(thing, || Some(path.to_path_buf()));
        if let StackNode::File(file) = thing {
            if self.overlays.may_hide(path, file) {
                self.overlaid.insert(thing);
            }
            let name = readable(named);
            self.shown.entry(thing).or_insert_with(|| Shown { name, ..Shown::default() });
            self.places.entry(thing).or_insert_with(|| path.to_path_buf());
            self.file_on_device(root, file, path);
        }
        thing
    }

    /// The device beneath a file's filesystem.
    fn file_on_device(&mut self, root: &Root, file: FileId, path: &Path) {
        let mut devices = vec![file.filesystem];
        if file.filesystem.is_anonymous() {
            // btrfs: the number is of a subvolume, and the device has to be found by the mount above the path.
            let place = super::super::file_facts::place(root, path).ok();
            devices = place.iter().flat_map(FilePlace::devices).map(|d| d.number).collect();
        }
        for device in devices.into_iter().filter(|d| name_of(root, *d).is_some()) {
            self.put(
                StackNode::File(file),
                StackNode::Device(device),
                Layer::Filesystem,
                vec![Piece::ALL],
                true,
            );
        }
    }

    /// Disks with one world-wide name are paths to one volume. The hidden paths of an NVMe multipath have no device number and no device
    /// node to write to.
    fn same_volumes(&mut self, root: &Root, names: &[String]) {
        let known: Vec<(StackNode, String)> = names
            .iter()
            .filter(|n| !root.has(dir(n).join("partition")))
            .filter_map(|n| Some((self.named(root, n)?, DiskIdentity::read(root, n).wwid?)))
            .collect();
        for (n, (one, wwid)) in known.iter().enumerate() {
            for (other, _) in known[n + 1..].iter().filter(|(_, w)| w == wwid) {
                self.put(*one, *other, Layer::SameVolume, Vec::new(), false);
            }
        }
    }

    fn read_swaps(&mut self, root: &Root) {
        for swap in swaps(root) {
            match thing_at(root, &swap.path) {
                Some(thing) => {
                    let thing = self.file_in_use(root, thing, &swap.path, &swap.path);
                    self.swaps.push(thing);
                }
                None => self.unseen.push(Unseen::by_root(format!(
                    "what {} is, to which the kernel swaps, cannot be seen: nothing has that name here",
                    readable(&swap.path)
                ))),
            }
        }
    }

    fn read_mounts(&mut self, root: &Root, mounts: &[(Mount, String)]) {
        for line in mounts {
            let (mount, _) = line;
            let by_number = name_of(root, mount.number).map(|_| mount.number);
            // btrfs has a number of its own, and names one of its devices. erofs without a device has none.
            let pool = mount.number.is_anonymous() && mount.filesystem != "erofs";
            let source = || pool.then(|| number_at(root, Path::new(&mount.source)))?;
            if let Some(number) = by_number.or_else(source) {
                self.mounts.push((StackNode::Device(number), mount.clone()));
            } else if mount.number.is_anonymous() {
                self.image_mount(root, line);
            }
        }
        for (thing, _) in self.mounts.iter().filter(|(_, m)| m.mount_point == Path::new("/")) {
            let fellows = match thing {
                StackNode::Device(_) => pools::fellows(root, &self.shown(*thing).name),
                StackNode::File(_) => Vec::new(),
            };
            let all = fellows.iter().map(|b| StackNode::Device(b.number)).chain([*thing]);
            let beneath: BTreeSet<StackNode> = all.flat_map(|thing| self.beneath(thing, true)).collect();
            self.system.extend(beneath);
        }
    }

    /// A mount whose source is a file: an image that the kernel (erofs) or a program (FUSE) reads without a loop device. The path is that of
    /// the mounter's namespace.
    fn image_mount(&mut self, root: &Root, line: &(Mount, String)) {
        let (mount, _) = line;
        let source = Path::new(&mount.source);
        let other = mount.seen_by.as_deref().and_then(|seen_by| seen_by.split(' ').next());
        // What the mounter called its own is ours where we read it.
        let of_mounter = ["/proc/self", "/proc/thread-self"].iter().any(|own| source.starts_with(own));
        let path = match (other, source.strip_prefix("/")) {
            _ if of_mounter => None,
            (_, Err(_)) => None,
            (Some(pid), Ok(below)) => Some(Path::new("/proc").join(pid).join("root").join(below)),
            (None, Ok(_)) => Some(source.to_path_buf()),
        };
        let about = path.as_deref().and_then(|path| std::fs::metadata(root.path(path)).ok());
        let thing = about
            .as_ref()
            .and_then(StackNode::from_metadata)
            .filter(|thing| matches!(thing, StackNode::File(_)));
        let file = path.as_deref().zip(thing);
        let file = file.map(|(path, thing)| (path, self.file_in_use(root, thing, path, source)));
        if let Some((_, thing)) = file {
            self.mounts.push((thing, mount.clone()));
        }
        if self.images.iter().all(|image| image.number != mount.number) {
            self.images.extend(MountedImage::read(root, line, file));
        }
    }
}

/// Opens the node of a device to ask it something. Nodes in /dev are only names: the number decides.
///
/// # Errors
/// The error of the open, or that the node is of another device.
pub(in crate::device) fn open_device(name: &str, thing: StackNode, flags: i32) -> std::io::Result<File> {
    let flags = flags | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(dev_path(name))?;
    if StackNode::from_metadata(&file.metadata()?) != Some(thing) {
        return Err(std::io::Error::other("the node is of another device"));
    }
    Ok(file)
}

/// The file or device behind a loop device, and where in it the device begins; none when nothing is attached.
fn behind(name: &str, thing: StackNode) -> std::io::Result<Option<(StackNode, u64)>> {
    let file = open_device(name, thing, 0)?;
    let status = match ioctl::loop_status(file.as_fd()) {
        Err(e) if e.raw_os_error() == Some(libc::ENXIO) => return Ok(None),
        answer => answer?,
    };
    let lower = match status.rdevice {
        0 => StackNode::File(FileId { filesystem: DevNumber::from_raw(status.device), inode: status.inode }),
        device => StackNode::Device(DevNumber::from_raw(device)),
    };
    Ok(Some((lower, status.offset.0)))
}

/// Which bytes of a device lie on this member, and whether its volume manager gave them to nobody else.
fn mapped(
    name: &str,
    uuid: Option<&str>,
    number: DevNumber,
    lower: StackNode,
    control: Option<&File>,
) -> (Vec<Piece>, bool) {
    let StackNode::Device(lower) = lower else { return (vec![Piece::ALL], false) };
    if !name.starts_with("dm-") {
        return (vec![Piece::ALL], false);
    }
    let raw = rustix::fs::makedev(number.major, number.minor);
    match control.and_then(|c| ioctl::dm_table(c.as_fd(), raw).ok()) {
        Some(table) => device_mapper::pieces_on(&lower.to_string(), &table),
        // Without the table only LVM's own promise tells that its volumes do not overlap.
        None => (vec![Piece::ALL], uuid.is_some_and(|u| u.starts_with("LVM-"))),
    }
}

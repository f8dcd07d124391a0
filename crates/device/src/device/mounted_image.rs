//! Filesystem images that the kernel shows without a loop device: erofs reads them from files (Linux 6.12).
//!
//! mountinfo has the path by which the mounter named the image, and nothing else. By now the file may have another name, another file may have
//! that name, and further files with the image's data (mount option `device=`) are not named at all. A mount that was detached while it is
//! used is in no mountinfo: /sys/fs/erofs alone lists it, without its file. A file that may be one of these is in a part of the machine that
//! cannot be seen. Nothing is written.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use super::mounts::mount_option;
use super::stack::readable;
use super::stack_node::StackNode;
use super::{DevNumber, Mount, Root, Unseen, ioctl};

/// Where the superblock begins in an image (kernel: fs/erofs/erofs_fs.h), and the bytes read of it.
const SUPERBLOCK: u64 = 1024;
const SUPERBLOCK_BYTES: usize = 128;
/// `EROFS_SUPER_MAGIC_V1`, as it is stored.
const MAGIC: [u8; 4] = 0xe0f5_e1e2u32.to_le_bytes();
/// Offset of the number of further files within the superblock, 16 bits.
const EXTRA_DEVICES: usize = 86;
/// Where it is not known at which byte of a file its image was mounted, a superblock is looked for at each multiple of the smallest block in so much
/// of the file, and at so many multiples of that behind it, where partitions begin.
const LOOKED_THROUGH: u64 = 1 << 20;
const SMALLEST_BLOCK: usize = 512;
const PARTITIONS_LOOKED_AT: u64 = 1 << 14;
/// The images that the kernel reads without a device.
const SUPERBLOCKS: &str = "/sys/fs/erofs";
/// An image that is mounted or unmounted in this moment is in one list before it is in the other.
const LOOKS: u32 = 5;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// A file that may be one of a mounted image.
#[derive(Clone, Copy)]
pub(super) struct Suspect<'a> {
    /// The file that holds the bytes.
    pub(super) file: StackNode,
    /// The path at which it can be looked at.
    pub(super) path: Option<&'a Path>,
    /// Who has it open.
    pub(super) used_by: UsedBy,
}

/// Who has a file open, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsedBy {
    /// Somebody who does not show himself: the file may be any one of an image.
    Somebody,
    /// A loop device. That explains the use, and a part of an image that is known to have further ones may be a disk beside.
    Loop,
    /// Processes that may write, or nobody: it has to look like an image.
    Writers,
}

impl Suspect<'_> {
    /// Whether it holds an image that begins at this byte.
    fn is_image_at(&self, root: &Root, offset: u64) -> bool {
        self.path.is_none_or(|path| superblock(root, path, offset).is_some())
    }

    /// Whether it holds an image that begins at one of the places where one is looked for.
    fn holds_image(&self, root: &Root) -> bool {
        self.path.is_none_or(|path| holds_image(root, path))
    }
}

/// Whether the kernel reads more images without a device than these, which the visible mounts show.
pub(super) fn more_than(root: &Root, shown: &[MountedImage]) -> bool {
    let names = root.names(SUPERBLOCKS).into_iter();
    names.filter(|name| name == "erofs" || name.starts_with("erofs-")).count() > shown.len()
}

/// Whether that stays so over several looks, each with the images that the mounts show then.
pub(super) fn stay_more_than(root: &Root, mut shown: impl FnMut() -> Vec<MountedImage>) -> bool {
    (0..LOOKS).all(|_| {
        std::thread::sleep(BETWEEN_LOOKS);
        more_than(root, &shown())
    })
}

/// Why a file may be of an image that no visible mount shows; none where it is not. Some systems have such an image as long as they run (composefs
/// mounts one for the root), so that it does not make every loop device one that may not be written: a file behind one has to look like an image.
pub(super) fn may_be_unlisted(root: &Root, suspect: Suspect<'_>) -> Option<Unseen> {
    (suspect.used_by == UsedBy::Somebody || suspect.holds_image(root)).then(|| {
        Unseen::new(
            "whether the file is that of a mounted erofs image cannot be seen: the kernel uses such an image, and no mount that is seen here names it",
            "end the programs that use files of a detached mount, look as root, outside containers, or stop the programs that have the file open, and check again",
        )
    })
}

/// A mounted image.
#[derive(Clone, Debug)]
pub(super) struct MountedImage {
    /// The number of the mounted filesystem: its bind mounts have the same.
    pub(super) number: DevNumber,
    /// The file at the path that mountinfo names.
    file: Option<StackNode>,
    /// Bytes of the file before the image (mount option `fsoffset=`, Linux 6.16).
    offset: u64,
    /// The reason why any file may be mounted with it; without one, only a file that is an image itself.
    any_file: Option<String>,
    /// What mountinfo says.
    mount: Mount,
}

impl MountedImage {
    /// The image of a mount whose source leads to this file, which is at a path here; none for other filesystems.
    pub(super) fn read(
        root: &Root,
        (mount, options): &(Mount, String),
        file: Option<(&Path, StackNode)>,
    ) -> Option<MountedImage> {
        // With fsid= it reads what the cache of a daemon holds, and no file.
        if mount.filesystem != "erofs"
            || !mount.number.is_anonymous()
            || mount_option(options, "fsid=").is_some()
        {
            return None;
        }
        let offset = mount_option(options, "fsoffset=").and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
        let at = readable(&mount.mount_point);
        let source = readable(Path::new(&mount.source));
        let any_file = match file.and_then(|(path, _)| superblock(root, path, offset)) {
            None => Some(format!(
                "which file is mounted on {at} cannot be seen: {source} is no image that can be read here"
            )),
            Some(block) if block[EXTRA_DEVICES..][..2] != [0, 0] => Some(format!(
                "further files of the image that is mounted on {at} cannot be seen: mountinfo names {source} alone"
            )),
            Some(_) if file.is_some_and(|(path, _)| is_unused(root, path)) => Some(format!(
                "which file is mounted on {at} cannot be seen: {source} is another file than the mounted one by now"
            )),
            Some(_) => None,
        };
        let file = file.map(|(_, file)| file);
        Some(MountedImage { number: mount.number, file, offset, any_file, mount: mount.clone() })
    }

    /// The reason why a file may be mounted with this image although mountinfo does not name it; none where it is not.
    pub(super) fn may_show(&self, root: &Root, suspect: Suspect<'_>) -> Option<Unseen> {
        if self.file == Some(suspect.file) {
            return None;
        }
        let at = readable(&self.mount.mount_point);
        let replaced = || {
            let source = readable(Path::new(&self.mount.source));
            format!(
                "whether the file is mounted on {at} cannot be seen: {source} may be another file than the mounted one by now"
            )
        };
        let what = match &self.any_file {
            Some(any_file) if suspect.used_by != UsedBy::Writers => any_file.clone(),
            _ if suspect.is_image_at(root, self.offset) => replaced(),
            _ => return None,
        };
        Some(Unseen::new(what, format!("unmount {at} first, or look as root, outside containers")))
    }
}

/// Whether a file holds an image that begins at one of the places where one is looked for.
fn holds_image(root: &Root, path: &Path) -> bool {
    let Some(file) = opened(root, path) else { return true };
    let mut start = Vec::new();
    let read = (&file).take(LOOKED_THROUGH + SUPERBLOCK).read_to_end(&mut start);
    let blocks = start.chunks(SMALLEST_BLOCK).skip(SUPERBLOCK as usize / SMALLEST_BLOCK);
    let length = file.metadata().map_or(0, |about| about.len());
    let partitions = (1..=(length / LOOKED_THROUGH).min(PARTITIONS_LOOKED_AT)).map(|n| n * LOOKED_THROUGH);
    let mut magic = [0; MAGIC.len()];
    read.is_ok_and(|_| blocks.into_iter().any(|block| block.starts_with(&MAGIC)))
        || partitions
            .into_iter()
            .any(|begin| file.read_exact_at(&mut magic, begin + SUPERBLOCK).is_ok() && magic == MAGIC)
}

/// Whether nobody has a file open, not even the kernel.
fn is_unused(root: &Root, path: &Path) -> bool {
    root.is_system()
        && opened(root, path).is_some_and(|file| ioctl::opened_alone(file.as_fd()).unwrap_or(false))
}

fn opened(root: &Root, path: &Path) -> Option<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(root.path(path)).ok()
}

/// The superblock of the image in a file; none where there is none.
fn superblock(root: &Root, path: &Path, offset: u64) -> Option<[u8; SUPERBLOCK_BYTES]> {
    let file = opened(root, path)?;
    let mut block = [0; SUPERBLOCK_BYTES];
    file.read_exact_at(&mut block, offset.checked_add(SUPERBLOCK)?).ok()?;
    block.starts_with(&MAGIC).then_some(block)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const LINE: &str = "65 44 0:39 / /mnt/app ro,relatime - erofs /app.img ro,user_xattr";

    fn image(extra_devices: u8) -> Vec<u8> {
        let mut image = vec![0; 4096];
        image[1024..][..4].copy_from_slice(&MAGIC);
        image[1024 + EXTRA_DEVICES] = extra_devices;
        image
    }

    /// What cannot be seen of `/target` on a machine with this mount and these files.
    fn hidden(mountinfo: &str, files: &[(&str, Vec<u8>)]) -> Vec<String> {
        hidden_from(UsedBy::Somebody, mountinfo, files)
    }

    fn hidden_from(used_by: UsedBy, mountinfo: &str, files: &[(&str, Vec<u8>)]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        for (path, bytes) in files.iter().chain([&("proc/self/mountinfo", mountinfo.into())]) {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let root = Root::tree(dir.path());
        let target = StackNode::from_metadata(&fs::metadata(root.path("/target")).unwrap()).unwrap();
        let found = root.stack().hidden_images(&root, target, Path::new("/target"), used_by);
        found.into_iter().map(|u| u.what).collect()
    }

    fn plain() -> Vec<u8> {
        vec![0; 4096]
    }

    #[test]
    fn any_file_may_be_an_image_that_is_not_found() {
        let gone =
            ["which file is mounted on /mnt/app cannot be seen: /app.img is no image that can be read here"];
        assert_eq!(hidden(LINE, &[("target", plain())]), gone);
        assert_eq!(hidden(LINE, &[("target", plain()), ("app.img", plain())]), gone);
        // Mounted in two places, it is one image.
        let bound = LINE.replace("/mnt/app", "/mnt/bound");
        assert_eq!(hidden(&format!("{LINE}\n{bound}"), &[("target", plain())]), gone);
    }

    #[test]
    fn only_an_image_may_be_one_whose_name_another_image_took() {
        let replaced = "whether the file is mounted on /mnt/app cannot be seen: /app.img may be another file than the mounted one by now";
        let taken = [("app.img", image(0)), ("target", image(0))];
        assert_eq!(hidden(LINE, &taken), [replaced]);
        assert_eq!(hidden(LINE, &[("app.img", image(0)), ("target", plain())]), [""; 0]);
        // The image begins after the first 4 KiB of its file.
        let later = format!("{LINE},fsoffset=4096");
        let after = |image| [plain(), image].concat();
        assert_eq!(hidden(&later, &[("app.img", after(image(0))), ("target", after(image(0)))]), [replaced]);
        assert_eq!(hidden(&later, &[("app.img", after(image(0))), ("target", image(0))]), [""; 0]);
    }

    #[test]
    fn any_file_may_be_a_further_one_of_an_image() {
        let further = "further files of the image that is mounted on /mnt/app cannot be seen: mountinfo names /app.img alone";
        assert_eq!(hidden(LINE, &[("app.img", image(1)), ("target", plain())]), [further]);
    }

    #[test]
    fn an_image_of_another_mount_namespace_is_looked_for_there() {
        let there = [("proc/7/mountinfo", LINE.into()), ("proc/7/root/app.img", image(0))];
        assert_eq!(hidden("", &[there.as_slice(), &[("target", plain())]].concat()), [""; 0]);
        // The same name here is another file.
        let here = [("proc/7/mountinfo", LINE.into()), ("app.img", image(0)), ("target", plain())];
        assert_eq!(hidden("", &here).len(), 1);
    }

    #[test]
    fn a_mount_of_a_device_or_of_a_cache_hides_no_file() {
        for line in [
            LINE.replace("0:39", "7:0").replace("/app.img", "/dev/loop0"),
            LINE.replace("/app.img", "none") + ",fsid=app",
            LINE.replace("erofs", "tmpfs"),
        ] {
            assert_eq!(hidden(&line, &[("target", image(0))]), [""; 0], "{line}");
        }
    }

    /// As on a system whose root is mounted by composefs.
    #[test]
    fn a_loop_device_over_what_is_no_image_stays_free_beside_an_image_that_no_mount_names() {
        let look = |used_by, target: Vec<u8>| {
            hidden_from(
                used_by,
                "",
                &[("sys/fs/erofs/erofs/sync_decompress", Vec::new()), ("target", target)],
            )
        };
        let later = |begin: usize| [vec![0; begin], image(0)].concat();
        for used_by in [UsedBy::Loop, UsedBy::Writers] {
            assert_eq!(look(used_by, plain()), [""; 0]);
            assert_eq!(look(used_by, vec![0; 3 << 20]), [""; 0]);
            for image in [later(0), later(512), later(1 << 20), later(5 << 20)] {
                assert_eq!(look(used_by, image).len(), 1);
            }
        }
        assert_eq!(look(UsedBy::Somebody, plain()).len(), 1);
        let further = [("app.img", image(1)), ("target", plain())];
        assert_eq!(hidden_from(UsedBy::Loop, LINE, &further).len(), 1, "it may be a further file");
    }
}

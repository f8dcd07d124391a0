//! Filesystem images that the kernel shows without a loop device: erofs reads them from files (Linux 6.12).
//!
//! mountinfo has the path by which the mounter named the image, and nothing else. By now the file may have another name, another file may have
//! that name, and further files with the image's data (mount option `device=`) are not named at all. A file that may be one of these is
//! in a part of the machine that cannot be seen. Nothing is written.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::mounts::mount_option;
use super::stack::{StackNode, readable};
use super::{DevNumber, Mount, Root, Unseen};

/// Where the superblock begins in an image (kernel: fs/erofs/erofs_fs.h), and the bytes read of it.
const SUPERBLOCK: u64 = 1024;
const SUPERBLOCK_BYTES: usize = 128;
/// `EROFS_SUPER_MAGIC_V1`, as it is stored.
const MAGIC: [u8; 4] = 0xe0f5_e1e2u32.to_le_bytes();
/// Offset of the number of further files within the superblock, 16 bits.
const EXTRA_DEVICES: usize = 86;

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
            Some(_) => None,
        };
        let file = file.map(|(_, file)| file);
        Some(MountedImage { number: mount.number, file, offset, any_file, mount: mount.clone() })
    }

    /// The reason why a file may be mounted with this image although mountinfo does not name it; none where it is not. Without a path the file
    /// cannot be looked at.
    pub(super) fn may_show(&self, root: &Root, file: StackNode, path: Option<&Path>) -> Option<Unseen> {
        if self.file == Some(file) {
            return None;
        }
        let at = readable(&self.mount.mount_point);
        let replaced = || {
            let source = readable(Path::new(&self.mount.source));
            format!(
                "whether the file is mounted on {at} cannot be seen: {source} may be another file than the mounted one by now"
            )
        };
        let may_be = || path.is_none_or(|path| superblock(root, path, self.offset).is_some());
        let what = self.any_file.clone().or_else(|| may_be().then(replaced))?;
        Some(Unseen::new(what, format!("unmount {at} first, or look as root, outside containers")))
    }
}

/// Whether the file at a path is an image that the kernel can mount without a loop device.
pub(super) fn is_image(root: &Root, path: &Path) -> bool {
    superblock(root, path, 0).is_some()
}

/// The superblock of the image in a file; none where there is none.
fn superblock(root: &Root, path: &Path, offset: u64) -> Option<[u8; SUPERBLOCK_BYTES]> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(root.path(path)).ok()?;
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

    /// A machine with this mount and these files, of which `/target` is asked.
    fn hidden(mountinfo: &str, files: &[(&str, Vec<u8>)]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        for (path, bytes) in files.iter().chain([&("proc/self/mountinfo", mountinfo.into())]) {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let root = Root::tree(dir.path());
        let target = StackNode::of(&fs::metadata(root.path("/target")).unwrap()).unwrap();
        root.stack().hidden_images(&root, target, Path::new("/target")).into_iter().map(|u| u.what).collect()
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
}

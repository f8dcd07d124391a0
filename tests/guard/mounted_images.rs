//! Images that the kernel mounts without a loop device (erofs, Linux 6.12), under names that mountinfo does not tell: none is written.

use std::ffi::CString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::attacks::{Rig, refused, written};

/// An image with an empty folder.
pub fn erofs_image(path: &Path) {
    const BLOCK: usize = 4096;
    let mut image = vec![0; 256 * BLOCK];
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    // The superblock: magic, blocks of 2^12 bytes, inode 36 as the root, one inode, 256 blocks.
    put(1024, &0xe0f5_e1e2u32.to_le_bytes());
    put(1024 + 12, &[12, 0, 36, 0, 1]);
    put(1024 + 36, &256u32.to_le_bytes());
    // The inode: a folder with mode 755, two links, 27 bytes in block 1.
    put(36 * 32 + 4, &0o40755u16.to_le_bytes());
    put(36 * 32 + 6, &[2, 0, 27]);
    put(36 * 32 + 16, &[1, 0, 0, 0, 1]);
    // Its entries, `.` and `..`: an inode, where the name begins, the kind of a folder.
    put(BLOCK, &[36, 0, 0, 0, 0, 0, 0, 0, 24, 0, 2, 0]);
    put(BLOCK + 12, &[36, 0, 0, 0, 0, 0, 0, 0, 25, 0, 2, 0]);
    put(BLOCK + 24, b"...");
    fs::write(path, image).unwrap();
}

/// The folder on which an image is mounted now; nothing where the kernel does not.
pub fn mounted_directly(image: &Path) -> Option<PathBuf> {
    let place = image.with_extension("mounted");
    fs::create_dir(&place).unwrap();
    let text = |path: &Path| CString::new(path.to_str().unwrap()).unwrap();
    let (source, target, kind) = (text(image), text(&place), c"erofs");
    // SAFETY: the texts end with a zero and outlive the call, which takes no options.
    let failed = unsafe {
        libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), libc::MS_RDONLY, std::ptr::null())
    };
    if failed != 0 {
        eprintln!("skipped: this kernel mounts no file as erofs: {}", std::io::Error::last_os_error());
        return None;
    }
    Some(place)
}

/// The name that mountinfo tells is never without an image: other tests run meanwhile, whose files could be any image that is not found.
#[test]
fn a_mounted_image_whose_name_another_image_took_is_refused() {
    let Some(mut rig) = Rig::new() else { return };
    let [image, kept, other] = ["a.img", "kept.img", "other.img"].map(|name| rig.path(name));
    erofs_image(&image);
    fs::hard_link(&image, &kept).unwrap();
    erofs_image(&other);
    let Some(place) = mounted_directly(&image) else { return };
    rig.undo("umount", &[place.as_os_str()]);
    written(&rig, &other, false);
    erofs_image(&other);
    fs::rename(&other, &image).unwrap();
    refused(&rig, &kept, &kept, "may be another file than the mounted one by now");
}

#[test]
fn an_image_whose_mount_was_detached_is_refused_while_it_is_used() {
    let Some(rig) = Rig::new() else { return };
    let image = rig.path("detached.img");
    erofs_image(&image);
    let Some(place) = mounted_directly(&image) else { return };
    let used = File::open(&place).unwrap();
    let detached = Command::new("umount").arg("--lazy").arg(&place).status().unwrap();
    assert!(detached.success());
    refused(&rig, &image, &image, "the kernel keeps it open, and no mount names it");
    drop(used);
    written(&rig, &image, false);
}

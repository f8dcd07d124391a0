//! Images that the kernel mounts without a loop device (erofs, Linux 6.12), under names that mountinfo does not tell: none is written. While
//! such an image is mounted any file in use may be one of its files, so that each of these tests runs alone.

use std::ffi::CString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::guard::rig::{Rig, device_refused, overlay, refused, volproof, words, written};

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
    mounted_with(image, "")
}

fn mounted_with(image: &Path, options: &str) -> Option<PathBuf> {
    let place = image.with_extension("mounted");
    fs::create_dir(&place).unwrap();
    let text = |path: &Path| CString::new(path.to_str().unwrap()).unwrap();
    let (source, target, kind) = (text(image), text(&place), c"erofs");
    let options = CString::new(options).unwrap();
    // SAFETY: the texts end with a zero and outlive the call.
    let failed = unsafe {
        libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), libc::MS_RDONLY, options.as_ptr().cast())
    };
    if failed != 0 {
        eprintln!("skipped: this kernel mounts no file as erofs: {}", std::io::Error::last_os_error());
        return None;
    }
    Some(place)
}

/// The same image, of which no mount tells any more: something in it is still used.
fn detached(image: &Path, options: &str) -> Option<File> {
    let place = mounted_with(image, options)?;
    let used = File::open(&place).unwrap();
    assert!(Command::new("umount").arg("--lazy").arg(&place).status().unwrap().success());
    Some(used)
}

/// A process that only reads a file.
fn read_by_another(rig: &mut Rig, file: &Path) {
    let reader = Command::new("sleep").arg("600").stdin(File::open(file).unwrap()).spawn();
    rig.keep(reader.unwrap());
}

const UNLISTED: &str = "no mount that is seen here names it";

#[test]
fn a_mounted_image_whose_name_another_image_took_is_refused() {
    let Some(mut rig) = Rig::alone() else { return };
    let [image, kept, other] = ["a.img", "kept.img", "other.img"].map(|name| rig.path(name));
    erofs_image(&image);
    fs::hard_link(&image, &kept).unwrap();
    erofs_image(&other);
    let Some(place) = mounted_directly(&image) else { return };
    rig.undo("umount", &[place.as_os_str()]);
    written(&rig, &other, false);
    erofs_image(&other);
    fs::rename(&other, &image).unwrap();
    refused(&rig, &kept, &kept, "is another file than the mounted one by now");
    // The kernel may keep the other one open as well.
    read_by_another(&mut rig, &image);
    refused(&rig, &kept, &kept, "may be another file than the mounted one by now");
}

/// The table of an image's further files is that of the image whose name another one took.
#[test]
fn a_further_file_of_an_image_whose_name_another_image_took_is_refused() {
    let Some(mut rig) = Rig::alone() else { return };
    let [image, further, free] = ["a.img", "further.blob", "free.blob"].map(|name| rig.path(name));
    erofs_image(&image);
    let mut bytes = fs::read(&image).unwrap();
    // The feature, one further file, its slot of 128 bytes: the number of its blocks.
    bytes[1024 + 80] = 8;
    bytes[1024 + 86] = 1;
    bytes[1024 + 88] = 64;
    bytes[64 * 128 + 64] = 4;
    fs::write(&image, bytes).unwrap();
    for file in [&further, &free] {
        fs::write(file, vec![7; 1 << 20]).unwrap();
    }
    let Some(place) = mounted_with(&image, &format!("device={}", further.display())) else { return };
    rig.undo("umount", &[place.as_os_str()]);
    refused(&rig, &further, &further, "further files of the image");
    fs::remove_file(&image).unwrap();
    erofs_image(&image);
    refused(&rig, &further, &further, "is another file than the mounted one by now");
    // Who writes to a file has it open himself, and agreed with --overwrite=shared that is enough.
    written(&rig, &free, false);
    rig.open(&free);
    written(&rig, &free, false);
}

#[test]
fn an_image_whose_mount_was_detached_is_refused_while_it_is_used() {
    let Some(mut rig) = Rig::alone() else { return };
    let [image, free] = ["detached.img", "free.img"].map(|name| rig.path(name));
    erofs_image(&image);
    fs::write(&free, vec![7; 1 << 20]).unwrap();
    let Some(used) = detached(&image, "") else { return };
    refused(&rig, &image, &image, UNLISTED);
    read_by_another(&mut rig, &image);
    refused(&rig, &image, &image, UNLISTED);
    // Another process that may write does not explain what the image is.
    rig.open(&image);
    refused(&rig, &image, &image, UNLISTED);
    let device = rig.loop_over(&image, &["--read-only"]);
    device_refused(&rig, &device, &image, UNLISTED);
    written(&rig, &free, false);
    rig.open(&free);
    written(&rig, &free, false);
    // What is no image may be a disk meanwhile.
    let disk = rig.image("disk.img", 3);
    let device = rig.loop_over(&disk, &[]);
    written(&rig, &device, true);
    drop(used);
    let image = rig.path("unused.img");
    erofs_image(&image);
    written(&rig, &image, false);
}

/// A lease on a file of an overlay does not see that the kernel has the file of the layer open.
#[test]
fn a_detached_image_is_refused_through_an_overlay() {
    let Some(mut rig) = Rig::alone() else { return };
    let folder = rig.path("");
    let Some([_, upper, seen]) = overlay(&mut rig, "detached", &folder) else { return };
    let [image, free] = ["a.img", "free.img"].map(|name| upper.join(name));
    for file in [&image, &free] {
        erofs_image(file);
    }
    let Some(_used) = detached(&image, "") else { return };
    refused(&rig, &seen.join("a.img"), &image, UNLISTED);
    let line =
        "run TARGET --overwrite --rw randwrite --bs 4k --runtime 50ms --tune off --json r.json --quiet";
    let before = fs::read(&image).unwrap();
    let (code, said) = volproof(&rig, &[], &words(line, seen.join("a.img").as_os_str()));
    assert!(code == Some(3) && said.contains("cannot be seen"), "{code:?} {said}");
    assert!(fs::read(&image).unwrap() == before);
    let (code, said) = volproof(&rig, &[], &words(line, seen.join("free.img").as_os_str()));
    assert!(crate::guard::rig::done(&(code, said.clone())), "{code:?} {said}");
}

#[test]
fn a_detached_image_that_begins_within_its_file_is_refused() {
    let Some(mut rig) = Rig::alone() else { return };
    let image = rig.path("within.img");
    erofs_image(&image);
    fs::write(&image, [vec![0; 8192], fs::read(&image).unwrap()].concat()).unwrap();
    let Some(_used) = detached(&image, "fsoffset=8192") else { return };
    refused(&rig, &image, &image, UNLISTED);
    let device = rig.loop_over(&image, &["--offset", "8192"]);
    device_refused(&rig, &device, &image, UNLISTED);
}

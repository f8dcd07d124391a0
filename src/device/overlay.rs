//! Files under an overlay: one file has a name and an inode in the overlay and others in the layer that holds its bytes.
//!
//! `stat` gives a file of an overlay the overlay's own device number, and a write lease on it does not see who has the file of the layer
//! open (Documentation/filesystems/overlayfs.rst, "Inode properties"). A container and its host use one file in this way. Nothing is
//! written.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::mounts::overlays;
use super::{DevNumber, FileId, Root};

/// Overlays on overlays are followed this far; the kernel stacks two.
const DEEPEST: usize = 4;

/// The file of the layer that holds the bytes of this file, which is at a path; the same file where the path is under no overlay, or its layers
/// are not visible here.
pub(super) fn holder(root: &Root, path: &Path, file: FileId) -> FileId {
    let mut found = (path.to_path_buf(), file);
    // Numbers of devices tell an ordinary filesystem.
    for _ in 0..DEEPEST {
        if !found.1.filesystem.is_anonymous() || !root.is_system() {
            break;
        }
        let Some(below) = in_layer(root, &found.0) else { break };
        found = below;
    }
    found.1
}

fn in_layer(root: &Root, path: &Path) -> Option<(PathBuf, FileId)> {
    // Only a path under an overlay is asked for its attributes: a dead network mount would hang.
    let (inside, layers) = overlays(root, path)?;
    let about = std::fs::metadata(path).ok()?;
    layers.into_iter().find_map(|layer| {
        let below = layer.join(&inside);
        let there = std::fs::symlink_metadata(&below).ok().filter(|there| same(&about, there))?;
        Some((below, FileId { filesystem: DevNumber::from_raw(there.dev()), inode: there.ino() }))
    })
}

/// Whether two names show one file: an overlay passes on size and times. The layers of another mount namespace may be names of other files here.
fn same(above: &Metadata, below: &Metadata) -> bool {
    let told = |m: &Metadata| (m.len(), m.mtime(), m.mtime_nsec(), m.ctime(), m.ctime_nsec());
    below.is_file() && told(above) == told(below)
}

//! A device or file that holds bytes, identified by numbers.

use std::os::unix::fs::{FileTypeExt, MetadataExt};

use super::DevNumber;

/// A regular file: all names that lead to it are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    /// The device number of the file's filesystem, as `stat` gives it.
    pub filesystem: DevNumber,
    /// The file's inode number in that filesystem.
    pub inode: u64,
}

/// A device or file that holds bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StackNode {
    /// A block device.
    Device(DevNumber),
    /// A regular file.
    File(FileId),
}

impl StackNode {
    /// The file or block device that is open here, or at this path; none for anything else.
    pub(in crate::device) fn from_metadata(about: &std::fs::Metadata) -> Option<StackNode> {
        let kind = about.file_type();
        if kind.is_block_device() {
            return Some(StackNode::Device(DevNumber::from_raw(about.rdev())));
        }
        let filesystem = DevNumber::from_raw(about.dev());
        kind.is_file().then(|| StackNode::File(FileId { filesystem, inode: about.ino() }))
    }
}

//! Which sectors of which disk the bytes of a target have: through the extents of its file, and down all layers that keep bytes in their order,
//! to the device whose driver takes requests from a queue. Nothing is written, but what a file still has in memory.

use std::os::fd::{AsFd, BorrowedFd};

use super::block::name_of;
use super::{DevNumber, Facts, Node, Root, SECTOR, ioctl};
use volproof_base::unit::Bytes;

/// Bytes of a target that lie on a disk in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PlacedBytes {
    offset: u64,
    length: u64,
    /// The byte of the disk where they begin.
    on_disk: u64,
}

/// Where a target lies on its disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskPlace {
    /// The disk that has the queue.
    pub disk: Node,
    /// In the order of their offsets.
    placed: Vec<PlacedBytes>,
}

impl DiskPlace {
    /// Finds the place of an open target.
    ///
    /// # Errors
    /// The reason why it is not known, in words.
    pub fn find(root: &Root, facts: &Facts, file: BorrowedFd<'_>) -> Result<DiskPlace, String> {
        let path = facts.path().display();
        let device = facts.device().ok_or_else(|| format!("{path}: no block device is known beneath it"))?;
        let size = facts.size().unwrap_or(Bytes(u64::MAX)).0;
        let (disk, begins) = queue_beneath(root, device.number)
            .ok_or_else(|| format!("{path}: no disk with a queue holds its bytes in one piece"))?;
        if facts.place().is_none() {
            let whole = PlacedBytes { offset: 0, length: size, on_disk: begins.0 };
            return Ok(DiskPlace { disk, placed: vec![whole] });
        }
        let length = rustix::fs::fstat(file.as_fd()).map_or(0, |stat| stat.st_size as u64);
        let extents = ioctl::file_extents(file, 0..length)
            .map_err(|e| format!("{path}: the filesystem does not say where its blocks are: {e}"))?;
        let placed: Vec<PlacedBytes> = extents
            .iter()
            .filter(|extent| extent.is_placed())
            .map(|e| PlacedBytes { offset: e.logical, length: e.length, on_disk: begins.0 + e.physical })
            .collect();
        if placed.is_empty() {
            return Err(format!("{path}: the filesystem does not say where its blocks are"));
        }
        Ok(DiskPlace { disk, placed })
    }

    /// The sector of the disk where these bytes begin; none where they lie in several places.
    pub fn sector(&self, offset: u64, length: u64) -> Option<u64> {
        let after = self.placed.partition_point(|bytes| bytes.offset <= offset);
        let bytes = self.placed.get(after.checked_sub(1)?)?;
        let within = offset - bytes.offset;
        let is_whole = within.checked_add(length)? <= bytes.length;
        is_whole.then(|| (bytes.on_disk + within) / SECTOR)
    }
}

/// The device with a queue that holds the bytes of this one in their order, and the byte there where it begins.
fn queue_beneath(root: &Root, device: DevNumber) -> Option<(Node, Bytes)> {
    let (mut number, mut begins) = (device, 0);
    // No stack is deeper.
    for _ in 0..16 {
        let name = name_of(root, number)?;
        if !root.names(format!("/sys/block/{name}/mq")).is_empty() {
            return Some((Node { name, number }, Bytes(begins)));
        }
        let (lower, from) = root.stack().linear_beneath(number)?;
        (number, begins) = (lower, from.0.checked_add(begins)?);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_within_one_extent_alone() {
        let disk = Node { name: "vdb".into(), number: "252:16".parse().unwrap() };
        let placed = |offset, length, on_disk| PlacedBytes { offset, length, on_disk };
        let place = DiskPlace { disk, placed: vec![placed(0, 8192, 1 << 20), placed(16384, 4096, 512)] };
        assert_eq!(place.sector(0, 4096), Some(2048));
        assert_eq!(place.sector(4096, 4096), Some(2056));
        assert_eq!(place.sector(4096, 8192), None, "it goes over the end");
        assert_eq!(place.sector(12288, 4096), None, "a hole");
        assert_eq!(place.sector(16384, 4096), Some(1));
        assert_eq!(place.sector(u64::MAX, 4096), None);
    }
}

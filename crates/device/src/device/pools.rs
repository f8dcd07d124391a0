//! Filesystems and caches that spread over several devices: btrfs and bcache. A mount names one of the devices or none.

use std::path::Path;

use super::block::dir;
use super::{Block, Root};

/// The kernel names of the devices of each mounted btrfs filesystem.
fn btrfs(root: &Root) -> Vec<Vec<String>> {
    let all = Path::new("/sys/fs/btrfs");
    let pools = root.names(all).into_iter().map(|uuid| root.names(all.join(uuid).join("devices")));
    pools.filter(|members| !members.is_empty()).collect()
}

/// The other devices of the mounted btrfs filesystem that this device is one of.
pub(super) fn fellows(root: &Root, name: &str) -> Vec<Block> {
    let own = btrfs(root).into_iter().filter(|members| members.iter().any(|m| m == name));
    own.flatten().filter(|m| m != name).filter_map(|m| Block::read(root, &m)).collect()
}

/// Members of mounted btrfs filesystems and of running bcache sets.
pub(super) fn members(root: &Root) -> Vec<String> {
    let bcache = root.names("/sys/class/block").into_iter().filter(|n| root.has(dir(n).join("bcache/set")));
    btrfs(root).into_iter().flatten().chain(bcache).collect()
}

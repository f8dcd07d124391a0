//! Mounts and swap areas, in every mount namespace this process may see.
//!
//! `/proc/mounts` shows one namespace; a container's mounts of a volume show in `/proc/PID/mountinfo` of its processes alone.
//! Lines that do not parse are skipped: another kernel's new field must not hide the rest.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DevNumber, Root};

/// One line of mountinfo (proc_pid_mountinfo(5)).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    /// The kernel's id of the mount.
    pub id: u64,
    /// The device; anonymous (major 0) for btrfs, overlay and others that have no one device.
    pub number: DevNumber,
    /// The folder of the filesystem that is mounted; other than `/` for a bind mount.
    pub subtree: PathBuf,
    /// The folder where the mount appears.
    pub mount_point: PathBuf,
    /// Kind of filesystem.
    pub filesystem: String,
    /// The source of the mount, as the mounter wrote it.
    pub source: String,
    /// A process of the other mount namespace that sees it, as `pid (command)`; absent for our own namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_by: Option<String>,
}

/// One line of `/proc/swaps`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Swap {
    /// The device or file.
    pub path: PathBuf,
    /// Whether it is a file and not a device.
    pub file: bool,
}

/// Mounts of our own namespace, in the order of mounting.
pub fn own_mounts(root: &Root) -> Vec<Mount> {
    own_mounts_with_options(root).into_iter().map(|(mount, _)| mount).collect()
}

/// Those mounts, each with the options of its filesystem.
fn own_mounts_with_options(root: &Root) -> Vec<(Mount, String)> {
    parse_mountinfo(&root.text("/proc/self/mountinfo").unwrap_or_default(), None)
}

/// Mounts of all visible namespaces, each with the options of its filesystem; our own first, and each (device, folder, mount point) once.
pub(super) fn all_mounts(root: &Root) -> Vec<(Mount, String)> {
    let mut mounts = own_mounts_with_options(root);
    let mut namespaces: HashSet<PathBuf> = root.link("/proc/self/ns/mnt").into_iter().collect();
    for pid in root.names("/proc").iter().filter(|n| n.bytes().all(|b| b.is_ascii_digit())) {
        let proc = Path::new("/proc").join(pid);
        // A process whose namespace cannot be read (not ours, or gone) may still show its mounts. In a chroot, the first process shows the
        // whole tree of our own namespace.
        if root.link(proc.join("ns/mnt")).is_some_and(|ns| !namespaces.insert(ns)) && pid != "1" {
            continue;
        }
        let Some(text) = root.text(proc.join("mountinfo")) else { continue };
        let command = root.text(proc.join("comm")).unwrap_or_default();
        mounts.extend(parse_mountinfo(&text, Some(&format!("{pid} ({command})"))));
    }
    let mut seen = HashSet::new();
    mounts
        .retain(|(m, _)| seen.insert((m.number, m.subtree.clone(), m.mount_point.clone(), m.source.clone())));
    mounts
}

/// Mounts of our own namespace, each with the folders of its layers from the top; none but for overlays.
pub(super) fn mounts_with_layers(root: &Root) -> Vec<(Mount, Vec<PathBuf>)> {
    let mut mounts = Vec::new();
    for (mount, options) in own_mounts_with_options(root) {
        let layers = if mount.filesystem == "overlay" { layers(&options) } else { Vec::new() };
        mounts.push((mount, layers));
    }
    mounts
}

/// The value of a mount option, whose key ends with the sign.
pub(super) fn mount_option<'a>(options: &'a str, key: &str) -> Option<&'a str> {
    options.split(',').find_map(|option| option.strip_prefix(key))
}

/// The layers that the options of an overlay name in full; others are named from a folder of the mounter that is not known.
fn layers(options: &str) -> Vec<PathBuf> {
    let upper = mount_option(options, "upperdir=").into_iter().map(PathBuf::from);
    let lower = mount_option(options, "lowerdir=").unwrap_or_default();
    let lower = lower.split(':').filter(|folder| !folder.is_empty()).map(PathBuf::from);
    upper.chain(lower).filter(|folder| folder.is_absolute()).collect()
}

/// The active swap areas.
pub fn swaps(root: &Root) -> Vec<Swap> {
    parse_swaps(&root.bytes("/proc/swaps").unwrap_or_default())
}

/// The mounts in a text of mountinfo, each with the options of its filesystem.
pub(super) fn parse_mountinfo(text: &str, seen_by: Option<&str>) -> Vec<(Mount, String)> {
    text.lines().filter_map(|line| parse_mount(line, seen_by)).collect()
}

fn parse_mount(line: &str, seen_by: Option<&str>) -> Option<(Mount, String)> {
    // A variable number of optional fields ends with a lone dash.
    let (mount, filesystem) = line.split_once(" - ")?;
    let mut mount = mount.split(' ');
    let id = mount.next()?.parse().ok()?;
    let number = mount.nth(1)?.parse().ok()?;
    let (subtree, mount_point) = (mount.next()?, mount.next()?);
    let mut filesystem = filesystem.split(' ');
    let mount = Mount {
        id,
        number,
        subtree: unescaped(subtree).into(),
        mount_point: unescaped(mount_point).into(),
        filesystem: filesystem.next()?.to_string(),
        source: unescaped(filesystem.next()?),
        seen_by: seen_by.map(str::to_string),
    };
    Some((mount, unescaped(filesystem.next().unwrap_or_default())))
}

fn parse_swaps(text: &[u8]) -> Vec<Swap> {
    let mut swaps = Vec::new();
    for line in text.split(|b| *b == b'\n').skip(1) {
        let mut words = line.split(|b| b.is_ascii_whitespace()).filter(|w| !w.is_empty());
        if let (Some(path), Some(kind)) = (words.next(), words.next()) {
            swaps.push(Swap { path: OsString::from_vec(unescape(path)).into(), file: kind == b"file" });
        }
    }
    swaps
}

/// A word of `mountinfo` or `swaps` as text, its octal escapes resolved.
pub fn unescaped(text: &str) -> String {
    String::from_utf8_lossy(&unescape(text.as_bytes())).into_owned()
}

/// The kernel writes blanks, tabs, newlines and backslashes in these files as three octal digits.
pub(super) fn unescape(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let octal = (bytes[i] == b'\\').then(|| bytes.get(i + 1..i + 4)).flatten();
        let value = octal.and_then(|o| u8::from_str_radix(std::str::from_utf8(o).ok()?, 8).ok());
        out.push(value.unwrap_or(bytes[i]));
        i += if value.is_some() { 4 } else { 1 };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn optional_fields_binds_and_escapes() {
        let text = "36 35 254:17 /sub\\040dir /mnt/a\\134b rw,noatime master:1 shared:2 - ext4 /dev/vdb1 rw\n\
                    junk\n\
                    40 35 0:52 / / rw - overlay overlay rw,lowerdir=/a";
        let (mounts, options): (Vec<_>, Vec<_>) =
            parse_mountinfo(text, Some("7 (redis)")).into_iter().unzip();
        assert_eq!(options, ["rw", "rw,lowerdir=/a"]);
        assert_eq!(mounts[0].subtree, Path::new("/sub dir"));
        assert_eq!(mounts[0].mount_point, Path::new("/mnt/a\\b"));
        assert_eq!(mounts[0].number.to_string(), "254:17");
        assert_eq!((mounts[0].filesystem.as_str(), mounts[0].source.as_str()), ("ext4", "/dev/vdb1"));
        assert!(mounts[1].number.is_anonymous());
        assert_eq!(mounts[1].seen_by.as_deref(), Some("7 (redis)"));
    }

    #[test]
    fn swaps_are_files_or_devices() {
        let text = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
                    /dev/vdb2                               partition\t1048572\t\t0\t\t-2\n\
                    /swap\\040file                           file\t\t524284\t\t0\t\t-3\n";
        assert_eq!(
            parse_swaps(text.as_bytes()),
            [Swap { path: "/dev/vdb2".into(), file: false }, Swap { path: "/swap file".into(), file: true }]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "[ -~\\\\\n]{0,200}") {
            let _ = parse_mountinfo(&text, None);
            let _ = parse_swaps(text.as_bytes());
        }

        #[test]
        fn every_path_comes_back(path in "/[a-z \\t\\\\]{1,20}") {
            let escaped: String = path.chars().map(|c| match c {
                ' ' | '\t' | '\\' => format!("\\{:03o}", c as u32),
                c => c.to_string(),
            }).collect();
            prop_assert_eq!(unescaped(&escaped), path);
        }
    }
}

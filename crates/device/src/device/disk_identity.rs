//! The identity of a disk: serial, world-wide name, model, and the changes that show that a device is no longer the same.

use std::path::{Path, PathBuf};

use super::Root;
use super::block::{Block, dev_path, dir};
use volproof_base::unit::Bytes;

/// The names that tell a whole disk from others.
pub(super) struct DiskIdentity {
    pub(super) model: Option<String>,
    pub(super) serial: Option<String>,
    pub(super) wwid: Option<String>,
    pub(super) backing_file: Option<PathBuf>,
    pub(super) backing_offset: Bytes,
}

impl DiskIdentity {
    pub(super) fn read(root: &Root, disk: &str) -> DiskIdentity {
        let dir = dir(disk);
        DiskIdentity {
            model: model(root, &dir),
            serial: serial(root, &dir),
            wwid: wwid(root, &dir),
            backing_file: root.path_in(dir.join("loop/backing_file")),
            backing_offset: Bytes(root.number(dir.join("loop/offset")).unwrap_or(0)),
        }
    }
}

/// A word without blanks and quotes: what a shell would take apart becomes `_`, as udev writes it.
pub fn word(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join("_");
    words.chars().map(|c| if c.is_control() || "'\"\\`$".contains(c) { '_' } else { c }).collect()
}

/// Properties of a device that stay the same across a reboot, with the words for them.
fn lasting(block: &Block) -> [(&'static str, Option<String>); 5] {
    let backing = block.backing_file.as_ref().map(|path| path.display().to_string());
    [
        ("serial", block.serial.clone()),
        ("world-wide name", block.wwid.clone()),
        ("model", block.model.clone()),
        ("backing file", backing),
        ("place on the disk", Some(block.start_bytes.exact())),
    ]
}

/// Properties that stay the same as long as the device is attached.
fn attached(block: &Block) -> [(&'static str, Option<String>); 4] {
    let mut partitions: Vec<String> = Vec::new();
    for p in &block.partitions {
        partitions.push(format!("{} of {} at {}", p.name, p.size_bytes.exact(), p.start_bytes.exact()));
    }
    [
        ("device number", Some(block.number.to_string())),
        ("size", Some(block.size_bytes.exact())),
        ("disk sequence number", block.diskseq.map(|number| number.to_string())),
        ("list of partitions", (!partitions.is_empty()).then(|| partitions.join(", "))),
    ]
}

/// All differences between two looks at one device between which it stayed attached, in words.
pub fn changes(before: &Block, now: &Block) -> Vec<String> {
    let pairs = attached(before).into_iter().zip(attached(now));
    let pairs = pairs.chain(lasting(before).into_iter().zip(lasting(now)));
    pairs.filter_map(|((what, was), (_, is))| change(what, was, is)).collect()
}

/// The first difference between two devices that a reboot does not explain, in words.
pub fn lasting_change(then: &Block, now: &Block) -> Option<String> {
    lasting(then).into_iter().zip(lasting(now)).find_map(|((what, was), (_, is))| change(what, was, is))
}

/// A property that differs, in words.
pub fn change(what: &str, was: Option<String>, is: Option<String>) -> Option<String> {
    if was == is {
        return None;
    }
    let [was, is] = [was, is].map(|value| value.unwrap_or_else(|| "none".into()));
    Some(format!("its {what} was {was} and is {is}"))
}

fn serial(root: &Root, disk: &Path) -> Option<String> {
    let plain = ["serial", "device/serial"].iter().find_map(|f| root.text(disk.join(f)));
    plain.or_else(|| vpd_serial(&root.bytes(disk.join("device/vpd_pg80"))?))
}

/// SCSI's vital product data page 0x80: four bytes of header, the last of them the length, then the serial (SPC-4, 7.8.15).
fn vpd_serial(page: &[u8]) -> Option<String> {
    let text = page.get(4..)?;
    let text = &text[..text.len().min(usize::from(page[3]))];
    let text =
        String::from_utf8_lossy(text).trim_matches(|c: char| c.is_whitespace() || c == '\0').to_string();
    (!text.is_empty()).then_some(text)
}

fn model(root: &Root, disk: &Path) -> Option<String> {
    let model = ["device/model", "device/name", "dm/name"].iter().find_map(|f| root.text(disk.join(f)))?;
    // Only SCSI has a vendor in words; elsewhere it is a PCI number.
    match root.text(disk.join("device/vendor")).filter(|v| !v.starts_with("0x") && *v != "ATA") {
        Some(vendor) => Some(format!("{vendor} {model}")),
        None => Some(model),
    }
}

/// A device mapper's uuid is as lasting a name as a world-wide one.
fn wwid(root: &Root, disk: &Path) -> Option<String> {
    ["wwid", "device/wwid", "dm/uuid", "md/uuid"].iter().find_map(|f| root.text(disk.join(f)))
}

pub(super) fn by_id(root: &Root, name: &str) -> Vec<String> {
    links_to(root, "/dev/disk/by-id", name)
}

/// The UUID of the filesystem on a device, as udev names it.
pub(super) fn filesystem_uuid(root: &Root, name: &str) -> Option<String> {
    links_to(root, "/dev/disk/by-uuid", name).into_iter().next()
}

/// The names in a folder of links that lead to a device, sorted.
fn links_to(root: &Root, folder: &str, name: &str) -> Vec<String> {
    let folder = Path::new(folder);
    let links = root.names(folder).into_iter();
    links.filter(|link| root.resolve(folder.join(link)).is_ok_and(|to| to == dev_path(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scsi_serial_is_read_behind_its_header() {
        assert_eq!(vpd_serial(b"\x00\x80\x00\x06 AB12 trailing"), Some("AB12".into()));
        assert_eq!(vpd_serial(b"\x00\x80\x00\x28serial of forty"), Some("serial of forty".into()));
        assert_eq!(vpd_serial(b"\x00\x80\x00\x02  "), None);
        assert_eq!(vpd_serial(b"\x00\x80"), None);
    }
}

//! The one string that unlocks a write to a block device: it names that device and no other.
//!
//! No flag and no environment variable does the same, because people set those by habit.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::device::{Block, Usage, word};
use volproof_base::unit::Bytes;

/// The string that `--destroy` must equal, by preference: the serial number, the stable name under `/dev/disk/by-id`, the
/// world-wide name, and where a device has none of these, its size, its model and the number that the kernel counted for it: another disk
/// in its place has another number, and so has a loop device that is attached again. A partition has its place on the disk as well.
pub fn consent(block: &Block, usage: &Usage) -> String {
    let part = block.partition.map_or(String::new(), |n| format!("-part{n}"));
    let place = match block.partition {
        Some(_) => format!("@{}+{}", block.start_bytes.exact(), block.size_bytes.exact()),
        None => String::new(),
    };
    format!("{}{place}", named(block, usage, &part))
}

fn named(block: &Block, usage: &Usage, part: &str) -> String {
    if let Some(serial) = block.serial.as_ref().filter(|_| usage.same_serial.is_empty()) {
        return format!("{}{part}", word(serial));
    }
    // Names made from the data on the disk change when it is overwritten.
    let of_data = ["lvm-pv-uuid-", "md-uuid-"];
    if let Some(id) = block.by_id.iter().find(|id| !of_data.iter().any(|front| id.starts_with(front))) {
        return id.clone();
    }
    if let Some(wwid) = &block.wwid {
        return format!("{}{part}", word(wwid));
    }
    let mut model = match (&block.backing_file, &block.model) {
        (Some(file), _) => format!("{}{}", escaped(file), from(block.backing_offset_bytes)),
        (None, Some(model)) => word(model),
        (None, None) => block.disk.name.clone(),
    };
    if !usage.same_model.is_empty() {
        model += &format!(":{}", block.disk.name);
    }
    if let Some(sequence) = block.diskseq {
        model += &format!("#{sequence}");
    }
    format!("{}:{model}{part}", block.size_bytes.exact())
}

/// Where in its file a loop device begins, unless at the front.
fn from(offset: Bytes) -> String {
    if offset.0 == 0 { String::new() } else { format!("@{}", offset.exact()) }
}

/// A path as one word of a shell, by which no two paths are alike: what is no plain ASCII stands as `%` and two digits, as in a URL.
fn escaped(path: &Path) -> String {
    let mut word = String::new();
    for b in path.as_os_str().as_bytes() {
        if b.is_ascii_graphic() && !b"'\"\\`$%@#".contains(b) {
            word.push(*b as char);
        } else {
            word += &format!("%{b:02X}");
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Driver;

    fn block() -> Block {
        Block::of_test("sdb", "8:16", Driver::Scsi)
    }

    #[test]
    fn the_best_name_that_tells_it_apart_is_taken() {
        let alone = Usage::default();
        let one_of_many =
            Usage { same_serial: vec!["sdc".into()], same_model: vec!["sdd".into()], ..Usage::default() };
        assert_eq!(consent(&block(), &alone), "1GiB:sdb");
        let model = Block { model: Some("IET VIRTUAL-DISK".into()), ..block() };
        assert_eq!(consent(&model, &alone), "1GiB:IET_VIRTUAL-DISK");
        assert_eq!(consent(&model, &one_of_many), "1GiB:IET_VIRTUAL-DISK:sdb");
        let wwid = Block { wwid: Some("naa.6001".into()), ..model };
        assert_eq!(consent(&wwid, &one_of_many), "naa.6001");
        let by_id = vec!["lvm-pv-uuid-x".to_string(), "scsi-36001".to_string()];
        let by_id = Block { by_id, ..wwid };
        assert_eq!(consent(&by_id, &one_of_many), "scsi-36001");
        let serial = Block { serial: Some("S 1".into()), ..by_id };
        assert_eq!(consent(&serial, &alone), "S_1");
        assert_eq!(consent(&serial, &one_of_many), "scsi-36001");
    }

    #[test]
    fn a_partition_is_not_its_disk_nor_its_sibling() {
        let part = |n| Block { partition: Some(n), serial: Some("S1".into()), ..block() };
        assert_eq!(consent(&part(1), &Usage::default()), "S1-part1@0B+1GiB");
        let moved = Block { start_bytes: Bytes::mib(1), ..part(1) };
        assert_ne!(
            consent(&part(1), &Usage::default()),
            consent(&moved, &Usage::default()),
            "made anew elsewhere"
        );
        let nameless = |n| Block { serial: None, ..part(n) };
        assert_ne!(consent(&nameless(1), &Usage::default()), consent(&nameless(2), &Usage::default()));
    }

    #[test]
    fn two_parts_of_one_file_and_two_files_of_one_name_are_told_apart() {
        let file = Block { backing_file: Some("/tmp/a".into()), ..block() };
        let half = Block { backing_offset_bytes: Bytes::gib(1), ..file.clone() };
        assert_eq!(consent(&half, &Usage::default()), "1GiB:/tmp/a@1GiB");
        let again = Block { diskseq: Some(12), ..file.clone() };
        assert_eq!(
            consent(&again, &Usage::default()),
            "1GiB:/tmp/a#12",
            "attached again, it may hold other bytes"
        );
        let namesake = Usage { same_model: vec!["loop7".into()], ..Usage::default() };
        assert_eq!(consent(&file, &namesake), "1GiB:/tmp/a:sdb");
        let odd = |name: &[u8]| escaped(Path::new(std::ffi::OsStr::from_bytes(name)));
        assert_eq!([odd(b"/a "), odd(b"/a%20"), odd(b"/\xff")], ["/a%20", "/a%2520", "/%FF"]);
    }

    #[test]
    fn a_shell_takes_it_as_one_word() {
        let file = Some("/tmp/a b'$(x)".into());
        assert_eq!(
            consent(&Block { backing_file: file, ..block() }, &Usage::default()),
            "1GiB:/tmp/a%20b%27%24(x)"
        );
    }
}

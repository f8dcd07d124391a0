//! The one string that unlocks a write to a block device: it names that device and no other.
//!
//! There is no flag and no environment variable beside it, because those work by habit.

use crate::device::{Block, Usage};

/// The string that `--destroy` must equal, by preference: the serial number, the stable name under `/dev/disk/by-id`, the
/// world-wide name, and where a device has none of these, its size and model.
pub fn consent(block: &Block, usage: &Usage) -> String {
    let part = block.partition.map_or(String::new(), |n| format!("-part{n}"));
    if let Some(serial) = block.serial.as_ref().filter(|_| usage.same_serial.is_empty()) {
        return format!("{}{part}", without_blanks(serial));
    }
    // Names made from the data on the disk change when it is overwritten.
    let lasting = |id: &&String| !id.starts_with("lvm-pv-uuid-") && !id.starts_with("md-uuid-");
    if let Some(id) = block.by_id.iter().find(lasting) {
        return id.clone();
    }
    if let Some(wwid) = &block.wwid {
        return format!("{}{part}", without_blanks(wwid));
    }
    let model = match (&block.backing_file, &block.model) {
        (Some(file), _) => file.display().to_string(),
        (None, Some(model)) => model.clone(),
        (None, None) => block.name.clone(),
    };
    format!("{}:{}", block.size_bytes.exact(), without_blanks(&model))
}

/// A word without blanks and quotes: what a shell would take apart becomes `_`, as udev writes it.
fn without_blanks(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join("_");
    words.chars().map(|c| if c.is_control() || "'\"\\`$".contains(c) { '_' } else { c }).collect()
}

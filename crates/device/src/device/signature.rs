//! Signatures of data in the first and last MiB of a device: the marks that filesystems, volume managers and partition tables
//! leave there.
//!
//! Nothing is written, and nothing beyond the two windows is read.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::AsFd;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_base::unit::Bytes;

/// How much is read at either end.
pub const WINDOW: Bytes = Bytes::MIB;

/// Data that was recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// The format, such as `ext4` or `LVM2`.
    pub name: String,
    /// Where its mark stands on the device.
    pub offset_bytes: Bytes,
    /// The name its owner gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The data that is lost when the signature is overwritten.
    pub loses: String,
    /// Other tools may not show the signature: it is a backup copy, or a remnant of earlier data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
}

/// The data in the two windows of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scan {
    /// The signatures that were recognised, by offset.
    pub signatures: Vec<Signature>,
    /// Whether both windows hold zeros only.
    pub blank: bool,
}

/// The first and the last MiB of a device; one window when they meet.
#[derive(Hash)]
pub struct Windows {
    pub(super) size: u64,
    pub(super) head: Vec<u8>,
    pub(super) tail: Vec<u8>,
}

impl Windows {
    /// Reads both windows through an open descriptor; its offset is left alone, and direct I/O is served as well.
    ///
    /// # Errors
    /// The device cannot be read.
    pub fn read(fd: impl AsFd, size: Bytes) -> io::Result<Windows> {
        let fd = fd.as_fd();
        let head = read_at(&fd, 0, size.0.min(WINDOW.0))?;
        let tail_start = size.0.saturating_sub(WINDOW.0).max(head.len() as u64);
        let tail = read_at(&fd, tail_start, size.0 - tail_start)?;
        Ok(Windows { size: size.0, head, tail })
    }

    /// From bytes in memory: a whole small device.
    pub fn from_bytes(device: &[u8]) -> Windows {
        let window = WINDOW.0 as usize;
        let head = &device[..device.len().min(window)];
        let tail = &device[device.len().saturating_sub(window).max(head.len())..];
        Windows { size: device.len() as u64, head: head.to_vec(), tail: tail.to_vec() }
    }

    pub(super) fn bytes(&self, at: u64, length: u64) -> Option<&[u8]> {
        let end = at.checked_add(length)?;
        let tail_start = self.size - self.tail.len() as u64;
        let (window, from) = match at {
            at if end <= self.head.len() as u64 => (&self.head, at),
            at if at >= tail_start && end <= self.size => (&self.tail, at - tail_start),
            _ => return None,
        };
        window.get(from as usize..(from + length) as usize)
    }

    pub(super) fn is(&self, at: u64, bytes: &[u8]) -> bool {
        self.bytes(at, bytes.len() as u64) == Some(bytes)
    }

    pub(super) fn u32_le(&self, at: u64) -> Option<u32> {
        self.bytes(at, 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// Up to `longest` bytes of text until the first zero byte.
    pub(super) fn text(&self, at: u64, longest: usize) -> Option<String> {
        let bytes = self.bytes(at, longest as u64)?;
        let text = String::from_utf8_lossy(bytes.split(|b| *b == 0).next()?);
        let text: String = text.trim().chars().filter(|c| !c.is_control()).collect();
        (!text.is_empty()).then_some(text)
    }

    /// Tells these bytes from any others.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

/// Reads exactly this much into memory aligned for direct I/O.
fn read_at(fd: &impl AsFd, at: u64, length: u64) -> io::Result<Vec<u8>> {
    const ALIGN: usize = 4096;
    let length = length as usize;
    let mut space = vec![0u8; length + ALIGN];
    let skip = space.as_ptr().align_offset(ALIGN).min(ALIGN);
    let mut done = 0;
    while done < length {
        let n = rustix::io::pread(fd, &mut space[skip + done..skip + length], at + done as u64)?;
        if n == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the device ends before its size"));
        }
        done += n;
    }
    space.drain(..skip);
    space.truncate(length);
    Ok(space)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_windows_answer_for_their_own_bytes(size in 1usize..2_300_000, at in 0usize..2_300_000) {
            let bytes: Vec<u8> = (0..size).map(|n| n as u8).collect();
            let w = Windows::from_bytes(&bytes);
            if let Some(b) = w.bytes(at as u64, 1) {
                prop_assert_eq!(b[0], at as u8);
            } else {
                prop_assert!(at >= size || (at >= 1 << 20 && at < size - (1 << 20)));
            }
        }
    }
}

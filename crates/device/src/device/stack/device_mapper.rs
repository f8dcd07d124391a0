//! Which bytes of a device mapper device lie on which bytes of its members, from its table.
//!
//! Kinds of targets whose layout is not known here may have any byte on any other. Nothing is read or written.

use super::{Piece, Span};
use crate::device::SECTOR;
use crate::device::ioctl::DmTarget;
use volproof_base::unit::Bytes;

/// The bytes that lie on the member with this number, and whether the pool beneath gave them to this device alone.
pub(super) fn pieces_on(member: &str, table: &[DmTarget]) -> (Vec<Piece>, bool) {
    let pieces: Vec<Piece> = table.iter().flat_map(|target| of_target(target, member)).collect();
    let exclusive = table.iter().any(|target| target.kind == "thin");
    (if pieces.is_empty() { vec![Piece::ALL] } else { pieces }, exclusive)
}

/// Any byte of a striped device may lie on any of a member's share of it.
fn striped(words: &[&str], member: &str, upper: Span, length: u64) -> Option<Vec<Piece>> {
    let each = length.checked_div(words[0].parse().ok()?)?;
    let mut pieces = Vec::new();
    for word in (0..words.len()).filter(|n| words[*n] == member) {
        pieces.push(Piece { upper, lower: Span::new(begins(words, word, member)?, each), linear: false });
    }
    Some(pieces)
}

/// Where the bytes of a member begin: a device is followed by that sector. None where this word is no such device.
fn begins(words: &[&str], word: usize, member: &str) -> Option<u64> {
    let sector = words.get(word + 1)?.parse::<u64>().ok()?;
    (words[word] == member).then(|| sector.saturating_mul(SECTOR))
}

/// The layouts are those of the kernel's Documentation/admin-guide/device-mapper.
fn of_target(target: &DmTarget, member: &str) -> Vec<Piece> {
    let words: Vec<&str> = target.words.split_whitespace().collect();
    let (Bytes(start), Bytes(length)) = (target.start, target.length);
    let of_member: Vec<usize> = (0..words.len()).filter(|n| words[*n] == member).collect();
    let linear = |word| Some(Piece::linear(start, begins(&words, word, member)?, length));
    let known: Option<Vec<Piece>> = match (target.kind.as_str(), words.as_slice()) {
        ("linear" | "flakey", [_, _, ..]) => linear(0).map(|piece| vec![piece]),
        ("delay", _) => of_member.iter().map(|word| linear(*word)).collect(),
        ("crypt", [_, _, _, _, _, ..]) => linear(3).map(|piece| vec![piece]),
        // Each path leads to the whole volume.
        ("multipath", _) => Some(of_member.iter().map(|_| Piece::linear(start, 0, length)).collect()),
        ("striped", [_, _, ..]) => striped(&words, member, Span::new(start, length), length),
        _ => None,
    };
    match known {
        Some(pieces) => pieces,
        // A pool of thin volumes gives each of them blocks of its own.
        None if target.kind == "thin" || !of_member.is_empty() => vec![Piece::ALL],
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(kind: &str, words: &str) -> Vec<(u64, u64, u64, bool)> {
        let table =
            [DmTarget { start: Bytes(4096), length: Bytes(1 << 20), kind: kind.into(), words: words.into() }];
        let (pieces, _) = pieces_on("7:1", &table);
        pieces.iter().map(|p| (p.upper.from, p.lower.from, p.lower.to, p.linear)).collect()
    }

    #[test]
    fn the_bytes_of_each_kind() {
        let mib = 1 << 20;
        assert_eq!(spans("linear", "7:1 8"), [(4096, 4096, 4096 + mib, true)]);
        assert_eq!(spans("crypt", "aes-xts-plain64 :64:logon:k 0 7:1 16"), [(4096, 8192, 8192 + mib, true)]);
        assert_eq!(spans("multipath", "0 0 1 1 round-robin 0 2 1 7:0 100 7:1 100"), [(4096, 0, mib, true)]);
        assert_eq!(spans("striped", "2 128 7:0 0 7:1 8"), [(4096, 4096, 4096 + mib / 2, false)]);
        assert_eq!(spans("delay", "7:0 0 1 7:1 8 1"), [(4096, 4096, 4096 + mib, true)]);
        // What has no known layout has any byte on any.
        for (kind, words) in [
            ("raid", "raid1 3 0 region_size 1024 2 7:0 7:1 7:2 7:3"),
            ("thin", "7:1 1"),
            ("linear", "7:1 none"),
            ("striped", "0 128 7:1 0"),
        ] {
            assert_eq!(spans(kind, words), [(0, 0, u64::MAX, false)], "{kind} {words}");
        }
    }
}

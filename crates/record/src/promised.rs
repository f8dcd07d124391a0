//! The promise for the load of a step: its direction, its block size, and the limit that decides there.

use volproof_base::sample::Direction;
use volproof_base::unit::Bytes;
use volproof_plan::Pattern;
use volproof_promise::catalogue::Promise;
use volproof_promise::catalogue::promised_level::PromiseDirection;
use volproof_promise::catalogue::volume_promise::VolumePromise;

/// Which promise a step is held against: the direction of its I/O; reads for a mix, when both are promised the same.
pub fn promise_direction(pattern: Pattern) -> Option<PromiseDirection> {
    match pattern.directions() {
        [Direction::Read] | [Direction::Read, Direction::Write] => Some(PromiseDirection::Read),
        [Direction::Write] => Some(PromiseDirection::Write),
        _ => None,
    }
}

/// Why a promise has no rate for a load, in words; none where it has one.
pub fn load_without_promise(promise: &Promise, block: Bytes, pattern: Pattern) -> Option<&'static str> {
    use PromiseDirection::{Read, Write};
    if pattern.directions().len() > 1 && promise.least(block, Read) != promise.least(block, Write) {
        return Some("reads and writes are promised apart, which a mix does not test");
    }
    let mut charged = promise.volumes.iter().filter_map(VolumePromise::charged_block);
    (!pattern.is_random() && charged.any(|charged| block < charged)).then_some(
        "its requests are smaller than those that are charged, and may be merged: what a sequential load gets depends on that",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_promise::catalogue::Catalogue;
    use volproof_promise::catalogue::request::{AskedVolume, PromiseRequest};

    #[test]
    fn a_load_without_a_promised_rate_is_told_why() {
        let why = |kind: &str, pattern, kib| {
            let volume =
                AskedVolume { kind: kind.into(), size: Some(Bytes::gib(1000)), ..AskedVolume::default() };
            let request = PromiseRequest { volume, ..PromiseRequest::default() };
            let promise = Promise::requested(Catalogue::shipped(), &request).unwrap();
            load_without_promise(&promise, Bytes::kib(kib), pattern)
        };
        assert!(why("aws:st1", Pattern::Read, 64).is_some_and(|why| why.contains("merged")));
        assert_eq!(why("aws:st1", Pattern::Read, 1024), None);
        assert_eq!(why("aws:st1", Pattern::RandRead, 64), None);
        assert_eq!(why("aws:gp3", Pattern::RandRw, 4), None, "reads and writes share one promise");
        assert!(why("gcp:pd-balanced", Pattern::RandRw, 512).is_none_or(|why| why.contains("apart")));
    }
}

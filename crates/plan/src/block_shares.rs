//! Block sizes of a load, with their shares (`--bs`).

use std::fmt;
use std::str::FromStr;

use super::workload::WordError;
use volproof_base::unit::Bytes;

/// The largest block of a load.
pub const MOST_BYTES: Bytes = Bytes(1 << 30);

/// Block sizes with their shares in percent (`--bs 4k` or `--bs 4k/70:64k/30`). Shares add up to 100.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSizes(Vec<(Bytes, u32)>);

impl BlockSizes {
    /// All I/Os have one size.
    pub fn one(size: Bytes) -> BlockSizes {
        BlockSizes(vec![(size, 100)])
    }

    /// Size and share in percent, as given.
    pub fn shares(&self) -> &[(Bytes, u32)] {
        &self.0
    }

    /// The largest size: what a buffer must hold.
    pub fn largest(&self) -> Bytes {
        self.0.iter().map(|s| s.0).max().expect("never empty")
    }

    /// The only size, when there is one.
    pub fn single(&self) -> Option<Bytes> {
        (self.0.len() == 1).then(|| self.0[0].0)
    }

    /// Mean size of an I/O.
    pub fn mean(&self) -> f64 {
        self.0.iter().map(|(b, p)| b.0 as f64 * f64::from(*p) / 100.0).sum()
    }
}

impl fmt::Display for BlockSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.single() {
            Some(size) => f.pad(&size.exact()),
            None => {
                let parts: Vec<_> = self.0.iter().map(|(b, p)| format!("{}/{p}", b.exact())).collect();
                f.pad(&parts.join(":"))
            }
        }
    }
}

impl FromStr for BlockSizes {
    type Err = WordError;
    fn from_str(text: &str) -> Result<BlockSizes, WordError> {
        let mut shares = Vec::new();
        for part in text.split(':') {
            let (size, share) = match part.split_once('/') {
                Some((size, share)) => {
                    let share = share.trim_end_matches('%');
                    let share: u32 = share
                        .parse()
                        .map_err(|_| WordError(format!("bs: share '{share}' is not a whole percentage")))?;
                    (size, share)
                }
                None if text.contains(':') => {
                    return Err(WordError(format!(
                        "bs: '{part}' has no share: write a split as 4k/70:64k/30"
                    )));
                }
                None => (part, 100),
            };
            if size.contains(',') {
                return Err(WordError(format!(
                    "bs: '{text}' is a list, and a step has one size, or a split such as 4k/70:64k/30: `volproof sweep` takes several sizes, \
                     and `volproof fio` takes fio's bs=READ,WRITE"
                )));
            }
            let size: Bytes = size.parse().map_err(|e| WordError(format!("bs: {e}")))?;
            if size.0 == 0 || size > MOST_BYTES {
                return Err(WordError(format!("bs: {} is outside 1 byte to 1 GiB", size.exact())));
            }
            if share == 0 {
                return Err(WordError(format!("bs: {} has no share: leave it out", size.exact())));
            }
            shares.push((size, share));
        }
        let total: u32 = shares.iter().fold(0, |t: u32, s| t.saturating_add(s.1));
        if total != 100 {
            return Err(WordError(format!("bs: the shares add up to {total} %, not 100 %")));
        }
        Ok(BlockSizes(shares))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn block_sizes_read_back() {
        for text in ["4KiB", "4KiB/70:64KiB/30"] {
            assert_eq!(text.parse::<BlockSizes>().unwrap().to_string(), text);
        }
        assert_eq!("4k/70:64k/30".parse::<BlockSizes>().unwrap().largest(), Bytes::kib(64));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, what) in [
            ("4k/70:64k/20", "add up to 90 %"),
            ("4k:64k", "has no share"),
            ("4k,8k", "is a list"),
            ("0", "outside 1 byte"),
            ("2G", "outside 1 byte"),
            ("4k/x", "not a whole percentage"),
        ] {
            let e = text.parse::<BlockSizes>().unwrap_err().to_string();
            assert!(e.contains(what), "{text}: {e}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".{0,24}") {
            let _ = text.parse::<BlockSizes>();
        }
    }
}

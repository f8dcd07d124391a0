//! The data of writes: how much of it compresses or is a pattern.
//!
//! Names are fio's. A write is random data unless a step says otherwise: buffers are filled once, and every sector of a write gets a
//! number that was never written before. [`Step::refills`] says when each write gets random data of its own instead, which costs time.

use std::fmt;
use std::str::FromStr;

use super::{Step, WordError};
use volproof_base::sample::Direction;
use volproof_base::unit::Bytes;

/// A pattern of bytes that fills written data, repeated: `0xdeadbeef`, `"text"`, a whole number, or several of these in a row, as fio reads
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferPattern(Vec<u8>);

impl BufferPattern {
    /// The bytes, at least one.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for BufferPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for BufferPattern {
    type Err = WordError;
    fn from_str(text: &str) -> Result<BufferPattern, WordError> {
        let bad = |part: &str, why: &str| WordError(format!("'{part}' {why}"));
        let mut bytes = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            if let Some(hex) = rest.strip_prefix("0x") {
                let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
                let digits = format!("{}{}", if end % 2 == 1 { "0" } else { "" }, &hex[..end]);
                let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("two hexadecimal digits");
                bytes.extend((0..digits.len()).step_by(2).map(byte));
                if end == 0 {
                    return Err(bad(rest, "has no hexadecimal digit behind 0x"));
                }
                rest = &hex[end..];
            } else if let Some(quoted) = rest.strip_prefix('"') {
                let (inside, behind) =
                    quoted.split_once('"').ok_or_else(|| bad(rest, "does not end with a quotation mark"))?;
                bytes.extend(inside.bytes());
                rest = behind;
            } else if rest.starts_with('\'') {
                return Err(bad(rest, "is the name of a file: write its bytes, as 0xdeadbeef or \"text\""));
            } else {
                let digit = |(at, c): &(usize, char)| c.is_ascii_digit() || *at == 0 && *c == '-';
                let end = rest.char_indices().take_while(digit).count();
                let number: i32 =
                    rest.get(..end).and_then(|digits| digits.parse().ok()).ok_or_else(|| {
                        bad(rest, "is not a pattern: write 0xdeadbeef, \"text\" or a whole number")
                    })?;
                // The lowest byte first, and no more bytes than a positive number needs.
                let all = number.to_le_bytes();
                let length = if number < 0 { 4 } else { (4 - number.leading_zeros() as usize / 8).max(1) };
                bytes.extend(&all[..length]);
                rest = &rest[end..];
            }
            rest = rest.trim_start();
        }
        match bytes.len() {
            0 => Err(bad(text, "has no byte")),
            1..=512 => Ok(BufferPattern(bytes)),
            n => Err(WordError(format!("{n} bytes are more than 512"))),
        }
    }
}

impl Step {
    /// Every write gets random data of its own.
    pub fn refills(&self) -> bool {
        self.refill || self.compress_chunk.is_some()
    }

    /// Share of written data that is zeros, or the pattern, in percent.
    pub fn fixed_share(&self) -> u32 {
        if self.buffer_pattern.is_some() && self.compressible == 0 { 100 } else { self.compressible }
    }

    /// All written data is zeros.
    pub fn writes_zeros(&self) -> bool {
        let zeros = self.buffer_pattern.as_ref().is_none_or(|p| p.bytes().iter().all(|byte| *byte == 0));
        self.rw.changes_data() && self.fixed_share() == 100 && zeros
    }

    /// The smallest block of writes.
    pub fn smallest_write(&self) -> Bytes {
        let sizes = self.sizes(Direction::Write).shares();
        sizes.iter().map(|share| share.0).min().expect("never empty")
    }
}

/// The problem with the data of a step, and the way out.
pub(super) fn problem(s: &Step) -> Option<String> {
    if s.buffer_pattern.is_some() && s.compressible == 0 && s.refills() {
        return Some(
            "all data is buffer-pattern: say how much of it with compressible, or leave out refill and compress-chunk"
                .into(),
        );
    } else if !s.scramble && s.refills() {
        return Some(
            "scramble = false writes the same data again: leave out refill and compress-chunk".into(),
        );
    } else if s.compress_chunk == Some(Bytes(0)) {
        return Some("compress-chunk 0 is no length: use the block size, or leave it out".into());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_are_read_as_fio_reads_them() {
        for (text, bytes) in [
            ("0xdeadbeef", "0xdeadbeef"),
            ("0xabc\"x\"12", "0x0abc780c"),
            ("\"abcd\"", "0x61626364"),
            ("-12", "0xf4ffffff"),
            ("0", "0x00"),
            ("255", "0xff"),
            ("256", "0x0001"),
            ("65536", "0x000001"),
            ("16777216", "0x00000001"),
            ("0x12 34", "0x1222"),
        ] {
            assert_eq!(text.parse::<BufferPattern>().unwrap().to_string(), bytes, "{text}");
        }
        for (text, says) in [
            ("0x", "no hexadecimal digit"),
            ("0x1g", "'g' is not a pattern"),
            ("\"abc", "quotation mark"),
            ("'file'", "name of a file"),
            ("", "has no byte"),
            ("\"\"", "has no byte"),
            ("-", "is not a pattern"),
            ("é", "is not a pattern"),
            ("4294967296", "is not a pattern"),
        ] {
            let e = text.parse::<BufferPattern>().unwrap_err().to_string();
            assert!(e.contains(says), "{text}: {e}");
        }
        assert!(format!("0x{}", "ab".repeat(513)).parse::<BufferPattern>().is_err());
    }

    #[test]
    fn problems_say_what_to_do() {
        let bad = |step: Step, says: &str| {
            let problem = step.problem().expect("a problem");
            assert!(problem.contains(says), "{problem}");
        };
        let plain = Step::default;
        bad(Step { scramble: false, refill: true, ..plain() }, "leave out refill");
        bad(Step { compress_chunk: Some(Bytes(0)), ..plain() }, "use the block size");
        let pattern = Some("0x11".parse().unwrap());
        bad(Step { buffer_pattern: pattern.clone(), refill: true, ..plain() }, "with compressible");
        let some = Step { buffer_pattern: pattern, refill: true, compressible: 40, ..plain() };
        assert_eq!((some.problem(), some.fixed_share()), (None, 40));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "[0-9a-fx\"' é-]{0,24}") {
            if let Ok(pattern) = text.parse::<BufferPattern>() {
                prop_assert_eq!(pattern.to_string().parse::<BufferPattern>().unwrap(), pattern);
            }
        }
    }
}

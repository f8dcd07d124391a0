//! Whether JSON that is written is the JSON of a file, however that is indented.

use std::io::{self, Write};

/// Compares what is written with a text, without keeping it. White space between the tokens of JSON does not count.
pub struct SameText<'a> {
    due: Tokens<std::slice::Iter<'a, u8>>,
    written: JsonPlace,
    same: bool,
}

impl<'a> SameText<'a> {
    /// Compares with this text.
    pub fn of(text: &'a str) -> SameText<'a> {
        let due = Tokens { bytes: text.as_bytes().iter(), state: JsonPlace::default() };
        SameText { due, written: JsonPlace::default(), same: true }
    }

    /// The text was written, and nothing else.
    pub fn is_all(mut self) -> bool {
        self.same && self.due.next().is_none()
    }
}

impl Write for SameText<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            if self.written.counts(*byte) && self.due.next() != Some(*byte) {
                self.same = false;
                return Err(io::Error::other("another text"));
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where a reader of JSON is.
#[derive(Default)]
struct JsonPlace {
    in_string: bool,
    escaped: bool,
}

impl JsonPlace {
    /// Whether the next byte is a part of a token.
    fn counts(&mut self, byte: u8) -> bool {
        let escapes = self.in_string && byte == b'\\' && !self.escaped;
        self.in_string ^= byte == b'"' && !self.escaped;
        self.escaped = escapes;
        self.in_string || !byte.is_ascii_whitespace()
    }
}

/// The bytes of the tokens of JSON.
struct Tokens<I> {
    bytes: I,
    state: JsonPlace,
}

impl<'a, I: Iterator<Item = &'a u8>> Iterator for Tokens<I> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        self.bytes.find(|byte| self.state.counts(**byte)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_white_space_between_tokens_may_differ() {
        let is = |text: &str, written: &str| {
            let mut same = SameText::of(text);
            let _ = same.write_all(written.as_bytes());
            same.is_all()
        };
        let json = r#"{"a b":[1,"x\" y\\"],"c":2}"#;
        assert!(is(json, json));
        assert!(is("{\n \"a b\" : [1, \"x\\\" y\\\\\" ],\n \"c\": 2}\n", json));
        for other in [
            r#"{"ab":[1,"x\" y\\"],"c":2}"#,
            r#"{"a b":[1,"x\"y\\"],"c":2}"#,
            "{}",
            "",
            &format!("{json}{json}"),
        ] {
            assert!(!is(json, other) && !is(other, json), "{other}");
        }
    }
}

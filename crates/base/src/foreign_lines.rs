//! Names of others that hold line breaks. In a text, such a name would begin a line of its own, which reads like one of volproof: a verdict that
//! nobody made. So texts are made of a copy in which line breaks are written as `\u000a`; JSON keeps the name.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A text of others with its line breaks written as `\u000a`.
pub fn in_one_line(text: &str) -> Cow<'_, str> {
    if text.contains('\n') { text.replace('\n', "\\u000a").into() } else { text.into() }
}

/// Whether some text in the value holds a line break.
pub fn holds_line_break(value: &impl Serialize) -> bool {
    let mut seen = SeenBreak::default();
    // A value that cannot be written is taken for one that has to be looked at.
    serde_json::to_writer(&mut seen, value).is_err() || seen.found
}

/// A copy of the value without line breaks in its texts; `None` where it has no such form.
pub fn without_line_breaks<T: Serialize + DeserializeOwned>(value: &T) -> Option<T> {
    let mut text = BreaksShown { out: Vec::new(), escaped: false };
    serde_json::to_writer(&mut text, value).ok()?;
    serde_json::from_slice(&text.out).ok()
}

/// The value, or a copy without line breaks in its texts where it has any.
pub fn in_lines<T: Serialize + DeserializeOwned + Clone>(value: &T) -> Cow<'_, T> {
    match holds_line_break(value).then(|| without_line_breaks(value)).flatten() {
        Some(copy) => Cow::Owned(copy),
        None => Cow::Borrowed(value),
    }
}

/// Looks for line breaks in the texts of JSON.
#[derive(Default)]
struct SeenBreak {
    escaped: bool,
    found: bool,
}

impl Write for SeenBreak {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.found |= self.escaped && *byte == b'n';
            self.escaped = !self.escaped && *byte == b'\\';
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps JSON, with the signs of a line break for each in its texts.
struct BreaksShown {
    out: Vec<u8>,
    escaped: bool,
}

impl Write for BreaksShown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            match (self.escaped, byte) {
                // The backslash before it is written already, and stands for itself with a second one.
                (true, b'n') => self.out.extend_from_slice(b"\\u000a"),
                _ => self.out.push(*byte),
            }
            self.escaped = !self.escaped && *byte == b'\\';
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_of_texts_are_shown_and_nothing_else_changes() {
        let value = ["a\nb".to_string(), "a\\nb".into(), "a\\\nb\"\n".into(), "plain\t".into()];
        assert!(holds_line_break(&value) && !holds_line_break(&[&value[1], &value[3]]));
        let copy = in_lines(&value.to_vec()).into_owned();
        assert_eq!(copy, ["a\\u000ab", "a\\nb", "a\\\\u000ab\"\\u000a", "plain\t"]);
        assert_eq!(in_one_line("a\nb"), "a\\u000ab");
        assert!(matches!(in_lines(&value[1..2].to_vec()), Cow::Borrowed(_)));
    }
}

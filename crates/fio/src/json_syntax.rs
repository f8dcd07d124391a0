//! Reads JSON as fio writes it, also where a file breaks off, has other text around a report, or several reports in a row.

use std::borrow::Cow;

use super::json_value::JsonValue;
use volproof_base::unit::is_report_figure;

/// Objects and arrays within each other; fio needs eight.
const DEEPEST: usize = 64;
/// Values of one member of a report, such as a job; fio's largest has some 20,000. Each takes up to 60 bytes, and its text may have two.
const MOST_VALUES: usize = 1 << 20;
/// Words of printf and Python for what is no number.
const NOT_NUMBERS: [&str; 3] = ["nan", "inf", "infinity"];

/// Why the reader stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonStop {
    /// The text ends within a value.
    End,
    /// The text here is no JSON, or has a value that no report can have.
    Wrong(String),
}

/// Reads values from a text.
pub struct JsonReader<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    /// Values of the present member so far.
    values: usize,
}

impl<'a> JsonReader<'a> {
    /// From this byte on.
    pub fn new(text: &'a [u8], at: usize) -> JsonReader<'a> {
        JsonReader { text, at, depth: 0, values: 0 }
    }

    /// How far it has read, in bytes.
    pub fn at(&self) -> usize {
        self.at
    }

    fn peek(&mut self) -> Result<u8, JsonStop> {
        while let Some(b) = self.text.get(self.at) {
            if !b.is_ascii_whitespace() {
                return Ok(*b);
            }
            self.at += 1;
        }
        Err(JsonStop::End)
    }

    fn expect(&mut self, what: u8) -> Result<(), JsonStop> {
        let found = self.peek()?;
        if found == what {
            self.at += 1;
            return Ok(());
        }
        Err(JsonStop::Wrong(format!("expected '{}', found {}", what as char, shown(found))))
    }

    /// Reads an object, handing each key to `each`, which reads the value.
    ///
    /// # Errors
    /// Where the text ends or is no JSON; what `each` saw before stays.
    pub fn object(
        &mut self,
        mut each: impl FnMut(&mut JsonReader<'a>, Cow<'a, str>) -> Result<(), JsonStop>,
    ) -> Result<(), JsonStop> {
        self.nested(b'{', b'}', |reader| {
            reader.peek()?;
            let key = reader.string()?;
            reader.expect(b':')?;
            each(reader, key)
        })
    }

    /// Reads an array; `each` reads an element.
    ///
    /// # Errors
    /// Text that is no array, and those of `each`.
    pub fn array(
        &mut self,
        each: impl FnMut(&mut JsonReader<'a>) -> Result<(), JsonStop>,
    ) -> Result<(), JsonStop> {
        self.nested(b'[', b']', each)
    }

    fn nested(
        &mut self,
        open: u8,
        close: u8,
        mut each: impl FnMut(&mut JsonReader<'a>) -> Result<(), JsonStop>,
    ) -> Result<(), JsonStop> {
        self.expect(open)?;
        if self.depth == DEEPEST {
            return Err(JsonStop::Wrong(format!("nested deeper than {DEEPEST} levels")));
        }
        self.depth += 1;
        if self.peek()? != close {
            loop {
                each(self)?;
                match self.peek()? {
                    b',' => self.at += 1,
                    b if b == close => break,
                    b => {
                        let text = format!("expected ',' or '{}', found {}", close as char, shown(b));
                        return Err(JsonStop::Wrong(text));
                    }
                }
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    fn string(&mut self) -> Result<Cow<'a, str>, JsonStop> {
        self.expect(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            match self.text.get(self.at) {
                None => return Err(JsonStop::End),
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.at += 2;
                }
                Some(_) => self.at += 1,
            }
        }
        let raw = String::from_utf8_lossy(&self.text[start..self.at]);
        self.at += 1;
        Ok(if escaped { unescape(&raw).into() } else { raw })
    }

    fn word(&mut self) -> Result<JsonValue<'a>, JsonStop> {
        let start = self.at;
        while self.text.get(self.at).is_some_and(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b)) {
            self.at += 1;
        }
        if self.at == self.text.len() {
            // What would have followed may belong to it.
            return Err(JsonStop::End);
        }
        let word = std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        match word {
            "null" => return Ok(JsonValue::Null),
            "true" => return Ok(JsonValue::Bool(true)),
            "false" => return Ok(JsonValue::Bool(false)),
            "" => {
                return Err(JsonStop::Wrong(format!("expected a value, found {}", shown(self.text[start]))));
            }
            _ => {}
        }
        let numeric = word.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
        let number = word.parse::<f64>().ok().filter(|_| numeric);
        match number {
            Some(x) if is_report_figure(x) => Ok(JsonValue::Number(word.into())),
            // What C and Python print where a division failed, and numbers that no measurement has: no figure, but no end of the report.
            Some(_) => Ok(JsonValue::Text(word.into())),
            None if NOT_NUMBERS.contains(&word.trim_start_matches(['-', '+']).to_lowercase().as_str()) => {
                Ok(JsonValue::Text(word.into()))
            }
            None => {
                self.at = start;
                let short: String = word.chars().take(40).collect();
                Err(JsonStop::Wrong(format!("'{short}' is not a number")))
            }
        }
    }

    /// Reads any value into a place; what was read before the text ended is there too.
    ///
    /// # Errors
    /// As [`JsonReader::object`], and where the value holds more values than anything in a report.
    pub fn value_into(&mut self, place: &mut JsonValue<'a>) -> Result<(), JsonStop> {
        self.values = 0;
        self.part_into(place)
    }

    fn part_into(&mut self, place: &mut JsonValue<'a>) -> Result<(), JsonStop> {
        self.values += 1;
        if self.values > MOST_VALUES {
            return Err(JsonStop::Wrong(format!("more than {MOST_VALUES} values in one job or member")));
        }
        match self.peek()? {
            b'{' => {
                *place = JsonValue::Map(Vec::new());
                self.object(|reader, key| {
                    let JsonValue::Map(members) = &mut *place else { return Ok(()) };
                    members.push((key, JsonValue::Null));
                    let last = members.len() - 1;
                    let done = reader.part_into(&mut members[last].1);
                    if done.is_err() && members[last].1 == JsonValue::Null {
                        members.pop();
                    }
                    done
                })
            }
            b'[' => {
                *place = JsonValue::List(Vec::new());
                self.array(|reader| {
                    let JsonValue::List(list) = &mut *place else { return Ok(()) };
                    list.push(JsonValue::Null);
                    let last = list.len() - 1;
                    reader.part_into(&mut list[last])
                })
            }
            b'"' => {
                *place = JsonValue::Text(self.string()?);
                Ok(())
            }
            _ => {
                *place = self.word()?;
                Ok(())
            }
        }
    }
}

fn shown(b: u8) -> String {
    if b.is_ascii_graphic() { format!("'{}'", b as char) } else { format!("byte 0x{b:02x}") }
}

/// A JSON string's escapes; what is none stays as it is.
fn unescape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('u') => match code_of(chars.as_str()) {
                Some(code) => {
                    out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                    chars = chars.as_str()[4..].chars();
                }
                None => out.push_str("\\u"),
            },
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    out
}

/// The four hexadecimal digits with which a text begins.
fn code_of(text: &str) -> Option<u32> {
    u32::from_str_radix(text.get(..4)?, 16).ok()
}

/// Line and column, both from 1, of a byte; a column counts bytes.
pub fn place(text: &[u8], at: usize) -> (usize, usize) {
    let before = &text[..at.min(text.len())];
    let line = before.iter().filter(|b| **b == b'\n').count() + 1;
    let column = before.len() - before.iter().rposition(|b| *b == b'\n').map_or(0, |p| p + 1) + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> (JsonValue<'_>, Result<(), JsonStop>) {
        let mut value = JsonValue::Null;
        let done = JsonReader::new(text.as_bytes(), 0).value_into(&mut value);
        (value, done)
    }

    #[test]
    fn what_came_before_the_end_stays() {
        let (value, done) = read(r#"{"a" : {"b" : 12, "c" : [1, 2"#);
        assert_eq!(done, Err(JsonStop::End));
        assert_eq!(value.get("a").and_then(|a| a.get("b")).and_then(JsonValue::as_u64), Some(12));
        // A number that ends with the text may be the beginning of a longer one.
        assert_eq!(read(r#"{"a" : 1"#).0, JsonValue::Map(vec![]));
    }

    #[test]
    fn nonsense_is_named() {
        for (text, what) in [
            (r#"{"a" : nil}"#, "'nil' is not a number"),
            (r#"{"a" 1}"#, "expected ':'"),
            (r#"{"a" : 1 "b"}"#, "expected ',' or '}'"),
            (r#"{"a" : }"#, "expected a value, found '}'"),
        ] {
            match read(text).1 {
                Err(JsonStop::Wrong(found)) => assert!(found.contains(what), "{text}: {found}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        // No numbers, and no end of the report either.
        for text in ["nan", "-nan", "NaN", "inf", "-Infinity", "1e999", "99999999999999999999999"] {
            assert_eq!(read(&format!("{text} ")), (JsonValue::Text(text.into()), Ok(())));
        }
        let deep = "[".repeat(100_000);
        assert!(matches!(read(&deep).1, Err(JsonStop::Wrong(why)) if why.contains("64 levels")));
    }

    #[test]
    fn layout_and_escapes() {
        let value = JsonValue::map([
            ("a", JsonValue::int(1)),
            ("b", JsonValue::List(vec![JsonValue::float(0.5), JsonValue::text("say \"\\\u{1}\"")])),
            ("c", JsonValue::Map(vec![])),
        ]);
        let mut out = String::new();
        value.write(&mut out, 0);
        insta::assert_snapshot!(out, @r#"
        {
          "a" : 1,
          "b" : [
            0.500000,
            "say \"\\\u0001\""
          ],
          "c" : {

          }
        }
        "#);
        assert_eq!(read(&out), (value, Ok(())));
    }

    fn any_value() -> impl Strategy<Value = JsonValue<'static>> {
        let leaf = prop_oneof![
            Just(JsonValue::Null),
            any::<bool>().prop_map(JsonValue::Bool),
            any::<u64>().prop_map(JsonValue::int),
            (-1e9..1e9).prop_map(JsonValue::float),
            ".{0,8}".prop_map(|t| JsonValue::text(&t)),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(JsonValue::List),
                proptest::collection::vec((".{0,6}".prop_map(Cow::Owned), inner), 0..6)
                    .prop_map(JsonValue::Map),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in any_value()) {
            let mut text = String::new();
            value.write(&mut text, 0);
            text.push('\n');
            prop_assert_eq!(read(&text), (value, Ok(())));
        }

        #[test]
        fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let mut value = JsonValue::Null;
            let _ = JsonReader::new(&bytes, 0).value_into(&mut value);
        }
    }
}

//! JSON as fio writes it: a value with its text form, and a reader that survives what really lies in files.
//!
//! Not serde_json, for three reasons: what was read before a file breaks off is still worth having; a report lies between other text, and
//! several of them in a row; and fio's layout (`"key" : value`, `%f`) is what line-based tools look for. Numbers keep their text, so that a
//! value that nobody here understands is written again as it was.

use std::borrow::Cow;

use crate::unit::is_report_figure;

/// Any JSON value. Order of keys and repeated keys are kept.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonValue<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// As it is written.
    Number(Cow<'a, str>),
    /// Without its escapes.
    Text(Cow<'a, str>),
    /// An array.
    List(Vec<JsonValue<'a>>),
    /// An object.
    Map(Vec<(Cow<'a, str>, JsonValue<'a>)>),
}

/// Objects and arrays within each other; fio needs eight.
const DEEPEST: usize = 64;
/// Values of one member of a report, such as a job; fio's largest has some 20,000. Each takes up to 60 bytes, and its text may have two.
const MOST_VALUES: usize = 1 << 20;
/// Words of printf and Python for what is no number.
const NOT_NUMBERS: [&str; 3] = ["nan", "inf", "infinity"];

impl<'a> JsonValue<'a> {
    /// A whole number.
    pub fn int(n: u64) -> JsonValue<'static> {
        JsonValue::Number(n.to_string().into())
    }

    /// A number with six decimals, fio's `%f`.
    pub fn float(x: f64) -> JsonValue<'static> {
        JsonValue::Number(format!("{:.6}", if x.is_finite() { x } else { 0.0 }).into())
    }

    /// A text.
    pub fn text(text: &str) -> JsonValue<'static> {
        JsonValue::Text(text.to_string().into())
    }

    /// An object from names that are known.
    pub fn map(members: impl IntoIterator<Item = (&'static str, JsonValue<'static>)>) -> JsonValue<'static> {
        JsonValue::Map(members.into_iter().map(|(k, v)| (Cow::Borrowed(k), v)).collect())
    }

    /// The member of that name; the last one where there are several.
    pub fn get(&self, name: &str) -> Option<&JsonValue<'a>> {
        match self {
            JsonValue::Map(members) => members.iter().rev().find(|(k, _)| k == name).map(|(_, v)| v),
            _ => None,
        }
    }

    /// Members of an object; none of anything else.
    pub fn members(&self) -> &[(Cow<'a, str>, JsonValue<'a>)] {
        if let JsonValue::Map(members) = self { members } else { &[] }
    }

    /// The number.
    pub fn as_f64(&self) -> Option<f64> {
        if let JsonValue::Number(text) = self { text.parse().ok() } else { None }
    }

    /// The number as a count; below 0 it is none (fio prints an unset 64-bit minimum as -1).
    pub fn as_u64(&self) -> Option<u64> {
        let JsonValue::Number(text) = self else { return None };
        text.parse().ok().or_else(|| self.as_f64().filter(|x| *x >= 0.0).map(|x| x as u64))
    }

    /// The text.
    pub fn as_str(&self) -> Option<&str> {
        if let JsonValue::Text(text) = self { Some(text) } else { None }
    }

    /// The same value that borrows nothing.
    pub fn into_owned(self) -> JsonValue<'static> {
        match self {
            JsonValue::Null => JsonValue::Null,
            JsonValue::Bool(b) => JsonValue::Bool(b),
            JsonValue::Number(n) => JsonValue::Number(n.into_owned().into()),
            JsonValue::Text(t) => JsonValue::Text(t.into_owned().into()),
            JsonValue::List(list) => JsonValue::List(list.into_iter().map(JsonValue::into_owned).collect()),
            JsonValue::Map(members) => JsonValue::Map(
                members.into_iter().map(|(k, v)| (k.into_owned().into(), v.into_owned())).collect(),
            ),
        }
    }

    /// The number of values in this one, itself included.
    pub fn count(&self) -> usize {
        1 + match self {
            JsonValue::List(list) => list.iter().map(JsonValue::count).sum(),
            JsonValue::Map(members) => members.iter().map(|(_, v)| v.count()).sum(),
            _ => 0,
        }
    }

    /// The text of the value as fio lays it out, at a depth of indentation.
    pub fn laid_out(&self, depth: usize) -> String {
        let mut out = String::new();
        self.write(&mut out, depth);
        out
    }

    fn write(&self, out: &mut String, depth: usize) {
        let indent = |out: &mut String, depth: usize| (0..depth).for_each(|_| out.push_str("  "));
        match self {
            JsonValue::Null => out.push_str("null"),
            JsonValue::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            JsonValue::Number(n) => out.push_str(n),
            JsonValue::Text(t) => quote(t, out),
            JsonValue::List(list) => {
                out.push_str("[\n");
                for (i, value) in list.iter().enumerate() {
                    out.push_str(if i > 0 { ",\n" } else { "" });
                    indent(out, depth + 1);
                    value.write(out, depth + 1);
                }
                out.push('\n');
                indent(out, depth);
                out.push(']');
            }
            JsonValue::Map(members) => {
                out.push_str("{\n");
                for (i, (key, value)) in members.iter().enumerate() {
                    out.push_str(if i > 0 { ",\n" } else { "" });
                    indent(out, depth + 1);
                    quote(key, out);
                    out.push_str(" : ");
                    value.write(out, depth + 1);
                }
                out.push('\n');
                indent(out, depth);
                out.push('}');
            }
        }
    }
}

/// A string of JSON. fio escapes only quotes and backslashes, which is all there is in its texts; control characters would make the
/// document invalid and are escaped too.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Why reading went no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The text ends within a value.
    End,
    /// It is not JSON here, or not of this world.
    Wrong(String),
}

/// Reads values from a text.
pub struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    /// Values of the present member so far.
    values: usize,
}

impl<'a> Reader<'a> {
    /// From this byte on.
    pub fn new(text: &'a [u8], at: usize) -> Reader<'a> {
        Reader { text, at, depth: 0, values: 0 }
    }

    /// How far it has read, in bytes.
    pub fn at(&self) -> usize {
        self.at
    }

    fn peek(&mut self) -> Result<u8, Stop> {
        while let Some(b) = self.text.get(self.at) {
            if !b.is_ascii_whitespace() {
                return Ok(*b);
            }
            self.at += 1;
        }
        Err(Stop::End)
    }

    fn expect(&mut self, what: u8) -> Result<(), Stop> {
        let found = self.peek()?;
        if found == what {
            self.at += 1;
            return Ok(());
        }
        Err(Stop::Wrong(format!("expected '{}', found {}", what as char, shown(found))))
    }

    /// Reads an object, handing each key to `each`, which reads the value.
    ///
    /// # Errors
    /// Where the text ends or is no JSON; what `each` saw before stays.
    pub fn object(
        &mut self,
        mut each: impl FnMut(&mut Reader<'a>, Cow<'a, str>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
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
    /// As [`Reader::object`].
    pub fn array(&mut self, each: impl FnMut(&mut Reader<'a>) -> Result<(), Stop>) -> Result<(), Stop> {
        self.nested(b'[', b']', each)
    }

    fn nested(
        &mut self,
        open: u8,
        close: u8,
        mut each: impl FnMut(&mut Reader<'a>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.expect(open)?;
        if self.depth == DEEPEST {
            return Err(Stop::Wrong(format!("nested deeper than {DEEPEST} levels")));
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
                        return Err(Stop::Wrong(text));
                    }
                }
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Stop> {
        self.expect(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            match self.text.get(self.at) {
                None => return Err(Stop::End),
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

    fn word(&mut self) -> Result<JsonValue<'a>, Stop> {
        let start = self.at;
        while self.text.get(self.at).is_some_and(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b)) {
            self.at += 1;
        }
        if self.at == self.text.len() {
            // What would have followed may belong to it.
            return Err(Stop::End);
        }
        let word = std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        let wrong = |what: &str| {
            let short: String = word.chars().take(40).collect();
            Err(Stop::Wrong(format!("'{short}' {what}")))
        };
        match word {
            "null" => return Ok(JsonValue::Null),
            "true" => return Ok(JsonValue::Bool(true)),
            "false" => return Ok(JsonValue::Bool(false)),
            "" => return Err(Stop::Wrong(format!("expected a value, found {}", shown(self.text[start])))),
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
                wrong("is not a number")
            }
        }
    }

    /// Reads any value into a place; what was read before the text ended is there too.
    ///
    /// # Errors
    /// As [`Reader::object`], and where the value holds more values than anything in a report.
    pub fn value_into(&mut self, place: &mut JsonValue<'a>) -> Result<(), Stop> {
        self.values = 0;
        self.part_into(place)
    }

    fn part_into(&mut self, place: &mut JsonValue<'a>) -> Result<(), Stop> {
        self.values += 1;
        if self.values > MOST_VALUES {
            return Err(Stop::Wrong(format!("more than {MOST_VALUES} values in one job or member")));
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
            Some('u') => {
                let hex: String = chars.clone().take(4).collect();
                match u32::from_str_radix(&hex, 16) {
                    Ok(code) if hex.len() == 4 => {
                        out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                        chars = chars.as_str()[4..].chars();
                    }
                    _ => out.push_str("\\u"),
                }
            }
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    out
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

    fn read(text: &str) -> (JsonValue<'_>, Result<(), Stop>) {
        let mut value = JsonValue::Null;
        let done = Reader::new(text.as_bytes(), 0).value_into(&mut value);
        (value, done)
    }

    #[test]
    fn what_came_before_the_end_stays() {
        let (value, done) = read(r#"{"a" : {"b" : 12, "c" : [1, 2"#);
        assert_eq!(done, Err(Stop::End));
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
                Err(Stop::Wrong(found)) => assert!(found.contains(what), "{text}: {found}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        // No numbers, and no end of the report either.
        for text in ["nan", "-nan", "NaN", "inf", "-Infinity", "1e999", "99999999999999999999999"] {
            assert_eq!(read(&format!("{text} ")), (JsonValue::Text(text.into()), Ok(())));
        }
        let deep = "[".repeat(100_000);
        assert!(matches!(read(&deep).1, Err(Stop::Wrong(why)) if why.contains("64 levels")));
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
            let _ = Reader::new(&bytes, 0).value_into(&mut value);
        }
    }
}

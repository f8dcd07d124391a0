//! JSON as fio writes it: a value with its text form. `json_syntax` reads it.
//!
//! Not serde_json, for three reasons: what was read before a file breaks off is still worth having; a report lies between other text, and
//! several of them in a row; and fio's layout (`"key" : value`, `%f`) is what line-based tools look for.

use std::borrow::Cow;

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

    /// The text of the value as fio lays it out, at a depth of indentation.
    pub fn laid_out(&self, depth: usize) -> String {
        let mut out = String::new();
        self.write(&mut out, depth);
        out
    }

    pub(super) fn write(&self, out: &mut String, depth: usize) {
        match self {
            JsonValue::Null => out.push_str("null"),
            JsonValue::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            JsonValue::Number(n) => out.push_str(n),
            JsonValue::Text(t) => quote(t, out),
            JsonValue::List(list) => {
                write_parts(list.iter().map(|value| (None, value)), '[', ']', out, depth)
            }
            JsonValue::Map(members) => {
                write_parts(members.iter().map(|(key, value)| (Some(&**key), value)), '{', '}', out, depth);
            }
        }
    }
}

/// The parts of an array or object, each on a line of its own, behind its key where it has one.
fn write_parts<'v, 'a: 'v>(
    parts: impl Iterator<Item = (Option<&'v str>, &'v JsonValue<'a>)>,
    open: char,
    close: char,
    out: &mut String,
    depth: usize,
) {
    out.push(open);
    out.push('\n');
    for (i, (key, value)) in parts.enumerate() {
        out.push_str(if i > 0 { ",\n" } else { "" });
        out.extend(std::iter::repeat_n("  ", depth + 1));
        if let Some(key) = key {
            quote(key, out);
            out.push_str(" : ");
        }
        value.write(out, depth + 1);
    }
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
    out.push(close);
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

//! The check of a stored Record's numbers: each must be one that a measurement can have.
//!
//! A number near the ends of a float's range turns into infinity, or into no number, in the next sum or quotient, and would then stand in every
//! output. Such a Record is refused with the key of the number; the code behind calculates without further checks. The check reads the text
//! without keeping any of it.

use std::fmt::Write;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use volproof_base::unit::is_figure;

/// A number that no measurement has.
#[derive(Debug, PartialEq)]
pub struct NoFigure {
    /// The key, such as `steps[0].cpu.user_ns_per_io`.
    pub key: String,
    /// The number.
    pub value: f64,
}

/// The values of a JSON text, without keeping any of them.
#[derive(Debug, Default)]
pub struct FigureScan {
    /// How many there are, up to the first number that is no figure.
    pub values: usize,
    /// The first number that is no figure. A text that is no JSON has none: its reader says where it is wrong.
    pub no_figure: Option<NoFigure>,
}

/// A number of fewer bytes than this, with a power of ten from -60 to 9, is plainly a figure.
const PLAIN: usize = 30;

/// Whether a number is plainly a figure, by its text.
fn is_plain(number: &[u8]) -> bool {
    let power = number.iter().position(|b| matches!(b, b'e' | b'E')).map(|at| &number[at + 1..]);
    let small = |power: &[u8]| match power {
        [b'-', digits @ ..] => matches!(digits, [_] | [b'0'..=b'5', _]),
        [b'+', digits @ ..] | digits => digits.len() == 1,
    };
    number.len() < PLAIN && power.is_none_or(small)
}

/// Counts the values of a JSON text from its bytes alone, which is faster than reading them; the count may be a little too high. None where
/// a number needs a closer look, since it may be outside the range of figures.
fn plain_values(json: &[u8]) -> Option<usize> {
    let (mut values, mut at) = (1, 0);
    while let Some(&byte) = json.get(at) {
        at += 1;
        match byte {
            b',' | b'[' | b'{' => values += 1,
            b'"' => loop {
                let rest = json.get(at..)?;
                at += rest.iter().position(|b| matches!(b, b'"' | b'\\'))? + 1;
                if json[at - 1] == b'"' {
                    break;
                }
                // The escaped byte.
                at += 1;
            },
            b'-' | b'0'..=b'9' => {
                let rest = &json[at - 1..];
                let more = |b: &u8| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                let length = rest.iter().position(|b| !more(b)).unwrap_or(rest.len());
                if !is_plain(&rest[..length]) {
                    return None;
                }
                at += length - 1;
            }
            _ => {}
        }
    }
    Some(values)
}

impl FigureScan {
    /// Scans a JSON text. The count of values is exact above `few`; a count of at most `few` may be a little too high.
    pub fn of(json: &str, few: usize) -> FigureScan {
        if let Some(values) = plain_values(json.as_bytes()).filter(|values| *values <= few) {
            return FigureScan { values, no_figure: None };
        }
        FigureScan::exact(json)
    }

    /// Scans a JSON text by reading every value.
    fn exact(json: &str) -> FigureScan {
        let (mut key, mut found, mut values) = (String::new(), None, 0);
        let mut reader = serde_json::Deserializer::from_str(json);
        let value = FigureCheck { key: &mut key, found: &mut found, values: &mut values };
        // The error that ends the walk is made below, or is one of the text.
        let _ = value.deserialize(&mut reader);
        FigureScan { values, no_figure: found.map(|value| NoFigure { key, value }) }
    }
}

/// The check of a value: reads it to its end, or to a number that is no figure, whose key is then in `key`.
struct FigureCheck<'a> {
    key: &'a mut String,
    found: &'a mut Option<f64>,
    values: &'a mut usize,
}

impl FigureCheck<'_> {
    fn inner(&mut self) -> FigureCheck<'_> {
        FigureCheck { key: self.key, found: self.found, values: self.values }
    }
}

impl<'de> DeserializeSeed<'de> for FigureCheck<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        *self.values += 1;
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FigureCheck<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        if is_figure(value) {
            return Ok(());
        }
        *self.found = Some(value);
        Err(E::custom("no figure"))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let before = self.key.len();
        for index in 0.. {
            match list.next_element_seed(self.inner()) {
                Ok(Some(())) => {}
                Ok(None) => break,
                Err(e) => {
                    // What follows the index in the key is there already.
                    self.key.insert_str(before, &format!("[{index}]"));
                    return Err(e);
                }
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let before = self.key.len();
        while map.next_key_seed(KeyAppended(self.key))?.is_some() {
            map.next_value_seed(self.inner())?;
            self.key.truncate(before);
        }
        Ok(())
    }
}

/// The reader of a key of an object: appends it, with a dot before it.
struct KeyAppended<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for KeyAppended<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyAppended<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<(), E> {
        let dot = if self.0.is_empty() { "" } else { "." };
        let _ = write!(self.0, "{dot}{key}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_that_no_measurement_has_is_told_with_its_key() {
        let sound = r#"{"a": [1, 2.5, -0.0, 18446744073709551615, {"b": null, "c": "x\n"}], "d\n": [true, 1e39, -3, 1e-99]}"#;
        let scan = FigureScan::exact(sound);
        assert_eq!((scan.no_figure, scan.values), (None, 14));
        let first_no_figure = |text: &str| FigureScan::of(text, 1000).no_figure;
        for (number, value) in [("1e41", 1e41), ("-1e308", -1e308), ("5e-324", 5e-324)] {
            let text =
                format!(r#"{{"x": {{"n": 1.0}}, "steps": [{{}}, {{"cpu": {{"us": [[0.5], {number}]}}}}]}}"#);
            let key = "steps[1].cpu.us[1]".into();
            assert_eq!(first_no_figure(&text), Some(NoFigure { key, value }));
        }
        assert_eq!(first_no_figure("[1e41]"), Some(NoFigure { key: "[0]".into(), value: 1e41 }));
        assert_eq!(first_no_figure("{\"a\": 1, "), None);
    }

    #[test]
    fn plain_numbers_are_counted_by_their_bytes() {
        let plain = r#"{"a": [1, 2.5, -0.0, 18446744073709551615, {"b": null, "c\"1e99": "\\"}], "d": [true, 1.5e-9, -3e+7, 2e5, []]}"#;
        let exact = FigureScan::exact(plain);
        assert_eq!((exact.values, &exact.no_figure), (15, &None));
        // An empty list counts as if it had a value.
        assert_eq!(plain_values(plain.as_bytes()), Some(16));
        assert_eq!(FigureScan::of(plain, 15).values, 15, "counted exactly where there may be too many");
        let long = format!("[0.{}1]", "0".repeat(110));
        for doubtful in
            ["[1e10]", "[1e-60]", "[1e041]", "[1E+41]", "[1e-0099]", &long, r#"["open"#, r#"["a\"] "#]
        {
            assert_eq!(plain_values(doubtful.as_bytes()), None, "{doubtful}");
        }
    }
}

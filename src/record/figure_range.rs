//! The check of a stored Record's numbers: each must be one that a measurement can have.
//!
//! A number near the ends of a float's range turns into infinity, or into no number, in the next sum or quotient, and would then stand in every
//! output. Such a Record is refused with the key of the number; the code behind calculates without further checks. The check reads the text
//! without keeping any of it.

use std::fmt::Write;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::unit::is_figure;

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

impl FigureScan {
    /// Of a JSON text.
    pub fn of(json: &str) -> FigureScan {
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
        let scan = FigureScan::of(sound);
        assert_eq!((scan.no_figure, scan.values), (None, 14));
        let first_no_figure = |text: &str| FigureScan::of(text).no_figure;
        for (number, value) in [("1e41", 1e41), ("-1e308", -1e308), ("5e-324", 5e-324)] {
            let text =
                format!(r#"{{"x": {{"n": 1.0}}, "steps": [{{}}, {{"cpu": {{"us": [[0.5], {number}]}}}}]}}"#);
            let key = "steps[1].cpu.us[1]".into();
            assert_eq!(first_no_figure(&text), Some(NoFigure { key, value }));
        }
        assert_eq!(first_no_figure("[1e41]"), Some(NoFigure { key: "[0]".into(), value: 1e41 }));
        assert_eq!(first_no_figure("{\"a\": 1, "), None);
    }
}

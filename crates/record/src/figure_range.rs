//! The check of a stored Record's numbers: each must be one that a measurement can have.
//!
//! A number near the ends of a float's range turns into infinity, or into no number, in the next sum or quotient, and would then stand in every
//! output. Such a Record is refused with the key of the number; the code behind calculates without further checks. The check reads the bytes
//! of the text and keeps none of them.

use volproof_base::unit::is_figure;

/// A number that no measurement has.
#[derive(Debug, PartialEq)]
pub struct NoFigure {
    /// The key; for a number in a list that of the list, for a percentile that of the percentiles.
    pub key: String,
    /// The number.
    pub value: f64,
}

/// The values of a JSON text.
#[derive(Debug, Default, PartialEq)]
pub struct FigureScan {
    /// How many there are, up to the first number that is no figure; an empty list counts as one with a value.
    pub values: usize,
    /// The first number that is no figure.
    pub no_figure: Option<NoFigure>,
}

/// A number without a power of ten and of fewer bytes than this is plainly a figure.
const PLAIN: usize = 30;

/// Scans a JSON text. What is no JSON is not told here: its reader says where it is wrong.
pub fn scan(json: &str) -> FigureScan {
    let bytes = json.as_bytes();
    let (mut values, mut at, mut key) = (1, 0, 0..0);
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b',' | b'[' | b'{' => values += 1,
            b'"' => {
                at = string_end(bytes, at);
                // A percentile is a key of figures: the name of their list says more.
                if json[start + 1..at].parse::<f64>().is_err() {
                    key = start + 1..at;
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let inside = bytes[at..].iter();
                at += inside
                    .take_while(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
                    .count();
                if let Some(value) = no_figure(&json[start..at]) {
                    let key = json[key].to_string();
                    return FigureScan { values, no_figure: Some(NoFigure { key, value }) };
                }
            }
            _ => {}
        }
    }
    FigureScan { values, no_figure: None }
}

/// The place of the quotation mark that ends a string, or the end of the text.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The value of a number that no measurement has.
fn no_figure(number: &str) -> Option<f64> {
    if number.len() < PLAIN && !number.contains(['e', 'E']) {
        return None;
    }
    number.parse().ok().filter(|value| !is_figure(*value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_that_no_measurement_has_is_told_with_its_key() {
        let sound = r#"{"a": [1, 2.5, -0.0, 18446744073709551615, {"b": null, "c\"1e99": "\\"}], "d": [true, 1.5e-9, -3e+7, 1e39, []]}"#;
        assert_eq!(scan(sound), FigureScan { values: 16, no_figure: None });
        let first_no_figure = |text: &str| scan(text).no_figure;
        for (number, value) in [("1e41", 1e41), ("-1e308", -1e308), ("5e-324", 5e-324)] {
            let text =
                format!(r#"{{"x": {{"n": 1.0}}, "steps": [{{}}, {{"cpu": {{"us": [[0.5], {number}]}}}}]}}"#);
            assert_eq!(first_no_figure(&text), Some(NoFigure { key: "us".into(), value }));
        }
        assert_eq!(first_no_figure("[1e41]"), Some(NoFigure { key: String::new(), value: 1e41 }));
        let long = format!("[{}]", "9".repeat(45));
        assert!(first_no_figure(&long).is_some());
        for no_json in ["{\"a\": 1, ", "[\"open", "[\"a\\", "--1"] {
            assert_eq!(first_no_figure(no_json), None, "{no_json}");
        }
    }
}

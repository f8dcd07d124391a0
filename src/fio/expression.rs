//! Arithmetic in the values of options: `(4*1024k)`, `($ncpus*2)`, and without the brackets where a keyword was replaced.
//!
//! Operators are `+ - * / % ^`, brackets and signs; numbers may be decimal, with a fraction, or `0x`, and may carry units, whose
//! meaning the caller knows. Builds of fio without its arithmetic (Debian's 3.33) refuse such text; the others read it.

/// What an expression came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sum {
    /// The number.
    pub value: f64,
    /// A number in it had a unit.
    pub has_units: bool,
}

/// Deepest nesting of brackets and signs.
const DEEPEST: usize = 64;

struct Reader<'a, F> {
    rest: &'a str,
    unit: F,
    has_units: bool,
    depth: usize,
}

/// Evaluates an expression; `unit` says what the letters behind a number multiply it by.
///
/// # Errors
/// Where the text stops to be an expression, or a division by zero.
pub fn evaluate(text: &str, unit: impl Fn(&str) -> Option<f64>) -> Result<Sum, String> {
    let mut reader = Reader { rest: text, unit, has_units: false, depth: 0 };
    let value = reader.sum().map_err(|why| format!("'{text}': {why}"))?;
    match reader.rest.trim_start() {
        "" if value.is_finite() => Ok(Sum { value, has_units: reader.has_units }),
        "" => Err(format!("'{text}' is too large")),
        rest => Err(format!("'{text}': '{rest}' is left over")),
    }
}

impl<F: Fn(&str) -> Option<f64>> Reader<'_, F> {
    fn next_is(&mut self, wanted: char) -> bool {
        match self.rest.trim_start().strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        loop {
            if self.next_is('+') {
                value += self.product()?;
            } else if self.next_is('-') {
                value -= self.product()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.signed()?;
        loop {
            if self.next_is('*') {
                value *= self.signed()?;
            } else if self.next_is('/') {
                value /= self.divisor()?;
            } else if self.next_is('%') {
                value %= self.divisor()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn divisor(&mut self) -> Result<f64, String> {
        match self.signed()? {
            0.0 => Err("division by zero".to_string()),
            value => Ok(value),
        }
    }

    fn signed(&mut self) -> Result<f64, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("nested too deep".to_string());
        }
        let value = if self.next_is('-') {
            -self.signed()?
        } else if self.next_is('+') {
            self.signed()?
        } else {
            let base = self.number()?;
            if self.next_is('^') { base.powf(self.signed()?) } else { base }
        };
        self.depth -= 1;
        Ok(value)
    }

    fn number(&mut self) -> Result<f64, String> {
        if self.next_is('(') {
            let value = self.sum()?;
            return if self.next_is(')') { Ok(value) } else { Err("a bracket is not closed".to_string()) };
        }
        let text = self.rest.trim_start();
        let (value, rest) = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
            Some(hex) => {
                let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
                (u64::from_str_radix(&hex[..end], 16).ok().map(|n| n as f64), &hex[end..])
            }
            None => {
                let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
                (text[..end].parse().ok(), &text[end..])
            }
        };
        let value: f64 = value.ok_or_else(|| match text {
            "" => "it ends where a number should stand".to_string(),
            _ => format!("'{text}' does not begin with a number"),
        })?;
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (letters, rest) = rest.split_at(end);
        self.rest = rest;
        if letters.is_empty() {
            return Ok(value);
        }
        self.has_units = true;
        let factor = (self.unit)(letters).ok_or_else(|| format!("'{letters}' is not a unit"))?;
        Ok(value * factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Result<f64, String> {
        let unit = |letters: &str| (letters == "k").then_some(1024.0);
        evaluate(text, unit).map(|sum| sum.value)
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        for (text, value) in [
            ("(2+3*4)", 14.0),
            ("((2+3)*4)", 20.0),
            ("(2^3^2)", 512.0),
            ("(-2+5)", 3.0),
            ("(7%4*2)", 6.0),
            ("(1-2-3)", -4.0),
            ("(0x10 * 2k)", 32768.0),
            ("(1.5k)", 1536.0),
            ("8/2", 4.0),
        ] {
            assert_eq!(bytes(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in ["(1/0)", "(1%0)", "(2", "2)", "(2q)", "()", "", "(2 3)", "(1..2)", "(0x)"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert!(bytes(&"(".repeat(100_000)).is_err());
        assert!(bytes(&"-".repeat(100_000)).is_err());
        assert!(bytes("(9^9^9)").is_err(), "infinity");
    }
}

//! Quantities of Kubernetes (`100Gi`, `1.5T`, `2e9`) as bytes.
//!
//! The grammar is that of `k8s.io/apimachinery/pkg/api/resource`: a decimal number with a binary suffix, a decimal suffix or an exponent.

use volproof_base::unit::Bytes;

/// A quantity of bytes and how it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// The bytes, rounded up.
    pub bytes: Bytes,
    /// The kind of the suffix.
    pub suffix: QuantitySuffix,
}

/// The kind of suffix of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantitySuffix {
    /// None, or an exponent: the number counts bytes.
    Bare,
    /// A power of 1000: `G`.
    Decimal,
    /// A power of 1024: `Gi`.
    Binary,
}

impl Quantity {
    /// Reads a quantity; `None` where the text is none, is negative or exceeds 64 bits.
    pub fn parse(text: &str) -> Option<Quantity> {
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '+')).unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let number: f64 = number.parse().ok()?;
        let (factor, kind) = match suffix {
            "" => (1.0, QuantitySuffix::Bare),
            "m" => (1e-3, QuantitySuffix::Decimal),
            "k" => (1e3, QuantitySuffix::Decimal),
            "M" => (1e6, QuantitySuffix::Decimal),
            "G" => (1e9, QuantitySuffix::Decimal),
            "T" => (1e12, QuantitySuffix::Decimal),
            "P" => (1e15, QuantitySuffix::Decimal),
            "E" => (1e18, QuantitySuffix::Decimal),
            "Ki" => (2f64.powi(10), QuantitySuffix::Binary),
            "Mi" => (2f64.powi(20), QuantitySuffix::Binary),
            "Gi" => (2f64.powi(30), QuantitySuffix::Binary),
            "Ti" => (2f64.powi(40), QuantitySuffix::Binary),
            "Pi" => (2f64.powi(50), QuantitySuffix::Binary),
            "Ei" => (2f64.powi(60), QuantitySuffix::Binary),
            exponent => {
                let power: i32 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
                (10f64.powi(power.clamp(-30, 30)), QuantitySuffix::Bare)
            }
        };
        let bytes = (number * factor).ceil();
        (bytes.is_finite() && bytes < u64::MAX as f64)
            .then_some(Quantity { bytes: Bytes(bytes as u64), suffix: kind })
    }

    /// The bytes in whole units of this size, rounded up as drivers do.
    pub fn round_up(self, unit: Bytes) -> u64 {
        self.bytes.0.div_ceil(unit.0.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn suffixes_of_kubernetes() {
        let parse = |text| Quantity::parse(text).map(|q| (q.bytes.0, q.suffix));
        assert_eq!(parse("100Gi"), Some((100 << 30, QuantitySuffix::Binary)));
        assert_eq!(parse("1.5T"), Some((1_500_000_000_000, QuantitySuffix::Decimal)));
        assert_eq!(parse("100"), Some((100, QuantitySuffix::Bare)));
        assert_eq!(parse("2e9"), Some((2_000_000_000, QuantitySuffix::Bare)));
        assert_eq!(parse("1500m"), Some((2, QuantitySuffix::Decimal)));
        for text in ["", "Gi", "100GB", "100GiB", "100 Gi", "-1Gi", "1e", "infGi", "NaN", "99999Ei"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(Quantity::parse("100G").unwrap().round_up(Bytes::GIB), 94);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".{0,16}") {
            Quantity::parse(&text);
        }
    }
}

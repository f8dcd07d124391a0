//! Formulas of the catalogue: figures that follow from capacity and from what was bought.
//!
//! Capacity is in GiB, IOPS in I/Os per second, throughput in the unit of the volume type that owns the formula. The
//! meaning of each term is the comment at the top of `crates/promise/data/volumes.toml`. A formula can print itself with its numbers
//! put in, so that a reader can repeat the arithmetic by hand. It knows nothing of block sizes, instances or units.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

/// A figure as a provider states it: a constant, or terms over capacity and what was bought, with floor and cap.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Formula(Terms);

/// The terms as they stand in the data file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Terms {
    base: f64,
    per_gib: f64,
    over_gib: f64,
    per_iops: f64,
    per_throughput: f64,
    per_extra_iops: f64,
    minus_iops_default: bool,
    min: Option<f64>,
    max: Option<f64>,
    pieces: Vec<Formula>,
    upto_gib: Option<f64>,
    upto_iops: Option<f64>,
}

/// The values that a formula is evaluated at.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Inputs {
    /// Capacity in GiB.
    pub gib: f64,
    /// The volume's effective IOPS, once known.
    pub iops: f64,
    /// The volume's effective throughput in its own unit, once known.
    pub throughput: f64,
    /// IOPS bought on top of what the capacity gives.
    pub extra_iops: f64,
    /// IOPS that the capacity gives when nothing is bought.
    pub iops_default: f64,
}

impl Formula {
    /// The figure at these inputs.
    pub fn value(&self, at: &Inputs) -> f64 {
        let t = &self.0;
        if let Some(piece) = self.piece(at) {
            return piece.value(at);
        }
        let mut sum = t.base
            + t.per_gib * (at.gib - t.over_gib).max(0.0)
            + t.per_iops * at.iops
            + t.per_throughput * at.throughput
            + t.per_extra_iops * at.extra_iops;
        if t.minus_iops_default {
            sum -= at.iops_default;
        }
        let floored = t.min.map_or(sum, |min| sum.max(min));
        t.max.map_or(floored, |max| floored.min(max))
    }

    /// The formula with its numbers put in, without the result: `min(1800 + 50 x 800, 50000)`.
    pub fn text(&self, at: &Inputs) -> String {
        let t = &self.0;
        if let Some(piece) = self.piece(at) {
            return piece.text(at);
        }
        let mut parts = Vec::new();
        if t.base != 0.0 {
            parts.push(plain(t.base));
        }
        let gib = if t.over_gib == 0.0 {
            plain(at.gib)
        } else {
            format!("max(0, {} - {})", plain(at.gib), plain(t.over_gib))
        };
        for (factor, operand) in [
            (t.per_gib, gib),
            (t.per_iops, plain(at.iops)),
            (t.per_throughput, plain(at.throughput)),
            (t.per_extra_iops, plain(at.extra_iops)),
        ] {
            if factor != 0.0 {
                parts.push(format!("{} x {operand}", plain(factor)));
            }
        }
        let mut text = if parts.is_empty() { "0".to_string() } else { parts.join(" + ") };
        if t.minus_iops_default {
            text = format!("{text} - {}", plain(at.iops_default));
        }
        if let Some(min) = t.min {
            text = format!("max({text}, {})", plain(min));
        }
        if let Some(max) = t.max {
            text = format!("min({text}, {})", plain(max));
        }
        text
    }

    /// The piece whose bounds are not exceeded, for a formula made of pieces.
    fn piece(&self, at: &Inputs) -> Option<&Formula> {
        let pieces = self.0.pieces.iter();
        pieces
            .filter(|p| p.0.upto_gib.is_none_or(|b| at.gib <= b))
            .find(|p| p.0.upto_iops.is_none_or(|b| at.iops <= b))
    }

    /// It holds for any capacity and any IOPS.
    fn is_unbounded(&self) -> bool {
        self.0.upto_gib.is_none() && self.0.upto_iops.is_none()
    }

    /// The fault of the formula itself, if it has one.
    pub fn fault(&self) -> Option<String> {
        let t = &self.0;
        let numbers = [t.base, t.per_gib, t.over_gib, t.per_iops, t.per_throughput, t.per_extra_iops];
        if numbers.iter().chain(&t.min).chain(&t.max).any(|n| !n.is_finite() || *n < 0.0) {
            return Some("a term is negative or not a number".into());
        }
        if let (Some(min), Some(max)) = (t.min, t.max)
            && min > max
        {
            return Some(format!("floor {min} is above cap {max}"));
        }
        let (last, before) = t.pieces.split_last()?;
        if !last.is_unbounded() || before.iter().any(Formula::is_unbounded) {
            return Some("of the pieces, the last alone must be without bound".into());
        }
        t.pieces.iter().find_map(Formula::fault)
    }
}

impl From<f64> for Formula {
    fn from(constant: f64) -> Formula {
        Formula(Terms { base: constant, ..Terms::default() })
    }
}

impl<'de> Deserialize<'de> for Formula {
    /// A bare number or a table of terms; by hand, because an untagged enum would hide which term is misspelt.
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Formula, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Formula;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number or a table of terms such as { base = 1800, per_gib = 50, max = 50000 }")
            }
            fn visit_i64<E>(self, n: i64) -> Result<Formula, E> {
                Ok(Formula::from(n as f64))
            }
            fn visit_u64<E>(self, n: u64) -> Result<Formula, E> {
                Ok(Formula::from(n as f64))
            }
            fn visit_f64<E>(self, n: f64) -> Result<Formula, E> {
                Ok(Formula::from(n))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Formula, A::Error> {
                Terms::deserialize(MapAccessDeserializer::new(map)).map(Formula)
            }
        }
        d.deserialize_any(Either)
    }
}

/// A number as a formula prints it: no thousands separators, no trailing zeros.
pub fn plain(n: f64) -> String {
    if n.fract() == 0.0 {
        return format!("{n:.0}");
    }
    let text = format!("{n:.9}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn formula(text: &str) -> Formula {
        #[derive(Deserialize)]
        struct Doc {
            f: Formula,
        }
        toml::from_str::<Doc>(&format!("f = {text}")).unwrap().f
    }

    fn gib(gib: f64) -> Inputs {
        Inputs { gib, ..Inputs::default() }
    }

    #[test]
    fn numbers_are_put_in() {
        for (source, at, text, value) in [
            (
                "{ base = 1800, per_gib = 50, max = 50000 }",
                gib(800.0),
                "min(1800 + 50 x 800, 50000)",
                41_800.0,
            ),
            ("{ per_gib = 3, min = 100, max = 16000 }", gib(20.0), "min(max(3 x 20, 100), 16000)", 100.0),
            ("{ base = 3000, per_gib = 500, over_gib = 6 }", gib(8.0), "3000 + 500 x max(0, 8 - 6)", 4_000.0),
            ("{ base = 3000, per_gib = 500, over_gib = 6 }", gib(4.0), "3000 + 500 x max(0, 4 - 6)", 3_000.0),
            ("{ per_gib = 0.0390625, max = 500 }", gib(2048.0), "min(0.0390625 x 2048, 500)", 80.0),
            ("{ pieces = [{ upto_gib = 170, base = 128 }, { base = 250 }] }", gib(170.0), "128", 128.0),
            ("{ pieces = [{ upto_gib = 170, base = 128 }, { base = 250 }] }", gib(170.5), "250", 250.0),
            ("3000", gib(1.0), "3000", 3_000.0),
        ] {
            let f = formula(source);
            assert_eq!((f.text(&at).as_str(), f.value(&at)), (text, value), "{source}");
            assert_eq!(f.fault(), None, "{source}");
        }
        let extra = formula("{ per_gib = 1000, minus_iops_default = true, min = 0, max = 50000 }");
        let at = Inputs { gib: 40.0, iops_default: 3_800.0, ..Inputs::default() };
        assert_eq!(extra.text(&at), "min(max(1000 x 40 - 3800, 0), 50000)");
        assert_eq!(extra.value(&at), 36_200.0);
    }

    #[test]
    fn a_misspelt_term_is_named() {
        #[derive(Deserialize, Debug)]
        struct Doc {
            #[allow(dead_code)]
            f: Formula,
        }
        let e = toml::from_str::<Doc>("f = { bse = 1 }").unwrap_err().to_string();
        assert!(e.contains("bse") && e.contains("per_gib"), "{e}");
        assert!(toml::from_str::<Doc>("f = 'much'").unwrap_err().to_string().contains("a number or a table"));
    }

    #[test]
    fn faults_are_found() {
        assert!(formula("{ min = 5, max = 4 }").fault().unwrap().contains("above cap"));
        assert!(formula("{ per_gib = -1 }").fault().unwrap().contains("negative"));
        assert!(formula("{ pieces = [{ base = 1 }, { base = 2 }] }").fault().unwrap().contains("last alone"));
        assert!(formula("{ pieces = [{ upto_gib = 3, base = 1 }] }").fault().unwrap().contains("last alone"));
    }

    proptest! {
        /// More capacity never promises less, and floor and cap hold.
        #[test]
        fn grows_with_capacity(base in 0.0..1e5, per in 0.0..1e3, min in 0.0..1e4, room in 0.0..1e6,
                               a in 0.0..1e5f64, b in 0.0..1e5f64) {
            let f = formula(&format!("{{ base = {base:?}, per_gib = {per:?}, min = {min:?}, max = {:?} }}", min + room));
            let (low, high) = (f.value(&gib(a.min(b))), f.value(&gib(a.max(b))));
            prop_assert!(low <= high);
            prop_assert!(low >= min && high <= min + room);
        }
    }
}

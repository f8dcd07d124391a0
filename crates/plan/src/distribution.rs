//! The distribution of random offsets (`--distribution`).

use std::fmt;
use std::str::FromStr;

use super::workload::WordError;

/// Which blocks random I/O prefers (`--distribution`).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Distribution {
    /// Every block equally.
    #[default]
    Uniform,
    /// Popularity falls with rank as `rank^-theta`; theta above 0, not 1.
    Zipf(f64),
    /// Parts of the range, one after another, each with its share of the accesses and its share of the range in percent; both
    /// add up to 100. Within a part every block equally.
    Zoned(Vec<(u32, u32)>),
}

impl Distribution {
    /// `50/5:30/15:20/80`: half of the accesses go to the first 5 % of the range, and so on.
    fn zones(text: &str) -> Result<Distribution, WordError> {
        let bad = |part: &str| {
            WordError(format!(
                "'{part}' is not a share of accesses and one of the range: write zoned:50/5:30/15:20/80"
            ))
        };
        let mut zones: Vec<(u32, u32)> = Vec::new();
        for part in text.split(':') {
            let (accesses, range) = part.split_once('/').ok_or_else(|| bad(part))?;
            zones.push((accesses.parse().map_err(|_| bad(part))?, range.parse().map_err(|_| bad(part))?));
        }
        if zones.iter().any(|z| z.1 == 0) {
            return Err(WordError("a zone has no share of the range: leave it out".into()));
        }
        let (accesses, range): (Vec<u32>, Vec<u32>) = zones.iter().copied().unzip();
        for (what, shares) in [("accesses", accesses), ("the range", range)] {
            let total = shares.into_iter().fold(0, u32::saturating_add);
            if total != 100 {
                return Err(WordError(format!("the zones' shares of {what} add up to {total} %, not 100 %")));
            }
        }
        Ok(Distribution::Zoned(zones))
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Uniform => f.pad("uniform"),
            Distribution::Zipf(v) => f.pad(&format!("zipf:{v}")),
            Distribution::Zoned(zones) => {
                let parts: Vec<_> = zones.iter().map(|(a, r)| format!("{a}/{r}")).collect();
                f.pad(&format!("zoned:{}", parts.join(":")))
            }
        }
    }
}

impl FromStr for Distribution {
    type Err = WordError;
    fn from_str(text: &str) -> Result<Distribution, WordError> {
        let (name, value) = text.split_once(':').map_or((text, None), |(n, v)| (n, Some(v)));
        if name == "zoned" {
            return Distribution::zones(value.unwrap_or_default());
        }
        match (name, value) {
            ("uniform" | "random", None) => Ok(Distribution::Uniform),
            ("zipf", theta) => zipf(theta.unwrap_or("1.1")),
            ("pareto" | "normal", _) => Err(WordError(format!(
                "'{text}' is a distribution of fio: write a fio job file with random_distribution={text} and run it with `volproof fio`, \
                 which hands it to the installed fio"
            ))),
            _ => Err(WordError(format!(
                "'{text}' is not a distribution: use uniform, zipf:1.1 or zoned:50/5:50/95"
            ))),
        }
    }
}

fn zipf(text: &str) -> Result<Distribution, WordError> {
    let theta: f64 = text.parse().map_err(|_| WordError(format!("'{text}' is not a number")))?;
    if theta > 0.0 && theta < 10.0 && theta != 1.0 {
        Ok(Distribution::Zipf(theta))
    } else {
        Err(WordError(format!("zipf:{theta} is outside 0 to 10 without 1")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn distributions_read_back() {
        for text in ["uniform", "zipf:1.2", "zoned:50/5:30/15:20/80"] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn mistakes_are_named() {
        assert!("zipf:1".parse::<Distribution>().is_err());
        assert!(
            "normal:10"
                .parse::<Distribution>()
                .unwrap_err()
                .to_string()
                .contains("random_distribution=normal:10")
        );
        for (text, what) in [
            ("zoned:50/5:30/15", "accesses add up to 80 %"),
            ("zoned:50/5:50/15", "range add up to 20 %"),
            ("zoned:50/0:50/100", "no share of the range"),
            ("zoned:50:50", "write zoned:50/5:30/15:20/80"),
            ("zoned", "write zoned:50/5:30/15:20/80"),
        ] {
            let e = text.parse::<Distribution>().unwrap_err().to_string();
            assert!(e.contains(what), "{text}: {e}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".{0,24}") {
            let _ = text.parse::<Distribution>();
        }
    }
}

//! Quantities with their units: bytes, nanoseconds, and their text forms.
//!
//! IEC and SI mean what they say: `KiB` is 1024 bytes, `KB` is 1000. A bare letter (`4k`, `1M`, `2g`) is binary, as in
//! fio, because that is how everybody in this field reads a block size. Bare numbers are bytes, or seconds for times.
//! This module does no arithmetic beyond conversion and knows nothing of volumes.

mod figure_text;
mod moment;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use figure_text::{
    counted, figure, grouped, mebibytes, megabytes, micro, percent, significant, significant_percent,
    throughput,
};
pub use moment::{moment, utc, without_zone};

/// An amount of data in bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A length of time, or a time since the start of a step, in nanoseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// Why a quantity could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Nothing but blanks where a number was expected.
    #[error("empty: expected a number, such as {example}")]
    Empty {
        /// An example of a text that is accepted.
        example: &'static str,
    },
    /// No number at the front.
    #[error("'{text}' is not a number with a unit: write it as {example}")]
    NotANumber {
        /// The text as it was given.
        text: String,
        /// An example of a text that is accepted.
        example: &'static str,
    },
    /// A suffix that means nothing here.
    #[error("'{unit}' is not a unit known here: use one of {known}")]
    UnknownUnit {
        /// The suffix as it was given.
        unit: String,
        /// The suffixes that are accepted.
        known: &'static str,
    },
    /// A number behind another part, with no unit of its own.
    #[error("the last number of '{text}' has no unit: write 1h30m or 1m30s")]
    NoUnit {
        /// The text as it was given.
        text: String,
    },
    /// A percentage where bytes are needed.
    #[error(
        "'{text}' is a share of a target, and bytes are needed: write them as 64g; `volproof check TARGET` prints its size"
    )]
    Share {
        /// The text as it was given.
        text: String,
    },
    /// The value does not fit 64 bits.
    #[error("'{text}' is too large: the limit is 2^64-1")]
    TooLarge {
        /// The text as it was given.
        text: String,
    },
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
const PIB: u64 = 1 << 50;

impl Bytes {
    /// Nothing: what stored forms leave out.
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }

    /// One kibibyte, 1024 bytes.
    pub const KIB: Bytes = Bytes(KIB);
    /// One mebibyte, 2^20 bytes.
    pub const MIB: Bytes = Bytes(MIB);
    /// One gibibyte, 2^30 bytes.
    pub const GIB: Bytes = Bytes(GIB);

    /// `n` kibibytes.
    pub const fn kib(n: u64) -> Bytes {
        Bytes(n.saturating_mul(KIB))
    }

    /// `n` mebibytes.
    pub const fn mib(n: u64) -> Bytes {
        Bytes(n.saturating_mul(MIB))
    }

    /// `n` gibibytes.
    pub const fn gib(n: u64) -> Bytes {
        Bytes(n.saturating_mul(GIB))
    }

    /// The shortest text that reads back to exactly this value: `4KiB`, `1536MiB`, `1000B`.
    pub fn exact(self) -> String {
        for (factor, name) in [(PIB, "PiB"), (TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")] {
            if self.0 >= factor && self.0.is_multiple_of(factor) {
                return format!("{}{name}", self.0 / factor);
            }
        }
        format!("{}B", self.0)
    }

    /// The same for sentences and tables: `4 KiB`, `1536 MiB`, `1000 B`.
    pub fn exact_spaced(self) -> String {
        let text = self.exact();
        let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len()));
        format!("{number} {unit}")
    }
}

impl fmt::Display for Bytes {
    /// Binary units with three significant digits, exact where the value is round: `4 KiB`, `1.46 TiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(PIB, "PiB"), (TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")];
        let text = match units.iter().find(|(factor, _)| self.0 >= *factor) {
            Some((factor, name)) if self.0.is_multiple_of(*factor) => format!("{} {name}", self.0 / factor),
            Some((factor, name)) => format!("{} {name}", significant(self.0 as f64 / *factor as f64)),
            None => format!("{} B", self.0),
        };
        f.pad(&text)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Bytes, UnitError> {
        let (number, unit) = split_number(text, "4k, 1MiB or 800GB")?;
        let factor = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            // `Gi` is what Kubernetes writes.
            "k" | "ki" | "kib" => KIB,
            "m" | "mi" | "mib" => MIB,
            "g" | "gi" | "gib" => GIB,
            "t" | "ti" | "tib" => TIB,
            "p" | "pi" | "pib" => PIB,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            "pb" => 1_000_000_000_000_000,
            "%" => return Err(UnitError::Share { text: text.to_string() }),
            _ => {
                let known = "B, k/KiB, M/MiB, G/GiB, T/TiB, P/PiB (binary), KB, MB, GB, TB, PB (decimal)";
                return Err(UnitError::UnknownUnit { unit: unit.to_string(), known });
            }
        };
        scale(number, factor, text).map(Bytes)
    }
}

impl Nanos {
    /// No time at all: what stored forms leave out.
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }

    /// `n` microseconds.
    pub const fn micros(n: u64) -> Nanos {
        Nanos(n.saturating_mul(1_000))
    }

    /// `n` milliseconds.
    pub const fn millis(n: u64) -> Nanos {
        Nanos(n.saturating_mul(1_000_000))
    }

    /// `n` seconds.
    pub const fn seconds(n: u64) -> Nanos {
        Nanos(n.saturating_mul(1_000_000_000))
    }

    /// The same time in seconds.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The shortest text that reads back to exactly this value: `30s`, `100ms`, `1500us`, `7ns`.
    pub fn exact(self) -> String {
        for (factor, name) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
            if self.0.is_multiple_of(factor) {
                return format!("{}{name}", self.0 / factor);
            }
        }
        format!("{}ns", self.0)
    }

    /// Hours, minutes and seconds, for an ETA: `45 s`, `3 min 05 s`, `1 h 02 min`.
    pub fn clock(self) -> String {
        let s = self.0.div_ceil(1_000_000_000);
        match s {
            0..60 => format!("{s} s"),
            60..3600 => format!("{} min {:02} s", s / 60, s % 60),
            _ => format!("{} h {:02} min", s / 3600, s / 60 % 60),
        }
    }

    /// A measured length of time: below a minute with its fraction, which a whole second would round up, else as [`Nanos::clock`].
    pub fn length(self) -> String {
        if self < Nanos::seconds(60) { self.to_string() } else { self.clock() }
    }
}

impl From<Nanos> for Duration {
    fn from(n: Nanos) -> Duration {
        Duration::from_nanos(n.0)
    }
}

impl fmt::Display for Nanos {
    /// Three significant digits in the unit that fits: `1.37 ms`, `82.4 us`, `12 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v = self.0 as f64;
        let text = match self.0 {
            0..1_000 => format!("{} ns", self.0),
            1_000..999_500 => format!("{} us", significant(v / 1e3)),
            999_500..999_500_000 => format!("{} ms", significant(v / 1e6)),
            _ => format!("{} s", significant(v / 1e9)),
        };
        f.pad(&text)
    }
}

impl FromStr for Nanos {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Nanos, UnitError> {
        let mut total = 0u64;
        let mut rest = text.trim();
        loop {
            let (number, behind) = split_number(rest, "30s, 5m, 1m30s or 250ms")?;
            let (unit, more) =
                behind.split_at(behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len()));
            let factor = match unit.trim_end() {
                "" if rest.len() == text.trim().len() => 1_000_000_000,
                "" => return Err(UnitError::NoUnit { text: text.to_string() }),
                "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000_000,
                "ms" | "msec" => 1_000_000,
                "us" | "usec" | "µs" => 1_000,
                "ns" | "nsec" => 1,
                "m" | "min" | "mins" | "minute" | "minutes" => 60_000_000_000,
                "h" | "hr" | "hour" | "hours" => 3_600_000_000_000,
                "d" | "day" | "days" => 86_400_000_000_000,
                unit => {
                    let known = "ns, us, ms, s, m (minutes), h, d";
                    return Err(UnitError::UnknownUnit { unit: unit.to_string(), known });
                }
            };
            total = total.checked_add(scale(number, factor, text)?).ok_or_else(|| too_large(text))?;
            if more.is_empty() {
                return Ok(Nanos(total));
            }
            rest = more;
        }
    }
}

/// Splits `1.5GiB` into its number and its unit.
fn split_number<'a>(text: &'a str, example: &'static str) -> Result<(&'a str, &'a str), UnitError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(UnitError::Empty { example });
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if number.is_empty() || number.parse::<f64>().is_err() {
        return Err(UnitError::NotANumber { text: text.to_string(), example });
    }
    Ok((number, unit.trim()))
}

fn too_large(text: &str) -> UnitError {
    UnitError::TooLarge { text: text.to_string() }
}

/// Multiplies, exactly for whole numbers and rounded to the nearest whole for fractions.
fn scale(number: &str, factor: u64, text: &str) -> Result<u64, UnitError> {
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(|| too_large(text));
    }
    let value = number.parse::<f64>().map_err(|_| too_large(text))? * factor as f64;
    if value >= u64::MAX as f64 { Err(too_large(text)) } else { Ok(value.round() as u64) }
}

/// Bytes a second as a user writes them: `10MiB`, `10MiB/s`, `10MBps`.
///
/// # Errors
/// The text is no amount of bytes.
pub fn byte_rate(text: &str) -> Result<Bytes, UnitError> {
    let text = text.trim();
    text.strip_suffix("/s").or_else(|| text.strip_suffix("ps")).unwrap_or(text).parse()
}

/// I/Os a second as a user writes them: `3000`, `16,000`, `20k`, `1.5M`, `3000/s`, `3000 IOPS`. Letters are decimal, since I/Os are counted and
/// have no binary unit.
pub fn iops(text: &str) -> Option<f64> {
    let unit = ["/s", "IOPS", "iops"].iter().find_map(|unit| text.trim().strip_suffix(unit));
    let text = unit.unwrap_or(text).trim();
    let (number, factor) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1e3),
        None => text.strip_suffix(['m', 'M']).map_or((text, 1.0), |number| (number, 1e6)),
    };
    let number = number.trim_end();
    if !has_whole_groups(number) {
        return None;
    }
    let number: f64 = number.replace([',', '_'], "").parse().ok()?;
    Some(number * factor)
}

/// Whether commas divide a number into thousands. `1000,500` are two numbers.
fn has_whole_groups(number: &str) -> bool {
    let mut groups = number.split(',');
    let first = groups.next().unwrap_or_default();
    let mut later = groups.peekable();
    (later.peek().is_none() || first.len() <= 3) && later.all(|group| group.len() == 3)
}

/// A whole number of I/Os a second, which is not 0; `example` says what else is taken.
///
/// # Errors
/// The text is no such number.
pub fn whole_iops(text: &str, example: &str) -> Result<u64, String> {
    match iops(text).filter(|n| n.fract() == 0.0 && (0.0..1e15).contains(n)) {
        None => Err(format!("'{text}' is not a number of IOPS: write it as {example}")),
        Some(0.0) => Err(format!("{} IOPS are none: leave it out, or write {example}", text.trim())),
        Some(n) => Ok(n as u64),
    }
}

/// Serde form for plans: text with its unit (`"4KiB"`, `"30s"`), so that a plan file needs no key suffixes.
/// Reading also accepts a bare number.
pub mod text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// A quantity that has an exact text form.
    pub trait Exact: FromStr {
        /// The text that reads back to the same value.
        fn exact_text(&self) -> String;
    }

    impl Exact for super::Bytes {
        fn exact_text(&self) -> String {
            self.exact()
        }
    }

    impl Exact for super::Nanos {
        fn exact_text(&self) -> String {
            self.exact()
        }
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum TextOrNumber {
        Number(u64),
        Text(String),
    }

    /// Writes the exact text form.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<T: Exact, S: Serializer>(value: &T, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&value.exact_text())
    }

    /// Reads a text form or a bare number.
    ///
    /// # Errors
    /// A value that is neither text nor a number, or that the quantity refuses.
    pub fn deserialize<'de, T: Exact, D: Deserializer<'de>>(d: D) -> Result<T, D::Error>
    where
        T::Err: Display,
    {
        let text = match TextOrNumber::deserialize(d)? {
            TextOrNumber::Number(n) => n.to_string(),
            TextOrNumber::Text(t) => t,
        };
        text.parse().map_err(D::Error::custom)
    }

    /// The same for an optional quantity.
    pub mod option {
        use super::{Display, Exact};
        use serde::{Deserialize, Deserializer, Serializer};

        #[derive(Deserialize)]
        struct Wrapped<T: Exact>(#[serde(with = "super")] T)
        where
            T::Err: Display;

        /// Writes the exact text form, or nothing.
        ///
        /// # Errors
        /// Those of the serializer.
        pub fn serialize<T: Exact, S: Serializer>(value: &Option<T>, s: S) -> Result<S::Ok, S::Error> {
            match value {
                Some(v) => s.serialize_str(&v.exact_text()),
                None => s.serialize_none(),
            }
        }

        /// Reads a text form, a bare number, or nothing.
        ///
        /// # Errors
        /// A value that is neither text nor a number, or that the quantity refuses.
        pub fn deserialize<'de, T: Exact, D: Deserializer<'de>>(d: D) -> Result<Option<T>, D::Error>
        where
            T::Err: Display,
        {
            Ok(Option::<Wrapped<T>>::deserialize(d)?.map(|w| w.0))
        }
    }
}

/// Whether a number can be a figure of a measurement, or follow from such figures: 0, or between 10^-100 and 10^40. Counts and times
/// of 64 bits and their quotients are within; quotients and squares of what is within are finite.
pub fn is_figure(x: f64) -> bool {
    x == 0.0 || (1e-100..=1e40).contains(&x.abs())
}

/// Whether a number in a report of another tool can be a figure: 0, or between 10^-30 and 2^64. What is calculated from such numbers
/// passes [`is_figure`].
pub fn is_report_figure(x: f64) -> bool {
    x == 0.0 || (1e-30..=18_446_744_073_709_551_616.0).contains(&x.abs())
}

/// The sum of counts. One that is beyond 64 bits stays at the highest number: figures of such size come from damaged or forged files.
pub fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// The greatest common divisor; of 0 and another number, that number.
pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_mean_what_they_say() {
        for (text, bytes) in [
            ("4k", 4096),
            ("4KiB", 4096),
            ("4kb", 4000),
            ("1M", 1 << 20),
            ("1.5GiB", 3 << 29),
            ("800GB", 800_000_000_000),
            ("512", 512),
            (" 2 TiB ", 2 << 40),
            ("100Gi", 100 << 30),
        ] {
            assert_eq!(text.parse::<Bytes>(), Ok(Bytes(bytes)), "{text}");
        }
        for (text, ns) in [
            ("30", 30_000_000_000),
            ("1.5ms", 1_500_000),
            ("2m", 120_000_000_000),
            ("7ns", 7),
            ("1m30s", 90_000_000_000),
            ("2 hours", 7_200_000_000_000),
        ] {
            assert_eq!(text.parse::<Nanos>(), Ok(Nanos(ns)), "{text}");
        }
        for text in ["10MiB", "10MiB/s", " 10MiBps", "10 MiB/s"] {
            assert_eq!(byte_rate(text), Ok(Bytes::mib(10)), "{text}");
        }
        for text in ["3000", "3k", "3,000/s", "3000 IOPS", "3kiops"] {
            assert_eq!(iops(text), Some(3000.0), "{text}");
        }
        assert_eq!((iops("1000,500"), iops("1,000,500")), (None, Some(1_000_500.0)));
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let e = "4q".parse::<Bytes>().unwrap_err().to_string();
        assert!(e.contains("'q'") && e.contains("KiB"), "{e}");
        assert!("".parse::<Bytes>().is_err());
        assert!("-4k".parse::<Bytes>().is_err());
        assert!("99999999999999999999".parse::<Bytes>().is_err());
        assert!("20000P".parse::<Bytes>().is_err());
        assert!("1.2.3k".parse::<Bytes>().is_err());
        assert!("5M".parse::<Nanos>().is_err(), "M could be minutes or months");
        let bare = "1h30".parse::<Nanos>().unwrap_err().to_string();
        assert!(bare.contains("1h30' has no unit: write 1h30m"), "{bare}");
        let share = "50%".parse::<Bytes>().unwrap_err().to_string();
        assert!(share.contains("share of a target") && share.contains("64g"), "{share}");
    }

    #[test]
    fn people_read_three_digits() {
        assert_eq!(Bytes(4096).to_string(), "4 KiB");
        assert_eq!(Bytes(1_610_000_000_000).to_string(), "1.46 TiB");
        assert_eq!(Nanos(1_368_000).to_string(), "1.37 ms");
        assert_eq!(Nanos(999_600).to_string(), "1.00 ms");
        assert_eq!(Nanos(82_432_000).to_string(), "82.4 ms");
        assert_eq!(Nanos::seconds(185).clock(), "3 min 05 s");
    }

    proptest! {
        #[test]
        fn exact_text_reads_back(n in any::<u64>()) {
            prop_assert_eq!(Bytes(n).exact().parse::<Bytes>(), Ok(Bytes(n)));
            prop_assert_eq!(Nanos(n).exact().parse::<Nanos>(), Ok(Nanos(n)));
        }

        #[test]
        fn any_text_is_answered(text in ".{0,24}") {
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Nanos>();
        }
    }
}

//! The interval in which a figure of fio's text lies, by the digits that fio's version prints (`num2str` of fio's sources).
//!
//! All versions divide by 1,000 or 1,024 until few enough digits are left. A number without a fraction is rounded. What the digits behind the
//! point say changed twice: until 2.19 they are digits of the remainder and no decimal fraction. From 2.20 to 3.25 they are the rounded fraction,
//! but one that rounds up to the next whole number is lost: 11.98 MiB/s is printed as `11.0MiB/s`. Since 3.26 they are rounded.

use super::field::{amount, number};

/// How a version prints the digits behind the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fraction {
    /// Until 2.19: digits of the remainder.
    Remainder,
    /// From 2.20 to 3.25, and where the version is not known: rounded, but for a lost carry.
    LostCarry,
    /// Since 3.26: rounded.
    Rounded,
}

impl Fraction {
    /// Of a version as fio names itself: `fio-3.1`. `modern`: the row has the form of 3.x.
    pub fn of_version(version: &str, modern: bool) -> Fraction {
        let words = version.strip_prefix("fio-").unwrap_or(version).split(['.', '-']);
        let numbers: Vec<u32> = words.take(2).map_while(|word| word.parse().ok()).collect();
        match numbers[..] {
            [major, minor] if (major, minor) >= (3, 26) => Fraction::Rounded,
            [major, minor] if (major, minor) >= (2, 20) => Fraction::LostCarry,
            [_] | [] if modern => Fraction::LostCarry,
            _ => Fraction::Remainder,
        }
    }

    /// The lowest and the highest value that is printed so, in bytes or in I/Os. `binary`: a `KB` is 1024 bytes. Rates are cut to whole bytes or
    /// I/Os before.
    pub fn range(self, text: &str, binary: bool, is_rate: bool) -> Option<(f64, f64)> {
        let (value, rest) = number(text)?;
        let digits = &text.trim_start()[..text.trim_start().len() - rest.len()];
        let unit = match rest.chars().next() {
            // A count of I/Os: `20.0k`.
            Some('k' | 'M' | 'G' | 'T') if rest.trim_end_matches([',', ' ']).len() == 1 => {
                amount(&format!("1{}B", rest.trim_end_matches([',', ' '])), false)?
            }
            _ => amount(&format!("1{rest}"), binary)?,
        };
        let cut = if is_rate { 1.0 } else { 0.0 };
        if unit <= 1.0 {
            return Some((value * unit, value * unit + cut));
        }
        // What was cut off by the divisions before the last one is less than one of the next smaller unit.
        let smaller = 1.0 / 1000.0;
        let whole = value.floor();
        let decimals = digits.trim().split_once('.').map_or(0, |(_, fraction)| fraction.trim().len());
        let half = 0.5 * 0.1f64.powi(decimals as i32);
        let (low, high) = match (self, decimals) {
            (_, 0) => (value - half, value + half + smaller),
            (Fraction::Remainder, _) => (whole, whole + 1.0),
            (Fraction::LostCarry, _) if value == whole => (whole, whole + 1.0),
            (Fraction::LostCarry, _) => (value - half, value + half + smaller),
            (Fraction::Rounded, _) => (value - half, value + half + smaller),
        };
        Some((low.max(0.0) * unit, high * unit + cut))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: f64 = 1_048_576.0;

    #[test]
    fn a_version_has_its_digits() {
        let of = |version| Fraction::of_version(version, true);
        let all =
            ["fio-2.2.8", "fio-2.19", "fio-2.20", "fio-3.1", "fio-3.25-9-gabcdef", "fio-3.26", "fio-3.42"];
        use Fraction::{LostCarry, Remainder, Rounded};
        let expected = [Remainder, Remainder, LostCarry, LostCarry, LostCarry, Rounded, Rounded];
        assert_eq!(all.map(of), expected);
        assert_eq!((of(""), Fraction::of_version("", false)), (LostCarry, Remainder));
    }

    #[test]
    fn a_carry_that_fio_3_1_loses_is_within_the_interval() {
        let (low, high) = Fraction::LostCarry.range("11.0MiB/s", false, true).unwrap();
        assert!(low <= 11.0 * MIB && 11.98 * MIB < high && high < 12.001 * MIB, "{low} {high}");
        let (low, high) = Fraction::Rounded.range("11.0MiB/s", false, true).unwrap();
        assert!(low > 10.94 * MIB && high < 11.06 * MIB, "{low} {high}");
        assert_eq!(Fraction::Rounded.range("20.1k", false, true).map(|r| r.0.round()), Some(20_050.0));
        assert_eq!(Fraction::Rounded.range("509", false, true), Some((509.0, 510.0)));
        assert_eq!(Fraction::Remainder.range("1024.5MB", true, false), Some((1024.0 * MIB, 1025.0 * MIB)));
    }

    /// What `num2str` prints of a number of bytes with four digits, by its documented arithmetic.
    fn printed(mut n: u64, lost_carry: bool) -> String {
        let names = ["", "Ki", "Mi", "Gi", "Ti"];
        let (mut power, mut rest) = (0, 0);
        while n.to_string().len() > 4 {
            (rest, n, power) = (n % 1024, n / 1024, power + 1);
        }
        let room = 4usize.saturating_sub(n.to_string().len() + 1);
        if power == 0 || room == 0 {
            let up = u64::from(power > 0 && rest >= 512);
            return format!("{}{}B", n + up, names[power]);
        }
        let fraction = format!("{:.room$}", rest as f64 / 1024.0);
        let up = u64::from(fraction.starts_with('1') && !lost_carry);
        format!("{}.{}{}B", n + up, &fraction[2..], names[power])
    }

    proptest! {
        #[test]
        fn what_is_printed_lies_within_its_interval(n in 1u64..1 << 44, lost_carry: bool) {
            let fraction = if lost_carry { Fraction::LostCarry } else { Fraction::Rounded };
            let text = printed(n, lost_carry);
            let (low, high) = fraction.range(&text, false, false).unwrap();
            prop_assert!(low <= n as f64 && n as f64 <= high, "{} {} {} {}", n, text, low, high);
        }
    }
}

//! Figures as people read them: three significant digits, separated thousands, rates of bytes with their unit.

use super::Bytes;

/// Three significant digits without an exponent: `1.37`, `82.4`, `817`; a larger number stays whole: `20,126`.
pub fn significant(v: f64) -> String {
    match v.abs() {
        a if a >= 99.95 && v.is_finite() => {
            format!("{}{}", if v < 0.0 { "-" } else { "" }, grouped(a.round() as u64))
        }
        a if a >= 9.995 => format!("{v:.1}"),
        _ => format!("{v:.2}"),
    }
}

/// A share in percent, with two decimals at most: `2 %`, `0.5 %`.
pub fn percent(share: f64) -> String {
    let digits = format!("{:.2}", share * 100.0);
    format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// A share in percent, with three significant digits: `98.5 %`.
pub fn significant_percent(share: f64) -> String {
    format!("{} %", significant(100.0 * share))
}

/// Bytes a second in both units, because providers mix them.
pub fn megabytes(bytes: f64) -> String {
    format!("{} MB/s ({} MiB/s)", significant(bytes / 1e6), mebibytes(bytes))
}

/// A figure that was asked for, bought or promised: a whole number to the digit, any other with three significant digits.
pub fn figure(v: f64) -> String {
    if v.fract() == 0.0 { grouped(v as u64) } else { significant(v) }
}

/// MiB a second as a number, for a column that names the unit. Texts have this one unit, as the sizes of blocks and volumes are binary;
/// only where a provider's own figure may be the other one, both stand.
pub fn mebibytes(bytes_per_second: f64) -> String {
    significant(bytes_per_second / Bytes::MIB.0 as f64)
}

/// Bytes a second with the unit: `78.6 MiB/s`.
pub fn throughput(bytes_per_second: f64) -> String {
    format!("{} MiB/s", mebibytes(bytes_per_second))
}

/// A whole number with thousands separated, as in `1,000,000`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// How many of something: `1 request`, `2,000 requests`.
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// The text with the micro sign, for readers that have it: `80.1us` and `80.1 us`, but no word, name or option that contains it.
pub fn micro(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find("us") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        let number = before.trim_end_matches(' ');
        let front = number.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ',');
        let figure = front.len() < number.len()
            && !front.ends_with(|c: char| "=-_/'".contains(c) || c.is_alphanumeric());
        let whole = !after.starts_with(|c: char| c.is_alphanumeric());
        out.push_str(before);
        out.push_str(if figure && whole { "µs" } else { "us" });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_or_are_whole() {
        assert_eq!(grouped(1_000_000), "1,000,000");
        assert_eq!(grouped(999), "999");
        assert_eq!([0.02, 0.005, 0.2, 0.0].map(percent), ["2 %", "0.5 %", "20 %", "0 %"]);
        assert_eq!(significant(1343.2), "1,343");
        assert_eq!(significant(-0.126), "-0.13");
        assert_eq!(significant(f64::INFINITY), "inf");
    }

    #[test]
    fn the_micro_sign_touches_no_word_and_no_option() {
        assert_eq!(micro("~80.1us, 9 us; 5 users must busy"), "~80.1µs, 9 µs; 5 users must busy");
        assert_eq!(
            micro("--think=20us --destroy disk-5us /dev/5us"),
            "--think=20us --destroy disk-5us /dev/5us"
        );
    }
}

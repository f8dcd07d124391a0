//! `key=value` fields of a line, and numbers with the units of fio's eras.

use volproof_base::unit::{Bytes, Nanos, is_report_figure};

/// The value behind `key=`, to the next comma, and where it stands.
pub fn field<'a>(line: &'a str, key: &str) -> Option<(usize, &'a str)> {
    let at = position(line, key)?;
    let rest = &line[at..];
    let value = rest.split(',').next().unwrap_or(rest);
    let lead = value.len() - value.trim_start().len();
    Some((at + lead, value.trim()))
}

/// Where the value behind `key=` begins; the key stands alone, not at the end of another word.
pub fn position(line: &str, key: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = line[from..].find(key) {
        let (start, end) = (from + found, from + found + key.len());
        let alone = !line[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if alone && line[end..].starts_with('=') {
            return Some(end + 1);
        }
        from = end;
    }
    None
}

/// The number at the front and what follows it. Whatever is no number (`nan`, `inf`, a minus) is none.
pub fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let value = text[..end].parse::<f64>().ok().filter(|v| is_report_figure(*v))?;
    Some((value, text[end..].trim_start()))
}

/// A count: `262144`, `20.0k`, `1.2M`.
pub fn count(text: &str) -> Option<f64> {
    let (value, rest) = number(text)?;
    let factor = match rest.chars().next() {
        Some('k' | 'K') => 1e3,
        Some('M') => 1e6,
        Some('G') => 1e9,
        Some('T') => 1e12,
        _ => 1.0,
    };
    Some(value * factor)
}

/// A whole number.
pub fn whole(text: &str) -> Option<u64> {
    let end = text.trim().find(|c: char| !c.is_ascii_digit()).unwrap_or(text.trim().len());
    text.trim()[..end].parse().ok()
}

/// A percentage as a share.
pub fn share(text: &str) -> Option<f64> {
    number(text).map(|(v, _)| v / 100.0)
}

/// An amount or a rate. In 2.x `KB` is 1024 bytes; since then it is 1000, and `KiB` is 1024.
pub fn amount(text: &str, binary: bool) -> Option<f64> {
    let (value, rest) = number(text)?;
    let unit = rest.split(['/', ' ', '(', ')', ';']).next().unwrap_or("");
    let bits = unit.ends_with("bit");
    let prefix = unit.trim_end_matches("bit").trim_end_matches('B');
    let (letter, iec) = match prefix.strip_suffix('i') {
        Some(letter) => (letter, true),
        None => (prefix, false),
    };
    let power = match letter.to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        "P" => 5,
        _ => return None,
    };
    let step: f64 = if iec || binary { 1024.0 } else { 1000.0 };
    Some(value * step.powi(power) / if bits { 8.0 } else { 1.0 })
}

/// A whole number of bytes.
pub fn bytes(text: &str, binary: bool) -> Option<Bytes> {
    amount(text, binary).map(|v| Bytes(v.round() as u64))
}

/// Nanoseconds in a unit of a line.
pub fn unit(word: &str) -> Option<u64> {
    match word {
        "nsec" | "ns" => Some(1),
        "usec" | "us" => Some(1000),
        "msec" | "ms" => Some(1_000_000),
        "sec" | "s" => Some(1_000_000_000),
        _ => None,
    }
}

/// A number of a unit as a time.
pub fn nanos(value: f64, unit: u64) -> Nanos {
    Nanos((value * unit as f64).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_numbers() {
        let line = "read : io=1024.0MB, bw=80505KB/s, iops=20126, runt= 13025msec";
        assert_eq!(field(line, "runt"), Some((52, "13025msec")));
        assert_eq!(field(line, "io").unwrap().1, "1024.0MB");
        assert_eq!(field("first_error=5/<x>, total=3", "error"), None);
        assert_eq!(field("kaggrb=1", "aggrb"), None);
        assert_eq!(count("20.0k"), Some(20_000.0));
        assert_eq!(number("nan"), None);
        assert_eq!(number("-1"), None);
        assert_eq!(share("99.45%").map(|s| (s * 1e4).round()), Some(9945.0));
        assert_eq!(whole(" 13025msec"), Some(13_025));
    }

    #[test]
    fn a_kilobyte_is_that_of_its_era() {
        assert_eq!(bytes("1024.0MB", true), Some(Bytes::gib(1)));
        assert_eq!(bytes("1024.0MB", false), Some(Bytes(1_024_000_000)));
        assert_eq!(bytes("78.3MiB/s", false), Some(Bytes(82_103_501)));
        assert_eq!(amount("16.8Gibit/s", false), Some(16.8 * 1073741824.0 / 8.0));
        assert_eq!(amount("509B/s", true), Some(509.0));
        assert_eq!(amount("12 parsecs", false), None);
    }
}

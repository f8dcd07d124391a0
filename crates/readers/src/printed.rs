//! Quantities as other tools print them: `4.28 us`, `237.2 k`, `926.7 MiB/s`, `16Kb`. Whatever is no figure at or above 0 is nothing.

use volproof_base::unit::{Bytes, Nanos, is_report_figure};

/// A number that stands alone.
pub fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.trim().parse::<f64>().ok().filter(|x| plain && is_report_figure(*x))
}

/// A whole number that stands alone.
pub fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// A number and the unit behind it, with or without a blank between them.
pub fn with_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    Some((number(&text[..end])?, text[end..].trim()))
}

/// A time: `925.0 us`, `2.0005s`, `13.3 ms`, `0.29 min`.
pub fn time(text: &str) -> Option<Nanos> {
    let (x, unit) = match text.trim().split_once(' ') {
        // coreutils prints short times as `7.547e-05 s`.
        Some((n, unit)) => (n.parse().ok().filter(|x: &f64| (0.0..1e9).contains(x))?, unit),
        None => with_unit(text)?,
    };
    let scale = match unit.split(' ').next().unwrap_or_default() {
        "ns" => 1.0,
        "us" | "usec" | "usecs" => 1e3,
        "ms" | "msec" => 1e6,
        "s" | "sec" | "secs" | "second" | "seconds" => 1e9,
        "min" => 60e9,
        "hour" | "h" => 3600e9,
        _ => return None,
    };
    Some(Nanos((x * scale).round() as u64))
}

/// A time of whole seconds.
pub fn seconds(seconds: u64) -> Nanos {
    Nanos(seconds.saturating_mul(1_000_000_000))
}

/// A time that is printed as milliseconds without a unit, or with `ms` behind it.
pub fn milliseconds(text: &str) -> Option<f64> {
    let (x, unit) = with_unit(text)?;
    matches!(unit, "" | "ms").then_some(x * 1e6)
}

/// A count with a decimal multiplier: `237.2 k`, `500`.
pub fn count(text: &str) -> Option<f64> {
    let (x, unit) = with_unit(text)?;
    let scale = match unit {
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    Some(x * scale)
}

/// A size in units of 1024, whatever they are called: `64KiB`, `16Kb`, `4 KiB`, `8K`, `512`, `512B`.
pub fn size(text: &str) -> Option<Bytes> {
    let (x, unit) = with_unit(text)?;
    let scale = match unit {
        "" | "B" | "b" => 0,
        "KiB" | "Kb" | "KB" | "kB" | "K" | "k" => 10,
        "MiB" | "Mb" | "MB" | "M" | "m" => 20,
        "GiB" | "Gb" | "GB" | "G" | "g" => 30,
        "TiB" | "Tb" | "TB" | "T" | "t" => 40,
        _ => return None,
    };
    Some(Bytes((x * (1u64 << scale) as f64) as u64))
}

/// Words for a printed rate that is another one than its amount over its time. Tools print two digits at least, and MB for 10^6 or 2^20 bytes.
pub fn contradiction(amount: Bytes, time: Nanos, rate: Bytes) -> Option<String> {
    let real = amount.0 as f64 / time.as_seconds();
    if time.0 <= 1_000_000 || real <= 0.0 || rate.0 == 0 {
        return None;
    }
    let units = [1.0, 1e6 / 1_048_576.0, 1e9 / 1_073_741_824.0];
    let fits = units.iter().any(|unit| (rate.0 as f64 * unit / real - 1.0).abs() <= 0.06);
    (!fits).then(|| format!("{amount} in {time} at {rate}/s"))
}

/// fio's word for a load by its percent of writes and of random accesses, where it has one.
pub fn pattern(writes: u64, random: u64) -> Option<&'static str> {
    match (writes, random) {
        (0, 100) => Some("randread"),
        (0, 0) => Some("read"),
        (100, 100) => Some("randwrite"),
        (100, 0) => Some("write"),
        (_, 100) => Some("randrw"),
        (_, 0) => Some("rw"),
        _ => None,
    }
}

/// A percentile's name without needless zeros: `95`, `99.9`.
pub fn percentile(text: &str) -> Option<String> {
    let x = number(text).filter(|x| *x > 0.0 && *x < 100.0)?;
    Some(format!("{x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_of_other_tools_are_read() {
        assert_eq!(time("4.28 us"), Some(Nanos(4280)));
        assert_eq!(time("2.0005s"), Some(Nanos(2_000_500_000)));
        assert_eq!(time("7.547e-05 s"), Some(Nanos(75_470)));
        assert_eq!(time("0.0472007 s"), Some(Nanos(47_200_700)));
        assert_eq!(count("237.2 k"), Some(237_200.0));
        assert_eq!(size("16Kb"), Some(Bytes::kib(16)));
        assert_eq!(size("559.2 MiB"), Some(Bytes((559.2f64 * 1_048_576.0) as u64)));
        assert_eq!(percentile("99.900"), Some("99.9".into()));
        for bad in ["", "-1", "nan", "inf", "1e3", "1..2"] {
            assert_eq!(number(bad), None, "{bad}");
        }
        assert_eq!(whole("18446744073709551616"), None);
    }
}

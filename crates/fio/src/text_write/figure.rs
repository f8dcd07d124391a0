//! Numbers as fio prints them: a few digits, a prefix, a unit.

/// Characters of a figure, its point among them.
const DIGITS: usize = 4;

const DECIMAL: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// A number of at most so many characters before its prefix, which starts at the `power`-th.
///
/// Follows fio to the last digit, because its reports are compared by text: a figure that fits is printed whole, and one
/// without room for two decimals more is rounded to a whole.
pub fn figure(number: u64, digits: usize, power: usize, binary: bool) -> String {
    let (prefixes, step) = if binary { (BINARY, 1024) } else { (DECIMAL, 1000) };
    let (mut whole, mut power, mut rest) = (number, power, None);
    while whole.to_string().len() > digits && power + 1 < prefixes.len() {
        rest = Some(whole % step);
        whole /= step;
        power += 1;
    }
    let prefix = prefixes[power.min(prefixes.len() - 1)];
    let Some(rest) = rest else { return format!("{whole}{prefix}") };
    let room = digits.saturating_sub(whole.to_string().len() + 1);
    if room == 0 {
        return format!("{}{prefix}", whole + u64::from(rest >= step / 2));
    }
    let part = format!("{:.room$}", rest as f64 / step as f64);
    let carried = whole + u64::from(part.starts_with('1'));
    format!("{carried}.{}{prefix}", &part[2..])
}

/// A count: `20.1k`.
pub fn count(n: u64) -> String {
    figure(n, DIGITS, 0, false)
}

/// An amount with binary and with decimal prefixes: `20.0MiB`, `21.0MB`.
pub fn amount(bytes: u64) -> [String; 2] {
    [true, false].map(|binary| figure(bytes, DIGITS, 0, binary) + "B")
}

/// A rate with binary and with decimal prefixes: `78.3MiB/s`, `82.1MB/s`.
pub fn rate(bytes: u64) -> [String; 2] {
    amount(bytes).map(|amount| amount + "/s")
}

/// A share in percent, without what dividing by a hundred left in the last places.
pub(super) fn percent(share: f64) -> f64 {
    (share * 1e11).round() / 1e9
}

/// The whole part, as integer division has it.
pub(super) fn whole(v: f64) -> u64 {
    let near = v.round();
    if (v - near).abs() <= near * 1e-12 { near as u64 } else { v as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn figures_as_fio_prints_them() {
        // From reports of fio 3.33.
        for (n, text) in [
            (4096, "4096B"),
            (65_536, "64.0KiB"),
            (1_048_576, "1024KiB"),
            (20_969_472, "20.0MiB"),
            (968 << 10, "968KiB"),
        ] {
            assert_eq!(amount(n)[0], text);
        }
        assert_eq!(count(512_000), "512k");
        assert_eq!(count(5_119_500), "5120k");
        assert_eq!(count(20_126), "20.1k");
        assert_eq!(rate(82_100_000), ["78.3MiB/s", "82.1MB/s"]);
    }

    proptest! {
        #[test]
        fn any_number_fits(n in any::<u64>(), digits in 1usize..12, binary in any::<bool>()) {
            let text = figure(n, digits, 0, binary);
            let number: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
            // Rounding may carry into one more place; the largest prefix takes what is left.
            prop_assert!(number.len() <= digits.max(4) + 3, "{text}");
        }
    }
}

//! The text of an option becomes a value, by fio's rules.
//!
//! Units are fio's own and some are not what they say: with `kb_base=1024`, its default, `4k` and `4kb` are 4096 bytes and `4kib` is
//! 4000 (`parse.c`, `__get_mult_bytes`). Such text is read as fio reads it, with a note. Where fio silently drops a part of the text, and
//! then measures something else than was written (`1.5g` is one byte, `30sec` is 30 microseconds), the text is an error here.

use volproof_base::cpu_range::cpu_range;
use volproof_base::unit::Nanos;

use super::option::{FioOption, TimeUnit, ValueKind};

/// The value of one option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// Text as it stands.
    Text(String),
    /// A word of the table, and what stood behind its colon.
    Choice(&'static str, Option<String>),
    /// Whole numbers for reads, writes and trims; where a direction has none, the default holds. Options that take one number have it
    /// in all three places.
    Ints([Option<i64>; 3]),
    /// An amount on the target.
    Size(TargetAmount),
    /// A time.
    Time(Nanos),
    /// Yes or no.
    Flag(bool),
    /// Ranges of bytes for reads, writes and trims, or of nanoseconds, lower end first.
    Ranges([Option<(u64, u64)>; 3]),
    /// Numbers.
    Floats(Vec<f64>),
}

/// An amount on the target. Some kinds of it need the target to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetAmount {
    /// Bytes.
    Bytes(u64),
    /// A share of the target.
    Percent(u32),
    /// Zones of a zoned device.
    Zones(u64),
}

/// A value, and what a reader should know of the way it was read.
pub type Read = (OptionValue, Vec<String>);

/// Reads the text of one option; `None` where only the name was given.
///
/// # Errors
/// Why the text is no value of this option.
pub fn read(option: &FioOption, text: Option<&str>, kb_base: u64) -> Result<Read, String> {
    let mut notes = Vec::new();
    let Some(text) = text else {
        return match option.kind {
            ValueKind::Flag => Ok((OptionValue::Flag(true), notes)),
            ValueKind::LogName => Ok((OptionValue::Text(String::new()), notes)),
            ValueKind::Deprecated => Ok((OptionValue::Text(String::new()), notes)),
            _ => Err("it needs a value".to_string()),
        };
    };
    if text.is_empty() && option.kind != ValueKind::Deprecated {
        return Err("the value is empty".to_string());
    }
    if option.is_number() && text.trim_start().starts_with('(') {
        return Err(format!("'{text}' is arithmetic: write the result"));
    }
    let value = match option.kind {
        ValueKind::Text | ValueKind::LogName | ValueKind::Deprecated => OptionValue::Text(text.to_string()),
        ValueKind::Gone => return Err("fio has given this option up".to_string()),
        ValueKind::Engine => engine(text)?,
        ValueKind::Choice | ValueKind::Words => choice(option, text)?,
        ValueKind::Cpus if text.split(',').all(|part| cpu_range(part).is_some()) => {
            OptionValue::Text(text.to_string())
        }
        ValueKind::Cpus => return Err(format!("'{text}' is not a list of CPUs: write it as 0-3,8")),
        ValueKind::Int { min, max, each } => ints(text, kb_base, (min, max), each, &mut notes)?,
        ValueKind::Long { min } => ints(text, kb_base, (min, i64::MAX), false, &mut notes)?,
        ValueKind::Size => OptionValue::Size(size(one(text)?, kb_base, &mut notes)?),
        ValueKind::Time { bare } => OptionValue::Time(time(one(text)?, bare)?),
        ValueKind::IntTime => OptionValue::Time(time(one(text)?, TimeUnit::Micros)?),
        ValueKind::Bool | ValueKind::Flag => OptionValue::Flag(flag(option, text)?),
        ValueKind::Ranges => ranges(text, kb_base, &mut notes)?,
        ValueKind::Between => between(text, |part| match size(part, kb_base, &mut notes)? {
            TargetAmount::Bytes(n) if n > 0 => Ok(n),
            _ => Err(format!("'{part}' is not a number of bytes above 0")),
        })?,
        ValueKind::Delay => match between(text, |part| time(part, TimeUnit::Seconds).map(|n| n.0))? {
            OptionValue::Ranges([Some((low, high)), ..]) if low == high => OptionValue::Time(Nanos(low)),
            range => range,
        },
        ValueKind::Floats { range, most } => floats(text, range, most)?,
    };
    Ok((value, notes))
}

/// An engine is known by the word before the colon, as in `external:/path`.
fn engine(text: &str) -> Result<OptionValue, String> {
    let (name, rest) = match text.split_once(':') {
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    };
    if name == "external" && !rest.is_some_and(|path| path.starts_with('/')) {
        return Err("an external engine needs its whole path: external:/path".to_string());
    }
    Ok(match super::table::engine(name) {
        Some(engine) => OptionValue::Choice(engine.name, rest.map(str::to_string)),
        None => OptionValue::Text(text.to_string()),
    })
}

fn choice(option: &FioOption, text: &str) -> Result<OptionValue, String> {
    let end = text.find([':', ',']).unwrap_or(text.len());
    let rest = text.get(end + 1..).map(str::to_string);
    match option.words.iter().find(|c| c.name == &text[..end]) {
        Some(choice) => Ok(OptionValue::Choice(choice.name, rest)),
        None => {
            let words: Vec<_> = option.words.iter().map(|c| c.name).collect();
            Err(format!("'{text}' is none of {}", words.join(", ")))
        }
    }
}

/// Text in up to three parts, divided as fio does: at a comma, else at a colon, else at a dash.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let sign = rest.len() - rest.trim_start().len();
        let dash = rest.char_indices().find(|(at, c)| *c == '-' && *at > sign).map(|(at, _)| at);
        let Some(at) = rest.find(',').or(rest.find(':')).or(dash) else {
            parts.push(rest);
            return parts;
        };
        parts.push(&rest[..at]);
        rest = &rest[at + 1..];
    }
}

/// The only part of an option that takes one number.
fn one(text: &str) -> Result<&str, String> {
    match parts(text)[..] {
        [only] | [only, ""] => Ok(only),
        _ => Err(format!("'{text}' is more than one number: fio would take the first and drop the others")),
    }
}

/// Each direction takes its own part; one value stands for the directions behind it unless a comma ends the list.
fn directions<T: Copy>(
    text: &str,
    mut read: impl FnMut(&str) -> Result<T, String>,
) -> Result<[Option<T>; 3], String> {
    let parts = parts(text);
    if parts.len() > 3 && parts[3..].iter().any(|p| !p.is_empty()) {
        return Err(format!("'{text}' is more than three values: one each for reads, writes and trims"));
    }
    let mut values = [None; 3];
    let mut last = None;
    for (place, value) in values.iter_mut().enumerate() {
        last = match parts.get(place) {
            Some(part) if part.trim().is_empty() => None,
            Some(part) => Some(read(part)?),
            None => last,
        };
        *value = last;
    }
    if values.iter().all(Option::is_none) {
        return Err(format!("'{text}' has no value in it"));
    }
    Ok(values)
}

fn ints(
    text: &str,
    kb_base: u64,
    limits: (i64, i64),
    each: bool,
    notes: &mut Vec<String>,
) -> Result<OptionValue, String> {
    if each {
        return directions(text, |part| int(part, kb_base, limits, notes)).map(OptionValue::Ints);
    }
    let n = int(one(text)?, kb_base, limits, notes)?;
    Ok(OptionValue::Ints([Some(n); 3]))
}

/// A whole number within its limits.
fn int(text: &str, kb_base: u64, (min, max): (i64, i64), notes: &mut Vec<String>) -> Result<i64, String> {
    match amount(text, kb_base, notes)? {
        SuffixedNumber::Plain(n) if n > max => Err(format!("{n} is above the greatest value, {max}")),
        SuffixedNumber::Plain(n) if n < min => Err(format!("{n} is below the least value, {min}")),
        SuffixedNumber::Plain(n) => Ok(n),
        SuffixedNumber::Percent(_) => Err(format!("'{text}': a percentage means nothing here")),
        SuffixedNumber::Zones(_) => Err(format!("'{text}': 'z' counts zones, which means nothing here")),
    }
}

fn size(text: &str, kb_base: u64, notes: &mut Vec<String>) -> Result<TargetAmount, String> {
    match amount(text, kb_base, notes)? {
        SuffixedNumber::Percent(n) if (0..=100).contains(&n) => Ok(TargetAmount::Percent(n as u32)),
        SuffixedNumber::Percent(_) => Err(format!("'{text}' is not between 0% and 100%")),
        SuffixedNumber::Plain(n) | SuffixedNumber::Zones(n) if n < 0 => Err(format!("'{text}' is negative")),
        SuffixedNumber::Plain(n) => Ok(TargetAmount::Bytes(n as u64)),
        SuffixedNumber::Zones(n) => Ok(TargetAmount::Zones(n as u64)),
    }
}

fn flag(option: &FioOption, text: &str) -> Result<bool, String> {
    let digits = text.trim();
    let number = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => digits.parse::<u32>(),
    };
    match number {
        Ok(n) if n <= 1 || option.kind == ValueKind::Flag => Ok(n != 0),
        _ => Err(format!("'{text}' is neither 0 nor 1")),
    }
}

fn ranges(text: &str, kb_base: u64, notes: &mut Vec<String>) -> Result<OptionValue, String> {
    let mut values = [None; 3];
    let parts: Vec<_> = text.split(',').collect();
    if parts.len() > 3 && parts[3..].iter().any(|p| !p.is_empty()) {
        return Err(format!("'{text}' is more than three ranges: one each for reads, writes and trims"));
    }
    let mut last = None;
    for (place, value) in values.iter_mut().enumerate() {
        if let Some(part) = parts.get(place) {
            last = match part.split_once('-').or_else(|| part.split_once(':')) {
                _ if part.trim().is_empty() => None,
                Some((low, high)) => {
                    let (low, high) = (block(low, kb_base, notes)?, block(high, kb_base, notes)?);
                    Some((low.min(high), low.max(high)))
                }
                None => return Err(format!("'{part}' is not a range: write it as 1k-4k")),
            };
        }
        *value = last;
    }
    Ok(OptionValue::Ranges(values))
}

/// The size of a block.
fn block(text: &str, kb_base: u64, notes: &mut Vec<String>) -> Result<u64, String> {
    match amount(text, kb_base, notes)? {
        SuffixedNumber::Plain(n) if n > 0 => Ok(n as u64),
        _ => Err(format!("'{text}' is no size of a block")),
    }
}

/// One number or a range, which stands for all three directions.
fn between(text: &str, mut read: impl FnMut(&str) -> Result<u64, String>) -> Result<OptionValue, String> {
    let (low, high) = match parts(text)[..] {
        [only] | [only, ""] => (read(only)?, read(only)?),
        [low, high] => (read(low)?, read(high)?),
        _ => return Err(format!("'{text}' is more than a range")),
    };
    Ok(OptionValue::Ranges([Some((low.min(high), low.max(high))); 3]))
}

fn floats(text: &str, range: Option<(f64, f64)>, most: usize) -> Result<OptionValue, String> {
    let mut values = Vec::new();
    for part in text.split(':') {
        let value = part.trim().parse::<f64>().ok().filter(|v| v.is_finite());
        let value = value.ok_or_else(|| format!("'{part}' is not a number"))?;
        if let Some((min, max)) = range.filter(|(min, max)| value < *min || value > *max) {
            return Err(format!("{value} is not between {min} and {max}"));
        }
        values.push(value);
    }
    if values.len() > most {
        return Err(format!("{} numbers are too many: {most} at most", values.len()));
    }
    Ok(OptionValue::Floats(values))
}

/// A number with what its suffix made of it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SuffixedNumber {
    Plain(i64),
    Percent(i64),
    Zones(i64),
}

/// A number of bytes, or of anything: fio takes its units for every whole number.
fn amount(text: &str, kb_base: u64, notes: &mut Vec<String>) -> Result<SuffixedNumber, String> {
    let (number, unit) = split(text)?;
    match unit.to_ascii_lowercase().as_str() {
        "%" => return Ok(SuffixedNumber::Percent(number)),
        "z" => return Ok(SuffixedNumber::Zones(number)),
        _ => {}
    }
    let factor = factor(unit, kb_base).ok_or_else(|| misread(text, number, unit))?;
    let lower = unit.to_ascii_lowercase();
    if lower.len() == 3 && kb_base == 1024 {
        let bytes = i128::from(number) * factor as i128;
        notes.push(format!("'{text}' is {bytes} bytes to fio, which takes KiB for 1000 under kb_base=1024"));
    } else if lower.len() == 2 && lower.ends_with('i') && kb_base == 1000 {
        notes.push(format!("'{text}' is {number} * {factor} bytes to fio: only {unit}B is binary"));
    }
    number
        .checked_mul(factor as i64)
        .map(SuffixedNumber::Plain)
        .ok_or_else(|| format!("'{text}' is too large"))
}

/// Bytes of one unit, `None` for a unit that fio does not know.
fn factor(unit: &str, kb_base: u64) -> Option<u64> {
    let lower = unit.trim_end().to_ascii_lowercase();
    let mut letters = lower.chars();
    let power = match letters.next() {
        None | Some('b') if letters.as_str().is_empty() => return Some(1),
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some('p') => 5,
        _ => return None,
    };
    let base: u64 = match letters.as_str() {
        "" | "b" | "i" => kb_base,
        "ib" if kb_base == 1024 => 1000,
        "ib" => 1024,
        _ => return None,
    };
    Some(base.pow(power))
}

/// A time; microseconds are fio's finest.
pub(super) fn time(text: &str, bare: TimeUnit) -> Result<Nanos, String> {
    let bare = match bare {
        TimeUnit::Seconds => 1_000_000_000,
        TimeUnit::Micros => 1_000,
    };
    let (number, unit) = split(text)?;
    let nanos = match unit {
        "" => bare,
        _ => length(unit).ok_or_else(|| misread_time(text, number, unit))?,
    };
    number.checked_mul(nanos).ok_or_else(|| format!("'{text}' is too long")).and_then(|n| positive(n, text))
}

fn positive(n: i64, text: &str) -> Result<Nanos, String> {
    u64::try_from(n).map(Nanos).map_err(|_| format!("'{text}' is negative"))
}

/// Nanoseconds of one unit of time.
fn length(unit: &str) -> Option<i64> {
    Some(match unit.trim_end().to_ascii_lowercase().as_str() {
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    })
}

fn misread(text: &str, number: i64, unit: &str) -> String {
    match unit.chars().next() {
        Some('.') => {
            format!("'{text}' has a fraction: fio would drop it and take {number}; write a whole number")
        }
        _ => format!("'{text}': fio has no unit '{unit}' and would drop it; its units are k, m, g, t, p"),
    }
}

fn misread_time(text: &str, number: i64, unit: &str) -> String {
    if unit.starts_with('.') {
        return format!("'{text}' has a fraction, which fio drops: write a smaller unit, as in 1500ms");
    }
    format!("'{text}': fio knows us, ms, s, m, h, d, not '{unit}', and would take {number} microseconds")
}

/// A whole number, decimal or `0x`, and what stands behind it.
fn split(text: &str) -> Result<(i64, &str), String> {
    let trimmed = text.trim();
    let (negative, digits) = match trimmed.strip_prefix(['-', '+']) {
        Some(rest) => (trimmed.starts_with('-'), rest),
        None => (false, trimmed),
    };
    let (base, digits) = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => (16, hex),
        None => (10, digits),
    };
    let end = digits.find(|c: char| !c.is_digit(base)).unwrap_or(digits.len());
    if end == 0 {
        return Err(format!("'{text}' is not a number"));
    }
    if base == 16 && end < digits.len() {
        return Err(format!("'{text}': fio takes no unit behind a number in base 16"));
    }
    let number = i64::from_str_radix(&digits[..end], base).map_err(|_| format!("'{text}' is too large"))?;
    Ok((if negative { -number } else { number }, &digits[end..]))
}

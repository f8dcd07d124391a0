//! `Sat Nov 21 08:42:12 2026`: the time of day as ctime(3) has it and fio prints it, without a zone. It is that of this machine.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const FORM: &str = "%a %b %e %H:%M:%S %Y";

/// The words for a time in milliseconds; none for one that cannot be.
pub fn words(ms: u64) -> String {
    let at = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or_else(String::new, |at| at.to_zoned(TimeZone::system()).strftime(FORM).to_string())
}

/// The milliseconds of a text that begins with such words.
pub fn read(text: &str) -> Option<u64> {
    let date: String = text.chars().take(24).collect();
    let at = DateTime::strptime(FORM, date.trim()).ok()?;
    let zoned = at.to_zoned(TimeZone::system()).ok()?;
    u64::try_from(zoned.timestamp().as_millisecond()).ok()
}

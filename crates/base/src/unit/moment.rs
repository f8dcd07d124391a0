//! Times as stored forms hold them, to the second: RFC 3339 in UTC, or without `Z` by the clock of a machine whose zone nobody tells.
//!
//! A time without a zone is read by the clock of this machine, so that it keeps its digits wherever it is read and printed.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// A time in UTC.
pub fn utc(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A time by this machine's clock, without its zone.
pub fn without_zone(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

/// A stored time of either form.
pub fn moment(text: &str) -> Option<Timestamp> {
    if let Ok(at) = text.parse() {
        return Some(at);
    }
    let by_clock = text.parse::<DateTime>().ok()?.to_zoned(TimeZone::system()).ok()?;
    Some(by_clock.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_back() {
        let at = Timestamp::from_second(1_795_298_400).unwrap();
        assert_eq!(utc(at), "2026-11-21T22:00:00Z");
        assert_eq!(moment(&utc(at)), Some(at));
        assert_eq!(moment(&without_zone(at)), Some(at));
        assert_eq!(moment("yesterday"), None);
    }
}

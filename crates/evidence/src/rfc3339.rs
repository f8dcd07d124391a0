//! Moments as files write them, in nanoseconds since 1970.

use jiff::Timestamp;

/// A moment of RFC 3339.
pub(crate) fn moment(text: &str) -> Option<i64> {
    i64::try_from(text.parse::<Timestamp>().ok()?.as_nanosecond()).ok()
}

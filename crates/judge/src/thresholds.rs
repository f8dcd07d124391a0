//! Shares and times that several rules have in common, each with its reason.

/// Half of the tolerance of a promise: an error below this share changes no figure that is quoted.
pub(crate) const NEGLIGIBLE: f64 = 0.01;
/// From this share on an effect sets the figure: counters of CPU time, and limits that the kernel enforces in slices of 100 ms, are exact to it.
pub(crate) const SETS_THE_FIGURE: f64 = 0.05;
/// No burst that is sold is less than this share above its baseline.
pub(crate) const LEAST_BURST: f64 = 0.1;
/// Far enough below a limit that the limit takes no part.
pub(crate) const BELOW_A_LIMIT: f64 = 0.5;
/// What lasts for this share of the time sets a figure, and what lasts for less only takes part.
pub(crate) const MOST_OF_THE_TIME: f64 = 0.5;
/// Loads that are compared differ by this factor: no rate follows such a change by chance.
pub(crate) const LOADS_APART: u64 = 4;
/// Of several examples so many are named. Further ones are only counted.
pub(crate) const EXAMPLES: usize = 3;
/// Requests in flight of a load that is recommended. A run that misses its promise there goes deeper by itself.
pub(crate) const USUAL_DEPTH: u32 = 32;
/// The end of a window is looked at by itself: its last fifth, of at least so many seconds.
const SHORTEST_LAST_PART: usize = 20;

/// The seconds at the end of a window that are looked at by themselves.
pub(crate) fn last_fifth(seconds: usize) -> usize {
    (seconds / 5).max(SHORTEST_LAST_PART).min(seconds)
}

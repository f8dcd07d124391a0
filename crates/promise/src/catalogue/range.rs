//! Bounds of a choice: the least and the most that can be bought.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bounds of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// The least.
    pub lo: f64,
    /// The most.
    pub hi: f64,
}

/// The least whole step from `lo` up to `hi` at which `holds`, which once true stays true.
pub(super) fn least(lo: f64, hi: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
    if holds(lo) {
        return Some(lo);
    }
    if !holds(hi) {
        return None;
    }
    // Invariant: `holds` is false at `below` steps from `lo`, and true at `above` steps.
    let value = |steps: u64| (lo.floor() + steps as f64).min(hi);
    let (mut below, mut above) = (0u64, (hi - lo.floor()).ceil() as u64);
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if holds(value(middle)) { above = middle } else { below = middle }
    }
    Some(value(above))
}

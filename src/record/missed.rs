//! A minimum rate that a job did not reach, which ended its step.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sample::Direction;

/// A job was slower than its step demands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MissedRate {
    /// The job, by its number within the step.
    pub worker: u32,
    /// What it did too little of.
    pub direction: Direction,
    /// Bytes a second (`rate_min`); else I/Os a second (`rate_iops_min`).
    pub in_bytes: bool,
    /// What was demanded, a second.
    pub wanted: f64,
    /// What was reached over the last `rate_cycle`, a second.
    pub reached: f64,
}

impl fmt::Display for MissedRate {
    /// In fio's words, which its users look for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (wanted, reached) = (self.wanted as u64, self.reached as u64);
        match self.in_bytes {
            true => write!(f, "rate_min={wanted}B/s not met, got {reached}B/s"),
            false => write!(f, "rate_iops_min={wanted} not met, got {reached} IOPS"),
        }
    }
}

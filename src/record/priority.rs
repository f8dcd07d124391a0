//! Requests with priorities of their own (`cmdprio`): how many had which, and how long they took.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LatencySummary;
use crate::hist::{Histogram, Sparse};
use crate::plan::Priority;
use crate::sample::Direction;

/// Requests of one direction and priority on all targets, over the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriorityRecord {
    /// What they did.
    pub direction: Direction,
    /// Their priority; `none/0` where neither they nor their job asked for one.
    pub prio: Priority,
    /// From submission to completion.
    pub service_latency_ns: LatencySummary,
    /// The same, every one of them.
    pub service: Sparse,
}

impl PriorityRecord {
    /// None when there was no such request.
    pub fn of(direction: Direction, prio: Priority, service: &Histogram) -> Option<PriorityRecord> {
        let service = service.to_sparse();
        let parts = Cow::Borrowed(std::slice::from_ref(&service));
        let mut summary = LatencySummary::of(parts, &Histogram::new(), 0)?;
        // Whether seconds agree is not known: they were not kept apart.
        summary.unsettled = Vec::new();
        Some(PriorityRecord { direction, prio, service_latency_ns: summary, service })
    }
}

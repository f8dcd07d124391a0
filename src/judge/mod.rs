//! The judge: what a Record shows, whether its figures can be trusted, and what is seen in its samples.
//!
//! `doubts`: faults of the measurement, and remarks about it; a doubt that voids keeps its step from any outcome. `shape`: the five
//! descriptions of samples, which never change an outcome. A rule reads facts, never what another rule found.

pub mod doubts;
pub mod shape;

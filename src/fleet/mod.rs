//! A fleet: machines that run one plan at the same time, and their Records as one.
//!
//! Times are nanoseconds since 1970 by the clock of rank 0. Nothing here measures, opens a file or talks to another machine: a run asks when its
//! steps are due ([`planned_times`]) and which part of a shared volume is its own ([`part`]), and [`FleetMerge`] adds the Records up afterwards.

mod fleet_doubts;
pub mod kernel_clock;
mod merged_step;
mod merging;
pub mod part;
pub mod planned_times;
mod rank_of;
mod step_sums;

pub use merging::{FleetError, FleetMerge, claimed};
pub use rank_of::{RankError, RankOf, from_launcher};

//! A fleet: machines that run one plan at the same time, and their Records as one.
//!
//! Times are nanoseconds since 1970, under MPI by the clock of rank 0, else by each machine's own. Nothing here measures or opens a file: a run asks when its steps are due
//! ([`planned_times`]) and which part of a shared volume is its own ([`part`]), and [`FleetMerge`] adds the Records up afterwards. Under MPI the ranks
//! talk by a [`link`], whose messages go over whatever is an [`exchange`]; without it no machine talks to another.

pub mod exchange;
mod fleet_doubts;
pub mod kernel_clock;
pub mod link;
mod merged_step;
mod merging;
pub mod message;
pub mod part;
pub mod planned_times;
pub mod rank_clock;
mod rank_of;
mod step_sums;

pub use merging::{FleetError, FleetMerge, judged_promise, volume};
pub use rank_of::{RankOf, WrongRank};

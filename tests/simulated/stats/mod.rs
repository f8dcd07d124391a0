//! How often the statistics are right: simulations with fixed seeds, and any series at all.

mod any;
mod change;
mod change_of_runs;
mod compare;
mod noise;
mod percentile;
mod rate;

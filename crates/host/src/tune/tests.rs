//! Tests of all of tuning: a kernel in memory, and runs that are killed on it.

pub(super) mod fake_kernel;
mod killed;

//! What lies below a target, and the right to write to it.
//!
//! `device` reads facts and the graph of what lies on what; `guard` alone makes a [`Clearance`](guard::Clearance), without which no engine
//! writes; `nvme` reads what a controller counted; `output` writes every file of the program and never a device, a target or an input.
//! Whatever reads /proc, /sys or /dev takes a root path. Nothing here measures, and nothing writes to a target.

pub mod device;
pub mod guard;
pub mod nvme;
pub mod output;

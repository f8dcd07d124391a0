//! Knobs are set and come back: on made trees, on loop devices, and killed at every system call.

mod crash;
mod disturbed;
mod hostile;
mod kills;
mod loops;
mod refused;
mod report;
mod restore;
mod steps;
mod traced;
use crate::traced_loop;
mod tree;
use crate::zram_disk;

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
#[path = "../traced_loop/mod.rs"]
mod traced_loop;
mod tree;
#[path = "../zram_disk/mod.rs"]
mod zram_disk;

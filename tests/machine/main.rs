//! What drives this machine: files, loop devices, memory disks, settings, signals. Many of these tests wait.

mod engine;
mod fleet;
mod guard;
mod run;
mod traced_loop;
mod tune;
mod zram_disk;

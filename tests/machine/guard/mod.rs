//! The guard: against attacks, on files, on captured trees of machines, on loop devices and zram, and in a race with mkfs.

mod alone;
mod attacks;
mod beneath;
mod clearance;
mod data;
mod doors;
mod files;
mod frozen;
mod loop_device;
mod paths;
mod program;
mod race;
mod rig;
mod stack_builder;
mod stack_layers;
mod stack_model;
mod stacks;
use crate::traced_loop;
mod trees;
mod uses;
mod zram;
use crate::zram_disk;

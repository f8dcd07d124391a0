//! The machine around the volume: `topo` places workers on CPUs by NUMA node and hardware queue, `tune` changes kernel settings by a
//! journal that brings them back, `observe` reads the kernel's counters while a step runs, `environment` describes the machine,
//! `anatomy` tells where the time of requests goes.
//!
//! It may use device facts. It knows no load, no Record and no promise. A setting is journalled to disk before it is touched.

pub mod anatomy;
pub mod environment;
pub mod observe;
mod processor;
pub mod topo;
pub mod tune;

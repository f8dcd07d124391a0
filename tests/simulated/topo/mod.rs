//! Topologies of captured and made machines: how workers are placed, and what `topo` prints.

mod place;
mod report;
mod trees;

//! NUMA nodes by number and the CPUs of each, as /sys/devices/system/node has them.

use std::collections::BTreeMap;
use std::path::Path;

use super::tree::Tree;
use super::{CpuSet, TopoError};

const NODE: &str = "sys/devices/system/node";

/// The nodes of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes(BTreeMap<u32, CpuSet>);

/// Why nodes that were asked for cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoNode {
    /// The kernel knows no nodes at all.
    #[error("this kernel has no NUMA (/{NODE} is missing): leave nodes out")]
    NoNuma,
    /// A node that does not exist.
    #[error("NUMA node {node} is not in this machine, which has {here}: see /{NODE}")]
    Missing {
        /// The node asked for.
        node: u32,
        /// Those there are.
        here: CpuSet,
    },
    /// Nodes of memory alone.
    #[error("NUMA nodes {0} have no CPU to run on: name others")]
    NoCpu(CpuSet),
}

impl Nodes {
    /// Reads the nodes below `root`, which is `/` or a captured tree.
    ///
    /// # Errors
    /// A file that is not what its name promises.
    pub fn read(root: &Path) -> Result<Nodes, TopoError> {
        let tree = Tree::new(root);
        let mut nodes = BTreeMap::new();
        for node in tree.numbers(NODE, "node") {
            nodes.insert(node, tree.value(format!("{NODE}/node{node}/cpulist"))?.unwrap_or_default());
        }
        Ok(Nodes(nodes))
    }

    /// All of these exist.
    ///
    /// # Errors
    /// The first that does not.
    pub fn check(&self, wanted: impl IntoIterator<Item = u32>) -> Result<(), NoNode> {
        for node in wanted {
            if self.0.is_empty() {
                return Err(NoNode::NoNuma);
            }
            if !self.0.contains_key(&node) {
                return Err(NoNode::Missing { node, here: self.0.keys().copied().collect() });
            }
        }
        Ok(())
    }

    /// The CPUs of these nodes.
    ///
    /// # Errors
    /// One of them does not exist, or none has a CPU.
    pub fn cpus(&self, wanted: &[u32]) -> Result<CpuSet, NoNode> {
        self.check(wanted.iter().copied())?;
        let cpus = wanted.iter().fold(CpuSet::default(), |all, node| all.or(&self.0[node]));
        if cpus.is_empty() {
            return Err(NoNode::NoCpu(wanted.iter().copied().collect()));
        }
        Ok(cpus)
    }
}

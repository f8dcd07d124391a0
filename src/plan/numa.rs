//! Where on a machine with several memory nodes a job runs and where its buffers lie. Words only; which nodes there are is not known here.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::workload::{CpuList, WordError, serde_as_text};

/// The kernel's largest `MAX_NUMNODES` is 1024.
const MOST: u32 = 1024;

/// NUMA nodes by number, as `0-1,3`; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeList(BTreeSet<u32>);

impl NodeList {
    /// Their numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }
}

impl fmt::Display for NodeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        CpuList(self.iter().collect()).fmt(f)
    }
}

impl FromStr for NodeList {
    type Err = WordError;
    fn from_str(text: &str) -> Result<NodeList, WordError> {
        let bad = || WordError(format!("'{text}' is not a list of NUMA nodes: write 0-1,3"));
        let nodes: CpuList = text.parse().map_err(|_| bad())?;
        if nodes.0.iter().any(|n| *n >= MOST) {
            return Err(bad());
        }
        Ok(NodeList(nodes.0.into_iter().collect()))
    }
}

serde_as_text!(NodeList);

/// Which nodes the memory of a job comes from: the words of fio's `numa_mem_policy`, which are the kernel's policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// As the program was started.
    Default,
    /// The node of the CPU that first touches a page.
    Local,
    /// One node as long as it has room.
    Prefer(u32),
    /// These nodes and no others.
    Bind(NodeList),
    /// These nodes in turn, page by page.
    Interleave(NodeList),
}

impl MemoryPolicy {
    /// The nodes that it names.
    pub fn nodes(&self) -> Vec<u32> {
        match self {
            MemoryPolicy::Default | MemoryPolicy::Local => Vec::new(),
            MemoryPolicy::Prefer(node) => vec![*node],
            MemoryPolicy::Bind(nodes) | MemoryPolicy::Interleave(nodes) => nodes.iter().collect(),
        }
    }
}

impl fmt::Display for MemoryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryPolicy::Default => f.pad("default"),
            MemoryPolicy::Local => f.pad("local"),
            MemoryPolicy::Prefer(node) => f.pad(&format!("prefer:{node}")),
            MemoryPolicy::Bind(nodes) => f.pad(&format!("bind:{nodes}")),
            MemoryPolicy::Interleave(nodes) => f.pad(&format!("interleave:{nodes}")),
        }
    }
}

impl FromStr for MemoryPolicy {
    type Err = WordError;
    fn from_str(text: &str) -> Result<MemoryPolicy, WordError> {
        let (word, nodes) = text.split_once(':').map_or((text, None), |(w, n)| (w, Some(n)));
        match (word, nodes) {
            ("default", None) => Ok(MemoryPolicy::Default),
            ("local", None) => Ok(MemoryPolicy::Local),
            ("bind", Some(nodes)) => Ok(MemoryPolicy::Bind(nodes.parse()?)),
            ("interleave", Some(nodes)) => Ok(MemoryPolicy::Interleave(nodes.parse()?)),
            ("prefer", Some(nodes)) => {
                let all: Vec<u32> = nodes.parse::<NodeList>()?.iter().collect();
                match all[..] {
                    [node] => Ok(MemoryPolicy::Prefer(node)),
                    _ => Err(WordError(format!("numa-mem-policy: prefer takes one node, not {nodes}"))),
                }
            }
            _ => Err(WordError(format!(
                "'{text}' is not a memory policy: use default, local, prefer:0, bind:0-1 or interleave:0-1"
            ))),
        }
    }
}

serde_as_text!(MemoryPolicy);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_read_back() {
        assert_eq!("1,0-1,3".parse::<NodeList>().unwrap().to_string(), "0-1,3");
        for text in ["default", "local", "prefer:1", "bind:0-1,3", "interleave:0"] {
            assert_eq!(text.parse::<MemoryPolicy>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, what) in [
            ("bind", "use default, local, prefer:0"),
            ("local:0", "use default, local, prefer:0"),
            ("prefer:0-1", "takes one node, not 0-1"),
            ("bind:", "write 0-1,3"),
            ("bind:all", "write 0-1,3"),
            ("interleave:1024", "write 0-1,3"),
        ] {
            let e = text.parse::<MemoryPolicy>().unwrap_err().to_string();
            assert!(e.contains(what), "{text}: {e}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".{0,16}") {
            let _ = text.parse::<MemoryPolicy>();
            let _ = text.parse::<NodeList>();
        }
    }
}

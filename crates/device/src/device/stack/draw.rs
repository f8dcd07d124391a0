//! The graph around one target as a tree for people: the lowest things first, what lies on them below and to the right.

use std::collections::BTreeSet;

use super::{Layer, Relation, Stack};
use crate::device::stack::readable;
use crate::device::stack_node::StackNode;

/// One line of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// How far to the right.
    pub depth: usize,
    /// Whether a later line of the same depth belongs to the same thing.
    pub last: bool,
    /// The name, how it lies on what is above it in the tree, and who uses it.
    pub text: String,
}

impl Stack {
    /// Everything that the target lies on, that lies on it, and that shares bytes with it.
    pub fn around(&self, target: StackNode) -> Vec<Branch> {
        let sharing = self.sharing(target);
        let mut kept = self.beneath(target, true);
        kept.extend(sharing.iter().filter(|s| s.relation != Relation::Below).map(|s| s.thing));
        let lowest: Vec<StackNode> = kept
            .iter()
            .copied()
            .filter(|t| {
                self.lower(*t).iter().all(|(l, layer)| *layer == Layer::SameVolume || !kept.contains(l))
            })
            .collect();
        let mut tree = Vec::new();
        let mut done = BTreeSet::new();
        for (n, thing) in lowest.iter().enumerate() {
            let last = n + 1 == lowest.len();
            self.branch(*thing, None, (0, last), target, &kept, &mut done, &mut tree);
        }
        tree
    }

    #[expect(clippy::too_many_arguments, reason = "one recursive walk")]
    fn branch(
        &self,
        thing: StackNode,
        layer: Option<Layer>,
        (depth, last): (usize, bool),
        target: StackNode,
        kept: &BTreeSet<StackNode>,
        done: &mut BTreeSet<StackNode>,
        tree: &mut Vec<Branch>,
    ) {
        let again = !done.insert(thing);
        let mut text = self.words(thing, layer);
        if again {
            text += ", as above";
        }
        if thing == target {
            text += "  <- the target";
        }
        tree.push(Branch { depth, last, text });
        let above: Vec<(StackNode, Layer)> =
            self.upper(thing).into_iter().filter(|(t, _)| kept.contains(t) && !again).collect();
        for (n, (upper, layer)) in above.iter().enumerate() {
            let place = (depth + 1, n + 1 == above.len());
            self.branch(*upper, Some(*layer), place, target, kept, done, tree);
        }
    }

    fn words(&self, thing: StackNode, layer: Option<Layer>) -> String {
        let shown = self.shown(thing);
        let mut words = vec![match shown.label {
            Some(label) => format!("{} ({label})", shown.name),
            None => shown.name,
        }];
        words.extend(layer.filter(|l| *l == Layer::Partition).map(|_| "partition".to_string()));
        if matches!(thing, StackNode::File(_)) {
            words.push("file".into());
        }
        let mounts = self.mounts.iter().filter(|(t, _)| *t == thing).map(|(_, m)| m);
        words.extend(
            mounts.clone().take(2).map(|m| format!("{} on {}", m.filesystem, readable(&m.mount_point))),
        );
        let more = mounts.count().saturating_sub(2);
        words.extend(
            (more > 0).then(|| format!("{more} more {}", if more == 1 { "mount" } else { "mounts" })),
        );
        words.extend(self.swaps.contains(&thing).then(|| "swapped to".to_string()));
        words.extend(self.pools.contains(&thing).then(|| "in a running pool".to_string()));
        words.extend(self.system.contains(&thing).then(|| "carries /".to_string()));
        words.join(", ")
    }
}

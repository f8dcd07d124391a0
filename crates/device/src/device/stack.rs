//! The stack of storage: one graph of this machine's block devices and image files, in both directions.
//!
//! A [`StackNode`] is identified by numbers: a device by its device number, a file by its filesystem's number and its inode. Names are only
//! shown to people. An edge of the graph says which bytes of the upper thing lie on which bytes of the lower one. The graph answers
//! whether a target shares bytes with anything in use, and whether it lies on the system disk. [`read_stack`] builds it; nothing is opened for
//! writing, and nothing is changed.

mod device_mapper;
mod draw;
mod read_stack;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) use super::unseen::readable;
pub use draw::Branch;
pub(super) use read_stack::open_device;

use super::mounted_image::{MountedImage, Suspect, UsedBy, may_be_unlisted};
use super::overlay::{Overlays, may_be_same};
use super::stack_node::{FileId, StackNode};
use super::{DevNumber, Mount, Root, SECTOR, Unseen};
use volproof_base::unit::Bytes;

/// How one thing lies on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// A partition on its disk.
    Partition,
    /// A loop device on its file or device.
    Loop,
    /// A device mapper, RAID, bcache or zram device on its members.
    Built,
    /// Two paths to one volume: neither lies on the other.
    SameVolume,
    /// A file on the device of its filesystem, which gives each file blocks of its own.
    Filesystem,
}

/// Bytes from the first up to, not including, the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    from: u64,
    to: u64,
}

impl Span {
    const ALL: Span = Span { from: 0, to: u64::MAX };

    fn new(from: u64, length: u64) -> Span {
        Span { from, to: from.saturating_add(length) }
    }

    fn overlap(self, other: Span) -> Option<Span> {
        let (from, to) = (self.from.max(other.from), self.to.min(other.to));
        (from < to).then_some(Span { from, to })
    }

    fn holds(self, other: Span) -> bool {
        self.from <= other.from && other.to <= self.to
    }
}

/// Bytes of the upper thing that lie on bytes of the lower one.
#[derive(Clone, Copy, Debug)]
struct Piece {
    upper: Span,
    lower: Span,
    /// Byte for byte in the same order; otherwise any of them may lie on any.
    linear: bool,
}

impl Piece {
    const ALL: Piece = Piece { upper: Span::ALL, lower: Span::ALL, linear: false };

    fn linear(upper: u64, lower: u64, length: u64) -> Piece {
        Piece { upper: Span::new(upper, length), lower: Span::new(lower, length), linear: true }
    }

    fn map(&self, (from, to): (Span, Span), part: Span) -> Option<Span> {
        let part = from.overlap(part)?;
        if !self.linear {
            return Some(to);
        }
        Some(Span { from: to.from + (part.from - from.from), to: to.from + (part.to - from.from) })
    }

    fn down(&self, part: Span) -> Option<Span> {
        self.map((self.upper, self.lower), part)
    }

    fn up(&self, part: Span) -> Option<Span> {
        self.map((self.lower, self.upper), part)
    }
}

/// One thing on another.
#[derive(Clone, Debug)]
struct StackEdge {
    upper: StackNode,
    lower: StackNode,
    layer: Layer,
    pieces: Vec<Piece>,
    /// Things that lie on the lower thing by exclusive steps share no byte: a volume manager gave each its own blocks.
    exclusive: bool,
}

/// The names under which people know a thing.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// The kernel's name of a device, the path of a file.
    pub name: String,
    /// Its own name: of a device mapper device, or the level of a RAID.
    pub label: Option<String>,
    /// A device mapper's own identity.
    pub uuid: Option<String>,
}

/// How a thing belongs to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// The target itself.
    Itself,
    /// The target lies on it. The other names are those of earlier Records.
    #[serde(alias = "parent")]
    Below,
    /// It lies on the target.
    #[serde(alias = "partition", alias = "holder", alias = "loop")]
    Above,
    /// Neither, and it shares bytes with the target: another loop device over the same file, another path to the same volume.
    #[serde(alias = "twin")]
    Beside,
}

/// A thing that shares bytes with a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Which.
    pub thing: StackNode,
    /// How it belongs to the target.
    pub relation: Relation,
    /// The step that led to it; none for the target itself.
    pub layer: Option<Layer>,
    /// From which thing that step leads.
    pub through: StackNode,
}

/// The graph, with the uses that the kernel lists.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    shown: BTreeMap<StackNode, Shown>,
    /// Paths of the files in use.
    places: BTreeMap<StackNode, PathBuf>,
    steps: Vec<StackEdge>,
    /// Mounts by the device that they are of, or by the file where the kernel mounts an image without a loop device (erofs).
    pub mounts: Vec<(StackNode, Mount)>,
    /// Swap areas.
    pub swaps: Vec<StackNode>,
    /// Members of mounted btrfs filesystems and running bcache sets, which no mount names.
    pub pools: Vec<StackNode>,
    /// Everything that `/` lies on, all the way down.
    system: BTreeSet<StackNode>,
    /// Files that may be of an overlay whose layers are not visible here.
    overlaid: BTreeSet<StackNode>,
    /// Files that a loop device shows in part, with a limit of its own (`losetup --sizelimit`).
    limited: BTreeSet<StackNode>,
    /// The overlays that files are seen through.
    overlays: Overlays,
    /// Parts of the machine that could not be looked at.
    pub unseen: Vec<Unseen>,
    /// Attached loop devices that this user may not open: what they show is known by the path in sysfs alone, which may lead to another
    /// file where they were attached in another mount namespace.
    pub unasked_loops: Vec<String>,
    /// Images that the kernel shows without a loop device.
    images: Vec<MountedImage>,
    /// It shows more of them than the mounts that are visible here.
    unlisted_images: bool,
}

/// Where the search stands.
struct Visit {
    found: Sharing,
    span: Span,
    /// Whether it may still go down. What lies under a thing beside the target shares no bytes with the target.
    down: bool,
    /// It came down by an exclusive step.
    exclusive: bool,
    /// Pieces on the way down that are not linear, each as its upper device and the first byte there. On the way up such a piece leads only
    /// to the bytes that it came from.
    from: Vec<(StackNode, u64)>,
}

impl Visit {
    /// Whether this visit has found all that the other one would find.
    fn covers(&self, other: &Visit) -> bool {
        self.found.thing == other.found.thing
            && self.span.holds(other.span)
            && self.down >= other.down
            && self.exclusive <= other.exclusive
            && self.from.iter().all(|above| other.from.contains(above))
    }
}

impl Stack {
    /// The names under which people know a thing.
    pub fn shown(&self, thing: StackNode) -> Shown {
        self.shown.get(&thing).cloned().unwrap_or_else(|| Shown {
            name: match thing {
                StackNode::Device(number) => number.to_string(),
                StackNode::File(file) => format!("inode {} of {}", file.inode, file.filesystem),
            },
            ..Shown::default()
        })
    }

    /// A file of an overlay, which is at a path, as the file of the layer that holds its bytes; everything else as it is.
    pub(super) fn held(&self, thing: StackNode, path: impl FnOnce() -> Option<PathBuf>) -> StackNode {
        match thing {
            StackNode::File(file) if file.filesystem.is_anonymous() => {
                StackNode::File(path().map_or(file, |path| self.overlays.holder(&path, file)))
            }
            other => other,
        }
    }

    /// Names of files behind loop devices and swap areas that may be this file, which is at a path: one of the two is in an overlay whose layers
    /// are not visible here, and what the overlay tells of its file fits. Where the other file is at no path here, its number or length tells.
    pub fn may_be(&self, file: StackNode, path: &Path, length: Bytes) -> impl Iterator<Item = &str> {
        let hidden = matches!(file, StackNode::File(file) if self.overlays.may_hide(path, file));
        self.shown.iter().filter_map(move |(thing, shown)| match (*thing, file) {
            (StackNode::File(other), StackNode::File(own)) if other != own => {
                let seen_apart = !hidden && !self.overlaid.contains(thing);
                let likely = !seen_apart
                    && self.place(*thing).and_then(|place| may_be_same(path, place)).unwrap_or_else(|| {
                        other.inode as u32 == own.inode as u32 || self.shows_as_many(*thing, length)
                    });
                likely.then_some(shown.name.as_str())
            }
            _ => None,
        })
    }

    /// Why somebody may use the bytes of this file, which a loop device shows, under the name of another file: one of them is in a filesystem that
    /// passes on files. A program or a server tells neither who has the file open.
    pub(super) fn hidden_users(&self, file: StackNode, path: &Path) -> Vec<Unseen> {
        let StackNode::File(id) = file else { return Vec::new() };
        let length = Bytes(std::fs::metadata(path).map_or(0, |about| about.len()));
        let same = self.may_be(file, path, length).map(|name| {
            Unseen::by_root(format!(
                "whether {name} is {} too cannot be seen: one of them is in a filesystem that passes on files of others",
                path.display()
            ))
        });
        // The layers of an overlay are files of this machine, whose users are seen by the layer.
        let source = self.overlays.unknown_source(path, id).filter(|filesystem| *filesystem != "overlay");
        let passed_on = source.map(|filesystem| {
            let what = format!(
                "who has {} open cannot be seen: {filesystem} shows files from elsewhere",
                path.display()
            );
            Unseen::new(what, format!("name {} itself, with --overwrite=shared", path.display()))
        });
        same.chain(passed_on).collect()
    }

    /// The path of a file in use, where it leads to the file.
    pub(super) fn place(&self, file: StackNode) -> Option<&Path> {
        let place = self.places.get(&file)?;
        let there = StackNode::from_metadata(&std::fs::metadata(place).ok()?)?;
        (self.held(there, || Some(place.clone())) == file).then_some(place)
    }

    /// Whether a file, which is at a path, may be of an overlay whose layers are not visible here.
    pub(super) fn may_hide(&self, file: FileId, path: &Path) -> bool {
        self.overlays.may_hide(path, file)
    }

    /// Whether a loop device over this file shows what it would of a file of this length, be it all of it or a part with a limit of its own.
    fn shows_as_many(&self, file: StackNode, length: Bytes) -> bool {
        let loops = self.steps.iter().filter(|s| s.lower == file && s.layer == Layer::Loop);
        let mut ends = loops.flat_map(|s| &s.pieces).map(|piece| piece.lower.to);
        if self.limited.contains(&file) {
            return ends.any(|end| end <= length.0);
        }
        ends.any(|end| end == length.0 / SECTOR * SECTOR)
    }

    /// The file of the layer that holds the bytes of this file of an overlay, as the path of that file; none for all other files.
    pub(super) fn layer_path(&self, file: FileId, path: &Path) -> Option<PathBuf> {
        let (layer, held) = self.overlays.holder_at(path, file);
        (held != file).then_some(layer)
    }

    /// Why the bytes of this file, which is at a path, may be those of a file that is not known, where they may: its filesystem passes on files.
    pub(super) fn passed_on(&self, file: FileId, path: &Path) -> Option<String> {
        let filesystem = self.overlays.unknown_source(path, file)?;
        Some(format!("{filesystem} shows files from elsewhere, and not who has them open there"))
    }

    /// The mounted images that may be this file, which is at a path and in use, although no mount names it.
    pub(super) fn hidden_images(
        &self,
        root: &Root,
        file: StackNode,
        path: &Path,
        used_by: UsedBy,
    ) -> Vec<Unseen> {
        let there =
            std::fs::metadata(root.path(path)).ok().and_then(|about| StackNode::from_metadata(&about));
        let there = there.map(|thing| self.held(thing, || Some(path.to_path_buf())));
        let suspect = Suspect { file, path: (there == Some(file)).then_some(path), used_by };
        let unlisted = self.unlisted_images.then(|| may_be_unlisted(root, suspect)).flatten();
        self.images.iter().filter_map(move |image| image.may_show(root, suspect)).chain(unlisted).collect()
    }

    /// Where a device or file itself is mounted.
    pub fn mount_points(&self, of: StackNode) -> impl Iterator<Item = &Path> {
        self.mounts.iter().filter(move |(on, _)| *on == of).map(|(_, mount)| mount.mount_point.as_path())
    }

    /// Everything that shares bytes with the target, itself first and then by distance: what it lies on, and whatever lies on
    /// those same bytes. A filesystem gives each file blocks of its own, so that the search ends at a file.
    pub fn sharing(&self, target: StackNode) -> Vec<Sharing> {
        let itself = Sharing { thing: target, relation: Relation::Itself, layer: None, through: target };
        let mut todo = VecDeque::from([Visit {
            found: itself,
            span: Span::ALL,
            down: true,
            exclusive: false,
            from: Vec::new(),
        }]);
        let mut done: Vec<Visit> = Vec::new();
        while let Some(visit) = todo.pop_front() {
            if done.iter().any(|d| d.covers(&visit)) {
                continue;
            }
            for step in &self.steps {
                self.follow(step, &visit, &mut todo);
            }
            done.push(visit);
        }
        let mut found: Vec<Sharing> = Vec::new();
        for visit in done {
            if found.iter().all(|f| f.thing != visit.found.thing) {
                found.push(visit.found);
            }
        }
        found
    }

    fn follow(&self, step: &StackEdge, visit: &Visit, todo: &mut VecDeque<Visit>) {
        let here = visit.found.thing;
        let found = |thing, relation| Sharing { thing, relation, layer: Some(step.layer), through: here };
        if step.layer == Layer::SameVolume {
            for (one, other) in [(step.upper, step.lower), (step.lower, step.upper)] {
                if one == here {
                    let found = found(other, Relation::Beside);
                    todo.push_back(Visit { found, from: visit.from.clone(), ..*visit });
                }
            }
            return;
        }
        if step.lower == here && !(visit.exclusive && step.exclusive) {
            let relation = match visit.found.relation {
                Relation::Itself | Relation::Above => Relation::Above,
                Relation::Below | Relation::Beside => Relation::Beside,
            };
            for piece in &step.pieces {
                let goes_back = visit.down && visit.from.contains(&(step.upper, piece.upper.from));
                let Some(span) = piece.up(visit.span).filter(|_| !goes_back) else { continue };
                // The bytes stay those that the volume manager gave away, by whatever other view of its member.
                let exclusive = visit.exclusive && step.layer != Layer::Built;
                let found = found(step.upper, relation);
                let from = visit.from.clone();
                todo.push_back(Visit { found, span, down: false, exclusive, from });
            }
        }
        if step.upper == here && visit.down && step.layer != Layer::Filesystem {
            for piece in &step.pieces {
                let Some(span) = piece.down(visit.span) else { continue };
                let exclusive = visit.exclusive || step.exclusive;
                let found = found(step.lower, Relation::Below);
                let from = visit
                    .from
                    .iter()
                    .copied()
                    .chain((!piece.linear).then_some((here, piece.upper.from)))
                    .collect();
                todo.push_back(Visit { found, span, down: true, exclusive, from });
            }
        }
    }

    /// The thing and all it lies on, whole disks included; with `files` through files to the devices of their filesystems.
    fn beneath(&self, thing: StackNode, files: bool) -> BTreeSet<StackNode> {
        let (mut found, mut todo) = (BTreeSet::new(), vec![thing]);
        while let Some(here) = todo.pop() {
            if !found.insert(here) {
                continue;
            }
            for step in self.steps.iter().filter(|s| files || s.layer != Layer::Filesystem) {
                if step.upper == here {
                    todo.push(step.lower);
                } else if step.lower == here && step.layer == Layer::SameVolume {
                    todo.push(step.upper);
                }
            }
        }
        found
    }

    /// The device that the target shares with `/`, where it lies on one. A file on the system disk is no such target, and
    /// neither is a loop device over one.
    pub fn system_disk(&self, target: StackNode) -> Option<StackNode> {
        self.beneath(target, false).intersection(&self.system).last().copied()
    }

    /// Whether output that is written to the filesystem on `place` disturbs the target.
    pub fn disturbs(&self, target: StackNode, place: StackNode) -> bool {
        !self.beneath(target, false).is_disjoint(&self.beneath(place, true))
    }

    /// The things that this one lies on directly.
    pub fn lower(&self, thing: StackNode) -> Vec<(StackNode, Layer)> {
        self.steps.iter().filter(|s| s.upper == thing).map(|s| (s.lower, s.layer)).collect()
    }

    /// The device on which all bytes of this one lie in their order, and the byte there at which it begins; none where they are spread, or lie on a
    /// file.
    pub fn linear_beneath(&self, device: DevNumber) -> Option<(DevNumber, Bytes)> {
        let mut below = self.steps.iter().filter(|s| s.upper == StackNode::Device(device));
        let step = below.next().filter(|step| step.layer != Layer::SameVolume)?;
        let ([piece], StackNode::Device(lower), None) = (step.pieces.as_slice(), step.lower, below.next())
        else {
            return None;
        };
        (piece.linear && piece.upper.from == 0).then_some((lower, Bytes(piece.lower.from)))
    }

    /// The things that lie directly on this one.
    pub fn upper(&self, thing: StackNode) -> Vec<(StackNode, Layer)> {
        let steps = self.steps.iter().filter(|s| s.lower == thing && s.layer != Layer::SameVolume);
        steps.map(|s| (s.upper, s.layer)).collect()
    }

    /// What is built on this device or on the disk that it is a partition of. That claims the device, so that nobody else can.
    pub fn built_on(&self, device: StackNode) -> impl Iterator<Item = StackNode> {
        let disks = self.lower(device).into_iter().filter(|(_, layer)| *layer == Layer::Partition);
        let claimed = disks.map(|(disk, _)| disk).chain([device]);
        let built = claimed.flat_map(|thing| self.upper(thing));
        built.filter(|(_, layer)| *layer == Layer::Built).map(|(upper, _)| upper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(minor: u32) -> StackNode {
        StackNode::Device(DevNumber { major: 7, minor })
    }

    fn edge(upper: u32, lower: u32, layer: Layer, pieces: &[Piece]) -> StackEdge {
        let (upper, lower) = (device(upper), device(lower));
        StackEdge { upper, lower, layer, pieces: pieces.to_vec(), exclusive: false }
    }

    /// Two halves of a device 3 that is built on 1 and 2: the partitions 4 and 5.
    fn halves(pieces: &[Piece]) -> Stack {
        let mut steps: Vec<StackEdge> = [1, 2].map(|lower| edge(3, lower, Layer::Built, pieces)).into();
        steps.push(edge(4, 3, Layer::Partition, &[Piece::linear(0, 0, 1000)]));
        steps.push(edge(5, 3, Layer::Partition, &[Piece::linear(0, 1000, 1000)]));
        Stack { steps, ..Stack::default() }
    }

    fn shares(stack: &Stack, one: u32, other: u32) -> bool {
        stack.sharing(device(one)).iter().any(|s| s.thing == device(other))
    }

    #[test]
    fn halves_of_a_mixing_device_share_nothing_unless_it_shows_bytes_twice() {
        let mixed = halves(&[Piece::ALL]);
        assert!(!shares(&mixed, 4, 5) && !shares(&mixed, 5, 4));
        assert!(shares(&mixed, 4, 3) && shares(&mixed, 4, 1) && shares(&mixed, 1, 5));
        let part = |upper| Piece { upper: Span::new(upper, 1000), lower: Span::new(0, 500), linear: false };
        assert!(shares(&halves(&[part(0), part(1000)]), 4, 5), "both halves lie on the same bytes");
        // Another view of a member may hold any byte of either half.
        let mut seen = halves(&[Piece::ALL]);
        seen.steps.push(edge(6, 1, Layer::Loop, &[Piece::linear(0, 0, 100)]));
        assert!(shares(&seen, 4, 6) && shares(&seen, 6, 5));
    }
}

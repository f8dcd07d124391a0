//! Other users of a file: loop devices, swap, other processes, other names.
//!
//! The kernel's own answer comes first: it grants a write lease on a file only when nobody else has the file open. That holds even for
//! processes that this one may not see. /proc then tells who they are. Nothing is written, and a lock or lease is given back at once.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, StatxAttributes, StatxFlags};
use serde::{Deserialize, Serialize};

use super::kernel_files::holds_settings;
use super::mounted_image::UsedBy;
use super::processes::{Wanted, openers};
use super::stack::{Layer, Relation, Stack};
use super::stack_node::{FileId, StackNode};
use super::{FileFacts, Opener, Root, Unseen, hidden_parts, ioctl};
use volproof_base::file_lock::is_locked;

/// The kernel closes the files of a killed process once it has taken its ring apart: some 50 ms after its end.
const CLOSED_WITHIN: Duration = Duration::from_millis(500);

/// Who uses a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileUse {
    /// Loop devices that show it as a disk.
    pub loops: Vec<String>,
    /// Where it is mounted as a filesystem image, without a loop device.
    #[serde(default)]
    pub mount_points: Vec<PathBuf>,
    /// The kernel swaps to it.
    pub swap: bool,
    /// How many names lead to it.
    pub names: u64,
    /// Whether nobody else has it open, as a write lease shows; absent where the kernel does not say.
    pub alone: Option<bool>,
    /// Other processes that have it open or mapped, as far as this one may look.
    pub openers: Vec<Opener>,
    /// Which processes do not show their open files, where the kernel's own answer does not cover them.
    #[serde(default)]
    pub unshown: Option<Unseen>,
    /// Why its bytes may be those of a file elsewhere, where neither a lease nor /proc shows who has that one open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_on: Option<String>,
    /// Somebody holds a lock or a lease on it.
    pub locked: bool,
    /// It is one through which the kernel or the firmware is set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub setting: bool,
    /// It has the attribute that forbids all changes.
    pub immutable: bool,
    /// It has the attribute that allows only to append.
    pub append_only: bool,
    /// Parts of the machine that could not be examined: the file may be in use there, as a disk or as swap.
    pub unseen: Vec<Unseen>,
    /// Attached loop devices that this user may not ask. [`loops`](Self::loops) has those whose path in sysfs leads to this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unasked_loops: Vec<String>,
}

impl FileUse {
    /// Looks for everyone who uses this file; `held` is the open file of our own, if there is one.
    pub fn read(root: &Root, facts: &FileFacts, held: Option<&File>) -> FileUse {
        let own = FileId { filesystem: facts.place.number, inode: facts.inode };
        let named = StackNode::File(own);
        let stack = root.stack();
        let target = stack.held(named, || Some(facts.place.path.clone()));
        let mut found = FileUse {
            loops: loops_over(stack, target).collect(),
            mount_points: stack.mount_points(target).map(Path::to_path_buf).collect(),
            swap: stack.swaps.contains(&target),
            names: 1,
            setting: root.is_system() && holds_settings(&facts.place.path),
            unseen: hidden_parts::hidden_parts(root),
            ..FileUse::default()
        };
        let place = &facts.place.path;
        // To open the file of an overlay opens that of its layer, which is therefore asked before.
        let layer = stack.layer_path(own, place).filter(|_| held.is_none());
        let layer_alone = layer.and_then(|layer| alone(root, &layer, target));
        found.unseen.extend(stack.may_be(target, place, facts.size_bytes).map(|name| {
            Unseen::by_root(format!(
                "whether {name} is this file cannot be seen: one of them is in an overlay whose layers are not visible here, or in a filesystem that passes on files of others"
            ))
        }));
        let mut opened = None;
        match held {
            Some(file) => found.ask(file),
            None => match quietly(root, place) {
                Ok(file) => {
                    found.ask(&file);
                    found.locked = is_locked(&file);
                    opened = Some(file);
                }
                Err(e) => found.locked = e.kind() == io::ErrorKind::WouldBlock,
            },
        }
        // A lease on a file of an overlay does not see who has the file of the layer open.
        if layer_alone == Some(false) {
            found.alone = layer_alone;
        }
        found.passed_on = stack.passed_on(own, place);
        if found.alone != Some(true) || target != named {
            found.unseen.extend(stack.unseen.iter().cloned());
            found.unasked_loops.clone_from(&stack.unasked_loops);
            let named = [(target, facts.place.path.display().to_string())];
            let openers = openers(root, &Wanted { things: &named });
            found.unshown = hidden_parts::hidden_processes(root).or_else(|| openers.unshown());
            found.unseen.extend(openers.unseen);
            found.openers = openers.seen;
        }
        if let Some(file) = opened.filter(|_| layer_alone != Some(false) && found.is_open_unseen()) {
            found.alone = alone_soon(&file);
        }
        if found.alone != Some(true) || found.passed_on.is_some() {
            let explained = found.alone == Some(true) || found.openers.iter().any(|opener| opener.writes);
            let used_by = if explained { UsedBy::Writers } else { UsedBy::Somebody };
            found.unseen.extend(stack.hidden_images(root, target, place, used_by));
        }
        found
    }

    /// Somebody has it open who is not seen: perhaps a process that was killed a moment ago.
    fn is_open_unseen(&self) -> bool {
        let used_by_kernel = self.swap || !self.loops.is_empty() || !self.mount_points.is_empty();
        self.alone == Some(false) && self.openers.is_empty() && !used_by_kernel
    }

    /// Asks the open file itself.
    fn ask(&mut self, file: &File) {
        self.alone = ioctl::opened_alone(file.as_fd()).ok();
        if let Ok(about) = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::NLINK) {
            self.names = about.stx_nlink.into();
            self.immutable = about.stx_attributes.contains(StatxAttributes::IMMUTABLE);
            self.append_only = about.stx_attributes.contains(StatxAttributes::APPEND);
        }
    }
}

/// Whether nobody has the file at this path open; none where it is another one, or the kernel does not say.
fn alone(root: &Root, path: &Path, file: StackNode) -> Option<bool> {
    let opened = quietly(root, path).ok()?;
    (StackNode::from_metadata(&opened.metadata().ok()?)? == file)
        .then(|| ioctl::opened_alone(opened.as_fd()).ok())?
}

/// Whether nobody has an open file open any more, as soon as a process that was killed has closed it.
fn alone_soon(file: &File) -> Option<bool> {
    let until = Instant::now() + CLOSED_WITHIN;
    loop {
        let alone = ioctl::opened_alone(file.as_fd()).ok()?;
        if alone || Instant::now() >= until {
            return Some(alone);
        }
        sleep(CLOSED_WITHIN / 100);
    }
}

/// Opens a file to ask it something. An open that breaks somebody's lease waits for it, unless it has `O_NONBLOCK`.
fn quietly(root: &Root, path: &Path) -> io::Result<File> {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    OpenOptions::new().read(true).custom_flags(flags).open(root.path(path))
}

/// Names of the loop devices that show a file.
fn loops_over(stack: &Stack, file: StackNode) -> impl Iterator<Item = String> {
    let above = stack.sharing(file).into_iter().filter(|s| s.relation == Relation::Above);
    above.filter(|s| s.layer == Some(Layer::Loop)).map(|s| stack.shown(s.thing).name)
}

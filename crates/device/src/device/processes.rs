//! Which processes have a device or file open, or map it into their memory.
//!
//! The open descriptor itself is examined, through `/proc/PID/fd`, and not the name that leads to it. So device nodes outside /dev, deleted
//! names and other mount namespaces make no difference. No filesystem is asked to refresh attributes (`AT_STATX_DONT_SYNC`), so that a
//! dead network mount cannot hang the search.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, makedev};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ioctl::same_files;
use super::overlay::may_be_same;
use super::stack_node::FileId;
use super::{DevNumber, Root, StackNode, Unseen, number_at, ring};
use volproof_base::own_process::number_in_proc;

/// A process that holds one of the things open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Opener {
    /// Its process id.
    pub pid: u32,
    /// Its name.
    pub command: String,
    /// Kernel name of the device, or path of the file.
    pub device: String,
    /// Whether it may write.
    pub writes: bool,
}

/// How often openers are looked for again: udev, blkid and losetup open every device in passing, the last for half a second
/// when several of it race for the same device.
const LOOKS: u32 = 6;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The begin of a socket's name in `/proc/PID/fd`.
const SOCKET: &[u8] = b"socket:";

/// Who has a thing open.
#[derive(Clone, Debug, Default)]
pub(super) struct Openers {
    /// The processes.
    pub(super) seen: Vec<Opener>,
    /// Processes that may have it open in a way that is not shown.
    pub(super) unseen: Vec<Unseen>,
    /// Processes whose open files the kernel refuses to show: number and name.
    refused: Vec<(u32, String)>,
    /// Rings of io_uring in tables of descriptors, by their inode.
    rings: BTreeSet<u64>,
    /// Rings in the memory of processes: the inode, and the process.
    mapped_rings: Vec<(u64, String)>,
}

impl Openers {
    fn none(&self) -> bool {
        self.seen.is_empty() && self.unseen.is_empty() && self.refused.is_empty()
    }

    /// That the kernel refuses to show the open files of some processes, with the way out. It asks for a right to the process (ptrace(2),
    /// `PTRACE_MODE_READ_FSCREDS`), which root lacks too where `CAP_SYS_PTRACE` was taken away, or a security module says no.
    pub(super) fn unshown(&self) -> Option<Unseen> {
        let (pid, command) = self.refused.first()?;
        let count = self.refused.len();
        let more = if count > 1 { format!(" and of {} more", count - 1) } else { String::new() };
        Some(Unseen::new(
            format!("open files of process {pid} ({command}){more} are not shown"),
            "run as root, with CAP_SYS_PTRACE, and in the user namespace of the host",
        ))
    }

    fn look(root: &Root, pids: &[String], wanted: &Wanted<'_>) -> Openers {
        let mut found = Openers::default();
        pids.iter().for_each(|pid| found.add_process(root, pid, wanted));
        let mut lost: Vec<&str> = Vec::new();
        for (ring, process) in &found.mapped_rings {
            if !found.rings.contains(ring) && !lost.contains(&process.as_str()) {
                lost.push(process);
            }
        }
        found.unseen.extend(lost.into_iter().map(|process| {
            let why = "whose descriptor it has closed: whether the target is among its files cannot be seen";
            Unseen::new(
                format!("{process} keeps a ring of io_uring in its memory, {why}"),
                format!("stop {process}, or check again once it has ended"),
            )
        }));
        found
    }

    fn add_process(&mut self, root: &Root, pid: &str, wanted: &Wanted<'_>) {
        let proc = Path::new("/proc").join(pid);
        let command = || root.text(proc.join("comm")).unwrap_or_default();
        let named = |thing: StackNode| wanted.named(thing);
        let name = |link: &Path| {
            let thing = thing_at(root, link)?;
            let held = root.stack().held(thing, || std::fs::read_link(link).ok());
            named(held).or_else(|| wanted.likeness(root, thing, link))
        };
        let process = || format!("process {pid} ({})", command());
        let mut seen: Vec<Opener> = Vec::new();
        let mut add = |device, writes| match seen.iter_mut().find(|o| o.device == device) {
            Some(known) => known.writes |= writes,
            None => {
                let pid = pid.parse().unwrap_or_default();
                seen.push(Opener { pid, command: command(), device, writes });
            }
        };
        let refused = |e: &io::Error| e.kind() == ErrorKind::PermissionDenied;
        let mut hides = std::fs::read(root.path(proc.join("maps"))).is_err_and(|e| refused(&e));
        for holder in descriptor_tables(root, &proc, pid) {
            let table = std::fs::read_dir(root.path(holder.join("fd")));
            hides |= table.as_ref().is_err_and(refused);
            for fd in table.into_iter().flatten().flatten().map(|entry| entry.file_name()) {
                let (link, info) = (holder.join("fd").join(&fd), holder.join("fdinfo").join(&fd));
                if let Some(device) = name(&link) {
                    if let Some(writes) = opened_for_writing(&root.text(&info).unwrap_or_default()) {
                        add(device, writes);
                    }
                    continue;
                }
                let to = std::fs::read_link(root.path(&link));
                if to.as_ref().is_err_and(refused) {
                    // The other links of this table are refused as well.
                    hides = true;
                    break;
                }
                let kind = to.unwrap_or_default();
                if kind.as_os_str().as_encoded_bytes().starts_with(SOCKET) {
                    let info = root.text(&info).unwrap_or_default();
                    self.unseen.extend(in_flight(&info).map(|count| {
                        let process = process();
                        let files = if count == 1 { "an open file" } else { &format!("{count} open files") };
                        Unseen::new(
                            format!(
                                "{files} on the way through a socket of {process} cannot be seen, nor whether the target is among them"
                            ),
                            format!("stop {process}, or check again once it has received them"),
                        )
                    }));
                } else if kind == Path::new(ring::LINK) {
                    let about = std::fs::metadata(root.path(&link)).ok();
                    self.rings.extend(about.map(|about| about.ino()));
                    let files = ring::files(root, &info);
                    let (things, lost) = ring::things(root, &proc, &files.paths);
                    // How a ring has its files open is not shown: it may write.
                    let held = |(thing, path): (StackNode, &PathBuf)| {
                        root.stack().held(thing, || Some(path.clone()))
                    };
                    things.into_iter().map(held).filter_map(named).for_each(|device| add(device, true));
                    self.unseen.extend(files.unseen.or(lost).map(|why| {
                        let process = process();
                        Unseen::new(
                            format!(
                                "{process} keeps files open in a ring of io_uring, and {why}: whether the target is among them cannot be seen"
                            ),
                            format!("stop {process}, or check again once it has ended"),
                        )
                    }));
                }
            }
        }
        let maps = maps(root, &proc);
        self.mapped_rings.extend(ring::mapped(&maps).map(|ring| (ring, process())));
        for (range, path) in mapped_ranges(&maps, wanted) {
            let link = proc.join("map_files").join(&range);
            // An ordinary user may not follow the links of ranges.
            if let Some(device) = name(&link).or_else(|| name(&path)) {
                // The link of a range bears the rights of its mapping (proc_pid_map_files(5)).
                let mode = std::fs::symlink_metadata(root.path(&link)).map_or(0o200, |l| l.mode());
                add(device, mode & 0o200 != 0);
            }
        }
        self.seen.extend(seen);
        // The first process starts the others and has no disk open; machines keep even root from looking into it.
        if let Some(pid) = pid.parse().ok().filter(|pid| hides && *pid != 1) {
            self.refused.push((pid, command()));
        }
    }
}

/// The things whose openers are looked for.
pub(super) struct Wanted<'a> {
    /// Each with the name by which it is shown.
    pub(super) things: &'a [(StackNode, String)],
}

impl Wanted<'_> {
    fn named(&self, thing: StackNode) -> Option<String> {
        self.things.iter().find(|(t, _)| *t == thing).map(|(_, name)| name.clone())
    }

    /// The name of a file that may be the one to which a link in /proc leads, where one of the two is of an overlay whose layers are not visible here.
    fn likeness(&self, root: &Root, thing: StackNode, link: &Path) -> Option<String> {
        let StackNode::File(file) = thing else { return None };
        if !root.is_system() {
            return None;
        }
        let files = self.things.iter().filter(|(thing, _)| matches!(thing, StackNode::File(_)));
        let mut files = files.peekable();
        if files.peek().is_none() || !root.stack().may_hide(file, &std::fs::read_link(link).ok()?) {
            return None;
        }
        let alike = |thing: &StackNode| {
            root.stack().place(*thing).and_then(|place| may_be_same(link, place)).unwrap_or(false)
        };
        files.find(|(thing, _)| alike(thing)).map(|(_, name)| name.clone())
    }
}

/// Other processes that have one of these open and keep it so, and those that have closed it and keep it in memory.
pub(super) fn openers(root: &Root, wanted: &Wanted<'_>) -> Openers {
    let own = number_in_proc().map_or(String::new(), |pid| pid.to_string());
    let pids: Vec<String> = root
        .names("/proc")
        .into_iter()
        .filter(|n| n.bytes().all(|b| b.is_ascii_digit()) && *n != own)
        .collect();
    let mut found = Openers::look(root, &pids, wanted);
    for _ in 0..LOOKS {
        if found.none() || !root.is_system() {
            break;
        }
        std::thread::sleep(BETWEEN_LOOKS);
        let pids: Vec<String> = if found.unseen.is_empty() {
            let again = found.seen.iter().map(|o| o.pid).chain(found.refused.iter().map(|(pid, _)| *pid));
            again.map(|pid| pid.to_string()).collect()
        } else {
            pids.clone()
        };
        let now = Openers::look(root, &pids, wanted);
        found.seen.retain(|o| now.seen.iter().any(|s| (s.pid, &s.device) == (o.pid, &o.device)));
        // A process is refused in passing too, between its start and its own program. What it shows then counts from there on.
        let shows =
            |o: &&Opener| found.refused.iter().any(|(pid, _)| *pid == o.pid) && !found.seen.contains(o);
        let shown: Vec<Opener> = now.seen.iter().filter(shows).cloned().collect();
        found.seen.extend(shown);
        found.refused.retain(|(pid, _)| now.refused.iter().any(|(still, _)| still == pid));
        found.unseen.retain(|why| now.unseen.contains(why));
    }
    found
}

/// The folders of a process, and of those of its threads that have a table of open files of their own: one that left the others' table
/// (unshare(2), `CLONE_FILES`), or any whose first thread has ended.
fn descriptor_tables(root: &Root, proc: &Path, pid: &str) -> Vec<PathBuf> {
    let own = |thread: &String| {
        let (Ok(first), Ok(thread)) = (pid.parse(), thread.parse()) else { return false };
        first != thread && !same_files(first, thread)
    };
    let threads = if root.is_system() { root.names(proc.join("task")) } else { Vec::new() };
    let own = threads.into_iter().filter(own).map(|thread| proc.join("task").join(thread));
    [proc.to_path_buf()].into_iter().chain(own).collect()
}

/// The memory of a process as the kernel lists it. A process whose first thread has ended shows it by the others alone.
fn maps(root: &Root, proc: &Path) -> String {
    let text = |of: PathBuf| root.text(of.join("maps")).filter(|text| !text.is_empty());
    let threads = || root.names(proc.join("task")).into_iter().map(|thread| proc.join("task").join(thread));
    text(proc.to_path_buf()).or_else(|| threads().find_map(text)).unwrap_or_default()
}

/// The ranges of a process's memory that may be of one of these, with the path of what is there (proc_pid_maps(5)): of a file, those with its inode;
/// of a device all that are shared, since they have the inode of one of its nodes, and so of a file of an overlay.
fn mapped_ranges(maps: &str, wanted: &Wanted<'_>) -> Vec<(String, PathBuf)> {
    let inode = |thing: &StackNode| match thing {
        StackNode::File(file) => Some(file.inode.to_string()),
        StackNode::Device(_) => None,
    };
    let inodes: Vec<String> = wanted.things.iter().filter_map(|(thing, _)| inode(thing)).collect();
    let any_shared = inodes.len() < wanted.things.len();
    let of_line = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (range, rights, of) = (words.next()?, words.next()?, words.nth(2)?);
        let path = PathBuf::from(words.next()?);
        let shared = any_shared && of != "0" && rights.ends_with('s');
        (shared || inodes.iter().any(|inode| inode == of)).then(|| (range.to_string(), path))
    };
    maps.lines().filter_map(of_line).collect()
}

/// The file or device to which a link in /proc leads.
fn thing_at(root: &Root, link: &Path) -> Option<StackNode> {
    if !root.is_system() {
        let to = root.link(link).filter(|to| to.starts_with("/dev"))?;
        return number_at(root, &to).map(StackNode::Device);
    }
    let asked = StatxFlags::TYPE | StatxFlags::INO;
    let about = rustix::fs::statx(CWD, link, AtFlags::STATX_DONT_SYNC, asked).ok()?;
    match FileType::from_raw_mode(about.stx_mode.into()) {
        FileType::BlockDevice => {
            let number = makedev(about.stx_rdev_major, about.stx_rdev_minor);
            Some(StackNode::Device(DevNumber::from_raw(number)))
        }
        FileType::RegularFile => {
            let filesystem = DevNumber::from_raw(makedev(about.stx_dev_major, about.stx_dev_minor));
            Some(StackNode::File(FileId { filesystem, inode: about.stx_ino }))
        }
        _ => None,
    }
}

/// How many open files somebody has sent to a socket (unix(7), `SCM_RIGHTS`) and nobody has received yet, as its fdinfo says since Linux 5.6: no
/// table of descriptors has them meanwhile.
fn in_flight(fdinfo: &str) -> Option<u32> {
    let count = fdinfo.lines().find_map(|line| line.strip_prefix("scm_fds:"))?;
    count.trim().parse().ok().filter(|count| *count > 0)
}

/// The `flags` of fdinfo are octal and hold the access mode in their two lowest bits (proc_pid_fdinfo(5)). None for a descriptor that only
/// names the file (`O_PATH`).
fn opened_for_writing(fdinfo: &str) -> Option<bool> {
    let flags = fdinfo.lines().find_map(|l| l.strip_prefix("flags:"));
    let Some(flags) = flags.and_then(|f| u32::from_str_radix(f.trim(), 8).ok()) else { return Some(true) };
    (flags & libc::O_PATH as u32 == 0).then_some(flags & 0o3 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_on_their_way_through_a_socket_are_counted() {
        assert_eq!(in_flight("pos:\t0\nflags:\t02\nscm_fds: 3\n"), Some(3));
        assert_eq!(in_flight("pos:\t0\nflags:\t02\nscm_fds: 0\n"), None);
        assert_eq!(in_flight("pos:\t0\nflags:\t02\n"), None);
    }

    #[test]
    fn access_mode_is_in_the_lowest_bits() {
        assert_eq!(opened_for_writing("pos:\t0\nflags:\t0100000\nmnt_id:\t9\n"), Some(false));
        assert_eq!(opened_for_writing("pos:\t0\nflags:\t0140002\n"), Some(true));
        assert_eq!(opened_for_writing("pos:\t0\nflags:\t01\n"), Some(true));
        assert_eq!(opened_for_writing("pos:\t0\nflags:\t012000000\n"), None, "O_PATH");
        assert_eq!(opened_for_writing(""), Some(true), "what cannot be read counts as writing");
    }
}

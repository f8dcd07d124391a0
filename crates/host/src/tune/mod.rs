//! Sets kernel settings for the length of a run, and puts them back.
//!
//! Every change is written down first: the `journal` is on disk before a knob is touched, so that a run that ends by error, panic, signal
//! or `kill -9` leaves enough behind for the next start of the program to put everything back. A value that somebody else changed meanwhile
//! is theirs and stays. Sysfs and procfs are found under a root path; nothing here prints, except a guard that cannot put a value back when
//! it is dropped.
//!
//! `iostats` is deliberately no knob: switching it off would blind the evidence that the device really did the I/O.

pub mod ab;
mod journal;
mod knob;
mod knob_file;
mod owner;
mod restore;
mod salvage;
mod store;
#[cfg(test)]
mod tests;
mod tuned;
mod waiting;

use std::io;
use std::path::{Path, PathBuf};

pub use journal::{EntryState, Journal, JournalEntry};
pub use knob::{KNOBS, Knob, RoomNeeded, Scope, Setting, Want, survey};
pub use owner::{Owner, started};
pub use restore::{Put, Restoration, RestoreOutcome, Which, holders, restore};
pub use tuned::{Applied, Attempt, Tuned, tune};
pub use waiting::{Waiting, holds_journals, waiting};

/// Where knobs and journals are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Below which /sys and /proc are found.
    pub root: PathBuf,
    /// The folder of journals and locks.
    pub journals: PathBuf,
}

impl Places {
    /// This machine. /run is emptied by a reboot, like the knobs themselves.
    pub fn system() -> Places {
        Places { root: "/".into(), journals: "/run/volproof".into() }
    }

    /// Whether the journals may end with the container that this process runs in: the processes have numbers of their own there, and the
    /// folder is not one that somebody mounted. The kernel's settings are those of the host, which would then have no journal of the
    /// changes.
    pub fn end_with_a_container(&self) -> bool {
        // The first namespace of processes has this number (PROC_PID_INIT_INO, linux/proc_ns.h).
        let host = Path::new("pid:[4026531836]");
        // Names of mounts are bytes: one name that is no UTF-8 must not hide the other mounts.
        let mounts = std::fs::read(self.knob("/proc/self/mountinfo")).unwrap_or_default();
        let journals = self.journals.as_os_str().as_encoded_bytes();
        let mut places = mounts.split(|b| *b == b'\n').filter_map(|mount| mount.split(|b| *b == b' ').nth(4));
        std::fs::read_link(self.knob("/proc/self/ns/pid")).is_ok_and(|own| own != host)
            && !places.any(|place| place == journals)
    }

    /// The file behind a knob's path.
    pub fn knob(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}

/// Why nothing was tuned. Whatever had been written by then has been put back.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// Another run holds the device.
    #[error("{disk} is in use by another volproof{}: wait for it, or test another device", who(*pid))]
    Busy {
        /// The disk.
        disk: String,
        /// Its process, where it left its number.
        pid: Option<u32>,
    },
    /// Journals or locks cannot be kept, so nothing may be changed.
    #[error("{path}: {why}{}; without a journal no knob is set or put back", way_out(why), path = path.display())]
    NoJournal {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system call.
        why: io::Error,
    },
    /// The journal folder could be written by others, who could then have root write for them.
    #[error("{path} belongs to user {uid} with mode {mode:o}: it must be ours and writable by nobody else; remove it", path = path.display())]
    Unsafe {
        /// The folder.
        path: PathBuf,
        /// Its owner.
        uid: u32,
        /// Its mode.
        mode: u32,
    },
    /// The journal failed after knobs had been set, and not all of them went back: that was printed.
    #[error("{0}; not all knobs are back: run `volproof restore` as root")]
    NotBack(Box<TuneError>),
}

/// The way to make a journal possible, where the error does not say it already.
fn way_out(why: &io::Error) -> &'static str {
    match why.kind() {
        io::ErrorKind::PermissionDenied if rustix::process::geteuid().is_root() => {
            " (even to root: give it the right to write there)"
        }
        io::ErrorKind::PermissionDenied => " (run as root)",
        io::ErrorKind::ReadOnlyFilesystem => " (mount it writable)",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => " (make room there)",
        _ => "",
    }
}

fn who(pid: Option<u32>) -> String {
    pid.map(|p| format!(" (process {p})")).unwrap_or_default()
}

//! A block device as it was seen at one moment, and the consent to overwrite it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use crate::device::{self, BlockFacts, Opinion, Root, Scan, StackNode, Unseen, Windows};

/// Consent, as far as it goes.
pub(super) enum Consent<'a> {
    /// Only looking: nothing is asked for yet.
    NotAsked { wanted: &'a str },
    /// A write is meant and nobody consented.
    Missing { wanted: &'a str },
    /// A string was given.
    Given { equal: bool, given: &'a str, wanted: &'a str },
}

/// A block device as it was seen at one moment.
pub(super) struct Examined {
    pub(super) facts: BlockFacts,
    /// Data in the device's first and last MiB; absent when they could not be read, or once the run itself has written there.
    pub(super) scan: Option<Scan>,
    /// Why the first and last MiB could not be read.
    pub(super) unreadable: Option<io::Error>,
    /// A digest of the first and last MiB.
    pub(super) digest: Option<u64>,
    pub(super) opinion: Opinion,
    /// The error number of an exclusive open.
    pub(super) claim_error: Option<i32>,
    /// Of a partition: devices that are built on its disk.
    pub(super) built_on: Vec<String>,
    /// Devices that share bytes with this device and that somebody claims.
    pub(super) claimed: Vec<String>,
    /// Devices that share bytes with this device and could not be opened.
    pub(super) unseen: Vec<Unseen>,
}

impl Examined {
    /// The names of the known formats in the data, empty where the data could not be read.
    pub(super) fn formats(&self) -> Vec<String> {
        self.scan.iter().flat_map(|scan| &scan.signatures).map(|signature| signature.name.clone()).collect()
    }

    /// Looks at a device; `held` is a descriptor that claims it already.
    pub(super) fn look(root: &Root, facts: BlockFacts, held: Option<&File>) -> Examined {
        let node = root.path(&facts.path);
        let open = |flags| OpenOptions::new().read(true).custom_flags(flags).open(&node);
        let mut claim_error = None;
        let opened = match held {
            Some(_) => None,
            None => match open(libc::O_EXCL | libc::O_CLOEXEC) {
                Ok(file) => Some(file),
                Err(e) => {
                    claim_error = e.raw_os_error();
                    open(libc::O_CLOEXEC).ok()
                }
            },
        };
        let (mut windows, mut unreadable) = (None, None);
        if let Some(file) = held.or(opened.as_ref()) {
            match Windows::read(file, facts.device.size_bytes) {
                Ok(read) => windows = Some(read),
                Err(e) => unreadable = Some(e),
            }
        }
        drop(opened);
        let (claimed, unseen) = device::claimed(root, &facts.usage);
        let stack = root.stack();
        let partition = facts.device.partition.map(|_| StackNode::Device(facts.device.number));
        let built = partition.into_iter().flat_map(|partition| stack.built_on(partition));
        let built_on = built.map(|upper| stack.shown(upper).name).collect();
        let opinion = if root.is_system() { Opinion::ask(&node) } else { Opinion::Absent };
        Examined {
            scan: windows.as_ref().map(Windows::scan),
            digest: windows.as_ref().map(Windows::digest),
            unreadable,
            opinion,
            claim_error,
            built_on,
            claimed,
            unseen,
            facts,
        }
    }
}

//! The guard: facts about a target in, findings or a [`Clearance`] out.
//!
//! Nothing in this program writes to a target without a Clearance, and only this module makes one. Consent to overwrite a block device is
//! the device's own name ([`Check::consent`]); there is no flag that works by habit and no environment variable. A device in use is refused
//! even with consent. Reads are always allowed, and opened read-only. This module writes nothing itself, except that it makes the new file
//! that a plan asks for.

mod advice;
mod clearance;
mod consent_string;
mod file_rules;
mod finding;
mod rules;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use advice::snapshot_command;
pub use clearance::{Access, Clearance, Displaced, clear};
pub use consent_string::consent;
pub use finding::{Code, GuardFinding, GuardSeverity};

use file_rules::Agreed;

use crate::device::{
    self, BlockFacts, DeviceError, Facts, FileUse, Opinion, Root, Scan, StackNode, Unseen, Windows,
};
use crate::nvme::log_reader::CountsSoFar;
use volproof_base::shell_word::shell_path;
use volproof_base::unit::Bytes;

/// The smallest test file.
const SMALLEST_FILE: Bytes = Bytes::mib(1);

/// Why there is no clearance.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The rules refuse the target; exit code 3.
    #[error("{}", refusal(.0))]
    Refused(Box<Check>),
    /// There is no target, or none that can be tested; exit code 2.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The system refused what the rules allow.
    #[error("cannot {what} {}: {source}{advice}", path.display())]
    Io {
        /// The operation that failed, as a verb.
        what: &'static str,
        /// The path of the operation.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
        /// The way out, with its own punctuation.
        advice: &'static str,
    },
}

impl GuardError {
    /// The first thing that speaks against the target, in one line.
    pub fn in_one_line(&self) -> String {
        match self {
            GuardError::Refused(check) => {
                match check.findings.iter().find(|f| f.severity > GuardSeverity::Note) {
                    Some(f) => format!("{} ({})", f.what, f.evidence),
                    None => self.to_string(),
                }
            }
            other => other.to_string(),
        }
    }

    /// Whether the system lets nobody open the target as it is. Otherwise the user's options are at fault.
    pub fn is_by_the_system(&self) -> bool {
        use io::ErrorKind::{InvalidInput, PermissionDenied, ReadOnlyFilesystem};
        match self {
            GuardError::Io { what: "make", source, .. } => {
                [PermissionDenied, ReadOnlyFilesystem].contains(&source.kind())
            }
            // An invalid argument is due to an option: direct I/O on a filesystem that has none.
            GuardError::Io { source, .. } => source.kind() != InvalidInput,
            _ => false,
        }
    }
}

/// The refusal in two lines per finding, for places that have no table. That a disk carries the running system decides alone.
fn refusal(check: &Check) -> String {
    let mut text = format!("refused to write to {}:", check.target.display());
    let against: Vec<_> = check.findings.iter().filter(|f| f.severity > GuardSeverity::Note).collect();
    let system = against.iter().position(|f| f.code == Code::SystemDisk);
    let told = system.map_or(&against[..], |at| &against[at..=at]);
    for f in told {
        text.push_str(&format!("\n  {}: {} ({})\n    {}", f.code.name(), f.what, f.evidence, f.advice));
    }
    let more = against.len() - told.len();
    if more > 0 {
        let others = if more == 1 { "1 more finding speaks" } else { &format!("{more} more findings speak") };
        text.push_str(&format!("\n  {others} against it: volproof check {}", shell_path(&check.target)));
    }
    if let Some(words) = check.how_to_consent() {
        text.push_str(&format!("\n{words}"));
    }
    text
}

/// The outcome of looking at a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The target as it was named.
    pub target: PathBuf,
    /// Whether a run may write.
    pub ready: bool,
    /// The string that consents to overwriting a block device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent: Option<String>,
    /// The bytes that a run that writes would overwrite; absent when it makes a new file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrites: Option<Overwrites>,
    /// Everything that speaks against a write or is worth knowing, the gravest first.
    pub findings: Vec<GuardFinding>,
    /// The provider's own command that takes a snapshot of this volume, where the provider is recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// Further steps to take before a write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<String>,
    /// Data seen in the first and last MiB of a block device; absent when it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Scan>,
    /// The data that `blkid` recognises on the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_opinion: Option<Opinion>,
    /// Who else uses the file; absent for anything but a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_use: Option<FileUse>,
    /// What the disk of AWS under the target has counted so far: for how long limits were exceeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<CountsSoFar>,
    /// Everything known about the target.
    pub facts: Facts,
}

impl Check {
    /// The consent string, where giving it would help: consent lifts everything that refuses the write.
    fn useful_consent(&self) -> Option<&str> {
        let mut refusals = self.findings.iter().filter(|f| f.severity == GuardSeverity::Refused);
        self.consent.as_deref().filter(|_| refusals.all(|f| f.code == Code::WrongConsent))
    }

    /// The option that consents to overwriting the device, as two lines of text; none where giving it would not help.
    pub fn how_to_consent(&self) -> Option<String> {
        let consent = self.useful_consent()?;
        Some(format!("Consent to overwrite this device, and no other:\n  --destroy '{consent}'"))
    }
}

/// The bytes that a run may write to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overwrites {
    /// The target with all links followed.
    pub path: PathBuf,
    /// The first byte.
    pub from_bytes: Bytes,
    /// One past the last byte.
    pub to_bytes: Bytes,
}

/// Consent, as far as it goes.
enum Consent<'a> {
    /// Only looking: nothing is asked for yet.
    NotAsked { wanted: &'a str },
    /// A write is meant and nobody consented.
    Missing { wanted: &'a str },
    /// A string was given.
    Given { equal: bool, given: &'a str, wanted: &'a str },
}

/// A block device as it was seen at one moment.
struct Examined {
    facts: BlockFacts,
    /// Data in the device's first and last MiB; absent when they could not be read, or once the run itself has written there.
    scan: Option<Scan>,
    /// Why the first and last MiB could not be read.
    unreadable: Option<io::Error>,
    /// A digest of the first and last MiB.
    digest: Option<u64>,
    opinion: Opinion,
    /// The error number of an exclusive open.
    claim_error: Option<i32>,
    /// Of a partition: devices that are built on its disk.
    built_on: Vec<String>,
    /// Devices that share bytes with this device and that somebody claims.
    claimed: Vec<String>,
    /// Devices that share bytes with this device and could not be opened.
    unseen: Vec<Unseen>,
}

impl Examined {
    /// The names of the known formats in the data, empty where the data could not be read.
    fn formats(&self) -> Vec<String> {
        self.scan.iter().flat_map(|scan| &scan.signatures).map(|signature| signature.name.clone()).collect()
    }

    /// Looks at a device; `held` is a descriptor that claims it already.
    fn look(root: &Root, facts: BlockFacts, held: Option<&File>) -> Examined {
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

/// Looks at a target and says whether a run may write to it, and what it would overwrite.
///
/// `destroy` is the consent, if any; `output` is where results will be written.
///
/// # Errors
/// Those of [`device::facts`]. What the guard refuses is no error: it stands in the [`Check`].
pub fn check(
    root: &Root,
    target: &Path,
    destroy: Option<&str>,
    output: Option<&Path>,
) -> Result<Check, DeviceError> {
    Ok(match device::facts(root, target)? {
        Facts::Block(facts) => {
            let seen = Examined::look(root, *facts, None);
            let wanted = consent(&seen.facts.device, &seen.facts.usage);
            let consent = match destroy {
                Some(given) => Consent::Given { equal: given == wanted, given, wanted: &wanted },
                None => Consent::NotAsked { wanted: &wanted },
            };
            check_block(root, target, seen, &consent, output)
        }
        Facts::File(facts) => {
            let used = FileUse::read(root, &facts, None);
            let findings = file_rules::file(&facts, &used, Agreed::No);
            let overwrites = Overwrites {
                path: facts.place.path.clone(),
                from_bytes: Bytes(0),
                to_bytes: facts.size_bytes,
            };
            let check = with_notes(root, outcome(target, Facts::File(facts), findings));
            Check { overwrites: Some(overwrites), file_use: Some(used), ..check }
        }
        Facts::Folder(place) => {
            let writable = rustix::fs::access(root.path(&place.path), rustix::fs::Access::WRITE_OK);
            let mut findings = file_rules::new_file(&place, writable.map_err(io::Error::from));
            findings.extend(file_rules::folder(&place, SMALLEST_FILE, place.holds_settings(root)));
            with_notes(root, outcome(target, Facts::Folder(place), findings))
        }
    })
}

/// Checks a file that another program is to overwrite, by the rules of [`Access::Overwrite`]; opens nothing for writing.
///
/// # Errors
/// The rules refuse it, or it is no file that can be looked at.
pub fn check_overwrite(root: &Root, target: &Path, shared: bool) -> Result<(), GuardError> {
    match device::facts(root, target)? {
        Facts::File(facts) => {
            let used = FileUse::read(root, &facts, None);
            let findings = file_rules::file(&facts, &used, Agreed::by(shared));
            clearance::refuse_unless_ready(outcome(target, Facts::File(facts), findings)).map(drop)
        }
        _ => Ok(()),
    }
}

/// Notes on the devices under a target.
fn beneath(root: &Root, facts: &Facts) -> Vec<GuardFinding> {
    facts.devices().into_iter().flat_map(|device| rules::beneath(root, device)).collect()
}

/// The same outcome with notes on the devices under a file or folder.
fn with_notes(root: &Root, mut check: Check) -> Check {
    check.findings.extend(beneath(root, &check.facts));
    check
}

fn outcome(target: &Path, facts: Facts, findings: Vec<GuardFinding>) -> Check {
    Check {
        target: target.to_path_buf(),
        ready: findings.iter().all(|f| f.severity == GuardSeverity::Note),
        consent: None,
        overwrites: None,
        findings,
        snapshot: None,
        advice: Vec::new(),
        data: None,
        second_opinion: None,
        file_use: None,
        counted: Vec::new(),
        facts,
    }
}

fn check_block(
    root: &Root,
    target: &Path,
    seen: Examined,
    consent: &Consent<'_>,
    output: Option<&Path>,
) -> Check {
    let device = &seen.facts.device;
    let output_disk = output.is_some_and(|o| device::shares_disk(root, device, o));
    let mut findings = rules::block(&seen, consent, output_disk);
    findings.extend(
        device::RoomBehind::read(root, device)
            .and_then(|behind| file_rules::no_room(behind.holes, behind.free)),
    );
    let wanted = match *consent {
        Consent::NotAsked { wanted } | Consent::Missing { wanted } | Consent::Given { wanted, .. } => wanted,
    };
    let (snapshot, advice) = if rules::is_test_device(device.driver) {
        (None, Vec::new())
    } else {
        let snapshot = advice::snapshot_command(root, device);
        let advice = advice::before_writing(device, snapshot.as_deref());
        (snapshot, advice)
    };
    let overwrites =
        Overwrites { path: seen.facts.path.clone(), from_bytes: Bytes(0), to_bytes: device.size_bytes };
    Check {
        consent: Some(wanted.to_string()),
        overwrites: Some(overwrites),
        snapshot,
        advice,
        data: seen.scan,
        second_opinion: Some(seen.opinion),
        ..outcome(target, Facts::Block(Box::new(seen.facts)), findings)
    }
}

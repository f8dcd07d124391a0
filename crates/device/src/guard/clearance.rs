//! A target that was checked and is held open.

mod displaced;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, OFlags, StatxFlags, fcntl_getfl, fcntl_setfl};

use super::file_rules::{self, Agreed};
use super::finding::{Code, GuardFinding};
use super::rules;
use super::target_check::beneath;
use super::{Check, Consent, Examined, GuardError, check_block, consent_string, outcome, with_notes};
use crate::device::{self, BlockFacts, DevNumber, Facts, FileUse, Root};
use crate::output::late::told_if_late;
use volproof_base::unit::Bytes;

pub use displaced::Displaced;

/// The use for which a target is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access<'a> {
    /// Reads, of a block device or an existing file.
    Read,
    /// Reads and writes of a new file with this name in the folder that is the target.
    Create {
        /// The file's name, without folders.
        name: &'a str,
        /// How much room the file will need.
        size: Bytes,
        /// The file's permission bits, before the umask.
        mode: u32,
    },
    /// Reads and writes of an existing file, whose owner agreed that its contents go.
    Overwrite {
        /// Allows the overwriting even where other processes have the file open, or where the file has another name.
        shared: bool,
    },
    /// Reads and writes of a block device, with the consent that was given, if any.
    Destroy(Option<&'a str>),
}

/// The proof that a target was checked, with the checked descriptor. All reads and writes go through this descriptor.
///
/// For a writable block device the descriptor claims it exclusively, so that nothing can mount it or build on it until the
/// Clearance is dropped.
#[derive(Debug)]
pub struct Clearance {
    file: File,
    root: Root,
    facts: Facts,
    notes: Vec<GuardFinding>,
    hold: Hold,
}

/// Whether the data of a block device may differ at the first write from those that were checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DataNow {
    AsChecked,
    MayChange,
}

/// The I/O that the descriptor allows.
#[derive(Debug)]
enum Hold {
    Read,
    Created,
    Overwrite {
        agreed: Agreed,
        confirmed: bool,
    },
    Destroy {
        digest: Option<u64>,
        /// The filesystems and other known formats that the consent covers.
        formats: Vec<String>,
        confirmed: bool,
    },
    /// The I/O that the first Clearance allows, which stays open for as long.
    Again(Arc<Clearance>),
}

/// Checks a target and opens it for this access; `direct` asks for `O_DIRECT`.
///
/// # Errors
/// The target cannot be read or opened, is of another kind than the access needs, or the guard refuses it.
pub fn clear(root: &Root, target: &Path, access: Access<'_>, direct: bool) -> Result<Clearance, GuardError> {
    let facts = device::facts(root, target)?;
    match (access, facts) {
        (Access::Read, facts @ (Facts::Block(_) | Facts::File(_))) => read(root, facts, direct),
        (Access::Create { name, size, mode }, Facts::Folder(place)) => {
            let findings = file_rules::folder(&place, size, place.holds_settings(root));
            let path = place.path.join(name);
            let check =
                refuse_unless_ready(with_notes(root, outcome(target, Facts::Folder(place), findings)))?;
            create(root, check, &path, (name, mode), direct)
        }
        (Access::Overwrite { shared }, Facts::File(facts)) => {
            let agreed = Agreed::by(shared);
            let used = FileUse::read(root, &facts, None);
            let findings = file_rules::file(&facts, &used, agreed);
            let check = refuse_unless_ready(with_notes(root, outcome(target, Facts::File(facts), findings)))?;
            overwrite(root, check, agreed, direct)
        }
        (Access::Destroy(given), Facts::Block(facts)) => destroy(root, target, *facts, given, direct),
        (access, facts) => {
            let is = match facts {
                Facts::Block(_) => "a block device",
                Facts::File(_) => "a file",
                Facts::Folder(_) => "a folder",
            };
            let wanted = match access {
                Access::Read => "a block device or a file",
                Access::Create { .. } => "a folder",
                Access::Overwrite { .. } => "a file",
                Access::Destroy(_) => "a block device",
            };
            let finding = rules::not_that_kind(target, is, wanted);
            Err(GuardError::Refused(Box::new(outcome(target, facts, vec![finding]))))
        }
    }
}

pub(super) fn refuse_unless_ready(check: Check) -> Result<Check, GuardError> {
    if check.ready { Ok(check) } else { Err(GuardError::Refused(Box::new(check))) }
}

/// Opens without following a link in the last place: all links were followed when the facts were read.
fn open(
    root: &Root,
    path: &Path,
    write: bool,
    create: Option<u32>,
    flags: i32,
    direct: bool,
) -> Result<File, GuardError> {
    let direct_flag = if direct { libc::O_DIRECT } else { 0 };
    let file = OpenOptions::new()
        .read(true)
        .write(write)
        .create_new(create.is_some())
        .mode(create.unwrap_or_default())
        .custom_flags(flags | direct_flag | libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(root.path(path))
        .map_err(|source| not_opened(path, create.is_some(), direct, source))?;
    if direct && answers_from_cache(&file) {
        if create.is_some() {
            let _ = std::fs::remove_file(root.path(path));
        }
        let refused = io::Error::from_raw_os_error(libc::EINVAL);
        return Err(not_opened(path, create.is_some(), direct, refused));
    }
    without_access_times(&file);
    Ok(file)
}

/// Whether the kernel accepts `O_DIRECT` and uses the page cache all the same, as ext4 does with `data=journal`.
fn answers_from_cache(file: &File) -> bool {
    let asked = StatxFlags::BASIC_STATS | StatxFlags::DIOALIGN;
    rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, asked).is_ok_and(|s| {
        StatxFlags::from_bits_retain(s.stx_mask).contains(StatxFlags::DIOALIGN)
            && s.stx_dio_offset_align == 0
            && file.metadata().is_ok_and(|about| about.is_file())
    })
}

fn not_opened(path: &Path, create: bool, direct: bool, source: io::Error) -> GuardError {
    GuardError::Io {
        what: if create { "make" } else { "open" },
        path: path.to_path_buf(),
        advice: match source.raw_os_error() {
            Some(libc::EINVAL) if direct => {
                "; this filesystem has no direct I/O here (nor has ext4 with data=journal): name a folder on another one, or ask for buffered I/O"
            }
            Some(libc::EEXIST) => "; choose another name or consent to overwrite it",
            // Root is not asked for rights: a rule about devices of its control group, or an attribute of the file, says no.
            Some(libc::EPERM) if rustix::process::geteuid().is_root() => {
                "; a container needs the device (podman run --device), an immutable file chattr -i"
            }
            Some(libc::EACCES | libc::EPERM) => "; run as root or as its owner",
            Some(libc::EBUSY) => "; someone has claimed it since it was checked",
            _ => "",
        },
        source,
    }
}

/// An update of the access time makes the kernel read the clock at each read: 130 instructions, 4 % of a read. O_NOATIME avoids that; only
/// the owner of the file may set it.
fn without_access_times(file: &File) {
    let _ = fcntl_getfl(file).and_then(|flags| fcntl_setfl(file, flags | OFlags::NOATIME));
}

fn read(root: &Root, facts: Facts, direct: bool) -> Result<Clearance, GuardError> {
    let file = open(root, facts.path(), false, None, 0, direct)?;
    let notes = beneath(root, &facts);
    let clearance = Clearance { file, root: root.clone(), facts, notes, hold: Hold::Read };
    clearance.same_target()?;
    Ok(clearance)
}

fn create(
    root: &Root,
    check: Check,
    path: &Path,
    (name, mode): (&str, u32),
    direct: bool,
) -> Result<Clearance, GuardError> {
    if name.is_empty() || path.file_name().is_none_or(|n| n != name) {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "a file name without folders is needed");
        return Err(GuardError::Io { what: "make", path: path.to_path_buf(), source, advice: "" });
    }
    let file = told_if_late(path, |_| open(root, path, true, Some(mode), 0, direct))?;
    let facts = device::facts(root, path).inspect_err(|_| {
        let _ = std::fs::remove_file(root.path(path));
    })?;
    let clearance = Clearance { file, root: root.clone(), facts, notes: check.findings, hold: Hold::Created };
    clearance.same_target().inspect_err(|_| {
        let _ = clearance.remove_created();
    })?;
    Ok(clearance)
}

fn overwrite(root: &Root, check: Check, agreed: Agreed, direct: bool) -> Result<Clearance, GuardError> {
    let file = open(root, check.facts.path(), true, None, 0, direct)?;
    let hold = Hold::Overwrite { agreed, confirmed: false };
    let clearance = Clearance { file, root: root.clone(), facts: check.facts, notes: check.findings, hold };
    clearance.same_target()?;
    Ok(clearance)
}

fn destroy(
    root: &Root,
    target: &Path,
    facts: BlockFacts,
    given: Option<&str>,
    direct: bool,
) -> Result<Clearance, GuardError> {
    let seen = Examined::look(root, facts, None);
    let wanted = consent_string::consent(&seen.facts.device, &seen.facts.usage);
    let consent = match given {
        Some(given) => Consent::Given { equal: given == wanted, given, wanted: &wanted },
        None => Consent::Missing { wanted: &wanted },
    };
    let (digest, formats) = (seen.digest, seen.formats());
    let check = refuse_unless_ready(check_block(root, target, seen, &consent, None))?;
    let file = open(root, check.facts.path(), true, None, libc::O_EXCL, direct)?;
    let hold = Hold::Destroy { digest, formats, confirmed: false };
    let clearance = Clearance { file, root: root.clone(), facts: check.facts, notes: check.findings, hold };
    // Nothing held the device between the look and the open. So `confirm` looks again before the first write, while this descriptor holds
    // the device.
    clearance.same_target()?;
    Ok(clearance)
}

impl Clearance {
    /// Whether writes are allowed: cleared for them, and confirmed.
    pub fn may_write(&self) -> bool {
        match &self.hold {
            Hold::Read => false,
            Hold::Created => true,
            Hold::Overwrite { confirmed, .. } | Hold::Destroy { confirmed, .. } => *confirmed,
            Hold::Again(first) => first.may_write(),
        }
    }

    /// Whether the descriptor bypasses the page cache.
    pub fn is_direct(&self) -> bool {
        rustix::fs::fcntl_getfl(&self.file).is_ok_and(|flags| flags.contains(OFlags::DIRECT))
    }

    /// Opens the same device or file once more, with or without `O_DIRECT`: steps that run together may differ in that, and an open
    /// file has only one mode. The new descriptor comes from the checked one and not from the name, so nothing can have taken the
    /// target's place. The new Clearance allows what the first one allows, and it keeps the first one's claim on a device.
    ///
    /// # Errors
    /// The target cannot be opened again, or is not the one that was checked.
    pub fn again(self: &Arc<Clearance>, direct: bool) -> Result<Clearance, GuardError> {
        let write = !matches!(self.hold, Hold::Read);
        let file = OpenOptions::new()
            .read(true)
            .write(write)
            .custom_flags(libc::O_CLOEXEC | if direct { libc::O_DIRECT } else { 0 })
            .open(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
            .map_err(|source| not_opened(self.path(), false, direct, source))?;
        without_access_times(&file);
        let (root, facts) = (self.root.clone(), self.facts.clone());
        let again = Clearance { file, root, facts, notes: Vec::new(), hold: Hold::Again(self.clone()) };
        again.same_target()?;
        Ok(again)
    }

    /// Whether the target is a block device.
    pub fn is_block(&self) -> bool {
        matches!(self.facts, Facts::Block(_))
    }

    /// The target with all links followed.
    pub fn path(&self) -> &Path {
        self.facts.path()
    }

    /// Whether facts are those of the cleared file or device, and not of another one that has taken its name since.
    pub fn is_of(&self, facts: &Facts) -> bool {
        self.changes(facts).is_ok_and(|changes| changes.is_empty())
    }

    /// Facts about the target when it was cleared.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Findings that did not refuse the target.
    pub fn notes(&self) -> &[GuardFinding] {
        &self.notes
    }

    /// Looks again, immediately before the first write, and refuses a target that changed since it was cleared. Later calls
    /// look at everything but the data, which by then is our own.
    ///
    /// # Errors
    /// The target changed, or came into use.
    pub fn confirm(&mut self) -> Result<(), GuardError> {
        self.confirm_as(DataNow::AsChecked)
    }

    /// Looks again as [`Clearance::confirm`] does, at a volume that other machines of the same fleet fill at the same time: its content may
    /// have changed, but a filesystem, a partition table or another known format that was not there before refuses it.
    ///
    /// # Errors
    /// The target changed in anything but its content, came into use, or bears another format now.
    pub fn confirm_while_others_write(&mut self) -> Result<(), GuardError> {
        self.confirm_as(DataNow::MayChange)
    }

    fn confirm_as(&mut self, data: DataNow) -> Result<(), GuardError> {
        self.look_again(data)?;
        if let Hold::Overwrite { confirmed, .. } | Hold::Destroy { confirmed, .. } = &mut self.hold {
            *confirmed = true;
        }
        Ok(())
    }

    /// Looks again before a later write to a confirmed file, since a file is not claimed as a device is: in the pause of a run somebody may
    /// have attached it as a disk, swapped to it or opened it. The kernel's lease is no evidence any more, as the run itself may have the
    /// file open twice; `ours_running` says that a program of ours has it open too.
    ///
    /// # Errors
    /// It is in use now, and the consent does not cover that.
    pub fn still_free(&self, ours_running: bool) -> Result<(), GuardError> {
        let (agreed, facts) = match (&self.hold, &self.facts) {
            (Hold::Again(first), _) => return first.still_free(ours_running),
            (Hold::Overwrite { agreed, .. }, Facts::File(facts)) => (*agreed, facts),
            _ => return Ok(()),
        };
        let mut used = FileUse::read(&self.root.anew(), facts, Some(&self.file));
        used.alone = Some(true);
        used.unseen.clear();
        used.unshown = None;
        if ours_running {
            used.openers.clear();
        }
        let findings = file_rules::file(facts, &used, agreed);
        refuse_unless_ready(outcome(self.path(), self.facts.clone(), findings)).map(drop)
    }

    fn look_again(&mut self, data: DataNow) -> Result<(), GuardError> {
        self.root = self.root.anew();
        self.same_target()?;
        match (&self.hold, &self.facts) {
            (Hold::Destroy { digest, formats, confirmed }, Facts::Block(before)) => {
                let now = match device::facts(&self.root, &before.path)? {
                    Facts::Block(now) => now,
                    other => {
                        return Err(self.changed(other, vec!["it is no block device any more".to_string()]));
                    }
                };
                let mut changes = device::changes(&before.device, &now.device);
                let wanted = consent_string::consent(&before.device, &before.usage);
                let mut seen = Examined::look(&self.root, *now, Some(&self.file));
                if !confirmed && data == DataNow::AsChecked && (seen.digest != *digest || digest.is_none()) {
                    changes.push("the data in its first or last MiB is not what it was".to_string());
                }
                if !confirmed && data == DataNow::MayChange {
                    let new = seen.formats().into_iter().filter(|format| !formats.contains(format));
                    changes.extend(new.map(|format| format!("it bears {format} now, and did not before")));
                }
                if *confirmed {
                    // The data on the device is now what this run wrote.
                    seen.scan = None;
                }
                let consent = Consent::Given { equal: true, given: &wanted, wanted: &wanted };
                let check = refuse_unless_ready(check_block(&self.root, &before.path, seen, &consent, None))?;
                if changes.is_empty() { Ok(()) } else { Err(self.changed(check.facts, changes)) }
            }
            (Hold::Overwrite { agreed, .. }, Facts::File(before)) => {
                let Facts::File(now) = device::facts(&self.root, &before.place.path)? else {
                    return Err(self.changed(self.facts.clone(), vec!["it is no file any more".to_string()]));
                };
                let changes = self.changes(&Facts::File(now.clone()))?;
                if !changes.is_empty() {
                    return Err(self.changed(Facts::File(now), changes));
                }
                let used = FileUse::read(&self.root, &now, Some(&self.file));
                let findings = file_rules::file(&now, &used, *agreed);
                refuse_unless_ready(outcome(&before.place.path, Facts::File(now), findings)).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Refuses a target whose descriptor is not of the device or file that was checked.
    fn same_target(&self) -> Result<(), GuardError> {
        let changes = self.changes(&self.facts)?;
        if changes.is_empty() { Ok(()) } else { Err(self.changed(self.facts.clone(), changes)) }
    }

    /// The differences between these facts and the device or file behind the descriptor, in words.
    fn changes(&self, facts: &Facts) -> Result<Vec<String>, GuardError> {
        let path = self.path().to_path_buf();
        let failed = |source| GuardError::Io { what: "look at", path: path.clone(), source, advice: "" };
        let stat = self.file.metadata().map_err(failed)?;
        let mut changes = Vec::new();
        match facts {
            Facts::Block(b) if self.root.is_system() => {
                if !stat.file_type().is_block_device() || DevNumber::from_raw(stat.rdev()) != b.device.number
                {
                    changes.push(format!("its node is not device {} any more", b.device.number));
                } else {
                    let size = device::block_size(self.file.as_fd()).map_err(failed)?;
                    if size != b.device.size_bytes {
                        changes.push(format!("its size was {} and is {size}", b.device.size_bytes));
                    }
                    // Older kernels have no such number; there the serial is compared alone.
                    let sequence = device::disk_sequence(self.file.as_fd()).ok();
                    if sequence.is_some() && b.device.diskseq.is_some() && sequence != b.device.diskseq {
                        changes.push("another disk has taken its name".to_string());
                    }
                }
            }
            Facts::File(f) => {
                let same = stat.is_file()
                    && (DevNumber::from_raw(stat.dev()), stat.ino()) == (f.place.number, f.inode);
                if !same {
                    changes.push("another file has taken its name".to_string());
                }
            }
            Facts::Folder(_) => changes.push("a folder has taken its name".to_string()),
            // A captured tree of /sys has no devices to open.
            Facts::Block(_) => {}
        }
        Ok(changes)
    }

    fn changed(&self, facts: Facts, changes: Vec<String>) -> GuardError {
        let findings = changes.into_iter().map(|evidence| {
            GuardFinding::refused(
                Code::Changed,
                "the target changed after it was checked",
                evidence,
                "Check it again, and see who else works on it.",
            )
        });
        GuardError::Refused(Box::new(outcome(self.path(), facts, findings.collect())))
    }
}

impl AsFd for Clearance {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

//! The rules of files and folders: facts in, findings out. Pure functions: the caller reads the facts.

use std::io;

use super::finding::{Code, GuardFinding, GuardSeverity};
use super::rules::{not_that_kind, unseen};
use crate::device::{FileFacts, FilePlace, FileUse, Unseen};
use volproof_base::shell_word::shell_path;
use volproof_base::unit::Bytes;

/// How far the owner of a file agreed to its contents being written over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Agreed {
    /// Nobody was asked yet.
    No,
    /// If nobody else uses it.
    Alone,
    /// Also where other processes have it open or locked, and where it has other names.
    Shared,
}

impl Agreed {
    /// With `--overwrite`, or `--overwrite=shared`.
    pub(super) fn by(shared: bool) -> Agreed {
        if shared { Agreed::Shared } else { Agreed::Alone }
    }
}

/// Whether an existing file may be written over.
pub(super) fn file(facts: &FileFacts, used: &FileUse, agreed: Agreed) -> Vec<GuardFinding> {
    let path = shell_path(&facts.place.path);
    let mut found = Vec::new();
    if used.setting {
        found.push(not_that_kind(
            &facts.place.path,
            "a setting of the kernel",
            "a file of a disk or a device",
        ));
    }
    if used.swap {
        found.push(GuardFinding::refused(
            Code::SwapFile,
            "the file is swapped to",
            "/proc/swaps lists it",
            format!("Stop it first: swapoff {path}"),
        ));
    }
    for name in &used.loops {
        found.push(GuardFinding::refused(
            Code::LoopFile,
            format!("the file is the disk behind {name}"),
            format!("{name} gives its device number and inode"),
            format!("Detach it first: losetup -d /dev/{name}"),
        ));
    }
    for at in &used.mount_points {
        found.push(GuardFinding::refused(
            Code::Mounted,
            format!("the file is a filesystem image that is mounted on {}", at.display()),
            "mountinfo names it as the source",
            format!("Unmount it first: umount {}", shell_path(at)),
        ));
    }
    for (set, flag, what) in
        [(used.immutable, 'i', "may not be changed"), (used.append_only, 'a', "may only grow")]
    {
        if set {
            found.push(GuardFinding::refused(
                Code::Immutable,
                format!("the file {what}"),
                format!("lsattr shows its attribute {flag}"),
                format!("Take the attribute off first: chattr -{flag} {path}"),
            ));
        }
    }
    found.extend(used.unseen.iter().map(unseen));
    found.extend(other_users(used, agreed));
    if facts.size_bytes > Bytes(0) {
        let severity = if agreed == Agreed::No { GuardSeverity::NeedsConsent } else { GuardSeverity::Note };
        found.push(GuardFinding::new(
            severity,
            Code::Exists,
            "the file's contents would be lost",
            format!("{path} exists and holds {}", facts.size_bytes),
            "Name a folder, in which a new file is made, or consent to overwrite this one.",
        ));
    }
    let holes = facts.extents.map_or(Bytes(0), |extents| extents.hole_bytes);
    found.extend(no_room(holes, facts.place.free_bytes));
    found.sort_by_key(|f| std::cmp::Reverse(f.severity));
    found
}

/// A note on holes that cannot all be filled, in a file or in the file behind a loop device.
pub(super) fn no_room(holes: Bytes, free: Bytes) -> Option<GuardFinding> {
    (holes > free).then(|| {
        GuardFinding::new(
            GuardSeverity::Note,
            Code::NoSpace,
            "the filesystem has no room for the holes of the file",
            format!("they take {holes} once they are written, {free} are free"),
            "Write less of it (--size), or free some space.",
        )
    })
}

/// Other users of the file, who would lose its contents.
fn other_users(used: &FileUse, agreed: Agreed) -> Vec<GuardFinding> {
    let severity = if agreed == Agreed::Shared { GuardSeverity::Note } else { GuardSeverity::NeedsConsent };
    let advice = |first: &str| format!("{first}, or consent with --overwrite=shared if that is meant.");
    let mut found = Vec::new();
    for o in &used.openers {
        found.push(GuardFinding::new(
            severity,
            Code::OpenElsewhere,
            format!("the file is open in {}, process {}", o.command, o.pid),
            format!("/proc/{0}/fd or /proc/{0}/map_files lists it", o.pid),
            advice(&format!("Stop process {} first", o.pid)),
        ));
    }
    let attached = !used.loops.is_empty() || !used.mount_points.is_empty();
    let explained = used.swap || attached || !used.openers.is_empty();
    let unshown = used.unshown.as_ref().map(Unseen::to_string);
    let unshown = unshown.as_deref();
    if (used.alone != Some(true) && !explained) || (used.alone == Some(true) && unshown.is_some()) {
        let (what, evidence) = match (used.alone, unshown) {
            (Some(false), _) => ("the file is open elsewhere", "the kernel gives no lease on it"),
            (_, Some(unshown)) => ("it cannot be seen whether the file is open elsewhere", unshown),
            (_, None) => ("it cannot be seen whether the file is open elsewhere", "there are no leases here"),
        };
        found.push(GuardFinding::new(
            severity,
            Code::OpenElsewhere,
            what,
            evidence,
            advice("Look who has it (fuser, as root)"),
        ));
    }
    if used.alone == Some(false) && !explained && !used.unasked_loops.is_empty() {
        // What holds the file is no process that shows itself: most likely the kernel, with the file as a disk.
        found.push(GuardFinding::refused(
            Code::Unseen,
            format!("the file is in use, and may be the disk behind a loop device ({})", used.unasked_loops.join(", ")),
            "the kernel gives no lease on it, no process is seen that has it open, and this user may not ask the loop devices",
            "Look as root (losetup -l) and detach it first.".to_string(),
        ));
    } else if !used.unasked_loops.is_empty() {
        let names = used.unasked_loops.join(", ");
        found.push(GuardFinding::new(
            severity,
            Code::Unseen,
            format!("whether the file is the disk behind a loop device is known by paths alone ({names})"),
            "this user may not ask them, and in another mount namespace their paths may lead elsewhere",
            advice("Look as root (losetup -l)"),
        ));
    }
    if let Some(why) = &used.passed_on {
        found.push(GuardFinding::new(
            severity,
            Code::PassedOn,
            "the file may be another one, which others may have open",
            why,
            advice("Name the file itself"),
        ));
    }
    if used.locked {
        found.push(GuardFinding::new(
            severity,
            Code::Locked,
            "somebody has locked the file",
            "a lock or lease on it is held",
            advice("Wait for it (lslocks shows who has it)"),
        ));
    }
    if used.names > 1 {
        found.push(GuardFinding::new(
            severity,
            Code::OtherNames,
            format!("the file has {} names: under each its contents would be lost", used.names),
            "its link count says so",
            advice("Write to a copy instead"),
        ));
    }
    found
}

/// Whether a file made in a folder would show a disk; `writable` is the kernel's answer for this user.
pub(super) fn new_file(place: &FilePlace, writable: io::Result<()>) -> Vec<GuardFinding> {
    let path = place.path.display();
    let refused = writable.err().map(|error| {
        GuardFinding::refused(
            Code::NoPermission,
            "no file can be made here",
            format!("writing to {path} fails: {error}"),
            "Name a folder that you may write to.",
        )
    });
    let memory = place.is_memory().then(|| {
        GuardFinding::new(
            GuardSeverity::Note,
            Code::InMemory,
            "a file here lies in memory",
            format!("{path} is on {}", place.filesystem.as_deref().unwrap_or_default()),
            "Name a folder on the volume: this one shows no disk.",
        )
    });
    refused.into_iter().chain(memory).collect()
}

/// Whether a file of this size can be made in a folder; `settings` says that its files are settings of the kernel.
pub(super) fn folder(place: &FilePlace, size: Bytes, settings: bool) -> Vec<GuardFinding> {
    if settings {
        return vec![not_that_kind(&place.path, "a folder of the kernel's settings", "a folder on a disk")];
    }
    if size <= place.free_bytes {
        return Vec::new();
    }
    vec![GuardFinding::refused(
        Code::NoSpace,
        "the file does not fit",
        format!("{} are asked for, {} are free on {}", size, place.free_bytes, place.path.display()),
        "Choose a smaller size, or another filesystem.",
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_cannot_be_seen_is_told_whole() {
        let what = "process 7 (db) keeps files open in a ring of io_uring: it cannot be seen".to_string();
        let told = unseen(&Unseen { what: what.clone(), advice: "stop process 7 (db): it is idle".into() });
        assert_eq!((told.what, told.advice.as_str()), (what, "Stop process 7 (db): it is idle."));
    }

    /// A lease of an overlay says nothing of who has the file of its layer open.
    #[test]
    fn processes_that_cannot_be_looked_at_need_consent() {
        let unshown = Some(Unseen::from("open files of process 7 (db) are not shown".to_string()));
        let used = |unshown| FileUse { alone: Some(true), names: 1, unshown, ..FileUse::default() };
        assert_eq!(other_users(&used(None), Agreed::Alone), []);
        for (agreed, severity) in
            [(Agreed::Alone, GuardSeverity::NeedsConsent), (Agreed::Shared, GuardSeverity::Note)]
        {
            let found = other_users(&used(unshown.clone()), agreed);
            let [one] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!((one.severity, one.code), (severity, Code::OpenElsewhere));
            assert!(one.evidence.contains("process 7 (db)"), "{one:?}");
        }
    }
}

//! The rules of devices: facts in, findings out. Pure functions: the caller reads the facts.

use std::path::Path;

use super::finding::{Code, GuardFinding, GuardSeverity};
use super::{Consent, Examined};
use crate::device::{Block, Driver, Layer, Opener, Relation, Relative, Root, StackNode, Unseen, Usage};
use volproof_base::shell_word::{shell, shell_path};
use volproof_base::unit::Bytes;

/// Everything that speaks for or against writing to a block device, the gravest first.
pub(super) fn block(seen: &Examined, consent: &Consent<'_>, output_disk: bool) -> Vec<GuardFinding> {
    let (device, usage) = (&seen.facts.device, &seen.facts.usage);
    let mut found = use_of(device, usage);
    // The error of the exclusive open, told only where nothing above explains it.
    if let Some(error) = seen.claim_error {
        let unexplained = !found.iter().any(|f| f.severity == GuardSeverity::Refused);
        found.extend(claim(error, unexplained, &seen.built_on));
    }
    let silent = !found.iter().any(|f| f.severity == GuardSeverity::Refused);
    found.extend(seen.claimed.iter().filter(|_| silent).map(|name| {
        GuardFinding::refused(
            Code::Claimed,
            format!("someone has claimed {}", called(usage, name)),
            "opening it exclusively fails",
            "Find who holds it (fuser, lsblk, zpool status) and release it.",
        )
    }));
    found.extend(usage.unseen.iter().chain(&seen.unseen).map(unseen));
    if device.read_only {
        found.push(GuardFinding::refused(
            Code::ReadOnly,
            format!("{} is read-only", device.name),
            format!("/sys/class/block/{}/ro is 1", device.name),
            "Attach it for writing, or test reads only.",
        ));
    }
    if device.size_bytes == Bytes(0) {
        found.push(GuardFinding::refused(
            Code::NoMedium,
            format!("{} has no medium", device.name),
            "its size is 0",
            "Insert a medium, or set the device up first.",
        ));
    }
    let hopeless = found.iter().any(|f| f.severity == GuardSeverity::Refused);
    found.extend(data(seen, consent, hopeless));
    match consent {
        Consent::Given { equal: false, given, wanted } => found.push(GuardFinding::refused(
            Code::WrongConsent,
            "the consent names another device",
            format!("--destroy '{given}' was given, this device is '{wanted}'"),
            "Check that this is the device you mean.",
        )),
        // A consent that would not help is not asked for.
        Consent::Missing { .. } if !hopeless => found.push(GuardFinding::new(
            GuardSeverity::NeedsConsent,
            Code::NoConsent,
            "writing to a block device needs its owner's consent",
            "no --destroy was given",
            "If all its data may go, consent with --destroy as given below.",
        )),
        _ => {}
    }
    found.extend(notes(device, usage, output_disk));
    found.sort_by_key(|f| std::cmp::Reverse(f.severity));
    found
}

/// The advice where a system runs from the device.
const SEPARATE: &str = "A system runs from it: test a separate volume, or a file on it.";

/// Use of the device, which no consent overrules.
fn use_of(device: &Block, usage: &Usage) -> Vec<GuardFinding> {
    let mut found = Vec::new();
    if usage.system_disk {
        found.push(GuardFinding::refused(
            Code::SystemDisk,
            format!("{} is on the system disk", device.name),
            format!("{} carries the mount of /", disks(device)),
            "No option overrules this: attach a separate volume and test that.",
        ));
    }
    for m in &usage.mounts {
        let place = m.mount.mount_point.display();
        let by = match &m.mount.seen_by {
            Some(process) => format!(", in the mount namespace of process {process}"),
            None => String::new(),
        };
        found.push(GuardFinding::refused(
            Code::Mounted,
            format!("{} is mounted", called(usage, &m.device)),
            format!("{} on {place}{by}", m.mount.filesystem),
            if m.mount.mount_point == Path::new("/") {
                SEPARATE.into()
            } else {
                format!("Unmount it (umount {}), or test a file on it.", shell_path(&m.mount.mount_point))
            },
        ));
    }
    for area in &usage.swaps {
        // A file is known by its path, a device by the kernel's name.
        let path = Path::new("/dev").join(area);
        found.push(GuardFinding::refused(
            Code::Swap,
            format!("{} is swapped to", called(usage, area)),
            "/proc/swaps lists it",
            format!("Stop it first: swapoff {}", shell_path(&path)),
        ));
    }
    for holder in usage.holders() {
        let label = holder.label.as_deref().map(|l| format!(" ({l})")).unwrap_or_default();
        let evidence = match holder.layer {
            Some(Layer::Loop) => format!("{} shows its bytes", holder.node.name),
            _ => format!("/sys/class/block/{}/holders says so", holder.through),
        };
        found.push(GuardFinding::refused(
            Code::Held,
            format!("{} is in use by {}{label}", called(usage, &holder.through), holder.node.name),
            evidence,
            release(holder),
        ));
    }
    for device in &usage.pools {
        found.push(GuardFinding::refused(
            Code::PoolMember,
            format!("{} is a member of a running pool", called(usage, device)),
            "/sys/fs/btrfs or its bcache folder lists it",
            "Unmount or stop the pool first.",
        ));
    }
    found.extend(usage.openers.iter().map(|o| opener(usage, o)));
    // The advice is never to unmount, deactivate or stop what a running system stands on.
    let rest = found.iter_mut().filter(|f| usage.system_disk && f.code != Code::SystemDisk);
    rest.for_each(|finding| finding.advice = SEPARATE.into());
    found
}

/// Someone holds it open: a raw database does so without claiming the device.
fn opener(usage: &Usage, o: &Opener) -> GuardFinding {
    let (severity, code, how) = if o.writes {
        (GuardSeverity::Refused, Code::OpenForWriting, "writing")
    } else {
        (GuardSeverity::Note, Code::OpenForReading, "reading")
    };
    GuardFinding::new(
        severity,
        code,
        format!("{} is open for {how} by {}", called(usage, &o.device), o.command),
        format!("/proc/{0}/fd or /proc/{0}/map_files lists it", o.pid),
        format!("Stop process {} first.", o.pid),
    )
}

/// An exclusive open failed. What is built on the disk of a partition explains that, though it may lie on other bytes of the disk.
fn claim(errno: i32, unexplained: bool, built_on: &[String]) -> Option<GuardFinding> {
    let error = std::io::Error::from_raw_os_error(errno);
    let evidence = format!("opening it exclusively fails: {error}");
    match errno {
        libc::EBUSY if unexplained && !built_on.is_empty() => {
            let built = built_on.join(" and ");
            Some(GuardFinding::refused(
                Code::Claimed,
                format!("{built} has claimed the disk that this partition is on"),
                format!("{evidence}; the kernel lets nobody claim a partition of a claimed disk"),
                format!("Take {built} off the disk first, or test the whole disk then."),
            ))
        }
        libc::EBUSY => unexplained.then(|| {
            GuardFinding::refused(
                Code::Claimed,
                "someone else has claimed the device",
                evidence,
                "Find who holds it (fuser, lsblk, zpool status) and release it.",
            )
        }),
        libc::EACCES | libc::EPERM => Some(GuardFinding::refused(
            Code::NoPermission,
            "the device cannot be opened by this user",
            evidence,
            if rustix::process::geteuid().is_root() {
                "A container or a security policy forbids it, even to root."
            } else {
                "Run as root."
            },
        )),
        libc::ENOMEDIUM => {
            Some(GuardFinding::refused(Code::NoMedium, "no medium is inserted", evidence, "Insert one."))
        }
        _ => Some(GuardFinding::refused(
            Code::Claimed,
            "the device cannot be claimed",
            evidence,
            "Look at dmesg.",
        )),
    }
}

/// Data that would be lost. Where the device is refused whatever its owner says, `hopeless`, no consent is asked for.
fn data(seen: &Examined, consent: &Consent<'_>, hopeless: bool) -> Vec<GuardFinding> {
    let (severity, advice) = match consent {
        Consent::Given { equal: true, .. } => {
            (GuardSeverity::Note, "Consent was given; a snapshot first is wise.")
        }
        _ if hopeless => {
            (GuardSeverity::NeedsConsent, "Settle the refusal first; then its owner may consent.")
        }
        _ => (GuardSeverity::NeedsConsent, "If that may go, consent with --destroy as given below."),
    };
    if let Some(error) = &seen.unreadable {
        return vec![GuardFinding::refused(
            Code::Unreadable,
            "it cannot be seen whether there is data",
            format!("reading the first and last MiB fails: {error}"),
            "Look at dmesg; a device that cannot be read is not worth measuring.",
        )];
    }
    let Some(scan) = &seen.scan else { return Vec::new() };
    let mut found: Vec<GuardFinding> = scan
        .signatures
        .iter()
        .map(|s| {
            let label = s.label.as_deref().map(|l| format!(" '{l}'")).unwrap_or_default();
            GuardFinding::new(
                severity,
                Code::Signature,
                format!("{}{label} would be lost: {}", s.name, s.loses),
                format!("its mark stands at byte {}", s.offset_bytes.0),
                advice,
            )
        })
        .collect();
    if found.is_empty() && !scan.blank {
        found.push(GuardFinding::new(
            severity,
            Code::UnknownData,
            "data of no known kind would be lost, a raw database or a volume encrypted whole perhaps",
            "the first or last MiB is not zero and bears no known mark",
            advice,
        ));
    }
    if let Some(difference) = seen.opinion.disagrees(scan) {
        found.push(GuardFinding::refused(
            Code::OpinionsDiffer,
            "it is not certain what data this is",
            difference,
            format!("If all of it may go, erase the marks first: wipefs -a {}", shell_path(&seen.facts.path)),
        ));
    }
    found
}

/// Notes on a device for every measurement, including one that only reads and one of a file on the device.
pub(super) fn beneath(root: &Root, device: &Block) -> Vec<GuardFinding> {
    let mut found = misaligned(device);
    if root.stack().system_disk(StackNode::Device(device.number)).is_some() {
        found.push(GuardFinding::new(
            GuardSeverity::Note,
            Code::SystemDisk,
            format!("{} is on the system disk", device.name),
            format!("{} carries the mount of /", disks(device)),
            "What the system itself reads and writes is measured too; a volume of its own shows what the volume can do.",
        ));
    }
    found
}

/// The device or its partitions, where they begin inside a physical block or a page.
fn misaligned(device: &Block) -> Vec<GuardFinding> {
    let crooked = device.partitions.iter().filter(|p| !p.aligned).map(|p| (&p.name, p.start_bytes));
    let own = (!device.aligned()).then_some((&device.name, device.start_bytes));
    let mut found = Vec::new();
    for (name, start) in crooked.chain(own) {
        found.push(GuardFinding::new(
            GuardSeverity::Note,
            Code::Misaligned,
            format!("{name} is not aligned to 4 KiB"),
            format!("it starts at byte {}, the physical block is {}", start.0, device.physical_block_bytes),
            "Make the partition again with an aligned start, or test the whole disk.",
        ));
    }
    found
}

/// Notes on a device before a write.
fn notes(device: &Block, usage: &Usage, output_disk: bool) -> Vec<GuardFinding> {
    let note = |code, what: String, evidence: String, advice: &str| {
        GuardFinding::new(GuardSeverity::Note, code, what, evidence, advice)
    };
    let mut found = misaligned(device);
    if device.removable {
        let what = format!("{} is removable", device.name);
        found.push(note(
            Code::Removable,
            what,
            "sysfs says so".into(),
            "Keep it in until the run has ended.",
        ));
    }
    if !usage.same_serial.is_empty() {
        found.push(note(
            Code::SharedSerial,
            "its serial does not tell it from other disks".into(),
            format!("{} has the same", usage.same_serial.join(", ")),
            "Consent therefore asks for another of its names.",
        ));
    }
    for limit in &device.cgroup_limits {
        found.push(note(
            Code::CgroupLimit,
            "this process's cgroup limits the disk".into(),
            format!("{} in {}", limit.limit, limit.file.display()),
            "Run outside that cgroup, or the limit is what gets measured.",
        ));
    }
    if output_disk {
        found.push(note(
            Code::OutputDisk,
            "results are written to the disk under test".into(),
            "the output's folder lies on it".into(),
            "Write the output elsewhere; it disturbs the measurement.",
        ));
    }
    found
}

/// The device's name; for a device other than the target, with its relation to the target.
fn called(usage: &Usage, name: &str) -> String {
    let Some(relative) = usage.relatives.iter().find(|r| r.node.name == name) else {
        // A file behind a loop device.
        return format!("{name}, which holds these bytes,");
    };
    match (relative.relation, relative.layer) {
        (Relation::Above, Some(Layer::Built)) => format!("{name}, built on this disk,"),
        (Relation::Above, Some(Layer::Loop)) => format!("{name}, a view of this disk,"),
        (Relation::Below, Some(Layer::Loop | Layer::Built)) => format!("{name}, which holds these bytes,"),
        (Relation::Beside, Some(Layer::SameVolume)) => format!("{name}, another path to this volume,"),
        (Relation::Beside, _) => format!("{name}, which shares bytes with this disk,"),
        _ => name.to_string(),
    }
}

fn disks(device: &Block) -> String {
    let mut names = vec![device.disk.name.as_str()];
    names.extend(device.lies_on.iter().map(|n| n.name.as_str()));
    names.dedup();
    names.join(" or ")
}

/// The command that detaches a holder.
fn release(holder: &Relative) -> String {
    let name = &holder.node.name;
    let label = holder.label.as_deref();
    match (holder.layer, name) {
        (Some(Layer::Loop), _) => format!("Detach it first: losetup -d /dev/{name}"),
        (_, n) if n.starts_with("md") => format!("Stop the array first: mdadm --stop /dev/{name}"),
        (_, n) if n.starts_with("dm-") => {
            let dm = shell(label.unwrap_or(name));
            match holder.uuid.as_deref().and_then(|u| u.split('-').next()) {
                Some("LVM") => format!("Deactivate it first: lvchange -an /dev/mapper/{dm}"),
                Some("CRYPT") => format!("Close it first: cryptsetup close {dm}"),
                Some("mpath") => format!("Flush it first: multipath -f {dm}"),
                _ => format!("Remove it first: dmsetup remove {dm}"),
            }
        }
        (_, n) if n.starts_with("bcache") => {
            format!("Stop the cache first: echo 1 > /sys/block/{name}/bcache/stop")
        }
        _ => format!("Release {name} first."),
    }
}

/// A part of the machine that cannot be looked at refuses every write: something in use may be behind it.
pub(super) fn unseen(unseen: &Unseen) -> GuardFinding {
    let evidence = "without it nobody can say that nothing is in use";
    GuardFinding::refused(Code::Unseen, unseen.what.clone(), evidence, sentence(&unseen.advice))
}

/// An order as a sentence.
pub(super) fn sentence(order: &str) -> String {
    let mut letters = order.chars();
    letters.next().map(|first| format!("{}{}.", first.to_uppercase(), letters.as_str())).unwrap_or_default()
}

/// The target is of another kind than what the access is for.
pub(super) fn not_that_kind(path: &Path, is: &str, wanted: &str) -> GuardFinding {
    GuardFinding::refused(
        Code::NotThatKind,
        format!("{} is {is}, not {wanted}", path.display()),
        "all links were followed",
        format!("Name {wanted}."),
    )
}

/// A device that stands for nothing lasting.
pub(super) fn is_test_device(driver: Driver) -> bool {
    matches!(driver, Driver::Loop | Driver::Zram | Driver::Ram | Driver::NullBlk)
}

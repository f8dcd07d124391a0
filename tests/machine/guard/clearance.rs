//! Clearances of loop devices: what they need, hold and notice.

use std::fs::OpenOptions;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Arc;

use volproof::device::Root;
use volproof::guard::{Access, Clearance, Code, GuardError, clear};

use crate::guard::loop_device::{Loop, SIZE, codes, run};

#[test]
fn a_blank_disk_is_ready_and_consent_is_its_name() {
    let Some(disk) = Loop::attach() else { return };
    let looked = disk.check(None);
    assert!(looked.ready, "{:?}", looked.findings);
    assert!(looked.data.as_ref().unwrap().blank);
    let overwrites = looked.overwrites.unwrap();
    assert_eq!((overwrites.from_bytes.0, overwrites.to_bytes.0), (0, SIZE));
    let consent = looked.consent.unwrap();
    let sequence = std::fs::read_to_string(format!("/sys/block/{}/diskseq", disk.name())).unwrap();
    assert_eq!(consent, format!("320MiB:{}#{}", disk.dir.path().join("disk").display(), sequence.trim()));

    assert_eq!(codes(disk.clear(None)), [Code::NoConsent]);
    for wrong in ["", "yes", disk.name(), &consent.to_lowercase()[1..], &format!("{consent} ")] {
        assert_eq!(codes(disk.clear(Some(wrong))), [Code::WrongConsent], "{wrong}");
    }
    let mut clearance = disk.clear(Some(&consent)).unwrap();
    assert!(!clearance.may_write(), "not before it was looked at again");
    clearance.confirm().unwrap();
    assert!(clearance.may_write() && clearance.is_direct());

    // It can be opened once more for ourselves, with the same rights and the first one's claim.
    let clearance = Arc::new(clearance);
    let cached = clearance.again(false).unwrap();
    assert!(cached.may_write() && !cached.is_direct() && clearance.is_direct());
    rustix::io::pwrite(cached.as_fd(), &[0], 1).unwrap();
    let clearance = {
        drop(cached);
        Arc::into_inner(clearance).expect("the other one is closed")
    };

    // What was cleared is held: nobody else can claim, format or mount it now.
    let claim = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&disk.device);
    assert_eq!(claim.unwrap_err().raw_os_error(), Some(libc::EBUSY));
    assert!(disk.check(None).findings.iter().any(|f| f.code == Code::Claimed));
    drop(clearance);
    assert!(disk.check(None).ready);
}

#[test]
fn later_looks_do_not_mind_what_the_run_wrote() {
    let Some(disk) = Loop::attach() else { return };
    let mut clearance = disk.clear(Some(&disk.consent())).unwrap();
    clearance.confirm().unwrap();
    let mut block = vec![0u8; 8192];
    let skip = block.as_ptr().align_offset(4096);
    block[skip..skip + 4096].fill(0xa5);
    rustix::io::pwrite(clearance.as_fd(), &block[skip..skip + 4096], 0).unwrap();
    clearance.confirm().unwrap();
}

#[test]
fn a_writer_between_clearance_and_first_write_is_noticed() {
    let Some(disk) = Loop::attach() else { return };
    let mut clearance = disk.clear(Some(&disk.consent())).unwrap();
    // Through the file below, as another host of a shared volume would write.
    let file = OpenOptions::new().write(true).open(disk.dir.path().join("disk")).unwrap();
    file.write_all_at(b"somebody's data", SIZE - 4096).unwrap();
    assert!(codes_of_confirm(&mut clearance).contains(&Code::Changed));
    assert!(!clearance.may_write());
}

fn codes_of_confirm(clearance: &mut Clearance) -> Vec<Code> {
    match clearance.confirm() {
        Ok(()) => Vec::new(),
        Err(GuardError::Refused(check)) => check.findings.iter().map(|f| f.code).collect(),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_device_that_grew_is_another_device() {
    let Some(disk) = Loop::attach() else { return };
    let mut clearance = disk.clear(Some(&disk.consent())).unwrap();
    OpenOptions::new().write(true).open(disk.dir.path().join("disk")).unwrap().set_len(SIZE * 2).unwrap();
    assert!(run("losetup", &["--set-capacity", disk.device.to_str().unwrap()]));
    assert_eq!(codes_of_confirm(&mut clearance), [Code::Changed]);
}

#[test]
fn reads_are_always_allowed_and_cannot_write() {
    let Some(disk) = Loop::attach() else { return };
    assert!(run("mkfs.ext4", &["-q", disk.device.to_str().unwrap()]), "mkfs.ext4 is part of every Debian");
    let clearance = clear(&Root::system(), &disk.device, Access::Read, true).unwrap();
    assert!(!clearance.may_write());
    assert!(rustix::io::pwrite(clearance.as_fd(), &[0; 512], 0).is_err());
}

#[test]
fn a_read_only_device_is_refused() {
    let Some(disk) = Loop::attach() else { return };
    let device = disk.device.to_str().unwrap();
    assert!(run("blockdev", &["--setro", device]));
    assert_eq!(disk.refusals(), [Code::ReadOnly]);
    assert!(run("blockdev", &["--setrw", device]));
    assert_eq!(disk.refusals(), []);
}

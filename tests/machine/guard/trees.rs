//! The guard on captured trees: machines whose devices the host running the tests does not have.
//!
//! A `sys-*.tree` has a line of text for each line of a file (`path<TAB>text`), `path -> target` for a link and
//! `path = N MiB` for a blank device.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;
use volproof::check::{CheckArgs, answer};
use volproof::device::{Facts, Layer, Root};
use volproof::guard::{Access, Check, Code, GuardError, GuardSeverity, check, clear};
use volproof::report::check_text::{json, text};

struct Tree(TempDir);

impl Tree {
    fn unpack(name: &str) -> Tree {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/sys-{name}.tree"));
        let dir = TempDir::new().unwrap();
        for line in fs::read_to_string(file).unwrap().lines().filter(|l| !l.starts_with('#')) {
            let split = [" -> ", " = ", "\t"].iter().find_map(|by| Some((*by, line.split_once(by)?)));
            let (by, (path, rest)) = split.unwrap_or_else(|| panic!("{name}: {line}"));
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match by {
                " -> " => symlink(rest, path).unwrap(),
                " = " => {
                    let mib: u64 = rest.strip_suffix(" MiB").unwrap().parse().unwrap();
                    File::create(path).unwrap().set_len(mib << 20).unwrap();
                }
                _ => {
                    let before = fs::read_to_string(&path).unwrap_or_default();
                    fs::write(path, format!("{before}{rest}\n")).unwrap();
                }
            }
        }
        Tree(dir)
    }

    fn root(&self) -> Root {
        Root::tree(self.0.path())
    }

    fn check(&self, device: &str, destroy: Option<&str>) -> Check {
        check(&self.root(), Path::new(device), destroy, None).unwrap()
    }

    /// The reasons that refuse a write even with the right consent.
    fn refusals(&self, device: &str) -> Vec<(Code, String)> {
        let consent = self.check(device, None).consent.unwrap();
        let looked = self.check(device, Some(&consent));
        match clear(&self.root(), Path::new(device), Access::Destroy(Some(&consent)), false) {
            Ok(_) => assert!(looked.ready),
            Err(GuardError::Refused(again)) => {
                assert_eq!(looked.findings, again.findings, "check and run agree")
            }
            Err(e) => panic!("{e}"),
        }
        let refused = looked.findings.into_iter().filter(|f| f.severity > GuardSeverity::Note);
        refused.map(|f| (f.code, f.what)).collect()
    }
}

fn one(code: Code, what: &str) -> Vec<(Code, String)> {
    vec![(code, what.to_string())]
}

#[test]
fn nvme_multipath_is_known_by_its_head() {
    let tree = Tree::unpack("nvme-multipath");
    insta::assert_snapshot!(text(&tree.check("/dev/nvme1n1", None)), @r#"
    /dev/nvme1n1: a whole disk, 100 GiB, blocks of 512 B (4 KiB physical)
    model Alibaba Cloud Elastic Block Storage, serial bp18ulqb6oekdx4ccbl3

    READY: a run that writes may overwrite every byte of /dev/nvme1n1, from 0 up to
    107,374,182,400 (100 GiB).

    Consent to overwrite this device, and no other:
      --destroy 'bp18ulqb6oekdx4ccbl3'

    Before writing:
      - Take a snapshot first:
          aliyun ecs CreateSnapshot --DiskId d-bp18ulqb6oekdx4ccbl3
      - Better: test on a new machine without data, never on the system disk.
    "#);
    assert_eq!(tree.refusals("/dev/nvme1n1"), []);
    let by_id = tree.check("/dev/disk/by-id/nvme-eui.0123456789abcdef", None);
    assert_eq!(by_id.consent.as_deref(), Some("bp18ulqb6oekdx4ccbl3"));
    assert!(
        check(&tree.root(), Path::new("/dev/nvme1c0n1"), None, None).is_err(),
        "a hidden path has no node"
    );

    let codes: Vec<Code> = tree.refusals("/dev/nvme0n1").into_iter().map(|(c, _)| c).collect();
    assert_eq!(codes, [Code::SystemDisk, Code::Mounted]);
}

#[test]
fn logical_volumes_are_followed_both_ways() {
    let tree = Tree::unpack("lvm");
    for disk in ["/dev/vdb", "/dev/vdc"] {
        let codes: Vec<Code> = tree.refusals(disk).into_iter().map(|(c, _)| c).collect();
        assert_eq!(codes, [Code::Mounted, Code::Held], "{disk}");
    }
    let looked = tree.check("/dev/vdb", None);
    let mounted = looked.findings.iter().find(|f| f.code == Code::Mounted).unwrap();
    assert_eq!(
        mounted.evidence,
        "xfs on /var/lib/postgresql, in the mount namespace of process 4711 (postgres)"
    );
    assert_eq!(tree.refusals("/dev/mapper/vg1-data"), one(Code::Mounted, "dm-1 is mounted"));
    // Free space of the volume group that also carries /.
    assert_eq!(tree.refusals("/dev/dm-2"), one(Code::SystemDisk, "dm-2 is on the system disk"));
    assert_eq!(tree.check("/dev/dm-2", None).consent.as_deref(), Some("dm-name-vg-spare"));
    assert_eq!(tree.refusals("/dev/vdd"), []);
    insta::assert_snapshot!(text(&looked), @r#"
    /dev/vdb: a whole disk, 1 GiB, blocks of 512 B
    serial data-b

    REFUSED: a run may read /dev/vdb, and may not write to it.

    refused        mounted: dm-1, built on this disk, is mounted
                   xfs on /var/lib/postgresql, in the mount namespace of process
                   4711 (postgres)
                   -> Unmount it (umount /var/lib/postgresql), or test a file on it.
    refused        held: vdb is in use by dm-1 (vg1-data)
                   /sys/class/block/vdb/holders says so
                   -> Deactivate it first: lvchange -an /dev/mapper/vg1-data
    "#);
}

#[test]
fn members_of_an_array_are_held_and_its_swap_is_found() {
    let tree = Tree::unpack("md");
    for target in ["/dev/sdb", "/dev/sdb1", "/dev/sdc"] {
        let refused = tree.refusals(target);
        assert!(
            refused.iter().any(|(c, w)| *c == Code::Held && w.contains("md0 (raid1)")),
            "{target}: {refused:?}"
        );
        assert!(
            refused.iter().any(|(c, w)| *c == Code::Swap && w.starts_with("md0p1")),
            "{target}: {refused:?}"
        );
    }
    assert_eq!(tree.refusals("/dev/md0"), one(Code::Swap, "md0p1 is swapped to"));
    let Facts::Block(facts) = tree.check("/dev/md0", None).facts else { panic!("a block device") };
    let below: Vec<&str> = facts.device.lies_on.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(below, ["sdb", "sdb1", "sdc", "sdc1"]);
    assert!(
        facts.usage.relatives.iter().any(|r| r.node.name == "md0p1" && r.layer == Some(Layer::Partition))
    );
}

#[test]
fn alignment_and_a_removable_medium_are_noted() {
    let tree = Tree::unpack("md");
    let looked = tree.check("/dev/sdd1", None);
    assert!(looked.ready);
    let codes: Vec<Code> = looked.findings.iter().map(|f| f.code).collect();
    assert_eq!(codes, [Code::Misaligned, Code::Removable]);
    assert!(looked.advice.iter().any(|a| a.contains("4 KiB")), "{:?}", looked.advice);
    assert_eq!(tree.check("/dev/sdd", None).consent.as_deref(), Some("usb-Portable_0123"));
}

#[test]
fn an_open_crypt_device_holds_its_disk() {
    let tree = Tree::unpack("dm-crypt");
    let refused = tree.refusals("/dev/vdb");
    assert_eq!(refused[0], (Code::Mounted, "dm-0, built on this disk, is mounted".into()));
    assert_eq!(refused[1], (Code::Held, "vdb is in use by dm-0 (secret)".into()));
    let looked = tree.check("/dev/mapper/secret", None);
    assert!(looked.findings[0].evidence.contains("/srv/secret data"), "{:?}", looked.findings);
}

#[test]
fn caches_and_pools_hold_every_member() {
    let tree = Tree::unpack("bcache");
    assert_eq!(tree.refusals("/dev/vdb"), one(Code::Held, "vdb is in use by bcache0"));
    let cache = tree.refusals("/dev/vdc");
    assert!(cache.iter().any(|(c, _)| *c == Code::Held) && cache.iter().any(|(c, _)| *c == Code::PoolMember));
    let named = tree.refusals("/dev/vde");
    assert!(
        named.iter().any(|(c, _)| *c == Code::Mounted),
        "its mount is anonymous, its source is not: {named:?}"
    );
    let other = tree.refusals("/dev/vdf");
    assert_eq!(other, one(Code::PoolMember, "vdf is a member of a running pool"));
}

#[test]
fn two_paths_to_one_volume_are_one_volume() {
    let tree = Tree::unpack("two-paths");
    assert_eq!(tree.refusals("/dev/sdb"), one(Code::Mounted, "sdc, another path to this volume, is mounted"));
}

#[test]
fn a_serial_that_two_disks_share_names_neither() {
    let tree = Tree::unpack("two-paths");
    assert_eq!(tree.check("/dev/sdd", None).consent.as_deref(), Some("naa.601d"));
    assert_eq!(tree.check("/dev/sde", None).consent.as_deref(), Some("naa.601e"));
    let wrong = tree.check("/dev/sdd", Some("beaf11"));
    assert_eq!((wrong.ready, wrong.findings[0].code), (false, Code::WrongConsent));
    insta::assert_snapshot!(text(&wrong), @r#"
    /dev/sdd: a whole disk, 1 GiB, blocks of 512 B (4 KiB physical)
    model IET VIRTUAL-DISK, serial beaf11

    REFUSED: a run may read /dev/sdd, and may not write to it.

    refused        wrong-consent: the consent names another device
                   --destroy 'beaf11' was given, this device is 'naa.601d'
                   -> Check that this is the device you mean.
    note           shared-serial: its serial does not tell it from other disks
                   sde has the same
                   -> Consent therefore asks for another of its names.
    note           cgroup-limit: this process's cgroup limits the disk
                   rbps=1048576 wbps=max riops=max wiops=120 in
                   /sys/fs/cgroup/jobs.slice/io.max
                   -> Run outside that cgroup, or the limit is what gets measured.

    Consent to overwrite this device, and no other:
      --destroy 'naa.601d'

    Before writing:
      - Take a snapshot or a copy first; a write cannot be undone.
      - Better: test on a new machine without data, never on the system disk.
    "#);
}

#[test]
fn a_disk_changed_between_clearance_and_first_write_is_refused() {
    let tree = Tree::unpack("lvm");
    let clearance =
        || clear(&tree.root(), Path::new("/dev/vdd"), Access::Destroy(Some("data-d")), false).unwrap();
    let sys = tree.0.path().join("sys/block/vdd");
    let refused = |change: &dyn Fn()| {
        let mut cleared = clearance();
        change();
        let refused = cleared.confirm().unwrap_err();
        assert!(!cleared.may_write());
        match refused {
            GuardError::Refused(check) => {
                check.findings.iter().map(|f| format!("{:?} {}", f.code, f.evidence)).collect()
            }
            other => vec![other.to_string()],
        }
    };
    let put = |file: &str, text: &str| fs::write(sys.join(file), text).unwrap();

    let serial = refused(&|| put("serial", "data-x\n"));
    assert_eq!(serial, [r#"Changed its serial was data-d and is data-x"#]);
    put("serial", "data-d\n");
    let size = refused(&|| put("size", "4194304\n"));
    assert!(size.iter().any(|s| s.contains("size")), "{size:?}");
    put("size", "2097152\n");
    let sequence = refused(&|| put("diskseq", "77\n"));
    assert_eq!(sequence, ["Changed its disk sequence number was none and is 77"]);
    fs::remove_file(sys.join("diskseq")).unwrap();
    let holder = refused(&|| {
        fs::create_dir(sys.join("holders")).unwrap();
        symlink("../../../../../../virtual/block/dm-1", sys.join("holders/dm-1")).unwrap();
    });
    assert!(holder.iter().any(|f| f.starts_with("Held")), "{holder:?}");
    fs::remove_dir_all(sys.join("holders")).unwrap();
    let mount = refused(&|| {
        let line = "99 1 254:48 / /new rw - ext4 /dev/vdd rw\n";
        let info = tree.0.path().join("proc/self/mountinfo");
        fs::write(&info, fs::read_to_string(&info).unwrap() + line).unwrap();
    });
    assert_eq!(mount, ["Mounted ext4 on /new"]);
}

#[test]
fn other_machines_may_fill_a_shared_disk_meanwhile_but_a_filesystem_on_it_is_refused() {
    let tree = Tree::unpack("lvm");
    let clearance =
        || clear(&tree.root(), Path::new("/dev/vdd"), Access::Destroy(Some("data-d")), false).unwrap();
    let node = tree.0.path().join("dev/vdd");
    let write = |at: u64, bytes: &[u8]| {
        let file = fs::OpenOptions::new().write(true).open(&node).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, bytes, at).unwrap();
    };

    let mut alone = clearance();
    write(4096, b"filled");
    assert!(alone.confirm().is_err_and(|e| e.to_string().contains("is not what it was")));
    assert!(!alone.may_write());
    drop(alone);

    let mut beside_others = clearance();
    write(4096, b"filled again");
    beside_others.confirm_while_others_write().unwrap();
    assert!(beside_others.may_write());
    drop(beside_others);

    let mut beside_others = clearance();
    // The first bytes of a swap area.
    write(4096 - 10, b"SWAPSPACE2");
    let refused = beside_others.confirm_while_others_write().unwrap_err().to_string();
    assert!(refused.contains("and did not before"), "{refused}");
    assert!(!beside_others.may_write());
}

#[test]
fn the_answer_says_ready_for_all_targets_or_not() {
    let tree = Tree::unpack("lvm");
    let ask = |targets: &[&str], destroy: Option<&str>, json: bool| {
        let targets = targets.iter().map(Into::into).collect();
        answer(&CheckArgs { targets, destroy: destroy.map(Into::into), details: false, json }, &tree.root())
    };
    let good = ask(&["/dev/vdd"], Some("data-d"), true).unwrap();
    let value: serde_json::Value = serde_json::from_str(&good.text).unwrap();
    assert!(good.ready && value["consent"] == "data-d" && value["ready"] == true);
    assert_eq!(value["overwrites"]["to_bytes"], 1u64 << 30);

    let both = ask(&["/dev/vdd", "/dev/vdb"], None, true).unwrap();
    assert!(!both.ready);
    assert_eq!(both.text.lines().count(), 2, "a line of JSON for each");
    assert!(
        ask(&["/dev/vdd", "/dev/vdb"], Some("data-d"), false).unwrap_err().to_string().contains("one by one")
    );
    assert!(ask(&["/dev/none"], None, false).unwrap_err().to_string().contains("/dev/none"));
}

#[test]
fn what_lies_on_what_is_drawn() {
    let draw = |name: &str, target: &str| {
        let args = CheckArgs { targets: vec![target.into()], details: true, ..CheckArgs::default() };
        let said = answer(&args, &Tree::unpack(name).root()).unwrap().text;
        assert!(said.lines().all(|l| l.chars().count() <= 80), "{said}");
        said[said.find("What lies").unwrap()..].to_string()
    };
    insta::assert_snapshot!([draw("md", "/dev/sdb"), draw("lvm", "/dev/vdb")].join("\n"), @r"
    What lies on what, the lowest first:
      sdb  <- the target
      └─ sdb1, partition
         └─ md0 (raid1)
            └─ md0p1, partition, swapped to

    What lies on what, the lowest first:
      vdb  <- the target
      └─ dm-1 (vg1-data), xfs on /var/lib/postgresql
    ");
}

#[test]
fn what_is_written_reads_back() {
    for (name, device) in [("md", "/dev/sdb"), ("nvme-multipath", "/dev/nvme1n1"), ("two-paths", "/dev/sdd")]
    {
        let looked = Tree::unpack(name).check(device, None);
        assert_eq!(serde_json::from_str::<Check>(&json(&looked).unwrap()).unwrap(), looked);
    }
}

#[test]
fn every_line_fits_eighty_columns_unless_it_is_one_word() {
    for (name, device) in
        [("md", "/dev/sdb1"), ("lvm", "/dev/vda2"), ("bcache", "/dev/vdc"), ("dm-crypt", "/dev/vdb")]
    {
        for line in text(&Tree::unpack(name).check(device, Some("wrong"))).lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
    }
}

//! A zram device, which can lose its medium.

use std::path::PathBuf;

use volproof::device::Root;
use volproof::guard::{Access, Code, check, clear};

use crate::guard::zram_disk::Zram;

#[test]
fn a_zram_disk_has_no_medium_until_it_has_a_size() {
    let root = Root::system();
    let Some(zram) = Zram::add() else { return };
    std::fs::write(zram.attribute("disksize"), (64 << 20).to_string()).unwrap();
    let path = PathBuf::from(format!("/dev/{}", zram.name));
    let path = path.as_path();
    let looked = check(&root, path, None, None).unwrap();
    assert!(looked.ready, "{:?}", looked.findings);
    assert!(looked.consent.as_ref().unwrap().starts_with(&format!("64MiB:{}#", zram.name)), "{looked:?}");
    let mut clearance = clear(&root, path, Access::Destroy(looked.consent.as_deref()), true).unwrap();
    clearance.confirm().unwrap();
    drop(clearance);
    zram.reset().unwrap();
    let empty = check(&root, path, None, None).unwrap();
    assert!(empty.findings.iter().any(|f| f.code == Code::NoMedium), "{:?}", empty.findings);
}

//! A zram device, which can lose its medium.

use std::path::PathBuf;

use volproof::device::Root;
use volproof::guard::{Access, Code, check, clear};

/// A zram device of the test's own, taken away again.
struct Zram {
    number: String,
}

impl Zram {
    fn make(bytes: u64) -> Option<Zram> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: root is needed to make a zram device");
            return None;
        }
        let Ok(number) = std::fs::read_to_string("/sys/class/zram-control/hot_add") else {
            eprintln!("skipped: this kernel has no zram");
            return None;
        };
        let zram = Zram { number: number.trim().to_string() };
        std::fs::write(zram.attribute("disksize"), bytes.to_string()).unwrap();
        Some(zram)
    }

    fn attribute(&self, name: &str) -> String {
        format!("/sys/block/zram{}/{name}", self.number)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let _ = std::fs::write(self.attribute("reset"), "1");
        let _ = std::fs::write("/sys/class/zram-control/hot_remove", &self.number);
    }
}

#[test]
fn a_zram_disk_has_no_medium_until_it_has_a_size() {
    let root = Root::system();
    let Some(zram) = Zram::make(64 << 20) else { return };
    let path = PathBuf::from(format!("/dev/zram{}", zram.number));
    let path = path.as_path();
    let looked = check(&root, path, None, None).unwrap();
    assert!(looked.ready, "{:?}", looked.findings);
    assert!(
        looked.consent.as_ref().unwrap().starts_with(&format!("64MiB:zram{}#", zram.number)),
        "{looked:?}"
    );
    let mut clearance = clear(&root, path, Access::Destroy(looked.consent.as_deref()), true).unwrap();
    clearance.confirm().unwrap();
    drop(clearance);
    std::fs::write(zram.attribute("reset"), "1").unwrap();
    let empty = check(&root, path, None, None).unwrap();
    assert!(empty.findings.iter().any(|f| f.code == Code::NoMedium), "{:?}", empty.findings);
}

//! A zram disk of a test's own.

use std::io::{Error, ErrorKind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A zram disk, taken away again.
pub struct Zram {
    /// The disk's name, such as `zram0`.
    pub name: String,
}

impl Zram {
    /// Adds a disk that has no size yet. None where this user or this kernel cannot, which it prints.
    pub fn add() -> Option<Zram> {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: root is needed to make a zram device");
            return None;
        }
        let Ok(number) = std::fs::read_to_string("/sys/class/zram-control/hot_add") else {
            println!("skipped: this kernel has no zram");
            return None;
        };
        Some(Zram { name: format!("zram{}", number.trim()) })
    }

    /// A file of the disk in /sys.
    pub fn attribute(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/sys/block/{}/{name}", self.name))
    }

    /// Takes the medium away.
    pub fn reset(&self) -> Result<(), Error> {
        once_free(|| std::fs::write(self.attribute("reset"), "1"))
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let number = self.name.trim_start_matches("zram");
        let removed = self
            .reset()
            .and_then(|()| once_free(|| std::fs::write("/sys/class/zram-control/hot_remove", number)));
        if let Err(kept) = removed {
            println!("{} is left behind: {kept}", self.name);
        }
    }
}

/// Does this once nobody has the disk open. Whatever looks at all disks of the machine, such as udev or a test beside this one, has it open
/// for a moment.
fn once_free(act: impl Fn() -> Result<(), Error>) -> Result<(), Error> {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        match act() {
            Err(busy) if busy.kind() == ErrorKind::ResourceBusy && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(20));
            }
            ended => return ended,
        }
    }
}

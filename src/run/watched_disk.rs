//! The disk that is watched: its counters through a file that stays open, and the provider's page. Nothing is opened for writing.

use std::fs::File;
use std::path::Path;

use volproof_device::device::{Block, Facts, Root};
use volproof_device::nvme::log_reader::{LogReader, NvmeDisk, PageFault};
use volproof_device::nvme::provider_page::ProviderPage;
use volproof_watch::{PageSecond, StatCounters};

/// Bytes of the line of counters: 17 numbers of at most 20 digits.
const LINE: usize = 512;

/// What stays the same of a disk wherever it is attached: the serial, or else the best that there is.
pub fn lasting_key(disk: &Block) -> String {
    let backing = disk.backing_file.as_ref().map(|file| file.display().to_string());
    let named = [&disk.serial, &disk.wwid, &backing].into_iter().flatten().find(|key| !key.trim().is_empty());
    named
        .map_or_else(|| format!("{} of {}", disk.name, disk.size_bytes.exact()), |key| key.trim().to_string())
}

/// Whether the disk of this name has this key. A name may be given to another disk.
pub fn is_disk(root: &Root, name: &str, key: &str) -> bool {
    Block::read(root, name).is_some_and(|disk| disk.size_bytes.0 > 0 && lasting_key(&disk) == key)
}

/// The whole disk below a target.
///
/// # Errors
/// There is none, or there are several.
pub fn disk_below(root: &Root, facts: &Facts, target: &Path) -> anyhow::Result<Block> {
    let mut names: Vec<&str> = facts.disks().into_iter().map(|disk| disk.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let name = match names[..] {
        [name] => name,
        [] => anyhow::bail!(
            "{} lies on no block device: name the device that is to be watched",
            target.display()
        ),
        _ => anyhow::bail!(
            "{} lies on {}: watch each by itself",
            target.display(),
            names.iter().map(|name| format!("/dev/{name}")).collect::<Vec<_>>().join(" and ")
        ),
    };
    Block::read(root, name).ok_or_else(|| anyhow::anyhow!("/sys/block/{name} cannot be read"))
}

/// The disk while it is attached.
pub struct WatchedDisk {
    /// Its name under /sys/block.
    pub name: String,
    counters: File,
    page: Option<LogReader>,
    last_page: Option<ProviderPage>,
    /// Why its page is not read.
    pub no_page: Option<PageFault>,
}

impl WatchedDisk {
    /// Opens what is read of a disk; `None` where it is not there.
    pub fn attach(root: &Root, name: &str) -> Option<WatchedDisk> {
        let counters = File::open(root.path(format!("/sys/block/{name}/stat"))).ok()?;
        let page = NvmeDisk::find(root, name).filter(|disk| disk.kind.is_some()).map(LogReader::new);
        Some(WatchedDisk { name: name.into(), counters, page, last_page: None, no_page: None })
    }

    /// The disk with this key, by whatever name.
    pub fn find(root: &Root, key: &str) -> Option<WatchedDisk> {
        let name = root.names("/sys/block").into_iter().find(|name| is_disk(root, name, key))?;
        WatchedDisk::attach(root, &name)
    }

    /// The provider has a page for it, which can be read.
    pub fn has_page(&self) -> bool {
        self.page.is_some()
    }

    /// Its counters; `None` where the disk has gone away.
    pub fn read(&self) -> Option<StatCounters> {
        let mut line = [0; LINE];
        let length = rustix::io::pread(&self.counters, &mut line, 0).ok()?;
        StatCounters::parse(line.get(..length)?)
    }

    /// What the provider counted since the page was read before. `None` while it is not due, and for the first page.
    pub fn read_page(&mut self) -> Option<PageSecond> {
        let reader = self.page.as_ref().filter(|reader| reader.due_in().is_zero())?;
        let read = reader.read(false).map(|pages| pages.provider.unwrap_or_default());
        let page = match read {
            Ok(page) => page,
            Err(fault) => {
                (self.page, self.no_page) = (None, Some(fault));
                return None;
            }
        };
        let since = self.last_page.as_ref().and_then(|last| page.since(last).ok());
        self.last_page = Some(page);
        let since = since?;
        Some(PageSecond {
            volume_ns: since.volume_exceeded.longest(),
            instance_ns: since.instance_exceeded.longest(),
            ios: since.reads.ios.saturating_add(since.writes.ios),
        })
    }
}

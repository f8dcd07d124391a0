//! Asks an NVMe controller for pages of its log, by a thread of its own: a controller that does not answer holds nothing up.
//!
//! A page is asked for once a second at most, since more commands wait behind each other in the controller. The page of AWS goes to its own disks
//! alone, and a page that a controller refused is not asked for again: drives count refusals among their errors.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::health_page::{self, HeatCounts, OCP_PAGE, SMART_PAGE};
use super::provider_page::{self, PageError, PageKind, ProviderPage};
use crate::device::{Root, nvme_log_page};

/// Between two reads of a page.
const LEAST_APART: Duration = Duration::from_secs(1);
/// A controller answers within milliseconds; a thread that starved for longer has other troubles.
const PATIENCE: Duration = Duration::from_secs(3);
/// For all namespaces.
const ANY_NAMESPACE: u32 = u32::MAX;

/// Why a page could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum PageFault {
    /// The kernel lets root alone ask a controller.
    #[error("only root may ask the controller")]
    NeedsRoot,
    /// No answer for seconds.
    #[error("the controller does not answer")]
    NoAnswer,
    /// The controller answered with this status.
    #[error("the controller refuses the page: status 0x{status:x}")]
    Refused {
        /// Type and code of the status.
        status: u16,
    },
    /// The answer is no such page, or not of the disk as it was.
    #[error("{why}")]
    NotThePage {
        /// What is wrong with it.
        why: String,
    },
    /// The system.
    #[error("{error}")]
    System {
        /// Its error.
        error: String,
    },
}

impl From<PageError> for PageFault {
    fn from(error: PageError) -> PageFault {
        PageFault::NotThePage { why: error.to_string() }
    }
}

impl From<io::Error> for PageFault {
    fn from(error: io::Error) -> PageFault {
        match error.kind() {
            io::ErrorKind::PermissionDenied => PageFault::NeedsRoot,
            _ => PageFault::System { error: error.to_string() },
        }
    }
}

/// An NVMe disk, and what it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NvmeDisk {
    /// Its name, as `nvme1n1`.
    pub name: String,
    /// The page of AWS that it has.
    pub kind: Option<PageKind>,
    node: PathBuf,
    namespace: u32,
}

/// What was asked for and read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogPages {
    /// The page of AWS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderPage>,
    /// Heat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heat: Option<HeatCounts>,
}

/// What a disk of AWS has counted so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountsSoFar {
    /// The disk.
    pub disk: String,
    /// Why nothing was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<PageFault>,
    /// Its pages.
    pub pages: LogPages,
}

/// What those of these disks have counted so far that are AWS's.
pub fn counts_so_far<'a>(root: &Root, disks: impl Iterator<Item = &'a str>) -> Vec<CountsSoFar> {
    disks
        .filter_map(|name| NvmeDisk::find(root, name).filter(|disk| disk.kind.is_some()))
        .map(so_far)
        .collect()
}

fn so_far(disk: NvmeDisk) -> CountsSoFar {
    let reader = LogReader::new(disk);
    let read = reader.read(true);
    let unread = read.as_ref().err().cloned();
    CountsSoFar { disk: reader.disk.name, unread, pages: read.unwrap_or_default() }
}
impl NvmeDisk {
    /// The disk of this name under /sys/block, where it is an NVMe disk of this machine.
    pub fn find(root: &Root, name: &str) -> Option<NvmeDisk> {
        let namespace = root.number(format!("/sys/block/{name}/nsid"))?;
        let model = root.text(format!("/sys/block/{name}/device/model")).unwrap_or_default();
        let kind = match model.as_str() {
            "Amazon Elastic Block Store" => Some(PageKind::Ebs),
            "Amazon EC2 NVMe Instance Storage" => Some(PageKind::InstanceStore),
            _ => None,
        };
        let node = root.path(format!("/dev/{name}"));
        (root.is_system() && name.starts_with("nvme")).then(|| NvmeDisk {
            name: name.into(),
            kind,
            node,
            namespace: namespace as u32,
        })
    }

    /// Whether the disk tells of its temperature: a network volume has none.
    pub fn has_heat(&self) -> bool {
        self.kind != Some(PageKind::Ebs)
    }

    fn page(&self, number: u8, namespace: u32, length: usize) -> Result<Vec<u8>, PageFault> {
        let refused = (self.name.clone(), number);
        if let Some(status) = locked(&REFUSED).get(&refused) {
            return Err(PageFault::Refused { status: *status });
        }
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&self.node)?;
        let mut page = vec![0; length];
        match nvme_log_page(file.as_fd(), namespace, number, &mut page)? {
            0 => Ok(page),
            status => {
                locked(&REFUSED).insert(refused, status);
                Err(PageFault::Refused { status })
            }
        }
    }

    fn provider_page(&self) -> Result<Option<ProviderPage>, PageFault> {
        let length = match self.kind {
            None => return Ok(None),
            Some(PageKind::Ebs) => provider_page::VOLUME_LENGTH,
            Some(PageKind::InstanceStore) => provider_page::LOCAL_LENGTH,
        };
        Ok(Some(ProviderPage::parse(&self.page(provider_page::PAGE, self.namespace, length)?)?))
    }

    fn heat(&self) -> Result<Option<HeatCounts>, PageFault> {
        if !self.has_heat() {
            return Ok(None);
        }
        let heat = HeatCounts::parse(&self.page(SMART_PAGE, ANY_NAMESPACE, health_page::LENGTH)?)?;
        match self.page(OCP_PAGE, ANY_NAMESPACE, health_page::LENGTH) {
            Ok(ocp) => Ok(Some(heat.with_ocp(&ocp)?)),
            Err(_) => Ok(Some(heat)),
        }
    }

    /// Reads both pages, in this thread.
    fn read(&self, with_heat: bool) -> Result<LogPages, PageFault> {
        let provider = self.provider_page()?;
        Ok(LogPages { provider, heat: if with_heat { self.heat()? } else { None } })
    }
}

/// Statuses of pages that a controller refused.
static REFUSED: Mutex<BTreeMap<(String, u8), u16>> = Mutex::new(BTreeMap::new());
/// When a disk was asked last.
static ASKED: Mutex<BTreeMap<String, Instant>> = Mutex::new(BTreeMap::new());

fn locked<T>(it: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks one disk, by a thread that ends with it.
pub struct LogReader {
    /// The disk.
    pub disk: NvmeDisk,
    ask: Sender<bool>,
    answers: Receiver<Result<LogPages, PageFault>>,
}

impl LogReader {
    /// A reader of a disk.
    pub fn new(disk: NvmeDisk) -> LogReader {
        let (ask, asked) = channel();
        let (answer, answers) = channel();
        let own = disk.clone();
        thread::spawn(move || {
            for with_heat in asked {
                if answer.send(own.read(with_heat)).is_err() {
                    return;
                }
            }
        });
        LogReader { disk, ask, answers }
    }

    /// How soon the disk may be asked again. One without the page of AWS is asked at the ends of a step alone.
    pub fn due_in(&self) -> Duration {
        let asked = locked(&ASKED).get(&self.disk.name).copied().filter(|_| self.disk.kind.is_some());
        asked.map_or(Duration::ZERO, |asked| LEAST_APART.saturating_sub(asked.elapsed()))
    }

    /// Reads the page of AWS, and heat where that is wanted, when it is due.
    ///
    /// # Errors
    /// Says why there is no page. The disk is not to be asked again by this reader.
    pub fn read(&self, with_heat: bool) -> Result<LogPages, PageFault> {
        thread::sleep(self.due_in());
        locked(&ASKED).insert(self.disk.name.clone(), Instant::now());
        self.ask.send(with_heat).map_err(|_| PageFault::NoAnswer)?;
        self.answers.recv_timeout(PATIENCE).unwrap_or(Err(PageFault::NoAnswer))
    }
}

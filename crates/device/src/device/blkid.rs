//! A second opinion about the data on a device: `blkid -p`, when it is installed.
//!
//! libblkid knows formats that our own table leaves out, and is not ours: where the two disagree, somebody is wrong, and
//! nothing may be written. Only the usual folders are searched, never `PATH`: this runs as root.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::magic::is_called;
use super::signature::Scan;

/// The answer of `blkid`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Opinion {
    /// `blkid` is not installed, or its answer could not be understood.
    Absent,
    /// `blkid` sees no data.
    Nothing,
    /// `blkid` sees more than one format and does not name them.
    Several,
    /// `blkid` sees these formats; the names are its own.
    Sees(Vec<String>),
}

const PLACES: &[&str] = &["/usr/sbin/blkid", "/sbin/blkid", "/usr/bin/blkid", "/bin/blkid"];

/// The values of a key in the answer of blkid.
fn values(text: &str, key: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|l| l.split_once('='));
    lines.filter(|(k, _)| *k == key).map(|(_, v)| v.to_string()).collect()
}

impl Opinion {
    /// Asks about the device at this path.
    pub fn ask(device: &Path) -> Opinion {
        let Some(blkid) = PLACES.iter().find(|p| Path::new(p).exists()) else { return Opinion::Absent };
        let output = Command::new(blkid)
            .args(["-p", "-o", "export"])
            .arg(device)
            .env_clear()
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output();
        output
            .map_or(Opinion::Absent, |o| Opinion::read(o.status.code(), &String::from_utf8_lossy(&o.stdout)))
    }

    /// Exit codes are those of blkid(8): 0 found, 2 found nothing, 8 ambivalent.
    fn read(code: Option<i32>, text: &str) -> Opinion {
        match code {
            Some(2) => Opinion::Nothing,
            Some(8) => Opinion::Several,
            Some(0) => match [values(text, "PTTYPE"), values(text, "TYPE")].concat() {
                // A partition without data still answers, with facts of its partition entry alone.
                seen if seen.is_empty() => Opinion::Nothing,
                seen => Opinion::Sees(seen),
            },
            _ => Opinion::Absent,
        }
    }

    /// The difference between the two, if there is one.
    pub fn disagrees(&self, scan: &Scan) -> Option<String> {
        let open: Vec<&str> = scan.signatures.iter().filter(|s| !s.hidden).map(|s| s.name.as_str()).collect();
        match self {
            Opinion::Nothing if !open.is_empty() => {
                Some(format!("blkid sees nothing where {} stands", open.join(", ")))
            }
            Opinion::Several if scan.signatures.is_empty() => {
                Some("blkid sees several kinds of data, none of them known here".into())
            }
            Opinion::Sees(seen) => {
                let unknown: Vec<&str> =
                    seen.iter().filter(|s| !is_called(&scan.signatures, s)).map(String::as_str).collect();
                (!unknown.is_empty()).then(|| format!("blkid alone sees {}", unknown.join(", ")))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::signature::Windows;

    fn xfs() -> Scan {
        let mut bytes = vec![0; 4096];
        bytes[..4].copy_from_slice(b"XFSB");
        Windows::from_bytes(&bytes).scan()
    }

    #[test]
    fn answers_are_read_by_exit_code() {
        let text = "DEVNAME=/dev/vdb\nLABEL=TYPE\nVERSION=1.0\nTYPE=ext4\nUSAGE=filesystem\n";
        assert_eq!(Opinion::read(Some(0), text), Opinion::Sees(vec!["ext4".into()]));
        assert_eq!(Opinion::read(Some(0), "PART_ENTRY_NUMBER=1\n"), Opinion::Nothing);
        assert_eq!(Opinion::read(Some(2), ""), Opinion::Nothing);
        assert_eq!(Opinion::read(Some(8), ""), Opinion::Several);
        assert_eq!(Opinion::read(Some(1), "usage"), Opinion::Absent);
        assert_eq!(Opinion::read(None, ""), Opinion::Absent);
    }

    #[test]
    fn either_side_may_disagree() {
        let blank = Scan { blank: true, ..Scan::default() };
        let sees = |what: &str| Opinion::Sees(vec![what.to_string()]);
        assert_eq!(sees("xfs").disagrees(&xfs()), None);
        assert_eq!(sees("vmfs").disagrees(&xfs()).unwrap(), "blkid alone sees vmfs");
        assert_eq!(sees("xfs").disagrees(&blank).unwrap(), "blkid alone sees xfs");
        assert_eq!(Opinion::Nothing.disagrees(&xfs()).unwrap(), "blkid sees nothing where xfs stands");
        assert!(Opinion::Several.disagrees(&blank).is_some());
        for silent in [Opinion::Absent, Opinion::Nothing] {
            assert_eq!(silent.disagrees(&blank), None);
        }
        assert_eq!(Opinion::Absent.disagrees(&xfs()), None);
    }

    #[test]
    fn a_copy_in_reserve_need_not_be_seen() {
        let mut bytes = vec![0; 1 << 20];
        let end = bytes.len() - 512;
        bytes[end..end + 8].copy_from_slice(b"EFI PART");
        assert_eq!(Opinion::Nothing.disagrees(&Windows::from_bytes(&bytes).scan()), None);
    }
}

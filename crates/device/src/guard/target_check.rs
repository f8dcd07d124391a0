//! The outcome of looking at a target: whether a run may write to it, what it would overwrite, and what speaks against that.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::advice;
use super::examined::{Consent, Examined};
use super::finding::{Code, GuardFinding, GuardSeverity};
use super::{file_rules, rules};
use crate::device::{self, Facts, FileUse, Opinion, Root, Scan};
use crate::nvme::log_reader::CountsSoFar;
use volproof_base::unit::Bytes;

/// The outcome of looking at a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The target as it was named.
    pub target: PathBuf,
    /// Whether a run may write.
    pub ready: bool,
    /// The string that consents to overwriting a block device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent: Option<String>,
    /// The bytes that a run that writes would overwrite; absent when it makes a new file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrites: Option<Overwrites>,
    /// Everything that speaks against a write or is worth knowing, the gravest first.
    pub findings: Vec<GuardFinding>,
    /// The provider's own command that takes a snapshot of this volume, where the provider is recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// Further steps to take before a write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<String>,
    /// Data seen in the first and last MiB of a block device; absent when it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Scan>,
    /// The data that `blkid` recognises on the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_opinion: Option<Opinion>,
    /// Who else uses the file; absent for anything but a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_use: Option<FileUse>,
    /// What the disk of AWS under the target has counted so far: for how long limits were exceeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<CountsSoFar>,
    /// Everything known about the target.
    pub facts: Facts,
}

impl Check {
    /// The consent string, where giving it would help: consent lifts everything that refuses the write.
    pub(super) fn useful_consent(&self) -> Option<&str> {
        let mut refusals = self.findings.iter().filter(|f| f.severity == GuardSeverity::Refused);
        self.consent.as_deref().filter(|_| refusals.all(|f| f.code == Code::WrongConsent))
    }

    /// The option that consents to overwriting the device, as two lines of text; none where giving it would not help.
    pub fn how_to_consent(&self) -> Option<String> {
        let consent = self.useful_consent()?;
        Some(format!("Consent to overwrite this device, and no other:\n  --destroy '{consent}'"))
    }
}

/// The bytes that a run may write to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overwrites {
    /// The target with all links followed.
    pub path: PathBuf,
    /// The first byte.
    pub from_bytes: Bytes,
    /// One past the last byte.
    pub to_bytes: Bytes,
}

/// Notes on the devices under a target.
pub(super) fn beneath(root: &Root, facts: &Facts) -> Vec<GuardFinding> {
    facts.devices().into_iter().flat_map(|device| rules::beneath(root, device)).collect()
}

/// The same outcome with notes on the devices under a file or folder.
pub(super) fn with_notes(root: &Root, mut check: Check) -> Check {
    check.findings.extend(beneath(root, &check.facts));
    check
}

pub(super) fn outcome(target: &Path, facts: Facts, findings: Vec<GuardFinding>) -> Check {
    Check {
        target: target.to_path_buf(),
        ready: findings.iter().all(|f| f.severity == GuardSeverity::Note),
        consent: None,
        overwrites: None,
        findings,
        snapshot: None,
        advice: Vec::new(),
        data: None,
        second_opinion: None,
        file_use: None,
        counted: Vec::new(),
        facts,
    }
}

pub(super) fn check_block(
    root: &Root,
    target: &Path,
    seen: Examined,
    consent: &Consent<'_>,
    output: Option<&Path>,
) -> Check {
    let device = &seen.facts.device;
    let output_disk = output.is_some_and(|o| device::shares_disk(root, device, o));
    let mut findings = rules::block(&seen, consent, output_disk);
    findings.extend(
        device::RoomBehind::read(root, device)
            .and_then(|behind| file_rules::no_room(behind.holes, behind.free)),
    );
    let wanted = match *consent {
        Consent::NotAsked { wanted } | Consent::Missing { wanted } | Consent::Given { wanted, .. } => wanted,
    };
    let (snapshot, advice) = if rules::is_test_device(device.driver) {
        (None, Vec::new())
    } else {
        let snapshot = advice::snapshot_command(root, device);
        let advice = advice::before_writing(device, snapshot.as_deref());
        (snapshot, advice)
    };
    let overwrites =
        Overwrites { path: seen.facts.path.clone(), from_bytes: Bytes(0), to_bytes: device.size_bytes };
    Check {
        consent: Some(wanted.to_string()),
        overwrites: Some(overwrites),
        snapshot,
        advice,
        data: seen.scan,
        second_opinion: Some(seen.opinion),
        ..outcome(target, Facts::Block(Box::new(seen.facts)), findings)
    }
}
